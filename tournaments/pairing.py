"""Who meets whom: Swiss rounds by minimum-weight perfect matching, and round robins.

A round is one matching in a graph of the players. With an odd field the graph has one more node, the bye, so that
"nobody rests twice" and "nobody meets twice" are the same kind of rule: an edge that is used at most once.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from debate.errors import ConfigError

_WINDOW = 24
_STEPS = 1_000_000  # resolution of score differences: the span of the standings in integer steps
_NOISE = 1 << 20  # tie-break noise of one edge; the noise of a whole round stays below one step

_Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Pairing:
    """One match of a round, or a bye.

    Attributes:
        player_a: The player named first.
        player_b: The opponent, or None where `player_a` rests this round.
    """

    player_a: str
    player_b: str | None


def pair_round(
    standings: Mapping[str, float], played: AbstractSet[frozenset[str]], byes: AbstractSet[str], seed: int
) -> list[Pairing]:
    """Pair one Swiss round: the perfect matching with the least sum of score differences.

    In this order of importance: nobody rests twice (until all have rested); no rematch, or, where the field is so
    nearly played out that one must be, as few as can be; no pairing that makes a rematch inevitable in the next
    round, where one exchange of a match avoids it; the bye goes to the lowest-standing player; score differences are
    least. Edges are first drawn to the 24 neighbours by standing, and to more only if that leaves someone alone.
    Equal standings and equal sums are decided by the seed; give each round a seed of its own.

    Args:
        standings: Points (or any score) of each player in the field.
        played: The pairs that have met already.
        byes: The players that have rested already.
        seed: Decides ties and who is named first. Equal arguments give equal pairings, whatever the order of the dict.

    Returns:
        Matches from the top of the standings down, then the bye if the field is odd.

    Raises:
        ConfigError: Fewer than two players, or a standing that is not a finite number.
    """
    _check_field(list(standings))
    for name, score in standings.items():
        if not math.isfinite(score):
            raise ConfigError(f"the standing of player {name!r} is {score}; give each player a finite number of points")
    rng = random.Random(seed)
    order = sorted(standings)
    rng.shuffle(order)
    order.sort(key=lambda name: -standings[name])
    graph = _Field.of(order, standings, played, byes, rng)
    edges = _pair(graph)
    pairings = []
    for i, j in sorted(edges):
        if j == len(order):
            continue
        a, b = (order[i], order[j]) if rng.random() < 0.5 else (order[j], order[i])
        pairings.append(Pairing(a, b))
    pairings.extend(Pairing(order[i], None) for i, j in edges if j == len(order))
    return pairings


def round_robin(players: Sequence[str], seed: int) -> list[list[Pairing]]:
    """Rounds in which everybody meets everybody once, by the circle method.

    Args:
        players: The field, two or more distinct names.
        seed: Decides the order of the rounds and who is named first; independent of the order of `players`.

    Returns:
        n − 1 rounds for an even field; n rounds with one bye each for an odd one.

    Raises:
        ConfigError: Fewer than two players, or a name twice.
    """
    _check_field(players)
    rng = random.Random(seed)
    circle: list[str | None] = [*sorted(players)]
    rng.shuffle(circle)
    if len(circle) % 2:
        circle.append(None)
    half = len(circle) // 2
    rounds = []
    for _ in range(len(circle) - 1):
        matches, rest = [], []
        for one, two in zip(circle[:half], reversed(circle[half:]), strict=True):
            a, b = (one, two) if rng.random() < 0.5 else (two, one)
            if a is None or b is None:
                name = a or b
                rest.extend([Pairing(name, None)] if name is not None else [])
            else:
                matches.append(Pairing(a, b))
        rounds.append(matches + rest)
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return rounds


def default_rounds(n: int) -> int:
    """Rounds of a Swiss tournament of `n` players, ceil(log2 n) + 2: enough to single out a winner, and two more.

    Raises:
        ConfigError: Fewer than two players.
    """
    if n < 2:
        raise ConfigError(f"a tournament of {n} players has no rounds; give at least two players")
    return (n - 1).bit_length() + 2


def schedule_is_round_robin(n: int, rounds: int) -> bool:
    """Whether so many rounds of `n` players are played as a round robin: from n − 2 rounds on, it costs hardly more."""
    return rounds >= n - 2


def _check_field(players: Sequence[str]) -> None:
    if len(players) < 2:
        raise ConfigError(f"a round of {len(players)} players cannot be paired; give at least two players")
    twice = sorted({name for name in players if players.count(name) > 1}) if len(set(players)) < len(players) else []
    if twice:
        raise ConfigError(f"players named twice: {', '.join(twice)}; give each player a name of its own")


@dataclass(frozen=True, slots=True)
class _Field:
    """The players of a round by standing, 0 the highest; node `size` is the bye where the field is odd.

    Attributes:
        size: Number of players.
        position: Standing of each player in integer steps, falling.
        rested: For each player, whether it may not have the bye.
        met: Pairs (i, j), i < j, that have met.
        unit: Weight of one step of score difference, above all noise of a round.
        salt: Seed of the tie-break noise.
        barred: Pairs that must not be used, beside `met`.
    """

    size: int
    position: tuple[int, ...]
    rested: tuple[bool, ...]
    met: frozenset[_Edge]
    unit: int
    salt: int
    barred: frozenset[_Edge] = field(default=frozenset())

    @staticmethod
    def of(
        order: Sequence[str],
        standings: Mapping[str, float],
        played: AbstractSet[frozenset[str]],
        byes: AbstractSet[str],
        rng: random.Random,
    ) -> _Field:
        rank = {name: i for i, name in enumerate(order)}
        low = standings[order[-1]]
        span = standings[order[0]] - low or 1.0
        met = set()
        for pair in played:
            known = sorted(rank[name] for name in pair if name in rank)
            if len(known) == 2:
                met.add((known[0], known[1]))
        rested = tuple(name in byes for name in order)
        return _Field(
            size=len(order),
            position=tuple(round((standings[name] - low) / span * _STEPS) for name in order),
            # once everybody has rested, a second turn begins
            rested=(False,) * len(order) if all(rested) else rested,
            met=frozenset(met),
            unit=_NOISE * len(order),
            salt=rng.getrandbits(64),
        )

    @property
    def odd(self) -> bool:
        return self.size % 2 == 1

    def without(self, edges: AbstractSet[_Edge], *, played: bool) -> _Field:
        """The same field where these edges are barred, or have been played (a player with the bye has then rested)."""
        met = self.met | {edge for edge in edges if edge[1] < self.size} if played else self.met
        resting = {i for i, j in edges if j == self.size} if played else set()
        rested = tuple(done or i in resting for i, done in enumerate(self.rested))
        if all(rested):
            rested = (False,) * self.size
        barred = self.barred if played else self.barred | edges
        return _Field(self.size, self.position, rested, frozenset(met), self.unit, self.salt, frozenset(barred))

    def costs(self, window: int, *, rematches: bool, lowest_bye: bool) -> Iterator[tuple[int, int, int]]:
        """Edges (i, j, cost) within a window of standings; the sums of costs order the perfect matchings.

        A rematch costs more than any byes and differences; a place up from the lowest for the bye costs more than any
        differences.
        """
        rng = random.Random(self.salt)
        place = (_STEPS + 1) * self.unit * self.size
        rematch = place * (self.size + 1)
        for i in range(self.size):
            for j in range(i + 1, min(self.size, i + window + 1)):
                noise = rng.randrange(_NOISE)
                again = (i, j) in self.met
                if (again and not rematches) or (i, j) in self.barred:
                    continue
                yield i, j, (self.position[i] - self.position[j]) * self.unit + noise + rematch * again
        if self.odd:
            free = [i for i in reversed(range(self.size)) if not self.rested[i] and (i, self.size) not in self.barred]
            for above, i in enumerate(free[:1] if lowest_bye else free):
                yield i, self.size, place * above


def _pair(graph: _Field) -> set[_Edge]:
    # one candidate for the bye at a time keeps the windowed graphs small and gives the lowest its right of way
    window = _WINDOW
    found = _match(graph, window, rematches=False, lowest_bye=True)
    while found is None and window < graph.size:
        window *= 4
        found = _match(graph, window, rematches=False, lowest_bye=True)
    if found is None and graph.odd:
        found = _match(graph, graph.size, rematches=False, lowest_bye=False)
    if found is None:
        found = _match(graph, graph.size, rematches=True, lowest_bye=False)
        assert found is not None, "a complete graph with an even number of nodes has a perfect matching"  # noqa: S101 (an invariant)
        return found
    if _can_go_on(graph.without(found, played=True)):
        return found
    return _exchange(graph, found)


def _exchange(graph: _Field, found: set[_Edge]) -> set[_Edge]:
    """The cheapest round that lacks one match of `found` and leaves a next round without rematches, or `found`."""
    cost = {(i, j): c for i, j, c in graph.costs(graph.size, rematches=False, lowest_bye=False)}
    others = []
    for edge in sorted(found):
        other = _match(graph.without({edge}, played=False), graph.size, rematches=False, lowest_bye=False)
        if other is not None and _can_go_on(graph.without(other, played=True)):
            others.append((sum(cost[e] for e in other), sorted(other)))
    return set(min(others)[1]) if others else found


def _can_go_on(graph: _Field) -> bool:
    """Whether a round without rematches is possible, or nothing is left to save because all have met."""
    nodes = graph.size + graph.odd
    if len(graph.met) >= graph.size * (graph.size - 1) // 2:
        return True
    degree = [nodes - 1] * nodes
    for edge in graph.met:
        for i in edge:
            degree[i] -= 1
    for i, done in enumerate(graph.rested):
        if graph.odd and done:
            degree[i] -= 1
            degree[-1] -= 1
    # Dirac (1952): enough opponents left for everybody imply a Hamiltonian cycle, hence a perfect matching
    if min(degree) * 2 >= nodes:
        return True
    return _match(graph, graph.size, rematches=False, lowest_bye=False) is not None


def _match(graph: _Field, window: int, *, rematches: bool, lowest_bye: bool) -> set[_Edge] | None:
    """The perfect matching of least cost, or None where the graph has none."""
    import rustworkx

    edges = list(graph.costs(window, rematches=rematches, lowest_bye=lowest_bye))
    nodes = graph.size + graph.odd
    top = max((cost for _, _, cost in edges), default=0) + 1
    network = rustworkx.PyGraph(multigraph=False)
    network.add_nodes_from(range(nodes))
    network.add_edges_from([(i, j, top - cost) for i, j, cost in edges])
    matching = rustworkx.max_weight_matching(network, max_cardinality=True, weight_fn=int)
    if len(matching) * 2 < nodes:
        return None
    return {(min(i, j), max(i, j)) for i, j in matching}
