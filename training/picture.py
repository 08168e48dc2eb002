"""The picture: judge accuracy against persuasiveness, as figures and tables; and what each iteration came to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from debate.metrics.accuracy import accuracy
from debate.metrics.concessions import Concession, concession_rates, without_concessions
from debate.metrics.intervals import FEW_CLUSTERS
from debate.metrics.speeches import figures_by_player
from debate.record import Recorded
from debate.report import Column, Figure, Table
from debate.report import Interval as Span
from debate.report.table import Cell, Kind
from tournaments.elo_accuracy import UNIT, Relation
from training.loop_config import FIRST, HELD_OUT
from training.loop_results import BOTH, NEW, RIGHT, WRONG, JudgeTest, Measured

TITLE = "Elo against accuracy"
SLOPES = "Slopes"
ITERATIONS = "Iterations"
_COLOURS = ("var(--accent)", "var(--seat-b)", "var(--good)")
_HEIGHT = 460
_STEPS = 41  # points of a drawn curve


def picture_name(judge: str) -> str:
    """What the picture before a judge is called, in the report and in wandb."""
    return f"{TITLE} ({judge})"


def points_name(judge: str) -> str:
    """What the points of that picture are called as a table in wandb."""
    return f"Points ({judge})"


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
        "yaxis": {"title": {"text": "judge right in own debates"}, "tickformat": ".0%", "zeroline": False},
        "showlegend": len(relations) > 1,
    }
    note = " ".join(_in_words(name, relation) for name, relation in relations.items())
    note += " Bars are 95 % intervals, robust by story. The line is that of log-odds, with errors in both."
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
    return f"{name}: {slope.value:+.2f} {ends} log-odds for {unit_of(relation)}, {slope.players} players."


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


def slopes_table(tests: Sequence[JudgeTest]) -> Table:
    """The slope before each judge, by assignment, and with and without concessions."""
    rows: list[list[Cell]] = []
    for one in tests:
        for name, relation in one.relations.items():
            slope = relation.slope
            value: Cell = slope.why if slope.value is None else Span(slope.value, slope.low, slope.high)
            rows.append([one.judge, name, value, slope.players, None if slope.value is None else slope.scatter])
    unit = unit_of(tests[0].relations[BOTH]) if tests else ""
    columns = (
        Column("judge"),
        Column("points"),
        Column(f"log-odds of being right for {unit}", kind="log_odds"),
        Column("players", kind="count"),
        Column("scatter", kind="number"),
    )
    note = (
        "Each judge has its own scale of persuasiveness. Above 0: judges are more often right about debates of more "
        "persuasive players. Intervals are 95 %, over stories and players; scatter is that of players about the line."
    )
    few = min((relation.slope.stories for one in tests for relation in one.relations.values()), default=0)
    if few < FEW_CLUSTERS:
        note += f" Too few clusters: with only {few} stories the intervals are not to be trusted."
    return Table(SLOPES, columns, rows, note=note)


def pictures(tests: Sequence[JudgeTest]) -> list[Figure]:
    """The picture before each judge, then by assignment before the first."""
    found = [picture(picture_name(one.judge), {BOTH: one.relations[BOTH]}) for one in tests]
    if tests:
        by_side = {name: tests[0].relations[name] for name in (RIGHT, WRONG)}
        found.append(picture(f"{TITLE} by assignment ({tests[0].judge})", by_side))
    return found


def iterations_table(measured: Sequence[Measured]) -> Table:
    """What each iteration came to, on validation stories: a row for each judge of each iteration."""
    rows: list[list[Cell]] = []
    for one in measured:
        spoken = one.spoken.get(one.iteration.newcomer.name)
        rates = concession_rates(one.concessions)
        for judge in (FIRST, NEW, HELD_OUT):
            if judge not in one.judged:
                continue
            figures = one.values()["judges"]
            assert isinstance(figures, dict)  # noqa: S101 - as it is made
            rows.append(
                [
                    one.iteration.number,
                    one.iteration.judge.label if judge == NEW else judge,
                    accuracy(one.judged[judge]).single,
                    accuracy(one.judged[judge]).combined,
                    accuracy(one.newest[judge]).single,
                    _span(figures[judge]["flips"]),
                    _span(figures[judge]["log_score"]),
                    figures[judge]["calibration_error"],
                    one.iteration.newcomer.name,
                    None if spoken is None else spoken.verified,
                    rates.get(one.iteration.newcomer.name),
                    None if spoken is None else spoken.words,
                    one.iteration.left or "nobody",
                ]
            )
    columns = (
        Column("iteration", kind="count"),
        Column("judge"),
        Column("right", kind="share"),
        Column("orders combined", kind="share"),
        Column("right about the newest", kind="share"),
        Column("flips", kind="share"),
        Column("log score, nats", kind="number"),
        Column("calibration error", kind="number"),
        Column("newest"),
        Column("its verified quotes", kind="share"),
        Column("it concedes", kind="share"),
        Column("its words", kind="number"),
        Column("left"),
    )
    note = (
        "Self-play of all players so far on validation stories, which select nothing but are looked at each time. The "
        "first judge is the same in all rows. Intervals are 95 %, robust by story."
    )
    return Table(ITERATIONS, columns, rows, note=note)


def _span(values: Sequence[float | None] | None) -> Cell:
    if values is None or values[0] is None:
        return None
    return Span(values[0], values[1], values[2])


def players_table(title: str, one: JudgeTest) -> Table:
    """How persuasive everybody was before one judge, over both assignments and each, and what it made of them."""
    spoken = figures_by_player(one.own)
    by_side = {name: {point.player: point for point in one.relations[name].points} for name in (RIGHT, WRONG)}
    rows: list[list[Cell]] = []
    for point in one.relations[BOTH].points:
        sides = [by_side[name].get(point.player) for name in (RIGHT, WRONG)]
        found = spoken.get(point.player)
        rows.append(
            [
                point.player,
                *(None if each is None else _place(each.x, each.status) for each in (point, *sides)),
                point.y,
                None if found is None else found.verified,
                None if found is None else found.words,
            ]
        )
    axis = one.relations[BOTH].axis
    kind: Kind = "share" if axis == "win rate" else "rating"
    columns = (
        Column("player"),
        Column(axis, kind=kind),
        Column(f"{axis} when right", kind=kind),
        Column(f"{axis} when wrong", kind=kind),
        Column("judge right", kind="share"),
        Column("verified quotes", kind="share"),
        Column("words", kind="number"),
    )
    return Table(title, columns, rows, note="The columns by assignment are of one fit with a zero of its own.")


def _place(value: object, status: str) -> Cell:
    if status != "ok" or not hasattr(value, "low"):
        return status
    return Span(value.value, value.low, value.high)  # type: ignore[attr-defined]


def concessions_table(recorded: Mapping[str, Sequence[Recorded]], found: Sequence[Concession]) -> Table:
    """Who gives its side away, and how right each judge is with such debates and without."""
    rates = concession_rates(found)
    rows: list[list[Cell]] = [[name, "concedes", rate, rate.n] for name, rate in rates.items()]
    for judge, items in recorded.items():
        kept = without_concessions(items, found)
        rows.append([judge, "right, all debates", accuracy(items).single, len(items)])
        rows.append([judge, "right, without concessions", accuracy(kept).single, len(kept)])
    columns = (Column("player or judge"), Column("figure"), Column("share", kind="share"), Column("n", kind="count"))
    return Table("Concessions", columns, rows)
