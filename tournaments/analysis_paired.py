"""Protocols on the same questions: how much more often a judge is right, and whether that could be chance."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from debate.metrics.accuracy import final_verdicts
from debate.metrics.intervals import Interval, cluster_mean
from debate.metrics.paired import sign_flip
from debate.record import Recorded
from debate.report import Column, Section, Table
from debate.report.table import Cell
from debate.verdict import points
from tournaments.analysis_accuracy import ROBUST, Judging, judgings
from tournaments.comparison import mean_gap
from tournaments.gather import SOURCE, Gathered
from tournaments.metrics import Values, interval

_SHARE = (0.0, 1.0)
#: What is measured of debates with one judge's verdicts: a value and the story, by question.
Measure = Callable[[Iterable[Recorded]], dict[str, tuple[float, str]]]


class Contrast(NamedTuple):
    """One judge in two settings, over the questions that it decided in both.

    Attributes:
        judge: The judge.
        one: A setting.
        other: Another.
        questions: How many it decided in both.
        right: How often it is right in the first, a question's verdicts averaged.
        other_right: The same in the other.
        difference: The first less the other, question by question.
        p: Of the sign-flip test by story.
        more: Questions on which it is right more often in the first.
        fewer: Questions on which it is right more often in the other.
    """

    judge: str
    one: str
    other: str
    questions: int
    right: Interval
    other_right: Interval
    difference: Interval
    p: float
    more: int
    fewer: int


def by_question(recorded: Iterable[Recorded]) -> dict[str, tuple[float, str]]:
    """Share of right verdicts, and the story, by question.

    Args:
        recorded: Debates with one judge's verdicts; unparsed ones and questions without a gold answer are left out.

    Returns:
        By question id: the mean over its debates of the share of their final verdicts that are right.
    """
    found: dict[str, tuple[list[float], str]] = {}
    for item in recorded:
        question = item.debate.transcript.question
        known = [one.probabilities for one in final_verdicts(item) if one.probabilities is not None]
        if question.gold is not None and known:
            share = fmean(points(row[question.gold]) for row in known)
            found.setdefault(question.id, ([], question.story_id))[0].append(share)
    return {name: (fmean(shares), story) for name, (shares, story) in found.items()}


def contrast(
    judge: str,
    one: tuple[str, Sequence[Recorded]],
    other: tuple[str, Sequence[Recorded]],
    *,
    measure: Measure = by_question,
) -> Contrast | None:
    """Set two settings against each other.

    Args:
        judge: Whose verdicts they are.
        one: A name, and debates with the judge's verdicts.
        other: The same.
        measure: What is compared, from 0 to 1; by default how often the judge is right.

    Returns:
        The contrast; None where no question is in both.
    """
    first, second = measure(one[1]), measure(other[1])
    shared = [name for name in first if name in second]
    if not shared:
        return None
    stories = [first[name][1] for name in shared]
    gaps = [first[name][0] - second[name][0] for name in shared]
    right, other_right = (
        cluster_mean([known[name][0] for name in shared], stories, bounds=_SHARE) for known in (first, second)
    )
    return Contrast(
        judge,
        one[0],
        other[0],
        len(shared),
        right,
        other_right,
        mean_gap(gaps, stories),
        sign_flip(gaps, stories),
        sum(gap > 0 for gap in gaps),
        sum(gap < 0 for gap in gaps),
    )


def settings(one: Judging) -> dict[str, Sequence[Recorded]]:
    """Name what a judge decided: by protocol, by source where one protocol is in several, and without a debate."""
    found: dict[str, Sequence[Recorded]] = {}
    for name, items in one.groups.items():
        by_source: dict[str, list[Recorded]] = {}
        for item in items:
            by_source.setdefault(item.debate.tags.get(SOURCE, ""), []).append(item)
        found |= (
            {name: items} if len(by_source) == 1 else {f"{name}, {source}": own for source, own in by_source.items()}
        )
    return {**found, **{f"{name}, no debate": items for name, items in one.baselines.items()}}


def contrasts(gathered: Gathered) -> Iterator[Contrast]:
    """Set every two settings of every judge against each other, where they share questions."""
    for judging in judgings(gathered):
        for one, other in itertools.combinations(settings(judging).items(), 2):
            found = contrast(judging.judge, one, other)
            if found is not None:
                yield found


def sections(gathered: Gathered) -> list[Section]:
    """Show paired differences; none where no two settings share a question."""
    rows: list[list[Cell]] = [
        [
            one.judge,
            one.one,
            one.other,
            one.questions,
            one.difference.clusters,
            one.right,
            one.other_right,
            one.difference,
            f"{one.more} : {one.fewer}",
            show_p(one.p),
        ]
        for one in contrasts(gathered)
    ]
    columns = (
        Column("judge"),
        Column("debates"),
        Column("against"),
        Column("questions", kind="count"),
        Column("stories", kind="count"),
        Column("right", kind="share"),
        Column("against right", kind="share"),
        Column("difference", kind="share"),
        Column("better : worse", align="right"),
        Column("p", align="right"),
    )
    note = (
        "On the questions that the judge decided in both, each counted once, so what makes a question hard cancels. "
        "'Better : worse': questions on which it is right more often, and less often. 'p': two-sided sign-flip test, "
        "the differences of one story flipped together; not corrected for the number of rows, so of twenty about one "
        f"falls under 0.05 by chance. {ROBUST}"
    )
    return (
        [Section("Same questions", (Table("Differences on the same questions", columns, rows, note=note),))]
        if (rows)
        else []
    )


def show_p(p: float) -> str:
    """Write a p-value: three digits, or that it is below what they can say."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def values(gathered: Gathered) -> Values:
    """Return what ``sections`` shows, as plain values."""
    found: dict[str, list[Values]] = {}
    for one in contrasts(gathered):
        found.setdefault(one.judge, []).append(
            {
                "one": one.one,
                "other": one.other,
                "questions": one.questions,
                "stories": one.difference.clusters,
                "accuracy_one": interval(one.right),
                "accuracy_other": interval(one.other_right),
                "difference": interval(one.difference),
                "better": one.more,
                "worse": one.fewer,
                "p": one.p,
            }
        )
    return dict(found)
