from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_ind

from debate.errors import ConfigError
from debate.metrics.contrast import contrast
from debate.metrics.intervals import cluster_mean


def test_of_independent_values_it_is_near_welchs() -> None:
    draw = np.random.default_rng(0)
    values = [float(v) for v in draw.random(400)]
    inside = [at % 3 == 0 for at in range(400)]
    values = [v * 0.6 if side else v for v, side in zip(values, inside, strict=True)]
    found = contrast(values, inside, [str(at) for at in range(400)])
    assert found is not None
    one, other = (
        np.array([v for v, side in zip(values, inside, strict=True) if side is wanted]) for wanted in (True, False)
    )
    oracle = ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
    assert found.difference.value == pytest.approx(one.mean() - other.mean())
    assert (found.difference.low, found.difference.high) == pytest.approx((oracle.low, oracle.high), abs=0.003)
    assert found.inside == cluster_mean(list(one), [str(at) for at in range(0, 400, 3)], bounds=(0, 1))


def test_what_is_hard_about_a_story_cancels() -> None:
    draw = np.random.default_rng(1)
    hard = [float(draw.random() < 0.5) for _ in range(60)]
    stories = [str(at) for at in range(60)]
    paired = contrast([*hard, *hard], [True] * 60 + [False] * 60, stories * 2)
    apart = contrast([*hard, *hard], [True] * 60 + [False] * 60, [*stories, *(f"other {one}" for one in stories)])
    assert paired is not None
    assert apart is not None
    assert paired.difference.value == apart.difference.value == 0
    # Every story is the same on both sides, so nothing is known of how they differ; nor claimed.
    assert (paired.difference.low, paired.difference.high) == (-1, 1)
    assert -0.25 < apart.difference.low < apart.difference.high < 0.25


def test_one_side_alone() -> None:
    assert contrast([1.0, 0.0], [True, True], ["a", "b"]) is None
    with pytest.raises(ConfigError):
        contrast([1.0], [True, False], ["a"])
