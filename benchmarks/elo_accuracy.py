"""How often the interval of the slope of Elo against accuracy holds the slope that was simulated.

Players have an Elo and an accuracy on an average story that depend on each other by a known slope, with scatter. Cross-
play and self-play are then drawn on stories of their own, with effects of the story that all players share and others
that are each player's own. ``python benchmarks/elo_accuracy.py 300`` prints a row for each case.
"""

from __future__ import annotations

import itertools
import math
import sys
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from debate.metrics.intervals import wilson
from debate.transcript import SEATS
from tournaments.elo_accuracy import Coordinate, fit_slope
from tournaments.elo_draws import add_up, draw_elo
from tournaments.ratings import ELO, Outcome

Floats = npt.NDArray[np.float64]
_NONE: dict[str, str] = {}


class Case(NamedTuple):
    """What is simulated: players, sd of their Elo, slope in log-odds for 100 Elo, scatter, stories of each kind."""

    players: int
    spread: float
    slope: float
    scatter: float
    cross: int
    own: int


CASES = (
    Case(6, 100, 0.3, 0.0, 24, 60),
    Case(6, 100, 0.3, 0.2, 24, 60),
    Case(8, 100, 0.0, 0.2, 24, 150),
    Case(8, 60, 0.3, 0.2, 24, 150),
    Case(20, 100, 0.3, 0.2, 24, 150),
)


def logistic(value: Floats) -> Floats:
    """Logistic function."""
    found: Floats = 1 / (1 + np.exp(-value))
    return found


def hold(case: Case, draw: np.random.Generator) -> tuple[list[str], Coordinate, Coordinate]:
    """Draw one field, its cross-play (a round robin, both assignments, both orders) and its self-play."""
    names = [f"p{at}" for at in range(case.players)]
    elo = draw.normal(0, case.spread, case.players)
    right = 0.8 + case.slope * elo / 100 + draw.normal(0, case.scatter, case.players)
    rows: list[Outcome] = []
    for story in range(case.cross):
        worth = draw.normal(0.4, 0.5)  # of being right, on this story
        skill = elo / ELO + draw.normal(0, 0.4, case.players)
        for (a, b), sign in itertools.product(itertools.combinations(range(case.players), 2), (1, -1)):
            chance = 1 / (1 + math.exp(-(skill[a] - skill[b] + sign * worth)))
            won, right_one = float(draw.random() < chance), names[a] if sign > 0 else names[b]
            rows += [Outcome(names[a], names[b], won, "q", str(story), seat, right_one) for seat in SEATS]
    games = add_up(rows)
    order = [games.players.index(name) for name in names]
    hard = draw.normal(0, 0.7, (case.own, 1)) + draw.normal(0, 0.5, (case.own, case.players))
    # Two orders of a debate mostly agree: one draw in four is made anew.
    first = draw.random((case.own, case.players)) < logistic(right + hard)
    second = np.where(draw.random(first.shape) < 0.25, draw.random(first.shape) < logistic(right + hard), first)
    total = first.astype(float) + second

    def accuracy(times: Floats) -> Floats:
        share = (times @ total + 0.5) / (2 * times.sum(axis=1, keepdims=True) + 1)
        found: Floats = np.log(share / (1 - share))
        return found

    intervals = dict.fromkeys(names, wilson(1, 2))
    x = Coordinate(intervals, _NONE, case.cross, lambda times: draw_elo(games, times)[:, order])
    return names, x, Coordinate(intervals, _NONE, case.own, accuracy)


def truth(case: Case, draw: np.random.Generator) -> float:
    """The slope over endlessly many players and stories, on which effects of stories flatten both coordinates."""
    names, x, y = hold(case._replace(players=16, cross=200, own=4000, scatter=0.0), draw)
    return fit_slope(names, x, y, 100, draws=50).value or math.nan


def main(fields: int) -> None:
    """Print the table."""
    print("players  sd Elo  slope  scatter  stories  true   mean   half width  coverage")
    for number, case in enumerate(CASES):
        draw = np.random.default_rng(number)
        true = float(np.mean([truth(case, draw) for _ in range(4)]))
        found = [fit_slope(*hold(case, draw), 100, seed=at, draws=400) for at in range(fields)]
        held = sum(one.low <= true <= one.high for one in found)
        values = [one.value or 0.0 for one in found]
        half = float(np.median([(one.high - one.low) / 2 for one in found]))
        share = wilson(held, fields)
        print(
            f"{case.players:7d}  {case.spread:6.0f}  {case.slope:5.2f}  {case.scatter:7.2f}  {case.cross:2d} + "
            f"{case.own:3d}  {true:+.2f}  {np.mean(values):+.2f} ± {np.std(values):.2f}  {half:6.2f}     "
            f"{100 * share.value:.1f} [{100 * share.low:.1f}, {100 * share.high:.1f}]",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
