"""Neutral tables: typed columns, cells of a few kinds, and one formatting for the terminal and the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, runtime_checkable

Kind = Literal["text", "count", "number", "share", "rating", "log_odds", "duration"]
Align = Literal["left", "right", "center"]

ABSENT = "–"
NOT_FINITE = "n/a"


@runtime_checkable
class IntervalLike(Protocol):
    """Anything with a value and the ends of an interval; ends of None or NaN mean that there is no interval."""

    @property
    def value(self) -> float:
        """The estimate."""
        ...

    @property
    def low(self) -> float | None:
        """The lower end."""
        ...

    @property
    def high(self) -> float | None:
        """The upper end."""
        ...


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with an interval.

    Attributes:
        value: The estimate.
        low: The lower end, or None where there is none to show.
        high: The upper end, or None where there is none to show.
    """

    value: float
    low: float | None = None
    high: float | None = None


Cell = str | int | float | IntervalLike | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        title: Its heading.
        align: Where its cells stand; None puts text left and everything else right.
        kind: What its numbers are: "count" (whole numbers), "number" (three digits), "share" (0 to 1, shown in
            percent), "rating" (whole Elo points), "log_odds" (signed), "duration" (seconds). Text is shown as it is in
            any kind.
    """

    title: str
    align: Align | None = None
    kind: Kind = "text"

    @property
    def placed(self) -> Align:
        """Where the cells stand."""
        return self.align or ("left" if self.kind == "text" else "right")


@dataclass(frozen=True, slots=True)
class Table:
    """A table that callers build; it says nothing of what its rows are.

    Attributes:
        title: What it shows.
        columns: Its columns.
        rows: One cell a column: text, a number, an interval, or None for nothing.
        note: A sentence or two below it, such as how intervals were made.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def __post_init__(self) -> None:
        """Refuse a row that does not fit the columns."""
        for number, row in enumerate(self.rows, start=1):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.title!r}: row {number} has {len(row)} cells for {len(self.columns)} columns"
                )


class CellText(NamedTuple):
    """A formatted cell: the value, and the interval beside it (empty if there is none)."""

    value: str
    interval: str = ""

    def __str__(self) -> str:
        """Both in one line."""
        return f"{self.value} {self.interval}" if self.interval else self.value


def format_cell(cell: Cell, column: Column) -> CellText:
    """Format a cell as its column's kind asks.

    Args:
        cell: The cell.
        column: The column it stands in.

    Returns:
        Its text; the report and the terminal both show this.
    """
    if cell is None:
        return CellText(ABSENT)
    if isinstance(cell, str):
        return CellText(cell)
    if isinstance(cell, (bool, int, float)):
        return CellText(format_number(cell, column.kind))
    value = format_number(cell.value, column.kind)
    if cell.low is None or cell.high is None or math.isnan(cell.low) or math.isnan(cell.high):
        return CellText(value)
    low, high = (format_number(end, column.kind) for end in (cell.low, cell.high))
    return CellText(value, f"[{low}, {high}]")


def shared_cells(table: Table) -> dict[int, str]:
    """Find columns that say the same in every row, such as the one judge of a run; a page says it once.

    Args:
        table: The table.

    Returns:
        By place of the column, its text; nothing for a table of one row, and never all columns.
    """
    if len(table.rows) < 2:
        return {}
    found = {
        place: first
        for place, (column, first) in enumerate(zip(table.columns, table.rows[0], strict=True))
        if column.kind == "text" and isinstance(first, str) and all(row[place] == first for row in table.rows)
    }
    return found if len(found) < len(table.columns) else {}


def format_number(value: float, kind: Kind) -> str:
    """Format a number as one of the kinds; a number that is not finite is "n/a", or an infinity sign."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if math.isnan(value):
        return NOT_FINITE
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if kind == "duration":
        return _duration(value)
    text = {
        "text": lambda: str(value) if isinstance(value, int) else f"{value:.3g}",
        "count": lambda: f"{value:,.0f}",
        "number": lambda: f"{value:,}" if isinstance(value, int) else _digits(value),
        "share": lambda: f"{100 * value:.1f}%",
        "rating": lambda: f"{value:.0f}",
        "log_odds": lambda: f"{value:+.2f}",
    }[kind]()
    # "-0" and "-0.0%" say nothing that "0" does not.
    return text.lstrip("+-") if not any(digit in "123456789" for digit in text) else text


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}"


def _duration(seconds: float) -> str:
    if seconds < 0:
        return f"-{_duration(-seconds)}"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02d} min"
