"""What a report shows beyond a command's own tables: Elo against accuracy, and the analysis of judges and arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from debate.errors import ConfigError
from debate.record import Recorded
from debate.report import Section
from tournaments.analysis import analyse
from tournaments.cast import cast_of
from tournaments.config import RatingConfig
from tournaments.elo_accuracy import relate
from tournaments.elo_picture import TITLE, picture
from tournaments.gather import Gathered
from tournaments.ladder import Standings

MOST_ANALYSED = 5_000
"""Debates beyond which a run's own report leaves the analysis to a command of its own: they are held all at once."""
_FEWEST_POINTS = 3


def elo_sections(found: Iterable[tuple[str, Standings | None]], config: RatingConfig) -> list[Section]:
    """Draw Elo against accuracy before each judge, where at least three players have cross-play and self-play.

    Args:
        found: What the judges found, by their names.
        config: What a verdict counts.

    Returns:
        One section; none where there is nothing to draw, such as without self-play.
    """
    figures, notes = [], []
    for judge, standings in found:
        if standings is None or not any(standings.self_play.values()):
            continue
        try:
            relation = relate(standings.cross_play, standings.self_play, kind=config.outcome, prior_sd=config.prior_sd)
        except ConfigError as error:  # self-play on the stories of cross-play says nothing of other stories
            notes.append(f"{judge}: not drawn: {error}")
            continue
        if len(relation.points) >= _FEWEST_POINTS:
            figures.append(picture(f"{TITLE} ({judge})", {"self-play": relation}))
    return [Section(TITLE, figures, list(dict.fromkeys(notes)))] if figures or notes else []


def analysis_sections(gathered: Gathered) -> list[Section]:
    """What ``tournaments.analyze`` shows, for a report; what does not apply is left out."""
    return list(analyse(gathered, plain=False).sections)


def analysis_of_run(folder: Path, recorded: Sequence[Recorded]) -> list[Section]:
    """The analysis of a run's own debates, at its end.

    Args:
        folder: The run's folder.
        recorded: Its debates with all verdicts; those that failed are left out.

    Returns:
        Its sections; of a very large run a word on how it is had.
    """
    if len(recorded) > MOST_ANALYSED:
        how = f"python -m tournaments.report {folder}"
        return [Section("Analysis", notes=(f"More than {MOST_ANALYSED:,} debates: {how} analyses them.",))]
    finished = [item for item in recorded if item.debate.failed is None]
    return analysis_sections(Gathered(finished, cast_of(folder))) if finished else []
