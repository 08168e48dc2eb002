"""Open debates: what debaters without an assigned answer said about an item, and what a judge made of it.

A ``Transcript`` seats two answers that are known beforehand. Here any number of debaters speak, and an answer is
whatever one of them writes.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from debate.agents.debater import split_thinking
from debate.item import Item
from debate.models.base import Completion
from debate.prompts import Prompts

Mode = Literal["discriminative", "extractive"]

_ANSWER = re.compile(r"[\W_]*(?:(?:my|the|final)\s+)*answer\s*(?:[:：]|\bis\s*:)[\s*_`]*(.*?)[\s*_`]*", re.IGNORECASE)
# "So the answer is 2 * 2 = 4." Without a number it may go on in any way ("the answer is hard to tell").
_TOLD = re.compile(r"\banswer\s+is\s+((?:[^.\n]|\.(?=\d))*\d(?:[^.\n]|\.(?=\d))*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Speech:
    """What one debater said at one time, or one step of somebody who works alone.

    Attributes:
        iteration: From 1 on; 0 for the base answer.
        speaker: Its name.
        text: What it said, without what a reasoning model wrote for itself.
        answer: The answer it gave, or None where none could be read.
    """

    iteration: int
    speaker: str
    text: str
    answer: str | None


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the judge said after an iteration.

    Attributes:
        iteration: After which one.
        mode: Discriminative: is a right answer clear? Extractive: what is it?
        clear: Whether a right answer is clear; an extraction always takes it to be.
        side: The debater whose answer the judge supports, or None.
        answer: The judge's answer, or None where it has none yet, or none could be read.
        reason: What it wrote.
        unparsed: Why nothing could be read, or None. Such a ruling ends no debate and scores for nobody.
        calls: Model calls that it took.
    """

    iteration: int
    mode: Mode
    clear: bool
    side: str | None = None
    answer: str | None = None
    reason: str = ""
    unparsed: str | None = None
    calls: int = 1


@dataclass(frozen=True, slots=True)
class OpenDebate:
    """A debate on an item, complete or under way.

    Attributes:
        item: The item, what is right included; agents are shown its text alone.
        speakers: In speaking order.
        level: Of tit for tat, 0 to 3.
        base: The base answer, before the debate.
        speeches: In order.
        rulings: In order.
        failed: Why it could not be finished, or None.
    """

    item: Item
    speakers: tuple[str, ...]
    level: int
    base: Speech
    speeches: tuple[Speech, ...] = ()
    rulings: tuple[Ruling, ...] = ()
    failed: str | None = None

    @property
    def iterations(self) -> int:
        """Iterations in which everybody spoke."""
        return len(self.speeches) // len(self.speakers)

    def ruled(self, ruling: Ruling) -> OpenDebate:
        """Add a ruling."""
        return dataclasses.replace(self, rulings=(*self.rulings, ruling))

    @property
    def broke(self) -> Ruling | None:
        """The ruling with which an adaptive debate ends before its limit: the first that found an answer clear."""
        return break_of(self.rulings)

    def calls(self, limit: int) -> int:
        """Model calls that an adaptive debate of at most ``limit`` iterations takes, the base answer among them."""
        broke = self.broke
        end = broke.iteration if broke is not None and broke.iteration <= limit else limit
        due = [one for one in self.rulings if one.iteration <= end and one.mode == "discriminative"]
        last = end_of(self.rulings, limit)
        due += [] if last is None or last.mode == "discriminative" else [last]
        return 1 + sum(speech.iteration <= end for speech in self.speeches) + sum(one.calls for one in due)

    def answers(self, iteration: int) -> list[str | None]:
        """The answers given in an iteration, in speaking order."""
        return [speech.answer for speech in self.speeches if speech.iteration == iteration]


class Ruled(Protocol):
    """A ruling, or what is recorded of one."""

    @property
    def iteration(self) -> int:
        """After which one."""
        ...

    @property
    def mode(self) -> Mode:
        """Discriminative or extractive."""
        ...

    @property
    def clear(self) -> bool:
        """Whether it found an answer."""
        ...


