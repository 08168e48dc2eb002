"""The store of a run: finished model calls, debates, verdicts, pairings and ratings in one SQLite file with one writer.

A process killed at any moment loses nothing that the store has acknowledged: it writes ahead (WAL), and a caller is
told that its rows are kept only after their commit. ``synchronous = NORMAL`` keeps commits cheap: a loss of power may
cost the last commits, never the file.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from debate.errors import StoreError
from debate.models.base import Usage
from debate.store_file import TABLES, Table, check_schema, connect, explain, lock, prepare
from debate.store_writer import Writer

_READ_ROWS = 256
_INSERT_CALL = "INSERT INTO calls VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING"
_INSERT: Mapping[Table, str] = {
    table: f"INSERT INTO {table} VALUES (NULL, ?, ?) ON CONFLICT (key) DO NOTHING"  # noqa: S608 - names of tables
    for table in TABLES
}
_SELECT: Mapping[Table, str] = {table: f"SELECT payload FROM {table} WHERE key = ?" for table in TABLES}  # noqa: S608
_PAGE: Mapping[Table, str] = {
    table: f"SELECT seq, key, payload FROM {table} WHERE seq > ? ORDER BY seq LIMIT ?"  # noqa: S608 - names of tables
    for table in TABLES
}


@dataclass(frozen=True, slots=True)
class CallRow:
    """One finished model call.

    Attributes:
        key: What makes the call the same call again, see ``debate.models.calls``.
        operation: "sample", "choose" or "score"; "rejected" for a reply that could not be used.
        model: The model's name.
        reply: The reply as JSON.
        usage: The tokens it used.
    """

    key: str
    operation: str
    model: str
    reply: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class OperationUsage:
    """What the finished calls of one operation used: their number and their tokens."""

    calls: int
    tokens: Usage


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What the finished calls of one model used.

    Attributes:
        operations: By operation; each draw of a sample counts as one call.
    """

    operations: Mapping[str, OperationUsage]

    @property
    def calls(self) -> int:
        """Calls of all operations."""
        return sum(usage.calls for usage in self.operations.values())

    @property
    def tokens(self) -> Usage:
        """Tokens of all operations."""
        return sum((usage.tokens for usage in self.operations.values()), start=Usage())


