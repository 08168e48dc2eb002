"""A session of a command that asks models: what it checks and opens, what it leaves in the run folder, how it ends."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from debate.card import check_judge_unseen
from debate.command import Invocation
from debate.errors import ConfigError
from debate.extensions import extension_digests
from debate.folds import check_folds
from debate.metrics.accuracy import final_verdicts, unparsed
from debate.models.limits import Budget, Meter
from debate.models.load import Models, check_access, check_labels
from debate.prompts import Prompts
from debate.provenance import provenance
from debate.question import Question
from debate.record import Recorded, to_json
from debate.report import DebatePage, Page, Report, Section, Table, print_table, write_report
from debate.run_folder import RunFolder, default_path
from debate.tracking import check as check_tracking
from debate.tracking import log_run
from tournaments.config import SessionConfig
from tournaments.few_shot import examples_digests
from tournaments.held import Held
from tournaments.optimizing import check_uses
from tournaments.plan import Plan

T = TypeVar("T")

#: Debates that get a page of the report. Nobody reads more, and a hundred thousand take minutes and gigabytes.
MOST_PAGES = 10_000


class Session:
    """One session of a command.

    Whatever can be found wrong is found before there is a run folder, which a second try would find in its way.

    Args:
        command: The command's name, such as "tournaments.swiss".
        config: Its configuration.
        invocation: What the command line asked for beside it.

    Attributes:
        prompts: The templates, checked.
        meter: Calls, tokens and cost, those of earlier sessions included once the run is open.

    Raises:
        PromptError: A template is malformed.
        ConfigError: A price is missing for a budget, or two models have one label.
    """

    def __init__(self, command: str, config: SessionConfig, invocation: Invocation) -> None:
        self.prompts = Prompts(Path(config.prompts) if config.prompts else None)
        self.prompts.check()
        self._command = command
        self._config = config
        self._invocation = invocation
        self._started = time.monotonic()
        self._budget = Budget(**config.budget.model_dump())
        self.meter = Meter(self._budget, config.price_table)
        check_labels(config.models)
        self.meter.require_prices({model.label for model in config.models})

    @property
    def seconds(self) -> float:
        """Time since the session began."""
        return time.monotonic() - self._started

    def check(self, data: Mapping[str, Sequence[Question]]) -> None:
        """Hold what must hold of the questions before anything is asked.

        Args:
            data: The questions by what they are used for.

        Raises:
            ConfigError: Two questions have one id, or a reward model is to speak or to judge, or another to reward.
            FoldError: A story is in two folds, or a judge was trained on one that it would score.
        """
        questions = [question for group in data.values() for question in group]
        check_uses(self._config.models, self._config.reward_models)
        check_ids(questions)
        check_folds(questions)
        for model in self._config.judge_models:
            check_judge_unseen(model, questions)

    def show_plan(self, plan: Plan, notes: Sequence[str], data: Mapping[str, Sequence[Question]]) -> int:
        """Check what a run would check, and print its plan, as ``--dry-run`` asks.

        Args:
            plan: The plan.
            notes: What the user must know of it.
            data: The questions by what they are used for.

        Returns:
            The exit code.

        Raises:
            DissoiError: See ``check``.
        """
        self.check(data)
        print_table(plan.table())
        cost = plan.cost(self._config.price_table)
        sys.stdout.write(f"Cost: {'unknown (no price given)' if cost is None else f'about ${cost:.2f}'}\n")
        _write_notes(notes)
        return 0

    def open(self, data: Mapping[str, Sequence[Question]], recorded: Sequence[Recorded] | None = None) -> RunFolder:
        """Open the run folder, new or resumed.

        Args:
            data: The questions by what they are used for.
            recorded: The debates that are judged again, with the verdicts that came with them; None where debates are
                held.

        Returns:
            The folder; close it, or use it as a context.

        Raises:
            DissoiError: See ``check``; or a model, a key or wandb cannot be had, or the folder cannot be made.
        """
        config = self._config
        self.check(data)
        for model in config.models:
            check_access(model)
        check_tracking(config.wandb)
        shown = {**self.prompts.digests, **examples_digests(config.example_files)}
        origin = provenance(data, shown, extension_digests(config.kinds), recorded)
        if self._invocation.resume is not None:
            run = RunFolder.resume(self._invocation.resume, config, origin)
        else:
            path = self._invocation.output or default_path(self._command.rpartition(".")[2])
            run = RunFolder.create(path, config, origin)
        for warning in run.warnings:
            sys.stderr.write(f"{self._command}: {warning}\n")
        self.meter = Meter(self._budget, config.price_table, earlier=run.store.usage())
        return run

    def ask(self, run: RunFolder, work: Callable[[Models], Awaitable[T]]) -> T:
        """Do what asks models, and close them whatever happens.

        Args:
            run: The open run.
            work: Given the run's models, does the work.

        Returns:
            What the work returns.
        """
        found: list[T] = []

        async def main() -> None:
            models = Models(run.store, self.meter)
            try:
                # Not returned: where the main task ends, Python writes out its result to look for a signal's handler
                # of that name, which of very many debates takes a minute and gigabytes.
                found.append(await work(models))
            finally:
                await models.close()

        asyncio.run(main())
        return found[0]

    def finish(
        self,
        run: RunFolder,
        report: Report,
        metrics: Mapping[str, object],
        recorded: Sequence[Recorded],
        *,
        by_judge: Mapping[str, Sequence[Recorded]] | None = None,
        analyse: bool = False,
    ) -> int:
        """Leave metrics and report in the run folder, print the tables, track the run, and say whether it failed.

        Args:
            run: The open run.
            report: What was found.
            metrics: The same as plain values.
            recorded: All debates.
            by_judge: Debates with the verdicts of each judge that was asked, where they do not hold those alone.
            analyse: Whether the report gets the analysis of judges and arguments too.

        Returns:
            The exit code: 1 where too many verdicts are unparsed or too many debates failed.
        """
        shown = spread(recorded, MOST_PAGES)
        pages = (DebatePage(item.debate, item.verdicts) for item in shown)
        judged = recorded.turnless() if isinstance(recorded, Held) else recorded
        failures = check_quality(self._config, judged) if by_judge is None else []
        for judge, items in (by_judge or {}).items():
            failures += [f"judge {judge}: {failure}" for failure in check_quality(self._config, items)]
        report = with_page_note(report, len(shown), len(recorded))
        more: list[Section] = []
        if analyse:
            from tournaments.overview import analysis_of_run

            more = analysis_of_run(run.path, recorded)
        return self.conclude(run, report, metrics, pages, failures=failures, recorded=recorded, more=more)

    def conclude(
        self,
        run: RunFolder,
        report: Report,
        metrics: Mapping[str, object],
        pages: Iterable[Page],
        *,
        failures: Sequence[str],
        recorded: Sequence[Recorded] = (),
        more: Sequence[Section] = (),
    ) -> int:
        """Do what ``finish`` does for whatever has pages, discussions among it.

        Args:
            run: The open run.
            report: What was found.
            metrics: The same as plain values.
            pages: The pages of the report, read once.
            failures: Why the run fails; none if it does not.
            recorded: Debates that tracking draws transcripts from.
            more: Sections that the report shows behind its own, and that are neither printed nor tracked.

        Returns:
            The exit code: 1 where there are failures.
        """
        tables = [block for section in report.sections for block in section.blocks if isinstance(block, Table)]
        run.write_json("metrics.json", {**metrics, "seconds": self.seconds})
        write_report(dataclasses.replace(report, sections=(*report.sections, *more)), pages, run.path)
        _write_notes(report.notes)
        for table in tables:
            print_table(table)
        sys.stdout.write(f"\nReport: {run.path / 'report.html'}\n")
        self.track(run, tables, metrics, recorded)
        for failure in failures:
            sys.stderr.write(f"{self._command}: {failure}\n")
        return 1 if failures else 0

    def track(
        self, run: RunFolder, tables: Sequence[Table], metrics: Mapping[str, object], recorded: Sequence[Recorded]
    ) -> None:
        """Track a finished run in Weights & Biases, where the configuration says so."""
        log_run(
            self._config.wandb,
            run_folder=run.path,
            command=self._command,
            settings=self._config.model_dump(mode="json"),
            tables=tables,
            metrics=metrics,
            recorded=recorded,
            seed=self._config.seed,
        )


def spread(recorded: Sequence[T], most: int) -> Sequence[T]:
    """Choose debates evenly spread over a run, in order; all where there are no more than ``most``."""
    count = len(recorded)
    return recorded if count <= most else [recorded[place * count // most] for place in range(most)]


def with_page_note(report: Report, shown: int, count: int) -> Report:
    """Say in a report that only so many of its debates have a page, where that is so."""
    if shown == count:
        return report
    note = (
        f"{shown:,} of the {count:,} debates have a page, evenly spread over the run; all of them are in debates.jsonl."
    )
    return dataclasses.replace(report, notes=(*report.notes, note))


def check_ids(questions: Sequence[Question]) -> None:
    """Hold that an id means one question: debates and verdicts are kept by it.

    Raises:
        ConfigError: Two questions have one id.
    """
    known: dict[str, Question] = {}
    for question in questions:
        other = known.setdefault(question.id, question)
        if (other.text, other.answers, other.story) != (question.text, question.answers, question.story):
            raise ConfigError(
                f"{other.source!r} and {question.source!r} both have a question {question.id!r}, and not the same one; "
                "give every question an id of its own, or leave the ids out"
            )


def write_debates(run: RunFolder, recorded: Sequence[Recorded]) -> None:
    """Write ``debates.jsonl``, a line for each debate with its verdicts."""
    run.write_lines("debates.jsonl", recorded.lines() if isinstance(recorded, Held) else map(to_json, recorded))


def check_quality(config: SessionConfig, recorded: Iterable[Recorded]) -> list[str]:
    """Say why a run fails: too many unparsed verdicts or failed debates, with examples; empty if it does not."""
    debates, verdicts = 0, 0
    lost: list[str] = []
    failed: list[str] = []
    for item in recorded:
        debates += 1
        verdicts += len(final_verdicts(item))
        lost += [str(verdict.unparsed) for verdict in unparsed([item])]
        failed += [] if item.debate.failed is None else [item.debate.failed]
    found = []
    if verdicts and len(lost) / verdicts > config.max_unparsed:
        examples = "; ".join(dict.fromkeys(lost[:3]))
        found.append(
            f"{len(lost)} of {verdicts} verdicts are unparsed, more than max_unparsed {config.max_unparsed:g}: "
            f"{examples}"
        )
    if debates and len(failed) / debates > config.max_failed:
        examples = "; ".join(dict.fromkeys(failed[:3]))
        found.append(
            f"{len(failed)} of {debates} debates failed, more than max_failed {config.max_failed:g}: {examples}"
        )
    return found


def why_unrated(recorded: Sequence[Recorded]) -> str:
    """Why no debate has a verdict, where none has one: up to three reasons."""
    reasons = [str(item.debate.failed) for item in recorded if item.debate.failed is not None]
    reasons += [str(verdict.unparsed) for verdict in unparsed(recorded)]
    return "; ".join(list(dict.fromkeys(reasons))[:3])


def _write_notes(notes: Sequence[str]) -> None:
    for note in notes:
        sys.stdout.write(f"Note: {note}\n")
