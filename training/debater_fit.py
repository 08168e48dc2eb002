"""Fitting a debater's adapter by TRL's trainers: to speeches (SFT), or to better ones against worse ones (DPO)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from pydantic import Field

from debate.config import Config
from debate.errors import SourceError
from debate.models.base import Message
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
from training.quoted_tokens import Learn, quote_labels, quoted_tokens
from training.rows import PairRow, Row, to_dataset
from training.saving import ADAPTER, save_adapter
from training.start import load_start

if TYPE_CHECKING:
    from datasets import Dataset

    from debate.models.texts import Texts

Method = Literal["sft", "dpo"]
AnyRow = Row | PairRow


class PreferenceSettings(Config):
    """Direct preference optimisation (Rafailov et al. 2023)."""

    beta: float = Field(0.1, gt=0, description="how closely the debater is held to what it was")
    loss: Literal["sigmoid", "ipo", "hinge"] = Field("sigmoid", description="of TRL's DPOTrainer")
    sft_weight: float = Field(
        0.0, ge=0, description="weight of the better speech's own loss beside it, which keeps its likelihood up"
    )


class Lengths(NamedTuple):
    """Tokens of a row: of all that is computed for it, and of what is learned."""

    all: int
    learned: int


class Settings(Protocol):
    """What is read of a configuration."""

    @property
    def method(self) -> Method: ...  # noqa: D102
    @property
    def adapter(self) -> AdapterSettings: ...  # noqa: D102
    @property
    def start(self) -> str | None: ...  # noqa: D102
    @property
    def fit(self) -> FitSettings: ...  # noqa: D102
    @property
    def dpo(self) -> PreferenceSettings: ...  # noqa: D102
    @property
    def packed(self) -> bool | None: ...  # noqa: D102
    @property
    def learn(self) -> Learn: ...  # noqa: D102
    @property
    def seed(self) -> int: ...  # noqa: D102


class RowsToFit(NamedTuple):
    """Rows that are short enough.

    Attributes:
        train: Are fitted.
        validation: Whose loss is looked at.
        lengths: Of each of ``train``.
        over: How many were too long.
    """

    train: Sequence[AnyRow]
    validation: Sequence[AnyRow]
    lengths: Sequence[Lengths]
    over: int


def replies(row: AnyRow) -> tuple[str, ...]:
    """Return what may be replied in a row: one speech, or the better and the worse one."""
    return (row.completion,) if isinstance(row, Row) else (row.chosen, row.rejected)


def lengths_of(rows: Sequence[AnyRow], texts: Texts, learn: Learn = "speech") -> list[Lengths]:
    """Count tokens of rows.

    Args:
        rows: Rows; of a pair the longer speech counts for its whole length, both for what is learned.
        texts: The tokenizer.
        learn: Whether whole speeches are learned or their quotes alone.

    Raises:
        SourceError: A reply is empty, or quotes nothing and nothing but quotes is learned.
    """
    found = []
    for row in rows:
        prompt = len(texts.prompt(row.prompt))
        if not all(reply.strip() for reply in replies(row)):
            raise SourceError(
                f"question {row.question!r}: a speech of its row is empty, so there is nothing to learn; leave it out"
            )
        said = [texts.exchange(row.prompt, reply)[prompt:].tolist() for reply in replies(row)]
        learned = sum(map(len, said)) if learn == "speech" else sum(sum(quoted_tokens(one, texts)) for one in said)
        if not learned:
            raise SourceError(f"question {row.question!r}: a speech of its row quotes nothing; leave it out")
        found.append(Lengths(prompt + max(map(len, said)), learned))
    return found


def fit_debater(rows: RowsToFit, base: Base, settings: Settings, process: Process, folder: Path) -> Fitted:
    """Fit an adapter, and save it into the run's folder; goes on from the last checkpoint there.

    Args:
        rows: The rows.
        base: The base.
        settings: Method, adapter, fit and seed.
        process: This one; every process calls this.
        folder: Of the run.

    Returns:
        What was fitted.

    Raises:
        TrainingError: A loss is not finite.
    """
    set_threads()
    dtype = dtype_of(settings.fit)
    trainer = make_trainer(rows, base, settings, process, folder, dtype=dtype)
    return run_trainer(
        trainer,
        settings.fit,
        process,
        folder,
        rows=len(rows.train),
        tokens=sum(length.all for length in rows.lengths),
        save=lambda model, state: save_adapter(model, folder / ADAPTER, state),
    )


def make_trainer(rows: RowsToFit, base: Base, settings: Settings, process: Process, folder: Path, *, dtype: Any) -> Any:
    """Make TRL's trainer of the method; where it shall be, on a model that packs what it is asked.

    Args:
        rows: The rows.
        base: The base.
        settings: Method, adapter, fit and seed.
        process: This one.
        folder: Of the run.
        dtype: Of the base.
    """
    from datasets import disable_progress_bars
    from transformers import AutoTokenizer
    from trl.trainer.dpo_config import DPOConfig
    from trl.trainer.sft_config import SFTConfig

    from debate.models import attention
    from training.packed_forward import add_packed_forward
    from training.speech_trainers import PairTrainer, SpeechTrainer

    disable_progress_bars()
    common = arguments(settings.fit, process, folder, settings.seed)
    packed = common["use_cpu"] if settings.packed is None else settings.packed
    if packed:
        attention.register()
    # Rows that are too long were left out before: nothing is ever cut off. Whatever TRL's defaults are, we decide.
    common["max_length"] = max(length.all for length in rows.lengths)
    common["gradient_checkpointing"] = settings.fit.gradient_checkpointing
    parts: dict[str, Any] = {
        "model": load_start(base, settings, dtype, attention.IMPLEMENTATION if packed else "sdpa"),
        "processing_class": AutoTokenizer.from_pretrained(str(base.folder), local_files_only=True),
        "train_dataset": _dataset(rows.train, base.texts),
        "eval_dataset": _dataset(rows.validation, base.texts) if rows.validation else None,
    }
    if settings.method == "sft":
        trainer: Any = SpeechTrainer(args=SFTConfig(**common, completion_only_loss=True), **parts)
    else:
        dpo = settings.dpo
        kinds = [dpo.loss, *(["sft"] if dpo.sft_weight else [])]
        weights = [1.0, *([dpo.sft_weight] if dpo.sft_weight else [])]
        trainer = PairTrainer(args=DPOConfig(**common, beta=dpo.beta, loss_type=kinds, loss_weights=weights), **parts)
    if settings.learn == "quotes":
        _learn_quotes(trainer, base.texts)
    if packed:
        add_packed_forward(trainer.accelerator.unwrap_model(trainer.model).get_base_model())
    return trainer


def _learn_quotes(trainer: Any, texts: Texts) -> None:
    """Take from what a trainer has made of its rows the labels outside quotes."""

    def quotes(row: Mapping[str, Any]) -> dict[str, Any]:
        return {"labels": quote_labels(row["labels"], texts)}

    trainer.train_dataset = trainer.train_dataset.map(quotes)
    if trainer.eval_dataset is not None:
        trainer.eval_dataset = trainer.eval_dataset.map(quotes)


def _dataset(rows: Sequence[AnyRow], texts: Texts) -> Dataset:
    """The rows as TRL takes them, for templates that know no system role too."""
    from training.speech_trainers import PLACE

    made = to_dataset(rows)
    made = made.add_column(PLACE, list(range(len(rows))))
    if texts.system_role:
        return made
    from debate.models.texts import without_system

    def plain(row: Mapping[str, Any]) -> dict[str, Any]:
        prompt = [Message(message["role"], message["content"]) for message in row["prompt"]]
        return {"prompt": [message._asdict() for message in without_system(prompt)]}

    return made.map(plain)
