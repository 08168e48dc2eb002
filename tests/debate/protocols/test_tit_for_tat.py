"""Tit for tat: who hears what, when a debate ends, and what is extracted from which history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from debate.errors import ConfigError
from debate.item import Item
from debate.models.base import Draw, Messages, Sampling
from debate.models.scripted import ScriptedModel
from debate.open_debate import Mode, OpenDebate, Ruling, Speech
from debate.prompts import Prompts
from debate.protocols.tit_for_tat import LEVELS, Speaker, TitForTat

ITEM = Item(
    "i", "question", "How fast is it?", ("18 km/h",), "24 km/h", "t", why="secret reason", why_trap="secret lure"
)
BASE = Speech(0, "base", "Answer: 24 km/h", "24 km/h")


class Seen(NamedTuple):
    """A ruling that was asked for: its mode, and how many speeches there were."""

    mode: Mode
    speeches: int


class Counting:
    """A judge that finds an answer clear after a given iteration."""

    def __init__(self, clear_after: int | None) -> None:
        self.seen: list[Seen] = []
        self._clear_after = clear_after

    async def rule(self, debate: OpenDebate, mode: Mode, draw: Draw) -> Ruling:  # noqa: ARG002 - the interface
        self.seen.append(Seen(mode, len(debate.speeches)))
        at = debate.iterations
        if mode == "discriminative" and (self._clear_after is None or at < self._clear_after):
            return Ruling(at, mode, clear=False)
        return Ruling(at, mode, clear=True, side=debate.speakers[0], answer=f"{mode} {at}")


async def hold(
    judge: Counting, names: Sequence[str] = ("affirmative", "negative"), *, level: int = 1, forced: bool = False
) -> tuple[OpenDebate, list[Messages]]:
    """Hold a debate of at most three iterations; returns it with every prompt of its debaters."""
    asked: list[Messages] = []

    def reply(messages: Messages, _draw: Draw) -> str:
        asked.append(messages)
        return f"Speech {len(asked)}.\nAnswer: {len(asked)} km/h"

    model = ScriptedModel(reply)
    speakers = [Speaker(name, model, Sampling(100, 0.0), character=f"Like {name}.") for name in names]
    protocol = TitForTat(speakers, judge, Prompts(), level, iterations=3, forced=forced)
    return await protocol.hold(ITEM, BASE, Draw(seed=3)), asked


async def test_debaters_speak_in_fixed_order_on_all_that_was_said() -> None:
    debate, asked = await hold(Counting(None), ("one", "two", "three"))
    assert [(speech.iteration, speech.speaker) for speech in debate.speeches] == [
        (number, name) for number in (1, 2, 3) for name in ("one", "two", "three")
    ]
    for at, messages in enumerate(asked):
        shown = messages[-1].content
        heard = [number for number in range(1, 10) if f"Speech {number}." in shown]
        assert heard == list(range(1, at + 1))
        assert "Answer to begin with: 24 km/h" in shown
        assert ("You open the debate" in shown) == (at == 0)
        assert messages[0].content.startswith(f"Like {('one', 'two', 'three')[at % 3]}. You are")
    assert debate.answers(2) == ["4 km/h", "5 km/h", "6 km/h"]


async def test_nobody_is_shown_what_is_right_beyond_the_question() -> None:
    _, asked = await hold(Counting(None))
    for messages in asked:
        for message in messages:
            assert "secret" not in message.content
            assert "18 km/h" not in message.content


async def test_a_clear_answer_ends_the_debate() -> None:
    judge = Counting(2)
    debate, asked = await hold(judge)
    assert (debate.iterations, len(asked)) == (2, 4)
    assert judge.seen == [("discriminative", 2), ("discriminative", 4)]
    assert debate.broke is not None
    assert debate.broke.answer == "discriminative 2"


async def test_at_the_limit_an_answer_is_extracted_from_the_whole_history() -> None:
    judge = Counting(None)
    debate, _ = await hold(judge)
    assert judge.seen == [("discriminative", 2), ("discriminative", 4), ("discriminative", 6), ("extractive", 6)]
    assert debate.broke is None
    assert debate.rulings[-1].answer == "extractive 3"


async def test_a_forced_debate_goes_on_and_extracts_after_every_iteration() -> None:
    judge = Counting(2)
    debate, _ = await hold(judge, forced=True)
    assert debate.iterations == 3
    assert judge.seen == [
        ("discriminative", 2), ("extractive", 2), ("discriminative", 4), ("extractive", 4), ("extractive", 6),
    ]  # fmt: skip


async def test_a_forced_debate_says_word_for_word_what_the_adaptive_one_says_up_to_its_end() -> None:
    adaptive, _ = await hold(Counting(2))
    forced, _ = await hold(Counting(2), forced=True)
    assert forced.speeches[:4] == adaptive.speeches
    assert forced.broke == adaptive.broke


async def test_levels_are_told_to_everybody_and_differ() -> None:
    told: list[str] = []
    for level in LEVELS:
        _, asked = await hold(Counting(1), level=level)
        systems = {messages[0].content.partition("settle it.")[2].strip() for messages in asked}
        assert len(systems) == 1
        told += systems
    assert len(set(told)) == 4
    assert "Help each other" in told[0]
    assert "must disagree with the others on every single point" in told[3]


async def test_draws_are_the_speakers_own() -> None:
    draws: list[Draw] = []

    def reply(_messages: Messages, draw: Draw) -> str:
        draws.append(draw)
        return "Answer: 1"

    speakers = [Speaker(name, ScriptedModel(reply), Sampling(9, 0.7)) for name in "ab"]
    await TitForTat(speakers, Counting(1), Prompts()).hold(ITEM, BASE, Draw(seed=3))
    assert [(draw.seed, draw.stream) for draw in draws] == [(3, "a"), (3, "b")]


@pytest.mark.parametrize(
    ("names", "level", "iterations"), [("a", 1, 1), ("aa", 1, 1), ("ab", 4, 1), ("ab", 1, 0)], ids=str
)
def test_debates_that_cannot_be_held_are_refused(names: str, level: int, iterations: int) -> None:
    speakers = [Speaker(name, ScriptedModel(), Sampling(9)) for name in names]
    with pytest.raises(ConfigError, match="two or more debaters"):
        TitForTat(speakers, Counting(1), Prompts(), level, iterations)
