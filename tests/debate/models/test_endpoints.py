from __future__ import annotations

import asyncio
import collections
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from debate.errors import ModelAccessError, ModelError
from debate.models.base import Message
from debate.models.endpoints import Balancer, Endpoint, Kind, Setback, backoff
from debate.models.load import ModelConfig
from debate.models.site import retry_after

Send = Callable[[Endpoint], Awaitable[str]]


def prompt(story: str, end: str = "") -> list[Message]:
    return [Message("system", "Argue."), Message("user", f"{story * 3000}{end}")]


def setback(kind: Kind, wait_s: float | None = None) -> Setback:
    return Setback(kind, ModelError(f"it was {kind}"), wait_s)


class Servers:
    """Servers that answer by script: what is left of a server's list of setbacks comes before its answers."""

    def __init__(self, *limits: int) -> None:
        self.endpoints = [Endpoint(f"http://{index}", limit) for index, limit in enumerate(limits)]
        self.script: dict[Endpoint, list[Setback]] = {endpoint: [] for endpoint in self.endpoints}
        self.asked: list[str] = []
        self.at: list[float] = []
        self.most: collections.Counter[str] = collections.Counter()
        self.gate = asyncio.Event()
        self.gate.set()

    async def send(self, endpoint: Endpoint) -> str:
        self.asked.append(endpoint.url)
        self.at.append(time.monotonic())
        self.most[endpoint.url] = max(self.most[endpoint.url], endpoint.busy)
        await asyncio.sleep(0)  # as long as a request is under way
        if self.script[endpoint]:
            raise self.script[endpoint].pop(0)
        await self.gate.wait()
        return endpoint.url


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_a_server_gets_no_more_at_a_time_than_it_may_and_all_are_answered_in_order() -> None:
    servers = Servers(3)
    servers.gate.clear()
    balancer = Balancer(servers.endpoints, 0)
    done: list[int] = []

    async def ask(number: int) -> None:
        await balancer.ask(prompt("a"), servers.send)
        done.append(number)

    tasks = [asyncio.create_task(ask(number)) for number in range(10)]
    await settle()
    assert len(servers.asked) == 3
    tasks[5].cancel()  # it waits for a place
    tasks[0].cancel()  # it has one
    servers.endpoints[0].lower(2)
    servers.endpoints[0].lower(5)  # more than it has
    await settle()
    servers.most.clear()
    servers.gate.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert done == [1, 2, 3, 4, 6, 7, 8, 9]
    assert servers.most == {"http://0": 2}
    assert servers.endpoints[0].busy == 0


async def test_models_of_one_server_share_its_places_in_turn() -> None:
    servers = Servers(2)
    servers.gate.clear()
    balancers = [Balancer(servers.endpoints, 0) for _ in range(2)]
    order: list[int] = []

    async def ask(which: int) -> None:
        await balancers[which].ask(prompt("a"), servers.send)
        order.append(which)

    tasks = [asyncio.create_task(ask(which)) for which in (0,) * 8 + (1,) * 8]
    await settle()
    servers.gate.set()
    await asyncio.gather(*tasks)
    assert servers.most == {"http://0": 2}
    assert set(order[2:6]) == {0, 1}  # neither has to wait until the other is done


async def test_load_is_spread_and_prompts_of_one_story_meet() -> None:
    servers = Servers(20, 20, 10)
    servers.gate.clear()
    balancer = Balancer(servers.endpoints, 0)
    tasks = [asyncio.create_task(balancer.ask(prompt("a", str(index)), servers.send)) for index in range(40)]
    await settle()
    load = [endpoint.busy for endpoint in servers.endpoints]
    assert sum(load) == 40
    assert max(share := [load[0] / 20, load[1] / 20, load[2] / 10]) - min(share) <= 0.25 + 0.1
    servers.gate.set()
    await asyncio.gather(*tasks)
    # When they come one after the other there is no load to spread: a story has its server, and stories are shared out.
    homes: dict[str, set[str]] = {}
    for story in "abcdefghijklmnopqrst":
        homes[story] = {await balancer.ask(prompt(story, str(index)), servers.send) for index in range(3)}
    assert all(len(home) == 1 for home in homes.values())
    assert len(set().union(*homes.values())) == 3


