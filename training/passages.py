"""Passages: the part of a long story that is kept around the quotes of a speech."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence

from debate.quotes import Argument
from debate.sentences import sentence_spans
from debate.view import View
from debate.windows import GAP

Span = tuple[int, int]


def fit_story(view: View, arguments: Sequence[Argument], fits: Callable[[View], bool]) -> View | None:
    """Cut a view's story to passages around what arguments quote, where it is too long.

    Args:
        view: A speaker's view.
        arguments: Speeches made on it.
        fits: Whether a prompt on a view fits, with what is replied to it.

    Returns:
        The view where it fits; else the same with part of the story; None where not even the quotes fit.
    """
    if fits(view):
        return view
    spans = [quote.span for argument in arguments for quote in argument.quotes if quote.span is not None]

    def shown(story: str) -> View:
        return dataclasses.replace(view, story=story)

    noise = "".join(argument.plain() for argument in arguments)
    story = keep_passages(view.story or "", spans, lambda text: fits(shown(text)), noise=noise)
    return None if story is None else shown(story)


def keep_passages(story: str, quoted: Sequence[Span], fits: Callable[[str], bool], *, noise: str = "") -> str | None:
    """Keep whole sentences around quoted passages, the same number around each, as many as fit.

    How they are shared out before and after a passage is drawn by a hash, so that a quote's place among them tells
    nothing; what is left out is marked as in the windows that debaters read (``debate.windows``).

    Args:
        story: The story.
        quoted: Half-open character spans of the quotes.
        fits: Whether a text fits; a shorter one must where a longer one does.
        noise: What the draws depend on.

    Returns:
        The story where it fits; else part of it, which holds every quote; None where not even the quoted sentences fit.
    """
    if fits(story):
        return story
    sentences = sentence_spans(story)
    near = [[at for at, (start, end) in enumerate(sentences) if start < span[1] and end > span[0]] for span in quoted]
    if not all(near) or not near:
        return None
    shares = [_drawn(noise, index) for index in range(len(near))]

    def distance(at: int) -> float:
        return min(_steps(at, held[0], held[-1], share) for held, share in zip(near, shares, strict=True))

    order = sorted(range(len(sentences)), key=lambda at: (distance(at), at))
    low, high = len({at for held in near for at in held}), len(order)
    if not fits(_joined(story, sentences, order[:low])):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        if fits(_joined(story, sentences, order[:middle])):
            low = middle
        else:
            high = middle - 1
    return _joined(story, sentences, order[:low])


def _drawn(noise: str, index: int) -> float:
    """Draw the share of sentences before a passage: 0.1 to 0.9."""
    byte = hashlib.sha256(f"passages\0{index}\0{noise}".encode()).digest()[0]
    return 0.1 + 0.8 * byte / 255


def _steps(at: int, first: int, last: int, share: float) -> float:
    """How late a sentence is taken in: each side grows at the pace of its share."""
    if first <= at <= last:
        return 0.0
    return (first - at) / share if at < first else (at - last) / (1 - share)


def _joined(story: str, sentences: Sequence[Span], kept: Sequence[int]) -> str:
    """Write out sentences in story order, with what stands between neighbours, and a mark where some are left out."""
    chosen = sorted(kept)
    runs: list[list[int]] = []
    for at in chosen:
        if runs and at == runs[-1][-1] + 1:
            runs[-1].append(at)
        else:
            runs.append([at])
    parts = [story[sentences[run[0]][0] : sentences[run[-1]][1]] for run in runs]
    ends = [GAP] * (chosen[0] > 0), [GAP] * (chosen[-1] < len(sentences) - 1)
    return "\n\n".join([*ends[0], *(piece for part in parts[:-1] for piece in (part, GAP)), parts[-1], *ends[1]])
