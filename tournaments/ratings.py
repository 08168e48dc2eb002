"""Ratings: Bradley-Terry abilities in Elo, with terms for seat and right answer, and intervals robust by story.

The model: P(a beats b) = 1 / (1 + 10^(−d / 400)) with d = elo_a − elo_b ± seat ± right, where + stands for player a
sitting in seat A (being assigned the right answer) and − for player b. So each term is the whole advantage: the Elo
that sitting in seat A is worth against an equal in seat B. One Gaussian prior, mean 0 and sd 500 Elo, is on every
player and on both terms; at that width it matters only where outcomes say little. The players' mean is 0.

What is estimated is a player's ability over the population of stories, of which the stories played are a sample: the
intervals allow for any dependence of outcomes on one story, whoever played them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from debate.errors import ConfigError
from debate.metrics.intervals import FEW_CLUSTERS
from tournaments.elo_fit import Design, Floats, Ints, Sandwich, loose_directions, solve
from tournaments.elo_status import Games, Status, comparable, open_bound, statuses

ELO = 400 / math.log(10)
"""Elo points in one logit."""

TermName = Literal["seat", "right"]
Role = Literal["right", "wrong"]
_Node = TypeVar("_Node", str, tuple[str, Role])


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one verdict on one debate gave to two players.

    Attributes:
        player_a: A player.
        player_b: Its opponent.
        score_a: Share of the point that `player_a` got, 0 to 1.
        question_id: The question debated.
        story_id: The story it is about; intervals are robust by story.
        seat_a: The seat `player_a` was shown in.
        right: The player that was assigned the right answer, or None where that is not known.
    """

    player_a: str
    player_b: str
    score_a: float
    question_id: str
    story_id: str
    seat_a: Literal["A", "B"]
    right: str | None


@dataclass(frozen=True, slots=True)
class Rating:
    """A player's rating.

    Attributes:
        elo: Most probable ability given outcomes and prior, in Elo about the field's mean; always finite.
        low: Lower end of its interval; -inf where outcomes put no bound.
        high: Upper end of its interval; inf where outcomes put no bound.
        status: `ok`; `undefeated` or `winless` (took every point, or none, of all its games: open on that side);
            `disconnected` (no games link it to the main field, or points flow only one way between it, or its group,
            and the main field: its place is the prior's, and open on both sides). The main field is the largest group
            of players between whom points flow both ways, directly or through others.
    """

    elo: float
    low: float
    high: float
    status: Status


