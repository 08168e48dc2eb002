"""Waiting for several at once: who fails stops the rest, and nothing is left running."""

from __future__ import annotations

import asyncio

import pytest

from debate.errors import BudgetError, DissoiError, ModelError
from debate.together import together


async def after(turns: int, value: int = 0, error: BaseException | None = None) -> int:
    """Return or fail after some turns of the event loop."""
    for _ in range(turns):
        await asyncio.sleep(0)
    if error is not None:
        raise error
    return value


def others() -> set[asyncio.Task[object]]:
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


async def test_results_come_in_the_order_of_the_work() -> None:
    assert await together(after(5 - number, number) for number in range(5)) == [0, 1, 2, 3, 4]
    assert await together([]) == []
    assert others() == set()


async def test_the_first_failure_stops_the_rest_and_comes_alone() -> None:
    stopped: list[str] = []

    async def waits(name: str) -> int:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.append(name)
            raise
        return 0

    with pytest.raises(ModelError, match="one") as caught:
        await together([waits("a"), after(2, error=ModelError("one")), waits("b")])
    assert not isinstance(caught.value, ExceptionGroup)
    assert caught.value.__cause__ is None
    assert sorted(stopped) == ["a", "b"]
    assert others() == set()


async def test_a_fault_of_ours_goes_before_an_error_that_users_are_told_of() -> None:
    for errors in ([BudgetError("spent"), KeyError("bug")], [KeyError("bug"), BudgetError("spent")]):
        with pytest.raises(KeyError, match="bug"):
            await together(after(1, error=error) for error in errors)
    with pytest.raises(DissoiError, match="first"):
        await together(after(1, error=BudgetError(text)) for text in ("first", "second"))
    assert others() == set()


async def test_nested_failures_come_as_one() -> None:
    with pytest.raises(BudgetError, match="spent") as caught:
        await together([together([after(1, error=BudgetError("spent")), after(9)]), together([after(9), after(9)])])
    assert not isinstance(caught.value, ExceptionGroup)
    assert others() == set()


async def test_who_waits_may_be_cancelled_and_so_is_the_work() -> None:
    waiting = asyncio.create_task(together([after(10_000), after(10_000)]))
    await after(3)
    assert len(others()) == 3
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert others() == set()
