"""``python -m tournaments.rejudge``: more judges for recorded debates, and one ladder over several runs."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from debate.agents.judge import Judge, JudgeConfig, ask_judge, build_judge
from debate.command import Command, Invocation
from debate.errors import ConfigError, DissoiError, ModelError
from debate.models.load import EMBEDDED, ModelConfig, Models, TokenCounter
from debate.progress import Progress
from debate.prompts import Prompts
from debate.protocols import judge_reads_story
from debate.question import Question
from debate.record import Recorded, to_json, verdict_key
from debate.report import Report, Section
from debate.run_folder import STORE, RunFolder
from debate.sources import load_debates
from debate.store import Store
from debate.together import together
from debate.verdict import Verdict
from tournaments.calls import Calls, judging_calls
from tournaments.cast import Cast, Kept, check_judge_same, member_of, read_kept, weights_of, write_kept
from tournaments.config import RejudgeConfig, SessionConfig
from tournaments.contexts import thinks
from tournaments.exports import export_by_judge
from tournaments.field import UNTRAINED
from tournaments.gather import choose_debates, gather, read_sources
from tournaments.judged import Judged, by_judge, judged_metrics, sections, speaks
from tournaments.matches import judge_debate
from tournaments.plan import Plan
from tournaments.session import Session, why_unrated, write_debates
from tournaments.tables import cost_table

_LISTED = 3  # judges that the subtitle names
_COPIED = 64  # debates copied at a time


@dataclass(frozen=True, slots=True)
class Material:
    """What is judged.

    Attributes:
        recorded: The chosen debates, with the verdicts that came with them.
        kept: What is written down of where they came from.
    """

    recorded: Sequence[Recorded]
    kept: Kept

    @property
    def questions(self) -> list[Question]:
        """The questions of the debates, each once."""
        questions = (item.debate.transcript.question for item in self.recorded)
        return list({dataclasses.replace(question, source=""): question for question in questions}.values())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of how they were brought together."""
        return tuple(self.kept.notes)


def read_material(config: RejudgeConfig, resume: Path | None) -> Material:
    """Read the debates: from the sources, or from a run that is gone on with and has copied them already.

    Such a run judges what it chose at its start, whatever has become of its sources since.

    Args:
        config: The configuration.
        resume: The folder of the run that is gone on with, or None.

    Returns:
        The debates.

    Raises:
        DissoiError: There is no source, one cannot be read, or nothing is left of them.
    """
    if not config.sources:
        raise ConfigError("no sources; name run folders, or nyu:FILE, as arguments (see --help)")
    kept = None if resume is None else read_kept(resume)
    if resume is not None and kept is not None:
        return Material(_copies(resume, kept), kept)
    gathered = gather(read_sources(config.sources))
    chosen = choose_debates(gathered.recorded, fold=config.fold, tags=config.tags, limit=config.limit, seed=config.seed)
    if not config.keep:
        chosen = [Recorded(item.debate, ()) for item in chosen]
    notes = list(gathered.notes)
    if len(chosen) < len(gathered.recorded):
        notes.append(f"{len(chosen)} of {len(gathered.recorded)} debates were chosen.")
    judges = list(dict.fromkeys(verdict.judge for item in chosen for verdict in item.verdicts))
    known = {name: member for name, member in gathered.cast.judges.items() if name in judges}
    verdicts = len({_key(item, verdict) for item in chosen for verdict in item.verdicts})
    return Material(chosen, Kept(Cast(gathered.cast.players, known), judges, notes, verdicts))


def _copies(folder: Path, kept: Kept) -> list[Recorded]:
    """The debates that a run has copied, with the verdicts that came with them and not those it has asked for since."""
    recorded = load_debates(str(folder))
    if kept.verdicts is None:
        came = set(kept.judges)
        return [Recorded(item.debate, tuple(one for one in item.verdicts if one.judge in came)) for item in recorded]
    store = Store(folder / STORE, readonly=True)
    try:
        keys = {key for key, _ in itertools.islice(store.rows("verdicts"), kept.verdicts)}
    finally:
        store.close()
    return [Recorded(item.debate, tuple(one for one in item.verdicts if _key(item, one) in keys)) for item in recorded]


def plan_rejudge(config: RejudgeConfig, recorded: Sequence[Recorded], prompts: Prompts) -> Plan:
    """Count what the judges will take, by the prompts that they will read; verdicts that came along are not asked for.

    Args:
        config: The configuration.
        recorded: The debates.
        prompts: Templates.

    Returns:
        The plan.
    """
    calls: dict[str, Calls] = {}
    notes: list[str] = []
    lengths: dict[tuple[str, bool], list[int]] = {}
    for judge in config.all_judges:
        if judge.model is None:
            continue
        counter = TokenCounter(judge.model)
        key = judge.model.model_dump_json(), thinks(judge)
        if key not in lengths:
            lengths[key] = [_prompt_tokens(item, counter, prompts, at_length=thinks(judge)) for item in recorded]
        held = sum(verdict.judge == judge.label for item in recorded for verdict in item.verdicts)
        prompt = sum(lengths[key]) // len(recorded)
        label = judge.model.label
        calls[label] = calls.get(label, Calls()) + judging_calls(judge, 2 * len(recorded) - held, prompt)
        notes += judge_notes(judge, judge.model, counter, lengths[key])
    silent = sum(not speaks(item) for item in recorded)
    return Plan(len(recorded) - silent, 0, silent, calls, {}, {}, tuple(dict.fromkeys(notes)))


