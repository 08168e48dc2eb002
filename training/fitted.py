"""What fitting an adapter came to, and how every trainer is run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debate.models.memory import give_back
from debate.report import Column, Table
from training.fitting import FitSettings, Process, dtype_of
from training.progress import last_checkpoint, watched

if TYPE_CHECKING:
    from peft import PeftModel
    from torch import Tensor, nn

Save = Callable[["PeftModel", "dict[str, Tensor] | None"], None]
"""Saves an adapter; the second argument holds all weights, where they are spread over processes."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What was fitted.

    Attributes:
        rows: Rows of an epoch.
        seen: Different rows that were fitted in this session, in all processes.
        times: How often, rows counted anew each time.
        steps: Steps of the optimizer, those before a resume included.
        tokens: Of the rows seen in this session.
        seconds: Of this session.
        processes: How many took part.
        dtype: Of the base.
        loss: Mean over the session.
        validation_loss: At the end, or None.
    """

    rows: int
    seen: int
    times: int
    steps: int
    tokens: int
    seconds: float
    processes: int
    dtype: str
    loss: float
    validation_loss: float | None

    def values(self) -> dict[str, int | float | str | None]:
        """Return the figures as plain values."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**found, "tokens_per_second": self.tokens / self.seconds}

    def table(self) -> Table:
        """Return the figures as a table."""
        lines = [(name.replace("_", " "), _shown(value)) for name, value in self.values().items()]
        return Table("Training", (Column("what"), Column("value")), lines)


def _shown(value: float | str | None) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None else value


def run_trainer(
    trainer: Any, fit: FitSettings, process: Process, folder: Path, *, rows: int, tokens: int, save: Save
) -> Fitted:
    """Train from the last checkpoint on, look at the validation rows if there are any, and save the adapter.

    Args:
        trainer: One of the transformers library, or derived of it; its ``seen`` counts the rows that it was fitted to.
        fit: How it fits.
        process: This one; every process calls this.
        folder: Of the run.
        rows: Rows of an epoch.
        tokens: Of them.
        save: Saves the adapter, in the main process.

    Returns:
        What was fitted.

    Raises:
        TrainingError: A loss or a weight is not finite.
    """
    if fit.compile:
        compile_parts(trainer.model)
    started = time.monotonic()
    with watched(trainer, folder):
        done = trainer.train(resume_from_checkpoint=last_checkpoint(folder))
    seconds = time.monotonic() - started
    give_back()
    validation = None if trainer.eval_dataset is None else trainer.evaluate()["eval_loss"]
    accelerator = trainer.accelerator
    state = accelerator.get_state_dict(trainer.model_wrapped) if trainer.is_fsdp_enabled else None
    if process.main:
        save(accelerator.unwrap_model(trainer.model), state)
    seen = _gathered(trainer.seen, process)
    return Fitted(
        rows=rows,
        seen=len(seen),
        times=sum(seen.values()),
        steps=trainer.state.global_step,
        tokens=round(tokens * sum(seen.values()) / rows),
        seconds=seconds,
        processes=accelerator.num_processes,
        dtype=str(dtype_of(fit)).removeprefix("torch."),
        loss=float(done.training_loss),
        validation_loss=validation,
    )


def compile_parts(model: nn.Module) -> None:
    """Have torch compile, at their first use, the parts of a model that many small operations make slow.

    Attention is left as it is: its shapes change with each batch.

    Args:
        model: Of the transformers library; its norms and MLPs are compiled in place.
    """
    for module in model.modules():
        if type(module).__name__.endswith(("RMSNorm", "MLP")):
            module.compile(dynamic=True)


def _gathered(seen: Counter[Hashable], process: Process) -> Counter[Hashable]:
    """Add up what every process has seen."""
    if process.world == 1:
        return seen
    from accelerate.utils import gather_object

    total: Counter[Hashable] = Counter()
    for part in gather_object([dict(seen)]):
        total.update(part)
    return total
