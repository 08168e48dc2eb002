from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.agents.debater import FreeDebater, Limits
from debate.agents.evidence import EvidenceFirstDebater
from debate.agents.extractive import ExtractiveDebater
from debate.agents.passages import quotable
from debate.models.base import Capabilities, Draw, Messages, Sampling
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.question import Question
from debate.transcript import Transcript, Turn
from debate.windows import GAP, Windowed, window

PARAGRAPHS = [f"This is part {number} of it and nothing more to say here." for number in range(20)]
PARAGRAPHS[3] = "Ana hid the silver key under the stone."
PARAGRAPHS[11] = "Tomas found the silver key in the well."
STORY = "\n\n".join(PARAGRAPHS)


def within(words: int) -> Callable[[str], bool]:
    return lambda text: len(text.split()) <= words


def test_a_story_that_fits_stays_whole() -> None:
    assert window(STORY, "silver key", within(1000)) == STORY


def test_what_shares_words_is_kept_with_marks_at_the_gaps() -> None:
    kept = window(STORY, "Where was the silver key?", within(19))
    assert kept.split("\n\n") == [GAP, PARAGRAPHS[3], GAP, PARAGRAPHS[11], GAP]


def test_neighbours_have_no_gap_between_them() -> None:
    story = "\n\n".join([PARAGRAPHS[3], PARAGRAPHS[11], *PARAGRAPHS[12:]])
    assert window(story, "silver key", within(18)).split("\n\n") == [PARAGRAPHS[3], PARAGRAPHS[11], GAP]


@pytest.mark.parametrize(
    ("words", "kept"), [(6, [GAP, "Ana hid the silver", GAP]), (3, [GAP, "Ana", GAP]), (2, ["Ana"]), (0, ["Ana"])]
)
def test_where_no_sentence_fits_the_best_one_begins(words: int, kept: list[str]) -> None:
    assert window(STORY, "silver key", within(words)).split("\n\n") == kept


def test_a_story_of_one_endless_sentence_has_a_window() -> None:
    kept = window("word " * 5000, "x", lambda text: len(text) < 100)
    assert 90 < len(kept) < 100
    assert kept.endswith(f"word\n\n{GAP}")
    assert window(" \n\n ", "x", lambda text: not text) == ""


def test_a_paragraph_too_long_to_fit_gives_way_to_its_sentences() -> None:
    short = [f"Paragraph {number} is about the weather." for number in range(20)]
    giant = "Nothing was heard at all. " * 150 + "Mara rang the bell. " + "Nothing was heard at all. " * 150
    story = "\n\n".join([*short[:7], giant.strip(), *short[8:]])
    kept = window(story, "Who rang the bell? Mara rang the bell.", within(900)).split("\n\n")
    assert "Mara rang the bell." in kept
    assert set(short) - {short[7]} <= set(kept)
    assert kept[:8] == [*short[:7], GAP] or "Nothing was heard at all." in kept


def test_a_sentence_too_long_to_fit_is_passed_over() -> None:
    endless = "Mara rang the bell and " * 400
    story = "\n\n".join([*PARAGRAPHS[:10], endless.strip(), *PARAGRAPHS[10:]])
    kept = window(story, "Mara rang the bell for the silver key", within(19)).split("\n\n")
    assert kept == [GAP, PARAGRAPHS[3], GAP, PARAGRAPHS[11], GAP]


def test_one_block_of_text_is_windowed_by_sentences() -> None:
    story = " ".join(PARAGRAPHS)
    assert window(story, "silver key", within(19)).split("\n\n") == [GAP, PARAGRAPHS[3], GAP, PARAGRAPHS[11], GAP]


@given(
    st.lists(st.lists(st.sampled_from(["ana", "key", "well", "so", "it", "was"]), min_size=1, max_size=6), min_size=8),
    st.integers(0, 60),
)
def test_windows_are_paragraphs_in_order_that_fit(words: list[list[str]], limit: int) -> None:
    paragraphs = [f"{index} {' '.join(part)}" for index, part in enumerate(words)]
    story = "\n\n".join(paragraphs)
    kept = window(story, "ana found the key", within(limit))
    pieces = kept.split("\n\n")
    real = [piece for piece in pieces if piece != GAP]
    if real[0] not in paragraphs:  # no paragraph fits
        assert not any(within(limit)(f"{GAP}\n\n{paragraph}\n\n{GAP}") for paragraph in paragraphs)
        assert any(paragraph.startswith(real[0]) for paragraph in paragraphs)
        assert len(kept.split()) <= limit or len(kept.split()) == 1
        return
    assert len(kept.split()) <= limit or kept == "0"
    indices = [paragraphs.index(piece) for piece in real]
    assert indices == sorted(set(indices))
    if kept != story:  # each place where something is missing is marked, and no other
        expected: list[str] = []
        last = -1
        for index in indices:
            expected += [GAP] * (index > last + 1) + [paragraphs[index]]
            last = index
        assert pieces == expected + [GAP] * (last + 1 < len(paragraphs))