def _prompt_tokens(item: Recorded, counter: TokenCounter, prompts: Prompts, *, at_length: bool) -> int:
    view = item.debate.transcript.view(story=judge_reads_story(item.debate.protocol))
    if at_length:
        return counter(ask_judge("judge_reason", view, prompts, forms="Answer: A\nor\nAnswer: B"))
    return counter(ask_judge("judge_letter", view, prompts, letters="A or B"))


def judge_notes(judge: JudgeConfig, model: ModelConfig, counter: TokenCounter, lengths: Sequence[int]) -> Iterable[str]:
    """What a user must know of how a judge will judge recorded debates.

    Args:
        judge: The judge.
        model: Its model.
        counter: Counts its tokens.
        lengths: Of its prompts, one a debate.

    Yields:
        Notes.
    """
    if model.label == EMBEDDED:
        yield UNTRAINED
    if judge.kind == "letter" and thinks(judge):
        yield (
            f"{model.label} gives no log-probabilities, so the letter judge {judge.label!r} becomes a vote of "
            f"{judge.votes}."
        )
    if counter.context is not None:
        room = counter.context - (judge.max_tokens if thinks(judge) else 1)
        long = sum(length > room for length in lengths)
        if long:
            yield (
                f"{long} debates are longer than the {room} tokens that the context of judge {judge.label!r} leaves; "
                "on those it fails."
            )


async def ask_judges(
    config: RejudgeConfig, material: Material, plan: Plan, *, session: Session, run: RunFolder, models: Models
) -> dict[str, list[Recorded]]:
    """Copy the debates into the run, and have every judge judge every debate in both orders, all at once.

    Args:
        config: The configuration.
        material: The debates.
        plan: What it will take.
        session: The session.
        run: The open run.
        models: The run's models.

    Returns:
        By judge, each debate with its verdicts, or with the reason why the judge's model failed on it.

    Raises:
        DissoiError: Anything that stops the run, or a judge that has another's name.
    """
    judges = [_build(judge, models, session.prompts) for judge in config.all_judges]
    _check_names(config.all_judges, judges, material, models, session.prompts)
    run.keep_models(models.facts)
    await copy(run.store, material.recorded)
    write_kept(run, material.kept)
    if not judges:
        return {}
    total = len(material.recorded) * len(judges)
    with Progress("rejudge", total, plan.total_calls, session.meter) as progress:
        return await decide_all(judges, material.recorded, run=run, config=config, progress=progress.advance)


async def decide_all(
    judges: Sequence[Judge],
    recorded: Sequence[Recorded],
    *,
    run: RunFolder,
    config: SessionConfig,
    progress: Callable[[], None],
) -> dict[str, list[Recorded]]:
    """Have every judge judge every debate in both orders, all at once.

    Args:
        judges: Judges, names unique.
        recorded: The debates.
        run: The open run, which keeps the verdicts.
        config: Seed and concurrency.
        progress: Called after each debate and judge.

    Returns:
        By judge, each debate with its verdicts, or with the reason why the judge's model failed on it.

    Raises:
        DissoiError: Anything that stops the run.
    """
    slots = asyncio.Semaphore(config.concurrency)
    pairs = [(item, judge) for item in recorded for judge in judges]

    async def decide(item: Recorded, judge: Judge) -> Recorded:
        async with slots:
            try:
                verdicts = await judge_debate(item.debate, judge, run.store, seed=config.seed)
                judged = Recorded(item.debate, verdicts)
            except ModelError as error:
                judged = Recorded(dataclasses.replace(item.debate, failed=str(error)), ())
        progress()
        return judged

    results = await together(decide(item, judge) for item, judge in pairs)
    found: dict[str, list[Recorded]] = {judge.name: [] for judge in judges}
    for (_, judge), judged in zip(pairs, results, strict=True):
        found[judge.name].append(judged)
    return found


def _build(judge: JudgeConfig, models: Models, prompts: Prompts) -> Judge:
    return build_judge(judge, None if judge.model is None else models.get(judge.model), prompts)


