from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import re
import socket
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import cast

import pytest

from debate.errors import BudgetError, ContextError, DissoiError, ModelAccessError, ModelError
from debate.models.base import Capabilities, Draw, Message, Sampling, ShortReplyError, UnusableReplyError, Usage
from debate.models.calls import LoggedModel
from debate.models.letters import TokenProbability, choice_probabilities
from debate.models.limits import Budget, Meter
from debate.models.remote import RemoteModel, known_capabilities, wire_messages
from debate.models.replies import is_well_formed, usage_of
from debate.models.site import Site
from debate.store import Store
from tests.servers import ChatServer, chat_server_fixture, running_chat_server

__all__ = ["chat_server_fixture"]  # pytest finds the fixture `chat_server` by this import

STORY = (
    "The lighthouse keeper counted the ships each night. On Friday he counted one too few. "
    "He lit the lamp again and rowed out alone. By morning the missing ship lay at anchor in the bay."
)
DEBATE = [
    Message("system", "You are a skilled debater."),
    Message("user", f"<story>\n{STORY}\n</story>\n\nWrite 30 to 60 words."),
]
JUDGE = [Message("system", "You judge debates."), Message("user", "Which answer is right? Reply with A or B.")]
SAMPLING = Sampling(max_tokens=200, temperature=0.7, top_p=0.9, stop=("###",))

Connect = Callable[..., AbstractAsyncContextManager[RemoteModel]]


@pytest.fixture
def connect(chat_server: ChatServer) -> Connect:
    @contextlib.asynccontextmanager
    async def connected(
        model: str,
        capabilities: Capabilities | None = None,
        *,
        base_url: str = chat_server.base_url,
        api_key: str | None = chat_server.api_key,
        concurrency: int = 32,
        timeout_s: float = 20,
        max_retries: int = 3,
    ) -> AsyncIterator[RemoteModel]:
        remote = RemoteModel(
            f"openai/{model}",
            model=model,
            base_url=base_url,
            api_key=api_key,
            capabilities=capabilities or Capabilities(),
            concurrency=concurrency,
            timeout_s=timeout_s,
            max_retries=max_retries,
        )
        try:
            yield remote
        finally:
            await remote.close()

    return connected


async def test_samples_come_in_one_request_where_n_is_declared(connect: Connect, chat_server: ChatServer) -> None:
    async with connect("plain-n") as model:
        replies = await model.sample(DEBATE, draws=Draw().take(4), sampling=SAMPLING)
    assert chat_server.calls("plain-n") == 1
    assert len({reply.text for reply in replies}) > 1
    assert {reply.finish for reply in replies} == {"stop"}
    for reply in replies:
        argument = reply.text[reply.text.index("<argument>") : reply.text.index("</argument>")]
        quotes = re.findall(r"<quote>(.*?)</quote>", argument)
        assert quotes
        assert all(quote in STORY for quote in quotes)
    characters = sum(len(message.content) for message in DEBATE) + 1  # the server counts four to a token
    assert replies[0].usage.tokens_in == math.ceil(characters / 4)
    assert [reply.usage.tokens_in for reply in replies[1:]] == [0, 0, 0]
    assert sum(reply.usage.tokens_out for reply in replies) == sum(math.ceil(len(reply.text) / 4) for reply in replies)
    sent = chat_server.report()["last"]["plain-n"]
    assert sent["messages"] == [{"role": message.role, "content": message.content} for message in DEBATE]
    del sent["messages"]
    assert sent == {"model": "plain-n", "n": 4, "max_tokens": 200, "temperature": 0.7, "top_p": 0.9, "stop": ["###"]}


async def test_samples_come_in_single_requests_where_n_is_not_declared(
    connect: Connect, chat_server: ChatServer
) -> None:
    async with connect("plain-single", Capabilities(n=False)) as model:
        replies = await model.sample(DEBATE, draws=Draw().take(3), sampling=SAMPLING)
    assert chat_server.calls("plain-single") == len(replies) == 3
    assert "n" not in chat_server.report()["last"]["plain-single"]


async def test_choose_sums_the_token_forms(connect: Connect, chat_server: ChatServer) -> None:
    async with connect("letters") as model:
        choice = await model.choose(JUDGE, ("A", "B"))
        swapped = await model.choose(JUDGE, ("B", "A"))
    assert choice.mass == pytest.approx(0.9)  # by the server's construction
    assert 0.05 <= choice.probabilities[0] <= 0.95
    assert sum(choice.probabilities) == pytest.approx(1)
    assert swapped.probabilities == pytest.approx(choice.probabilities[::-1])
    assert choice.usage.tokens_out == 1
    sent = chat_server.report()["last"]["letters"]
    assert (sent["max_tokens"], sent["logprobs"], sent["top_logprobs"]) == (1, True, 20)


