"""Hand-made debates of two sides, with as many words and quotes as asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from debate.question import Fold, Question
from debate.quotes import Argument, Quote
from debate.record import Debate, Recorded
from debate.transcript import Transcript, Turn
from debate.verdict import Verdict

Said = tuple[int, int, int]
"""Words beside the quotes (of two words each), verified quotes and unverified ones."""
Shares = tuple[float | None, ...]
"""Probability of answer 0 in the order (0, 1) and, if there is a second, in the other; None is unparsed."""


def speech(said: Said, answer: int, *, consultant: bool = False) -> Turn:
    """One speech in round 1."""
    words, verified, unverified = said
    spans: list[str | Quote] = [" ".join(["word"] * words) + " "]
    spans += [Quote("so it ", verified=True, span=(0, 5))] * verified + [Quote("not so ", verified=False)] * unverified
    return Turn(1, "consultant" if consultant else "debater", answer, Argument(tuple(spans)))


def debated(
    name: str,
    verdicts: Mapping[str, Shares],
    *,
    said: Sequence[Said | None] = ((10, 1, 0), (10, 1, 0)),
    story: str | None = None,
    question: str | None = None,
    gold: int | None = 0,
    fold: Fold | None = None,
    players: tuple[str | None, str | None] = ("a", "b"),
    protocol: str = "simultaneous",
    tags: Mapping[str, str] | None = None,
) -> Recorded:
    """Make a debate with the final verdicts of judges by name; ``said`` of a silent side is None."""
    asked = Question(question or f"q {name}", "Who?", ("Ana.", "Tomas."), gold, None, story or name, "test", fold)
    turns = [
        speech(one, answer, consultant=protocol == "consultancy") for answer, one in enumerate(said) if one is not None
    ]
    given = tuple(
        Verdict(judge, order, None if p is None else (p, 1 - p), unparsed="silent" if p is None else None)
        for judge, shares in verdicts.items()
        for p, order in zip(shares, ((0, 1), (1, 0)), strict=False)
    )
    return Recorded(Debate(name, protocol, Transcript(asked, (0, 1), tuple(turns)), players, tags=tags or {}), given)
