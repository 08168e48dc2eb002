"""What all trainings share: the base and its LoRA adapter, the trainer's arguments, what is logged and when to stop."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from debate.config import NOT_IN_DIGEST, Config
from debate.errors import ConfigError, DissoiError, ModelAccessError, SourceError
from debate.models.load import kind_of
from debate.models.threads import usable_cores
from training.progress import CHECKPOINTS

if TYPE_CHECKING:
    import torch
    from peft import PeftModel
    from transformers import PreTrainedModel

    from debate.models.texts import Texts


IGNORED = -100
"""The label of what is not learned, as torch's cross-entropy and the trainers have it."""


class TrainingError(DissoiError, RuntimeError):
    """Training cannot go on."""


class AdapterSettings(Config):
    """A LoRA adapter (Hu et al. 2021)."""

    r: int = Field(8, ge=1, le=1024, description="rank of the change of each layer")
    alpha: float = Field(16, gt=0, description="the change is scaled by alpha / r")
    dropout: float = Field(0.0, ge=0, lt=1, description="share of the adapter's inputs that are left out at random")
    targets: tuple[str, ...] = Field(
        ("q_proj", "v_proj"), min_length=1, description="linear layers that are changed, by the ends of their names"
    )


class FitSettings(Config):
    """How an adapter is fitted."""

    learning_rate: float = Field(2e-3, gt=0, description="of AdamW, at its highest")
    schedule: Literal["linear", "cosine", "constant_with_warmup"] = Field(
        "linear", description="how the learning rate falls after warming up; linear and cosine end at 0"
    )
    warmup: float = Field(0.05, ge=0, lt=1, description="share of the steps in which the learning rate rises")
    batch: int = Field(8, ge=1, description="rows of a step, in all processes and accumulated passes together")
    accumulate: int = Field(1, ge=1, description="passes that make up a step, in each process")
    epochs: float = Field(1, gt=0, description="times that the rows are gone through")
    weight_decay: float = Field(0.0, ge=0, description="of AdamW")
    max_grad_norm: float = Field(1.0, gt=0, description="longer gradients are cut to this length")
    dtype: Literal["auto", "float32", "bfloat16"] = Field(
        "auto",
        description="number type of the base; auto: bfloat16 where the hardware computes in it; the adapter is fitted "
        "in float32 whatever the base is, and saved in bfloat16",
    )
    device: str = Field("auto", description="auto: the first GPU, or that of the process, else the CPU; or cpu")
    max_length: int | None = Field(None, ge=1, description="longest row, in tokens; none for the model's context")
    max_cut: float = Field(
        0.02,
        ge=0,
        le=1,
        description="share of rows over max_length, which are left out, above which nothing is trained",
    )
    gradient_checkpointing: bool = Field(
        default=False, description="compute activations twice instead of keeping them: less memory, a third slower"
    )
    compile: bool = Field(
        default=False,
        description="compile norms and MLPs: a fifth less work on CPUs after half a minute; needs a C++ compiler",
    )
    save_steps: int = Field(100, ge=1, description="steps between checkpoints", json_schema_extra=NOT_IN_DIGEST)
    log_steps: int = Field(
        10, ge=1, description="steps between lines of metrics.jsonl", json_schema_extra=NOT_IN_DIGEST
    )
    eval_steps: int | None = Field(
        None, ge=1, description="steps between looks at the validation rows; none for one look at the end"
    )

    @model_validator(mode="after")
    def _divides(self) -> Self:
        if self.batch % self.accumulate:
            raise ValueError(f"batch {self.batch} cannot be made up of {self.accumulate} equal passes")
        return self

    def per_pass(self, world: int) -> int:
        """Return the rows of one pass in one process.

        Raises:
            ConfigError: The batch cannot be shared out equally.
        """
        if self.batch % (world * self.accumulate):
            raise ConfigError(
                f"fit.batch {self.batch} cannot be shared out among {world} processes in {self.accumulate} passes "
                "each; choose a multiple"
            )
        return self.batch // (world * self.accumulate)


