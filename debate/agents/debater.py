"""Debaters: what they have in common, and the free debater that writes from the story."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from debate.agents.render import show_answers, show_turns
from debate.models.base import Completion, Draw, Model, Sampling
from debate.prompts import Prompts
from debate.quotes import Argument, Name, Quote, extract_argument, parse_argument
from debate.sentences import cut_at_sentence, is_ended, sentence_spans
from debate.transcript import Candidate
from debate.view import View

_OPENING_TAG = re.compile(r"<\s*argument\s*>", re.IGNORECASE)
_THINKING_TAG = re.compile(r"<([\s/]*)(?:think(?:ing)?|reasoning|scratchpad)(?![\w-])[^<>]*>", re.IGNORECASE)


class Speech(NamedTuple):
    """What a debater says: everything it sampled for the turn, and which of it is spoken."""

    candidates: tuple[Candidate, ...]
    chosen: int


class Debater(Protocol):
    """Anything that argues for the answer of its seat."""

    @property
    def name(self) -> str:
        """The player's name; draws of different names are independent."""
        ...

    async def candidates(self, view: View, draw: Draw, n: int) -> tuple[Candidate, ...]:
        """Sample until ``n`` candidates are valid or the attempts are used up.

        Args:
            view: The debater's view, with its seat and the story.
            draw: The first draw of the turn.
            n: Valid candidates wanted.

        Returns:
            All candidates sampled, valid or not, in order: at least ``n``.

        Raises:
            ModelError: The model failed for good.
        """
        ...

    async def argue(self, view: View, draw: Draw) -> Speech:
        """Make the debater's next speech.

        Args:
            view: The debater's view, with its seat and the story.
            draw: The first draw of the turn.

        Returns:
            The speech. Where no candidate is valid, the best invalid one is cut at a sentence end and keeps its flaws.

        Raises:
            ModelError: The model failed for good.
        """
        ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What makes a candidate valid.

    Attributes:
        min_words: Fewest words.
        max_words: Most words.
        min_quotes: Fewest quotes, verified or not.
        max_attempts: How often invalid candidates are sampled again, the first time included.
    """

    min_words: int = 70
    max_words: int = 150
    min_quotes: int = 1
    max_attempts: int = 3

    def flaws(self, argument: Argument) -> tuple[str, ...]:
        """Say why an argument is outside the limits; empty if it is not."""
        found = []
        words, quotes = argument.words, len(argument.quotes)
        if words < self.min_words:
            found.append(f"{words} words, fewer than {self.min_words}")
        if words > self.max_words:
            found.append(f"{words} words, more than {self.max_words}")
        if quotes < self.min_quotes:
            found.append(f"{quotes} quotes, fewer than {self.min_quotes}")
        return tuple(found)


Make = Callable[[Sequence[Draw]], Awaitable[Sequence[Candidate]]]


async def sample_valid(make: Make, draw: Draw, n: int, limits: Limits) -> tuple[Candidate, ...]:
    """Sample candidates, and again for those that are not valid, each attempt in one request.

    Args:
        make: Makes one candidate for each draw.
        draw: The first draw.
        n: Valid candidates wanted.
        limits: How often to try.

    Returns:
        All candidates in order of sampling.
    """
    candidates: list[Candidate] = []
    for attempt in range(limits.max_attempts):
        missing = n - sum(candidate.valid for candidate in candidates)
        if missing <= 0:
            break
        candidates.extend(await make(draw._replace(attempt=draw.attempt + attempt).take(missing)))
    return tuple(candidates)


def speak(candidates: tuple[Candidate, ...], limits: Limits) -> Speech:
    """Choose the first valid candidate; without one, cut the best invalid one at a sentence end.

    The cut candidate is appended, with the flaws of the one it was made from, so what was sampled stays as it was.

    Args:
        candidates: At least one.
        limits: The words allowed.

    Returns:
        The speech.
    """
    for index, candidate in enumerate(candidates):
        if candidate.valid:
            return Speech(candidates, index)
    best = min(candidates, key=lambda candidate: (len(candidate.flaws), -len(candidate.argument.quotes)))
    if best.argument.words <= limits.max_words:
        return Speech(candidates, candidates.index(best))
    cut = replace(best, argument=cut_argument(best.argument, limits.max_words), flaws=(*best.flaws, "cut"))
    return Speech((*candidates, cut), len(candidates))


def cut_argument(argument: Argument, max_words: int) -> Argument:
    """Cut an argument to a number of words at the end of a sentence, never inside a quote.

    Args:
        argument: Any argument.
        max_words: Most words.

    Returns:
        A beginning of the argument; if its first sentence alone is too long, cut inside it.
    """
    if argument.words <= max_words:
        return argument
    kept: list[str | Quote | Name] = []
    room = max_words
    for span in argument.spans:
        words = Argument((span,)).words
        if words <= room:
            kept.append(span)
            room -= words
            continue
        if isinstance(span, str):
            ends = [end for _, end in sentence_spans(span) if len(span[:end].split()) <= room]
            if ends or not kept:
                kept.append(cut_at_sentence(span, room))
        break
    # What leads into something that was cut off ("The story says:", "Debater A") goes too.
    while kept and not isinstance(last := kept[-1], Quote):
        ends = [end for _, end in sentence_spans(last) if is_ended(last[:end])] if isinstance(last, str) else []
        if ends and isinstance(last, str):
            kept[-1] = last[: ends[-1]]
            break
        if len(kept) == 1:  # its first sentence alone is too long
            break
        kept.pop()
    return Argument(tuple(span for span in kept if span))


class FreeDebater:
    """Writes from the story, as in the paper: thinks if it likes, then one ``<argument>`` block.

    Args:
        model: Any model.
        name: The player's name.
        prompts: Templates; it uses ``debater_free`` and the task of the round.
        limits: Words and attempts.
        sampling: How it writes.
    """

    def __init__(self, model: Model, *, name: str, prompts: Prompts, limits: Limits, sampling: Sampling) -> None:
        self.name = name
        self._model = model
        self._prompts = prompts
        self._limits = limits
        self._sampling = sampling

    async def candidates(self, view: View, draw: Draw, n: int) -> tuple[Candidate, ...]:
        """Sample candidates; see Debater."""
        messages = self._prompts.fill(
            f"{view.role}_free",
            story=view.story or "",
            question=view.question,
            answers=show_answers(view),
            speaker=view.speaker,
            own_answer=view.own_answer,
            other_answer=view.other_answer,
            transcript=show_turns(view),
            task=task_for(view, self._prompts),
            min_words=str(self._limits.min_words),
            max_words=str(self._limits.max_words),
        )

        async def make(draws: Sequence[Draw]) -> list[Candidate]:
            completions = await self._model.sample(messages, draws=draws, sampling=self._sampling)
            return [read_candidate(completion, view, self._limits) for completion in completions]

        return await sample_valid(make, draw, n, self._limits)

    async def argue(self, view: View, draw: Draw) -> Speech:
        """Make the next speech; see Debater."""
        return speak(await self.candidates(view, draw, 1), self._limits)


def task_for(view: View, prompts: Prompts) -> str:
    """What the speaker is to do now: open its case, as the first or the second, reply, or answer the judge first.

    Args:
        view: The speaker's view.
        prompts: Templates; it uses ``<role>_opening``, ``debater_second``, ``<role>_reply`` and ``<role>_answer``.

    Returns:
        The instruction.
    """
    latest = max((turn.round for turn in view.turns), default=0)
    asked = any(turn.seat is None and turn.round == latest and turn.text.strip() for turn in view.turns)
    if not any(turn.seat == view.seat for turn in view.turns):
        task = "second" if view.turns else "opening"
    else:
        task = "answer" if asked else "reply"
    return prompts.fill(f"{view.role}_{task}")[0].content


def split_thinking(text: str) -> tuple[str, str]:
    """Take out of a reply what a reasoning model wrote for itself.

    That is every ``<think>``, ``<thinking>``, ``<reasoning>`` or ``<scratchpad>`` block in any case, to the end where
    it is not closed, and everything before a closing tag without an opening one: some chat templates open the block in
    the prompt.

    Args:
        text: A reply.

    Returns:
        What is left, the text itself where there is no such tag, and what was taken out.
    """
    said: list[str] = []
    thought: list[str] = []
    position, inside = 0, False
    for tag in _THINKING_TAG.finditer(text):
        closing = "/" in tag[1]
        if closing and not inside:
            thought += said
            said.clear()
        (thought if inside or closing else said).append(text[position : tag.start()])
        position, inside = tag.end(), not closing
    (thought if inside else said).append(text[position:])
    return "".join(said), "\n".join(part.strip() for part in thought if part.strip())


def read_candidate(completion: Completion, view: View, limits: Limits) -> Candidate:
    """Read a candidate from a reply: the last complete ``<argument>`` block outside its thinking (``split_thinking``).

    As a flaw, without one: what follows the last opening tag (the reply was cut off there), or all that is not
    thinking, which may be nothing. A complete block inside the thinking is a draft; it is what is said, as a flaw too,
    only if the reply holds nothing else.

    Args:
        completion: The model's reply.
        view: The speaker's view: its story and its seat.
        limits: What makes it valid.

    Returns:
        The candidate.
    """
    said, thought = split_thinking(completion.text)
    block, outside = extract_argument(said)
    flaws: tuple[str, ...] = ()
    if block is None and not said.strip():
        block, thought = extract_argument(thought)
        flaws = ("no <argument> block outside its thinking",) if block is not None else ()
    if block is None:
        *before, block = _OPENING_TAG.split(said)
        outside = "\n".join(before).strip()
        flaws = ("no complete <argument> block",)
    argument = parse_argument(block, view.story, seat=view.seat, literal=(view.question, *view.answers))
    thinking = "\n".join(part for part in (thought, outside) if part)
    return Candidate(completion.text, argument, thinking, (*flaws, *limits.flaws(argument)))
