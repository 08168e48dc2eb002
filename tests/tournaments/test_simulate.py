"""Simulated tournaments, held against integrals by scipy, closed forms and counts by hand."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from tournaments.simulate import COMMAND, SimulateConfig, scenarios, simulate
from tournaments.simulated import (
    Estimate,
    Repetition,
    Scenario,
    _effects,
    draw_abilities,
    draw_points,
    estimand,
    expected_points,
    over_stories,
    ranked_right,
    repeat,
    simulate_outcomes,
    summarise,
)

SMALL = Scenario(
    players=3,
    spread=150.0,
    seat=30.0,
    right=100.0,
    story_sd=1.0,
    player_story_sd=0.7,
    side_share=0.5,
    questions=20,
    stories=20,
    rounds=3,
)
NO_EFFECTS = dataclasses.replace(SMALL, story_sd=0.0, player_story_sd=0.0)
FLAGS = ["--players", "4", "--questions", "12", "--repetitions", "3"]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def logistic(x: float) -> float:
    return 0.5 + 0.5 * math.tanh(x / 2)


@pytest.mark.parametrize("logit", [-4.0, -0.3, 0.0, 0.008, 0.012, 2.0])
def test_expected_points_are_the_integrals(logit: float) -> None:
    at = np.array([logit])
    for sd in (0.0, 0.5, 1.7, 6.0):
        by_quadrature = scipy.integrate.quad(
            lambda z, sd=sd: logistic(logit + sd * z) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi),
            -9,
            9,
            limit=200,
        )[0]
        assert expected_points(at, sd, "hard")[0] == pytest.approx(by_quadrature, abs=1e-8)


@pytest.mark.parametrize("logit", [-4.0, 0.0, 0.008, 0.012, 2.0])
def test_expected_soft_points_are_the_integrals(logit: float) -> None:
    at = np.array([logit])

    def noisy(x: float) -> float:
        # noise of density p (1 - p) at its logistic function p
        return float(
            scipy.integrate.quad(
                lambda e: logistic(x + e) * logistic(e) * (1 - logistic(e)), -35, 35, points=[-x, 0.0], limit=100
            )[0]
        )

    assert expected_points(at, 0.0, "soft")[0] == pytest.approx(noisy(logit), abs=1e-7)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    with_effects = sum(w * noisy(logit + 1.7 * z) for z, w in zip(nodes, weights, strict=True)) / weights.sum()
    assert expected_points(at, 1.7, "soft")[0] == pytest.approx(with_effects, abs=1e-6)


@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_drawn_points_have_their_expectation(kind: str) -> None:
    drawn = draw_points(np.full(40_000, 0.8), "soft" if kind == "soft" else "hard", rng())
    assert ((drawn == 0) | (drawn == 1)).all() == (kind == "hard")
    expected = expected_points(np.array([0.8]), 0.0, "soft" if kind == "soft" else "hard")[0]
    assert drawn.mean() == pytest.approx(expected, abs=4 * drawn.std() / 200)


def test_over_stories_differences_shrink_as_published() -> None:
    # Zeger, Liang & Albert (1988): divide by sqrt(1 + c² variance) with c = 16 sqrt(3) / (15 pi); an approximation
    variance = 2 * 1.0**2 + 2 * 0.7**2
    c = 16 * math.sqrt(3) / (15 * math.pi)
    assert SMALL.effect_sd**2 == pytest.approx(variance)
    assert over_stories(SMALL, 100.0) == pytest.approx(100 / math.sqrt(1 + c**2 * variance), rel=0.07)
    assert over_stories(NO_EFFECTS, 100.0) == pytest.approx(100, abs=1e-6)


def test_without_effects_the_estimand_is_the_truth() -> None:
    abilities = np.array([180.0, 20.0, -200.0])
    ratings, by_side = estimand(NO_EFFECTS, abilities, list(itertools.combinations(range(3), 2)))
    assert [ratings.players[name].elo for name in ("p1", "p2", "p3")] == pytest.approx(list(abilities), abs=1e-3)
    assert ratings.right is not None
    assert ratings.seat is not None
    assert (ratings.right.elo, ratings.seat.elo) == pytest.approx((100, 30), abs=1e-3)
    # each side takes half of what the right answer is worth
    assert [by_side.right[name].elo for name in ("p1", "p2", "p3")] == pytest.approx(list(abilities + 50), abs=1e-3)
    assert [by_side.wrong[name].elo for name in ("p1", "p2", "p3")] == pytest.approx(list(abilities - 50), abs=1e-3)


def test_estimates_converge_to_the_truth_without_effects() -> None:
    many = dataclasses.replace(NO_EFFECTS, questions=1000, stories=250)
    found = repeat(many, 1, 0)
    # 8,000 verdicts a player: a standard error of about 3 Elo
    assert all(abs(one.elo - one.true) < 15 for one in found.estimates)
    terms = {one.quantity: one.true for one in found.estimates if one.quantity in {"right", "seat"}}
    assert terms == pytest.approx({"right": 100, "seat": 30}, abs=1e-3)
    best, middle, worst = (one.elo for one in found.estimates if one.quantity == "rating")
    assert found.ranked == ((best > middle) + (best > worst) + (middle > worst)) / 3


def test_with_effects_estimates_converge_to_the_estimand() -> None:
    many = dataclasses.replace(SMALL, questions=1500, stories=1500, level=0.9999)
    found = repeat(many, 2, 0)
    assert all(one.low < one.true < one.high for one in found.estimates)
    assert all(one.high - one.low < 70 for one in found.estimates)
    # and not to the values of an average story: 30 Elo off at 100
    right = next(one for one in found.estimates if one.quantity == "right")
    assert right.high < 100


def test_intervals_shrink_with_the_root_of_the_number_of_stories() -> None:
    def half_width(stories: int) -> float:
        one = dataclasses.replace(SMALL, questions=stories, stories=stories)
        return summarise("right", [repeat(one, 3, number) for number in range(12)]).half_width

    quantiles = scipy.stats.t.ppf(0.975, 19) / scipy.stats.t.ppf(0.975, 79)
    assert half_width(20) / half_width(80) == pytest.approx(2 * quantiles, rel=0.1)


@pytest.mark.parametrize(
    ("players", "rounds", "matches"),
    [(2, 3, 1), (3, 3, 3), (4, 2, 6), (5, 3, 10), (6, 3, 9), (8, 5, 20), (9, 6, 24), (8, 9, 28)],
)
def test_debates_are_matches_times_questions_times_assignments(players: int, rounds: int, matches: int) -> None:
    one = dataclasses.replace(SMALL, players=players, rounds=rounds, questions=7, stories=3)
    outcomes, met = simulate_outcomes(one, draw_abilities(players, 100, rng()), rng())
    assert len(met) == len({frozenset(pair) for pair in met}) == matches
    assert one.debates == matches * 7 * 2
    assert one.verdicts == len(outcomes) == matches * 7 * 4


def test_every_question_of_a_match_has_both_assignments_in_both_orders() -> None:
    one = dataclasses.replace(SMALL, questions=7, stories=3)
    outcomes, met = simulate_outcomes(one, np.zeros(3), rng())
    rows = Counter((o.player_a, o.player_b, o.question_id, o.right == o.player_a, o.seat_a) for o in outcomes)
    assert set(rows.values()) == {1}
    assert len(rows) == 7 * 4 * len(met)
    assert {o.right in {o.player_a, o.player_b} for o in outcomes} == {True}
    stories = {o.question_id: o.story_id for o in outcomes}
    assert sorted(Counter(stories.values()).values()) == [2, 2, 3]


def test_effects_have_the_sd_and_the_likeness_that_were_asked_for() -> None:
    effects = _effects(dataclasses.replace(SMALL, stories=20_000, side_share=0.3), rng())
    assert effects.right_s.std() == pytest.approx(1, rel=0.02)
    assert effects.seat_s.std() == pytest.approx(1, rel=0.02)
    assert abs(np.mean(effects.right_s * effects.seat_s)) < 0.03
    assert effects.side_prs.std(axis=2) == pytest.approx(np.full((3, 2), 0.7), rel=0.02)
    (right, wrong), (other, _) = effects.side_prs[:2]
    assert np.mean(right * wrong) / 0.49 == pytest.approx(0.7, abs=0.02)
    assert abs(np.mean(right * other)) / 0.49 < 0.03


def test_abilities_are_centred_and_sorted() -> None:
    drawn = np.array([draw_abilities(8, 150, rng(seed)) for seed in range(400)])
    assert drawn.sum(axis=1) == pytest.approx(np.zeros(400), abs=1e-9)
    assert (np.diff(drawn, axis=1) <= 0).all()
    # about the mean of the field, so with one degree of freedom less
    assert drawn.var(axis=1, ddof=1).mean() == pytest.approx(150**2, rel=0.1)


def test_summaries() -> None:
    first = [
        Estimate("right", 10, 14, 4, 24),
        Estimate("seat", 0, 1, 0.5, 1.5),
        Estimate("right", 10, 12, -math.inf, 9),
    ]
    second = [Estimate("right", 10, 7, -3, 17), Estimate("right", 10, 11, 10.5, 11.5)]
    repetitions = [Repetition(first, 1.0), Repetition(second, 0.5)]
    found = summarise("right", repetitions)
    assert (found.half_width, found.coverage.value, found.open) == pytest.approx(((10 + 10 + 0.5) / 3, 0.5, 0.25))
    assert (found.true, found.error, found.coverage.clusters) == (10, (4 + 2 - 3 + 1) / 4, 2)
    assert ranked_right(repetitions).value == 0.75
    nothing = summarise("side", [Repetition([Estimate("side", 0, 0, -math.inf, math.inf)], 0.0)] * 2)
    assert (nothing.open, nothing.coverage.value) == (1, 1)
    assert math.isnan(nothing.half_width)


def test_more_processes_change_nothing() -> None:
    config = SimulateConfig(players=3, questions=4, repetitions=2)
    assert simulate(config, processes=2) == simulate(config, processes=1)


def test_sizes() -> None:
    assert [(s.questions, s.stories) for s in scenarios(SimulateConfig())] == [
        (12, 3),
        (25, 6),
        (50, 12),
        (100, 24),
        (200, 48),
    ]
    one = SimulateConfig(questions=1)
    assert [(s.questions, s.stories) for s in scenarios(one)] == [(1, 1), (2, 2), (4, 4)]
    assert SimulateConfig(questions=40, stories=30).scenario().stories == 30


def test_the_command_prints_two_tables_and_the_same_ones_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert COMMAND.main(FLAGS) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "too few clusters: 3 stories" in out
    # 4 players: 4 rounds by default, so a round robin of 6 matches; 12 questions, 2 assignments, 2 orders
    assert "What 144 debates and 288 verdicts buy: 4 players, round robin, 12 questions on 3 stories" in out
    assert "What more questions, and stories in proportion, buy" in out
    lines = [line.split() for line in out.splitlines()]
    assert [line[:4] for line in lines if line and line[0] in {"3", "6", "12", "24", "48"}] == [
        [str(q), str(s), f"{12 * q:,}", f"{24 * q:,}"] for q, s in ((3, 1), (6, 1), (12, 3), (24, 6), (48, 12))
    ]
    assert COMMAND.main(FLAGS) == 0
    assert capsys.readouterr().out == out
    assert COMMAND.main([*FLAGS, "--seed", "1"]) == 0
    assert capsys.readouterr().out != out


def test_two_players_have_no_abilities_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    assert COMMAND.main(["--players", "2", "--questions", "12", "--repetitions", "2", "--outcome", "soft"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("ability by assigned side"))
    assert "n/a" in row
    assert row.rstrip().endswith("100.0%")


def test_a_dry_run_says_what_would_be_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    assert COMMAND.main(["--dry-run"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("40 tournaments of each size: 8 players, 5 Swiss rounds\n")
    assert ["50", "12", "2,000", "4,000"] in [line.split() for line in out.splitlines()]
    assert err == ""


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--repetition", "3"], "flags: repetition: unknown key; did you mean repetitions?"),
        (["--stories", "9", "--questions", "8"], "9 stories for 8 questions; give each story a question at least"),
        (["--players", "1"], "players: Input should be greater than or equal to 2"),
        (["--outcome", "sharp"], "outcome: Input should be 'hard' or 'soft'"),
        (["--level", "95"], "level: Input should be less than 1"),
        (["--output", "somewhere"], "--output and --resume mean nothing"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert COMMAND.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert text in err


def test_there_is_nothing_to_resume(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.yaml").write_text("players: 3\n", encoding="utf-8")
    assert COMMAND.main(["--resume", str(tmp_path)]) == 2
    assert "--output and --resume mean nothing" in capsys.readouterr().err
