"""The report's tables in a terminal, or plain in a file or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from debate.report.table import Table, format_cell

if TYPE_CHECKING:
    from rich.table import Table as RichTable


# A folded column of text keeps at least so many characters.
_MIN_TEXT = 12
_GAP = 2


def print_table(table: Table, *, file: TextIO | None = None) -> None:
    """Print a table.

    A terminal gets rich's styles and columns folded to its width, or several tables one below the other where the
    numbers do not fit side by side. Anything else gets plain text, one line a row, however long. Cells are text, never
    markup: escape sequences in a name do nothing.

    Args:
        table: What to print.
        file: Where to; standard output by default.
    """
    from rich.console import Console
    from rich.text import Text

    out = sys.stdout if file is None else file
    terminal = out.isatty()
    console = Console(file=out, force_terminal=terminal, highlight=False, emoji=False, markup=False)
    grids = [_grid(table, out, fold=False)]
    needed = Console(file=out, width=1_000_000, color_system=None).measure(grids[0]).maximum
    if terminal and needed > console.width:
        widths = [(column.width or _MIN_TEXT) + _GAP for column in _grid(table, out, fold=True).columns]
        groups = _groups(widths, console.width)
        grids = [_grid(_part(table, group), out, fold=True) for group in groups]
        needed = max(sum(widths[index] for index in group) for group in groups)
    console.width = max(console.width, needed)
    if table.title:
        console.print(Text(_plain(table.title, out), style="bold"), soft_wrap=True)
    for index, grid in enumerate(grids):
        if index:
            console.print()
        console.print(grid, crop=False)
    if table.note:
        console.print(Text(_plain(table.note, out), style="dim"), soft_wrap=not terminal)


def _grid(table: Table, out: TextIO, *, fold: bool) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, _GAP - 1, 0, 0), header_style="bold")
    rows = [
        [_plain(str(format_cell(cell, column)), out) for cell, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
    for index, column in enumerate(table.columns):
        title = _plain(column.title, out)
        # Folded, a column of numbers is as wide as its numbers and the longest word above them; text takes the rest.
        numbers = fold and column.kind != "text"
        pieces = [*title.split(), *(row[index] for row in rows), " "]
        grid.add_column(
            Text(title),
            justify=column.placed,
            no_wrap=not fold,
            width=max(Text(piece).cell_len for piece in pieces) if numbers else None,
            min_width=_MIN_TEXT if fold and not numbers else None,
            overflow="fold",
        )
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))
    return grid


def _groups(widths: Sequence[int], width: int) -> list[list[int]]:
    """Share columns out over tables that fit a width, the first column in each, so that rows keep their names."""
    groups = [[0]]
    for index in range(1, len(widths)):
        if len(groups[-1]) > 1 and sum(widths[at] for at in (*groups[-1], index)) > width:
            groups.append([0])
        groups[-1].append(index)
    return groups


def _part(table: Table, group: Sequence[int]) -> Table:
    rows = [[row[index] for index in group] for row in table.rows]
    return Table(table.title, [table.columns[index] for index in group], rows)


def _plain(text: str, out: TextIO) -> str:
    printable = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    encoding = getattr(out, "encoding", None) or "utf-8"
    return printable.encode(encoding, "replace").decode(encoding)
