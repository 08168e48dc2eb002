"""Scripted speakers and a scripted judge that asks, who write down every prompt that they are given."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from debate.agents.debater import FreeDebater, Limits
from debate.agents.questioner import ModelQuestioner, QuestionerConfig
from debate.models.base import Draw, Messages, Sampling
from debate.models.scripted import ScriptedModel
from debate.prompts import Prompts
from debate.question import Question

STORY = "Ana shut the gate at noon. Tomas rode off without a word. The dog slept on the step."
LIMITS = Limits(min_words=1, max_words=60, min_quotes=0, max_attempts=1)


def question(id_: str = "q", *, gold: int | None = 0, text: str = "Who shut the gate?") -> Question:
    """Make a question whose answers are It was Ana and It was Tomas."""
    return Question(id_, text, ("It was Ana.", "It was Tomas."), gold, STORY, "s", "test")


class Heard(NamedTuple):
    """What somebody was asked, and what it said."""

    who: str
    prompt: str
    said: str
    draw: Draw


class Stage:
    """Everybody who speaks, and the prompts of all, in the order of asking.

    A speaker's first speech holds the word ``<name>1``, its second ``<name>2``; the judge's first question ``ask1``.

    Args:
        silent: The numbers of the judge's replies in which it says nothing.
        addressed: How the judge addresses somebody, put at the end of its questions.
    """

    def __init__(self, *, silent: tuple[int, ...] = (), addressed: str = "Debater A") -> None:
        self.heard: list[Heard] = []
        self._spoken: Counter[str] = Counter()
        self._silent = silent
        self._addressed = addressed

    def debater(self, name: str) -> FreeDebater:
        """Make a speaker."""

        def speak(messages: Messages, draw: Draw) -> str:
            self._spoken[name] += 1
            said = f"{name}{self._spoken[name]} <quote>Ana shut the gate</quote>"
            return self._note(name, messages, draw, f"secret of {name} <argument>{said}</argument>")

        model = ScriptedModel(speak, name=f"scripted/{name}")
        return FreeDebater(model, name=name, prompts=Prompts(), limits=LIMITS, sampling=Sampling(99))

    def judge(self, *, attempts: int = 1) -> ModelQuestioner:
        """Make the judge that asks."""

        def ask(messages: Messages, draw: Draw) -> str:
            self._spoken["judge"] += 1
            number = self._spoken["judge"]
            said = "<think>Hm.</think>" if number in self._silent else f"Is ask{number} so, {self._addressed}?"
            return self._note("judge", messages, draw, said)

        config = QuestionerConfig(max_attempts=attempts)
        return ModelQuestioner(ScriptedModel(ask, name="scripted/judge"), name="j", prompts=Prompts(), config=config)

    def of(self, who: str) -> list[str]:
        """The prompts of one of them, in order."""
        return [heard.prompt for heard in self.heard if heard.who == who]

    def _note(self, who: str, messages: Messages, draw: Draw, said: str) -> str:
        self.heard.append(Heard(who, "\n".join(message.content for message in messages), said, draw))
        return said


def words(prompt: str, *of: str) -> set[str]:
    """Which of some words a prompt holds."""
    return {word for word in of if word in prompt}


SPOKEN = ("left1", "left2", "left3", "right1", "right2", "right3", "ask1", "ask2", "ask3", "ask4")
