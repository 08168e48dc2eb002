"""Live debates of a judge room: the run's players really speak, and the person who judges asks them between rounds.

A live debate is the protocol itself (interactive, or a consultancy) with a person as its questioner: ``ask`` waits for
what the person sends. Questions are in the journal and speeches in the run's call log, so after a restart the debate is
gone through once more, nobody is asked anything twice, and it waits where it waited.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from debate.agents.debater import Debater, Speech
from debate.errors import ConfigError, DissoiError
from debate.models.base import Draw
from debate.protocols import Consultancy, Interactive
from debate.quotes import parse_plain
from debate.record import Debate, to_json
from debate.store import Store
from debate.transcript import Candidate
from debate.view import View
from tournaments.room import LIVE, Room
from tournaments.room_journal import Asked, Given


@dataclass(frozen=True, slots=True)
class Speaking:
    """The players are speaking."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A debate could not be held."""


@dataclass(frozen=True, slots=True)
class Asking:
    """The players wait for the person's question.

    Attributes:
        round: The round before which they wait.
        view: What was said so far.
    """

    round: int
    view: View


State = Speaking | Failed | Asking | Debate


class PersonQuestioner:
    """A person as the judge that speaks.

    Args:
        name: The person, as verdicts name it.
        asked: What it has asked already, by round.
    """

    def __init__(self, name: str, asked: Mapping[int, str]) -> None:
        self.name = name
        self.waiting: Asking | None = None
        self._asked = dict(asked)
        self._sent = asyncio.Event()

    async def ask(self, view: View, draw: Draw) -> Speech:  # noqa: ARG002 - the interface
        """Wait for the person's question; see Questioner."""
        round_ = max(turn.round for turn in view.turns) + 1
        while round_ not in self._asked:
            self._sent.clear()
            self.waiting = Asking(round_, view)
            await self._sent.wait()
        text = self._asked[round_]
        # Like a model's question: no quote marks, and names as of a speaker in seat A.
        argument = parse_plain(text, seat="A", literal=(view.question, *view.answers))
        return Speech((Candidate(text, argument),), 0)

    def send(self, round_: int, text: str) -> None:
        """Hand over a question."""
        self._asked[round_] = text
        self.waiting = None
        self._sent.set()


class LiveDebates:
    """The live debates of a room.

    Args:
        room: The room.
        debaters: Its players, by name.
        rounds: Rounds in a debate.
        store: The store of its run.
    """

    def __init__(self, room: Room, *, debaters: Mapping[str, Debater], rounds: int, store: Store) -> None:
        self._room = room
        self._debaters = debaters
        self._rounds = rounds
        self._store = store
        self._questioners: dict[str, PersonQuestioner] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.failed: set[str] = set()

    def state(self, given: Given) -> State:
        """What a person's live debate is at; it is begun, or gone on with, where it is not under way."""
        if given.debate in self.failed:
            return Failed()
        held = self._room.debate(given.debate)
        if held is not None:
            return held
        if given.debate not in self._tasks:
            asked = {
                one.round: one.text
                for one in self._room.journal.events
                if isinstance(one, Asked) and one.debate == given.debate
            }
            questioner = PersonQuestioner(given.judge, asked)
            self._questioners[given.debate] = questioner
            self._tasks[given.debate] = asyncio.get_running_loop().create_task(self._hold(given, questioner))
        return self._questioners[given.debate].waiting or Speaking()

    async def ask(self, given: Given, round_: int, text: str) -> None:
        """Put a person's question to the players; it is in the journal when this returns.

        Args:
            given: The debate.
            round_: The round before which it is asked.
            text: The question; the same one sent twice is asked once.

        Raises:
            ConfigError: The players do not wait for a question before this round.
            StoreError: It could not be written down.
        """
        state = self.state(given)
        if not isinstance(state, Asking) or state.round != round_:
            events = self._room.journal.events
            if Asked(given.judge, given.debate, round_, text) in events:
                return
            raise ConfigError("your question for this round was sent already; go on with the debate as it is now")
        questioner = self._questioners[given.debate]
        questioner.waiting = None  # whoever sends another one meanwhile is refused
        try:
            await self._room.journal.add(Asked(given.judge, given.debate, round_, text))
        except BaseException:
            questioner.waiting = state
            raise
        questioner.send(round_, text)

    async def _hold(self, given: Given, questioner: PersonQuestioner) -> None:
        """Hold a live debate and keep it."""
        recorded = None if given.of is None else self._room.debate(given.of)
        if recorded is None:
            raise AssertionError("a live debate is one of a recorded debate's question and players")
        question = recorded.transcript.question
        first, second = (None if name is None else self._debaters[name] for name in recorded.players)
        alone = None in recorded.players
        protocol = (Consultancy if alone else Interactive)(self._rounds, questioner)
        draw = Draw(seed=self._room.config.seed, repetition=recorded.repetition)
        try:
            order = self._room.order(given.judge, given.debate)
            transcript = await protocol.hold(question, (first, second), order, draw)
            tags = {**recorded.tags, LIVE: given.judge}
            debate = Debate(given.debate, protocol.name, transcript, recorded.players, recorded.repetition, tags=tags)
            await self._store.put("debates", debate.id, to_json(debate))
        except Exception as error:  # noqa: BLE001 - whatever it was, the person would wait for ever
            # The person is told that it failed, and not why: the reason may name players and models.
            self.failed.add(given.debate)
            why = str(error) if isinstance(error, DissoiError) else repr(error)
            sys.stderr.write(f"tournaments.judge_room: a live debate failed: {why}\n")

    async def close(self) -> None:
        """Stop what is under way; a room that is gone on with takes it up where it was."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
