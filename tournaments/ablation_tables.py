"""What an ablation shows: a table and a figure of its factor, paired differences, and the papers' signs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from debate.metrics.intervals import Interval
from debate.report import Column, Dot, Figure, Section, Table, dots
from debate.report.table import Cell
from tournaments.ablate_config import Factor
from tournaments.ablation_measures import MEASURES, Measured, compare
from tournaments.analysis_accuracy import ROBUST
from tournaments.analysis_paired import Contrast, show_p
from tournaments.metrics import Values, interval, judge_figures
from tournaments.paper import Findings, Subject, compare_sign, read_sign
from tournaments.tables import few_note

TITLES: dict[Factor, str] = {
    "words": "Words of a speech",
    "rounds": "Rounds before the verdict",
    "marks": "Quotes and their marks",
    "fewshot": "Examples that the judge is shown",
    "votes": "Votes of the judge",
    "information": "What the judge reads",
}


@dataclass(frozen=True)
class Ablated:
    """What an ablation found.

    Attributes:
        factor: The factor.
        levels: Its levels, measured; the first is what the others are compared with.
        findings: What the papers found; signs on levels are written ``factor: LABEL > factor: LABEL``, where ``most``
            and ``least`` name the ends of a factor of numbers.
    """

    factor: Factor
    levels: Sequence[Measured]
    findings: Findings

    @property
    def first(self) -> Measured:
        """What the other levels are compared with."""
        return self.levels[0]

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every two levels that share a question, the later one less the earlier one."""
        two = itertools.combinations(self.levels, 2)
        found = (Pair(one, other, compare(one, other)) for other, one in two)
        return [pair for pair in found if pair.gaps]

    @cached_property
    def readings(self) -> list[Reading]:
        """The papers' signs of which both levels are measured; none of consultancies, since they are about debates."""
        if any(None in item.debate.players for item in self.first.recorded):
            return []
        ours = self._subject()
        held = []
        for finding in self.findings.findings:
            for text in finding.signs:
                if text.startswith(f"{self.factor}: "):
                    compared = compare_sign(read_sign(text), ours)
                    if compared is not None:
                        held.append(Reading(finding.says, text.replace(f"{self.factor}: ", ""), *compared))
        return held

    def _subject(self) -> Subject:
        """Figures by level: how often the judge is right, or of words how often a level's speeches win."""
        names = self._names()
        figures: dict[str, Interval] = {}
        gaps: dict[tuple[str, str], Interval] = {}
        for one in self.levels:
            even = Interval(0.5, 0.5, 0.5, 0, 0)  # against itself a level wins half, by definition
            wins = even if one is self.first else one.wins[0]
            value = wins if self.factor == "words" else one.accuracy.single
            if value is not None:
                figures |= dict.fromkeys(names[one.level.label], value)
            if self.factor == "words" and wins is not None:
                gap = Interval(wins.value - 0.5, wins.low - 0.5, wins.high - 0.5, wins.n, wins.clusters)
                gaps |= dict.fromkeys(itertools.product(names[one.level.label], names[self.first.level.label]), gap)
        for pair in [] if self.factor == "words" else self.pairs:
            gap = pair.gaps["judge right"].difference
            back = Interval(-gap.value, -gap.high, -gap.low, gap.n, gap.clusters)
            ours, theirs = names[pair.one.level.label], names[pair.other.level.label]
            gaps |= dict.fromkeys(itertools.product(ours, theirs), gap)
            gaps |= dict.fromkeys(itertools.product(theirs, ours), back)
        return Subject("ours", figures, "models", gaps)

    def _names(self) -> dict[str, list[str]]:
        """The names by which findings may call a level."""
        names = {one.level.label: [f"{self.factor}: {one.level.label}"] for one in self.levels}
        numbers = {one.level.value: one.level.label for one in self.levels if isinstance(one.level.value, int)}
        if numbers:
            names[numbers[min(numbers)]].append(f"{self.factor}: least")
            names[numbers[max(numbers)]].append(f"{self.factor}: most")
        return names


class Pair(NamedTuple):
    """Two levels on the same questions, by what is measured: ``one`` less ``other``."""

    one: Measured
    other: Measured
    gaps: Mapping[str, Contrast]


class Reading(NamedTuple):
    """What a paper says of two levels, its sign, our difference, and what that says of the sign."""

    says: str
    sign: str
    gap: Interval | float
    reading: str


def sections(found: Ablated) -> list[Section]:
    """Show a factor: its table and figure, differences of every two levels, and the papers' signs."""
    blocks: list[Table | Figure] = [level_table(found), level_figure(found)]
    if any(one.wins[0] is not None for one in found.levels):
        blocks.append(win_table(found))
    beside = sign_table(found)
    return [
        Section(TITLES[found.factor], tuple(blocks)),
        Section("Same questions", (difference_table(found),)),
        *([Section("Beside the papers", (beside,))] if beside.rows else []),
    ]


