"""What protocols have in common: the interface, whom they need, and how one turn is taken."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Protocol, runtime_checkable

from debate.agents.debater import Debater
from debate.agents.questioner import Questioner
from debate.errors import ConfigError
from debate.models.base import Draw
from debate.question import Question
from debate.quotes import hold_to
from debate.transcript import Transcript, Turn
from debate.view import Role

#: Who speaks for answer 0 and who for answer 1; None where nobody does.
Speakers = tuple[Debater | None, Debater | None]
Seats = tuple[int, int]


class DebateProtocol(Protocol):
    """A protocol in which each speaker is assigned an answer."""

    @property
    def name(self) -> str:
        """What configurations call it."""
        ...

    @property
    def rounds(self) -> int:
        """Rounds in a debate."""
        ...

    def seatings(self, question: Question) -> tuple[Seats, ...]:
        """The seats that a debate on this question is held in: one entry, or both where the order of speaking matters.

        The letters are shown to speakers and judges; where there is one entry it must not tell which answer is right,
        however a file lists its answers: see ``drawn_seats``.
        """
        ...

    async def hold(self, question: Question, speakers: Speakers, seats: Seats, draw: Draw) -> Transcript:
        """Hold one debate.

        Args:
            question: A question of two answers.
            speakers: Who speaks for answer 0 and who for answer 1.
            seats: The answer index in seat A and the one in seat B.
            draw: Seed and repetition; each speaker draws in a stream of its own name.

        Returns:
            The complete transcript.

        Raises:
            ConfigError: The protocol needs other speakers.
            ModelError: A model failed for good.
        """
        ...


def drawn_seats(question: Question) -> tuple[Seats]:
    """Draw one seating by a hash of the question: no seat tells which answer is right, however files list them."""
    noise = hashlib.sha256(f"seats\0{question.id}\0{question.text}".encode()).digest()[0]
    return ((0, 1) if noise % 2 == 0 else (1, 0),)


@runtime_checkable
class Facing(Protocol):
    """A debater that wants to know against whom it speaks, such as one that tries its speeches on the opponent."""

    def facing(self, opponent: Debater) -> Debater:
        """Return a copy of it that knows its opponent."""
        ...


def both(speakers: Speakers, protocol: str) -> tuple[Debater, Debater]:
    """Hold that both answers have a speaker, and let each know the other where it wants to.

    Raises:
        ConfigError: One has not.
    """
    first, second = speakers
    if first is None or second is None:
        raise ConfigError(f"a {protocol} debate needs a speaker for each answer; only a consultancy takes one alone")
    return _face(first, second), _face(second, first)


def _face(speaker: Debater, opponent: Debater) -> Debater:
    return speaker.facing(opponent) if isinstance(speaker, Facing) else speaker


async def take_turn(
    speaker: Debater, transcript: Transcript, answer: int, round_: int, draw: Draw, *, role: Role = "debater"
) -> Turn:
    """Let one speaker speak on what it has heard so far.

    Args:
        speaker: The speaker.
        transcript: All that it has heard.
        answer: The answer index it defends.
        round_: From 1 on.
        draw: Seed and repetition.
        role: What it is.

    Returns:
        Its turn.

    Raises:
        ModelError: Its model failed for good.
    """
    view = transcript.view(answer=answer, story=True, role=role)
    speech = await speaker.argue(view, draw._replace(stream=speaker.name))
    # Whoever made the candidates: what is marked as verified is looked for in the whole story.
    candidates = tuple(
        dataclasses.replace(made, argument=hold_to(made.argument, view.story)) for made in speech.candidates
    )
    return Turn.choose(candidates, speech.chosen, round_=round_, answer=answer, role=role)


async def ask(questioner: Questioner | None, transcript: Transcript, round_: int, draw: Draw) -> tuple[Turn, ...]:
    """Let the judge speak before a round.

    Args:
        questioner: The judge, or None for a judge that only listens.
        transcript: All that has been said.
        round_: From 1 on; before round 1 there is nothing to ask.
        draw: Seed and repetition.

    Returns:
        Its turn, or nothing.

    Raises:
        ModelError: Its model failed for good.
    """
    if questioner is None or round_ == 1:
        return ()
    speech = await questioner.ask(transcript.view(), draw._replace(stream=f"questions of {questioner.name}"))
    chosen = speech.candidates[speech.chosen]
    turn = Turn(
        round_,
        "judge",
        None,
        chosen.argument,
        chosen.thinking,
        chosen.flaws,
        speech.candidates,
        first=transcript.seats[0],
    )
    return (turn,)
