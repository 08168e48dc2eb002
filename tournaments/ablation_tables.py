"""What an ablation shows: a table and a figure of its factor, paired differences, and the papers' signs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from debate.metrics.intervals import Interval
from debate.report import Column, Dot, Figure, Section, Table, dots
from debate.report.table import Cell
from tournaments.ablate_config import Factor
from tournaments.ablation_measures import MEASURES, Measured, against, differences
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


def sections(factor: Factor, found: Sequence[Measured], findings: Findings) -> list[Section]:
    """Show a factor.

    Args:
        factor: The factor.
        found: Its levels, measured; the first is what the others are compared with.
        findings: What the papers found.

    Returns:
        Sections of the report.
    """
    blocks: list[Table | Figure] = [level_table(factor, found), level_figure(factor, found)]
    if any(one.wins[0] is not None for one in found):
        blocks.append(win_table(found))
    beside = sign_table(factor, found, findings)
    return [
        Section(TITLES[factor], tuple(blocks)),
        Section("Same questions", (difference_table(found),)),
        *([Section("Beside the papers", (beside,))] if beside.rows else []),
    ]


def level_table(factor: Factor, found: Sequence[Measured]) -> Table:
    """The factor's table: a row a level, with its paired difference to the first."""
    gaps = differences(found)
    rows: list[list[Cell]] = []
    for one in found:
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
    first = found[0].level.label
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
        f"'Judge right': single verdicts, a tie half right; 'more than the first': than at {first!r}, over the same "
        "questions, with the p-value of the sign-flip test by story. 'Orders combined': by the mean of a debate's two "
        "orders, an ensemble of two. 'Right side's share': the probability that verdicts give the right answer. "
        f"'Shown': to the judge of one debate, quotes as they were marked to it. {ROBUST}"
    )
    return Table(TITLES[factor], columns, rows, note=note + few_note(found[0].recorded))


def level_figure(factor: Factor, found: Sequence[Measured]) -> Figure:
    """How often the judge is right at each level, as dots with error bars."""
    estimates = [
        Dot(one.level.label, *((None,) if right is None else (right.value, right.low, right.high)))
        for one, right in ((one, one.accuracy.single) for one in found)
    ]
    note = "The levels share their questions, so differences are told apart better than these intervals say."
    return dots(
        TITLES[factor], estimates, kind="share", axis_title="judge right, single verdicts, 95 % interval", note=note
    )


