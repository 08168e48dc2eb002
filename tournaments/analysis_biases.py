"""Biases of judges: what moves their verdicts besides the truth."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from debate.metrics.accuracy import accuracy, final_verdicts
from debate.metrics.bias import PositionBias, position_bias
from debate.metrics.concessions import without_concessions
from debate.metrics.contrast import Contrast, contrast
from debate.metrics.intervals import Interval, cluster_mean
from debate.metrics.sycophancy import sycophancy
from debate.record import Recorded
from debate.report import Column, Section, Table
from debate.report.table import Cell
from debate.verdict import points
from tournaments.analysis_accuracy import ROBUST, judgings
from tournaments.gather import Gathered
from tournaments.judged import groups_of
from tournaments.leanings import FACTORS, Factor, Sided, leanings, sided
from tournaments.metrics import Values, interval
from tournaments.self_preference import preference_table, self_preferences

NAMES: Mapping[Factor, str] = {
    "right": "being right",
    "first": "being shown first",
    "words": "a hundred words more",
    "verified": "a verified quote more",
    "unverified": "an unverified quote more",
}
_SAID: tuple[Factor, ...] = ("words", "verified", "unverified")


@dataclass(frozen=True, slots=True)
class Position:
    """What the order of the answers does to a judge.

    Attributes:
        bias: By debates judged in both orders; None where there are none.
        split: Accuracy where the right answer was shown first and second, and the difference; None without both.
    """

    bias: PositionBias | None
    split: Contrast | None


@dataclass(frozen=True, slots=True)
class Lean:
    """What one difference between the sides does to a judge.

    Attributes:
        factor: What differs.
        split: Accuracy where the right side has more of it and where it has less, and the difference.
        alone: Log-odds by choice that one more of it wins, beside the pull towards the right answer.
        together: The same, fitted with all factors.
        graded: The same by probability instead of choice.
    """

    factor: Factor
    split: Contrast | None
    alone: Interval | None
    together: Interval | None
    graded: Interval | None


def position(recorded: Sequence[Recorded]) -> Position:
    """Measure what the order of the answers does to one judge."""
    rows = [
        (points(verdict.probabilities[gold]), verdict.order[0] == gold, item.debate.transcript.question.story_id)
        for item in recorded
        if (gold := item.debate.transcript.question.gold) is not None
        for verdict in final_verdicts(item)
        if verdict.probabilities is not None
    ]
    split = contrast([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])
    return Position(position_bias(recorded), split)


def leans(rows: Sequence[Sided]) -> list[Lean]:
    """Measure what the differences between the sides do to one judge; none that never differ or say nothing."""
    together, graded = leanings(rows), leanings(rows, soft=True)
    found = []
    for factor in FACTORS:
        alone = leanings(rows, tuple(dict.fromkeys(("right", factor))))
        differ = [row for row in rows if row.lead[factor]] if factor in _SAID else []
        split = contrast(
            [points(row.chance) for row in differ],
            [row.lead[factor] > 0 for row in differ],
            [row.story for row in differ],
        )
        one = Lean(factor, split, alone.get(factor), together.get(factor), graded.get(factor))
        if split is not None or one.alone is not None:
            found.append(one)
    return found


def _each(gathered: Gathered) -> Iterator[tuple[str, str, list[Recorded]]]:
    """Judge, kind of debate, and its verdicts."""
    for one in judgings(gathered):
        for group, items in groups_of(one.spoken).items():
            yield one.judge, group, items


def position_table(gathered: Gathered) -> Table:
    """What the order of the answers does, a row for each judge and kind of debate."""
    rows: list[list[Cell]] = []
    for judge, group, items in _each(gathered):
        found = position(items)
        if found.bias is None and found.split is None:
            continue
        split, bias = found.split, found.bias
        rows.append(
            [
                judge,
                group,
                *((None, None, None) if split is None else (split.inside, split.outside, split.difference)),
                None if bias is None else bias.flip_rate,
                None if bias is None else bias.shift,
            ]
        )
    columns = (
        Column("judge"),
        Column("debates"),
        Column("right, gold first", kind="share"),
        Column("right, gold second", kind="share"),
        Column("difference", kind="share"),
        Column("flips", kind="share"),
        Column("lean to the first", kind="log_odds"),
    )
    note = (
        "Accuracy where the right answer is shown first and second. 'Flips': debates whose two orders name different "
        "answers; two independent verdicts of a judge of accuracy a flip in 2a(1 - a). 'Lean': what showing an answer "
        f"first adds to its log-odds. {ROBUST}"
    )
    return Table("Position", columns, rows, note=note)


def leans_table(gathered: Gathered) -> Table:
    """What the differences between the sides do, a row for each judge, kind of debate and factor."""
    rows: list[list[Cell]] = []
    for judge, group, items in _each(gathered):
        for one in leans(sided(items)):
            split = one.split
            rows.append(
                [
                    judge,
                    group,
                    NAMES[one.factor],
                    *((None, None, None) if split is None else (split.inside, split.outside, split.difference)),
                    one.alone,
                    one.together,
                    one.graded,
                ]
            )
    columns = (
        Column("judge"),
        Column("debates"),
        Column("a side's"),
        Column("right, right side has more", kind="share"),
        Column("right, it has less", kind="share"),
        Column("difference", kind="share"),
        Column("alone", kind="log_odds"),
        Column("together", kind="log_odds"),
        Column("by probability", kind="log_odds"),
    )
    note = (
        "Debates in which both sides speak. First: how often the judge is right where the right side has more of it, "
        "and where it has less. Then logistic regressions of the choice: the log-odds that one more of it wins for a "
        "side, held against which side is right ('alone'), and with all factors at once ('together'); 'by "
        "probability': the same with the probability in the place of the choice. What judges reward may be what better "
        f"debaters do: nothing here is a cause unless it was varied by itself. {ROBUST}"
    )
    return Table("What moves a verdict", columns, rows, note=note)


def sycophancy_table(gathered: Gathered) -> Table:
    """Whether judges follow consultants, a row for each judge and kind of consultancy."""
    rows: list[list[Cell]] = []
    for judge, group, items in _each(gathered):
        found = sycophancy(items)
        if found is None or sum(name is not None for name in items[0].debate.players) != 1 or group == "all":
            continue
        rates = (None,) * 3 if found.rate is None else (found.rate.right, found.rate.wrong, found.rate.both)
        rows.append([judge, group, found.agrees.n, found.agrees, found.right, found.excess, *rates])
    columns = (
        Column("judge"),
        Column("consultancies"),
        Column("verdicts", kind="count"),
        Column("agrees", kind="share"),
        Column("consultant right", kind="share"),
        Column("agrees too often by", kind="share"),
        Column("agrees when right", kind="share"),
        Column("agrees when wrong", kind="share"),
        Column("win rate", kind="share"),
    )
    note = (
        "'Agrees too often by': how much more often the judge names the consultant's answer than that answer is right. "
        f"'Win rate': the mean over being assigned the right and the wrong answer. {ROBUST}"
    )
    return Table("Sycophancy in consultancy", columns, rows, note=note)


def concession_rows(gathered: Gathered) -> dict[tuple[str, str], dict[str, object]]:
    """What judges make of debates in which somebody gives its side away, by judge and kind of debate."""
    conceded: dict[str, list[int]] = {}
    for one in gathered.concessions:
        if one.conceded:
            conceded.setdefault(one.debate, []).append(one.answer)
    read = {one.debate for one in gathered.concessions}
    found: dict[tuple[str, str], dict[str, object]] = {}
    for judge, group, items in _each(gathered):
        known = [item for item in items if item.debate.id in read]
        if not known:
            continue
        against = [
            (points(1 - verdict.probabilities[conceded[item.debate.id][0]]), item.debate.transcript.question.story_id)
            for item in known
            if len(conceded.get(item.debate.id, ())) == 1
            for verdict in final_verdicts(item)
            if verdict.probabilities is not None
        ]
        found[judge, group] = {
            "debates": len(known),
            "conceded": sum(item.debate.id in conceded for item in known),
            "against": cluster_mean([row[0] for row in against], [row[1] for row in against], bounds=(0, 1))
            if against
            else None,
            "accuracy": accuracy(known).single,
            "accuracy_without": accuracy(without_concessions(known, gathered.concessions)).single,
        }
    return found


def concession_table(found: Mapping[tuple[str, str], Mapping[str, object]]) -> Table:
    """What judges make of concessions."""
    names = ("debates", "conceded", "against", "accuracy", "accuracy_without")
    rows: list[list[Cell]] = [[*key, *(_cell(row[name]) for name in names)] for key, row in found.items()]
    columns = (
        Column("judge"),
        Column("debates"),
        Column("n", kind="count"),
        Column("with a concession", kind="count"),
        Column("judge goes against who conceded", kind="share"),
        Column("right", kind="share"),
        Column("right without", kind="share"),
    )
    note = (
        "Debates whose speakers were read for concessions (python -m tournaments.concessions). 'Goes against': where "
        f"one side alone conceded. {ROBUST}"
    )
    return Table("Concessions", columns, rows, note=note)


def _cell(value: object) -> Cell:
    return value if isinstance(value, (Interval, int)) else None


def sections(gathered: Gathered) -> list[Section]:
    """Show judges' biases.

    Args:
        gathered: The debates.

    Returns:
        One section, a table for each bias that can be measured; none where none can.
    """
    tables = [
        position_table(gathered),
        leans_table(gathered),
        sycophancy_table(gathered),
        preference_table(self_preferences(gathered)),
        concession_table(concession_rows(gathered)),
    ]
    shown = [table for table in tables if table.rows]
    return [Section("Biases", shown)] if shown else []


def values(gathered: Gathered) -> Values:
    """Return what ``sections`` shows, as plain values.

    Args:
        gathered: The debates.

    Returns:
        By judge: each bias, by kind of debate.
    """
    found: dict[str, dict[str, dict[str, object]]] = {}
    for judge, group, items in _each(gathered):
        own = found.setdefault(judge, {}).setdefault(group, {})
        own["position"] = _plain(position(items))
        own["leanings"] = {one.factor: _plain(one) for one in leans(sided(items))}
        own["sycophancy"] = _plain(sycophancy(items))
    for (judge, group), row in concession_rows(gathered).items():
        found[judge][group]["concessions"] = {name: _plain(value) for name, value in row.items()}
    return {**found, "self_preference": {judge: _plain(one) for judge, one in self_preferences(gathered).items()}}


def _plain(value: object) -> object:
    """Write a record of intervals as plain values."""
    if isinstance(value, Interval):
        return interval(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value
