"""``python -m tournaments.swiss``: a Swiss tournament of debates, judged and rated."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from debate.agents.judge import build_judge
from debate.command import Command, Invocation
from debate.errors import ContextError, DissoiError
from debate.metrics.accuracy import unparsed
from debate.models.limits import Budget, Meter
from debate.models.load import EMBEDDED, Models, check_access
from debate.progress import Progress
from debate.prompts import Prompts
from debate.protocols import build_protocol
from debate.provenance import provenance
from debate.record import Recorded
from debate.report import Report, Table, print_table
from debate.run_folder import RunFolder, default_path
from tournaments import ladder, plan
from tournaments.config import SwissConfig
from tournaments.exports import export, write_debates
from tournaments.matches import Arena, outcomes
from tournaments.players import build_player
from tournaments.questions import Data, read_questions
from tournaments.ratings import fit, fit_by_assignment
from tournaments.rounds import Played, play

UNTRAINED = (
    "The judge is the embedded model as it was published: nobody has trained it to judge, it is near chance and "
    "follows the order of the answers. This ladder shows that everything works; it says little about who argues better."
)


def plan_for(config: SwissConfig, data: Data) -> plan.Plan:
    """Plan the tournament.

    Raises:
        ContextError: Stories exceed a player's context, and the configuration refuses that.
    """
    rounds = config.tournament_rounds
    made = plan.make_plan(
        plan.Field(
            players=config.players,
            speech=config.speech,
            judge=config.judge,
            rounds=config.protocol.rounds,
            seatings=len(build_protocol(config.protocol).seatings),
            in_turn=config.protocol.kind == "sequential",
            matches=rounds * (len(config.players) // 2),
            questions=data.cross_play,
            sets=rounds if config.questions == "fresh" else 1,
            self_play=data.self_play,
        )
    )
    if made.too_long and config.long_stories == "refuse":
        raise ContextError(
            _long_stories(made) + "; set long_stories: window to show them in part, or use another model"
        )
    return made


def _long_stories(made: plan.Plan) -> str:
    return "; ".join(
        f"player {name!r}: {count} stories exceed the {made.story_tokens[name]} tokens that its model's context leaves"
        for name, count in sorted(made.too_long.items())
    )


def notes_for(config: SwissConfig, made: plan.Plan) -> list[str]:
    """What a reader of the ladder must know first."""
    notes = [UNTRAINED] if config.judge.model.name == EMBEDDED else []
    notes.extend(made.notes)
    if made.too_long:
        notes.append(f"{_long_stories(made)}; there they read a window of the story.")
    return notes


def rate(config: SwissConfig, played: Played) -> ladder.Standings:
    """Rate what has been played.

    Raises:
        DissoiError: No verdict could be rated.
    """
    rows = outcomes(played.cross_play, config.outcome)
    if not rows:
        reasons = [str(item.debate.failed) for item in played.recorded if item.debate.failed is not None]
        reasons += [str(verdict.unparsed) for verdict in unparsed(played.recorded)]
        raise DissoiError(
            "no debate has a verdict, so nobody can be rated; all debates are in debates.jsonl; why: "
            + "; ".join(list(dict.fromkeys(reasons))[:3])
        )
    ratings = fit(rows, prior_sd=config.prior_sd)
    known = [row for row in rows if row.right is not None]
    by_side = fit_by_assignment(known, prior_sd=config.prior_sd) if known else None
    judge = next(v.judge for item in played.cross_play for v in item.verdicts)
    return ladder.Standings(ratings, by_side, rows, played.matches, played.cross_play, played.self_play, judge)


def check_quality(config: SwissConfig, recorded: Sequence[Recorded]) -> list[str]:
    """Say why the run fails: too many unparsed verdicts or failed debates, with examples; empty if it does not."""
    found = []
    verdicts = sum(len(item.verdicts) for item in recorded)
    lost = unparsed(recorded)
    if verdicts and len(lost) / verdicts > config.max_unparsed:
        examples = "; ".join(dict.fromkeys(str(verdict.unparsed) for verdict in lost[:3]))
        found.append(
            f"{len(lost)} of {verdicts} verdicts are unparsed, more than max_unparsed {config.max_unparsed:g}: "
            f"{examples}"
        )
    failed = [item.debate.failed for item in recorded if item.debate.failed is not None]
    if recorded and len(failed) / len(recorded) > config.max_failed:
        examples = "; ".join(dict.fromkeys(failed[:3]))
        found.append(
            f"{len(failed)} of {len(recorded)} debates failed, more than max_failed {config.max_failed:g}: {examples}"
        )
    return found


async def tournament(
    config: SwissConfig, data: Data, made: plan.Plan, *, prompts: Prompts, run: RunFolder, meter: Meter
) -> Played:
    """Open the models, play, and close them again."""
    models = Models(run.store, meter)
    try:
        debaters = {
            player.name: build_player(
                player,
                speech=config.speech,
                models=models,
                prompts=prompts,
                story_tokens=made.story_tokens.get(player.name) if player.name in made.too_long else None,
            )
            for player in config.players
        }
        judge = build_judge(config.judge, models.get(config.judge.model), prompts)
        run.keep_models(models.digests)
        with Progress("swiss", made.debates + made.self_play, made.total_calls, meter) as progress:
            arena = Arena(
                protocol=build_protocol(config.protocol),
                debaters=debaters,
                judge=judge,
                store=run.store,
                seed=config.seed,
                slots=asyncio.Semaphore(config.concurrency),
                progress=lambda _: progress.advance(),
            )
            return await play(config, data, arena)
    finally:
        await models.close()


def run_swiss(config: SwissConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    start = time.monotonic()
    # All that can be found wrong is found before there is a run folder, which a second try would find in its way.
    prompts = Prompts(Path(config.prompts) if config.prompts else None)
    prompts.check()
    data = read_questions(config)
    made = plan_for(config, data)
    budget = Budget(**config.budget.model_dump())
    Meter(budget, config.price_table).require_prices({model.name for model in config.models})
    if invocation.dry_run:
        return _print_plan(config, made)
    for model in config.models:
        check_access(model)
    with _open(config, data, prompts, invocation) as run:
        for warning in run.warnings:
            sys.stderr.write(f"tournaments.swiss: {warning}\n")
        meter = Meter(budget, config.price_table, earlier=run.store.usage())
        played = asyncio.run(tournament(config, data, made, prompts=prompts, run=run, meter=meter))
        write_debates(run, played)  # first of all: where nobody can be rated, they hold the reasons
        standings = rate(config, played)
        seconds = time.monotonic() - start
        report = Report(
            title="Swiss tournament",
            subtitle=f"{len(config.players)} players, {len(data.cross_play)} questions, judge {standings.judge}",
            notes=notes_for(config, made),
            sections=ladder.sections(standings, meter.by_model(), seconds),
        )
        export(run, standings, report, {"seconds": seconds})
        _print(report, run)
        failures = check_quality(config, standings.recorded)
    for failure in failures:
        sys.stderr.write(f"tournaments.swiss: {failure}\n")
    return 1 if failures else 0


def _print(report: Report, run: RunFolder) -> None:
    for note in report.notes:
        sys.stdout.write(f"Note: {note}\n")
    for table in (block for section in report.sections for block in section.blocks if isinstance(block, Table)):
        print_table(table)
    sys.stdout.write(f"\nReport: {run.path / 'report.html'}\n")


def _open(config: SwissConfig, data: Data, prompts: Prompts, invocation: Invocation) -> RunFolder:
    origin = provenance({"cross_play": data.cross_play, "self_play": data.self_play}, prompts.digests)
    if invocation.resume is not None:
        return RunFolder.resume(invocation.resume, config, origin)
    return RunFolder.create(invocation.output or default_path("swiss"), config, origin)


def _print_plan(config: SwissConfig, made: plan.Plan) -> int:
    print_table(made.table())
    cost = made.cost(config.price_table)
    sys.stdout.write(f"Cost: {'unknown (no price given)' if cost is None else f'about ${cost:.2f}'}\n")
    for note in notes_for(config, made):
        sys.stdout.write(f"Note: {note}\n")
    return 0


COMMAND = Command(
    name="tournaments.swiss",
    about="Hold a Swiss tournament of debates between players, have every debate judged in both orders, and rate them.",
    config=SwissConfig,
    run=run_swiss,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
