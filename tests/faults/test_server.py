"""What a debate makes of each way in which a server can fail: it recovers, or failed and says why; nobody wins by it.

Every fault is a behaviour of the chat server, brought about through the real client, call log and arena.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import re
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from debate.agents.debater import FreeDebater, Limits
from debate.agents.extractive import ExtractiveDebater
from debate.agents.judge import JudgeConfig, build_judge
from debate.errors import ModelAccessError
from debate.models.base import Draw, Message, Sampling
from debate.models.limits import Budget, Meter
from debate.models.load import ModelConfig, Models
from debate.prompts import Prompts
from debate.protocols import Simultaneous
from debate.record import Recorded
from debate.sources import load
from debate.store import ModelUsage, Store
from tests.servers import ChatServer, running_chat_server
from tournaments.matches import Arena, outcomes
from tournaments.setups import match_setups

pytestmark = pytest.mark.faults

QUESTIONS = [question for question in load("shipped:stories") if question.fold == "debater"][:12:3]
LIMITS = Limits(min_words=30, max_words=60)
#: Both assignments of four questions, each judged in both orders.
DEBATES, VERDICTS = 8, 16


@pytest.fixture(scope="module")
def server() -> Iterator[ChatServer]:
    with running_chat_server() as running, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", running.api_key)
        patch.setenv("OPENAI_BASE_URL", running.base_url)
        yield running


@dataclasses.dataclass(frozen=True)
class Held:
    """What came of some debates, and what they cost."""

    recorded: Sequence[Recorded]
    usage: dict[str, ModelUsage]
    meter: Meter

    @property
    def failed(self) -> list[str]:
        return [item.debate.failed for item in self.recorded if item.debate.failed is not None]

    @property
    def unparsed(self) -> list[str]:
        return [str(verdict.unparsed) for item in self.recorded for verdict in item.verdicts if verdict.unparsed]

    def check(self) -> None:
        """Hold what is true whatever a server does."""
        assert len(self.recorded) == DEBATES
        for item in self.recorded:
            assert len(item.verdicts) == (0 if item.debate.failed is not None else 2)
        # Only a verdict that was given counts for anybody.
        given = 2 * (DEBATES - len(self.failed)) - len(self.unparsed)
        assert len(outcomes(self.recorded, "soft")) == given
        # What the meter counted is what the store has.
        counted = {name: (figures.calls, figures.tokens) for name, figures in self.meter.by_model().items()}
        assert counted == {name: (usage.calls, usage.tokens) for name, usage in self.usage.items()}


async def hold(
    folder: Path, debater: str, judge: str, *, kind: str = "letter", base_url: Any = None, **settings: Any
) -> Held:
    """Hold debates of a model's player against an extractive one before a model's judge, or go on with them."""
    store = Store(folder / "run.sqlite")
    meter = Meter(Budget(), {}, earlier=store.usage())
    models = Models(store, meter)

    def config(name: str) -> ModelConfig:
        return ModelConfig.model_validate({"name": f"openai/{name}", "base_url": base_url, **settings})

    sampling = Sampling(200)
    free = FreeDebater(models.get(config(debater)), name="free", prompts=Prompts(), limits=LIMITS, sampling=sampling)
    judge_config = JudgeConfig(kind=kind, model=config(judge))
    arena = Arena(
        Simultaneous(rounds=1),
        {"free": free, "extractive": ExtractiveDebater(name="extractive", limits=LIMITS)},
        build_judge(judge_config, models.get(config(judge)), Prompts()),
        store,
        1,
        asyncio.Semaphore(16),
    )
    try:
        recorded = list(await arena.play(match_setups("free", "extractive", QUESTIONS, arena.protocol)))
    finally:
        await models.close()
        usage = store.usage()
        store.close()
    held = Held(recorded, usage, meter)
    held.check()
    return held


#: Faults that pass, and how many requests of each they cost.
PASSING = {
    "429-twice": 2,
    "429-second": 1,
    "429-plain": 1,
    "500-once": 1,
    "503-once": 1,
    "reset-once": 1,
    "cut-once": 1,
    "truncated-once": 1,
    "hang-once": 1,
    "drip-once": 1,
    "late-once": 1,
    "twin": 0,
    "twice": None,  # none or some: the second copy may come when the connection is at rest, or in use again
}


@pytest.fixture(scope="module")
def healthy(server: ChatServer, tmp_path_factory: pytest.TempPathFactory) -> Held:
    return asyncio.run(hold(tmp_path_factory.mktemp("healthy"), "plain", "plain", base_url=server.base_url))


def what_was_said(held: Held) -> list[object]:
    """The speeches and the verdicts: this server says the same to the same prompt, whatever the model is called."""
    return [
        (item.debate.transcript, [(verdict.order, verdict.probabilities) for verdict in item.verdicts])
        for item in held.recorded
    ]


@pytest.mark.parametrize(("fault", "lost"), PASSING.items())
async def test_what_passes_is_waited_out(
    server: ChatServer, healthy: Held, tmp_path: Path, fault: str, lost: int | None
) -> None:
    name = f"fault-{fault}"
    slow = fault in {"hang-once", "drip-once", "late-once"}
    began = time.monotonic()
    held = await hold(tmp_path, name, name, timeout_s=1 if slow else 20)
    took = time.monotonic() - began
    assert (held.failed, held.unparsed) == ([], [])
    assert what_was_said(held) == what_was_said(healthy)  # no reply was taken for another's
    calls = held.usage[f"openai/{name}"].calls
    assert calls == DEBATES + VERDICTS  # every speech was good at once
    sent = server.calls(name)
    assert sent == calls * (1 + lost) if lost is not None else sent >= calls
    if fault == "429-second":
        assert took > 2  # the debaters' requests had to wait for a second, and the judge's then
    # What was paid for is there: nothing is asked again.
    again = await hold(tmp_path, name, name)
    assert again.recorded == held.recorded
    assert server.calls(name) == sent
    assert again.meter.total().calls == calls


#: Faults that stay with the prompts that they befall: what a judge's request fails with, and whether it is paid for.
LASTING: dict[str, tuple[str, bool]] = {
    "500-always": ("answered 500: ", False),
    "503-always": ("answered 503: ", False),
    "429-always": ("answered 429: ", False),
    "400": ("answered 400: ", False),
    "hang": ("no answer within 0.5 s", False),
    "reset": ("the call failed, after 1 retries", False),
    "html": ("sent no chat completion but '<html>", False),
    "truncated": ("sent broken JSON", False),
    "object": ("sent a reply without choices", True),
    "empty": ("sent a reply without choices", True),
}


@pytest.mark.parametrize("fault", LASTING)
async def test_what_stays_fails_the_debates_that_it_befalls(server: ChatServer, tmp_path: Path, fault: str) -> None:
    words, paid = LASTING[fault]
    name = f"some-{fault}"
    settings: dict[str, Any] = {"max_retries": 1, "timeout_s": 0.5 if fault == "hang" else 20}
    held = await hold(tmp_path, "writer", name, **settings)
    assert 0 < len(held.failed) < DEBATES
    assert all(words in reason and f"openai/{name}" in reason for reason in held.failed)
    judged = DEBATES - len(held.failed)
    assert len(outcomes(held.recorded, "soft")) == 2 * judged
    # A second session tries what failed, and nothing else.
    before = server.report()["answered"].get(name, 0), held.usage["openai/writer"].calls
    again = await hold(tmp_path, "writer", name, **settings)
    assert len(again.failed) == len(held.failed)
    assert [item for item in again.recorded if item.verdicts] == [item for item in held.recorded if item.verdicts]
    assert again.usage["openai/writer"].calls == before[1]
    if not paid:
        assert server.report()["answered"].get(name, 0) == before[0]
        assert again.usage[f"openai/{name}"].calls == before[0]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("quota", "the quota of the key in OPENAI_API_KEY is spent; add credit and resume the run"),
        ("429-hours", "asks to wait for 7200 s; resume the run after that"),
        ("401", "refused the API key"),
        ("404", "no such model or address"),
        ("503-always", "overloaded; the server is down; see to it, then resume the run"),
        ("no-logprobs", "returned no log-probabilities; declare `logprobs: false`"),
        ("zero-logprobs", "which is no distribution"),
    ],
)
async def test_what_no_call_survives_stops_the_run_and_the_speeches_are_kept(
    server: ChatServer, tmp_path: Path, fault: str, words: str
) -> None:
    with pytest.raises(ModelAccessError, match=re.escape(words)):
        await hold(tmp_path, "writer", f"fault-{fault}", max_retries=1)
    assert server.calls(f"fault-{fault}") < 2 * VERDICTS
    before = server.calls("writer")
    # Once it is mended, the run goes on where it was; here another model judges.
    held = await hold(tmp_path, "writer", "judge")
    assert (held.failed, held.unparsed) == ([], [])
    assert held.usage["openai/writer"].calls >= DEBATES
    assert server.calls("writer") - before < DEBATES  # what was in the store was not asked for again


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ("no-letters", "letter", "the answer letters are not among the model's likeliest first tokens"),
        ("length", "reason", "the reply was cut at max_tokens"),
        ("filter", "reason", "the reply was stopped by the server's content filter"),
        ("null-content", "reason", "no single answer on the last line"),
        ("length", "vote", "only 0 of 5 votes named one answer; 5 of them: the reply was cut"),
    ],
)
async def test_a_judge_that_does_not_decide_gives_nobody_a_point(
    server: ChatServer, tmp_path: Path, fault: str, kind: str, words: str
) -> None:
    held = await hold(tmp_path, "writer", f"fault-{fault}", kind=kind)
    assert held.failed == []
    assert len(held.unparsed) == VERDICTS
    assert all(words in reason for reason in held.unparsed)
    assert outcomes(held.recorded, "hard") == []
    # The replies are paid for and kept: the same verdicts are found again.
    calls = server.calls(f"fault-{fault}")
    assert (await hold(tmp_path, "writer", f"fault-{fault}", kind=kind)).recorded == held.recorded
    assert server.calls(f"fault-{fault}") == calls


@pytest.mark.parametrize("fault", ["filter", "null-content"])
async def test_a_debater_that_is_silenced_does_not_lose(server: ChatServer, tmp_path: Path, fault: str) -> None:
    before = server.calls(f"fault-{fault}")
    held = await hold(tmp_path, f"fault-{fault}", "judge")
    assert len(held.failed) == DEBATES
    assert all("free got 3 replies without any text" in reason for reason in held.failed)
    assert held.usage[f"openai/fault-{fault}"].calls == 3 * DEBATES  # they are paid for
    assert server.calls(f"fault-{fault}") - before == 3 * DEBATES


async def test_a_speech_that_is_cut_is_marked_as_such(server: ChatServer, tmp_path: Path) -> None:
    before = server.calls("fault-length")
    held = await hold(tmp_path, "fault-length", "judge")
    assert (held.failed, held.unparsed) == ([], [])
    for item in held.recorded:
        (turn,) = (turn for turn in item.debate.transcript.turns if item.debate.players[turn.answer or 0] == "free")
        assert all("no complete <argument> block" in candidate.flaws for candidate in turn.candidates)
    assert server.calls("fault-length") - before == 3 * DEBATES


@contextlib.contextmanager
def absent() -> Iterator[str]:
    """The address of a server that is not there."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


