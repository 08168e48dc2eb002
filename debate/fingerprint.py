"""Fingerprints of stories: the same story is found under other ids, in another edition, tokenised or not.

QuALITY, its L-Eval form and the debates on it hold the same stories, each with its own ids, white space and marks. A
fingerprint is a min-hash (Broder 1997) of the runs of eight words in the normalised text: the share of equal values of
two fingerprints estimates the Jaccard similarity of their sets of runs, with a standard error of at most 0.0625.
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata
from collections import Counter

import numpy as np
import numpy.typing as npt

Fingerprint = tuple[int, ...]

VALUES = 64
SAME = 0.5  # estimated Jaccard similarity from which on two texts are one story
_RUN = 8
_BRACKET = re.compile(r"-[lr][rsc]b-")
_CUT_OFF = re.compile(r"\s+(?=(?:n't|'(?:s|re|ve|ll|d|m))\b)")  # tokenisers part "do n't" and "it 's"
_CANNOT = re.compile(r"\bcan\s+not\b")
_WORD = re.compile(r"[^\W_]+")
_APOSTROPHES = str.maketrans("‘’′`", "''''")


def words(story: str) -> list[str]:
    """Normalise a text to words: casefolded letters and digits, whatever marks, spaces or token bounds it has."""
    text = unicodedata.normalize("NFKC", story).translate(_APOSTROPHES).casefold()
    text = _CANNOT.sub("cannot", _CUT_OFF.sub("", _BRACKET.sub(" ", text)))
    return _WORD.findall(text.replace("'", ""))


@functools.lru_cache(maxsize=1024)  # a run holds its stories apart in many pairs of groups
def fingerprint(story: str) -> Fingerprint:
    """Fingerprint a story.

    Args:
        story: Its text.

    Returns:
        ``VALUES`` minima, the same on every machine; none for a text without a word.
    """
    found = words(story)
    if not found:
        return ()
    runs = {" ".join(found[at : at + _RUN]) for at in range(max(1, len(found) - _RUN + 1))}
    hashes_N = np.array([_hash(run) for run in sorted(runs)], dtype=np.uint64)  # noqa: N806 - names its shape
    minima = [int(((hashes_N ^ mask) * factor).min()) for mask, factor in zip(_MASKS, _FACTORS, strict=True)]
    return tuple(minima)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


# Each pair makes one permutation of the 64-bit numbers: exclusive or, then an odd factor, modulo 2**64.
_MASKS: npt.NDArray[np.uint64] = np.array([_hash(f"mask {i}") for i in range(VALUES)], dtype=np.uint64)
_FACTORS: npt.NDArray[np.uint64] = np.array([_hash(f"factor {i}") | 1 for i in range(VALUES)], dtype=np.uint64)


def to_hex(value: Fingerprint) -> str:
    """Write a fingerprint down: 16 hexadecimal digits a value, which every reader of JSON keeps exactly."""
    return "".join(f"{minimum:016x}" for minimum in value)


def from_hex(text: str) -> Fingerprint:
    """Read what ``to_hex`` wrote.

    Raises:
        ValueError: The text is no fingerprint.
    """
    if not re.fullmatch(rf"(?:[0-9a-f]{{{16 * VALUES}}})?", text):
        raise ValueError(f"a fingerprint is {16 * VALUES} hexadecimal digits, or none; this has {len(text)} characters")
    return tuple(int(text[at : at + 16], 16) for at in range(0, len(text), 16))


def similarity(a: Fingerprint, b: Fingerprint) -> float:
    """Estimate the Jaccard similarity of two stories' runs of words; 0 where one has no word."""
    if not a or not b:
        return 0.0
    return sum(one == other for one, other in zip(a, b, strict=True)) / VALUES


def same_story(a: Fingerprint, b: Fingerprint) -> bool:
    """Whether two texts are one story; the limit is 5 % of words changed one by one, or half of the text left out."""
    return similarity(a, b) >= SAME


class StoryFinder:
    """Finds the same story among many, at a cost that does not grow with their number.

    Two fingerprints of one story share minima, so only stories that share one are looked at.
    """

    def __init__(self) -> None:
        self._names: list[str] = []
        self._holders: dict[tuple[int, int], list[int]] = {}

    def add(self, name: str, story: str | Fingerprint) -> None:
        """Add a story, or what is left of one, its fingerprint, under a name; a name may have several texts."""
        for key in enumerate(_as_fingerprint(story)):
            self._holders.setdefault(key, []).append(len(self._names))
        self._names.append(name)

    def find(self, story: str | Fingerprint) -> str | None:
        """Return the name of the story that is the same as this one, the most alike where there are several."""
        shared = Counter(place for key in enumerate(_as_fingerprint(story)) for place in self._holders.get(key, ()))
        place, count = min(shared.items(), key=lambda item: (-item[1], item[0]), default=(0, 0))
        return self._names[place] if count >= SAME * VALUES else None


def _as_fingerprint(story: str | Fingerprint) -> Fingerprint:
    return fingerprint(story) if isinstance(story, str) else story
