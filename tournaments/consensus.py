"""``python -m tournaments.consensus``: debaters seek the right answer together, by FORD or by MAD.

What either system does is its own module's: ``tournaments.ford`` and ``tournaments.mad`` each have a configuration,
``plan(config)``, ``run(config, invocation)`` and ``outcomes(path)``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

from pydantic import Field

from debate.command import Command, Invocation
from debate.config import Config, Variants
from debate.errors import SourceError
from debate.report import print_table
from debate.sources.rows import json_rows
from tournaments import ford, mad
from tournaments.ford import FordConfig
from tournaments.found import OUTCOMES, Found
from tournaments.mad import MadConfig


class OutcomesConfig(Config):
    """Figures of recorded outcomes, without a run."""

    outcomes: str = Field(description="run folder, or a JSON Lines file of outcomes")
    format: Literal["text", "json"] = Field("text", description="text: tables; json: plain values")


AnyConfig = FordConfig | MadConfig | OutcomesConfig


def read_outcomes(path: Path) -> Found:
    """Measure recorded outcomes of either system.

    Args:
        path: A run folder, or a JSON Lines file. Rows that name no system are FORD's.

    Returns:
        The figures.

    Raises:
        SourceError: The file is absent, empty, or of an unknown system.
    """
    file = path / OUTCOMES if path.is_dir() else path
    first = next(json_rows(file), None)
    if first is None:
        raise SourceError(f"{file} holds no outcomes; give a file with one JSON object a line")
    system = first.text("system") if first.has("system") else "ford"
    if system == "ford":
        return ford.outcomes(file)
    if system == "mad":
        return mad.outcomes(file)
    raise first.error(f"outcomes of system {system!r} are not known; they are ford or mad")


def run_consensus(config: AnyConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    if isinstance(config, FordConfig):
        return ford.run(config, invocation)
    if isinstance(config, MadConfig):
        return mad.run(config, invocation)
    found = read_outcomes(Path(config.outcomes).expanduser())
    if config.format == "json":
        sys.stdout.write(json.dumps(found.metrics, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        return 0
    for table in found.tables:
        print_table(table)
    return 0


VARIANTS: Variants[AnyConfig] = Variants("system", {"ford": FordConfig, "mad": MadConfig}, {"outcomes": OutcomesConfig})
COMMAND = Command(
    name="tournaments.consensus",
    about="Have debaters seek the right answer together: FORD (--system ford) or MAD (--system mad). With --outcomes, "
    "measure outcomes that are recorded.",
    config=VARIANTS,
    run=run_consensus,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
