"""Quotes: an argument is parsed into spans, its quotes are verified against the story, and only we write marks.

A quote is verified if it is a contiguous run of whole tokens of the story after a folding that keeps meaning (design,
section 4; ``debate.story_index`` says what folds and what a whole token is), and further:

- *Outside*: quotation marks, ``...``, ``. , ; : ! ?`` and dashes that the debater added around a quote are left out.
  That cannot change meaning, since the story's own text is shown. Inside a quote nothing is left out.
- *Length*: at least three words or twelve characters of the story's text, and something other than punctuation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from debate.markup import neutralise, pair_blocks, unmask
from debate.names import Name, Seat, mentions
from debate.story_index import StoryIndex, fold, splice, story_index

__all__ = [
    "Argument",
    "Name",
    "Quote",
    "Seat",
    "StoryIndex",
    "extract_argument",
    "hold_to",
    "parse_argument",
    "parse_plain",
    "quote_span",
    "reverify",
    "splice",
    "story_index",
    "to_markup",
    "verify",
]

MIN_WORDS = 3
MIN_CHARACTERS = 12
_OUTER = frozenset("\"'.,;:!?—")
# The nearest passage costs milliseconds, so a reply of thousands of false quotes gets it for the first few only.
MAX_NEAREST = 16

_QUOTE_TAG = re.compile(r"<([\s/\\]*)(?:[uv][\s_.\-]*)?quotes?(?!\w)([^<>]*)>", re.IGNORECASE)
_ARGUMENT_TAG = re.compile(r"<([\s/]*)argument(?!\w)([^<>]*)>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote and whether the story holds it.

    Attributes:
        text: For a verified quote the story's own text, runs of white space as one space; else what the debater wrote.
        verified: Whether the story holds it.
        span: Half-open character offsets in the story of the first place that holds it; None if unverified.
        nearest: For an unverified quote the passage of the story most like it, in whole tokens, where one was sought.
        score: How like it is, 0 to 100 (rapidfuzz ``partial_ratio_alignment``).
    """

    text: str
    verified: bool
    span: tuple[int, int] | None = None
    nearest: str | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Argument:
    """What a speaker said, as text, quotes and names.

    Attributes:
        spans: In order. Whatever they hold, ``render`` writes no mark but its own.
    """

    spans: tuple[str | Quote | Name, ...]

    @property
    def quotes(self) -> tuple[Quote, ...]:
        """The quotes, verified or not, in order."""
        return tuple(span for span in self.spans if isinstance(span, Quote))

    @property
    def words(self) -> int:
        """The number of words, marks not counted."""
        return len(self.plain().split())

    def plain(self, seat: Seat | None = None) -> str:
        """Return the text without marks, with names for a speaker in ``seat``."""
        return "".join(
            span.render(seat) if isinstance(span, Name) else neutralise(span.text if isinstance(span, Quote) else span)
            for span in self.spans
        )

    def render(self, seat: Seat | None = None) -> str:
        """Write what a judge or an opponent sees.

        Args:
            seat: Where the speaker sits in the reader's frame, or None to name nobody by letter.

        Returns:
            The text with verified quotes as ``<v_quote>…</v_quote>`` and others as ``<u_quote>…</u_quote>``.
        """
        return "".join(
            _mark(span, "v_quote" if span.verified else "u_quote")
            if isinstance(span, Quote)
            else span.render(seat)
            if isinstance(span, Name)
            else neutralise(span)
            for span in self.spans
        )


def verify(quote: str, index: StoryIndex, *, nearest: bool = True) -> Quote:
    """Verify one quote (the rules are in the module's docstring).

    Args:
        quote: What a debater claims the story says, without tags.
        index: The story's index.
        nearest: Whether to look for the nearest passage of a quote that fails.

    Returns:
        The quote, verified or not.
    """
    written = " ".join(neutralise(quote).split())
    tokens = fold(written)
    head, tail = 0, len(tokens)
    while head < tail and tokens[head] in _OUTER:
        head += 1
    while tail > head and tokens[tail - 1] in _OUTER:
        tail -= 1
    if head == tail:
        return Quote(written, verified=False)
    for run in (tokens, tokens[:tail], tokens[head:], tokens[head:tail]):
        span = index.find(run)
        if span is not None:
            text = splice(index.story, span)
            if _is_long_enough(text):
                return Quote(text, verified=True, span=span)
            break
    passage = index.nearest(written) if nearest else None
    return Quote(written, False, None, *passage) if passage else Quote(written, verified=False)


def quote_span(story: str, start: int, end: int) -> Quote:
    """Make a quote of a passage of the story.

    Args:
        story: The story.
        start: Where the passage starts (character offset).
        end: Where it ends (half-open).

    Returns:
        A verified quote; its span is the first place that holds this text. Unverified if the passage is too short or
        cuts a token.
    """
    return verify(splice(story, (start, end)), story_index(story), nearest=False)


