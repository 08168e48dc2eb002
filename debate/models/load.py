"""Models by name: what a configuration says of a model, and the models that a run has open."""

from __future__ import annotations

import asyncio
import functools
import importlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self

import pydantic
from pydantic import Field

from debate.config import NOT_IN_DIGEST, Config
from debate.errors import ConfigError
from debate.models.adapter_folder import adapter_folder, adapter_label
from debate.models.base import Capabilities, Message, Messages, Model, estimate_tokens
from debate.models.calls import LoggedModel
from debate.models.endpoints import Endpoint
from debate.models.limits import Meter
from debate.models.remote import OPENAI_URL, REASONING_TOKENS, RemoteModel, known_capabilities
from debate.models.served import served_adapter
from debate.models.site import shown_address
from debate.store import Store

if TYPE_CHECKING:
    from debate.models.local import LocalBase

# How long a call in flight may take to end when a run stops; a server's model may take as long as its timeout.
GRACE_S = 10.0


class CapabilitiesConfig(Config):
    """What a server's model can do, where it differs from what is known of it."""

    logprobs: bool | None = Field(None, description="gives token probabilities")
    n: bool | None = Field(None, description="several samples in one request")
    system_role: bool | None = Field(None, description="takes a system message")
    temperature: bool | None = Field(None, description="takes temperature and top_p")
    reasoning: bool | None = Field(
        None,
        description="spends hidden reasoning tokens: gives no logprobs, and takes a temperature only if that is "
        "declared too",
    )
    structured: bool | None = Field(
        None,
        description="takes vLLM's structured_outputs: letters that are not among the likeliest tokens, or have no "
        "logprobs, are counted in replies that are held to the letters",
    )
    json_schema: bool | None = Field(
        None, description="takes a JSON schema for its reply (response_format), as OpenAI's and vLLM's servers do"
    )
    lora: bool | None = Field(None, description="its server loads LoRA adapters at run time, by their folder")
    context: int | None = Field(None, ge=1, description="longest prompt plus reply, in tokens")


class ModelConfig(Config):
    """A model; ``model: NAME`` is short for ``model: {name: NAME}``."""

    name: str = Field(
        description="openai/NAME (or any server's name with base_url), hf/FOLDER-OR-ID, embedded/smollm2-135m, "
        "scripted/MODULE:FUNCTION"
    )
    adapter: str | None = Field(
        None,
        min_length=1,
        description="a LoRA adapter on top of the model: its folder, shipped:NAME or hf/OWNER/NAME; behind a server: "
        "the name that the server gives it, or, with capabilities.lora, its folder on the server",
    )
    base_url: str | tuple[str, ...] | None = Field(
        None,
        description="an OpenAI-compatible server, or a list of servers of the same model, among which requests are "
        "balanced; default OPENAI_BASE_URL, with commas between several",
        json_schema_extra=NOT_IN_DIGEST,
    )
    concurrency: int = Field(
        32,
        ge=1,
        description="most requests in flight at each server; of several models of one server the lowest holds for all",
        json_schema_extra=NOT_IN_DIGEST,
    )
    timeout_s: float = Field(120, gt=0, description="seconds to wait for a reply", json_schema_extra=NOT_IN_DIGEST)
    max_retries: int = Field(
        6,
        ge=0,
        description="tries of a request after the first, at any of the servers",
        json_schema_extra=NOT_IN_DIGEST,
    )
    capabilities: CapabilitiesConfig = Field(CapabilitiesConfig(), description="what it can do, where not known")
    reasoning_tokens: int = Field(
        REASONING_TOKENS, ge=0, description="room for a reasoning model's hidden tokens, beside its reply's max_tokens"
    )
    dtype: Literal["auto", "float32", "bfloat16"] = Field("auto", description="number type of a local model")
    device: str = Field("auto", description="device of a local model: auto, cpu, cuda, cuda:1")
    reproducible: bool = Field(
        default=False, description="a local model's replies do not depend on what else runs (float32)"
    )

    @pydantic.model_validator(mode="after")
    def _known(self) -> Self:
        kind = kind_of(self.name)
        if self.adapter is not None and kind == "scripted":
            raise ValueError(f"model {self.name!r} takes no adapter; leave adapter out")
        declared = [name for name, value in self.capabilities.model_dump().items() if value is not None]
        if kind != "remote" and declared:
            raise ValueError(
                f"model {self.name!r} knows what it can do; leave {', '.join(declared)} out of its capabilities, which "
                "are for models behind a server"
            )
        if kind == "remote":
            _check_capabilities(self)
        return self

    @property
    def label(self) -> str:
        """What calls, verdicts and reports name the model by: its name, then its adapter's folder's.

        Such as ``embedded/smollm2-135m+judge``. Only a part of the adapter's path is in it (see ``adapter_label``), so
        that results do not depend on where the folder lies; ``check_labels`` refuses two adapters of one label.
        """
        return self.name if self.adapter is None else f"{self.name}+{adapter_label(self.adapter)}"


