"""Preference by a reward model: a number for a speech in its place, learnt from better and worse speeches of one turn.

Ouyang et al. 2022, section 3.5: of two replies to one prompt the better one is so with log-odds r(better) - r(worse),
as in Bradley and Terry. So rewards of one turn's candidates compare, and those of different turns do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from debate.agents.render import one_line, show_answers, show_turns
from debate.errors import ConfigError
from debate.models.base import Draw, Messages, Model
from debate.prompts import Prompts
from debate.quotes import Argument, hold_to
from debate.together import together
from debate.transcript import Candidate
from debate.view import View
from optimizers.preference import LIMIT


class Reading(NamedTuple):
    """What a reward model reads, in training and in use: a prompt, and a speech as the reply to it."""

    prompt: Messages
    completion: str


def read_speech(view: View, argument: Argument, prompts: Prompts) -> Reading:
    """Show a speech in its place to a reward model: what was said before as the prompt, the speech as the reply.

    As a judge's, its view is without the story, with quotes marked as verified or not. The speaker is always shown in
    seat A: two seatings of one debate are one reading, in which no letter can be liked.

    Args:
        view: The view of the one about to speak, with its seat.
        argument: The speech; what it marks as verified is looked for in the story once more, whoever made it.
        prompts: Templates; it uses ``reward_speech``.

    Returns:
        The reading.

    Raises:
        ValueError: The view is a judge's.
    """
    first = view if view.seat == "A" else view.swapped()
    prompt = prompts.fill(
        "reward_speech",
        question=first.question,
        answers=show_answers(first),
        transcript=show_turns(first),
        speaker=first.speaker,
        own_answer=first.own_answer,
    )
    return Reading(tuple(prompt), one_line(hold_to(argument, view.story).render(first.seat)))


class RewardPreference:
    """Prefers what a reward model gives the higher reward.

    Its scores are log-odds in differences only: the difference of two candidates of one turn is the log-odds that the
    first is the better one. Beyond a few nats they are drawn together to stay within the bounds of a preference, each
    still above what is below it. The opponent's speech of the round is not known and not imagined.

    Each candidate is a call of its own, so scores are kept and shared however many are asked for at a time.

    Args:
        model: A reward model (``Capabilities.reward``).
        name: What reports call it.
        prompts: Templates; it uses ``reward_speech``.

    Raises:
        ConfigError: The model gives no rewards.
    """

    def __init__(self, model: Model, *, name: str, prompts: Prompts) -> None:
        if not model.capabilities.reward:
            raise ConfigError(
                f"{model.name} is no reward model; name a base and the adapter that training.finetune_preference made"
            )
        self.name = name
        self._model = model
        self._prompts = prompts

    async def log_odds(self, view: View, candidates: Sequence[Candidate], draw: Draw) -> list[float | None]:  # noqa: ARG002 - nothing is sampled
        """Score candidates by their rewards; see Preference."""

        async def score(candidate: Candidate) -> float | None:
            prompt, completion = read_speech(view, candidate.argument, self._prompts)
            scores = await self._model.score(prompt, [completion])
            return bounded(scores.values[0])

        return await together(score(candidate) for candidate in candidates)


def bounded(reward: float) -> float:
    """Draw a reward into the bounds of log-odds, ±10: 10 tanh(r / 10), which a clip's ties would not order."""
    return LIMIT * math.tanh(reward / LIMIT)
