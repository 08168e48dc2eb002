"""Stories made ready for verifying quotes: folded into tokens that know where they stand.

- *Folding*: that of ``debate.markup`` (NFKC, invisible characters, ...); curly to straight quotation marks, two single
  ones (or backticks, as in Penn-Treebank text) to a double one; ``--``, ``–``, ``—`` and a hyphen that stands alone to
  one dash; Penn-Treebank brackets (``-LSB-``) to brackets. White space between tokens does not count; nor does the case
  of a quote's first letter.
- *Tokens*: words with their inner punctuation (``3.5``, ``re-sign``, ``o'clock``) and single punctuation marks. English
  contractions are two tokens (``should`` + ``n't``), as in Penn-Treebank text: ``shouldn't`` matches ``should n't``.
- *Whole*: a run may start or end beside white space, or beside a mark that belongs to the sentence and not to the word
  (``.``, ``,``, quotation marks, brackets, dashes). It may not cut ``n't`` from ``shouldn't``, ``$`` from ``$3.5`` or
  ``%`` from ``5%``; where the story itself has white space there, it may.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from debate.markup import neutralise_mapped

# A very long false quote is compared by its beginning.
NEAREST_CHARACTERS = 600

_STRAIGHT = str.maketrans(dict.fromkeys("‘’‚‛′`", "'") | dict.fromkeys("“”„‟", '"') | dict.fromkeys("‐−", "-"))
_SUFFIX = r"'(?:s|re|ve|ll|d|m)"
_TOKEN = re.compile(
    r"(?P<bracket>(?-i:-[LR][RSC]B-))"
    r"|(?P<double>'')"
    r"|(?P<dash>[‒–—―⸺⸻-]{2,}|[‒–—―⸺⸻]|(?<!\S)-(?!\S))"
    rf"|(?P<suffix>{_SUFFIX}(?!\w))"
    r"|(?P<word>(?:(?<![\w.])\.(?=\d))?\w+(?:['.,:@&/\-]\w+)*)"
    r"|(?P<mark>\S)",
    re.IGNORECASE,
)
_CONTRACTION = re.compile(rf"(?P<stem>\w.*)(?P<suffix>n't|{_SUFFIX})|(?P<can>can)(?P<not>not)", re.IGNORECASE)
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_BELONGS_TO_WORD = frozenset("%#@&-_/\\")


class _Token(NamedTuple):
    text: str
    start: int
    end: int
    glued: bool


@dataclass(frozen=True, slots=True)
class StoryIndex:
    """A story made ready for verifying quotes; ``story_index`` makes and keeps it.

    Attributes:
        story: The story.
        folded: Its folded tokens, a space before, between and after them.
        offsets: Where each token starts in ``folded``.
        starts: Where each token starts in the story.
        ends: Where it ends there.
        edges: Whether a quote may start at token i, or end before it, 1 or 0; one longer than the tokens.
    """

    story: str
    folded: str
    offsets: array[int]
    starts: array[int]
    ends: array[int]
    edges: bytes

    def find(self, tokens: list[str]) -> tuple[int, int] | None:
        """Find the first run of whole tokens that equals a quote.

        Args:
            tokens: The quote's folded tokens; the case of their first letter does not count.

        Returns:
            Half-open character offsets in the story, or None.
        """
        hits = [hit for run in _either_case(tokens) if (hit := self._find_exact(run, len(tokens))) is not None]
        if not hits:
            return None
        first = min(hits)
        return self.starts[first], self.ends[first + len(tokens) - 1]

    def _find_exact(self, run: str, count: int) -> int | None:
        at = self.folded.find(run)
        while at >= 0:
            token = bisect_right(self.offsets, at + 1) - 1
            if self.edges[token] and self.edges[token + count]:
                return token
            at = self.folded.find(run, at + 1)
        return None

    def nearest(self, quote: str) -> tuple[str, float] | None:
        """Find the passage most like a quote.

        Args:
            quote: Neutralised text.

        Returns:
            The passage, in whole tokens of the story, and its score in 0..100; None if nothing is alike.
        """
        from rapidfuzz import fuzz

        wanted = " ".join(fold(quote[:NEAREST_CHARACTERS]))
        if not self.offsets or not any(map(str.isalnum, wanted)):
            return None
        found = fuzz.partial_ratio_alignment(wanted, self.folded)
        if found is None or found.score <= 0:
            return None
        first = max(bisect_right(self.offsets, found.dest_start) - 1, 0)
        last = max(bisect_right(self.offsets, found.dest_end - 1) - 1, first)
        # Of a word cut by the alignment's edge, less than half is chance.
        if first < last and found.dest_start > self.offsets[first] + (self._end(first) - self.offsets[first]) / 2:
            first += 1
        if first < last and found.dest_end < self.offsets[last] + (self._end(last) - self.offsets[last]) / 2:
            last -= 1
        while not self.edges[first]:
            first -= 1
        while not self.edges[last + 1]:
            last += 1
        return splice(self.story, (self.starts[first], self.ends[last])), float(found.score)

    def _end(self, token: int) -> int:
        return self.offsets[token + 1] - 1 if token + 1 < len(self.offsets) else len(self.folded) - 1


# Debates of a round go through all its stories in turn, so all should be here; one takes four times its story.
@lru_cache(maxsize=1024)
def story_index(story: str) -> StoryIndex:
    """Make a story ready for verifying quotes; the last stories are kept.

    Args:
        story: The story as its question holds it.

    Returns:
        Its index.
    """
    return make_index(story)


def make_index(story: str) -> StoryIndex:
    """Do what ``story_index`` does, and keep nothing: for short texts, which would crowd the stories out."""
    mapped = neutralise_mapped(story)
    tokens = list(_tokens(mapped.text))
    offsets: list[int] = []
    at = 1
    for token in tokens:
        offsets.append(at)
        at += len(token.text) + 1
    edges = [True, *map(_edge, tokens, tokens[1:]), True] if tokens else [True]
    return StoryIndex(
        story=story,
        folded=f" {' '.join(token.text for token in tokens)} ",
        offsets=array("I", offsets),
        starts=array("I", (mapped.starts[token.start] for token in tokens)),
        ends=array("I", (mapped.ends[token.end - 1] for token in tokens)),
        edges=bytes(edges),
    )


def splice(story: str, span: tuple[int, int]) -> str:
    """Return the story's own text at a span (half-open character offsets), runs of white space as one space."""
    return " ".join(story[span[0] : span[1]].split())


