"""Windows: the part of a long story that a debater with a short context reads, where the configuration says so."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Callable

from debate.agents.debater import Debater, Speech
from debate.models.base import Draw, Message, Model
from debate.quotes import reverify
from debate.transcript import Candidate
from debate.view import View

#: Too short to pass for a quote, so no debater picks it as evidence.
GAP = "[…]"
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[a-z0-9']+")


def window(story: str, about: str, fits: Callable[[str], bool]) -> str:
    """Keep the paragraphs that share most words with a text, in story order, as many as fit.

    A word that few paragraphs hold counts more; each place where something is left out is marked. Of a paragraph that
    does not fit alone the sentences take its place, and a sentence that does not is passed over.

    Args:
        story: The story.
        about: What it is read for: the question and the answers.
        fits: Whether a text fits.

    Returns:
        The story itself where it fits, else part of it: where no sentence fits, the beginning of the best one, were it
        a word too long. Empty only for a story without text.
    """
    if fits(story):
        return story
    pieces = [part.strip() for part in _PARAGRAPH.split(story) if part.strip()]
    if len(pieces) < 8:  # one block of text: its sentences are the pieces
        pieces = _sentences(story)
    too_long = math.inf  # characters of the shortest sentence known not to fit
    while True:
        ranked = _rank(pieces, about)
        order = [index for index in ranked if len(pieces[index]) < too_long]
        count = _most_that_fit(pieces, order, fits)
        if count == len(order) or fits(_join(pieces, [order[count]])):
            break
        sentences = _sentences(pieces[order[count]])
        if len(sentences) > 1:
            pieces[order[count] : order[count] + 1] = sentences
        else:
            too_long = len(pieces[order[count]])
    if count:
        return _join(pieces, sorted(order[:count]))
    return _beginning(pieces, ranked[0], fits) if pieces else ""


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def _rank(pieces: list[str], about: str) -> list[int]:
    """Order pieces by the words they share with a text, each worth less the more pieces hold it."""
    bags = [set(_WORD.findall(piece.lower())) for piece in pieces]
    holding = Counter(word for bag in bags for word in bag)
    wanted = set(_WORD.findall(about.lower()))
    values = [sum(1 / holding[word] for word in sorted(bag & wanted)) for bag in bags]
    return sorted(range(len(pieces)), key=lambda index: (-values[index], index))


def _most_that_fit(pieces: list[str], order: list[int], fits: Callable[[str], bool]) -> int:
    """How many of the best pieces fit together, by bisection: counting tokens is the cost."""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(_join(pieces, sorted(order[:middle]))):
            low = middle
        else:
            high = middle - 1
    return low


def _beginning(pieces: list[str], index: int, fits: Callable[[str], bool]) -> str:
    """As many of a piece's first words as fit, marked as such; one at the least."""
    words = pieces[index].split()

    def begun(count: int) -> str:
        return "\n\n".join([*[GAP] * (index > 0), " ".join(words[:count]), GAP])

    low, high = 0, len(words) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if fits(begun(middle)):
            low = middle
        else:
            high = middle - 1
    return begun(low) if low else words[0]


def _join(paragraphs: list[str], kept: list[int]) -> str:
    pieces: list[str] = []
    expected = 0
    for index in kept:
        if index != expected:
            pieces.append(GAP)
        pieces.append(paragraphs[index])
        expected = index + 1
    if expected < len(paragraphs):
        pieces.append(GAP)
    return "\n\n".join(pieces)


class Windowed:
    """A debater that reads a window of a story that is too long for its model.

    Its quotes are verified again on the whole story, so spans point into the story, and a quote that runs over a gap is
    not verified.

    Args:
        debater: The debater.
        model: Its model, which counts tokens.
        tokens: Longest text of the story, in tokens.
    """

    def __init__(self, debater: Debater, model: Model, tokens: int) -> None:
        self.name = debater.name
        self._debater = debater
        self._model = model
        self._tokens = tokens

    def plain(self) -> Debater:
        """Return the same without what optimizers are around the debater; see ``optimizers.preference.plain``."""
        bare: Callable[[], Debater] | None = getattr(self._debater, "plain", None)
        return self if bare is None else Windowed(bare(), self._model, self._tokens)

    def facing(self, opponent: Debater) -> Debater:
        """Tell the debater its opponent, if it wants to know; see ``debate.protocols.base.Facing``."""
        told: Callable[[Debater], Debater] | None = getattr(self._debater, "facing", None)
        return self if told is None else Windowed(told(opponent), self._model, self._tokens)

    async def candidates(self, view: View, draw: Draw, n: int) -> tuple[Candidate, ...]:
        """Sample candidates on the window; see Debater."""
        found = await self._debater.candidates(self._narrow(view), draw, n)
        return tuple(_on_whole_story(candidate, view) for candidate in found)

    async def argue(self, view: View, draw: Draw) -> Speech:
        """Speak on the window; see Debater."""
        speech = await self._debater.argue(self._narrow(view), draw)
        return Speech(tuple(_on_whole_story(candidate, view) for candidate in speech.candidates), speech.chosen)

    def _narrow(self, view: View) -> View:
        if view.story is None:
            return view
        about = " ".join((view.question, *view.answers))
        story = window(
            view.story, about, lambda text: self._model.count_tokens([Message("user", text)]) <= self._tokens
        )
        return dataclasses.replace(view, story=story)


def _on_whole_story(candidate: Candidate, view: View) -> Candidate:
    return dataclasses.replace(candidate, argument=reverify(candidate.argument, view.story))
