"""The picture: judge accuracy against persuasiveness, as figures and tables; and what each iteration came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from debate.metrics.accuracy import accuracy
from debate.metrics.concessions import Concession, concession_rates, without_concessions
from debate.metrics.intervals import FEW_CLUSTERS
from debate.metrics.speeches import figures_by_player
from debate.record import Recorded
from debate.report import Column, Figure, Table
from debate.report import Interval as Span
from debate.report.table import Cell, Kind
from tournaments.elo_picture import TITLE, picture, unit_of
from training.judge_measures import measure
from training.loop_config import FIRST, HELD_OUT
from training.loop_results import BOTH, NEW, RIGHT, WRONG, JudgeTest, Measured

SLOPES = "Slopes"
ITERATIONS = "Iterations"
NEWCOMERS = "Newest debaters"


def picture_name(judge: str) -> str:
    """What the picture before a judge is called, in the report and in wandb."""
    return f"{TITLE} ({judge})"


def points_name(judge: str) -> str:
    """What the points of that picture are called as a table in wandb."""
    return f"Points ({judge})"


def slopes_table(tests: Sequence[JudgeTest]) -> Table:
    """The slope before each judge, by assignment, and with and without concessions."""
    rows: list[list[Cell]] = []
    for one in tests:
        for name, relation in one.relations.items():
            slope = relation.slope
            value: Cell = slope.why if slope.value is None else Span(slope.value, slope.low, slope.high)
            others = f"{slope.value_without:+.2f} ({slope.without})" if slope.without else None
            rows.append([one.judge, name, value, slope.players, None if slope.value is None else slope.scatter, others])
    unit = unit_of(tests[0].relations[BOTH]) if tests else ""
    columns = (
        Column("judge"),
        Column("points"),
        Column(f"log-odds of being right for {unit}", kind="log_odds"),
        Column("players", kind="count"),
        Column("scatter", kind="number"),
        Column("without the player that moves it most", align="right"),
    )
    note = (
        "Each judge has its own scale of persuasiveness. Above 0: judges are more often right about debates of more "
        "persuasive players. Intervals are 95 %, over stories and players; scatter is that of players about the line. "
        "Where the slope without one player is another, the line says little but that this player stands apart."
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
    """What each judge was worth after each iteration, on validation stories."""
    rows: list[list[Cell]] = []
    for one in measured:
        for judge, items in one.judged.items():
            found = measure(items)
            rows.append(
                [
                    one.iteration.number,
                    one.iteration.judge.label if judge == NEW else judge,
                    found.accuracy.single,
                    found.accuracy.combined,
                    found.flips,
                    found.log_score,
                    found.calibration_error,
                ]
            )
    columns = (
        Column("iteration", kind="count"),
        Column("judge"),
        Column("right", kind="share"),
        Column("orders combined", kind="share"),
        Column("flips", kind="share"),
        Column("log score, nats", kind="number"),
        Column("calibration error", kind="number"),
    )
    note = (
        "Self-play of all players so far on validation stories, which select nothing but are looked at each time. The "
        "first judge is the same in all rows. Intervals are 95 %, robust by story."
    )
    return Table(ITERATIONS, columns, rows, note=note)


def newcomers_table(measured: Sequence[Measured]) -> Table:
    """Who came in each iteration, what its own debates on validation stories are like, and who left for it."""
    judges = [judge for judge in (FIRST, NEW, HELD_OUT) if any(judge in one.judged for one in measured)]
    rows: list[list[Cell]] = []
    for one in measured:
        name = one.iteration.newcomer.name
        spoken = one.spoken.get(name)
        rows.append(
            [
                one.iteration.number,
                name,
                *(accuracy(one.newest[judge]).single if judge in one.judged else None for judge in judges),
                None if spoken is None else spoken.verified,
                concession_rates(one.concessions).get(name),
                None if spoken is None else spoken.words,
                one.iteration.left or "nobody",
            ]
        )
    columns = (
        Column("iteration", kind="count"),
        Column("newest"),
        *(Column(f"{judge} judge right", kind="share") for judge in judges),
        Column("verified quotes", kind="share"),
        Column("concedes", kind="share"),
        Column("words", kind="number"),
        Column("left"),
    )
    return Table(NEWCOMERS, columns, rows, note="Its debates against itself on validation stories.")


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
