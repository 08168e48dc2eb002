"""Waiting for several coroutines at once, so that none is left running when one fails."""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections.abc import Coroutine, Iterable, Iterator
from typing import Any, TypeVar

from debate.errors import DissoiError

T = TypeVar("T")


async def together(work: Iterable[Coroutine[Any, Any, T]], slots: asyncio.Semaphore | None = None) -> list[T]:
    """Run coroutines at once; the first to fail stops the rest, and its error comes alone.

    A model call that is stopped so still runs to its end and is kept, see ``debate.models.calls``.

    Args:
        work: Coroutines. With slots it is asked for the next one when there is a slot for it, so a generator of very
            many holds only those under way.
        slots: Bounds those under way, with all others that share them; None for no bound.

    Returns:
        Their results, in order.
    """
    found: dict[int, T] = {}
    try:
        async with asyncio.TaskGroup() as group:
            await _start(iter(work), slots, group, found)
    except ExceptionGroup as failures:
        # One line for the user: the same spent budget stops many debates. A fault of ours goes before it.
        ours = [error for error in failures.exceptions if not isinstance(error, DissoiError)]
        raise (ours or failures.exceptions)[0] from None
    return [found[number] for number in range(len(found))]


async def _start(
    work: Iterator[Coroutine[Any, Any, T]],
    slots: asyncio.Semaphore | None,
    group: asyncio.TaskGroup,
    found: dict[int, T],
) -> None:
    """Start all work; what becomes of it is put into ``found``, by its place."""

    def ended(number: int, task: asyncio.Task[T]) -> None:
        if slots is not None:
            slots.release()
        if not task.cancelled() and task.exception() is None:
            found[number] = task.result()

    for number in itertools.count():
        if slots is not None:
            await slots.acquire()
        one = next(work, None)
        if one is None:
            break
        group.create_task(one).add_done_callback(functools.partial(ended, number))
    if slots is not None:
        slots.release()  # taken for work that there was not
