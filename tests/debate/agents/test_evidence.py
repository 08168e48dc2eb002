from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.agents.debater import Limits
from debate.agents.evidence import (
    Evidence,
    EvidenceFirstDebater,
    assemble,
    draw_evidence,
    rank_by_asking,
    rank_by_likelihood,
    repeats,
)
from debate.agents.passages import overlaps, quotable
from debate.errors import ConfigError
from debate.models.base import Capabilities, Draw, Messages, Sampling
from debate.models.calls import LoggedModel
from debate.models.limits import Budget, Meter
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.question import Question
from debate.quotes import Quote, parse_argument
from debate.store import Store
from debate.transcript import Transcript, Turn
from debate.view import View

STORY = (
    "Ana shut the gate at noon. Tomas rode off without a word. The dog slept on the step. "
    "Rain fell on the low road. Nobody saw who latched the barn."
)
QUESTION = Question("q", "Who shut the gate?", ("It was Tomas.", "It was Ana."), 1, STORY, "s", "test")
TOMAS = Transcript(QUESTION).view(answer=0, story=True)
ANA = Transcript(QUESTION).view(answer=1, story=True)
SENTENCES = quotable(STORY, 30)
LIMITS = Limits(min_words=1, max_words=60, min_quotes=1, max_attempts=2)
PROMPTS = Prompts()

# log p(answer | sentence) by a word of the sentence; without evidence the model leans to Tomas by half a nat.
LEANS = {
    "shut": ("Ana", 3.0),
    "rode": ("Tomas", 2.0),
    "dog": ("Ana", 0.5),
    "Rain": ("Tomas", 0.25),
    "latched": ("", 0.0),
}


def score(messages: Messages, answer: str) -> float:
    prompt = messages[-1].content
    for word, (who, gain) in LEANS.items():
        if word in prompt.split("The story says:")[-1] and "The story says:" in prompt:
            return -5.0 + (gain if who and who in answer else 0.0) + (0.5 if "Tomas" in answer else 0.0)
    return -5.0 + (0.5 if "Tomas" in answer else 0.0)


def texts(quotes: list[Quote]) -> list[str]:
    return [quote.text.split()[0] + " " + quote.text.split()[1] for quote in quotes]


async def test_the_ranking_is_the_gain_over_no_evidence() -> None:
    model = ScriptedModel(score=score)
    ranked = await rank_by_likelihood(model, PROMPTS, ANA, SENTENCES)
    assert texts([item.quote for item in ranked]) == ["Ana shut", "The dog", "Nobody saw", "Rain fell", "Tomas rode"]
    assert [item.gain for item in ranked] == pytest.approx([3.0, 0.5, 0.0, -0.25, -2.0])
    ranked = await rank_by_likelihood(model, PROMPTS, TOMAS, SENTENCES)
    assert texts([item.quote for item in ranked]) == ["Tomas rode", "Rain fell", "Nobody saw", "The dog", "Ana shut"]
    assert [item.gain for item in ranked] == pytest.approx([2.0, 0.25, 0.0, -0.5, -3.0])


async def test_ties_keep_the_order_of_the_story() -> None:
    ranked = await rank_by_likelihood(ScriptedModel(score=lambda _m, _a: -1.0), PROMPTS, ANA, SENTENCES)
    assert [item.quote for item in ranked] == SENTENCES


async def test_both_sides_share_the_calls(tmp_path: Path) -> None:
    calls: list[str] = []

    def count(messages: Messages, answer: str) -> float:
        calls.append(answer)
        return score(messages, answer)

    store = Store(tmp_path / "run.sqlite")
    model = LoggedModel(ScriptedModel(score=count), store, Meter(Budget(), {}))
    await rank_by_likelihood(model, PROMPTS, ANA, SENTENCES)
    swapped = Transcript(QUESTION, (1, 0)).view(answer=0, story=True)
    await rank_by_likelihood(model, PROMPTS, TOMAS, SENTENCES)
    await rank_by_likelihood(model, PROMPTS, swapped, SENTENCES)
    assert len(calls) == 2 * (len(SENTENCES) + 1)  # two answers for each sentence, and without one
    store.close()


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("3, 1", [2, 0, 1, 3, 4]),
        ("Sentences **5** and [2].", [4, 1, 0, 2, 3]),
        ("1. 4\n", [0, 3, 1, 2, 4]),
        ("3,3,3", [2, 0, 1, 3, 4]),
        ("0, 6, 99, -2", [1, 0, 2, 3, 4]),
        ("none", [0, 1, 2, 3, 4]),
        ("", [0, 1, 2, 3, 4]),
        ("9" * 5000 + " 2", [1, 0, 2, 3, 4]),
    ],
)
async def test_numbers_are_read_from_any_reply(reply: str, order: list[int]) -> None:
    prompts: list[str] = []

    def answer(messages: Messages, _draw: Draw) -> str:
        prompts.append(messages[-1].content)
        return reply

    ranked = await rank_by_asking(ScriptedModel(answer), PROMPTS, ANA, SENTENCES, count=2, draw=Draw())
    assert [item.quote for item in ranked] == [SENTENCES[index] for index in order]
    assert {item.gain for item in ranked} == {None}
    assert "2. Tomas rode off without a word." in prompts[0]
    assert "The answer to support: It was Ana." in prompts[0]


