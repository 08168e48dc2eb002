"""Our figures by the names that the papers' findings have for them, see ``data/paper/findings.yaml``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from debate.judge_names import is_person
from debate.metrics.accuracy import final_verdicts
from debate.metrics.calibration import confidence
from debate.metrics.contrast import contrast
from debate.metrics.intervals import Interval, cluster_mean
from debate.metrics.judge_reward import rounds_heard
from debate.metrics.persuasion import Outcome, Pair, PairFigures
from debate.protocols.persuasion import Stop
from debate.record import Debate, Recorded
from debate.verdict import combine, points
from tournaments.analysis_accuracy import Judging, judgings
from tournaments.analysis_arguments import alike_but_for_n
from tournaments.analysis_rounds import Course, courses
from tournaments.cast import Cast
from tournaments.comparison import mean_gap
from tournaments.gather import Gathered
from tournaments.paper import Subject, Whose

REJECT = 0.75
"""Confidence below which a verdict is rejected in the paper."""
_SHARE = (0.0, 1.0)
_FREE = (-math.inf, math.inf)
Rows = list[tuple[float, str]]
"""Values, each with its story."""


def form(debate: Debate) -> str:
    """Say what a debate is to the paper: a debate or a consultancy, or what else its protocol calls it."""
    published = debate.tags.get("form")
    if published is not None:
        return published
    if debate.protocol in {"simultaneous", "sequential", "interactive"}:
        return "debate"
    return debate.protocol.replace("_", " ")


def debate_subjects(gathered: Gathered) -> list[Subject]:
    """Measure every judge of recorded debates by what the paper reports of its own.

    Args:
        gathered: The debates.

    Returns:
        One for each judge; the people who judged published debates as they went are one.
    """
    followed: dict[str, dict[str, list[Course]]] = {}
    kinds = {item.debate.tags.get("setting"): form(item.debate) for item in gathered.recorded}
    for (judge, group), own in courses(gathered).items():
        kind = kinds.get(group) or form_of_group(group)
        followed.setdefault(judge, {}).setdefault(kind, []).extend(own)
    return [_judge(one, gathered.cast, followed.get(one.judge, {})) for one in judgings(gathered)]


def form_of_group(group: str) -> str:
    """The form of debates of a protocol, self-play or not."""
    name = group.removesuffix(", self-play")
    return "debate" if name in {"simultaneous", "sequential", "interactive"} else name


def _judge(one: Judging, cast: Cast, followed: Mapping[str, Sequence[Course]]) -> Subject:
    parts = _parts(one, cast)
    rows = {name: found for name, items in parts.items() if (found := _rights(items))}
    rows |= _kept(parts.get("debate", ()))
    figures = {name: _mean(found) for name, found in rows.items()}
    gaps = gaps_of(rows)
    _add_sides(figures, gaps, parts.get("debate", ()))
    figures |= _length(parts)
    for kind, own in followed.items():
        early = [(course.beliefs[min(course.beliefs)].right, course.story) for course in own]
        late = [(course.beliefs[max(course.beliefs)].right, course.story) for course in own]
        figures[f"{kind} at first"], figures[f"{kind} in the end"] = _mean(early), _mean(late)
        change = [after - before for (after, _), (before, _) in zip(late, early, strict=True)]
        gap = mean_gap(change, [story for _, story in early])
        gaps[f"{kind} in the end", f"{kind} at first"] = gap
        gaps[f"{kind} at first", f"{kind} in the end"] = Interval(-gap.value, -gap.high, -gap.low, gap.n, gap.clusters)
    whose: Whose = "people" if is_person(one.judge) else "models"
    return Subject(one.judge, figures, whose, gaps)


def _parts(one: Judging, cast: Cast) -> dict[str, list[Recorded]]:
    """A judge's verdicts by what the findings call the debates that they are on."""
    found: dict[str, list[Recorded]] = {name: list(items) for name, items in one.baselines.items()}
    for item in one.spoken:
        debate = item.debate
        kind = form(debate)
        found.setdefault(kind, []).append(item)
        if kind == "debate":
            found.setdefault("interactive" if debate.protocol == "interactive" else "static", []).append(item)
        if "setting" in debate.tags:
            found.setdefault(debate.tags["setting"], []).append(item)
    alone: dict[str, list[Recorded]] = {}
    for item in found.get("debate", ()):
        first, second = item.debate.players
        if first is not None and first == second:
            alone.setdefault(first, []).append(item)
    for sizes in alike_but_for_n(cast, alone):
        for name, n in sizes.items():
            if n in {min(sizes.values()), max(sizes.values())}:
                end = "least" if n == min(sizes.values()) else "most"
                found.setdefault(f"self-play at {end} N", []).extend(alone[name])
    return found


