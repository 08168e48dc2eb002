"""What is in a speech, counted by hand."""

from __future__ import annotations

from debate.metrics.arguments import argument_figures, measure_speeches
from debate.question import Question
from debate.quotes import parse_argument
from debate.record import Debate
from debate.transcript import Transcript, Turn

STORY = "The tap was left running all night. Nobody had seen the plumber since noon on Friday."
QUESTION = Question("q", "What flooded it?", ("The tap.", "The pipe."), 0, STORY, "s", "test")


def turn(round_: int, answer: int, text: str) -> Turn:
    return Turn(round_, "debater", answer, parse_argument(text, STORY))


def debate(*turns: Turn) -> Debate:
    return Debate("d", "simultaneous", Transcript(QUESTION, turns=turns), ("ann", "ben"))


def test_words_quotes_and_what_of_them_the_story_holds() -> None:
    first, second = measure_speeches(
        debate(
            turn(1, 0, "See: <quote>The tap was left running</quote> and <quote>a flood of great size</quote>."),
            turn(1, 1, "No tap here."),
        )
    )
    assert (first.player, first.right, first.words) == ("ann", True, 12)
    assert (first.quotes, first.verified, first.quote_words) == (2, 1, (5, 5))
    assert (second.player, second.right, second.quotes) == ("ben", False, 0)


def test_a_quote_is_repeated_where_half_of_it_was_quoted_before_by_the_same_side() -> None:
    speeches = measure_speeches(
        debate(
            turn(1, 0, "<quote>The tap was left running</quote>"),
            turn(1, 1, "<quote>The tap was left running</quote>"),
            turn(2, 0, "<quote>left running all night</quote> <quote>running all night. Nobody had seen</quote>"),
            turn(2, 1, "<quote>words that nobody wrote</quote> <quote>Words that nobody wrote!</quote>"),
        )
    )
    # "left running all night": 12 of its 22 characters; what follows then lies half in what both have covered.
    assert [one.repeated for one in speeches] == [0, 0, 2, 1]


def test_a_long_quote_around_a_short_one_is_new() -> None:
    _, second = measure_speeches(
        debate(turn(1, 0, "<quote>was left running</quote>"), turn(2, 0, f"<quote>{STORY[:34]}</quote>"))
    )
    assert second.repeated == 0


def test_novelty_is_what_no_earlier_round_held() -> None:
    speeches = measure_speeches(
        debate(
            turn(1, 0, "one two three four"),
            turn(1, 1, "one two three four"),
            turn(2, 0, "one two three five six"),
            turn(2, 1, "two three four"),
            turn(3, 0, "seven eight nine"),
        )
    )
    # "one two three" is old; "two three five" and "three five six" are new.
    assert [one.novelty for one in speeches] == [None, None, 2 / 3, 0, 1]


def test_figures_weigh_each_quote_and_each_speech_alike() -> None:
    found = argument_figures(
        measure_speeches(
            debate(
                turn(
                    1, 0, "<quote>The tap was left running</quote> <quote>all of it my own</quote> <quote>none</quote>"
                ),
                turn(1, 1, "<quote>since noon on Friday</quote>"),
            )
        )
    )
    assert (found.speeches, found.words.value, found.quotes.value) == (2, (11 + 4) / 2, 2)
    assert found.verified is not None
    assert found.verified.value == 0.5
    assert found.quote_words is not None
    assert found.quote_words.value == (5 + 5 + 1 + 4) / 4
    assert found.novelty is None
