"""Hand-made debates with the verdicts of one judge."""

from __future__ import annotations

from debate.question import Question
from debate.record import Debate, Recorded
from debate.transcript import Transcript
from debate.verdict import Verdict

Shares = tuple[float, float] | None


def judged(
    question_id: str,
    *shares: Shares,
    story: str | None = None,
    gold: int | None = 0,
    players: tuple[str | None, str | None] = (None, None),
    failed: str | None = None,
    round_: int | None = None,
) -> Recorded:
    """Make a debate on a question whose verdicts give answers 0 and 1 these shares; None is unparsed."""
    question = Question(question_id, "Who?", ("Ana.", "Tomas."), gold, "A story.", story or question_id, "test")
    verdicts = tuple(
        Verdict("j", order, pair, unparsed=None if pair else "no answer", round=round_)
        for pair, order in zip(shares, ((0, 1), (1, 0)), strict=False)
    )
    return Recorded(Debate(f"d {question_id}", "p", Transcript(question), players, failed=failed), verdicts)


RIGHT, WRONG, TIE = (0.9, 0.1), (0.2, 0.8), (0.5, 0.5)
