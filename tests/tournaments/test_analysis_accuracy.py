"""Accuracy cut up, counted by hand; differences on the same questions, held against scipy."""

from __future__ import annotations

import dataclasses

import pytest

from debate.metrics.accuracy import accuracy
from debate.quotes import Argument
from debate.record import Recorded
from debate.report import Table
from debate.transcript import Turn
from debate.verdict import Verdict
from tests.analysed import FIELD, gathered, item
from tests.judged import RIGHT, WRONG
from tournaments import analysis_accuracy, analysis_paired
from tournaments.analysis_accuracy import by_word, judgings, player_rate, side_cuts, without_empty
from tournaments.analysis_paired import by_question, contrast


def test_accuracy_and_the_gap_recovered_by_protocol() -> None:
    values = analysis_accuracy.values(FIELD)["j"]
    assert isinstance(values, dict)
    debates = values["protocols"]["simultaneous"]
    assert debates["accuracy"][0] == (2 + 1 + 0 + 1.5) / 8
    assert values["baselines"]["blind"]["accuracy"][0] == 0.5
    assert debates["pgr"][0] == pytest.approx((4.5 / 8 - 0.5) / (1 - 0.5))
    assert values["protocols"]["consultancy"]["win_rate_both"][0] == (0.5 + 0.5) / 2


def test_a_player_wins_over_both_assignments_with_equal_weight() -> None:
    (one,) = judgings(FIELD)
    debates = one.groups["simultaneous"]
    rate = player_rate(debates, "a")
    assert rate is not None
    assert rate.right.value == (2 + 1) / 4  # of questions 1 and 2, where it has answer 0, the right one
    assert rate.wrong.value == (2 + 0.5) / 4
    assert rate.both.value == (rate.right.value + rate.wrong.value) / 2
    other = player_rate(debates, "b")
    assert other is not None
    assert other.both.value == pytest.approx(1 - rate.both.value)
    itself = [item("1", RIGHT, players=("a", "a")), item("2", WRONG, players=("a", "a"))]
    assert player_rate(itself, "a") is None


def test_sides_are_told_by_assignment_and_by_who_spoke_first() -> None:
    found = {(cut.group, cut.label): accuracy(cut.recorded).single for cut in side_cuts(judgings(FIELD))}
    assert {key: one and one.value for key, one in found.items()} == {
        ("consultancy", "consultant assigned the right answer"): 0.5,
        ("consultancy", "consultant assigned the wrong answer"): 0.5,
    }
    field = gathered(*(_in_turn(str(answer), answer, share) for answer, share in enumerate((RIGHT, WRONG))))
    first, second = side_cuts(judgings(field))
    assert (first.label, second.label) == ("right side spoke first", "right side spoke second")
    assert [one.debate.transcript.question.id for one in first.recorded] == ["0"]


def _in_turn(question: str, begins: int, share: tuple[float, float]) -> Recorded:
    """A debate in which the side of an answer spoke first, and the other one having heard it."""
    made = item(question, share, protocol="sequential")
    turns = tuple(Turn(1, "debater", answer, Argument(("So it is.",))) for answer in (begins, 1 - begins))
    transcript = dataclasses.replace(made.debate.transcript, turns=turns, spoken_order=True)
    return Recorded(dataclasses.replace(made.debate, transcript=transcript), made.verdicts)


@pytest.mark.parametrize(
    ("text", "word"),
    [("To whom was it left?", "who"), ("Why did he go?", "why"), ("Whichever?", "other"), ("Name it: WHAT?", "what")],
)
def test_questions_are_told_by_the_word_they_ask_with(text: str, word: str) -> None:
    made = item("1", RIGHT)
    question = dataclasses.replace(made.debate.transcript.question, text=text)
    debate = dataclasses.replace(made.debate, transcript=dataclasses.replace(made.debate.transcript, question=question))
    assert [label for label, _ in by_word(Recorded(debate, ()))] == [word]


def test_unparsed_midway_and_goldless_verdicts_count_nowhere() -> None:
    known = by_question(
        [item("1", None), item("2", RIGHT, gold=None), item("3", RIGHT, round_=1), item("4", RIGHT, None)]
    )
    assert known == {"4": (1.0, "4")}


def test_differences_are_of_the_questions_that_both_have_and_robust_by_story() -> None:
    from scipy.stats import ttest_1samp

    marks = [(RIGHT, WRONG), (RIGHT, RIGHT), (WRONG, RIGHT), (RIGHT, WRONG), (RIGHT, WRONG)]
    first = [item(str(at), one) for at, (one, _) in enumerate(marks)] + [item("alone", WRONG)]
    second = [item(str(at), other, protocol="blind") for at, (_, other) in enumerate(marks)]
    found = contrast("j", ("one", first), ("other", second))
    assert found is not None
    assert (found.questions, found.right.value, found.other_right.value) == (5, 0.8, 0.4)
    assert (found.more, found.fewer) == (3, 1)
    gaps = [1, 0, -1, 1, 1]
    assert found.difference.value == pytest.approx(sum(gaps) / 5)
    # The interval stays within -1 and 1 by its score form, about the same centre as the t interval in the long run.
    plain = ttest_1samp(gaps, 0).confidence_interval(0.95)
    assert (found.difference.low < 0 < found.difference.high) == (plain.low < 0 < plain.high)
    assert found.p == 10 / 16  # 4 signs; 3 : 1 or farther either way
    assert contrast("j", ("one", first[:1]), ("other", second[1:])) is None


def test_a_question_debated_many_times_counts_once() -> None:
    often = [item("1", RIGHT, number=number) for number in range(9)] + [item("2", WRONG)]
    found = contrast("j", ("one", often), ("other", [item("1", WRONG), item("2", WRONG)]))
    assert found is not None
    assert found.difference.value == 0.5


def test_every_two_settings_that_share_questions_are_compared() -> None:
    rows = analysis_paired.values(FIELD)["j"]
    assert isinstance(rows, list)
    assert [(row["one"], row["other"], row["questions"]) for row in rows] == [
        ("consultancy", "simultaneous", 4),
        ("consultancy", "blind, no debate", 4),
        ("consultancy", "expert, no debate", 4),
        ("simultaneous", "blind, no debate", 4),
        ("simultaneous", "expert, no debate", 4),
        ("blind, no debate", "expert, no debate", 4),
    ]


def test_people_who_judged_as_they_went_are_told_apart() -> None:
    def room(question: str, person: str, share: tuple[float, float]) -> Recorded:
        made = item(question, share)
        debate = dataclasses.replace(made.debate, tags={"judge": person, "setting": "human debate"})
        return Recorded(debate, (Verdict(person, (0, 1), share),))

    field = gathered(room("1", "Ann", RIGHT), room("2", "Ann", WRONG), room("3", "Ben", RIGHT))
    people = analysis_accuracy.values(field)["as published"]
    assert isinstance(people, dict)
    assert {name: one["accuracy"][0] for name, one in people["people"]["human debate"].items()} == {
        "Ann": 0.5,
        "Ben": 1,
    }


def test_columns_that_hold_nothing_are_left_out() -> None:
    (section,) = analysis_accuracy.sections(gathered(item("1", RIGHT), item("2", WRONG)))
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    titles = [column.title for column in table.columns]
    assert "judge right" in titles
    assert not {"PGR", "consultant wins", "orders combined"} & set(titles)
    assert without_empty(table) == table


def test_without_a_verdict_there_is_no_section() -> None:
    nobody = gathered(item("1"))
    assert analysis_accuracy.sections(nobody) == []
    assert analysis_paired.sections(nobody) == []
