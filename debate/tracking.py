"""Tracking of runs in Weights & Biases: what a finished run found, sent there or kept for it in the run folder.

Nothing is sent but what ``log_run`` is given and wandb's own note of versions and platform: no code, no console
output, no host name. wandb is imported only where a run is tracked.
"""

from __future__ import annotations

import contextlib
import hashlib
import heapq
import io
import math
import os
import re
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field

from debate.agents.render import show_turns
from debate.config import Config, Tree
from debate.errors import ConfigError
from debate.record import Recorded
from debate.report.figure import Figure
from debate.report.table import Cell, Column, Table
from debate.run_folder import write_whole
from debate.transcript import SEATS
from debate.verdict import Verdict

if TYPE_CHECKING:
    import wandb

Plain = str | int | float | bool | None
Mode = Literal["disabled", "offline", "online"]

ID_FILE = "wandb-id.txt"
TRANSCRIPTS = "transcripts"
FINISH_SECONDS = 300
"""How long a finished run waits for its upload; what is not up by then stays in the run folder."""

_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]*@")
_NOT_IN_KEY = re.compile(r"[^\w.() -]+")


class TrackingConfig(Config):
    """Whether and where a run is tracked in Weights & Biases."""

    mode: Mode = Field("disabled", description="disabled, offline (kept in the run folder) or online")
    project: str = Field("dissoi", pattern=r"^[^/\\#?%:]{1,128}$", description="the project at Weights & Biases")
    entity: str | None = Field(None, description="user or team; default the account's own")
    group: str | None = Field(None, description="runs of one group are shown together")
    name: str | None = Field(None, description="name of the run; default that of the run folder")
    transcripts: int = Field(20, ge=0, le=10_000, description="debates drawn for the table of transcripts; 0 for none")


class Series(NamedTuple):
    """Figures along a step of their own, such as the loss of a training.

    Attributes:
        name: Stands before the names of the figures: ``judge`` gives ``judge/loss``.
        step: Which of the figures is the step. The server draws the others along it, whatever order lines come in.
        lines: One for each step.
    """

    name: str
    step: str
    lines: Sequence[Mapping[str, object]]


class Folder(NamedTuple):
    """A folder that is kept with a run as an artifact.

    Attributes:
        name: Such as ``judge-1``.
        kind: Such as ``adapter`` or ``dataset``.
        path: Where it lies.
    """

    name: str
    kind: str
    path: Path


def check(config: TrackingConfig) -> None:
    """Find out before a run whether it can be tracked at its end; never asks, sends nothing.

    Args:
        config: The configuration.

    Raises:
        ConfigError: Mode online, and there is no API key or one that cannot be valid.
    """
    if config.mode != "online":
        return
    if os.environ.get("WANDB_MODE", "online") != "online":
        os.environ["WANDB_MODE"] = "online"  # wandb reads it at its first use, and what is configured holds
    import wandb

    try:
        found = _has_key()
    except wandb.Error as error:
        raise ConfigError(f"wandb.mode: online needs a valid API key: {_one_line(error)}{_OTHERWISE}") from error
    if not found:
        raise ConfigError(f"wandb.mode: online needs an API key, and there is none{_OTHERWISE}")


def or_offline(config: TrackingConfig, command: str) -> TrackingConfig:
    """Fall back on offline where online cannot be had, and say in one line why and what to do.

    Args:
        config: The configuration.
        command: Who tracks, for the line.

    Returns:
        The configuration, with another mode where it must be.
    """
    try:
        check(config)
    except ConfigError as error:
        _warn(command, f"{error}; going on offline")
        return config.model_copy(update={"mode": "offline"})
    return config


def _has_key() -> bool:
    """Whether wandb finds a key where it would at the run's end: the environment, netrc, its own settings."""
    # wandb.login() would show the key to the server at once, and wait for an answer.
    from wandb.sdk import wandb_setup
    from wandb.sdk.lib import wbauth

    host = wandb_setup.singleton().settings.base_url
    with contextlib.redirect_stderr(io.StringIO()):
        return wbauth.authenticate_session(host=host, source="dissoi", prompt=False, update_session=False) is not None


_OTHERWISE = (
    "; set WANDB_API_KEY or call `wandb login` once, or keep the run in its folder with --wandb.mode offline and send "
    "it later with `wandb sync`"
)


