"""What a local model is asked, on its way from a coroutine to the worker thread, and the answer on its way back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from debate.errors import DissoiError, ModelError
from debate.models.base import Choice, Completion, Draw, Messages, Sampling, Scores

T = TypeVar("T")


class Answer(Generic[T]):
    """A result on its way from the worker to a coroutine. Made in the coroutine's event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self._loop.create_future()

    def give(self, value: T) -> None:
        """Hand over the result; a coroutine that no longer waits is left alone."""
        self._call(lambda: self.future.set_result(value))

    def fail(self, error: Exception) -> None:
        """Hand over an error."""
        if isinstance(error, DissoiError):
            wrapped: Exception = error
        else:
            wrapped = ModelError(f"local model: {type(error).__name__}: {error}")
        wrapped.__cause__ = error if wrapped is not error else None
        self._call(lambda: self.future.set_exception(wrapped))

    def _call(self, settle: Callable[[], None]) -> None:
        def unless_done() -> None:
            if not self.future.done():
                settle()

        try:
            self._loop.call_soon_threadsafe(unless_done)
        except RuntimeError:  # the loop is closed: nobody waits
            return


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """What `Model.sample` asks."""

    messages: Messages
    draws: tuple[Draw, ...]
    sampling: Sampling
    answer: Answer[list[Completion]]
    adapter: int = 0


@dataclass(frozen=True, slots=True)
class ChooseRequest:
    """What `Model.choose` asks."""

    messages: Messages
    choices: tuple[str, ...]
    answer: Answer[Choice]
    adapter: int = 0


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """What `Model.score` asks."""

    messages: Messages
    continuations: tuple[str, ...]
    answer: Answer[Scores]
    adapter: int = 0


@dataclass(frozen=True, slots=True)
class RewardRequest:
    """What a reward model is asked: how good each completion is as the reply."""

    messages: Messages
    completions: tuple[str, ...]
    answer: Answer[Scores]
    adapter: int


# With which adapter: a number that ``Engine.attach`` was given before, 0 for the base alone.
Request = SampleRequest | ChooseRequest | ScoreRequest | RewardRequest
