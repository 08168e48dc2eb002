"""Rating sheets: translations for people to rate without knowing who made them, and what their ratings say.

A run of translations leaves ``rating-sheet.csv`` for raters and ``rating-key.csv``, which says whose each row is. A
rater fills in a copy beside them, ``rating-sheet-NAME.csv``; ``--outcomes DIR`` then shows the ratings of all copies. A
row is named by what stands in it, so that copies keep their meaning if a resumed run adds rows.
"""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from debate.item import Item
from debate.metrics.intervals import Interval, cluster_mean
from debate.report import Column, Table
from debate.report.table import Cell
from debate.run_folder import RunFolder
from debate.sources.rows import Row, csv_rows
from debate.sources.select import rank

SHEET, KEY = "rating-sheet.csv", "rating-key.csv"
_HEAD = ("row", "text", "ambiguous words", "right reading", "translation", "reads it right (y/n)", "quality (1-5)")
_YES, _NO = {"y", "yes", "1"}, {"n", "no", "0"}


class Rated(NamedTuple):
    """One rating.

    Attributes:
        way: What made the translation.
        item: The item's id.
        right: Whether the ambiguous words are read rightly, or None where the rater did not say.
        quality: 1 to 5, or None where the rater did not say.
    """

    way: str
    item: str
    right: bool | None
    quality: int | None


def write_sheet(run: RunFolder, items: Sequence[Item], answers: Mapping[tuple[str, str], str], seed: int) -> None:
    """Write the sheet and its key into a run folder.

    Equal translations of an item are one row, and rows are in an order that says nothing.

    Args:
        run: The open run.
        items: The items.
        answers: Translations, by way and item.
        seed: Draws the order.
    """
    made: dict[tuple[str, str], list[str]] = {}
    for (way, name), text in answers.items():
        made.setdefault((name, " ".join(text.split())), []).append(way)
    rows = sorted(made, key=lambda key: rank(seed, "rating", "\0".join(key)))
    by_id = {item.id: item for item in items}
    sheet: list[Sequence[str]] = [_HEAD]
    key: list[Sequence[str]] = [("row", "item", "way")]
    for name, text in rows:
        item, number = by_id[name], hashlib.sha256(f"{name}\0{text}".encode("utf-8", "replace")).hexdigest()[:10]
        sheet.append((f"r{number}", item.text, item.focus, item.right[0], text, "", ""))
        key += [(f"r{number}", name, way) for way in made[(name, text)]]
    _set_aside(run.path, _csv(sheet))
    run.write_text(SHEET, _csv(sheet))
    run.write_text(KEY, _csv(key))


def _set_aside(folder: Path, text: str) -> None:
    """Keep a sheet that somebody filled in itself, and not a copy of it: it becomes one."""
    sheet = folder / SHEET
    if not sheet.is_file() or sheet.read_bytes().decode("utf-8", "replace") == text:
        return
    number = next(number for number in itertools.count(1) if not (folder / f"rating-sheet-kept-{number}.csv").exists())
    sheet.rename(folder / f"rating-sheet-kept-{number}.csv")


def _csv(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO("\ufeff")  # by which spreadsheets know UTF-8
    text.seek(1)
    # A spreadsheet would take what a model wrote for a formula.
    safe = ([f"'{cell}" if cell.startswith(("=", "+", "-", "@")) else cell for cell in row] for row in rows)
    csv.writer(text, lineterminator="\n").writerows(safe)
    return text.getvalue()


def read_ratings(folder: Path) -> list[Rated]:
    """Read all copies of a sheet that raters have filled in.

    Args:
        folder: The run folder.

    Returns:
        The ratings, one for each way that made a rated translation; none where there is no sheet, or nothing is filled
        in.

    Raises:
        SourceError: A sheet or the key cannot be read, or a cell holds what is no rating.
    """
    if not (folder / KEY).is_file():
        return []
    owners: dict[str, list[tuple[str, str]]] = {}
    for row in csv_rows(folder / KEY):
        owners.setdefault(row.text("row"), []).append((row.text("way"), row.text("item")))
    found = []
    for path in sorted(folder.glob("rating-sheet*.csv")):
        for row in csv_rows(path):
            right, quality = _right(row), _quality(row)
            if right is None and quality is None:
                continue
            number = row.text("row")
            if number not in owners:
                raise row.error(f"row {number} is not in {KEY}; take the sheet of this run")
            found += [Rated(way, item, right, quality) for way, item in owners[number]]
    return found


def _right(row: Row) -> bool | None:
    given = row.any_text(_HEAD[5]).strip().lower()
    if given and given not in _YES | _NO:
        raise row.error(f"{_HEAD[5]!r} is {given!r}; write y or n, or leave it empty")
    return given in _YES if given else None


def _quality(row: Row) -> int | None:
    given = row.any_text(_HEAD[6]).strip()
    if given and given not in {"1", "2", "3", "4", "5"}:
        raise row.error(f"{_HEAD[6]!r} is {given!r}; write 1 to 5, or leave it empty")
    return int(given) if given else None


def ratings_table(ratings: Sequence[Rated]) -> Table:
    """What people say of each way of translating: ambiguity accuracy and quality."""
    rows: list[list[Cell]] = []
    for way in dict.fromkeys(one.way for one in ratings):
        own = [one for one in ratings if one.way == way]
        right = [(one.item, float(one.right)) for one in own if one.right is not None]
        quality = [(one.item, float(one.quality)) for one in own if one.quality is not None]
        rows.append([way, len(own), _mean(right, (0.0, 1.0)), _mean(quality, (1.0, 5.0))])
    columns = (
        Column("translated by"),
        Column("ratings", kind="count"),
        Column("ambiguity accuracy", kind="share"),
        Column("quality, 1 to 5", kind="number"),
    )
    note = "By people, who did not know whose a translation was. Intervals are 95 %, robust by text."
    return Table("People's ratings", columns, rows, note=note)


def _mean(rows: Sequence[tuple[str, float]], bounds: tuple[float, float]) -> Interval | None:
    if not rows:
        return None
    return cluster_mean([value for _, value in rows], [item for item, _ in rows], bounds=bounds)
