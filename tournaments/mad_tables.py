"""Tables of MAD: what each way of answering gets right, accuracy by iteration, disagreement, whom the judge prefers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from debate.metrics.disagreement import Stances, disagreement
from debate.metrics.grades import Graded
from debate.metrics.intervals import FEW_CLUSTERS, Interval, cluster_mean
from debate.metrics.translation import Overlap
from debate.open_debate import extraction
from debate.protocols.alone import METHODS
from debate.report import Column, Table
from debate.report.table import Cell, IntervalLike
from tournaments.found import Found
from tournaments.mad_outcomes import AloneOutcome, DebateOutcome, Outcome, Ruled
from tournaments.metrics import interval

_ROBUST = "Intervals are 95 %, robust by question."


class Answered(NamedTuple):
    """How one way of answering did on one item.

    Attributes:
        item: The item's id.
        answer: What it came to; None where that could not be read.
        calls: Model calls.
    """

    item: str
    answer: Graded | None
    calls: int


def show(outcomes: Sequence[Outcome]) -> Found:
    """Measure outcomes, and show the figures.

    Args:
        outcomes: Of one run, or of several on the same items.

    Returns:
        Tables and the same as plain values.
    """
    named = {
        "results": results_table(outcomes),
        "iterations": iterations_table(debates_of(outcomes)),
        "disagreement": disagreement_table(outcomes),
        "sides": sides_table(debates_of(outcomes)),
        "rulings": rulings_table(debates_of(outcomes)),
    }
    tables = {name: table for name, table in named.items() if table.rows}
    return Found(list(tables.values()), {"system": "mad", **{name: plain(table) for name, table in tables.items()}})


def plain(table: Table) -> list[dict[str, object]]:
    """Write a table as plain values, a mapping for each row: an interval is [value, low, high], None for no end."""
    return [
        {
            column.title: interval(cell) if isinstance(cell, IntervalLike) else cell
            for column, cell in zip(table.columns, row, strict=True)
        }
        for row in table.rows
    ]


def debates_of(outcomes: Iterable[Outcome]) -> list[DebateOutcome]:
    """The debates that could be finished."""
    return [one for one in outcomes if isinstance(one, DebateOutcome) and one.failed is None]


def _alone_of(outcomes: Iterable[Outcome]) -> list[AloneOutcome]:
    return [one for one in outcomes if isinstance(one, AloneOutcome) and one.failed is None]


def _by_level(debates: Sequence[DebateOutcome]) -> dict[int, list[DebateOutcome]]:
    return {level: [one for one in debates if one.level == level] for level in sorted({one.level for one in debates})}


def ways(outcomes: Sequence[Outcome]) -> dict[str, list[Answered]]:
    """What each way of answering came to: methods of a model alone, the base answer first, then debates by level.

    Where the base answer is no baseline of the run, it is that of the debates.
    """
    alone, debates = _alone_of(outcomes), debates_of(outcomes)
    order = dict.fromkeys(method for methods in METHODS.values() for method in methods)
    found = {
        method.replace("_", " "): [Answered(one.item, one.answer, one.calls) for one in alone if one.method == method]
        for method in order
    }
    found["base"] = found["base"] or list({one.item: Answered(one.item, one.base, 1) for one in debates}.values())
    for level, held in _by_level(debates).items():
        found[f"debate, level {level}"] = [
            Answered(one.item, None if one.final is None else one.final.answer, one.calls) for one in held
        ]
    return {name: rows for name, rows in found.items() if rows}


def results_table(outcomes: Sequence[Outcome]) -> Table:
    """What each way of answering gets right, and what it takes."""
    found = ways(outcomes)
    base = found.get("base", [])
    translated = any(row.answer is not None and row.answer.near is not None for rows in found.values() for row in rows)
    rows: list[list[Cell]] = []
    for name, answered in found.items():
        known = [(row.item, row.answer) for row in answered if row.answer is not None]
        cells: list[Cell] = [
            name,
            len(answered),
            _mean((item, float(answer.right)) for item, answer in known),
            None if name == "base" else gain(base, answered),
            _mean((item, float(answer.trapped)) for item, answer in known),
        ]
        if translated:
            cells += _overlaps([(item, answer.near) for item, answer in known])
            cells += _overlaps([(item, answer.near_trap) for item, answer in known])
        cells.append(_mean((row.item, float(row.answer is None)) for row in answered))
        rows.append([*cells, _calls(answered)])
    columns = (
        Column("answered by"),
        Column("n", kind="count"),
        Column("right", kind="share"),
        Column("more than base", kind="share"),
        Column("trap", kind="share"),
        *([Column(f"{name}{to}", kind="number") for to in ("", ", trap") for name in ("chrF", "BLEU")] * translated),
        Column("unparsed", kind="share"),
        Column("calls each", kind="number"),
    )
    reading = (
        " Right and trap are readings of the ambiguous words, told by words and chrF; people's ratings are the "
        "measure. chrF and BLEU are means over sentences, against the right and the trap reference."
        if translated
        else ""
    )
    note = (
        f"{_ROBUST} Unparsed answers are left out of all shares. 'More than base': the difference on the same "
        f"questions. A debate counts as an adaptive one of its limit.{reading}"
        f"{_few(row.item for answered in found.values() for row in answered)}"
    )
    return Table("Answers", columns, rows, note=note)


def _calls(answered: Sequence[Answered]) -> Cell:
    """Mean calls; where all take as many, that is a fact and no estimate."""
    if len({row.calls for row in answered}) == 1:
        return float(answered[0].calls)
    return _mean(((row.item, float(row.calls)) for row in answered), bounds=(-math.inf, math.inf))


def _overlaps(found: Sequence[tuple[str, Overlap | None]]) -> list[Cell]:
    """Mean chrF and BLEU."""
    known = [(item, one) for item, one in found if one is not None]
    ends = (0.0, 100.0)
    return [
        _mean(((item, one.chrf) for item, one in known), bounds=ends),
        _mean(((item, one.bleu) for item, one in known), bounds=ends),
    ]


def gain(base: Sequence[Answered], other: Sequence[Answered]) -> Interval | None:
    """How much more often a way of answering is right than the base answer, on the items where both could be read."""
    right = {row.item: row.answer.right for row in base if row.answer is not None}
    pairs = [
        (row.item, float(row.answer.right) - float(right[row.item]))
        for row in other
        if row.answer is not None and row.item in right
    ]
    return _mean(pairs, bounds=(-1.0, 1.0))


def iterations_table(debates: Sequence[DebateOutcome]) -> Table:
    """Accuracy by the limit: adaptive debates against forced ones, on the same debates."""
    rows: list[list[Cell]] = []
    for level, held in _by_level(debates).items():
        for limit in range(1, max(one.limit for one in held) + 1):
            due = [one for one in held if limit <= one.limit]
            ended = [float(_ended(one, limit)) for one in due]
            whole = [one for one in due if one.forced or limit == one.limit]
            adaptive = [(one.item, ruled) for one in whole if (ruled := one.ends_at(limit)) is not None]
            forced = [(one.item, ruled) for one in whole if one.forced and (ruled := extraction(one.rulings, limit))]
            both = [(one.item, one.ends_at(limit), extraction(one.rulings, limit)) for one in whole if one.forced]
            rows.append(
                [
                    *(level, limit, len(due)),
                    _mean(zip((one.item for one in due), ended, strict=True)),
                    _right(adaptive),
                    _right(forced),
                    _mean(
                        (
                            (item, float(one.answer.right) - float(other.answer.right))
                            for item, one, other in both
                            if one is not None and one.answer and other is not None and other.answer
                        ),
                        bounds=(-1.0, 1.0),
                    ),
                ]
            )
    columns = (
        Column("level", kind="count"),
        Column("limit", kind="count"),
        Column("n", kind="count"),
        Column("ended by then", kind="share"),
        Column("adaptive, right", kind="share"),
        Column("forced, right", kind="share"),
        Column("adaptive more than forced", kind="share"),
    )
    note = (
        f"{_ROBUST} Ended by then: the judge had found a right answer clear. Adaptive: debates of at most so many "
        "iterations that end there; forced: all go on, and an answer is extracted after each. A run that is not forced "
        "knows its own limit alone."
    )
    return Table("By iteration, adaptive against forced", columns, rows, note=note)


def _ended(debate: DebateOutcome, limit: int) -> bool:
    return any(one.mode == "discriminative" and one.clear and one.iteration <= limit for one in debate.rulings)


def disagreement_table(outcomes: Sequence[Outcome]) -> Table:
    """Disagreement by iteration, over all questions and over those whose first answer is wrong."""
    groups: dict[str, list[Stances]] = {
        "self reflection": [one for outcome in _alone_of(outcomes) for one in outcome.stances()]
    }
    for level, held in _by_level(debates_of(outcomes)).items():
        groups[f"debate, level {level}"] = [one for outcome in held for one in outcome.stances()]
    rows: list[list[Cell]] = [
        [
            name,
            "all" if found.iteration is None else str(found.iteration),
            *(_of(found.overall), found.overall),
            *(_of(found.began_wrong), found.began_wrong),
            found.unknown,
        ]
        for name, stances in groups.items()
        for found in disagreement(stances)
    ]
    columns = (
        Column("who"),
        Column("iteration"),
        Column("n", kind="count"),
        Column("opposed", kind="share"),
        Column("n, began wrong", kind="count"),
        Column("opposed, began wrong", kind="share"),
        Column("unknown", kind="count"),
    )
    note = (
        f"{_ROBUST} Opposed: of debaters, the pairs with other answers in one iteration (of texts: other readings); of "
        "self-reflection, answers other than the one before. Began wrong: only questions whose first answer is wrong. "
        "A model that seldom turns away from it has let its thought degenerate. Unknown: no pair could be read."
    )
    return Table("Disagreement and degeneration of thought", columns, rows, note=note)


def _of(interval: Interval | None) -> int:
    return 0 if interval is None else interval.n


class Decided(NamedTuple):
    """A debate whose final ruling supports one of several sides that hold other answers.

    Attributes:
        debate: The debate.
        side: The place of the debater that it supports.
        last: The last answers, in speaking order.
    """

    debate: DebateOutcome
    side: int
    last: tuple[Graded | None, ...]


def decided(debates: Iterable[DebateOutcome]) -> list[Decided]:
    """The debates in which the judge took a side when not all sides held one answer."""
    found = []
    for debate in debates:
        final = debate.final
        if final is None or final.side is None or final.iteration > len(debate.answers):
            continue
        if debate.opposed[final.iteration - 1]:
            found.append(Decided(debate, final.side, debate.answers[final.iteration - 1]))
    return found


def sides_table(debates: Sequence[DebateOutcome]) -> Table:
    """Whom the judge prefers: by place in the order of speaking, by model, and whether it is the right side."""
    rows: list[list[Cell]] = []
    for level, held in _by_level(debates).items():
        taken = decided(held)
        for place in range(max((len(one.speakers) for one in held), default=0)):
            names = dict.fromkeys(one.speakers[place] for one in held if place < len(one.speakers))
            chosen = [(one.debate.item, float(one.side == place)) for one in taken]
            alike = [(one.debate.item, float(one.side == place)) for one in taken if _equally_good(one)]
            chance = sum(1 / len(one.debate.speakers) for one in taken) / max(1, len(taken))
            who = f"place {place + 1} ({', '.join(names)})"
            rows.append([level, who, len(taken), _mean(chosen), _mean(alike), chance if taken else None])
        rows += [[level, *row] for row in (_own_model(taken), _right_side(taken)) if row is not None]
    columns = (
        Column("level", kind="count"),
        Column("side"),
        Column("n", kind="count"),
        Column("supported", kind="share"),
        Column("supported, equally right", kind="share"),
        Column("by chance", kind="share"),
    )
    note = (
        f"{_ROBUST} Debates that ended with a side supported while the sides held other answers. Equally right: only "
        "those where all sides are right or none is, so that being right explains nothing. The judge's own model: the "
        "speakers that share its backbone, where others do not; hold debates in both orders to take places out of it. "
        "The right side: where only one is."
    )
    return Table("Whom the judge supports", columns, rows, note=note)


def _equally_good(one: Decided) -> bool:
    return len({answer is not None and answer.right for answer in one.last}) == 1


def _own_model(taken: Sequence[Decided]) -> list[Cell] | None:
    mixed = [one for one in taken if len(set(_shares_backbone(one.debate))) == 2]
    if not mixed:
        return None

    def own(one: Decided) -> tuple[str, float]:
        return one.debate.item, float(_shares_backbone(one.debate)[one.side])

    shares = [sum(_shares_backbone(one.debate)) / len(one.debate.models) for one in mixed]
    alike = [own(one) for one in mixed if _equally_good(one)]
    return ["the judge's own model", len(mixed), _mean(map(own, mixed)), _mean(alike), sum(shares) / len(shares)]


def _shares_backbone(debate: DebateOutcome) -> list[bool]:
    """Whether each speaker has the judge's base model, with whatever adapter (a label is NAME or NAME+ADAPTER)."""
    return [model.partition("+")[0] == debate.judge.partition("+")[0] for model in debate.models]


