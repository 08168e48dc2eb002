"""Curves of a judge's calibration: what it says against what is so, and what is right where the unsure are rejected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import numpy as np

from debate.metrics.beliefs import Belief
from debate.metrics.calibration import bin_places
from debate.metrics.intervals import Interval, cluster_mean
from debate.metrics.rejection import Kept
from debate.report import Column, Figure, Table
from debate.report.table import Cell

Beliefs = Mapping[str, Sequence[Belief]]

_COLOURS = (
    "var(--accent)",
    "var(--seat-b)",
    "var(--good)",
    "var(--bad)",
    "var(--text)",
    "var(--note-line)",
)
_HEIGHT = 420


def reliability_figure(judge: str, named: Beliefs) -> Figure:
    """Draw how often a judge is right by how sure it is.

    Args:
        judge: The judge.
        named: Its beliefs by what they are called, at least one each; one curve each.

    Returns:
        The curves over ten bins of confidence, with 95 % intervals robust by story, and their numbers as a table.
    """
    points = {name: reliability_points(beliefs) for name, beliefs in named.items()}
    traces: list[dict[str, object]] = [_diagonal()]
    for colour, (name, found) in zip(_COLOURS, points.items(), strict=False):
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "x": [sure for sure, _ in found],
                "y": [right.value for _, right in found],
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": [right.high - right.value for _, right in found],
                    "arrayminus": [right.value - right.low for _, right in found],
                    "color": colour,
                    "thickness": 1,
                    "width": 3,
                },
                "line": {"color": colour, "width": 1.5},
                "marker": {"color": colour, "size": 8},
                "hovertext": [
                    f"{name}: sure {sure:.0%}, right {right.value:.0%} of {right.n}" for sure, right in found
                ],
                "hoverinfo": "text",
            }
        )
    rows: list[list[Cell]] = [[name, sure, right.n, right] for name, found in points.items() for sure, right in found]
    titles = (
        Column("verdicts"),
        Column("mean confidence", kind="share"),
        Column("n", kind="count"),
        Column("right", kind="share"),
    )
    title = f"Reliability: {judge}"
    layout = {
        "height": _HEIGHT,
        "xaxis": {**_axis("confidence"), "range": [0.48, 1.02]},
        "yaxis": {**_axis("right"), "range": [-0.02, 1.02]},
        "showlegend": len(named) > 1,
    }
    note = (
        "Probability of the answer named, in five bins from one half on, against how often it is right; below the "
        "dotted line a judge is surer than it is right. Bars are 95 % intervals, robust by story."
    )
    return Figure(title, traces, layout, note, Table(title, titles, rows))


def reliability_points(beliefs: Sequence[Belief]) -> list[tuple[float, Interval]]:
    """Mean confidence, and how often a judge is right, in each of the bins of ``calibration.reliability``."""
    inside: dict[int, list[Belief]] = {}
    for place, one in zip(bin_places(np.array([one.confidence for one in beliefs])), beliefs, strict=True):
        inside.setdefault(int(place), []).append(one)
    return [
        (
            fmean(one.confidence for one in own),
            cluster_mean([one.right for one in own], [one.story for one in own], bounds=(0, 1)),
        )
        for _, own in sorted(inside.items())
    ]


def _axis(title: str) -> dict[str, object]:
    return {"title": {"text": title, "standoff": 12}, "tickformat": ".0%", "zeroline": False, "automargin": True}


def _diagonal() -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [0.5, 1],
        "y": [0.5, 1],
        "line": {"color": "var(--quiet)", "width": 1, "dash": "dot"},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def rejection_figure(judge: str, curves: Mapping[str, Sequence[Kept]]) -> Figure:
    """Draw how often a judge is right by how many of its verdicts are kept.

    Args:
        judge: The judge.
        curves: Its curves by what they are of; the first six are drawn.

    Returns:
        The curves, with their numbers as a table.
    """
    traces: list[dict[str, object]] = []
    for colour, (name, curve) in zip(_COLOURS, curves.items(), strict=False):
        known = [(one, one.accuracy) for one in curve if one.accuracy is not None]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "x": [one.share.value for one, _ in known],
                "y": [right.value for _, right in known],
                "line": {"color": colour, "width": 1.5},
                "marker": {"color": colour, "size": 8},
                "hovertext": [
                    f"{name}, at least {one.threshold:.0%} sure: {one.share.value:.0%} kept, {right.value:.0%} right"
                    for one, right in known
                ],
                "hoverinfo": "text",
            }
        )
    rows: list[list[Cell]] = [
        [name, one.threshold, one.share, one.accuracy] for name, curve in curves.items() for one in curve
    ]
    titles = (
        Column("debates"),
        Column("at least sure", kind="share"),
        Column("kept", kind="share"),
        Column("right", kind="share"),
    )
    title = f"Rejection: {judge}"
    layout = {
        "height": _HEIGHT,
        "xaxis": {**_axis("verdicts kept"), "range": [1.02, -0.02]},
        "yaxis": _axis("right, of those kept"),
        "showlegend": len(curves) > 1,
    }
    note = "From left to right less sure verdicts are rejected: a judge whose confidence tells something gets better."
    return Figure(title, traces, layout, note, Table(title, titles, rows))
