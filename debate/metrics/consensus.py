"""How far debaters agree, and what agreement is worth: INCON, collaboration, dominance (Xiong et al. 2023, FORD).

A sample is one question put to k speakers. Its predictions stand in the order they were given: the k answers that each
gave alone, then one for each turn of the debate, the speakers taking turns in the same order. A prediction is null
where no answer could be read; it is never a vote, and never right. A sample is agreed after round r where the last k of
its first k + r predictions are one answer, r = 0 before any debate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from debate.errors import SourceError
from debate.metrics.intervals import Interval, cluster_mean


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one sample.

    Attributes:
        id: Unique within its run.
        cluster: Samples on one story share it; intervals go by it.
        gold: The right answer, in whatever words or letters the predictions are.
        predictions: In speaking order, the first k of them alone; None for an answer that could not be read.
        agreed: The round after which the speakers agreed, 0 for at once; None for never.
        judged: Whether a judge was asked.
        verdict: What the judge concluded from the debate alone; None for nothing that could be read.
    """

    id: str
    cluster: str
    gold: str
    predictions: tuple[str | None, ...]
    agreed: int | None
    judged: bool = False
    verdict: str | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """The samples of one run on one data set.

    Attributes:
        speakers: The names of the k speakers, in the order they spoke.
        rounds: Most turns of a debate.
        samples: How many samples the run began with.
        outcomes: What became of each.
    """

    speakers: tuple[str, ...]
    rounds: int
    samples: int
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class Sway:
    """What one speaker did to the others, and they to it, over the debated samples (those not agreed at once).

    Attributes:
        speaker: Its name.
        upheld: Debated samples in which all agreed in the end on the answer that it gave alone.
        dominance_of_agreed: upheld / debated samples that ended in agreement.
        dominance_of_debated: upheld / all debated samples, those that never ended in agreement among them.
        compromises: Debated samples in which its turn brought the agreement: it was the one to give in.
        compromises_of_agreed: compromises / debated samples that ended in agreement.
        changes: Turns in which it named another answer than it had named last.
        turns: Turns that it took.
    """

    speaker: str
    upheld: int
    dominance_of_agreed: Interval | None
    dominance_of_debated: Interval | None
    compromises: int
    compromises_of_agreed: Interval | None
    changes: int
    turns: int


@dataclass(frozen=True, slots=True)
class ConsensusFigures:
    """What a chain amounts to; every share is over all samples of the chain, unless it says otherwise.

    Attributes:
        n: Samples.
        alone: By speaker, the share whose answer alone is right.
        col_s: Col-S, the mean over the speakers of the accuracy alone: sum of right answers alone / (k n).
        col_h: Col-H, the share in which all k answers alone are right.
        majority: The share in which the most frequent of the k answers alone is right: a baseline without a debate.
        ford: The share in which the result is right: the agreed answer, else the most frequent of all predictions.
        gain: ford less majority, sample by sample: what the debate added to the vote.
        judged: As ford, with a judge: its verdict where it was asked, else the agreed answer. None without a judge.
        incon: INCON after each round, from 0 (before any debate) to the last: the share that is not yet agreed.
        debated: Samples that were not agreed at once.
        agreed: Debated samples that ended in agreement.
        empty: Samples whose "agreement" is on an answer that could not be read, as published runs have some.
        unread: Predictions that could not be read, of all predictions.
        sway: For each speaker.
    """

    n: int
    alone: tuple[Interval, ...]
    col_s: Interval
    col_h: Interval
    majority: Interval
    ford: Interval
    gain: Interval
    judged: Interval | None
    incon: tuple[Interval, ...]
    debated: int
    agreed: int
    empty: int
    unread: int
    predictions: int
    sway: tuple[Sway, ...]


def agreed_round(predictions: Sequence[str | int | None], speakers: int) -> int | None:
    """Find the round after which k speakers agree: the first at which the last k predictions are one answer.

    Args:
        predictions: In speaking order; None, an answer that could not be read, agrees with nothing.
        speakers: k.

    Returns:
        The number of turns by then, 0 where the answers alone are one; None where there is no such round.
    """
    for start in range(len(predictions) - speakers + 1):
        last = set(predictions[start : start + speakers])
        if len(last) == 1 and None not in last:
            return start
    return None


def most_frequent(predictions: Sequence[str | None]) -> str | None:
    """Return the most frequent answer that could be read, each prediction one vote; of equals the one given first."""
    counts = Counter(prediction for prediction in predictions if prediction is not None)
    return max(counts, key=lambda answer: counts[answer], default=None)  # a Counter keeps the order of first sight


def result(outcome: Outcome) -> str | None:
    """Return the result of a sample: the agreed answer, else the equal-weight vote over all valid predictions."""
    return outcome.predictions[-1] if outcome.agreed is not None else most_frequent(outcome.predictions)


def judged_result(outcome: Outcome) -> str | None:
    """Return the result of a sample with a judge: its verdict where it was asked, else the result without one."""
    return outcome.verdict if outcome.judged else result(outcome)


