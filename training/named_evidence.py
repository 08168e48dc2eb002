"""What in a story is known to speak for each answer, by the generator of dossiers or the author of a shipped story."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from debate.dossiers.dossier import Dossier, recall
from debate.errors import SourceError
from debate.question import Question
from debate.quotes import Quote, splice, story_index, verify
from debate.sentences import sentence_spans
from debate.sources.locate import data_folder
from debate.sources.rows import Row
from debate.sources.shipped import read_story

_LONGEST = 30  # words
_SHORTEST = 5
_TITLES = frozenset({"Mr", "Mrs", "Miss", "Ms"})


@dataclass(frozen=True, slots=True)
class NamedEvidence:
    """What can be quoted on a question.

    Attributes:
        quotes: For each answer the sentences that speak for it, verified, the best known first.
        fillers: Sentences of the story, and pairs of neighbours, that speak for neither.
        labels: What the story calls what each answer names, where that is known.
        exchange: Names to be exchanged to turn evidence for one answer into such for the other; none where not known.
    """

    quotes: tuple[tuple[Quote, ...], tuple[Quote, ...]]
    fillers: tuple[str, ...]
    labels: tuple[str, str] | None = None
    exchange: Mapping[str, str] | None = None

    def forged(self, answer: int, story: str) -> Quote | None:
        """Return the sentence for the other answer with both answers' names exchanged: evidence that is not there.

        Args:
            answer: The answer that it is to speak for.
            story: The story, which does not hold it.

        Returns:
            An unverified quote, or None where it is not known what to exchange.
        """
        if self.exchange is None:
            return None
        found = _verified(exchange_names(self.quotes[1 - answer][0].text, self.exchange), story)
        return None if found.verified else found


def named_evidence(question: Question) -> NamedEvidence:
    """Find what is known to speak for each answer of a question.

    Args:
        question: Of two answers, from ``dossiers:...`` or ``shipped:stories``.

    Returns:
        The evidence.

    Raises:
        SourceError: The question is of another source, or has no story or gold answer.
    """
    if question.gold is None or question.story is None or len(question.answers) != 2:
        raise SourceError(
            f"question {question.id!r} of {question.source!r}: a debate can be made only on a story, with two answers "
            "of which one is known to be right"
        )
    scheme = question.source.partition(":")[0]
    if scheme == "dossiers":
        found = recall(question.id)
        if found.question.story == question.story and found.question.answers == question.answers:
            return _of_dossier(found)
    elif scheme == "shipped":
        passages = _authors_evidence(question.story_id).get(question.id)
        if passages is not None:
            return _of_passages(question.story, passages)
    raise SourceError(
        f"question {question.id!r} of {question.source!r}: it is not known what in its story speaks for which answer; "
        "make debates on dossiers:N or shipped:stories, or hold debates on it and give their run as run:DIR"
    )


def _of_dossier(dossier: Dossier) -> NamedEvidence:
    story = dossier.question.story or ""
    quotes = tuple((_verified(dossier.quote(answer), story),) for answer in (0, 1))
    first, second = dossier.labels
    named = [re.compile(rf"\b{re.escape(label)}\b", re.IGNORECASE) for label in dossier.labels]
    fillers = tuple(text for text in _fillers(story, quotes) if not any(pattern.search(text) for pattern in named))
    full = tuple(_in_full(label, dossier.names) for label in dossier.labels)
    exchange = {first: second, second: first} | {full[0]: full[1], full[1]: full[0]}
    return NamedEvidence((quotes[0], quotes[1]), fillers, dossier.labels, exchange)


def _of_passages(story: str, passages: tuple[tuple[str, ...], ...]) -> NamedEvidence:
    quotes = tuple(tuple(_verified(text, story) for text in texts) for texts in passages)
    return NamedEvidence((quotes[0], quotes[1]), _fillers(story, quotes))


def _verified(text: str, story: str) -> Quote:
    return verify(text, story_index(story), nearest=False)


def _fillers(story: str, evidence: tuple[tuple[Quote, ...], ...]) -> tuple[str, ...]:
    """Return sentences of a story, and pairs of neighbours in a paragraph, that overlap no evidence."""
    taken = [quote.span for quotes in evidence for quote in quotes if quote.span is not None]
    free = [
        (start, end)
        for start, end in sentence_spans(story)
        if not any(start < last and first < end for first, last in taken)
    ]
    pairs = [
        (start, end)
        for (start, middle), (after, end) in itertools.pairwise(free)
        if story[middle:after].isspace() and "\n" not in story[middle:after]
    ]
    texts = (splice(story, span) for span in (*free, *pairs))
    return tuple(text for text in texts if _SHORTEST <= len(text.split()) <= _LONGEST)


def _in_full(label: str, names: tuple[str, ...]) -> str:
    """Return the full name of whom a label calls by first name, or by title and surname; of things the label."""
    title, _, surname = label.rpartition(" ")
    for name in names:
        first, _, last = name.partition(" ")
        if name == label or first in _TITLES:
            continue
        if (first == label and last) or (title in _TITLES and last == surname):
            return name
    return label


def exchange_names(text: str, names: Mapping[str, str]) -> str:
    """Exchange names in a text.

    Args:
        text: Any text.
        names: Each name and what takes its place. A small first letter of either becomes a capital where a sentence
            begins with it.

    Returns:
        The text with every name exchanged at once, longer names before shorter ones.
    """
    either = {name[:1].lower() + name[1:]: other for name, other in names.items()}
    pattern = re.compile(
        "|".join(
            rf"\b[{re.escape(name[0].upper() + name[0].lower())}]{re.escape(name[1:])}\b"
            for name in sorted(names, key=len, reverse=True)
        )
    )

    def other(match: re.Match[str]) -> str:
        found = match[0]
        new = either[found[:1].lower() + found[1:]]
        begins = found not in names and found[:1].isupper()
        starts = begins or not text[: match.start()].strip(" \"'“‘")
        return new[:1].upper() + new[1:] if starts else new

    return pattern.sub(other, text)


@functools.lru_cache(maxsize=64)
def _authors_evidence(story_id: str) -> Mapping[str, tuple[tuple[str, ...], ...]]:
    """Read what a shipped story's author named for each answer, by question id; nothing where there is no such file."""
    path = data_folder() / "stories" / f"{story_id}.yaml"
    if not path.is_file():
        return {}
    rows: tuple[Row, ...] = tuple(read_story(path).rows("questions"))
    return {row.text("id"): _passages(row) for row in rows}


def _passages(row: Row) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(str(text) for text in texts) for texts in row.items("evidence") if isinstance(texts, list))
