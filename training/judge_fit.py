"""Fitting a judge's adapter to rows: on letters alone, or on reasoning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from training.fitted import Fitted, run_trainer
from training.fitting import (
    AdapterSettings,
    Base,
    FitSettings,
    Process,
    arguments,
    dtype_of,
    set_threads,
)
from training.judge_rows import JudgeReply
from training.rows import Row
from training.saving import ADAPTER, save_adapter
from training.start import load_start

if TYPE_CHECKING:
    from debate.models.texts import Texts
    from training.debater_fit import PreferenceSettings
    from training.letter_trainer import LetterTrainer


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
    def judge(self) -> JudgeReply: ...  # noqa: D102
    @property
    def start(self) -> str | None: ...  # noqa: D102
    @property
    def adapter(self) -> AdapterSettings: ...  # noqa: D102
    @property
    def fit(self) -> FitSettings: ...  # noqa: D102
    @property
    def mass_weight(self) -> float: ...  # noqa: D102
    @property
    def seed(self) -> int: ...  # noqa: D102


def lengths_of(rows: Sequence[Row], texts: Texts, reply: JudgeReply) -> list[int]:
    """Count the tokens of each row: of the prompt, and of a reply that is more than a letter.

    Raises:
        SourceError: A reply is empty.
    """
    if reply == "letter":
        return [len(texts.prompt(row.prompt)) for row in rows]
    from training.debater_fit import lengths_of as lengths_of_speeches

    return [length.all for length in lengths_of_speeches(rows, texts)]


def fit_judge(rows: Rows, base: Base, settings: Settings, process: Process, folder: Path) -> Fitted:
    """Fit an adapter, and save it into the run's folder; goes on from the last checkpoint there.

    Args:
        rows: The rows.
        base: The base.
        settings: What is learned, adapter, fit and seed.
        process: This one; every process calls this.
        folder: Of the run.

    Returns:
        What was fitted.

    Raises:
        TrainingError: A loss is not finite.
    """
    if settings.judge == "reason":
        return _fit_reasoning(rows, base, settings, process, folder)
    trainer = letter_trainer(rows, base, settings, process, folder)
    return run_trainer(
        trainer,
        settings.fit,
        process,
        folder,
        rows=len(rows.train),
        tokens=rows.tokens,
        save=lambda model, state: save_adapter(model, folder / ADAPTER, state),
    )


@dataclass(frozen=True, slots=True)
class _Reasoning:
    """Reasoning that ended right is learned as a debater learns speeches; see ``training.debater_fit``."""

    adapter: AdapterSettings
    fit: FitSettings
    seed: int
    dpo: PreferenceSettings
    start: str | None
    method: Literal["sft"] = "sft"
    packed: None = None
    learn: Literal["speech"] = "speech"


def _fit_reasoning(rows: Rows, base: Base, settings: Settings, process: Process, folder: Path) -> Fitted:
    from training.debater_fit import PreferenceSettings, RowsToFit, fit_debater
    from training.debater_fit import lengths_of as lengths_of_speeches

    lengths = lengths_of_speeches(rows.train, base.texts)
    as_speeches = _Reasoning(settings.adapter, settings.fit, settings.seed, PreferenceSettings(), settings.start)
    return fit_debater(RowsToFit(rows.train, rows.validation, lengths, rows.over), base, as_speeches, process, folder)


def letter_trainer(rows: Rows, base: Base, settings: Settings, process: Process, folder: Path) -> LetterTrainer:
    """Make the trainer of a letter judge, with an adapter on the base; see ``fit_judge``."""
    from transformers import TrainingArguments

    from debate.models import attention
    from training.letter_trainer import ATTENTION, LetterRows, LetterTrainer, encode

    set_threads()
    attention.register()
    train = encode(rows.train, base.texts)
    model = load_start(base, settings, dtype_of(settings.fit), ATTENTION)
    return LetterTrainer(
        texts=base.texts,
        letters=max(2, 1 + max(row.gold for row in train)),
        mass_weight=settings.mass_weight,
        model=model,
        args=TrainingArguments(**arguments(settings.fit, process, folder, settings.seed)),
        train_dataset=LetterRows(train),
        eval_dataset=LetterRows(encode(rows.validation, base.texts)) if rows.validation else None,
    )
