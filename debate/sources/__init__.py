"""Sources of questions, and of debates that are recorded: one string names any of them (``kind:rest?options``)."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from debate.errors import FoldError, SourceError
from debate.question import Fold, Question
from debate.record import Recorded
from debate.sources import dossiers, leval, multiple_choice, nyu, quality, questions, runs, shipped
from debate.sources.locate import find
from debate.sources.rows import hint, listed
from debate.sources.select import select

__all__ = ["load", "load_debates", "select"]


class _Kind(NamedTuple):
    """How one kind of source is loaded: from rest, source string and options; and which options it knows."""

    load: Callable[[str, str, Mapping[str, str]], Iterable[Question]]
    example: str
    options: tuple[str, ...] = ()


_KINDS: dict[str, _Kind] = {
    "shipped": _Kind(lambda rest, source, _: shipped.load_questions(rest, source), "shipped:stories"),
    "dossiers": _Kind(dossiers.load_questions, "dossiers:N?seed=S", dossiers.OPTIONS),
    "quality": _Kind(quality.load_questions, "quality:FILE", quality.OPTIONS),
    "leval": _Kind(lambda rest, source, _: leval.load_questions(rest, source), "leval:FILE"),
    "nyu": _Kind(lambda rest, source, _: nyu.load_questions(rest, source), "nyu:FILE"),
    "questions": _Kind(lambda rest, source, _: questions.load_questions(rest, source), "questions:FILE"),
    "run": _Kind(lambda rest, source, _: runs.load_questions(rest, source), "run:DIR"),
    **{
        name: _Kind(functools.partial(multiple_choice.load_questions, name), f"{name}:FILE", multiple_choice.OPTIONS)
        for name in multiple_choice.MAPS
    },
}


def load(source: str) -> Sequence[Question]:
    """Load the questions of a source.

    Args:
        source: ``shipped:stories``, ``shipped:choices``, ``dossiers:N?seed=S``, ``quality:FILE``, ``leval:FILE``,
            ``nyu:FILE``, ``questions:FILE``, ``run:DIR``, or a data set of ``multiple_choice.MAPS`` such as
            ``piqa:FILE``. N is how many stories to generate. FILE is a path, an http(s) URL or
            ``hub:OWNER/DATASET/FILE``, packed with gzip or not. Options follow the last ``?`` as
            ``key=value&key=value``, so a FILE that holds a ``?`` itself is given with another ``?`` at its end.

    Returns:
        One or more questions with unique ids.

    Raises:
        SourceError: The source is unknown, empty, unreachable or malformed.
        FoldError: A story is in two folds.
    """
    kind_name, rest, options = _parse(source)
    loaded = list(_KINDS[kind_name].load(rest, source, options))
    if not loaded:
        raise SourceError(
            f"{source!r} holds no questions{' with these options' if options else ''}; check the file"
            f"{' and the options' if options else ''}"
        )
    _check(loaded, source)
    return loaded


def load_debates(source: str) -> list[Recorded]:
    """Load debates that are recorded, with the verdicts on them.

    Args:
        source: ``run:DIR`` or ``DIR``, a run's folder; or ``nyu:FILE``, the published debates of people and GPT-4.

    Returns:
        The debates, ids unique.

    Raises:
        SourceError: The source is of another kind, absent or malformed.
        StoreError: A run's store cannot be read.
    """
    name, _, rest = source.partition(":")
    if name == "run" and rest:
        return runs.load_debates(Path(rest).expanduser())
    if name == "nyu" and rest:
        return nyu.load_debates(find(rest))
    path = Path(source).expanduser()
    if path.is_dir():
        return runs.load_debates(path)
    what = f"{name}: holds questions, not debates" if name in _KINDS and rest else "there is no such folder"
    raise SourceError(f"{source!r} is no source of debates ({what}); give the folder of a run, or nyu:FILE")


def _parse(source: str) -> tuple[str, str, dict[str, str]]:
    name, colon, rest = source.partition(":")
    examples = listed(kind.example for kind in _KINDS.values())
    if name not in _KINDS:
        raise SourceError(f"{source!r}: unknown source {name!r}{hint(name, _KINDS)} (known: {examples})")
    place, question_mark, tail = rest.rpartition("?")
    if not question_mark:
        place, tail = rest, ""
    if not colon or not place:
        raise SourceError(f"{source!r} names no {_KINDS[name].example.partition(':')[2]}; write {_KINDS[name].example}")
    known = _KINDS[name].options
    options: dict[str, str] = {}
    for part in filter(None, tail.split("&")):
        key, equals, value = part.partition("=")
        if key not in known:
            what = f"known: {listed(known)}" if known else f"{name} has none"
            address = "; end an address that holds a ? with another ?" if "://" in place else ""
            raise SourceError(f"{source!r}: unknown option {key!r}{hint(key, known)} ({what}){address}")
        if not equals or not value or key in options:
            raise SourceError(f"{source!r}: option {key!r} needs one value; write {key}=VALUE once")
        options[key] = value
    return name, place, options


def _check(loaded: Sequence[Question], source: str) -> None:
    """Hold that ids are unique and that no story, by id or by text, is in two folds."""
    ids: set[str] = set()
    folds: dict[str, tuple[Fold | None, str]] = {}
    for question in loaded:
        if question.id in ids:
            raise SourceError(f"{source!r}: two questions have the id {question.id!r}; give each its own")
        ids.add(question.id)
        keys = [f"id {question.story_id}"]
        if question.story is not None:
            keys.append(hashlib.sha256(" ".join(question.story.split()).encode()).hexdigest())
        for key in keys:
            fold, first = folds.setdefault(key, (question.fold, question.id))
            if fold != question.fold:
                raise FoldError(
                    f"{source!r}: the story of question {question.id!r} is in fold {question.fold}, but question "
                    f"{first!r} on the same story is in fold {fold}; a story belongs to one fold"
                )
