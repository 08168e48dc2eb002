"""``python -m tournaments.compare_optimizers``: one player under optimizers of several sizes, before several judges."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from debate.agents.debater import Debater
from debate.agents.judge import build_judge
from debate.agents.questioner import ModelQuestioner
from debate.command import Command, Invocation
from debate.errors import ConfigError, DissoiError
from debate.metrics.speeches import figures_by_player
from debate.models.limits import Figures
from debate.models.load import Models
from debate.progress import Progress
from debate.protocols import build_protocol
from debate.question import Question
from debate.report import Report
from debate.run_folder import RunFolder
from tournaments.compare_plan import plan_comparison
from tournaments.compare_tables import metrics, sections
from tournaments.compared import AllVerdicts, Compared, JudgeView, ScoreSums
from tournaments.config import CompareConfig
from tournaments.field import check_lengths, notes_for
from tournaments.held import Held
from tournaments.matches import Arena
from tournaments.measured import measure
from tournaments.plan import Plan
from tournaments.players import ModelSource, build_player
from tournaments.questions import choose_questions
from tournaments.session import Session, why_unrated, write_debates
from tournaments.setups import Setup, match_setups, self_play_setups
from tournaments.tables import cost_table
from tournaments.variants import Variant

_LISTED = 3  # judges that the subtitle names


@dataclasses.dataclass(frozen=True, slots=True)
class Schedule:
    """Which debates there are.

    Attributes:
        matches: By variant, its debates with the base.
        self_play: By variant, its debates with itself.
    """

    matches: Mapping[str, Sequence[Setup]]
    self_play: Mapping[str, Sequence[Setup]]

    @property
    def setups(self) -> list[Setup]:
        """All of them."""
        return [setup for group in (self.self_play, self.matches) for own in group.values() for setup in own]


def schedule(config: CompareConfig, questions: Sequence[Question]) -> Schedule:
    """List the debates: each variant against the base, both assignments, and against itself, on the same questions."""
    protocol = build_protocol(config.protocol)
    base, *others = config.variants
    playing = [variant.name for variant in others if variant.plays]
    return Schedule(
        {name: match_setups(name, base.name, questions, protocol) for name in playing},
        {variant.name: self_play_setups(variant.name, questions, protocol) for variant in config.variants},
    )


def speaker(config: CompareConfig, variant: Variant, plan: Plan, session: Session, models: ModelSource) -> Debater:
    """Make the debater of a variant."""
    name = config.player.name
    return build_player(
        variant.player,
        speech=config.speech,
        models=models,
        prompts=session.prompts,
        judge=variant.preference,
        story_tokens=plan.story_tokens.get(name) if name in plan.too_long else None,
    )


def open_arenas(
    config: CompareConfig,
    plan: Plan,
    *,
    session: Session,
    run: RunFolder,
    models: Models,
    progress: Callable[[], None],
) -> list[Arena]:
    """Open all models and make an arena for each judge; they differ by nothing else.

    Raises:
        DissoiError: A model cannot be had, or two judges have one name.
    """
    debaters = {variant.name: speaker(config, variant, plan, session, models) for variant in config.variants}
    judges = [
        build_judge(judge, None if judge.model is None else models.get(judge.model), session.prompts)
        for judge in config.judges
    ]
    double = sorted(name for name, count in Counter(judge.name for judge in judges).items() if count > 1)
    if double:
        raise ConfigError(f"two judges have one name, {double[0]}; give every judge a name of its own (judges.N.name)")
    questioner = None
    speaking = config.field(config.judges[0]).questioner_model
    if speaking is not None:
        questioner = ModelQuestioner(
            models.get(speaking), name=judges[0].name, prompts=session.prompts, config=config.protocol.questioner
        )
    run.keep_models(models.facts)
    slots = asyncio.Semaphore(config.concurrency)
    protocol = build_protocol(config.protocol, questioner)
    return [Arena(protocol, debaters, judge, run.store, config.seed, slots, progress) for judge in judges]


def _read(config: CompareConfig, planned: Schedule, held: Sequence[Held]) -> Compared:
    """Read what was held; debates are read one by one, and what was said is not kept."""
    views = []
    for judge, own in zip(config.judges, held, strict=True):
        groups = [
            {name: list(_part(own, setups).turnless()) for name, setups in group.items()}
            for group in (planned.matches, planned.self_play)
        ]
        views.append(JudgeView(own.judge, judge, groups[0], groups[1], config.outcome, config.prior_sd))
    first, sums = held[0], ScoreSums()
    for variant in config.variants:
        setups = planned.self_play[variant.name] if variant.is_base else planned.matches[variant.name]
        sums.add(variant.name, _part(first, setups))
    return Compared(config.variants, views, sums.means(), figures_by_player(first), {})


def _part(held: Held, setups: Sequence[Setup]) -> Held:
    ((protocol, _),) = held.parts
    return dataclasses.replace(held, parts=((protocol, setups),))


async def compare(
    config: CompareConfig,
    questions: Sequence[Question],
    plan: Plan,
    *,
    session: Session,
    run: RunFolder,
    models: Models,
) -> tuple[Compared, list[Held], dict[str, Figures]]:
    """Hold all debates, have every judge judge them, and measure what speeches took.

    Returns:
        What was found; the debates, with the verdicts of each judge; and what the run has used.
    """
    planned = schedule(config, questions)
    total = len(planned.setups) * len(config.judges)
    with Progress("compare_optimizers", total, plan.total_calls, session.meter) as progress:
        arenas = open_arenas(config, plan, session=session, run=run, models=models, progress=progress.advance)
        held = [await arena.play(planned.setups) for arena in arenas]
    spent = session.meter.by_model()  # before the measurement, which goes through the store once more
    costs = {}
    for variant in filter(lambda one: one.plays, config.variants):
        build = functools.partial(speaker, config, variant, plan, session)
        cost = await measure(build, models, planned.self_play[variant.name], arenas[0])
        if cost is not None:
            costs[variant.name] = cost
    found = _read(config, planned, held)
    return dataclasses.replace(found, costs=costs), held, spent


def run_comparison(config: CompareConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    session = Session("tournaments.compare_optimizers", config, invocation)
    questions = choose_questions(config, config.seed)
    plan = plan_comparison(config, questions)
    check_lengths(config.field(config.judges[0]), plan)
    data = {"debates": questions}
    notes = list(dict.fromkeys(note for judge in config.judges for note in notes_for(config.field(judge), plan)))
    notes.append(
        "Variants draw in one stream, so they share what they have in common: calls are at most those of the plan."
    )
    if invocation.dry_run:
        return session.show_plan(plan, notes, data)
    with session.open(data) as run:
        found, held, spent = session.ask(
            run, lambda models: compare(config, questions, plan, session=session, run=run, models=models)
        )
        recorded = AllVerdicts(held)
        write_debates(run, recorded)  # first of all: where there is no verdict, they hold the reasons
        judged = {view.name: view.recorded for view in found.views}
        if not any(item.verdicts for items in judged.values() for item in items):
            raise DissoiError(
                "no debate has a verdict; all are in debates.jsonl; why: "
                + why_unrated([item for items in judged.values() for item in items])
            )
        names = [view.name for view in found.views]
        listed = ", ".join(names) if len(names) <= _LISTED else f"{len(names)} judges"
        report = Report(
            title="Optimizers compared",
            subtitle=f"{config.player.name}, {len(found.playing)} variants, {len(questions)} questions; {listed}",
            notes=notes,
            sections=sections(found, cost_table(spent, session.seconds)),
        )
        return session.finish(run, report, metrics(found), recorded, by_judge=judged)


COMMAND = Command(
    name="tournaments.compare_optimizers",
    about="Put optimizers of several sizes around one player, let every variant debate the player as it is, have each "
    "debate judged by every judge in both orders, and compare: what is won, before whom, at what cost.",
    config=CompareConfig,
    run=run_comparison,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
