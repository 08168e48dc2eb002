"""The rounds of a tournament: who meets whom, and the debates that follow from it."""

from __future__ import annotations

import dataclasses
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pydantic import TypeAdapter

from debate.protocols import DebateProtocol
from debate.question import Question
from debate.record import Recorded
from debate.store import Store
from debate.together import together
from tournaments.config import SwissConfig
from tournaments.field import baseline_arenas
from tournaments.held import Held
from tournaments.matches import Arena, OutcomeKind, outcomes
from tournaments.pairing import Pairing, pair_round, round_robin
from tournaments.questions import Data
from tournaments.setups import Setup, baseline_setups, match_setups, self_play_setups

_PAIRINGS = TypeAdapter(list[Pairing])


@dataclass(slots=True)
class Played:
    """What has been played."""

    cross_play: Held
    self_play: dict[str, Held] = field(default_factory=dict)
    matches: Counter[str] = field(default_factory=Counter)
    baselines: dict[str, Held] = field(default_factory=dict)

    @property
    def recorded(self) -> Held:
        """All debates, those in which nobody speaks included."""
        return sum((*self.self_play.values(), *self.baselines.values()), start=self.cross_play)


class Tally:
    """Orders a field for the next round: by mean score, and half a point for who has no outcome yet.

    Args:
        names: The players.
        kind: What a verdict is worth.
    """

    def __init__(self, names: Iterable[str], kind: OutcomeKind) -> None:
        self._points = {name: array("d") for name in names}
        self._kind = kind

    def add(self, recorded: Iterable[Recorded]) -> None:
        """Count judged debates."""
        for row in outcomes(recorded, self._kind):
            self._points[row.player_a].append(row.score_a)
            self._points[row.player_b].append(1 - row.score_a)

    def means(self) -> dict[str, float]:
        """Return each player's mean score.

        A mean, not a sum: a bye, a failed debate or an unparsed verdict is no outcome, and lifts and sinks nobody.
        """
        return {name: math.fsum(points) / len(points) if points else 0.5 for name, points in self._points.items()}


async def play(config: SwissConfig, data: Data, arena: Arena) -> Played:
    """Play all rounds, and self-play beside them.

    Each round's pairings are kept before it is played. A run that is gone on with reuses them: a debate that failed and
    is held again changes the standings, and other pairings would be debates to be paid for once more.

    Args:
        config: The tournament.
        data: Its questions.
        arena: Holds and judges debates.

    Returns:
        All debates with their verdicts.
    """
    played = Played(Held(arena.store, arena.judge.name))
    # Self-play hangs on nothing, so it goes on beside the rounds: a local model's batches stay full.
    await together(
        [
            _play_self(config, data, arena, played),
            _play_rounds(config, data, arena, played),
            _play_baselines(config, data, arena, played),
        ]
    )
    return played


async def _play_rounds(config: SwissConfig, data: Data, arena: Arena, played: Played) -> None:
    names = [player.name for player in config.players]
    rounds = config.tournament_rounds
    schedule = round_robin(names, config.seed) if config.is_round_robin else None
    met: Counter[frozenset[str]] = Counter()
    byes: set[str] = set()
    setups: list[Setup] = []
    tally, uncounted = Tally(names, config.outcome), Held(arena.store, arena.judge.name)
    for number in range(rounds):
        pairings = _kept(arena.store, number)
        if pairings is None:
            if schedule:
                pairings = schedule[number]
            else:
                tally.add(uncounted.turnless())
                uncounted = dataclasses.replace(uncounted, parts=())
                pairings = pair_round(tally.means(), set(met), byes, config.seed * 1009 + number)
            await _keep(arena.store, number, pairings)
        questions = data.cross_play[number::rounds] if config.questions == "fresh" else data.cross_play
        setups += _round_setups(pairings, questions, met, config, arena.protocol)
        for pairing in pairings:
            if pairing.player_b is None:
                byes.add(pairing.player_a)
                continue
            met[frozenset((pairing.player_a, pairing.player_b))] += 1
            played.matches.update((pairing.player_a, pairing.player_b))
        # The rounds of a round robin are known beforehand, so all are played at once.
        if schedule is None or number == rounds - 1:
            held = await arena.play(setups)
            played.cross_play += held
            uncounted += held
            setups = []


async def _play_self(config: SwissConfig, data: Data, arena: Arena, played: Played) -> None:
    if not data.self_play:
        return
    own = {player.name: self_play_setups(player.name, data.self_play, arena.protocol) for player in config.players}
    held = await arena.play(setup for setups in own.values() for setup in setups)
    played.self_play |= {name: dataclasses.replace(held, parts=((arena.protocol.name, own[name]),)) for name in own}


async def _play_baselines(config: SwissConfig, data: Data, arena: Arena, played: Played) -> None:
    questions = [*data.cross_play, *data.self_play]
    for name, own in baseline_arenas(config, arena).items():
        played.baselines[name] = await own.play(baseline_setups(questions))


def _kept(store: Store, number: int) -> list[Pairing] | None:
    kept = store.get("pairings", f"round {number + 1}")
    return None if kept is None else _PAIRINGS.validate_json(kept)


async def _keep(store: Store, number: int, pairings: list[Pairing]) -> None:
    await store.put("pairings", f"round {number + 1}", _PAIRINGS.dump_json(pairings).decode())


def _round_setups(
    pairings: Iterable[Pairing],
    questions: Sequence[Question],
    met: Counter[frozenset[str]],
    config: SwissConfig,
    protocol: DebateProtocol,
) -> list[Setup]:
    return [
        setup
        for pairing in pairings
        if pairing.player_b is not None
        for setup in match_setups(
            pairing.player_a,
            pairing.player_b,
            questions,
            protocol,
            # A rematch on the same questions is a repetition, drawn anew.
            repetition=met[frozenset((pairing.player_a, pairing.player_b))] if config.questions == "shared" else 0,
        )
    ]
