"""Translations of ambiguous texts: chrF and BLEU by sacrebleu, and which reading a translation shows, without a model.

sacrebleu takes a third of a second to import, so it is imported where it is used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from debate.item import Item

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

Reading = Literal["right", "trap"]


class Overlap(NamedTuple):
    """How near a translation is to a reference, by sacrebleu, sentence by sentence.

    Attributes:
        chrf: chrF2 (Popović 2015), 0 to 100.
        bleu: BLEU with effective order (Papineni et al. 2002), 0 to 100.
    """

    chrf: float
    bleu: float


def overlap(translation: str, references: Sequence[str]) -> Overlap:
    """Compare a translation with its references.

    Args:
        translation: The translation.
        references: One or more.

    Returns:
        The scores; of several references chrF takes the best, BLEU counts what is in any.
    """
    refs = list(references)
    # Rounding may leave a perfect score just above 100.
    return Overlap(*(min(100.0, metric.sentence_score(translation, refs).score) for metric in _metrics()))


@cache
def _metrics() -> tuple[CHRF, BLEU]:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(), BLEU(effective_order=True)


def reading(item: Item, translation: str) -> Reading | None:
    """Tell which reading of the ambiguous words a translation shows.

    Args:
        item: A text to be translated.
        translation: Its translation.

    Returns:
        The reading whose words it holds, where it holds those of one only; else that of the reference to which it is
        nearer by chrF, and None where it is equally near to both.
    """
    right, trap = (_holds(translation, words) for words in (item.right_words, item.trap_words))
    if right != trap:
        return "right" if right else "trap"
    near, far = overlap(translation, item.right).chrf, overlap(translation, [item.trap]).chrf
    return None if near == far else "right" if near > far else "trap"


def _holds(text: str, words: Sequence[str]) -> bool:
    plain = " ".join(text.casefold().replace("’", "'").split())
    return any(re.search(rf"(?<!\w){re.escape(word.casefold())}", plain) for word in words)
