"""Fitting a judge's adapter to rows: on letters alone, or on reasoning."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from debate.models.texts import Texts
from debate.report import Column, Table
from training.fitting import (
    AdapterSettings,
    Base,
    FitSettings,
    Process,
    add_adapter,
    arguments,
    dtype_of,
    last_checkpoint,
    load_base,
    set_threads,
    watched,
)
from training.judge_rows import JudgeReply
from training.rows import Row
from training.saving import ADAPTER, save_adapter


class Rows(NamedTuple):
    """Rows that are short enough.

    Attributes:
        train: Are fitted.
        validation: Whose loss is looked at.
        tokens: Of ``train``.
        over: How many were too long.
    """

    train: list[Row]
    validation: list[Row]
    tokens: int
    over: int


class Settings(Protocol):
    """What is read of a configuration."""

    @property
    def adapter(self) -> AdapterSettings: ...  # noqa: D102
    @property
    def fit(self) -> FitSettings: ...  # noqa: D102
    @property
    def mass_weight(self) -> float: ...  # noqa: D102
    @property
    def seed(self) -> int: ...  # noqa: D102


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
    return (
        f"{value:.4g}"
        if isinstance(value, float)
        else "-"
        if value is None
        else f"{value:,}"
        if isinstance(value, int)
        else value
    )


def lengths_of(rows: Sequence[Row], texts: Texts, reply: JudgeReply) -> list[int]:
    """Count the tokens of each row: of the prompt, and of a reply that is more than a letter.

    Raises:
        SourceError: A reply has no tokens.
    """
    prompts = [len(texts.prompt(row.prompt)) for row in rows]
    if reply == "letter":
        return prompts
    return [prompt + len(texts.encode(row.completion)) + 1 for prompt, row in zip(prompts, rows, strict=True)]


def fit_judge(reply: JudgeReply, rows: Rows, base: Base, settings: Settings, process: Process, folder: Path) -> Fitted:
    """Fit an adapter, and save it into the run's folder; goes on from the last checkpoint there.

    Args:
        reply: What is learned.
        rows: The rows.
        base: The base.
        settings: Adapter, fit and seed.
        process: This one; every process calls this.
        folder: Of the run.

    Returns:
        What was fitted.

    Raises:
        TrainingError: A loss is not finite.
    """
    import torch

    set_threads()
    dtype = dtype_of(settings.fit)
    trainer = _letter_trainer(rows, base, settings, process, folder, dtype)
    started = time.monotonic()
    with watched(trainer, folder):
        done = trainer.train(resume_from_checkpoint=last_checkpoint(folder))
    seconds = time.monotonic() - started
    validation = trainer.evaluate()["eval_loss"] if rows.validation else None
    accelerator = trainer.accelerator
    state = accelerator.get_state_dict(trainer.model_wrapped) if trainer.is_fsdp_enabled else None
    if process.main:
        save_adapter(accelerator.unwrap_model(trainer.model), folder / ADAPTER, state)
    seen = _gathered(trainer.seen, process)
    return Fitted(
        rows=len(rows.train),
        seen=len(seen),
        times=sum(seen.values()),
        steps=trainer.state.global_step,
        tokens=round(rows.tokens * sum(seen.values()) / len(rows.train)),
        seconds=seconds,
        processes=accelerator.num_processes,
        dtype=str(dtype).removeprefix("torch."),
        loss=float(done.training_loss),
        validation_loss=validation,
    )


def _gathered(seen: Any, process: Process) -> Any:
    """Add up what every process has seen."""
    from collections import Counter

    if process.world == 1:
        return seen
    from accelerate.utils import gather_object

    total: Counter[str] = Counter()
    for part in gather_object([dict(seen)]):
        total.update(part)
    return total


def _letter_trainer(rows: Rows, base: Base, settings: Settings, process: Process, folder: Path, dtype: Any) -> Any:
    from transformers import TrainingArguments

    from debate.models import attention
    from training.letter_trainer import ATTENTION, LetterRows, LetterTrainer, encode

    attention.register()
    train = encode(rows.train, base.texts)
    model = add_adapter(load_base(base, dtype, ATTENTION), base, settings.adapter, settings.seed)
    return LetterTrainer(
        texts=base.texts,
        letters=max(2, 1 + max(row.gold for row in train)),
        mass_weight=settings.mass_weight,
        model=model,
        args=TrainingArguments(**arguments(settings.fit, process, folder, settings.seed)),
        train_dataset=LetterRows(train),
        eval_dataset=LetterRows(encode(rows.validation, base.texts)) if rows.validation else None,
    )
