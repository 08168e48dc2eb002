"""Judges by round, counted by hand."""

from __future__ import annotations

import dataclasses

import pytest

from debate.quotes import Argument
from debate.record import Recorded
from debate.transcript import Turn
from debate.verdict import Verdict
from tests.judged import judged
from tournaments import analysis_rounds
from tournaments.analysis_rounds import by_length, courses, reward_figures, round_figures
from tournaments.cast import Cast
from tournaments.gather import Gathered


def heard(question: str, *beliefs: float, rounds: int | None = None, judge: str = "j") -> Recorded:
    """A debate whose judge gave the right answer these probabilities, one before each round and one at the end."""
    last = len(beliefs) - 1 if rounds is None else rounds
    verdicts = [
        Verdict(judge, (0, 1), (belief, 1 - belief), round=None if at == len(beliefs) - 1 else at)
        for at, belief in enumerate(beliefs)
    ]
    debate = judged(question).debate
    turns = tuple(Turn(number, "debater", 0, Argument(("I say so.",))) for number in range(1, last + 1))
    transcript = dataclasses.replace(debate.transcript, turns=turns)
    return Recorded(dataclasses.replace(debate, protocol="simultaneous", transcript=transcript), tuple(verdicts))


def gathered(*recorded: Recorded) -> Gathered:
    return Gathered(recorded, Cast())


FIELD = gathered(heard("1", 0.5, 0.4, 0.9), heard("2", 0.5, 0.8), heard("3", 0.6, 0.3, 0.2), heard("4", 0.9))


def test_a_debate_that_ended_keeps_its_final_verdict() -> None:
    ((key, followed),) = courses(FIELD).items()
    assert key == ("j", "simultaneous")
    rows = round_figures(followed)  # of the fourth there is a final verdict alone
    assert [row.rounds for row in rows] == [0, 1, 2]
    assert [row.given for row in rows] == [3, 3, 2]
    assert [row.debates for row in rows] == [3, 3, 3]
    assert [row.right.value for row in rows] == pytest.approx([(0.5 + 0.5 + 1) / 3, 1 / 3, 2 / 3])
    assert [row.right_given.value for row in rows if row.right_given] == pytest.approx([2 / 3, 1 / 3, 0.5])
    assert rows[2].gold.value == pytest.approx((0.9 + 0.8 + 0.2) / 3)
    assert rows[0].change is None
    assert rows[2].change is not None
    assert rows[2].change.value == pytest.approx(((1 - 0.5) + (1 - 0.5) + (0 - 1)) / 3)


def test_both_orders_of_one_round_are_one_belief() -> None:
    one = heard("1", 0.5, 0.9)
    other = [dataclasses.replace(verdict, order=(1, 0), probabilities=(0.3, 0.7)) for verdict in one.verdicts]
    ((_, (course,)),) = courses(gathered(Recorded(one.debate, (*one.verdicts, *other)))).items()
    assert course.beliefs[1].right == 0.5
    assert course.beliefs[1].gold == pytest.approx(0.6)


def test_of_the_whole_debate_the_final_verdict_counts() -> None:
    ((_, (course,)),) = courses(gathered(heard("1", 0.5, 0.2, 0.9, rounds=1))).items()  # 0.2 after the only round
    assert course.beliefs[1].gold == 0.9
    assert course.beliefs[0].gold == 0.5


def test_who_gave_no_final_verdict_is_not_followed() -> None:
    one = heard("1", 0.5, 0.6, 0.9)
    assert courses(gathered(Recorded(one.debate, one.verdicts[:-1]))) == {}


def test_debates_by_length() -> None:
    lengths = [heard("1", 0.5, rounds=rounds) for rounds in (1, 2, 6, 7, 18)]
    assert [label for item in lengths for label, _ in by_length(item)] == [
        "1 round",
        "2 rounds",
        "6 rounds",
        "over 6 rounds",
        "over 6 rounds",
    ]


def test_reward_is_bits_less_rounds() -> None:
    found = reward_figures([heard("1", 0.5, 0.25), heard("2", 0.5, 0.5, 1.0)])
    assert found is not None
    assert (found.debates, found.rounds.value) == (2, 1.5)
    assert found.score.value == -1
    assert found.reward.value == pytest.approx((-2.05 - 0.1) / 2)
    assert reward_figures([]) is None


def test_nothing_is_shown_of_what_is_not_there() -> None:
    assert analysis_rounds.sections(gathered(judged("1"))) == []
