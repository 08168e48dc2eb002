"""Talkers: the two who talk in persuasion, each with the other's messages as a chat and its own as what it said."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import Field

from debate.agents.debater import Limits, Speech, sample_valid, speak, split_thinking
from debate.agents.memory import Memory, Said, Speaker
from debate.claim import Claim
from debate.config import Config
from debate.models.base import Completion, Draw, Message, MessageRole, Model, Sampling
from debate.prompts import Prompts
from debate.quotes import parse_plain
from debate.sentences import is_ended
from debate.transcript import Candidate

_AGAIN = 0.7  # the temperature of another attempt, where the first was made at none


class TalkConfig(Config):
    """Limits of a message, and how it is sampled."""

    max_words: int = Field(120, ge=1, description="most words of a message; what is longer is cut at a sentence end")
    max_tokens: int = Field(400, ge=1, description="longest reply of a model, thinking included, in tokens")
    max_attempts: int = Field(2, ge=1, le=20, description="attempts at a message within the limits")
    temperature: float = Field(0.8, ge=0, le=2, description="sampling temperature; of 0, all repetitions are the same")
    top_p: float = Field(1.0, gt=0, le=1, description="nucleus of sampling")

    @property
    def limits(self) -> Limits:
        """What makes a message valid."""
        return Limits(1, self.max_words, min_quotes=0, max_attempts=self.max_attempts)

    @property
    def sampling(self) -> Sampling:
        """How a model writes it."""
        return Sampling(self.max_tokens, self.temperature, self.top_p)


class Spoken(NamedTuple):
    """A message, and the summary that stood for a part of what its speaker had heard; empty where all was shown."""

    speech: Speech
    summary: str


class Talker:
    """The persuader, or the debater whom it wants to persuade.

    Args:
        model: Any model.
        name: The player's name; draws of different names are independent.
        role: Which of the two it is.
        prompts: Templates; it uses ``persuader`` or ``persuaded``.
        config: Limits and sampling.
        memory: Fits what was said into the model's context.
        character: What its prompt begins with, or nothing.
    """

    def __init__(
        self,
        model: Model,
        *,
        name: str,
        role: Speaker,
        prompts: Prompts,
        config: TalkConfig,
        memory: Memory,
        character: str = "",
    ) -> None:
        self.name = name
        self.model = model
        self._role = role
        self._prompts = prompts
        self._config = config
        self._memory = memory
        self._character = character

    async def say(self, claim: Claim, said: Sequence[Said], draw: Draw) -> Spoken:
        """Make the next message.

        Args:
            claim: What it is about; a debater is told of it by the persuader alone.
            said: The dialogue so far, which the other has spoken last in.
            draw: Seed and repetition.

        Returns:
            The message. Where none is within the limits, the best is cut at a sentence end and keeps its flaws.

        Raises:
            ModelError: The model failed for good, or said nothing at all.
        """
        draw = draw._replace(stream=f"{self._role} {self.name}")
        sampling, limits = self._config.sampling, self._config.limits

        def build(summary: str, shown: Sequence[Said]) -> list[Message]:
            return self.ask(claim, shown, summary)

        fitted = await self._memory.fit(self.model, said, build, reply=sampling.max_tokens, draw=draw)

        async def make(draws: Sequence[Draw]) -> list[Candidate]:
            again = draws[0].attempt > 0 and sampling.temperature == 0
            how = dataclasses.replace(sampling, temperature=_AGAIN) if again else sampling
            completions = await self.model.sample(fitted.messages, draws=draws, sampling=how)
            return [read_message(completion, limits) for completion in completions]

        return Spoken(speak(await sample_valid(make, draw, 1, limits), limits), fitted.summary)

    def ask(self, claim: Claim, said: Sequence[Said], summary: str = "") -> list[Message]:
        """Put a dialogue into a chat in which its own messages are what it said.

        Args:
            claim: As for ``say``.
            said: The messages that are shown whole.
            summary: What was said between the first two of them, in short; empty for nothing.

        Returns:
            Messages of alternating roles, after the system's.
        """
        between = f"\n\nWhat was said after the first message, in short: {summary}" if summary else ""
        values = {
            "character": f"{self._character.strip()}\n\n" if self._character.strip() else "",
            "max_words": str(self._config.max_words),
            "summary": between,
        }
        if self._role == "persuader":
            known = {"topic": claim.topic, "claim": claim.text, "reason": claim.reason}
            messages = self._prompts.fill("persuader", **values, **known)
        else:
            messages = self._prompts.fill("persuaded", **values)
        for one in said:
            role: MessageRole = "assistant" if one.speaker == self._role else "user"
            # What stood between two messages of one speaker was summarised; templates of many models want them in turn.
            if messages[-1].role == role:
                messages[-1] = Message(role, f"{messages[-1].content}\n\n{one.text}")
            else:
                messages.append(Message(role, one.text))
        return messages


def opening(claim: Claim, prompts: Prompts) -> Candidate:
    """Write the persuader's first message, the same words whoever persuades: topic, claim, reason and a question.

    Args:
        claim: The claim.
        prompts: Templates; ``persuader_opening`` is used.
    """
    text = prompts.fill("persuader_opening", topic=claim.topic, claim=claim.text, reason=claim.reason)[0].content
    return Candidate(text, parse_plain(text))


def read_message(reply: Completion, limits: Limits) -> Candidate:
    """Read a message from a reply: all of it that is not thinking.

    Args:
        reply: The model's reply.
        limits: What makes it valid.

    Returns:
        The candidate, with a flaw where it is empty, too long or breaks off. It is plain text: nothing in it is a mark.
    """
    said, thinking = split_thinking(reply.text)
    argument = parse_plain(said.strip())
    flaws = limits.flaws(argument)
    if reply.finish == "length" and not is_ended(said.strip()):
        flaws = (*flaws, "breaks off")
    if reply.finish == "filter":
        flaws = (*flaws, "stopped by the server's content filter")
    return Candidate(reply.text, argument, thinking, flaws)
