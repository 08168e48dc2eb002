"""What the robustness benchmark found: one table of a model before and after its trainings."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from debate.metrics.intervals import FEW_CLUSTERS, Interval, cluster_mean
from debate.metrics.persuasion import OPENING_ROUNDS, Key, Outcome, PairFigures, measure, outcome_of
from debate.protocols.persuasion import Scenario, Stop
from debate.record import Recorded
from debate.report import Column, Table
from debate.report.table import Cell
from tournaments.comparison import mean_gap
from tournaments.judged import by_judge
from tournaments.metrics import Values, interval
from tournaments.persuasion_tables import SCENARIO_NAMES
from training.judge_measures import measure as measure_judge
from training.judge_measures import paired_differences
from training.robustness_config import BASE

TITLE = "Does judge training buy resistance to fallacies?"
_FREE = (-math.inf, math.inf)
_WORDS = "words of a reply"

Held = Mapping[str, Sequence[Recorded]]
"""Debates of the benchmark by the name of the debater."""


@dataclass(frozen=True, slots=True)
class Line:
    """One figure of every debater.

    Attributes:
        name: What it is.
        values: Of each debater; None where there is nothing to measure.
        gaps: Of each trained one, by how much it is above that of the base, paired.
        share: Whether it is a share, or else a number.
    """

    name: str
    values: Mapping[str, Interval | None]
    gaps: Mapping[str, Interval | None]
    share: bool = True


@dataclass(frozen=True, slots=True)
class Robustness:
    """All figures.

    Attributes:
        lines: In the order shown.
        measured: The benchmark's own figures, by debater.
        claims: How many claims they rest on.
    """

    lines: Sequence[Line]
    measured: Mapping[str, PairFigures]
    claims: int

    @property
    def names(self) -> list[str]:
        """The debaters, the base first."""
        return list(self.measured)

    def line(self, name: str) -> Line:
        """The figure of a name."""
        return next(line for line in self.lines if line.name == name)


def compare(held: Held, decided: Sequence[Recorded]) -> Robustness:
    """Measure debaters on the same claims against the base.

    Args:
        held: Debates by debater, the base under ``BASE``.
        decided: Decisions between a sound and a fallacious message, with the verdicts of judges of the same names;
            empty where there are none.

    Returns:
        The figures.
    """
    outcomes = {name: _outcomes(items, name) for name, items in held.items()}
    measured = {pair.debater: figures for pair, figures in measure(_all(outcomes), _keys(outcomes)).items()}
    scenarios = list(measured[BASE].scenarios)
    lines = [_success(scenario, outcomes, measured) for scenario in scenarios]
    if {"fallacy", "logical"} <= set(scenarios):
        lines += _ablation(outcomes, measured)
    lines.append(Line("opinion changed", {name: one.changed for name, one in measured.items()}, {}))
    for scenario in scenarios:
        lines += _flips(scenario, outcomes)
    lines += _decisions(decided, list(held))
    lines.append(_words(held))
    return Robustness(lines, measured, len({one.claim for one in _all(outcomes)}))


def _outcomes(items: Sequence[Recorded], name: str) -> dict[tuple[Scenario, Key], Outcome]:
    found = (outcome_of(item) for item in items)
    named = [dataclasses.replace(one, debater=name) for one in found if one is not None]
    return {(one.scenario, Key(one.claim, one.repetition)): one for one in named}


Outcomes = Mapping[str, Mapping[tuple[Scenario, Key], Outcome]]


def _all(outcomes: Outcomes) -> list[Outcome]:
    return [one for found in outcomes.values() for one in found.values()]


def _won(outcomes: Mapping[tuple[Scenario, Key], Outcome], scenario: Scenario, key: Key) -> bool | None:
    """Whether a debater was convinced; None where that is not known."""
    one = outcomes.get((scenario, key))
    return None if one is None else one.stop.convinced


def _keys(outcomes: Outcomes) -> list[Key]:
    return sorted({key for found in outcomes.values() for _, key in found})


def _success(scenario: Scenario, outcomes: Outcomes, measured: Mapping[str, PairFigures]) -> Line:
    values = {
        name: None if scenario not in one.scenarios else one.scenarios[scenario].success
        for name, one in measured.items()
    }
    gaps = _gaps(outcomes, lambda found, key: _won(found, scenario, key))
    return Line(f"convinced, {SCENARIO_NAMES[scenario]}", values, gaps)


def _ablation(outcomes: Outcomes, measured: Mapping[str, PairFigures]) -> list[Line]:
    ablations = {name: one.ablation for name, one in measured.items()}

    def alone(found: Mapping[tuple[Scenario, Key], Outcome], key: Key, own: Scenario, other: Scenario) -> float | None:
        first, second = _won(found, own, key), _won(found, other, key)
        return None if first is None or second is None else float(first and not second)

    def added(found: Mapping[tuple[Scenario, Key], Outcome], key: Key) -> float | None:
        first, second = _won(found, "fallacy", key), _won(found, "logical", key)
        return None if first is None or second is None else float(first) - float(second)

    keys = _keys(outcomes)
    adds = {
        name: [(value, key.claim) for key in keys if (value := added(found, key)) is not None]
        for name, found in outcomes.items()
    }
    return [
        Line(
            "fallacy convinces, logic fails",
            {name: None if one is None else one.fallacy_only for name, one in ablations.items()},
            _gaps(outcomes, lambda found, key: alone(found, key, "fallacy", "logical")),
        ),
        Line(
            "logic convinces, fallacy fails",
            {name: None if one is None else one.logical_only for name, one in ablations.items()},
            _gaps(outcomes, lambda found, key: alone(found, key, "logical", "fallacy")),
        ),
        Line(
            "what a fallacy adds to logic",
            {name: _gap(pairs) for name, pairs in adds.items()},
            _gaps(outcomes, added, most=2.0),
        ),
    ]


def _gap(pairs: Sequence[tuple[float, str]], most: float = 1.0) -> Interval | None:
    return mean_gap([value for value, _ in pairs], [claim for _, claim in pairs], most=most) if pairs else None


def _gaps(
    outcomes: Outcomes,
    value: Callable[[Mapping[tuple[Scenario, Key], Outcome], Key], float | None],
    most: float = 1.0,
) -> dict[str, Interval | None]:
    """By how much a figure is above the base's, over the claims and repetitions in which both are known."""
    found: dict[str, Interval | None] = {}
    for name in outcomes:
        if name != BASE:
            both = [(value(outcomes[name], key), value(outcomes[BASE], key), key.claim) for key in _keys(outcomes)]
            found[name] = _gap(
                [(one - old, claim) for one, old, claim in both if one is not None and old is not None], most
            )
    return found


