from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.question import Question
from debate.quotes import Seat, parse_argument
from debate.transcript import Transcript, Turn
from debate.view import Role, View

QUESTION = Question("q", "Who shut the gate?", ("Tomas", "Ana"), 1, "Ana shut the gate at noon.", "s", "test")
WORDS = st.sampled_from(["Debater B lies.", "Answer A fits.", "<quote>Ana shut the gate</quote>", "no", ""])


def spoken(round_: int, answer: int | None, text: str, to: int | None, first: int) -> Turn:
    role: Role = "judge" if answer is None else "debater"
    seat: Seat = "A" if (first if answer is None else answer) == 0 else "B"
    argument = parse_argument(text, QUESTION.story, seat=seat)
    return Turn(round_, role, answer, argument, to=to if answer is None else None, first=first if answer is None else 0)


TURNS = st.lists(
    st.builds(
        spoken,
        st.integers(1, 4),
        st.sampled_from([0, 1, None]),
        WORDS,
        st.sampled_from([0, 1, None]),
        st.sampled_from([0, 1]),
    ),
    max_size=7,
)


@given(TURNS, st.sampled_from([(0, 1), (1, 0)]), st.booleans(), st.sampled_from([None, 0, 1]))
def test_the_swapped_view_is_the_view_of_the_swapped_transcript(
    turns: list[Turn],
    seats: tuple[int, int],
    spoken_order: bool,  # noqa: FBT001 - hypothesis gives it
    answer: int | None,
) -> None:
    transcript = Transcript(QUESTION, seats, tuple(turns), spoken_order)
    view = transcript.view(answer=answer, story=True)
    assert view.swapped() == transcript.swapped().view(answer=answer, story=True)
    assert view.swapped().swapped() == view


@given(TURNS, st.booleans())
def test_a_speech_is_added_where_the_transcript_shows_it(turns: list[Turn], spoken_order: bool) -> None:  # noqa: FBT001 - hypothesis gives it
    whole = Transcript(QUESTION, (0, 1), tuple(turns), spoken_order)
    # One shown where nothing is sorted gives each turn as a view shows it, in the order it was spoken in.
    shown = Transcript(QUESTION, (0, 1), tuple(turns), spoken_order=True).view().turns
    assert Transcript(QUESTION, spoken_order=spoken_order).view().with_turns(*shown) == whole.view()


def test_only_two_answers_have_seats() -> None:
    with pytest.raises(ValueError, match="3 answers"):
        View("Which?", ("a", "b", "c"), None, ()).swapped()
