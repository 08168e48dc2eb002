"""The sign-flip test, held against scipy's permutation test and the binomial form of McNemar's test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from debate.errors import ConfigError
from debate.metrics.paired import sign_flip


def by_scipy(sums: list[float]) -> float:
    from scipy.stats import permutation_test

    # The null distribution has to hold every flip, so more are allowed than there are.
    found = permutation_test(
        (np.array(sums),), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    return float(found.pvalue)


@settings(deadline=None, max_examples=20)
@given(st.lists(st.sampled_from([-1.0, -0.5, 0.25, 0.5, 1.0]), min_size=2, max_size=8))
def test_all_flips_are_tried_as_scipy_tries_them(sums: list[float]) -> None:
    clusters = [str(at) for at in range(len(sums))]
    # scipy doubles the smaller tail; the null distribution is symmetric, so that is the two-sided share.
    assert sign_flip(sums, clusters) == pytest.approx(by_scipy(sums))


@pytest.mark.parametrize(("better", "worse", "level"), [(1, 0, 3), (4, 1, 0), (6, 0, 5), (7, 3, 2), (5, 5, 0)])
def test_one_question_a_story_is_mcnemars_exact_test(better: int, worse: int, level: int) -> None:
    from scipy.stats import binomtest

    gaps = [1.0] * better + [-1.0] * worse + [0.0] * level
    found = sign_flip(gaps, [str(at) for at in range(len(gaps))])
    assert found == pytest.approx(binomtest(better, better + worse).pvalue)


def test_questions_of_one_story_flip_together() -> None:
    gaps = [1.0, 1.0, 1.0, 1.0]
    assert sign_flip(gaps, ["a", "b", "c", "d"]) == 2 / 16
    assert sign_flip(gaps, ["a", "a", "b", "b"]) == 2 / 4
    assert sign_flip(gaps, ["a"] * 4) == 1


def test_many_stories_are_sampled_near_the_exact_value() -> None:
    from scipy.stats import binomtest

    gaps = [1.0] * 40 + [-1.0] * 20
    exact = binomtest(40, 60).pvalue
    found = sign_flip(gaps, [str(at) for at in range(60)])
    assert found == pytest.approx(exact, abs=4 * (exact / 20_000) ** 0.5)
    assert found == sign_flip(gaps, [str(at) for at in range(60)])


def test_where_nothing_differs_it_says_nothing() -> None:
    assert sign_flip([0.0, 0.0], ["a", "b"]) == 1
    assert sign_flip([0.5, -0.5], ["a", "a"]) == 1


@pytest.mark.parametrize(("gaps", "clusters"), [([], []), ([1.0], ["a", "b"]), ([float("nan")], ["a"])])
def test_what_is_no_set_of_differences_is_refused(gaps: list[float], clusters: list[str]) -> None:
    with pytest.raises(ConfigError):
        sign_flip(gaps, clusters)
