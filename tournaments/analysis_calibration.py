"""Calibration of judges: do their probabilities mean what they say, and what is left where the unsure are rejected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from debate.metrics.beliefs import Belief, columns, combined_beliefs, single_beliefs
from debate.metrics.calibration import brier_scores, calibration_error, log_scores, reliability
from debate.metrics.intervals import Interval, cluster_mean
from debate.metrics.miscalibration import calibration_interval, overconfidence
from debate.metrics.rejection import rejection_curve
from debate.record import Recorded
from debate.report import Column, Section, Table
from debate.report.table import Cell
from tournaments.analysis_accuracy import ROBUST, Judging, judgings
from tournaments.calibration_figures import rejection_figure, reliability_figure
from tournaments.gather import Gathered
from tournaments.judged import groups_of
from tournaments.metrics import Values, interval
from tournaments.temperatures import WHAT, WORST, fold_notes, scaling_values, scalings, temperature_table

_CURVES = 8  # judges whose curves are drawn; all of them are in the tables
REJECTED = (0.75, 0.9)
"""Confidences of the table; the curves and the JSON have more."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How calibrated one judge is on some debates.

    Attributes:
        judge: The judge.
        group: What the debates are.
        beliefs: Its verdicts, or the means of both orders.
        accuracy: Share of right verdicts.
        confidence: Mean probability of the answer named.
        over: Mean confidence less accuracy.
        error: Expected calibration error in 10 bins of equal width.
        adaptive: The same in 10 bins of equal numbers.
        brier: Mean Brier score.
        log_score: Mean log score in nats.
    """

    judge: str
    group: str
    beliefs: Sequence[Belief]
    accuracy: Interval
    confidence: Interval
    over: Interval
    error: Interval
    adaptive: float
    brier: Interval
    log_score: Interval

    @staticmethod
    def of(judge: str, group: str, beliefs: Sequence[Belief]) -> Measured:
        """Measure a judge on at least one belief."""
        sure, right, stories = columns(beliefs)
        chances, certain = [one.chance for one in beliefs], [1.0] * len(beliefs)
        return Measured(
            judge,
            group,
            beliefs,
            cluster_mean(right, stories, bounds=(0, 1)),
            cluster_mean(sure, stories, bounds=(0, 1)),
            overconfidence(sure, right, stories),
            calibration_interval(sure, right, stories),
            calibration_error(sure, right, by="number"),
            cluster_mean(brier_scores(chances, certain), stories, bounds=(0, 1)),
            cluster_mean(log_scores(chances, certain), stories, bounds=(0, WORST)),
        )

    def values(self) -> Values:
        """Return the figures, the reliability curve and the rejection curve as plain values."""
        sure, right, stories = columns(self.beliefs)
        return {
            "verdicts": len(self.beliefs),
            "stories": self.accuracy.clusters,
            "accuracy": interval(self.accuracy),
            "confidence": interval(self.confidence),
            "overconfidence": interval(self.over),
            "calibration_error": interval(self.error),
            "calibration_error_adaptive": self.adaptive,
            "brier": interval(self.brier),
            "log_score": interval(self.log_score),
            "reliability": [
                {"low": one.low, "high": one.high, "n": one.n, "confidence": one.predicted, "right": one.happened}
                for one in reliability(sure, right)
            ],
            "rejection": [
                {"threshold": one.threshold, "kept": interval(one.share), "accuracy": interval(one.accuracy)}
                for one in rejection_curve(sure, right, stories)
            ],
        }


def groups(one: Judging) -> dict[str, Sequence[Recorded]]:
    """What a judge decided, by protocol, then without a debate."""
    return {**groups_of(one.spoken), **{f"{name}, no debate": items for name, items in one.baselines.items()}}


def measured(gathered: Gathered, *, combined: bool = False) -> Iterator[Measured]:
    """Measure every judge on every kind of debate, by single verdicts or by the mean of both orders."""
    for one in judgings(gathered):
        for group, items in groups(one).items():
            beliefs = combined_beliefs(items) if combined else single_beliefs(items)
            if beliefs:
                yield Measured.of(one.judge, group, beliefs)


def scores_table(found: Sequence[Measured], what: str) -> Table:
    """How calibrated judges are, a row for each judge and kind of debate."""
    rows: list[list[Cell]] = [
        [
            one.judge,
            one.group,
            len(one.beliefs),
            one.accuracy,
            one.confidence,
            one.over,
            one.error,
            one.brier,
            one.log_score,
        ]
        for one in found
    ]
    titles = (
        Column("judge"),
        Column("debates"),
        Column("verdicts", kind="count"),
        Column("right", kind="share"),
        Column("confidence", kind="share"),
        Column("overconfident by", kind="share"),
        Column("calibration error", kind="number"),
        Column("Brier score", kind="number"),
        Column("log score, nats", kind="number"),
    )
    note = (
        "'Confidence': probability of the answer named. 'Overconfident by': mean confidence less accuracy; below 0 a "
        "judge is right more often than it says. Calibration error in 10 bins of equal width, biased upwards for few "
        "verdicts; its interval allows for that and reaches 0 unless a calibrated judge would hardly have come out so. "
        f"One half throughout scores 0.25 and 0.69. {ROBUST}"
    )
    return Table(f"Calibration, {what}", titles, rows, note=note)


def rejection_table(found: Sequence[Measured]) -> Table:
    """What is left where a judge's less sure verdicts are rejected, a row for each judge and kind of debate."""
    rows: list[list[Cell]] = []
    for one in found:
        row: list[Cell] = [one.judge, one.group, len(one.beliefs), one.accuracy]
        for kept in rejection_curve(*columns(one.beliefs), REJECTED):
            row += [kept.share, kept.accuracy]
        rows.append(row)
    titles = [
        Column("judge"),
        Column("debates"),
        Column("verdicts", kind="count"),
        Column("right", kind="share"),
        *(
            Column(f"{what}, {threshold:.0%} sure", kind="share")
            for threshold in REJECTED
            for what in ("kept", "right")
        ),
    ]
    note = f"Verdicts under a confidence are rejected: the share that is kept, and how often those are right. {ROBUST}"
    return Table("Rejection", titles, rows, note=note)


