"""What a tournament leaves in its run folder beside the store: debates, ratings, metrics and the report."""

from __future__ import annotations

import asyncio
import csv
import dataclasses
import io
import json
import math
from collections.abc import Sequence

from pydantic import TypeAdapter

from debate.config import digest
from debate.record import Recorded
from debate.report import DebatePage, Report, write_report
from debate.run_folder import RunFolder
from tournaments.ladder import Standings
from tournaments.metrics import metrics
from tournaments.ratings import Ratings
from tournaments.rounds import Played


def write_debates(run: RunFolder, played: Played) -> None:
    """Write ``debates.jsonl``, a line for each debate with its verdicts."""
    rows = TypeAdapter(Recorded)
    run.write_lines("debates.jsonl", (rows.dump_json(item).decode() for item in played.recorded))


def export(run: RunFolder, standings: Standings, report: Report, extra: dict[str, object]) -> None:
    """Write ``ratings.csv``, ``metrics.json`` and ``report.html`` into the run folder, and keep the ratings."""
    # Other outcomes make other ratings: after debates that failed are held again, for one.
    key = digest([dataclasses.astuple(outcome) for outcome in standings.outcomes])
    asyncio.run(run.store.put("ratings", key, json.dumps(_ratings(standings), ensure_ascii=False)))
    run.write_text("ratings.csv", _ratings_csv(standings.ratings, standings.order))
    run.write_json("metrics.json", {**metrics(standings), **extra})
    write_report(report, (DebatePage(item.debate, item.verdicts) for item in standings.recorded), run.path)


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
