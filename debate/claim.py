"""Claims: what a persuader argues for, on a topic, with the one reason that it opens with."""

from __future__ import annotations

from dataclasses import dataclass

from debate.question import Question

#: The other side of every claim: a debater that is not persuaded defends no claim of its own.
NOT_CONVINCED = "Not convinced of it"


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim on a topic.

    Attributes:
        id: Unique within its source.
        topic: What it is about, often a question.
        text: The claim.
        reason: Why it should hold.
        source: The source string that it was loaded from.
    """

    id: str
    topic: str
    text: str
    reason: str
    source: str

    @property
    def question(self) -> Question:
        """The claim as a question of two answers, the claim with its reason and not being convinced of it.

        Nobody knows which is right. Each claim is a cluster of its own.
        """
        held = f"{self.text.rstrip('. ')}. Reason: {self.reason}"
        return Question(self.id, self.topic, (held, NOT_CONVINCED), None, None, self.id, self.source)
