"""Packing the rows of a batch into one pass, as the local engine packs the requests that it answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from debate.models.forest import Forest, grow
from debate.models.prefixes import Known, Tokens

STEP = 64
"""Tokens of a pass are a multiple of this: torch keeps memory for each size that it has met."""


def pack(sequences: Sequence[Tokens]) -> Forest:
    """Pack rows without padding, tokens that they share computed once, and fill the pass up to a size that recurs.

    Args:
        sequences: Token ids of each row.

    Returns:
        The forest: a path for each row, and perhaps one more, of what fills the pass up, which no row sees.
    """
    forest = _grow(sequences)
    lacking = -len(forest.tokens) % STEP
    if not lacking:
        return forest
    firsts = {int(tokens[0]) for tokens in sequences}
    token = next(token for token in range(len(firsts) + 1) if token not in firsts)  # shares no row's beginning
    return _grow([*sequences, np.full(lacking, token, dtype=sequences[0].dtype)])


def _grow(sequences: Sequence[Tokens]) -> Forest:
    return grow(sequences, [Known()] * len(sequences), [1] * len(sequences))
