"""What moves a judge, against scikit-learn, closed forms, and judges who are moved by just so much."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.sides import debated
from tournaments.leanings import Factor, Sided, leanings, sided

TRUE: dict[Factor, float] = {"right": 0.8, "first": 0.5, "words": 0.6, "verified": 0.3, "unverified": -0.4}


def verdicts(draw: np.random.Generator, stories: int, each: int, *, hard: float = 0.0) -> list[Sided]:
    """Verdicts of a judge who is moved as TRUE says, and by a story's own pull."""
    rows = []
    for story in range(stories):
        pull = hard * float(draw.normal())
        for _ in range(each):
            lead: dict[Factor, float] = {
                "right": 1.0,
                "first": float(draw.choice([-0.5, 0.5])),
                "words": float(draw.normal(0.2, 1)),
                "verified": float(draw.integers(-3, 4)),
                "unverified": float(draw.integers(-2, 3)),
            }
            odds = pull + sum(TRUE[name] * value for name, value in lead.items())
            rows.append(Sided(float(draw.random() < 1 / (1 + math.exp(-odds))), str(story), lead))
    return rows


def test_it_is_the_logistic_regression_of_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    rows = verdicts(np.random.default_rng(0), 50, 6)
    x = np.array([[row.lead[name] for name in TRUE] for row in rows])
    oracle = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000).fit(
        x, [row.chance > 0.5 for row in rows]
    )
    found = leanings(rows)
    assert [found[name].value for name in TRUE] == pytest.approx(list(oracle.coef_[0]), abs=1e-4)


def test_the_pull_to_the_right_answer_alone_is_the_log_odds_of_being_right() -> None:
    rows = [Sided(float(at % 4 > 0), str(at), {"right": 1.0}) for at in range(200)]
    found = leanings(rows, ("right",))["right"]
    assert found.value == pytest.approx(math.log(3), abs=1e-6)
    # The sandwich of one mean: √(n / (n - 1) / (n p q)), with t of n - 1 degrees of freedom.
    half = 1.97196 * math.sqrt(200 / 199 / (200 * 0.75 * 0.25))
    assert found.high - found.value == pytest.approx(half, rel=1e-3)


def test_graded_outcomes_are_fitted_by_their_probability() -> None:
    rows = [Sided(p, str(at), {"right": 1.0}) for at, p in enumerate([0.6, 0.9, 0.55, 0.7] * 20)]
    mean = (0.6 + 0.9 + 0.55 + 0.7) / 4
    assert leanings(rows, ("right",), soft=True)["right"].value == pytest.approx(math.log(mean / (1 - mean)), abs=1e-6)
    assert leanings(rows, ("right",)) == {}  # always right: no choice contradicts any pull, however strong


def test_intervals_cover_though_stories_differ() -> None:
    draw = np.random.default_rng(1)
    runs, held = 60, dict.fromkeys(TRUE, 0)
    for _ in range(runs):
        found = leanings(verdicts(draw, 30, 8, hard=0.7))
        for name in ("first", "words", "verified", "unverified"):
            # The mean over stories of a pull is weaker than that of one story (Zeger, Liang & Albert 1988, eq. 3.2).
            weaker = TRUE[name] / math.sqrt(1 + 0.346 * 0.49)
            held[name] += found[name].low <= weaker <= found[name].high
    assert min(held[name] for name in held if name != "right") >= 52  # 57, less three standard errors


def test_what_cannot_be_told_is_left_out() -> None:
    draw = np.random.default_rng(2)
    rows = verdicts(draw, 40, 4)
    alike = [Sided(row.chance, row.story, {**row.lead, "unverified": 0.0}) for row in rows]
    assert set(leanings(alike)) == set(TRUE) - {"unverified"}
    seldom = [Sided(row.chance, row.story, {**row.lead, "unverified": float(at < 19)}) for at, row in enumerate(rows)]
    assert set(leanings(seldom)) == set(TRUE) - {"unverified"}  # fewer than 20 would decide it
    double = [Sided(row.chance, row.story, {**row.lead, "verified": row.lead["words"]}) for row in rows]
    assert set(leanings(double)) == set(TRUE) - {"words", "verified"}  # one cannot be told from the other
    assert leanings(rows[:90]) == {}  # fewer than 20 a factor
    one = leanings([Sided(row.chance, "s", row.lead) for row in rows])
    assert {(found.low, found.high) for found in one.values()} == {(-math.inf, math.inf)}


def test_leads_are_those_of_the_right_side() -> None:
    items = [
        debated("1", {"j": (0.8, 0.6)}, said=((100, 0, 1), (50, 2, 0)), gold=0),
        debated("2", {"j": (0.8, None)}, said=((100, 0, 0), (50, 2, 0)), gold=1),
        debated("3", {"j": (0.8,)}, said=((100, 0, 0), None)),
        debated("4", {"j": (0.8,)}, gold=None),
    ]
    first, second, third = sided(items)
    assert [first.chance, second.chance, third.chance] == pytest.approx([0.8, 0.6, 0.2])
    assert first.lead == pytest.approx({"right": 1, "first": 0.5, "words": 0.48, "verified": -2, "unverified": 1})
    assert second.lead["first"] == -0.5
    assert third.lead == pytest.approx({"right": 1, "first": -0.5, "words": -0.46, "verified": 2, "unverified": 0})
