"""How often judges are right, and what their verdicts lack: accuracy by order and combined, unparsed share, mass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from debate.metrics.intervals import Interval, cluster_mean
from debate.record import Recorded
from debate.verdict import Verdict, combine, points


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A judge's accuracy over debates with known gold answers.

    Attributes:
        single: Share of single verdicts that are right (a tie is half right), both orders together, as in the paper.
        gold_first: The same where the gold answer was shown first.
        gold_second: The same where the gold answer was shown second.
        combined: Share of debates where the mean probability of both orders is right: an ensemble of two.
    """

    single: Interval | None
    gold_first: Interval | None
    gold_second: Interval | None
    combined: Interval | None


def final_verdicts(item: Recorded) -> tuple[Verdict, ...]:
    """Return the verdicts that count: those on the whole of a debate that was finished, none given midway.

    Args:
        item: A debate with verdicts of all judges, orders and rounds.
    """
    if item.debate.failed is not None:
        return ()
    return tuple(verdict for verdict in item.verdicts if verdict.round is None)


def accuracy(recorded: Sequence[Recorded]) -> Accuracy:
    """Measure accuracy over final verdicts; those unparsed or on questions without a gold answer are left out.

    Args:
        recorded: Debates with one judge's verdicts; those that failed, and verdicts given midway, are left out.

    Returns:
        Accuracy with 95 % intervals robust by story; None where there is nothing to measure.
    """
    single: list[tuple[float, str]] = []
    by_place: dict[int, list[tuple[float, str]]] = {0: [], 1: []}
    both: list[tuple[float, str]] = []
    for item in recorded:
        question = item.debate.transcript.question
        verdicts = final_verdicts(item)
        if question.gold is None:
            continue
        for verdict in verdicts:
            if verdict.probabilities is not None:
                right = points(verdict.probabilities[question.gold])
                single.append((right, question.story_id))
                by_place[min(verdict.order.index(question.gold), 1)].append((right, question.story_id))
        mean = combine(verdicts)
        if mean is not None:
            both.append((points(mean[question.gold]), question.story_id))
    return Accuracy(_mean(single), _mean(by_place[0]), _mean(by_place[1]), _mean(both))


def _mean(rows: Sequence[tuple[float, str]]) -> Interval | None:
    if not rows:
        return None
    return cluster_mean([value for value, _ in rows], [story for _, story in rows])


def unparsed(recorded: Sequence[Recorded]) -> list[Verdict]:
    """Return the final verdicts that named no answer."""
    return [verdict for item in recorded for verdict in final_verdicts(item) if verdict.probabilities is None]


def unparsed_share(recorded: Sequence[Recorded]) -> float | None:
    """Share of the final verdicts that named no answer; None where there is no final verdict."""
    verdicts = sum(len(final_verdicts(item)) for item in recorded)
    return len(unparsed(recorded)) / verdicts if verdicts else None


def mean_mass(recorded: Sequence[Recorded]) -> float | None:
    """Mean probability that the choice tokens held at final verdicts, where known: near 1 if the judge understood."""
    masses = [verdict.mass for item in recorded for verdict in final_verdicts(item) if verdict.mass is not None]
    return sum(masses) / len(masses) if masses else None
