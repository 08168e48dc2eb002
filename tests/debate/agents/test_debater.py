from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.agents.debater import FreeDebater, Limits, cut_argument, read_candidate, sample_valid, speak
from debate.agents.evidence import EvidenceFirstDebater
from debate.models.base import Capabilities, Completion, Draw, Messages, Sampling
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.question import Question
from debate.quotes import Argument, Name, Quote, parse_argument
from debate.transcript import Candidate, Transcript, Turn

STORY = "Ana shut the gate at noon. Tomas rode off without a word. The dog slept on."
QUESTION = Question("q", "Who shut the gate?", ("It was Tomas.", "It was Ana."), 1, STORY, "s", "test")
VIEW = Transcript(QUESTION).view(answer=1, story=True)
LIMITS = Limits(min_words=4, max_words=12, min_quotes=1, max_attempts=3)
GOOD = "<argument>It was her: <quote>Ana shut the gate at noon.</quote></argument>"


def argument(words: int, quotes: int = 0) -> Argument:
    quoted: list[str | Quote] = [" ", Quote("w", verified=False)]
    return Argument((" ".join(["w"] * (words - quotes)), *(quoted * quotes)))


def candidate(text: str, *flaws: str) -> Candidate:
    return Candidate(text, parse_argument(text, STORY), "", flaws)


@pytest.mark.parametrize(
    ("words", "quotes", "flaws"),
    [
        (4, 1, ()),
        (12, 3, ()),
        (3, 1, ("3 words, fewer than 4",)),
        (13, 1, ("13 words, more than 12",)),
        (5, 0, ("0 quotes, fewer than 1",)),
        (0, 0, ("0 words, fewer than 4", "0 quotes, fewer than 1")),
    ],
)
def test_limits(words: int, quotes: int, flaws: tuple[str, ...]) -> None:
    assert LIMITS.flaws(argument(words, quotes)) == flaws


async def test_only_the_missing_ones_are_sampled_again() -> None:
    asked: list[list[Draw]] = []

    async def make(draws: Sequence[Draw]) -> list[Candidate]:
        asked.append(list(draws))
        good = {(0, 0), (0, 2), (1, 1)}  # attempt, sample
        return [candidate("x", *([] if (draw.attempt, draw.sample) in good else ["bad"])) for draw in draws]

    found = await sample_valid(make, Draw(seed=7, stream="p"), 4, LIMITS)
    assert [[(draw.attempt, draw.sample) for draw in draws] for draws in asked] == [
        [(0, 0), (0, 1), (0, 2), (0, 3)],
        [(1, 0), (1, 1)],
        [(2, 0)],
    ]
    assert {(draw.seed, draw.stream) for draws in asked for draw in draws} == {(7, "p")}
    assert [one.valid for one in found] == [True, False, True, False, False, True, False]


async def test_valid_ones_are_not_sampled_again() -> None:
    asked = []

    async def make(draws: Sequence[Draw]) -> list[Candidate]:
        asked.append(len(draws))
        return [candidate("x") for _ in draws]

    assert len(await sample_valid(make, Draw(), 3, LIMITS)) == 3
    assert asked == [3]


@pytest.mark.parametrize(
    ("temperature", "takes_one", "attempts"), [(0.0, True, 1), (0.0, False, 3), (0.1, True, 3), (0.8, False, 3)]
)
async def test_a_model_that_would_say_the_same_again_is_not_asked_again(
    temperature: float, attempts: int, *, takes_one: bool
) -> None:
    model = ScriptedModel(["too short"], capabilities=Capabilities(temperature=takes_one))
    sampling = Sampling(50, temperature=temperature)
    debater = FreeDebater(model, name="p", prompts=Prompts(), limits=LIMITS, sampling=sampling)
    assert len(await debater.candidates(VIEW, Draw(), 2)) == 2 * attempts
    evidence = EvidenceFirstDebater(
        ScriptedModel(["too short"], capabilities=Capabilities(score=True, temperature=takes_one)),
        name="p",
        prompts=Prompts(),
        limits=Limits(min_words=50, max_words=60, max_attempts=3),
        sampling=sampling,
    )
    assert len(await evidence.candidates(VIEW, Draw(), 2)) == 2 * attempts


