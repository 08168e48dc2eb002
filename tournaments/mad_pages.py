"""MAD as it went: the pages of debates and of attempts alone, and their lines in ``debates.jsonl``."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import TypeAdapter

from debate.item import Item
from debate.metrics.grades import Graded, grade
from debate.open_debate import OpenDebate, Ruling, Speech
from debate.protocols.alone import Attempt
from debate.report import Option, Part, Result, Said, TalkPage
from tournaments.mad_outcomes import DebateOutcome

_DEBATE: TypeAdapter[OpenDebate] = TypeAdapter(OpenDebate)
_ATTEMPT: TypeAdapter[Attempt] = TypeAdapter(Attempt)


def transcript_line(one: OpenDebate | Attempt) -> str:
    """Write a debate or an attempt, with all that was said, as one line of JSON."""
    written = _DEBATE.dump_json(one) if isinstance(one, OpenDebate) else _ATTEMPT.dump_json(one)
    return written.decode("utf-8", "replace")


def debate_page(debate: OpenDebate, outcome: DebateOutcome) -> TalkPage:
    """The page of a debate: the base answer, every iteration with the judge's rulings, and what came of it.

    Args:
        debate: The debate.
        outcome: What is recorded of it.

    Returns:
        The page.
    """
    item = debate.item
    parts = [Part("Base answer", [_said(item, debate.base)])] if debate.base.text else []
    for number in range(1, debate.iterations + 1):
        said = [_said(item, speech) for speech in debate.speeches if speech.iteration == number]
        said += [_ruled(item, ruling) for ruling in debate.rulings if ruling.iteration == number]
        parts.append(Part(f"Iteration {number}", said))
    final = outcome.final
    results = [_result("debate", None if final is None else final.answer, failed=final is None)]
    return TalkPage(
        id=f"{item.id}, level {debate.level}, {outcome.order} order",
        question=item.text,
        kind=f"tit for tat, level {debate.level}",
        speakers=debate.speakers,
        parts=parts,
        options=_options(item),
        results=[*results, _result("base", outcome.base)],
        failed=debate.failed,
        facts={
            **_facts(item),
            "models": ", ".join(outcome.models),
            "judge": outcome.judge,
            "ended by": "nothing" if final is None else f"{final.mode} ruling after iteration {final.iteration}",
            "calls": str(outcome.calls),
        },
    )


def attempt_page(attempt: Attempt) -> TalkPage:
    """The page of what a model did alone."""
    item, name = attempt.item, attempt.method.replace("_", " ")
    parts = [Part(f"Step {number}", [_said(item, step)]) for number, step in enumerate(attempt.steps, 1)]
    return TalkPage(
        id=f"{item.id}, {name}",
        question=item.text,
        kind=name,
        speakers=list(dict.fromkeys(step.speaker for step in attempt.steps)),
        parts=parts,
        options=_options(item),
        results=[_result(name, grade(item, attempt.answer))],
        failed=attempt.failed,
        facts=_facts(item),
    )


def _options(item: Item) -> Sequence[Option]:
    right = item.right[0].removeprefix("~")
    return Option("right", right, right=True), Option("trap", item.trap, right=False)


def _facts(item: Item) -> dict[str, str]:
    told = {
        "language": item.language,
        "ambiguous words": item.focus,
        "why it is right": item.why,
        "why the trap tempts": item.why_trap,
    }
    return {name: text for name, text in told.items() if text}


def _said(item: Item, speech: Speech) -> Said:
    graded = grade(item, speech.answer)
    note = "" if graded is not None else "No answer could be read."
    holds, right = (None, None) if graded is None else (graded.text, graded.right)
    return Said(speech.speaker, speech.text, holds, right, note=note)


def _ruled(item: Item, ruling: Ruling) -> Said:
    graded = grade(item, ruling.answer)
    state = "" if ruling.clear else "Not clear yet."
    note = f"Unparsed: {ruling.unparsed}." if ruling.unparsed is not None else state
    side = f" (supports {ruling.side})" if ruling.side is not None else ""
    holds, right = (None, None) if graded is None else (graded.text, graded.right)
    return Said(f"Judge, {ruling.mode}{side}", ruling.reason, holds, right, note=note)


def _result(by: str, graded: Graded | None, *, failed: bool = False) -> Result:
    if graded is None:
        return Result(by, None, "failed" if failed else "unparsed")
    return Result(by, graded.text, "right" if graded.right else "trap" if graded.trapped else "wrong")
