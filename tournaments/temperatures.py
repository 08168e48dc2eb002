"""Temperature scaling of judges: what one number, fitted on other stories, does to what their probabilities mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from debate.metrics.beliefs import Belief, columns, combined_beliefs, single_beliefs
from debate.metrics.calibration import FLOOR, brier_scores, log_scores
from debate.metrics.intervals import Interval, cluster_mean, mean_gap
from debate.metrics.miscalibration import calibration_interval, overconfidence
from debate.metrics.temperature import Scaling, scaling
from debate.report import Column, Table
from debate.report.table import Cell
from tournaments.analysis_accuracy import ROBUST, judgings
from tournaments.gather import Gathered
from tournaments.metrics import Values, interval

WHAT = {"single": "single verdicts", "combined": "orders combined"}
"""How beliefs are taken, by what that is called in plain values."""
WORST = -math.log(FLOOR)
"""The highest log score that there can be, in nats."""


def scalings(gathered: Gathered) -> Iterator[tuple[str, str, Scaling]]:
    """Fit a temperature to every judge, for single verdicts and for orders combined, over all debates that are spoken.

    Judges on whom too little is known are left out.
    """
    for one in judgings(gathered):
        for what, beliefs in (("single", single_beliefs(one.spoken)), ("combined", combined_beliefs(one.spoken))):
            found = scaling(beliefs)
            if found is not None:
                yield one.judge, what, found


@dataclass(frozen=True, slots=True)
class Change:
    """A figure before and after scaling.

    Attributes:
        before: Of the verdicts as they are.
        after: Of the same verdicts, scaled.
        difference: After less before, verdict by verdict; None where it is no mean.
    """

    before: Interval
    after: Interval
    difference: Interval | None


def changes(found: Scaling) -> dict[str, Change]:
    """Measure what scaling changes: ``log_score``, ``brier``, ``calibration_error`` and ``overconfidence``."""
    kinds: dict[str, Callable[[Sequence[Belief]], list[float]]] = {
        "log_score": lambda beliefs: log_scores([one.chance for one in beliefs], [1.0] * len(beliefs)),
        "brier": lambda beliefs: brier_scores([one.chance for one in beliefs], [1.0] * len(beliefs)),
    }
    stories = [one.story for one in found.before]
    result: dict[str, Change] = {}
    for name, scores in kinds.items():
        old, new = scores(found.before), scores(found.after)
        most = WORST if name == "log_score" else 1.0
        gap = mean_gap([two - one for one, two in zip(old, new, strict=True)], stories, most=most)
        ends = (0.0, most)
        result[name] = Change(cluster_mean(old, stories, bounds=ends), cluster_mean(new, stories, bounds=ends), gap)
    for name, measure in (("calibration_error", calibration_interval), ("overconfidence", overconfidence)):
        result[name] = Change(measure(*columns(found.before)), measure(*columns(found.after)), None)
    return result


def temperature_table(found: Sequence[tuple[str, str, Scaling]]) -> Table:
    """What temperature scaling makes of each judge."""
    rows: list[list[Cell]] = []
    for judge, what, one in found:
        changed = changes(one)
        score, error, over = (changed[name] for name in ("log_score", "calibration_error", "overconfidence"))
        rows.append(
            [
                judge,
                WHAT[what],
                "validation stories" if one.fitted == "validation" else "cross-fitted",
                one.temperature.clusters,
                one.temperature,
                len(one.before),
                score.before,
                score.difference,
                error.before,
                error.after,
                over.after,
            ]
        )
    titles = (
        Column("judge"),
        Column("verdicts"),
        Column("fitted on"),
        Column("stories", kind="count"),
        Column("temperature", kind="number"),
        Column("measured on", kind="count"),
        Column("log score", kind="number"),
        Column("scaled, change", kind="number"),
        Column("calibration error", kind="number"),
        Column("scaled", kind="number"),
        Column("overconfident by, scaled", kind="share"),
    )
    note = (
        "Log-odds divided by one temperature, that of the least log score: above 1 a judge says more than it knows. It "
        "never changes which answer is named. Fitted on stories of the validation fold and measured on the others; "
        "where there are too few of either (10 verdicts, 2 stories), cross-fitted: five parts of the stories, each "
        "scaled by the temperature of the other four, and the one shown is that of all. A change below 0 is better. "
        f"{ROBUST}"
    )
    return Table("Temperature scaling", titles, rows, note=note)


def fold_notes(found: Sequence[tuple[str, str, Scaling]]) -> list[str]:
    """Say plainly where there is no validation fold to fit on."""
    crossed = dict.fromkeys(judge for judge, _, one in found if one.fitted == "cross-fitted")
    if not crossed:
        return []
    judges = ", ".join(crossed)
    return [f"Temperature: no validation fold, or too little of it, in debates of {judges}; cross-fitted by story."]


def scaling_values(found: Scaling) -> Values:
    """Return what scaling makes of a judge as plain values."""
    return {
        "fitted": found.fitted,
        "stories": found.temperature.clusters,
        # Infinite where log-odds say nothing; JSON has no such number.
        "temperature": interval(found.temperature) if math.isfinite(found.temperature.value) else None,
        "verdicts": len(found.before),
        **{
            name: {
                "before": interval(one.before),
                "after": interval(one.after),
                **({} if one.difference is None else {"difference": interval(one.difference)}),
            }
            for name, one in changes(found).items()
        },
    }
