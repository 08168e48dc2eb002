"""``python -m tournaments.consultancy``: consultants argue alone, and are measured by their win rate."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from debate.command import Command, Invocation
from debate.errors import DissoiError
from debate.metrics.speeches import SpeechFigures, figures_by_player
from debate.metrics.win_rate import consultant_win_rate
from debate.models.load import Models
from debate.progress import Progress
from debate.question import Question
from debate.record import Recorded
from debate.report import Column, Dot, Figure, Report, Section, Table, dots
from debate.report.table import Cell
from debate.run_folder import RunFolder
from debate.together import together
from tournaments.config import ConsultancyConfig
from tournaments.field import baseline_arenas, build_arena, check_lengths, notes_for
from tournaments.held import Held
from tournaments.metrics import gap_figure, judge_figures, rate_figures
from tournaments.plan import Plan, consultancy_field, plan_field
from tournaments.questions import choose_questions
from tournaments.session import Session, why_unrated, write_debates
from tournaments.setups import baseline_setups, consultancy_setups
from tournaments.tables import cost_table, few_note, judge_table


@dataclass(frozen=True, slots=True)
class Consulted:
    """What a field of consultants has done.

    Attributes:
        by_player: Each consultant's consultancies, judged, without what was said.
        baselines: By name, questions that the judge decided without any.
        spoken: By consultant, what its speeches are made of.
        soft: Whether a verdict counts as the probability of the consultant's answer.
    """

    by_player: Mapping[str, Sequence[Recorded]]
    baselines: Mapping[str, Sequence[Recorded]]
    spoken: Mapping[str | None, SpeechFigures]
    soft: bool

    @property
    def consultancies(self) -> list[Recorded]:
        """All consultancies."""
        return [item for items in self.by_player.values() for item in items]

    @property
    def order(self) -> list[str]:
        """Consultants by win rate, best first; those without one come last."""
        rates = {name: consultant_win_rate(items, soft=self.soft) for name, items in self.by_player.items()}
        values = {name: -1.0 if rate is None else rate.both.value for name, rate in rates.items()}
        return sorted(values, key=lambda name: -values[name])


def win_table(found: Consulted) -> Table:
    """Consultants by win rate, best first."""
    rows: list[list[Cell]] = []
    for place, name in enumerate(found.order, 1):
        rate = consultant_win_rate(found.by_player[name], soft=found.soft)
        speeches = found.spoken.get(name)
        rows.append(
            [
                place,
                name,
                *((None, None, None) if rate is None else (rate.both, rate.right, rate.wrong)),
                len(found.by_player[name]),
                *(
                    (None, None, None, None)
                    if speeches is None
                    else (speeches.quotes, speeches.verified, speeches.words, speeches.invalid)
                ),
            ]
        )
    columns = (
        Column("#", kind="count"),
        Column("consultant"),
        Column("win rate", kind="share"),
        Column("when right", kind="share"),
        Column("when wrong", kind="share"),
        Column("consultancies", kind="count"),
        Column("quotes a speech", kind="number"),
        Column("verified", kind="share"),
        Column("words", kind="number"),
        Column("invalid speeches", kind="share"),
    )
    note = (
        "Win rate: how often the judge chooses the consultant's answer, the mean over being assigned the right and the "
        "wrong one. Intervals are 95 %, robust by story. A judge that a consultant can turn at will has the same rate "
        "in both; one that sees through it has a low one 'when wrong'." + few_note(found.consultancies)
    )
    return Table("Consultants", columns, rows, note=note)


def win_figure(found: Consulted) -> Figure:
    """Win rates with intervals, best first."""
    rates = ((name, consultant_win_rate(found.by_player[name], soft=found.soft)) for name in found.order)
    shown = [Dot(name, rate.both.value, rate.both.low, rate.both.high, "") for name, rate in rates if rate is not None]
    return dots("Win rate", shown, axis_title="share of verdicts, 95 % interval")


def sections(found: Consulted, judge: str, cost: Table) -> list[Section]:
    """All that the report's overview shows."""
    groups = {"consultancies": found.consultancies}
    groups |= {f"consultancies of {name}": list(found.by_player[name]) for name in found.order}
    table = judge_table("Judge", groups, found.baselines, f"Judge: {judge}.")
    return [
        Section("Consultants", (win_table(found), win_figure(found))),
        Section("Judge", (table,)),
        Section("Cost", (cost,)),
    ]


def metrics(found: Consulted, judge: str) -> dict[str, object]:
    """The figures that the tables show, as plain values."""
    players = {}
    for name in found.order:
        own = found.by_player[name]
        players[name] = {
            **rate_figures(consultant_win_rate(own, soft=found.soft)),
            **judge_figures(own),
            **gap_figure(own, found.baselines),
        }
    return {
        "judge": judge,
        "players": players,
        "consultancies": {**judge_figures(found.consultancies), **gap_figure(found.consultancies, found.baselines)},
        **{name: judge_figures(items) for name, items in found.baselines.items()},
    }


async def consult(
    config: ConsultancyConfig,
    questions: Sequence[Question],
    plan: Plan,
    *,
    session: Session,
    run: RunFolder,
    models: Models,
) -> tuple[Consulted, Held]:
    """Hold and judge all consultancies; returns what was found, and all that was judged."""
    with Progress("consultancy", plan.all_debates, plan.total_calls, session.meter) as progress:
        arena = build_arena(config, plan, models=models, prompts=session.prompts, run=run, progress=progress.advance)
        names = [player.name for player in config.players]
        silent = baseline_arenas(config, arena)
        played = await together(
            [
                *(arena.play(consultancy_setups(name, questions, arena.protocol)) for name in names),
                *(own.play(baseline_setups(questions)) for own in silent.values()),
            ]
        )
    held = sum(played[1:], start=played[0])
    groups = [list(own.turnless()) for own in played]
    by_player = dict(zip(names, groups, strict=False))
    baselines = dict(zip(silent, groups[len(names) :], strict=True))
    return Consulted(by_player, baselines, figures_by_player(held), config.outcome == "soft"), held


def run_consultancy(config: ConsultancyConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    session = Session("tournaments.consultancy", config, invocation)
    questions = choose_questions(config, config.seed)
    plan = plan_field(consultancy_field(config, questions))
    check_lengths(config, plan)
    if invocation.dry_run:
        return session.show_plan(plan, notes_for(config, plan), {"consultancies": questions})
    with session.open({"consultancies": questions}) as run:
        found, held = session.ask(
            run, lambda models: consult(config, questions, plan, session=session, run=run, models=models)
        )
        write_debates(run, held)  # first of all: where there is no verdict, they hold the reasons
        judged = [*found.consultancies, *(item for items in found.baselines.values() for item in items)]
        if not any(item.verdicts for item in judged):
            raise DissoiError("no consultancy has a verdict; all are in debates.jsonl; why: " + why_unrated(judged))
        judge = held.judge
        cost = cost_table(session.meter.by_model(), session.seconds)
        report = Report(
            title="Consultancies",
            subtitle=f"{len(config.players)} consultants, {len(questions)} questions, judge {judge}",
            notes=notes_for(config, plan),
            sections=sections(found, judge, cost),
        )
        return session.finish(run, report, metrics(found, judge), held, analyse=True)


COMMAND = Command(
    name="tournaments.consultancy",
    about="Have consultants argue alone for the right and the wrong answer of every question, and measure how often "
    "the judge follows them.",
    config=ConsultancyConfig,
    run=run_consultancy,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
