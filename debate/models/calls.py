"""Durable calls: a model whose finished calls are kept before they are used, and replayed after a resume."""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace

from debate.errors import ModelError
from debate.models.base import (
    MOST_SAMPLES,
    Capabilities,
    Choice,
    Completion,
    Draw,
    Messages,
    Model,
    NoLogprobsError,
    Sampling,
    Scores,
    ShortReplyError,
    UnusableReplyError,
    Usage,
)
from debate.models.letters import draw_choice
from debate.models.limits import Meter
from debate.store import CallRow, Store

Reply = tuple[str, Usage]
# Given the positions of the keys to ask for, makes one request and returns the replies to the first of them, as JSON.
Ask = Callable[[Sequence[int]], Awaitable[Sequence[Reply]]]


def call_keys(parts: Sequence[object], draws: Sequence[Draw] | None = None) -> list[str]:
    """Hash what makes calls the same calls again: sha256 of their canonical JSON.

    Args:
        parts: What the calls share: operation, model name, digest, messages, sampling, choices or continuations.
        draws: One for each sample, or None for a call that draws nothing.

    Returns:
        A key in hexadecimal for each draw, or one key.
    """
    shared = hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()[:-1])
    keys = []
    # The long shared part (the story) is hashed once, however many draws there are.
    for tail in [","] if draws is None else [f",{json.dumps(draw, separators=(',', ':'))}" for draw in draws]:
        one = shared.copy()
        one.update(f"{tail}]".encode())
        keys.append(one.hexdigest())
    return keys


