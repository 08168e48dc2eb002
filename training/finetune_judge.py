"""``accelerate launch training/finetune_judge.py``: a judge is trained on debates with known answers, and measured."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from pydantic import Field, JsonValue

from debate.agents.judge import JudgeConfig
from debate.card import Card, check_judge_unseen, check_unseen
from debate.command import Command, Invocation
from debate.config import NOT_IN_DIGEST
from debate.models.load import ModelConfig
from debate.prompts import Prompts
from debate.record import Recorded
from debate.report import Column, Table, print_table
from debate.run_folder import RunFolder
from training.baseline import marks_baseline
from training.fitted import Fitted
from training.fitting import (
    Base,
    Process,
    cut_long,
    find_base,
)
from training.folder import TrainingConfig, facts_of, leave, open_folder
from training.gather import DataConfig, Gathered, gather_all
from training.judge_fit import Rows, fit_judge, lengths_of
from training.judge_measures import before_after, judge_with, measure
from training.judge_rows import JudgeReply, judge_row_set
from training.rows import Row, RowSet, check_fold
from training.rows_command import counts_table
from training.saving import ADAPTER, MERGED, save_card, save_merged
from training.start import adapter_facts, cards_from, with_start

KIND: Final = "judge"


class JudgeTrainingConfig(TrainingConfig):
    """How a judge is trained."""

    judge: JudgeReply = Field(
        "letter",
        description="letter: it replies with the answer's letter; reason: it learns recorded reasoning that "
        "ended right",
    )
    start: str | None = Field(None, min_length=1, description="a judge's adapter to go on from; none for a new one")
    data: tuple[DataConfig, ...] = Field(min_length=1, description="debates to train on, of the fold")
    fold: Literal["judge", "debater"] = Field(
        "judge",
        description="of the stories that it is trained on; debater is for a judge that is held out, which never judges "
        "what debaters are trained on",
    )
    measure: dict[str, DataConfig] = Field(
        {}, description="debates that it judges before and after training, by a name; on stories it is not trained on"
    )
    mass_weight: float = Field(
        1.0, ge=0, description="of a letter judge: weight in the loss of -log(probability of all letters together)"
    )
    merge: bool = Field(
        default=False, description="also save base and adapter as one model", json_schema_extra=NOT_IN_DIGEST
    )


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
    check_fold(rows, config.fold)
    validation = judge_row_set(held, prompts, config.judge) if held else None
    if validation is not None:
        check_fold(validation, "validation")
    own = Card(kind=KIND, base=config.base, stories=rows.stories, data=rows.digest)
    questions = [question for part in (*held, *measured) for question in part.questions]
    for card in cards_from(config.start, own):
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
        ("steps", config.steps(len(rows.train))),
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

    def judge(self, run: RunFolder, adapter: str | None) -> Judged:
        """Have the base, with an adapter or without, judge what is measured, by the way that everybody uses."""
        if not self.material.measured:
            return {}
        fit = self.config.fit
        model = ModelConfig(name=self.config.base, adapter=adapter, dtype=fit.dtype, device=fit.device)
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
        facts = {"judge": config.judge, "start": config.start, **facts_of(config, KIND, rows, fitted, figures)}
        facts["adapter"] = adapter_facts(config)
        own = Card(kind=KIND, base=config.base, stories=rows.stories, data=rows.digest, facts=facts)
        return with_start(config.start, own)

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
    prompts = config.open_prompts()
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
    questions = [question for part in training.material.everything for question in part.questions]
    with open_folder(config, invocation, prompts, kind=KIND, rows=training.material.rows, questions=questions) as run:
        before = training.judge(run, config.start)
        process.share(str(run.path))
        fitted = fit_judge(rows, training.base, config, process, run.path)
        gc.collect()  # the trained model goes before its adapter is loaded anew
        return finish(training, run, fitted, before)


def finish(training: Training, run: RunFolder, fitted: Fitted, before: Judged) -> int:
    """Measure the trained judge, and leave tables, figures and its card."""
    adapter = run.path / ADAPTER
    save_card(adapter, training.card(fitted, {}))
    after = training.judge(run, str(adapter))
    figures: dict[str, Any] = {
        name: {"before": measure(before[name]).values(), "after": measure(after[name]).values()} for name in after
    }
    card = training.card(fitted, figures)
    save_card(adapter, card)
    if training.config.merge:
        save_merged(training.base, adapter, run.path / MERGED, card)
    baseline = training.baseline()
    measured = [before_after(before[name], after[name], title=name) for name in after]
    leave(
        training.config,
        run,
        command=COMMAND.name,
        title=f"A {training.config.judge} judge on {training.config.base}",
        rows=training.material.rows,
        fitted=fitted,
        tables=[*measured, *([] if baseline is None else [baseline])],
        figures=figures,
    )
    return 0


COMMAND = Command(
    name="training.finetune_judge",
    about="Train a judge on debates with known answers (LoRA), and measure it before and after on other stories.",
    config=JudgeTrainingConfig,
    run=run_finetune,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
