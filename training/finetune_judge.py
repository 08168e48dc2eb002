"""``accelerate launch training/finetune_judge.py``: a judge is trained on debates with known answers, and measured."""

from __future__ import annotations

import asyncio
import gc
import math
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, JsonValue

from debate.agents.judge import JudgeConfig
from debate.card import Card, check_judge_unseen, check_unseen
from debate.command import Command, Invocation
from debate.config import NOT_IN_DIGEST, Config
from debate.models.load import ModelConfig
from debate.prompts import Prompts
from debate.provenance import provenance
from debate.record import Recorded
from debate.report import Column, Report, Section, Table, print_table, write_report
from debate.run_folder import RunFolder, default_path
from debate.tracking import TrackingConfig, log_run
from debate.tracking import check as check_tracking
from training.baseline import marks_baseline
from training.fitting import (
    METRICS,
    AdapterSettings,
    Base,
    FitSettings,
    Process,
    cut_long,
    find_base,
    read_metrics,
)
from training.gather import DataConfig, Gathered, gather_all
from training.judge_fit import Fitted, Rows, fit_judge, lengths_of
from training.judge_measures import before_after, judge_with, measure
from training.judge_rows import JudgeReply, judge_row_set
from training.rows import Row, RowSet, check_fold, write_rows
from training.rows_command import counts_table
from training.saving import ADAPTER, MERGED, save_card, save_merged


class JudgeTrainingConfig(Config):
    """How a judge is trained."""

    base: str = Field("embedded/smollm2-135m", description="embedded/smollm2-135m or hf/FOLDER-OR-ID")
    judge: JudgeReply = Field(
        "letter",
        description="letter: it replies with the answer's letter; reason: it learns recorded reasoning that "
        "ended right",
    )
    data: tuple[DataConfig, ...] = Field(min_length=1, description="debates to train on, of fold judge")
    validation: tuple[DataConfig, ...] = Field((), description="debates whose loss is logged, of fold validation")
    measure: dict[str, DataConfig] = Field(
        {}, description="debates that it judges before and after training, by a name; on stories it is not trained on"
    )
    adapter: AdapterSettings = Field(AdapterSettings(), description="what is trained")
    fit: FitSettings = Field(FitSettings(), description="how")
    mass_weight: float = Field(
        1.0, ge=0, description="of a letter judge: weight in the loss of -log(probability of all letters together)"
    )
    seed: int = Field(0, ge=0, description="of the adapter's first weights and of the order of rows")
    merge: bool = Field(
        default=False, description="also save base and adapter as one model", json_schema_extra=NOT_IN_DIGEST
    )
    prompts: str | None = Field(None, description="folder whose templates take the place of the shipped ones")
    wandb: TrackingConfig = Field(TrackingConfig(), description="tracking", json_schema_extra=NOT_IN_DIGEST)


class Material(NamedTuple):
    """All debates of a training, and the rows that are made of them.

    Attributes:
        train: The debates trained on.
        rows: Their rows.
        validation: Rows whose loss is logged, or None.
        measured: Debates by the name of their set, as the judge is shown them.
        everything: All debates, for provenance.
    """

    train: list[Gathered]
    rows: RowSet[Row]
    validation: RowSet[Row] | None
    measured: dict[str, tuple[Recorded, ...]]
    everything: list[Gathered]


def read_material(config: JudgeTrainingConfig, prompts: Prompts) -> Material:
    """Gather debates and make rows, and hold that no story is where it must not be.

    Raises:
        DissoiError: Data cannot be had; a row is of a fold it must not be of; a measured story is trained on.
    """
    parts = gather_all([*config.data, *config.validation, *config.measure.values()])
    held_at, measured_at = len(config.data), len(config.data) + len(config.validation)
    train, held, measured = parts[:held_at], parts[held_at:measured_at], parts[measured_at:]
    rows = judge_row_set(train, prompts, config.judge)
    check_fold(rows, "judge")
    validation = judge_row_set(held, prompts, config.judge) if held else None
    if validation is not None:
        check_fold(validation, "validation")
    card = Card(kind="judge", base=config.base, stories=rows.stories, data=rows.digest)
    questions = [question for part in (*held, *measured) for question in part.questions]
    check_unseen(card, questions, who="the judge that this configuration trains")
    check_judge_unseen(ModelConfig(name=config.base), questions)
    by_name = {name: part.shown for name, part in zip(config.measure, measured, strict=True)}
    return Material(train, rows, validation, by_name, parts)