async def test_a_server_that_is_not_there_is_no_matter_while_another_is(server: ChatServer, tmp_path: Path) -> None:
    with absent() as address:
        held = await hold(tmp_path, "pair", "pair", base_url=[address, server.base_url], max_retries=0)
        assert (held.failed, held.unparsed) == ([], [])
        with pytest.raises(ModelAccessError, match=r"cannot connect, after 1 retries; check the server"):
            await hold(tmp_path / "run.sqlite-none", "pair", "judge", base_url=[address], max_retries=1)


async def test_a_server_that_dies_is_left_and_one_that_comes_back_is_used_again() -> None:
    with running_chat_server() as stays, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", stays.api_key)
        models = Models(None, Meter(Budget(), {}))
        sent = 0

        async def ask(n: int, model: Any) -> None:
            nonlocal sent
            sent += n
            draws = [Draw(sample=sent + index) for index in range(n)]
            prompts = [[Message("user", f"{sent + index} again and again " * 200)] for index in range(n)]
            await asyncio.gather(
                *(
                    model.sample(one, draws=[draw], sampling=Sampling(20))
                    for one, draw in zip(prompts, draws, strict=True)
                )
            )

        with running_chat_server() as dies:
            config = ModelConfig(
                name="openai/m", base_url=(stays.base_url, dies.base_url), concurrency=4, max_retries=0
            )
            model = models.get(config)
            await ask(40, model)
            assert stays.calls("m") + dies.calls("m") == 40
            assert min(stays.calls("m"), dies.calls("m")) >= 10  # the load is shared
        await ask(40, model)
        port = int(dies.base_url.rpartition(":")[2].removesuffix("/v1"))
        with running_chat_server(port=port) as back:
            await asyncio.sleep(1.1)  # it is tried again after half a second, and a second, at the latest
            await ask(40, model)
            assert back.calls("m") >= 5
        await models.close()