async def test_reasoning_models_get_what_they_take(connect: Connect, chat_server: ChatServer) -> None:
    async with connect("o4-mini", known_capabilities("o4-mini")) as model:
        (reply,) = await model.sample(DEBATE, draws=[Draw()], sampling=SAMPLING)
        with pytest.raises(ModelError, match="gives no log-probabilities"):
            await model.choose(JUDGE, ("A", "B"))
    assert reply.usage.reasoning == 64
    assert reply.usage.tokens_out == 64 + math.ceil(len(reply.text) / 4)
    assert set(chat_server.report()["last"]["o4-mini"]) == {"model", "messages", "max_completion_tokens"}


async def test_room_for_reasoning_is_added(chat_server: ChatServer) -> None:
    models = [
        RemoteModel(
            "openai/o3-mini",
            model="o3-mini",
            base_url=chat_server.base_url,
            api_key=chat_server.api_key,
            capabilities=known_capabilities("o3-mini"),
            reasoning_tokens=room,
        )
        for room in (8192, 100)
    ]
    rooms = []
    for model in models:
        await model.sample(DEBATE, draws=[Draw()], sampling=SAMPLING)
        await model.close()
        rooms.append(chat_server.report()["last"]["o3-mini"]["max_completion_tokens"])
    assert rooms == [200 + 8192, 200 + 100]
    assert models[0].digest != models[1].digest  # less room may cut a reply


async def test_servers_that_want_alternating_turns_get_them(connect: Connect) -> None:
    messages = [*JUDGE, Message("user", "More."), Message("assistant", "Hm."), Message("user", "Well?")]
    async with connect("strict", Capabilities(system_role=False)) as model:
        assert len(await model.sample(messages, draws=[Draw()], sampling=SAMPLING)) == 1
    async with connect("strict") as model:
        with pytest.raises(ModelError, match=r"answered 400: .*roles must alternate"):
            await model.sample(messages, draws=[Draw()], sampling=SAMPLING)


def test_wire_messages() -> None:
    messages = [Message("system", "s"), Message("user", "u"), Message("user", "v"), Message("assistant", "a")]
    assert wire_messages(messages, system_role=True) == [("system", "s"), ("user", "u\n\nv"), ("assistant", "a")]
    assert wire_messages(messages, system_role=False) == [("user", "s\n\nu\n\nv"), ("assistant", "a")]


async def test_cached_tokens_are_recorded(connect: Connect) -> None:
    long = [Message("user", "word " * 500)]
    async with connect("cached") as model:
        first, second = [(await model.sample(long, draws=[Draw()], sampling=SAMPLING))[0] for _ in range(2)]
    assert (first.usage.cached, second.usage.cached) == (0, 512)


async def test_stops_and_length(connect: Connect) -> None:
    async with connect("o3", known_capabilities("o3")) as model:  # takes no stops: they are cut here
        (reply,) = await model.sample(DEBATE, draws=[Draw()], sampling=Sampling(max_tokens=200, stop=("<argument>",)))
        assert reply.text == "I look for the strongest lines.\n"
    async with connect("short") as model:
        (reply,) = await model.sample(DEBATE, draws=[Draw()], sampling=Sampling(max_tokens=3))
        assert (reply.finish, reply.usage.tokens_out) == ("length", 3)


@pytest.mark.parametrize(
    ("fault", "requests"), [("fault-429-twice", 3), ("fault-500-once", 2), ("fault-reset-once", 2)]
)
async def test_passing_faults_are_retried(connect: Connect, chat_server: ChatServer, fault: str, requests: int) -> None:
    async with connect(fault) as model:
        (reply,) = await model.sample(DEBATE, draws=[Draw()], sampling=SAMPLING)
    assert "<argument>" in reply.text
    assert chat_server.calls(fault) == requests