def test_the_first_valid_candidate_is_spoken() -> None:
    candidates = (candidate("a", "bad"), candidate("b"), candidate("c"))
    assert speak(candidates, LIMITS) == (candidates, 1)


def test_the_best_invalid_candidate_is_cut_at_a_sentence_end() -> None:
    long = "She did it. <quote>Ana shut the gate at noon.</quote> Nobody else was there at all that day. And more."
    candidates = (candidate("x", "short", "no quote"), candidate(long, "long"))
    speech = speak(candidates, LIMITS)
    assert speech.candidates[:2] == candidates
    spoken = speech.candidates[speech.chosen]
    assert spoken.flaws == ("long", "cut")
    assert spoken.raw == long
    assert spoken.argument.render() == "She did it. <v_quote>Ana shut the gate at noon.</v_quote>"


@pytest.mark.parametrize("quote", ["<quote></quote>", "<quote> </quote>", "<quote>…</quote>", '<quote>"."</quote>'])
def test_a_quote_without_a_word_is_none(quote: str) -> None:
    found = read(f"<argument>She did it, as anybody can see. {quote}</argument>")
    assert found.flaws == ("0 quotes, fewer than 1",)
    candidates = (found, candidate("<quote>Ana shut</quote>", "bad"))
    assert speak(candidates, LIMITS) == (candidates, 1)


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("It was her. Nobody else was there and the", "It was her."),
        ("It was her. <quote>Ana shut the", "It was her."),
        ("It was her. As Debater B", "It was her."),
        ("It was <quote>her</quote> and so", "It was <u_quote>her</u_quote>"),
        ("It was her. It says: <quote></quote>", "It was her."),
        ("It was her", "It was her"),  # nothing would be left
        ("It was her.\n", "It was her.\n"),
        ("It was <quote>her</quote>", "It was <u_quote>her</u_quote>"),
        ("", ""),
    ],
)
def test_an_invalid_candidate_that_breaks_off_ends_with_its_last_whole_sentence(text: str, spoken: str) -> None:
    found = Candidate(text, parse_argument(text, STORY, seat="A"), "", ("bad",))
    speech = speak((found,), LIMITS, STORY)
    chosen = speech.candidates[speech.chosen]
    assert speech.candidates[0] == found
    assert chosen.argument.render("A") == spoken
    assert chosen.flaws == (("bad", "cut") if chosen.argument != found.argument else ("bad",))


def test_a_quote_too_long_for_a_whole_speech_is_cut_at_a_sentence_end_and_verified_again() -> None:
    story = "Ana shut the gate. The dog slept on. " + "Nobody came by that day at all and so on. " * 3
    for lead in ("", "It says: "):
        speech = speak((candidate(f"{lead}<quote>{story}</quote> That proves it.", "long"),), LIMITS, story)
        spoken = speech.candidates[speech.chosen]
        assert spoken.argument.render() == f"{lead}<v_quote>Ana shut the gate. The dog slept on.</v_quote>"
        assert spoken.argument.quotes[0].span == (0, 36)
        assert spoken.flaws == ("long", "cut")
    false = speak((candidate("<quote>" + "She lied. " * 20 + "</quote>", "long"),), LIMITS, story)
    assert false.candidates[1].argument.render() == f"<u_quote>{' '.join(['She lied.'] * 6)}</u_quote>"
    first = cut_argument(parse_argument("<quote>Nobody came by that day at all and so on.</quote>", story), 5, story)
    assert first.render() == "<v_quote>Nobody came by that day</v_quote>"


def test_a_short_invalid_candidate_stays_as_it_is() -> None:
    candidates = (candidate("x", "a", "b"), candidate("y", "a"), candidate("<quote>z</quote>", "a"))
    assert speak(candidates, LIMITS) == (candidates, 2)  # of equal flaws, the one with more quotes


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("One two. Three four. Five six.", 4, "One two. Three four."),
        ("One two three four five.", 3, "One two three"),
        ("Short and whole", 5, "Short and whole"),
        ("<quote>The dog slept on.</quote> which shows it", 20, "<v_quote>The dog slept on.</v_quote> which shows it"),
        ("It is so. The story says: <quote>The dog slept on.</quote> Yes.", 7, "It is so."),
        ("He said “no.” The story says: <quote>The dog slept on.</quote>", 8, "He said “no.”"),
        ("It is so. Debater B lies a lot about every thing.", 6, "It is so."),
        ("<quote>The dog slept on.</quote> So Debater B lies about it all.", 7, "<v_quote>The dog slept on.</v_quote>"),
    ],
)
def test_cuts(text: str, words: int, expected: str) -> None:
    cut = cut_argument(parse_argument(text, STORY, seat="A"), words)
    assert cut.render("A").strip() == expected


