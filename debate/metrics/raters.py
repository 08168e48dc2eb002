"""Which people's judgements to trust, by what they say and how they agree with others, never by the right answers.

What is measured here has no field for the right answer, so nobody can be left out for being wrong: the accuracy of
judges who were chosen by it would say nothing (as in Khan et al. 2024).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from debate.metrics.intervals import Interval, cluster_mean
from debate.verdict import points

_WORD = re.compile(r"\w[\w'’-]*")
_SHORTEST = 4  # letters of a word that can show that somebody read a debate
_ALIKE = 90.0  # rapidfuzz ratio from which two explanations are one
#: Words that say nothing of one debate: they stand in any, or in what is said of any.
_COMMON = frozenset(
    """about after again against all also always another answer answers argued argues argument arguments aren't because
    been before being believe better both case claim claimed claims clear clearly consultant consultants convincing
    could debate debater debaters decided does doesn't don't each either else enough even every evidence evident
    explain explained explains fact false find first from give given gives good have here however into isn't itself
    judge just know less line lines made make makes mean means might more most much must never none nothing only
    opponent other others over passage passages point points prove proved proves question quote quoted quotes rather
    reads really reason right round said same says second seem seems shall should show showed shows side since some
    speaker still story such support supported supports sure tells text than that that's their them then there these
    they thing things think this those through true unverified verified very want well were what when where whether
    which while whom whose will with without word words would wrong your""".split()  # noqa: SIM905 - a word a line would be a hundred and fifty lines
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """One person's final judgement of a debate.

    Attributes:
        rater: Who judged.
        debate: What was judged.
        cluster: What debates that are not independent share, such as a story.
        probability: What the person gave to the first answer, in the question's own order; in [0, 1].
        explanation: Why, in the person's words.
        speeches: What was said in the debate, as text.
        known: Question and answers: their words show nothing of having read the debate.
    """

    rater: str
    debate: str
    cluster: str
    probability: float
    explanation: str
    speeches: str
    known: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """When a person's judgements are kept.

    Attributes:
        judgements: With fewer there is too little to tell by, and the person is kept.
        agreement: Least share of the others' judgements of the same debates that name the same answer.
        words: Least median length of an explanation, in words.
        unique: Least share of explanations that do not repeat an earlier one of the same person.
        refers: Least share of explanations that take up something said in the debate.
        shared: Words of the debate that an explanation must share to take it up.
    """

    judgements: int = 5
    agreement: float = 0.5
    words: float = 8
    unique: float = 0.8
    refers: float = 0.5
    shared: int = 2


@dataclass(frozen=True, slots=True)
class Rater:
    """A person's judgements, measured.

    Attributes:
        name: The person.
        judgements: How many.
        overlap: How many of them are of debates that others judged too.
        agreement: Mean over those of the share of the others who name the same answer, robust by cluster; None without.
        distance: Mean over those of the distance to the others' mean probability; None without.
        words: Median length of an explanation, in words.
        unique: Share of explanations that do not repeat an earlier one.
        refers: Share of explanations that take up something said in the debate.
        reasons: Why the person's judgements should be left out; empty where they are kept.
    """

    name: str
    judgements: int
    overlap: int
    agreement: Interval | None
    distance: float | None
    words: float
    unique: float
    refers: float
    reasons: tuple[str, ...]

    @property
    def kept(self) -> bool:
        """Whether the person's judgements are kept."""
        return not self.reasons


RULES = Rules()
"""The rules where none are given."""


def rate_raters(judgements: Sequence[Judgement], rules: Rules = RULES) -> list[Rater]:
    """Measure everybody who judged, and say whose judgements to leave out.

    Args:
        judgements: At most one a person and debate; all of those whose agreement counts.
        rules: When they are kept.

    Returns:
        One a person, by name.
    """
    by_debate: dict[str, list[Judgement]] = {}
    for one in judgements:
        by_debate.setdefault(one.debate, []).append(one)
    names = sorted({one.rater for one in judgements})
    return [_rate(name, [one for one in judgements if one.rater == name], by_debate, rules) for name in names]


def _rate(name: str, own: Sequence[Judgement], by_debate: dict[str, list[Judgement]], rules: Rules) -> Rater:
    shares: list[float] = []
    distances: list[float] = []
    clusters: list[str] = []
    for one in own:
        others = [other for other in by_debate[one.debate] if other.rater != name]
        if others:
            ours = points(one.probability)
            shares.append(sum(points(other.probability) == ours for other in others) / len(others))
            mean = math.fsum(other.probability for other in others) / len(others)
            distances.append(abs(one.probability - mean))
            clusters.append(one.cluster)
    agreement = cluster_mean(shares, clusters) if shares else None
    words = median(len(one.explanation.split()) for one in own)
    unique = _unique([one.explanation for one in own])
    refers = sum(refers_to(one, rules.shared) for one in own) / len(own)
    reasons = []
    if len(own) >= rules.judgements:
        if agreement is not None and len(shares) >= rules.judgements and agreement.value < rules.agreement:
            reasons.append(f"agrees with others in {agreement.value:.0%}, under {rules.agreement:.0%}")
        if words < rules.words:
            reasons.append(f"explains in {words:g} words, under {rules.words:g}")
        if unique < rules.unique:
            reasons.append(f"{unique:.0%} of the explanations are new, under {rules.unique:.0%}")
        if refers < rules.refers:
            reasons.append(f"{refers:.0%} of the explanations take up the debate, under {rules.refers:.0%}")
    distance = math.fsum(distances) / len(distances) if distances else None
    return Rater(name, len(own), len(shares), agreement, distance, words, unique, refers, tuple(reasons))


def refers_to(judgement: Judgement, shared: int = RULES.shared) -> bool:
    """Whether an explanation takes up something said in the debate.

    Args:
        judgement: The judgement.
        shared: Different words of at least four letters that it must share with the speeches; those of the question and
            the answers do not count, nor those that stand in any debate.
    """
    said = _telling(judgement.speeches) - _telling(judgement.known)
    return len(said & _telling(judgement.explanation)) >= shared


def _telling(text: str) -> set[str]:
    words = (word.replace("’", "'").removesuffix("'s") for word in _WORD.findall(text.casefold()))
    return {word for word in words if len(word) >= _SHORTEST and word not in _COMMON}


def _unique(explanations: Sequence[str]) -> float:
    """Share of explanations that are like none before them."""
    from rapidfuzz import fuzz

    plain = [" ".join(text.casefold().split()) for text in explanations]
    again = sum(
        any(fuzz.ratio(text, earlier) >= _ALIKE for earlier in itertools.islice(plain, place))
        for place, text in enumerate(plain)
    )
    return 1 - again / len(plain)