@pytest.mark.parametrize(
    ("fault", "requests", "error"),
    [
        ("quota", 1, (ModelAccessError, "quota of the key in OPENAI_API_KEY is spent")),
        ("401", 1, (ModelAccessError, r"refused the API key \(401\); check OPENAI_API_KEY")),
        ("403", 1, (ModelAccessError, "may not use this model")),
        ("404", 1, (ModelAccessError, "no such model or address")),
        ("400", 1, (ModelError, "answered 400: .*bad request")),
        ("context", 1, (ContextError, "maximum context length is 100")),
        ("429-always", 4, (ModelError, "answered 429")),
        ("503-always", 4, (ModelError, "answered 503: .*overloaded")),
        ("html", 1, (ModelError, "no chat completion but '<html>.*nginx")),
        ("truncated", 4, (ModelError, "broken JSON")),
        ("object", 1, (UnusableReplyError, "without choices")),
        ("empty", 1, (UnusableReplyError, "without choices")),
        ("short-n", 1, (ShortReplyError, "returned 1 of 2 samples .*declare `n: false`")),
    ],
)
async def test_lasting_faults_are_named(
    connect: Connect, chat_server: ChatServer, fault: str, requests: int, error: tuple[type[DissoiError], str]
) -> None:
    kind, words = error
    async with connect(f"fault-{fault}") as model:
        with pytest.raises(kind, match=words) as caught:
            await model.sample(DEBATE, draws=Draw().take(2), sampling=SAMPLING)
    assert type(caught.value) is kind
    assert f"model openai/fault-{fault}" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "sk-very" not in str(caught.value)
    assert chat_server.calls(f"fault-{fault}") == requests


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("no-logprobs", (ModelAccessError, "no log-probabilities; declare `logprobs: false`")),
        ("zero-logprobs", (ModelAccessError, "sum to 18, which is no distribution .*declare `logprobs: false`")),
        ("empty", (ModelError, "without choices")),
    ],
)
async def test_replies_without_logprobs_are_named_and_paid_for(
    connect: Connect, chat_server: ChatServer, tmp_path: Path, fault: str, error: tuple[type[DissoiError], str]
) -> None:
    kind, words = error
    store = Store(tmp_path / "run.sqlite")
    name = f"openai/fault-{fault}"
    before = chat_server.calls(f"fault-{fault}")
    meter = Meter(Budget(max_calls=2), {})
    async with connect(f"fault-{fault}") as remote:
        model = LoggedModel(remote, store, meter)
        for question in "123":
            # Each costs, so the third is not made; a run stops at the first where no other could succeed.
            with pytest.raises(kind if question < "3" else BudgetError, match=words if question < "3" else "max_calls"):
                await model.choose([Message("user", question)], ("A", "B"))
    used = store.usage()[name]
    assert chat_server.calls(f"fault-{fault}") - before == meter.total().calls == used.calls == 2
    assert meter.total().tokens == used.tokens
    assert used.tokens.tokens_in > 0
    # A resumed run goes on with the same budget, and asks again.
    resumed = Meter(Budget(max_calls=3), {}, earlier=store.usage())
    async with connect(f"fault-{fault}") as remote:
        with pytest.raises(kind, match=words):
            await LoggedModel(remote, store, resumed).choose([Message("user", "1")], ("A", "B"))
    assert resumed.total().calls == 3
    store.close()


async def test_one_reply_without_logprobs_does_not_stop_a_run_whose_others_have_them(connect: Connect) -> None:
    async with connect("fault-some-logprobs") as model:
        assert (await model.choose(JUDGE, ("A", "B"))).mass > 0
        with pytest.raises(ModelError, match="no log-probabilities"):
            await model.choose([Message("user", "unlucky")], ("A", "B"))


async def test_a_reply_without_the_letters_is_a_finished_call(
    connect: Connect, chat_server: ChatServer, tmp_path: Path
) -> None:
    store = Store(tmp_path / "run.sqlite")
    meter = Meter(Budget(), {})
    before = chat_server.calls("fault-no-letters")
    async with connect("fault-no-letters") as remote:
        model = LoggedModel(remote, store, meter)
        choice = await model.choose(JUDGE, ("A", "B"))
        assert (choice.probabilities, choice.mass) == ((0.5, 0.5), 0.0)
        assert await model.choose(JUDGE, ("A", "B")) == choice
    assert chat_server.calls("fault-no-letters") - before == 1
    assert (meter.total().calls, meter.total().replayed) == (1, 1)
    assert meter.total().tokens == store.usage()["openai/fault-no-letters"].tokens == choice.usage
    assert choice.usage.tokens_in > 0
    store.close()