def _check_names(
    configs: Sequence[JudgeConfig], judges: Sequence[Judge], material: Material, models: Models, prompts: Prompts
) -> None:
    """Hold that no judge takes another's name."""
    check_not_live([judge.name for judge in judges], material)
    if len({judge.name for judge in judges}) < len(judges):
        names = ", ".join(sorted(judge.name for judge in judges))
        raise ConfigError(f"two judges have one name, of {names}; give every judge a name of its own (judges.N.name)")
    weights = weights_of(models.facts)
    for config, judge in zip(configs, judges, strict=True):
        if judge.name in material.kept.judges:
            ours = member_of(JudgeConfig, config.model_dump(mode="json"), weights, prompts.digests)
            check_judge_same(judge.name, ours, material.kept.cast.judges.get(judge.name))


def check_not_live(names: Iterable[str], material: Material) -> None:
    """Hold that no judge has the name of somebody who judged one of these debates live, as its tag ``judge`` says.

    Raises:
        ConfigError: One has: its verdicts would count as that person's.
    """
    live = {item.debate.tags.get("judge") for item in material.recorded}
    for name in names:
        if name in live:
            raise ConfigError(
                f"judge {name!r} has the name of somebody who judged some of these debates live; give it another name "
                "(judge.name)"
            )


async def copy(store: Store, recorded: Sequence[Recorded]) -> None:
    """Copy debates into a store with the verdicts that came along, each under the key that it has in its own run."""
    # Some at a time: writes that wait together are committed together, in this order.
    for start in range(0, len(recorded), _COPIED):
        part = recorded[start : start + _COPIED]
        await together(store.put("debates", item.debate.id, to_json(item.debate)) for item in part)
        await together(
            store.put("verdicts", _key(item, verdict), to_json(verdict)) for item in part for verdict in item.verdicts
        )


def _key(item: Recorded, verdict: Verdict) -> str:
    return verdict_key(item.debate.id, verdict.judge, verdict.order, verdict.round)


def merge(material: Material, asked: Mapping[str, Sequence[Recorded]]) -> list[Recorded]:
    """Put the verdicts of the judges that were asked beside those that came with the debates."""
    merged = []
    for place, item in enumerate(material.recorded):
        verdicts = {(one.judge, one.order, one.round): one for one in item.verdicts}
        for recorded in asked.values():
            verdicts |= {(one.judge, one.order, one.round): one for one in recorded[place].verdicts}
        merged.append(Recorded(item.debate, tuple(verdicts.values())))
    return merged


def judge_all(config: RejudgeConfig, material: Material, asked: Mapping[str, Sequence[Recorded]]) -> list[Judged]:
    """Rate by every judge: those whose verdicts came along first, then those that were asked.

    Raises:
        DissoiError: There is no verdict at all.
    """
    found = {**by_judge(material.recorded), **{name: items for name, items in asked.items() if _any(items)}}
    if not found:
        raise DissoiError(
            "no debate has a verdict; why: " + why_unrated([item for items in asked.values() for item in items])
        )
    return [Judged.of(name, items, config) for name, items in found.items()]


def _any(recorded: Iterable[Recorded]) -> bool:
    return any(item.verdicts for item in recorded)


def run_rejudge(config: RejudgeConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    session = Session("tournaments.rejudge", config, invocation)
    material = read_material(config, invocation.resume)
    if not config.all_judges and not by_judge(material.recorded):
        raise DissoiError("no debate of these sources has a verdict to rate by; ask a judge: --judge.model NAME")
    check_not_live([judge.label for judge in config.all_judges], material)
    plan = plan_rejudge(config, material.recorded, session.prompts)
    notes = [*plan.notes, *material.notes]
    if invocation.dry_run:
        return session.show_plan(plan, notes, {"debates": material.questions})
    with session.open({"debates": material.questions}, material.recorded) as run:
        asked = session.ask(
            run, lambda models: ask_judges(config, material, plan, session=session, run=run, models=models)
        )
        recorded = merge(material, asked)
        write_debates(run, recorded)  # first of all: where there is no verdict, they are all there is
        judges = judge_all(config, material, asked)
        soft = config.outcome == "soft"
        export_by_judge(run, [judge.standings for judge in judges if judge.standings is not None])
        names = ", ".join(judge.judge for judge in judges[:_LISTED])
        shown = names if len(judges) <= _LISTED else f"{len(judges)} judges"
        report = Report(
            title="Recorded debates, judged again" if asked else "Ratings over several runs",
            subtitle=f"{len(recorded)} debates, {len(material.questions)} questions; {shown}",
            notes=notes,
            sections=[
                *sections(judges, soft=soft),
                *_cost(session, asked),
            ],
        )
        return session.finish(run, report, judged_metrics(judges, soft=soft), recorded, by_judge=asked, analyse=True)


def _cost(session: Session, asked: Mapping[str, Sequence[Recorded]]) -> list[Section]:
    return [Section("Cost", (cost_table(session.meter.by_model(), session.seconds),))] if asked else []


COMMAND = Command(
    name="tournaments.rejudge",
    about="Have more judges judge recorded debates, without a new argument, and compare them. Without a judge: one "
    "ladder over the verdicts that several runs have.",
    config=RejudgeConfig,
    run=run_rejudge,
    positional="sources",
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