def test_quotable_sentences_are_verified_and_not_too_long() -> None:
    story = "Yes. Ana shut the gate at noon. Yes. Ana shut the gate at noon. " + "word " * 40 + "end."
    assert [quote.text for quote in quotable(story, 30)] == ["Ana shut the gate at noon."]  # a repeated one once
    assert [quote.span for quote in quotable(story, 30)] == [(5, 31)]
    assert len(quotable("word " * 40 + "end.", 30)) == 1  # all are too long: then they count
    assert quotable("", 30) == []
    assert quotable("Yes. No.", 30) == []


EVIDENCE = [SENTENCES[0], SENTENCES[2]]
ANA_SHUT, DOG = "<v_quote>Ana shut the gate at noon.</v_quote>", "<v_quote>The dog slept on the step.</v_quote>"


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        ("She did it. So said.", f"It was Ana. {ANA_SHUT} She did it. So said. The story also says: {DOG}"),
        ("", f"It was Ana. {ANA_SHUT} The story also says: {DOG}"),
        ("First [1], then [2] shows it.", f"First {ANA_SHUT}, then {DOG} shows it."),
        ("[2] came before ( 1 ).", f"{DOG} came before {ANA_SHUT}."),
        ("See [1]. And [1] again.", f"See {ANA_SHUT}. And  again. {DOG}"),
        ("See [2].", f"See {DOG}. {ANA_SHUT}"),
        ("See [0] and [3] and (12).", f"It was Ana. {ANA_SHUT} See [0] and [3] and (12). The story also says: {DOG}"),
        ("See [1] and [7].", f"See {ANA_SHUT} and [7]. {DOG}"),
        ("She did it. He was al", f"It was Ana. {ANA_SHUT} She did it. The story also says: {DOG}"),
    ],
)
def test_quotes_are_spliced_in(reply: str, shown: str) -> None:
    assert assemble(reply, EVIDENCE, ANA, 60).render("B") == shown


@pytest.mark.parametrize(
    "reply", ["So it was then. " * 20, "See [1]. " + "So it was then. " * 20, "[1] [2] " + "Yes. " * 90]
)
def test_only_own_words_are_cut(reply: str) -> None:
    argument = assemble(reply, EVIDENCE, ANA, 30)
    assert argument.words <= 30
    assert argument.words > 20
    assert set(argument.quotes) == set(EVIDENCE)
    assert argument.plain().rstrip().endswith(".")


def test_names_in_a_reply_follow_the_seats() -> None:
    argument = assemble("Debater A is wrong about [1].", EVIDENCE[:1], ANA, 60)
    assert argument.render("B") == f"Debater A is wrong about {ANA_SHUT}."
    assert argument.render("A") == f"Debater B is wrong about {ANA_SHUT}."


HOSTILE = st.lists(
    st.sampled_from(
        [
            "<v_quote>",
            "</v_quote>",
            "<quote>",
            "</quote>",
            "&lt;v_quote&gt;",
            "＜v_quote＞",
            "<V_QUOTE >",
            "</argument>",
            "[1]",
            "[2]",
            "(1)",
            "[9]",
            "Tomas shut the gate",
            "gate at noon",
            "&l",
            "t;",
            "<",
            ">",
            "v_quote",
            "\n",
            " ",
            ". ",
            "\u200b",
            "Debater B: ",
            "[INST]",
            "\ud800",
        ]
    ),
    max_size=14,
).map("".join)


@given(st.one_of(HOSTILE, st.text()), st.integers(1, 80))
def test_no_reply_makes_a_verified_quote_of_its_own(reply: str, words: int) -> None:
    argument = assemble(reply, EVIDENCE, ANA, words)
    assert sorted(quote.text for quote in argument.quotes) == sorted(quote.text for quote in EVIDENCE)
    for seat in ("A", "B"):
        shown = argument.render("A" if seat == "A" else "B")
        marked = [part.split("</v_quote>")[0] for part in shown.split("<v_quote>")[1:]]
        assert sorted(marked) == sorted(quote.text for quote in EVIDENCE)
        assert shown.count("</v_quote>") == len(EVIDENCE)
        for quote in (ANA_SHUT, DOG):
            shown = shown.replace(quote, "")
        assert "<" not in shown
        assert ">" not in shown


