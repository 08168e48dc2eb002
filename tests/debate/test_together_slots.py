"""Work that waits for slots: how much of it is there at a time, and what becomes of it when one fails."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from debate.errors import ModelError
from debate.together import together


async def test_work_is_made_only_when_there_is_a_slot_for_it_and_results_keep_its_order() -> None:
    made = ended = most = 0

    async def one(number: int) -> int:
        nonlocal ended
        for _ in range(number % 5):
            await asyncio.sleep(0)
        ended += 1
        return number

    def work() -> Iterator[Coroutine[Any, Any, int]]:
        nonlocal made, most
        for number in range(100):
            made += 1
            most = max(most, made - ended)
            yield one(number)

    slots = asyncio.Semaphore(3)
    assert await together(work(), slots) == list(range(100))
    assert most == 3
    assert not slots.locked()


async def test_slots_are_shared_by_several_that_wait_for_them() -> None:
    running = most = 0

    async def one() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    slots = asyncio.Semaphore(4)
    await together(together((one() for _ in range(50)), slots) for _ in range(3))
    assert most == 4


async def test_a_failure_stops_what_runs_and_nothing_more_is_made() -> None:
    made = 0

    async def one(number: int) -> None:
        if number == 1:
            raise ModelError("the second failed")
        await asyncio.Event().wait()

    def work() -> Iterator[Coroutine[Any, Any, None]]:
        nonlocal made
        for number in range(1000):
            made += 1
            yield one(number)

    slots = asyncio.Semaphore(2)
    with pytest.raises(ModelError, match="the second failed"):
        await together(work(), slots)
    assert made <= 4
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("slots", [1, 7])
async def test_the_last_to_end_may_fail(slots: int) -> None:
    async def one(number: int) -> int:
        await asyncio.sleep(0)
        if number == 4:
            raise ModelError("the last failed")
        return number

    with pytest.raises(ModelError, match="the last failed"):
        await together((one(number) for number in range(5)), asyncio.Semaphore(slots))
