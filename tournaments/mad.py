"""MAD: debates by tit for tat on open items, the baselines beside them, and what came of both (Liang et al. 2023)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from debate.agents.open_judge import build_open_judge
from debate.command import Invocation
from debate.errors import DissoiError, ModelError
from debate.item import Item
from debate.models.base import Draw, Sampling
from debate.models.load import Models
from debate.open_debate import OpenDebate
from debate.progress import Progress
from debate.prompts import Prompts
from debate.protocols.alone import Alone, Attempt, Method
from debate.protocols.tit_for_tat import Speaker, TitForTat
from debate.report import Report, Section
from debate.run_folder import RunFolder
from debate.together import together
from tournaments.found import OUTCOMES, Found
from tournaments.mad_config import MadConfig, choose_items
from tournaments.mad_outcomes import (
    DebateOutcome,
    Order,
    Outcome,
    failed_debate,
    of_attempt,
    of_debate,
    read_outcomes,
    to_line,
)
from tournaments.mad_pages import attempt_page, debate_page, transcript_line
from tournaments.mad_plan import MadPlan
from tournaments.mad_tables import plain, show, unparsed_share
from tournaments.plan import Plan
from tournaments.rating_sheet import ratings_table, read_ratings, write_sheet
from tournaments.session import MOST_PAGES, Session, spread, with_page_note
from tournaments.tables import cost_table

__all__ = ["MadConfig", "outcomes", "plan", "run"]


@dataclass(frozen=True, slots=True)
class Held:
    """A debate as it went, and what is recorded of it."""

    debate: OpenDebate
    outcome: DebateOutcome


@dataclass(slots=True)
class Played:
    """All that a run has done.

    Attributes:
        held: The debates, by item, level and order.
        attempts: What models did alone, by item and method.
    """

    held: list[Held] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)

    def outcomes(self, model: str) -> list[Outcome]:
        """What is recorded of it: attempts, whose model has this label, then debates."""
        alone: list[Outcome] = [of_attempt(attempt, model=model) for attempt in self.attempts]
        return [*alone, *(one.outcome for one in self.held)]


def plan(config: MadConfig) -> Plan:
    """Count what a run will take at most.

    Raises:
        DissoiError: The source is wrong, or a baseline does not fit it.
    """
    return MadPlan(config, choose_items(config), Prompts(Path(config.prompts) if config.prompts else None)).count()


def outcomes(path: Path) -> Found:
    """Measure recorded outcomes, with people's ratings where rating sheets lie beside them.

    Args:
        path: A JSON Lines file.

    Raises:
        SourceError: It cannot be read, or a line is no outcome of MAD.
    """
    found = show(read_outcomes(path))
    ratings = read_ratings(path.parent)
    if not ratings:
        return found
    table = ratings_table(ratings)
    return Found([*found.tables, table], {**found.metrics, "ratings": plain(table)})


class Stage:
    """Where debates are held and models work alone.

    Args:
        config: The configuration.
        models: The run's models.
        prompts: Templates.
    """

    def __init__(self, config: MadConfig, models: Models, prompts: Prompts) -> None:
        self._config = config
        self._prompts = prompts
        self._slots = asyncio.Semaphore(config.concurrency)
        self._judge = build_open_judge(config.judge, models.get(config.judge.model), prompts)
        self._speakers = [
            Speaker(
                speaker.name,
                models.get(speaker.model),
                Sampling(config.max_tokens, config.temperature if speaker.temperature is None else speaker.temperature),
                speaker.character,
            )
            for speaker in config.speakers
        ]
        self._alone = Alone(
            "base",
            models.get(config.base_model),
            prompts,
            config.sampling,
            config.drawn,
            samples=config.sample_count,
            candidates=config.candidates,
            reflections=config.reflection_count,
            quality=config.estimate(),
        )

    async def play(self, items: Sequence[Item], methods: Sequence[Method], advance: Callable[[], None]) -> Played:
        """Hold all debates, and have the base model work alone, all at once as far as the slots allow.

        Args:
            items: The items.
            methods: By which the base model works alone.
            advance: Called after each debate and attempt.

        Returns:
            All of them, in order. One that a model failed in has the reason.

        Raises:
            DissoiError: Anything that stops the run: a spent budget, a lost model, a full disk.
        """
        attempts = [self._attempt(method, item) for item in items for method in methods]
        held = [
            self._hold(item, level, order)
            for item in items
            for level in self._config.levels
            for order in self._config.order_names
        ]

        async def one(work: Coroutine[Any, Any, Attempt | Held]) -> Attempt | Held:
            done = await work
            advance()
            return done

        works: list[Coroutine[Any, Any, Attempt | Held]] = [*attempts, *held]
        done = await together([one(work) for work in works])
        return Played([one for one in done if isinstance(one, Held)], [one for one in done if isinstance(one, Attempt)])

    async def _attempt(self, method: Method, item: Item) -> Attempt:
        async with self._slots:
            try:
                return await self._alone.attempt(method, item, Draw(seed=self._config.seed))
            except ModelError as error:
                return Attempt(item, method, failed=str(error))

    async def _hold(self, item: Item, level: int, order: Order) -> Held:
        config = self._config
        speakers = self._speakers if order == "given" else self._speakers[::-1]
        protocol = TitForTat(
            speakers,
            self._judge,
            self._prompts,
            level,
            config.iterations,
            forced=config.forced,
            max_words=config.max_words,
        )
        async with self._slots:
            try:
                draw = Draw(seed=config.seed)
                base = (await self._alone.attempt("base", item, draw)).steps[0]
                debate = await protocol.hold(item, base, draw)
            except ModelError as error:
                debate = failed_debate(item, [speaker.name for speaker in speakers], level, str(error))
        labels = {speaker.name: speaker.model.label for speaker in config.speakers}
        outcome = of_debate(
            debate,
            order=order,
            models=[labels[speaker.name] for speaker in speakers],
            judge=config.judge.model.label,
            limit=config.iterations,
            forced=config.forced,
        )
        return Held(debate, outcome)


async def _play(
    config: MadConfig, items: Sequence[Item], planned: Plan, *, session: Session, run: RunFolder, models: Models
) -> Played:
    stage = Stage(config, models, session.prompts)
    run.keep_models(models.facts)
    methods = config.methods(items[0].task)
    with Progress("consensus", planned.all_debates, planned.total_calls, session.meter) as progress:
        return await stage.play(items, methods, progress.advance)


def run(config: MadConfig, invocation: Invocation) -> int:
    """Hold a run, or print its plan; returns the exit code."""
    session = Session("tournaments.consensus", config, invocation)
    items = choose_items(config)
    planned = MadPlan(config, items, session.prompts).count()
    data = {"items": [item.as_question() for item in items]}
    if invocation.dry_run:
        return session.show_plan(planned, planned.notes, data)
    with session.open(data) as folder:
        played = session.ask(
            folder, lambda models: _play(config, items, planned, session=session, run=folder, models=models)
        )
        return _conclude(config, items, played, session=session, run=folder)


def _conclude(config: MadConfig, items: Sequence[Item], played: Played, *, session: Session, run: RunFolder) -> int:
    """Write down and show what was found."""
    recorded = played.outcomes(config.base_model.label)
    spoken: list[OpenDebate | Attempt] = [*(one.debate for one in played.held), *played.attempts]
    run.write_lines("debates.jsonl", map(transcript_line, spoken))
    run.write_lines(OUTCOMES, map(to_line, recorded))
    failed = [one.failed for one in recorded if one.failed is not None]
    if len(failed) == len(recorded):
        raise DissoiError("nothing could be finished; why: " + "; ".join(list(dict.fromkeys(failed))[:3]))
    if items[0].task == "translation":
        write_sheet(run, items, _translations(recorded), config.seed)
    found = show(recorded)
    pages: list[Held | Attempt] = [*played.held, *played.attempts]
    shown = spread(pages, MOST_PAGES)
    report = Report(
        title="MAD: tit for tat",
        subtitle=f"{len(items)} items of {config.source}; {', '.join(one.name for one in config.speakers)}; judge "
        f"{config.judge.model.label} ({config.judge.kind})",
        notes=_notes(config),
        sections=[
            *(Section(table.title, (table,)) for table in found.tables),
            Section("Cost", (cost_table(session.meter.by_model(), session.seconds),)),
        ],
    )
    return session.conclude(
        run,
        with_page_note(report, len(shown), len(pages)),
        found.metrics,
        (debate_page(one.debate, one.outcome) if isinstance(one, Held) else attempt_page(one) for one in shown),
        failures=_failures(config, recorded, failed),
    )


def _translations(recorded: Sequence[Outcome]) -> dict[tuple[str, str], str]:
    """The translations that everything came to, by way and item."""
    found = {}
    for one in recorded:
        if isinstance(one, DebateOutcome):
            answer = None if one.final is None else one.final.answer
            way = f"debate, level {one.level}" + ("" if one.order == "given" else ", reversed")
        else:
            answer, way = one.answer, one.method.replace("_", " ")
        if answer is not None:
            found[(way, one.item)] = answer.text
    return found


def _notes(config: MadConfig) -> list[str]:
    if all(model.name.startswith("embedded/") for model in config.models):
        return ["The embedded model is far too small for these tasks; its run shows that everything works."]
    return []


def _failures(config: MadConfig, recorded: Sequence[Outcome], failed: Sequence[str]) -> list[str]:
    """Say why the run fails: too many unread rulings or too much that failed."""
    shares = unparsed_share(recorded)
    found = []
    if shares["rulings"] > config.max_unparsed:
        why = [
            ruling.unparsed
            for one in recorded
            if isinstance(one, DebateOutcome)
            for ruling in one.rulings
            if ruling.unparsed is not None
        ]
        found.append(
            f"{shares['rulings']:.1%} of the rulings are unparsed, more than max_unparsed {config.max_unparsed:g}: "
            f"{'; '.join(list(dict.fromkeys(why))[:3])}"
        )
    if shares["failed"] > config.max_failed:
        found.append(
            f"{len(failed)} of {len(recorded)} debates and attempts failed, more than max_failed "
            f"{config.max_failed:g}: {'; '.join(list(dict.fromkeys(failed))[:3])}"
        )
    return found
