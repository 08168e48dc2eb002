"""What an ablation found: at each level how often the judge is right and what it was shown, and differences, paired."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from debate.metrics.accuracy import Accuracy, accuracy, final_verdicts, unparsed_share
from debate.metrics.bias import PositionBias, position_bias
from debate.metrics.intervals import Interval, cluster_mean
from debate.metrics.paired import sign_flip
from debate.record import Recorded
from debate.verdict import combine, points
from tournaments.ablation_levels import Level
from tournaments.analysis_paired import Contrast, Measure, by_question, contrast
from tournaments.ladder import player_score
from tournaments.matches import OutcomeKind, outcomes


class Shown(NamedTuple):
    """What a judge was shown of one debate.

    Attributes:
        words: Words of all speeches.
        verified: Quotes marked as verified.
        quotes: All quotes that are marked.
    """

    words: int
    verified: int
    quotes: int


@dataclass(frozen=True, slots=True)
class Measured:
    """One level, measured.

    Attributes:
        level: The level.
        judge: What its verdicts are filed under.
        recorded: Its debates, judged, without what was said.
        shown: What the judge was shown of them, in the same order.
        wins: How often its speeches win against those of the first level, where they meet: over both assignments, and
            where they argued for the right and for the wrong answer.
        p: Of the sign-flip test of ``wins`` against one half.
    """

    level: Level
    judge: str
    recorded: Sequence[Recorded]
    shown: Sequence[Shown]
    wins: tuple[Interval | None, Interval | None, Interval | None] = (None, None, None)
    p: float | None = None

    @property
    def accuracy(self) -> Accuracy:
        """How often the judge is right."""
        return accuracy(self.recorded)

    @property
    def bias(self) -> PositionBias | None:
        """How the order of the answers moves it."""
        return position_bias(self.recorded)

    @property
    def unparsed(self) -> float | None:
        """Share of verdicts that name no answer."""
        return unparsed_share(self.recorded)

    @property
    def share(self) -> Interval | None:
        """Probability that verdicts give the right side, on average."""
        return _mean(by_share(self.recorded))

    @property
    def words(self) -> float:
        """Words of speeches that the judge was shown of a debate, on average."""
        return fmean(one.words for one in self.shown)

    @property
    def verified(self) -> float:
        """Quotes marked as verified that it was shown of a debate, on average."""
        return fmean(one.verified for one in self.shown)

    @property
    def quotes(self) -> float:
        """Marked quotes that it was shown of a debate, on average."""
        return fmean(one.quotes for one in self.shown)


def measure(level: Level, judge: str, recorded: Iterable[Recorded]) -> Measured:
    """Measure one level.

    Args:
        level: The level.
        judge: What its verdicts are filed under.
        recorded: Debates with its verdicts, read once; what was said is not held.

    Returns:
        The measures.
    """
    kept, shown = [], []
    for item in recorded:
        debate = item.debate
        shown.append(_shown(level, item))
        silent = dataclasses.replace(debate, transcript=dataclasses.replace(debate.transcript, turns=()))
        verdicts = tuple(dataclasses.replace(verdict, reasoning="") for verdict in item.verdicts)
        kept.append(Recorded(silent, verdicts))
    return Measured(level, judge, kept, shown)


def _shown(level: Level, item: Recorded) -> Shown:
    speeches = [turn.argument for turn in level.see(item.debate.transcript).turns if turn.seat is not None]
    quotes = [quote for speech in speeches for quote in speech.quotes]
    return Shown(sum(speech.words for speech in speeches), sum(quote.verified for quote in quotes), len(quotes))


def with_wins(found: Measured, matches: Iterable[Recorded], kind: OutcomeKind) -> Measured:
    """Add how a level's speeches fare against those of the first level.

    Args:
        found: The level, whose label is its player's name.
        matches: Its debates with the first level's player.
        kind: What a verdict counts.

    Returns:
        The level with it.
    """
    rows = outcomes(matches, kind)
    name = found.level.label
    gaps = [(row.score_a if row.player_a == name else 1 - row.score_a) - 0.5 for row in rows]
    return dataclasses.replace(
        found,
        wins=(
            player_score(rows, name),
            player_score(rows, name, right=True),
            player_score(rows, name, right=False),
        ),
        p=sign_flip(gaps, [row.story_id for row in rows]) if gaps else None,
    )


Values = dict[str, tuple[float, str]]


def by_combined(recorded: Iterable[Recorded]) -> Values:
    """Whether the mean of a debate's orders is right, by question, with the story; see ``by_question``."""

    def right(item: Recorded, gold: int) -> float | None:
        mean = combine(final_verdicts(item))
        return None if mean is None else points(mean[gold])

    return _by_question(recorded, right)


def by_share(recorded: Iterable[Recorded]) -> Values:
    """Mean probability of the right answer, by question, with the story; see ``by_question``."""

    def share(item: Recorded, gold: int) -> float | None:
        known = [one.probabilities[gold] for one in final_verdicts(item) if one.probabilities is not None]
        return fmean(known) if known else None

    return _by_question(recorded, share)


def by_flips(recorded: Iterable[Recorded]) -> Values:
    """Share of debates whose orders name different answers, by question, with the story; see ``by_question``."""

    def flips(item: Recorded, _gold: int) -> float | None:
        parsed = [one for one in final_verdicts(item) if one.probabilities is not None]
        if len(parsed) != 2 or parsed[0].order == parsed[1].order:
            return None
        # As in debate.metrics.bias: a tie names neither answer.
        return float({points(one.probabilities[0]) for one in parsed if one.probabilities} == {0.0, 1.0})

    return _by_question(recorded, flips)


def _by_question(recorded: Iterable[Recorded], value: Callable[[Recorded, int], float | None]) -> Values:
    found: dict[str, tuple[list[float], str]] = {}
    for item in recorded:
        question = item.debate.transcript.question
        own = None if question.gold is None else value(item, question.gold)
        if own is not None:
            found.setdefault(question.id, ([], question.story_id))[0].append(own)
    return {name: (fmean(values), story) for name, (values, story) in found.items()}


def _mean(values: Values) -> Interval | None:
    if not values:
        return None
    rows = list(values.values())
    return cluster_mean([value for value, _ in rows], [story for _, story in rows], bounds=(0.0, 1.0))


#: What is compared between levels, by what tables call it.
MEASURES: Mapping[str, Measure] = {
    "judge right": by_question,
    "orders combined": by_combined,
    "right side's share": by_share,
    "flips": by_flips,
}


def compare(one: Measured, other: Measured) -> dict[str, Contrast]:
    """Set a level against another, over the questions that were decided at both.

    Args:
        one: A level.
        other: Another.

    Returns:
        By measure, the first less the other; without those of which no question has both.
    """
    first, second = ((level.level.label, level.recorded) for level in (one, other))
    found = {name: contrast(one.judge, first, second, measure=measure) for name, measure in MEASURES.items()}
    return {name: gap for name, gap in found.items() if gap is not None}