def log_run(
    config: TrackingConfig,
    *,
    run_folder: Path,
    command: str,
    settings: Tree,
    tables: Sequence[Table],
    metrics: Mapping[str, object],
    recorded: Sequence[Recorded],
    seed: int,
    series: Sequence[Series] = (),
    figures: Sequence[Figure] = (),
    folders: Sequence[Folder] = (),
) -> None:
    """Track a finished run; in mode disabled do nothing.

    The run's results are already in its folder, so whatever goes wrong here is a warning. A run that cannot be sent is
    kept offline. A run that is resumed goes on with the same run at Weights & Biases.

    Args:
        config: Whether and where.
        run_folder: The run's folder; wandb's files go into its folder ``wandb``.
        command: What made the run, such as "tournaments.swiss".
        settings: The resolved configuration.
        tables: The tables of the report.
        metrics: The tree of ``metrics.json``.
        recorded: The debates of the run, in any order.
        seed: Decides which debates are drawn.
        series: Figures along steps of their own.
        figures: Figures of the report, each kept under its title.
        folders: What is kept as artifacts; a folder that is not there is left out.
    """
    if config.mode == "disabled":
        return
    if config.transcripts and recorded:
        tables = [*tables, transcripts_table(sample(recorded, config.transcripts, seed))]
    summary = flatten_metrics(metrics)
    modes: tuple[Literal["online", "offline"], ...] = ("online", "offline") if config.mode == "online" else ("offline",)
    for mode in modes:
        heard = io.StringIO()  # wandb talks on stderr; what it complains of is told in one line
        try:
            with contextlib.redirect_stderr(heard), _staged_in(run_folder / "wandb"):
                if mode != modes[0]:
                    _let_go()
                run = _start(config, mode, run_folder=run_folder, command=command, settings=settings)
                trouble = _fill(run, summary, tables, series=series, figures=figures, folders=folders)
        except Exception as error:  # noqa: BLE001 - a finished run must not fail for its tracking, whatever wandb raises
            kept = "; keeping it offline" if mode != modes[-1] else "; the run's own files are complete"
            _warn(command, f"tracking in wandb ({mode}) failed: {_one_line(error)}{kept}")
            continue
        folder = Path(run.dir).parent
        trouble = trouble or _complaints(heard.getvalue())
        if trouble:
            _warn(command, f"wandb ({mode}): {trouble}; what is missing there is sent by `wandb sync {folder}`")
        where = f"{run.url}" if mode == "online" else f"kept in {folder}; send it with `wandb sync {folder}`"
        sys.stdout.write(f"wandb: {where}\n")
        return


