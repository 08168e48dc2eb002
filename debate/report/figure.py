"""Neutral figures: traces and layout for plotly.js, with the numbers beside them as a table."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from debate.report.table import Cell, Column, Interval, Kind, Table, format_cell, format_number

# Names of colours in report.css; the page's script puts the colours of the light or the dark scheme in their place.
ACCENT = "var(--accent)"
_DIVERGING = ((0.0, "var(--low)"), (0.5, "var(--middle)"), (1.0, "var(--high)"))
# A figure is as high as its rows ask; names beside an axis get up to so many characters.
_ROW_HEIGHT = 34
_FRAME_HEIGHT = 110
_MAX_NAME = 28
_COLOUR = re.compile(r"var\(--([\w-]+)\)")


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that callers build.

    Every text in ``traces`` and ``layout`` is plain text: it is escaped, so plotly's markup does nothing in it. A
    colour may be given as ``var(--name)``, a colour of the style sheet.

    Attributes:
        title: What it shows.
        traces: As plotly.js takes them.
        layout: As plotly.js takes it; colours and fonts of the page are filled in.
        note: A sentence or two below it.
        table: The same numbers, for readers who cannot see the figure or want to copy them.
    """

    title: str
    traces: Sequence[Mapping[str, object]]
    layout: Mapping[str, object] = field(default_factory=dict)
    note: str = ""
    table: Table | None = None

    def to_plotly(self) -> object:
        """Return it as a figure of the plotly library, with the colours of the light style sheet."""
        import plotly.graph_objects as go

        traces, layout = (_in_colour(plain_text(value)) for value in (self.traces, self.layout))
        return go.Figure(data=traces, layout=layout)


