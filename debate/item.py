"""Items: open tasks, whose answer is a text, with what is right and the trap that a hasty reader falls into.

An item is no ``Question``: that lists answers to choose from, agents see them, and a verdict is a distribution over
them. An item lists nothing: what is right or a trap must never be shown, and an answer is whatever somebody writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from debate.errors import SourceError
from debate.question import Question

Task = Literal["question", "translation"]
TASKS: tuple[Task, ...] = get_args(Task)
#: What languages of texts to translate are called in prompts.
LANGUAGES = {"de": "German", "zh": "Chinese", "fr": "French", "es": "Spanish", "ja": "Japanese", "ru": "Russian"}


@dataclass(frozen=True, slots=True)
class Item:
    """An open task.

    Attributes:
        id: Unique within its source.
        task: A question with an answer of a few words, or a text to be translated into English.
        text: The question, or the text.
        right: One or more right answers, as the grader reads them (``debate.metrics.answers``), or right translations.
            Only scoring code may read it, and the trap.
        trap: The answer that a hasty reader gives, or a translation that takes the ambiguous words the wrong way.
        source: The source string that the item was loaded from.
        language: The language of a text to be translated, as a name; empty for a question.
        focus: The ambiguous words of a text to be translated; empty for a question.
        right_words: Beginnings of words of the translation that show the right reading.
        trap_words: Beginnings of words that show the wrong one.
        why: Why the right answer is right, for readers.
        why_trap: Why the trap tempts, for readers.
    """

    id: str
    task: Task
    text: str
    right: tuple[str, ...]
    trap: str
    source: str
    language: str = ""
    focus: str = ""
    right_words: tuple[str, ...] = ()
    trap_words: tuple[str, ...] = ()
    why: str = ""
    why_trap: str = ""

    def __post_init__(self) -> None:
        """Refuse an item that nothing could be graded by."""
        if not self.right or not all(text.strip() for text in (*self.right, self.trap)):
            raise SourceError(
                f"item {self.id!r} of {self.source!r} needs a right answer and a trap, none of them blank"
            )
        if (self.task == "translation") != bool(self.language):
            raise SourceError(
                f"item {self.id!r} of {self.source!r}: a text to be translated has a language, a question has none"
            )

    def as_question(self) -> Question:
        """Return the item as a question over its right answers and its trap, for checks and hashes of a run's data.

        No agent gets it: a view would show what is right.
        """
        answers = (*self.right, self.trap)
        return Question(self.id, self.text, answers, 0, None, self.id, self.source, distractor=len(answers) - 1)
