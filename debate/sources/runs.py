"""``run:DIR``: the debates of an earlier run, and the questions they were about.

A run is read from its store, so one that is still under way can be read too: what has finished by then is there. A
debate that failed is not kept, so none is here.
"""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

from debate.config import read_tree
from debate.errors import ConfigError, SourceError
from debate.question import Question
from debate.record import Recorded, read_records
from debate.run_folder import CONFIG, STORE, check_is_run
from debate.store import Store


def load_debates(path: Path) -> list[Recorded]:
    """Load the debates of a run with the verdicts of all judges, in the order they were kept.

    Args:
        path: The run's folder, of any command that holds or judges debates.

    Returns:
        One record a debate; those in which nobody speaks (baselines) too.

    Raises:
        SourceError: The folder is no run's, or holds no debate.
        StoreError: Its store cannot be read.
    """
    try:
        check_is_run(path)
    except ConfigError as error:
        raise SourceError(f"{error}, or give the folder of another") from error
    system = read_tree(path / CONFIG).get("system")
    if system is not None:
        raise SourceError(
            f"{path} is a run of {system}, whose speakers were assigned no answers; measure it with python -m "
            f"tournaments.consensus --outcomes {path}"
        )
    if not (path / STORE).is_file():
        raise SourceError(f"{path} has no {STORE}: its run never began; start it, or give the folder of another")
    store = Store(path / STORE, readonly=True)
    try:
        recorded = read_records(store)
    finally:
        store.close()
    if not recorded:
        raise SourceError(
            f"{path} holds no finished debate; wait until its run has some, or give the folder of another run"
        )
    return recorded


def load_questions(place: str, source: str) -> list[Question]:
    """Load the questions that a run's debates are about, each once.

    Args:
        place: The run's folder.
        source: The source string, for the questions to carry.

    Returns:
        Questions of two answers, in the order of their first debates, with the folds of their stories. A run that
        judged debates of several sources before these named their questions apart may hold different questions under
        one id: all but the first then get a part of their digest behind it.

    Raises:
        SourceError: See ``load_debates``.
    """
    found: dict[tuple[str, ...], Question] = {}
    ids: set[str] = set()
    for item in load_debates(Path(place).expanduser()):
        question = item.debate.transcript.question
        key = (question.id, question.text, *question.answers, question.story_id, question.story or "")
        if key in found:
            continue
        name = question.id
        if name in ids:
            name = f"{name}-{hashlib.sha256(repr(key).encode()).hexdigest()[:10]}"
        ids.add(name)
        found[key] = dataclasses.replace(question, id=name, source=source)
    return list(found.values())