def sections(gathered: Gathered) -> list[Section]:
    """Show how calibrated judges are.

    Args:
        gathered: The debates.

    Returns:
        One section: scores by single verdicts and orders combined, rejection, temperature scaling, and the curves of
        the first judges. None where no verdict is on a question with a known answer.
    """
    single = list(measured(gathered))
    if not single:
        return []
    combined, scaled = list(measured(gathered, combined=True)), list(scalings(gathered))
    tables = [scores_table(single, WHAT["single"])]
    if combined:
        tables.append(scores_table(combined, WHAT["combined"]))
    tables.append(rejection_table(single))
    if scaled:
        tables.append(temperature_table(scaled))
    figures = []
    for judge in list(dict.fromkeys(one.judge for one in single))[:_CURVES]:
        own = [one for one in single if one.judge == judge]
        both = [one for one in combined if one.judge == judge][:1]
        named = {WHAT["single"]: own[0].beliefs} | ({WHAT["combined"]: both[0].beliefs} if both else {})
        figures += [
            reliability_figure(f"{judge}, {own[0].group}", named),
            rejection_figure(judge, {one.group: rejection_curve(*columns(one.beliefs)) for one in own}),
        ]
    return [Section("Calibration", (*tables, *figures), fold_notes(scaled))]


def values(gathered: Gathered) -> Values:
    """Return what ``sections`` shows, as plain values.

    Args:
        gathered: The debates.

    Returns:
        ``judges``: by judge and kind of debate, ``single`` and, where debates were judged in both orders, ``combined``;
        ``temperature``: the same by judge, over all debates in which somebody speaks.
    """
    found: dict[str, dict[str, dict[str, object]]] = {}
    for name, combined in (("single", False), ("combined", True)):
        for one in measured(gathered, combined=combined):
            found.setdefault(one.judge, {}).setdefault(one.group, {})[name] = one.values()
    temperatures: dict[str, dict[str, object]] = {}
    for judge, what, one_scaling in scalings(gathered):
        temperatures.setdefault(judge, {})[what] = scaling_values(one_scaling)
    return {"judges": found, "temperature": temperatures}