async def test_what_a_short_reply_left_out_is_asked_for_again(
    connect: Connect, chat_server: ChatServer, tmp_path: Path
) -> None:
    store = Store(tmp_path / "run.sqlite")
    meter = Meter(Budget(), {})
    before = chat_server.calls("fault-short-n")
    async with connect("fault-short-n") as remote:
        replies = await LoggedModel(remote, store, meter).sample(DEBATE, draws=Draw().take(3), sampling=SAMPLING)
    assert ["<argument>" in reply.text for reply in replies] == [True] * 3
    assert chat_server.calls("fault-short-n") - before == 3  # it gives one sample, whatever it is asked for
    assert meter.total().calls == store.usage()["openai/fault-short-n"].calls == 3
    characters = sum(len(message.content) for message in DEBATE) + 1
    assert meter.total().tokens.tokens_in == 3 * math.ceil(characters / 4)  # each request paid for the prompt
    store.close()


async def test_a_sure_judge_is_no_fault(connect: Connect) -> None:
    async with connect("fault-one-letter") as model:
        choice = await model.choose(JUDGE, ("A", "B"))
    assert choice.probabilities[0] > 0.999
    assert 0 < choice.probabilities[1] < 1e-6


@pytest.mark.parametrize(("fault", "finish"), [("null-content", "stop"), ("filter", "filter")])
async def test_null_content_is_an_empty_reply(connect: Connect, fault: str, finish: str) -> None:
    async with connect(f"fault-{fault}") as model:
        (reply,) = await model.sample(DEBATE, draws=[Draw()], sampling=SAMPLING)
    assert (reply.text, reply.finish) == ("", finish)


async def test_unreported_usage_is_estimated(connect: Connect) -> None:
    async with connect("fault-no-usage") as model:
        (reply,) = await model.sample(DEBATE, draws=[Draw()], sampling=SAMPLING)
        assert reply.usage == Usage(model.count_tokens(DEBATE), math.ceil(len(reply.text) / 3))


async def test_a_hanging_server_times_out(connect: Connect) -> None:
    async with connect("fault-hang", timeout_s=0.3, max_retries=0) as model:
        with pytest.raises(ModelError, match=r"no answer within 0\.3 s"):
            await model.sample(DEBATE, draws=[Draw()], sampling=SAMPLING)


async def test_an_unreachable_server_is_named(connect: Connect) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        base_url = f"http://name:word@127.0.0.1:{taken.getsockname()[1]}/v1"
        async with connect("any", base_url=base_url, max_retries=1) as model:
            with pytest.raises(ModelAccessError, match=r"cannot connect, after 1 retries.*OPENAI_BASE_URL") as caught:
                await model.sample(DEBATE, draws=[Draw()], sampling=SAMPLING)
    assert "name:word" not in str(caught.value)


async def test_a_silent_host_is_named(connect: Connect) -> None:
    with contextlib.ExitStack() as open_sockets:
        host = open_sockets.enter_context(socket.socket())
        host.bind(("127.0.0.1", 0))
        host.listen(0)  # it accepts nothing: once its queue is full, connections get no answer at all
        for _ in range(8):
            waiting = open_sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(host.getsockname())
        base_url = f"http://127.0.0.1:{host.getsockname()[1]}/v1"
        async with connect("any", base_url=base_url, timeout_s=0.3, max_retries=0) as model:
            with pytest.raises(ModelAccessError, match="cannot connect, after 0 retries"):
                await model.sample(DEBATE, draws=[Draw()], sampling=SAMPLING)


@pytest.mark.parametrize("api_key", [None, ""])
def test_openai_needs_a_key(api_key: str | None) -> None:
    with pytest.raises(ModelAccessError, match=r"model openai/gpt-4o: .* needs an API key; set OPENAI_API_KEY"):
        RemoteModel("openai/gpt-4o", model="gpt-4o", base_url=None, api_key=api_key, capabilities=Capabilities())