@contextlib.contextmanager
def _staged_in(folder: Path) -> Iterator[None]:
    """Have wandb stage tables here; it would in the user's home, where those of an offline run stay for good."""
    before = os.environ.get("WANDB_DATA_DIR")
    os.environ["WANDB_DATA_DIR"] = str(folder.resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ["WANDB_DATA_DIR"]
        else:
            os.environ["WANDB_DATA_DIR"] = before


def _let_go() -> None:
    """Give up what a failed start holds: wandb's service would refuse the same id until the process ends."""
    import wandb

    if wandb.run is None:  # a trainer's run in this process is not ours to end
        wandb.teardown()


def _start(
    config: TrackingConfig, mode: Literal["online", "offline"], *, run_folder: Path, command: str, settings: Tree
) -> wandb.Run:
    import wandb

    return wandb.init(
        mode=mode,
        dir=str(run_folder.resolve()),
        id=_run_id(run_folder),
        resume="allow",
        reinit="create_new",  # a trainer may have a run of its own open
        project=config.project,
        entity=config.entity,
        group=config.group,
        name=config.name or run_folder.resolve().name,
        job_type=command,
        config={str(key): _clean_tree(value) for key, value in settings.items()},
        settings=wandb.Settings(
            console="off",
            quiet=True,
            show_info=False,
            show_warnings=False,
            symlink=False,
            finish_timeout=FINISH_SECONDS,
            finish_timeout_raises=True,
            allow_offline_artifacts=False,  # an offline table is then found by its file in the run folder
            save_code=False,
            disable_code=True,
            disable_git=True,
            host="",
            x_disable_machine_info=True,
            x_disable_meta=True,
            x_disable_stats=True,
            x_save_requirements=False,
        ),
    )


def _fill(
    run: wandb.Run,
    summary: Mapping[str, Plain],
    tables: Sequence[Table],
    *,
    series: Sequence[Series],
    figures: Sequence[Figure],
    folders: Sequence[Folder],
) -> str:
    """Put all into a run and end it; returns why not all of it was sent, or nothing."""
    import wandb

    try:
        _log_series(run, series)
        run.summary.update(dict(summary))
        logged: dict[str, wandb.Table | wandb.Plotly] = {}
        for table in tables:
            columns, rows = flatten_table(table)
            key = _unused(_NOT_IN_KEY.sub("_", _clean(table.title)), logged)  # it names a file
            logged[key] = wandb.Table(columns=[*columns], data=[[*row] for row in rows])
        for figure in figures:
            logged[_unused(_NOT_IN_KEY.sub("_", _clean(figure.title)), logged)] = wandb.Plotly(figure.to_plotly())
        if logged:
            run.log(logged)
        for folder in folders:
            if folder.path.is_dir():
                artifact = wandb.Artifact(folder.name, type=folder.kind)
                artifact.add_dir(str(folder.path))
                run.log_artifact(artifact)
    except BaseException:
        run.finish(exit_code=1)
        raise
    try:
        run.finish()
    except TimeoutError as error:
        return _one_line(error)
    return ""


def _log_series(run: wandb.Run, series: Sequence[Series]) -> None:
    """Log figures along steps of their own: wandb's own step only counts, so no line is too late to be kept."""
    for one in series:
        step = f"{one.name}/{one.step}"
        run.define_metric(step, hidden=True)
        run.define_metric(f"{one.name}/*", step_metric=step)
        for line in one.lines:
            run.log({f"{one.name}/{key}": value for key, value in flatten_metrics(line).items() if value is not None})


def _run_id(run_folder: Path) -> str:
    """The id of the run at Weights & Biases: made once, kept in the run folder, so that a resumed run finds it."""
    path = run_folder / ID_FILE
    if path.exists():
        return path.read_text(encoding="utf-8").strip()
    made = secrets.token_hex(8)
    write_whole(path, f"{made}\n")
    return made


def flatten_metrics(metrics: Mapping[str, object]) -> dict[str, Plain]:
    """Turn a tree of figures into single values, keys joined by "/".

    Args:
        metrics: Nested mappings of plain values; ``[value, low, high]`` is an estimate with its interval, ``[low,
            high]`` an interval.

    Returns:
        Single values. ``[value, low, high]`` under ``key`` gives ``key``, ``key/low`` and ``key/high``, and ``[low,
        high]`` the last two; other lists are numbered from 0. What is not a finite number is None.
    """
    found: dict[str, Plain] = {}

    def walk(prefix: str, value: object) -> None:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                walk(f"{prefix}/{_clean(str(key))}" if prefix else _clean(str(key)), inner)
        elif isinstance(value, (list, tuple)):
            for suffix, inner in zip(_suffixes(value), value, strict=True):
                walk(f"{prefix}{suffix}", inner)
        else:
            found[prefix] = _plain(value)

    walk("", metrics)
    return found


def _suffixes(values: Sequence[object]) -> Sequence[str]:
    numbers = all(value is None or type(value) in {int, float} for value in values)
    if numbers and len(values) in {2, 3}:
        return ("", "/low", "/high")[-len(values) :]
    return [f"/{index}" for index in range(len(values))]


def flatten_table(table: Table) -> tuple[list[str], list[list[Plain]]]:
    """Turn a table of the report into one whose columns each hold numbers or text, never both.

    Args:
        table: The table.

    Returns:
        Column names and rows. A column with intervals becomes three: ``name``, ``name low``, ``name high``. Text among
        numbers, such as a rating that is not comparable, stands in ``name (text)``. What is missing, or is not a finite
        number, is None.
    """
    columns: dict[str, list[Plain]] = {}
    for index, column in enumerate(table.columns):
        for title, cells in _parts(_clean(column.title), [row[index] for row in table.rows]):
            columns[_unused(title, columns)] = cells
    return list(columns), [[cells[number] for cells in columns.values()] for number in range(len(table.rows))]


def _parts(title: str, cells: Sequence[Cell]) -> list[tuple[str, list[Plain]]]:
    texts: list[Plain] = []
    numbers: list[tuple[Plain, Plain, Plain]] = []
    for cell in cells:
        text: str | None = None
        number: tuple[Plain, Plain, Plain] = (None, None, None)
        if isinstance(cell, (str, bool)):
            text = _clean(cell) if isinstance(cell, str) else ("no", "yes")[cell]
        elif isinstance(cell, (int, float)):
            number = (_plain(cell), None, None)
        elif cell is not None:
            number = (_plain(cell.value), _plain(cell.low), _plain(cell.high))
        texts.append(text)
        numbers.append(number)
    values, lows, highs = ([row[part] for row in numbers] for part in range(3))
    with_text = any(text is not None for text in texts)
    if with_text and not any(value is not None for value in values):
        return [(title, texts)]
    parts = [(title, values)]
    if any(not isinstance(cell, (str, int, float)) and cell is not None for cell in cells):
        parts += [(f"{title} low", lows), (f"{title} high", highs)]
    return [*parts, (f"{title} (text)", texts)] if with_text else parts


def sample(recorded: Sequence[Recorded], count: int, seed: int) -> list[Recorded]:
    """Draw debates without replacement; neither their order nor the draw of others decides whether one is drawn.

    Args:
        recorded: Debates, ids unique.
        count: How many at most.
        seed: Decides which.

    Returns:
        The drawn debates, by id. A larger count adds to those of a smaller one.
    """

    def lot(item: Recorded) -> tuple[str, str]:
        name = _clean(item.debate.id)
        return hashlib.sha256(f"{seed}\0{name}".encode()).hexdigest(), name

    return sorted(heapq.nsmallest(count, recorded, key=lot), key=lambda item: item.debate.id)


def transcripts_table(recorded: Sequence[Recorded]) -> Table:
    """Show debates as judges saw them, with what each judge said in each order.

    Args:
        recorded: Debates and verdicts.

    Returns:
        A row a debate. A and B are the seats of the transcript. Each judge, order and round has a column that holds the
        probability of answer A, or why the verdict is unparsed.
    """
    rows: list[tuple[list[Cell], dict[str, Cell]]] = []
    for item in recorded:
        debate, seats = item.debate, item.debate.transcript.seats
        question = debate.transcript.question
        verdicts: dict[str, Cell] = {}
        for verdict in item.verdicts:
            probability = None if verdict.probabilities is None else verdict.probabilities[seats[0]]
            verdicts[_unused(_verdict_title(verdict, seats), verdicts)] = (
                verdict.unparsed if probability is None else probability
            )
        fixed: list[Cell] = [
            debate.id,
            debate.protocol,
            question.text,
            *(question.answers[answer] for answer in seats),
            *(debate.players[answer] for answer in seats),
            None if question.gold is None else SEATS[seats.index(question.gold)],
            show_turns(debate.transcript.view()),
            debate.failed,
        ]
        rows.append((fixed, verdicts))
    fixed_titles = ("debate", "protocol", "question", "answer A", "answer B", "player A", "player B", "gold")
    verdict_titles = sorted({title for _, verdicts in rows for title in verdicts})
    columns = [
        *(Column(title) for title in (*fixed_titles, "transcript", "failed")),
        *(Column(title, kind="share") for title in verdict_titles),
    ]
    cells = [[*fixed, *(verdicts.get(title) for title in verdict_titles)] for fixed, verdicts in rows]
    return Table(TRANSCRIPTS, columns, cells)


def _verdict_title(verdict: Verdict, seats: tuple[int, int]) -> str:
    order = "first" if verdict.order[0] == seats[0] else "second"
    after = "" if verdict.round is None else f", after round {verdict.round}"
    return f"P(A), {verdict.judge}, A shown {order}{after}"


def _unused(title: str, used: Mapping[str, object]) -> str:
    number, made = 1, title
    while made in used:
        number += 1
        made = f"{title} ({number})"
    return made


def _plain(value: object) -> Plain:
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return _clean(str(value))


def _clean(text: str) -> str:
    """Replace halves of surrogate pairs, which a model can write and no encoding has."""
    return text.encode("utf-8", errors="replace").decode()


def _clean_tree(value: object) -> object:
    """Make settings fit to be sent: user names and passwords are cut out of addresses."""
    if isinstance(value, Mapping):
        return {_clean(str(key)): _clean_tree(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean_tree(inner) for inner in value]
    plain = _plain(value)
    return _CREDENTIALS.sub("", plain) if isinstance(plain, str) else plain


def _complaints(heard: str) -> str:
    """The first line in which wandb names an error, without its colours."""
    lines = (re.sub(r"\x1b\[[0-9;]*m", "", line) for line in heard.splitlines())
    return next((_one_line(line.partition("ERROR")[2].strip()) for line in lines if "ERROR" in line), "")


def _one_line(error: object) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    key = os.environ.get("WANDB_API_KEY")
    return (text.replace(key, "***") if key else text)[:500]


def _warn(command: str, text: str) -> None:
    sys.stderr.write(f"{command}: {text}\n")
