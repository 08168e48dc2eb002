"""One discussion as its page shows it: any number of speakers, answers and rounds, and what came of it.

Where ``debate.report.page`` shows two seats, a story and quotes, this knows none of them: the caller says what stands
where. All texts may be a model's; the template escapes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Option:
    """One of the answers that a question offers.

    Attributes:
        label: What the speakers call it, such as "A".
        text: The answer.
        right: Whether it is right; None where that is not known.
    """

    label: str
    text: str
    right: bool | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What one speaker said at one time.

    Attributes:
        speaker: Its name.
        text: What it said.
        holds: The answer that it holds by then, in short, or None where it names none.
        right: Whether that answer is right; None where that is not known or there is none.
        note: What a reader should know of it, such as why no answer was read.
        details: Further texts behind a fold, by title, such as the whole reply.
    """

    speaker: str
    text: str
    holds: str | None = None
    right: bool | None = None
    note: str = ""
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """What was said between two headings.

    Attributes:
        title: The heading.
        said: In order.
    """

    title: str
    said: Sequence[Said]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a discussion.

    Attributes:
        by: What or who says so, such as "consensus", "vote" or a judge.
        answer: The answer in short, or None where there is none.
        outcome: "right", "wrong" or whatever else there is to say, in a word or two.
        text: Its reasoning, if any.
    """

    by: str
    answer: str | None
    outcome: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class TalkPage:
    """What the page of a discussion is built from.

    Attributes:
        id: Unique within the run.
        question: What it is about.
        kind: What configurations call this kind of discussion.
        speakers: All speakers, each once.
        parts: What was said, by heading.
        options: The answers that the question offers; none where any answer will do.
        results: What came of it; the list of debates shows the first, and the others on demand.
        failed: Why it could not be finished, or None.
        facts: Further facts as name and text.
    """

    id: str
    question: str
    kind: str
    speakers: Sequence[str]
    parts: Sequence[Part]
    options: Sequence[Option] = ()
    results: Sequence[Result] = ()
    failed: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


def talk_row(page: TalkPage, number: int) -> dict[str, object]:
    """Sum up a discussion for the list of debates, as plain values for its script file.

    Args:
        page: The discussion.
        number: The number of its page.

    Returns:
        Values that JSON can hold, as ``page.index_row`` gives them; in place of a judge's probability, ``judges`` has
        the answer of each result.
    """
    right = [option.label for option in page.options if option.right]
    return {
        "n": number,
        "id": page.id,
        "question": page.question,
        "protocol": page.kind,
        "players": list(page.speakers),
        "gold": ", ".join(right) or None,
        "judges": [[result.by, result.answer, result.outcome, False] for result in page.results],
        "verified": 0,
        "quotes": 0,
        "failed": page.failed is not None,
        "talk": True,
    }


def talk_text(page: TalkPage) -> str:
    """All that a reader may look for by words, in small letters; for the list's search."""
    texts = [*(option.text for option in page.options), *(said.text for part in page.parts for said in part.said)]
    return "\n".join([*texts, *(result.text for result in page.results)]).lower()
