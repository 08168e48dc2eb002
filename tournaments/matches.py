"""Matches: two players over a set of questions, both side assignments, every debate judged in both orders."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import math
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from pydantic import TypeAdapter

from debate.agents.debater import Debater
from debate.agents.judge import Judge
from debate.errors import DissoiError, ModelError
from debate.models.base import Draw
from debate.protocols import DebateProtocol
from debate.question import Question
from debate.record import Debate, Recorded
from debate.store import Store
from debate.transcript import Transcript
from debate.verdict import Verdict, points
from tournaments.ratings import Outcome

_DEBATE = TypeAdapter(Debate)
_VERDICT = TypeAdapter(Verdict)

OutcomeKind = Literal["hard", "soft"]
T = TypeVar("T")


async def together(work: Iterable[Coroutine[None, None, T]]) -> list[T]:
    """Run coroutines at once; the first to fail stops the rest, and its error comes alone.

    Args:
        work: Coroutines.

    Returns:
        Their results, in order.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
    except ExceptionGroup as failures:
        # One line for the user: the same spent budget stops many debates. A fault of ours goes before it.
        ours = [error for error in failures.exceptions if not isinstance(error, DissoiError)]
        raise (ours or failures.exceptions)[0] from None
    return [task.result() for task in tasks]


class Setup(NamedTuple):
    """One debate to be held.

    Attributes:
        question: A question of two answers.
        players: Who defends answer 0 and who defends answer 1.
        seats: The answer index in seat A and the one in seat B.
        repetition: Counts repetitions of the same debate.
    """

    question: Question
    players: tuple[str, str]
    seats: tuple[int, int] = (0, 1)
    repetition: int = 0

    @property
    def key(self) -> str:
        """The debate's id in its run."""
        names = (self.question.id, *self.players, "AB" if self.seats == (0, 1) else "BA", str(self.repetition))
        # The bar is escaped inside a name: "a | b" against "c" is not "a" against "b | c".
        return " | ".join(name.replace("\\", "\\\\").replace("|", "\\|") for name in names)


def match_setups(
    player_a: str, player_b: str, questions: Sequence[Question], protocol: DebateProtocol, *, repetition: int = 0
) -> list[Setup]:
    """List the debates of a match: every question, both assignments, each seating of the protocol."""
    return [
        Setup(question, players, seats, repetition)
        for question in questions
        for players in ((player_a, player_b), (player_b, player_a))
        for seats in protocol.seatings
    ]


def self_play_setups(player: str, questions: Sequence[Question], protocol: DebateProtocol) -> list[Setup]:
    """List a player's debates against itself: every question once, each seating of the protocol."""
    return [Setup(question, (player, player), seats) for question in questions for seats in protocol.seatings]


