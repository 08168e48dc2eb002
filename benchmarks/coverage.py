"""What the ratings' intervals cover: `python benchmarks/coverage.py [stories ...]`, by default 8 24 96.

Six players, round robin, two questions a story, both assignments, both orders, hard outcomes; effects of stories with
sd 1, of players on stories with sd 0.7, in logits. Naive intervals take every outcome for a story of its own. Without
arguments, it also tells what other effects, soft outcomes and Swiss rounds change.
"""

from __future__ import annotations

import dataclasses
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from debate.metrics.intervals import FEW_CLUSTERS, Interval, cluster_mean
from debate.report import Column, Table, print_table
from debate.report.table import Cell
from tournaments.elo_fit import Design, Floats, Sandwich, solve
from tournaments.pairing import schedule_is_round_robin
from tournaments.ratings import ELO, Outcome
from tournaments.simulated import (
    Quantity,
    Repetition,
    Scenario,
    draw_abilities,
    estimand,
    player_names,
    repeat,
    simulate_outcomes,
    summarise,
)

FIELDS = 1000
NAIVE_FIELDS = 200
TITLES: dict[Quantity, str] = {
    "rating": "ratings",
    "neighbours": "differences of neighbours",
    "right": "right-answer term",
    "seat": "seat term",
    "side": "right and wrong abilities",
}


class Naive(NamedTuple):
    """Whether naive intervals of one field hold the truth: of ratings, of the right-answer and of the seat term."""

    rating: list[float]
    right: float
    seat: float


def scenario(stories: int) -> Scenario:
    """The tournament that is simulated, on so many stories."""
    return Scenario(
        players=6,
        spread=150.0,
        seat=20.0,
        right=100.0,
        story_sd=1.0,
        player_story_sd=0.7,
        side_share=0.5,
        questions=2 * stories,
        stories=stories,
        rounds=5,
    )


def naive(one: Scenario, seed: int, number: int) -> Naive:
    """Draw the field that `repeat` draws, and make intervals with every outcome as its own cluster.

    With so many clusters CR2 and its degrees of freedom are at their limits: CR0 and the normal quantile.
    """
    rng = np.random.default_rng([seed, number])
    abilities = draw_abilities(one.players, one.spread, rng)
    outcomes, matches = simulate_outcomes(one, abilities, rng)
    beta, covariance = _by_outcome(one, outcomes)
    true, _ = estimand(one, abilities, matches)
    assert true.right is not None, "every debate has a right answer"  # noqa: S101 (an invariant, and for mypy)
    assert true.seat is not None, "every verdict has a seat"  # noqa: S101 (the same)
    truth = np.array([*(true.players[name].elo for name in player_names(one.players)), true.right.elo, true.seat.elo])
    contrasts = np.eye(len(beta))
    contrasts[: one.players, : one.players] -= 1 / one.players
    half = NormalDist().inv_cdf((1 + one.level) / 2) * np.sqrt(np.diag(contrasts @ covariance @ contrasts.T))
    held = np.abs(contrasts @ beta - truth / ELO) <= half
    return Naive([float(h) for h in held[: one.players]], float(held[-2]), float(held[-1]))


def _by_outcome(one: Scenario, outcomes: list[Outcome]) -> tuple[Floats, Floats]:
    """Players, right and seat in logits, and their covariance with every outcome as its own cluster."""
    place = {name: index for index, name in enumerate(player_names(one.players))}
    columns = [[place[o.player_a], place[o.player_b], one.players, one.players + 1] for o in outcomes]
    signs = [[1, -1, 1 if o.right == o.player_a else -1, 1 if o.seat_a == "A" else -1] for o in outcomes]
    design = Design(
        columns_nk=np.array(columns),
        values_nk=np.array(signs, dtype=float),
        score_n=np.array([o.score_a for o in outcomes]),
        cluster_n=np.arange(len(outcomes)),
        size=one.players + 2,
        clusters=len(outcomes),
        precision=(ELO / one.prior_sd) ** 2,
    )
    beta = solve(design)
    return beta, Sandwich.of(design, beta, power=0.0).covariance()


def coverage_table(one: Scenario, fields: list[Repetition], contrast: list[Naive]) -> Table:
    """Coverage of every interval, robust by story and naive."""
    unclustered: dict[Quantity, Interval] = {}
    if contrast:
        names = [str(number) for number in range(len(contrast))]
        unclustered = {
            "rating": cluster_mean([float(np.mean(field.rating)) for field in contrast], names),
            "right": cluster_mean([field.right for field in contrast], names),
            "seat": cluster_mean([field.seat for field in contrast], names),
        }
    rows: list[list[Cell]] = []
    for quantity, title in TITLES.items():
        found = summarise(quantity, fields)
        # ratings have mean 0 in truth and estimate, so their errors have too
        error = None if quantity in {"rating", "side"} else found.error
        rows.append([title, found.coverage, found.half_width, error, found.open, unclustered.get(quantity)])
    schedule = "round robin" if schedule_is_round_robin(one.players, one.rounds) else f"{one.rounds} Swiss rounds"
    few = ", too few clusters" if one.stories < FEW_CLUSTERS else ""
    return Table(
        f"{one.stories} stories{few}: {one.players} players, {schedule}, {one.verdicts:,} verdicts, {one.outcome} "
        f"outcomes, side share {one.side_share:g}, {len(fields)} fields",
        [
            Column("Intervals of"),
            Column("Coverage", kind="share"),
            Column("± Elo", kind="rating"),
            Column("Mean error", kind="rating"),
            Column("No end", kind="share"),
            Column("Naive coverage", kind="share"),
        ],
        rows,
    )


def main() -> None:
    """Print a table for each number of stories, then those of the variants."""
    sizes = [int(word) for word in sys.argv[1:]] or [8, 24, 96]
    middle = scenario(24)
    variants = [dataclasses.replace(middle, side_share=share) for share in (0.0, 1.0)]
    variants.append(dataclasses.replace(middle, outcome="soft"))
    variants.append(dataclasses.replace(middle, players=8, rounds=4))
    work = [(scenario(stories), FIELDS, NAIVE_FIELDS) for stories in sizes]
    work += [(one, FIELDS // 2, 0) for one in ([] if sys.argv[1:] else variants)]
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        for one, count, naive_count in work:
            start = time.perf_counter()
            fields = list(pool.map(repeat, [one] * count, [0] * count, range(count), chunksize=10))
            contrast = list(pool.map(naive, [one] * naive_count, [0] * naive_count, range(naive_count), chunksize=10))
            print_table(coverage_table(one, fields, contrast))
            print(f"{time.perf_counter() - start:.0f} s\n", flush=True)


if __name__ == "__main__":
    main()