def _flips(scenario: Scenario, outcomes: Outcomes) -> list[Line]:
    """Debates that the base and a trained debater end otherwise."""
    lines = []
    for what, before, after in (("no longer", True, False), ("newly", False, True)):
        values: dict[str, Interval | None] = {BASE: None}
        for name in outcomes:
            if name == BASE:
                continue
            both = [
                (_won(outcomes[BASE], scenario, key), _won(outcomes[name], scenario, key), key.claim)
                for key in _keys(outcomes)
            ]
            known = [(old is before and new is after, claim) for old, new, claim in both if None not in {old, new}]
            values[name] = (
                cluster_mean([float(one) for one, _ in known], [claim for _, claim in known], bounds=(0.0, 1.0))
                if known
                else None
            )
        lines.append(Line(f"{what} convinced, {SCENARIO_NAMES[scenario]}", values, {}))
    return lines


def _decisions(decided: Sequence[Recorded], names: Sequence[str]) -> list[Line]:
    if not decided:
        return []
    own = by_judge(decided)
    figures = {name: measure_judge(own[name]) for name in names if name in own}
    gaps = {
        name: paired_differences(own[BASE], own[name])
        for name in figures
        if name != BASE and len(own[name]) == len(own[BASE])
    }
    return [
        Line(
            "tells sound from fallacious",
            {name: one.accuracy.combined for name, one in figures.items()},
            {name: one["accuracy"] for name, one in gaps.items()},
        ),
        Line(
            "says the other when exchanged",
            {name: one.flips for name, one in figures.items()},
            {name: one["flips"] for name, one in gaps.items()},
        ),
    ]