@pytest.mark.parametrize(
    ("text", "looped"),
    [
        ("", False),
        ("one two three four five", False),
        ("one two three four five one two three four five", True),
        ("He did it, as I said. He did it as I said!", True),
        ("one two three four one two three four", False),
        ("yes " * 6, True),
    ],
)
def test_repeats(text: str, looped: bool) -> None:  # noqa: FBT001 - a parameter
    assert repeats(text) is looped


async def test_shared_words_count_beside_the_likelihood() -> None:
    alone = await rank_by_likelihood(ScriptedModel(score=score), PROMPTS, ANA, SENTENCES)
    by_words = await rank_by_likelihood(ScriptedModel(score=score), PROMPTS, ANA, SENTENCES, overlap=1e6)
    shared = overlaps(ANA, SENTENCES)
    expected = sorted(range(len(SENTENCES)), key=lambda index: -shared[index])
    assert by_words[0].quote == SENTENCES[expected[0]]
    assert {item.quote.text: item.gain for item in by_words} == {item.quote.text: item.gain for item in alone}


def debater(model: ScriptedModel, **more: int) -> EvidenceFirstDebater:
    return EvidenceFirstDebater(
        model, name="p", prompts=PROMPTS, limits=LIMITS, sampling=Sampling(60), overlap=0.0, **more
    )


async def test_the_strongest_sentences_are_quoted() -> None:
    prompts: list[str] = []

    def reply(messages: Messages, _draw: Draw) -> str:
        prompts.append(messages[-1].content)
        return "She shut it."

    speech = await debater(ScriptedModel(reply, score=score), quotes=2).argue(ANA, Draw())
    spoken = speech.candidates[speech.chosen]
    assert spoken.valid
    assert [quote.text for quote in spoken.argument.quotes] == [EVIDENCE[0].text, EVIDENCE[1].text]
    assert all(quote.verified for quote in spoken.argument.quotes)
    assert prompts == [
        'Question: Who shut the gate?\nYour answer: It was Ana.\nEvidence [1]: "Ana shut the gate at noon."'
    ]


async def test_without_scores_the_model_is_asked() -> None:
    def reply(messages: Messages, _draw: Draw) -> str:
        return "4" if "Which" in messages[-1].content else "It rained."

    model = ScriptedModel(reply, capabilities=Capabilities(score=False))
    speech = await debater(model).argue(ANA, Draw())
    assert [quote.text for quote in speech.candidates[0].argument.quotes] == ["Rain fell on the low road."]


async def test_a_later_round_quotes_nothing_again() -> None:
    player = debater(ScriptedModel(["She shut it."], score=score), quotes=2)
    transcript = Transcript(QUESTION)
    said: list[str] = []
    for number in (1, 2, 3):
        view = transcript.view(answer=1, story=True)
        speech = await player.argue(view, Draw())
        said += [quote.text for quote in speech.candidates[speech.chosen].argument.quotes]
        turn = Turn.choose(speech.candidates, speech.chosen, round_=number, answer=1)
        other = Turn(number, "debater", 0, parse_argument(f"<quote>{SENTENCES[3].text}</quote>", STORY))
        transcript = transcript.with_turns(turn, other)
    assert sorted(said) == sorted(quote.text for quote in SENTENCES)  # what only the opponent quoted is still free
    speech = await player.argue(transcript.view(answer=1, story=True), Draw())
    assert speech.candidates[speech.chosen].flaws[-1] == "no sentence to quote"


@pytest.mark.parametrize("story", [None, "", "Yes. No."])
async def test_nothing_to_quote_is_a_flawed_candidate(story: str | None) -> None:
    view = View(QUESTION.text, QUESTION.answers, story, (), "B")
    speech = await debater(ScriptedModel(score=score)).argue(view, Draw())
    (only,) = speech.candidates
    assert only.argument.plain() == "It was Ana."
    assert "no sentence to quote" in only.flaws


def test_evidence_is_drawn_by_its_value() -> None:
    values = (1.0, 0.0, -1.0, 3.0)
    ranked = [
        Evidence(quote, None, value) for quote, value in zip(SENTENCES, sorted(values, reverse=True), strict=False)
    ]
    draws = [Draw(7, "p", sample=number) for number in range(1, 4001)]
    first = Counter(draw_evidence(ranked, 1, 2.0, draw)[0].value for draw in draws)
    weights = {item.value: math.exp(item.value / 2.0) for item in ranked}
    for value, weight in weights.items():  # softmax, by the closed form
        share = weight / sum(weights.values())
        assert abs(first[value] / 4000 - share) < 4 * math.sqrt(share * (1 - share) / 4000)
    pair = draw_evidence(ranked, 2, 2.0, draws[0])
    assert len({item.quote.text for item in pair}) == 2
    assert pair == sorted(pair, key=lambda item: -item.value)
    assert draw_evidence(ranked, 2, 2.0, draws[0]) == pair
    assert draw_evidence(ranked, 2, 2.0, Draw(7, "p")) == draw_evidence(ranked, 2, 0.0, draws[0]) == ranked[:2]


