"""The report of a run: a folder of static pages that work offline, written debate by debate."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from debate.errors import StoreError
from debate.report.figure import Figure, plain_text
from debate.report.page import DebatePage, index_row, page_context, said_text
from debate.report.scripts import to_script
from debate.report.table import Table, format_cell, format_number, shared_cells
from debate.report.talk import TalkPage, talk_row, talk_text

#: Whatever has a page of its own.
Page = DebatePage | TalkPage

_TEMPLATES = Path(__file__).parent / "templates"
_PAGE_NAME = re.compile(r"[1-9][0-9]*\.html")

# On a file: page some browsers take 'self' for nothing, so the scheme is named beside it; on a server it adds nothing.
# Pages of debates hold hostile text, so they allow nothing but our own files. Plotly styles its figures in place
# and draws heat maps as data images; the overview, which shows them, allows that too.
_POLICY = "default-src 'none'; script-src 'self' file:; style-src 'self' file:; base-uri 'none'; form-action 'none'"
_FIGURE_POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file: 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the overview.

    Attributes:
        title: Its heading.
        blocks: Tables and figures, in order.
        notes: Paragraphs before them.
    """

    title: str
    blocks: Sequence[Table | Figure] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What the overview page shows above the list of debates.

    Attributes:
        title: What was run.
        subtitle: When and with what, in a line.
        notes: What a reader must know before the figures, such as that a judge is untrained.
        sections: Tables and figures.
    """

    title: str
    subtitle: str = ""
    notes: Sequence[str] = ()
    sections: Sequence[Section] = ()


def write_report(report: Report, debates: Iterable[Page], folder: Path) -> Path:
    """Write ``report.html``, ``debates/<n>.html`` and ``assets/`` into a folder.

    Debates are taken one by one and never held together. Each file is complete or absent: it is written beside its
    place and moved there. An earlier report's files are replaced, ``report.html`` last.

    Args:
        report: The overview.
        debates: The debates, in the order of the list; read once. Those of one report are all of one kind.
        folder: The run folder; made if it is absent.

    Returns:
        The path of ``report.html``.

    Raises:
        StoreError: A file cannot be written.
    """
    figures = [block for section in report.sections for block in section.blocks if isinstance(block, Figure)]
    assets = folder / "assets"
    pages = folder / "debates"
    try:
        for place in (assets, pages):
            place.mkdir(parents=True, exist_ok=True)
        _write_assets(assets, figures)
        count, talks = _write_debates(report, debates, pages, assets)
        overview = environment().get_template("report.html.j2")
        with _whole_file(folder / "report.html") as file:
            policy = _FIGURE_POLICY if figures else _POLICY
            file.writelines(overview.generate(report=report, policy=policy, count=count, talks=talks))
        _remove_stale(pages, count)
    except StoreError:
        # From reading the debates; its message already says what to do.
        raise
    except OSError as error:
        raise StoreError(
            f"cannot write the report into {folder}: {error.strerror or error} ({error.filename}); free the space or "
            "give another folder, and write the report again"
        ) from error
    return folder / "report.html"


def _write_assets(assets: Path, figures: Sequence[Figure]) -> None:
    for name in ("report.css", "list.js", "report.js"):
        with _whole_file(assets / name) as file:
            file.write((_TEMPLATES / name).read_text(encoding="utf-8"))
    if not figures:
        return
    from plotly.offline import get_plotlyjs

    with _whole_file(assets / "plotly.min.js") as file:
        file.write(get_plotlyjs())
    drawn = [{"traces": plain_text(figure.traces), "layout": plain_text(figure.layout)} for figure in figures]
    with _whole_file(assets / "figures.js") as file:
        file.write(f"window.dissoiFigures = {to_script(drawn)};\n")


def _write_debates(report: Report, debates: Iterable[Page], pages: Path, assets: Path) -> tuple[int, bool]:
    """Write a page for each; returns how many there are, and whether they are discussions."""
    debate, talk = (environment().get_template(f"{name}.html.j2") for name in ("debate", "talk"))
    number, talks = 0, False
    with _whole_file(assets / "debates.js") as index, _whole_file(assets / "words.js") as words:
        index.write("window.dissoiDebates = [\n")
        words.write("window.dissoiWords = [\n")
        for number, (page, last) in enumerate(_with_last(debates), start=1):
            talks = isinstance(page, TalkPage)
            shown = {"report": report, "policy": _POLICY, "number": number, "last": last}
            with _whole_file(pages / f"{number}.html") as file:
                if isinstance(page, TalkPage):
                    file.write(talk.render(page=page, **shown))
                else:
                    file.write(debate.render(**shown, **page_context(page)))
            row = talk_row(page, number) if isinstance(page, TalkPage) else index_row(page, number)
            index.write(f"{to_script(row)},\n")
            words.write(f"{to_script(talk_text(page) if isinstance(page, TalkPage) else said_text(page))},\n")
        index.write("];\n")
        words.write("];\n")
    return number, talks


def _remove_stale(pages: Path, count: int) -> None:
    for path in pages.iterdir():
        if _PAGE_NAME.fullmatch(path.name) and int(path.stem) > count:
            path.unlink()


def _with_last(debates: Iterable[Page]) -> Iterator[tuple[Page, bool]]:
    """Look one ahead, so that the last page knows that it is the last."""
    rest = iter(debates)
    try:
        held = next(rest)
    except StopIteration:
        return
    for following in rest:
        yield held, False
        held = following
    yield held, True


@contextmanager
def _whole_file(path: Path) -> Iterator[TextIO]:
    """Write a file that appears only when it is complete."""
    partial = path.with_name(f".{path.name}.part")
    try:
        # What a model wrote may hold halves of surrogate pairs, which no encoding has.
        with partial.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            yield file
        partial.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise


@functools.cache
def environment() -> Environment:
    """The environment of all pages: the templates that ship, every value escaped, a missing one an error."""
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["cell"] = format_cell
    made.filters["shared"] = shared_cells
    made.filters["share"] = functools.partial(format_number, kind="share")
    made.filters["log_odds"] = functools.partial(format_number, kind="log_odds")
    made.tests["table"] = lambda block: isinstance(block, Table)
    return made