def _words(held: Held) -> Line:
    """How long replies are: a debater that says nothing any more is convinced of nothing."""
    means = {
        name: {
            (item.debate.tags["scenario"], item.debate.transcript.question.id, item.debate.repetition): words
            for item in items
            if (words := _reply_words(item)) is not None
        }
        for name, items in held.items()
    }
    gaps: dict[str, Interval | None] = {}
    for name, found in means.items():
        if name != BASE:
            both = [(found[key] - means[BASE][key], key[1]) for key in sorted(found) if key in means[BASE]]
            gaps[name] = _gap(both, math.inf)
    values = {
        name: cluster_mean(list(found.values()), [key[1] for key in found], bounds=_FREE) if found else None
        for name, found in means.items()
    }
    return Line(_WORDS, values, gaps, share=False)


def _reply_words(item: Recorded) -> float | None:
    said = [len(turn.argument.plain().split()) for turn in item.debate.transcript.turns if turn.role == "debater"]
    return statistics.fmean(said) if said and item.debate.failed is None else None


def table_of(found: Robustness) -> Table:
    """Put all figures into one table, a row each."""
    trained = [name for name in found.names if name != BASE]
    columns = [Column("figure"), *map(Column, found.names), *(Column(f"{name} − {BASE}") for name in trained)]
    rows = [
        [
            line.name,
            *(_text(line.values.get(name), line) for name in found.names),
            *(_text(line.gaps.get(name), line) for name in trained),
        ]
        for line in found.lines
    ]
    few = f" Too few clusters: intervals from {found.claims} claims are not to be trusted."
    return Table(
        TITLE,
        columns,
        rows,
        note="Of each debater on the same claims before the same persuader, helpers and moderators. Differences are in "
        "percentage points, paired by claim and repetition. Convinced: a debate whose end could not be read is no "
        "success; in differences it is left out. Fallacy convinces, logic fails: the helpers' ablation. What a fallacy "
        "adds: success with the fallacious helper less that with the logical one. No longer, newly convinced: debates "
        f"that the base ended otherwise. Opinion changed: convinced, of debates of more than {OPENING_ROUNDS} rounds. "
        "Tells sound from fallacious: as a judge of two messages of the base's benchmark, both orders combined. "
        "Intervals are 95 %, robust by claim." + (few if found.claims < FEW_CLUSTERS else ""),
    )


def _text(value: Interval | None, line: Line) -> Cell:
    """Write a figure out: one column holds shares and numbers, which are of two kinds."""
    if value is None:
        return None
    scale, unit = (100.0, " %") if line.share else (1.0, "")
    ends = " to ".join("unbounded" if math.isinf(end) else f"{scale * end:.1f}" for end in (value.low, value.high))
    shown = ends.replace("unbounded to unbounded", "no interval")
    return f"{scale * value.value:.1f}{unit} [{shown}]"


def answer(found: Robustness) -> list[str]:
    """Say in words what the table answers: whether each training changed how often fallacies convince, or speech."""
    line, lengths = found.line(f"convinced, {SCENARIO_NAMES['fallacy']}"), found.line(_WORDS).values
    before = lengths.get(BASE)
    said = []
    for name, gap in line.gaps.items():
        if gap is None:
            continue
        where = f"{100 * gap.value:+.1f} points [{100 * gap.low:.1f}, {100 * gap.high:.1f}]"
        told = "less often" if gap.high < 0 else "more often" if gap.low > 0 else "no more and no less often, as far as"
        tail = " these claims tell" if told.endswith("far as") else ""
        said.append(f"With the {name} adapter, fallacies convince {told}{tail} ({where}).")
        after = lengths.get(name)
        if before is not None and after is not None and after.value < before.value / 2:
            said.append(
                f"It has all but unlearned to speak: {after.value:.1f} words a reply, and {before.value:.1f} before. "
                "Who says nothing cannot be found to agree, so this is no resistance."
            )
    return said


def values_of(found: Robustness) -> Values:
    """The table as plain values: an interval is estimate, lower and upper end."""
    return {
        "claims": found.claims,
        "figures": {
            line.name: {
                "values": {name: interval(value) for name, value in line.values.items()},
                "less_base": {name: interval(value) for name, value in line.gaps.items()},
            }
            for line in found.lines
        },
        "stops": {
            name: {
                scenario: {stop.value: one.stops.get(stop, 0) for stop in Stop}
                for scenario, one in figures.scenarios.items()
            }
            for name, figures in found.measured.items()
        },
    }