def _rights(recorded: Iterable[Recorded]) -> Rows:
    """Whether each single verdict is right."""
    return [
        (points(verdict.probabilities[question.gold]), question.story_id)
        for item in recorded
        for question in [item.debate.transcript.question]
        if question.gold is not None
        for verdict in final_verdicts(item)
        if verdict.probabilities is not None
    ]


def gaps_of(rows: Mapping[str, Rows]) -> dict[tuple[str, str], Interval]:
    """Difference of every two means, the first less the second; see ``debate.metrics.contrast``."""
    found = {}
    for one, other in itertools.permutations(rows, 2):
        values, stories = zip(*rows[one], *rows[other], strict=True)
        split = contrast(values, [True] * len(rows[one]) + [False] * len(rows[other]), stories)
        if split is not None:
            found[one, other] = split.difference
    return found


def _kept(recorded: Iterable[Recorded]) -> dict[str, Rows]:
    """What is kept, and whether it is right, where verdicts of little confidence are rejected."""
    rows = []
    for item in recorded:
        question, verdicts = item.debate.transcript.question, final_verdicts(item)
        mean = combine(verdicts) if verdicts else None
        if mean is not None and question.gold is not None:
            rows.append((confidence(mean[0]) >= REJECT, points(mean[question.gold]), question.story_id))
    found = {
        "debate kept at 75 %": [(float(sure), story) for sure, _, story in rows],
        "debate right at 75 %": [(right, story) for sure, right, story in rows if sure],
    }
    return {name: own for name, own in found.items() if own}


def _add_sides(
    figures: dict[str, Interval], gaps: dict[tuple[str, str], Interval], recorded: Iterable[Recorded]
) -> None:
    """Add how often the side with the right and with the wrong answer wins, in debates of two different players."""
    rows = _rights(one for one in recorded if len({name for name in one.debate.players if name is not None}) == 2)
    if not rows:
        return
    right, wrong = "debater wins when right", "debater wins when wrong"
    won = figures[right] = _mean(rows)
    figures[wrong] = Interval(1 - won.value, 1 - won.high, 1 - won.low, won.n, won.clusters)
    gaps[right, wrong] = Interval(2 * won.value - 1, 2 * won.low - 1, 2 * won.high - 1, won.n, won.clusters)


def _length(parts: Mapping[str, Sequence[Recorded]]) -> dict[str, Interval]:
    """Mean rounds of people's debates, as a share of those of their consultancies; its error by the delta method."""
    debates, consultancies = (
        [(float(rounds_heard(item.debate)), item.debate.transcript.question.story_id) for item in parts.get(name, ())]
        for name in ("human debate", "human consultancy")
    )
    if not debates or not consultancies:
        return {}
    means = [math.fsum(rounds for rounds, _ in rows) / len(rows) for rows in (debates, consultancies)]
    ratio, total = means[0] / means[1], len(debates) + len(consultancies)
    # Values whose mean is the ratio and whose clusters have its error, to first order.
    values = [(ratio + (rounds - means[0]) / means[1] * total / len(debates), story) for rounds, story in debates]
    values += [
        (ratio - ratio * (rounds - means[1]) / means[1] * total / len(consultancies), story)
        for rounds, story in consultancies
    ]
    found = cluster_mean([value for value, _ in values], [story for _, story in values], bounds=_FREE)
    return {"rounds of human debate by consultancy": found}


