"""``python -m training.fallacy_pairs``: a data set of drafts and their fallacious rewrites, from persuasion runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from debate.command import Command, Invocation
from debate.config import NOT_IN_DIGEST
from debate.errors import ConfigError, SourceError, StoreError
from debate.fallacies import FALLACIES
from debate.models.base import Sampling
from debate.models.load import ModelConfig, ModelField, Models, TokenCounter
from debate.progress import Progress
from debate.question import Fold, Question
from debate.record import Recorded, to_json
from debate.report import Column, Report, Section, Table
from debate.report.table import Cell
from debate.run_folder import RunFolder, write_whole
from debate.sources import load_debates
from debate.together import together
from tournaments.calls import Calls, hidden_tokens
from tournaments.config import SessionConfig
from tournaments.metrics import Values, interval
from tournaments.plan import Plan
from tournaments.session import Session
from tournaments.tables import cost_table
from tournaments.withheld import withhold
from training.fallacy_pairs import (
    Agreement,
    FallacyPair,
    Pairs,
    Validator,
    agreement,
    ask_class,
    by_class,
    fallacy_pairs,
    to_dataset,
)
from training.soundness import sound_or_not

#: The data set's folder within the run folder; ``datasets.load_dataset`` takes it.
FOLDER = "dataset"
DATA = "train.parquet"


class FallacyPairsConfig(SessionConfig):
    """Which runs, and who validates the classes."""

    runs: tuple[str, ...] = Field((), description="run folders of tournaments.persuasion")
    validator: ModelField | None = Field(
        None, description="a second model that names each fallacy; none for the helper's own names alone"
    )
    max_tokens: int = Field(60, ge=1, description="the validator's longest reply, in tokens")
    max_attempts: int = Field(3, ge=1, le=20, description="attempts at a reply that can be read")
    temperature: float = Field(0.0, ge=0, le=2, description="the validator's sampling temperature")
    fold: Fold | None = Field(
        None, description="what the claims may be used for, written into the decisions between sound and fallacious"
    )
    withhold_fallacies: bool = Field(
        default=False,
        description="leave the fallacious texts out of the data set: classes, drafts and replies alone",
        json_schema_extra=NOT_IN_DIGEST,
    )

    @property
    def models(self) -> list[ModelConfig]:
        """The validator's model."""
        return [] if self.validator is None else [self.validator]


def read_pairs(config: FallacyPairsConfig) -> tuple[list[Recorded], Pairs]:
    """Read the debates and take the pairs out of them.

    Raises:
        SourceError: A run cannot be read, or there is no pair.
    """
    if not config.runs:
        raise ConfigError("no runs; name run folders of tournaments.persuasion as arguments (see --help)")
    recorded = [item for run in config.runs for item in load_debates(run)]
    found = fallacy_pairs(recorded)
    if not found.pairs:
        why = ", ".join(f"{reason}: {count}" for reason, count in found.dropped.items()) or "no fallacious helper"
        raise SourceError(f"{', '.join(config.runs)}: no pair is in these runs ({why}); hold scenario fallacy")
    return recorded, found


def plan_pairs(config: FallacyPairsConfig, session: Session, recorded: Sequence[Recorded], found: Pairs) -> Plan:
    """Count what the validator takes: a call a pair."""
    calls = {}
    if config.validator is not None:
        counter = TokenCounter(config.validator)
        tokens = sum(counter(ask_class(pair, session.prompts, pair.history)) for pair in found.pairs)
        reply = config.max_tokens + hidden_tokens(config.validator)
        calls = {config.validator.label: Calls(len(found.pairs), tokens, len(found.pairs) * reply)}
    return Plan(len(recorded), 0, 0, calls, {}, {})


def class_table(pairs: Sequence[FallacyPair], validated: Sequence[str | None]) -> Table:
    """Pairs by class, and how often the validator names the same."""
    rows: list[list[Cell]] = []
    for name, count in by_class(pairs).items():
        own = [other for pair, other in zip(pairs, validated, strict=True) if pair.fallacy == name]
        read = [other for other in own if other is not None]
        rows.append([name, count, len(read), sum(other == name for other in read)])
    columns = (
        Column("fallacy"),
        Column("pairs", kind="count"),
        Column("validated", kind="count"),
        Column("as the same", kind="count"),
    )
    return Table("Pairs by fallacy", columns, rows)


def agreement_table(found: Agreement) -> Table:
    """How far helper and validator agree."""
    columns = (
        Column("kappa", kind="number"),
        Column("same class", kind="share"),
        Column("validated", kind="count"),
        Column("unread", kind="count"),
    )
    return Table(
        "Agreement of helper and validator",
        columns,
        [[found.kappa, found.share, found.read, found.unread]],
        note="Cohen's kappa is 1 where they always agree and 0 where they agree as chance would have it. Intervals are "
        "95 %, robust by claim.",
    )


def write_dataset(
    folder: Path, pairs: Sequence[FallacyPair], validated: Sequence[str | None], card: str, *, withhold: bool
) -> None:
    """Write the data set and its card.

    Raises:
        StoreError: They cannot be written.
    """
    import pyarrow.parquet as pq

    try:
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(to_dataset(pairs, validated, withhold=withhold).data.table, folder / DATA)
    except OSError as error:
        raise StoreError(f"cannot write the data set into {folder}: {error.strerror or error}") from error
    write_whole(folder / "README.md", card)


