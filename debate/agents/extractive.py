"""The extractive debater: no model, only lexical overlap; the free baseline and the anchor of ratings."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from debate.agents.debater import Limits, Speech, speak
from debate.agents.evidence import quotable
from debate.models.base import Draw
from debate.quotes import Argument, Name, Quote
from debate.transcript import Candidate
from debate.view import View

_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")


def rank_by_overlap(view: View, quotes: Sequence[Quote]) -> list[Quote]:
    """Rank sentences by the words they share with one's own answer and not with the opponent's.

    Each shared word counts log(1 + N / sentences that hold it), twice if it is in the own answer only, once if in the
    question, minus once if in the other answer only; the sum is divided by the square root of the sentence's length.

    Args:
        view: The debater's view.
        quotes: Sentences.

    Returns:
        Sentences, best first, ties in story order.
    """
    bags = [_stems(quote.text) for quote in quotes]
    holding = Counter(stem for bag in bags for stem in set(bag))
    own, other, question = (set(_stems(text)) for text in (view.own_answer, view.other_answer, view.question))
    weights = dict.fromkeys(question, 1.0) | dict.fromkeys(own - other, 2.0) | dict.fromkeys(other - own, -1.0)

    def value(index: int) -> float:
        shared = set(bags[index]) & weights.keys()
        total = sum(weights[stem] * math.log(1 + len(quotes) / holding[stem]) for stem in shared)
        return total / math.sqrt(len(bags[index]) or 1)

    return [quotes[index] for index in sorted(range(len(quotes)), key=lambda index: (-value(index), index))]


def _stems(text: str) -> list[str]:
    """Lower-case words without common endings: enough to match "carried" with "carry"."""
    return [
        re.sub(r"(?:'s|ies|ied|ing|ed|es|s|y)$", "", word) if len(word) > 4 else word
        for word in _WORD.findall(text.lower())
    ]


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
        fresh = [quote for quote in quotable(view.story or "", self._limits.max_words // 2) if quote.text not in spoken]
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
        return speak(await self.candidates(view, draw, 1), self._limits)
