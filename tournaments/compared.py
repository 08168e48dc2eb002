"""What a comparison of optimizers found: win rates against the base, ratings by assignment, and over-optimisation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, overload

from debate.agents.judge import JudgeConfig
from debate.metrics.accuracy import accuracy, final_verdicts
from debate.metrics.intervals import Interval, cluster_mean
from debate.metrics.speeches import SpeechFigures
from debate.record import Recorded
from debate.verdict import points
from tournaments.held import Held
from tournaments.ladder import player_score
from tournaments.matches import OutcomeKind, outcomes
from tournaments.ratings import Outcome, Rating, fit
from tournaments.variants import Match, Variant, match_of

Side = Literal["right", "wrong"]


@dataclass(frozen=True, slots=True)
class Cost:
    """What speeches took, measured: means over the speeches of some self-play.

    Attributes:
        calls: To all models, each sample one.
        tokens_in: Of prompts.
        tokens_out: Of replies.
    """

    calls: float
    tokens_in: float
    tokens_out: float


@dataclass(frozen=True, slots=True)
class Rates:
    """How a variant fared before one judge.

    Attributes:
        both: Its score against the base, over both assignments; None where it does not debate it.
        right: The same where it was assigned the right answer.
        wrong: The same where it was assigned the wrong one.
        self_play: How often the judge's single verdicts on its self-play are right.
    """

    both: Interval | None
    right: Interval | None
    wrong: Interval | None
    self_play: Interval | None


@dataclass(frozen=True, slots=True)
class JudgeView:
    """What one judge made of all debates.

    Attributes:
        name: The judge.
        config: Its configuration.
        matches: By variant, its debates with the base, without what was said.
        self_play: By variant, its debates with itself.
        kind: What a verdict counts.
        prior_sd: Of the ratings, in Elo.
    """

    name: str
    config: JudgeConfig
    matches: Mapping[str, Sequence[Recorded]]
    self_play: Mapping[str, Sequence[Recorded]]
    kind: OutcomeKind
    prior_sd: float

    @property
    def recorded(self) -> list[Recorded]:
        """All debates."""
        return [item for group in (self.matches, self.self_play) for items in group.values() for item in items]

    def match(self, variant: Variant) -> Match:
        """Whether the judge is the variant's preference model."""
        return match_of(variant.preference, self.config)

    def rates(self, variant: Variant) -> Rates:
        """How a variant fared."""
        rows = outcomes(self.matches.get(variant.name, ()), self.kind)
        both, right, wrong = (player_score(rows, variant.name, right=side) for side in (None, True, False))
        return Rates(both, right, wrong, accuracy(self.self_play.get(variant.name, ())).single)

    def ratings(self, variants: Iterable[Variant]) -> dict[tuple[str, Side], Rating]:
        """Rate every variant as assigned the right and the wrong answer, in one fit.

        Every debate sets a right ability against a wrong one. Matches with the base alone leave two groups, the base's
        right side with all wrong ones and its wrong side with all right ones; self-play joins them.

        Args:
            variants: Those that debate.

        Returns:
            A rating of each variant and side; nothing where no verdict or no gold answer is known.
        """
        names = {f"{variant.name} {side}": (variant.name, side) for variant in variants for side in _SIDES}
        known = {name for name, _ in names.values()}
        recorded = [item for items in self.matches.values() for item in items]
        recorded += [item for name, items in self.self_play.items() if name in known for item in items]
        rows = _sides(recorded, self.kind)
        if not rows:
            return {}
        return {names[name]: rating for name, rating in fit(rows, prior_sd=self.prior_sd).players.items()}

    def scores(self, variant: Variant) -> dict[str, tuple[float, str]]:
        """By debate with the base, a variant's mean score over the judge's verdicts, and the story."""
        found = {}
        for item in self.matches.get(variant.name, ()):
            answer = item.debate.players.index(variant.name)
            shares = [one.probabilities[answer] for one in final_verdicts(item) if one.probabilities is not None]
            if shares:
                values = shares if self.kind == "soft" else [points(share) for share in shares]
                story = item.debate.transcript.question.story_id
                found[item.debate.id] = (math.fsum(values) / len(values), story)
        return found


_SIDES: tuple[Side, Side] = ("right", "wrong")


def _sides(recorded: Iterable[Recorded], kind: OutcomeKind) -> list[Outcome]:
    """Outcomes of debates, self-play too, between players' right and wrong sides, each side as a player of its own."""
    rows = []
    for item in recorded:
        question, (first, second) = item.debate.transcript.question, item.debate.players
        if question.gold is None or first is None or second is None:
            continue
        sides = _SIDES if question.gold == 0 else _SIDES[::-1]
        for verdict in final_verdicts(item):
            if verdict.probabilities is not None:
                share = verdict.probabilities[0]
                rows.append(
                    Outcome(
                        player_a=f"{first} {sides[0]}",
                        player_b=f"{second} {sides[1]}",
                        score_a=points(share) if kind == "hard" else share,
                        question_id=question.id,
                        story_id=question.story_id,
                        seat_a="A" if verdict.order[0] == 0 else "B",
                        right=None,
                    )
                )
    return rows


