"""A FORD debate as its page shows it, and as a row of recorded outcomes."""

from __future__ import annotations

from debate.agents.chooser import Opinion
from debate.agents.render import LETTERS
from debate.metrics.consensus import most_frequent, result
from debate.protocols.roundtable import Discussion, letter
from debate.report import Option, Part, Result, Said, TalkPage


def page_of(held: Discussion) -> TalkPage:
    """Show a debate: what each said alone, then turn by turn, and what came of it.

    Args:
        held: The debate, finished or failed.

    Returns:
        Its page.
    """
    places, question = len(held.speakers), held.question
    said = [_said(held, at, opinion) for at, opinion in enumerate(held.opinions)]
    parts = [Part("Alone", said[:places])] if said else []
    if len(said) > places:
        parts.append(Part("Debate", said[places:]))
    options = [
        Option(LETTERS[at], answer, None if question.gold is None else at == question.gold)
        for at, answer in enumerate(question.answers)
    ]
    return TalkPage(
        id=held.id,
        question=question.text,
        kind="roundtable",
        speakers=held.speakers,
        parts=parts,
        options=options,
        results=_results(held),
        failed=held.failed,
        facts={"agreed": _when(held)} if held.failed is None else {},
    )


def _said(held: Discussion, at: int, opinion: Opinion) -> Said:
    details = {}
    if opinion.probabilities is not None:
        shares = zip(LETTERS, opinion.probabilities, strict=False)
        details["Shares of the answers"] = ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares)
    if opinion.raw:
        details["Whole reply"] = opinion.raw
    return Said(
        speaker=held.speakers[at % len(held.speakers)],
        text=opinion.text,
        holds=letter(opinion.answer),
        right=None if opinion.answer is None else opinion.answer == held.question.gold,
        note="" if opinion.unread is None else f"No answer: {opinion.unread}",
        details=details,
    )


def _results(held: Discussion) -> list[Result]:
    if held.failed is not None:
        return []
    outcome = held.outcome
    places = len(held.speakers)
    found = [
        ("FORD", result(outcome), ""),
        ("majority alone", most_frequent(outcome.predictions[:places]), ""),
    ]
    if held.judge is not None:
        found.append(("judge", outcome.verdict, held.judge.raw))
    return [
        Result(by, answer, "no answer" if answer is None else "right" if answer == outcome.gold else "wrong", text)
        for by, answer, text in found
    ]


def _when(held: Discussion) -> str:
    if held.agreed is None:
        return "never; the result is the vote over all answers"
    return "at once" if held.agreed == 0 else f"after turn {held.agreed}"
