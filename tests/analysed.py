"""Debates to be analysed, counted by hand."""

from __future__ import annotations

import dataclasses

from debate.record import Recorded
from tests.judged import RIGHT, TIE, WRONG, Shares, judged
from tournaments.cast import Cast
from tournaments.gather import Gathered


def item(question: str, *shares: Shares, protocol: str = "simultaneous", number: int = 0, **more: object) -> Recorded:
    """A debate of a protocol, with an id of its own."""
    made = judged(question, *shares, **more)  # type: ignore[arg-type]  # as judged takes them
    return Recorded(
        dataclasses.replace(made.debate, id=f"{protocol} {question} {number}", protocol=protocol), made.verdicts
    )


def gathered(*recorded: Recorded) -> Gathered:
    return Gathered(recorded, Cast())


FIELD = gathered(
    item("1", RIGHT, RIGHT, players=("a", "b")),
    item("2", RIGHT, WRONG, players=("a", "b")),
    item("3", WRONG, WRONG, players=("b", "a")),
    item("4", TIE, RIGHT, players=("b", "a")),
    item("1", RIGHT, protocol="consultancy", players=("a", None)),
    item("2", WRONG, protocol="consultancy", players=(None, "a")),
    item("3", WRONG, protocol="consultancy", players=("a", None)),
    item("4", RIGHT, protocol="consultancy", players=(None, "a")),
    *(item(str(number), WRONG if number < 3 else RIGHT, protocol="blind") for number in range(1, 5)),
    *(item(str(number), RIGHT, protocol="expert") for number in range(1, 5)),
)