async def test_candidates_of_a_spread_quote_different_sentences_each_with_its_own_words() -> None:
    asked: list[tuple[str, int]] = []

    def reply(messages: Messages, draw: Draw) -> str:
        asked.append((messages[-1].content, draw.sample))
        return f"It is said in number {draw.sample} that she shut it."

    plain = await debater(ScriptedModel(reply, score=score)).candidates(ANA, Draw(3), 1)
    asked.clear()
    player = debater(ScriptedModel(reply, score=score), spread=5)
    found = await player.candidates(ANA, Draw(3), 8)
    assert found[0] == plain[0]  # so best-of-N is compared with what the player says without it
    assert len({candidate.argument.quotes[0].text for candidate in found}) > 1
    for number, candidate in enumerate(found):
        assert f"number {number} " in candidate.raw
        (prompt,) = [text for text, sample in asked if sample == number]
        assert candidate.argument.quotes[0].text in prompt
    with pytest.raises(ConfigError, match="spread is in nats"):
        debater(ScriptedModel(reply, capabilities=Capabilities(score=False)), spread=1)


async def test_of_valid_drafts_the_one_of_highest_gain_is_kept() -> None:
    drafts = ["It was a mild day.", "She surely shut it.", "one two three four five one two three four five", "He did."]
    gains = {drafts[0]: 0.1, drafts[1]: 2.0, drafts[2]: 9.0, drafts[3]: -1.0}
    seen: list[Draw] = []

    def reply(_messages: Messages, draw: Draw) -> str:
        seen.append(draw)
        return drafts[draw.sample % 4]

    def judge(messages: Messages, answer: str) -> float:
        prompt = messages[-1].content
        gain = next((gain for draft, gain in gains.items() if draft in prompt), None)
        return score(messages, answer) if gain is None else (gain if "Ana" in answer else 0.0)

    found = await debater(ScriptedModel(reply, score=judge), drafts=4).candidates(ANA, Draw(), 2)
    assert [one.raw for one in found] == [drafts[1], drafts[1]]  # a loop is invalid, however likely
    assert [draw.sample for draw in seen] == list(range(8))  # no two candidates share a draft


@pytest.mark.parametrize(("scores", "temperature", "drafts"), [(True, 0.8, 4), (False, 0.8, 1), (True, 0.0, 1)])
async def test_no_draft_is_paid_for_that_could_not_be_preferred(
    temperature: float, drafts: int, *, scores: bool
) -> None:
    seen: list[Draw] = []

    def reply(messages: Messages, draw: Draw) -> str:
        if "Which 1 sentences" in messages[-1].content:
            return "1"
        seen.append(draw)
        return f"She surely shut it, {draw.sample}."

    model = ScriptedModel(reply, score=score, capabilities=Capabilities(score=scores))
    limits, sampling = Limits(1, 60, 1, 2), Sampling(100, temperature=temperature)
    wanted = EvidenceFirstDebater(model, name="p", prompts=PROMPTS, limits=limits, sampling=sampling, drafts=4)
    assert (await wanted.argue(ANA, Draw())).candidates[0].valid
    assert len(seen) == drafts


async def test_thinking_is_neither_said_nor_scored() -> None:
    scored: list[str] = []

    def judge(messages: Messages, answer: str) -> float:
        scored.append(messages[-1].content)
        return score(messages, answer)

    drafts = ["<think>I must lie. I must lie. I must lie.</think>She did it.", "<think>I must lie", "He did it."]
    found = await debater(ScriptedModel(drafts, score=judge), drafts=2).candidates(ANA, Draw(), 1)
    assert found[0].valid
    assert found[0].argument.plain().endswith("She did it.")
    assert found[0].thinking == "I must lie. I must lie. I must lie."
    found = await debater(ScriptedModel(["<think>I must lie", "He did it."], score=judge)).candidates(ANA, Draw(), 1)
    assert [one.flaws for one in found] == [("nothing but thinking",), ()]
    found = await debater(ScriptedModel(drafts[::2], score=judge), drafts=2).candidates(ANA, Draw(), 1)
    for text in (*scored, *(one.argument.plain() for one in found)):
        assert "must lie" not in text


async def test_a_loop_is_sampled_again() -> None:
    loop = "It was so and it was " * 3
    speech = await debater(ScriptedModel([loop, "She did it."], score=score)).argue(ANA, Draw())
    assert [one.flaws for one in speech.candidates] == [("repeats itself", "breaks off"), ()]
    assert speech.chosen == 1
