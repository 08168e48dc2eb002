"""The store of a run: finished model calls, debates, verdicts and ratings in one SQLite file with one writer.

A process killed at any moment loses nothing that the store has acknowledged: it writes ahead (WAL), and a caller is
told that its rows are kept only after their commit. ``synchronous = NORMAL`` keeps commits cheap: a loss of power may
cost the last commits, never the file.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from debate.errors import StoreError
from debate.models.base import Usage

SCHEMA_VERSION = 1
Table = Literal["debates", "verdicts", "ratings"]

_BATCH_ROWS = 64
_BATCH_SECONDS = 0.005
_READ_ROWS = 256
# The reply comes last: a long row spills over to further pages, and sums over the token columns need not read those.
_SCHEMA = (
    """CREATE TABLE calls (
        seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, operation TEXT NOT NULL, model TEXT NOT NULL,
        tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, cached INTEGER NOT NULL, reasoning INTEGER NOT NULL,
        reply TEXT NOT NULL)""",
    "CREATE TABLE debates (seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, payload TEXT NOT NULL)",
    "CREATE TABLE verdicts (seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, payload TEXT NOT NULL)",
    "CREATE TABLE ratings (seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, payload TEXT NOT NULL)",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)
_INSERT_CALL = "INSERT INTO calls VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING"
_INSERT: Mapping[Table, str] = {
    "debates": "INSERT INTO debates VALUES (NULL, ?, ?) ON CONFLICT (key) DO NOTHING",
    "verdicts": "INSERT INTO verdicts VALUES (NULL, ?, ?) ON CONFLICT (key) DO NOTHING",
    "ratings": "INSERT INTO ratings VALUES (NULL, ?, ?) ON CONFLICT (key) DO NOTHING",
}
_SELECT: Mapping[Table, str] = {
    "debates": "SELECT payload FROM debates WHERE key = ?",
    "verdicts": "SELECT payload FROM verdicts WHERE key = ?",
    "ratings": "SELECT payload FROM ratings WHERE key = ?",
}
_PAGE: Mapping[Table, str] = {
    "debates": "SELECT seq, key, payload FROM debates WHERE seq > ? ORDER BY seq LIMIT ?",
    "verdicts": "SELECT seq, key, payload FROM verdicts WHERE seq > ? ORDER BY seq LIMIT ?",
    "ratings": "SELECT seq, key, payload FROM ratings WHERE seq > ? ORDER BY seq LIMIT ?",
}


@dataclass(frozen=True, slots=True)
class CallRow:
    """One finished model call.

    Attributes:
        key: What makes the call the same call again, see ``debate.models.calls``.
        operation: "sample", "choose" or "score".
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


class _Write(NamedTuple):
    """Rows of one statement that are committed together, and whom to tell."""

    statement: str
    rows: Sequence[tuple[str | int, ...]]
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[None]


