"""FORD: models seek agreement by debate, fairly matched or not, or at a roundtable (Xiong et al. 2023)."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from debate.agents.chooser import Asking, Chooser, ChooserConfig, Heard, Stage, calls_per_choice
from debate.command import Invocation
from debate.errors import ConfigError, DissoiError, ModelError
from debate.metrics.consensus import Chain
from debate.models.base import Draw
from debate.models.load import ModelConfig, Models, TokenCounter, capabilities_of
from debate.progress import Progress
from debate.prompts import Prompts
from debate.protocols.roundtable import Discussion, Roundtable, called, view_of
from debate.question import Question
from debate.record import from_json, join_key, to_json
from debate.report import Report, Section
from debate.run_folder import RunFolder
from debate.sources import load, select
from debate.sources.multiple_choice import MAPS
from debate.together import together
from tournaments.calls import Calls, hidden_tokens
from tournaments.ford_config import FordConfig
from tournaments.ford_outcomes import JOINT, Named, show, to_row
from tournaments.ford_outcomes import read_outcomes as outcomes
from tournaments.ford_pages import page_of
from tournaments.found import OUTCOMES
from tournaments.plan import Plan
from tournaments.session import MOST_PAGES, Session, spread, with_page_note
from tournaments.tables import cost_table

__all__ = ["FordConfig", "outcomes", "plan", "run"]

_COUNTED = 50  # questions whose prompts are counted for a plan; the others are taken to be like them


def choose_questions(config: FordConfig) -> list[Question]:
    """Load and choose the questions, with all of their answers.

    Raises:
        SourceError: The source is wrong or empty.
        ConfigError: A question's right answer is not known.
    """
    questions = select(load(config.source), fold=config.fold, limit=config.limit, seed=config.seed)
    unknown = [question.id for question in questions if question.gold is None]
    if unknown:
        raise ConfigError(
            f"{config.source!r}: the right answers of {len(unknown)} questions are not known, such as of "
            f"{unknown[0]!r}; take a split that has its labels, or name their file (?labels=FILE)"
        )
    return questions


def plan(config: FordConfig) -> Plan:
    """Count what a run will take at most: as if nobody ever agreed, and every explanation were as long as it may be."""
    return _plan(config, choose_questions(config))


def _plan(config: FordConfig, questions: Sequence[Question]) -> Plan:
    prompts = Prompts(Path(config.prompts) if config.prompts else None)
    counted = spread(questions, _COUNTED)
    places = len(config.speakers)
    calls: dict[str, Calls] = {}
    counters: dict[str, TokenCounter] = {}

    def add(model: ModelConfig, how: ChooserConfig, character: str, stage: Stage, heard: int) -> None:
        """One choice on every question, by somebody who has heard so many explanations."""
        asking = Asking(prompts, how.max_words, character)
        said = [Heard(called(at % places), " ".join(["word"] * config.choice.max_words)) for at in range(heard)]
        key = model.model_dump_json()
        counter = counters.get(key) or counters.setdefault(key, TokenCounter(model))
        views = [view_of(question) for question in counted]
        tokens = sum(counter(asking.ask(view, stage, said, called(0), asking.reply(view, stage))) for view in views)
        each = calls_per_choice(how.reads, stage, capabilities_of(model))
        spent = Calls(
            each * len(questions),
            round(each * tokens * len(questions) / len(counted)),
            len(questions) * (how.max_tokens + hidden_tokens(model) + each - 1),
        )
        calls[model.label] = calls.get(model.label, Calls()) + spent

    for speaker in config.speakers:  # answers alone are the same in either order
        add(speaker.model, config.how(speaker), speaker.character, "alone", 0)
    for order in config.orders:
        for turn in range(config.most_turns):
            speaker = order[turn % places]
            add(speaker.model, config.how(speaker), speaker.character, "debate", places + turn)
        if config.judge is not None:
            add(config.judge.model, config.judge, "", "judge", places + config.most_turns)
    notes = ("This is the most: a debate ends when all agree, and where all agree at once there is none.",)
    return Plan(len(questions) * len(config.orders), 0, 0, calls, {}, {}, notes)


def build_tables(config: FordConfig, models: Models, prompts: Prompts) -> list[Roundtable]:
    """Make the table of each order of speaking.

    Args:
        config: The run.
        models: Its open models.
        prompts: Templates.

    Raises:
        ConfigError: A model cannot do what is asked of it.
    """
    choosers: dict[str, Chooser] = {}
    for speaker in config.speakers:
        how = config.how(speaker)
        asking = Asking(prompts, how.max_words, speaker.character)
        choosers[speaker.name] = Chooser(models.get(speaker.model), name=speaker.name, config=how, asking=asking)
    judge = None
    if config.judge is not None:
        own = config.judge
        judge = Chooser(models.get(own.model), name=own.name, config=own, asking=Asking(prompts, own.max_words))
    return [Roundtable(tuple(choosers[one.name] for one in order), config.most_turns, judge) for order in config.orders]


async def hold_all(
    config: FordConfig,
    questions: Sequence[Question],
    planned: Plan,
    *,
    session: Session,
    run: RunFolder,
    models: Models,
) -> list[list[Discussion]]:
    """Hold all debates, those that the store holds already not again.

    Args:
        config: The run.
        questions: The questions.
        planned: What it will take.
        session: The session.
        run: The open run.
        models: Its models.

    Returns:
        For each order of speaking, a debate on each question; one that a model failed in comes with the reason. It is
        not kept, so a resumed run tries it again.

    Raises:
        DissoiError: Anything that stops the run.
    """
    tables = build_tables(config, models, session.prompts)
    run.keep_models(models.facts)
    slots = asyncio.Semaphore(config.concurrency)
    draw = Draw(seed=config.seed)
    with Progress("ford", planned.debates, planned.total_calls, session.meter) as progress:

        async def hold(table: Roundtable, question: Question) -> Discussion:
            names = tuple(chooser.name for chooser in table.choosers)
            key = join_key("ford", *names, question.id)
            kept = run.store.get("debates", key)
            if kept is not None:
                held = from_json(Discussion, kept)
            else:
                try:
                    held = await table.hold(key, question, draw)
                    await run.store.put("debates", key, to_json(held))
                except ModelError as error:
                    held = Discussion(key, question, names, failed=str(error))
            progress.advance()
            return held

        return [await together((hold(table, question) for question in questions), slots) for table in tables]


def chain_of(config: FordConfig, questions: Sequence[Question], held: Sequence[Discussion]) -> Named | None:
    """Turn the debates of one order of speaking into a chain, none of the samples lost or doubled.

    Args:
        config: The run.
        questions: All that were asked.
        held: A debate on each.

    Returns:
        The samples whose debates were finished; None where there are none.

    Raises:
        DissoiError: A question has no debate, or more than one: a fault of this program.
    """
    asked, debated = (Counter(ids) for ids in ([one.id for one in questions], [one.question.id for one in held]))
    if asked != debated:
        wrong = sorted((asked - debated) + (debated - asked))
        raise DissoiError(f"{len(wrong)} samples were lost or doubled, such as {wrong[0]!r}; report this")
    finished = [one for one in held if one.failed is None]
    if not finished:
        return None
    names = finished[0].speakers
    chain = Chain(names, config.most_turns, len(finished), tuple(one.outcome for one in finished))
    kind = config.source.partition(":")[0]
    return Named(JOINT.join(names), kind if kind in MAPS else config.source, chain)


def run(config: FordConfig, invocation: Invocation) -> int:
    """Hold a run, or print its plan.

    Args:
        config: The run.
        invocation: What the command line asked for beside it.

    Returns:
        The exit code.

    Raises:
        DissoiError: Anything that keeps the run from being held.
    """
    session = Session("tournaments.consensus", config, invocation)
    questions = choose_questions(config)
    planned = _plan(config, questions)
    if invocation.dry_run:
        return session.show_plan(planned, planned.notes, {"questions": questions})
    with session.open({"questions": questions}) as folder:
        groups = session.ask(
            folder, lambda models: hold_all(config, questions, planned, session=session, run=folder, models=models)
        )
        held = [one for group in groups for one in group]
        folder.write_lines("debates.jsonl", map(to_json, held))
        chains = [named for group in groups if (named := chain_of(config, questions, group)) is not None]
        if not chains:
            raise DissoiError(f"no debate was finished; all are in debates.jsonl; why: {_why_failed(held)}")
        folder.write_lines(OUTCOMES, (json.dumps(row, ensure_ascii=False) for row in _rows(chains)))
        found = show(chains)
        report = Report(
            title="FORD: debates that seek agreement",
            subtitle=f"{len(questions)} questions of {config.source}; {', '.join(one.name for one in config.speakers)}",
            notes=_notes(config),
            sections=[
                *(Section(table.title, (table,)) for table in found.tables),
                Section("Cost", (cost_table(session.meter.by_model(), session.seconds),)),
            ],
        )
        shown = spread(held, MOST_PAGES)
        metrics = {**found.metrics, "failed": sum(one.failed is not None for one in held)}
        report = with_page_note(report, len(shown), len(held))
        return session.conclude(folder, report, metrics, map(page_of, shown), failures=check_quality(config, held))


def _rows(chains: Sequence[Named]) -> list[dict[str, object]]:
    return [to_row(named, one, index) for named in chains for index, one in enumerate(named.chain.outcomes)]


def _notes(config: FordConfig) -> list[str]:
    reads = {reads for _, _, reads in config.readers} - {"reply"}
    if not reads:
        return []
    how = " and ".join(sorted(reads))
    note = (
        f"Choices are read from probabilities ({how}), and explanations written for them, for models that cannot keep "
        "to a form; the paper reads both from one reply."
    )
    return [note]


def check_quality(config: FordConfig, held: Sequence[Discussion]) -> list[str]:
    """Say why a run fails: too many answers that could not be read, or too many failed debates; empty if it does not.

    Args:
        config: The run.
        held: All debates.

    Returns:
        The reasons, with examples.
    """
    found = []
    opinions = [opinion for one in held for opinion in (*one.opinions, *([one.judge] if one.judge else []))]
    unread = [opinion.unread for opinion in opinions if opinion.unread is not None]
    if len(unread) > config.max_unparsed * len(opinions):
        examples = "; ".join(dict.fromkeys(unread[:3]))
        found.append(
            f"{len(unread)} of {len(opinions)} answers could not be read, more than max_unparsed "
            f"{config.max_unparsed:g}: {examples}"
        )
    failed = sum(one.failed is not None for one in held)
    if failed > config.max_failed * len(held):
        found.append(
            f"{failed} of {len(held)} debates failed, more than max_failed {config.max_failed:g}: {_why_failed(held)}"
        )
    return found


def _why_failed(held: Sequence[Discussion]) -> str:
    return "; ".join(list(dict.fromkeys(one.failed for one in held if one.failed is not None))[:3])