PIECES = st.one_of(
    st.sampled_from(["He left. ", "and so on ", "Why? ", " says: ", " ", "a b c d e f g h. "]),
    st.sampled_from([Quote("The dog slept on.", verified=True, span=(58, 75)), Quote("he never did", verified=False)]),
    st.sampled_from([Name("self", "Debater"), Name("opponent", "answer is")]),
)


@given(st.lists(PIECES, max_size=12), st.integers(1, 30))
def test_a_cut_keeps_to_the_words_and_cuts_no_quote_but_a_first_one(
    spans: list[str | Quote | Name], words: int
) -> None:
    whole = Argument(tuple(spans))
    cut = cut_argument(whole, words)
    assert cut.words <= words
    *others, last = cut.quotes or [None]
    assert tuple(others) == whole.quotes[: len(others)]
    assert last is None or last == whole.quotes[len(others)] or (not others and cut.spans[-1] == last)
    assert whole.plain().startswith(cut.plain())
    if whole.words <= words:
        assert cut == whole


def read(text: str) -> Candidate:
    return read_candidate(Completion(text, "stop"), VIEW, LIMITS)


def test_the_argument_block_is_what_is_said() -> None:
    found = read(f"Let me think <argument>No.</argument> again.\n{GOOD}\nThat will do.")
    assert found.valid
    assert found.argument.render() == "It was her: <v_quote>Ana shut the gate at noon.</v_quote>"
    assert "think" in found.thinking
    assert "do." in found.thinking
    assert "shut" not in found.thinking
    assert found.raw.startswith("Let me think")


def test_without_a_block_all_of_it_is_a_flawed_argument() -> None:
    found = read("It was her: <quote>Ana shut the gate at noon.</quote>")
    assert found.flaws == ("no complete <argument> block",)
    assert found.argument.words == 9
    assert found.thinking == ""


def test_what_was_thought_before_an_unclosed_block_is_not_said() -> None:
    found = read("I must lie here. <Argument>It was her: <quote>Ana shut the gate")
    assert found.flaws[0] == "no complete <argument> block"
    assert found.argument.plain() == "It was her: Ana shut the gate"
    assert found.thinking == "I must lie here."


SPEECH = "It was her: <quote>Ana shut the gate at noon.</quote>"


@pytest.mark.parametrize(
    ("text", "said", "thought"),
    [
        ("<think>I must lie.</think> It was her.", "It was her.", "I must lie."),
        ("<THINKING>\nI must lie.\n</Thinking>\nIt was her.", "It was her.", "I must lie."),
        ("It was <reasoning>I must lie.</reasoning>her.", "It was her.", "I must lie."),
        ("< scratchpad >I must lie.</ scratchpad >It was her.", "It was her.", "I must lie."),
        ("It was her. <think>I must lie.", "It was her.", "I must lie."),
        ("<think>I must lie.", "", "I must lie."),
        ("I must lie.\n</think>\nIt was her.", "It was her.", "I must lie."),
        ("<think>I <think>must</think> lie.</think> It was her.", "It was her.", "I\nmust\nlie."),
        ("<think>I must <think> lie.</think>It was her.", "It was her.", "I must\nlie."),
        ("<think></think>It was her.", "It was her.", ""),
        ("I think <thinker>it was her.", "I think ‹thinker›it was her.", ""),
    ],
)
def test_thinking_is_never_said(text: str, said: str, thought: str) -> None:
    found = read(text)
    assert found.argument.plain().strip() == said
    assert found.thinking == thought
    assert found.raw == text
    assert found.flaws[0] == "no complete <argument> block"


@pytest.mark.parametrize(
    ("text", "thought"),
    [
        (f"<think>A draft: <argument>No.</argument></think>{GOOD}", "A draft: <argument>No.</argument>"),
        (f"{GOOD}<think>Or <argument>No.</argument>", "Or <argument>No.</argument>"),
        (f"<argument>It was her: <think>Hm.</think>{SPEECH.removeprefix('It was her: ')}</argument>", "Hm."),
        (f"Hm. </think>{GOOD}", "Hm."),
    ],
)
def test_the_argument_is_the_block_outside_the_thinking(text: str, thought: str) -> None:
    found = read(text)
    assert found.valid
    assert found.argument == parse_argument(SPEECH, STORY, seat="B")
    assert found.thinking == thought


