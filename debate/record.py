"""Records of debates: a transcript with who held which side, as kept in a run or read from published data."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from debate.errors import StoreError
from debate.store import Store
from debate.transcript import SEATS, Transcript
from debate.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Debate:
    """One question, one assignment of sides, as it went.

    Attributes:
        id: Unique within its run or file.
        protocol: "simultaneous", "sequential", "consultancy", ...
        transcript: What was said.
        players: The name of the player that defended answer 0, and of the one that defended answer 1; None where
            nobody defended it.
        repetition: Counts repetitions of the same debate.
        failed: Why the debate could not be finished, or None.
        tags: What published data say beyond this, such as the setting.
    """

    id: str
    protocol: str
    transcript: Transcript
    players: tuple[str | None, str | None]
    repetition: int = 0
    failed: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A debate and what judges made of it.

    Attributes:
        debate: The debate.
        verdicts: Of all judges, orders and rounds.
    """

    debate: Debate
    verdicts: tuple[Verdict, ...]

    @property
    def final(self) -> Verdict | None:
        """The verdict with which a live judge (the tag ``judge``) ended a published debate, or None."""
        judge = self.debate.tags.get("judge")
        return next((verdict for verdict in self.verdicts if verdict.judge == judge and verdict.round is None), None)


RecordT = TypeVar("RecordT")  # any frozen dataclass of plain values


def to_json(record: RecordT) -> str:
    """Write a record as JSON; half of a surrogate pair, which a model can write and no encoding has, becomes ``?``."""
    text = json.dumps(_adapter(type(record)).dump_python(record, mode="json"), ensure_ascii=False)
    return text.encode("utf-8", "replace").decode("utf-8")


def from_json(kind: type[RecordT], text: str) -> RecordT:
    """Read a record that ``to_json`` wrote.

    Raises:
        StoreError: The text is no such record.
    """
    try:
        return _adapter(kind).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise StoreError(
            f"a kept {kind.__name__.lower()} cannot be read ({where}: {first['msg']}); it was written by another "
            "version of Dissoi or the file was changed"
        ) from error


_ADAPTERS: dict[type, Any] = {}


def _adapter(kind: type[RecordT]) -> TypeAdapter[RecordT]:
    adapter: TypeAdapter[RecordT] = _ADAPTERS.get(kind) or _ADAPTERS.setdefault(kind, TypeAdapter(kind))
    return adapter


def join_key(*parts: str) -> str:
    """Make one key of parts; a bar inside a part is escaped, so that no two lists of parts share a key."""
    return " | ".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in parts)


def split_key(key: str) -> list[str]:
    """Undo ``join_key``."""
    # Inside a part a bar has a backslash before it, never a blank.
    return [re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL) for part in key.split(" | ")]


def verdict_key(debate: str, judge: str, order: tuple[int, ...], round_: int | None = None) -> str:
    """The key of a verdict in a store: the debate's id, the judge, and the answer shown at each letter.

    One that was given midway has the round after which it was given behind it.
    """
    final = join_key(debate, judge, "".join(SEATS[answer] for answer in order))
    return final if round_ is None else f"{final} | {join_key(f'round {round_}')}"


def verdict_keys(debate: Debate, judge: str) -> tuple[str, str]:
    """The keys of a judge's final verdicts on both orders of the answers, that of the debate's own seats first."""
    first, second = debate.transcript.seats
    return verdict_key(debate.id, judge, (first, second)), verdict_key(debate.id, judge, (second, first))


def read_records(store: Store) -> list[Recorded]:
    """Read the debates of a run with the final verdicts of all judges, in the order they were kept.

    Raises:
        StoreError: The store cannot be read.
    """
    debates = {key: from_json(Debate, payload) for key, payload in store.rows("debates")}
    verdicts: dict[str, list[Verdict]] = {key: [] for key in debates}
    for key, payload in store.rows("verdicts"):
        debate = split_key(key)[0]
        if debate in verdicts:
            verdicts[debate].append(from_json(Verdict, payload))
    return [Recorded(debate, tuple(verdicts[key])) for key, debate in debates.items()]
