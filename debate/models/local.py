"""A model of the transformers library on this machine, its requests batched over all coroutines."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from debate.errors import ConfigError, ModelAccessError, ModelError
from debate.models.base import Capabilities, Choice, Completion, Draw, Messages, Sampling, Scores
from debate.models.threads import usable_cores
from debate.models.weights import ADAPTER, folder_digest

if TYPE_CHECKING:
    import torch

    from debate.models.requests import Request

# Changes whenever the engine's replies to equal calls may change.
ENGINE = "packed-3"
HUB_TIMEOUT_S = 10.0
# Environment variables of oneDNN, and of how torch calls it.
SHAPE_CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
SHAPES = "128"
MIB = 1 << 20


class LocalBase:
    """A causal language model run by torch in this process, for itself and for all adapters beside its weights.

    All its work is on one thread; coroutines hand requests to it, and it batches whatever waits: prompts and
    continuations are packed, replies to one prompt share its computation, beginnings that prompts of one adapter share
    are computed once. Requests of different adapters go through one pass together.

    Args:
        path: A folder that ``save_pretrained`` wrote, or a hub id.
        name: What users call it.
        dtype: ``auto`` is bfloat16 where the hardware computes in it, else float32.
        device: A torch device; ``auto`` is the first GPU, else the CPU.
        reproducible: Replies do not depend on what else runs: float32.
        max_batch: Most replies that decode together. Measured on two cores, tokens a second: 98 with 16, 141 with 32,
            161 with 64, 163 with 96.
        threads: CPU threads; None is one for each core that this process may use.
        prefix_mib: Room for stored beginnings of prompts, in MiB.
        decode_mib: Room for the prompts of decoding replies, in MiB; one prompt always fits.

    Attributes:
        engine: Answers requests.
        texts: The tokenizer.
        capabilities: What it can do.
        digests: Digest of the weights.
        facts: Device, number type and mode.
        kind: What else decides its replies: engine, number type, kind of device, mode.

    Raises:
        ConfigError: ``reproducible`` with bfloat16, a bad size, or a device that there is not.
        ModelAccessError: The model cannot be found or loaded.
    """

    def __init__(
        self,
        path: str,
        *,
        name: str,
        dtype: Literal["auto", "float32", "bfloat16"] = "auto",
        device: str = "auto",
        reproducible: bool = False,
        max_batch: int = 64,
        threads: int | None = None,
        prefix_mib: int = 256,
        decode_mib: int = 2048,
    ) -> None:
        if reproducible and dtype == "bfloat16":
            raise ConfigError(f"{name}: reproducible mode computes in float32; leave dtype out or set it to float32")
        if max_batch < 1 or (threads is not None and threads < 1):
            raise ConfigError(f"{name}: max_batch ({max_batch}) and threads ({threads}) must be at least 1")
        import_torch()
        import torch

        from debate.models.engine import Engine
        from debate.models.runner import Runner
        from debate.models.texts import Texts

        where = find_device(device, name)
        folder = find_folder(path)
        kind = torch.float32 if reproducible or dtype == "float32" else torch.bfloat16
        if dtype == "auto" and not fast_bfloat16(where):
            kind = torch.float32
        self.texts = Texts(folder)
        self._runner = Runner(folder, kind, where, prefix_mib * MIB)
        mode = "reproducible" if reproducible else "fast"
        short = str(kind).removeprefix("torch.")
        self.digests = {"weights": folder_digest(folder)}
        self.facts = {"device": str(where), "dtype": short, "mode": mode}
        self.kind = f"{ENGINE}:{short}:{where.type}:{mode}"
        self.capabilities = Capabilities(score=True, system_role=self.texts.system_role, context=self._runner.context)
        if threads is None:
            threads = usable_cores(torch.get_num_threads())
        self.engine = Engine(self._runner, self.texts, max_batch=max_batch, max_bytes=decode_mib * MIB, threads=threads)
        self._numbers: dict[str, int] = {}
        self._users = 0

    def add_adapter(self, folder: Path, digest: str) -> int:
        """Put a LoRA adapter beside the weights, once.

        Args:
            folder: See ``debate.models.adapter.find_adapter``.
            digest: Of its decisive files: adapters of one digest are one.

        Returns:
            The number by which requests name it.

        Raises:
            ModelAccessError: It does not fit.
            ModelError: The base is closed.
        """
        from debate.models.adapter import is_reward, read_adapter, read_head

        if digest not in self._numbers:
            number = len(self._numbers) + 1
            head = read_head(folder, self._runner.hidden) if is_reward(folder) else None
            self.engine.attach(number, read_adapter(folder, self._runner.model), head)
            self._numbers[digest] = number
        return self._numbers[digest]

    def join(self) -> None:
        """Count one more model on this base."""
        self._users += 1

    def leave(self) -> None:
        """Count one model less; the last one closes the base."""
        self._users -= 1
        if self._users <= 0:
            self.close()

    def close(self) -> None:
        """Fail what has not been answered, and end the worker thread; closing again does no harm."""
        self.engine.close()


class LocalModel:
    """A base model on this machine, or one of the adapters on it.

    Equal draws of one prompt give equal replies: exactly so in reproducible mode (up to ties within the rounding of
    float32), mostly in bfloat16, where the other rows of a batch change the rounding visibly.

    Args:
        base: The base. Several models may share it; the last one that closes closes it.
        name: What users call it.
        adapter: Folder of a LoRA adapter for the base, see ``debate.models.adapter.find_adapter``.

    Attributes:
        facts: Digests of weights and adapter, device, number type and mode.

    Raises:
        ModelAccessError: The adapter does not fit the base.
    """

    def __init__(self, base: LocalBase, *, name: str, adapter: Path | None = None) -> None:
        self.name = name
        digests = dict(base.digests)
        self._adapter = 0
        if adapter is not None:
            digests["adapter"] = folder_digest(adapter, ADAPTER)
            self._adapter = base.add_adapter(adapter, digests["adapter"])
        self.digest = f"{'+'.join(digests.values())}:{base.kind}"
        self.facts = {**digests, **base.facts}
        self.capabilities = base.capabilities
        self._base = base
        self._closed = False
        base.join()

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        """Sample one reply for each draw; see `Model.sample`."""
        from debate.models.requests import Answer, SampleRequest

        answer: Answer[list[Completion]] = Answer()
        self._submit(SampleRequest(messages, tuple(draws), sampling, answer, self._adapter))
        return await answer.future

    async def choose(self, messages: Messages, choices: Sequence[str]) -> Choice:
        """Give the probability that the reply begins with each choice; see `Model.choose`."""
        from debate.models.requests import Answer, ChooseRequest

        answer: Answer[Choice] = Answer()
        self._submit(ChooseRequest(messages, tuple(choices), answer, self._adapter))
        return await answer.future

    async def score(self, messages: Messages, continuations: Sequence[str]) -> Scores:
        """Give the log-probability of each continuation as the reply, its end not included; see `Model.score`."""
        from debate.models.requests import Answer, ScoreRequest

        answer: Answer[Scores] = Answer()
        self._submit(ScoreRequest(messages, tuple(continuations), answer, self._adapter))
        return await answer.future

    def count_tokens(self, messages: Messages) -> int:
        """Count the prompt's tokens, the template's included, exactly."""
        return len(self._base.texts.prompt(messages))

    def _submit(self, request: Request) -> None:
        if self._closed:
            raise ModelError(f"{self.name}: it is closed; make a new one")
        self._base.engine.submit(request)

    async def close(self) -> None:
        """Take no more requests; the last model of a base fails what has not been answered and ends its thread."""
        import asyncio

        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._base.leave)


def import_torch() -> None:
    """Import torch with settings of its libraries that suit packed rows, where the user has not said otherwise.

    Its threads sleep while they wait for each other. By default they spin for milliseconds at every operation: where
    other processes want the same cores, a thread then waits for one that cannot run. Measured on two busy cores: up to
    twice the tokens per second. The OpenMP library reads the setting once, when torch is first imported.

    Its caches of compiled operations, one entry for each shape of tensors that it has met, hold fewer of them.
    Attention over packed rows meets new shapes in every pass; 3,000 products of random shapes left 658 MiB in caches of
    the default 1,024 entries, and 155 in these (docs/results/memory.md). All layers of a pass share a few dozen shapes.
    """
    for cache in SHAPE_CACHES:
        os.environ.setdefault(cache, SHAPES)  # each is read at its first use, so it has to stay
    name = "OMP_WAIT_POLICY"
    if "torch" in sys.modules or name in os.environ or "GOMP_SPINCOUNT" in os.environ:
        return
    os.environ[name] = "PASSIVE"
    try:
        importlib.import_module("torch")
    finally:
        del os.environ[name]


def find_device(device: str, name: str) -> torch.device:
    """Return a torch device, after putting a number on it: a name that parses may still be of no device here.

    Args:
        device: Its name, or ``auto`` for the first GPU, else the CPU.
        name: The model, for the message.

    Raises:
        ConfigError: There is no such device.
    """
    import_torch()
    import torch

    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        where = torch.device(device)
        torch.ones(1, device=where).item()
    except (RuntimeError, AssertionError, ImportError) as error:  # torch may be built without that kind of device
        usable = ["auto", "cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
        raise ConfigError(
            f"{name}: device {device!r} cannot be used on this machine; usable are {', '.join(usable)}"
        ) from error
    return where


def find_folder(path: str, *, weights: bool = True) -> Path:
    """Return the folder of a model: ``path`` itself, or a snapshot of that hub id, downloaded if need be.

    Args:
        path: A folder or a hub id.
        weights: Whether to download the weights too, or only tokenizer and configuration.

    Raises:
        ModelAccessError: It is neither.
    """
    folder = Path(path).expanduser()
    if (folder / "config.json").is_file():
        return folder
    if (folder / "adapter_config.json").is_file():
        raise ModelAccessError(
            f"{path}: this folder holds an adapter; name the model that it was trained on and write adapter: {path}"
        )
    if folder.is_dir() or path.startswith((".", "~", "/")) or "/" not in path:
        raise ModelAccessError(f"{path}: no model in this folder (config.json is missing); give a folder or a hub id")
    from huggingface_hub import snapshot_download

    from debate.models.embedded import HUB_FILES

    patterns = [pattern for pattern in (*HUB_FILES, "*.model") if weights or pattern != "*.safetensors"]
    try:
        return Path(snapshot_download(path, allow_patterns=patterns, etag_timeout=HUB_TIMEOUT_S))
    except Exception as error:  # the hub client fails in many ways, and each means the same here
        raise ModelAccessError(
            f"{path}: neither a folder nor to be had from the hub ({type(error).__name__}: {error}); check the name, "
            "the network and the access token"
        ) from error


def fast_bfloat16(device: torch.device) -> bool:
    """Tell whether the device computes in bfloat16 rather than emulating it."""
    import torch

    if device.type == "cpu":
        able = torch.cpu.get_capabilities()
        return bool(able.get("avx512_bf16") or able.get("amx_bf16"))
    return device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
