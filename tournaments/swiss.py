"""``python -m tournaments.swiss``: a Swiss tournament of debates, judged and rated."""

from __future__ import annotations

import sys

from debate.command import Command, Invocation
from debate.errors import DissoiError
from debate.metrics.speeches import figures_by_player
from debate.models.load import Models
from debate.progress import Progress
from debate.report import Report
from debate.run_folder import RunFolder
from tournaments import ladder
from tournaments.config import SwissConfig
from tournaments.exports import export_ratings
from tournaments.field import build_arena, check_lengths, notes_for
from tournaments.matches import outcomes
from tournaments.metrics import metrics
from tournaments.overview import elo_sections
from tournaments.plan import Plan, plan_field, swiss_field
from tournaments.questions import Data, read_questions
from tournaments.ratings import fit, fit_by_assignment
from tournaments.rounds import Played, play
from tournaments.session import Session, why_unrated, write_debates


def rate(config: SwissConfig, played: Played) -> ladder.Standings:
    """Rate what has been played.

    Raises:
        DissoiError: No verdict could be rated.
    """
    cross_play = list(played.cross_play.turnless())
    rows = outcomes(cross_play, config.outcome)
    if not rows:
        raise DissoiError(
            "no debate has a verdict, so nobody can be rated; all debates are in debates.jsonl; why: "
            + why_unrated(list(played.recorded.turnless()))
        )
    known = [row for row in rows if row.right is not None]
    return ladder.Standings(
        ratings=fit(rows, prior_sd=config.prior_sd),
        by_side=fit_by_assignment(known, prior_sd=config.prior_sd) if known else None,
        outcomes=rows,
        matches=played.matches,
        cross_play=cross_play,
        self_play={name: list(held.turnless()) for name, held in played.self_play.items()},
        baselines={name: list(held.turnless()) for name, held in played.baselines.items()},
        judge=played.cross_play.judge,
        spoken=figures_by_player(played.recorded),
        optimized=frozenset(player.name for player in config.players if player.optimizer),
    )


async def tournament(
    config: SwissConfig, data: Data, plan: Plan, *, session: Session, run: RunFolder, models: Models
) -> Played:
    """Hold the tournament."""
    with Progress("swiss", plan.all_debates, plan.total_calls, session.meter) as progress:
        arena = build_arena(config, plan, models=models, prompts=session.prompts, run=run, progress=progress.advance)
        return await play(config, data, arena)


def run_swiss(config: SwissConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    session = Session("tournaments.swiss", config, invocation)
    data = read_questions(config)
    plan = plan_field(swiss_field(config, data.cross_play, data.self_play))
    check_lengths(config, plan)
    if invocation.dry_run:
        return session.show_plan(plan, notes_for(config, plan), data._asdict())
    with session.open(data._asdict()) as run:
        played = session.ask(
            run, lambda models: tournament(config, data, plan, session=session, run=run, models=models)
        )
        write_debates(run, played.recorded)  # first of all: where nobody can be rated, they hold the reasons
        standings = rate(config, played)
        export_ratings(run, standings)
        report = Report(
            title="Swiss tournament",
            subtitle=f"{len(config.players)} players, {len(data.cross_play)} questions, judge {standings.judge}",
            notes=notes_for(config, plan),
            sections=[
                *ladder.sections(standings, session.meter.by_model(), session.seconds),
                *elo_sections([(standings.judge, standings)], config),
            ],
        )
        return session.finish(run, report, metrics(standings), played.recorded, analyse=True)


COMMAND = Command(
    name="tournaments.swiss",
    about="Hold a Swiss tournament of debates between players, have every debate judged in both orders, and rate them.",
    config=SwissConfig,
    run=run_swiss,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