def test_the_mark_of_a_gap_is_no_evidence() -> None:
    assert GAP not in {quote.text for quote in quotable(f"{GAP}\n\n{PARAGRAPHS[3]}\n\n{GAP}", 30)}


QUESTION = Question("q", "Where was the silver key?", ("Under the stone.", "In the well."), 1, STORY, "s", "test")
LIMITS = Limits(min_words=1, max_words=60, max_attempts=1)


def free(reply: Callable[[Messages, Draw], str]) -> Windowed:
    model = ScriptedModel(reply)
    inner = FreeDebater(model, name="p", prompts=Prompts(), limits=LIMITS, sampling=Sampling(100))
    return Windowed(inner, model, 19)


async def test_spans_point_into_the_whole_story() -> None:
    prompts: list[str] = []

    def reply(messages: Messages, _draw: Draw) -> str:
        prompts.append(messages[-1].content)
        return (
            "<argument>Debater A errs: <quote>Tomas found the silver key in the well.</quote> and "
            f"<quote>under the stone. {GAP} Tomas found</quote> and <quote>no such words here</quote></argument>"
        )

    player = free(reply)
    assert player.name == "p"
    view = Transcript(QUESTION).view(answer=1, story=True)
    speech = await player.argue(view, Draw())
    assert PARAGRAPHS[3] in prompts[0]
    assert PARAGRAPHS[4] not in prompts[0]
    spoken = speech.candidates[speech.chosen].argument
    true, over_gap, false = spoken.quotes
    assert true.verified
    assert true.span is not None
    assert STORY[slice(*true.span)] == PARAGRAPHS[11]
    assert not over_gap.verified
    assert not false.verified
    assert spoken.render("A").startswith("Debater B errs:")  # names survive
    assert (await player.candidates(view, Draw(), 1))[0].argument == spoken


async def test_a_short_story_is_left_alone() -> None:
    question = Question("q", "Where?", ("Here.", "There."), 0, PARAGRAPHS[3], "s", "test")
    prompts: list[str] = []

    def reply(messages: Messages, _draw: Draw) -> str:
        prompts.append(messages[-1].content)
        return "<argument>So.</argument>"

    await free(reply).argue(Transcript(question).view(answer=0, story=True), Draw())
    assert PARAGRAPHS[3] in prompts[0]
    assert GAP not in prompts[0]


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_evidence_from_a_window_is_verified_on_the_whole(number: int) -> None:
    def reply(messages: Messages, _draw: Draw) -> str:
        return str(number) if "Which" in messages[-1].content else "It shows it."

    model = ScriptedModel(reply, capabilities=Capabilities(score=False))
    inner = EvidenceFirstDebater(model, name="p", prompts=Prompts(), limits=LIMITS, sampling=Sampling(60))
    view = Transcript(QUESTION).view(answer=1, story=True)
    speech = await Windowed(inner, model, 19).argue(view, Draw())
    (quote,) = speech.candidates[speech.chosen].argument.quotes
    assert quote.verified
    assert quote.span is not None
    assert STORY[slice(*quote.span)] == quote.text
    assert quote.text in {PARAGRAPHS[3], PARAGRAPHS[11]}


@pytest.mark.parametrize("tokens", [300, 10_000])
async def test_an_answer_that_speaks_of_sides_is_the_same_through_a_window(tokens: int) -> None:
    story = "\n\n".join(f"Paragraph {i} says that the band played on stage number {i} all night." for i in range(40))
    answers = ("It was on side A of the record.", "It was on side B of the record.")
    question = Question("q", "Which side was the hit on?", answers, 0, story, "s", "test")
    inner = ExtractiveDebater(name="x", limits=Limits(10, 60), quotes=1)
    transcript = Transcript(question)
    speech = await Windowed(inner, ScriptedModel(), tokens).argue(transcript.view(answer=0, story=True), Draw())
    spoken = transcript.with_turns(Turn.choose(speech.candidates, speech.chosen, round_=1, answer=0))
    for seen in (spoken, spoken.swapped()):
        assert seen.view().turns[0].text.startswith(f"{answers[0]} The story says: <v_quote>")
