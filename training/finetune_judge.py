"""``accelerate launch training/finetune_judge.py``: a judge is trained on debates with known answers, and measured."""

from __future__ import annotations

import asyncio
import gc
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from training.judge_measures import before_after, judge_with, measure
from training.judge_rows import JudgeReply, judge_row_set
from training.judge_fit import Fitted, Rows, fit_judge, lengths_of
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
    """All debates of a training, and the rows that are made of them."""

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
    entries = [*config.data, *config.validation, *config.measure.values()]
    parts = gather_all(entries)
    train = parts[: len(config.data)]
    held = parts[len(config.data) : len(config.data) + len(config.validation)]
    measured = parts[len(config.data) + len(config.validation) :]
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
    steps = math.ceil(len(rows.train) / config.fit.batch * config.fit.epochs)
    lines = [
        ("training rows", len(rows.train)),
        ("left out: more tokens than fit.max_length", rows.over),
        ("tokens of an epoch", rows.tokens),
        ("tokens of a row, mean", round(rows.tokens / len(rows.train))),
        ("validation rows", len(rows.validation)),
        ("steps", steps),
        ("processes", process.world),
    ]
    return Table(
        f"Plan: a {config.judge} judge on {config.base}", (Column("what"), Column("number", kind="count")), lines
    )


@dataclass(frozen=True, slots=True)
class _Judged:
    """The measured debates by name, judged before and after training."""

    before: Mapping[str, list[Recorded]]
    after: Mapping[str, list[Recorded]]

    def tables(self) -> list[Table]:
        return [before_after(self.before[name], self.after[name], title=name) for name in self.after]

    def values(self) -> dict[str, JsonValue]:
        found: dict[str, Any] = {
            name: {"before": measure(self.before[name]).values(), "after": measure(self.after[name]).values()}
            for name in self.after
        }
        return found


def judge_debates(
    config: JudgeTrainingConfig, material: Material, run: RunFolder, prompts: Prompts, adapter: Path | None
) -> dict[str, list[Recorded]]:
    """Have the judge judge the debates it is measured on: the base, or the base with the adapter."""
    if not material.measured:
        return {}
    model = ModelConfig(
        name=config.base,
        adapter=None if adapter is None else str(adapter),
        dtype=config.fit.dtype,
        device=config.fit.device,
    )
    judge = JudgeConfig(kind=config.judge, model=model)
    return asyncio.run(judge_with(judge, material.measured, prompts=prompts, store=run.store, seed=config.seed))


def open_run(config: JudgeTrainingConfig, material: Material, prompts: Prompts, invocation: Invocation) -> RunFolder:
    """Open the run's folder, new or resumed, and write the rows into it."""
    check_tracking(config.wandb)
    questions = {"rows": [question for part in material.everything for question in part.questions]}
    origin = provenance(questions, prompts.digests)
    if invocation.resume is not None:
        return RunFolder.resume(invocation.resume, config, origin)
    run = RunFolder.create(invocation.output or default_path("finetune-judge"), config, origin)
    entries: list[JsonValue] = [entry.model_dump(mode="json") for entry in config.data]
    write_rows(run.path / "rows", material.rows, kind="judge", facts={"data": entries})
    return run


def card_of(config: JudgeTrainingConfig, material: Material, fitted: Fitted, figures: Mapping[str, JsonValue]) -> Card:
    """Describe the judge that was trained."""
    facts: dict[str, JsonValue] = {
        "judge": config.judge,
        "adapter": config.adapter.model_dump(mode="json"),
        "fit": config.fit.model_dump(mode="json"),
        "seed": config.seed,
        "protocols": _count(row.tags.get("protocol", "?") for row in material.rows.rows),
        "folds": dict(material.rows.folds),
        "rows": fitted.rows,
        "steps": fitted.steps,
        "measures": dict(figures),
        "command": "accelerate launch training/finetune_judge.py --config config.yaml",
    }
    return Card(kind="judge", base=config.base, stories=material.rows.stories, data=material.rows.digest, facts=facts)


def _count(values: Any) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for value in values:
        found[value] = int(str(found.get(value, 0))) + 1
    return found


def run_finetune(config: JudgeTrainingConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    process = Process.here()
    prompts = Prompts(Path(config.prompts) if config.prompts else None)
    prompts.check()
    material = read_material(config, prompts)
    base = find_base(config.base)
    rows = select_rows(config, material, base)
    config.fit.per_pass(process.world)
    if process.main:
        print_table(counts_table(material.rows))
        print_table(plan_table(config, rows, process))
    if invocation.dry_run:
        return 0
    if not process.main:
        folder = Path(process.share(""))
        fit_judge(config.judge, rows, base, config, process, folder)
        return 0
    with open_run(config, material, prompts, invocation) as run:
        before = judge_debates(config, material, run, prompts, None)
        run.keep_models({})  # from here on what there is can be gone on with
        process.share(str(run.path))
        fitted = fit_judge(config.judge, rows, base, config, process, run.path)
        gc.collect()
        return _finish(config, material, run, prompts, base, fitted, before)


def _finish(
    config: JudgeTrainingConfig,
    material: Material,
    run: RunFolder,
    prompts: Prompts,
    base: Base,
    fitted: Fitted,
    before: Mapping[str, list[Recorded]],
) -> int:
    """Measure the trained judge by the way that everybody will use it, and leave tables, figures and its card."""
    adapter = run.path / ADAPTER
    save_card(adapter, card_of(config, material, fitted, {}))
    judged = _Judged(before, judge_debates(config, material, run, prompts, adapter))
    figures = judged.values()
    card = card_of(config, material, fitted, figures)
    save_card(adapter, card)
    if config.merge:
        save_merged(base, adapter, run.path / MERGED, card)
    tables = [counts_table(material.rows), fitted.table(), *judged.tables()]
    for table in tables[1:]:
        print_table(table)
    metrics: dict[str, Any] = {"training": fitted.values(), "measures": figures}
    run.write_json("metrics.json", metrics)
    report = Report(
        title=f"A {config.judge} judge on {config.base}",
        subtitle=f"{fitted.rows} rows, {fitted.steps} steps",
        sections=[Section("Training", tuple(tables[:2])), *(Section(table.title, (table,)) for table in tables[2:])],
    )
    write_report(report, (), run.path)
    log_run(
        config.wandb,
        run_folder=run.path,
        command="training.finetune_judge",
        settings=config.model_dump(mode="json"),
        tables=[*tables, curve(run.path / METRICS)],
        metrics=metrics,
        recorded=[],
        seed=config.seed,
    )
    sys.stdout.write(f"\nAdapter: {adapter}\nReport: {run.path / 'report.html'}\n")
    return 0


def curve(path: Path) -> Table:
    """Put the lines of ``metrics.jsonl`` into a table."""
    lines = read_metrics(path)
    names = list(dict.fromkeys(name for line in lines for name in line))
    return Table(
        "Training curve", tuple(Column(name) for name in names), [[line.get(n) for n in names] for line in lines]
    )


COMMAND = Command(
    name="training.finetune_judge",
    about="Train a judge on debates with known answers (LoRA), and measure it before and after on other stories.",
    config=JudgeTrainingConfig,
    run=run_finetune,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
