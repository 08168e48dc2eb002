"""How far debaters are persuaded, and what fallacies add to it (LOGICOM), each figure with an interval by claim.

A success is a debater that is convinced at the end. Rates are over claims times repetitions: a debate that is missing,
or whose last ruling could not be read, is no success and is counted beside them.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from debate.errors import SourceError
from debate.fallacies import classify
from debate.metrics.intervals import Interval, cluster_mean
from debate.protocols.persuasion import PERSUASION, SCENARIOS, Scenario, Stop
from debate.record import Recorded

#: A change of opinion is counted in debates of more rounds than this, as in the paper: those began in disagreement.
OPENING_ROUNDS = 2

_FREE = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one debate came to.

    Attributes:
        claim: The claim's id; intervals go by it.
        persuader: Who argued for it.
        debater: Who weighed it.
        scenario: Whether a helper rewrote the persuader's drafts, and how.
        repetition: Tells repetitions of the same debate apart.
        rounds: Rounds that it took.
        stop: Why it ended; whether the debater was convinced follows from it.
        fallacies: In the fallacy scenario, where the texts are at hand: for each message after the opening that the
            debater replied to, the class of its fallacy, or None where the helper failed.
    """

    claim: str
    persuader: str
    debater: str
    scenario: Scenario
    repetition: int
    rounds: int
    stop: Stop
    fallacies: tuple[str | None, ...] | None = None

    @property
    def pair(self) -> Pair:
        """Who talked to whom."""
        return Pair(self.persuader, self.debater)


class Pair(NamedTuple):
    """A persuader and a debater."""

    persuader: str
    debater: str


class Key(NamedTuple):
    """What is repeated in every scenario: a claim, and the number of the repetition."""

    claim: str
    repetition: int


def outcome_of(item: Recorded) -> Outcome | None:
    """Read the outcome of a recorded debate.

    Args:
        item: A debate of any protocol.

    Returns:
        Its outcome; None where it is no persuasion, or failed.

    Raises:
        SourceError: Its tags are not those of a persuasion.
    """
    debate = item.debate
    if debate.protocol != PERSUASION or debate.failed is not None:
        return None
    try:
        stop = Stop(debate.tags["stop"])
        rounds = int(debate.tags["rounds"])
        scenario = next(one for one in SCENARIOS if one == debate.tags["scenario"])
    except (KeyError, ValueError, StopIteration) as error:
        raise SourceError(
            f"debate {debate.id!r} is a persuasion without the tags of one ({error!r}); it was written by another "
            "version of Dissoi or changed"
        ) from error
    helps = [turn.help for turn in debate.transcript.turns if turn.role == "persuader" and turn.round > 1]
    classes = tuple(None if help_ is None or help_.failed else classify(help_.name) for help_ in helps)
    persuader, debater = (name or "" for name in debate.players)
    return Outcome(
        debate.transcript.question.id,
        persuader,
        debater,
        scenario,
        debate.repetition,
        rounds,
        stop,
        classes if scenario == "fallacy" else None,
    )


@dataclass(frozen=True, slots=True)
class ScenarioFigures:
    """One pair in one scenario.

    Attributes:
        success: Share of claims times repetitions in which the debater was convinced.
        success_read: The same over the debates whose end is known, or None where there is none.
        per_repetition: The success rate in each repetition, in their order.
        variance: Of those rates (n - 1), in squared shares; None for one repetition.
        by_successes: Share of claims with 0, 1, ... n successes of n repetitions.
        by_round: Share convinced within 1, 2, ... rounds.
        rounds_to_conviction: Mean rounds of those convinced, or None where there are none.
        stops: Debates by why they ended.
        planned: Claims times repetitions.
        missing: How many of those there is no debate of.
    """

    success: Interval
    success_read: Interval | None
    per_repetition: tuple[float, ...]
    variance: float | None
    by_successes: tuple[Interval, ...]
    by_round: tuple[Interval, ...]
    rounds_to_conviction: Interval | None
    stops: Mapping[Stop, int]
    planned: int
    missing: int


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """One class of fallacies.

    Attributes:
        messages: Messages of it that the debater replied to.
        convinced: Share of them upon which it was convinced.
    """

    messages: int
    convinced: Interval


