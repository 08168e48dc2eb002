"""The SQLite file under a store: its schema, its lock, its connections, and what its errors mean."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from pathlib import Path
from typing import Literal, get_args

from debate.errors import StoreError

SCHEMA_VERSION = 1
Table = Literal["debates", "verdicts", "pairings", "ratings"]
TABLES: tuple[Table, ...] = get_args(Table)

# The reply comes last: a long row spills over to further pages, and sums over the token columns need not read those.
_SCHEMA = (
    """CREATE TABLE calls (
        seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, operation TEXT NOT NULL, model TEXT NOT NULL,
        tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, cached INTEGER NOT NULL, reasoning INTEGER NOT NULL,
        reply TEXT NOT NULL)""",
    *(
        f"CREATE TABLE {table} (seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, payload TEXT NOT NULL)"
        for table in TABLES
    ),
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)


def explain(error: Exception, path: Path, action: str) -> StoreError:
    """Say what an error of SQLite, or one on the way to it, means for the run and what to do.

    Args:
        error: The error.
        path: The store's file.
        action: What failed, such as "write the store".

    Returns:
        The error to raise.
    """
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


def lock(path: Path) -> int:
    """Take the lock beside a store and leave our process id in it.

    Returns:
        The file descriptor that holds the lock.

    Raises:
        StoreError: Another process holds it, or the folder cannot be written.
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
        _take(descriptor, lock)
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


def _take(descriptor: int, lock: Path) -> None:
    """Lock an open file, and hold that it is still the one of that name.

    A run that could not begin removes its lock; who opened the file before and locked it after would hold nothing.
    """
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if not lock.exists() or not os.path.samestat(os.fstat(descriptor), lock.stat()):
        raise BlockingIOError


def connect(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
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


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Set up a new store, or check an old one, on its write connection."""
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables:
        check_schema(connection, path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    if not tables:
        connection.execute("BEGIN IMMEDIATE")  # the version is part of the transaction: all of the schema or nothing
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute("COMMIT")


def check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not a store, or is a newer one.

    Raises:
        StoreError: It is so.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"the store {path} has schema version {version}, and this Dissoi reads up to {SCHEMA_VERSION}; "
            "use the version of Dissoi that wrote it, or a newer one"
        )
    if version != SCHEMA_VERSION:
        raise StoreError(f"{path} is not a store of Dissoi (schema version {version}); choose another folder")