@dataclass(frozen=True, slots=True)
class Arena:
    """Holds debates and has them judged, each once: what the store holds is not made again.

    Attributes:
        protocol: How debates go.
        debaters: By player name.
        judge: The judge.
        store: The run's store.
        seed: The run's seed.
        slots: Bounds the debates under way.
        progress: Called after each debate, or None.
    """

    protocol: DebateProtocol
    debaters: Mapping[str, Debater]
    judge: Judge
    store: Store
    seed: int
    slots: asyncio.Semaphore
    progress: Callable[[Recorded], None] | None = None

    async def play(self, setups: Iterable[Setup]) -> list[Recorded]:
        """Hold and judge debates, all at once as far as the slots allow.

        Args:
            setups: The debates.

        Returns:
            Each debate with a verdict for each order, in the order of ``setups``. One that a model failed in comes with
            the reason and no verdicts; it is not kept as such, so a resumed run tries it again.

        Raises:
            DissoiError: Anything that stops the run: a spent budget, a lost model, a full disk.
        """
        return await together(self._play(setup) for setup in setups)

    async def _play(self, setup: Setup) -> Recorded:
        async with self.slots:
            debate = self._debate(setup, Transcript(setup.question, setup.seats))
            try:
                kept = self.store.get("debates", setup.key)
                debate = _DEBATE.validate_json(kept) if kept is not None else await self._hold(setup)
                recorded = await self._judge(debate)
            except ModelError as error:
                recorded = Recorded(dataclasses.replace(debate, failed=str(error)), ())
        if self.progress is not None:
            self.progress(recorded)
        return recorded

    async def _hold(self, setup: Setup) -> Debate:
        debaters = (self.debaters[setup.players[0]], self.debaters[setup.players[1]])
        draw = Draw(seed=self.seed, repetition=setup.repetition)
        transcript = await self.protocol.hold(setup.question, debaters, setup.seats, draw)
        payload = _dump(_DEBATE, self._debate(setup, transcript))
        await self.store.put("debates", setup.key, payload)
        return _DEBATE.validate_json(payload)

    def _debate(self, setup: Setup, transcript: Transcript) -> Debate:
        return Debate(setup.key, self.protocol.name, transcript, setup.players, setup.repetition)

    async def _judge(self, debate: Debate) -> Recorded:
        transcripts = (debate.transcript, debate.transcript.swapped())
        verdicts = await asyncio.gather(*(self._decide(debate, transcript) for transcript in transcripts))
        return Recorded(debate, tuple(verdicts))

    async def _decide(self, debate: Debate, transcript: Transcript) -> Verdict:
        key = f"{debate.id} | {self.judge.name} | {'AB' if transcript.seats == (0, 1) else 'BA'}"
        kept = self.store.get("verdicts", key)
        if kept is not None:
            return _VERDICT.validate_json(kept)
        draw = Draw(seed=self.seed, stream=f"judge {self.judge.name}", repetition=debate.repetition)
        decision = await self.judge.decide(transcript.view(), draw)
        payload = _dump(_VERDICT, Verdict.of(decision, judge=self.judge.name, order=transcript.seats))
        await self.store.put("verdicts", key, payload)
        return _VERDICT.validate_json(payload)


def _dump(adapter: TypeAdapter[T], value: T) -> str:
    """Write a record as JSON; half of a surrogate pair, which a model can write and no encoding has, becomes ``?``."""
    text = json.dumps(adapter.dump_python(value, mode="json"), ensure_ascii=False)
    return text.encode("utf-8", "replace").decode("utf-8")


def outcomes(recorded: Iterable[Recorded], kind: OutcomeKind) -> list[Outcome]:
    """Turn judged debates of two players into outcomes, one for each verdict; unparsed verdicts give none.

    Args:
        recorded: Judged debates; self-play is left out.
        kind: "hard": the likelier answer takes the point, a tie halves it; "soft": the probability is the share.

    Returns:
        Outcomes for ``ratings.fit``.
    """
    rows = []
    for debate, verdicts in ((item.debate, item.verdicts) for item in recorded):
        first, second = debate.players
        if first is None or second is None or first == second:
            continue
        question = debate.transcript.question
        for verdict in verdicts:
            if verdict.probabilities is None:
                continue
            share = verdict.probabilities[0]
            rows.append(
                Outcome(
                    player_a=first,
                    player_b=second,
                    score_a=points(share) if kind == "hard" else share,
                    question_id=question.id,
                    story_id=question.story_id,
                    seat_a="A" if verdict.order[0] == 0 else "B",
                    right=None if question.gold is None else debate.players[question.gold],
                )
            )
    return rows


def mean_scores(rows: Iterable[Outcome]) -> dict[str, float]:
    """Average each player's points over its outcomes, for the pairing of the next round.

    A mean, not a sum: a bye, a failed debate or an unparsed verdict is no outcome, and neither lifts nor sinks anybody.
    """
    points_of: dict[str, list[float]] = {}
    for row in rows:
        points_of.setdefault(row.player_a, []).append(row.score_a)
        points_of.setdefault(row.player_b, []).append(1 - row.score_a)
    return {name: math.fsum(points) / len(points) for name, points in points_of.items()}
