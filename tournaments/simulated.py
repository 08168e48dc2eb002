"""Tournaments drawn from known abilities, rated, and held against what is so.

The logit that player a takes the point of one verdict, on story s, is

    θ_a + u(a, side of a, s) − θ_b − u(b, side of b, s) ± (right + w_s) ± (seat + v_s)

with + where a was assigned the right answer, and where it sits in seat A. An effect of the story that moved both
players alike would cancel, so it acts where it does not: w_s and v_s, independent, are how much more the right answer
and seat A are worth on this story than on average. u is how much better a player argues a side of this story than on
average; some of its variance is the same for both sides of the player, the rest is each side's own.

A verdict adds standard logistic noise to that logit. Its sign is a hard outcome, its logistic function a soft one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from debate.metrics.intervals import Interval, cluster_mean
from tournaments.elo_fit import Floats, Ints, sigmoid
from tournaments.matches import OutcomeKind, mean_scores
from tournaments.pairing import Pairing, pair_round, round_robin, schedule_is_round_robin
from tournaments.ratings import ELO, AssignmentRatings, Outcome, Rating, Ratings, Term, fit, fit_by_assignment

_FLAT = 1e6  # Elo; a prior that says nothing, where outcomes are endless
_NORMAL = np.arange(-8.0, 8.01, 0.02)  # so fine that sums over it are integrals to 1e-9, whatever the sd

_SEATS: tuple[Literal["A"], Literal["B"]] = ("A", "B")

Quantity = Literal["rating", "neighbours", "right", "seat", "side"]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A tournament and the world it is held in.

    Attributes:
        players: Size of the field.
        spread: Sd of abilities, in Elo.
        seat: What seat A is worth, in Elo.
        right: What being assigned the right answer is worth, in Elo.
        story_sd: Sd over stories of what seat A and the right answer are worth, in logits.
        player_story_sd: Sd over stories of how well a player argues a side, in logits.
        side_share: Share of that variance that is each side's own, 0 to 1.
        questions: Debated in each match.
        stories: They are about; questions are spread over them evenly.
        rounds: Of the tournament; from players − 2 on, it is a round robin.
        outcome: Hard or soft.
        prior_sd: Of the ratings' prior, in Elo.
        level: Coverage that intervals are made for.
    """

    players: int
    spread: float
    seat: float
    right: float
    story_sd: float
    player_story_sd: float
    side_share: float
    questions: int
    stories: int
    rounds: int
    outcome: OutcomeKind = "hard"
    prior_sd: float = 500.0
    level: float = 0.95

    @property
    def debates(self) -> int:
        """Debates of the tournament: both assignments of every question of every match."""
        rounds = self.rounds
        if schedule_is_round_robin(self.players, rounds):
            rounds = self.players - 1 + self.players % 2
        return rounds * (self.players // 2) * self.questions * 2

    @property
    def verdicts(self) -> int:
        """Judge's verdicts: both orders of every debate."""
        return 2 * self.debates

    @property
    def effect_sd(self) -> float:
        """Sd over stories of the logit of any one outcome: two effects of the story, one of each player."""
        return float(np.sqrt(2 * self.story_sd**2 + 2 * self.player_story_sd**2))


class Tournament(NamedTuple):
    """What was played: outcomes for `ratings.fit`, and who met whom, by index."""

    outcomes: list[Outcome]
    matches: list[tuple[int, int]]


class Estimate(NamedTuple):
    """One estimate in one repetition, in Elo.

    Attributes:
        quantity: What was estimated.
        true: What it estimates.
        elo: The estimate.
        low: Lower end of its interval, or -inf.
        high: Upper end, or inf.
    """

    quantity: Quantity
    true: float
    elo: float
    low: float
    high: float


class Repetition(NamedTuple):
    """What one tournament gave: all estimates, and the share of pairs of players that it ranked right."""

    estimates: list[Estimate]
    ranked: float


@dataclass(frozen=True, slots=True)
class Summary:
    """One quantity over all repetitions.

    Attributes:
        half_width: Mean half-width of the intervals that have two ends, in Elo; NaN where none has.
        coverage: Share of intervals that hold the truth, with an interval robust by repetition; an open side holds all.
        open: Share of intervals without an end.
        true: Mean of what is estimated, in Elo.
        error: Mean of estimate − truth, in Elo.
    """

    half_width: float
    coverage: Interval
    open: float
    true: float
    error: float


def draw_abilities(players: int, spread: float, rng: np.random.Generator) -> Floats:
    """Draw a field's abilities: normal, in Elo, with mean 0 and the best first; shape (players,)."""
    drawn = rng.standard_normal(players) * spread
    abilities: Floats = np.sort(drawn - drawn.mean())[::-1]
    return abilities


def simulate_outcomes(scenario: Scenario, abilities_p: Floats, rng: np.random.Generator) -> Tournament:
    """Draw the outcomes of a tournament.

    As in `tournaments.swiss`: all matches have the same questions, both assignments of each are debated and both orders
    judged; Swiss rounds are paired by the mean scores so far.

    Args:
        scenario: The tournament and its world.
        abilities_p: Abilities over stories, in Elo, shape (players,).
        rng: Everything is drawn from it.

    Returns:
        Outcomes and matches.
    """
    names = player_names(scenario.players)
    effects = _effects(scenario, rng)
    story_q = _story_of(scenario)
    seed = int(rng.integers(2**31))
    schedule = round_robin(names, seed) if schedule_is_round_robin(scenario.players, scenario.rounds) else None
    played: set[frozenset[str]] = set()
    byes: set[str] = set()
    outcomes: list[Outcome] = []
    matches: list[tuple[int, int]] = []
    for number in range(len(schedule) if schedule else scenario.rounds):
        pairings: Iterable[Pairing]
        if schedule:
            pairings = schedule[number]
        else:
            standings = dict.fromkeys(names, 0.5) | mean_scores(outcomes)
            pairings = pair_round(standings, played, byes, seed + number)
        for pairing in pairings:
            if pairing.player_b is None:
                byes.add(pairing.player_a)
                continue
            played.add(frozenset((pairing.player_a, pairing.player_b)))
            pair = (names.index(pairing.player_a), names.index(pairing.player_b))
            matches.append(pair)
            logits_qrt = _logits(scenario, abilities_p, pair, effects)[story_q]
            outcomes += _outcomes(names, pair, draw_points(logits_qrt, scenario.outcome, rng), story_q)
    return Tournament(outcomes, matches)


def player_names(players: int) -> list[str]:
    """Names of a simulated field, the best first, which is also their sorted order."""
    return [f"p{index:0{len(str(players))}d}" for index in range(1, players + 1)]


def draw_points(logits: Floats, kind: OutcomeKind, rng: np.random.Generator) -> Floats:
    """Draw the points of verdicts with given logits: the sign of logit + logistic noise, or the logistic of it."""
    noisy = logits + rng.logistic(size=logits.shape)
    return sigmoid(noisy) if kind == "soft" else (noisy > 0).astype(np.float64)


def expected_points(logits: Floats, effect_sd: float, kind: OutcomeKind) -> Floats:
    """Points expected over stories and verdicts.

    Args:
        logits: Logits on an average story, any shape.
        effect_sd: Sd of the logit over stories.
        kind: Hard or soft.

    Returns:
        Expected points, of the same shape.
    """
    at = logits[..., None] + effect_sd * _NORMAL
    weight = np.exp(-(_NORMAL**2) / 2)
    points: Floats = (sigmoid(at) if kind == "hard" else _noisy_sigmoid(at)) @ (weight / weight.sum())
    return points


def _noisy_sigmoid(logit: Floats) -> Floats:
    """Mean of the logistic function of logit + standard logistic noise.

    It is the distribution function of the difference of two logistic variables, (1 − t − mt) / (1 − t)² with t = e^−m
    at m > 0.
    """
    m = np.abs(logit)
    t = np.exp(-np.maximum(m, 0.01))
    far = (1 - t - np.maximum(m, 0.01) * t) / (1 - t) ** 2
    upper = np.where(m < 0.01, 0.5 + m / 6, far)  # the next term is m³ / 180
    points: Floats = np.where(logit < 0, 1 - upper, upper)
    return points


def over_stories(scenario: Scenario, elo: float) -> float:
    """What a difference on every single story is worth over all of them, in Elo.

    A mean of logistic curves that stories have moved apart is flatter than each, so it is less: about
    elo / √(1 + 0.346 sd²) for hard outcomes (Zeger, Liang & Albert 1988).
    """
    p = float(expected_points(np.array([elo / ELO]), scenario.effect_sd, scenario.outcome)[0])
    return ELO * float(np.log(p / (1 - p)))


def estimand(
    scenario: Scenario, abilities_p: Floats, matches: Sequence[tuple[int, int]]
) -> tuple[Ratings, AssignmentRatings]:
    """What the ratings estimate: the fit to the same matches over endlessly many stories, under a flat prior.

    Args:
        scenario: The tournament and its world.
        abilities_p: Abilities on an average story, in Elo.
        matches: Who met whom.

    Returns:
        Ratings, and ratings by assignment, of expected points; their intervals mean nothing.
    """
    names = player_names(scenario.players)
    nothing = _Effects(np.zeros(1), np.zeros(1), np.zeros((scenario.players, 2, 1)))
    outcomes: list[Outcome] = []
    for pair in matches:
        logits = _logits(scenario, abilities_p, pair, nothing)
        points = expected_points(logits, scenario.effect_sd, scenario.outcome)
        outcomes += _outcomes(names, pair, points, np.zeros(1, dtype=np.int64))
    return fit(outcomes, prior_sd=_FLAT), fit_by_assignment(outcomes, prior_sd=_FLAT)


def repeat(scenario: Scenario, seed: int, number: int) -> Repetition:
    """Draw a field and its tournament, rate it, and hold it against what is so.

    Args:
        scenario: The tournament and its world.
        seed: Of the simulation.
        number: Of the repetition; equal numbers draw equal fields, whatever the scenario.

    Returns:
        All estimates with what they estimate.
    """
    rng = np.random.default_rng([seed, number])
    abilities = draw_abilities(scenario.players, scenario.spread, rng)
    outcomes, matches = simulate_outcomes(scenario, abilities, rng)
    true = _terms(*estimand(scenario, abilities, matches))
    ratings = fit(outcomes, prior_sd=scenario.prior_sd, level=scenario.level)
    by_side = fit_by_assignment(outcomes, prior_sd=scenario.prior_sd, level=scenario.level)
    estimates = [
        Estimate(quantity, is_so.elo, found.elo, found.low, found.high)
        for (quantity, is_so), (_, found) in zip(true, _terms(ratings, by_side), strict=True)
    ]
    elo = np.array([ratings.players[name].elo for name in sorted(ratings.players)])
    above = elo[:, None] > elo[None, :]
    return Repetition(estimates, float(above[np.triu_indices(len(elo), 1)].mean()))


def summarise(quantity: Quantity, repetitions: Sequence[Repetition]) -> Summary:
    """Summarise one quantity over repetitions."""
    rows = [
        (number, estimate)
        for number, repetition in enumerate(repetitions)
        for estimate in repetition.estimates
        if estimate.quantity == quantity
    ]
    estimates = [estimate for _, estimate in rows]
    halves = np.array([(estimate.high - estimate.low) / 2 for estimate in estimates])
    closed = halves[np.isfinite(halves)]
    return Summary(
        half_width=float(closed.mean()) if len(closed) else float("nan"),
        coverage=cluster_mean(
            [float(estimate.low <= estimate.true <= estimate.high) for estimate in estimates],
            [str(number) for number, _ in rows],
        ),
        open=1 - len(closed) / len(halves),
        true=float(np.mean([estimate.true for estimate in estimates])),
        error=float(np.mean([estimate.elo - estimate.true for estimate in estimates])),
    )


def ranked_right(repetitions: Sequence[Repetition]) -> Interval:
    """Share of pairs of players whose ratings are in the order of their abilities, by repetition."""
    return cluster_mean([one.ranked for one in repetitions], [str(number) for number in range(len(repetitions))])


def _terms(ratings: Ratings, by_side: AssignmentRatings) -> list[tuple[Quantity, Term | Rating]]:
    """Every quantity, in an order that depends on nothing but who was rated."""
    names = sorted(ratings.players)
    terms: list[tuple[Quantity, Term | Rating]] = [("rating", ratings.players[name]) for name in names]
    terms += [("neighbours", ratings.difference(a, b)) for a, b in itertools.pairwise(names)]
    terms += [("right", ratings.right)] if ratings.right else []
    terms += [("seat", ratings.seat)] if ratings.seat else []
    terms += [("side", by_side.players[node]) for node in sorted(by_side.players)]
    return terms


class _Effects(NamedTuple):
    """Effects of stories in logits: on the right answer (S,), on seat A (S,), on each player's right and wrong side."""

    right_s: Floats
    seat_s: Floats
    side_prs: Floats


def _effects(scenario: Scenario, rng: np.random.Generator) -> _Effects:
    right_s, seat_s = scenario.story_sd * rng.standard_normal((2, scenario.stories))
    alike = rng.standard_normal((scenario.players, 1, scenario.stories))
    own = rng.standard_normal((scenario.players, 2, scenario.stories))
    mixed = np.sqrt(1 - scenario.side_share) * alike + np.sqrt(scenario.side_share) * own
    return _Effects(right_s, seat_s, scenario.player_story_sd * mixed)


def _logits(scenario: Scenario, abilities_p: Floats, pair: tuple[int, int], effects: _Effects) -> Floats:
    """Logits of the first of a pair, shape (stories, 2, 2): it has the right answer or not, seat A or not."""
    a, b = pair
    sign = np.array([1.0, -1.0])
    right = sign * (scenario.right / ELO + effects.right_s[:, None])
    seat = sign * (scenario.seat / ELO + effects.seat_s[:, None])
    ability = (abilities_p[a] - abilities_p[b]) / ELO + (effects.side_prs[a] - effects.side_prs[b, ::-1]).T
    logits: Floats = (ability + right)[:, :, None] + seat[:, None, :]
    return logits


def _story_of(scenario: Scenario) -> Ints:
    """Story of each question: as many questions on each as can be."""
    return np.arange(scenario.questions) * scenario.stories // scenario.questions


def _outcomes(names: Sequence[str], pair: tuple[int, int], points_qrt: Floats, story_q: Ints) -> list[Outcome]:
    a, b = names[pair[0]], names[pair[1]]
    return [
        Outcome(
            a, b, float(points_qrt[question, right, seat]), f"q{question}", f"s{story}", _SEATS[seat], (a, b)[right]
        )
        for question, story in enumerate(story_q)
        for right in (0, 1)
        for seat in (0, 1)
    ]
