"""What speeches are made of: words, quotes, and how many of them the story holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from debate.transcript import Turn


@dataclass(frozen=True, slots=True)
class SpeechFigures:
    """Counts over speeches.

    Attributes:
        speeches: How many.
        words: Mean words of a speech.
        quotes: Mean quotes of a speech.
        verified: Share of quotes that the story holds, or None where there are no quotes.
        invalid: Share of speeches with a flaw.
    """

    speeches: int
    words: float
    quotes: float
    verified: float | None
    invalid: float


def speech_figures(turns: Iterable[Turn]) -> SpeechFigures | None:
    """Count over speeches; None where there are none."""
    listed = list(turns)
    if not listed:
        return None
    quotes = [quote for turn in listed for quote in turn.argument.quotes]
    return SpeechFigures(
        speeches=len(listed),
        words=sum(turn.argument.words for turn in listed) / len(listed),
        quotes=len(quotes) / len(listed),
        verified=sum(quote.verified for quote in quotes) / len(quotes) if quotes else None,
        invalid=sum(bool(turn.flaws) for turn in listed) / len(listed),
    )
