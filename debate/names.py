"""Names: mentions of a speaker or an answer by its letter, told from phrases that only look like them.

A letter alone is text. With a noun before it ("Debater A", "Option (B)", "the answer is A") it is a name, but for:

- a phrase that the story, the question or the answers hold themselves: "side B" of a record is no seat;
- two letters in one mention ("Debaters A and B", "Answer A or B"), which are the same seats either way round;
- a lower-case ``a`` that may be an article: "debater a's claim" and "debater a says" name somebody, "a debater a day"
  does not. Lower case counts after the nouns for speakers only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from debate.story_index import fold, make_index, story_index

Seat = Literal["A", "B"]

_PERSON = ("debater", "consultant", "speaker")
# What speakers are called to their faces; no story's own phrase takes that from them.
_TITLES = ("debater", "consultant")
_OPENERS = r"""[(\["'“‘*_`]{0,2}"""
_NAME = re.compile(
    r"\b(?P<what>(?i:debater|consultant|speaker|answer|option|choice|side|position)(?P<link>[^\S\n](?i:is)|:)?)"
    r"[^\S\n]{1,3}"
    r"""(?:\((?P<l1>[AB])\)|\[(?P<l2>[AB])\]|"(?P<l3>[AB])"|'(?P<l4>[AB])'|“(?P<l5>[AB])”|‘(?P<l6>[AB])’"""
    r"|\*\*(?P<l7>[AB])\*\*|\*(?P<l8>[AB])\*|_(?P<l9>[AB])_|`(?P<l10>[AB])`|(?P<l11>[AB])|(?P<low>[ab]))"
    r"(?!\w|-\w|[\u0300-\u036f])"
    rf"(?!(?:[^\S\n]+(?i:and|or|nor|versus|vs\.?|&)[^\S\n]+|[^\S\n]?/[^\S\n]?){_OPENERS}[ABb](?!\w|-\w))"
    # "Answer: A man ..." begins a sentence, "Answer: A." names an answer.
    r"(?(link)(?=[^\S\n]*(?:[^\w\s]|\n|\Z)))",
)
_LETTERS = tuple(f"l{number}" for number in range(1, 12))
_DETERMINER = re.compile(
    r"\b(?:the|an?|each|every|either|neither|this|that|my|your|his|her|their|our|other|another|one|any|some|no)\s+\Z",
    re.IGNORECASE,
)
_CLOSED = re.compile(r"['’]s\b|[.,;:!?)\]]|\n|\Z")
_VERB = re.compile(
    r"[^\S\n]+(?:is|was|has|had|does|did|says?|said|claims?|claimed|argues?|argued|asserts?|states?|quotes?|quoted|cites?|"
    r"cited|ignores?|ignored|admits?|admitted|lies|lied|misquotes?|misreads?|wants|thinks|insists|concedes|never|cannot|"
    r"can't|and|or|versus|vs)\b"
)
# How texts set a letter off, folded.
_AROUND = (("", ""), ("(", ")"), ("[", "]"), ('"', '"'), ("'", "'"))
# Longer texts are indexed once and kept.
_LONG = 2000


@dataclass(frozen=True, slots=True)
class Name:
    """A mention of a speaker or an answer by its letter, kept apart from the letter.

    Attributes:
        who: Whether the speaker means itself (or its own answer) or the opponent.
        what: The noun as written ("Debater"), with "is" or ":" where one joins it to the letter ("answer is").
    """

    who: Literal["self", "opponent"]
    what: str

    def render(self, seat: Seat | None) -> str:
        """Write the mention as it is right for a speaker in ``seat``; without letters for None."""
        if seat is not None:
            letter = seat if self.who == "self" else "AB"["BA".index(seat)]
            return f"{self.what} {letter}"
        noun = self.what.lower()
        if noun.endswith(("is", ":")):
            return f"{self.what} {'mine' if self.who == 'self' else 'the opposing one'}"
        if noun in _PERSON:
            return f"this {noun}" if self.who == "self" else f"the other {noun}"
        return f"my {noun}" if self.who == "self" else f"the opposing {noun}"


class Mention(NamedTuple):
    """A name in a text, by its half-open character offsets."""

    start: int
    end: int
    name: Name


def mentions(text: str, seat: Seat, literal: Sequence[str] = ()) -> Iterator[Mention]:
    """Find the names in a text (the rules are in the module's docstring).

    Args:
        text: Neutralised text, without its quotes.
        seat: Where its speaker sat when it wrote.
        literal: The story, the question, the answers: a phrase that stands in one of them is no name.

    Yields:
        The names in order.
    """
    held: dict[tuple[str, ...], bool] = {}
    for found in _NAME.finditer(text):
        what = " ".join(found["what"].split())
        if found["low"]:
            if not _is_letter(found, text):
                continue
            letter = found["low"].upper()
        else:
            letter = next(found[group] for group in _LETTERS if found[group])
        if what.lower() not in _TITLES:
            noun = tuple(fold(what))
            if (*noun, letter) not in held:
                forms = ([*noun, *before, letter, *after] for before, after in _AROUND)
                held[(*noun, letter)] = any(_holds(other, form) for form in forms for other in literal)
            if held[(*noun, letter)]:
                continue
        yield Mention(found.start(), found.end(), Name("self" if letter == seat else "opponent", what))


def _is_letter(found: re.Match[str], text: str) -> bool:
    """Whether a lower-case letter stands for a seat."""
    if found["what"].lower() not in _PERSON:
        return False
    if found["low"] == "b" or _CLOSED.match(text, found.end()):
        return True
    return _VERB.match(text, found.end()) is not None and not _DETERMINER.search(text, 0, found.start())


def _holds(text: str, phrase: list[str]) -> bool:
    index = story_index(text) if len(text) > _LONG else make_index(text)
    return index.find(phrase) is not None
