"""Roundtable: models that do not all choose the same answer debate until they do (FORD, Xiong et al. 2023).

Each first answers alone. Where not all answers are one, they take turns in a circle, the first speaker (the proponent)
first: each sees the question, the answers and all explanations so far, but not who chose what, and counters or
compromises. The debate ends when the last k answers of k speakers are one, or after a number of turns.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from debate.agents.chooser import Chooser, Heard, Opinion
from debate.agents.render import LETTERS
from debate.errors import ConfigError
from debate.metrics.consensus import Outcome, agreed_round
from debate.models.base import Draw
from debate.question import Question
from debate.together import together
from debate.view import View

JUDGE = "Judge"


@dataclass(frozen=True, slots=True)
class Discussion:
    """A debate at a roundtable, complete or under way.

    Attributes:
        id: Unique within its run.
        question: The question, gold included; speakers never get it, they get views.
        speakers: The k speakers, in the order in which they speak.
        opinions: What was said: the first k alone, then one a turn, the speakers in a circle.
        judge: What a judge concluded, or None where none was asked.
        failed: Why it could not be finished, or None.
    """

    id: str
    question: Question
    speakers: tuple[str, ...]
    opinions: tuple[Opinion, ...] = ()
    judge: Opinion | None = None
    failed: str | None = None

    @property
    def agreed(self) -> int | None:
        """After which turn all agreed: 0 for at once, None for not (yet)."""
        return agreed_round([opinion.answer for opinion in self.opinions], len(self.speakers))

    @property
    def heard(self) -> list[Heard]:
        """What was said, as it is shown to those who take part: explanations only, by places in the circle."""
        places = len(self.speakers)
        return [Heard(called(at % places), opinion.text) for at, opinion in enumerate(self.opinions)]

    @property
    def outcome(self) -> Outcome:
        """What became of the sample, with answers as letters.

        Raises:
            ConfigError: The question has no gold answer.
        """
        gold = self.question.gold
        if gold is None:
            raise ConfigError(f"question {self.question.id!r} has no right answer to measure by")
        return Outcome(
            id=self.question.id,
            cluster=self.question.story_id,
            gold=LETTERS[gold],
            predictions=tuple(letter(opinion.answer) for opinion in self.opinions),
            agreed=self.agreed,
            judged=self.judge is not None,
            verdict=None if self.judge is None else letter(self.judge.answer),
        )


def letter(answer: int | None) -> str | None:
    """The letter of an answer, or None for none."""
    return None if answer is None else LETTERS[answer]


def called(place: int) -> str:
    """What the speaker at a place of the circle is called before the others."""
    return f"Debater {place + 1}"


def view_of(question: Question) -> View:
    """What speakers and judge see of a question: all but what is right."""
    return View(question.text, question.answers, question.story, ())


@dataclass(frozen=True, slots=True)
class Roundtable:
    """The protocol.

    Attributes:
        choosers: The speakers, in the order in which they speak; two or more.
        turns: Most turns of a debate.
        judge: Who concludes debates, or None for the vote alone. It reads the debate and nothing else.
    """

    choosers: tuple[Chooser, ...]
    turns: int
    judge: Chooser | None = None

    def __post_init__(self) -> None:
        """Refuse a table with nobody to talk to."""
        if len(self.choosers) < 2:
            raise ConfigError(f"{len(self.choosers)} speakers cannot debate; give two or more")

    async def hold(self, name: str, question: Question, draw: Draw) -> Discussion:
        """Hold one debate.

        Args:
            name: The id of the discussion.
            question: A question of two answers or more.
            draw: Seed and repetition; each speaker draws in a stream of its own.

        Returns:
            The complete discussion; a judge is asked where there was a debate.

        Raises:
            ModelError: A model failed for good.
        """
        view, places = view_of(question), len(self.choosers)
        alone = await together(
            chooser.choose(view, "alone", (), called(at), draw) for at, chooser in enumerate(self.choosers)
        )
        held = Discussion(name, question, tuple(chooser.name for chooser in self.choosers), tuple(alone))
        for turn in range(self.turns):
            if held.agreed is not None:
                break
            at = turn % places
            opinion = await self.choosers[at].choose(view, "debate", held.heard, called(at), draw)
            held = dataclasses.replace(held, opinions=(*held.opinions, opinion))
        if self.judge is not None and held.agreed != 0:
            verdict = await self.judge.choose(view, "judge", held.heard, JUDGE, draw)
            held = dataclasses.replace(held, judge=verdict)
        return held
