"""How often a reward model prefers the better speech of a pair, beside what length and quotes alone would say."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from debate.metrics.intervals import Interval, cluster_mean
from debate.models.limits import Budget, Meter
from debate.models.load import ModelConfig, Models
from debate.report import Column, Table
from debate.report.table import Cell
from debate.store import Store
from debate.together import together
from tournaments.metrics import Values, interval
from training.rows import PairRow

Rewards = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class PairMeasures:
    """Figures of a reward model on pairs; intervals are 95 %, robust by story.

    Attributes:
        accuracy: Share of pairs whose better speech has the higher reward; a tie counts half.
        loss: Mean of log(1 + exp(worse - better)) in nats; log 2 = 0.69 is that of equal rewards.
        margin: Mean of better less worse, in nats.
        pairs: How many.
        stories: On how many stories.
    """

    accuracy: Interval
    loss: Interval
    margin: Interval
    pairs: int
    stories: int

    def values(self) -> Values:
        """Return the figures as plain values, an interval as estimate, low and high end."""
        found = {name: getattr(self, name) for name in ("accuracy", "loss", "margin", "pairs", "stories")}
        return {name: interval(value) if isinstance(value, Interval) else value for name, value in found.items()}


def measure_pairs(rewards: Rewards, rows: Sequence[PairRow]) -> PairMeasures:
    """Measure a reward model.

    Args:
        rewards: Of each pair that of the better and of the worse speech.
        rows: The pairs, at least one.

    Returns:
        Its figures.
    """
    stories = [row.story for row in rows]
    gaps = [better - worse for better, worse in rewards]
    right = [0.5 + 0.5 * ((gap > 0) - (gap < 0)) for gap in gaps]
    losses = [max(0.0, -gap) + math.log1p(math.exp(-abs(gap))) for gap in gaps]
    anywhere = (-math.inf, math.inf)
    return PairMeasures(
        cluster_mean(right, stories, bounds=(0, 1)),
        cluster_mean(losses, stories, bounds=anywhere),
        cluster_mean(gaps, stories, bounds=anywhere),
        len(rows),
        len(set(stories)),
    )


#: What a reward model must do better than: numbers that anybody can read off a speech.
BASELINES: dict[str, Callable[[str], float]] = {
    "longer": lambda speech: float(len(speech.split())),
    "more verified quotes": lambda speech: float(speech.count("<v_quote>")),
}


def baseline_measures(rows: Sequence[PairRow]) -> dict[str, PairMeasures]:
    """Measure what always prefers the longer speech, and what prefers the one with more verified quotes."""
    return {
        name: measure_pairs([(read(row.chosen), read(row.rejected)) for row in rows], rows)
        for name, read in BASELINES.items()
    }


def ask_rewards(model: ModelConfig, rows: Sequence[PairRow], store: Store | None = None) -> Rewards:
    """Ask a reward model for the rewards of pairs, as an optimizer asks it in use.

    Args:
        model: A reward model; of another, log-probabilities take the place of rewards.
        rows: The pairs.
        store: Where every score is kept, or None.

    Returns:
        Of each pair that of the better and of the worse speech.

    Raises:
        DissoiError: The model cannot be had, or failed.
    """

    async def ask() -> list[tuple[float, float]]:
        models = Models(store, Meter(Budget(), {}))
        opened = models.get(model)

        async def one(row: PairRow) -> tuple[float, float]:
            better, worse = (await opened.score(row.prompt, [row.chosen, row.rejected])).values
            return better, worse

        try:
            return await together((one(row) for row in rows), asyncio.Semaphore(64))
        finally:
            await models.close()

    return asyncio.run(ask())


def measures_table(measures: dict[str, PairMeasures], name: str) -> Table:
    """Show figures on one set of pairs by what they are of, such as "before" and "after"."""
    rows: list[list[Cell]] = [
        [name, found.accuracy, found.loss, found.margin, found.pairs, found.stories] for name, found in measures.items()
    ]
    columns = (
        Column("of"),
        Column("better preferred", kind="share"),
        Column("loss", kind="number"),
        Column("margin", kind="number"),
        Column("pairs", kind="count"),
        Column("stories", kind="count"),
    )
    return Table(f"Reward model on pairs: {name}", columns, rows)
