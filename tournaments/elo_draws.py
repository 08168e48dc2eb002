"""Abilities refitted on resampled stories, many draws at once: how far ratings move with the stories they rest on.

The model is that of ``tournaments.ratings``; here outcomes are added up by story and kind of game first, so that a draw
costs a few small matrix products however many debates there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tournaments.elo_fit import sigmoid
from tournaments.ratings import ELO, Outcome

Floats = npt.NDArray[np.float64]
Assigned = Literal["right", "wrong"]

_STEPS = 50


class Games(NamedTuple):
    """Outcomes, added up; shapes are of S stories, U kinds of game and P parameters, abilities first.

    Attributes:
        players: Names, in the order of their abilities.
        abilities: Place of each player's ability among the parameters, by name.
        stories: Ids.
        number_su: Games.
        points_su: Points of the first player of each kind of game.
        design_up: What parameters a kind of game depends on, and how.
    """

    players: tuple[str, ...]
    abilities: dict[str, int]
    stories: tuple[str, ...]
    number_su: Floats
    points_su: Floats
    design_up: Floats


def add_up(outcomes: Sequence[Outcome], assigned: Assigned | None = None) -> Games:
    """Add outcomes up by story, pair of players, seat and assignment.

    Args:
        outcomes: One or more.
        assigned: Which of a player's two abilities is wanted, where it is to have one for each assignment: as in
            ``fit_by_assignment``; then every outcome needs to have ``right``. None: one ability each, as in ``fit``.

    Returns:
        The games.
    """
    players = tuple(sorted({name for row in outcomes for name in (row.player_a, row.player_b)}))
    roles: tuple[str, ...] = ("",) if assigned is None else ("right", "wrong")
    place = {(name, role): at for at, (role, name) in enumerate((role, name) for role in roles for name in players)}
    size = len(place) + (2 if assigned is None else 1)
    stories = tuple(dict.fromkeys(row.story_id for row in outcomes))
    at_story = {name: at for at, name in enumerate(stories)}
    kinds: dict[tuple[float, ...], int] = {}
    cells: list[tuple[int, int, float]] = []
    for row in outcomes:
        line = np.zeros(size)
        first = row.right == row.player_a
        sides = ("", "") if assigned is None else ("right", "wrong") if first else ("wrong", "right")
        line[place[row.player_a, sides[0]]] += 1
        line[place[row.player_b, sides[1]]] -= 1
        line[len(place)] = 1 if row.seat_a == "A" else -1
        if assigned is None and row.right is not None:
            line[-1] = 1 if first else -1
        kind = kinds.setdefault(tuple(line), len(kinds))
        cells.append((at_story[row.story_id], kind, row.score_a))
    number, points = np.zeros((2, len(stories), len(kinds)))
    for story, kind, score in cells:
        number[story, kind] += 1
        points[story, kind] += score
    own = {name: place[name, assigned or ""] for name in players}
    return Games(players, own, stories, number, points, np.array(list(kinds)))


def draw_elo(games: Games, times_bs: Floats, *, prior_sd: float = 500.0) -> Floats:
    """Fit abilities anew with each story counted so often.

    Args:
        games: The outcomes.
        times_bs: How often each story counts, in B draws.
        prior_sd: Of the Gaussian prior on every ability and term, in Elo.

    Returns:
        Elo of each player about the field's mean, shape (B, players).
    """
    design, precision = games.design_up, (ELO / prior_sd) ** 2
    number_bu, points_bu = times_bs @ games.number_su, times_bs @ games.points_su
    beta: Floats = np.zeros((len(times_bs), design.shape[1]))
    prior = precision * np.eye(design.shape[1])

    def posterior(beta: Floats) -> Floats:
        eta = beta @ design.T
        likelihood = (points_bu * eta - number_bu * np.logaddexp(0.0, eta)).sum(axis=1)
        total: Floats = likelihood - 0.5 * precision * (beta**2).sum(axis=1)
        return total

    value = posterior(beta)
    for _ in range(_STEPS):
        p = sigmoid(beta @ design.T)
        gradient = (points_bu - number_bu * p) @ design - precision * beta
        information = np.einsum("bu,up,uq->bpq", number_bu * p * (1 - p), design, design, optimize=True) + prior
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        scale = np.ones(len(beta))
        for _ in range(30):  # Newton's step can overshoot where a draw leaves somebody undefeated
            worse = posterior(beta + scale[:, None] * step) < value - 1e-9
            if not worse.any():
                break
            scale = np.where(worse, scale / 2, scale)
        beta = beta + scale[:, None] * step
        value = posterior(beta)
        if float(np.abs(step).max()) < 1e-6:
            break
    own = [games.abilities[name] for name in games.players]
    elo: Floats = ELO * beta[:, own]
    return elo
