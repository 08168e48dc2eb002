from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.errors import ConfigError
from debate.question import Question
from debate.quotes import Argument, Seat, parse_argument
from debate.transcript import Candidate, Transcript, Turn
from debate.view import Role, View, ViewTurn

QUESTION = Question("q", "Who shut the gate?", ("Tomas", "Ana"), 1, "Ana shut the gate at noon.", "s", "test")


def turn(answer: int | None, text: str, round_: int = 1, seat: Seat | None = None, role: Role = "debater") -> Turn:
    return Turn(round_, role, answer, parse_argument(text, QUESTION.story, seat=seat), thinking="secret thought")


def reachable(value: object) -> Iterator[object]:
    yield value
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from reachable(getattr(value, field.name))
    elif isinstance(value, (list, tuple, set)):
        for item in value:
            yield from reachable(item)


turns = st.lists(
    st.builds(
        lambda answer, text, round_: turn(answer, text, round_, "A" if answer == 0 else "B"),
        st.sampled_from([0, 1]),
        st.text(max_size=30),
        st.integers(1, 4),
    ),
    max_size=6,
)


@given(turns, st.sampled_from([(0, 1), (1, 0)]), st.booleans())
def test_swapping_twice_changes_nothing(spoken: list[Turn], seats: tuple[int, int], spoken_order: bool) -> None:  # noqa: FBT001 - hypothesis gives it
    transcript = Transcript(QUESTION, seats, tuple(spoken), spoken_order)
    assert transcript.swapped().swapped() == transcript
    assert transcript.swapped().turns == transcript.turns
    view, other = transcript.view(), transcript.swapped().view()
    assert view.answers == other.answers[::-1]
    assert sorted(t.argument.plain() for t in view.turns) == sorted(t.argument.plain() for t in other.turns)
    for mine, theirs in ((0, 1), (1, 0)):
        speaks = [t.argument for t in view.turns if t.seat == "AB"[mine]]
        assert speaks == [t.argument for t in other.turns if t.seat == "AB"[theirs]]


def test_views_hold_no_gold() -> None:
    names = {field.name for kind in (View, ViewTurn, Argument) for field in dataclasses.fields(kind)}
    assert not {name for name in names if "gold" in name or "distractor" in name or "correct" in name}
    candidate = Candidate("raw secret", Argument(("Ana did.",)), "secret thought")
    spoken = Turn.choose((candidate,), 0, round_=1, answer=0)
    for answer in (None, 0, 1):
        transcript = Transcript(QUESTION, (0, 1), (spoken, turn(1, "Ana did.")))
        found = list(reachable(transcript.view(answer=answer, story=True)))
        assert not [item for item in found if isinstance(item, (Question, Turn, Transcript, Candidate))]
        assert not [item for item in found if isinstance(item, str) and "secret" in item]
        # The same debate with the other answer gold looks the same.
        twin = dataclasses.replace(transcript, question=dataclasses.replace(QUESTION, gold=0))
        assert twin.view(answer=answer, story=True) == transcript.view(answer=answer, story=True)


def test_the_story_is_shown_only_where_allowed() -> None:
    transcript = Transcript(QUESTION)
    assert transcript.view().story is None
    assert transcript.view(answer=1, story=True).story == QUESTION.story


def test_names_follow_the_seats() -> None:
    transcript = Transcript(
        QUESTION,
        turns=(
            turn(0, "Debater B is wrong. As Debater A said, answer A fits.", seat="A"),
            turn(1, "Debater A quotes nothing, and Answer B fits.", seat="B"),
        ),
    )
    first, second = transcript.view().turns
    assert (first.speaker, first.text) == (
        "Debater A",
        "Debater B is wrong. As Debater A said, answer A fits.",
    )
    assert (second.speaker, second.text) == ("Debater B", "Debater A quotes nothing, and Answer B fits.")
    first, second = transcript.swapped().view().turns
    assert (first.speaker, first.text) == ("Debater A", "Debater B quotes nothing, and Answer A fits.")
    assert (second.speaker, second.text) == (
        "Debater B",
        "Debater A is wrong. As Debater B said, answer B fits.",
    )


def test_a_simultaneous_round_is_shown_seat_a_first() -> None:
    spoken = (turn(1, "b1"), turn(0, "a1"), turn(0, "a2", 2), turn(1, "b2", 2))
    transcript = Transcript(QUESTION, turns=spoken)
    assert [t.text for t in transcript.view().turns] == ["a1", "b1", "a2", "b2"]
    assert [t.text for t in transcript.swapped().view().turns] == ["b1", "a1", "b2", "a2"]
    assert [t.seat for t in transcript.swapped().view().turns] == ["A", "B", "A", "B"]


def test_the_judge_opens_a_round_and_has_no_seat() -> None:
    transcript = Transcript(QUESTION, turns=(turn(0, "a"), turn(1, "b"), turn(None, "why?", 2, role="judge")))
    shown = transcript.with_turns(turn(1, "b2", 2)).view().turns
    assert [t.speaker for t in shown] == ["Debater A", "Debater B", "Judge", "Debater B"]


def test_where_the_order_matters_it_stays() -> None:
    spoken = (turn(1, "b1"), turn(0, "a1"))
    transcript = Transcript(QUESTION, turns=spoken, spoken_order=True)
    assert [(t.seat, t.text) for t in transcript.view().turns] == [("B", "b1"), ("A", "a1")]
    assert [(t.seat, t.text) for t in transcript.swapped().view().turns] == [("A", "b1"), ("B", "a1")]


def test_own_answer_and_round() -> None:
    transcript = Transcript(QUESTION, (1, 0), (turn(0, "a"),))
    view = transcript.view(answer=0)
    assert (view.seat, view.own_answer, view.other_answer) == ("B", "Tomas", "Ana")
    view = transcript.view(answer=1)
    assert (view.seat, view.own_answer, view.other_answer) == ("A", "Ana", "Tomas")
    with pytest.raises(ValueError, match="seat"):
        _ = transcript.view().own_answer


@pytest.mark.parametrize("seats", [(0, 0), (1, 2)])
def test_seats_hold_both_answers(seats: tuple[int, int]) -> None:
    with pytest.raises(ConfigError, match="two answers"):
        Transcript(QUESTION, seats)


def test_four_answers_are_not_seated() -> None:
    with pytest.raises(ConfigError, match="pair"):
        Transcript(dataclasses.replace(QUESTION, answers=("a", "b", "c", "d")))


def test_the_chosen_candidate_is_the_turn() -> None:
    candidates = (
        Candidate("one", Argument(("One.",)), "t1", ("2 words",)),
        Candidate("two", Argument(("Two.",)), "t2"),
    )
    chosen = Turn.choose(candidates, 1, round_=3, answer=1)
    assert (chosen.round, chosen.role, chosen.answer) == (3, "debater", 1)
    assert (chosen.argument.plain(), chosen.thinking, chosen.flaws, chosen.candidates) == ("Two.", "t2", (), candidates)
    assert [candidate.valid for candidate in candidates] == [False, True]