@dataclass(frozen=True, slots=True)
class Term:
    """An advantage, or a difference between two ratings, in Elo, with its interval (infinite where there is none)."""

    elo: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class _Fit:
    """A solved fit: nodes (abilities) first among the parameters, then the terms."""

    beta: Floats
    sandwich: Sandwich
    loose: Floats
    level: float

    def term(self, contrast: Floats, centre: float | None = None) -> Term:
        """A contrast in Elo with its interval; `centre` where the estimate itself has another zero."""
        elo = ELO * float(contrast @ self.beta)
        half = math.inf
        if not (np.abs(contrast @ self.loose) > 1e-6).any():
            half = ELO * self.sandwich.half_width(contrast, self.level)
        middle = elo if centre is None else centre
        return Term(middle, middle - half, middle + half)

    def unit(self, index: int) -> Floats:
        contrast = np.zeros(len(self.beta))
        contrast[index] = 1.0
        return contrast


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings of a field.

    Attributes:
        players: Rating of each player, the highest first.
        seat: Advantage of seat A over seat B; None where not fitted.
        right: Advantage of being assigned the right answer; None where not fitted or not known of any outcome.
        outcomes: Number of outcomes.
        clusters: Number of stories.
        prior_sd: Of the Gaussian prior, in Elo.
        level: Coverage of the intervals.
        covariance: Cluster-robust covariance in Elo², rows and columns as in `parameters`.
        parameters: Player names in sorted order, then the fitted terms, as `term:seat` and `term:right`.
    """

    players: Mapping[str, Rating]
    seat: Term | None
    right: Term | None
    outcomes: int
    clusters: int
    prior_sd: float
    level: float
    covariance: npt.NDArray[np.float64]
    parameters: tuple[str, ...]
    _fit: _Fit = field(repr=False)

    @property
    def few_clusters(self) -> bool:
        """Whether the intervals rest on fewer than 10 stories, too few to trust."""
        return self.clusters < FEW_CLUSTERS

    def difference(self, a: str, b: str) -> Term:
        """How much higher `a` is rated than `b`, with the interval of that difference.

        Raises:
            ConfigError: A name that is not in the field.
        """
        one, two = (_index(name, self.parameters[: len(self.players)]) for name in (a, b))
        return self._fit.term(self._fit.unit(one) - self._fit.unit(two))


@dataclass(frozen=True, slots=True)
class AssignmentRatings:
    """Two ratings a player, from one fit with one anchor, so that all of them can be compared.

    Attributes:
        players: Rating of each (player, role), role `right` or `wrong`, the highest first; they have mean 0.
        seat: Advantage of seat A over seat B.
        outcomes: Number of outcomes.
        clusters: Number of stories.
        prior_sd: Of the Gaussian prior, in Elo.
        level: Coverage of the intervals.
    """

    players: Mapping[tuple[str, Role], Rating]
    seat: Term | None
    outcomes: int
    clusters: int
    prior_sd: float
    level: float
    _nodes: tuple[tuple[str, Role], ...] = field(repr=False)
    _fit: _Fit = field(repr=False)

    @property
    def few_clusters(self) -> bool:
        """Whether the intervals rest on fewer than 10 stories, too few to trust."""
        return self.clusters < FEW_CLUSTERS

    @property
    def right(self) -> dict[str, Rating]:
        """Rating of each player when assigned the right answer."""
        return {name: rating for (name, role), rating in self.players.items() if role == "right"}

    @property
    def wrong(self) -> dict[str, Rating]:
        """Rating of each player when assigned the wrong answer."""
        return {name: rating for (name, role), rating in self.players.items() if role == "wrong"}

    def difference(self, a: tuple[str, Role], b: tuple[str, Role]) -> Term:
        """How much higher `a`, a (player, role), is rated than `b`, with the interval of that difference.

        Raises:
            ConfigError: A player or role that was not rated.
        """
        one, two = (_index(node, self._nodes) for node in (a, b))
        return self._fit.term(self._fit.unit(one) - self._fit.unit(two))


def fit(
    outcomes: Sequence[Outcome],
    *,
    prior_sd: float = 500.0,
    terms: tuple[TermName, ...] = ("seat", "right"),
    level: float = 0.95,
) -> Ratings:
    """Rate a field of players from the outcomes of their debates.

    A maximum a posteriori Bradley-Terry fit (Bradley & Terry 1952) with CR2 intervals by story. An interval of a rating
    is that of its difference from the mean of the main field (of those in it that were seen on two stories or more). It
    is infinite where outcomes put no bound: with one story; where one story holds all that is known; where a term
    explains every outcome.

    An undefeated player's lower bound is exact for any dependence within stories: had it an expected share μ of the
    points, it would take all of G stories with probability at most μ^G; likewise a winless player's upper one.

    Args:
        outcomes: At least one; the order and which player is called a make no difference.
        prior_sd: Of the Gaussian prior on every ability and term, in Elo.
        terms: Which terms to fit beside the abilities.
        level: Coverage of the intervals, between 0 and 1.

    Returns:
        The ratings.

    Raises:
        ConfigError: No outcomes, a player against itself, a score outside [0, 1], an unknown seat or `right`, or a
            prior, level or term that is none.
    """
    _check(outcomes, prior_sd, terms, level)
    names = sorted({name for o in outcomes for name in (o.player_a, o.player_b)})
    place = {name: index for index, name in enumerate(names)}
    a, b = (np.array([place[getattr(o, side)] for o in outcomes]) for side in ("player_a", "player_b"))
    columns = _columns(outcomes, terms)
    ratings, found, by_name = _rate(outcomes, a, b, size=len(names), columns=columns, prior_sd=prior_sd, level=level)
    return Ratings(
        players=_ladder(names, ratings),
        seat=by_name.get("seat"),
        right=by_name.get("right"),
        outcomes=len(outcomes),
        clusters=len({o.story_id for o in outcomes}),
        prior_sd=prior_sd,
        level=level,
        covariance=ELO**2 * found.sandwich.covariance(),
        parameters=(*names, *(f"term:{name}" for name in columns)),
        _fit=found,
    )


def fit_by_assignment(
    outcomes: Sequence[Outcome],
    *,
    prior_sd: float = 500.0,
    terms: tuple[TermName, ...] = ("seat",),
    level: float = 0.95,
) -> AssignmentRatings:
    """Rate each player twice, as assigned the right and the wrong answer, in one fit.

    A debate sets the `right` ability of one player against the `wrong` ability of the other, so both kinds are on one
    scale, tied together by its one anchor: all abilities have mean 0. This needs at least three players that meet in
    turn; of two, the two kinds of debate have nothing in common and come out `disconnected`.

    Args:
        outcomes: At least one, each with `right` known.
        prior_sd: Of the Gaussian prior on every ability and term, in Elo.
        terms: `("seat",)` or `()`; the right-answer term is the difference of the two abilities.
        level: Coverage of the intervals, between 0 and 1.

    Returns:
        The ratings, as `fit` makes them.

    Raises:
        ConfigError: As for `fit`, or an outcome of which it is not known who was assigned the right answer.
    """
    _check(outcomes, prior_sd, terms, level)
    if "right" in terms:
        raise ConfigError(
            "ratings by assignment hold the right-answer term in their two abilities; leave it out of terms"
        )
    for o in outcomes:
        if o.right is None:
            raise ConfigError(
                f"question {o.question_id!r}, {o.player_a!r} against {o.player_b!r}: it is not known who was "
                "assigned the right answer; rate by assignment only questions with a gold answer"
            )
    sides: list[tuple[tuple[str, Role], tuple[str, Role]]] = [
        ((o.player_a, "right"), (o.player_b, "wrong"))
        if o.right == o.player_a
        else ((o.player_a, "wrong"), (o.player_b, "right"))
        for o in outcomes
    ]
    nodes = sorted({node for pair in sides for node in pair})
    place = {node: index for index, node in enumerate(nodes)}
    a, b = (np.array([place[pair[side]] for pair in sides]) for side in (0, 1))
    ratings, found, by_name = _rate(
        outcomes, a, b, size=len(nodes), columns=_columns(outcomes, terms), prior_sd=prior_sd, level=level
    )
    return AssignmentRatings(
        players=_ladder(nodes, ratings),
        seat=by_name.get("seat"),
        outcomes=len(outcomes),
        clusters=len({o.story_id for o in outcomes}),
        prior_sd=prior_sd,
        level=level,
        _nodes=tuple(nodes),
        _fit=found,
    )


def _rate(
    outcomes: Sequence[Outcome],
    a: Ints,
    b: Ints,
    *,
    size: int,
    columns: Mapping[TermName, Floats],
    prior_sd: float,
    level: float,
) -> tuple[list[Rating], _Fit, dict[TermName, Term]]:
    """Ratings of the nodes 0 to size − 1 that met in a and b, the fit, and its terms."""
    stories = {name: index for index, name in enumerate(dict.fromkeys(o.story_id for o in outcomes))}
    cluster = np.array([stories[o.story_id] for o in outcomes])
    score = np.array([o.score_a for o in outcomes], dtype=float)
    ones = np.ones(len(outcomes))
    covariates = np.array([*columns.values()]).reshape(len(columns), len(outcomes)).T
    design = Design(
        columns_nk=np.column_stack([a, b, *(np.full(len(outcomes), size + k) for k in range(len(columns)))]),
        values_nk=np.column_stack([ones, -ones, covariates]),
        score_n=score,
        cluster_n=cluster,
        size=size + len(columns),
        clusters=len(stories),
        precision=(ELO / prior_sd) ** 2,
    )
    beta = solve(design)
    found = _Fit(beta, Sandwich.of(design, beta), loose_directions(design), level)
    status, main = statuses(a, b, score, size)
    games = Games(a, b, cluster, covariates @ beta[size:], beta[:size])
    mean = np.zeros(len(beta))
    known = comparable(main, found.loose, np.concatenate([a, b]), np.concatenate([cluster, cluster]))
    mean[known] = 1 / max(1, len(known))
    ratings = []
    for node in range(size):
        elo = ELO * float(beta[node])
        low, high = -math.inf, math.inf
        if status[node] == "ok":
            # with points flowing one way elsewhere, the zero is the prior's, so the interval is about the main field
            ends = found.term(found.unit(node) - mean, centre=elo)
            low, high = ends.low, ends.high
        elif status[node] == "undefeated":
            low = min(elo, ELO * open_bound(games, node, main, level, lost=False))
        elif status[node] == "winless":
            high = max(elo, ELO * open_bound(games, node, main, level, lost=True))
        ratings.append(Rating(elo, low, high, status[node]))
    return ratings, found, {name: found.term(found.unit(size + k)) for k, name in enumerate(columns)}


def _columns(outcomes: Sequence[Outcome], terms: Sequence[TermName]) -> dict[TermName, Floats]:
    """Covariates by term, +1 where player a has the advantage and −1 where player b; none that is 0 throughout."""
    columns: dict[TermName, Floats] = {}
    if "seat" in terms:
        columns["seat"] = np.array([1.0 if o.seat_a == "A" else -1.0 for o in outcomes])
    if "right" in terms:
        columns["right"] = np.array(
            [0.0 if o.right is None else 1.0 if o.right == o.player_a else -1.0 for o in outcomes]
        )
    return {name: column for name, column in columns.items() if column.any()}


def _ladder(nodes: Sequence[_Node], ratings: Sequence[Rating]) -> dict[_Node, Rating]:
    return dict(sorted(zip(nodes, ratings, strict=True), key=lambda pair: (-pair[1].elo, pair[0])))


def _index(node: _Node, nodes: Sequence[_Node]) -> int:
    if node not in nodes:
        raise ConfigError(f"{node!r} has no rating; rated are {', '.join(map(str, nodes))}")
    return nodes.index(node)


def _check(outcomes: Sequence[Outcome], prior_sd: float, terms: Sequence[str], level: float) -> None:
    if not outcomes:
        raise ConfigError("there are no outcomes to rate; judge at least one debate between two players")
    if not (math.isfinite(prior_sd) and prior_sd > 0):
        raise ConfigError(f"prior_sd is {prior_sd}; give a positive number of Elo, such as 500")
    if not 0 < level < 1:
        raise ConfigError(f"level is {level}; give a coverage between 0 and 1, such as 0.95")
    known = get_args(TermName)
    if unknown := [name for name in terms if name not in known]:
        raise ConfigError(f"unknown terms {', '.join(map(repr, unknown))}; known are {', '.join(known)}")
    for o in outcomes:
        where = f"question {o.question_id!r}, {o.player_a!r} against {o.player_b!r}"
        if o.player_a == o.player_b:
            raise ConfigError(f"{where}: a player cannot be rated against itself; leave self-play out")
        if not 0 <= o.score_a <= 1:
            raise ConfigError(f"{where}: score_a is {o.score_a}; give a share of the point, 0 to 1")
        if o.seat_a not in ("A", "B"):
            raise ConfigError(f"{where}: seat_a is {o.seat_a!r}; give 'A' or 'B'")
        if o.right not in (None, o.player_a, o.player_b):
            raise ConfigError(f"{where}: right is {o.right!r}; name one of the two players, or None")
