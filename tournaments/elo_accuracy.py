"""Elo against accuracy: does more persuasion make a judge more right, or less?

Each player is a point: how persuasive it is (its Elo in cross-play, or a consultant's win rate), and how often the
judge is right about debates in which it argues both sides, on other stories. Both are measured with error, so the line
is York's (``debate.metrics.errors_in_variables``), with the accuracy as log-odds; its interval comes from drawing anew
the stories of both kinds and the players.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from debate.errors import ConfigError
from debate.folds import check_apart
from debate.metrics.accuracy import accuracy, final_verdicts
from debate.metrics.errors_in_variables import york, york_slopes
from debate.metrics.intervals import Interval, t_quantile
from debate.metrics.win_rate import consultant_win_rate
from debate.record import Recorded
from debate.verdict import points
from tournaments.elo_draws import Assigned, add_up, draw_elo
from tournaments.matches import OutcomeKind, outcomes
from tournaments.ratings import Outcome, Rating, fit, fit_by_assignment

Floats = npt.NDArray[np.float64]
Axis = Literal["Elo", "win rate"]

FEWEST = 6
"""Players below which no slope is given: a line through a handful of points says nothing."""
UNIT: Mapping[Axis, float] = {"Elo": 100.0, "win rate": 0.1}
"""What a slope is given for: 100 Elo, or ten points of win rate."""

DRAWS = 500
_ONE_SD = (0.158655, 0.841345)  # quantiles one standard deviation from the middle
_SMALLEST = 1e-6  # error of a coordinate that does not move with the stories


@dataclass(frozen=True, slots=True)
class Point:
    """One player.

    Attributes:
        player: Its name.
        x: How persuasive it is, with its 95 % interval.
        status: ``ok``, or why x is no number like the others (see ``tournaments.ratings.Rating``).
        y: Share of single verdicts on its own debates that are right, with its 95 % interval.
        debates: Its own debates.
    """

    player: str
    x: Interval
    status: str
    y: Interval
    debates: int


@dataclass(frozen=True, slots=True)
class Slope:
    """The line through the points.

    Attributes:
        value: Log-odds of being right for one unit of persuasiveness (``UNIT``); None where there is no line.
        low: Lower end of its 95 % interval.
        high: Upper end.
        intercept: Log-odds of being right where persuasiveness is 0.
        scatter: Standard deviation of the players about the line beyond their errors, in log-odds.
        players: How many the line goes through.
        stories: How many the coordinate rests on that rests on fewer of them.
        why: Why there is no line; empty where there is one.
        without: The player without whom the line is most another: of few players, one that stands apart can make it.
        value_without: The slope of the others.
    """

    value: float | None
    low: float = -math.inf
    high: float = math.inf
    intercept: float = math.nan
    scatter: float = math.nan
    players: int = 0
    stories: int = 0
    why: str = ""
    without: str = ""
    value_without: float = math.nan


@dataclass(frozen=True, slots=True)
class Relation:
    """Persuasiveness against accuracy, before one judge.

    Attributes:
        axis: What persuasiveness is.
        points: The players, the most persuasive first.
        slope: The line.
    """

    axis: Axis
    points: tuple[Point, ...]
    slope: Slope


@dataclass(frozen=True, slots=True)
class Coordinate:
    """One coordinate of every player, and how it moves with the stories.

    Attributes:
        intervals: By player.
        status: By player, of those whose rating is no number like the others.
        stories: How many it rests on.
        draw: Given how often each story counts in B draws, its value for each player, shape (B, players).
    """

    intervals: Mapping[str, Interval]
    status: Mapping[str, str]
    stories: int
    draw: Callable[[Floats], Floats]


def relate(
    cross: Sequence[Recorded],
    own: Mapping[str, Sequence[Recorded]],
    *,
    kind: OutcomeKind = "hard",
    prior_sd: float = 500.0,
    assigned: Assigned | None = None,
    seed: int = 0,
    draws: int = DRAWS,
) -> Relation:
    """Hold the persuasiveness of players against the accuracy of a judge.

    Args:
        cross: Debates between players, or consultancies, with the verdicts of one judge.
        own: By player, its debates against itself, or its consultancies, on other stories, with verdicts of the same
            judge.
        kind: What a verdict counts in Elo and win rate.
        prior_sd: Of the ratings' prior, in Elo.
        assigned: Take how persuasive a player is when assigned the right, or the wrong answer; None: over both.
        seed: Of the draws.
        draws: How many.

    Returns:
        The points and the line. Players without both coordinates are left out; so are, of the line, those whose rating
        is no number like the others.

    Raises:
        ConfigError: A story is in both kinds of debates, or no player has both coordinates.
    """
    groups = {"cross-play": cross, "self-play": [item for items in own.values() for item in items]}
    check_apart({name: [item.debate.transcript.question for item in items] for name, items in groups.items()})
    rows = outcomes(cross, kind)
    axis: Axis = "Elo" if rows else "win rate"
    x = _elo(rows, prior_sd, assigned) if rows else _win_rate(cross, kind, assigned)
    y = _accuracy(own)
    made = [
        Point(name, interval, x.status.get(name, "ok"), y.intervals[name], len(own[name]))
        for name, interval in x.intervals.items()
        if name in y.intervals
    ]
    if not made:
        raise ConfigError("no player has both cross-play and debates of its own with verdicts; give debates of both")
    slope = fit_slope([one.player for one in made if one.status == "ok"], x, y, UNIT[axis], seed=seed, draws=draws)
    return Relation(axis, tuple(sorted(made, key=lambda one: (-one.x.value, one.player))), slope)


def _elo(rows: Sequence[Outcome], prior_sd: float, assigned: Assigned | None) -> Coordinate:
    """Elo by player, over both assignments or of one."""
    ratings: Mapping[str, Rating] = fit(rows, prior_sd=prior_sd).players
    if assigned is not None:
        rows = [row for row in rows if row.right is not None]
        by_side = fit_by_assignment(rows, prior_sd=prior_sd)
        ratings = by_side.right if assigned == "right" else by_side.wrong
    games = add_up(rows, assigned)
    stories = len(games.stories)
    intervals = {
        name: Interval(ratings[name].elo, ratings[name].low, ratings[name].high, len(rows), stories)
        for name in games.players
        if name in ratings
    }
    status = {name: ratings[name].status for name in intervals if ratings[name].status != "ok"}
    columns = [games.players.index(name) for name in intervals]
    return Coordinate(intervals, status, stories, lambda times: draw_elo(games, times, prior_sd=prior_sd)[:, columns])


class _Sums:
    """Points and their number, by story and column."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, int], list[float]] = {}
        self._stories: dict[str, int] = {}

    def add(self, story: str, column: int, value: float) -> None:
        """Count one value."""
        self._stories.setdefault(story, len(self._stories))
        self._cells.setdefault((story, column), []).append(value)

    def arrays(self, columns: int) -> tuple[Floats, Floats]:
        """Sums and numbers, each of shape (stories, columns)."""
        total, number = np.zeros((2, len(self._stories), columns))
        for (story, column), values in self._cells.items():
            total[self._stories[story], column] = math.fsum(values)
            number[self._stories[story], column] = len(values)
        return total, number


