"""What recorded outcomes amount to: the same figures as tables and as plain values; and where a run leaves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from debate.report import Table

#: What a run leaves of its outcomes, one JSON object a line; its field ``system`` says whose they are.
OUTCOMES = "outcomes.jsonl"


class Found(NamedTuple):
    """Figures of recorded outcomes.

    Attributes:
        tables: For people.
        metrics: The same as plain values that JSON can hold.
    """

    tables: Sequence[Table]
    metrics: Mapping[str, object]
