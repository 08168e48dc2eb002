from __future__ import annotations

import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.errors import ConfigError
from debate.metrics.calibration import (
    FLOOR,
    Bin,
    Binning,
    brier_scores,
    calibration_error,
    confidence,
    log_scores,
    most_confident,
    reliability,
)

NOISE = np.random.default_rng(3)
CHANCES = [float(p) for p in NOISE.uniform(0.001, 0.999, 500)]
EVENTS = [float(NOISE.random() < p**2) for p in CHANCES]
SHARES = st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=60)


def test_scores_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import brier_score_loss, log_loss

    assert fmean(brier_scores(CHANCES, EVENTS)) == pytest.approx(brier_score_loss(EVENTS, CHANCES))
    assert fmean(log_scores(CHANCES, EVENTS)) == pytest.approx(log_loss(EVENTS, CHANCES))


@pytest.mark.parametrize(("by", "strategy"), [("width", "uniform"), ("number", "quantile")])
def test_the_curve_is_that_of_scikit_learn(by: Binning, strategy: str) -> None:
    from sklearn.calibration import calibration_curve

    happened, predicted = calibration_curve(EVENTS, CHANCES, n_bins=10, strategy=strategy)
    found = reliability(CHANCES, EVENTS, by=by)
    assert sum(one.n for one in found) == len(CHANCES)
    assert [one.predicted for one in found] == pytest.approx(list(predicted))
    assert [one.happened for one in found] == pytest.approx(list(happened))


def test_by_hand() -> None:
    assert brier_scores([0.5, 1.0, 0.0, 0.8], [1, 1, 1, 0.5]) == pytest.approx([0.25, 0, 1, 0.09])
    assert log_scores([0.5, 0.25], [1, 0]) == pytest.approx([math.log(2), -math.log(0.75)])
    assert log_scores([0.0, 1.0], [1, 0]) == pytest.approx([math.log1p(math.exp(10))] * 2)  # log-odds of -10
    # |0.65 - 0.5| of two, |0.95 - 1| of two
    assert calibration_error([0.6, 0.7, 0.95, 0.95], [1, 0, 1, 1], bins=2) == pytest.approx(abs(0.8 - 0.75))
    assert calibration_error([0.6, 0.7, 0.95, 0.95], [1, 0, 1, 1], bins=2, by="number") == pytest.approx(0.1)
    assert reliability([1.0, 0.1], [1, 0], bins=2) == [Bin(0, 0.5, 1, 0.1, 0), Bin(0.5, 1, 1, 1, 1)]


def test_a_certain_judge_is_off_by_its_errors_and_one_that_says_half_by_none() -> None:
    rights = [1.0] * 70 + [0.0] * 30
    for by in ("width", "number"):
        assert calibration_error([1.0] * 100, rights, by=by) >= 0.3 - 1e-9
    assert calibration_error([1.0] * 100, rights) == pytest.approx(0.3)
    assert calibration_error([0.7] * 100, rights) == pytest.approx(0)
    assert fmean(brier_scores([0.5] * 100, rights)) == 0.25


@given(SHARES)
def test_either_way_of_naming_the_event_gives_the_same_scores(pairs: list[tuple[float, float]]) -> None:
    p, y = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    q, z = [1 - one for one in p], [1 - one for one in y]
    assert brier_scores(q, z) == pytest.approx(brier_scores(p, y))
    assert log_scores(q, z) == pytest.approx(log_scores(p, y), rel=1e-6)
    assert max(log_scores(p, y)) <= -math.log(FLOOR) + 1e-9


@given(SHARES, st.integers(1, 12), st.sampled_from(["width", "number"]))
def test_bins_hold_every_event_once(pairs: list[tuple[float, float]], bins: int, by: Binning) -> None:
    p, y = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = reliability(p, y, bins=bins, by=by)
    assert sum(one.n for one in found) == len(p)
    assert math.fsum(one.n * one.predicted for one in found) == pytest.approx(math.fsum(p))
    assert math.fsum(one.n * one.happened for one in found) == pytest.approx(math.fsum(y))
    assert all(one.low - 1e-9 <= one.predicted <= one.high + 1e-9 for one in found)
    # One bin sees the mean alone, and no binning sees less than that.
    assert calibration_error(p, y, bins=bins, by=by) >= calibration_error(p, y, bins=1) - 1e-9


def test_an_edge_that_rounding_missed_is_no_other_bin() -> None:
    """80 % as it is read and as it is computed are one probability: one bin, in which half is right."""
    near = 1 - 0.2 - 1e-16, 0.8
    assert near[0] < near[1]
    (only,) = reliability(near, [1, 0])
    assert (only.low, only.n, only.happened) == (0.8, 2, 0.5)
    assert calibration_error(near, [1, 0]) == pytest.approx(0.3)


def test_the_most_confident() -> None:
    assert most_confident([0.6, 0.9, 0.8, 0.7], 0.5) == [1, 2]
    assert most_confident([0.6, 0.9, 0.8, 0.7], 1) == [0, 1, 2, 3]
    assert most_confident([0.6, 0.9, 0.8, 0.7], 0.01) == [1]
    assert len(most_confident([place / 10 for place in range(10)], 0.9)) == 9  # 0.9 x 10 is 9.000000000000002 elsewhere
    assert most_confident([0.5] * 7, 0.5) == list(range(7))
    assert most_confident([], 0.5) == []
    assert [confidence(p) for p in (0.2, 0.5, 0.9)] == [0.8, 0.5, 0.9]
    with pytest.raises(ConfigError, match="coverage of 0"):
        most_confident([0.5], 0)


@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        ([], [], "at least one"),
        ([0.5], [1, 1], "1 probabilities of 2"),
        ([1.1], [1], "probabilities from 1.1"),
        ([0.5], [2], "outcomes from 2"),
        ([math.nan], [1], "probabilities"),
    ],
)
def test_what_is_no_probability_is_refused(p: list[float], y: list[float], message: str) -> None:
    for score in (brier_scores, log_scores, reliability, calibration_error):
        with pytest.raises(ConfigError, match=message):
            score(p, y)


def test_no_bins() -> None:
    with pytest.raises(ConfigError, match="0 bins"):
        reliability([0.5], [1], bins=0)
