"""``python -m tournaments.concessions``: a judge finds the speakers of recorded debates who give their side away."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from debate.agents.judge import Judge, JudgeConfig, build_judge, letter_prompt
from debate.command import Command, Invocation
from debate.errors import ConfigError, DissoiError, ModelError, SourceError
from debate.metrics.accuracy import accuracy
from debate.metrics.concessions import (
    Concession,
    alone,
    concession_rates,
    read_concession,
    speakers,
    without_concessions,
)
from debate.models.load import ModelConfig, Models, TokenCounter
from debate.progress import Progress
from debate.prompts import Prompts
from debate.question import Fold
from debate.record import Debate, Recorded
from debate.report import Column, Report, Section, Table
from debate.run_folder import RunFolder
from debate.store import Store
from debate.together import together
from tournaments.calls import Calls, judging_calls
from tournaments.config import SessionConfig
from tournaments.gather import choose_debates, gather, read_sources
from tournaments.judged import by_judge, speaks
from tournaments.matches import judge_debate
from tournaments.metrics import interval
from tournaments.plan import Plan
from tournaments.session import Session, why_unrated
from tournaments.tables import cost_table

FILE = "concessions.jsonl"


class ConcessionsConfig(SessionConfig):
    """Which debates are read for concessions, and by whom."""

    sources: tuple[str, ...] = Field((), description="run folders (DIR or run:DIR), published debates (nyu:FILE)")
    judge: JudgeConfig = Field(description="who reads; it is asked for whom each speaker argues")
    limit: int | None = Field(None, ge=1, description="about so many debates, spread over the stories")
    fold: Fold | None = Field(None, description="only debates on stories of this fold")

    @property
    def models(self) -> list[ModelConfig]:
        """The judge's model."""
        return [] if self.judge.model is None else [self.judge.model]

    @property
    def judge_models(self) -> list[ModelConfig]:
        """The same: a reader that recalls the story knows the answer, whatever is said."""
        return self.models

    @property
    def kinds(self) -> list[str]:
        """The kind of the judge."""
        return [self.judge.kind]


def read_debates(config: ConcessionsConfig) -> list[Recorded]:
    """Read the debates in which somebody speaks.

    Raises:
        DissoiError: There is no source, one cannot be read, or nothing is left of them.
    """
    if not config.sources:
        raise ConfigError("no sources; name run folders, or nyu:FILE, as arguments (see --help)")
    gathered = gather(read_sources(config.sources))
    chosen = choose_debates(gathered.recorded, fold=config.fold, limit=config.limit, seed=config.seed)
    spoken = [item for item in chosen if speaks(item)]
    if not spoken:
        raise SourceError("in none of these debates anybody speaks; give others")
    return spoken


def parts_of(recorded: Sequence[Recorded]) -> list[Debate]:
    """What each speaker of each debate said by itself."""
    return [alone(item.debate, answer) for item in recorded for answer in speakers(item.debate)]


