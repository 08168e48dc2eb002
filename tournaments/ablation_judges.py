"""Judges of an ablation: one judge at several levels, each of which files its verdicts under a name of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from debate.agents.judge import Judge, build_judge
from debate.errors import ConfigError
from debate.fingerprint import Fingerprint, fingerprint, same_story
from debate.models.base import Capabilities, Choice, Completion, Draw, Message, Messages, Model, Sampling, Scores
from debate.prompts import Prompts
from debate.question import Question
from debate.record import Recorded
from debate.sources.select import rank
from debate.transcript import Transcript
from debate.verdict import Decision
from debate.view import View
from tournaments.ablation_levels import Level, example_messages, with_examples
from tournaments.judged import speaks


class ShownModel:
    """A model that is shown earlier exchanges before each prompt.

    Args:
        model: The model.
        shown: The exchanges.
    """

    def __init__(self, model: Model, shown: Messages) -> None:
        self.name = model.name
        self.digest = model.digest
        self.capabilities: Capabilities = model.capabilities
        self._model = model
        self._shown = shown

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        """Sample behind the exchanges; see ``Model.sample``."""
        return await self._model.sample(with_examples(messages, self._shown), draws=draws, sampling=sampling)

    async def choose(self, messages: Messages, choices: Sequence[str]) -> Choice:
        """Choose behind the exchanges; see ``Model.choose``."""
        return await self._model.choose(with_examples(messages, self._shown), choices)

    async def score(self, messages: Messages, continuations: Sequence[str]) -> Scores:
        """Score behind the exchanges; see ``Model.score``."""
        return await self._model.score(with_examples(messages, self._shown), continuations)

    def count_tokens(self, messages: Messages) -> int:
        """Count with the exchanges; see ``Model.count_tokens``."""
        return self._model.count_tokens(with_examples(messages, self._shown))

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()


class Examples:
    """Debates whose right answers a judge may be shown, on other stories than the one that it judges.

    The same debates are shown wherever they may be, others instead of them only on their own stories. So two levels
    differ by how many there are, the smaller one's being the first of the larger one's; and what they say of examples
    is of these.

    Args:
        recorded: What to choose from; one debate of a story at most is used.
        seed: Chooses among them, whatever their order.
        most: The largest number that will be asked for.

    Raises:
        ConfigError: There are too few stories.
    """

    def __init__(self, recorded: Iterable[Recorded], *, seed: int, most: int) -> None:
        known = [
            item.debate
            for item in recorded
            if speaks(item)
            and item.debate.failed is None
            and item.debate.transcript.turns
            and item.debate.transcript.question.gold is not None
        ]
        ordered = sorted(known, key=lambda debate: rank(seed, "example", debate.id))
        by_story = {debate.transcript.question.story_id: debate for debate in reversed(ordered)}
        first = [debate for debate in ordered if by_story[debate.transcript.question.story_id] is debate]
        self._debates = [debate.transcript for debate in first[: most + _SPARE]]
        self._marks = [fingerprint(transcript.question.story or "") for transcript in self._debates]
        self._known: dict[str, Fingerprint] = {}
        self._first = [rank(seed, "seat", transcript.question.id)[0] % 2 for transcript in self._debates]
        if len(first) <= most:
            raise ConfigError(
                f"examples: {most} debates on other stories are wanted beside the one that is judged, and there are "
                f"finished ones with a known answer on {len(first)} stories; judge more stories, name another source "
                "(examples), or show fewer (levels)"
            )

    def on(self, question: Question, count: int) -> list[Transcript]:
        """Choose examples for a question.

        Args:
            question: The question that is judged.
            count: How many.

        Returns:
            Debates on other stories, told by id and by text. Of each two, the right answer is in seat A of one and in
            seat B of the other, so that no letter is the likelier one.

        Raises:
            ConfigError: There are too few.
        """
        mark = self._known.get(question.id) or self._known.setdefault(question.id, fingerprint(question.story or ""))
        other = [
            (transcript, first)
            for transcript, own, first in zip(self._debates, self._marks, self._first, strict=True)
            if transcript.question.story_id != question.story_id and not same_story(mark, own)
        ][:count]
        if len(other) < count:
            raise ConfigError(
                f"examples: only {len(other)} debates are on other stories than question {question.id!r}, and {count} "
                "are wanted; name another source (examples), or show fewer (levels)"
            )
        found: list[Transcript] = []
        for place, (transcript, _) in enumerate(other):
            drawn = other[place - place % 2][1]  # which letter is right first is drawn for each two
            gold = transcript.question.gold
            right = gold is not None and transcript.seat_of(gold) == "AB"[(drawn + place) % 2]
            found.append(transcript if right else transcript.swapped())
        return found


_SPARE = 8  # debates beyond those wanted, for questions on whose story some of them are


@dataclass(frozen=True, slots=True)
class LevelJudge:
    """A judge at one level; a ``tournaments.matches.TranscriptJudge``.

    Attributes:
        name: What its verdicts are filed under.
        level: The level.
        inner: The judge, as it is without examples.
        model: Its model; None for a judge of one's own without one.
        prompts: Templates.
        examples: What its examples are chosen from; None where it is shown none.
    """

    name: str
    level: Level
    inner: Judge
    model: Model | None
    prompts: Prompts
    examples: Examples | None = None

    async def judge(self, transcript: Transcript, draw: Draw) -> Decision:
        """Decide on what the level shows of a debate; see ``TranscriptJudge.judge``."""
        # All levels draw in one stream, so the votes of three are the first of five.
        draw = draw._replace(stream=f"judge {self.inner.name}")
        return await self._asked(transcript.question).decide(self.level.see(transcript), draw)

    async def decide(self, view: View, draw: Draw) -> Decision:
        """Decide on a view as it is; see ``Judge.decide``."""
        return await self.inner.decide(view, draw)

    def _asked(self, question: Question) -> Judge:
        if not self.level.shots or self.examples is None or self.model is None:
            return self.inner
        chosen = self.examples.on(question, self.level.shots)
        shown: list[Message] = example_messages(self.level.judge, chosen, self.prompts)
        return build_judge(self.level.judge, ShownModel(self.model, shown), self.prompts)

    def with_examples(self, examples: Examples) -> LevelJudge:
        """The same judge with examples to choose from."""
        return dataclasses.replace(self, examples=examples)


def level_judge(level: Level, model: Model | None, prompts: Prompts) -> LevelJudge:
    """Make the judge of a level; its name is the judge's and the level's."""
    inner = build_judge(level.judge, model, prompts)
    return LevelJudge(f"{inner.name}, {level.label}", level, inner, model, prompts)
