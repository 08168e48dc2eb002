from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

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
    # Every story is the same on both sides, so nothing is known of how they differ but what either mean tells.
    assert paired.difference.high == pytest.approx(
        math.hypot(paired.inside.high - paired.inside.value, paired.inside.value - paired.inside.low)
    )
    assert paired.difference.low == pytest.approx(-paired.difference.high)
    assert -0.25 < apart.difference.low < apart.difference.high < 0.25


def test_values_in_pairs_get_the_paired_interval() -> None:
    first, second = [0.9, 0.4, 0.7, 0.2, 0.6], [0.5, 0.3, 0.9, 0.1, 0.2]
    found = contrast([*first, *second], [True] * 5 + [False] * 5, [*"abcde"] * 2)
    exact = ttest_rel(first, second).confidence_interval(0.95)
    assert found is not None
    assert [found.difference.low, found.difference.high] == pytest.approx([exact.low, exact.high])


def test_values_on_other_stories_have_both_errors() -> None:
    first, second = [0.9, 0.4, 0.7, 0.2, 0.6, 0.3], [0.5, 0.3, 0.9, 0.1, 0.2, 0.8]
    found = contrast([*first, *second], [True] * 6 + [False] * 6, [*"abcdefghijkl"])
    exact = ttest_ind(first, second).confidence_interval(0.95)
    assert found is not None
    assert [found.difference.low, found.difference.high] == pytest.approx([exact.low, exact.high])


def test_a_judge_that_always_names_the_first_is_told_from_none() -> None:
    stories = [str(at) for at in range(24)]
    found = contrast([1.0] * 24 + [0.0] * 24, [True] * 24 + [False] * 24, stories * 2)
    assert found is not None
    # Wilson's ends of 24 of 24 and of 0 of 24, squared and added (Newcombe 1998).
    end = 1.959964**2 / (24 + 1.959964**2)
    assert (found.difference.low, found.difference.high) == pytest.approx((1 - math.hypot(end, end), 1), abs=1e-6)


@pytest.mark.parametrize(("few", "many"), [(1, 14), (2, 14), (3, 30)])
def test_a_few_stories_on_one_side_tell_little(few: int, many: int) -> None:
    """Whoever stands against one side of so few stories is not told from it, however alike the few are."""
    draw = np.random.default_rng(few)
    held, runs = 0, 200
    for _ in range(runs):
        values, inside, stories = [], [], []
        for story in range(few + many):
            hard = draw.random()
            for _ in range(4):
                values.append(float((hard if draw.random() < 0.6 else draw.random()) < 0.7))
                inside.append(story < few)
                stories.append(str(story))
        found = contrast(values, inside, stories)
        assert found is not None
        held += found.difference.low <= 0 <= found.difference.high
    assert held >= 0.9 * runs


def test_one_side_alone() -> None:
    assert contrast([1.0, 0.0], [True, True], ["a", "b"]) is None
    with pytest.raises(ConfigError):
        contrast([1.0], [True, False], ["a"])
