"""What each side of a debate said, in numbers: words, quotes that the story holds, and quotes that it does not."""

from __future__ import annotations

from typing import NamedTuple

from debate.record import Debate


class Side(NamedTuple):
    """All speeches for one answer.

    Attributes:
        words: How many.
        verified: Quotes that the story holds.
        unverified: Quotes that it does not hold.
    """

    words: int
    verified: int
    unverified: int

    def less(self, other: Side) -> Side:
        """How much more of each this side has than another."""
        return Side(*(ours - theirs for ours, theirs in zip(self, other, strict=True)))


def side_of(debate: Debate, answer: int) -> Side | None:
    """Count what was said for an answer; None where nobody argued for it."""
    speeches = [turn.argument for turn in debate.transcript.turns if turn.answer == answer]
    if not speeches:
        return None
    quotes = [quote for speech in speeches for quote in speech.quotes]
    verified = sum(quote.verified for quote in quotes)
    return Side(sum(speech.words for speech in speeches), verified, len(quotes) - verified)


def gold_lead(debate: Debate) -> Side | None:
    """How much more the right side said than the wrong one; None where a side is silent or the right one not known."""
    gold = debate.transcript.question.gold
    if gold is None:
        return None
    right, wrong = side_of(debate, gold), side_of(debate, 1 - gold)
    return None if right is None or wrong is None else right.less(wrong)
