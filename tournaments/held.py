"""Held debates: a run keeps them in its store alone, and reads them where they are needed, so memory stays flat."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, overload

from debate.record import Debate, Recorded, from_json, to_json, verdict_keys
from debate.store import Store
from debate.verdict import Verdict
from tournaments.setups import Setup

_BATCH = 128


class _Row(NamedTuple):
    """One debate: what its setup says of it, and what the store holds, as JSON."""

    setup: Setup
    silent: Debate
    debate: str | None
    verdicts: Sequence[str]

    def recorded(self) -> Recorded:
        whole = self.silent if self.debate is None else from_json(Debate, self.debate)
        return Recorded(replace(whole, failed=self.silent.failed), self.read_verdicts())

    def read_verdicts(self) -> tuple[Verdict, ...]:
        return tuple(from_json(Verdict, payload) for payload in self.verdicts)


@dataclass(frozen=True, slots=True, eq=False)
class Held(Sequence[Recorded]):
    """Debates that were held and judged, in the order of their setups; each is read anew whenever it is asked for.

    Attributes:
        store: Holds debates and verdicts.
        judge: The judge's name.
        parts: Protocols, and setups held by each.
        failed: Why debates failed, by id. Nothing else keeps that: a resumed run tries them again.
    """

    store: Store
    judge: str
    parts: tuple[tuple[str, Sequence[Setup]], ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)

    def __add__(self, other: Held) -> Held:
        """Add debates of the same run and judge behind these."""
        return replace(self, parts=(*self.parts, *other.parts), failed={**self.failed, **other.failed})

    def __len__(self) -> int:
        return sum(len(setups) for _, setups in self.parts)

    def __iter__(self) -> Iterator[Recorded]:
        return (row.recorded() for row in self._rows(debates=True))

    @overload
    def __getitem__(self, place: int) -> Recorded: ...

    @overload
    def __getitem__(self, place: slice) -> list[Recorded]: ...

    def __getitem__(self, place: int | slice) -> Recorded | list[Recorded]:
        """Read one debate, or several."""
        places = range(len(self))[place]
        if isinstance(places, range):
            return [self[one] for one in places]
        for protocol, setups in self.parts:
            if places < len(setups):
                (found,) = replace(self, parts=((protocol, (setups[places],)),))
                return found
            places -= len(setups)
        raise IndexError(place)

    def turnless(self) -> Iterator[Recorded]:
        """Read the debates without what was said, and verdicts without reasoning: all that ratings are made from."""
        for row in self._rows():
            verdicts = (replace(verdict, judge=self.judge, reasoning="") for verdict in row.read_verdicts())
            yield Recorded(row.silent, tuple(verdicts))

    def lines(self) -> Iterator[str]:
        """Write each debate as ``to_json`` does, from the JSON that is kept."""
        for row in self._rows(debates=True):
            if row.debate is None or row.silent.failed is not None:
                yield to_json(row.recorded())
            else:
                yield f'{{"debate": {row.debate}, "verdicts": [{", ".join(row.verdicts)}]}}'

    def judged(self) -> Iterator[tuple[Setup, bool]]:
        """Say of each setup whether the store holds the verdicts of both orders already."""
        return ((row.setup, len(row.verdicts) == 2) for row in self._rows())

    def _rows(self, *, debates: bool = False) -> Iterator[_Row]:
        """Read verdicts, and debates if asked, a batch at a time."""
        setups = ((protocol, setup) for protocol, setups in self.parts for setup in setups)
        while batch := list(itertools.islice(setups, _BATCH)):
            silent = [setup.debate(protocol) for protocol, setup in batch]
            keys = [verdict_keys(debate, self.judge) for debate in silent]
            held = self.store.find("debates", [debate.id for debate in silent]) if debates else {}
            kept = self.store.find("verdicts", [key for pair in keys for key in pair])
            for (_, setup), debate, pair in zip(batch, silent, keys, strict=True):
                failed = self.failed.get(debate.id)
                verdicts = [kept[key] for key in pair if failed is None and key in kept]
                yield _Row(setup, replace(debate, failed=failed), held.get(debate.id), verdicts)
