"""Debates of several sources, brought together: each once, under ids and names that mean one thing."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from debate.config import digest
from debate.errors import SourceError
from debate.metrics.concessions import Concession
from debate.question import Fold
from debate.record import Debate, Recorded, join_key, to_json
from debate.sources import load_debates
from debate.sources.select import rank
from debate.verdict import Verdict
from tournaments.cast import Cast, Member, cast_of
from tournaments.identities import Identities

SOURCE = "source"
"""The tag that says which source a debate came from."""


@dataclass(frozen=True, slots=True)
class Source:
    """What one source holds.

    Attributes:
        name: A short name, unique among the sources.
        recorded: Its debates with all verdicts.
        cast: Who took part, where its configuration says so.
    """

    name: str
    recorded: Sequence[Recorded]
    cast: Cast


@dataclass(frozen=True, slots=True)
class Gathered:
    """Debates of several sources.

    Attributes:
        recorded: The debates, ids unique, each tagged with its source.
        cast: Who took part, by the names used here.
        notes: What a reader must know of how they were brought together.
        concessions: What is known of speakers who give their side away, where they were read for it.
    """

    recorded: Sequence[Recorded]
    cast: Cast
    notes: tuple[str, ...] = ()
    concessions: tuple[Concession, ...] = ()


def read_sources(sources: Sequence[str]) -> list[Source]:
    """Load sources of recorded debates.

    Args:
        sources: As ``debate.sources.load_debates`` takes them.

    Returns:
        One for each.

    Raises:
        SourceError: A source is given twice, or cannot be loaded.
    """
    places = [Path(_place(source)).expanduser().resolve() for source in sources]
    for place, count in Counter(places).items():
        if count > 1:
            raise SourceError(f"{place} is given {count} times as a source; give it once")
    found = []
    for source, place, name in zip(sources, places, _short_names(places), strict=True):
        recorded = load_debates(source)
        found.append(Source(name, recorded, cast_of(place) if place.is_dir() and _is_run(source) else Cast()))
    return found


def _is_run(source: str) -> bool:
    return not source.startswith("nyu:")


def _place(source: str) -> str:
    kind, _, rest = source.partition(":")
    return rest if kind in {"run", "nyu"} and rest else source


def _short_names(places: Sequence[Path]) -> list[str]:
    """The last part of each path, with as many parts before it as tell them apart."""
    parts = [place.parts[1:] or place.parts for place in places]
    return [
        "/".join(
            next(
                own[-length:]
                for length in range(1, len(own) + 1)
                if length == len(own) or sum(other[-length:] == own[-length:] for other in parts) == 1
            )
        )
        for own in parts
    ]


def gather(sources: Sequence[Source]) -> Gathered:
    """Bring the debates of several sources together.

    Debates that could not be finished are left out. The same debate in two sources (same speeches by the same players
    on the same question, whatever its id) is one debate with the verdicts of both. Other debates of one id get their
    source's name before it, and so do questions of one id that ask something else, and stories of one id with another
    text: by such ids, debates would be set against the baselines of other questions, and unrelated stories would be
    one cluster. Players, and judges, of one name that were configured differently are named apart.

    Args:
        sources: The sources.

    Returns:
        The debates.

    Raises:
        SourceError: No debate is left.
    """
    players, player_notes = _name_apart("player", sources, lambda source: source.cast.players, _players)
    judges, judge_notes = _name_apart("judge", sources, lambda source: source.cast.judges, _judges)
    by_digest: dict[str, tuple[str, int]] = {}
    ids: set[str] = set()
    identities = Identities()
    found: list[Recorded] = []
    twice = failed = 0
    for source in sources:
        for item in source.recorded:
            if item.debate.failed is not None:
                failed += 1
                continue
            debate, verdicts = _renamed(item, players[source.name], judges[source.name])
            question = identities.name(debate.transcript.question, source.name)
            debate = dataclasses.replace(debate, transcript=dataclasses.replace(debate.transcript, question=question))
            key = _content(debate)
            origin, place = by_digest.setdefault(key, (source.name, len(found)))
            if origin != source.name:
                twice += 1
                found[place] = _merged(found[place], verdicts)
                continue
            name = debate.id if debate.id not in ids else f"{join_key(source.name)} | {debate.id}"
            ids.add(name)
            tags = {SOURCE: source.name, **debate.tags}  # of a run that judged again, the first source counts
            found.append(Recorded(dataclasses.replace(debate, id=name, tags=tags), verdicts))
    if not found:
        raise SourceError("the sources hold no finished debate; give others, or wait until their runs have some")
    notes = [*player_notes, *judge_notes, *identities.notes()]
    if twice:
        notes.append(f"{twice} debates are in several sources; each counts once, with the verdicts of all of them.")
    if failed:
        notes.append(f"{failed} debates that were never finished are left out.")
    cast = Cast(_cast(sources, players, lambda s: s.cast.players), _cast(sources, judges, lambda s: s.cast.judges))
    return Gathered(found, cast, tuple(notes))


def _players(source: Source) -> set[str]:
    return {name for item in source.recorded for name in item.debate.players if name is not None}


def _judges(source: Source) -> set[str]:
    return {verdict.judge for item in source.recorded for verdict in item.verdicts}


Names = dict[str, dict[str, str]]


def _name_apart(
    what: str,
    sources: Sequence[Source],
    members: Callable[[Source], Mapping[str, Member]],
    present: Callable[[Source], set[str]],
) -> tuple[Names, list[str]]:
    """New names by source and name, and notes; a name that no configuration explains is one with its like."""
    names: Names = {source.name: {} for source in sources}
    there = {source.name: present(source) for source in sources}
    notes = []
    for name in sorted({name for found in there.values() for name in found}):
        groups: list[tuple[Member | None, list[str]]] = []
        for source in sources:
            if name not in there[source.name]:
                continue
            member = members(source).get(name)
            group = next((group for other, group in groups if _same(member, other)), None)
            if group is None:
                groups.append((member, [source.name]))
            else:
                group.append(source.name)
        if len(groups) > 1:
            apart = {place: f"{name} ({group[0]})" for _, group in groups for place in group}
            for place, new in apart.items():
                names[place][name] = new
            shown = " and ".join(dict.fromkeys(apart.values()))
            notes.append(f"{what} {name!r} is not configured alike in all sources, so it is named apart: {shown}.")
    return names, notes


def _same(one: Member | None, other: Member | None) -> bool:
    return one is other if one is None or other is None else one.same(other)


def _cast(
    sources: Iterable[Source], names: Names, members: Callable[[Source], Mapping[str, Member]]
) -> dict[str, Member]:
    return {
        names[source.name].get(name, name): member for source in sources for name, member in members(source).items()
    }


def _renamed(
    item: Recorded, players: Mapping[str, str], judges: Mapping[str, str]
) -> tuple[Debate, tuple[Verdict, ...]]:
    first, second = (None if name is None else players.get(name, name) for name in item.debate.players)
    verdicts = (dataclasses.replace(one, judge=judges.get(one.judge, one.judge)) for one in item.verdicts)
    return dataclasses.replace(item.debate, players=(first, second)), tuple(verdicts)


def _content(debate: Debate) -> str:
    """A digest of what a debate is, whatever it is called; candidates are no part of it."""
    transcript = debate.transcript
    question = dataclasses.replace(transcript.question, source="", fold=None)
    turns = tuple(dataclasses.replace(turn, thinking="", candidates=()) for turn in transcript.turns)
    bare = dataclasses.replace(
        debate, id="", tags={}, transcript=dataclasses.replace(transcript, question=question, turns=turns)
    )
    return digest(json.loads(to_json(bare)))


def _merged(item: Recorded, verdicts: Iterable[Verdict]) -> Recorded:
    known = {(one.judge, one.order, one.round) for one in item.verdicts}
    fresh = [one for one in verdicts if (one.judge, one.order, one.round) not in known]
    return Recorded(item.debate, (*item.verdicts, *fresh))


def choose_debates(
    recorded: Sequence[Recorded],
    *,
    fold: Fold | None = None,
    tags: Mapping[str, str] | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> list[Recorded]:
    """Choose debates at random, the same ones for the same seed in whatever order they come.

    A limit draws groups: all debates of one question between the same two players, or of one consultant. So a debate
    comes with the one in which the sides are exchanged, and a consultancy with that for the other answer. What is
    measured over both assignments would be biased by half a group.

    Args:
        recorded: What to choose from.
        fold: Only debates on stories of this fold; None for all.
        tags: Only debates with these tags.
        limit: Groups are drawn, one of every story before a second of any, until they have so many debates; the last
            one is drawn whole, so there can be more by less than that group. Questions judged without a debate do not
            count; those of the chosen debates stay.
        seed: Chooses the ranking.

    Returns:
        The debates, in the order they came.

    Raises:
        SourceError: Nothing is left; the message says which filter left nothing.
    """
    kept = [item for item in recorded if fold is None or item.debate.transcript.question.fold == fold]
    if not kept:
        folds = {str(item.debate.transcript.question.fold) for item in recorded}
        raise SourceError(
            f"none of the {len(recorded)} debates is on a story of fold {fold!r}; folds are {', '.join(sorted(folds))}"
        )
    for tag, wanted in (tags or {}).items():
        values = {item.debate.tags.get(tag, "none") for item in kept}
        kept = [item for item in kept if item.debate.tags.get(tag) == wanted]
        if not kept:
            some = ", ".join(sorted(values)[:5])
            raise SourceError(f"no debate has the tag {tag!r} with the value {wanted!r}; its values are: {some}")
    spoken = [item for item in kept if not _silent(item)]
    if limit is None or len(spoken) <= limit:
        return kept
    chosen = _draw(spoken, limit, seed)
    questions = {item.debate.transcript.question.id for item in spoken if item.debate.id in chosen}
    return [
        item
        for item in kept
        if item.debate.id in chosen or (_silent(item) and item.debate.transcript.question.id in questions)
    ]


def _draw(spoken: Sequence[Recorded], limit: int, seed: int) -> set[str]:
    """The ids of the debates of the groups drawn, see ``choose_debates``."""
    groups: dict[str, dict[str, list[str]]] = {}
    for item in spoken:
        by_group = groups.setdefault(item.debate.transcript.question.story_id, {})
        by_group.setdefault(_group(item.debate), []).append(item.debate.id)
    lots = [
        (place, rank(seed, "story", story), by_group[group])
        for story, by_group in groups.items()
        for place, group in enumerate(sorted(by_group, key=lambda group: rank(seed, "debates", group)))
    ]
    chosen: set[str] = set()
    for _, _, ids in sorted(lots):
        if len(chosen) < limit:
            chosen.update(ids)
    return chosen


def _group(debate: Debate) -> str:
    """What a debate shares with those on its question in which the same players speak, whoever defends which answer."""
    return join_key(debate.transcript.question.id, *sorted(name or "" for name in debate.players))


def _silent(item: Recorded) -> bool:
    """Whether nobody speaks: a question that a judge decides by itself."""
    return item.debate.players == (None, None)
