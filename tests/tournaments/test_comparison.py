"""Judges compared, against oracle libraries and values worked out by hand."""

from __future__ import annotations

import math
import random

import pytest
from scipy.stats import spearmanr

from debate.question import Question
from debate.record import Debate, Recorded
from debate.transcript import Transcript
from debate.verdict import Verdict
from tournaments.comparison import (
    accuracy_difference,
    compare,
    comparison_metrics,
    pairs_table,
    rank_correlation,
)
from tournaments.ratings import Outcome, Ratings, fit


def item(name: str, story: str, *shares: float | None, gold: int | None = 0) -> Recorded:
    """A debate with one judge's verdicts: the probability of answer 0 in each order, or None for unparsed."""
    question = Question(name, "Who?", ("He.", "She."), gold, None, story, "test")
    orders = [(0, 1), (1, 0)]
    verdicts = tuple(
        Verdict("j", order, None, unparsed="silent") if share is None else Verdict("j", order, (share, 1 - share))
        for order, share in zip(orders, shares, strict=False)
    )
    return Recorded(Debate(name, "simultaneous", Transcript(question), ("a", "b")), verdicts)


def ladder(elo: dict[str, float], seed: int) -> Ratings:
    """Fit ratings to many outcomes drawn for players of given Elo."""
    draw = random.Random(seed)
    names = sorted(elo)
    rows = [
        Outcome(a, b, float(draw.random() < 1 / (1 + 10 ** ((elo[b] - elo[a]) / 400))), str(n), str(n % 12), "A", None)
        for n in range(40)
        for index, a in enumerate(names)
        for b in names[index + 1 :]
    ]
    return fit(rows)


def test_rank_correlation_is_scipys() -> None:
    one = ladder({"a": 0, "b": 50, "c": 100, "d": 150, "e": 400}, 1)
    other = ladder({"e": 0, "d": 20, "c": 100, "b": 20, "x": 400}, 2)
    found, players = rank_correlation(one, other)
    names = ["b", "c", "d", "e"]
    oracle = spearmanr(*([ratings.players[name].elo for name in names] for ratings in (one, other)))
    assert players == 4
    assert found == pytest.approx(float(oracle.statistic))
    few = ladder({"a": 0, "b": 50}, 3)
    assert rank_correlation(few, one) == (None, 2)


def test_pairs_by_hand() -> None:
    # Means of the orders: 0.7 0.4 0.5 0.9 against 0.6 0.8 0.5 0.7; the last debate is the first judge's alone.
    first = [
        item("1", "s", 0.8, 0.6),
        item("2", "t", 0.4, 0.4),
        item("3", "u", 0.9, 0.1),
        item("4", "v", 1.0, 0.8),
        item("5", "v", 1.0, 0.8),
    ]
    second = [item("1", "s", 0.6), item("2", "t", 0.8, 0.8), item("3", "u", 0.5), item("4", "v", 0.7)]
    second.append(item("5", "v", 0.9, None))  # half of it unparsed: no probability
    (pair,) = compare({"one": first, "other": second}, {})
    assert (pair.one, pair.other, pair.debates, pair.correlation, pair.players) == ("one", "other", 4, None, 0)
    # The third debate, of which neither names an answer, is no agreement.
    assert pair.ties.value == 0.25
    assert pair.agreement is not None
    assert pair.agreement.value == pytest.approx(2 / 3)
    assert pair.agreement.n == 3
    assert pair.distance.value == pytest.approx((0.1 + 0.4 + 0 + 0.2) / 4)
    # Two of three agree; by chance (2·3 + 1·0) / 9.
    assert pair.kappa == pytest.approx(0)
    assert compare({"one": first[:1], "other": second[1:]}, {}) == []


def test_two_judges_that_name_nothing_do_not_agree() -> None:
    undecided = [item(str(n), str(n), 0.5, 0.5) for n in range(12)]
    torn = [item(str(n), str(n), 0.9, 0.1) for n in range(12)]
    (pair,) = compare({"one": undecided, "other": torn}, {})
    assert (pair.ties.value, pair.agreement, pair.kappa) == (1, None, None)
    assert pair.distance.value == pytest.approx(0)
    (row,) = pairs_table([pair]).rows
    assert row[4:6] == [None, None]
    measured = comparison_metrics({}, [pair])["pairs"]
    assert isinstance(measured, dict)
    assert measured["one | other"]["agreement"] is None
    assert measured["one | other"]["ties"][0] == 1


def test_the_difference_is_paired_by_debate() -> None:
    first = [
        item("1", "s", 0.9, 0.9),
        item("2", "t", 0.9, 0.2),
        item("3", "u", 0.1, 0.1),
        item("4", "v", 0.9, gold=None),
    ]
    second = [item("1", "s", 0.9, 0.1), item("2", "t", 0.2, None), item("3", "u", 0.6, 0.5), item("9", "w", 0.9)]
    found = accuracy_difference(second, first)
    # Right: 1, 1/2, 0 by the first; 1/2, 0, 3/4 by the second.
    assert found is not None
    assert (found.n, found.clusters) == (3, 3)
    assert found.value == pytest.approx((-0.5 - 0.5 + 0.75) / 3)
    assert -1 <= found.low < found.value < found.high <= 1
    assert accuracy_difference(second[3:], first) is None


def test_judges_that_never_differ_may_yet_differ_on_few_stories() -> None:
    first = [item(str(n), str(n // 2), 0.9) for n in range(40)]
    found = accuracy_difference(first, first)
    assert found is not None
    # Wilson's upper end for 0 of 20 stories: z² / (n + z²).
    assert (found.value, found.low) == (0, -found.high)
    assert found.high == pytest.approx(1.96**2 / (20 + 1.96**2), abs=1e-4)


def test_pairing_makes_the_interval_narrow() -> None:
    draw = random.Random(0)
    stories = [(str(n), float(draw.random() < 0.5)) for n in range(200)]
    first = [item(name, name, right) for name, right in stories]
    second = [item(name, name, 1.0 if index < 10 else right) for index, (name, right) in enumerate(stories)]
    found = accuracy_difference(second, first)
    assert found is not None
    flips = [index for index, (_, right) in enumerate(stories[:10]) if right == 0]
    assert found.value == pytest.approx(len(flips) / 200)
    # Unpaired, two shares near one half of 200 each: ± 1.96 · √(2 · 0.25 / 200) ≈ 0.098.
    assert found.high - found.low < 0.1 * math.sqrt(2)