def _mean(rows: Sequence[tuple[float, str]]) -> Interval:
    return cluster_mean([value for value, _ in rows], [story for _, story in rows], bounds=_SHARE)


def logicom_subjects(measured: Mapping[Pair, PairFigures], outcomes: Iterable[Outcome]) -> list[Subject]:
    """Name the figures of LOGICOM, a subject for each persuader and debater.

    Args:
        measured: The figures.
        outcomes: What they were measured on; differences of scenarios are robust by claim.
    """
    won: dict[Pair, dict[str, Rows]] = {}
    for outcome in outcomes:
        rows = won.setdefault(outcome.pair, {}).setdefault(outcome.scenario, [])
        rows.append((float(outcome.stop is Stop.CONVINCED), outcome.claim))
    found = []
    for pair, one in measured.items():
        figures: dict[str, Interval | None] = {name: each.success for name, each in one.scenarios.items()}
        figures["opinion changed"] = one.changed
        if one.ablation is not None:
            figures["fallacy alone convinces"] = one.ablation.fallacy_only
            figures["logic alone convinces"] = one.ablation.logical_only
        name = f"{pair.debater}, persuaded by {pair.persuader}"
        gaps = gaps_of(won.get(pair, {}))
        found.append(Subject(name, {key: value for key, value in figures.items() if value is not None}, None, gaps))
    return found


def consensus_subjects(metrics: Mapping[str, Any]) -> list[Subject]:
    """Name the figures of FORD or MAD.

    Args:
        metrics: What ``tournaments.consensus.read_outcomes`` gives.

    Returns:
        FORD: a subject for each chain and data set, comparable where the intervals of the best and the worst speaker
        alone meet, else mismatched; MAD: one, with the ways of answering.
    """
    if metrics["system"] == "ford":
        return [_chain(chain) for chain in metrics["chains"]]
    figures: dict[str, Interval] = {}
    for row in metrics["results"]:
        way = "debate" if row["answered by"].startswith("debate") else row["answered by"]
        way += " in translation" if "chrF" in row else ""
        right = _interval(row["right"], row["n"])
        if right is not None:
            figures.setdefault(way, right)  # of several levels the first, the most modest one
    return [Subject("all items", figures)]


def _chain(chain: Mapping[str, Any]) -> Subject:
    n = chain["n"]
    alone = sorted((_interval(share, n) for share in chain["alone"].values()), key=lambda one: one.value if one else 0)
    worse, better = alone[0], alone[-1]
    # What the paper says of comparable models it does not say of mismatched ones, nor the reverse.
    mismatched = worse is not None and better is not None and worse.high < better.low
    figures = {
        "FORD": _interval(chain["ford"], n),
        "INCON at first": _interval(chain["incon"][0], n),
        "INCON in the end": _interval(chain["incon"][-1], n),
        **({"better model alone": better, "worse model alone": worse} if mismatched else {}),
        **({} if mismatched else {"Col-S": _interval(chain["col_s"], n), "Col-H": _interval(chain["col_h"], n)}),
    }
    kept = {name: value for name, value in figures.items() if value is not None}
    return Subject(f"{chain['run']}, {chain['dataset']}", kept)


def _interval(value: Sequence[float | None] | None, n: int) -> Interval | None:
    """Read an interval back from plain values; None where there is none."""
    if value is None or value[0] is None:
        return None
    low, high = (-math.inf if value[1] is None else value[1]), (math.inf if value[2] is None else value[2])
    return Interval(value[0], low, high, n, n)