def _from_name(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


#: A model by its name alone, or with more said of it.
ModelField = Annotated[ModelConfig, pydantic.BeforeValidator(_from_name)]

EMBEDDED = "embedded/smollm2-135m"


def kind_of(name: str) -> Literal["remote", "local", "embedded", "scripted"]:
    """Tell what runs a model, by its name.

    Raises:
        ConfigError: The name has no kind before its first slash, or names an embedded model that there is not.
    """
    kind, slash, rest = name.partition("/")
    if not slash or not rest:
        raise ConfigError(
            f"model {name!r}: write KIND/NAME, such as openai/gpt-4.1-mini, hf/Qwen/Qwen2.5-7B-Instruct or {EMBEDDED}"
        )
    if kind == "embedded":
        if name != EMBEDDED:
            raise ConfigError(f"model {name!r}: the embedded model is called {EMBEDDED}")
        return "embedded"
    return "local" if kind == "hf" else "scripted" if kind == "scripted" else "remote"


def open_model(config: ModelConfig, bases: dict[str, LocalBase] | None = None) -> Model:
    """Open a model: load its weights, or prepare the connection.

    Args:
        config: Which model.
        bases: Bases of local models that are open, by what decides them; a new one is put among them.

    Returns:
        The model, without a call log.

    Raises:
        ConfigError: The name is malformed, names a scripted model that cannot be imported, or an adapter that was
            trained on another model.
        ModelAccessError: Weights, key or server are missing.
    """
    kind = kind_of(config.name)
    if kind == "remote":
        return _open_remote(config, None)
    if kind == "scripted":
        return _open_scripted(config.name)
    return _open_local(config, {} if bases is None else bases)


def _open_local(config: ModelConfig, bases: dict[str, LocalBase]) -> Model:
    """Open a local model on its base, which is opened too where it is not among ``bases``."""
    from debate.models.adapter import is_reward
    from debate.models.local import LocalBase, LocalModel
    from debate.models.reward import LocalReward

    adapter = _find_adapter(config)
    key = json.dumps([config.name, _deciding(config) | {"adapter": None}], sort_keys=True)
    base = bases.get(key)
    if base is None:
        if kind_of(config.name) == "embedded":
            from debate.models.embedded import ensure_embedded

            path = str(ensure_embedded())
        else:
            path = config.name.removeprefix("hf/")
        base = LocalBase(
            path, name=config.name, dtype=config.dtype, device=config.device, reproducible=config.reproducible
        )
    try:
        if adapter is not None and is_reward(adapter):
            model: LocalModel = LocalReward(base, name=config.label, adapter=adapter)
        else:
            model = LocalModel(base, name=config.label, adapter=adapter)
    except Exception:
        if key not in bases:
            base.close()
        raise
    bases[key] = base
    return model


def _find_adapter(config: ModelConfig) -> Path | None:
    """Return the folder of the configured adapter, after holding that it is one and fits the model."""
    if config.adapter is None or kind_of(config.name) == "remote":
        return None
    from debate.models.adapter import find_adapter

    return find_adapter(config.adapter, config.name)


def check_access(config: ModelConfig) -> None:
    """Find out what would keep a model from being opened, as far as that takes no weights and no connection.

    Args:
        config: Which model.

    Raises:
        ConfigError: It names a scripted model that cannot be imported, a device that this machine does not have, or an
            adapter that was trained on another model.
        ModelAccessError: Its key or its adapter is missing.
    """
    _find_adapter(config)
    if kind_of(config.name) in {"remote", "scripted"}:
        open_model(config)
    elif config.device not in {"auto", "cpu"}:
        from debate.models.local import find_device

        find_device(config.device, config.name)


def check_labels(configs: Iterable[ModelConfig]) -> None:
    """Refuse models of one run that have one label and are not the same: a call to one would be answered by another.

    Calls know a model by its label, and not by where it runs, for a resumed run may go on at other servers.

    Args:
        configs: The models of a run.

    Raises:
        ConfigError: Models of one label have different adapters, or servers that are not the same ones in any order.
    """
    first: dict[str, ModelConfig] = {}
    for config in configs:
        label = config.label
        other = first.setdefault(label, config)
        if other.adapter != config.adapter:
            raise ConfigError(
                f"adapters {other.adapter!r} and {config.adapter!r} would both be called {label!r}; give their "
                "folders different names"
            )
        if kind_of(config.name) == "remote" and set(addresses(other)) != set(addresses(config)):
            here, there = (", ".join(map(shown_address, addresses(one))) for one in (other, config))
            raise ConfigError(
                f"the model at {here} and the one at {there} would both be called {label!r}, and the replies of one be "
                "taken for the other's; if they are the same model, give all of them the same base_url, a list of all "
                "servers; if not, write another word before the slash of one's name, such as "
                f"other/{config.name.partition('/')[2]}: only what follows the slash is sent to the server"
            )


def capabilities_of(config: ModelConfig) -> Capabilities:
    """Return what a model will be able to do once it is open, without loading any weights.

    Of a remote model that is what is known of it, then what the configuration declares. One that is declared to reason
    gives no log-probabilities, and takes no temperature unless that is declared too.
    """
    kind = kind_of(config.name)
    if kind == "scripted":
        return _open_scripted(config.name).capabilities
    if kind != "remote":
        able = Capabilities(score=True)
        return able.of_reward() if _has_reward_adapter(config) else able
    declared = {name: value for name, value in config.capabilities.model_dump().items() if value is not None}
    known = known_capabilities(config.name)
    implied = {"logprobs": False, "temperature": False} if declared.get("reasoning") else {}
    return replace(known, **(implied | declared))


def _has_reward_adapter(config: ModelConfig) -> bool:
    """Whether the adapter makes a reward model; one that is not there is told of where it is looked for."""
    from debate.models.adapter import CONFIG, is_reward

    folder = None if config.adapter is None else adapter_folder(config.adapter)
    return folder is not None and (folder / CONFIG).is_file() and is_reward(folder)


def _check_capabilities(config: ModelConfig) -> None:
    """Refuse declarations that cannot be true together.

    A server may well report log-probabilities of a model that reasons, but of the first token of its thinking, which is
    no answer letter. A temperature is refused by OpenAI's reasoning models only; others may take one.
    """
    able = capabilities_of(config)
    where = f"model {config.name!r} spends hidden reasoning tokens"
    if able.reasoning and able.logprobs:
        raise ValueError(
            f"{where}, so the probabilities of its first token are not those of its answer; leave logprobs out of its "
            "capabilities (a letter judge becomes a vote), or declare reasoning: false if it does not think"
        )
    if able.reasoning and able.temperature and known_capabilities(config.name).reasoning:
        raise ValueError(
            f"{where} and refuses a temperature; leave temperature out of its capabilities, or declare reasoning: "
            "false if it does not think"
        )


def addresses(config: ModelConfig) -> list[str]:
    """Return the servers of a remote model, each once: those configured, else the environment's, else OpenAI's."""
    given = config.base_url or os.environ.get("OPENAI_BASE_URL") or ""
    parts = given.split(",") if isinstance(given, str) else given
    found = [part.strip().rstrip("/") for part in parts]
    return list(dict.fromkeys(filter(None, found))) or [OPENAI_URL]


def _deciding(config: ModelConfig) -> dict[str, object]:
    """What decides a model's replies beside its name; not, say, how long they are waited for."""
    kind = kind_of(config.name)
    if kind == "scripted":
        return {}
    if kind == "remote":
        able = capabilities_of(config)
        room = {"reasoning_tokens": config.reasoning_tokens} if able.reasoning else {}
        return {"adapter": config.adapter, **asdict(able), **room}
    return {
        "adapter": config.adapter,
        "dtype": "float32" if config.reproducible and config.dtype == "auto" else config.dtype,
        "device": config.device,
        "reproducible": config.reproducible,
    }


def _differences(each: Sequence[Mapping[str, object]]) -> list[str]:
    """Write out what tells models of one name apart, such as " (dtype=float32)"."""
    names = dict.fromkeys(name for one in each for name in one)
    telling = [name for name in names if any(one.get(name) != each[0].get(name) for one in each)]
    shown = [", ".join(f"{name}={one[name]}" for name in telling if name in one) for one in each]
    return [f" ({text})" if text else "" for text in shown]


def _open_remote(config: ModelConfig, endpoints: Sequence[Endpoint] | None) -> RemoteModel:
    able = capabilities_of(config)
    adapter = None
    if config.adapter is not None:
        adapter = served_adapter(config.adapter, adapter_label(config.adapter), lora=able.lora)
    return RemoteModel(
        config.label,
        model=config.name.partition("/")[2],
        base_url=addresses(config),
        api_key=os.environ.get("OPENAI_API_KEY"),
        capabilities=able,
        adapter=adapter,
        concurrency=config.concurrency,
        endpoints=endpoints,
        timeout_s=config.timeout_s,
        max_retries=config.max_retries,
        reasoning_tokens=config.reasoning_tokens,
    )


def _open_scripted(name: str) -> Model:
    module, colon, function = name.removeprefix("scripted/").partition(":")
    wanted = f"model {name!r}: write scripted/MODULE:FUNCTION, a function that returns a model"
    if not colon:
        raise ConfigError(wanted)
    try:
        make: Callable[[], Model] = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{wanted}; {error}") from error
    return make()


class Models:
    """The models of a run, each opened once, with the run's call log and meter; those of one server share its slots.

    Local models that differ by adapter alone share one base: its weights are held once, its passes serve all of them.

    Configurations that differ in nothing that decides replies share one model, so that equal calls meet. It waits and
    retries as the most patient of them says.

    Args:
        store: Where calls are kept, or None.
        meter: Counts calls against the budget.

    Attributes:
        grace_s: Seconds that ``close`` waits at most: the longest timeout of the remote models that are open, and 10
            for others.
    """

    def __init__(self, store: Store | None, meter: Meter) -> None:
        self._store = store
        self._meter = meter
        self._open: dict[str, LoggedModel] = {}
        self._configs: dict[str, ModelConfig] = {}
        self._facts: dict[str, dict[str, str]] = {}
        self._remote: dict[str, RemoteModel] = {}
        self._endpoints: dict[str, Endpoint] = {}
        self._bases: dict[str, LocalBase] = {}
        self.grace_s = 0.0

    def get(self, config: ModelConfig) -> LoggedModel:
        """Return the model of a configuration, opened if it is not yet.

        Raises:
            ConfigError: Its label is that of another model, see ``check_labels``; or see ``open_model``.
            ModelAccessError: See ``open_model``.
        """
        check_labels([*self._configs.values(), config])
        remote = kind_of(config.name) == "remote"
        key = json.dumps([config.name, _deciding(config)], sort_keys=True)
        if key not in self._open:
            model = self._get_remote(config, key) if remote else open_model(config, self._bases)
            self._open[key] = LoggedModel(model, self._store, self._meter)
            self._configs[key] = config
            self._facts[key] = {"digest": model.digest, **getattr(model, "facts", {})}
        if remote:
            for address in addresses(config):
                self._endpoints[address].lower(config.concurrency)
            self._remote[key].be_patient(config.timeout_s, config.max_retries)
        self.grace_s = max(self.grace_s, config.timeout_s if remote else GRACE_S)
        return self._open[key]

    def _get_remote(self, config: ModelConfig, key: str) -> Model:
        endpoints = [
            self._endpoints.setdefault(address, Endpoint(address, config.concurrency)) for address in addresses(config)
        ]
        self._remote[key] = _open_remote(config, endpoints)
        return self._remote[key]

    @property
    def facts(self) -> Mapping[str, Mapping[str, str]]:
        """What each open model is, by name: its digest; of a local one also weights, adapter, device and number type.

        Where several have one name, what differs in their configurations stands behind it, and ``model`` is the name.
        """
        same: dict[str, list[str]] = {}
        for key, config in self._configs.items():
            same.setdefault(config.label, []).append(key)
        found: dict[str, Mapping[str, str]] = {}
        for label, keys in same.items():
            for key, suffix in zip(keys, _differences([_deciding(self._configs[key]) for key in keys]), strict=True):
                name = {"model": label} if suffix else {}
                found[f"{label}{suffix}"] = {**name, **self._facts[key]}
        return found

    @property
    def digests(self) -> Mapping[str, str]:
        """What decides each open model's replies beside its name, by name as in ``facts``."""
        return {name: facts["digest"] for name, facts in self.facts.items()}

    async def close(self) -> None:
        """Close every model, after waiting up to ``grace_s`` for calls in flight: they are paid for, so they are kept.

        Requests that no server has been sent yet are not sent. Cancelled while it waits (a second Ctrl-C), it cancels
        the calls in flight and closes the models at once.
        """
        for remote in self._remote.values():
            remote.stop()
        waiting = [asyncio.ensure_future(model.drain()) for model in self._open.values()]
        try:
            if waiting:
                await asyncio.wait(waiting, timeout=self.grace_s)
        finally:
            for model in self._open.values():
                await model.close()


class TokenCounter:
    """Counts a model's prompt tokens for the plan, without loading its weights.

    A remote model's count is an estimate, see ``estimate_tokens``.

    Attributes:
        context: Longest prompt plus reply, in tokens, or None where it is not known.
    """

    def __init__(self, config: ModelConfig) -> None:
        self.context: int | None = None
        self._count: Callable[[Messages], int] = estimate_tokens
        kind = kind_of(config.name)
        if kind == "remote":
            self.context = capabilities_of(config).context
        elif kind == "scripted":
            model = _open_scripted(config.name)
            self.context, self._count = model.capabilities.context, model.count_tokens
        else:
            self._read_tokenizer(config, embedded=kind == "embedded")

    def __call__(self, messages: Messages) -> int:
        """Count."""
        return self._count(messages)

    def _read_tokenizer(self, config: ModelConfig, *, embedded: bool) -> None:
        from debate.models.embedded import ensure_embedded
        from debate.models.local import find_folder

        folder = ensure_embedded() if embedded else find_folder(config.name.removeprefix("hf/"), weights=False)
        _find_adapter(config)
        self._count, self.context = _tokenizer(folder, folder.stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _tokenizer(folder: Path, _changed: int) -> tuple[Callable[[Messages], int], int | None]:
    """Read a model's tokenizer and its longest context, once for all who count on it; returns how it counts."""
    from transformers import AutoConfig

    from debate.models.texts import Texts

    texts = Texts(folder)

    @functools.lru_cache(maxsize=2048)  # plans of several players and stages count the same stories
    def count(messages: tuple[Message, ...]) -> int:
        return len(texts.prompt(messages))

    context = getattr(AutoConfig.from_pretrained(str(folder)), "max_position_embeddings", None)
    return lambda messages: count(tuple(messages)), context
