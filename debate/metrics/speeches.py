"""What speeches are made of: words, quotes, and how many of them the story holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from debate.record import Recorded
from debate.transcript import Turn


@dataclass(frozen=True, slots=True)
class SpeechFigures:
    """Counts over speeches.

    Attributes:
        speeches: How many.
        words: Mean words of a speech.
        quotes: Mean quotes of a speech.
        verified: Share of quotes that the story holds, or None where there are no quotes.
        invalid: Share of speeches with a flaw.
        unscored: Of the valid candidates, the share without a preference score; 1 for a player without an optimizer,
            None where no candidate is valid or none was kept.
    """

    speeches: int
    words: float
    quotes: float
    verified: float | None
    invalid: float
    unscored: float | None = None


def figures_by_player(recorded: Iterable[Recorded]) -> dict[str | None, SpeechFigures]:
    """Count over the speeches of each player; debates are read once and none is held."""
    found: dict[str | None, _Counts] = {}
    for item in recorded:
        for turn in item.debate.transcript.turns:
            if turn.answer is not None:
                found.setdefault(item.debate.players[turn.answer], _Counts()).add(turn)
    return {player: counts.figures() for player, counts in found.items()}


@dataclass(slots=True)
class _Counts:
    """Sums over speeches."""

    speeches: int = 0
    words: int = 0
    quotes: int = 0
    verified: int = 0
    invalid: int = 0
    valid_candidates: int = 0
    unscored: int = 0

    def add(self, turn: Turn) -> None:
        quotes = turn.argument.quotes
        self.speeches += 1
        self.words += turn.argument.words
        self.quotes += len(quotes)
        self.verified += sum(quote.verified for quote in quotes)
        self.invalid += bool(turn.flaws)
        valid = [candidate for candidate in turn.candidates if candidate.valid]
        self.valid_candidates += len(valid)
        self.unscored += sum(candidate.score is None for candidate in valid)

    def figures(self) -> SpeechFigures:
        return SpeechFigures(
            speeches=self.speeches,
            words=self.words / self.speeches,
            quotes=self.quotes / self.speeches,
            verified=self.verified / self.quotes if self.quotes else None,
            invalid=self.invalid / self.speeches,
            unscored=self.unscored / self.valid_candidates if self.valid_candidates else None,
        )