def fold(text: str) -> list[str]:
    """Fold neutralised text, such as a quote, into tokens as a story's are folded."""
    return [token.text for token in _tokens(text)]


def _tokens(text: str) -> Iterator[_Token]:
    """Fold neutralised text into tokens; offsets are into ``text``."""
    for found in _TOKEN.finditer(text.translate(_STRAIGHT)):
        kind, piece, start, end = found.lastgroup, found[0], found.start(), found.end()
        # Few words can be cut: the pattern is tried on those alone that hold what it ends on.
        if kind == "word" and ("'" in piece or len(piece) == len("cannot")) and (cut := _CONTRACTION.fullmatch(piece)):
            middle = start + len(cut["stem"] or cut["can"])
            yield _Token(piece[: middle - start], start, middle, glued=False)
            yield _Token(piece[middle - start :], middle, end, glued=True)
            continue
        if kind == "bracket":
            piece = _BRACKETS.get(piece, piece)
        elif kind == "double":
            piece = '"'
        elif kind == "dash":
            piece = "—"
        yield _Token(piece, start, end, glued=False)


def _edge(before: _Token, after: _Token) -> bool:
    """Whether a quote may end after one token and another start with the next."""
    if before.end < after.start:
        return True
    return not after.glued and (_is_free(before.text[-1]) or _is_free(after.text[0]))


def _is_free(character: str) -> bool:
    """Whether a character belongs to the sentence and not to the word it touches."""
    return unicodedata.category(character)[0] == "P" and character not in _BELONGS_TO_WORD


def _either_case(tokens: list[str]) -> list[str]:
    run = f" {' '.join(tokens)} "
    first = next((at for at, character in enumerate(run) if character.isalnum()), None)
    if first is None:
        return [run]
    other = run[first].swapcase()
    return [run] if other == run[first] or len(other) > 1 else [run, run[:first] + other + run[first + 1 :]]
