"""Intervals of the calibration error and of over-confidence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from debate.errors import ConfigError
from debate.metrics.calibration import calibration_error
from debate.metrics.miscalibration import calibration_interval, overconfidence


def stories(count: int, each: int) -> list[str]:
    return [str(story) for story in range(count) for _ in range(each)]


def verdicts(draw: np.random.Generator, count: int, each: int, over: float) -> tuple[list[float], list[float]]:
    """Confidences, and whether right: so much less often than said, and more alike within a story."""
    sure = draw.uniform(0.6, 1.0, count * each)
    hard = np.repeat(draw.normal(0, 0.6, count), each)
    from scipy.stats import norm

    chance = np.clip(sure - over, 0, 1)
    right = norm.cdf((hard + draw.normal(size=count * each)) / np.sqrt(1.36)) < chance
    return [float(one) for one in sure], [float(one) for one in right]


def test_overconfidence_is_the_mean_gap_with_its_t_interval() -> None:
    sure, right = verdicts(np.random.default_rng(0), 80, 1, 0.1)
    found = overconfidence(sure, right, stories(80, 1))
    gaps = np.array(sure) - np.array(right)
    oracle = ttest_1samp(gaps, 0).confidence_interval(0.95)
    assert found.value == pytest.approx(gaps.mean())
    # It is bounded by 1 either way, so its interval is the score form of that of t.
    assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high), abs=0.005)


@pytest.mark.parametrize("over", [0.0, 0.15])
def test_the_interval_of_the_error_covers(over: float) -> None:
    draw = np.random.default_rng(5)
    held = 0
    runs = 80
    for _ in range(runs):
        sure, right = verdicts(draw, 40, 4, over)
        found = calibration_interval(sure, right, stories(40, 4))
        # Confidences are even over four bins, and a judge that is over-confident throughout is off by just that.
        held += found.low - 1e-9 <= over <= found.high
    # 95 % would be 76, 91 % 73; three standard errors less than 91 % is 65.
    assert held >= 66


def test_the_error_is_the_plain_one_and_a_calibrated_judge_may_have_none() -> None:
    draw = np.random.default_rng(1)
    sure, right = verdicts(draw, 60, 3, 0.0)
    found = calibration_interval(sure, right, stories(60, 3))
    assert found.value == calibration_error(sure, right)
    assert found.low == 0
    assert (found.n, found.clusters) == (180, 60)
    assert calibration_interval(sure, right, stories(60, 3)) == found  # the same draws


def test_ends_where_nothing_varies() -> None:
    sure, right = [0.9] * 20, [1.0] * 20
    found = calibration_interval(sure, right, stories(20, 1))
    # All stories are off by 0.1, so the bootstrap knows nothing of how they differ: Wilson's ends of 2 of 20.
    assert (found.low, found.value, found.high) == pytest.approx((0.0279, 0.1, 0.3010), abs=1e-3)
    one = calibration_interval(sure, right, ["a"] * 20)
    assert (one.low, one.high) == (0, 1)
    with pytest.raises(ConfigError):
        calibration_interval(sure, right, ["a"])


def test_a_judge_that_is_nearer_than_chance_would_bring_it_may_be_calibrated() -> None:
    # 80 of 100 are right at 0.8, so the error is 0, but stories differ: 3 or 4 of 4.
    mixed = [1.0, 1.0, 1.0, 1.0, 0.0] * 20
    found = calibration_interval([0.8] * 100, mixed, stories(25, 4))
    assert found.value == pytest.approx(0)
    assert found.low == 0
    assert found.high > 0.02
