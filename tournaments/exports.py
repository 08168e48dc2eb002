"""The ratings that a tournament leaves in its run folder: ``ratings.csv``, and a row of the store."""

from __future__ import annotations

import asyncio
import csv
import dataclasses
import io
import json
import math
import operator
from collections.abc import Sequence

from debate.config import digest
from debate.run_folder import RunFolder
from tournaments.ladder import Standings
from tournaments.ratings import Outcome

# What ``dataclasses.astuple`` gives, without its copies: outcomes hold plain values, and there may be very many.
_values = operator.attrgetter(*(field.name for field in dataclasses.fields(Outcome)))
HEAD = ("player", "elo", "low", "high", "status")


def export_ratings(run: RunFolder, standings: Standings) -> None:
    """Write ``ratings.csv`` into the run folder, and keep the ratings in its store."""
    # Other outcomes make other ratings: after debates that failed are held again, for one.
    key = digest([_values(outcome) for outcome in standings.outcomes])
    asyncio.run(run.store.put("ratings", key, json.dumps(_ratings(standings), ensure_ascii=False)))
    run.write_text("ratings.csv", _csv([HEAD, *_rows(standings)]))


def export_by_judge(run: RunFolder, found: Sequence[Standings]) -> None:
    """Write ``ratings.csv`` with the ladders of several judges, a column more for the judge, and keep them all."""
    for standings in found:
        key = digest([standings.judge, *map(_values, standings.outcomes)])
        ratings = [{"judge": standings.judge, **row} for row in _ratings(standings)]
        asyncio.run(run.store.put("ratings", key, json.dumps(ratings, ensure_ascii=False)))
    rows = [(standings.judge, *row) for standings in found for row in _rows(standings)]
    run.write_text("ratings.csv", _csv([("judge", *HEAD), *rows]))


def _ratings(standings: Standings) -> list[dict[str, str | float | None]]:
    """The ratings, best first; an end that an interval does not have is None."""
    rows: list[dict[str, str | float | None]] = []
    for name in standings.order:
        rating = standings.ratings.players[name]
        low, high = (end if math.isfinite(end) else None for end in (rating.low, rating.high))
        rows.append({"player": name, "elo": rating.elo, "low": low, "high": high, "status": rating.status})
    return rows


def _rows(standings: Standings) -> list[tuple[str, ...]]:
    """The ratings, best first, as text."""
    ratings = ((name, standings.ratings.players[name]) for name in standings.order)
    return [(name, f"{r.elo:.4f}", f"{r.low:.4f}", f"{r.high:.4f}", r.status) for name, r in ratings]


def _csv(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
