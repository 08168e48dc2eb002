"""What is worth learning from, of all sources: each row once, and as many for the right answer as for the wrong one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import Final, Generic, NamedTuple

from debate.card import Card
from debate.question import Question
from training.rows import SAME, AnyRows, RowSet, RowT, content_of

TOO_LONG: Final = "too long, even around its quotes"
_MORE: Final = "more for one side of their question"
_ALL: Final = "all for one side of their question"
_UNKNOWN: Final = "no gold answer to balance by"


class Worth(NamedTuple, Generic[RowT]):
    """A row of a speech, or of two candidates of one, that is worth learning from.

    Attributes:
        row: The row.
        margin: By how much the speaker's side was believed, or the better candidate preferred.
        question: What it was about.
    """

    row: RowT
    margin: float
    question: Question


def settle(found: Iterable[Worth[RowT]], dropped: Mapping[str, int], *, balanced: bool) -> RowSet[RowT]:
    """Keep each row once, then as many for each side of a question.

    In this order: a row that is left out as another's double must not leave its side one short.

    Args:
        found: Rows of all sources, in order.
        dropped: What was left out before, by why.
        balanced: Whether to balance.

    Returns:
        The rows that stay, in their order; of equal ones where it counts most clearly.
    """
    lost = Counter(dropped)
    best: dict[Hashable, Worth[RowT]] = {}
    for one in found:
        key = content_of(one.row)
        other = best.get(key)
        lost[SAME] += other is not None
        if other is None or one.margin > other.margin:
            best[key] = one
    kept = list(best.values())
    if balanced:
        kept, more = balance(kept)
        lost.update(more)
    return RowSet(tuple(one.row for one in kept), Card.stories_of(one.question for one in kept), dict(+lost))


def balance(kept: list[Worth[RowT]]) -> tuple[list[Worth[RowT]], Mapping[str, int]]:
    """Keep as many speeches for the right answer as for the wrong one within each question, the clearest wins.

    Without it the filter for winning chooses questions whose right answer is easy to argue for.

    Args:
        kept: Speeches, each with its margin.

    Returns:
        Those that stay, in their order, and how many went, by why.
    """
    sides: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, one in enumerate(kept):
        sides[one.row.question][one.row.tags["assigned"]].append(index)
    staying: set[int] = set()
    dropped: Counter[str] = Counter()
    for by_side in sides.values():
        right, wrong = by_side["right"], by_side["wrong"]
        share = min(len(right), len(wrong))
        dropped[_MORE if share else _ALL] += len(right) + len(wrong) - 2 * share
        dropped[_UNKNOWN] += len(by_side["unknown"])
        for side in (right, wrong):
            staying.update(sorted(side, key=lambda index: (-kept[index].margin, index))[:share])
    return [one for index, one in enumerate(kept) if index in staying], +dropped


def short_enough(rowset: AnyRows) -> int:
    """Count the speeches or pairs that were short enough, doubles and what balancing leaves out included."""
    return len(rowset.rows) + sum(rowset.dropped.get(why, 0) for why in (SAME, _MORE, _ALL, _UNKNOWN))