class LoggedModel:
    """A model that keeps every finished call in the store before returning it, and never asks for one twice.

    Calls with equal keys in flight share one request. A request is a task of its own: when its caller is cancelled,
    it still runs to its end and is kept, for it is paid for; ``drain`` waits for such requests, ``close`` cancels them.
    Use one logged model for each model of a run, so that equal calls meet.

    Args:
        model: The model that is asked.
        store: Where calls are kept, or None to share only what is in flight.
        meter: Counts calls and holds them to the budget.
    """

    def __init__(self, model: Model, store: Store | None, meter: Meter) -> None:
        self._model = model
        self._store = store
        self._meter = meter
        self._flying: dict[str, asyncio.Task[dict[str, CallRow]]] = {}

    @property
    def name(self) -> str:
        """The name that users give it."""
        return self._model.name

    @property
    def digest(self) -> str:
        """What else decides its replies."""
        return self._model.digest

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        return self._model.capabilities

    async def sample(self, messages: Messages, *, draws: Sequence[Draw], sampling: Sampling) -> list[Completion]:
        """Sample one reply for each draw, asking only for draws that are neither kept nor in flight.

        Args:
            messages: The prompt.
            draws: One for each reply wanted.
            sampling: Temperature and limits.

        Returns:
            Replies in the order of ``draws``.

        Raises:
            BudgetError: A budget is spent.
            ModelError: The call failed for good.
            StoreError: The reply could not be kept.
        """

        async def ask(positions: Sequence[int]) -> list[Reply]:
            wanted = [draws[position] for position in positions]
            completions: Sequence[Completion]
            try:
                completions = await self._model.sample(messages, draws=wanted, sampling=sampling)
            except ShortReplyError as error:
                completions = error.completions
            else:
                if len(completions) != len(wanted):
                    raise ModelError(
                        f"{self.name} gave {len(completions)} replies to a request for {len(wanted)}; report this "
                        "engine"
                    )
            return [(json.dumps({"text": reply.text, "finish": reply.finish}), reply.usage) for reply in completions]

        how = [sampling.max_tokens, float(sampling.temperature), float(sampling.top_p), list(sampling.stop)]
        how += [list(sampling.choices)] if sampling.choices else []
        how += [{"schema": sampling.schema}] if sampling.schema else []
        keys = call_keys(["sample", self.name, self.digest, list(messages), how], draws)
        completions = []
        for row in await self._obtain("sample", keys, ask):
            reply = json.loads(row.reply)
            completions.append(Completion(reply["text"], reply["finish"], row.usage))
        return completions

    async def choose(self, messages: Messages, choices: Sequence[str]) -> Choice:
        """Give the probability that the reply begins with each choice; see ``Model.choose`` and ``sample``.

        Where it is not told and the model can be held to the choices, replies are drawn and counted: each is a call.
        """
        able = self.capabilities
        held = able.structured and able.letters
        if held and not able.logprobs:
            return await draw_choice(self, messages, choices)
        told = await self._choose(messages, choices)
        if told.mass > 0 or not held:
            return told
        drawn = await draw_choice(self, messages, choices)
        return replace(drawn, usage=told.usage + drawn.usage, calls=told.calls + drawn.calls)

    async def _choose(self, messages: Messages, choices: Sequence[str]) -> Choice:
        """Ask the model itself, in one call."""

        async def ask(_positions: Sequence[int]) -> list[Reply]:
            choice = await self._model.choose(messages, choices)
            return [(json.dumps({"probabilities": choice.probabilities, "mass": choice.mass}), choice.usage)]

        keys = call_keys(["choose", self.name, self.digest, list(messages), list(choices)])
        (row,) = await self._obtain("choose", keys, ask)
        reply = json.loads(row.reply)
        return Choice(tuple(reply["probabilities"]), reply["mass"], row.usage)

    async def score(self, messages: Messages, continuations: Sequence[str]) -> Scores:
        """Give the log-probability of each continuation as the reply; see ``Model.score`` and ``sample``."""

        async def ask(_positions: Sequence[int]) -> list[Reply]:
            scores = await self._model.score(messages, continuations)
            return [(json.dumps({"values": scores.values}), scores.usage)]

        keys = call_keys(["score", self.name, self.digest, list(messages), list(continuations)])
        (row,) = await self._obtain("score", keys, ask)
        return Scores(tuple(json.loads(row.reply)["values"]), row.usage)

    def count_tokens(self, messages: Messages) -> int:
        """Count the prompt's tokens as the model does."""
        return self._model.count_tokens(messages)

    async def drain(self) -> None:
        """Wait for every request in flight, whatever becomes of it: what is paid for is kept."""
        await asyncio.gather(*set(self._flying.values()), return_exceptions=True)

    async def close(self) -> None:
        """Cancel the requests in flight and close the model; the store stays open for its other users."""
        for task in set(self._flying.values()):
            task.cancel()
        await self.drain()
        await self._model.close()

    async def _obtain(self, operation: str, keys: Sequence[str], ask: Ask) -> list[CallRow]:
        """Return the row of each key: from the store, from a request in flight, or from a new one."""
        # No await up to the end of the loop: no other call can look for the same keys in between.
        rows = self._store.calls(keys) if self._store is not None else {}
        if rows:
            self._meter.replay(self.name, len(rows))
        first = {key: position for position, key in reversed(list(enumerate(keys))) if key not in rows}
        missing = [position for key, position in first.items() if key not in self._flying]
        for group in self._requests(sorted(missing)):
            self._start(operation, [keys[position] for position in group], group, ask)
        for task in {id(self._flying[key]): self._flying[key] for key in first}.values():
            rows |= await _share(task)
        return [rows[key] for key in keys]

    def _requests(self, positions: Sequence[int]) -> Iterable[Sequence[int]]:
        """Split missing draws into what fits in one request, one each without ``n``, so that none fails another."""
        most = MOST_SAMPLES if self.capabilities.n else 1
        return [positions[start : start + most] for start in range(0, len(positions), most)]

    def _start(self, operation: str, keys: Sequence[str], positions: Sequence[int], ask: Ask) -> None:
        task = asyncio.create_task(self._request(operation, keys, positions, ask))
        for key in keys:
            self._flying[key] = task

        def landed(done: asyncio.Task[dict[str, CallRow]]) -> None:
            for key in keys:
                self._flying.pop(key, None)
            if not done.cancelled():
                done.exception()  # its caller may be gone; an error nobody waits for is no news

        task.add_done_callback(landed)

    async def _request(
        self, operation: str, keys: Sequence[str], positions: Sequence[int], ask: Ask
    ) -> dict[str, CallRow]:
        """Ask until every key has its row: what a short reply left out is asked for again, once the rest is kept."""
        found: dict[str, CallRow] = {}
        while len(found) < len(keys):
            missing = keys[len(found) :]
            with self._meter.calling(len(missing)):
                try:
                    replies = await ask(positions[len(found) :])
                except (UnusableReplyError, NoLogprobsError) as error:
                    await self._keep_rejected(missing[0], error)
                    raise
            rows = [CallRow(key, operation, self.name, *reply) for key, reply in zip(missing, replies, strict=False)]
            if not rows:
                raise ModelError(f"{self.name} gave no reply to a request for {len(missing)}; report this engine")
            self._meter.count(self.name, sum((row.usage for row in rows), start=Usage()), calls=len(rows))
            if self._store is not None:
                await self._store.add_calls(rows)
            found |= {row.key: row for row in rows}
        return found

    async def _keep_rejected(self, key: str, error: UnusableReplyError | NoLogprobsError) -> None:
        """Count a reply that cannot be used, and keep what it cost, for it is paid for; it is never replayed."""
        self._meter.count(self.name, error.usage)
        if self._store is not None:
            reply = json.dumps({"error": str(error)})
            row = CallRow(f"{key}:rejected:{uuid.uuid4().hex}", "rejected", self.name, reply, error.usage)
            await self._store.add_calls([row])


async def _share(task: asyncio.Task[dict[str, CallRow]]) -> dict[str, CallRow]:
    """Wait for a request that others may wait for too: a cancelled caller leaves it running."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        caller = asyncio.current_task()
        if task.cancelled() and not (caller and caller.cancelling()):
            raise ModelError(
                "the model was closed while a call was in flight; resume the run to make it again"
            ) from None
        raise
