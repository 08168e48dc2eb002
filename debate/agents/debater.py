"""Debaters: what they have in common, and the free debater that writes from the story."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from debate.agents.examples import Example
from debate.agents.render import show_answers, show_turns
from debate.errors import ConfigError, ModelError
from debate.models.base import Capabilities, Completion, Draw, Message, Model, Sampling
from debate.prompts import Prompts
from debate.quotes import Argument, Name, Quote, extract_argument, parse_argument, story_index, to_markup, verify
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
        min_quotes: Fewest quotes that hold a word, verified or not.
        max_attempts: How often invalid candidates are sampled again, the first time included.
    """

    min_words: int = 70
    max_words: int = 150
    min_quotes: int = 1
    max_attempts: int = 3

    def flaws(self, argument: Argument) -> tuple[str, ...]:
        """Say why an argument is outside the limits; empty if it is not."""
        found = []
        words, quotes = argument.words, _count_quotes(argument)
        if words < self.min_words:
            found.append(f"{words} words, fewer than {self.min_words}")
        if words > self.max_words:
            found.append(f"{words} words, more than {self.max_words}")
        if quotes < self.min_quotes:
            found.append(f"{quotes} quotes, fewer than {self.min_quotes}")
        return tuple(found)


Make = Callable[[Sequence[Draw]], Awaitable[Sequence[Candidate]]]


def draws_differ(capabilities: Capabilities, sampling: Sampling) -> bool:
    """Whether a model that is asked the same again may say something else: not at temperature 0, where it takes one."""
    return sampling.temperature > 0 or not capabilities.temperature


async def sample_valid(make: Make, draw: Draw, n: int, limits: Limits, *, again: bool = True) -> tuple[Candidate, ...]:
    """Sample candidates, and again for those that are not valid, each attempt in one request.

    Args:
        make: Makes one candidate for each draw.
        draw: The first draw.
        n: Valid candidates wanted.
        limits: How often to try.
        again: Whether another attempt may give something else (``draws_differ``); without that there is one.

    Returns:
        All candidates in order of sampling.

    Raises:
        ModelError: No reply held anything: silence is a fault of the server, by which nobody shall win or lose.
    """
    candidates: list[Candidate] = []
    for attempt in range(limits.max_attempts if again else 1):
        missing = n - sum(candidate.valid for candidate in candidates)
        if missing <= 0:
            break
        candidates.extend(await make(draw._replace(attempt=draw.attempt + attempt).take(missing)))
    if not any(candidate.raw.strip() for candidate in candidates):
        raise ModelError(
            f"{draw.stream or 'a debater'} got {len(candidates)} replies without any text (null content, or stopped by "
            "the server's content filter); see the server's log, or use another model"
        )
    return tuple(candidates)


def speak(candidates: tuple[Candidate, ...], limits: Limits, story: str | None = None) -> Speech:
    """Choose the first valid candidate; without one, cut the best invalid one at a sentence end.

    That is one that is too long, or that breaks off within its last sentence. What is cut is appended, with the flaws
    of the candidate it was made from, so what was sampled stays as it was.

    Args:
        candidates: At least one.
        limits: The words allowed.
        story: What a quote that must be cut is verified against.

    Returns:
        The speech.
    """
    for index, candidate in enumerate(candidates):
        if candidate.valid:
            return Speech(candidates, index)
    best = min(candidates, key=lambda candidate: (len(candidate.flaws), -_count_quotes(candidate.argument)))
    cut = cut_argument(best.argument, limits.max_words, story)
    if cut == best.argument:
        cut = trim_argument(cut)
    if cut == best.argument:
        return Speech(candidates, candidates.index(best))
    return Speech((*candidates, replace(best, argument=cut, flaws=(*best.flaws, "cut"))), len(candidates))


