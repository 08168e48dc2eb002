"""Scripted speakers and judges of roundtables, and a configuration that holds them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from debate.agents.chooser import Asking, Chooser, ChooserConfig
from debate.errors import ModelError
from debate.models.base import Capabilities, Draw, Messages
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from tests.scripts import Flaky, Slow, noise

HERE = "scripted/tests.roundtables"
Say = Callable[[str], str]


def prompt(messages: Messages) -> str:
    """All that a model was asked, in one text."""
    return "\n".join(message.content for message in messages)


def heard(text: str) -> list[str]:
    """The lines of a debate that a prompt shows."""
    return re.findall(r"^Debater \d+.*$", text, flags=re.MULTILINE)


def saying(say: Say, name: str) -> ScriptedModel:
    """A model that says something about a prompt."""

    def reply(messages: Messages, _draw: Draw) -> str:
        return say(prompt(messages))

    return ScriptedModel(reply, name=f"{HERE}:{name}")


def chooser(say: Say, name: str, *, log: list[str] | None = None, **config: Any) -> Chooser:
    """A chooser whose model says something about a prompt, and writes down what it was asked."""

    def noted(text: str) -> str:
        if log is not None:
            log.append(text)
        return say(text)

    how = ChooserConfig(**config)
    return Chooser(saying(noted, name), name=name, config=how, asking=Asking(Prompts(), how.max_words))


def stubborn() -> ScriptedModel:
    """Chooses A, always."""
    return saying(lambda text: f"The first fits, I said it after {len(heard(text))}.\nAnswer: A", "stubborn")


def contrary() -> ScriptedModel:
    """Chooses B, always."""
    return saying(lambda text: f"The second fits, said after {len(heard(text))}.\nAnswer: B", "contrary")


def yielding() -> ScriptedModel:
    """Chooses B alone, and A when it has heard of the first."""
    return saying(lambda text: f"Well.\nAnswer: {'A' if 'The first fits' in text else 'B'}", "yielding")


def mumbling() -> ScriptedModel:
    """Names no answer."""
    return saying(lambda _text: "It may be this or that.", "mumbling")


def sleuth() -> ScriptedModel:
    """A judge that chooses the second answer."""
    return saying(lambda _text: "It turned on the second.\nAnswer: B", "sleuth")


def failing() -> ScriptedModel:
    """Chooses B, and fails for good on questions of three answers."""

    def say(text: str) -> str:
        if "Answer C" in text and "Answer D" not in text:
            raise ModelError("it is broken")
        return "The second fits.\nAnswer: B"

    return saying(say, "failing")


def weighing() -> ScriptedModel:
    """Chooses the longest answer by likelihood, the last by letters; what it writes names no answer."""

    def letters(_messages: Messages, choices: Sequence[str]) -> Sequence[float]:
        return [0.1 / len(choices)] * (len(choices) - 1) + [0.7]

    def likelihood(messages: Messages, continuation: str) -> float:
        return -1.0 * len(continuation) if "Say one short sentence" in prompt(messages) else -5.0

    return ScriptedModel(
        lambda _messages, _draw: "Because of what it is.",
        choose=letters,
        score=likelihood,
        name=f"{HERE}:weighing",
        capabilities=Capabilities(score=True),
    )


def waver(messages: Messages, draw: Draw) -> str:
    """Say one thing or another, as it falls out."""
    rng = noise(messages, draw)
    return f"For {rng.randrange(1000)} reasons it fits.\nAnswer: {rng.choice('AB')}"


def slow_one() -> ScriptedModel:
    """A speaker of no firm opinion, with latency, which logs each call that it is asked."""
    return Slow(waver, name=f"{HERE}:slow_one")


def slow_other() -> ScriptedModel:
    """Another."""
    return Slow(waver, name=f"{HERE}:slow_other")


def flaky_one() -> ScriptedModel:
    """A speaker of no firm opinion whose model fails now and then while the environment says that it is down."""
    return Flaky(waver, name=f"{HERE}:flaky_one")


def roundtable(*names: str, **changes: Any) -> dict[str, Any]:
    """Return the configuration of a small run with scripted speakers, with some keys set otherwise."""
    return {
        "system": "ford",
        "source": "shipped:choices",
        "limit": 6,
        "speakers": [{"name": name, "model": f"{HERE}:{name}"} for name in names],
        "seed": 1,
    } | changes
