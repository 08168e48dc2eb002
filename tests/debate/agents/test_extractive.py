from __future__ import annotations

import math

import pytest

from debate.agents.debater import Limits
from debate.agents.extractive import ExtractiveDebater, rank_by_overlap
from debate.agents.passages import quotable
from debate.models.base import Draw
from debate.question import Question
from debate.transcript import Transcript, Turn

STORY = (
    "The river was cold. Ana carried the lamp to the barn. Tomas carried a rope to the river. "
    "Nobody carried anything home. The barn burned all night."
)
QUESTION = Question(
    "q",
    "Who set the fire?",
    ("Ana, with her lamp in the barn.", "Tomas, with a rope by the river."),
    0,
    STORY,
    "s",
    "test",
)
LIMITS = Limits(min_words=10, max_words=40, min_quotes=1)


def test_sentences_that_share_words_with_the_own_answer_come_first() -> None:
    quotes = quotable(STORY, 30)
    view = Transcript(QUESTION).view(answer=0, story=True)
    assert rank_by_overlap(view, quotes)[0].text == "Ana carried the lamp to the barn."
    view = Transcript(QUESTION).view(answer=1, story=True)
    ranked = [quote.text for quote in rank_by_overlap(view, quotes)]
    assert ranked[0] == "Tomas carried a rope to the river."
    assert sorted(ranked) == sorted(quote.text for quote in quotes)
    assert ranked[-1] in {"Ana carried the lamp to the barn.", "The barn burned all night."}


def test_the_weight_of_a_word() -> None:
    # Own-only words count twice the log of rarity, other-only ones minus once, each over the root of the length:
    # s1 holds "red" (in 1 of 3), s2 "red blue" would cancel in part, s3 nothing.
    story = "One red kite flew. One red blue kite flew. One plain kite flew."
    question = Question("q", "Whose?", ("Red.", "Blue."), 0, story, "s", "t")
    view = Transcript(question).view(answer=0, story=True)
    red, blue = math.log(1 + 3 / 2), math.log(1 + 3 / 1)
    values = [2 * red / math.sqrt(4), (2 * red - blue) / math.sqrt(5), 0.0]
    assert values == sorted(values, reverse=True)
    assert [quote.text for quote in rank_by_overlap(view, quotable(story, 30))] == [
        "One red kite flew.",
        "One red blue kite flew.",
        "One plain kite flew.",
    ]
    other = Transcript(question).view(answer=1, story=True)
    assert 2 * blue - red > 0 > -red
    assert [quote.text.split()[1] for quote in rank_by_overlap(other, quotable(story, 30))] == ["red", "plain", "red"]


@pytest.mark.parametrize("answer", [0, 1])
async def test_it_states_its_answer_and_quotes(answer: int) -> None:
    view = Transcript(QUESTION).view(answer=answer, story=True)
    speech = await ExtractiveDebater(name="x", limits=LIMITS, quotes=2).argue(view, Draw())
    spoken = speech.candidates[speech.chosen]
    assert spoken.valid
    assert spoken.argument.plain().startswith(QUESTION.answers[answer])
    assert len(spoken.argument.quotes) >= 2
    assert all(quote.verified and quote.text in STORY for quote in spoken.argument.quotes)
    assert spoken.argument.words <= LIMITS.max_words
    assert speech == await ExtractiveDebater(name="y", limits=LIMITS, quotes=2).argue(view, Draw(seed=9, sample=3))


async def test_a_later_round_quotes_nothing_again() -> None:
    player = ExtractiveDebater(name="x", limits=LIMITS, quotes=2)
    transcript = Transcript(QUESTION)
    said: list[str] = []
    for number in (1, 2, 3):
        speech = await player.argue(transcript.view(answer=0, story=True), Draw())
        said += [quote.text for quote in speech.candidates[speech.chosen].argument.quotes]
        transcript = transcript.with_turns(Turn.choose(speech.candidates, speech.chosen, round_=number, answer=0))
    assert len(said) == len(set(said)) == 5


async def test_words_stay_within_the_limit() -> None:
    for most in range(8, 60, 4):
        limits = Limits(min_words=most - 3, max_words=most, min_quotes=0)
        view = Transcript(QUESTION).view(answer=0, story=True)
        (found,) = await ExtractiveDebater(name="x", limits=limits).candidates(view, Draw(), 4)
        assert found.argument.words <= most