def cut_argument(argument: Argument, max_words: int, story: str | None = None) -> Argument:
    """Cut an argument to a number of words at the end of a sentence, inside a quote only if nothing stands before it.

    Args:
        argument: Any argument.
        max_words: Most words.
        story: What a quote that must be cut is verified against.

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
        elif isinstance(span, Quote) and not _whole_sentences(kept):
            begun = cut_at_sentence(span.text, room)
            return Argument((*kept, verify(begun, story_index(story or "")))) if begun else Argument(tuple(kept))
        break
    # What leads into something that was cut off ("The story says:", "Debater A") goes too.
    whole = _whole_sentences(kept) or kept[:1]
    return Argument(tuple(span for span in whole if span))


def trim_argument(argument: Argument) -> Argument:
    """Take off a last sentence that breaks off, as where a reply ran into its limit.

    Args:
        argument: Any argument.

    Returns:
        Its whole sentences; the argument itself where it ends as a sentence or a quote does, or has no whole sentence.
    """
    last = next((span for span in reversed(argument.spans) if not isinstance(span, str) or span.strip()), "")
    if _holds_word(last) if isinstance(last, Quote) else isinstance(last, str) and is_ended(last):
        return argument
    whole = _whole_sentences(argument.spans)
    return Argument(tuple(whole)) if whole else argument


def _whole_sentences(spans: Sequence[str | Quote | Name]) -> list[str | Quote | Name]:
    """Return what stands up to the last end of a sentence or of a quote that holds a word; maybe nothing."""
    kept = list(spans)
    while kept:
        last = kept[-1]
        if isinstance(last, Quote) and _holds_word(last):
            break
        if isinstance(last, str):
            ends = [end for _, end in sentence_spans(last) if is_ended(last[:end])]
            if ends:
                kept[-1] = last[: ends[-1]]
                break
        kept.pop()
    return kept


def _count_quotes(argument: Argument) -> int:
    return sum(map(_holds_word, argument.quotes))


def _holds_word(quote: Quote) -> bool:
    return any(map(str.isalnum, quote.text))


class FreeDebater:
    """Writes from the story, as in the paper: thinks if it likes, then one ``<argument>`` block.

    Args:
        model: Any model.
        name: The player's name.
        prompts: Templates; it uses ``debater_free`` and the task of the round.
        limits: Words and attempts.
        sampling: How it writes.
        examples: Speeches on other stories that it is shown first, as if it had given them.

    Raises:
        ConfigError: An example is no speech that it might give.
    """

    def __init__(
        self,
        model: Model,
        *,
        name: str,
        prompts: Prompts,
        limits: Limits,
        sampling: Sampling,
        examples: Sequence[Example] = (),
    ) -> None:
        check_examples(examples, limits)
        self.name = name
        self._examples = tuple(examples)
        self._model = model
        self._prompts = prompts
        self._limits = limits
        self._sampling = sampling

    async def candidates(self, view: View, draw: Draw, n: int) -> tuple[Candidate, ...]:
        """Sample candidates; see Debater."""
        messages = ask_to_argue(view, self._prompts, self._limits, self._examples)

        async def make(draws: Sequence[Draw]) -> list[Candidate]:
            completions = await self._model.sample(messages, draws=draws, sampling=self._sampling)
            return [read_candidate(completion, view, self._limits) for completion in completions]

        again = draws_differ(self._model.capabilities, self._sampling)
        return await sample_valid(make, draw, n, self._limits, again=again)

    async def argue(self, view: View, draw: Draw) -> Speech:
        """Make the next speech; see Debater."""
        return speak(await self.candidates(view, draw, 1), self._limits, view.story)


def ask_to_argue(view: View, prompts: Prompts, limits: Limits, examples: Sequence[Example] = ()) -> list[Message]:
    """Ask for a speech written from the story.

    Args:
        view: The speaker's view, with its seat and the story.
        prompts: Templates; it uses ``<role>_free`` and the task of the round.
        limits: The words allowed.
        examples: Speeches on other stories, put before the prompt as earlier exchanges.

    Returns:
        Messages.

    Raises:
        FoldError: An example is of the story of this view.
    """
    asked = _ask_once(view, prompts, limits)
    shown: list[Message] = []
    for example in examples:
        example.hold_apart(view.story)
        shown += [one for one in _ask_once(example.view(view.role), prompts, limits) if one.role != "system"]
        shown.append(Message("assistant", f"<argument>{to_markup(example.parsed, seat=example.seat)}</argument>"))
    start = 1 if asked[0].role == "system" else 0
    return [*asked[:start], *shown, *asked[start:]]


def _ask_once(view: View, prompts: Prompts, limits: Limits) -> list[Message]:
    return prompts.fill(
        f"{view.role}_free",
        story=view.story or "",
        question=view.question,
        answers=show_answers(view),
        speaker=view.speaker,
        own_answer=view.own_answer,
        other_answer=view.other_answer,
        transcript=show_turns(view),
        task=task_for(view, prompts),
        min_words=str(limits.min_words),
        max_words=str(limits.max_words),
    )


def check_examples(examples: Sequence[Example], limits: Limits) -> None:
    """Hold that examples are what a debater shall write: within its limits, every quote in their story.

    Raises:
        ConfigError: One is not.
    """
    for number, example in enumerate(examples, 1):
        flaws = [*limits.flaws(example.parsed)]
        flaws += [
            f"the quote {quote.text!r} is not in its story" for quote in example.parsed.quotes if not quote.verified
        ]
        if flaws:
            raise ConfigError(f"example {number} ({example.question!r}) would teach its flaws: {'; '.join(flaws)}")


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
        # A judge may have spoken before anybody: that makes no second speaker.
        task = "second" if any(turn.seat is not None for turn in view.turns) else "opening"
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
