"""A consultant's win rate, against values worked out by hand."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from debate.metrics.intervals import wilson
from debate.metrics.win_rate import consultant_win_rate
from debate.record import Recorded
from tests.judged import RIGHT, TIE, WRONG, Shares, judged


def consultancy(number: int, answer: int, *shares: Shares, gold: int | None = 0, story: str | None = None) -> Recorded:
    players = ("c", None) if answer == 0 else (None, "c")
    return judged(f"q{number}", *shares, gold=gold, players=players, story=story)


def test_the_mean_over_both_assignments() -> None:
    # Assigned answer 0, the right one: 1, 0, ½, 1. Assigned answer 1, the wrong one: 0, 1, ½, 0.
    games = [
        consultancy(0, 0, RIGHT, WRONG),
        consultancy(1, 0, TIE, RIGHT),
        consultancy(0, 1, RIGHT, WRONG),
        consultancy(1, 1, TIE, RIGHT),
    ]
    rate = consultant_win_rate(games)
    assert rate is not None
    assert rate.right.value == pytest.approx(2.5 / 4)
    assert rate.wrong.value == pytest.approx(1.5 / 4)
    assert rate.both.value == pytest.approx((2.5 / 4 + 1.5 / 4) / 2)
    assert (rate.right.n, rate.wrong.n, rate.both.n, rate.both.clusters) == (4, 4, 8, 2)
    soft = consultant_win_rate(games, soft=True)
    assert soft is not None
    assert soft.right.value == pytest.approx((0.9 + 0.2 + 0.5 + 0.9) / 4)
    assert soft.wrong.value == pytest.approx((0.1 + 0.8 + 0.5 + 0.1) / 4)


def test_right_and_wrong_go_by_gold_not_by_the_answers_place() -> None:
    games = [consultancy(0, 0, RIGHT, gold=1), consultancy(0, 1, RIGHT, gold=1)]
    rate = consultant_win_rate(games)
    assert rate is not None
    # The judge chooses answer 0, which is wrong here: the consultant wins when it is assigned the wrong one.
    assert (rate.right.value, rate.wrong.value, rate.both.value) == (0.0, 1.0, 0.5)


@pytest.mark.parametrize(("lost", "expected"), [(0, 0.75), (1, (1 + 2 / 4) / 2), (2, (1 + 2 / 4) / 2)])
def test_lost_verdicts_do_not_change_the_weights_of_the_sides(lost: int, expected: float) -> None:
    # Right: wins all of what was parsed. Wrong: wins 2 of 4.
    right = [consultancy(0, 0, *[None] * lost, *[RIGHT] * (2 - lost)), consultancy(1, 0, RIGHT, RIGHT)]
    wrong = [consultancy(0, 1, WRONG, RIGHT), consultancy(1, 1, WRONG, RIGHT)]
    rate = consultant_win_rate([*right, *wrong])
    assert rate is not None
    assert rate.both.value == pytest.approx(expected)
    assert rate.right.n == 4 - lost
    assert 0 <= rate.both.low <= rate.both.value <= rate.both.high <= 1


def test_a_consultant_that_always_wins_has_no_other_interval_where_a_verdict_is_lost() -> None:
    def field(lost: int) -> list[Recorded]:
        wins = [consultancy(at, 0, RIGHT, RIGHT) for at in range(12)] + [consultancy(at, 1, WRONG) for at in range(12)]
        return wins[lost:]

    for lost in (0, 3):
        rate = consultant_win_rate(field(lost))
        assert rate is not None
        assert (rate.both.value, rate.both.high) == (1.0, 1.0)
        assert rate.both.low == pytest.approx(wilson(12, 12).low)  # a trial a story


def test_the_interval_with_lost_verdicts_covers_the_truth() -> None:
    rng = np.random.default_rng(3)
    runs, stories, covered = 300, 30, 0
    for _ in range(runs):
        follows = rng.uniform(0.6, 1.0, stories)  # how easily the judge is led, by story
        games = []
        for at, answer in product(range(stories), (0, 1)):
            chance = follows[at] if answer == 0 else 0.5 * follows[at]
            shares: list[Shares] = [
                None
                if answer == 1 and rng.random() < 0.5
                else (RIGHT if (rng.random() < chance) == (answer == 0) else WRONG)
                for _ in range(2)
            ]
            games.append(consultancy(at, answer, *shares))
        rate = consultant_win_rate(games)
        assert rate is not None
        covered += rate.both.low <= (0.8 + 0.4) / 2 <= rate.both.high
    assert abs(covered / runs - 0.95) < 4 * math.sqrt(0.95 * 0.05 / runs)


def test_none_where_an_assignment_has_no_verdict() -> None:
    right, wrong = consultancy(0, 0, RIGHT, RIGHT), consultancy(0, 1, RIGHT, RIGHT)
    assert consultant_win_rate([]) is None
    assert consultant_win_rate([right]) is None
    assert consultant_win_rate([wrong]) is None
    assert consultant_win_rate([right, consultancy(0, 1, None, None)]) is None
    assert consultant_win_rate([right, consultancy(0, 1, RIGHT, RIGHT, gold=None)]) is None
    assert consultant_win_rate([right, wrong]) is not None


def test_debates_and_baselines_are_no_games_nor_what_failed_or_was_asked_midway() -> None:
    games = [consultancy(0, 0, RIGHT, WRONG), consultancy(0, 1, RIGHT, RIGHT)]
    others = [
        judged("q1", RIGHT, RIGHT, players=("c", "d")),
        judged("q1", RIGHT, RIGHT),
        judged("q1", WRONG, WRONG, players=("c", None), round_=1),
        judged("q1", WRONG, WRONG, players=("c", None), failed="the server went away"),
    ]
    assert consultant_win_rate([*games, *others]) == consultant_win_rate(games)
