"""Grades of answers to items, whatever their task: right, the trap, or neither; and whether two answers are opposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from debate.item import Item
from debate.metrics.answers import grade_answer, is_same
from debate.metrics.translation import Overlap, overlap, reading


@dataclass(frozen=True, slots=True)
class Graded:
    """An answer and what it is worth.

    Attributes:
        text: The answer.
        right: Whether it is right; of a translation, whether it shows the right reading.
        trapped: Whether it is the trap; of a translation, whether it shows the wrong reading.
        near: Of a translation: how near it is to the right reference.
        near_trap: Of a translation: how near it is to the trap.
    """

    text: str
    right: bool
    trapped: bool
    near: Overlap | None = None
    near_trap: Overlap | None = None


def grade(item: Item, answer: str | None) -> Graded | None:
    """Grade an answer; None where none could be read, which is counted and never scored."""
    if answer is None:
        return None
    if item.task == "question":
        right, trapped = grade_answer(answer, item.right, item.trap)
        return Graded(answer, right, trapped)
    found = reading(item, answer)
    return Graded(answer, found == "right", found == "trap", overlap(answer, item.right), overlap(answer, [item.trap]))


def is_one_answer(item: Item, one: str, other: str) -> bool:
    """Whether two answers are one in other words: equal quantities or words; of translations equal wording."""
    if item.task == "question":
        return is_same(one, other)
    return " ".join(one.casefold().split()) == " ".join(other.casefold().split())


def is_opposed(item: Item, one: str | None, other: str | None) -> bool | None:
    """Whether two answers are opposed stances: other answers to a question, other readings of a text.

    Args:
        item: The item.
        one: An answer, or None.
        other: Another, or None.

    Returns:
        None where an answer could not be read, or a translation shows no reading.
    """
    if one is None or other is None:
        return None
    if item.task == "question":
        return not is_same(one, other)
    first, second = reading(item, one), reading(item, other)
    return None if first is None or second is None else first != second


def majority(item: Item, answers: Sequence[str | None]) -> str | None:
    """Return the most frequent answer, in its first wording; of those equally frequent the one given first."""
    groups: list[list[str]] = []
    for answer in answers:
        if answer is None:
            continue
        home = next((group for group in groups if is_one_answer(item, group[0], answer)), None)
        if home is None:
            groups.append([answer])
        else:
            home.append(answer)
    return max(groups, key=len)[0] if groups else None