def plan_concessions(config: ConcessionsConfig, parts: Sequence[Debate]) -> Plan:
    """Count what the judge will take; a speaker's part is read in both orders."""
    model = config.judge.model
    if model is None:
        return Plan(len(parts), 0, 0, {}, {}, {})
    count, prompts = TokenCounter(model), Prompts(Path(config.prompts) if config.prompts else None)
    read = [count(letter_prompt(part.transcript.view(), prompts, "concession")) for part in parts]
    calls: Calls = judging_calls(config.judge, 2 * len(parts), sum(read) // len(read))
    return Plan(len(parts), 0, 0, {model.label: calls}, {}, {})


async def ask(
    config: ConcessionsConfig,
    parts: Sequence[Debate],
    plan: Plan,
    *,
    session: Session,
    run: RunFolder,
    models: Models,
) -> list[Recorded]:
    """Have the judge read every speaker's part in both orders."""
    model = None if config.judge.model is None else models.get(config.judge.model)
    judge = build_judge(config.judge, model, session.prompts, "concession")
    run.keep_models(models.facts)
    with Progress("concessions", len(parts), plan.total_calls, session.meter) as progress:

        async def read(part: Debate) -> Recorded:
            found = await _judged(part, judge, run.store, config.seed)
            progress.advance()
            return found

        return await together((read(part) for part in parts), asyncio.Semaphore(config.concurrency))


async def _judged(part: Debate, judge: Judge, store: Store, seed: int) -> Recorded:
    try:
        return Recorded(part, await judge_debate(part, judge, store, seed=seed))
    except ModelError as error:
        return Recorded(dataclasses.replace(part, failed=str(error)), ())


@dataclass(frozen=True, slots=True)
class Found:
    """What was found.

    Attributes:
        recorded: The debates, with whatever verdicts they came with.
        concessions: One for each speaker.
    """

    recorded: Sequence[Recorded]
    concessions: Sequence[Concession]

    def players_table(self) -> Table:
        """How often each player gives its side away."""
        rates = concession_rates(self.concessions)
        rows = [(name, rate.n, rate) for name, rate in rates.items()]
        columns = (Column("player"), Column("speakers", kind="count"), Column("concedes", kind="share"))
        note = (
            "The judge reads all that one speaker said, without the opponent, the seat or the names, and is asked for "
            "which answer it argues. It concedes where the judge names the other answer in both orders. Intervals are "
            "95 %, robust by story."
        )
        return Table("Concessions", columns, rows, note=note)

    def accuracy_table(self) -> Table | None:
        """How often the judges who judged the debates were right, with and without concessions; None without any."""
        left = {item.debate.id for item in without_concessions(self.recorded, self.concessions)}
        rows = []
        for judge, items in by_judge(self.recorded).items():
            kept = [item for item in items if item.debate.id in left]
            rows.append((judge, len(items), accuracy(items).single, len(kept), accuracy(kept).single))
        if not rows:
            return None
        columns = (
            Column("judge"),
            Column("debates", kind="count"),
            Column("right", kind="share"),
            Column("without concessions", kind="count"),
            Column("right without", kind="share"),
        )
        return Table("Accuracy with and without concessions", columns, rows)

    def metrics(self) -> dict[str, object]:
        """The same as plain values."""
        left = {item.debate.id for item in without_concessions(self.recorded, self.concessions)}
        return {
            "players": {name: interval(rate) for name, rate in concession_rates(self.concessions).items()},
            "judges": {
                judge: {
                    "accuracy": interval(accuracy(items).single),
                    "accuracy_without": interval(accuracy([one for one in items if one.debate.id in left]).single),
                }
                for judge, items in by_judge(self.recorded).items()
            },
        }


def read_concessions(folder: Path) -> list[Concession]:
    """Read what a run of this command has found.

    Raises:
        SourceError: It cannot be read.
    """
    try:
        lines = (folder / FILE).read_text(encoding="utf-8").splitlines()
        return [Concession(**json.loads(line)) for line in lines]
    except (OSError, ValueError, TypeError) as error:
        raise SourceError(f"cannot read {folder / FILE}: {error}; give the folder of a finished run") from error


def run_concessions(config: ConcessionsConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    session = Session("tournaments.concessions", config, invocation)
    recorded = read_debates(config)
    parts = parts_of(recorded)
    plan = plan_concessions(config, parts)
    data = {"debates": [item.debate.transcript.question for item in recorded]}
    questions = {name: list({one.id: one for one in of}.values()) for name, of in data.items()}
    if invocation.dry_run:
        return session.show_plan(plan, (), questions)
    with session.open(questions, recorded) as run:
        read = session.ask(run, lambda models: ask(config, parts, plan, session=session, run=run, models=models))
        if not any(item.verdicts for item in read):
            raise DissoiError("no speaker could be read; why: " + why_unrated(read))
        found = Found(recorded, [read_concession(item) for item in read])
        run.write_lines(FILE, (json.dumps(dataclasses.asdict(one), ensure_ascii=False) for one in found.concessions))
        with_accuracy = found.accuracy_table()
        tables = [found.players_table(), *([] if with_accuracy is None else [with_accuracy])]
        report = Report(
            title="Concessions",
            subtitle=f"{len(parts)} speakers of {len(recorded)} debates, read by {config.judge.label}",
            sections=[
                Section("Concessions", tables),
                Section("Cost", (cost_table(session.meter.by_model(), session.seconds),)),
            ],
        )
        return session.finish(run, report, found.metrics(), read)


COMMAND = Command(
    name="tournaments.concessions",
    about="Have a judge read what each speaker of recorded debates said by itself, and find those who give their side "
    "away.",
    config=ConcessionsConfig,
    run=run_concessions,
    positional="sources",
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