def card_of(config: FallacyPairsConfig, found: Pairs, agreed: Agreement | None, recorded: Sequence[Recorded]) -> str:
    """Write the data set's card."""
    claims = len({pair.claim_id for pair in found.pairs})
    what = (
        f"{len(found.pairs)} messages of {len(recorded)} debates on {claims} claims: what a persuader would have said "
        "(`logical`), what a helper made of it with a fallacy (`fallacious`), the class of the fallacy (`fallacy`) and "
        "what was said before (`history`). Language models wrote all of it."
    )
    withheld = (
        "The fallacious texts are left out of this copy, and the persuader's later messages out of its histories."
        if config.withhold_fallacies
        else "It holds fallacious arguments by purpose. Do not train a model to write them for people."
    )
    limits = (
        "It is for measuring and mending how models are swayed by bad argument. The helper was told to commit a "
        "fallacy; whether it did, nobody has checked but the validator, where there was one. `logical` is a draft that "
        "nobody made fallacious; that does not make it sound."
    )
    lines = [
        "---",
        "configs:",
        "- config_name: default",
        f"  data_files: {DATA}",
        "---",
        "",
        "# Fallacy pairs",
        "",
        "\n\n".join((what, withheld, limits, _validation(config, agreed))),
        "",
        "| fallacy | what makes an argument one | pairs |",
        "|---|---|---|",
        *(f"| {name} | {FALLACIES.get(name, 'named otherwise')} | {n} |" for name, n in by_class(found.pairs).items()),
    ]
    if found.dropped:
        lines += ["", *(f"Left out, {reason}: {count}." for reason, count in found.dropped.items())]
    return "\n".join(lines) + "\n"


def _validation(config: FallacyPairsConfig, agreed: Agreement | None) -> str:
    if agreed is None or config.validator is None:
        return "No second model has validated the classes; they are the helper's own."
    kappa = "undefined" if agreed.kappa is None else agreed.kappa.format()
    share = "undefined" if agreed.share is None else agreed.share.format(percent=True)
    return (
        f"{config.validator.label} named the fallacy of each too (`fallacy_validated`), without being told: Cohen's "
        f"kappa {kappa}, the same class in {share}, {agreed.unread} replies unread."
    )


def run_pairs(config: FallacyPairsConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    session = Session("training.fallacy_pairs", config, invocation)
    recorded, found = read_pairs(config)
    plan = plan_pairs(config, session, recorded, found)
    data = {"claims": _questions(recorded)}
    if invocation.dry_run:
        return session.show_plan(plan, [], data)
    with session.open(data, recorded) as run:
        validated = session.ask(run, lambda models: _validate(config, found, plan, session, run, models))
        decisions = sound_or_not(found.pairs, validated, recorded, session.prompts, fold=config.fold)
        session.ask(run, lambda _: _keep(run, decisions))
        agreed = None if config.validator is None else agreement(found.pairs, validated)
        card = card_of(config, found, agreed, recorded)
        shown = fallacy_pairs(map(withhold, recorded)) if config.withhold_fallacies else found
        write_dataset(run.path / FOLDER, shown.pairs, validated, card, withhold=config.withhold_fallacies)
        tables = [class_table(found.pairs, validated), *([] if agreed is None else [agreement_table(agreed)])]
        sections = [Section("Pairs", tables), Section("Cost", [cost_table(session.meter.by_model(), session.seconds)])]
        notes = [f"Left out, {reason}: {count}." for reason, count in found.dropped.items()]
        notes.append(
            f"{len(decisions)} decisions between a sound message and a fallacious one, which judges can be trained on "
            f"and measured by, are in the store (run:{run.path})."
        )
        report = Report("Fallacy pairs", f"{len(found.pairs)} pairs of {len(recorded)} debates", notes, sections)
        sys.stdout.write(f"Data set: {run.path / FOLDER}\n")
        return session.conclude(run, report, _metrics(found, agreed), (), failures=())


async def _validate(  # noqa: PLR0917 - one call
    config: FallacyPairsConfig, found: Pairs, plan: Plan, session: Session, run: RunFolder, models: Models
) -> list[str | None]:
    if config.validator is None:
        run.keep_models({})
        return [None] * len(found.pairs)
    model = models.get(config.validator)
    run.keep_models(models.facts)
    validator = Validator(
        model,
        prompts=session.prompts,
        sampling=Sampling(config.max_tokens, config.temperature),
        attempts=config.max_attempts,
        seed=config.seed,
    )
    with Progress("fallacy pairs", 0, plan.total_calls, session.meter):
        return await validator.name_all(found.pairs)


async def _keep(run: RunFolder, decisions: Sequence[Recorded]) -> None:
    """Keep the decisions as debates of this run, which judges are trained and measured on by its folder."""
    await together(run.store.put("debates", item.debate.id, to_json(item.debate)) for item in decisions)


def _questions(recorded: Sequence[Recorded]) -> list[Question]:
    questions = (item.debate.transcript.question for item in recorded)
    return list({question.id: question for question in questions}.values())


def _metrics(found: Pairs, agreed: Agreement | None) -> Values:
    return {
        "pairs": len(found.pairs),
        "by_class": by_class(found.pairs),
        "dropped": dict(found.dropped),
        "kappa": None if agreed is None else interval(agreed.kappa),
        "same_class": None if agreed is None else interval(agreed.share),
        "validated": 0 if agreed is None else agreed.read,
        "unread": 0 if agreed is None else agreed.unread,
    }


COMMAND = Command(
    name="training.fallacy_pairs",
    about="Make a data set of what persuaders would have said and what a fallacious helper made of it, from runs of "
    "tournaments.persuasion.",
    config=FallacyPairsConfig,
    run=run_pairs,
    positional="runs",
)
