"""Which ratings the outcomes can hold at all: who is undefeated, winless or cut off, and what bounds are left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tournaments.elo_fit import Floats, Ints, sigmoid

Status = Literal["ok", "undefeated", "winless", "disconnected"]


@dataclass(frozen=True, slots=True)
class Games:
    """Games as the fit sees them.

    Attributes:
        a: Node of the first side of each game.
        b: Node of the second side.
        story: Story index of each game.
        offset: Logits that the terms add for side a.
        ability: Ability of each node, in logits.
    """

    a: Ints
    b: Ints
    story: Ints
    offset: Floats
    ability: Floats


def statuses(a: Ints, b: Ints, score: Floats, size: int) -> tuple[list[Status], list[int]]:
    """Status of each node and the nodes of the main field.

    Points flow from a node to the one that took them. Differences have a finite estimate exactly within groups in which
    points flow from everybody to everybody, directly or through others (Ford 1957): the strongly connected components.
    The main field is the largest such group within the largest set of nodes linked by games; where two are equally
    large there is none, and everybody concerned is disconnected, save who took every point or none.

    Args:
        a: Node of the first side of each game.
        b: Node of the second side.
        score: Share of the point that side a got.
        size: Number of nodes.

    Returns:
        A status for each node, and the nodes that are `ok`, in order.
    """
    import rustworkx

    flow = rustworkx.PyDiGraph(multigraph=False)
    flow.add_nodes_from(range(size))
    for loser, taker in {(int(j), int(i)) for i, j, s in zip(a, b, score, strict=True) if s > 0} | {
        (int(i), int(j)) for i, j, s in zip(a, b, score, strict=True) if s < 1
    }:
        flow.add_edge(loser, taker, None)
    linked = _largest([list(group) for group in rustworkx.weakly_connected_components(flow)])
    groups = [list(group) for group in rustworkx.strongly_connected_components(flow)]
    main = _largest([group for group in groups if len(group) > 1 and set(group) <= set(linked)])
    played = np.bincount(a, minlength=size) + np.bincount(b, minlength=size)
    # whether any point was lost or taken is a matter of exact zeros, so sums of rounding-prone shares are no guide
    lost = np.bincount(a, score < 1, minlength=size) + np.bincount(b, score > 0, minlength=size)
    taken = np.bincount(a, score > 0, minlength=size) + np.bincount(b, score < 1, minlength=size)
    status: list[Status] = []
    for node in range(size):
        if node in main:
            status.append("ok")
        elif node not in linked or not played[node]:
            status.append("disconnected")
        else:
            status.append("undefeated" if not lost[node] else "winless" if not taken[node] else "disconnected")
    return status, sorted(main)


def _largest(groups: Sequence[list[int]]) -> list[int]:
    """The one group that is larger than any other, or nothing."""
    by_size = sorted(groups, key=len, reverse=True)
    if not by_size or (len(by_size) > 1 and len(by_size[0]) == len(by_size[1])):
        return []
    return by_size[0]


def comparable(main: Sequence[int], loose: Floats, node: Ints, cluster: Ints) -> list[int]:
    """The most nodes of the main field that outcomes on two stories or more set against one another.

    The field's mean is taken over these, so that one newcomer of whom little is known does not open all intervals.

    Args:
        main: Nodes of the main field.
        loose: Directions that outcomes do not hold, shape (parameters, L).
        node: Node of each side of each game.
        cluster: Story index of each of those.

    Returns:
        The nodes, in order; none where two such groups are equally large.
    """
    seen = [i for i in main if len(np.unique(cluster[node == i])) > 1]
    # a difference of two nodes is held by the outcomes if all loose directions move both alike
    groups = {tuple(j for j in seen if np.abs(loose[i] - loose[j]).max(initial=0.0) < 1e-6) for i in seen}
    return _largest([list(group) for group in groups])


def open_bound(games: Games, node: int, main: Sequence[int], level: float, *, lost: bool) -> float:
    """The closed end of the interval of a node that took every point, or lost every one.

    With expected share μ of the points of a story, on average over G independent stories, taking every point of all has
    probability at most μ^G (a share is at most 1, and the geometric mean at most the arithmetic), whatever the
    dependence within stories. So abilities at which μ^G is below half the error are refuted. Opponents and terms stand
    at their estimates; opponents in the main field are used alone where there are any.

    Args:
        games: All games.
        node: The node.
        main: Nodes of the main field.
        level: Coverage of the two-sided interval whose one end this is.
        lost: Whether the node lost every point, rather than took it.

    Returns:
        The bound in logits: lower, or upper if `lost`.
    """
    own = np.concatenate([games.a == node, games.b == node])
    other = np.concatenate([games.b, games.a])
    within = own & np.isin(other, main)
    chosen = within if within.any() else own
    offset = np.concatenate([games.offset, -games.offset])[chosen] - games.ability[other[chosen]]
    story = np.concatenate([games.story, games.story])[chosen]
    _, label, count = np.unique(story, return_inverse=True, return_counts=True)
    weight = 1 / (count[label] * len(count))
    share = ((1 - level) / 2) ** (1 / len(count))
    target = 1 - share if lost else share
    low, high = -offset.max() - 60.0, -offset.min() + 60.0
    for _ in range(100):
        middle = (low + high) / 2
        if float(weight @ sigmoid(middle + offset)) < target:
            low = middle
        else:
            high = middle
    return float((low + high) / 2)
