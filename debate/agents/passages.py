"""What of a story can be quoted, and how much each sentence shares with the question and the answers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Sequence
from functools import lru_cache

from debate.quotes import Quote, quote_span
from debate.sentences import sentence_spans
from debate.view import View

# Long sentences hold more words by chance; chosen on the stories of two folds, see docs/results/evidence.md.
LENGTH_POWER = 0.3
_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")


#: Shorter sentences ("It did.") say too little by themselves to be evidence.
MIN_WORDS = 6


def quotable(story: str, max_words: int, min_words: int = MIN_WORDS, spoken: Container[str] = ()) -> list[Quote]:
    """Return the story's sentences that can stand as verified quotes, in order, a repeated one once.

    Args:
        story: The story.
        max_words: Longest sentence, in words; where none is within the lengths, every sentence counts.
        min_words: Shortest sentence, in words.
        spoken: Texts of quotes that are left out, since the debater has used them.

    Returns:
        Verified quotes.
    """
    verified = [quote for quote in _sentences(story) if quote.text not in spoken]
    return [quote for quote in verified if min_words <= len(quote.text.split()) <= max_words] or verified


# As many stories as story_index keeps: every speech of every debate on a story asks for its sentences.
@lru_cache(maxsize=1024)
def _sentences(story: str) -> tuple[Quote, ...]:
    quotes = (quote_span(story, start, end) for start, end in sentence_spans(story))
    return tuple(dict.fromkeys(quote for quote in quotes if quote.verified))


def overlaps(view: View, quotes: Sequence[Quote]) -> list[float]:
    """Measure the words that sentences share with one's own answer and the question, and not with the other answer.

    Each shared word counts log(1 + N / sentences that hold it), twice if it is in the own answer only, once if in the
    question, minus once if in the other answer only; the sum is divided by the sentence's length to the power 0.3.

    Args:
        view: The debater's view.
        quotes: Sentences of one story.

    Returns:
        A number for each, mostly between -2 and 4.
    """
    bags = [_stems(quote.text) for quote in quotes]
    holding = Counter(stem for bag in bags for stem in set(bag))
    own, other, question = (set(_stems(text)) for text in (view.own_answer, view.other_answer, view.question))
    weights = dict.fromkeys(question, 1.0) | dict.fromkeys(own - other, 2.0) | dict.fromkeys(other - own, -1.0)

    def value(bag: Sequence[str]) -> float:
        total = sum(
            weights[stem] * math.log(1 + len(quotes) / holding[stem]) for stem in sorted(set(bag) & weights.keys())
        )
        return float(total / max(1, len(bag)) ** LENGTH_POWER)

    return [value(bag) for bag in bags]


def _stems(text: str) -> list[str]:
    """Lower-case words without common endings: enough to match "carried" with "carry"."""
    return [
        re.sub(r"(?:'s|ies|ied|ing|ed|es|s|y)$", "", word) if len(word) > 4 else word
        for word in _WORD.findall(text.lower())
    ]
