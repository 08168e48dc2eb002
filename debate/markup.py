"""Text that others wrote, made safe to show: nothing in it can be taken for a mark, a tag or a chat control string.

The rule, in the order it is applied:

1. The text is brought to what a reader or a machine would make of it: invisible characters are removed, the rest is
   NFKC-normalised, HTML entities are decoded, look-alikes of angle brackets become angle brackets; repeated until
   nothing changes, so that no layer of disguise is left for someone else to remove.
2. Every angle bracket becomes ``‹`` or ``›``, wherever it stands: ``3 < 5`` reads ``3 ‹ 5``. No tag survives.
3. The names of our marks, ``v_quote`` and ``u_quote``, become ``citation``, and the square-bracketed control strings
   of chat templates, such as ``[INST]``, get round brackets.

The same steps can carry character offsets, so a story and a quote from it are folded by one piece of code.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

# Layers of disguise that are decoded; text with more is not decoded further but loses its ampersands, so the work stays
# linear in the length however deep an adversary nests entities.
MAX_LAYERS = 8

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_LINE_END = re.compile("\r\n?|[\u2028\u2029]")
_ODD_SPACE = re.compile("[\x0b\x0c\x1c-\x1f\x85]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# A character composes only with what follows it up to the next ASCII character, which never composes backwards.
_UNNORMALISED = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")
_OPENING = "〈〈⟨❬❮❰⧼⦑˂ᐸ≺≮⋖"
_CLOSING = "〉〉⟩❭❯❱⧽⦒˃ᐳ≻≯⋗"
_LOOKS_OPENING = re.compile(f"[{_OPENING}]")
_LOOKS_CLOSING = re.compile(f"[{_CLOSING}]")
# The one combining character that composes with an angle bracket, and so could swallow the end of our own marks.
_OVERLAY = re.compile("\u0338+")
# What html.unescape looks at; the replacement asks html.unescape itself.
_ENTITY = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)")
_CONTROL = re.compile(
    r"\[(\s*/?\s*(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|THINK)\s*)\]",
    re.IGNORECASE,
)
_MARK_NAME = re.compile(r"[vu][^\S\n]?_[^\S\n]?_?quote", re.IGNORECASE)
_PLAIN = re.compile(r"[ \n\t!-%'-;=?-Z\\-~]*")


@dataclass(frozen=True, slots=True)
class Mapped:
    """Text that was changed, with where each of its characters came from.

    Attributes:
        text: The changed text.
        starts: For each character of it, where the piece it came from starts in the original.
        ends: For each character of it, where that piece ends (half-open).
    """

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    @staticmethod
    def of(text: str) -> Mapped:
        """Wrap text that has not been changed yet."""
        return Mapped(text, range(len(text)), range(1, len(text) + 1))


class Block(NamedTuple):
    """A stretch of text between tags: ``inside`` a matched pair of them, or not."""

    text: str
    inside: bool


_Change = Callable[[str], str]


def _normalise(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


_DISGUISES: tuple[tuple[re.Pattern[str], _Change], ...] = (
    (_LINE_END, lambda _: "\n"),
    (_ODD_SPACE, lambda _: " "),
    (_SURROGATE, lambda _: "\ufffd"),
    (_INVISIBLE, lambda _: ""),
    (_UNNORMALISED, _normalise),
    (_LOOKS_OPENING, lambda _: "<"),
    (_LOOKS_CLOSING, lambda _: ">"),
    (_OVERLAY, lambda _: ""),
)
_DECODE: tuple[re.Pattern[str], _Change] = (_ENTITY, html.unescape)
_NO_AMPERSAND: tuple[re.Pattern[str], _Change] = (re.compile("&"), lambda _: "+")
_HARMLESS: tuple[tuple[re.Pattern[str], _Change], ...] = (
    (re.compile("<"), lambda _: "‹"),
    (re.compile(">"), lambda _: "›"),
    (_CONTROL, lambda found: f"({found[1:-1]})"),
    # "citation" holds no "quote" and begins no entity, so a replacement cannot complete anything.
    (_MARK_NAME, lambda _: "citation"),
)


def unmask(text: str) -> str:
    """Remove every disguise from a text: invisible characters, compatibility forms, entities, bracket look-alikes.

    Args:
        text: Anything.

    Returns:
        The text as a reader would see it, with ASCII angle brackets; unmasking it again changes nothing.
    """
    if _PLAIN.fullmatch(text):
        return text
    for _ in range(MAX_LAYERS):
        changed = text
        for pattern, change in (*_DISGUISES, _DECODE):
            changed = _replace(changed, pattern, change)
        if changed == text:
            return text
        text = changed
    for _ in range(2):
        for pattern, change in (*_DISGUISES, _NO_AMPERSAND):
            text = _replace(text, pattern, change)
    return text


# A speech is shown to judges in both orders, in every later round, and to preference models.
@lru_cache(maxsize=2048)
def neutralise(text: str) -> str:
    """Make a text harmless to show beside our own marks (the rule is in the module's docstring).

    Args:
        text: Anything, such as what a debater wrote.

    Returns:
        Readable text that holds no tag, mark or control string, even after normalising and decoding it again.
    """
    text = unmask(text)
    for pattern, change in _HARMLESS:
        text = _replace(text, pattern, change)
    return text


def neutralise_mapped(text: str) -> Mapped:
    """Do what ``neutralise`` does and keep where every character came from.

    Args:
        text: Anything, such as a story.

    Returns:
        ``neutralise(text)`` with offsets into ``text``.
    """
    mapped = Mapped.of(text)
    for _ in range(MAX_LAYERS):
        before = mapped.text
        for pattern, change in (*_DISGUISES, _DECODE):
            mapped = _replace_mapped(mapped, pattern, change)
        if mapped.text == before:
            break
    else:
        for pattern, change in (*_DISGUISES, _NO_AMPERSAND) * 2:
            mapped = _replace_mapped(mapped, pattern, change)
    for pattern, change in _HARMLESS:
        mapped = _replace_mapped(mapped, pattern, change)
    return mapped


def pair_blocks(text: str, tag: re.Pattern[str]) -> Iterator[Block]:
    """Split a text by tags. A pair is an opening tag, text without a tag, and a closing tag; other tags are dropped.

    So of nested or crossing tags only the innermost pair counts, and an unclosed one counts for nothing. One pass over
    the text, however many tags there are.

    Args:
        text: Unmasked text.
        tag: Finds one tag; group 1 is what stands before its name, group 2 what stands after it.

    Yields:
        Blocks in order; neighbours outside a pair are not merged.
    """
    position = 0
    opened = False
    for found in tag.finditer(text):
        closing = "/" in found[1] or "\\" in found[1]
        yield Block(text[position : found.start()], inside=opened and closing)
        empty = found[2].rstrip().endswith("/")
        opened = not closing and not empty
        position = found.end()
    yield Block(text[position:], inside=False)


def _replace(text: str, pattern: re.Pattern[str], change: _Change) -> str:
    return pattern.sub(lambda found: change(found[0]), text)


def _replace_mapped(mapped: Mapped, pattern: re.Pattern[str], change: _Change) -> Mapped:
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    position = 0
    for found in pattern.finditer(mapped.text):
        pieces.append(mapped.text[position : found.start()])
        starts.extend(mapped.starts[position : found.start()])
        ends.extend(mapped.ends[position : found.start()])
        for piece, start, end in _changes(found[0], change):
            pieces.append(piece)
            starts.extend([mapped.starts[found.start() + start]] * len(piece))
            ends.extend([mapped.ends[found.start() + end - 1]] * len(piece))
        position = found.end()
    if position == 0:
        return mapped
    pieces.append(mapped.text[position:])
    starts.extend(mapped.starts[position:])
    ends.extend(mapped.ends[position:])
    return Mapped("".join(pieces), starts, ends)


def _changes(text: str, change: _Change) -> list[tuple[str, int, int]]:
    """Change one match; by cluster where that gives the same, so that offsets stay as fine as can be."""
    whole = change(text)
    if whole == text:
        return [(character, at, at + 1) for at, character in enumerate(text)]
    if change is _normalise:
        edges = [
            at for at, character in enumerate(text) if at == 0 or not unicodedata.category(character).startswith("M")
        ]
        clusters = [
            (change(text[start:end]), start, end) for start, end in zip(edges, [*edges[1:], len(text)], strict=True)
        ]
        if "".join(cluster for cluster, _, _ in clusters) == whole:
            return clusters
    return [(whole, 0, len(text))]
