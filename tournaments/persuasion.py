"""``python -m tournaments.persuasion``: are debaters swayed by argument, and by fallacies (LOGICOM)?"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from debate.claim import Claim
from debate.command import Command, Invocation
from debate.config import Variants
from debate.errors import ConfigError, DissoiError, SourceError
from debate.metrics.persuasion import Key, Outcome, measure, outcome_of
from debate.models.load import EMBEDDED, Models
from debate.progress import Progress
from debate.record import Recorded
from debate.report import Report, Section, print_table
from debate.run_folder import RunFolder
from debate.sources import load_debates
from debate.sources.claims import choose, load_claims, pick
from debate.sources.locate import find
from debate.sources.logicom import is_published, load_outcomes
from debate.sources.rows import json_rows
from tournaments.found import Found
from tournaments.persuasion_config import OutcomesConfig, PersuasionConfig
from tournaments.persuasion_field import Field
from tournaments.persuasion_pages import talk_page
from tournaments.persuasion_plan import plan_persuasion
from tournaments.persuasion_tables import metrics, sections, tables, trouble_notes, trouble_of
from tournaments.plan import Plan
from tournaments.session import MOST_PAGES, Session, check_quality, spread, why_unrated, with_page_note, write_debates
from tournaments.tables import cost_table
from tournaments.withheld import withhold

AnyConfig = PersuasionConfig | OutcomesConfig

UNTRAINED = (
    "The moderators are the embedded model as it was published, which tells little of what it reads: who is said to be "
    "convinced here need not be. This run shows that everything works."
)


class Read(NamedTuple):
    """Outcomes that are recorded, and what a reader must know of them."""

    outcomes: Sequence[Outcome]
    notes: Sequence[str]
    trouble: Mapping[str, int] | None = None


def read_outcomes(source: str) -> Read:
    """Read recorded outcomes.

    Args:
        source: A run folder of this command, or a file of the published logs (path, URL or ``hub:OWNER/DATASET/FILE``).

    Returns:
        One or more outcomes.

    Raises:
        SourceError: There is neither, or no outcome in it.
        StoreError: A run's store cannot be read.
    """
    if Path(source).expanduser().is_dir():
        recorded = load_debates(source)
        outcomes = [one for one in map(outcome_of, recorded) if one is not None]
        if not outcomes:
            raise SourceError(f"{source} holds no persuasion; give a run folder of tournaments.persuasion")
        return Read(outcomes, (), trouble_of(recorded))
    path = find(source)
    first = next(json_rows(path), None)
    if first is None:
        raise SourceError(f"{path} holds no outcomes; give a file with one JSON object a line")
    if not is_published(first):
        raise first.error("no 'Convinced?': this is none of the published logs of LOGICOM, nor a run folder")
    return Read(*load_outcomes(path))


def show_outcomes(config: OutcomesConfig, invocation: Invocation) -> int:
    """Print the figures of recorded outcomes; returns the exit code."""
    if invocation.output is not None or invocation.resume is not None:
        raise ConfigError("--outcomes prints figures and writes nothing, so leave out --output and --resume")
    read = read_outcomes(config.outcomes)
    measured = measure(read.outcomes)
    found = Found(tables(measured), metrics(measured, read.notes, read.trouble))
    if config.format == "json":
        sys.stdout.write(json.dumps(found.metrics, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        return 0
    for note in read.notes:
        sys.stdout.write(f"Note: {note}\n")
    for table in found.tables:
        print_table(table)
    return 0


def notes_for(config: PersuasionConfig, plan: Plan) -> list[str]:
    """What a reader of the results must know first."""
    notes = [UNTRAINED] if config.moderators.model.label == EMBEDDED else []
    if config.repetitions <= 3:
        notes.append(f"{config.repetitions} repetitions are few to tell a rate of one claim; more cost in proportion.")
    return [*notes, *plan.notes]


async def persuade(
    config: PersuasionConfig, claims: Sequence[Claim], plan: Plan, *, session: Session, run: RunFolder, models: Models
) -> list[Recorded]:
    """Hold all debates; returns them in their order."""
    with Progress("persuasion", plan.all_debates, plan.total_calls, session.meter) as progress:
        field = Field(config, models, session.prompts, run.store, progress.advance)
        return await field.hold(claims, run)


def run_persuasion(config: AnyConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    if isinstance(config, OutcomesConfig):
        return show_outcomes(config, invocation)
    session = Session("tournaments.persuasion", config, invocation)
    claims = choose(pick(load_claims(config.claims), config.ids), config.limit, config.seed)
    data = {"claims": [claim.question for claim in claims]}
    plan = plan_persuasion(config, claims)
    if invocation.dry_run:
        return session.show_plan(plan, notes_for(config, plan), data)
    with session.open(data) as run:
        held = session.ask(run, lambda models: persuade(config, claims, plan, session=session, run=run, models=models))
        shown = [withhold(item) for item in held] if config.withhold_fallacies else held
        write_debates(run, shown)  # first of all: where there is no outcome, they hold the reasons
        outcomes = [one for one in map(outcome_of, held) if one is not None]
        if not outcomes:
            raise DissoiError("no debate was finished; all are in debates.jsonl; why: " + why_unrated(held))
        measured = measure(
            outcomes, [Key(claim.id, number) for claim in claims for number in range(config.repetitions)]
        )
        trouble = trouble_of(held)
        cost = cost_table(session.meter.by_model(), session.seconds)
        report = Report(
            title="Persuasion",
            subtitle=f"{len(config.persuaders)} persuaders, {len(config.debaters)} debaters, {len(claims)} claims, "
            f"{config.repetitions} repetitions, at most {config.rounds} rounds",
            notes=[*notes_for(config, plan), *trouble_notes(trouble)],
            sections=[*sections(measured, grid=config.grid), Section("Cost", (cost,))],
        )
        paged = spread(shown, MOST_PAGES)
        return session.conclude(
            run,
            with_page_note(report, len(paged), len(shown)),
            metrics(measured, trouble=trouble),
            map(talk_page, paged),
            failures=check_quality(config, held),
            recorded=shown,
        )


VARIANTS: Variants[AnyConfig] = Variants("", {}, {"outcomes": OutcomesConfig, "debaters": PersuasionConfig})
COMMAND = Command(
    name="tournaments.persuasion",
    about="Have persuaders argue for claims until a debater accepts them: with no helper, with one that rewrites what "
    "they say\nwith fallacies, and with one that rewrites it with fair argument. With --outcomes, measure what is "
    "recorded.",
    config=VARIANTS,
    run=run_persuasion,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