@dataclass(frozen=True, slots=True)
class Ablation:
    """The fallacious helper against the logical one, on the same claim in the same repetition.

    Attributes:
        fallacy_only: Share of pairs in which the fallacy convinced and logic failed.
        logical_only: Share in which logic convinced and the fallacy failed.
        pairs: Pairs whose both ends are known.
    """

    fallacy_only: Interval
    logical_only: Interval
    pairs: int


@dataclass(frozen=True, slots=True)
class PairFigures:
    """A persuader and a debater over all scenarios; what cannot be measured is None.

    Attributes:
        scenarios: By scenario.
        changed: Share convinced of the debates of more than two rounds: a change of opinion given disagreement.
        changed_of: How many were convinced, and of how many.
        ablation: The two helpers against each other.
        susceptibility: By how much more often a fallacy convinces than the logical helper, relative to the latter, and
            than no helper: 0.5 is half as often again.
        by_class: By class of fallacy, the commonest first.
    """

    scenarios: Mapping[Scenario, ScenarioFigures]
    changed: Interval | None
    changed_of: tuple[int, int]
    ablation: Ablation | None
    susceptibility: Mapping[Scenario, Interval]
    by_class: Mapping[str, ClassFigures]


def measure(outcomes: Iterable[Outcome], planned: Iterable[Key] = ()) -> dict[Pair, PairFigures]:
    """Measure recorded outcomes.

    Args:
        outcomes: Of any pairs and scenarios; each debate once.
        planned: Claims and repetitions that were to be held; those that no outcome is of are missing, and would not be
            known of else.

    Returns:
        Figures by persuader and debater, in the order in which they first appear.

    Raises:
        SourceError: A debate is there twice.
    """
    by_pair: dict[Pair, dict[Scenario, dict[Key, Outcome]]] = {}
    for one in outcomes:
        of_scenario = by_pair.setdefault(one.pair, {}).setdefault(one.scenario, {})
        key = Key(one.claim, one.repetition)
        if key in of_scenario:
            raise SourceError(
                f"claim {one.claim!r}, repetition {one.repetition}, scenario {one.scenario}, {one.persuader} against "
                f"{one.debater} is there twice; give each debate once"
            )
        of_scenario[key] = one
    keys = list(planned)
    return {
        pair: _pair({scenario: dict(sorted(found.items())) for scenario, found in scenarios.items()}, keys)
        for pair, scenarios in by_pair.items()
    }


def _pair(found: Mapping[Scenario, Mapping[Key, Outcome]], planned: Sequence[Key]) -> PairFigures:
    seen = [*planned, *(key for of_scenario in found.values() for key in of_scenario)]
    claims = sorted({key.claim for key in seen})  # in whatever order they came, sums come out alike to the last bit
    repetitions = sorted({key.repetition for key in seen})
    keys = [Key(claim, repetition) for claim in claims for repetition in repetitions]
    scenarios = {scenario: found[scenario] for scenario in SCENARIOS if scenario in found}
    everything = [one for of_scenario in scenarios.values() for one in of_scenario.values()]
    # What began in agreement, or may have, cannot be changed to it.
    late = [one for one in everything if one.rounds > OPENING_ROUNDS and one.stop.convinced is not None]
    changed = _share(late, lambda one: one.stop is Stop.CONVINCED)
    fallacy = scenarios.get("fallacy")
    bases: tuple[Scenario, ...] = ("logical", "none")
    ratios = {
        base: _relative(fallacy, scenarios[base], keys) for base in bases if fallacy is not None and base in scenarios
    }
    return PairFigures(
        {scenario: _scenario(of_scenario, keys) for scenario, of_scenario in scenarios.items()},
        changed,
        (sum(one.stop is Stop.CONVINCED for one in late), len(late)),
        None if fallacy is None or "logical" not in scenarios else _ablation(fallacy, scenarios["logical"], keys),
        {base: ratio for base, ratio in ratios.items() if ratio is not None},
        _classes(fallacy.values() if fallacy else ()),
    )


