"""What vLLM's servers have beside OpenAI's: LoRA adapters by name or folder, and replies held to given choices."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from debate.agents.judge import JudgeConfig, LetterJudge, VoteJudge, build_judge
from debate.errors import ModelAccessError, ModelError
from debate.models.base import Completion, Draw, Message, Sampling, UnusableReplyError
from debate.models.calls import LoggedModel
from debate.models.limits import Budget, Meter
from debate.models.load import CapabilitiesConfig, ModelConfig, Models, capabilities_of, check_access, open_model
from debate.prompts import Prompts
from debate.store import Store
from tests.chat_server import FAULTS, Reply
from tests.chat_server import ChatServer as Scripted
from tests.servers import ChatServer, running_chat_server

PROMPT = [Message("user", "Which answer is right? Reply with A or B.")]
SAMPLING = Sampling(max_tokens=50)
LORA = CapabilitiesConfig(lora=True)
SINGLE = CapabilitiesConfig(logprobs=False, structured=True, n=False)
LETTERS = ("A", "B")
Task = asyncio.Task[list[Completion]]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    with running_chat_server(lora=["given=/adapters/given"]) as running:
        monkeypatch.setenv("OPENAI_API_KEY", running.api_key)
        monkeypatch.setenv("OPENAI_BASE_URL", running.base_url)
        yield running


async def say(config: ModelConfig, times: int = 1) -> None:
    model = open_model(config)
    try:
        await asyncio.gather(*(model.sample(PROMPT, draws=[Draw(sample=i)], sampling=SAMPLING) for i in range(times)))
    finally:
        await model.close()


async def test_an_adapter_that_the_server_has_is_asked_by_its_name(server: ChatServer) -> None:
    config = ModelConfig(name="openai/base", adapter="given")
    check_access(config)  # asks nobody
    assert server.report()["calls"] == 0
    await say(config, times=5)
    assert server.report()["loads"] == []
    assert server.report()["by_model"] == {"given": 1 + 5}  # it was probed once
    assert open_model(config).name == config.label == "openai/base+given"
    assert open_model(config).digest != open_model(ModelConfig(name="openai/base")).digest


async def test_an_adapter_is_loaded_from_its_folder_on_the_server(server: ChatServer, tmp_path: Path) -> None:
    config = ModelConfig(name="openai/base", adapter="/adapters/judge-2/", capabilities=LORA)
    assert config.label == "openai/base+judge-2"
    await asyncio.gather(say(config), say(config))  # two runs at once
    await say(config)
    assert set(server.report()["loads"]) == {"judge-2"}
    assert server.calls("judge-2") == 3 * 2
    # Where the server shares this machine's files, the folder may be given as it is from here.
    here = tmp_path / "here"
    here.mkdir()
    await say(ModelConfig(name="openai/base", adapter=str(here), capabilities=LORA))
    with pytest.raises(ModelAccessError, match=rf"another adapter by the name 'here', of {here}, not /other/here"):
        await say(ModelConfig(name="openai/base", adapter="/other/here", capabilities=LORA))


@pytest.mark.parametrize(
    ("adapter", "capabilities", "words"),
    [
        ("unknown", CapabilitiesConfig(), r"no adapter 'unknown' \(it has base, given\); start it .*--lora-modules"),
        ("/nowhere/a", LORA, r"did not load adapter 'a' from /nowhere/a: .*No adapter found.*ALLOW_RUNTIME_LORA"),
        ("/adapters/missing", LORA, r"lists adapter 'missing' but does not answer with it: .*500.*on the server"),
    ],
)
async def test_an_adapter_that_is_not_there_stops_the_run(
    server: ChatServer, adapter: str, capabilities: CapabilitiesConfig, words: str
) -> None:
    with pytest.raises(ModelAccessError, match=words):
        await say(ModelConfig(name="openai/base", adapter=adapter, capabilities=capabilities, max_retries=1))
    assert server.report()["samples"] == 0


async def test_a_server_that_was_started_anew_is_given_the_adapter_again(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_chat_server() as first:
        monkeypatch.setenv("OPENAI_API_KEY", first.api_key)
        config = ModelConfig(name="openai/base", adapter="/adapters/mine", capabilities=LORA, base_url=first.base_url)
        model = open_model(config)
        await model.sample(PROMPT, draws=[Draw(sample=0)], sampling=SAMPLING)
    waiting = asyncio.create_task(model.sample(PROMPT, draws=[Draw(sample=1)], sampling=SAMPLING))
    await asyncio.sleep(0.2)
    with running_chat_server(port=urlsplit(first.base_url).port or 0) as second:
        assert len(await waiting) == 1
        assert second.report()["loads"] == ["mine"]
    await model.close()


async def test_letters_without_logprobs_are_counted_in_replies_held_to_them(server: ChatServer) -> None:
    config = ModelConfig(name="openai/base", capabilities=CapabilitiesConfig(logprobs=False, structured=True))
    model = open_model(config)
    choice = await model.choose(PROMPT, LETTERS)
    sent = server.report()["last"]["base"]
    assert (sent["n"], sent["structured_outputs"], "logprobs" in sent) == (16, {"choice": ["A", "B"]}, False)
    drawn = round(choice.probabilities[0] * 17 - 0.5)
    assert choice.probabilities == pytest.approx(((drawn + 0.5) / 17, (16 - drawn + 0.5) / 17))
    assert 9 <= drawn <= 15  # three in four of 16, as the server draws them
    assert choice.mass == 1
    assert choice.usage.tokens_out == 16
    judge = build_judge(JudgeConfig(model=config), model, Prompts())
    assert isinstance(judge, LetterJudge)
    await model.close()
    single = open_model(ModelConfig(name="openai/base", capabilities=SINGLE))
    before = server.calls("base")
    assert (await single.choose(PROMPT, LETTERS)).probabilities[0] in {0.5 / 17, 16.5 / 17}  # it says the same again
    assert server.calls("base") - before == 16
    await single.close()


async def test_letters_among_the_likeliest_tokens_need_no_counting(server: ChatServer) -> None:
    able = CapabilitiesConfig(structured=True)
    told, silent = (
        open_model(ModelConfig(name=f"openai/{name}", capabilities=able)) for name in ("base", "fault-no-letters")
    )
    plain = open_model(ModelConfig(name="openai/base"))
    assert (await told.choose(PROMPT, LETTERS)).probabilities == (await plain.choose(PROMPT, LETTERS)).probabilities
    assert server.calls("base") == 2
    logged = LoggedModel(silent, None, Meter(Budget(), {}))
    choice = await logged.choose(PROMPT, LETTERS)
    assert (choice.mass, choice.calls) == (1, 1 + 16)
    assert server.calls("fault-no-letters") == 2
    assert told.digest != plain.digest
    for model in (told, silent, plain):
        await model.close()


@pytest.mark.parametrize("n", [True, False])
async def test_each_letter_that_was_drawn_is_a_call_and_kept(server: ChatServer, tmp_path: Path, n: bool) -> None:  # noqa: FBT001 - parametrized
    store, meter = Store(tmp_path / "run.sqlite"), Meter(Budget(), {})
    able = CapabilitiesConfig(logprobs=False, structured=True, n=n)
    model = Models(store, meter).get(ModelConfig(name="openai/fault-second", capabilities=able))
    if n:
        choice = await model.choose(PROMPT, LETTERS)
    else:  # the second of the requests is refused; the others are kept, and not made again
        with pytest.raises(ModelError, match="answered 400"):
            await model.choose(PROMPT, LETTERS)
        await model.drain()
        assert meter.total().calls == store.usage()[model.name].calls == 15
        choice = await model.choose(PROMPT, LETTERS)
    sent = server.calls("fault-second")
    assert sent == (1 if n else 17)
    assert (choice.calls, choice.usage.tokens_out) == (16, 16)
    assert await model.choose(PROMPT, LETTERS) == choice
    assert server.calls("fault-second") == sent
    used = store.usage()[model.name]
    assert meter.total().calls == used.calls == 16
    assert meter.total().tokens == used.tokens == choice.usage
    await model.close()
    store.close()


async def test_what_a_model_told_is_kept_though_it_told_too_little(server: ChatServer, tmp_path: Path) -> None:
    store, meter = Store(tmp_path / "run.sqlite"), Meter(Budget(), {})
    config = ModelConfig(name="openai/fault-no-letters-unheld", capabilities=CapabilitiesConfig(structured=True))
    model = Models(store, meter).get(config)
    for _ in range(2):
        with pytest.raises(ModelError, match="answered 400"):
            await model.choose(PROMPT, LETTERS)
    used = store.usage()[model.name]
    assert meter.total().calls == used.calls == 1
    assert meter.total().tokens == used.tokens
    assert used.tokens.tokens_in > 0
    assert server.calls("fault-no-letters-unheld") == 3  # told once, held twice
    await model.close()
    store.close()


async def test_of_many_samples_those_of_a_finished_request_are_kept(server: ChatServer, tmp_path: Path) -> None:
    store, meter = Store(tmp_path / "run.sqlite"), Meter(Budget(), {})
    model = Models(store, meter).get(ModelConfig(name="openai/fault-second"))
    draws = Draw().take(300)  # 128, 128 and 44
    with pytest.raises(ModelError, match="answered 400"):
        await model.sample(PROMPT, draws=draws, sampling=SAMPLING)
    await model.drain()
    assert meter.total().calls == store.usage()[model.name].calls == 128 + 44
    assert len(await model.sample(PROMPT, draws=draws, sampling=SAMPLING)) == 300
    assert server.report()["samples"] == 300
    assert meter.total().tokens == store.usage()[model.name].tokens
    await model.close()
    store.close()


class GatedServer(Scripted):
    """A chat server that lists its models only when it may."""

    def __init__(self) -> None:
        super().__init__(latency=0, key=None, lora={"given": "/adapters/given"})
        self.listed = 0
        self.asked, self.gate = asyncio.Event(), asyncio.Event()
        self.broken = 0

    async def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply | None:
        if path == "/v1/models":
            self.listed += 1
            self.asked.set()
            await self.gate.wait()
            if self.listed <= self.broken:
                return FAULTS["500-always"][1]
        return await super().answer(method, path, headers, body)


@contextlib.asynccontextmanager
async def gated(count: int, **settings: object) -> AsyncIterator[tuple[list[GatedServer], Callable[[int], Task]]]:
    """Run gated servers; the function asks the model that they share, with an adapter, for one reply."""
    servers = [GatedServer() for _ in range(count)]
    running = [await asyncio.start_server(server.serve, "127.0.0.1", 0) for server in servers]
    urls = [f"http://127.0.0.1:{one.sockets[0].getsockname()[1]}/v1" for one in running]
    config = {"name": "openai/base", "adapter": "given", "base_url": urls, **settings}
    model = open_model(ModelConfig.model_validate(config))

    def ask(sample: int) -> Task:
        return asyncio.create_task(model.sample(PROMPT, draws=[Draw(sample=sample)], sampling=SAMPLING))

    try:
        yield servers, ask
    finally:
        await model.close()
        for server, one in zip(servers, running, strict=True):
            server.gate.set()
            one.close()


async def test_a_server_that_does_not_say_what_it_has_holds_up_no_other() -> None:
    async with gated(2, concurrency=1) as (servers, ask):
        slow = ask(0)
        await asyncio.wait([asyncio.create_task(one.asked.wait()) for one in servers], return_when="FIRST_COMPLETED")
        (healthy,) = (one for one in servers if not one.asked.is_set())
        healthy.gate.set()
        assert len(await asyncio.wait_for(ask(1), 20)) == 1
        assert not slow.done()
        for one in servers:
            one.gate.set()
        assert len(await slow) == 1


async def test_a_request_that_is_cancelled_leaves_the_probe_to_the_others() -> None:
    async with gated(1) as ((server,), ask):
        first = ask(0)
        await server.asked.wait()
        others = [ask(1), ask(2)]
        first.cancel()
        await asyncio.wait([first])
        server.gate.set()
        assert [len(replies) for replies in await asyncio.gather(*others)] == [1, 1]
        assert server.listed == 1


async def test_a_probe_that_failed_is_made_again_once_for_all() -> None:
    async with gated(1, max_retries=1) as ((server,), ask):
        server.gate.set()
        server.broken = 1
        assert [len(replies) for replies in await asyncio.gather(*map(ask, range(3)))] == [1, 1, 1]
        assert server.listed == 2


def probes() -> list[str]:
    """Name the tasks that ask a server for its adapters."""
    return [repr(task) for task in asyncio.all_tasks() if "RemoteModel._serve" in repr(task)]


async def test_closing_ends_a_probe() -> None:
    async with gated(1) as ((server,), ask):
        call = ask(0)
        await server.asked.wait()
        call.cancel()
        assert len(probes()) == 1
    assert probes() == []


async def test_a_server_that_does_not_keep_to_the_choices_is_named(server: ChatServer) -> None:
    able = CapabilitiesConfig(logprobs=False, structured=True)
    model = open_model(ModelConfig(name="openai/deaf", capabilities=able))
    with pytest.raises(
        UnusableReplyError, match=r"was held to A, B and replied 'Reply .*leave `structured` out"
    ) as caught:
        await model.choose(PROMPT, LETTERS)
    assert caught.value.usage.tokens_out > 16  # it is paid for
    await model.close()
    assert server.calls("deaf") == 1


def test_a_model_that_thinks_first_is_not_held_to_letters() -> None:
    config = ModelConfig(name="openai/x", capabilities=CapabilitiesConfig(reasoning=True, structured=True))
    assert not capabilities_of(config).letters
    judge = build_judge(
        JudgeConfig(model=config), open_model(config.model_copy(update={"base_url": "http://h/v1"})), Prompts()
    )
    assert isinstance(judge, VoteJudge)