class Store:
    """The SQLite file of one run.

    Reading is immediate and sees what is committed. Writing hands the rows to the one writer thread and returns once
    they are committed; rows that wait are committed together.

    Args:
        path: The SQLite file; it and its folder are made where absent.
        readonly: Open for reading only, without the lock, such as for a report on a run that is under way.
        claim: The lock (``store_file.lock``) where the caller has taken it; the store gives it up when it is closed.

    Raises:
        StoreError: Another process writes this store, it is of a newer Dissoi, or it cannot be opened.
    """

    def __init__(self, path: Path, *, readonly: bool = False, claim: int | None = None) -> None:
        self.path = path
        self.readonly = readonly
        self._closed = False
        self._reading = threading.Lock()
        self._writer: Writer | None = None
        self._descriptor = lock(path) if claim is None and not readonly else claim
        try:
            if not readonly:
                self._write_connection = connect(path)
                prepare(self._write_connection, path)
            self._read_connection = connect(path, readonly=True)
            check_schema(self._read_connection, path)
        except sqlite3.Error as error:
            self._release()
            raise explain(error, path, "open the store") from error
        except BaseException:
            self._release()
            raise
        if not readonly:
            self._writer = Writer(self._write_connection, path)

    def calls(self, keys: Sequence[str]) -> dict[str, CallRow]:
        """Look up finished calls.

        Args:
            keys: Call keys.

        Returns:
            The rows of those that are kept, by key.

        Raises:
            StoreError: The store is closed or cannot be read, or a key holds half of a surrogate pair.
        """
        found: dict[str, CallRow] = {}
        for start in range(0, len(keys), _READ_ROWS):
            part = [self._key(key) for key in keys[start : start + _READ_ROWS]]
            marks = ", ".join("?" * len(part))
            query = (
                "SELECT key, operation, model, reply, tokens_in, tokens_out, cached, reasoning "  # noqa: S608 - only marks
                f"FROM calls WHERE key IN ({marks})"
            )
            for key, operation, model, reply, *tokens in self._read(query, tuple(part)):
                found[key] = CallRow(key, operation, model, reply, Usage(*tokens))
        return found

    async def add_calls(self, rows: Sequence[CallRow]) -> None:
        """Keep finished calls, all or none; a key that is already kept stays as it is.

        Args:
            rows: The calls.

        Raises:
            StoreError: They could not be written; none of them is kept.
        """
        if rows:
            await self._write(
                _INSERT_CALL,
                [
                    (
                        self._key(row.key),
                        row.operation,
                        _whole(row.model),
                        row.usage.tokens_in,
                        row.usage.tokens_out,
                        row.usage.cached,
                        row.usage.reasoning,
                        _whole(row.reply),
                    )
                    for row in rows
                ],
            )

    def get(self, table: Table, key: str) -> str | None:
        """Return one payload, or None where the key is not kept.

        Raises:
            StoreError: The store is closed or cannot be read.
        """
        found = self._read(_SELECT[table], (self._key(key),))
        return found[0][0] if found else None

    def find(self, table: Table, keys: Sequence[str]) -> dict[str, str]:
        """Look up payloads.

        Args:
            table: Where.
            keys: Their keys.

        Returns:
            The payloads of those that are kept, by key.

        Raises:
            StoreError: The store is closed or cannot be read, or a key holds half of a surrogate pair.
        """
        found: dict[str, str] = {}
        for start in range(0, len(keys), _READ_ROWS):
            part = tuple(self._key(key) for key in keys[start : start + _READ_ROWS])
            marks = ", ".join("?" * len(part))
            query = f"SELECT key, payload FROM {table} WHERE key IN ({marks})"  # noqa: S608 - a table's name and marks
            found.update(self._read(query, part))
        return found

    async def put(self, table: Table, key: str, payload: str) -> None:
        """Keep one payload. Finished work is never overwritten: the first write of a key wins.

        Args:
            table: Where.
            key: Its key.
            payload: JSON; half of a surrogate pair, which a model can write and no encoding has, becomes ``?``.

        Raises:
            StoreError: It could not be written, or the key holds such a half.
        """
        await self._write(_INSERT[table], [(self._key(key), _whole(payload))])

    def rows(self, table: Table) -> Iterator[tuple[str, str]]:
        """Yield keys and payloads in the order they were written, a page at a time, so memory stays flat.

        Raises:
            StoreError: The store is closed or cannot be read.
        """
        last = 0
        while page := self._read(_PAGE[table], (last, _READ_ROWS)):
            last = page[-1][0]
            for _seq, key, payload in page:
                yield key, payload

    def usage(self) -> dict[str, ModelUsage]:
        """Add up what every finished call of this run used, earlier sessions included.

        Returns:
            By model.

        Raises:
            StoreError: The store is closed or cannot be read.
        """
        operations: dict[str, dict[str, OperationUsage]] = {}
        query = """SELECT model, operation, count(*), sum(tokens_in), sum(tokens_out), sum(cached), sum(reasoning)
                   FROM calls GROUP BY model, operation ORDER BY model, operation"""
        for model, operation, calls, *tokens in self._read(query, ()):
            operations.setdefault(model, {})[operation] = OperationUsage(calls, Usage(*tokens))
        return {model: ModelUsage(by_operation) for model, by_operation in operations.items()}

    def close(self) -> None:
        """Finish the waiting writes, close the file and give up the lock; further calls do nothing."""
        if self._closed:
            return
        self._closed = True
        if self._writer is not None:
            self._writer.close()
        self._release()

    def _release(self) -> None:
        for name in ("_read_connection", "_write_connection"):
            connection: sqlite3.Connection | None = getattr(self, name, None)
            if connection is not None:
                connection.close()
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)  # gives up the lock; the file stays, or two processes could lock two files
            self._descriptor = None

    def _key(self, key: str) -> str:
        """Refuse a key that no encoding has: made whole, two keys could become one."""
        try:
            key.encode()
        except UnicodeEncodeError as error:
            raise StoreError(
                f"the store {self.path} cannot keep anything under {key!a}: it holds half of a character; take that "
                "out of the name or id that it is made of"
            ) from error
        return key

    def _read(self, query: str, values: tuple[str | int, ...]) -> list[tuple]:  # type: ignore[type-arg]  # as sqlite3
        with self._reading:
            if self._closed:
                raise StoreError(f"the store {self.path} is closed")
            try:
                return self._read_connection.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise explain(error, self.path, "read the store") from error

    async def _write(self, statement: str, rows: Sequence[tuple[str | int, ...]]) -> None:
        if self._closed or self._writer is None:
            state = "closed" if self._closed else "open for reading only"
            raise StoreError(f"cannot write the store {self.path}: it is {state}")
        await self._writer.write(statement, rows)


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
