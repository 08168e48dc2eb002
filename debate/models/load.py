"""Models by name: what a configuration says of a model, and the models that a run has open."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Callable, Mapping
from typing import Annotated, Literal, Self

import pydantic
from pydantic import Field

from debate.config import NOT_IN_DIGEST, Config
from debate.errors import ConfigError
from debate.models.base import Capabilities, Messages, Model
from debate.models.calls import LoggedModel
from debate.models.limits import Meter
from debate.store import Store


class CapabilitiesConfig(Config):
    """What a server's model can do, where it differs from what is known of it."""

    logprobs: bool | None = Field(None, description="gives token probabilities")
    n: bool | None = Field(None, description="several samples in one request")
    system_role: bool | None = Field(None, description="takes a system message")
    temperature: bool | None = Field(None, description="takes temperature and top_p")
    reasoning: bool | None = Field(None, description="spends hidden reasoning tokens")
    context: int | None = Field(None, ge=1, description="longest prompt plus reply, in tokens")


class ModelConfig(Config):
    """A model; ``model: NAME`` is short for ``model: {name: NAME}``."""

    name: str = Field(
        description="openai/NAME (or any server's name with base_url), hf/FOLDER-OR-ID, embedded/smollm2-135m, "
        "scripted/MODULE:FUNCTION"
    )
    base_url: str | None = Field(
        None, description="an OpenAI-compatible server; default OPENAI_BASE_URL", json_schema_extra=NOT_IN_DIGEST
    )
    concurrency: int = Field(32, ge=1, description="requests in flight at a server", json_schema_extra=NOT_IN_DIGEST)
    timeout_s: float = Field(120, gt=0, description="seconds to wait for a reply", json_schema_extra=NOT_IN_DIGEST)
    max_retries: int = Field(6, ge=0, description="the SDK's retries of a request", json_schema_extra=NOT_IN_DIGEST)
    capabilities: CapabilitiesConfig = Field(CapabilitiesConfig(), description="what it can do, where not known")
    dtype: Literal["auto", "float32", "bfloat16"] = Field("auto", description="number type of a local model")
    device: str = Field("auto", description="device of a local model: auto, cpu, cuda, cuda:1")
    reproducible: bool = Field(
        default=False, description="a local model's replies do not depend on what else runs (float32)"
    )

    @pydantic.model_validator(mode="after")
    def _known(self) -> Self:
        declared = [name for name, value in self.capabilities.model_dump().items() if value is not None]
        if kind_of(self.name) != "remote" and declared:
            raise ValueError(
                f"model {self.name!r} knows what it can do; leave {', '.join(declared)} out of its capabilities, which "
                "are for models behind a server"
            )
        return self


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


def open_model(config: ModelConfig) -> Model:
    """Open a model: load its weights, or prepare the connection.

    Args:
        config: Which model.

    Returns:
        The model, without a call log.

    Raises:
        ConfigError: The name is malformed, or names a scripted model that cannot be imported.
        ModelAccessError: Weights, key or server are missing.
    """
    kind = kind_of(config.name)
    if kind == "remote":
        return _open_remote(config)
    if kind == "scripted":
        return _open_scripted(config.name)
    from debate.models.local import LocalModel

    if kind == "embedded":
        from debate.models.embedded import ensure_embedded

        path = str(ensure_embedded())
    else:
        path = config.name.removeprefix("hf/")
    return LocalModel(
        path, name=config.name, dtype=config.dtype, device=config.device, reproducible=config.reproducible
    )


def check_access(config: ModelConfig) -> None:
    """Find out what would keep a model from being opened, as far as that takes no weights and no connection.

    Args:
        config: Which model.

    Raises:
        ConfigError: It names a scripted model that cannot be imported.
        ModelAccessError: Its key is missing.
    """
    if kind_of(config.name) in {"remote", "scripted"}:
        open_model(config)


def capabilities_of(config: ModelConfig) -> Capabilities:
    """Return what a remote model can do: what is known of it, then what the configuration declares."""
    from debate.models.remote import known_capabilities

    declared = {name: value for name, value in config.capabilities.model_dump().items() if value is not None}
    known = known_capabilities(config.name)
    return Capabilities(**({name: getattr(known, name) for name in Capabilities.__dataclass_fields__} | declared))


def _open_remote(config: ModelConfig) -> Model:
    from debate.models.remote import RemoteModel

    return RemoteModel(
        config.name,
        model=config.name.partition("/")[2],
        base_url=config.base_url or os.environ.get("OPENAI_BASE_URL"),
        api_key=os.environ.get("OPENAI_API_KEY"),
        capabilities=capabilities_of(config),
        concurrency=config.concurrency,
        timeout_s=config.timeout_s,
        max_retries=config.max_retries,
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
    """The models of a run, each opened once, with the run's call log and meter.

    Args:
        store: Where calls are kept, or None.
        meter: Counts calls against the budget.
    """

    def __init__(self, store: Store | None, meter: Meter) -> None:
        self._store = store
        self._meter = meter
        self._open: dict[str, LoggedModel] = {}

    def get(self, config: ModelConfig) -> LoggedModel:
        """Return the model of a configuration, opened if it is not yet.

        Raises:
            ConfigError: See ``open_model``.
            ModelAccessError: See ``open_model``.
        """
        key = config.model_dump_json()
        if key not in self._open:
            self._open[key] = LoggedModel(open_model(config), self._store, self._meter)
        return self._open[key]

    @property
    def digests(self) -> Mapping[str, str]:
        """What decides each open model's replies beside its name, by name."""
        return {model.name: model.digest for model in self._open.values()}

    async def close(self, *, grace_s: float = 10.0) -> None:
        """Close every model, after waiting for calls in flight: they are paid for, so they are kept.

        Args:
            grace_s: Seconds to wait at most.
        """
        waiting = [asyncio.ensure_future(model.drain()) for model in self._open.values()]
        if waiting:
            await asyncio.wait(waiting, timeout=grace_s)
        for model in self._open.values():
            await model.close()


class TokenCounter:
    """Counts a model's prompt tokens for the plan, without loading its weights.

    Attributes:
        exact: Whether the count is the model's own; else it is an estimate of one token in three characters.
        context: Longest prompt plus reply, in tokens, or None where it is not known.
    """

    def __init__(self, config: ModelConfig) -> None:
        self.exact = False
        self.context: int | None = None
        self._count: Callable[[Messages], int] = _estimate
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
        from transformers import AutoConfig

        from debate.models.embedded import ensure_embedded
        from debate.models.local import find_folder
        from debate.models.texts import Texts

        folder = ensure_embedded() if embedded else find_folder(config.name.removeprefix("hf/"))
        texts = Texts(folder)
        self.exact = True
        self.context = getattr(AutoConfig.from_pretrained(str(folder)), "max_position_embeddings", None)
        self._count = lambda messages: len(texts.prompt(messages))


def _estimate(messages: Messages) -> int:
    return sum(-(-len(message.content) // 3) + 4 for message in messages)
