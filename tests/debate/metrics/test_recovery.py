"""Performance gap recovered: its value by hand, its interval by a search over ratios, its coverage by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from debate.metrics.recovery import fieller, gap_recovered
from debate.record import Recorded
from tests.judged import RIGHT, TIE, WRONG, judged

Group = list[Recorded]


def by_search(
    numerator: float, denominator: float, s: tuple[float, float, float], t: float
) -> tuple[float, float, bool]:
    """Return the least and greatest ratio of a grid that the data do not refuse, and whether both ends are refused."""
    grid = np.linspace(-50, 50, 2_000_001)
    error = np.sqrt(s[0] - 2 * grid * s[1] + grid**2 * s[2])
    kept = np.abs(numerator - grid * denominator) <= t * error
    inside = grid[kept]
    return float(inside.min()), float(inside.max()), not (kept[0] or kept[-1])


@pytest.mark.parametrize(
    ("numerator", "denominator", "s"),
    [(0.2, 0.4, (0.002, 0.0, 0.001)), (0.3, 0.35, (0.004, 0.002, 0.003)), (-0.1, 0.5, (0.001, -0.0005, 0.002))],
)
def test_fieller_is_all_ratios_that_the_data_do_not_refuse(
    numerator: float, denominator: float, s: tuple[float, float, float]
) -> None:
    covariance = np.array([[s[0], s[1]], [s[1], s[2]]])
    low, high, bounded = by_search(numerator, denominator, s, 2.0)
    assert bounded
    assert fieller(numerator, denominator, covariance, 2.0) == pytest.approx((low, high), abs=1e-4)


def test_fieller_of_independent_means_by_its_published_closed_form() -> None:
    # Fieller (1954) with g = t² s_d² / d² and no covariance: r/(1-g) ± t/(d(1-g)) √(s_n² (1-g) + r² s_d²)
    n, d, vn, vd, t = 1.7, 2.9, 0.04, 0.09, 2.1
    r, g = n / d, t**2 * vd / d**2
    half = t / (d * (1 - g)) * math.sqrt(vn * (1 - g) + r**2 * vd)
    middle = r / (1 - g)
    assert fieller(n, d, np.diag([vn, vd]), t) == pytest.approx((middle - half, middle + half))


def test_a_denominator_that_may_be_zero_leaves_no_bounds() -> None:
    assert fieller(0.1, 0.05, np.diag([0.01, 0.01]), 2.0) == (-math.inf, math.inf)


@given(st.floats(-1, 1), st.floats(0.3, 1), st.floats(0.0001, 0.01), st.floats(0.0001, 0.01), st.floats(-0.9, 0.9))
def test_an_interval_holds_the_ratio(numerator: float, denominator: float, vn: float, vd: float, rho: float) -> None:
    shared = rho * math.sqrt(vn * vd)
    low, high = fieller(numerator, denominator, np.array([[vn, shared], [shared, vd]]), 2.0)
    assert low <= numerator / denominator <= high


def groups() -> tuple[Group, Group, Group]:
    """Six questions on four stories: debate right in 8.5 of 12, blind in 5 of 12, expert in 11 of 12."""
    stories = ["s1", "s1", "s2", "s3", "s3", "s4"]
    shares = {
        "debate": [RIGHT, RIGHT, RIGHT, WRONG, RIGHT, RIGHT, TIE, RIGHT, RIGHT, WRONG, WRONG, RIGHT],
        "blind": [RIGHT, WRONG, WRONG, WRONG, RIGHT, RIGHT, RIGHT, WRONG, WRONG, RIGHT, WRONG, WRONG],
        "expert": [RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, WRONG, RIGHT, RIGHT, RIGHT, RIGHT],
    }
    made = [
        [judged(f"q{at}", *row[2 * at : 2 * at + 2], story=story) for at, story in enumerate(stories)]
        for row in shares.values()
    ]
    return made[0], made[1], made[2]


def scores(group: Group) -> dict[str, list[float]]:
    """Points by story, in plain loops."""
    found: dict[str, list[float]] = {}
    for item in group:
        for verdict in item.verdicts:
            share = (verdict.probabilities or (math.nan,))[0]
            point = 0.5 if share == 0.5 else float(share > 0.5)
            found.setdefault(item.debate.transcript.question.story_id, []).append(point)
    return found


def test_value_and_interval_by_hand() -> None:
    debate, blind, expert = groups()
    found = gap_recovered(debate, blind, expert, level=0.9)
    assert found is not None
    assert found.value == pytest.approx((8.5 - 5) / (11 - 5))
    assert (found.n, found.clusters) == (12, 4)
    # The covariance of the two differences, story by story: residuals of the sums, G / (G - 1).
    parts = []
    means = {}
    for name, group in (("debate", debate), ("blind", blind), ("expert", expert)):
        by_story = scores(group)
        means[name] = sum(map(sum, by_story.values())) / 12
        parts.append([sum(point - means[name] for point in by_story[story]) / 12 for story in sorted(by_story)])
    won = [d - b for d, b in zip(parts[0], parts[1], strict=True)]
    gap = [e - b for e, b in zip(parts[2], parts[1], strict=True)]

    def dot(x: list[float], y: list[float]) -> float:
        return sum(a * b for a, b in zip(x, y, strict=True)) * 4 / 3

    s = (dot(won, won), dot(won, gap), dot(gap, gap))
    t = float(student.ppf(0.95, 3))
    numerator, denominator = means["debate"] - means["blind"], means["expert"] - means["blind"]
    low, high, bounded = by_search(numerator, denominator, s, t)
    assert bounded
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


def test_only_questions_with_a_verdict_on_a_debate_count_in_the_baselines() -> None:
    debate, blind, expert = groups()
    more = [judged("other", WRONG, WRONG), judged("lost", WRONG, WRONG)]
    lost = [judged("lost", None, None), judged("lost", RIGHT, RIGHT, failed="the server went away")]
    assert gap_recovered([*debate, *lost], [*blind, *more], [*expert, *more]) == gap_recovered(debate, blind, expert)


def test_only_questions_with_all_three_verdicts_count_in_the_debates() -> None:
    # Questions of hard debates whose baseline was lost must not pull the debates' share alone.
    debate, blind, expert = groups()
    hard = [judged(f"h{at}", WRONG, WRONG, story="s1") for at in range(3)]
    lost = [
        judged("h0", None, None, story="s1"),
        judged("h1", RIGHT, RIGHT, story="s1", failed="the server went away"),
        judged("h2", RIGHT, RIGHT, story="s1"),
    ]
    told = [judged("h0", RIGHT, RIGHT, story="s1"), judged("h1", RIGHT, RIGHT, story="s1")]
    found = gap_recovered([*debate, *hard], [*blind, *lost], [*expert, *told])
    assert found == gap_recovered(debate, blind, expert)


def test_unparsed_verdicts_and_those_without_gold_or_given_midway_are_left_out() -> None:
    debate, blind, expert = groups()
    noise = [
        judged("q0", None, None, story="s1"),
        judged("q1", RIGHT, RIGHT, story="s1", gold=None),
        judged("q2", WRONG, WRONG, story="s2", round_=1),
    ]
    known = gap_recovered(debate, blind, expert)
    assert gap_recovered([*debate, *noise], [*blind, *noise], [*expert, *noise]) == known


def test_there_is_none_without_all_three_or_a_gap() -> None:
    debate, blind, expert = groups()
    assert gap_recovered([], blind, expert) is None
    assert gap_recovered(debate, [], expert) is None
    assert gap_recovered(debate, blind, []) is None
    assert gap_recovered(debate, blind, blind) is None
    others = [judged("none of them", RIGHT, RIGHT)]
    assert gap_recovered(debate, others, expert) is None

    # The same share of other numbers of verdicts: 3 of 10 and 30 of 100, which differ by rounding.
    three = [judged(f"q{at}", RIGHT if at < 3 else WRONG) for at in range(10)]
    assert gap_recovered(three * 10, three, three * 10) is None


def test_one_story_and_stories_without_variation_leave_no_bounds() -> None:
    unbounded = (-math.inf, math.inf)
    one = [[judged(f"q{at}", share, story="s") for at in range(3)] for share in (TIE, WRONG, RIGHT)]
    found = gap_recovered(*one)
    assert found is not None
    assert (found.value, found.low, found.high, found.clusters) == (0.5, *unbounded, 1)
    flat = [[judged(f"q{at}", share) for at in range(12)] for share in (RIGHT, WRONG, RIGHT)]
    found = gap_recovered(*flat)
    assert found is not None
    assert (found.value, found.low, found.high) == (1.0, *unbounded)  # not [1, 1] from a dozen questions


def test_blind_and_expert_that_are_not_told_apart_leave_no_bounds() -> None:
    rng = np.random.default_rng(5)

    def group(accuracy: float) -> Group:
        return [judged(f"q{at}", RIGHT if rng.random() < accuracy else WRONG) for at in range(20)]

    found = gap_recovered(group(0.6), group(0.55), group(0.6))
    assert found is not None
    assert (found.low, found.high) == (-math.inf, math.inf)
    assert math.isfinite(found.value)


def test_intervals_cover_the_truth() -> None:
    """Stories differ in how hard they are, so verdicts on one story go together; 95 % intervals, 400 runs."""
    rng = np.random.default_rng(11)
    truth, runs, stories = (0.75 - 0.55) / (0.95 - 0.55), 400, 40
    covered = 0
    for _ in range(runs):
        shift = rng.uniform(-0.05, 0.05, size=(3, stories)) + rng.uniform(-0.2, 0.2, size=stories) * [[1.0], [1.0], [0]]
        drawn = rng.random((3, stories, 4)) < (np.array([[0.75], [0.55], [0.95]]) + shift)[:, :, None]
        debate, blind, expert = (
            [
                judged(
                    f"q{story} {at}",
                    *(RIGHT if drawn[k, story, 2 * at + order] else WRONG for order in (0, 1)),
                    story=f"s{story}",
                )
                for story in range(stories)
                for at in (0, 1)
            ]
            for k in range(3)
        )
        found = gap_recovered(debate, blind, expert)
        assert found is not None
        covered += found.low <= truth <= found.high
    assert abs(covered / runs - 0.95) < 4 * math.sqrt(0.95 * 0.05 / runs)
