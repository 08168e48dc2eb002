"""Temperatures, against scikit-learn and judges of which the right one is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from debate.errors import ConfigError
from debate.metrics.beliefs import Belief
from debate.metrics.calibration import log_scores
from debate.metrics.temperature import SHARPEST, fit_temperature, scale, scaling
from debate.question import Fold


def judge(draw: np.random.Generator, count: int, temperature: float) -> list[float]:
    """Probabilities of the right answers by a judge whose log-odds are so many times too large."""
    odds = draw.normal(0, 1.5, count)
    right = draw.random(count) < 1 / (1 + np.exp(-odds))
    signed = np.where(right, odds, -odds) * temperature
    return [float(p) for p in 1 / (1 + np.exp(-signed))]


def beliefs(chances: list[float], each: int, fold: Fold | None = None, name: str = "") -> list[Belief]:
    return [Belief(p, f"{name}{at // each}", fold) for at, p in enumerate(chances)]


def test_it_is_the_logistic_regression_of_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    chances = judge(np.random.default_rng(0), 300, 2.5)
    found = fit_temperature(chances, [str(n // 3) for n in range(300)])
    # Answers in turn, so that both classes occur: the regression of "answer 0 is right" on the log-odds of answer 0.
    sign = np.array([1 if n % 2 else -1 for n in range(300)])
    odds = np.clip(np.log(chances) - np.log1p(-np.array(chances)), -10, 10)
    oracle = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000).fit(
        (sign * odds)[:, None], sign > 0
    )
    assert found.value == pytest.approx(1 / float(oracle.coef_[0, 0]), rel=1e-4)
    assert found.low < 2.5 < found.high
    assert (found.n, found.clusters) == (300, 100)


def test_the_interval_covers() -> None:
    draw = np.random.default_rng(2)
    labels = [str(n // 4) for n in range(120)]
    held = 0
    for _ in range(200):
        found = fit_temperature(judge(draw, 120, 1.7), labels)
        held += found.low <= 1.7 <= found.high
    assert held >= 181  # of 190; three standard errors less


def test_scaling_by_hand() -> None:
    assert scale(0.5, 3) == 0.5
    assert scale(0.8, 2) == pytest.approx(2 / 3)  # odds of 4 become 2
    assert scale(0.8, math.inf) == 0.5
    assert scale(1.0, 2) == pytest.approx(1 / (1 + math.exp(-5)))  # clipped to log-odds of 10


def test_judges_at_the_ends() -> None:
    never_wrong = fit_temperature([0.6, 0.7, 0.9], ["a", "b", "c"])
    assert never_wrong.value == SHARPEST
    misled = fit_temperature([0.2, 0.3, 0.6], ["a", "b", "c"])
    assert misled.value == math.inf
    assert misled.high == math.inf
    one_story = fit_temperature([0.2, 0.9, 0.8], ["a", "a", "a"])
    assert (one_story.low, one_story.high) == (0, math.inf)
    # Always as sure of what it is shown first: no story says more than another, so none says how far off T is.
    fixed = fit_temperature([0.9, 0.1] * 6, [str(at // 2) for at in range(12)])
    assert (fixed.value, fixed.low, fixed.high) == (math.inf, 0, math.inf)
    with pytest.raises(ConfigError):
        fit_temperature([], [])


def test_it_is_fitted_on_validation_stories_and_measured_on_the_others() -> None:
    draw = np.random.default_rng(3)
    held = beliefs(judge(draw, 200, 3.0), 4, "validation", "v")
    rest = beliefs(judge(draw, 200, 3.0), 4, "test", "t")
    found = scaling([*rest, *held])
    assert found is not None
    assert found.fitted == "validation"
    assert found.temperature == fit_temperature([one.chance for one in held], [one.story for one in held])
    assert found.before == tuple(rest)
    assert [one.chance for one in found.after] == [
        pytest.approx(scale(one.chance, found.temperature.value)) for one in rest
    ]
    before, after = ([one.chance for one in group] for group in (found.before, found.after))
    ones = [1.0] * 200
    assert sum(log_scores(after, ones)) < sum(log_scores(before, ones))
    # Nothing named changes.
    assert [one.right for one in found.after] == [one.right for one in found.before]


def test_without_validation_stories_no_story_is_scaled_by_itself() -> None:
    draw = np.random.default_rng(4)
    known = beliefs(judge(draw, 100, 2.0), 4)
    found = scaling(known)
    assert found is not None
    assert found.fitted == "cross-fitted"
    assert found.before == tuple(known)
    # Turning one story about changes what the others are scaled by, and not its own factor.
    turned = [Belief(1 - one.chance, one.story) if one.story == "0" else one for one in known]
    other = scaling(turned)
    assert other is not None

    def factor(scaled: Belief, plain: Belief) -> float:
        odds = [math.log(one.chance / (1 - one.chance)) for one in (scaled, plain)]
        return odds[0] / odds[1]

    factors = [factor(a, b) for a, b in zip(found.after, known, strict=True)]
    turned_factors = [factor(a, b) for a, b in zip(other.after, turned, strict=True)]
    assert turned_factors[:4] == pytest.approx(factors[:4])
    assert sum(abs(a - b) > 1e-6 for a, b in zip(factors, turned_factors, strict=True)) == 80


def test_too_little_is_not_fitted() -> None:
    assert scaling(beliefs([0.6] * 9, 1)) is None
    assert scaling(beliefs([0.6] * 20, 20)) is None
    few = [*beliefs([0.6, 0.4] * 30, 2, "test", "t"), *beliefs([0.6], 1, "validation", "v")]
    found = scaling(few)
    assert found is not None
    assert found.fitted == "cross-fitted"