def parse_argument(text: str, story: str | None, *, seat: Seat | None = None, literal: Sequence[str] = ()) -> Argument:
    """Parse an argument into text, verified and unverified quotes, and names.

    Args:
        text: What a speaker wrote inside ``<argument>``. Quotes stand in ``<quote>…</quote>``; a speaker's
            ``<v_quote>``, or any disguise of these, is no more than that. Of nested tags the innermost pair counts;
            others are dropped.
        story: What quotes are verified against; without it none is verified.
        seat: Where the speaker sat when it wrote, so that letters become names; None leaves them text.
        literal: Question and answers: what they or the story call "side B" is no name (see ``debate.names``).

    Returns:
        The argument.
    """
    index = story_index(story or "")
    literal = literal if story is None else (story, *literal)
    spans: list[str | Quote | Name] = []
    pending = ""
    sought = 0
    for block in pair_blocks(unmask(text), _QUOTE_TAG):
        if not block.inside:
            # A dropped tag must not make one word of two.
            gap = " " if pending[-1:].isalnum() and block.text[:1].isalnum() else ""
            pending += gap + block.text
            continue
        spans.extend(_text_spans(pending, seat, literal))
        pending = ""
        quote = verify(block.text, index, nearest=sought < MAX_NEAREST)
        sought += not quote.verified
        spans.append(quote)
    spans.extend(_text_spans(pending, seat, literal))
    return Argument(tuple(spans))


def parse_plain(text: str, *, seat: Seat | None = None, literal: Sequence[str] = ()) -> Argument:
    """Parse what somebody says who may not quote, such as a judge: names count, quotes become text in quotation marks.

    Args:
        text: What was said.
        seat: As for ``parse_argument``.
        literal: Story, question and answers, as for ``parse_argument``.

    Returns:
        An argument without quotes.
    """
    spans = parse_argument(text, None, seat=seat, literal=literal).spans
    return Argument(tuple(f'"{span.text}"' if isinstance(span, Quote) else span for span in spans))


@lru_cache(maxsize=1024)  # a candidate is held to its story in each view that it is scored in
def hold_to(argument: Argument, story: str | None) -> Argument:
    """Hold an argument's verified quotes to the story: one that it does not hold is verified no longer.

    Args:
        argument: Any argument, whoever made it.
        story: The whole story.

    Returns:
        The argument, the same object where every mark is earned.
    """
    index = story_index(story or "")
    spans = tuple(
        verify(span.text, index) if isinstance(span, Quote) and span.verified else span for span in argument.spans
    )
    return argument if spans == argument.spans else Argument(spans)


def reverify(argument: Argument, story: str | None) -> Argument:
    """Verify an argument's quotes against another story, or another part of it; all else stays as it is.

    Args:
        argument: Any argument.
        story: As for ``parse_argument``.

    Returns:
        The argument with its quotes verified anew.
    """
    index = story_index(story or "")
    spans: list[str | Quote | Name] = []
    sought = 0
    for span in argument.spans:
        if isinstance(span, Quote):
            span = verify(span.text, index, nearest=sought < MAX_NEAREST)  # noqa: PLW2901 - the same quote
            sought += not span.verified
        spans.append(span)
    return Argument(tuple(spans))


def extract_argument(raw: str) -> tuple[str | None, str]:
    """Find the argument in a model's reply.

    Args:
        raw: The whole reply.

    Returns:
        What is inside the last complete ``<argument>…</argument>`` block, or None if there is no complete one; and what
        stands outside it, the thinking, which is never shown to others.
    """
    blocks = list(pair_blocks(raw, _ARGUMENT_TAG))
    last = max((at for at, block in enumerate(blocks) if block.inside), default=None)
    if last is None:
        return None, raw.strip()
    outside = (
        "\n".join(block.text.strip() for block in part if block.text.strip())
        for part in (blocks[:last], blocks[last + 1 :])
    )
    return blocks[last].text.strip(), "\n".join(part for part in outside if part)


def to_markup(argument: Argument, *, seat: Seat = "A") -> str:
    """Write an argument as its speaker would, with ``<quote>`` tags.

    Args:
        argument: A parsed argument.
        seat: The seat its names are written for.

    Returns:
        Text that ``parse_argument`` reads back to an equal argument, with the same story and seat (without a seat if
        the argument was parsed without one).
    """
    return "".join(
        _mark(span, "quote")
        if isinstance(span, Quote)
        else span.render(seat)
        if isinstance(span, Name)
        else neutralise(span)
        for span in argument.spans
    )


def _mark(quote: Quote, tag: str) -> str:
    return f"<{tag}>{neutralise(quote.text)}</{tag}>"


def _text_spans(text: str, seat: Seat | None, literal: Sequence[str]) -> Iterator[str | Name]:
    text = neutralise(text)
    position = 0
    for start, end, name in mentions(text, seat, literal) if seat else ():
        if start > position:
            yield text[position:start]
        yield name
        position = end
    if position < len(text):
        yield text[position:]


def _is_long_enough(text: str) -> bool:
    return any(map(str.isalnum, text)) and (len(text.split()) >= MIN_WORDS or len(text) >= MIN_CHARACTERS)
