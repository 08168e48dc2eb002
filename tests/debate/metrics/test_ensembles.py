"""Ensembles, against closed forms and every jury counted by hand."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from statistics import fmean

import numpy as np
import pytest

from debate.errors import ConfigError
from debate.metrics.ensembles import Ballot, decide, ensemble, fewer_errors, majority_of
from debate.metrics.recovery import fieller


def votes(won: int, cast: int, story: str) -> Ballot:
    return Ballot((1.0,) * won + (0.0,) * (cast - won), story)


@pytest.mark.parametrize(
    ("chances", "majority", "confidence", "log_odds"),
    [
        ((0.6, 0.6, 0.1), 1.0, 0.0, 0.0),  # mean 0.43; odds 1.5 · 1.5 / 9
        ((0.6, 0.6, 0.35), 1.0, 1.0, 1.0),
        ((0.99, 0.2, 0.3), 0.0, 0.0, 1.0),  # mean 0.497, odds 99 / 4 · 3 / 7
        ((0.9, 0.3), 0.5, 1.0, 1.0),
        ((0.7, 0.3), 0.5, 0.5, 0.5),
        ((0.5, 0.8, 0.1), 0.5, 0.0, 0.0),
        ((1.0, 0.0, 0.6), 1.0, 1.0, 1.0),
    ],
)
def test_rules_by_hand(chances: tuple[float, ...], majority: float, confidence: float, log_odds: float) -> None:
    found = (decide(chances, "majority"), decide(chances, "confidence"), decide(chances, "log_odds"))
    assert found == (majority, confidence, log_odds)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_drawn_majorities_are_those_of_all_draws(size: int) -> None:
    for won in range(6):
        found = majority_of([votes(won, 5, "a")], size)
        assert found is not None
        drawn = itertools.combinations([1] * won + [0] * (5 - won), size)
        points = [Fraction(1, 2) if 2 * sum(jury) == size else Fraction(2 * sum(jury) > size) for jury in drawn]
        assert found.right.value == pytest.approx(float(sum(points) / len(points)))
        assert found.alone.value == pytest.approx(won / 5)


def test_independent_votes_gain_what_condorcet_says() -> None:
    draw = np.random.default_rng(0)
    p = 0.7
    found = majority_of([votes(int(draw.binomial(15, p)), 15, str(n)) for n in range(4000)], 3)
    assert found is not None
    # p³ + 3p²(1 - p) = 0.784, so 0.084 more, of 0.3 errors.
    assert found.right.low < 0.784 < found.right.high
    assert found.gain.low < 0.084 < found.gain.high
    assert found.fewer_errors is not None
    assert found.fewer_errors.low < 0.28 < found.fewer_errors.high
    assert found.fewer_errors.value == pytest.approx(found.gain.value / (1 - found.alone.value))


def test_votes_that_depend_on_the_debate_alone_gain_nothing() -> None:
    found = majority_of([votes(5 * (n % 2), 5, str(n)) for n in range(40)], 3)
    assert found is not None
    assert found.gain.value == 0
    assert found.fewer_errors is not None
    # As Wilson has it for 0 of 40 stories, of 0.5 errors.
    bound = 1.96**2 / (40 + 1.96**2) / 0.5
    assert (found.fewer_errors.low, found.fewer_errors.high) == pytest.approx((-bound, bound), abs=1e-3)


def test_juries_are_all_that_can_be_made() -> None:
    rows = [Ballot((0.9, 0.2, 0.6, 0.45), "a"), Ballot((0.1, 0.7, 0.8), "b"), Ballot((0.7, 0.6), "c")]
    found = ensemble(rows, "confidence", 3)
    assert found is not None
    assert (found.debates, found.size) == (2, 3)
    first = fmean(float(fmean(jury) > 0.5) for jury in itertools.combinations(rows[0].chances, 3))
    assert found.right.value == pytest.approx((first + 1.0) / 2)
    assert found.alone.value == pytest.approx((2 / 4 + 2 / 3) / 2)
    whole = ensemble(rows, "confidence")
    assert whole is not None
    assert (whole.debates, whole.right.value) == (3, 1.0)


def test_very_many_juries_are_drawn_and_the_same_each_time() -> None:
    draw = np.random.default_rng(1)
    rows = [Ballot(tuple(float(p) for p in draw.beta(3, 2, 20)), str(n)) for n in range(30)]
    found = ensemble(rows, "majority", 5)
    assert found == ensemble(rows, "majority", 5)
    assert found is not None
    exact = fmean(
        sum(math.comb(won, hits) * math.comb(20 - won, 5 - hits) for hits in range(3, 6)) / math.comb(20, 5)
        for won in (sum(p > 0.5 for p in row.chances) for row in rows)
    )
    assert found.right.value == pytest.approx(exact, abs=0.02)


def test_fewer_errors_is_fiellers_ratio() -> None:
    before, after, stories = [1, 0, 0.5, 0, 1, 0], [1, 1, 0.5, 0, 1, 1], list("aabbcd")
    found = fewer_errors(before, after, stories)
    assert found is not None
    assert found.value == pytest.approx(2 / 3.5)
    gains, errors = [0, 1, 0, 0, 0, 1], [0, 1, 0.5, 1, 0, 1]
    sums = np.array(
        [
            [sum(v - fmean(row) for v, at in zip(row, stories, strict=True) if at == name) / 6 for name in "abcd"]
            for row in (gains, errors)
        ]
    )
    ends = fieller(2 / 6, 3.5 / 6, sums @ sums.T * 4 / 3, 3.1824463)  # t of 3 degrees of freedom
    assert ends[1] > 1  # more errors than there were
    assert (found.low, found.high) == pytest.approx((ends[0], 1), rel=1e-6)
    assert fewer_errors([1.0, 1.0], [1.0, 0.5], ["a", "b"]) is None


def test_no_more_errors_can_go_than_there_were() -> None:
    found = fewer_errors([0.0] * 3 + [1.0] * 9, [1.0, 1.0, 0.0] + [1.0] * 9, [str(at) for at in range(12)])
    assert found is not None
    assert found.low < found.value < found.high == 1


def test_nothing_to_count() -> None:
    assert ensemble([Ballot((0.9,), "a")], "majority") is None
    assert majority_of([votes(1, 2, "a")], 3) is None
    with pytest.raises(ConfigError):
        ensemble([], "majority", 0)
    with pytest.raises(ConfigError):
        majority_of([], 0)
