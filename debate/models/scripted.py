"""A model that follows a script: for tests, examples and dry looks at prompts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from debate.models.base import Capabilities, Choice, Completion, Draw, Messages, Sampling, Scores, Usage

Reply = Callable[[Messages, Draw], str]
Chooser = Callable[[Messages, Sequence[str]], Sequence[float]]
Scorer = Callable[[Messages, str], float]


def _uniform(_messages: Messages, choices: Sequence[str]) -> Sequence[float]:
    return [1 / len(choices)] * len(choices)


def _flat(_messages: Messages, continuation: str) -> float:
    return -math.log(2) * len(continuation.split())


class ScriptedModel:
    """A model whose replies are a list or a function of the messages.

    Args:
        reply: A list of replies, indexed by ``draw.sample + draw.attempt`` modulo its length, or a function of the
            messages and the draw.
        choose: A function of the messages and the choices; its values sum to at most 1, the sum is the mass (may be 0).
        score: A function of the messages and one continuation.
        name: The model's name.
        capabilities: What it claims to be able to do.
    """

    def __init__(
        self,
        reply: Sequence[str] | Reply = ("",),
        *,
        choose: Chooser = _uniform,
        score: Scorer = _flat,
        name: str = "scripted/script",
        capabilities: Capabilities = Capabilities(score=True),  # noqa: B008 - frozen
    ) -> None:
        self.name = name
        self.digest = "scripted"
        self.capabilities = capabilities
        self._reply = reply
        self._choose = choose
        self._score = score

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        """Follow the script, cut at ``sampling.max_tokens`` words."""
        completions = []
        for draw in draws:
            text = (
                self._reply(messages, draw)
                if callable(self._reply)
                else self._reply[(draw.sample + draw.attempt) % len(self._reply)]
            )
            words = text.split()
            cut = len(words) > sampling.max_tokens
            usage = Usage(self.count_tokens(messages) if draw is draws[0] else 0, min(len(words), sampling.max_tokens))
            completions.append(
                Completion(" ".join(words[: sampling.max_tokens]) if cut else text, "length" if cut else "stop", usage)
            )
        return completions

    async def choose(self, messages: Messages, choices: Sequence[str]) -> Choice:
        """Follow the script."""
        values = self._choose(messages, choices)
        mass = sum(values)
        shares = tuple(value / mass if mass > 0 else 1 / len(values) for value in values)
        return Choice(shares, mass, Usage(self.count_tokens(messages), 1))

    async def score(self, messages: Messages, continuations: Sequence[str]) -> Scores:
        """Follow the script."""
        values = tuple(self._score(messages, continuation) for continuation in continuations)
        return Scores(values, Usage(self.count_tokens(messages) + sum(len(text.split()) for text in continuations)))

    def count_tokens(self, messages: Messages) -> int:
        """Count words."""
        return sum(len(message.content.split()) for message in messages)

    async def close(self) -> None:
        """Nothing to let go of."""
