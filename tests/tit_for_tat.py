"""Scripted models for MAD (``model: scripted/tests.tit_for_tat:debater``); all follow from prompt and draw."""

from __future__ import annotations

import json
import re

from debate.errors import ModelError
from debate.item import Item
from debate.models.base import Completion, Draw, Messages, Sampling
from debate.models.scripted import ScriptedModel
from debate.sources.items import NAMES, load_items
from tests.scripts import Slow, lean, noise

NAME = "scripted/tests.tit_for_tat:{}"
_ITEMS = {item.text: item for name in NAMES for item in load_items(f"shipped:{name}")}


def item_of(messages: Messages) -> Item:
    """The item that a prompt is about."""
    text = messages[-1].content
    return next(item for question, item in _ITEMS.items() if question in text)


def answer_of(messages: Messages, draw: Draw) -> str:
    """The right answer or the trap, as it falls out."""
    item = item_of(messages)
    rng = noise(messages, draw)
    return item.right[0].removeprefix("~") if rng.random() < 0.5 else item.trap


def speak(messages: Messages, draw: Draw) -> str:
    """Give a reason and an answer."""
    reasons = noise("reasons", messages, draw).randrange(1000)
    return f"For {reasons} reasons I think so.\nAnswer: {answer_of(messages, draw)}"


def rule(messages: Messages, draw: Draw) -> str:
    """Fill in the judge's form; speak where no form is wanted."""
    text = messages[-1].content
    rng = noise("rule", text)
    asked = re.search(r"whose answer you support \((.*?)\)", text)
    if asked is None:
        return speak(messages, draw)
    sides = re.findall(r'"(\w+)"', asked[1])
    form = {"reason": f"Weighed {rng.randrange(1000)} points."}
    clear = rng.random() < 0.4
    if '"clear"' in text:
        form["clear"] = "yes" if clear else "no"
    clear = clear or '"clear"' not in text
    form["side"] = rng.choice(sides) if clear else "none"
    form["answer"] = answer_of(messages, draw) if clear else "none"
    return json.dumps(form)


def debater() -> ScriptedModel:
    """A debater that is right half the time."""
    return ScriptedModel(speak, name=NAME.format("debater"))


def second_debater() -> ScriptedModel:
    """The same under another name, so that its calls are counted by themselves."""
    return ScriptedModel(speak, name=NAME.format("second_debater"))


def judge() -> ScriptedModel:
    """A judge that fills in its form, or leans to a letter."""
    return ScriptedModel(rule, choose=lean, name=NAME.format("judge"))


def slow_debater() -> ScriptedModel:
    """``debater`` with latency, which logs each call that it is asked."""
    return Slow(speak, name=NAME.format("slow_debater"))


def slow_judge() -> ScriptedModel:
    """``judge`` with latency."""
    return Slow(rule, choose=lean, name=NAME.format("slow_judge"))


def babbling_judge() -> ScriptedModel:
    """A judge that fills in nothing, and quotes a form instead."""
    return ScriptedModel(
        ['They said {"clear": "yes", "answer": "24"}, which proves nothing.'], name=NAME.format("babbling_judge")
    )


def silent_debater() -> ScriptedModel:
    """A debater that never gives an answer."""
    return ScriptedModel(["I would rather talk about the weather.\nIt is fine."], name=NAME.format("silent_debater"))


class _Broken(ScriptedModel):
    async def sample(self, messages: Messages, *, draws: list[Draw], sampling: Sampling) -> list[Completion]:  # type: ignore[override]  # noqa: ARG002 - the interface
        raise ModelError("the scripted model always fails")


def broken() -> ScriptedModel:
    """A model that always fails."""
    return _Broken(name=NAME.format("broken"))
