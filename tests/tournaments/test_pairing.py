"""Pairings, held against exhaustive search and against matchings of the whole graph."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest
import rustworkx
from hypothesis import given, settings
from hypothesis import strategies as st

from debate.errors import ConfigError
from tournaments.pairing import Pairing, default_rounds, pair_round, round_robin, schedule_is_round_robin

Played = set[frozenset[str]]


def field(n: int) -> list[str]:
    return [f"p{i:04}" for i in range(n)]


def rounds_of(names: list[str]) -> Iterator[list[Pairing]]:
    """Every possible round of a small field."""
    if not names:
        yield []
        return
    first, rest = names[0], names[1:]
    for other in rest:
        for tail in rounds_of([name for name in rest if name != other]):
            yield [Pairing(first, other), *tail]
    if len(names) % 2:
        for tail in rounds_of(rest):
            yield [Pairing(first, None), *tail]


def rematches(pairings: list[Pairing], played: Played) -> int:
    return sum(frozenset((p.player_a, p.player_b)) in played for p in pairings if p.player_b is not None)


def bye_of(pairings: list[Pairing]) -> list[str]:
    return [p.player_a for p in pairings if p.player_b is None]


def avoidable(names: list[str], played: Played, byes: set[str]) -> bool:
    """Whether the whole field can be paired without a rematch, nobody resting twice."""
    edges = [pair for pair in itertools.combinations(names, 2) if frozenset(pair) not in played]
    nodes = list(names)
    if len(names) % 2:
        nodes.append("bye")
        edges += [(name, "bye") for name in names if name not in byes or byes >= set(names)]
    place = {name: i for i, name in enumerate(nodes)}
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from([(place[a], place[b], 1) for a, b in edges])
    return len(rustworkx.max_weight_matching(graph, max_cardinality=True)) * 2 == len(nodes)


def play(n: int, rounds: int, seed: int) -> Iterator[tuple[list[Pairing], Played, set[str]]]:
    """A tournament of random results: each round with what had been played and who had rested before it."""
    rng = random.Random(seed)
    standings = dict.fromkeys(field(n), 0.0)
    played: Played = set()
    byes: set[str] = set()
    for number in range(rounds):
        pairings = pair_round(standings, played, byes, seed * 1000 + number)
        yield pairings, set(played), set(byes)
        for p in pairings:
            if p.player_b is None:
                byes.add(p.player_a)
                standings[p.player_a] += 1
            else:
                played.add(frozenset((p.player_a, p.player_b)))
                score = rng.choice((0.0, 0.5, 1.0))
                standings[p.player_a] += score
                standings[p.player_b] += 1 - score


@pytest.mark.parametrize("n", [5, 8, 19, 20, 64])
def test_no_avoidable_rematch_and_no_second_bye_over_the_default_rounds(n: int) -> None:
    for seed in range(200):
        for pairings, played, byes in play(n, default_rounds(n), seed):
            seen = [name for p in pairings for name in (p.player_a, p.player_b) if name is not None]
            assert sorted(seen) == field(n)
            assert len(bye_of(pairings)) == n % 2
            assert not byes & set(bye_of(pairings))
            assert not (rematches(pairings, played) and avoidable(field(n), played, byes))
            # these fields are large enough for their rounds that looking one round ahead avoids every rematch
            assert rematches(pairings, played) == 0


@pytest.mark.parametrize("n", [999, 1000])
def test_a_thousand_players(n: int) -> None:
    for pairings, played, byes in play(n, 4, seed=n):
        assert rematches(pairings, played) == 0
        assert len(bye_of(pairings)) == n % 2
        assert not byes & set(bye_of(pairings))


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(2, 7))
def test_small_fields_against_every_possible_round(data: st.DataObject, n: int) -> None:
    names = field(n)
    pairs = [frozenset(pair) for pair in itertools.combinations(names, 2)]
    played = set(data.draw(st.lists(st.sampled_from(pairs))))
    byes = set(data.draw(st.lists(st.sampled_from(names)))) if n % 2 else set()
    standings = {name: data.draw(st.integers(0, 6)) / 2 for name in names}
    pairings = pair_round(standings, played, byes, data.draw(st.integers(0, 99)))

    resting = set(names) - byes or set(names)
    fair = [r for r in rounds_of(names) if set(bye_of(r)) <= resting]
    fewest = min(rematches(r, played) for r in fair)
    assert rematches(pairings, played) == fewest
    assert set(bye_of(pairings)) <= resting


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("n", [6, 7, 8])
def test_the_first_rounds_have_the_least_sum_of_differences(n: int, seed: int) -> None:
    rng = random.Random(seed)
    standings = {name: float(rng.randint(0, 9)) for name in field(n)}

    def total(pairings: list[Pairing]) -> float:
        return sum(abs(standings[p.player_a] - standings[p.player_b]) for p in pairings if p.player_b is not None)

    pairings = pair_round(standings, set(), set(), seed)
    lowest = min(standings.values())
    assert all(standings[name] == lowest for name in bye_of(pairings))
    rivals = [r for r in rounds_of(field(n)) if bye_of(r) == bye_of(pairings)]
    assert total(pairings) == min(total(r) for r in rivals)


def test_the_bye_goes_to_the_lowest_without_one_that_leaves_the_rest_pairable() -> None:
    standings = {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0, "e": 0.0}
    assert bye_of(pair_round(standings, set(), {"e"}, 0)) == ["d"]
    # without e, a has met everybody that is left
    met = {frozenset(("a", other)) for other in "bcd"}
    assert bye_of(pair_round(standings, met, set(), 0)) == ["d"]
    assert len(bye_of(pair_round(standings, set(), set("abcde"), 0))) == 1


def test_a_window_that_is_too_narrow_is_widened() -> None:
    # the top 30 have all met one another, so each must reach beyond the 24 below it
    names = field(60)
    standings = {name: float(60 - i) for i, name in enumerate(names)}
    played = {frozenset(pair) for pair in itertools.combinations(names[:30], 2)}
    assert rematches(pair_round(standings, played, set(), 1), played) == 0


def test_as_few_rematches_as_possible_where_one_must_be() -> None:
    # a has met all; the others have not met at all
    played = {frozenset(("a", other)) for other in "bcdef"}
    standings = dict.fromkeys("abcdef", 0.0)
    assert rematches(pair_round(standings, played, set(), 3), played) == 1


def test_looks_one_round_ahead() -> None:
    # a prism of unplayed pairs: taking its three rungs would leave two triangles, which no round can pair
    unplayed = {*map(frozenset, ("ab", "bc", "ac", "de", "ef", "df", "ad", "be", "cf"))}
    played = {frozenset(pair) for pair in itertools.combinations("abcdef", 2)} - unplayed
    standings = {"a": 9.0, "d": 9.0, "b": 5.0, "e": 5.0, "c": 0.0, "f": 0.0}
    pairings = pair_round(standings, played, set(), 0)
    after = played | {frozenset((p.player_a, p.player_b)) for p in pairings if p.player_b is not None}
    assert rematches(pairings, played) == 0
    assert rematches(pair_round(standings, after, set(), 1), after) == 0


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 30), st.integers(0, 1000), st.randoms())
def test_equal_arguments_give_equal_pairings_whatever_the_order(n: int, seed: int, rng: random.Random) -> None:
    items = [(name, float(i % 3)) for i, name in enumerate(field(n))]
    first = pair_round(dict(items), set(), set(), seed)
    rng.shuffle(items)
    assert pair_round(dict(items), set(), set(), seed) == first


def test_the_seed_decides_ties_and_who_is_named_first() -> None:
    standings = dict.fromkeys(field(8), 0.0)
    rounds = [pair_round(standings, set(), set(), seed) for seed in range(40)]
    assert len({frozenset(frozenset((p.player_a, p.player_b)) for p in r) for r in rounds}) > 20
    first = [p.player_a < (p.player_b or "") for r in rounds for p in r]
    assert 50 < sum(first) < 110  # of 160


@pytest.mark.parametrize("n", range(2, 12))
def test_round_robin_is_every_pair_once(n: int) -> None:
    rounds = round_robin(field(n), seed=4)
    assert len(rounds) == (n - 1 if n % 2 == 0 else n)
    met = [frozenset((p.player_a, p.player_b)) for r in rounds for p in r if p.player_b is not None]
    assert sorted(map(sorted, met)) == sorted(map(list, itertools.combinations(field(n), 2)))
    assert sorted(name for r in rounds for name in bye_of(r)) == (field(n) if n % 2 else [])
    assert all(len({p.player_a for p in r} | {p.player_b for p in r}) == n + n % 2 for r in rounds)
    assert round_robin(field(n)[::-1], seed=4) == rounds


def test_rounds() -> None:
    assert [default_rounds(n) for n in (2, 5, 8, 19, 20, 64, 1000)] == [3, 5, 5, 7, 7, 8, 12]
    assert schedule_is_round_robin(5, default_rounds(5))
    assert not schedule_is_round_robin(8, default_rounds(8))
    assert schedule_is_round_robin(8, 6)


def test_errors_say_what_to_do() -> None:
    with pytest.raises(ConfigError, match="at least two players"):
        pair_round({"a": 0.0}, set(), set(), 0)
    with pytest.raises(ConfigError, match="'b' is nan"):
        pair_round({"a": 0.0, "b": float("nan")}, set(), set(), 0)
    with pytest.raises(ConfigError, match="named twice: a"):
        round_robin(["a", "b", "a"], 0)
    with pytest.raises(ConfigError, match="at least two players"):
        default_rounds(1)
