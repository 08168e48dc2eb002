"""Votes of a judge that decides by a count: a verdict holds their number, see ``debate.agents.judge.VoteJudge``."""

from __future__ import annotations

from typing import NamedTuple

_NEAR = 1e-6


class Votes(NamedTuple):
    """A count of plain votes between two answers.

    Attributes:
        won: For the answer in question.
        cast: All that could be read.
    """

    won: int
    cast: int

    @property
    def points(self) -> tuple[float, ...]:
        """Each vote by itself: 1 for the answer, 0 for the other."""
        return (1.0,) * self.won + (0.0,) * (self.cast - self.won)


def votes_of(probability: float, asked: int) -> Votes | None:
    """Read a count back from the probability that it was turned into, (won + 1/2) / (cast + 1).

    Votes that named no answer are left out of a count, up to half of those asked for, so the count may be of fewer. Of
    several counts with this probability (one half is 2 : 2 of 4 votes as well as 1 : 1 of 2) the largest is taken.

    Args:
        probability: Of an answer, of two.
        asked: How many votes were asked for.

    Returns:
        The count; None where no count of at most ``asked`` votes, and more than half of them, has this probability.
    """
    for cast in range(asked, asked // 2, -1):
        won = probability * (cast + 1) - 0.5
        if abs(won - round(won)) < _NEAR and 0 <= round(won) <= cast:
            return Votes(round(won), cast)
    return None
