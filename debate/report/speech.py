"""Speeches and stories as HTML, span by span: the only place where the report makes markup from what debaters wrote.

Every piece goes through ``Markup.format``, which escapes it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from debate.quotes import Argument, Name, Quote, Seat

_VERIFIED = Markup(
    '<a class="quote verified" id="quote-{number}" href="#passage-{number}" '
    'title="Verified: the story says this. Follow the link to the passage.">'
    '<span class="sr">verified quote: </span>{text}</a><span class="mark verified" aria-hidden="true">✓</span>'
)
_VERIFIED_UNPLACED = Markup(
    '<span class="quote verified" title="Verified: the story says this.">'
    '<span class="sr">verified quote: </span>{text}</span><span class="mark verified" aria-hidden="true">✓</span>'
)
_UNVERIFIED = Markup(
    '<s class="quote unverified" title="Unverified: the story does not say this.">'
    '<span class="sr">unverified quote: </span>{text}</s>'
    '<span class="mark unverified" aria-hidden="true">✗ unverified</span>'
)
_NAME = Markup('<bdi class="name">{text}</bdi>')
_ANCHOR = Markup('<span class="anchor" id="passage-{number}"></span>')
_PASSAGE = Markup('<mark class="passage" data-quotes="{anchors}" title="{title}">{text}</mark>')
_BACK = Markup('<a class="back" href="#quote-{number}" aria-label="Back to what {speaker} said" title="{speaker}"></a>')


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of the story that a speech quotes.

    Attributes:
        number: From 1 on; its id on the page is made of it, and so is that of the quote.
        start: Where it starts, in characters of the story.
        end: Where it ends (half-open).
        quoted_by: By whom and when, for readers.
    """

    number: int
    start: int
    end: int
    quoted_by: str


def speech_html(argument: Argument, seat: Seat | None, anchors: Sequence[int | None]) -> Markup:
    """Render a speech with its quotes marked and its names right for a seat.

    Args:
        argument: The speech.
        seat: The seat on the page that its names are written for: its speaker's own, of a judge the one it called A;
            None to name nobody by letter.
        anchors: For each quote of ``argument.quotes`` the number of its passage, or None where the page shows none.

    Returns:
        HTML; a verified quote links to its passage.
    """
    places = iter(anchors)
    parts: list[Markup] = []
    for span in argument.spans:
        if isinstance(span, Quote):
            parts.append(_quote_html(span, next(places)))
        elif isinstance(span, Name):
            parts.append(_NAME.format(text=span.render(seat)))
        else:
            parts.append(escape(span))
    return Markup("").join(parts)


def story_html(story: str, passages: Sequence[Passage]) -> Markup:
    """Render a story with its quoted passages marked; passages may overlap.

    Args:
        story: The story.
        passages: What is quoted from it, each with an id to link to.

    Returns:
        HTML with one anchor for each passage, and behind it a link back to its quote.
    """
    inside = [passage for passage in passages if 0 <= passage.start < passage.end <= len(story)]
    edges = sorted({0, len(story), *(edge for passage in inside for edge in (passage.start, passage.end))})
    parts: list[Markup] = []
    for start, end in itertools.pairwise(edges):
        covering = [passage for passage in inside if passage.start <= start and end <= passage.end]
        parts.extend(_ANCHOR.format(number=passage.number) for passage in covering if passage.start == start)
        text = story[start:end]
        if not covering:
            parts.append(escape(text))
            continue
        anchors = " ".join(f"passage-{passage.number}" for passage in covering)
        title = "Quoted by " + ", ".join(dict.fromkeys(passage.quoted_by for passage in covering))
        parts.append(_PASSAGE.format(anchors=anchors, title=title, text=text))
        ending = (passage for passage in covering if passage.end == end)
        parts.extend(_BACK.format(number=passage.number, speaker=passage.quoted_by) for passage in ending)
    return Markup("").join(parts)


def _quote_html(quote: Quote, anchor: int | None) -> Markup:
    if not quote.verified:
        return _UNVERIFIED.format(text=quote.text)
    if anchor is None:
        return _VERIFIED_UNPLACED.format(text=quote.text)
    return _VERIFIED.format(number=anchor, text=quote.text)
