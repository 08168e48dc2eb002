"""``python -m tournaments.analyze``: every figure on judges and arguments that recorded debates give."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from debate.command import Command, Invocation
from debate.config import Config
from debate.errors import ConfigError, SourceError
from debate.question import Fold
from debate.report import Report, Section, Table, print_table, write_report
from debate.run_folder import CONFIG, write_whole
from tournaments.config import Tags
from tournaments.metrics import Values

if TYPE_CHECKING:
    from tournaments.paper import Subject, System

_METRICS = "metrics.json"


class AnalyzeConfig(Config):
    """Figures of recorded debates; nobody is asked."""

    sources: tuple[str, ...] = Field(
        (), description="run folders (DIR or run:DIR), published debates (nyu:FILE), logs of LOGICOM, FORD or MAD"
    )
    format: Literal["table", "json"] = Field("table", description="table: for people; json: plain values")
    concessions: str | None = Field(None, description="a run of tournaments.concessions that has read these debates")
    against_paper: bool = Field(default=False, description="set ours beside what the papers found")
    fold: Fold | None = Field(None, description="only debates on stories of this fold")
    tags: Tags = Field({}, description="only debates with these tags, such as included_in_paper: true")


@dataclass(frozen=True, slots=True)
class Shown:
    """What the command found.

    Attributes:
        sections: For people.
        values: The same as plain values.
        notes: What a reader must know of it.
        subtitle: What it was found in.
    """

    sections: Sequence[Section]
    values: Values
    notes: Sequence[str]
    subtitle: str


def show(config: AnalyzeConfig) -> Shown:
    """Analyse the sources of a configuration.

    Args:
        config: The configuration.

    Returns:
        What was found.

    Raises:
        DissoiError: There is no source, one cannot be read, or they are of several kinds.
    """
    if not config.sources:
        raise ConfigError("no sources; name run folders, nyu:FILE, or logs of LOGICOM, FORD or MAD, as arguments")
    kinds = {source: kind_of_source(source) for source in config.sources}
    if set(kinds.values()) == {"debates"}:
        return _show_debates(config)
    if len(config.sources) > 1:
        named = "; ".join(f"{source} ({kind})" for source, kind in kinds.items())
        raise ConfigError(f"several sources go together only where all hold debates; give one of: {named}")
    (source,) = config.sources
    if config.fold is not None or config.tags or config.concessions:
        raise ConfigError(f"fold, tags and concessions are of debates; {source} holds outcomes, leave them out")
    return _show_persuasion(config, source) if kinds[source] == "persuasion" else _show_consensus(config, source)


def kind_of_source(source: str) -> Literal["debates", "persuasion", "consensus"]:
    """Tell what a source holds, by its name, a run's configuration, or the first line of a file.

    Raises:
        SourceError: There is nothing, or the file is empty.
    """
    from debate.config import read_tree
    from debate.sources.locate import find
    from debate.sources.logicom import is_published
    from debate.sources.rows import json_rows
    from tournaments.found import OUTCOMES

    kind, _, rest = source.partition(":")
    if kind == "nyu" and rest:
        return "debates"
    folder = Path(rest if kind == "run" and rest else source).expanduser()
    if folder.is_dir():
        tree = read_tree(folder / CONFIG) if (folder / CONFIG).is_file() else {}
        if "system" in tree or (folder / OUTCOMES).is_file():
            return "consensus"
        return "persuasion" if "persuaders" in tree else "debates"
    path = find(source)
    first = next(json_rows(path), None)
    if first is None:
        raise SourceError(f"{path} is empty; give a run's folder, nyu:FILE, or logs with one JSON object a line")
    return "persuasion" if is_published(first) else "consensus"


def _show_debates(config: AnalyzeConfig) -> Shown:
    from tournaments.analysis import analyse
    from tournaments.concessions import read_concessions
    from tournaments.gather import Gathered, choose_debates, gather, read_sources
    from tournaments.paper_subjects import debate_subjects

    everything = gather(read_sources(config.sources))
    chosen = choose_debates(everything.recorded, fold=config.fold, tags=config.tags)
    notes = list(everything.notes)
    if len(chosen) < len(everything.recorded):
        notes.append(f"{len(chosen)} of {len(everything.recorded)} debates were chosen.")
    conceded = () if config.concessions is None else read_concessions(Path(config.concessions).expanduser())
    gathered = Gathered(chosen, everything.cast, tuple(notes), tuple(conceded))
    found = analyse(gathered)
    sections, beside = _beside(config, "debate", lambda: debate_subjects(gathered))
    questions = {item.debate.transcript.question.id: item.debate.transcript.question.story_id for item in chosen}
    counts = {"debates": len(chosen), "questions": len(questions), "stories": len(set(questions.values()))}
    notes += found.notes
    return Shown(
        [*found.sections, *sections],
        {**counts, "notes": notes, **found.values, **beside},
        notes,
        ", ".join(f"{count} {name}" for name, count in counts.items()),
    )


def _show_persuasion(config: AnalyzeConfig, source: str) -> Shown:
    from debate.metrics.persuasion import measure
    from tournaments.paper_subjects import logicom_subjects
    from tournaments.persuasion import read_outcomes
    from tournaments.persuasion_tables import metrics, sections

    read = read_outcomes(source.removeprefix("run:"))
    measured = measure(read.outcomes)
    beside, values = _beside(config, "logicom", lambda: logicom_subjects(measured, read.outcomes))
    return Shown(
        [*sections(measured, grid=len(measured) > 1), *beside],
        {**metrics(measured, read.notes), **values},
        read.notes,
        f"{len(read.outcomes)} outcomes of LOGICOM",
    )


def _show_consensus(config: AnalyzeConfig, source: str) -> Shown:
    from debate.sources.locate import find
    from tournaments.consensus import read_outcomes
    from tournaments.paper_subjects import consensus_subjects

    found = read_outcomes(find(source.removeprefix("run:")))
    system: System = "ford" if found.metrics["system"] == "ford" else "mad"
    beside, values = _beside(config, system, lambda: consensus_subjects(found.metrics))
    title = f"Outcomes of {system.upper()}"
    return Shown([Section(title, found.tables), *beside], {**found.metrics, **values}, (), title)


def _beside(
    config: AnalyzeConfig, system: System, subjects: Callable[[], Sequence[Subject]]
) -> tuple[list[Section], Values]:
    """Ours beside the papers', where that is asked for."""
    if not config.against_paper:
        return [], {}
    from tournaments.paper import beside, load_findings

    return beside(load_findings(), system, subjects())