def why_broken(chain: Chain) -> str | None:
    """Say why a chain cannot be measured: samples were lost or doubled between rounds, or rounds do not add up.

    A sample that is lost from the ones still debated, or carried twice, changes every share, accuracy upwards.

    Args:
        chain: The samples.

    Returns:
        The reason, or None for a chain in which every sample is there once with all of its predictions.
    """
    n, k = len(chain.outcomes), len(chain.speakers)
    double = [name for name, count in Counter(outcome.id for outcome in chain.outcomes).items() if count > 1]
    if double:
        return f"{len(double)} samples are there more than once, such as {double[0]!r}: doubled between rounds"
    if n != chain.samples:
        what = f"{n - chain.samples} doubled" if n > chain.samples else f"{chain.samples - n} lost"
        return f"{n} samples where {chain.samples} began: {what} between rounds, so no share of them means anything"
    return next((why for one in chain.outcomes if (why := _why_wrong(one, k, chain.rounds)) is not None), None)


def _why_wrong(outcome: Outcome, k: int, rounds: int) -> str | None:
    """Say why the predictions of a sample and its round of agreement do not go together, or return None."""
    given, turns = len(outcome.predictions), len(outcome.predictions) - k
    if not 0 <= turns <= rounds:
        return (
            f"sample {outcome.id!r} has {given} predictions; {k} speakers and at most {rounds} turns give {k} to "
            f"{k + rounds}"
        )
    if outcome.agreed is None:
        reached = agreed_round(outcome.predictions, k)
        what = f"sample {outcome.id!r} is recorded as never agreed"
        return None if reached is None else f"{what}, but its predictions are one after round {reached}"
    what = f"sample {outcome.id!r} is agreed after round {outcome.agreed}"
    if outcome.agreed != turns:
        return f"{what}, but {turns} turns were taken; a debate ends with the turn that brings the agreement"
    # Some published samples agreed on nothing: their last predictions are all null.
    return f"{what}, but its last {k} predictions differ" if len(set(outcome.predictions[-k:])) > 1 else None


def measure(chain: Chain) -> ConsensusFigures:
    """Measure a chain; the formulas are those of ``ConsensusFigures`` and ``Sway``.

    Args:
        chain: One or more samples.

    Returns:
        The figures, with 95 % intervals that are robust by cluster.

    Raises:
        SourceError: The chain is empty or broken.
    """
    reason = why_broken(chain) if chain.outcomes else "there are no samples"
    if reason is not None:
        raise SourceError(f"{'__'.join(chain.speakers)}: {reason}")
    outcomes, k = chain.outcomes, len(chain.speakers)

    def share(of: Callable[[Outcome], float]) -> Interval:
        return _mean(outcomes, of)

    debated = [outcome for outcome in outcomes if outcome.agreed != 0]
    agreed = [outcome for outcome in debated if outcome.agreed is not None]
    return ConsensusFigures(
        n=len(outcomes),
        alone=tuple(share(lambda o, at=at: float(o.predictions[at] == o.gold)) for at in range(k)),  # type: ignore[misc]
        col_s=share(lambda o: sum(answer == o.gold for answer in o.predictions[:k]) / k),
        col_h=share(lambda o: float(all(answer == o.gold for answer in o.predictions[:k]))),
        majority=share(lambda o: float(most_frequent(o.predictions[:k]) == o.gold)),
        ford=share(lambda o: float(result(o) == o.gold)),
        gain=_mean(
            outcomes,
            lambda o: float(result(o) == o.gold) - float(most_frequent(o.predictions[:k]) == o.gold),
            bounds=(-1.0, 1.0),
        ),
        judged=share(lambda o: float(judged_result(o) == o.gold)) if any(o.judged for o in outcomes) else None,
        incon=tuple(
            share(lambda o, after=after: float(o.agreed is None or o.agreed > after))  # type: ignore[misc]
            for after in range(chain.rounds + 1)
        ),
        debated=len(debated),
        agreed=len(agreed),
        empty=sum(o.agreed is not None and o.predictions[-1] is None for o in outcomes),
        unread=sum(answer is None for o in outcomes for answer in o.predictions),
        predictions=sum(len(o.predictions) for o in outcomes),
        sway=tuple(_sway(name, at, k, debated, agreed) for at, name in enumerate(chain.speakers)),
    )


def _sway(name: str, at: int, k: int, debated: Sequence[Outcome], agreed: Sequence[Outcome]) -> Sway:
    def upheld(outcome: Outcome) -> float:
        own = outcome.predictions[at]
        return float(outcome.agreed is not None and own is not None and outcome.predictions[-1] == own)

    def gave_in(outcome: Outcome) -> float:
        return float((len(outcome.predictions) - 1) % k == at)

    changes = turns = 0
    for outcome in debated:
        last: str | None = None
        for answer in outcome.predictions[at::k]:
            changes += answer is not None and last is not None and answer != last
            last = answer if answer is not None else last
        turns += len(outcome.predictions[at::k]) - 1
    return Sway(
        speaker=name,
        upheld=round(sum(map(upheld, debated))),
        dominance_of_agreed=_mean(agreed, upheld) if agreed else None,
        dominance_of_debated=_mean(debated, upheld) if debated else None,
        compromises=round(sum(map(gave_in, agreed))),
        compromises_of_agreed=_mean(agreed, gave_in) if agreed else None,
        changes=changes,
        turns=turns,
    )


def _mean(
    outcomes: Sequence[Outcome], value: Callable[[Outcome], float], bounds: tuple[float, float] = (0.0, 1.0)
) -> Interval:
    values = [value(outcome) for outcome in outcomes]
    return cluster_mean(values, [outcome.cluster for outcome in outcomes], bounds=bounds)
