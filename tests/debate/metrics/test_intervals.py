"""Intervals, held against scipy's t interval, published Wilson figures and matrix formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from debate.errors import ConfigError
from debate.metrics.intervals import Interval, cluster_mean, t_quantile, wilson

FREE = (-math.inf, math.inf)


def test_wilson_against_newcombe() -> None:
    # Newcombe (1998), Statistics in Medicine 17, table I, method 3
    for successes, n, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)):
        interval = wilson(successes, n)
        assert [interval.low, interval.high] == pytest.approx([low, high], abs=5e-5)


@given(st.integers(1, 200), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_against_scipy(n: int, data: st.DataObject, level: float) -> None:
    k = data.draw(st.integers(0, n))
    expected = scipy.stats.binomtest(k, n).proportion_ci(level, method="wilson")
    interval = wilson(k, n, level)
    assert [interval.low, interval.high] == pytest.approx([expected.low, expected.high], abs=1e-12)
    assert 0 <= interval.low <= interval.value <= interval.high <= 1


def test_equal_clusters_give_the_t_interval_of_the_cluster_means() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(12, 5)) + rng.normal(size=(12, 1))
    interval = cluster_mean(x.ravel().tolist(), [f"s{g}" for g in range(12) for _ in range(5)])
    means = x.mean(axis=1)
    expected = scipy.stats.t.interval(0.95, 11, loc=means.mean(), scale=scipy.stats.sem(means))
    assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-10)
    assert (interval.n, interval.clusters, interval.few_clusters) == (60, 12, False)


def dense_cr2(x: np.ndarray, label: np.ndarray) -> tuple[float, float]:
    """CR2 variance of a mean and Satterthwaite degrees of freedom by the matrices of Bell & McCaffrey."""
    n = len(x)
    hat = np.full((n, n), 1 / n)
    residual = x - x.mean()
    variance, columns = 0.0, []
    for g in np.unique(label):
        own = label == g
        adjust = np.linalg.inv(scipy.linalg.sqrtm((np.eye(n) - hat)[np.ix_(own, own)]).real)
        weight = adjust @ np.full(own.sum(), 1 / n)
        variance += float(weight @ residual[own]) ** 2
        columns.append((np.eye(n) - hat)[:, own] @ weight)
    gram = np.array(columns) @ np.array(columns).T
    return variance, float(np.trace(gram) ** 2 / (gram**2).sum())


def test_unequal_clusters_against_the_matrix_formula() -> None:
    rng = np.random.default_rng(2)
    label = np.repeat(np.arange(6), [1, 2, 9, 3, 4, 1])
    x = rng.normal(size=20) + rng.normal(size=6)[label]
    variance, df = dense_cr2(x, label)
    half = scipy.stats.t.ppf(0.975, df) * variance**0.5
    interval = cluster_mean(x.tolist(), [str(g) for g in label])
    assert (interval.low, interval.high) == pytest.approx((x.mean() - half, x.mean() + half), abs=1e-10)
    # the ends of the score form for bounded values solve their defining equation
    y = (x > 0.3).astype(float)
    variance, df = dense_cr2(y, label)
    interval = cluster_mean(y.tolist(), [str(g) for g in label])
    m = y.mean()
    for end in (interval.low, interval.high):
        assert (end - m) ** 2 == pytest.approx(
            scipy.stats.t.ppf(0.975, df) ** 2 * variance * end * (1 - end) / (m * (1 - m)), rel=1e-8
        )


def test_singletons_are_independent_values() -> None:
    x = [0.0, 3.0, 4.0, 8.0, 2.5]
    expected = scipy.stats.t.interval(0.9, 4, loc=np.mean(x), scale=scipy.stats.sem(x))
    interval = cluster_mean(x, list("abcde"), 0.9)
    assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-10)
    assert interval.few_clusters


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from("abcdefgh")), min_size=1))
def test_shares_stay_in_bounds_and_never_claim_certainty(pairs: list[tuple[float, str]]) -> None:
    interval = cluster_mean([x for x, _ in pairs], [c for _, c in pairs])
    assert 0 <= interval.low <= interval.value <= interval.high <= 1
    assert interval.low < interval.high


def test_without_variation_each_cluster_is_one_trial() -> None:
    assert cluster_mean([1.0] * 60, [f"s{i % 20}" for i in range(60)]).low == pytest.approx(wilson(20, 20).low)
    assert cluster_mean([0.5] * 60, [f"s{i % 20}" for i in range(60)]).high == pytest.approx(wilson(10, 20).high)
    # the clusters agree though values differ
    assert cluster_mean([0.0, 1.0] * 3, list("aabbcc")).low == pytest.approx(wilson(1.5, 3).low)
    one = cluster_mean([0.0, 1.0, 1.0], ["s"] * 3)
    assert (one.low, one.high) == pytest.approx((wilson(2 / 3, 1).low, wilson(2 / 3, 1).high))


def test_without_variation_or_bounds_nothing_is_claimed() -> None:
    interval = cluster_mean([2.0, 2.0], ["a", "b"])
    assert (interval.value, interval.low, interval.high) == (2.0, -math.inf, math.inf)
    assert cluster_mean([0.1, 0.9], ["a", "a"], bounds=FREE).high == math.inf


def test_bounds_scale() -> None:
    x, label = [0.1, 0.5, 0.9, 0.4], list("abcd")
    plain = cluster_mean(x, label)
    scaled = cluster_mean([20 * v - 10 for v in x], label, bounds=(-10, 10))
    assert (scaled.low, scaled.high) == pytest.approx((20 * plain.low - 10, 20 * plain.high - 10))


@pytest.mark.parametrize(("p", "df"), [(0.975, 3.7), (0.9, 1.0), (0.995, 240.2)])
def test_t_quantile(p: float, df: float) -> None:
    assert t_quantile(p, df) == pytest.approx(scipy.stats.t.ppf(p, df), rel=1e-10)


def test_format() -> None:
    assert Interval(0.6731, 0.61, 0.7322, 200, 24).format(percent=True) == "67.3 % [61.0, 73.2]"
    assert str(Interval(0.6731, 0.61, 0.7322, 200, 24)) == "0.673 [0.610, 0.732]"
    assert Interval(0.5, 0.0, 1.0, 9, 3).format() == "0.500 [0.000, 1.000] (too few clusters: 3)"


def test_errors_say_what_to_do() -> None:
    with pytest.raises(ConfigError, match="at least one"):
        cluster_mean([], [])
    with pytest.raises(ConfigError, match="2 values in 1 cluster labels"):
        cluster_mean([1.0, 2.0], ["a"])
    with pytest.raises(ConfigError, match="not all finite"):
        cluster_mean([1.0, math.nan], ["a", "b"])
    with pytest.raises(ConfigError, match="within"):
        cluster_mean([1.0, 2.0], ["a", "b"], bounds=(0, 1))
    with pytest.raises(ConfigError, match="no share"):
        wilson(0, 0)
    with pytest.raises(ConfigError, match="no coverage"):
        wilson(1, 2, 95)