class Process(NamedTuple):
    """This process among those that ``accelerate launch`` has started.

    Attributes:
        world: How many there are.
        rank: Its number; 0 is the main process, which alone writes.
    """

    world: int
    rank: int

    @classmethod
    def here(cls) -> Process:
        """Read the launcher's environment variables; without a launcher there is one process."""
        return cls(int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0")))

    @property
    def main(self) -> bool:
        """Whether this process writes."""
        return self.rank == 0

    def wait(self) -> None:
        """Wait for the others."""
        if self.world > 1:
            self._join().wait_for_everyone()

    def share(self, text: str) -> str:
        """Return the main process's text, in every process."""
        if self.world == 1:
            return text
        from accelerate.utils import broadcast_object_list

        self._join()
        return str(broadcast_object_list([text])[0])

    @staticmethod
    def _join() -> Any:
        from datetime import timedelta

        from accelerate import PartialState

        # While the main process measures, the others wait, which may take long.
        return PartialState(cpu=_on_cpu(), timeout=timedelta(hours=12))


def _on_cpu() -> bool:
    import torch

    return os.environ.get("ACCELERATE_USE_CPU", "").lower() in {"1", "true", "yes"} or not torch.cuda.is_available()


@dataclass(frozen=True, slots=True)
class Base:
    """A base model to be trained on.

    Attributes:
        name: By which configurations name it.
        folder: Of its weights.
        hub_id: What the configuration of a saved adapter calls it; see ``hub_id_of``.
        texts: Its tokenizer.
        context: Longest row, in tokens.
    """

    name: str
    folder: Path
    hub_id: str
    texts: Texts
    context: int


def find_base(name: str) -> Base:
    """Find a base model, and load its tokenizer.

    Args:
        name: ``embedded/smollm2-135m`` or ``hf/FOLDER-OR-ID``.

    Raises:
        ConfigError: It is a model of another kind.
        ModelAccessError: It cannot be had.
    """
    from debate.models.embedded import ensure_embedded
    from debate.models.local import find_folder, import_torch

    kind = kind_of(name)
    if kind not in {"embedded", "local"}:
        raise ConfigError(f"base {name!r} has no weights here; name embedded/smollm2-135m or hf/FOLDER-OR-ID")
    import_torch()
    from debate.models.texts import Texts

    path = name.removeprefix("hf/")
    folder = ensure_embedded() if kind == "embedded" else find_folder(path)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelAccessError(f"cannot read {folder / 'config.json'}: {error}; restore it from a copy") from error
    context = config.get("max_position_embeddings") or config.get("text_config", {}).get("max_position_embeddings")
    return Base(name, folder, hub_id_of(folder), Texts(folder), int(context or 1 << 30))


def hub_id_of(folder: Path) -> str:
    """Return what others may call a base: its hub id where it has one, else its folder's name, never its path.

    Args:
        folder: Of the weights: the embedded model's, a snapshot of the hub's cache, or another.
    """
    from debate.models.embedded import HUB_ID, cache_folder

    if folder.parent == cache_folder():
        return HUB_ID
    *_, kind, snapshots, _revision = ("", "", *folder.parts)
    if snapshots == "snapshots" and kind.startswith("models--"):
        return kind.removeprefix("models--").replace("--", "/", 1)
    return folder.resolve().name


def dtype_of(fit: FitSettings) -> torch.dtype:
    """Return the number type of the base's weights, by the rule that the local engine follows."""
    import torch

    from debate.models.local import fast_bfloat16

    if fit.dtype != "auto":
        found: torch.dtype = getattr(torch, fit.dtype)
        return found
    device = torch.device("cpu" if fit.device == "cpu" or _on_cpu() else "cuda")
    return torch.bfloat16 if fast_bfloat16(device) else torch.float32


def load_base(base: Base, dtype: torch.dtype, attention: str = "sdpa") -> PreTrainedModel:
    """Load a base model's weights.

    Args:
        base: Which.
        dtype: Of weights and activations.
        attention: What transformers calls the way to compute attention.

    Raises:
        ModelAccessError: They cannot be loaded.
    """
    from transformers import AutoModelForCausalLM

    from debate.models.runner import no_progress_bar

    try:
        with no_progress_bar():
            model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
                str(base.folder), dtype=dtype, attn_implementation=attention, local_files_only=True
            )
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        raise ModelAccessError(f"{base.folder}: cannot be loaded as a causal language model: {error}") from error
    return model


def lora_config(base: Base, adapter: AdapterSettings) -> Any:
    """Return what peft calls these settings."""
    from peft import LoraConfig

    return LoraConfig(
        r=adapter.r,
        lora_alpha=adapter.alpha,  # type: ignore[arg-type]  # any number will do
        lora_dropout=adapter.dropout,
        target_modules=list(adapter.targets),
        task_type="CAUSAL_LM",
        base_model_name_or_path=str(base.folder),  # under another name, peft asks the hub at each checkpoint
    )


