"""``python -m tournaments.ablate``: one factor of debates or their judge is varied, on the same questions."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence

from debate.command import Command, Invocation
from debate.errors import ConfigError, DissoiError
from debate.models.base import Model
from debate.models.load import Models
from debate.progress import Progress
from debate.question import Question
from debate.record import Recorded
from debate.report import Report, Section
from debate.run_folder import RunFolder
from debate.sources import load_debates
from tournaments.ablate_config import AblateConfig
from tournaments.ablation_judges import Examples, LevelJudge, level_judge
from tournaments.ablation_levels import Level, levels_of
from tournaments.ablation_measures import Measured, measure, with_wins
from tournaments.ablation_plan import plan_made, plan_recorded
from tournaments.ablation_tables import TITLES, Ablated, metrics, sections
from tournaments.cast import write_kept
from tournaments.compared import AllVerdicts
from tournaments.field import build_arena, check_lengths, notes_for
from tournaments.held import Held
from tournaments.judged import speaks
from tournaments.matches import Arena
from tournaments.paper import load_findings
from tournaments.plan import Plan
from tournaments.questions import choose_questions
from tournaments.rejudge import Material, copy, decide_all, merge, read_material
from tournaments.session import Session, why_unrated, write_debates
from tournaments.setups import match_setups, self_play_setups
from tournaments.tables import cost_table


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """What an ablation found.

    Attributes:
        levels: The levels, measured.
        recorded: All debates, each with the verdicts at all levels.
        by_judge: The same by judge, without what was said.
    """

    levels: Sequence[Measured]
    recorded: Sequence[Recorded]
    by_judge: Mapping[str, Sequence[Recorded]]


def fit_material(config: AblateConfig, levels: Sequence[Level], material: Material) -> Material:
    """Keep the recorded debates on which every level can be judged.

    Args:
        config: The configuration.
        levels: The levels.
        material: The debates.

    Returns:
        Those with speeches and a known right answer and, for rounds, as many rounds as the last level asks for; a note
        says how many were left out.

    Raises:
        ConfigError: None is left.
    """
    least = max(int(level.value) for level in levels) if config.factor == "rounds" else 1
    kept = [
        item
        for item in material.recorded
        if speaks(item)
        and item.debate.transcript.question.gold is not None
        and max((turn.round for turn in item.debate.transcript.turns), default=0) >= least
    ]
    if not kept:
        raise ConfigError(
            f"none of the {len(material.recorded)} debates has a known right answer and {least} rounds or more; name "
            "other debates, or set levels"
        )
    if len(kept) == len(material.recorded):
        return material
    note = (
        f"{len(material.recorded) - len(kept)} of {len(material.recorded)} debates are left out: nobody speaks in "
        f"them, their right answer is not known, or they have fewer than {least} rounds."
    )
    whose = dataclasses.replace(material.kept, notes=[*material.kept.notes, note])
    return Material(kept, whose)


def read_examples(config: AblateConfig, levels: Sequence[Level], recorded: Sequence[Recorded]) -> Examples | None:
    """Choose the debates that the judge may be shown; None where the factor is another."""
    if config.factor != "fewshot":
        return None
    pool = recorded if config.examples is None else load_debates(config.examples)
    return Examples(pool, seed=config.seed, most=max(level.shots for level in levels))


def open_judges(config: AblateConfig, levels: Sequence[Level], session: Session, models: Models) -> list[LevelJudge]:
    """Make the judge of every level."""
    model: Model | None = None if config.judge.model is None else models.get(config.judge.model)
    return [level_judge(level, model, session.prompts) for level in levels]


async def judge_recorded(
    config: AblateConfig, material: Material, plan: Plan, *, session: Session, run: RunFolder, models: Models
) -> Found:
    """Copy recorded debates into the run and judge them at every level."""
    levels = levels_of(config)
    judges = open_judges(config, levels, session, models)
    run.keep_models(models.facts)
    await copy(run.store, material.recorded)
    write_kept(run, material.kept)
    examples = read_examples(config, levels, material.recorded)
    if examples is not None:
        judges = [judge.with_examples(examples) for judge in judges]
    total = len(material.recorded) * len(judges)
    with Progress("ablate", total, plan.total_calls, session.meter) as progress:
        asked = await decide_all(judges, material.recorded, run=run, config=config, progress=progress.advance)
    measured = [measure(level, judge.name, asked[judge.name]) for level, judge in zip(levels, judges, strict=True)]
    return Found(measured, merge(material, asked), {one.judge: one.recorded for one in measured})


async def judge_made(
    config: AblateConfig,
    questions: Sequence[Question],
    plan: Plan,
    *,
    session: Session,
    run: RunFolder,
    models: Models,
) -> Found:
    """Have the player debate itself, and judge at every level."""
    levels = levels_of(config)
    field = config.field()
    total = plan.all_debates * (1 if config.factor == "words" else len(levels))
    with Progress("ablate", total, plan.total_calls, session.meter) as progress:
        arena = build_arena(field, plan, models=models, prompts=session.prompts, run=run, progress=progress.advance)
        if config.factor == "words":
            return await _words(config, levels, questions, arena)
        judges = open_judges(config, levels, session, models)
        setups = self_play_setups(field.players[0].name, questions, arena.protocol)
        # The first level shows no examples: the others choose theirs among the debates that it leaves.
        held = [await dataclasses.replace(arena, judge=judges[0]).play(setups)]
        examples = read_examples(config, levels, held[0])
        for judge in judges[1:]:
            asked = judge if examples is None else judge.with_examples(examples)
            held.append(await dataclasses.replace(arena, judge=asked).play(setups))
    measured = [measure(level, own.judge, own) for level, own in zip(levels, held, strict=True)]
    return Found(measured, AllVerdicts(held), {one.judge: one.recorded for one in measured})


async def _words(config: AblateConfig, levels: Sequence[Level], questions: Sequence[Question], arena: Arena) -> Found:
    """Hold self-play at every limit, and debates of every other limit against the first."""
    first, *others = (level.label for level in levels)
    own = [await arena.play(self_play_setups(level.label, questions, arena.protocol)) for level in levels]
    met = {name: await arena.play(match_setups(name, first, questions, arena.protocol)) for name in others}
    measured = []
    for level, held in zip(levels, own, strict=True):
        found = measure(level, held.judge, held)
        matches = met.get(level.label)
        measured.append(found if matches is None else with_wins(found, matches.turnless(), config.outcome))
    parts: list[Held] = [*own, *met.values()]
    held = sum(parts[1:], start=parts[0])
    return Found(measured, held, {held.judge: list(held.turnless())})


def run_ablation(config: AblateConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    session = Session("tournaments.ablate", config, invocation)
    levels = levels_of(config)
    material: Material | None = None
    if config.makes:
        questions = choose_questions(config, config.seed)
        plan = plan_made(config, levels, questions)
        check_lengths(config.field(), plan)
        notes = notes_for(config.field(), plan)
    else:
        material = fit_material(config, levels, read_material(config.recorded(), invocation.resume))
        questions = material.questions
        examples = read_examples(config, levels, material.recorded)
        plan = plan_recorded(config, levels, material.recorded, examples, session.prompts)
        notes = [*plan.notes, *material.notes]
    data = {"debates": questions}
    if invocation.dry_run:
        return session.show_plan(plan, notes, data)
    with session.open(data, None if material is None else material.recorded) as run:
        if material is None:
            found = session.ask(
                run, lambda models: judge_made(config, questions, plan, session=session, run=run, models=models)
            )
        else:
            recorded = material
            found = session.ask(
                run, lambda models: judge_recorded(config, recorded, plan, session=session, run=run, models=models)
            )
        write_debates(run, found.recorded)  # first of all: where there is no verdict, they hold the reasons
        judged = [item for items in found.by_judge.values() for item in items]
        if not any(item.verdicts for item in judged):
            raise DissoiError("no debate has a verdict; all are in debates.jsonl; why: " + why_unrated(judged))
        ablated = Ablated(config.factor, found.levels, load_findings())
        report = Report(
            title=f"Ablation: {config.factor}",
            subtitle=f"{TITLES[config.factor]}: {', '.join(level.label for level in levels)}; {len(questions)} "
            f"questions, judge {config.judge.label}",
            notes=notes,
            sections=[
                *sections(ablated),
                Section("Cost", (cost_table(session.meter.by_model(), session.seconds),)),
            ],
        )
        return session.finish(run, report, metrics(ablated), found.recorded, by_judge=found.by_judge)


COMMAND = Command(
    name="tournaments.ablate",
    about="Vary one factor of debates or of their judge (words, rounds, marks, fewshot, votes, information) on the "
    "same questions, and compare every level with the first: how often is the judge right?",
    config=AblateConfig,
    run=run_ablation,
    positional="debates",
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