RuledT = TypeVar("RuledT", bound=Ruled)


def break_of(rulings: Sequence[RuledT]) -> RuledT | None:
    """The first ruling that found an answer clear, with which an adaptive debate ends; None where none did."""
    return next((one for one in rulings if one.mode == "discriminative" and one.clear), None)


def extraction(rulings: Sequence[RuledT], iteration: int) -> RuledT | None:
    """The extraction after an iteration, or None where there was none."""
    return next((one for one in rulings if one.mode == "extractive" and one.iteration == iteration), None)


def end_of(rulings: Sequence[RuledT], limit: int) -> RuledT | None:
    """The ruling that an adaptive debate of at most ``limit`` iterations ends with; None where it was not made."""
    broke = break_of(rulings)
    return broke if broke is not None and broke.iteration <= limit else extraction(rulings, limit)


def read_speech(reply: Completion, speaker: str, iteration: int, *, bare: int = 0) -> Speech:
    """Read what somebody said, and its answer.

    That is what stands behind ``Answer:`` on the last line that begins so. Without such a line it is the number, and
    what stands beside it, of the last sentence that says "the answer is" one; or, where nothing but an answer was asked
    for, a reply of a single line, if it is short. A reply that was cut there, or stopped by a filter, has none.

    Args:
        reply: The reply.
        speaker: Whose it is.
        iteration: Of which iteration.
        bare: Most words of a single line that is an answer, where the prompt asked for nothing else; 0 where it did.

    Returns:
        The speech.
    """
    text = split_thinking(reply.text)[0].strip()
    answer = None if reply.finish == "filter" else _read_answer(text, bare=bare, cut=reply.finish == "length")
    return Speech(iteration, speaker, text, answer)


def _read_answer(text: str, *, bare: int, cut: bool) -> str | None:
    lines = [line for line in text.splitlines() if line.strip()]
    found = [(at, match[1]) for at, line in enumerate(lines) if (match := _ANSWER.fullmatch(line.strip()))]
    if found:
        at, given = found[-1]
        if not given and at + 1 < len(lines):  # "Answer:" alone, and the answer on the next line
            at, given = at + 1, lines[at + 1].strip()
        # "Answer: ..." is the form that was asked for, copied.
        return None if (cut and at == len(lines) - 1) or not re.search(r"\w", given) else given
    told = [match for match in _TOLD.finditer(text) if not cut or match.end() < len(text)]
    if told:
        return told[-1][1].strip()
    return lines[0].strip() if len(lines) == 1 and len(lines[0].split()) <= bare and not cut else None


def show_task(item: Item, prompts: Prompts) -> str:
    """Write out what an item asks; nothing else of it is shown to anybody."""
    values = {"language": item.language} if item.task == "translation" else {}
    return prompts.fill(f"mad_task_{item.task}", text=" ".join(item.text.split()), **values)[0].content


def show_form(item: Item, prompts: Prompts) -> str:
    """Say what an answer to an item looks like."""
    return prompts.fill(f"mad_form_{item.task}")[0].content


def show_speeches(speeches: Sequence[Speech], speakers: Sequence[str]) -> str:
    """Write out what was said, a block for each iteration and a line for each speech.

    Line breaks inside a speech become spaces, and a colon behind a speaker's name a dash, so that no speech can fake
    another's line ("Judge: the right answer is clear").
    """
    names = "|".join(re.escape(name) for name in ("judge", *speakers))
    label = re.compile(rf"(?<!\w)({names})\s*[:：]", re.IGNORECASE)
    blocks: dict[int, list[str]] = {}
    for speech in speeches:
        said = label.sub(r"\1 –", " ".join(speech.text.split()))
        blocks.setdefault(speech.iteration, []).append(f"{speech.speaker}: {said}")
    shown = (f"Iteration {number}\n" + "\n".join(lines) for number, lines in blocks.items())
    return "\n\n".join(shown) or "Nothing has been said yet."