def select_rows(config: JudgeTrainingConfig, material: Material, base: Base) -> Rows:
    """Leave out rows that are too long.

    Raises:
        SourceError: They are too many, or fewer than a batch are left.
    """
    lengths = lengths_of(material.rows.rows, base.texts, config.judge)
    cut = cut_long(lengths, config.fit, base, "training")
    kept = [material.rows.rows[place] for place in cut.kept]
    tokens = sum(lengths[place] for place in cut.kept)
    held: list[Row] = []
    if material.validation is not None:
        held = list(material.validation.rows)
        fits = cut_long(lengths_of(held, base.texts, config.judge), config.fit, base, "validation")
        held = [held[place] for place in fits.kept]
    return Rows(kept, held, tokens, cut.over)


def plan_table(config: JudgeTrainingConfig, rows: Rows, process: Process) -> Table:
    """Say what will be trained."""
    lines = [
        ("training rows", len(rows.train)),
        ("left out: more tokens than fit.max_length", rows.over),
        ("tokens of an epoch", rows.tokens),
        ("tokens of a row, mean", round(rows.tokens / len(rows.train))),
        ("validation rows", len(rows.validation)),
        ("steps", math.ceil(math.ceil(len(rows.train) / config.fit.batch) * config.fit.epochs)),
        ("processes", process.world),
    ]
    columns = (Column("what"), Column("number", kind="count"))
    return Table(f"Plan: a {config.judge} judge on {config.base}", columns, lines)


Judged = Mapping[str, list[Recorded]]
"""The measured debates by the name of their set, with the verdicts of one judge."""


class Training(NamedTuple):
    """One training, all of its data read."""

    config: JudgeTrainingConfig
    prompts: Prompts
    material: Material
    base: Base

    def open(self, invocation: Invocation) -> RunFolder:
        """Open the run's folder, new or resumed, and write the rows into it."""
        check_tracking(self.config.wandb)
        questions = {"rows": [question for part in self.material.everything for question in part.questions]}
        origin = provenance(questions, self.prompts.digests)
        if invocation.resume is not None:
            return RunFolder.resume(invocation.resume, self.config, origin)
        run = RunFolder.create(invocation.output or default_path("finetune-judge"), self.config, origin)
        entries: list[JsonValue] = [entry.model_dump(mode="json") for entry in self.config.data]
        write_rows(run.path / "rows", self.material.rows, kind="judge", facts={"data": entries})
        run.keep_models({})  # from here on the folder can be gone on with
        return run

    def judge(self, run: RunFolder, adapter: Path | None) -> Judged:
        """Have the base, with the adapter or without, judge what is measured, by the way that everybody uses."""
        if not self.material.measured:
            return {}
        fit = self.config.fit
        folder = None if adapter is None else str(adapter)
        model = ModelConfig(name=self.config.base, adapter=folder, dtype=fit.dtype, device=fit.device)
        asked = judge_with(
            JudgeConfig(kind=self.config.judge, model=model),
            self.material.measured,
            prompts=self.prompts,
            store=run.store,
            seed=self.config.seed,
        )
        return asyncio.run(asked)

    def card(self, fitted: Fitted, figures: Mapping[str, JsonValue]) -> Card:
        """Describe the judge that was trained."""
        config, rows = self.config, self.material.rows
        facts: dict[str, JsonValue] = {
            "judge": config.judge,
            "adapter": config.adapter.model_dump(mode="json"),
            "fit": config.fit.model_dump(mode="json"),
            "seed": config.seed,
            "protocols": dict(Counter(row.tags.get("protocol", "?") for row in rows.rows)),
            "folds": dict(rows.folds),
            "rows": fitted.rows,
            "steps": fitted.steps,
            "measures": dict(figures),
            "command": "accelerate launch training/finetune_judge.py --config config.yaml",
        }
        return Card(kind="judge", base=config.base, stories=rows.stories, data=rows.digest, facts=facts)

    def baseline(self) -> Table | None:
        """Measure what marks and counts alone tell of the measured debates."""
        train = [item for part in self.material.train for item in part.shown]
        lines = [(name, marks_baseline(train, items)) for name, items in self.material.measured.items()]
        if not lines:
            return None
        note = "A logistic regression on counts of marks, words and overlaps, fitted on the training debates."
        return Table("Baseline", (Column("debates"), Column("accuracy", kind="share")), lines, note=note)


