"""Which tokens of a speech are what it quotes: a lesson in where to look learns these alone.

The first few tokens of a quote say which sentence was chosen, and are few among the eighty or so of a speech.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from training.fitting import IGNORED

if TYPE_CHECKING:
    from debate.models.texts import Texts

Learn = Literal["speech", "quotes"]
_QUOTE = re.compile(r"<quote>(.*?)</quote>", re.DOTALL)


def quoted_tokens(tokens: Sequence[int], texts: Texts) -> list[bool]:
    """Say which tokens of a speech, as a debater writes it, stand within its quotes.

    Args:
        tokens: Of the speech, without its prompt.
        texts: The tokenizer.

    Returns:
        One truth value a token.
    """
    ends = [len(texts.decode(tokens[: place + 1])) for place in range(len(tokens))]
    spans = [found.span(1) for found in _QUOTE.finditer(texts.decode(tokens))]
    within: list[bool] = []
    for start, end in zip([0, *ends], ends, strict=False):
        # A token that adds no letter finishes the one before it, of which it is a part.
        finishes = start == end and bool(within)
        within.append(within[-1] if finishes else any(end > first and start < last for first, last in spans))
    return within


def quote_labels(labels: Sequence[int], texts: Texts) -> list[int]:
    """Leave of a row's labels those of tokens within quotes.

    Args:
        labels: One a token, IGNORED where nothing is learned: in the prompt.
        texts: The tokenizer.

    Returns:
        As many, IGNORED outside quotes too.
    """
    spoken = [place for place, label in enumerate(labels) if label != IGNORED]
    within = quoted_tokens([labels[place] for place in spoken], texts)
    kept = {place for place, quoted in zip(spoken, within, strict=True) if quoted}
    return [label if place in kept else IGNORED for place, label in enumerate(labels)]
