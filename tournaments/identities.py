"""Ids of questions and stories that mean one thing each, whatever the sources call them.

Figures go by ids: PGR sets debates against the baselines of the same questions, and intervals are robust by story. Two
files may both have a question "q1", so an id that is another source's for something else gets its source's name before
it.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from debate.fingerprint import fingerprint, same_story
from debate.question import Question


@dataclass(slots=True)
class _Names:
    """Names in use: of what, each with the source in which it was first met."""

    by_content: dict[Hashable, dict[str, str]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    renamed: dict[str, dict[str, None]] = field(default_factory=dict)

    def known(self, content: Hashable, source: str, name: str) -> str | None:
        """What this is called, if it has been met: under this name, or in another source under any."""
        names = self.by_content.get(content, {})
        # What one source has under two names stays two.
        return name if name in names else next((one for one, origin in names.items() if origin != source), None)

    def take(self, content: Hashable, source: str, name: str) -> str:
        """Give this a name that nothing else has."""
        chosen = name
        if chosen in self.used:
            chosen = f"{source} | {name}"
        if chosen in self.used:
            chosen = f"{chosen} | {hashlib.sha256(repr(content).encode('utf-8', 'replace')).hexdigest()[:10]}"
        self.used.add(chosen)
        self.by_content.setdefault(content, {})[chosen] = source
        if chosen != name:
            self.renamed.setdefault(source, {})[chosen] = None
        return chosen


class Identities:
    """Names the questions and stories of one source after another.

    A question is what it asks: text, answers, which is right, and the story's text. Two texts are one story if their
    fingerprints say so; without a text, a story is its id.
    """

    def __init__(self) -> None:
        self._questions = _Names()
        self._stories = _Names()
        self._texts: dict[str, list[tuple[str, str]]] = {}
        self._named: dict[tuple[str, Hashable], str] = {}

    def name(self, question: Question, source: str) -> Question:
        """Give a question, and its story, ids of their own.

        Args:
            question: Of a source.
            source: The source's name.

        Returns:
            The question, its ids changed where they stand for something else already. The same question of another
            source gets the ids that it has there.
        """
        content = (question.text, question.answers, question.gold, question.story)
        own = (source, (question.id, question.story_id, content))
        if own not in self._named:
            names = self._questions
            found = names.known(content, source, question.id) or names.take(content, source, question.id)
            self._named[own] = found
        named, story = self._named[own], self._story(question, source)
        if (named, story) == (question.id, question.story_id):
            return question
        return dataclasses.replace(question, id=named, story_id=story)

    def _story(self, question: Question, source: str) -> str:
        name, text = question.story_id, question.story
        if not text:
            self._stories.used.add(name)
            return name
        own = (source, (name, text))
        if own not in self._named:
            found = self._stories.known(text, source, name)
            alike = self._texts.setdefault(name, [])
            if found is None:
                mine = _fingerprint(text) if alike else ()
                found = next((other for before, other in alike if same_story(_fingerprint(before), mine)), None)
            if found is None:
                found = self._stories.take(text, source, name)
            alike.append((text, found))
            self._named[own] = found
        return self._named[own]

    def notes(self) -> Iterator[str]:
        """Say what is called otherwise than in its source."""
        for what, names in (("questions", self._questions), ("stories", self._stories)):
            for source, renamed in names.renamed.items():
                yield (
                    f"{len(renamed)} {what} of {source} have ids that stand for other {what} too, so they are named "
                    f"apart, such as {next(iter(renamed))!r}."
                )


_fingerprint = lru_cache(maxsize=4096)(fingerprint)