def run_finetune(config: JudgeTrainingConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    process = Process.here()
    prompts = Prompts(Path(config.prompts) if config.prompts else None)
    prompts.check()
    training = Training(config, prompts, read_material(config, prompts), find_base(config.base))
    rows = select_rows(config, training.material, training.base)
    config.fit.per_pass(process.world)
    if process.main:
        print_table(counts_table(training.material.rows))
        print_table(plan_table(config, rows, process))
    if invocation.dry_run:
        return 0
    if not process.main:
        fit_judge(rows, training.base, config, process, Path(process.share("")))
        return 0
    with training.open(invocation) as run:
        before = training.judge(run, None)
        process.share(str(run.path))
        fitted = fit_judge(rows, training.base, config, process, run.path)
        gc.collect()  # the trained model goes before its adapter is loaded anew
        return finish(training, run, fitted, before)


def finish(training: Training, run: RunFolder, fitted: Fitted, before: Judged) -> int:
    """Measure the trained judge, and leave tables, figures and its card."""
    adapter = run.path / ADAPTER
    save_card(adapter, training.card(fitted, {}))
    after = training.judge(run, adapter)
    figures: dict[str, Any] = {
        name: {"before": measure(before[name]).values(), "after": measure(after[name]).values()} for name in after
    }
    card = training.card(fitted, figures)
    save_card(adapter, card)
    if training.config.merge:
        save_merged(training.base, adapter, run.path / MERGED, card)
    baseline = training.baseline()
    measured = [before_after(before[name], after[name], title=name) for name in after]
    tables = [fitted.table(), *measured, *([] if baseline is None else [baseline])]
    for table in tables:
        print_table(table)
    metrics: dict[str, Any] = {"training": fitted.values(), "measures": figures}
    run.write_json("metrics.json", metrics)
    report = Report(
        title=f"A {training.config.judge} judge on {training.config.base}",
        subtitle=f"{fitted.rows} rows, {fitted.steps} steps",
        sections=[Section("Rows", (counts_table(training.material.rows),))]
        + [Section(table.title, (table,)) for table in tables],
    )
    write_report(report, (), run.path)
    log_run(
        training.config.wandb,
        run_folder=run.path,
        command=COMMAND.name,
        settings=training.config.model_dump(mode="json"),
        tables=[*tables, curve(run.path / METRICS)],
        metrics=metrics,
        recorded=[],
        seed=training.config.seed,
    )
    sys.stdout.write(f"\nAdapter: {adapter}\nReport: {run.path / 'report.html'}\n")
    return 0


def curve(path: Path) -> Table:
    """Put the lines of ``metrics.jsonl`` into a table."""
    lines = read_metrics(path)
    names = list(dict.fromkeys(name for line in lines for name in line))
    rows = [[line.get(name) for name in names] for line in lines]
    return Table("Training curve", tuple(Column(name) for name in names), rows)


COMMAND = Command(
    name="training.finetune_judge",
    about="Train a judge on debates with known answers (LoRA), and measure it before and after on other stories.",
    config=JudgeTrainingConfig,
    run=run_finetune,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
