"""Windows: the part of a long story that a debater with a short context reads, where the configuration says so."""

from __future__ import annotations

import dataclasses
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
_WORD = re.compile(r"[a-z0-9']+")


def window(story: str, about: str, fits: Callable[[str], bool]) -> str:
    """Keep the paragraphs that share most words with a text, in story order, as many as fit.

    A word that few paragraphs hold counts more; each place where something is left out is marked.

    Args:
        story: The story.
        about: What it is read for: the question and the answers.
        fits: Whether a text fits.

    Returns:
        The story itself where it fits, else part of it; the empty text where no paragraph fits.
    """
    if fits(story):
        return story
    paragraphs = [part.strip() for part in _PARAGRAPH.split(story) if part.strip()]
    if len(paragraphs) < 8:  # one block of text: its sentences are the pieces
        paragraphs = [part.strip() for part in re.split(r"(?<=[.!?])\s+", story) if part.strip()]
    bags = [set(_WORD.findall(paragraph.lower())) for paragraph in paragraphs]
    holding = Counter(word for bag in bags for word in bag)
    wanted = set(_WORD.findall(about.lower()))
    values = [sum(1 / holding[word] for word in bag & wanted) for bag in bags]
    order = sorted(range(len(paragraphs)), key=lambda index: (-values[index], index))
    # The largest number of best paragraphs that fits, by bisection: counting tokens is the cost.
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(_join(paragraphs, sorted(order[:middle]))):
            low = middle
        else:
            high = middle - 1
    return _join(paragraphs, sorted(order[:low])) if low else ""


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
