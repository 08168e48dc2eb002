"""Draws that are the same on every machine and every version of Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """Random draws from a text key.

    Python promises the same sequence in later versions only for ``random.Random(seed).random()``, so every draw here is
    made of that one method.
    """

    def __init__(self, *key: object) -> None:
        self._random = random.Random("\0".join(map(str, key))).random

    def below(self, n: int) -> int:
        """Return a whole number from 0 to ``n - 1``, each as likely."""
        return int(self._random() * n)

    def between(self, low: int, high: int) -> int:
        """Return a whole number from ``low`` to ``high``, both included."""
        return low + self.below(high - low + 1)

    def coin(self, percent: int = 50) -> bool:
        """Return True with a chance of ``percent`` in 100."""
        return self.below(100) < percent

    def choice(self, items: Sequence[T]) -> T:
        """Return one of the items, each as likely."""
        return items[self.below(len(items))]

    def weighted(self, items: Sequence[T], cumulative: Sequence[int]) -> T:
        """Return one of the items.

        Args:
            items: What to choose from.
            cumulative: Running sums of their weights, as long as ``items``.

        Returns:
            An item, with a chance in proportion to its weight.
        """
        at = self.below(cumulative[-1])
        return next(item for item, limit in zip(items, cumulative, strict=True) if at < limit)

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order (Fisher-Yates)."""
        order = list(items)
        for at in range(len(order) - 1, 0, -1):
            other = self.below(at + 1)
            order[at], order[other] = order[other], order[at]
        return order
