"""Scripted models for tests of concessions: debaters that name an answer, and judges who say which one it was."""

from __future__ import annotations

import re
from collections.abc import Sequence

from debate.models.base import Draw, Messages
from debate.models.scripted import ScriptedModel
from tests.scripts import argue


def _naming(messages: Messages, draw: Draw, which: str) -> str:
    found = re.search(rf"{which} answer is: (.*)", messages[-1].content)
    assert found is not None
    return argue(messages, draw).replace("</argument>", f" It is this: {found[1]}</argument>")


def firm() -> ScriptedModel:
    """A debater that names its own answer."""
    return ScriptedModel(lambda messages, draw: _naming(messages, draw, "Your"))


def soft() -> ScriptedModel:
    """A debater that names its opponent's answer: it gives its side away."""
    return ScriptedModel(lambda messages, draw: _naming(messages, draw, "The other debater's"))


def _read(messages: Messages, choices: Sequence[str]) -> list[float]:
    text = messages[-1].content
    answers = re.findall(r"^Answer [AB]: (.*)$", text, re.MULTILINE)
    said = text[text.index("Round 1:") :]
    return [0.8 if f"It is this: {answer}" in said else 0.2 for answer, _ in zip(answers, choices, strict=True)]


def reader() -> ScriptedModel:
    """A judge that reads for whom a speaker argues."""
    return ScriptedModel(choose=_read)


def orderly() -> ScriptedModel:
    """A judge that always says A."""
    return ScriptedModel(choose=lambda _messages, choices: [0.9, *[0.1 / (len(choices) - 1)] * (len(choices) - 1)])
