"""Matches: debates are held, judged in both orders and kept, and their verdicts become outcomes."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from debate.agents.debater import Debater
from debate.agents.judge import Judge
from debate.errors import ModelError
from debate.models.base import Draw
from debate.protocols import DebateProtocol, judge_reads_story
from debate.record import Debate, Recorded, from_json, to_json, verdict_keys
from debate.store import Store
from debate.together import together
from debate.transcript import Transcript
from debate.verdict import Decision, Verdict, points
from tournaments.held import Held
from tournaments.ratings import Outcome
from tournaments.setups import Setup

OutcomeKind = Literal["hard", "soft"]


@runtime_checkable
class TranscriptJudge(Judge, Protocol):
    """A judge that sees something else than the debate as it stands, such as a part of it: it makes its own view."""

    async def judge(self, transcript: Transcript, draw: Draw) -> Decision:
        """Decide on a debate.

        Args:
            transcript: The debate, seated in the order that is judged.
            draw: As for ``Judge.decide``.

        Returns:
            Probabilities over the answers in the order of the seats, or unparsed with the reason.

        Raises:
            ModelError: The model failed for good.
        """
        ...


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
    progress: Callable[[], None] | None = None

    def with_protocol(self, protocol: DebateProtocol) -> Arena:
        """The same arena for another protocol."""
        return dataclasses.replace(self, protocol=protocol)

    async def play(self, setups: Iterable[Setup]) -> Held:
        """Hold and judge debates, all at once as far as the slots allow.

        Args:
            setups: The debates.

        Returns:
            Each debate with a verdict for each order, in the order of ``setups``. One that a model failed in comes with
            the reason and no verdicts; it is not kept as such, so a resumed run tries it again.

        Raises:
            DissoiError: Anything that stops the run: a spent budget, a lost model, a full disk.
        """
        failed: dict[str, str] = {}
        held = Held(self.store, self.judge.name, ((self.protocol.name, tuple(setups)),), failed)
        await together((self._play(setup, failed) for setup in self._to_play(held)), self.slots)
        return held

    def _to_play(self, held: Held) -> Iterator[Setup]:
        """Yield the setups that lack a verdict; of the others nothing is read but that they are done."""
        for setup, judged in held.judged():
            if not judged:
                yield setup
            elif self.progress is not None:
                self.progress()

    async def _play(self, setup: Setup, failed: dict[str, str]) -> None:
        key = setup.key(self.protocol.name)
        try:
            kept = self.store.get("debates", key)
            debate = from_json(Debate, kept if kept is not None else await self._hold(setup))
            await judge_debate(debate, self.judge, self.store, seed=self.seed)
        except ModelError as error:
            failed[key] = str(error)
        if self.progress is not None:
            self.progress()

    async def _hold(self, setup: Setup) -> str:
        """Hold a debate and keep it; returns what is kept."""
        first, second = (None if name is None else self.debaters[name] for name in setup.players)
        draw = Draw(seed=self.seed, repetition=setup.repetition)
        transcript = await self.protocol.hold(setup.question, (first, second), setup.seats, draw)
        debate = setup.debate(self.protocol.name, transcript)
        payload = to_json(debate)
        await self.store.put("debates", debate.id, payload)
        return payload


async def judge_debate(debate: Debate, judge: Judge, store: Store, *, seed: int) -> tuple[Verdict, ...]:
    """Have a debate judged in both orders of the answers; verdicts that the store holds are not asked for again.

    Args:
        debate: A complete debate.
        judge: The judge.
        store: Where verdicts are kept.
        seed: The run's seed.

    Returns:
        A verdict for each order, that of the debate's own seats first.

    Raises:
        ModelError: The judge's model failed for good.
    """
    story = judge_reads_story(debate.protocol)
    draw = Draw(seed=seed, stream=f"judge {judge.name}", repetition=debate.repetition)

    transcripts = (debate.transcript, debate.transcript.swapped())
    keys = verdict_keys(debate, judge.name)
    kept = store.find("verdicts", keys)

    async def decide(key: str, transcript: Transcript) -> None:
        decision = await (
            judge.judge(transcript, draw)
            if isinstance(judge, TranscriptJudge)
            else judge.decide(transcript.view(story=story), draw)
        )
        payload = to_json(Verdict.of(decision, judge=judge.name, order=transcript.seats))
        await store.put("verdicts", key, payload)
        kept[key] = payload

    missing = [pair for pair in zip(keys, transcripts, strict=True) if pair[0] not in kept]
    if missing:  # a run that is gone on with reads very many that are there
        await together(decide(key, transcript) for key, transcript in missing)
    return tuple(from_json(Verdict, kept[key]) for key in keys)


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
