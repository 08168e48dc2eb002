"""Shared beginnings of prompts: the keys and values worth keeping.

Keys and values depend on the adapter that a token is read with. So sequences carry its number in every token, above the
token's id: sequences of different adapters have no token in common, and whatever compares sequences keeps them apart.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from torch import Tensor

Tokens = npt.NDArray[np.int64]

# Shorter beginnings are cheaper to compute again than to treat apart.
LEAST_SHARED = 32
RECENT = 64
# The bits of a token's id; those above them are the number of its adapter, 0 for none.
ID_BITS = 32


def marked(ids: Tokens, adapter: int) -> Tokens:
    """Return the sequence of these token ids read with an adapter."""
    return ids + (adapter << ID_BITS)


def ids_of(tokens: Tokens) -> Tokens:
    """Return the token ids of a sequence."""
    return tokens & ((1 << ID_BITS) - 1)


def adapters_of(tokens: Tokens) -> Tokens:
    """Return the number of each token's adapter."""
    return tokens >> ID_BITS


def common(first: Tokens, second: Tokens) -> int:
    """Return how many leading tokens two sequences share."""
    length = min(len(first), len(second))
    differ = np.flatnonzero(first[:length] != second[:length])
    return int(differ[0]) if len(differ) else length


def sort_key(tokens: Tokens) -> bytes:
    """Return a key that sorts sequences lexicographically: neighbours share the most leading tokens."""
    return tokens.astype(">u8").tobytes()


def in_groups(sequences: Sequence[Tokens]) -> list[int]:
    """Order rows so that those that share a beginning are neighbours, groups by their oldest row, which comes first.

    Whoever takes rows from the front so takes the oldest each time: none waits for ever while newer ones come.

    Args:
        sequences: Token ids of each row, the oldest row first.

    Returns:
        Indices of all rows; 0 is the first.
    """
    groups: list[list[int]] = []
    before: Tokens = np.empty(0, np.int64)
    for row in sorted(range(len(sequences)), key=lambda row: sort_key(sequences[row])):
        if groups and common(before, sequences[row]) >= LEAST_SHARED:
            groups[-1].append(row)
        else:
            groups.append([row])
        before = sequences[row]
    # A sorted group begins at any of its rows as well as at its first, and goes round.
    return [
        row
        for group in sorted(groups, key=min)
        for at in [group.index(min(group))]
        for row in (*group[at:], *group[:at])
    ]


class Known(NamedTuple):
    """A stored beginning of a sequence: its name in the store, and how many leading tokens it covers."""

    name: bytes = b""
    tokens: int = 0


class PrefixStore:
    """Keys and values of recent beginnings, the least recently used leaving first.

    Any leading part of a stored sequence serves: keys and values of a token depend on the tokens before it only.

    Args:
        limit: Most bytes to hold.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bytes = 0
        self._entries: OrderedDict[bytes, tuple[Tokens, Tensor]] = OrderedDict()
        self._recent: deque[Tokens] = deque(maxlen=RECENT)

    def find(self, tokens: Tokens) -> Known:
        """Return the longest stored beginning of ``tokens`` that is worth reading."""
        best = Known()
        for name, (stored, _) in self._entries.items():
            shared = common(stored, tokens)
            if shared > best.tokens:
                best = Known(name, shared)
        return best if best.tokens >= LEAST_SHARED else Known()

    def read(self, name: bytes, tokens: int) -> Tensor:
        """Return keys and values (layers, 2, heads, tokens, dim) of the first tokens of a stored beginning."""
        self._entries.move_to_end(name)
        return self._entries[name][1][:, :, :, :tokens]

    def put(self, tokens: Tokens, entry: Tensor) -> None:
        """Store keys and values of ``tokens``; what would fill more than half the room is not stored."""
        size = entry.numel() * entry.element_size()
        if 2 * size > self.limit:
            return
        key = tokens.tobytes()
        if key in self._entries:
            return
        self._entries[key] = (tokens, entry)
        self.bytes += size
        while self.bytes > self.limit:
            _, (_, dropped) = self._entries.popitem(last=False)
            self.bytes -= dropped.numel() * dropped.element_size()

    def met(self, tokens: Tokens) -> int:
        """Return the most leading tokens that a recent sequence shares with this one, which then counts as recent."""
        best = max((common(seen, tokens) for seen in self._recent), default=0)
        self._recent.append(tokens)
        return best if best >= LEAST_SHARED else 0

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._recent.clear()
        self.bytes = 0