async def test_the_key_is_nowhere_in_errors_or_logs(connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    told = []
    for model_name, api_key in (
        ("fault-400", "sk-very-secret"),
        ("fault-401", "sk-very-secret"),
        ("plain", "sk-wrong"),
    ):
        async with connect(model_name, api_key=api_key) as model:
            with pytest.raises(DissoiError) as caught:
                await model.sample([Message("user", "ask once more")], draws=[Draw()], sampling=SAMPLING)
            told.append("".join(traceback.format_exception(caught.value)))
    async with connect("fault-429-twice") as model:
        await model.sample([Message("user", "ask once more")], draws=[Draw()], sampling=SAMPLING)
    for key in ("sk-very-secret", "sk-wrong"):
        assert key not in caplog.text + "".join(told)


async def test_a_prompt_over_the_context_is_refused_before_the_call(connect: Connect, chat_server: ChatServer) -> None:
    async with connect("small", Capabilities(context=250)) as model:
        prompt = model.count_tokens(DEBATE)
        with pytest.raises(ContextError, match=rf"about {prompt} tokens \(estimated\).* 200 exceed its context of 250"):
            await model.sample(DEBATE, draws=[Draw()], sampling=SAMPLING)
        assert chat_server.calls("small") == 0
        assert await model.choose(JUDGE, ("A", "B"))


async def test_requests_run_at_once_up_to_the_bound(connect: Connect) -> None:
    with running_chat_server(latency_s=0.05) as server:
        async with connect("many", base_url=server.base_url, concurrency=7) as model:
            draws = [Draw(sample=index) for index in range(21)]
            await asyncio.gather(*(model.sample(DEBATE, draws=[draw], sampling=SAMPLING) for draw in draws))
        assert server.report()["most_running"] == 7


async def test_logged_remote_calls_are_replayed_without_the_server(connect: Connect, tmp_path: Path) -> None:
    store, sessions = Store(tmp_path / "run.sqlite"), []
    with running_chat_server() as server:
        async with connect("logged", base_url=server.base_url) as remote:
            model = LoggedModel(remote, store, Meter(Budget(), {}))
            sessions.append(await model.sample(DEBATE, draws=Draw().take(3), sampling=SAMPLING))
    async with connect("logged", base_url=server.base_url) as remote:  # it is down by now
        meter = Meter(Budget(max_calls=0), {})
        sessions.append(await LoggedModel(remote, store, meter).sample(DEBATE, draws=Draw().take(3), sampling=SAMPLING))
    assert sessions[0] == sessions[1]
    assert meter.total().replayed == 3
    store.close()


def test_choice_probabilities() -> None:
    tokens = [TokenProbability("A", 0.5), TokenProbability("\u2581A", 0.1), TokenProbability(" B", 0.2)]
    tokens += [TokenProbability("a", 0.1), TokenProbability("A.", 0.1)]
    probabilities, mass = choice_probabilities(tokens, ("A", "B"))
    assert probabilities == pytest.approx((0.75, 0.25))
    assert mass == pytest.approx(0.8)
    # B may be as likely as 0.4, so the list says nothing of which is likelier; nor does one without letters.
    assert choice_probabilities([TokenProbability("A", 0.6)], ("A", "B")) == ((0.5, 0.5), 0)
    assert choice_probabilities([TokenProbability("The", 0.9)], ("A", "B", "C", "D")) == ((0.25,) * 4, 0)
    # None of these is told: the other letter may have what a float32 sum near 1 hides, or what other tokens have.
    for rest in ((), (TokenProbability("B", 0.0),), (TokenProbability("The", 0.0), TokenProbability("B", 0.0))):
        (likely, unlikely), mass = choice_probabilities([TokenProbability("A", 1.0), *rest], ("A", "B"))
        assert (likely, unlikely, mass) == pytest.approx((1 - 2**-24, 2**-24, 1), rel=1e-9)
    others = [TokenProbability(f"word{index}", 5.3e-8) for index in range(19)]
    assert choice_probabilities([TokenProbability("A", 0.999999), *others], ("A", "B"))[0][1] == pytest.approx(5.3e-8)
    # A sum of 1.002 is rounded by 0.002 or more, so B may have as much as the least likely token shown.
    rounded = [TokenProbability("A", 0.999), TokenProbability("a", 0.003)]
    assert choice_probabilities(rounded, ("A", "B"))[0][1] == pytest.approx(0.002 / 1.001, rel=1e-6)
    assert choice_probabilities([TokenProbability("A", 0.0)] * 2, ("A", "B")) == ((0.5, 0.5), 0)
    for broken in ([], [TokenProbability("A", math.nan)]):
        with pytest.raises(ValueError, match="no distribution"):
            choice_probabilities(broken, ("A", "B"))


@pytest.mark.parametrize(
    ("model", "reasoning", "logprobs"),
    [
        ("gpt-4o-mini", False, True),
        ("gpt-4.1", False, True),
        ("ft:gpt-3.5-turbo:org::x", False, True),
        ("openai/o3-mini", True, False),
        ("o1", True, False),
        ("o4-mini-2025-04-16", True, False),
        ("gpt-5.2-mini", True, False),
        ("llama-3-8b", False, True),
        ("olmo-7b", False, True),
    ],
)
def test_known_capabilities(model: str, reasoning: bool, logprobs: bool) -> None:  # noqa: FBT001 - parametrized
    known = known_capabilities(model)
    assert (known.reasoning, known.temperature, known.logprobs) == (reasoning, not reasoning, logprobs)


async def test_a_reply_that_was_sent_twice_is_not_taken_for_the_next_ones(
    connect: Connect, chat_server: ChatServer
) -> None:
    prompts = [[Message("user", f"prompt {number} of many")] for number in range(6)]
    async with connect("plain") as plain, connect("fault-twice") as model:
        for prompt in prompts:  # one after the other, so that each could find the other's second copy
            (right,) = await plain.sample(prompt, draws=[Draw()], sampling=SAMPLING)
            (reply,) = await model.sample(prompt, draws=[Draw()], sampling=SAMPLING)
            assert reply.text == right.text
    assert chat_server.calls("fault-twice") >= len(prompts)


async def test_a_choice_that_is_given_twice_is_one_sample(connect: Connect) -> None:
    async with connect("plain") as plain, connect("fault-twin") as model:
        replies = [await one.sample(DEBATE, draws=Draw().take(3), sampling=SAMPLING) for one in (plain, model)]
    assert [reply.text for reply in replies[0]] == [reply.text for reply in replies[1]]
    assert len({reply.text for reply in replies[1]}) == 3


GOOD = {
    "id": "x",
    "choices": [{"message": {"content": "A"}, "logprobs": {"content": [{"token": "A", "logprob": -0.1}]}}],
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"choices": [None]},
        {"choices": [{"message": {"content": ["A"]}}]},
        {"choices": 3},
        {"choices": [{"message": {"content": "A"}, "logprobs": {"content": [None]}}]},
        {"choices": [{"message": {"content": "A"}, "logprobs": {"content": [{"token": "A", "logprob": None}]}}]},
        {"choices": [{"message": {"content": "A"}, "logprobs": {"content": [{"token": "A", "logprob": 9999}]}}]},
        {"usage": {"prompt_tokens": "many", "completion_tokens": 1}},
        {"usage": "much"},
    ],
)
def test_a_reply_of_other_types_is_no_chat_completion(wrong: dict[str, object]) -> None:
    from openai._models import construct_type
    from openai.types.chat import ChatCompletion

    assert is_well_formed(cast("ChatCompletion", construct_type(type_=ChatCompletion, value=GOOD)))
    assert is_well_formed(cast("ChatCompletion", construct_type(type_=ChatCompletion, value=GOOD | {"choices": None})))
    reply = cast("ChatCompletion", construct_type(type_=ChatCompletion, value=GOOD | wrong))
    assert not is_well_formed(reply)
    site = Site("m", "http://localhost:1/v1", api_key="", key_variable="K", timeout_s=1, max_retries=0)
    assert not site._is_stray(reply, [{"content": "q"}])


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        # xAI's own example: reasoning comes on top of the reply's tokens.
        (
            {
                "prompt_tokens": 32,
                "completion_tokens": 9,
                "total_tokens": 135,
                "completion_tokens_details": {"reasoning_tokens": 94},
            },
            Usage(32, 103, reasoning=94),
        ),
        # Gemini behind a proxy that counts the visible reply alone.
        (
            {
                "prompt_tokens": 21,
                "completion_tokens": 0,
                "total_tokens": 81,
                "completion_tokens_details": {"reasoning_tokens": 60},
            },
            Usage(21, 60, reasoning=60),
        ),
        # OpenAI: reasoning is part of the reply's tokens.
        (
            {
                "prompt_tokens": 40,
                "completion_tokens": 90,
                "total_tokens": 130,
                "prompt_tokens_details": {"cached_tokens": 16},
                "completion_tokens_details": {"reasoning_tokens": 64},
            },
            Usage(40, 90, cached=16, reasoning=64),
        ),
        # A prompt's tokens without those that came from a cache.
        (
            {"prompt_tokens": 4, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 16}},
            Usage(16, 2, 16),
        ),
        ({"prompt_tokens": 4, "completion_tokens": 2}, Usage(4, 2)),
        (None, None),
    ],
)
def test_hidden_reasoning_counts_wherever_a_server_counts_it(
    reported: dict[str, object] | None, usage: Usage | None
) -> None:
    from openai._models import construct_type
    from openai.types.chat import ChatCompletion

    reply = cast("ChatCompletion", construct_type(type_=ChatCompletion, value=GOOD | {"usage": reported}))
    assert is_well_formed(reply)
    assert usage_of(reply) == usage