def _right_side(taken: Sequence[Decided]) -> list[Cell] | None:
    one_right = [one for one in taken if sum(answer is not None and answer.right for answer in one.last) == 1]
    if not one_right:
        return None
    chosen = [
        (one.debate.item, float((answer := one.last[one.side]) is not None and answer.right)) for one in one_right
    ]
    chance = sum(1 / len(one.last) for one in one_right) / len(one_right)
    return ["the right side", len(one_right), _mean(chosen), None, chance]


def rulings_table(debates: Sequence[DebateOutcome]) -> Table:
    """How the judge ruled, by mode."""
    rows: list[list[Cell]] = []
    for mode in ("discriminative", "extractive"):
        ruled = [(one.item, ruling) for one in debates for ruling in one.rulings if ruling.mode == mode]
        if not ruled:
            continue
        read = [(item, ruling) for item, ruling in ruled if ruling.unparsed is None]
        found = [(item, ruling) for item, ruling in read if ruling.clear]
        rows.append(
            [
                *(mode, len(ruled)),
                _mean((item, float(ruling.unparsed is not None)) for item, ruling in ruled),
                _mean((item, float(ruling.clear)) for item, ruling in read),
                _right(found),
            ]
        )
    columns = (
        Column("mode"),
        Column("rulings", kind="count"),
        Column("unparsed", kind="share"),
        Column("clear", kind="share"),
        Column("right, where clear", kind="share"),
    )
    return Table("Rulings", columns, rows, note=f"{_ROBUST} Unparsed rulings end no debate and score for nobody.")


def _right(ruled: Iterable[tuple[str, Ruled]]) -> Interval | None:
    return _mean((item, float(one.answer.right)) for item, one in ruled if one.answer is not None)


def _mean(rows: Iterable[tuple[str, float]], bounds: tuple[float, float] = (0.0, 1.0)) -> Interval | None:
    known = list(rows)
    if not known:
        return None
    return cluster_mean([value for _, value in known], [item for item, _ in known], bounds=bounds)


def _few(items: Iterable[str]) -> str:
    count = len(set(items))
    if count >= FEW_CLUSTERS:
        return ""
    return f" Too few clusters: with only {count} questions the intervals are not to be trusted."


def unparsed_share(outcomes: Sequence[Outcome]) -> Mapping[str, float]:
    """Share of the rulings that could not be read, and of the debates and attempts that failed."""
    rulings = [ruling for one in debates_of(outcomes) for ruling in one.rulings]
    return {
        "rulings": sum(one.unparsed is not None for one in rulings) / len(rulings) if rulings else 0.0,
        "failed": sum(one.failed is not None for one in outcomes) / len(outcomes) if outcomes else 0.0,
    }
