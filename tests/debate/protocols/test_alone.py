"""Baselines of one model alone: what is asked, how often, and which answer comes of it."""

from __future__ import annotations

import pytest

from debate.errors import ConfigError
from debate.item import Item
from debate.models.base import Draw, Messages, Sampling
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.protocols.alone import Alone, Attempt, Method, Quality, agreement

QUESTION = Item("q", "question", "How fast is it?", ("18 km/h",), "24 km/h", "t")
TEXT = Item("t", "translation", "Der Hahn tropft.", ("The tap drips.",), "The rooster drips.", "t", language="German")


async def attempt(
    method: Method, item: Item, *replies: str, quality: Quality | None = None
) -> tuple[Attempt, list[tuple[Messages, Draw]]]:
    asked: list[tuple[Messages, Draw]] = []

    def reply(messages: Messages, draw: Draw) -> str:
        asked.append((messages, draw))
        return replies[(len(asked) - 1) % len(replies)]

    alone = Alone(
        "base", ScriptedModel(reply), Prompts(), Sampling(100, 0.0), Sampling(100, 0.7), samples=5, quality=quality
    )
    return await alone.attempt(method, item, Draw(seed=7)), asked


async def test_base_and_chain_of_thought_ask_once() -> None:
    base, asked = await attempt("base", QUESTION, "Answer: 24 km/h")
    assert (base.answer, len(asked)) == ("24 km/h", 1)
    assert "Do not explain" in asked[0][0][-1].content
    thought, asked = await attempt("chain_of_thought", QUESTION, "Step by step.\nAnswer: 18 km/h")
    assert (thought.answer, len(asked)) == ("18 km/h", 1)
    assert "step by step" in asked[0][0][-1].content


async def test_self_consistency_takes_the_most_frequent_answer_in_whatever_notation() -> None:
    replies = ["Answer: 24 km/h", "Answer: 18 km/h", "no idea", "Answer: 5 m/s", "Answer: 24 kg"]
    found, asked = await attempt("self_consistency", QUESTION, *replies)
    assert found.answer == "18 km/h"
    assert sorted(draw.sample for _, draw in asked) == [0, 1, 2, 3, 4]
    tied, _ = await attempt("self_consistency", QUESTION, "Answer: 1", "Answer: 2", "x", "Answer: 2", "Answer: 1")
    assert tied.answer == "1"
    none, _ = await attempt("self_consistency", QUESTION, "x")
    assert none.answer is None


async def test_self_reflection_reads_its_last_reply_and_begins_with_the_base_answer() -> None:
    found, asked = await attempt(
        "self_reflection", QUESTION, "Answer: 24 km/h", "Hm.\nAnswer: 20 km/h", "I keep to it."
    )
    assert [step.answer for step in found.steps] == ["24 km/h", "20 km/h", None]
    assert [step.iteration for step in found.steps] == [0, 1, 2]
    assert found.answer == "20 km/h"  # the last that could be read
    assert asked[0] == (await attempt("base", QUESTION, "Answer: 24 km/h"))[1][0]  # the same call
    assert "Answer: 24 km/h" in asked[1][0][-1].content
    assert "Hm.\nAnswer: 20 km/h" in asked[2][0][-1].content
    assert "24 km/h" not in asked[2][0][-1].content


async def test_rerank_takes_what_the_quality_estimate_likes_best() -> None:
    replies = ["Answer: The tap drips.", "Answer: The tap is dripping.", "Answer: A rooster.", "Not\na word."]
    found, asked = await attempt("rerank", TEXT, *replies, quality=lambda _, texts: [len(text) for text in texts])
    assert (found.answer, len(asked)) == ("The tap is dripping.", 4)
    agreed, _ = await attempt("rerank", TEXT, *replies)
    assert agreed.answer != "A rooster."
    with pytest.raises(ConfigError, match="gave 1 scores for 3 answers"):
        await attempt("rerank", TEXT, *replies, quality=lambda _, __: [1.0])
    for odd in ("good", float("nan"), None):
        with pytest.raises(ConfigError, match="finite numbers are due"):
            await attempt("rerank", TEXT, *replies, quality=lambda _, texts, odd=odd: [odd for _ in texts])  # type: ignore[misc]


async def test_analysis_is_read_by_the_translation() -> None:
    found, asked = await attempt("analyse_then_translate", TEXT, "Hahn: a tap, here.", "Answer: The tap drips.")
    assert (found.answer, len(asked)) == ("The tap drips.", 2)
    assert "Do not translate yet" in asked[0][0][-1].content
    assert "Hahn: a tap, here." in asked[1][0][-1].content
    assert "German" in asked[0][0][-1].content


def test_agreement_is_nearness_to_the_others() -> None:
    one, other, odd = agreement(TEXT, ["the tap drips", "the tap dripped", "zzz"])
    assert one == pytest.approx(other, rel=0.3)
    assert min(one, other) > odd == pytest.approx(0.0)
    assert agreement(TEXT, ["alone"]) == [0.0]
