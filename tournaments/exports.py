"""The ratings that a tournament leaves in its run folder: ``ratings.csv``, and a row of the store."""

from __future__ import annotations

import asyncio
import csv
import dataclasses
import io
import json
import math
from collections.abc import Sequence

from debate.config import digest
from debate.run_folder import RunFolder
from tournaments.ladder import Standings
from tournaments.ratings import Ratings


def export_ratings(run: RunFolder, standings: Standings) -> None:
    """Write ``ratings.csv`` into the run folder, and keep the ratings in its store."""
    # Other outcomes make other ratings: after debates that failed are held again, for one.
    key = digest([dataclasses.astuple(outcome) for outcome in standings.outcomes])
    asyncio.run(run.store.put("ratings", key, json.dumps(_ratings(standings), ensure_ascii=False)))
    run.write_text("ratings.csv", _ratings_csv(standings.ratings, standings.order))


def _ratings(standings: Standings) -> list[dict[str, str | float | None]]:
    """The ratings, best first; an end that an interval does not have is None."""
    rows: list[dict[str, str | float | None]] = []
    for name in standings.order:
        rating = standings.ratings.players[name]
        low, high = (end if math.isfinite(end) else None for end in (rating.low, rating.high))
        rows.append({"player": name, "elo": rating.elo, "low": low, "high": high, "status": rating.status})
    return rows


def _ratings_csv(ratings: Ratings, order: Sequence[str]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["player", "elo", "low", "high", "status"])
    for name in order:
        rating = ratings.players[name]
        writer.writerow([name, f"{rating.elo:.4f}", f"{rating.low:.4f}", f"{rating.high:.4f}", rating.status])
    return text.getvalue()
