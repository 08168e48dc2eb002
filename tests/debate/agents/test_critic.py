from __future__ import annotations

from collections.abc import Sequence

import pytest

from debate.agents.critic import CritiqueChooser, ModelCritic, current_question, show_checks
from debate.errors import ConfigError
from debate.models.base import Capabilities, Draw, Messages, Sampling
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.quotes import parse_argument
from debate.view import View
from tests.optimized import STORY, said, view_of

SPEECH = parse_argument("Debater B lies: <quote>Tomas rode off</quote>", STORY, seat="A")
INTERACTIVE = view_of(said(1, 0, "one"), said(1, 1, "two"), said(2, None, "Is that all?"))
CONSULTANCY = view_of(said(1, 0, "one", role="consultant"), said(2, None, "Is that all?"), role="consultant")


def join(messages: Messages) -> str:
    return "\n".join(message.content for message in messages)


@pytest.mark.parametrize("view", [INTERACTIVE, CONSULTANCY])
async def test_a_critic_reads_the_story_and_what_the_judge_asks(view: View) -> None:
    prompts: list[str] = []

    def reply(messages: Messages, draw: Draw) -> str:
        prompts.append(join(messages))
        return f"<think>Hm.</think> Quote   more, {draw.sample}."

    critic = ModelCritic(ScriptedModel(reply), prompts=Prompts(), sampling=Sampling(99), max_words=20)
    assert await critic.critique(view, SPEECH, Draw(sample=4).take(2)) == ["Quote more, 4.", "Quote more, 5."]
    assert prompts[0] == prompts[1]
    assert f"<story>\n{STORY}\n</story>" in prompts[0]
    assert "What the judge has just asked: Is that all?" in prompts[0]
    assert "Judge: Is that all?" in prompts[0]
    assert "Debater B lies: <v_quote>Tomas rode off</v_quote>" in prompts[0]
    assert f"{view.speaker} argues for: It was Tomas.\nWhat it argues against: It was Ana." in prompts[0]
    assert "at most 20 words" in prompts[0]
    assert "{{" not in prompts[0]


async def test_a_critique_is_cut_and_an_empty_one_left_out() -> None:
    replies = ["One two three. Four five.", "", "<think>only thoughts", "...", "Short."]
    critic = ModelCritic(ScriptedModel(replies), prompts=Prompts(), sampling=Sampling(99), max_words=4)
    assert await critic.critique(view_of(), SPEECH, Draw().take(5)) == ["One two three.", "Short."]


def test_what_the_judge_asked_last() -> None:
    assert current_question(view_of()) == ""
    assert current_question(INTERACTIVE) == "Is that all?"
    asked_before = view_of(said(1, 0, "a"), said(2, None, "old?"), said(2, 0, "b"), said(2, 1, "b"), said(3, None, " "))
    assert current_question(asked_before) == ""
    assert current_question(view_of(said(1, 0, "one"), said(1, 1, "two"))) == ""


def test_what_is_known_of_quotes() -> None:
    assert "there is none" in show_checks(parse_argument("Nothing.", STORY))
    assert "all of them" in show_checks(SPEECH)
    false = show_checks(parse_argument("<quote>Ana shut that gate at noon</quote> <quote>The dog slept</quote>", STORY))
    assert '"Ana shut that gate at noon" is not in the story' in false
    assert "Ana shut the gate at noon" in false
    assert "The dog slept" not in false


def chooser(favourite: str, *, mass: float = 1.0, letter: float = 0.0, asked: list[str]) -> CritiqueChooser:
    """One that likes the critique with a word, and the first letter too."""

    def choose(messages: Messages, choices: Sequence[str]) -> list[float]:
        prompt = join(messages)
        asked.append(prompt)
        values = [1.0 if f"Critique {one}: {favourite}" in prompt else 0.1 for one in choices]
        values[0] += letter
        return [mass * value / sum(values) for value in values]

    return CritiqueChooser(ScriptedModel(choose=choose), prompts=Prompts())


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_the_most_helpful_critique_is_picked_wherever_it_stands(place: int) -> None:
    critiques = ["dull"] * place + ["sharp"] + ["dull"] * (2 - place)
    asked: list[str] = []
    # A liking for the first letter that is stronger than that for the critique changes nothing.
    picked = await chooser("sharp", letter=1.2, asked=asked).choose(INTERACTIVE, SPEECH, critiques, Draw())
    assert picked == place
    assert len(asked) == 2
    for prompt in asked:
        assert STORY in prompt
        assert "Is that all?" in prompt
        assert "Reply with one letter, A, B or C." in prompt


async def test_the_only_critique_takes_no_call() -> None:
    asked: list[str] = []
    assert await chooser("x", asked=asked).choose(INTERACTIVE, SPEECH, ["dull"], Draw()) == 0
    assert asked == []


async def test_where_nothing_tells_them_apart_it_is_the_first() -> None:
    for mass in (0.0, 1.0):
        asked: list[str] = []
        assert await chooser("absent", mass=mass, asked=asked).choose(INTERACTIVE, SPEECH, ["a", "b"], Draw()) == 0


async def test_more_critiques_than_letters_are_refused() -> None:
    with pytest.raises(ConfigError, match="27 critiques"):
        await chooser("x", asked=[]).choose(INTERACTIVE, SPEECH, ["dull"] * 27, Draw())


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ("B", 1),
        ("**B**.", 1),
        ("<think>A, no</think>B", 1),
        ("Well.\nAnswer: B", 1),
        ("C", 2),
        ("D", 0),
        ("I like B", 0),
        ("", 0),
    ],
)
async def test_a_model_without_probabilities_names_a_letter(reply: str, place: int) -> None:
    model = ScriptedModel([reply], capabilities=Capabilities(logprobs=False))
    assert await CritiqueChooser(model, prompts=Prompts()).choose(INTERACTIVE, SPEECH, ["a", "b", "c"], Draw()) == place
