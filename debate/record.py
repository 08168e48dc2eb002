"""Records of debates: a transcript with who held which side, as kept in a run or read from published data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from debate.transcript import Transcript
from debate.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Debate:
    """One question, one assignment of sides, as it went.

    Attributes:
        id: Unique within its run or file.
        protocol: "simultaneous", "sequential", "consultancy", ...
        transcript: What was said.
        players: The name of the player that defended answer 0, and of the one that defended answer 1; None where
            nobody defended it.
        repetition: Counts repetitions of the same debate.
        failed: Why the debate could not be finished, or None.
        tags: What published data say beyond this, such as the setting.
    """

    id: str
    protocol: str
    transcript: Transcript
    players: tuple[str | None, str | None]
    repetition: int = 0
    failed: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A debate and what judges made of it.

    Attributes:
        debate: The debate.
        verdicts: Of all judges, orders and rounds.
    """

    debate: Debate
    verdicts: tuple[Verdict, ...]

    @property
    def final(self) -> Verdict | None:
        """The verdict with which a live judge (the tag ``judge``) ended a published debate, or None."""
        judge = self.debate.tags.get("judge")
        return next((verdict for verdict in self.verdicts if verdict.judge == judge and verdict.round is None), None)