def _scenario(found: Mapping[Key, Outcome], keys: Sequence[Key]) -> ScenarioFigures:
    claims = [key.claim for key in keys]
    repetitions = sorted({key.repetition for key in keys})
    won = {key: key in found and found[key].stop is Stop.CONVINCED for key in keys}
    rates = tuple(
        statistics.fmean(won[key] for key in keys if key.repetition == repetition) for repetition in repetitions
    )
    successes = Counter(key.claim for key in keys if won[key])
    each = list(dict.fromkeys(claims))
    read = [one for one in found.values() if one.stop.convinced is not None]
    convinced = [one for one in read if one.stop is Stop.CONVINCED]
    last = max((one.rounds for one in found.values()), default=0)
    return ScenarioFigures(
        success=_mean([won[key] for key in keys], claims),
        success_read=_share(read, lambda one: one.stop is Stop.CONVINCED),
        per_repetition=rates,
        variance=statistics.variance(rates) if len(rates) > 1 else None,
        by_successes=tuple(
            _mean([successes[claim] == count for claim in each], each) for count in range(len(repetitions) + 1)
        ),
        by_round=tuple(
            _mean([won[key] and found[key].rounds <= round_ for key in keys], claims) for round_ in range(1, last + 1)
        ),
        rounds_to_conviction=cluster_mean(
            [one.rounds for one in convinced], [one.claim for one in convinced], bounds=_FREE
        )
        if convinced
        else None,
        stops={stop: count for stop in Stop if (count := sum(one.stop is stop for one in found.values()))},
        planned=len(keys),
        missing=len(keys) - len(found),
    )


def _ablation(fallacy: Mapping[Key, Outcome], logical: Mapping[Key, Outcome], keys: Sequence[Key]) -> Ablation | None:
    known = [
        (key, fallacy[key].stop.convinced, logical[key].stop.convinced)
        for key in keys
        if key in fallacy and key in logical
    ]
    pairs = [(key.claim, one, other) for key, one, other in known if one is not None and other is not None]
    if not pairs:
        return None
    claims = [claim for claim, _, _ in pairs]
    return Ablation(
        _mean([one and not other for _, one, other in pairs], claims),
        _mean([other and not one for _, one, other in pairs], claims),
        len(pairs),
    )


def _relative(fallacy: Mapping[Key, Outcome], base: Mapping[Key, Outcome], keys: Sequence[Key]) -> Interval | None:
    """Compare two success rates as a ratio less 1; None where the base never succeeds.

    The interval is that of the logarithm of the ratio, linearised by claim: log(F / B) + (f - F) / F - (b - B) / B has
    the right mean, and the variance over claims of its first-order error.
    """
    claims = list(dict.fromkeys(key.claim for key in keys))
    counts = [
        Counter(key.claim for key, one in found.items() if one.stop is Stop.CONVINCED) for found in (fallacy, base)
    ]
    ours, theirs = (sum(count.values()) / len(claims) for count in counts)
    if theirs == 0:
        return None
    if ours == 0:
        return Interval(-1.0, -1.0, math.inf, n=len(keys), clusters=len(claims))
    values = [math.log(ours / theirs) + counts[0][claim] / ours - counts[1][claim] / theirs for claim in claims]
    found_log = cluster_mean(values, claims, bounds=_FREE)
    value, low, high = (math.expm1(end) for end in (found_log.value, found_log.low, min(found_log.high, 700.0)))
    return replace(found_log, value=value, low=low, high=high if found_log.high < 700 else math.inf, n=len(keys))


def _classes(found: Iterable[Outcome]) -> dict[str, ClassFigures]:
    """Say upon which messages debaters were convinced: the last that was heard by one that was."""
    heard: dict[str, list[tuple[bool, str]]] = {}
    for one in found:
        classes = one.fallacies or ()
        for place, name in enumerate(classes, 1):
            if name is not None:
                convinced = one.stop is Stop.CONVINCED and place == len(classes)
                heard.setdefault(name, []).append((convinced, one.claim))
    ranked = sorted(heard.items(), key=lambda item: (-len(item[1]), item[0]))
    return {
        name: ClassFigures(len(items), _mean([won for won, _ in items], [claim for _, claim in items]))
        for name, items in ranked
    }


def _share(outcomes: Sequence[Outcome], holds: Callable[[Outcome], bool]) -> Interval | None:
    if not outcomes:
        return None
    return _mean([holds(one) for one in outcomes], [one.claim for one in outcomes])


def _mean(values: Sequence[bool], claims: Sequence[str]) -> Interval:
    return cluster_mean([float(value) for value in values], claims, bounds=(0.0, 1.0))