def win_table(found: Sequence[Measured]) -> Table:
    """How often longer speeches win against those of the first level."""
    first = found[0].level.label
    rows: list[list[Cell]] = [
        [one.level.label, *one.wins, None if one.p is None else show_p(one.p)]
        for one in found
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


def difference_table(found: Sequence[Measured]) -> Table:
    """Every two levels, whatever is measured of both."""
    rows: list[list[Cell]] = []
    for one, other, gaps in pairs(found):
        shown = next(iter(gaps.values()))
        row: list[Cell] = [one.level.label, other.level.label, shown.questions, shown.difference.clusters]
        for name in MEASURES:
            gap = gaps.get(name)
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


def pairs(found: Sequence[Measured]) -> Iterator[tuple[Measured, Measured, dict[str, Contrast]]]:
    """Set every two levels against each other, a later one less an earlier one, by what is measured."""
    for other, one in itertools.combinations(found, 2):
        named = {name: against(one, other, measure) for name, measure in MEASURES.items()}
        gaps = {name: gap for name, gap in named.items() if gap is not None}
        if gaps:
            yield one, other, gaps


class Reading(NamedTuple):
    """What a paper says of two levels, and what ours say."""

    says: str
    sign: str
    gap: Interval | float
    reading: str


def readings(factor: Factor, found: Sequence[Measured], findings: Findings) -> list[Reading]:
    """Hold the papers' signs on a factor against ours.

    Args:
        factor: The factor.
        found: Its levels, measured.
        findings: What the papers found; signs on levels are written ``factor: LABEL > factor: LABEL``, where ``most``
            and ``least`` name the ends of a factor of numbers.

    Returns:
        The signs of which both levels are measured; none of consultancies, since they are about debates.
    """
    if any(None in item.debate.players for item in found[0].recorded):
        return []
    ours = _subject(factor, found)
    held = []
    for finding in findings.findings:
        for text in finding.signs:
            if text.startswith(f"{factor}: "):
                compared = compare_sign(read_sign(text), ours)
                if compared is not None:
                    held.append(Reading(finding.says, text.replace(f"{factor}: ", ""), *compared))
    return held


def _subject(factor: Factor, found: Sequence[Measured]) -> Subject:
    """Figures by level: how often the judge is right, or of words how often a level's speeches win."""
    names = _names(factor, found)
    figures: dict[str, Interval] = {}
    gaps: dict[tuple[str, str], Interval] = {}
    for one in found:
        even = Interval(0.5, 0.5, 0.5, 0, 0)  # against itself a level wins half, by definition
        value = one.accuracy.single if factor != "words" else even if one is found[0] else one.wins[0]
        if value is not None:
            figures |= dict.fromkeys(names[one.level.label], value)
    for one, other in itertools.permutations(found, 2):
        gap = _gap(factor, one, other, found[0])
        if gap is not None:
            gaps |= dict.fromkeys(itertools.product(names[one.level.label], names[other.level.label]), gap)
    return Subject("ours", figures, "models", gaps)


def _gap(factor: Factor, one: Measured, other: Measured, first: Measured) -> Interval | None:
    if factor != "words":
        gap = against(one, other)
        return None if gap is None else gap.difference
    wins = one.wins[0]
    if other is not first or wins is None:
        return None
    return Interval(wins.value - 0.5, wins.low - 0.5, wins.high - 0.5, wins.n, wins.clusters)


def _names(factor: Factor, found: Sequence[Measured]) -> dict[str, list[str]]:
    """The names by which findings may call a level."""
    names = {one.level.label: [f"{factor}: {one.level.label}"] for one in found}
    numbers = {one.level.value: one.level.label for one in found if isinstance(one.level.value, int)}
    if numbers:
        names[numbers[min(numbers)]].append(f"{factor}: least")
        names[numbers[max(numbers)]].append(f"{factor}: most")
    return names


def sign_table(factor: Factor, found: Sequence[Measured], findings: Findings) -> Table:
    """The papers' signs beside ours."""
    rows: list[list[Cell]] = [[one.says, one.sign, one.gap, one.reading] for one in readings(factor, found, findings)]
    columns = (
        Column("the paper says"),
        Column("its sign"),
        Column("ours, first less second", kind="share"),
        Column("reading"),
    )
    what = "how often a level's speeches win" if factor == "words" else "how often the judge is right"
    note = (
        f"Signs of Khan et al. (2024) on {what}; other questions, models and people than ours. Ours are paired by "
        "question, with 95 % intervals robust by story; 'not told apart' confirms and refutes nothing."
    )
    return Table("Beside the papers", columns, rows, note=note)


def metrics(factor: Factor, found: Sequence[Measured], findings: Findings) -> Values:
    """Return what ``sections`` shows, as plain values."""
    return {
        "factor": factor,
        "levels": {one.level.label: _level(one) for one in found},
        "differences": [
            {
                "level": one.level.label,
                "less": other.level.label,
                **{
                    name: {
                        "questions": gap.questions,
                        "stories": gap.difference.clusters,
                        "difference": interval(gap.difference),
                        "p": gap.p,
                    }
                    for name, gap in gaps.items()
                },
            }
            for one, other, gaps in pairs(found)
        ],
        "against_paper": [
            {
                "sign": one.sign,
                "difference": interval(one.gap) if isinstance(one.gap, Interval) else one.gap,
                "reading": one.reading,
            }
            for one in readings(factor, found, findings)
        ],
    }


def _level(one: Measured) -> Values:
    wins = {"wins": one.wins[0], "wins_right": one.wins[1], "wins_wrong": one.wins[2]}
    return {
        "judge": one.judge,
        **judge_figures(one.recorded),
        "right_share": interval(one.share),
        "words": interval(one.words),
        "verified": interval(one.verified),
        "quotes": interval(one.quotes),
        **({} if one.p is None else {**{name: interval(value) for name, value in wins.items()}, "wins_p": one.p}),
    }
