"""The folder of a training: what every training command is told, opens, and leaves behind."""

from __future__ import annotations

import math
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import Field, JsonValue

from debate.command import Invocation
from debate.config import NOT_IN_DIGEST, Config
from debate.errors import ConfigError
from debate.prompts import Prompts
from debate.provenance import provenance
from debate.question import Question
from debate.report import Column, Report, Section, Table, print_table, write_report
from debate.run_folder import RunFolder, default_path
from debate.tracking import TrackingConfig, log_run
from debate.tracking import check as check_tracking
from training.fitted import Fitted
from training.fitting import AdapterSettings, FitSettings
from training.gather import DataConfig
from training.progress import METRICS, read_metrics
from training.rows import AnyRows
from training.rows_command import counts_table
from training.rows_folder import CARD, read_digest, write_rows
from training.saving import ADAPTER

ROWS: Final = "rows"
"""The folder in a training's folder that holds what it is trained on."""


class TrainingConfig(Config):
    """What all training commands are told."""

    base: str = Field("embedded/smollm2-135m", description="embedded/smollm2-135m or hf/FOLDER-OR-ID")
    data: tuple[DataConfig, ...] = Field(min_length=1, description="debates to train on")
    validation: tuple[DataConfig, ...] = Field((), description="debates whose loss is logged, of fold validation")
    adapter: AdapterSettings = Field(AdapterSettings(), description="what is trained")
    fit: FitSettings = Field(FitSettings(), description="how")
    seed: int = Field(
        0, ge=0, description="of the adapter's first weights, of the order of rows, and of what is sampled to measure"
    )
    prompts: str | None = Field(None, description="folder whose templates take the place of the shipped ones")
    wandb: TrackingConfig = Field(TrackingConfig(), description="tracking", json_schema_extra=NOT_IN_DIGEST)

    def open_prompts(self) -> Prompts:
        """Return the templates, checked."""
        prompts = Prompts(Path(self.prompts) if self.prompts else None)
        prompts.check()
        return prompts

    def steps(self, rows: int) -> int:
        """Return how many steps so many rows take; the last batch of an epoch may be smaller."""
        return math.ceil(math.ceil(rows / self.fit.batch) * self.fit.epochs)


def open_folder(
    config: TrainingConfig,
    invocation: Invocation,
    prompts: Prompts,
    *,
    kind: str,
    rows: AnyRows,
    questions: Sequence[Question],
) -> RunFolder:
    """Open a training's folder, new or resumed; a new one gets the rows, and can be gone on with from then on.

    Args:
        config: The configuration.
        invocation: Where.
        prompts: Templates.
        kind: ``judge``, ``debater`` or ``preference``.
        rows: What is trained on.
        questions: All questions that are trained or measured on.

    Raises:
        ConfigError: What is trained on is not what the training that is gone on with began on.
        DissoiError: As of ``RunFolder``; or tracking is not possible.
    """
    check_tracking(config.wandb)
    origin = provenance({"rows": questions}, prompts.digests)
    if invocation.resume is not None:
        run = RunFolder.resume(invocation.resume, config, origin)
    else:
        run = RunFolder.create(invocation.output or default_path(f"finetune-{kind}"), config, origin)
    try:
        _keep_rows(run.path / ROWS, config, kind, rows)
    except BaseException:
        run.close()
        raise
    run.keep_models({})
    return run


def _keep_rows(folder: Path, config: TrainingConfig, kind: str, rows: AnyRows) -> None:
    """Write down what is trained on; of a training that is gone on with, hold that it is the same.

    Raises:
        ConfigError: The debates that the rows are made of, or how they are made, have changed meanwhile.
        StoreError: The rows cannot be written, or are not what was written.
    """
    if (folder / CARD).is_file():  # it is written last
        if read_digest(folder) != rows.digest:
            raise ConfigError(
                f"the rows to train on are not those in {folder}, on which the training began: debates were added to "
                "a run, or the code that makes rows is another; start a new training"
            )
        return
    shutil.rmtree(folder, ignore_errors=True)
    entries: list[JsonValue] = [entry.model_dump(mode="json") for entry in config.data]
    write_rows(folder, rows, kind=kind, facts={"data": entries})


def facts_of(
    config: TrainingConfig, kind: str, rows: AnyRows, fitted: Fitted, figures: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """Return what the card of every trained adapter says.

    Args:
        config: The configuration.
        kind: As for ``open_folder``.
        rows: What was trained on.
        fitted: How it went.
        figures: What was measured.
    """
    return {
        "adapter": config.adapter.model_dump(mode="json"),
        "fit": config.fit.model_dump(mode="json"),
        "seed": config.seed,
        "sources": dict(rows.kept),
        "protocols": count_tags(rows, "protocol"),
        "folds": dict(rows.folds),
        "rows": fitted.rows,
        "steps": fitted.steps,
        "measures": dict(figures),
        "command": f"accelerate launch training/finetune_{kind}.py --config config.yaml",
    }


def count_tags(rows: AnyRows, tag: str) -> dict[str, JsonValue]:
    """Count rows by a tag."""
    return dict(Counter(row.tags.get(tag, "unknown") for row in rows.rows))


def leave(
    config: TrainingConfig,
    run: RunFolder,
    *,
    command: str,
    title: str,
    rows: AnyRows,
    fitted: Fitted,
    tables: Sequence[Table],
    figures: Mapping[str, Any],
) -> None:
    """Print, write and track what came of a training.

    Args:
        config: The configuration.
        run: Its folder.
        command: The command's name.
        title: Of the report.
        rows: What was trained on.
        fitted: How it went.
        tables: What was measured, in order.
        figures: The same as plain values.
    """
    shown = [fitted.table(), *tables]
    for table in shown:
        print_table(table)
    metrics: dict[str, Any] = {"training": fitted.values(), "measures": dict(figures)}
    run.write_json("metrics.json", metrics)
    report = Report(
        title=title,
        subtitle=f"{fitted.rows} rows, {fitted.steps} steps",
        sections=[Section("Rows", (counts_table(rows),)), *(Section(table.title, (table,)) for table in shown)],
    )
    write_report(report, (), run.path)
    log_run(
        config.wandb,
        run_folder=run.path,
        command=command,
        settings=config.model_dump(mode="json"),
        tables=[*shown, curve(run.path / METRICS)],
        metrics=metrics,
        recorded=[],
        seed=config.seed,
    )
    sys.stdout.write(f"\nAdapter: {run.path / ADAPTER}\nReport: {run.path / 'report.html'}\n")


def curve(path: Path) -> Table:
    """Put the lines of ``metrics.jsonl`` into a table."""
    lines = read_metrics(path)
    names = list(dict.fromkeys(name for line in lines for name in line))
    rows = [[line.get(name) for name in names] for line in lines]
    return Table("Training curve", tuple(Column(name) for name in names), rows)
