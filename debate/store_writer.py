"""The one writer of a store: rows wait in a queue, and a thread commits what waits together."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from debate.errors import StoreError
from debate.store_file import explain

_BATCH_ROWS = 64
_BATCH_SECONDS = 0.005


class _Write(NamedTuple):
    """Rows of one statement that are committed together, and whom to tell."""

    statement: str
    rows: Sequence[tuple[str | int, ...]]
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[None]


class Writer:
    """Commits rows on a thread of its own; who writes waits until they are committed.

    Args:
        connection: The write connection, which nobody else uses from now on.
        path: Its file, for messages.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._queue: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_batches, name="dissoi-store", daemon=True)
        self._thread.start()

    async def write(self, statement: str, rows: Sequence[tuple[str | int, ...]]) -> None:
        """Commit the rows of one statement, all or none.

        Raises:
            StoreError: They could not be written; none of them is kept.
        """
        loop = asyncio.get_running_loop()
        write = _Write(statement, rows, loop, loop.create_future())
        self._queue.put(write)
        await write.done

    def close(self) -> None:
        """Finish the waiting writes and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _write_batches(self) -> None:
        """Commit what waits, until told to stop: the body of the writer thread."""
        while (write := self._queue.get()) is not None:
            batch, stop = self._gather(write)
            error: StoreError | None = None
            try:
                self._commit(batch)
            except Exception as cause:  # noqa: BLE001 - whatever it is, who waits must hear of it
                error = explain(cause, self._path, "write the store")
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
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            for write in batch:
                connection.executemany(write.statement, write.rows)
            connection.execute("COMMIT")
        except BaseException:
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
