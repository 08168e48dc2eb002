"""Models by name: what one server's models share, how a run lets go of them, and what a plan needs of them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pydantic import ValidationError

from debate.agents.judge import JudgeConfig, build_judge
from debate.config import digest, results_tree
from debate.errors import ConfigError, ModelError
from debate.models.base import Draw, Message, Sampling
from debate.models.limits import Budget, Meter
from debate.models.load import ModelConfig, Models, TokenCounter, addresses, capabilities_of, check_access, open_model
from debate.models.remote import RemoteModel
from debate.prompts import Prompts
from debate.store import Store
from tests.servers import ChatServer, running_chat_server

PROMPT = [Message("user", "Say something.")]
SAMPLING = Sampling(max_tokens=50)
SCRIPTED = ModelConfig(name="scripted/debate.models.scripted:ScriptedModel")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """A server that takes a while, and the environment that names it."""
    with running_chat_server(latency_s=0.2) as running:
        monkeypatch.setenv("OPENAI_API_KEY", running.api_key)
        monkeypatch.setenv("OPENAI_BASE_URL", running.base_url)
        yield running


def unlogged() -> Models:
    return Models(None, Meter(Budget(), {}))


async def first_request(server: ChatServer) -> None:
    """Wait until the server, another process, has got one."""
    while not server.report()["calls"]:  # noqa: ASYNC110 - no event crosses processes
        await asyncio.sleep(0.01)


async def test_models_of_one_server_share_its_slots(server: ChatServer) -> None:
    models = unlogged()
    opened = [
        models.get(ModelConfig(name="openai/one", concurrency=5)),
        models.get(ModelConfig(name="openai/two", concurrency=2, base_url=f"{server.base_url}/")),
    ]
    await asyncio.gather(
        *(model.sample(PROMPT, draws=Draw(stream=str(i)).take(1), sampling=SAMPLING) for model in opened for i in "123")
    )
    await models.close()
    assert server.report()["calls"] == 6
    assert server.report()["most_running"] == 2


async def test_configurations_that_decide_the_same_replies_share_a_model(server: ChatServer) -> None:
    models = unlogged()
    plain = ModelConfig(name="openai/one", timeout_s=0.05, max_retries=0)
    first = models.get(plain)
    same: list[dict[str, object]] = [
        {"timeout_s": 50},
        {"max_retries": 2},
        {"concurrency": 3},
        {"reasoning_tokens": 5},  # it does not reason
        {"base_url": f"{server.base_url}/"},
        {"dtype": "bfloat16", "device": "cuda", "reproducible": True},  # it does not run here
        {"capabilities": {"logprobs": True}},  # as is known
    ]
    for change in same:
        assert models.get(ModelConfig.model_validate({**plain.model_dump(), **change})) is first
    assert models.grace_s == 50
    # The first user's patience would end before the server answers.
    choices = await asyncio.gather(*(models.get(plain).choose(PROMPT, ("A", "B")) for _ in range(2)))
    assert choices[0] == choices[1]
    assert server.calls("one") == 1
    others = [
        models.get(ModelConfig.model_validate({"name": "openai/one", **change}))
        for change in (
            {"capabilities": {"logprobs": False}},
            {"capabilities": {"context": 100}},
            {"capabilities": {"reasoning": True}},
            {"capabilities": {"reasoning": True}, "reasoning_tokens": 5},
        )
    ]
    assert len({id(model) for model in (first, *others)}) == 5
    await models.close()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"base_url": "http://u:secret@a/v1"}, {"base_url": "http://b/v1"}),
        ({"base_url": "http://a/v1"}, {}),  # the environment's
        ({"base_url": ["http://a/v1", "http://b/v1"]}, {"base_url": "http://a/v1"}),
        ({"base_url": "http://a/v1", "adapter": "x"}, {"base_url": "http://b/v1", "adapter": "x"}),
        # What differs beside the address may be nothing that a call's key knows.
        ({"base_url": "http://a/v1"}, {"base_url": "http://b/v1", "capabilities": {"context": 100}}),
    ],
)
def test_two_servers_models_of_one_name_are_refused(
    server: ChatServer, one: dict[str, object], other: dict[str, object]
) -> None:
    assert server
    first, second = (ModelConfig.model_validate({"name": "openai/m", **changes}) for changes in (one, other))
    models = unlogged()
    models.get(first)
    with pytest.raises(
        ConfigError, match=r"would both be called 'openai/m.*such as other/m: only what follows"
    ) as named:
        models.get(second)
    assert "secret" not in str(named.value)
    # Another word before the slash tells them apart, also in what calls are known by.
    told = models.get(second.model_copy(update={"name": "other/m"}))
    assert told.name != first.label


async def test_the_same_servers_in_any_order_are_one_model(server: ChatServer) -> None:
    models = unlogged()
    given: list[object] = [["http://a/v1", server.base_url], [f"{server.base_url}/", "http://a/v1/"]]
    opened = [models.get(ModelConfig.model_validate({"name": "openai/m", "base_url": urls})) for urls in given]
    assert opened[0] is opened[1]
    await models.close()


async def test_what_follows_the_slash_is_sent(server: ChatServer) -> None:
    models = unlogged()
    for name in ("openai/m", "other/m"):
        await models.get(ModelConfig(name=name)).sample(PROMPT, draws=[Draw()], sampling=SAMPLING)
    await models.close()
    assert server.calls("m") == 2


def test_calls_in_flight_get_as_long_as_a_reply_may_take(server: ChatServer) -> None:
    models = unlogged()
    models.get(SCRIPTED)
    assert models.grace_s == 10
    models.get(ModelConfig(name="openai/one", timeout_s=3))
    assert models.grace_s == 10
    models.get(ModelConfig(name="openai/two", timeout_s=300, base_url=server.base_url))
    models.get(ModelConfig(name="openai/three"))
    assert models.grace_s == 300


async def test_closing_keeps_what_is_in_flight_and_sends_nothing_more(server: ChatServer, tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    models = Models(store, Meter(Budget(), {}))
    model = models.get(ModelConfig(name="openai/one", concurrency=1))
    sent, waiting = (
        asyncio.create_task(model.sample(PROMPT, draws=[Draw(sample=i)], sampling=SAMPLING)) for i in (0, 1)
    )
    await first_request(server)
    await models.close()
    assert len(await sent) == 1
    with pytest.raises(ModelError, match="closed before this call; resume"):
        await waiting
    assert server.report()["calls"] == store.usage()["openai/one"].calls == 1
    store.close()


async def test_an_interrupted_close_ends_at_once(server: ChatServer) -> None:
    models = unlogged()
    model = models.get(ModelConfig(name="openai/fault-hang", max_retries=0))
    call = asyncio.create_task(model.sample(PROMPT, draws=[Draw()], sampling=SAMPLING))
    await first_request(server)
    closing = asyncio.create_task(models.close())
    await asyncio.sleep(0.01)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    with pytest.raises(ModelError, match="closed while a call was in flight"):
        await call


async def test_the_room_for_reasoning_is_configured(server: ChatServer) -> None:
    digests = set()
    for config, room in (
        (ModelConfig(name="openai/o3"), 8192),
        (ModelConfig(name="openai/o3", reasoning_tokens=1000), 1000),
    ):
        model = open_model(config)
        await model.sample(PROMPT, draws=[Draw()], sampling=SAMPLING)
        await model.close()
        assert server.report()["last"]["o3"]["max_completion_tokens"] == 50 + room
        digests.add(digest(results_tree(config)))
    assert len(digests) == 2


@pytest.mark.parametrize("declared", [{}, {"temperature": True}, {"temperature": False, "logprobs": False}])
async def test_a_model_that_is_declared_to_reason_is_asked_as_such(
    server: ChatServer, declared: dict[str, bool]
) -> None:
    config = ModelConfig.model_validate({"name": "openai/own", "capabilities": {"reasoning": True, **declared}})
    temperature = declared.get("temperature", False)
    able = capabilities_of(config)
    assert (able.reasoning, able.logprobs, able.temperature) == (True, False, temperature)
    model = open_model(config)
    await model.sample(PROMPT, draws=[Draw()], sampling=Sampling(50, 0.3, 0.9))
    judge = build_judge(JudgeConfig(model=config), model, Prompts())
    assert judge.name == "openai/own (letter) by vote of 5"
    await model.close()
    sent = server.report()["last"]["own"]
    assert sent["max_completion_tokens"] == 50 + 8192
    assert {key: sent[key] for key in ("temperature", "top_p") if key in sent} == (
        {"temperature": 0.3, "top_p": 0.9} if temperature else {}
    )


@pytest.mark.parametrize(
    ("name", "capabilities", "words"),
    [
        ("openai/own", {"reasoning": True, "logprobs": True}, "leave logprobs out"),
        ("openai/o3", {"logprobs": True}, "leave logprobs out"),
        ("openai/o3", {"temperature": True}, "leave temperature out"),
    ],
)
def test_declarations_that_contradict_each_other_are_refused(
    name: str, capabilities: dict[str, bool], words: str
) -> None:
    with pytest.raises(ValidationError, match=f"{name}.*spends hidden reasoning tokens.*{words}"):
        ModelConfig.model_validate({"name": name, "capabilities": capabilities})
    ModelConfig.model_validate({"name": name, "capabilities": capabilities | {"reasoning": False}})


@pytest.mark.parametrize("device", ["tpu9", "meta", "cuda:99"])
def test_a_device_that_is_not_there_is_named(device: str) -> None:
    config = ModelConfig(name="hf/no/such-model", device=device)
    for ask in (check_access, open_model):
        with pytest.raises(ConfigError, match=rf"hf/no/such-model: device '{device}' .*usable are auto, cpu"):
            ask(config)


def test_a_plan_counts_a_remote_prompt_as_the_model_does(server: ChatServer) -> None:
    config = ModelConfig(name="openai/one")
    model = open_model(config)
    assert isinstance(model, RemoteModel)
    prompt = [Message("system", "12345"), Message("user", "123")]
    # A token for every three characters, rounded up, and four a message.
    assert TokenCounter(config)(prompt) == model.count_tokens(prompt) == (2 + 4) + (1 + 4)
    assert server.report()["calls"] == 0


def save_tiny(folder: Path) -> None:
    """Save a model of eight tokens, A and B among them, whose first token is never one of these."""
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = ["<unk>", "<end>", "user", "A", "B", "C", "fog", "sea"]
    plain = Tokenizer(WordLevel({word: index for index, word in enumerate(words)}, unk_token=words[0]))
    plain.pre_tokenizer = Whitespace()
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]  # the library's
        tokenizer_object=plain, unk_token=words[0], eos_token=words[1]
    )
    tokenizer.chat_template = "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} {% endfor %}"
    tokenizer.save_pretrained(str(folder))
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        eos_token_id=1,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        # Every position's state is a vector of ones, so the logits are the row sums: 0, and -1600 for A and B.
        model.model.embed_tokens.weight.fill_(1)
        model.model.norm.weight.fill_(1)
        model.lm_head.weight[3:5] = -100
    model.save_pretrained(str(folder))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    save_tiny(folder)
    return folder


async def test_a_local_model_without_probability_for_the_letters_says_so(tiny: Path) -> None:
    model = open_model(ModelConfig(name=f"hf/{tiny}", dtype="float32", device="cpu"))
    none = await model.choose([Message("user", "fog")], ("A", "B"))
    some = await model.choose([Message("user", "fog")], ("A", "C"))
    await model.close()
    assert (none.probabilities, none.mass) == ((0.5, 0.5), 0.0)
    assert some.probabilities == (0.0, 1.0)
    assert some.mass == pytest.approx(1 / 6)


def test_a_plan_downloads_no_weights(tiny: Path, tmp_path: Path) -> None:
    asked: list[str] = []
    commit = "0" * 40

    class Hub(BaseHTTPRequestHandler):
        """As much of a model hub as a download takes."""

        def do_GET(self) -> None:
            found, name = tiny / Path(self.path).name, Path(self.path).name
            if "/tree/" in self.path:
                tree = [
                    {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": file.name}
                    for file in tiny.iterdir()
                ]
                body = json.dumps(tree).encode()
            elif self.path.startswith("/api/"):
                files = [{"rfilename": file.name} for file in tiny.iterdir()]
                body = json.dumps({"id": "some/model", "sha": commit, "siblings": files}).encode()
            elif found.is_file():
                body = found.read_bytes()
                asked.append(name)
            else:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.send_header("etag", f'"{name}"')
            self.send_header("x-repo-commit", commit)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 - the handler's names

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    hub = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=hub.serve_forever, daemon=True).start()
    script = (
        "from debate.models.base import Message\n"
        "from debate.models.load import ModelConfig, TokenCounter\n"
        "counter = TokenCounter(ModelConfig(name='hf/some/model'))\n"
        "print(counter([Message('user', 'fog A B')]), counter.context)\n"
    )
    environment = {**os.environ, "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}", "HF_HOME": str(tmp_path)}
    environment = {name: value for name, value in environment.items() if name not in {"HF_HUB_OFFLINE", "HF_HUB_CACHE"}}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False, timeout=200
    )
    hub.shutdown()
    hub.server_close()
    assert done.returncode == 0, done.stderr
    assert done.stdout == "4 64\n"  # user fog A B
    assert {"config.json", "tokenizer.json"} <= set(asked)
    assert not [name for name in asked if name.endswith(".safetensors")]


@pytest.mark.parametrize(
    ("given", "environment", "found"),
    [
        (None, "", ["https://api.openai.com/v1"]),
        (None, "http://a/v1/, http://b/v1,", ["http://a/v1", "http://b/v1"]),
        ("http://c/v1", "http://a/v1", ["http://c/v1"]),
        (["http://c/v1", "http://d/v1/", "http://c/v1/"], "http://a/v1", ["http://c/v1", "http://d/v1"]),
    ],
)
def test_a_model_may_have_several_servers(
    monkeypatch: pytest.MonkeyPatch, given: object, environment: str, found: list[str]
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", environment)
    assert addresses(ModelConfig.model_validate({"name": "openai/one", "base_url": given})) == found


async def test_models_share_the_servers_that_they_have_in_common(server: ChatServer) -> None:
    with running_chat_server(latency_s=0.2) as other:
        models = unlogged()
        opened = [
            models.get(ModelConfig(name="openai/one", concurrency=2, base_url=(server.base_url, other.base_url))),
            models.get(ModelConfig(name="openai/two", concurrency=2)),
        ]
        samples = [Draw(stream=str(index)).take(1) for index in range(6)]
        await asyncio.gather(
            *(model.sample(PROMPT, draws=draws, sampling=SAMPLING) for model in opened for draws in samples)
        )
        await models.close()
        assert server.report()["most_running"] == other.report()["most_running"] == 2
        assert server.calls("two") == 6
        assert server.calls("one") + other.calls("one") == 6
        assert other.calls("one") >= 2  # one of the servers is busy with two, so one goes to the other
