"""What a debater's speeches took, measured: its debates are gone through once more, all calls answered by the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from debate.agents.debater import Debater
from debate.errors import ModelError
from debate.models.base import Capabilities, Choice, Completion, Draw, Messages, Model, Sampling, Scores, Usage
from debate.models.calls import call_keys
from debate.models.load import ModelConfig, Models
from debate.together import together
from tournaments.compared import Cost
from tournaments.matches import Arena
from tournaments.players import ModelSource
from tournaments.setups import Setup

#: Debates that are gone through: a mean needs no more.
MEASURED = 50


class Counted:
    """A model that counts what it is asked, each call once, whoever answers.

    Args:
        model: The model.
        tally: Counts.
    """

    def __init__(self, model: Model, tally: Tally) -> None:
        self.name = model.name
        self.digest = model.digest
        self.capabilities: Capabilities = model.capabilities
        self._model = model
        self._tally = tally

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        """Ask the model; see ``Model.sample``."""
        replies = await self._model.sample(messages, draws=draws, sampling=sampling)
        fresh = self._tally.fresh(call_keys(["sample", self.name, list(messages)], draws))
        if fresh:
            # The first reply to a request carries the prompt's tokens. Which requests were made hangs on who asked
            # first, so they are taken as this debater would make them alone.
            prompt = replies[0].usage.tokens_in * (1 if self.capabilities.n else len(fresh))
            self._tally.add(len(fresh), Usage(prompt, sum(replies[place].usage.tokens_out for place in fresh)))
        return replies

    async def choose(self, messages: Messages, choices: Sequence[str]) -> Choice:
        """Ask the model; see ``Model.choose``."""
        choice = await self._model.choose(messages, choices)
        if self._tally.fresh(call_keys(["choose", self.name, list(messages), list(choices)])):
            self._tally.add(choice.calls, choice.usage)
        return choice

    async def score(self, messages: Messages, continuations: Sequence[str]) -> Scores:
        """Ask the model; see ``Model.score``."""
        scores = await self._model.score(messages, continuations)
        if self._tally.fresh(call_keys(["score", self.name, list(messages), list(continuations)])):
            self._tally.add(1, scores.usage)
        return scores

    def count_tokens(self, messages: Messages) -> int:
        """Count the prompt's tokens as the model does."""
        return self._model.count_tokens(messages)

    async def close(self) -> None:
        """Leave the model open: it is the run's."""


class Tally:
    """Calls and tokens, added up."""

    def __init__(self) -> None:
        self.calls = 0
        self.tokens = Usage()
        self._seen: set[str] = set()

    def fresh(self, keys: Sequence[str]) -> list[int]:
        """Return the places of those calls that were not made yet."""
        found = [place for place, key in enumerate(keys) if key not in self._seen]
        self._seen.update(keys)
        return found

    def add(self, calls: int, tokens: Usage) -> None:
        """Count some calls."""
        self.calls += calls
        self.tokens += tokens


class _CountedModels:
    """A run's models, each counted."""

    def __init__(self, models: Models, tally: Tally) -> None:
        self._models = models
        self._tally = tally

    def get(self, config: ModelConfig) -> Model:
        """Return the model of a configuration."""
        return Counted(self._models.get(config), self._tally)


async def measure(
    build: Callable[[ModelSource], Debater], models: Models, setups: Sequence[Setup], arena: Arena
) -> Cost | None:
    """Measure what a speech of a debater takes, from its self-play.

    Nobody is asked anything: the calls of a debate that was held are in the store. So a run that was stopped and gone
    on with measures what one that was not does.

    Args:
        build: Makes the debater from models.
        models: The run's models.
        setups: Its self-play; the first debates of it that were held are gone through.
        arena: Held them.

    Returns:
        Means over speeches, attempts after invalid ones included; None where no debate was held.
    """
    keys = [setup.key(arena.protocol.name) for setup in setups]
    kept = arena.store.find("debates", keys)
    chosen = [setup for setup, key in zip(setups, keys, strict=True) if key in kept][:MEASURED]

    async def again(setup: Setup) -> tuple[int, Tally]:
        tally = Tally()  # of this debate: in another one, an equal opening is one more speech
        debater = build(_CountedModels(models, tally))
        draw = Draw(seed=arena.seed, repetition=setup.repetition)
        transcript = await arena.protocol.hold(setup.question, (debater, debater), setup.seats, draw)
        return sum(turn.answer is not None for turn in transcript.turns), tally

    try:
        found = await together((again(setup) for setup in chosen), asyncio.Semaphore(8))
    except ModelError:  # a call that was lost could not be made again
        return None
    speeches = sum(count for count, _ in found)
    if not speeches:
        return None
    tokens = sum((tally.tokens for _, tally in found), start=Usage())
    return Cost(
        sum(tally.calls for _, tally in found) / speeches, tokens.tokens_in / speeches, tokens.tokens_out / speeches
    )