def _win_rate(recorded: Sequence[Recorded], kind: OutcomeKind, assigned: Assigned | None) -> Coordinate:
    """Win rate by consultant, the mean over both assignments or of one."""
    by_name: dict[str, list[Recorded]] = {}
    for item in recorded:
        names = [name for name in item.debate.players if name is not None]
        if len(names) == 1:
            by_name.setdefault(names[0], []).append(item)
    intervals, sums = {}, _Sums()
    for name, items in by_name.items():
        rate = consultant_win_rate(items, soft=kind == "soft")
        if rate is None:
            continue
        intervals[name] = {None: rate.both, "right": rate.right, "wrong": rate.wrong}[assigned]
        for item in items:
            answer = item.debate.players.index(name)
            question = item.debate.transcript.question
            column = 2 * (len(intervals) - 1) + (answer == question.gold)
            for verdict in final_verdicts(item):
                if verdict.probabilities is not None and question.gold is not None:
                    share = verdict.probabilities[answer]
                    sums.add(question.story_id, column, share if kind == "soft" else points(share))
    total, number = sums.arrays(2 * len(intervals))

    def draw(times: Floats) -> Floats:
        rates: Floats = (times @ total) / np.maximum(times @ number, 1)
        wrong, right = rates[:, 0::2], rates[:, 1::2]
        return right if assigned == "right" else wrong if assigned == "wrong" else (right + wrong) / 2

    return Coordinate(intervals, {}, len(total), draw)


def _accuracy(own: Mapping[str, Sequence[Recorded]]) -> Coordinate:
    """Accuracy by player; drawn as log-odds, of half a right and half a wrong verdict more than there are."""
    intervals, sums = {}, _Sums()
    for name, items in own.items():
        found = accuracy(items).single
        if found is None:
            continue
        intervals[name] = found
        for item in items:
            question = item.debate.transcript.question
            for verdict in final_verdicts(item):
                if verdict.probabilities is not None and question.gold is not None:
                    sums.add(question.story_id, len(intervals) - 1, points(verdict.probabilities[question.gold]))
    total, number = sums.arrays(len(intervals))

    def draw(times: Floats) -> Floats:
        share: Floats = (times @ total + 0.5) / (times @ number + 1)
        return np.log(share / (1 - share))

    return Coordinate(intervals, {}, len(total), draw)


