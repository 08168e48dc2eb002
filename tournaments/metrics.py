"""The figures of a tournament as plain values, for ``metrics.json``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from debate.metrics.accuracy import accuracy, unparsed
from debate.metrics.bias import position_bias
from debate.metrics.win_rate import WinRate
from debate.record import Recorded
from debate.report import IntervalLike
from tournaments.ladder import Standings, player_score
from tournaments.ratings import Outcome, Rating
from tournaments.tables import gap_of

Values = dict[str, object]


def metrics(standings: Standings) -> Values:
    """Return the figures that ladder and judge tables show; an end or a figure that there is not is None."""
    own = [item for items in standings.self_play.values() for item in items]
    outcomes = standings.by_player
    return {
        "judge": standings.judge,
        "players": {name: _player(standings, name, outcomes.get(name, ())) for name in standings.order},
        "stories": standings.ratings.clusters,
        "few_clusters": standings.ratings.few_clusters,
        "outcomes": standings.ratings.outcomes,
        "cross_play": {**judge_figures(standings.cross_play), **gap_figure(standings.cross_play, standings.baselines)},
        "self_play": {**judge_figures(own), **gap_figure(own, standings.baselines)},
        **{name: judge_figures(items) for name, items in standings.baselines.items()},
    }


def gap_figure(recorded: Sequence[Recorded], baselines: Mapping[str, Sequence[Recorded]]) -> Values:
    """Return the performance gap recovered as ``pgr``; nothing where there is none, see ``gap_of``."""
    gap = gap_of(recorded, baselines)
    return {} if gap is None else {"pgr": interval(gap)}


def rate_figures(rate: WinRate | None) -> Values:
    """Return a consultant's win rate, over both assignments and for each; nothing where there is none."""
    rates = {} if rate is None else {"both": rate.both, "right": rate.right, "wrong": rate.wrong}
    return {f"win_rate_{side}": interval(value) for side, value in rates.items()}


def _player(standings: Standings, name: str, outcomes: Sequence[Outcome]) -> Values:
    own = accuracy(standings.self_play.get(name, ()))
    right, wrong = ({}, {}) if standings.by_side is None else (standings.by_side.right, standings.by_side.wrong)
    return {
        **_rating(standings.ratings.players[name]),
        "matches": standings.matches.get(name, 0),
        "when_right": _rating(right.get(name)),
        "when_wrong": _rating(wrong.get(name)),
        "win_rate_right": interval(player_score(outcomes, name, right=True)),
        "win_rate_wrong": interval(player_score(outcomes, name, right=False)),
        "self_play_accuracy": interval(own.single),
        "self_play_accuracy_combined": interval(own.combined),
        **({"unread_scores": standings.unread_scores[name]} if name in standings.unread_scores else {}),
    }


def _rating(rating: Rating | None) -> Values:
    if rating is None:
        return {"elo": None, "elo_interval": None, "status": None}
    return {
        "elo": rating.elo,
        "elo_interval": [_finite(rating.low), _finite(rating.high)],
        "status": rating.status,
    }


def judge_figures(recorded: Sequence[Recorded]) -> Values:
    """Return what the judge table shows of one judge's verdicts on some debates."""
    bias, found = position_bias(recorded), accuracy(recorded)
    return {
        "debates": len(recorded),
        "failed_debates": sum(item.debate.failed is not None for item in recorded),
        "verdicts": sum(len(item.verdicts) for item in recorded),
        "unparsed": len(unparsed(recorded)),
        "accuracy": interval(found.single),
        "accuracy_gold_first": interval(found.gold_first),
        "accuracy_gold_second": interval(found.gold_second),
        "accuracy_combined": interval(found.combined),
        "flip_rate": None if bias is None else interval(bias.flip_rate),
        "log_odds_shift": None if bias is None else interval(bias.shift),
    }


def interval(found: IntervalLike | None) -> list[float | None] | None:
    """Return estimate, low and high end of an interval; an end that there is not is None."""
    return None if found is None else [found.value, _finite(found.low), _finite(found.high)]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