@dataclass(frozen=True, slots=True)
class Gap:
    """How much better a variant does before its own preference model than before a judge that it could not please.

    Attributes:
        variant: The variant.
        judge: The judge that is not its preference model.
        matched: Its score against the base before the preference model.
        held_out: Before the judge.
        gap: The difference, paired by debate.
    """

    variant: Variant
    judge: str
    matched: Interval
    held_out: Interval
    gap: Interval


@dataclass(frozen=True, slots=True)
class Compared:
    """All that a comparison found.

    Attributes:
        variants: All variants, the base first.
        views: What each judge made of the debates.
        preference_scores: By variant, the mean log-odds that its preference model gave to what was spoken.
        spoken: By variant, what its speeches are made of.
        costs: By variant, what a speech took.
    """

    variants: Sequence[Variant]
    views: Sequence[JudgeView]
    preference_scores: Mapping[str, Interval | None]
    spoken: Mapping[str | None, SpeechFigures]
    costs: Mapping[str, Cost]

    @property
    def playing(self) -> list[Variant]:
        """The variants that debate."""
        return [variant for variant in self.variants if variant.plays]

    @property
    def several(self) -> bool:
        """Whether there are several preference models."""
        return len({variant.preference.label for variant in self.variants}) > 1

    @property
    def gaps(self) -> list[Gap]:
        """Over-optimisation, for each variant whose preference model judges too, before each other judge."""
        found = []
        for variant in self.playing:
            matched = next((view for view in self.views if view.match(variant) == "matched"), None)
            for view in self.views if matched is not None and not variant.is_base else ():
                if matched is not None and view is not matched:
                    gap = _gap(variant, matched, view)
                    found += [] if gap is None else [gap]
        return found

    def equals(self, variant: Variant) -> list[str]:
        """Name the other variants of as many expert calls under the same preference model."""
        return [
            other.name
            for other in self.playing
            if other.name != variant.name
            and other.expert_calls == variant.expert_calls
            and other.preference == variant.preference
        ]


def _gap(variant: Variant, matched: JudgeView, other: JudgeView) -> Gap | None:
    ours, theirs = matched.scores(variant), other.scores(variant)
    ids = [name for name in ours if name in theirs]
    if not ids:
        return None
    stories = [ours[name][1] for name in ids]
    differences = [ours[name][0] - theirs[name][0] for name in ids]
    return Gap(
        variant,
        other.name,
        cluster_mean([ours[name][0] for name in ids], stories, bounds=(0, 1)),
        cluster_mean([theirs[name][0] for name in ids], stories, bounds=(0, 1)),
        cluster_mean(differences, stories, bounds=(-1, 1)),
    )


class ScoreSums:
    """Sums up the preference scores of what was spoken, debate by debate, so that none is held."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[float, str]]] = {}

    def add(self, name: str, recorded: Iterable[Recorded]) -> None:
        """Count what a variant says in some debates."""
        found = self._found.setdefault(name, [])
        for item in recorded:
            for turn in item.debate.transcript.turns:
                if turn.answer is None or item.debate.players[turn.answer] != name:
                    continue
                # What was cut has no score of its own, nor has what could not be read.
                said = (one for one in turn.candidates if one.argument == turn.argument and one.score is not None)
                chosen = next(said, None)
                if chosen is not None and chosen.score is not None and not turn.flaws:
                    found.append((chosen.score, item.debate.transcript.question.story_id))

    def means(self) -> dict[str, Interval | None]:
        """Mean score of each variant, with an interval robust by story."""
        bounds = (-math.inf, math.inf)
        return {
            name: cluster_mean([score for score, _ in rows], [story for _, story in rows], bounds=bounds)
            if rows
            else None
            for name, rows in self._found.items()
        }


@dataclass(frozen=True, slots=True, eq=False)
class AllVerdicts(Sequence[Recorded]):
    """Debates with the verdicts of all judges, read anew whenever they are asked for.

    Attributes:
        held: The same debates before each judge.
    """

    held: Sequence[Held]

    def __len__(self) -> int:
        return len(self.held[0])

    def __iter__(self) -> Iterator[Recorded]:
        return (_together(items) for items in zip(*self.held, strict=True))

    @overload
    def __getitem__(self, place: int) -> Recorded: ...

    @overload
    def __getitem__(self, place: slice) -> list[Recorded]: ...

    def __getitem__(self, place: int | slice) -> Recorded | list[Recorded]:
        """Read one debate, or several."""
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        return _together([own[place] for own in self.held])


def _together(items: Sequence[Recorded]) -> Recorded:
    """One debate with the verdicts of several judges; one that failed before any of them has failed."""
    failed = next((item.debate for item in items if item.debate.failed is not None), items[0].debate)
    return Recorded(failed, tuple(verdict for item in items for verdict in item.verdicts))
