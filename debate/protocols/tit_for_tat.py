"""Tit for tat: debaters without an assigned answer speak in turn on the whole history, and a judge says when to stop.

After Liang et al. (2023), "Encouraging divergent thinking in large language models through multi-agent debate" (MAD). A
base answer comes first, which the first debater opens with; with two debaters these are the affirmative and the
negative side. After each iteration the judge says whether a right answer is clear (adaptive break); at the limit it
extracts one from the whole history, where the published code shows it the first iteration only. A forced debate goes on
to its limit and has an answer extracted after every iteration: the ruling that would have ended it is kept, so that one
forced debate tells what an adaptive one of any limit up to its own would have ended with.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from debate.agents.open_judge import OpenJudge
from debate.errors import ConfigError
from debate.item import Item
from debate.models.base import Draw, Message, Model, Sampling
from debate.open_debate import OpenDebate, Speech, read_speech, show_form, show_speeches, show_task
from debate.prompts import Prompts

#: From "help each other" (0) to "disagree on every point" (3): templates ``mad_level_0`` to ``mad_level_3``.
LEVELS = (0, 1, 2, 3)


@dataclass(frozen=True, slots=True)
class Speaker:
    """Whoever speaks in an open debate.

    Attributes:
        name: Unique in its debate; it tells its draws apart.
        model: Its model.
        sampling: How it writes.
        character: A sentence or two that its prompts begin with.
    """

    name: str
    model: Model
    sampling: Sampling
    character: str = ""


@dataclass(frozen=True, slots=True)
class TitForTat:
    """The protocol.

    Attributes:
        speakers: Two or more, in speaking order.
        judge: The judge.
        prompts: Templates: ``mad_debater``, ``mad_turn_first``, ``mad_turn_reply`` and the level's.
        level: Of tit for tat, 0 to 3.
        iterations: The limit.
        forced: Whether to go on to the limit, and to extract an answer after every iteration.
        max_words: Most words of a speech, as the prompt says.
    """

    speakers: Sequence[Speaker]
    judge: OpenJudge
    prompts: Prompts
    level: int = 1
    iterations: int = 3
    forced: bool = False
    max_words: int = 120

    def __post_init__(self) -> None:
        """Refuse a debate that could not be held."""
        names = [speaker.name for speaker in self.speakers]
        if len(set(names)) < max(2, len(names)) or self.level not in LEVELS or self.iterations < 1:
            raise ConfigError(
                f"tit for tat needs two or more debaters with names of their own, a level of 0 to 3 and an iteration; "
                f"got {names}, level {self.level}, {self.iterations} iterations"
            )

    async def hold(self, item: Item, base: Speech, draw: Draw) -> OpenDebate:
        """Hold one debate.

        Args:
            item: The item.
            base: The base answer.
            draw: The seed; each speaker draws in a stream of its own name.

        Returns:
            The debate, with the judge's rulings.

        Raises:
            ModelError: A model failed for good.
        """
        debate = OpenDebate(item, tuple(speaker.name for speaker in self.speakers), self.level, base)
        for iteration in range(1, self.iterations + 1):
            for speaker in self.speakers:
                messages = speech_prompt(debate, speaker.name, speaker.character, self.prompts, self.max_words)
                draws = [draw._replace(stream=speaker.name)]
                (reply,) = await speaker.model.sample(messages, draws=draws, sampling=speaker.sampling)
                speech = read_speech(reply, speaker.name, iteration)
                debate = dataclasses.replace(debate, speeches=(*debate.speeches, speech))
            debate = await self._judge(debate, draw)
            if debate.broke is not None and not self.forced:
                break
        return debate

    async def _judge(self, debate: OpenDebate, draw: Draw) -> OpenDebate:
        """Have the judge rule on what has been said: whether an answer is clear, and where it is due, which it is."""
        if debate.broke is None:
            debate = debate.ruled(await self.judge.rule(debate, "discriminative", draw))
        if self.forced or (debate.broke is None and debate.iterations == self.iterations):
            debate = debate.ruled(await self.judge.rule(debate, "extractive", draw))
        return debate


def speech_prompt(debate: OpenDebate, speaker: str, character: str, prompts: Prompts, max_words: int) -> list[Message]:
    """Ask for a speaker's next speech on the whole history.

    Args:
        debate: The debate so far.
        speaker: Who is to speak.
        character: A sentence or two that the prompt begins with, or nothing.
        prompts: Templates.
        max_words: Most words of the speech.

    Returns:
        Messages.
    """
    if debate.speeches:
        turn = prompts.fill("mad_turn_reply", speaker=speaker)[0].content
    else:
        turn = prompts.fill("mad_turn_first")[0].content
    return prompts.fill(
        "mad_debater",
        character=f"{character.strip()} ".lstrip(),
        speaker=speaker,
        count=str(len(debate.speakers)),
        speakers=", ".join(debate.speakers),
        level=prompts.fill(f"mad_level_{debate.level}")[0].content,
        task=show_task(debate.item, prompts),
        base=" ".join((debate.base.answer or "none").split()),
        history=show_speeches(debate.speeches, debate.speakers),
        turn=turn,
        max_words=str(max_words),
        form=show_form(debate.item, prompts),
    )
