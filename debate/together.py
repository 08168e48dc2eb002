"""Waiting for several coroutines at once, so that none is left running when one fails."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from debate.errors import DissoiError

T = TypeVar("T")


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run coroutines at once; the first to fail stops the rest, and its error comes alone.

    A model call that is stopped so still runs to its end and is kept, see ``debate.models.calls``.

    Args:
        work: Coroutines.

    Returns:
        Their results, in order.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except ExceptionGroup as failures:
        # One line for the user: the same spent budget stops many debates. A fault of ours goes before it.
        ours = [error for error in failures.exceptions if not isinstance(error, DissoiError)]
        raise (ours or failures.exceptions)[0] from None
    return [task.result() for task in tasks]
