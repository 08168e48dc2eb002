"""``python -m tournaments.report``: reports of recorded debates, made anew, and served to browsers of this machine."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pydantic
from pydantic import Field

from debate.command import Command, Invocation
from debate.config import Config, Tree, read_tree
from debate.errors import ConfigError
from debate.models.limits import Budget, Meter, Price
from debate.models.load import EMBEDDED, ModelConfig
from debate.models.prices import PriceConfig, price_table
from debate.record import Recorded, from_json
from debate.report import DebatePage, Page, Report, Section, write_report
from debate.run_folder import CONFIG, STORE
from debate.store import Store
from tournaments.cast import Cast
from tournaments.concessions import FILE as CONCESSIONS
from tournaments.config import RatingConfig
from tournaments.field import UNTRAINED
from tournaments.gather import gather, read_sources
from tournaments.judged import Judged, by_judge, sections
from tournaments.overview import analysis_sections, elo_sections
from tournaments.report_server import serve_until_interrupted
from tournaments.room_journal import JOURNAL
from tournaments.session import MOST_PAGES, spread, with_page_note
from tournaments.tables import cost_table

INDEX = "report.html"
_LISTED = 3  # judges that the subtitle names
_DEBATES = "debates.jsonl"
_UNFAILED = '"failed": null'  # inside a text the quotation marks would be escaped


class ReportConfig(Config):
    """Which debates the report shows, and who may read it."""

    runs: tuple[str, ...] = Field(
        (), description="run folders (DIR or run:DIR), published debates (nyu:FILE); several make one report"
    )
    serve: bool = Field(default=False, description="serve the report to browsers of this machine, until Ctrl-C")
    port: int = Field(8010, ge=0, le=65535, description="where to serve it; 0 for any free port")


class Shown(NamedTuple):
    """A report and its pages."""

    report: Report
    pages: Iterator[Page]


def show_debates(config: ReportConfig, folders: Sequence[Path]) -> Shown:
    """Make the report of debates with their judges: ladders, matrices, Elo against accuracy, the analysis, cost.

    Args:
        config: Names the sources.
        folders: Those of them that are runs.

    Returns:
        The report; a run that is under way shows what has finished by now.

    Raises:
        DissoiError: A source cannot be read, or none holds a finished debate.
    """
    gathered = gather(read_sources(config.runs))
    rating = _rating(folders)
    judges = [Judged.of(name, items, rating) for name, items in by_judge(gathered.recorded).items()]
    failed = [item for folder in folders for item in failed_debates(folder)]
    recorded = [*gathered.recorded, *failed]
    shown = [
        *_ladders(judges, rating),
        *elo_sections([(one.judge, one.standings) for one in judges], rating),
        *analysis_sections(gathered),
        *(cost_section(folder, len(recorded)) for folder in folders if (folder / STORE).is_file()),
    ]
    stories = {item.debate.transcript.question.story_id for item in gathered.recorded}
    names = ", ".join(one.judge for one in judges[:_LISTED]) + (", …" if len(judges) > _LISTED else "")
    report = Report(
        title=", ".join(Path(name).name for name in config.runs),
        subtitle=f"{len(recorded)} debates on {len(stories)} stories; judges: {names or 'none'}",
        notes=[*_untrained(gathered.cast), *_unfinished(folders), *gathered.notes],
        sections=shown,
    )
    paged = spread(recorded, MOST_PAGES)
    pages = (DebatePage(item.debate, item.verdicts) for item in paged)
    return Shown(with_page_note(report, len(paged), len(recorded)), pages)


def show_persuasion(config: ReportConfig, folder: Path) -> Shown:
    """Make the report of a run of ``tournaments.persuasion``; fallacious texts are withheld where the run does so."""
    from debate.metrics.persuasion import measure, outcome_of
    from debate.sources import load_debates
    from tournaments.persuasion_pages import talk_page
    from tournaments.persuasion_tables import sections as persuasion_sections
    from tournaments.withheld import withhold

    tree = read_tree(folder / CONFIG)
    recorded = [*load_debates(config.runs[0]), *failed_debates(folder)]
    outcomes = [one for one in map(outcome_of, recorded) if one is not None]
    found = persuasion_sections(measure(outcomes), grid=bool(tree.get("grid"))) if outcomes else []
    shown = [withhold(item) for item in recorded] if tree.get("withhold_fallacies") else recorded
    paged = spread(shown, MOST_PAGES)
    report = Report(
        title=folder.name,
        subtitle=f"{len(recorded)} persuasions",
        notes=_unfinished([folder]),
        sections=[*found, cost_section(folder, len(recorded))],
    )
    return Shown(with_page_note(report, len(paged), len(recorded)), map(talk_page, paged))


def failed_debates(folder: Path) -> Iterator[Recorded]:
    """Read the debates that a finished run could not finish: its store does not keep them, its export does.

    Args:
        folder: The run's folder.

    Yields:
        Each with the reason; nothing where the run has no export yet.
    """
    try:
        with (folder / _DEBATES).open(encoding="utf-8") as lines:
            yield from (from_json(Recorded, line) for line in lines if _UNFAILED not in line)
    except FileNotFoundError:
        return


def cost_section(folder: Path, debates: int) -> Section:
    """What a run has spent, by what its store holds, and that for each of its debates."""
    tree = read_tree(folder / CONFIG)
    store = Store(folder / STORE, readonly=True)
    try:
        meter = Meter(Budget(), _prices(tree), earlier=store.usage())
    finally:
        store.close()
    total = meter.total()
    each = [
        f"{total.calls / debates:.1f} calls",
        f"{total.tokens.tokens_in / debates:,.0f} tokens in, {total.tokens.tokens_out / debates:,.0f} out",
        "cost unknown" if total.cost is None else f"${total.cost / debates:.4f}",
    ]
    note = (
        f"All sessions of the run, as far as its calls are kept. For each of its {debates} debates: {', '.join(each)}."
    )
    return Section("Cost", (dataclasses.replace(cost_table(meter.by_model(), 0), note=note),))


def _prices(tree: Tree) -> dict[str, Price]:
    """The prices that a run's configuration gives, and list prices of its models."""
    own = {name: PriceConfig.model_validate(price) for name, price in (tree.get("prices") or {}).items()}
    file = tree.get("prices_file")
    return price_table(_models(tree), own, file if file and Path(file).expanduser().is_file() else None)


