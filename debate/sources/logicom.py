"""The published logs of LOGICOM (Payandeh et al.): outcomes alone, or whole debates with their texts.

One JSON object a line: ``Topic_ID``, ``iteration``, ``debater``, ``helper``, ``number_of_rounds``, ``Stop_reason``,
``Convinced?`` and, in whole debates, ``log``, a list of messages by role.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from debate.fallacies import classify
from debate.metrics.persuasion import Outcome
from debate.protocols.persuasion import Scenario, Stop
from debate.sources.rows import Row, json_rows

#: The logs do not say who persuaded.
PERSUADER: Final = "published"

_HELPERS: Final[dict[str, Scenario]] = {
    "no_helper": "none",
    "fallacy_helper": "fallacy",
    "vanilla_helper": "logical",
}
_SUCCESS: Final = "Persuader successfully convinced the debater"
_STOPS: Final = {
    "Agents are in greeting loop": Stop.PLEASANTRIES,
    "Persuader could not convince the debater": Stop.ROUNDS,
}
_ITERATION = re.compile(r"iteration (\d+)")


class Published(NamedTuple):
    """Published outcomes.

    Attributes:
        outcomes: In the order of the file.
        notes: What a reader must know of them.
    """

    outcomes: Sequence[Outcome]
    notes: Sequence[str]


def is_published(row: Row) -> bool:
    """Tell whether a row is one of the published logs."""
    return "Convinced?" in row.values


def load_outcomes(path: Path) -> Published:
    """Load the published outcomes.

    A log whose stop reason and stance contradict each other counts by its stance, as in the paper's figures: it is a
    debate that ended for another reason, unconvinced.

    Args:
        path: A JSON Lines file, packed with gzip or not.

    Returns:
        The outcomes, with the classes of fallacies where the file holds texts.

    Raises:
        SourceError: The file cannot be read, or a row is malformed.
    """
    outcomes: list[Outcome] = []
    odd: Counter[str] = Counter()
    for row in json_rows(path):
        reason = row.text("Stop_reason") if row.has("Stop_reason") else ""
        convinced = row.boolean("Convinced?")
        if convinced != (reason == _SUCCESS):
            odd["contradiction"] += 1
        if not reason:
            odd["reason"] += 1
        outcomes.append(_outcome(row, Stop.CONVINCED if convinced else _STOPS.get(reason, Stop.OTHER)))
    notes = []
    if odd["contradiction"]:
        notes.append(
            f"{odd['contradiction']} of {len(outcomes)} logs say in their stop reason that the debater was convinced "
            "and in their stance that it was not, or the reverse; the stance counts."
        )
    if odd["reason"]:
        notes.append(f"{odd['reason']} logs have no stop reason.")
    return Published(outcomes, notes)


def _outcome(row: Row, stop: Stop) -> Outcome:
    helper = row.text("helper").lower()
    found = _ITERATION.fullmatch(row.text("iteration"))
    if helper not in _HELPERS:
        raise row.error(f"helper {row.text('helper')!r} is none of No_Helper, Fallacy_Helper, Vanilla_Helper")
    if found is None:
        raise row.error(f"iteration {row.text('iteration')!r} is no 'iteration N'")
    scenario = _HELPERS[helper]
    return Outcome(
        row.text("Topic_ID"),
        PERSUADER,
        row.text("debater"),
        scenario,
        int(found[1]),
        row.integer("number_of_rounds"),
        stop,
        _heard(row) if scenario == "fallacy" and row.has("log") else None,
    )


def _heard(row: Row) -> tuple[str, ...]:
    """Return the classes of the rewritten messages that the debater replied to, in order."""
    heard: list[str] = []
    said: list[str] = []
    for message in row.rows("log"):
        if message.has("user"):
            heard += said
            said = []
            continue
        named = fallacy_named(message.any_text("assistant"))
        said += [] if named is None else [classify(named)]
    return tuple(heard)


def fallacy_named(message: str) -> str | None:
    """Return what a published helper wrote for the fallacy's name; None where the message is no helper's.

    Args:
        message: A message of the persuader: of a helper it is a list of one mapping, as Python writes it.
    """
    if not message.startswith("[{"):
        return None
    try:
        (reply,) = ast.literal_eval(message)
        return str(reply["fallacy"])
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError):
        return None
