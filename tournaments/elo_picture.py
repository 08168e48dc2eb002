"""Elo against accuracy as a figure: how persuasive players are, and how often the judge is right about them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from debate.report import Column, Figure, Table
from debate.report import Interval as Span
from debate.report.table import Cell
from tournaments.elo_accuracy import UNIT, Relation

TITLE = "Elo against accuracy"
_COLOURS = ("var(--accent)", "var(--seat-b)", "var(--good)")
_HEIGHT = 460
_STEPS = 41  # points of a drawn curve


def picture(title: str, relations: Mapping[str, Relation]) -> Figure:
    """Draw players by how persuasive they are and how often the judge is right about them, with intervals and lines.

    Args:
        title: Of the figure.
        relations: By what the points are called; one colour each.

    Returns:
        The figure, with its points as a table.
    """
    axis = next(iter(relations.values())).axis
    share = axis == "win rate"
    traces: list[dict[str, object]] = []
    for colour, (name, relation) in zip(_COLOURS, relations.items(), strict=False):
        traces.append(_dots(name, relation, colour))
        traces += _curve(name, relation, colour)
    layout = {
        "height": _HEIGHT,
        "xaxis": {
            "title": {"text": "win rate on other stories" if share else "Elo on other stories"},
            "tickformat": ".0%" if share else "",
            "zeroline": False,
        },
        "yaxis": {
            "title": {"text": "judge right in own debates", "standoff": 8},
            "tickformat": ".0%",
            "zeroline": False,
            "automargin": True,
        },
        "showlegend": len(relations) > 1,
    }
    note = " ".join(_in_words(name, relation) for name, relation in relations.items())
    note += " Bars are 95 % intervals, robust by story."
    if any(relation.slope.value is not None for relation in relations.values()):
        note += " A line is that of log-odds, with errors in both coordinates."
    return Figure(title, traces, layout, note, points_table(title, relations))


def _dots(name: str, relation: Relation, colour: str) -> dict[str, object]:
    shown = [point for point in relation.points if point.status == "ok"]

    def bars(ends: Sequence[tuple[float, float, float]]) -> dict[str, object]:
        return {
            "type": "data",
            "symmetric": False,
            "array": [high - value if math.isfinite(high) else 0 for value, _, high in ends],
            "arrayminus": [value - low if math.isfinite(low) else 0 for value, low, _ in ends],
            "color": colour,
            "thickness": 1,
            "width": 3,
        }

    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": name,
        "x": [point.x.value for point in shown],
        "y": [point.y.value for point in shown],
        "error_x": bars([(point.x.value, point.x.low, point.x.high) for point in shown]),
        "error_y": bars([(point.y.value, point.y.low, point.y.high) for point in shown]),
        "text": [point.player for point in shown],
        "textposition": "top center",
        "hovertext": [
            f"{point.player}: {relation.axis} {point.x.value:.3g}, judge right {100 * point.y.value:.1f} %"
            for point in shown
        ],
        "hoverinfo": "text",
        "marker": {"color": colour, "size": 9},
    }


def _curve(name: str, relation: Relation, colour: str) -> list[dict[str, object]]:
    """The line, as it bends on the scale of shares; nothing where there is no slope."""
    slope = relation.slope
    known = [point.x.value for point in relation.points if point.status == "ok"]
    if slope.value is None or len(known) < 2:
        return []
    low, high = min(known), max(known)
    places = [low + (high - low) * step / (_STEPS - 1) for step in range(_STEPS)]
    odds = [slope.intercept + slope.value * place / UNIT[relation.axis] for place in places]
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": f"{name}, line",
            "x": places,
            "y": [1 / (1 + math.exp(-value)) for value in odds],
            "line": {"color": colour, "width": 1.5, "dash": "dot"},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    ]


def unit_of(relation: Relation) -> str:
    """What a slope is given for."""
    return "100 Elo" if relation.axis == "Elo" else "10 points of win rate"


def _in_words(name: str, relation: Relation) -> str:
    slope = relation.slope
    if slope.value is None:
        return f"{name}: no slope ({slope.why})."
    ends = f"[{slope.low:+.2f}, {slope.high:+.2f}]"
    others = f" (without {slope.without}: {slope.value_without:+.2f})" if slope.without else ""
    return f"{name}: {slope.value:+.2f} {ends} log-odds for {unit_of(relation)}, {slope.players} players{others}."


def points_table(title: str, relations: Mapping[str, Relation]) -> Table:
    """The points of a picture."""
    axis = next(iter(relations.values())).axis
    several = len(relations) > 1
    rows: list[list[Cell]] = []
    for name, relation in relations.items():
        for point in relation.points:
            x: Cell = Span(point.x.value, point.x.low, point.x.high) if point.status == "ok" else point.status
            rows.append([*([name] if several else []), point.player, x, point.y, point.debates])
    columns = (
        *([Column("points")] if several else []),
        Column("player"),
        Column(axis, kind="share" if axis == "win rate" else "rating"),
        Column("judge right", kind="share"),
        Column("own debates", kind="count"),
    )
    return Table(title, columns, rows)
