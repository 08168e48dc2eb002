"""Shared beginnings of prompts: which rows to compute together, and the keys and values worth keeping."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from torch import Tensor

Tokens = npt.NDArray[np.int64]

# Shorter beginnings are cheaper to compute again than to treat apart.
LEAST_SHARED = 64
# What one more forward pass costs, in tokens: sharing may lose this much before a group is split.
PASS_COST = 256
RECENT = 64


def common(first: Tokens, second: Tokens) -> int:
    """Return how many leading tokens two sequences share."""
    length = min(len(first), len(second))
    differ = np.flatnonzero(first[:length] != second[:length])
    return int(differ[0]) if len(differ) else length


class Group(NamedTuple):
    """Rows to compute together, and how many leading tokens they share."""

    rows: list[int]
    shared: int


def plan(sequences: Sequence[Tokens], own: Sequence[int]) -> list[Group]:
    """Group rows by shared beginnings, so that few tokens are computed in few passes.

    Neighbours in lexicographic order share the most. A row joins the running group unless the beginning lost to the
    group costs more than another pass.

    Args:
        sequences: Token ids of each row.
        own: How many last tokens of each row must not be in a shared beginning, at least 1.

    Returns:
        Groups that hold every row once. All rows that share nothing are in one group with ``shared`` 0.
    """
    order = sorted(range(len(sequences)), key=lambda row: sequences[row].astype(">u4").tobytes())
    groups: list[Group] = []
    for row in order:
        free = len(sequences[row]) - own[row]
        if groups:
            group = groups[-1]
            first = sequences[group.rows[0]]
            shared = min(group.shared, free, common(first, sequences[row]))
            lost = (group.shared - shared) * (len(group.rows) - 1)
            if shared >= LEAST_SHARED and lost <= PASS_COST:
                group.rows.append(row)
                groups[-1] = Group(group.rows, shared)
                continue
        groups.append(Group([row], free))
    alone = [group.rows[0] for group in groups if len(group.rows) == 1]
    together = [group for group in groups if len(group.rows) > 1]
    return [*together, Group(alone, 0)] if alone else together


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

    def find(self, tokens: Tokens) -> Tensor | None:
        """Return keys and values (layers, 2, heads, n, dim) of the longest stored beginning of ``tokens``, or None."""
        best, key = 0, b""
        for name, (stored, _) in self._entries.items():
            shared = common(stored, tokens)
            if shared > best:
                best, key = shared, name
        if best < LEAST_SHARED:
            return None
        self._entries.move_to_end(key)
        return self._entries[key][1][:, :, :, :best]

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
