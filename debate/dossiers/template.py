"""Templates: the texts that dossiers are made of, read from ``data/dossiers/`` and checked once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from debate.dossiers.balance import Array, Side, Tilt, content_words, features, tilt
from debate.dossiers.wording import Run, Slot, Wording, parse
from debate.dossiers.world import CAST, FORMS, Names
from debate.sources.locate import data_folder
from debate.sources.rows import Row, listed
from debate.sources.shipped import read_story

Pool = Literal["train", "heldout"]
POOLS: tuple[Pool, ...] = get_args(Pool)
Kind = Literal["hearsay", "plan", "state", "claim"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_PARTS = ("question", "answer", "opening", "pair", "solo", "filler", "closing")
_FIELDS = ("id", "genre", "titles", "answers", "slots", "evidence", *_PARTS)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The sentences of one kind of misleading evidence.

    Attributes:
        decisive: Wordings that settle the question, alternatives chosen.
        misleading: Wordings that are true and mislead.
        tilt: Their weights.
    """

    decisive: tuple[Run, ...]
    misleading: tuple[Run, ...]
    tilt: Tilt


@dataclass(frozen=True, slots=True)
class Template:
    """One plot, with many wordings of each of its parts.

    Attributes:
        id: Its name.
        genre: Its genre.
        pool: Whether it is for training or held out.
        titles: Whether its people may go by title and surname.
        answers: What its answers may be, or None if they are people.
        slots: Its own slots and what they may stand for.
        question: Wordings of the question.
        answer: Wordings of an answer.
        opening: How it may begin.
        pair: Passages that name both answers once.
        solo: Passages that name one answer and favour neither.
        filler: Passages that do not bear on the question.
        closing: How it may end.
        evidence: The evidence, by kind.
        residual: How far the two sides' mean features differ, in standard deviations (``debate.dossiers.balance``).
    """

    id: str
    genre: str
    pool: Pool
    titles: bool
    answers: tuple[str, ...] | None
    slots: Mapping[str, tuple[str, ...]]
    question: tuple[Wording, ...]
    answer: tuple[Wording, ...]
    opening: tuple[Wording, ...]
    pair: tuple[Wording, ...]
    solo: tuple[Wording, ...]
    filler: tuple[Wording, ...]
    closing: tuple[Wording, ...]
    evidence: Mapping[Kind, Evidence]
    residual: tuple[float, ...]


@lru_cache(maxsize=2)
def templates(pool: Pool) -> tuple[Template, ...]:
    """Return the templates of a pool, in the order of their ids.

    Raises:
        SourceError: A file is malformed; the message names the template and the wording.
    """
    found: list[Template] = []
    for path in sorted((data_folder() / "dossiers").glob("*.yaml")):
        file = read_story(path)
        if file.has("pool") and file.text("pool") == pool:
            file.only(("pool", "templates"))
            found.extend(_template(row, pool) for row in file.rows("templates"))
    return tuple(sorted(found, key=lambda template: template.id))


@lru_cache(maxsize=2)
def asides(pool: Pool) -> tuple[Wording, ...]:
    """Return the passages that fit any template of a pool."""
    row = read_story(data_folder() / "dossiers" / "asides.yaml")
    return _wordings(row, pool)


@lru_cache(maxsize=1)
def names() -> Names:
    """Return what people may be called."""
    row = read_story(data_folder() / "dossiers" / "names.yaml")
    return Names(*(tuple(row.text(field).split()) for field in ("female", "male", "surname")))


