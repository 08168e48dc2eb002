"""The journal of a judge room: what people were given, asked and tagged, one line each, durable before it is answered.

Judgements are not here: they are verdicts, and stand in the run's store. The room holds the lock of that store, so the
journal has one writer too.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from debate.errors import StoreError
from debate.record import to_json

JOURNAL = "room.jsonl"


@dataclass(frozen=True, slots=True)
class Given:
    """A debate was given to somebody.

    Attributes:
        judge: To whom, as verdicts name it.
        number: The debate's number in this person's own count, from 1 on: all that the browser knows it by.
        debate: The debate's id in the store. A live one is there once it is held.
        of: The recorded debate whose question and players a live one has; None where the debate itself is recorded.
    """

    judge: str
    number: int
    debate: str
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody asked the debaters of a live debate something.

    Attributes:
        judge: Who.
        debate: The debate's id.
        round: The round before which it was asked.
        text: What.
    """

    judge: str
    debate: str
    round: int
    text: str


@dataclass(frozen=True, slots=True)
class Tagged:
    """Somebody tagged the errors of a judged debate; of several by one person on one judgement the last counts.

    Attributes:
        tagger: Who tagged.
        judge: Whose judgement.
        debate: Of which debate.
        errors: Keys of ``room_tags.ERRORS``.
        note: In the tagger's words.
    """

    tagger: str
    judge: str
    debate: str
    errors: tuple[str, ...]
    note: str = ""


Event = Given | Asked | Tagged
_KINDS: dict[str, type[Event]] = {"given": Given, "asked": Asked, "tagged": Tagged}
_ADAPTERS: dict[str, TypeAdapter[Event]] = {name: TypeAdapter(kind) for name, kind in _KINDS.items()}
_NAMES = {kind: name for name, kind in _KINDS.items()}


class Journal:
    """An open journal.

    Args:
        path: Its file, made where it is absent. Half a line at its end, of a process that was killed while it wrote, is
            cut off: nobody was told that it is kept.

    Raises:
        StoreError: The file cannot be opened, or is not a journal.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = asyncio.Lock()
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            data = path.read_bytes()
            whole = data.rfind(b"\n") + 1
            if whole < len(data):
                os.ftruncate(self._descriptor, whole)
        except OSError as error:
            raise StoreError(f"cannot open {path}: {error.strerror or error}; make its folder writable") from error
        self.events: list[Event] = read_journal(path)

    async def add(self, event: Event) -> None:
        """Keep an event; it is on the disk when this returns.

        Raises:
            StoreError: It could not be written.
        """
        line = json.dumps({"kind": _NAMES[type(event)]})[:-1] + ", " + to_json(event)[1:] + "\n"
        async with self._lock:
            await asyncio.to_thread(self._write, line.encode("utf-8"))
            self.events.append(event)

    def _write(self, line: bytes) -> None:
        try:
            size = os.fstat(self._descriptor).st_size
            try:
                written = os.write(self._descriptor, line)
                if written == len(line):
                    os.fsync(self._descriptor)
                    return
            except OSError:
                os.ftruncate(self._descriptor, size)  # or the next line would stand behind half of this one
                raise
            os.ftruncate(self._descriptor, size)
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error.strerror or error}; free the space") from error
        raise StoreError(f"cannot write {self.path}: the disk is full; free the space")

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def read_journal(path: Path) -> list[Event]:
    """Read a journal, such as of a room that is open; nothing where there is none.

    Args:
        path: Its file.

    Returns:
        Its events, in order; half a line at the end is left out.

    Raises:
        StoreError: It is not a journal.
    """
    try:
        data = path.read_bytes()
        lines = data[: data.rfind(b"\n") + 1].decode("utf-8").split("\n")[:-1]
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"cannot read {path}: {error}; restore it from a copy") from error
    events: list[Event] = []
    for number, line in enumerate(lines, 1):
        try:
            tree = json.loads(line)
            events.append(_ADAPTERS[tree.pop("kind")].validate_python(tree))
        except (ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
            raise StoreError(
                f"{path}, line {number}, is nothing a judge room writes; restore it from a copy"
            ) from error
    return events


def last_tags(events: Sequence[Event]) -> dict[tuple[str, str, str], Tagged]:
    """The tags that count, by tagger, judge and debate."""
    return {(one.tagger, one.judge, one.debate): one for one in events if isinstance(one, Tagged)}