def _explain(error: sqlite3.Error, path: Path, action: str) -> StoreError:
    """Say what an SQLite error means for the run and what to do."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code
    advice = {
        sqlite3.SQLITE_FULL: "the disk is full; free some space and resume the run",
        sqlite3.SQLITE_IOERR: "the disk or a limit on file size refused it; check space and quota, then resume the run",
        sqlite3.SQLITE_READONLY: "the file or its folder is read-only; make both writable",
        sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; check that its folder exists and may be read and written",
        sqlite3.SQLITE_NOTADB: "it is not an SQLite file; choose another folder",
        sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a copy or start a new run",
        sqlite3.SQLITE_BUSY: "another program holds the file; close it and resume the run",
    }.get(code, "check the file and resume the run")
    return StoreError(f"cannot {action} {path}: {advice} ({error})")


def _lock(path: Path) -> int:
    """Take the lock beside a store and leave our process id in it.

    Returns:
        The file descriptor that holds the lock.
    """
    lock = path.with_name(path.name + ".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StoreError(
            f"cannot write in the run folder {path.parent}: {error.strerror}; make it writable or choose another folder"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with contextlib.suppress(OSError):  # the id is a help for the reader of an error; a full disk may refuse it
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    except BlockingIOError as error:
        holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip()
        os.close(descriptor)
        who = f"process {holder}" if holder.isdigit() else "another process"
        raise StoreError(
            f"the run folder {path.parent} is in use by {who}; wait until it ends, stop it, or choose another folder"
        ) from error
    except OSError as error:
        os.close(descriptor)
        raise StoreError(
            f"cannot lock the run folder {path.parent}: {error.strerror}; put it on a file system with locks"
        ) from error
    return descriptor


class Store:
    """The SQLite file of one run.

    Reading is immediate and sees what is committed. Writing hands the rows to the one writer thread and returns once
    they are committed; rows that wait are committed together.

    Args:
        path: The SQLite file; it and its folder are made where absent.
        readonly: Open for reading only, without the lock, such as for a report on a run that is under way.

    Raises:
        StoreError: Another process writes this store, it is of a newer Dissoi, or it cannot be opened.
    """

    def __init__(self, path: Path, *, readonly: bool = False) -> None:
        self.path = path
        self.readonly = readonly
        self._closed = False
        self._queue: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._reading = threading.Lock()
        self._writer: threading.Thread | None = None
        self._descriptor = None if readonly else _lock(path)
        try:
            if not readonly:
                self._write_connection = _connect(path)
                _prepare(self._write_connection, path)
            self._read_connection = _connect(path, readonly=True)
            _check_schema(self._read_connection, path)
        except sqlite3.Error as error:
            self._release()
            raise _explain(error, path, "open the store") from error
        except BaseException:
            self._release()
            raise
        if not readonly:
            self._writer = threading.Thread(target=self._write_batches, name="dissoi-store", daemon=True)
            self._writer.start()

    def calls(self, keys: Sequence[str]) -> dict[str, CallRow]:
        """Look up finished calls.

        Args:
            keys: Call keys.

        Returns:
            The rows of those that are kept, by key.

        Raises:
            StoreError: The store is closed or cannot be read.
        """
        found: dict[str, CallRow] = {}
        for start in range(0, len(keys), _READ_ROWS):
            part = keys[start : start + _READ_ROWS]
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
                        row.key,
                        row.operation,
                        row.model,
                        row.usage.tokens_in,
                        row.usage.tokens_out,
                        row.usage.cached,
                        row.usage.reasoning,
                        row.reply,
                    )
                    for row in rows
                ],
            )

    def get(self, table: Table, key: str) -> str | None:
        """Return one payload, or None where the key is not kept.

        Raises:
            StoreError: The store is closed or cannot be read.
        """
        found = self._read(_SELECT[table], (key,))
        return found[0][0] if found else None

    async def put(self, table: Table, key: str, payload: str) -> None:
        """Keep one payload. Finished work is never overwritten: the first write of a key wins.

        Args:
            table: Where.
            key: Its key.
            payload: JSON.

        Raises:
            StoreError: It could not be written.
        """
        await self._write(_INSERT[table], [(key, payload)])

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
            self._queue.put(None)
            self._writer.join()
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

    def _read(self, query: str, values: tuple[str | int, ...]) -> list[tuple]:  # type: ignore[type-arg]  # as sqlite3
        with self._reading:
            if self._closed:
                raise StoreError(f"the store {self.path} is closed")
            try:
                return self._read_connection.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise _explain(error, self.path, "read the store") from error

    async def _write(self, statement: str, rows: Sequence[tuple[str | int, ...]]) -> None:
        if self._closed or self._writer is None:
            state = "closed" if self._closed else "open for reading only"
            raise StoreError(f"cannot write the store {self.path}: it is {state}")
        loop = asyncio.get_running_loop()
        write = _Write(statement, rows, loop, loop.create_future())
        self._queue.put(write)
        await write.done

    def _write_batches(self) -> None:
        """Commit what waits, until told to stop: the body of the writer thread."""
        while (write := self._queue.get()) is not None:
            batch, stop = self._gather(write)
            error: StoreError | None = None
            try:
                self._commit(batch)
            except sqlite3.Error as cause:
                error = _explain(cause, self.path, "write the store")
                error.__cause__ = cause
            for loop in {id(item.loop): item.loop for item in batch}.values():
                mine = [item.done for item in batch if item.loop is loop]
                with contextlib.suppress(RuntimeError):  # the loop has closed, so nobody waits
                    loop.call_soon_threadsafe(_settle, mine, error)
            if stop:
                return

    def _gather(self, first: _Write) -> tuple[list[_Write], bool]:
        """Take what waits behind a write, up to the bounds on rows and time; waiting for more would only add delay."""
        batch, count, deadline = [first], len(first.rows), time.monotonic() + _BATCH_SECONDS
        while count < _BATCH_ROWS and time.monotonic() < deadline:
            try:
                write = self._queue.get_nowait()
            except queue.Empty:
                break
            if write is None:
                return batch, True
            batch.append(write)
            count += len(write.rows)
        return batch, False

    def _commit(self, batch: Sequence[_Write]) -> None:
        connection = self._write_connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            for write in batch:
                connection.executemany(write.statement, write.rows)
            connection.execute("COMMIT")
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _settle(waiting: Sequence[asyncio.Future[None]], error: StoreError | None) -> None:
    """Tell the callers of a batch how it went; runs on their event loop."""
    for done in waiting:
        if done.done():  # its caller was cancelled; the row is kept all the same
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)


def _connect(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
    """Open a connection that any one thread at a time may use."""
    # An absolute path, percent-encoded: a "?" or "#" in a folder's name would else end the URI's path.
    uri = f"{path.absolute().as_uri()}?mode={'ro' if readonly else 'rwc'}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=10)
    try:
        connection.execute("PRAGMA user_version")
    except sqlite3.Error as error:
        connection.close()
        wal = path.with_name(path.name + "-wal")
        finished = path.is_file() and not (wal.is_file() and wal.stat().st_size > 0)
        if not (readonly and finished and isinstance(error, sqlite3.OperationalError)):
            raise
        # A finished run on a read-only medium: SQLite cannot make the shared index beside it, and need not.
        connection = sqlite3.connect(uri + "&immutable=1", uri=True, isolation_level=None, check_same_thread=False)
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Set up a new store, or check an old one, on its write connection."""
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables:
        _check_schema(connection, path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    if not tables:
        connection.execute("BEGIN IMMEDIATE")  # the version is part of the transaction: all of the schema or nothing
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute("COMMIT")


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"the store {path} has schema version {version}, and this Dissoi reads up to {SCHEMA_VERSION}; "
            "use the version of Dissoi that wrote it, or a newer one"
        )
    if version != SCHEMA_VERSION:
        raise StoreError(f"{path} is not a store of Dissoi (schema version {version}); choose another folder")