def run_analyze(config: AnalyzeConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    if invocation.resume is not None or invocation.dry_run:
        raise ConfigError(
            "nobody is asked, so there is nothing to go on with or to plan; leave --resume, --dry-run out"
        )
    folder = invocation.output
    if folder is not None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} exists and is not empty; give another --output")
    found = show(config)
    text = json.dumps(found.values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if folder is not None:
        subtitle = f"{found.subtitle}; {', '.join(config.sources)}"
        write_report(Report("Analysis", subtitle, found.notes, found.sections), (), folder)
        write_whole(folder / _METRICS, text)
    if config.format == "json":
        sys.stdout.write(text)
        return 0
    for note in found.notes:
        sys.stdout.write(f"Note: {note}\n")
    for section in found.sections:
        sys.stdout.writelines(f"{note}\n" for note in section.notes)
        for table in tables_of(section):
            print_table(table)
            sys.stdout.write("\n")
    if folder is not None:
        sys.stdout.write(f"Report: {folder / 'report.html'}\n")
    return 0


def tables_of(section: Section) -> list[Table]:
    """What a terminal can show of a section."""
    return [block for block in section.blocks if isinstance(block, Table)]


COMMAND = Command(
    name="tournaments.analyze",
    about="Print every figure on judges and arguments that recorded debates give: accuracy, calibration, biases, votes,"
    "\narguments. With --against-paper, beside what the papers found. Nobody is asked.",
    config=AnalyzeConfig,
    run=run_analyze,
    positional="sources",
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