async def test_a_request_that_failed_at_one_server_goes_to_another_at_once() -> None:
    servers = Servers(4, 4)
    balancer = Balancer(servers.endpoints, 2)
    home = await balancer.ask(prompt("a"), servers.send)
    for kind in ("broken", "overloaded", "limited"):
        servers.script[servers.endpoints[int(home[-1])]] = [setback(kind)]
        began = time.monotonic()
        assert await balancer.ask(prompt("a"), servers.send) != home
        assert time.monotonic() - began < 0.3  # the least wait at the same server would be 0.375 s
        await asyncio.sleep(0.51)  # a server that limits is left alone for half a second


async def test_a_request_that_avoids_the_server_with_room_lets_others_pass() -> None:
    first, second = servers = Servers(1, 2).endpoints
    balancer = Balancer(servers, 5)
    gates = {endpoint: asyncio.Event() for endpoint in servers}
    started: list[tuple[int, Endpoint]] = []
    failing = {0, 1, 2}

    async def ask(number: int) -> None:
        async def send(endpoint: Endpoint) -> None:
            started.append((number, endpoint))
            if endpoint is second and number in failing:
                failing.remove(number)
                await asyncio.sleep(0)
                raise setback("broken")
            await gates[endpoint].wait()

        await balancer.ask(prompt("a"), send)

    async def occupy(endpoint: Endpoint) -> None:
        await gates[endpoint].wait()

    tasks = [asyncio.create_task(balancer.ask(prompt("a"), occupy)) for _ in range(3)]
    await settle()  # both servers are full
    tasks += [asyncio.create_task(ask(number)) for number in range(6)]
    await settle()
    assert not started
    # Room at the second server alone: the first three requests fail there and then wait for the other, which is full.
    gates[second].set()
    await settle()
    assert first.busy == 1
    assert started == [(number, second) for number in range(6)]
    gates[first].set()
    await asyncio.gather(*tasks)
    assert {endpoint for _, endpoint in started[6:]} == {first}
    assert sorted(number for number, _ in started[6:]) == [0, 1, 2]
    assert (first.busy, second.busy) == (0, 0)


async def test_a_server_that_is_not_there_is_taken_out_and_tried_again() -> None:
    servers = Servers(4, 4)
    balancer = Balancer(servers.endpoints, 0)
    home = await balancer.ask(prompt("a"), servers.send)
    first = servers.endpoints[int(home[-1])]
    servers.script[first] = [setback("refused")] * 2
    servers.asked.clear()
    # No try of a request is spent where no server takes it.
    assert [await balancer.ask(prompt("a"), servers.send) for _ in range(3)] != [home] * 3
    assert servers.asked.count(home) == 1
    await asyncio.sleep(0.51)
    await asyncio.gather(*(balancer.ask(prompt("a"), servers.send) for _ in range(4)))
    assert servers.asked.count(home) == 2  # one request alone tries it
    assert (first.out, first.tries) == (True, 2)
    await asyncio.sleep(1.01)
    assert await balancer.ask(prompt("a"), servers.send) == home
    assert not first.out


async def test_failures_of_several_requests_take_a_server_out_and_those_of_few_do_not() -> None:
    servers = Servers(8)
    (server,) = servers.endpoints
    balancer = Balancer(servers.endpoints, 2)
    servers.script[server] = [setback("broken")] * 4
    await asyncio.gather(*(balancer.ask(prompt(story), servers.send) for story in "abcd"))
    assert server.outages == 0
    servers.script[server] = [setback("broken")] * 5
    await asyncio.gather(*(balancer.ask(prompt(story), servers.send) for story in "abcde"))
    assert (server.outages, server.out) == (1, False)


@pytest.mark.parametrize(("requests", "kind"), [(5, ModelError), (10, ModelAccessError)])
async def test_prompts_that_a_server_fails_with_are_not_a_dead_server(requests: int, kind: type[Exception]) -> None:
    servers = Servers(16)
    (server,) = servers.endpoints
    balancer = Balancer(servers.endpoints, 1)
    servers.script[server] = [setback("broken")] * 1000
    results = await asyncio.gather(
        *(balancer.ask(prompt("a", str(index)), servers.send) for index in range(requests)), return_exceptions=True
    )
    # Five may be the prompts' fault, so each has its tries; that ten different ones are is not to be believed.
    assert {type(result) for result in results} == {kind}
    assert all("it was broken" in str(result) for result in results)


