"""Sentences of a story, as character spans: the units that evidence is picked from and speeches are cut at."""

from __future__ import annotations

import functools
import re

_ABBREVIATIONS = frozenset(
    {
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "st",
        "sr",
        "jr",
        "vs",
        "etc",
        "capt",
        "col",
        "gen",
        "lt",
        "sgt",
        "rev",
        "e.g",
        "i.e",
    }
)
# An end mark with closing quotes or brackets after it, then white space; or a paragraph break.
_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s|$)|\n\s*\n")


@functools.lru_cache(maxsize=512)
def sentence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Split a text into sentences.

    A full stop after an abbreviation or an initial does not end a sentence; nor does an end mark inside quoted speech
    that goes on in lower case ("Stop!" she said).

    Args:
        text: Any text.

    Returns:
        Half-open character spans in order, without surrounding white space; together they hold every word.
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for match in _END.finditer(text):
        if not match[0].isspace() and _goes_on(text, start, match):
            continue
        _append(spans, text, start, match.start() if match[0].isspace() else match.end())
        start = match.end()
    _append(spans, text, start, len(text))
    return tuple(spans)


def _goes_on(text: str, start: int, match: re.Match[str]) -> bool:
    following = text[match.end() : match.end() + 80].lstrip()
    if following[:1].islower():
        return True
    if match[0][0] != ".":
        return False
    word = text[start : match.start()].rsplit(maxsplit=1)[-1:] or [""]
    bare = word[0].strip("\"'“‘([").lower()
    if bare in {"no", "fig"}:  # numbers follow them, or they end a sentence
        return following[:1].isdigit()
    return bare in _ABBREVIATIONS or (len(bare) == 1 and bare.isalpha() and bare != "i" and word[0][-1:].isupper())


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    chunk = text[start:end]
    inner = chunk.strip()
    if inner:
        first = start + len(chunk) - len(chunk.lstrip())
        spans.append((first, first + len(inner)))


def is_ended(text: str) -> bool:
    """Tell whether a text ends as a sentence does: with an end mark, closing quotes or brackets after it or not."""
    return text.rstrip(" \n\t\"'”’)]").endswith((".", "!", "?", "…"))


def cut_at_sentence(text: str, max_words: int) -> str:
    """Cut a text to whole sentences within a number of words; a first sentence that is too long is cut at a word.

    Args:
        text: Any text.
        max_words: Words allowed, counted by ``str.split``.

    Returns:
        A beginning of the text.
    """
    if len(text.split()) <= max_words:
        return text
    kept = 0
    for start, end in sentence_spans(text):
        if len(text[:end].split()) > max_words:
            break
        kept = end if end > start else kept
    if kept:
        return text[:kept]
    words = list(re.finditer(r"\S+", text))
    return text[: words[max_words - 1].end()] if max_words > 0 else ""
