"""What speeches are worth before a judge hears them: figures against values counted by hand."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Sequence

import pytest

from debate.agents.debater import FreeDebater, Limits
from debate.agents.extractive import ExtractiveDebater
from debate.dossiers.dossier import Dossier, generate
from debate.errors import ModelError
from debate.models.base import Completion, Draw, Messages, Sampling
from debate.models.load import ModelConfig
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.question import Question
from debate.quotes import parse_argument
from debate.transcript import Transcript, Turn
from tournaments.players import PlayerConfig, SpeechConfig
from training.debater_measures import (
    Said,
    chance_of_one,
    compare_speeches,
    drawn_sentence,
    measure_player,
    measure_speeches,
    say,
    score_quotes,
    sentences_of,
)

PROMPTS = Prompts()
DOSSIERS = list(generate(12, 3))
OTHER = Question(
    "q", "Who?", ("It was Ana.", "It was Tomas."), 0, "Ana shut the gate. Tomas rode off at noon.", "s", "own"
)


def said(dossier: Dossier, answer: int, text: str, **known: float) -> Said:
    question = dossier.question
    argument = parse_argument(text, question.story, seat="A")
    view = Transcript(question).view(answer=answer, story=True)
    return Said(question, answer, view, Turn(1, "debater", answer, argument), **known)


def quoting(text: str) -> str:
    return f"My answer is right, and nobody could say otherwise who reads: <quote>{text}</quote>."


def test_quotes_are_held_against_what_is_known_of_the_story() -> None:
    dossier = DOSSIERS[0]
    filler = next(
        quote for quote in sentences_of(dossier.question) if quote.text not in {dossier.quote(0), dossier.quote(1)}
    )
    speeches = [
        said(dossier, 0, quoting(dossier.quote(0))),
        said(dossier, 1, quoting(dossier.quote(0))),
        said(dossier, 1, quoting(filler.text)),
        said(dossier, 0, "I have nothing to quote."),
    ]
    found = measure_speeches(speeches)
    assert found.quoting is not None
    assert found.own is not None
    assert found.other is not None
    assert found.over_drawn is not None
    assert (found.quoting.value, found.quoting.n) == (0.75, 4)
    assert (found.own.value, found.other.value) == pytest.approx((1 / 3, 1 / 3))
    chance = 1 / len(sentences_of(dossier.question))
    assert found.over_drawn.value == pytest.approx(1 / 3 - chance)
    assert (found.speeches, found.stories, found.failed) == (4, 1, 0)
    assert found.gain is None


def test_more_quotes_are_held_against_as_many_drawn_sentences() -> None:
    # Two of five sentences wanted, two drawn: of the ten pairs all but the three without a wanted one.
    assert chance_of_one(5, 2, 2) == pytest.approx(7 / 10)
    assert (chance_of_one(5, 2, 1), chance_of_one(5, 0, 3), chance_of_one(0, 0, 2)) == pytest.approx((2 / 5, 0, 0))
    assert chance_of_one(5, 1, 9) == 1
    dossier = DOSSIERS[0]
    filler = next(
        quote for quote in sentences_of(dossier.question) if quote.text not in {dossier.quote(0), dossier.quote(1)}
    )
    found = measure_speeches([said(dossier, 0, f"{quoting(dossier.quote(0))} {quoting(filler.text)}")])
    assert found.over_drawn is not None
    assert found.over_drawn.value == pytest.approx(1 - 2 / len(sentences_of(dossier.question)))


def test_a_part_of_the_evidence_counts_and_a_brush_with_it_does_not() -> None:
    dossier = DOSSIERS[1]
    words = dossier.quote(0).split()
    half = " ".join(words[: len(words) // 2 + 1])
    found = measure_speeches([said(dossier, 0, quoting(half))])
    assert found.own is not None
    assert found.own.value == 1
    story = dossier.question.story or ""
    start, _ = dossier.decisive if dossier.question.gold == 0 else dossier.misleading
    before = story[:start].split()[-9:]
    brushing = " ".join([*before, words[0]])
    if "\n\n" not in story[max(0, start - 60) : start]:
        found = measure_speeches([said(dossier, 0, quoting(brushing))])
        assert found.own is None or found.own.value == 0


def test_likelihoods_are_paired_by_speech() -> None:
    gains = [(2.0, 1.0), (0.5, 0.5), (-1.0, 1.0)]
    speeches = [
        said(dossier, 0, quoting(dossier.quote(0)), gain=gain, drawn_gain=drawn)
        for dossier, (gain, drawn) in zip(DOSSIERS, gains, strict=False)
    ]
    found = measure_speeches([*speeches, said(DOSSIERS[5], 0, "Nothing.")])
    assert found.gain is not None
    assert found.gain_over_drawn is not None
    assert found.gain_wins is not None
    assert found.gain.value == pytest.approx(0.5)
    assert found.gain_over_drawn.value == pytest.approx(-1 / 3)
    assert found.gain_wins.value == pytest.approx(0.5)
    assert found.gain_over_drawn.clusters == 3
    assert math.isfinite(found.gain_over_drawn.low)


def test_stories_of_which_nothing_is_known_have_the_likelihood_alone() -> None:
    question = OTHER
    turn = Turn(1, "debater", 0, parse_argument("<quote>Ana shut the gate.</quote>", question.story))
    view = Transcript(question).view(answer=0, story=True)
    found = measure_speeches([Said(question, 0, view, turn)])
    assert (found.own, found.over_drawn) == (None, None)
    assert found.quoting is not None
    assert found.values()["own"] is None


async def test_a_scorer_says_what_a_quote_adds_for_the_own_answer() -> None:
    dossier = next(one for one in DOSSIERS if one.quote(0)[:1].isalpha() and '"' not in one.quote(0))

    def score(messages: Messages, continuation: str) -> float:
        told = sum(text in messages[-1].content for text in (dossier.quote(0),))
        return 3.0 * told if continuation == dossier.question.answers[0] else 0.5

    one, none = (said(dossier, answer, quoting(dossier.quote(0))) for answer in (0, 1))
    drawn = drawn_sentence(dossier.question, 0)
    assert drawn is not None
    scorer = ScriptedModel(score=score)
    first, second = [await score_quotes(speech, scorer, PROMPTS) for speech in (one, none)]
    assert first.gain == pytest.approx(3.0)
    assert second.gain == pytest.approx(-3.0)
    assert first.drawn_gain == pytest.approx(3.0 * (drawn.text == dossier.quote(0)))
    bare = said(dossier, 0, "Nothing to quote.")
    assert await score_quotes(bare, scorer, PROMPTS) == bare


def test_the_drawn_sentence_is_any_of_the_story_and_always_the_same() -> None:
    drawn = [drawn_sentence(dossier.question, 0) for dossier in DOSSIERS]
    places = {sentences_of(one.question).index(quote) for one, quote in zip(DOSSIERS, drawn, strict=True) if quote}
    assert len(places) > 5
    assert drawn == [drawn_sentence(dossier.question, 0) for dossier in DOSSIERS]


async def test_a_player_speaks_once_for_each_answer_and_a_failure_is_counted() -> None:
    limits = Limits(20, 90)
    questions = [dossier.question for dossier in DOSSIERS[:3]]
    found = await say(ExtractiveDebater(name="x", limits=limits), questions)
    assert [(one.question.id, one.answer) for one in found] == [(q.id, answer) for q in questions for answer in (0, 1)]
    assert all(one.quotes for one in found)
    assert [one.view.seat for one in found[:2]] in (["A", "B"], ["B", "A"])

    class Down(ScriptedModel):
        async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:  # noqa: ARG002 - the interface
            raise ModelError("down")

    free = FreeDebater(Down(), name="x", prompts=PROMPTS, limits=limits, sampling=Sampling(99))
    measured = measure_speeches(await say(free, questions))
    assert (measured.speeches, measured.failed, measured.quoting) == (6, 6, None)


def test_before_and_after_are_compared_by_speech() -> None:
    dossiers = DOSSIERS[:4]
    before = [said(dossier, 0, "Nothing.") for dossier in dossiers]
    after = [said(dossier, 0, quoting(dossier.quote(0))) for dossier in dossiers[:3]] + before[3:]
    table = compare_speeches(before, after, title="unseen")
    rows = {str(row[0]): [str(cell) for cell in row[1:]] for row in table.rows}
    assert rows["with a verified quote"][0].startswith("0.0 %")
    assert rows["with a verified quote"][1].startswith("75.0 %")
    assert rows["with a verified quote"][2].startswith("75.0 %")
    assert rows["quote speaks for the own answer"][0] == "None"
    assert rows["quote speaks for the own answer"][1].startswith("100.0 %")
    assert "4 speeches on 4 stories" in table.note


def test_a_player_is_built_as_every_command_does() -> None:
    """By name, through the public way; scripted, so the quote is any sentence of the story."""
    model = ModelConfig(name="scripted/tests.scripts:debater")
    asked: dict[str, tuple[str, list[Question]]] = {"one": ("debater", [dossier.question for dossier in DOSSIERS[:4]])}
    found = asyncio.run(
        measure_player(
            PlayerConfig(name="debater", kind="free", model=model),
            asked,  # type: ignore[arg-type]  # the role is a literal
            speech=SpeechConfig(min_words=20, max_words=70, max_tokens=200),
            scorer=model,
            prompts=PROMPTS,
        )
    )
    measured = measure_speeches(found["one"])
    assert measured.quoting is not None
    assert measured.quoting.value == 1
    assert measured.gain is not None
    assert measured.gain.n == 8
    assert dataclasses.asdict(measured)["valid"]["value"] == 1