async def test_where_every_server_is_out_all_requests_fail_with_what_to_do() -> None:
    servers = Servers(4, 4)
    balancer = Balancer(servers.endpoints, 1)
    for endpoint in servers.endpoints:
        servers.script[endpoint] = [setback("refused")] * 100
    began = time.monotonic()
    results = await asyncio.gather(
        *(balancer.ask(prompt("a", str(index)), servers.send) for index in range(50)), return_exceptions=True
    )
    assert {type(result) for result in results} == {ModelAccessError}
    assert "it was refused; all 2 servers are down" in str(results[0])
    assert time.monotonic() - began < 2  # each server was tried twice, half a second apart, not by each request
    assert len(servers.asked) <= 12


async def test_the_wait_that_a_server_asks_for_is_kept_by_all_requests_of_the_model_alone() -> None:
    servers = Servers(4)
    (server,) = servers.endpoints
    limited, other = (Balancer(servers.endpoints, 2) for _ in range(2))
    servers.script[server] = [setback("limited", 0.3)]
    first = asyncio.create_task(limited.ask(prompt("a"), servers.send))
    await settle()
    then = [asyncio.create_task(limited.ask(prompt("b"), servers.send)) for _ in range(3)]
    await other.ask(prompt("c"), servers.send)
    assert len(servers.asked) == 2
    await asyncio.gather(first, *then)
    assert servers.at[1] - servers.at[0] < 0.2
    assert all(at - servers.at[0] >= 0.3 for at in servers.at[2:])
    assert not server.out


async def test_nobody_waits_for_hours() -> None:
    servers = Servers(4)
    balancer = Balancer(servers.endpoints, 6)
    servers.script[servers.endpoints[0]] = [setback("limited", 7200)]
    for _ in range(2):
        with pytest.raises(ModelAccessError, match="it was limited; it asks to wait for 7200 s; resume"):
            await balancer.ask(prompt("a"), servers.send)
    assert len(servers.asked) == 1


def test_a_limit_by_the_minute_is_outlasted_though_the_server_does_not_say_when() -> None:
    retries = ModelConfig(name="openai/m").max_retries
    for _ in range(100):
        assert sum(backoff("limited", failures) for failures in range(retries)) >= 60
    # A first limit, and whatever else passes, holds up nobody for long.
    assert max(backoff("limited", 0) for _ in range(100)) <= 0.5
    assert max(backoff("broken", failures) for failures in range(100)) <= 8


async def test_concurrency_is_halved_once_for_what_was_in_flight_and_grows_back() -> None:
    servers = Servers(16)
    (server,) = servers.endpoints
    balancer = Balancer(servers.endpoints, 5)
    servers.script[server] = [setback("limited", 0.01)] * 16
    servers.gate.clear()
    tasks = [asyncio.create_task(balancer.ask(prompt("a"), servers.send)) for _ in range(40)]
    await settle()
    assert server.allowed == 8
    await asyncio.sleep(0.05)
    assert server.busy == 8
    servers.gate.set()
    await asyncio.gather(*tasks)
    assert 8 < server.allowed < 16  # 40 answers at about ten at a time: four windows, one more each
    for _ in range(200):
        await balancer.ask(prompt("a"), servers.send)
    assert server.allowed == 16
    servers.script[server] = [setback("limited", 0.001)] * 5
    await balancer.ask(prompt("a"), servers.send)
    assert server.allowed == 2  # it was never less than one, and one answer more makes two


async def test_stopping_fails_what_waits_and_what_would_be_tried_again() -> None:
    servers = Servers(1)
    balancer = Balancer(servers.endpoints, 5)
    servers.script[servers.endpoints[0]] = [setback("broken", 0.05)]
    tasks = [asyncio.create_task(balancer.ask(prompt("a"), servers.send)) for _ in range(3)]
    await settle()
    balancer.stop(ModelError("closed"))
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [str(result) for result in results] == ["closed"] * 3
    assert len(servers.asked) == 1


def test_retry_after() -> None:
    assert retry_after({}) is None
    assert retry_after({"retry-after": "7"}) == 7
    assert retry_after({"retry-after": "7", "retry-after-ms": "1500"}) == 1.5
    assert retry_after({"retry-after": "-3"}) == 0
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({"retry-after": "nan"}) is None
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert retry_after({"retry-after": date}) == pytest.approx(30, abs=2)