def add_adapter(model: PreTrainedModel, base: Base, adapter: AdapterSettings, seed: int) -> PeftModel:
    """Put a new adapter on a base model; all other weights are frozen.

    Its weights are float32 whatever the base's are: a step of AdamW is often smaller than bfloat16 can add.

    Args:
        model: The base, of which the layers named are changed in place.
        base: Where it came from.
        adapter: Of what kind.
        seed: Of its first weights.

    Raises:
        ConfigError: The model has no such layers.
    """
    import torch
    from peft import get_peft_model

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        try:
            adapted = get_peft_model(model, lora_config(base, adapter))
        except ValueError as error:
            raise misfit(base, adapter, error) from error
    found: PeftModel = adapted
    return found


def misfit(base: Base, adapter: AdapterSettings, error: ValueError) -> ConfigError:
    """Say that a model has no layers of the names that an adapter shall change."""
    return ConfigError(f"adapter.targets {list(adapter.targets)} do not fit {base.name}: {error}")


def arguments(fit: FitSettings, process: Process, folder: Path, seed: int) -> dict[str, Any]:
    """Return arguments for ``transformers.TrainingArguments`` and what is derived of it (``SFTConfig``, ``DPOConfig``).

    Args:
        fit: The settings.
        process: This one.
        folder: Of the run; checkpoints go into a folder of it.
        seed: Of the order of rows and of dropout.
    """
    return {
        "output_dir": str(folder / CHECKPOINTS),
        "per_device_train_batch_size": fit.per_pass(process.world),
        "per_device_eval_batch_size": fit.per_pass(process.world),
        "gradient_accumulation_steps": fit.accumulate,
        "num_train_epochs": fit.epochs,
        "learning_rate": fit.learning_rate,
        "lr_scheduler_type": fit.schedule,
        "warmup_steps": fit.warmup,  # below 1 it is a share
        "weight_decay": fit.weight_decay,
        "max_grad_norm": fit.max_grad_norm,
        "seed": seed,
        "data_seed": seed,
        "bf16": False,  # the weights have their number type, nothing is cast on the way
        "fp16": False,
        "use_cpu": fit.device == "cpu" or _on_cpu(),
        "activation_checkpointing": fit.gradient_checkpointing,
        "logging_steps": fit.log_steps,
        "logging_nan_inf_filter": False,
        "logging_first_step": True,
        "save_strategy": "steps",
        "save_steps": fit.save_steps,
        "save_total_limit": 2,
        "eval_strategy": "no" if fit.eval_steps is None else "steps",
        "eval_steps": fit.eval_steps,
        "report_to": "none",
        "disable_tqdm": True,
        "remove_unused_columns": False,
        "dataloader_pin_memory": False,
        "ddp_find_unused_parameters": False,
    }


def set_threads() -> None:
    """Give each process on this machine its share of the cores."""
    import torch

    local = max(1, int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    torch.set_num_threads(max(1, usable_cores(os.cpu_count() or 1) // local))


class Cut(NamedTuple):
    """Rows that are short enough: their places, and how many are not."""

    kept: list[int]
    over: int


def cut_long(lengths: Sequence[int], fit: FitSettings, base: Base, what: str) -> Cut:
    """Leave out rows that are too long: cut off, a prompt lacks its question, and a reply its end.

    Args:
        lengths: Tokens of each row.
        fit: With ``max_length`` and ``max_cut``.
        base: With its context.
        what: The rows, for the message.

    Raises:
        SourceError: They are too many, or fewer than a batch are left.
    """
    longest = min(fit.max_length or base.context, base.context)
    kept = [place for place, length in enumerate(lengths) if length <= longest]
    over = len(lengths) - len(kept)
    if over > fit.max_cut * len(lengths):
        raise SourceError(
            f"{over} of {len(lengths)} {what} rows have more than {longest} tokens (the longest {max(lengths)}), above "
            f"fit.max_cut {fit.max_cut:g}; raise fit.max_length, at most to the model's context of {base.context}, or "
            "give shorter debates"
        )
    if len(kept) < fit.batch:
        raise SourceError(
            f"{len(kept)} {what} rows are fewer than a batch of {fit.batch}; give more data or lower fit.batch"
        )
    return Cut(kept, over)
