"""What speeches are made of: words, quotes and what is new in them, by round, by player, and by N of best-of-N."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from debate.metrics.arguments import GRAM, ArgumentFigures, Speech, argument_figures, measure_speeches
from debate.report import Column, Section, Table
from debate.report.table import Cell
from tournaments.analysis_accuracy import MANY, ROBUST, bounded, without_empty
from tournaments.cast import Cast
from tournaments.gather import Gathered
from tournaments.judged import group_name
from tournaments.metrics import Values, interval


class Said(NamedTuple):
    """A speech and what kind of debate it was made in."""

    group: str
    speech: Speech


def speeches_of(gathered: Gathered) -> list[Said]:
    """Measure all speeches that argue for an answer; of each debate once, however many judges it had."""
    return [
        Said(group_name(item.debate), speech) for item in gathered.recorded for speech in measure_speeches(item.debate)
    ]


def best_of(cast: Cast, player: str) -> int | None:
    """Find how many speeches a player chooses each of its own from.

    Args:
        cast: Who took part, by their configurations.
        player: A name.

    Returns:
        N of its best-of-N, the product where they are nested; 1 for a player without one; None for one that no
        configuration describes, such as a person.
    """
    member = cast.players.get(player)
    if member is None:
        return None
    found = 1
    for optimizer in member.config.get("optimizer") or []:
        if optimizer.get("kind") == "best_of_n":
            found *= int(optimizer.get("n", 1))
    return found


def alike_but_for_n(cast: Cast, players: Iterable[str]) -> list[dict[str, int]]:
    """Find players that differ in nothing but the N of best-of-N, so that a difference between them is one of N.

    Args:
        cast: Who took part, by their configurations.
        players: Names.

    Returns:
        Of each set of such players, if they are of several N: N by name.
    """
    found: dict[str, dict[str, int]] = {}
    for player in players:
        n = best_of(cast, player)
        if n is not None:
            config = cast.players[player].config
            others = [one for one in config.get("optimizer") or [] if one.get("kind") != "best_of_n"]
            alike = {key: value for key, value in config.items() if key not in {"name", "optimizer"}}
            key = json.dumps([alike, others], sort_keys=True, default=str)
            found.setdefault(key, {})[player] = n
    return [sizes for sizes in found.values() if len(set(sizes.values())) > 1]


Groups = Mapping[tuple[str, str], Sequence[Speech]]


def _grouped(rows: Iterable[tuple[str, str, Speech]]) -> Groups:
    found: dict[tuple[str, str], list[Speech]] = {}
    for group, label, speech in rows:
        found.setdefault((group, label), []).append(speech)
    return found


def by_round(said: Iterable[Said]) -> Groups:
    """Sort speeches by protocol and round."""
    rows = [(one.group, f"{one.speech.round}", one.speech) for one in said]
    return _grouped(sorted(rows, key=lambda row: (row[0], row[2].round)))


def by_player(said: Iterable[Said]) -> Groups:
    """Sort speeches by protocol and player."""
    rows = ((one.group, one.speech.player, one.speech) for one in said)
    return dict(sorted(_grouped((group, player, speech) for group, player, speech in rows if player).items()))


def by_side(said: Iterable[Said]) -> Groups:
    """Sort speeches by protocol and whether they argue for the right answer."""
    rows = ((one.group, one.speech.right, one.speech) for one in said)
    named = ((group, "right" if right else "wrong", speech) for group, right, speech in rows if right is not None)
    return dict(sorted(_grouped(named).items()))


def by_n(said: Sequence[Said], cast: Cast) -> Groups:
    """Sort speeches by protocol and N of their player's best-of-N; of players that differ in nothing else."""
    spoke = {one.speech.player for one in said if one.speech.player is not None}
    sizes = {player: n for alike in alike_but_for_n(cast, sorted(spoke)) for player, n in alike.items()}
    rows = [(one.group, sizes.get(one.speech.player or ""), one.speech) for one in said]
    known = sorted(((group, n, speech) for group, n, speech in rows if n is not None), key=lambda row: (row[0], row[1]))
    return _grouped((group, f"{n}", speech) for group, n, speech in known)