def test_a_block_in_the_thinking_is_said_only_if_there_is_nothing_else() -> None:
    found = read(f"<think>A draft: {GOOD} Not bad.")
    assert found.argument == parse_argument(SPEECH, STORY, seat="B")
    assert found.flaws == ("no <argument> block outside its thinking",)
    assert found.thinking == "A draft:\nNot bad."
    assert read(f"<think>A draft: {GOOD}</think> I pass.").argument.plain().strip() == "I pass."


@given(st.text(), st.sampled_from(["think", "Thinking", "REASONING", "scratchpad"]))
def test_no_thought_is_said_whatever_it_is(said: str, name: str) -> None:
    for text in (f"<{name}>secret</{name}>{said}", f"{said}<{name}>secret", f"secret</{name}>{said}"):
        found = read(text)
        assert "secret" not in found.argument.plain()
        assert "secret" in found.thinking


def debater(model: ScriptedModel) -> FreeDebater:
    return FreeDebater(model, name="p", prompts=Prompts(), limits=LIMITS, sampling=Sampling(100))


async def test_the_prompt_holds_all_but_gold() -> None:
    prompts: list[str] = []

    def reply(messages: Messages, _draw: Draw) -> str:
        prompts.append("\n".join(message.content for message in messages))
        return GOOD

    for gold in (0, 1):
        question = Question("q", QUESTION.text, QUESTION.answers, gold, STORY, "s", "test")
        for answer in (0, 1):
            await debater(ScriptedModel(reply)).argue(Transcript(question).view(answer=answer, story=True), Draw())
    assert prompts[:2] == prompts[2:]  # nothing depends on gold
    first, second = prompts[:2]
    for prompt in (first, second):
        assert STORY in prompt
        assert "Question: Who shut the gate?" in prompt
        assert "Answer A: It was Tomas.\nAnswer B: It was Ana." in prompt
        assert "4 to 12 words" in prompt
    assert "You are Debater A. Your answer is: It was Tomas.\nThe other debater's answer is: It was Ana." in first
    assert "You are Debater B. Your answer is: It was Ana.\nThe other debater's answer is: It was Tomas." in second


async def test_a_later_prompt_holds_what_was_said_and_not_what_was_thought() -> None:
    prompts: list[str] = []

    def reply(messages: Messages, _draw: Draw) -> str:
        prompts.append(messages[-1].content)
        return GOOD

    said = (
        Turn(
            1, "debater", 0, parse_argument("Debater B lies: <quote>made up words</quote>", STORY, seat="A"), "secret"
        ),
        Turn(1, "debater", 1, parse_argument("<quote>Ana shut the gate</quote>", STORY, seat="B"), "secret"),
    )
    player = debater(ScriptedModel(reply))
    await player.argue(Transcript(QUESTION).view(answer=1, story=True), Draw())
    await player.argue(Transcript(QUESTION, turns=said).view(answer=1, story=True), Draw())
    opening, later = prompts
    assert "first round" in opening
    assert "Nothing has been said yet." in opening
    assert "Debater A: Debater B lies: <u_quote>made up words</u_quote>" in later
    assert "Debater B: <v_quote>Ana shut the gate</v_quote>" in later
    assert "later round" in later
    assert "secret" not in later


async def test_an_invalid_reply_is_tried_again() -> None:
    speech = await debater(ScriptedModel(["Nothing.", GOOD])).argue(VIEW, Draw())
    assert [one.valid for one in speech.candidates] == [False, True]
    assert speech.chosen == 1
    speech = await debater(ScriptedModel(["Nothing."])).argue(VIEW, Draw())
    assert len(speech.candidates) == LIMITS.max_attempts
    assert speech.candidates[speech.chosen].flaws[0] == "no complete <argument> block"


async def test_many_candidates() -> None:
    found = await debater(ScriptedModel([GOOD, "Nothing."])).candidates(VIEW, Draw(), 4)
    assert sum(one.valid for one in found) >= 3
    assert len(found) >= 4
