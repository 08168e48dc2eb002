"""Answers of one model alone: the base answer of a debate, and the baselines that a debate has to beat.

Chain of thought (Wei et al. 2022), self-consistency (Wang et al. 2023), self-reflection (as Self-Refine, Madaan et al.
2023, one model that reads its own last reply), reranking of several translations, and analyse-then-translate (after
MAPS, He et al. 2024).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal

from debate.errors import ConfigError
from debate.item import Item, Task
from debate.metrics.grades import majority
from debate.metrics.translation import overlap
from debate.models.base import Draw, Model, Sampling
from debate.open_debate import Speech, read_speech, show_form, show_task
from debate.prompts import Prompts

Method = Literal["base", "chain_of_thought", "self_consistency", "self_reflection", "rerank", "analyse_then_translate"]
#: The methods that fit a task, in the order of tables; the base answer comes first.
METHODS: Mapping[Task, tuple[Method, ...]] = {
    "question": ("base", "chain_of_thought", "self_consistency", "self_reflection"),
    "translation": ("base", "rerank", "analyse_then_translate", "self_reflection"),
}
#: Most words of a single line that counts as an answer where nothing else was asked for: more of them explain.
_BARE: Mapping[Task, int] = {"question": 8, "translation": 200}
#: Estimates the quality of answers to an item without a reference, the higher the better.
Quality = Callable[[Item, Sequence[str]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one model made of an item alone.

    Attributes:
        item: The item.
        method: How.
        steps: What it wrote, in order; each step has the answer that it gives, if any.
        answer: What it settles on, or None where no answer could be read.
        failed: Why it could not be finished, or None.
    """

    item: Item
    method: Method
    steps: tuple[Speech, ...] = ()
    answer: str | None = None
    failed: str | None = None


@dataclass(frozen=True, slots=True)
class Alone:
    """A model that works alone.

    Attributes:
        name: What it is called.
        model: The model.
        prompts: Templates: ``mad_base``, ``mad_think``, ``mad_reflect``, ``mad_analyse`` and ``mad_translate``.
        sampling: How it writes.
        drawn: How it writes where several samples are drawn.
        samples: Of self-consistency.
        candidates: Of reranking.
        reflections: Of self-reflection, after its first answer.
        quality: By which candidates are ranked.
    """

    name: str
    model: Model
    prompts: Prompts
    sampling: Sampling
    drawn: Sampling
    samples: int = 5
    candidates: int = 4
    reflections: int = 2
    quality: Quality | None = None

    async def attempt(self, method: Method, item: Item, draw: Draw) -> Attempt:
        """Answer an item by a method.

        Args:
            method: One that fits the item's task.
            item: The item.
            draw: The seed; samples count up from it.

        Returns:
            The attempt. The base answer is the first step of self-reflection too, and the same call.

        Raises:
            ModelError: The model failed for good.
        """
        work = {
            "base": self._base,
            "chain_of_thought": self._think,
            "self_consistency": self._vote,
            "self_reflection": self._reflect,
            "rerank": self._rerank,
            "analyse_then_translate": self._analyse,
        }
        steps, answer = await work[method](item, draw._replace(stream=f"{self.name} alone"))
        return Attempt(item, method, tuple(steps), answer)

    async def _base(self, item: Item, draw: Draw) -> tuple[list[Speech], str | None]:
        steps = await self._ask("mad_base", item, [draw], self.sampling)
        return steps, steps[0].answer

    async def _think(self, item: Item, draw: Draw) -> tuple[list[Speech], str | None]:
        steps = await self._ask("mad_think", item, [draw], self.sampling)
        return steps, steps[0].answer

    async def _vote(self, item: Item, draw: Draw) -> tuple[list[Speech], str | None]:
        steps = await self._ask("mad_think", item, draw.take(self.samples), self.drawn)
        return steps, majority(item, [step.answer for step in steps])

    async def _reflect(self, item: Item, draw: Draw) -> tuple[list[Speech], str | None]:
        steps, answer = await self._base(item, draw)
        for number in range(1, self.reflections + 1):
            previous = steps[-1].text or "(nothing)"
            step, *_ = await self._ask("mad_reflect", item, [draw], self.sampling, at=number, previous=previous)
            steps.append(step)
            answer = step.answer or answer
        return steps, answer

    async def _rerank(self, item: Item, draw: Draw) -> tuple[list[Speech], str | None]:
        steps = await self._ask("mad_base", item, draw.take(self.candidates), self.drawn)
        given = [step.answer for step in steps if step.answer is not None]
        if not given:
            return steps, None
        scores = list((self.quality or agreement)(item, given))
        if len(scores) != len(given):
            raise ConfigError(
                f"the quality estimate gave {len(scores)} scores for {len(given)} answers; one each is due"
            )
        odd = [one for one in scores if not isinstance(one, Real) or not math.isfinite(one)]
        if odd:
            raise ConfigError(f"the quality estimate gave {odd[0]!r} for an answer; finite numbers are due")
        return steps, given[max(range(len(given)), key=lambda at: scores[at])]

    async def _analyse(self, item: Item, draw: Draw) -> tuple[list[Speech], str | None]:
        (notes,) = await self._ask("mad_analyse", item, [draw], self.sampling)
        (step,) = await self._ask("mad_translate", item, [draw], self.sampling, at=1, notes=notes.text or "(none)")
        return [notes, step], step.answer

    async def _ask(
        self, template: str, item: Item, draws: Sequence[Draw], sampling: Sampling, *, at: int = 0, **values: str
    ) -> list[Speech]:
        form = {} if template == "mad_analyse" else {"form": show_form(item, self.prompts)}
        messages = self.prompts.fill(template, task=show_task(item, self.prompts), **form, **values)
        replies = await self.model.sample(messages, draws=draws, sampling=sampling)
        bare = _BARE[item.task] if template in {"mad_base", "mad_translate"} else 0
        return [read_speech(reply, self.name, at, bare=bare) for reply in replies]


def agreement(_item: Item, answers: Sequence[str]) -> list[float]:
    """Rate each answer by its mean chrF against the others: minimum Bayes risk, with no model.

    Args:
        answers: One or more.

    Returns:
        Scores, 0 to 100; a single answer gets 0.
    """
    others = len(answers) - 1
    return [
        sum(overlap(one, [other]).chrf for place, other in enumerate(answers) if place != at) / max(1, others)
        for at, one in enumerate(answers)
    ]
