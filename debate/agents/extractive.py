"""The extractive debater: no model, only lexical overlap; the free baseline and the anchor of ratings."""

from __future__ import annotations

from collections.abc import Sequence

from debate.agents.debater import Limits, Speech, speak
from debate.agents.passages import overlaps, quotable
from debate.models.base import Draw
from debate.quotes import Argument, Name, Quote
from debate.transcript import Candidate
from debate.view import View


def rank_by_overlap(view: View, quotes: Sequence[Quote]) -> list[Quote]:
    """Rank sentences by the words they share with one's own answer and not with the opponent's.

    Args:
        view: The debater's view.
        quotes: Sentences.

    Returns:
        Sentences, best first, ties in story order.
    """
    values = overlaps(view, quotes)
    return [quotes[index] for index in sorted(range(len(quotes)), key=lambda index: (-values[index], index))]


class ExtractiveDebater:
    """States its answer and quotes the sentences that share most words with it.

    Args:
        name: The player's name.
        limits: Words; quotes are added until ``min_words`` is reached.
        quotes: Quotes in a speech, at least.
    """

    def __init__(self, *, name: str, limits: Limits, quotes: int = 2) -> None:
        self.name = name
        self._limits = limits
        self._quotes = quotes

    async def candidates(self, view: View, draw: Draw, n: int) -> tuple[Candidate, ...]:  # noqa: ARG002 - nothing is drawn
        """Make the one candidate there is, however many are wanted; see Debater."""
        spoken = {quote.text for turn in view.turns if turn.seat == view.seat for quote in turn.argument.quotes}
        fresh = quotable(view.story or "", self._limits.max_words // 2, spoken=spoken)
        spans: list[str | Quote | Name] = [view.own_answer]
        for quote in rank_by_overlap(view, fresh):
            enough = sum(isinstance(span, Quote) for span in spans) >= self._quotes
            words = Argument(tuple(spans)).words
            if enough and words >= self._limits.min_words:
                break
            lead = " The story says: " if len(spans) == 1 else " It also says: "
            if words + len(lead.split()) + len(quote.text.split()) <= self._limits.max_words:
                spans += [lead, quote]
        argument = Argument(tuple(spans))
        return (Candidate("", argument, "", self._limits.flaws(argument)),)

    async def argue(self, view: View, draw: Draw) -> Speech:
        """Make the next speech; see Debater."""
        return speak(await self.candidates(view, draw, 1), self._limits, view.story)