def sections(gathered: Gathered) -> list[Section]:
    """Show what speeches are made of.

    Args:
        gathered: The debates.

    Returns:
        One section; none where nobody argues for an answer.
    """
    said = speeches_of(gathered)
    cut = _parts(said, gathered.cast)
    titles = {
        "round": "Arguments, by round",
        "argues for": "Arguments, by side",
        "player": "Arguments, by player",
        "N": "Arguments, by N of best-of-N",
    }
    tables = [table(titles[name], name, groups) for name, groups in cut.items() if groups]
    return [Section("Arguments", [without_empty(one) for one in tables])] if tables else []


def _parts(said: Sequence[Said], cast: Cast) -> dict[str, Groups]:
    return {"round": by_round(said), "argues for": by_side(said), "player": by_player(said), "N": by_n(said, cast)}


def table(title: str, what: str, groups: Groups) -> Table:
    """Show the speeches of some groups.

    Args:
        title: The table's.
        what: What tells the groups of a protocol apart.
        groups: By protocol and group. Of players only the busiest of each protocol are shown, of rounds those that have
            a tenth of the speeches of the one with most.

    Returns:
        A row a group.
    """
    shown = _busiest(groups) if what == "player" else _common(groups) if what == "round" else groups
    rows: list[list[Cell]] = []
    for (group, label), speeches in shown.items():
        one = argument_figures(speeches)
        rows.append(
            [
                group,
                label,
                one.speeches,
                one.words.clusters,
                bounded(one.words),
                bounded(one.quotes),
                one.verified,
                bounded(one.quote_words),
                one.repeated,
                one.novelty,
            ]
        )
    columns = (
        Column("debates"),
        Column(what, align="right" if what in {"round", "N"} else None),
        Column("speeches", kind="count"),
        Column("stories", kind="count"),
        Column("words", kind="number"),
        Column("quotes", kind="number"),
        Column("verified", kind="share"),
        Column("words a quote", kind="number"),
        Column("repeated", kind="share"),
        Column("new", kind="share"),
    )
    left = len(groups) - len(shown)
    note = (
        "'Verified': quotes that the story holds. 'Repeated': quotes of which the same side has quoted half or more "
        f"before in the debate. 'New': of a speech's runs of {GRAM} words, those that nobody has said in an earlier "
        f"round; of second rounds and later ones alone. {ROBUST}"
    )
    more = f" {left} more with fewer speeches are in the JSON." if left else ""
    more += " Players that differ in nothing but N." if what == "N" else ""
    return Table(title, columns, rows, note=note + more)


def _common(groups: Groups) -> Groups:
    most: dict[str, int] = {}
    for (group, _), speeches in groups.items():
        most[group] = max(most.get(group, 0), len(speeches))
    return {key: speeches for key, speeches in groups.items() if 10 * len(speeches) >= most[key[0]]}


def _busiest(groups: Groups) -> Groups:
    kept: dict[tuple[str, str], Sequence[Speech]] = {}
    shown: dict[str, int] = {}
    for key in sorted(groups, key=lambda key: (key[0], -len(groups[key]), key[1])):
        shown[key[0]] = shown.get(key[0], 0) + 1
        if shown[key[0]] <= MANY:
            kept[key] = groups[key]
    return kept


def values(gathered: Gathered) -> Values:
    """Return what ``sections`` shows, as plain values: by round, side, player and N, then by protocol and group."""
    names = {"round": "rounds", "argues for": "sides", "player": "players", "N": "best_of"}
    found: dict[str, dict[str, dict[str, object]]] = {}
    for what, groups in _parts(speeches_of(gathered), gathered.cast).items():
        own = found.setdefault(names[what], {})
        for (group, label), speeches in groups.items():
            own.setdefault(group, {})[label] = _figures(argument_figures(speeches))
    return dict(found)


def _figures(one: ArgumentFigures) -> Values:
    return {
        "speeches": one.speeches,
        "stories": one.words.clusters,
        "words": interval(one.words),
        "quotes": interval(one.quotes),
        "verified": interval(one.verified),
        "words_a_quote": interval(one.quote_words),
        "repeated": interval(one.repeated),
        "new": interval(one.novelty),
    }
