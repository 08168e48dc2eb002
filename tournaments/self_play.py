"""``python -m tournaments.self_play``: every player debates itself, which measures the judge and rates nobody."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Self

from pydantic import model_validator

from debate.command import Command, Invocation
from debate.errors import DissoiError
from debate.metrics.speeches import SpeechFigures, figures_by_player
from debate.models.load import Models
from debate.progress import Progress
from debate.protocols import build_protocol
from debate.question import Question
from debate.record import Recorded
from debate.report import Column, Report, Section, Table
from debate.report.table import Cell
from debate.run_folder import RunFolder
from tournaments.config import FieldConfig
from tournaments.field import baseline_arenas, build_arena, check_lengths, notes_for
from tournaments.held import Held
from tournaments.metrics import gap_figure, judge_figures
from tournaments.plan import Field, Plan, plan_field
from tournaments.questions import choose_questions
from tournaments.session import Session, why_unrated, write_debates
from tournaments.setups import baseline_setups, self_play_setups
from tournaments.tables import cost_table, judge_table


class SelfPlayFieldConfig(FieldConfig):
    """Players, each of which debates itself."""

    @model_validator(mode="after")
    def _debates(self) -> Self:
        if self.protocol.speakers != 2:
            raise ValueError(
                f"self-play has two speakers, and a {self.protocol.kind} has one; measure consultants with python -m "
                "tournaments.consultancy"
            )
        return self


def self_play_field(config: SelfPlayFieldConfig, questions: Sequence[Question]) -> Field:
    """Count the debates, from the configuration and its questions."""
    each = len(questions) * len(build_protocol(config.protocol).seatings(questions[0]))
    return Field(
        config,
        questions,
        questions,
        debates=0,
        self_play_debates=len(config.players) * each,
        speeches=2 * each,
        sides=2 * len(questions),
    )


def speech_table(spoken: Mapping[str | None, SpeechFigures]) -> Table:
    """What the players' speeches are made of."""
    rows: list[list[Cell]] = [
        [name, found.speeches, found.quotes, found.verified, found.words, found.invalid]
        for name, found in sorted(spoken.items(), key=lambda item: item[0] or "")
    ]
    columns = (
        Column("player"),
        Column("speeches", kind="count"),
        Column("quotes a speech", kind="number"),
        Column("verified", kind="share"),
        Column("words", kind="number"),
        Column("invalid speeches", kind="share"),
    )
    return Table("Speeches", columns, rows)


async def hold(
    config: SelfPlayFieldConfig,
    questions: Sequence[Question],
    plan: Plan,
    *,
    session: Session,
    run: RunFolder,
    models: Models,
) -> tuple[dict[str, Held], dict[str, Held]]:
    """Hold and judge all debates; returns them by player, and what the judge decided without any by baseline."""
    with Progress("self-play", plan.all_debates, plan.total_calls, session.meter) as progress:
        arena = build_arena(config, plan, models=models, prompts=session.prompts, run=run, progress=progress.advance)
        own = {
            player.name: await arena.play(self_play_setups(player.name, questions, arena.protocol))
            for player in config.players
        }
        silent = {
            name: await other.play(baseline_setups(questions)) for name, other in baseline_arenas(config, arena).items()
        }
    return own, silent


def run_self_play(config: SelfPlayFieldConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    session = Session("tournaments.self_play", config, invocation)
    questions = choose_questions(config, config.seed)
    plan = plan_field(self_play_field(config, questions))
    check_lengths(config, plan)
    if invocation.dry_run:
        return session.show_plan(plan, notes_for(config, plan), {"self-play": questions})
    with session.open({"self-play": questions}) as run:
        own, silent = session.ask(
            run, lambda models: hold(config, questions, plan, session=session, run=run, models=models)
        )
        first, *rest = (*own.values(), *silent.values())
        held = sum(rest, start=first)
        write_debates(run, held)  # first of all: where there is no verdict, they hold the reasons
        judged = list(held.turnless())
        if not any(item.verdicts for item in judged):
            raise DissoiError("no debate has a verdict; all are in debates.jsonl; why: " + why_unrated(judged))
        by_player = {name: list(found.turnless()) for name, found in own.items()}
        baselines = {name: list(found.turnless()) for name, found in silent.items()}
        whole = [item for items in by_player.values() for item in items]
        groups: dict[str, Sequence[Recorded]] = {"self-play": whole}
        groups |= {f"self-play of {name}": items for name, items in by_player.items()}
        tables = (
            judge_table("Judge", groups, baselines, f"Judge: {held.judge}."),
            speech_table(figures_by_player(held)),
        )
        report = Report(
            title="Self-play",
            subtitle=f"{len(config.players)} players, {len(questions)} questions, judge {held.judge}",
            notes=notes_for(config, plan),
            sections=[
                Section("Self-play", tables),
                Section("Cost", (cost_table(session.meter.by_model(), session.seconds),)),
            ],
        )
        figures: dict[str, object] = {
            "judge": held.judge,
            "players": {name: judge_figures(items) for name, items in by_player.items()},
            "self_play": {**judge_figures(whole), **gap_figure(whole, baselines)},
            **{name: judge_figures(items) for name, items in baselines.items()},
        }
        return session.finish(run, report, figures, held, analyse=True)


COMMAND = Command(
    name="tournaments.self_play",
    about="Have every player debate itself, and every debate judged in both orders: how often is the judge right?",
    config=SelfPlayFieldConfig,
    run=run_self_play,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
