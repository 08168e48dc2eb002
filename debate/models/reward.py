"""A reward model on this machine: a LoRA adapter and a head beside a base, which give a whole exchange one number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from debate.errors import ConfigError
from debate.models.base import Choice, Completion, Draw, Messages, Sampling, Scores
from debate.models.local import LocalBase, LocalModel


class LocalReward(LocalModel):
    """A reward model on a base that language models may share: ``score`` gives rewards, nothing else can be asked.

    A reward is the product of the head with the final state of the exchange's last token, at which the chat template
    ends the assistant's reply. Sequences are packed, not padded, so that no padding is taken for that token, nor that
    token for padding. Rows that begin alike share the computation: many completions of one prompt cost little more than
    their own tokens.

    Args:
        base: The base; the last model of it that closes closes it.
        name: What users call it.
        adapter: Folder of the adapter, see ``debate.models.adapter.is_reward``.

    Raises:
        ModelAccessError: The adapter does not fit the base, or its head is missing.
    """

    def __init__(self, base: LocalBase, *, name: str, adapter: Path) -> None:
        super().__init__(base, name=name, adapter=adapter)
        self.capabilities = base.capabilities.of_reward()

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:  # noqa: ARG002 - the interface
        """Refuse."""
        self._refuse()

    async def choose(self, messages: Messages, choices: Sequence[str]) -> Choice:  # noqa: ARG002 - the interface
        """Refuse."""
        self._refuse()

    async def score(self, messages: Messages, continuations: Sequence[str]) -> Scores:
        """Give the reward of each continuation as the whole reply; see `Model.score`."""
        from debate.models.requests import Answer, RewardRequest

        answer: Answer[Scores] = Answer()
        self._submit(RewardRequest(messages, tuple(continuations), answer, self._adapter))
        return await answer.future

    def _refuse(self) -> NoReturn:
        raise ConfigError(f"{self.name} is a reward model, which neither writes nor judges; use it as a preference")