def _template(row: Row, pool: Pool) -> Template:
    row.only(_FIELDS)
    row = Row(row.values, f"{row.where} ({row.text('id')})")
    parts = {part: _wordings(row, part) for part in _PARTS}
    slots: dict[str, tuple[str, ...]] = {}
    if row.has("slots"):
        options = row.row("slots")
        slots = {slot: options.texts(slot) for slot in options.values}
    question, answer = (_words(parts[part]) for part in ("question", "answer"))
    usual = {slot: sorted(things, key=len)[len(things) // 2] for slot, things in slots.items()}

    def measure(run: Run) -> list[float]:
        return features(run, question, answer, surnames=_surnames(parts), things=usual)

    evidence, residual = _evidence(row.row("evidence"), measure)
    made = Template(
        id=row.text("id"),
        genre=row.text("genre"),
        pool=pool,
        titles=row.boolean("titles") if row.has("titles") else True,
        answers=row.texts("answers") if row.has("answers") else None,
        slots=slots,
        evidence=evidence,
        residual=tuple(float(value) for value in residual),
        **parts,
    )
    _check(made, row)
    return made


def _wordings(row: Row, key: str) -> tuple[Wording, ...]:
    """Parse the wordings of a field: one a line, so that no mark in a text needs escaping."""
    return tuple(parse(line, f"{row.where}, {key}") for line in row.text(key).splitlines() if line.strip())


def _words(wordings: tuple[Wording, ...]) -> list[frozenset[str]]:
    """Return the content words of every wording of a question or answer, names left out."""
    runs = [run for wording in wordings for run in wording.expansions()]
    return [content_words(" ".join(piece for piece in run if isinstance(piece, str))) for run in runs]


def _surnames(parts: Mapping[str, tuple[Wording, ...]]) -> dict[str, float]:
    """Say how often the evidence names each person by two words, because it is the first to name them or by a title."""
    told = {slot.name for wording in parts["filler"] for slot in wording.slots()}
    return {slot: 0.1 if slot == "a" else 0.45 if slot in told else 1.0 for slot in CAST}


def _evidence(row: Row, measure: Callable[[Run], list[float]]) -> tuple[dict[Kind, Evidence], Array]:
    row.only(KINDS)
    runs: list[tuple[Run, ...]] = []
    sides: list[Side] = []
    for one in (row.row(kind) for kind in KINDS):
        for side in ("decisive", "misleading"):
            expanded = [wording.expansions() for wording in _wordings(one, side)]
            runs.append(tuple(run for group in expanded for run in group))
            for run in runs[-1]:
                if _named(run).count("it") != 1:
                    raise one.error(f"a {side} wording must hold {{it}} once: {run}")
            measured = np.array([measure(run) for run in runs[-1]])
            # Each wording as likely as any other, however many alternatives it has.
            sides.append(
                Side(measured, np.array([1 / len(expanded) / len(group) for group in expanded for _ in group]))
            )
    tilts, residual = tilt(list(zip(sides[::2], sides[1::2], strict=True)))
    made = zip(KINDS, runs[::2], runs[1::2], tilts, strict=True)
    return {kind: Evidence(decisive, misleading, one) for kind, decisive, misleading, one in made}, residual


def _named(run: Run) -> list[str]:
    """Return the slots of a run that stand for names, pronouns left out."""
    return [piece.name for piece in run if isinstance(piece, Slot) and piece.form in {"", "full"}]


def _check(made: Template, row: Row) -> None:
    """Hold that every slot is known and that no passage favours an answer by naming it more often."""
    people = {*CAST} | ({"P", "Q", "it"} if made.answers is None else set())
    things = {*made.slots, "d1", "d2", "d3", "d4"} | ({"P", "Q", "it"} if made.answers is not None else set())
    runs = [run for part in _PARTS for wording in getattr(made, part) for run in wording.expansions()]
    runs += [run for one in made.evidence.values() for side in (one.decisive, one.misleading) for run in side]
    for piece in (piece for run in runs for piece in run if isinstance(piece, Slot)):
        known = piece.form in FORMS if piece.name in people else piece.name in things and not piece.form
        if not known and not (piece.name == "n" and piece.form):
            raise row.error(f"unknown slot {piece}; the slots are {listed({*people, *things, 'n:LOW-HIGH'})}")
    for part, wanted in (("pair", ["P", "Q"]), ("solo", ["P"]), ("opening", []), ("filler", []), ("closing", [])):
        for wording in getattr(made, part):
            for run in wording.expansions():
                if sorted(name for name in _named(run) if name in {"P", "Q", "it"}) != wanted:
                    raise row.error(f"a passage of {part} must name {wanted or 'no answer'} once: {wording.text!r}")
