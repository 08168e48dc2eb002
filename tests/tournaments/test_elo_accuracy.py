"""Elo against accuracy: refits on resampled stories, the points, the line, and where there is none."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from debate.errors import ConfigError
from debate.metrics.accuracy import accuracy
from debate.metrics.intervals import wilson
from debate.question import Question
from debate.record import Debate, Recorded
from debate.transcript import SEATS, Transcript
from debate.verdict import Verdict
from tournaments.elo_accuracy import Coordinate, fit_slope, relate, smallest_slope
from tournaments.elo_draws import add_up, draw_elo
from tournaments.ratings import Outcome, fit, fit_by_assignment

NAMES = tuple("abcdefg")
ELO = {name: 60.0 * place - 180 for place, name in enumerate(NAMES)}


def chance(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def outcomes(seed: int, stories: int = 6) -> list[Outcome]:
    draw = random.Random(seed)
    rows = []
    for story, (a, b), first in itertools.product(range(stories), itertools.combinations(NAMES, 2), (True, False)):
        won = chance((ELO[a] - ELO[b]) / 400 * math.log(10) + (0.4 if first else -0.4))
        right = a if first else b
        rows += [Outcome(a, b, float(draw.random() < won), "q", f"s{story}", seat, right) for seat in SEATS]
    return rows


def repeated(rows: Sequence[Outcome], times: Mapping[str, int]) -> list[Outcome]:
    return [row for row in rows for _ in range(times[row.story_id])]


def test_a_story_that_counts_twice_is_fitted_as_if_its_outcomes_were_there_twice() -> None:
    rows = outcomes(1)
    games = add_up(rows)
    times = {"s0": 2, "s1": 0, "s2": 1, "s3": 3, "s4": 0, "s5": 1}
    weights = np.array([[1.0] * 6, [float(times[story]) for story in games.stories]])
    drawn = draw_elo(games, weights)
    for row, counted in zip(drawn, (rows, repeated(rows, times)), strict=True):
        ratings = fit(counted).players
        assert dict(zip(games.players, row, strict=True)) == pytest.approx(
            {name: rating.elo for name, rating in ratings.items()}, abs=1e-6
        )


@pytest.mark.parametrize("side", ["right", "wrong"])
def test_ratings_by_assignment_are_refitted_too(side: str) -> None:
    rows = outcomes(2)
    games = add_up(rows, "right" if side == "right" else "wrong")
    drawn = draw_elo(games, np.ones((1, 6)))[0]
    found = fit_by_assignment(rows)
    wanted = found.right if side == "right" else found.wrong
    assert dict(zip(games.players, drawn, strict=True)) == pytest.approx(
        {name: rating.elo for name, rating in wanted.items()}, abs=1e-6
    )


def test_draws_in_which_somebody_wins_all_stay_finite() -> None:
    rows = [Outcome("a", "b", 1.0, "q", f"s{at}", "A", "a") for at in range(3)]
    drawn = draw_elo(add_up(rows), np.array([[3.0, 0, 0], [0, 0, 0]]))
    assert np.isfinite(drawn).all()
    assert drawn[0, 0] > drawn[0, 1]
    assert drawn[1] == pytest.approx([0, 0])


def debate(name: str, players: tuple[str | None, str | None], story: str, shares: Sequence[float]) -> Recorded:
    """A debate whose two verdicts give answer 0, the right one, these shares."""
    question = Question(story, "Who?", ("Ana.", "Tomas."), 0, f"{story} {story} {story}", story, "test")
    verdicts = tuple(
        Verdict("j", order, (share, 1 - share)) for share, order in zip(shares, ((0, 1), (1, 0)), strict=True)
    )
    return Recorded(Debate(name, "p", Transcript(question), players), verdicts)


def cross_play(seed: int, names: Sequence[str] = NAMES, stories: int = 8) -> list[Recorded]:
    draw = random.Random(seed)
    found = []
    for story, (a, b), first in itertools.product(range(stories), itertools.combinations(names, 2), (True, False)):
        won = chance((ELO[a] - ELO[b]) / 400 * math.log(10) + (0.4 if first else -0.4)) > draw.random()
        share = 0.9 if won == first else 0.1  # of answer 0, the right one, which the first defends
        found.append(debate(f"{story}{a}{b}{first}", (a, b) if first else (b, a), f"cross {story}", (share, share)))
    return found


def self_play(seed: int, slope: float, names: Sequence[str] = NAMES, stories: int = 80) -> dict[str, list[Recorded]]:
    draw = random.Random(seed)
    found: dict[str, list[Recorded]] = {}
    for name, story in itertools.product(names, range(stories)):
        right = draw.random() < chance(0.7 + slope * ELO[name] / 100)
        share = 0.8 if right else 0.2
        found.setdefault(name, []).append(debate(f"{name}{story}", (name, name), f"own {story}", (share, share)))
    return found


def test_points_are_ratings_and_accuracies_and_the_line_finds_the_slope() -> None:
    cross, own = cross_play(3, stories=12), self_play(4, 0.4, stories=200)
    found = relate(cross, own, draws=200)
    assert found.axis == "Elo"
    assert found.points[0].player in {"g", "f"}
    by_name = {point.player: point for point in found.points}
    for name, items in own.items():
        assert by_name[name].y == accuracy(items).single
        assert by_name[name].debates == 200
    slope = found.slope
    assert slope.value is not None
    assert slope.low < 0.4 < slope.high
    assert slope.low > 0  # seven players and this many debates tell it
    assert slope.players == 7
    assert relate(cross, own, draws=200) == found  # the same seed draws the same


def test_without_a_relation_the_interval_holds_zero() -> None:
    slope = relate(cross_play(5), self_play(6, 0.0), draws=200).slope
    assert slope.low < 0 < slope.high


def again(item: Recorded, shares: Sequence[float]) -> Recorded:
    """The same debate with other verdicts."""
    return debate(item.debate.id, item.debate.players, item.debate.transcript.question.story_id, shares)


def test_few_players_have_no_slope() -> None:
    names = NAMES[:5]
    found = relate(cross_play(7, names), self_play(8, 0.4, names), draws=50)
    assert found.slope.value is None
    assert found.slope.why == "5 comparable players; a slope needs 6"
    assert len(found.points) == 5


def test_who_never_loses_is_a_point_and_not_on_the_line() -> None:
    best = []
    for item in cross_play(9):
        share = 0.9 if item.debate.players[0] == "g" else 0.1
        best.append(again(item, (share, share)) if "g" in item.debate.players else item)
    found = relate(best, self_play(10, 0.4), draws=50)
    assert {point.player: point.status for point in found.points}["g"] == "undefeated"
    assert found.slope.players == 6


def test_a_judge_that_says_one_half_tells_nobody_apart() -> None:
    half = [again(item, (0.5, 0.5)) for item in cross_play(11)]
    found = relate(half, self_play(12, 0.4), draws=50)
    assert found.slope.value is None
    assert found.slope.why


def consultancies(seed: int, stories: Sequence[str]) -> list[Recorded]:
    """Consultants that win so often, whichever answer they argue for."""
    draw = random.Random(seed)
    found = []
    for place, name in enumerate(NAMES):
        for story, answer in itertools.product(stories, (0, 1)):
            share = 0.9 if (draw.random() < 0.3 + 0.07 * place) == (answer == 0) else 0.1
            players = (name, None) if answer == 0 else (None, name)
            found.append(debate(f"{name}{story}{answer}", players, story, (share, share)))
    return found


def test_consultants_are_set_by_their_win_rate() -> None:
    cross = consultancies(13, [f"cross {at}" for at in range(40)])
    measured = consultancies(14, [f"own {at}" for at in range(40)])
    own: dict[str, list[Recorded]] = {}
    for item in measured:
        own.setdefault(next(name for name in item.debate.players if name), []).append(item)
    found = relate(cross, own, draws=100)
    assert found.axis == "win rate"
    wins = [
        verdict.probabilities[item.debate.players.index("d")] > 0.5
        for item in cross
        if "d" in item.debate.players
        for verdict in item.verdicts
        if verdict.probabilities is not None
    ]
    assert {point.player: point.x.value for point in found.points}["d"] == pytest.approx(sum(wins) / len(wins))
    assert found.slope.players == 7


def test_cross_play_and_self_play_on_one_story_are_refused() -> None:
    with pytest.raises(ConfigError, match="self-play shares"):
        relate(cross_play(15), {"a": [debate("x", ("a", "a"), "cross 1", (0.9, 0.9))]})
    with pytest.raises(ConfigError, match="no player has both"):
        relate(cross_play(15), {"z": [debate("x", ("z", "z"), "own 1", (0.9, 0.9))]})


def test_an_interval_of_independent_points_is_that_of_the_t_distribution() -> None:
    """Without errors in x and with scatter alone, York's line is least squares, whose slope has Student's interval."""
    draw = np.random.default_rng(0)
    players = 40
    names = [f"p{at}" for at in range(players)]
    x = draw.normal(size=players)
    y = 0.5 * x + draw.normal(size=players)
    exact = dict.fromkeys(names, wilson(1, 2))
    flat = Coordinate(exact, {}, 10, lambda times: np.repeat(x[None], len(times), axis=0))
    noisy = Coordinate(exact, {}, 10, lambda times: np.repeat(y[None], len(times), axis=0))
    found = fit_slope(names, flat, noisy, 1.0, draws=2000)
    slope, intercept = np.polyfit(x, y, 1)
    residual = y - slope * x - intercept
    error = math.sqrt(float(residual @ residual) / (players - 2) / float(((x - x.mean()) ** 2).sum()))
    assert found.value == pytest.approx(slope)
    assert found.scatter == pytest.approx(math.sqrt(float(residual @ residual) / (players - 2)), rel=1e-3)
    assert found.high - found.low == pytest.approx(2 * 2.024 * error, rel=0.15)  # t of 38 degrees of freedom


def test_one_player_that_makes_the_line_is_named_with_the_slope_of_the_others() -> None:
    """Without errors in x and with scatter alone, York's line is least squares."""
    x = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 2.0])
    y = np.array([0.4, 0.5, 0.1, 0.2, 0.0, 3.0])
    names = ["a", "b", "c", "d", "e", "apart"]
    exact = dict.fromkeys(names, wilson(1, 2))
    flat = Coordinate(exact, {}, 10, lambda times: np.repeat(x[None], len(times), axis=0))
    noisy = Coordinate(exact, {}, 10, lambda times: np.repeat(y[None], len(times), axis=0))
    found = fit_slope(names, flat, noisy, 1.0, draws=100)
    assert found.value == pytest.approx(np.polyfit(x, y, 1)[0])
    assert found.without == "apart"
    assert found.value_without == pytest.approx(np.polyfit(x[:-1], y[:-1], 1)[0])
    assert found.value is not None
    assert found.value > 0 > found.value_without


def test_the_smallest_slope_is_the_one_at_which_the_test_has_its_power() -> None:
    found = smallest_slope(8, spread=1.0, error_x=0.2, error_y=0.3, scatter=0.1)
    error = math.sqrt((0.3**2 + 0.1**2 + found**2 * 0.2**2) / 7)
    assert found == pytest.approx((2.4469 + 0.9057) * error, rel=1e-3)  # t of 6 degrees of freedom, at 0.975 and 0.8
    assert smallest_slope(6, spread=0.1, error_x=1.0, error_y=0.3) == math.inf
    with pytest.raises(ConfigError, match="it needs 6"):
        smallest_slope(5, spread=1.0, error_x=0.2, error_y=0.3)