def fit_slope(
    names: Sequence[str], x: Coordinate, y: Coordinate, unit: float, *, seed: int = 0, draws: int = DRAWS
) -> Slope:
    """Lay a line through players, with an interval from drawing stories and players anew.

    The variance of the slope is that of two crossed samples (Cameron, Gelbach & Miller 2011): of players, by the
    Bayesian bootstrap (Rubin 1981), which never leaves so few of them that the line is wild; plus that of stories; less
    the part that is in both, stories drawn for each player by itself.

    Args:
        names: The players.
        x: How persuasive they are.
        y: How right the judge is about them; its draws are log-odds.
        unit: Of x, for which the slope is given.
        seed: Of the draws.
        draws: How many.

    Returns:
        The line, or why there is none.
    """
    stories = min(x.stories, y.stories)
    if len(names) < FEWEST:
        return Slope(
            None, players=len(names), stories=stories, why=f"{len(names)} comparable players; a slope needs {FEWEST}"
        )
    draw, players = np.random.default_rng(seed), len(names)
    axes = [_axis(one, names, scale, draw, draws) for one, scale in ((x, unit), (y, 1.0))]
    values, moved, errors = zip(*axes, strict=True)
    if float(np.ptp(values[0])) < _SMALLEST:
        return Slope(None, players=players, stories=stories, why="all players are equally persuasive")
    line = york(values[0][0], values[1][0], errors[0], errors[1], scatter=True)

    def slopes(both: Sequence[Floats], more: float, times: Floats) -> Floats:
        return york_slopes(both[0], both[1], more * errors[0], more * errors[1], times)

    weights = draw.exponential(size=(draws, players))
    weights *= players / weights.sum(axis=1, keepdims=True)
    by_player = slopes([np.repeat(value, draws, axis=0) for value in values], 1, weights)
    # A drawn coordinate is off twice, by its own error and by that of the draw.
    twice, once = math.sqrt(2), np.ones((draws, players))
    together = slopes(moved, twice, once)
    alone = slopes([draw.permuted(value, axis=0) for value in moved], twice, once)
    variance = _sd(by_player) ** 2 + max(0.0, _sd(together) ** 2 - _sd(alone) ** 2)
    half = t_quantile(0.975, players - 2) * math.sqrt(variance)
    # Each set of the others is one in which a player counts nothing.
    others = slopes([np.repeat(value, players, axis=0) for value in values], 1, 1 - np.eye(players))
    moved_most = int(np.abs(others - line.slope).argmax())
    return Slope(
        line.slope,
        line.slope - half,
        line.slope + half,
        line.intercept,
        line.scatter,
        players,
        stories,
        without=names[moved_most],
        value_without=float(others[moved_most]),
    )


def _axis(
    one: Coordinate, names: Sequence[str], scale: float, draw: np.random.Generator, draws: int
) -> tuple[Floats, Floats, Floats]:
    """Values of the players (1, P), how they move when stories are drawn anew (draws, P), and their errors (P)."""
    columns = [list(one.intervals).index(name) for name in names]
    times = draw.multinomial(one.stories, np.full(one.stories, 1 / one.stories), size=draws).astype(float)
    values = one.draw(np.ones((1, one.stories)))[:, columns] / scale
    # What moves all players alike, such as hard stories, is no error of a slope.
    drawn = one.draw(times)[:, columns] / scale
    moved = drawn - drawn.mean(axis=1, keepdims=True)
    return values, moved, np.maximum(moved.std(axis=0) * math.sqrt(len(names) / (len(names) - 1)), _SMALLEST)


def _sd(values: Floats) -> float:
    """Standard deviation by quantiles, which a few wild draws do not move."""
    low, high = np.quantile(values, _ONE_SD)
    return float(high - low) / 2


def smallest_slope(
    players: int, *, spread: float, error_x: float, error_y: float, scatter: float = 0.0, power: float = 0.8
) -> float:
    """Return the smallest slope that would be told from 0, by the two-sided test at 5 %.

    Args:
        players: How many.
        spread: Standard deviation of the players' true x.
        error_x: Standard error of an x.
        error_y: Standard error of a player's log-odds; about 1 / √(n p (1 − p)) of n independent debates.
        scatter: Standard deviation of players about the line, in log-odds.
        power: Chance to tell it.

    Returns:
        Log-odds for one unit of x; infinite where the error of x alone hides every slope.

    Raises:
        ConfigError: There are too few players for a slope.
    """
    if players < FEWEST:
        raise ConfigError(f"{players} players have no slope; it needs {FEWEST}")
    # t · √((σ² + b² σx²) / ((P − 1) spread²)) = b, solved for b.
    factor = (t_quantile(0.975, players - 2) + t_quantile(power, players - 2)) ** 2 / ((players - 1) * spread**2)
    room = 1 - factor * error_x**2
    return math.inf if room <= 0 else math.sqrt(factor * (error_y**2 + scatter**2) / room)