def level_table(found: Ablated) -> Table:
    """The factor's table: a row a level, with its paired difference to the first."""
    gaps = {pair.one.level.label: pair.gaps["judge right"] for pair in found.pairs if pair.other is found.first}
    rows: list[list[Cell]] = []
    for one in found.levels:
        gap, bias = gaps.get(one.level.label), one.bias
        rows.append(
            [
                one.level.label,
                len(one.recorded),
                one.accuracy.single,
                None if gap is None else gap.difference,
                None if gap is None else show_p(gap.p),
                one.accuracy.combined,
                one.share,
                None if bias is None else bias.flip_rate,
                one.unparsed,
                one.words,
                one.verified,
                one.quotes,
            ]
        )
    first = found.first.level.label
    columns = (
        Column("level"),
        Column("debates", kind="count"),
        Column("judge right", kind="share"),
        Column("more than the first", kind="share"),
        Column("p", align="right"),
        Column("orders combined", kind="share"),
        Column("right side's share", kind="share"),
        Column("flips", kind="share"),
        Column("unparsed", kind="share"),
        Column("words shown", kind="number"),
        Column("verified shown", kind="number"),
        Column("quotes shown", kind="number"),
    )
    note = (
        f"'Judge right': single verdicts, a tie half right; 'more than the first': than at {first!r}, "
        "over the same questions, with the p-value of the sign-flip test by story. 'Orders combined': by the mean of a "
        "debate's two orders, an ensemble of two. 'Right side's share': the probability that verdicts give the right "
        f"answer. 'Shown': to the judge of one debate, on average, quotes as they were marked to it. {ROBUST}"
    )
    return Table(TITLES[found.factor], columns, rows, note=note + few_note(found.first.recorded))


def level_figure(found: Ablated) -> Figure:
    """How often the judge is right at each level, as dots with error bars."""
    rights = ((one.level.label, one.accuracy.single) for one in found.levels)
    estimates = [
        Dot(label, *((None,) if right is None else (right.value, right.low, right.high))) for label, right in rights
    ]
    note = "The levels share their questions, so differences are told apart better than these intervals say."
    axis = "judge right, single verdicts, 95 % interval"
    return dots(TITLES[found.factor], estimates, kind="share", axis_title=axis, note=note)


def win_table(found: Ablated) -> Table:
    """How often longer speeches win against those of the first level."""
    first = found.first.level.label
    rows: list[list[Cell]] = [
        [one.level.label, *one.wins, None if one.p is None else show_p(one.p)]
        for one in found.levels
        if one.wins[0] is not None
    ]
    columns = (
        Column("level"),
        Column(f"wins against {first}", kind="share"),
        Column("when right", kind="share"),
        Column("when wrong", kind="share"),
        Column("p", align="right"),
    )
    note = (
        "Debates between the same player under the two limits, both assignments, both orders. 'p': sign-flip test by "
        f"story against one half. {ROBUST}"
    )
    return Table(f"Against speeches of {first}", columns, rows, note=note)


def difference_table(found: Ablated) -> Table:
    """Every two levels, whatever is measured of both."""
    rows: list[list[Cell]] = []
    for pair in found.pairs:
        shown = next(iter(pair.gaps.values()))
        row: list[Cell] = [
            pair.one.level.label,
            pair.other.level.label,
            shown.questions,
            shown.difference.clusters,
        ]
        for name in MEASURES:
            gap = pair.gaps.get(name)
            row += (None, None) if gap is None else (gap.difference, show_p(gap.p))
        rows.append(row)
    columns = (
        Column("level"),
        Column("less"),
        Column("questions", kind="count"),
        Column("stories", kind="count"),
        *itertools.chain.from_iterable((Column(name, kind="share"), Column("p", align="right")) for name in MEASURES),
    )
    note = (
        "On the questions that were decided at both levels, each counted once, so what makes a question hard cancels. "
        "'p': two-sided sign-flip test, the differences of one story flipped together; not corrected for the number of "
        f"rows, so of twenty about one falls under 0.05 by chance. {ROBUST}"
    )
    return Table("Differences on the same questions", columns, rows, note=note)


def sign_table(found: Ablated) -> Table:
    """The papers' signs beside ours."""
    rows: list[list[Cell]] = [[one.says, one.sign, one.gap, one.reading] for one in found.readings]
    columns = (
        Column("the paper says"),
        Column("its sign"),
        Column("ours, first less second", kind="share"),
        Column("reading"),
    )
    what = "how often a level's speeches win" if found.factor == "words" else "how often the judge is right"
    note = (
        f"Signs of Khan et al. (2024) on {what}; other questions, models and people than ours. Ours are paired by "
        "question, with 95 % intervals robust by story; 'not told apart' confirms and refutes nothing."
    )
    return Table("Beside the papers", columns, rows, note=note)


def metrics(found: Ablated) -> Values:
    """Return what ``sections`` shows, as plain values."""
    return {
        "factor": found.factor,
        "levels": {one.level.label: _level(one) for one in found.levels},
        "differences": [
            {
                "level": pair.one.level.label,
                "less": pair.other.level.label,
                **{name: _contrast(gap) for name, gap in pair.gaps.items()},
            }
            for pair in found.pairs
        ],
        "against_paper": [
            {
                "sign": one.sign,
                "difference": interval(one.gap) if isinstance(one.gap, Interval) else one.gap,
                "reading": one.reading,
            }
            for one in found.readings
        ],
    }


def _contrast(gap: Contrast) -> Values:
    return {
        "questions": gap.questions,
        "stories": gap.difference.clusters,
        "difference": interval(gap.difference),
        "p": gap.p,
    }


def _level(one: Measured) -> Values:
    wins = {"wins": one.wins[0], "wins_right": one.wins[1], "wins_wrong": one.wins[2]}
    return {
        "judge": one.judge,
        **judge_figures(one.recorded),
        "right_share": interval(one.share),
        "words": one.words,
        "verified": one.verified,
        "quotes": one.quotes,
        **({} if one.p is None else {**{name: interval(value) for name, value in wins.items()}, "wins_p": one.p}),
    }
