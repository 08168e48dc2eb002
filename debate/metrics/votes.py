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

    Votes that named no answer are left out of a count, up to half of those asked for. So 3 of 5 cast has a probability
    of its own, and the largest count that has the given one is taken: one half, of 4 votes 2 : 2 or of 2 votes 1 : 1, is
    read as the former, which the same share of votes went to.

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
