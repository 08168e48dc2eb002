"""Errors that are tagged in judged debates, and how often each was found."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from debate.judge_names import PEOPLE
from debate.metrics.intervals import Interval, cluster_mean
from debate.record import Debate, Recorded
from debate.report import Column, Table
from debate.report.table import Cell
from debate.verdict import Verdict, points
from tournaments.room_journal import Tagged

ERRORS = {
    "missed_quote": "A decisive quote was missing: the story has one, and the right side did not use it",
    "repeated_quote": "Quotes were repeated instead of new ones brought",
    "attribution": "Attribution: a quote or claim was credited to the wrong person, place or time",
    "ignored_evidence": "The judge ignored evidence that was shown",
    "other": "Something else (say what in the note)",
}
SHORT = {
    "missed_quote": "missed decisive quote",
    "repeated_quote": "repeated quote",
    "attribution": "attribution error",
    "ignored_evidence": "judge ignored evidence",
    "other": "other",
}


class Judged(NamedTuple):
    """A person's judgement of a debate.

    Attributes:
        debate: The debate.
        verdict: The judgement.
        beliefs: What the person believed midway, by round.
    """

    debate: Debate
    verdict: Verdict
    beliefs: tuple[Verdict, ...] = ()

    @property
    def key(self) -> str:
        """What a form knows the judgement by: its place in the list moves as people judge."""
        return hashlib.sha256(f"{self.verdict.judge}\0{self.debate.id}".encode()).hexdigest()[:16]

    @property
    def right(self) -> bool | None:
        """Whether it names the right answer; None where that is not known."""
        gold = self.debate.transcript.question.gold
        if gold is None or self.verdict.probabilities is None:
            return None
        return points(self.verdict.probabilities[gold]) == 1


def judged_by_people(recorded: Iterable[Recorded]) -> list[Judged]:
    """List people's final judgements: wrong ones first, then the right ones, then those that nobody can tell."""
    found = [
        Judged(item.debate, verdict, _midway(item, verdict.judge))
        for item in recorded
        for verdict in item.verdicts
        if verdict.round is None and verdict.judge.startswith(PEOPLE)
    ]
    rank = {False: 0, True: 1, None: 2}
    return sorted(found, key=lambda one: rank[one.right])


def _midway(item: Recorded, judge: str) -> tuple[Verdict, ...]:
    rounds = {one.round: one for one in item.verdicts if one.judge == judge and one.round is not None}
    return tuple(rounds[number] for number in sorted(rounds))


def _counted(judged: Iterable[Judged], tags: Iterable[Tagged]) -> list[tuple[Judged, Tagged]]:
    known = {(one.verdict.judge, one.debate.id): one for one in judged}
    return [(known[tag.judge, tag.debate], tag) for tag in tags if (tag.judge, tag.debate) in known]


def _share(pairs: Sequence[tuple[Judged, Tagged]], error: str) -> Interval | None:
    if not pairs:
        return None
    stories = [one.debate.transcript.question.story_id for one, _ in pairs]
    return cluster_mean([float(error in tag.errors) for _, tag in pairs], stories)


def errors_table(judged: Sequence[Judged], tags: Sequence[Tagged]) -> Table:
    """How often each error was found, in wrong and in right judgements.

    Args:
        judged: The judgements.
        tags: The tags that count, see ``room_journal.last_tags``; each tagger's on a judgement counts once.
    """
    pairs = _counted(judged, tags)
    wrong, right = ([pair for pair in pairs if pair[0].right is value] for value in (False, True))
    rows: list[list[Cell]] = [
        [
            name,
            sum(error in tag.errors for _, tag in pairs),
            _share(wrong, error),
            sum(error in tag.errors for _, tag in wrong),
            _share(right, error),
            sum(error in tag.errors for _, tag in right),
        ]
        for error, name in SHORT.items()
    ]
    columns = (
        Column("error"),
        Column("found", kind="count"),
        Column("of wrong judgements", kind="share"),
        Column("n", kind="count"),
        Column("of right judgements", kind="share"),
        Column("n", kind="count"),
    )
    note = (
        f"{len(pairs)} judgements were tagged, {len(wrong)} wrong and {len(right)} right ones, each once a tagger. A "
        "judgement may have several errors, or none. Intervals are 95 %, robust by story."
    )
    return Table("Errors", columns, rows, note=note)


def errors_metrics(judged: Sequence[Judged], tags: Sequence[Tagged]) -> dict[str, object]:
    """The counts of ``errors_table`` as plain values."""
    pairs = _counted(judged, tags)
    return {
        "tagged": len(pairs),
        "wrong": sum(one.right is False for one, _ in pairs),
        "right": sum(one.right is True for one, _ in pairs),
        "errors": {
            error: {
                "found": sum(error in tag.errors for _, tag in pairs),
                "wrong": sum(error in tag.errors for one, tag in pairs if one.right is False),
                "right": sum(error in tag.errors for one, tag in pairs if one.right is True),
            }
            for error in ERRORS
        },
    }