def _models(value: object) -> Iterator[ModelConfig]:
    """Find the models that a configuration names, wherever it names them."""
    if isinstance(value, Mapping):
        if {"name", "base_url", "adapter"} <= value.keys():
            with contextlib.suppress(pydantic.ValidationError):  # of another version
                yield ModelConfig.model_validate(value)
        else:
            yield from itertools.chain.from_iterable(map(_models, value.values()))
    elif isinstance(value, list):
        yield from itertools.chain.from_iterable(map(_models, value))


def _ladders(judges: Sequence[Judged], rating: RatingConfig) -> list[Section]:
    """What each judge found; of a single one the section is named by what it shows."""
    if not judges:
        return []
    found = sections(judges, soft=rating.outcome == "soft")
    if len(judges) > 1:
        return found
    (only,) = found
    return [dataclasses.replace(only, title="Judge" if judges[0].standings is None else "Ladder")]


def _rating(folders: Sequence[Path]) -> RatingConfig:
    """What verdicts count, as the first run that says so has it."""
    for folder in folders:
        tree = read_tree(folder / CONFIG)
        if "outcome" in tree:
            return RatingConfig(outcome=tree["outcome"], prior_sd=tree.get("prior_sd", 500.0))
    return RatingConfig(outcome="hard", prior_sd=500.0)


def _untrained(cast: Cast) -> list[str]:
    models = [member.config.get("model") for member in cast.judges.values()]
    bare = [model for model in models if isinstance(model, Mapping) and not model.get("adapter")]
    return [UNTRAINED] if any(model.get("name") == EMBEDDED for model in bare) else []


def _unfinished(folders: Sequence[Path]) -> list[str]:
    open_ = [folder for folder in folders if not (folder / "metrics.json").is_file()]
    return [f"{folder.name} has not ended; this is what it has by now." for folder in open_]


def report_of(config: ReportConfig) -> Shown | None:
    """Make the report that a configuration asks for.

    Args:
        config: The configuration.

    Returns:
        The report; None for a run that only its own command can show, and has: a comparison of optimizers, concessions,
        a roundtable, a judge room, training, a loop.

    Raises:
        DissoiError: There is no source, one cannot be read, or there is nothing to show yet.
    """
    if not config.runs:
        raise ConfigError("no run; name a run folder as argument (see --help)")
    folders = [folder for folder in map(_folder, config.runs) if folder is not None]
    if len(config.runs) == 1 and folders:
        tree = read_tree(folders[0] / CONFIG) if (folders[0] / CONFIG).is_file() else {}
        if "persuaders" in tree:
            return show_persuasion(config, folders[0])
        if (folders[0] / INDEX).is_file() and _shows_itself(folders[0], tree):
            return None
    return show_debates(config, folders)


def _folder(source: str) -> Path | None:
    kind, _, rest = source.partition(":")
    folder = Path(rest if kind == "run" and rest else source).expanduser()
    return folder if folder.is_dir() else None


def _shows_itself(folder: Path, tree: Tree) -> bool:
    """Whether a run's report shows what debates alone do not tell."""
    if "system" in tree or "variants" in tree or not (folder / STORE).is_file():
        return True
    if any((folder / name).is_file() for name in (CONCESSIONS, JOURNAL)):
        return True
    store = Store(folder / STORE, readonly=True)
    try:
        return next(store.rows("debates"), None) is None
    finally:
        store.close()


def run_report(config: ReportConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    if invocation.resume is not None or invocation.dry_run:
        raise ConfigError(
            "nobody is asked, so there is nothing to go on with or to plan; leave --resume, --dry-run out"
        )
    shown = report_of(config)
    folder = _output(config, invocation)
    if shown is not None:
        write_report(shown.report, shown.pages, folder)
        for note in shown.report.notes:
            sys.stdout.write(f"Note: {note}\n")
    elif folder != _folder(config.runs[0]):
        raise ConfigError(f"{config.runs[0]} has a report that only its own command makes; leave --output out")
    else:
        sys.stdout.write("Note: its own command makes this run's report; it stays as it is.\n")
    sys.stdout.write(f"Report: {folder / INDEX}\n")
    if config.serve:
        with contextlib.suppress(KeyboardInterrupt):  # that is how it is stopped
            serve_until_interrupted(folder, config.port)
    return 0


def _output(config: ReportConfig, invocation: Invocation) -> Path:
    """Where the report goes: into the run, unless another folder is named."""
    if invocation.output is None:
        own = _folder(config.runs[0]) if len(config.runs) == 1 else None
        if own is None:
            raise ConfigError("a report of several sources, or of published debates, needs a folder; give --output DIR")
        return own
    folder = invocation.output
    held = folder.is_dir() and any(folder.iterdir()) and not (folder / INDEX).is_file()
    if held or folder.is_file():
        raise ConfigError(f"{folder} exists and holds no report; give another --output")
    return folder


COMMAND = Command(
    name="tournaments.report",
    about="Make the report of recorded debates anew: of a run that has ended or is under way, of several, or of "
    "published debates.\nWith --serve, serve it to browsers of this machine.",
    config=ReportConfig,
    run=run_report,
    positional="runs",
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
