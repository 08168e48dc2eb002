"""Outcomes of MAD as they are recorded: a JSON object for each debate and each attempt of a model alone.

They hold answers with their grades, stances and rulings, and not what was said, so that every figure can be had again
from them without a model (``--outcomes``).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Discriminator, TypeAdapter, ValidationError

from debate.errors import SourceError
from debate.item import Item, Task
from debate.metrics.disagreement import Stances, opposed_among, opposed_between
from debate.metrics.grades import Graded, grade
from debate.open_debate import Mode, OpenDebate, Ruling, Speech, end_of
from debate.protocols.alone import Attempt, Method
from debate.sources.rows import json_rows

Order = Literal["given", "reversed"]


@dataclass(frozen=True, slots=True)
class Ruled:
    """A ruling as it is recorded.

    Attributes:
        iteration: After which one.
        mode: Discriminative or extractive.
        clear: Whether it found an answer.
        side: The place of the debater whose answer it supports, from 0 on, or None.
        answer: Its answer, graded, or None.
        unparsed: Why it could not be read, or None.
    """

    iteration: int
    mode: Mode
    clear: bool
    side: int | None
    answer: Graded | None
    unparsed: str | None


@dataclass(frozen=True, slots=True)
class DebateOutcome:
    """What a debate came to.

    Attributes:
        item: The item's id.
        task: Its task.
        level: Of tit for tat.
        order: Whether the speakers spoke in the order of the configuration or in the reverse of it.
        speakers: Their names, in speaking order.
        models: Their models' labels, in speaking order.
        judge: The judge's model's label.
        limit: Most iterations.
        forced: Whether it went on to the limit whatever the judge said.
        base: The base answer.
        answers: Of each iteration, in speaking order.
        opposed: Of each iteration, the share of opposed pairs of answers; None where none is known.
        rulings: In order.
        calls: Model calls that it takes as an adaptive debate.
        failed: Why it could not be finished, or None.
        kind: Tells it from what a model did alone.
        system: Tells it from the outcomes of FORD.
    """

    item: str
    task: Task
    level: int
    order: Order
    speakers: tuple[str, ...]
    models: tuple[str, ...]
    judge: str
    limit: int
    forced: bool
    base: Graded | None
    answers: tuple[tuple[Graded | None, ...], ...] = ()
    opposed: tuple[float | None, ...] = ()
    rulings: tuple[Ruled, ...] = ()
    calls: int = 0
    failed: str | None = None
    kind: Literal["debate"] = "debate"
    system: Literal["mad"] = "mad"

    def ends_at(self, limit: int) -> Ruled | None:
        """The ruling that an adaptive debate of at most ``limit`` iterations ends with; None where it was not made."""
        return end_of(self.rulings, limit)

    @property
    def final(self) -> Ruled | None:
        """The ruling that it ends with as an adaptive debate of its own limit; None where it failed."""
        return self.ends_at(self.limit)

    def stances(self) -> list[Stances]:
        """How far the debaters are opposed in each iteration."""
        wrong = None if self.base is None else not self.base.right
        return [Stances(self.item, number, share, wrong) for number, share in enumerate(self.opposed, 1)]


@dataclass(frozen=True, slots=True)
class AloneOutcome:
    """What an attempt of a model alone came to.

    Attributes:
        item: The item's id.
        task: Its task.
        method: How it worked.
        model: Its label.
        answers: Of each step.
        opposed: Of self-reflection: whether each answer is opposed to the one before (0 or 1); None where that is not
            known.
        answer: What it settled on.
        calls: Model calls that it took.
        failed: Why it could not be finished, or None.
        kind: Tells it from a debate.
        system: Tells it from the outcomes of FORD.
    """

    item: str
    task: Task
    method: Method
    model: str
    answers: tuple[Graded | None, ...] = ()
    opposed: tuple[float | None, ...] = ()
    answer: Graded | None = None
    calls: int = 0
    failed: str | None = None
    kind: Literal["alone"] = "alone"
    system: Literal["mad"] = "mad"

    def stances(self) -> list[Stances]:
        """How far each answer is opposed to the one before, where the method reflects."""
        first = self.answers[0] if self.answers else None
        wrong = None if first is None else not first.right
        return [Stances(self.item, number, share, wrong) for number, share in enumerate(self.opposed, 1)]


Outcome = DebateOutcome | AloneOutcome
_ADAPTER: TypeAdapter[Outcome] = TypeAdapter(Annotated[Outcome, Discriminator("kind")])


def of_debate(
    debate: OpenDebate, *, order: Order, models: Sequence[str], judge: str, limit: int, forced: bool
) -> DebateOutcome:
    """Grade a debate.

    Args:
        debate: The debate, complete or failed.
        order: In which order its speakers spoke.
        models: Their models' labels, in speaking order.
        judge: The judge's model's label.
        limit: Most iterations.
        forced: Whether it was to go on to the limit.

    Returns:
        What is recorded of it.
    """
    item = debate.item
    rounds = [debate.answers(number) for number in range(1, debate.iterations + 1)]
    return DebateOutcome(
        item=item.id,
        task=item.task,
        level=debate.level,
        order=order,
        speakers=debate.speakers,
        models=tuple(models),
        judge=judge,
        limit=limit,
        forced=forced,
        base=grade(item, debate.base.answer),
        answers=tuple(tuple(grade(item, answer) for answer in answers) for answers in rounds),
        opposed=tuple(opposed_among(item, answers) for answers in rounds),
        rulings=tuple(_ruled(debate, ruling) for ruling in debate.rulings),
        calls=debate.calls(limit),
        failed=debate.failed,
    )


def _ruled(debate: OpenDebate, ruling: Ruling) -> Ruled:
    side = None if ruling.side is None else debate.speakers.index(ruling.side)
    answer = grade(debate.item, ruling.answer)
    return Ruled(ruling.iteration, ruling.mode, ruling.clear, side, answer, ruling.unparsed)


def of_attempt(attempt: Attempt, *, model: str) -> AloneOutcome:
    """Grade what a model did alone.

    Args:
        attempt: The attempt, complete or failed.
        model: The model's label.

    Returns:
        What is recorded of it.
    """
    item, answers = attempt.item, [step.answer for step in attempt.steps]
    pairs = itertools.pairwise(answers) if attempt.method == "self_reflection" else ()
    return AloneOutcome(
        item=item.id,
        task=item.task,
        method=attempt.method,
        model=model,
        answers=tuple(grade(item, answer) for answer in answers),
        opposed=tuple(opposed_between(item, before, after) for before, after in pairs),
        answer=grade(item, attempt.answer),
        calls=len(attempt.steps),
        failed=attempt.failed,
    )


def failed_debate(item: Item, speakers: Sequence[str], level: int, why: str) -> OpenDebate:
    """A debate that a model failed in: it scores for nobody."""
    return OpenDebate(item, tuple(speakers), level, Speech(0, "", "", None), failed=why)


def to_line(outcome: Outcome) -> str:
    """Write an outcome as one line of JSON."""
    return _ADAPTER.dump_json(outcome).decode("utf-8", "replace")


def read_outcomes(path: Path) -> list[Outcome]:
    """Read recorded outcomes.

    Args:
        path: A JSON Lines file.

    Returns:
        The outcomes, in order.

    Raises:
        SourceError: The file cannot be read, or a line is no outcome of MAD.
    """
    found = []
    for row in json_rows(path):
        try:
            found.append(_ADAPTER.validate_python(dict(row.values), strict=False))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise row.error(f"is no outcome of MAD ({where}: {first['msg']})") from error
    if not found:
        raise SourceError(f"{path} holds no outcomes; give a file with one JSON object a line")
    return found
