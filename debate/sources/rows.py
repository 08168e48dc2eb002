"""Strict reading of text files and JSON rows: what is wrong is named with its file and line."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from debate.errors import SourceError

T = TypeVar("T")
_GZIP = b"\x1f\x8b"


def hint(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the known word nearest to a wrong one, or nothing if none is near."""
    from rapidfuzz import process

    best = process.extractOne(word, list(known), score_cutoff=60)
    return f"; did you mean {best[0]!r}?" if best else ""


def listed(words: Iterable[str]) -> str:
    """Join words for a message, sorted."""
    return ", ".join(sorted(words))


def read_text(path: Path) -> str:
    """Read a UTF-8 text file, packed with gzip or not.

    Raises:
        SourceError: The file cannot be read, is cut off or is not UTF-8.
    """
    try:
        data = path.read_bytes()
        if data.startswith(_GZIP):
            data = gzip.decompress(data)
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{path} is not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from error
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SourceError(f"cannot read {path}: {reason}; check the path and that the file is whole") from error


def json_row(text: str, where: str) -> Row:
    """Parse one JSON object.

    Raises:
        SourceError: The text is not JSON, not an object, or holds half of a surrogate pair.
    """
    try:
        value = json.loads(text)
    except ValueError as error:
        raise SourceError(f"{where} is not JSON: {error}; each line must hold one whole JSON object") from error
    refuse_halves(value, where)
    if not isinstance(value, dict):
        raise SourceError(f"{where} holds a JSON {_kind(value)}; each line must hold one JSON object")
    return Row(value, where)


def refuse_halves(value: object, where: str) -> None:
    r"""Hold that no text or key of a JSON value holds half of a surrogate pair, which can be neither kept nor sent.

    Args:
        value: What was parsed; an escape such as ``\ud83d`` makes half a character of valid UTF-8.
        where: The file and line.

    Raises:
        SourceError: One does.
    """
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        before = error.object[max(0, error.start - 20) : error.start]
        raise SourceError(
            f"{where} holds \\u{ord(error.object[error.start]):04x}, half of a character, after {before!r}; write both "
            "halves or leave it out"
        ) from error


def json_rows(path: Path) -> Iterator[Row]:
    """Parse a JSON Lines file; blank lines are skipped.

    Raises:
        SourceError: The file cannot be read, or a line is not a JSON object.
    """
    # Not splitlines(): JSON strings may hold U+2028 and other characters that it would split at.
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            yield json_row(line, f"{path}, line {number}")


def is_csv(path: Path) -> bool:
    """Tell whether a file is CSV by its name, which ends in ``.csv`` or ``.csv.gz``."""
    return path.name.lower().removesuffix(".gz").endswith(".csv")


def csv_rows(path: Path) -> Iterator[Row]:
    """Parse a CSV file with a header; lines without anything in them are skipped.

    Args:
        path: The file, packed with gzip or not, with commas or semicolons between cells.

    Yields:
        Rows of texts by column, an empty cell as an empty text.

    Raises:
        SourceError: The file cannot be read, or is no such CSV; the message names file and line.
    """
    text = read_text(path)
    first = text.lstrip().partition("\n")[0]
    # Where the comma is the decimal mark, spreadsheets write semicolons.
    delimiter = ";" if ";" in first and "," not in first else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    start = 1
    try:
        for cells in reader:
            where = f"{path}, line {start}"
            start = reader.line_num + 1  # a quoted cell may go over several lines; its row is named by the first
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = [cell.strip() for cell in cells]
                if len(set(header)) < len(header):
                    raise SourceError(f"{where}: a column name appears twice; keep one")
                continue
            if len(cells) != len(header):
                raise SourceError(
                    f"{where} has {len(cells)} cells, the header {len(header)}; put cells that hold commas in quotes"
                )
            yield Row(dict(zip(header, cells, strict=True)), where)
    except csv.Error as error:
        raise SourceError(
            f"{path}, line {start}: {error}; write standard CSV, quotes doubled inside quoted cells"
        ) from error


@dataclass(frozen=True, slots=True)
class Row:
    """A JSON object whose fields are read strictly.

    Attributes:
        values: The fields.
        where: The file and line, and the field it was found in.
    """

    values: Mapping[str, object]
    where: str

    def error(self, message: str) -> SourceError:
        """Make an error about this row."""
        return SourceError(f"{self.where}: {message}")

    def only(self, known: Iterable[str]) -> None:
        """Refuse fields that are not known."""
        known = list(known)
        for key in self.values:
            if key not in known:
                raise self.error(f"unknown field {key!r}{hint(key, known)} (known: {listed(known)})")

    def has(self, key: str) -> bool:
        """Whether a field is there and not null."""
        return self.values.get(key) is not None

    def text(self, key: str) -> str:
        """Return a field that must be a text with something in it."""
        value = self._get(key, str, "text")
        if not value.strip():
            raise self.error(f"field {key!r} is blank; fill it in")
        return value

    def any_text(self, key: str) -> str:
        """Return a field that must be a text, which may be empty."""
        return self._get(key, str, "text")

    def integer(self, key: str) -> int:
        """Return a field that must be a whole number."""
        return self._get(key, int, "whole number")

    def boolean(self, key: str) -> bool:
        """Return a field that must be true or false."""
        return self._get(key, bool, "true or false")

    def items(self, key: str) -> list[object]:
        """Return a field that must be a list."""
        return self._get(key, list, "list")

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a field that must be a list of texts."""
        values = self.items(key)
        texts = tuple(value for value in values if isinstance(value, str))
        if len(texts) < len(values):
            index, value = next((at, value) for at, value in enumerate(values) if not isinstance(value, str))
            raise self.error(f"field {key!r}, item {index} is a {_kind(value)}; text is needed")
        return texts

    def numbers(self, key: str) -> tuple[float, ...]:
        """Return a field that must be a list of numbers."""
        numbers = []
        for index, value in enumerate(self.items(key)):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise self.error(f"field {key!r}, item {index} is a {_kind(value)}; a number is needed")
            numbers.append(float(value))
        return tuple(numbers)

    def row(self, key: str) -> Row:
        """Return a field that must be an object."""
        return Row(self._get(key, dict, "object"), f"{self.where}, {key}")

    def rows(self, key: str) -> list[Row]:
        """Return a field that must be a list of objects."""
        rows = []
        for index, value in enumerate(self.items(key)):
            if not isinstance(value, dict):
                raise self.error(f"field {key!r}, item {index} is a {_kind(value)}; an object is needed")
            rows.append(Row(value, f"{self.where}, {key}[{index}]"))
        return rows

    def sole(self) -> tuple[str, Row]:
        """Return the key and value of an object that must hold one object under one key, a tagged variant."""
        if len(self.values) != 1:
            raise self.error(f"one key is needed, got {listed(self.values) or 'none'}")
        key = next(iter(self.values))
        return key, self.row(key)

    def _get(self, key: str, kind: type[T], name: str) -> T:
        if key not in self.values:
            raise self.error(f"field {key!r} is missing{hint(key, self.values)}")
        value = self.values[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error(f"field {key!r} is a {_kind(value)}; {name} is needed")
        return value


def _kind(value: object) -> str:
    names = {str: "text", bool: "true or false", int: "number", float: "number", list: "list", dict: "object"}
    return "null" if value is None else names.get(type(value), type(value).__name__)