class Dot(NamedTuple):
    """One estimate of a dot figure.

    Attributes:
        label: Its name.
        value: The estimate, or None where there is none to show.
        low: The lower end of its interval, or None.
        high: The upper end of its interval, or None.
        text: Shown in the table instead of a missing value, such as "undefeated".
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    text: str = ""


def heatmap(
    title: str,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    kind: Kind = "share",
    bounds: tuple[float, float] = (0.0, 1.0),
    row_title: str = "",
    column_title: str = "",
    note: str = "",
) -> Figure:
    """Make a matrix figure, coloured from one end over a neutral middle to the other, with the numbers in its cells.

    Args:
        title: What it shows.
        rows: Names, from the top.
        columns: Names, from the left.
        values: One number a cell, row by row; None or NaN leaves a cell empty.
        kind: How numbers are shown.
        bounds: The numbers at the two ends of the colours.
        row_title: What the rows are.
        column_title: What the columns are.
        note: A sentence or two below it.

    Returns:
        The figure, with the matrix as its table.

    Raises:
        ValueError: The values do not fit the names.
    """
    if len(values) != len(rows) or any(len(row) != len(columns) for row in values):
        raise ValueError(f"heat map {title!r}: values do not fit {len(rows)} rows and {len(columns)} columns")
    known = [[_finite(value) for value in row] for row in values]
    shown = [["" if value is None else format_number(value, kind) for value in row] for row in known]
    trace = {
        "type": "heatmap",
        "z": known,
        "x": list(range(len(columns))),
        "y": list(range(len(rows))),
        "text": shown,
        "texttemplate": "%{text}",
        "hovertext": [
            [f"{row} / {column}: {cell}" if cell else "" for column, cell in zip(columns, cells, strict=True)]
            for row, cells in zip(rows, shown, strict=True)
        ],
        "hoverinfo": "text",
        "zmin": bounds[0],
        "zmax": bounds[1],
        "colorscale": [list(stop) for stop in _DIVERGING],
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
    }
    layout = {
        "height": _FRAME_HEIGHT + _ROW_HEIGHT * max(len(rows), 1),
        "xaxis": {**_names(columns, column_title), "side": "top", "showgrid": False},
        "yaxis": {**_names(rows, row_title), "autorange": "reversed", "showgrid": False},
    }
    table = Table(
        title,
        (Column(row_title), *(Column(column, kind=kind) for column in columns)),
        [(name, *row) for name, row in zip(rows, known, strict=True)],
    )
    return Figure(title, (trace,), layout, note, table)


def dots(
    title: str,
    estimates: Sequence[Dot],
    *,
    kind: Kind = "rating",
    axis_title: str = "",
    note: str = "",
) -> Figure:
    """Make a figure of estimates with error bars, one a line, the first at the top.

    Args:
        title: What it shows.
        estimates: What to show; one without a value keeps its line and has no dot.
        kind: How numbers are shown.
        axis_title: What the numbers are.
        note: A sentence or two below it.

    Returns:
        The figure, with the estimates as its table.
    """
    column = Column(axis_title or "Value", kind=kind)
    cells = [_cell(estimate) for estimate in estimates]
    at = [index for index, cell in enumerate(cells) if isinstance(cell, Interval)]
    points = [cell for cell in cells if isinstance(cell, Interval)]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": [point.value for point in points],
        "y": at,
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [0 if point.high is None else point.high - point.value for point in points],
            "arrayminus": [0 if point.low is None else point.value - point.low for point in points],
            "color": ACCENT,
            "thickness": 1.5,
            "width": 4,
        },
        "marker": {"color": ACCENT, "size": 9},
        "hovertext": [
            f"{estimates[index].label}: {format_cell(point, column)}" for index, point in zip(at, points, strict=True)
        ],
        "hoverinfo": "text",
        "showlegend": False,
    }
    layout = {
        "height": _FRAME_HEIGHT + _ROW_HEIGHT * max(len(estimates), 1),
        "xaxis": {"title": {"text": axis_title}, "zeroline": False},
        "yaxis": {
            **_names([estimate.label for estimate in estimates], ""),
            "range": [len(estimates) - 0.5, -0.5],
        },
    }
    table = Table(
        title,
        (Column(""), column),
        [(estimate.label, cell) for estimate, cell in zip(estimates, cells, strict=True)],
    )
    return Figure(title, (trace,), layout, note, table)


def plain_text(value: object) -> object:
    """Escape every text in a figure's value, so that plotly shows it as it is.

    Plotly reads a little HTML (links, bold, line breaks) and ``$…$`` in every text that it draws; names and texts of
    debaters must stay text.

    Args:
        value: Traces or a layout.

    Returns:
        The same with plain lists and dicts, and the texts escaped.
    """
    if isinstance(value, str):
        escaped = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")
        return escaped.replace("\n", "<br>")
    if isinstance(value, Mapping):
        return {str(key): plain_text(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [plain_text(item) for item in value]
    if isinstance(value, float):
        return _finite(value)
    return value


def _in_colour(value: object) -> object:
    """Put colours in the place of their names in the style sheet."""
    if isinstance(value, str):
        return _COLOUR.sub(lambda found: _colours().get(found[1], found[0]), value)
    if isinstance(value, dict):
        return {key: _in_colour(item) for key, item in value.items()}
    return [_in_colour(item) for item in value] if isinstance(value, list) else value


@functools.cache
def _colours() -> dict[str, str]:
    """The colours of the light style sheet, which come first in it."""
    text = (Path(__file__).parent / "templates" / "report.css").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for name, colour in re.findall(r"--([\w-]+):\s*(#[0-9a-fA-F]{3,8})", text):
        found.setdefault(name, colour)
    return found


def _names(names: Sequence[str], title: str) -> dict[str, object]:
    # Places by number: plotly would read names such as "1" or "2024-05-01" as numbers and dates.
    return {
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": [name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…" for name in names],
        "title": {"text": title},
        "zeroline": False,
        "automargin": True,
    }


def _cell(estimate: Dot) -> Cell:
    value = None if estimate.value is None else _finite(estimate.value)
    if value is None:
        return estimate.text or None
    ends = (None if end is None else _finite(end) for end in (estimate.low, estimate.high))
    return Interval(value, *ends)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
