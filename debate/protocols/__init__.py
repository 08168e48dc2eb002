"""Protocols: who speaks when, having heard what; a protocol turns a question and players into a transcript."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Self

import pydantic
from pydantic import Field, JsonValue

from debate.agents.questioner import Questioner, QuestionerConfig
from debate.config import Config
from debate.errors import ConfigError
from debate.extensions import check_kind, is_extension, load_extension
from debate.protocols.base import DebateProtocol, Seats, Speakers
from debate.protocols.baselines import BASELINES, Baseline, BaselineName, judge_reads_story
from debate.protocols.consultancy import Consultancy, DoubleConsultancy
from debate.protocols.interactive import Interactive
from debate.protocols.sequential import Sequential
from debate.protocols.simultaneous import Simultaneous

__all__ = [
    "BASELINES",
    "JUDGE_SPEAKS",
    "Baseline",
    "BaselineName",
    "Consultancy",
    "DebateProtocol",
    "DoubleConsultancy",
    "Interactive",
    "ProtocolConfig",
    "Seats",
    "Sequential",
    "Simultaneous",
    "Speakers",
    "build_protocol",
    "judge_reads_story",
]

_KINDS: dict[str, Callable[[int, Questioner | None], DebateProtocol]] = {
    "simultaneous": lambda rounds, _: Simultaneous(rounds),
    "sequential": lambda rounds, _: Sequential(rounds),
    "interactive": Interactive,
    "consultancy": Consultancy,
    "double_consultancy": DoubleConsultancy,
}
#: Protocols in which the judge speaks from round 2 on.
JUDGE_SPEAKS = ("interactive", "consultancy", "double_consultancy")


class ProtocolConfig(Config):
    """Which protocol, and how long."""

    kind: Annotated[str, pydantic.AfterValidator(lambda kind: check_kind(kind, _KINDS))] = Field(
        "simultaneous",
        description="simultaneous: both speak at once; sequential: seat A first, held in both seatings; interactive: "
        "simultaneous, and the judge asks from round 2 on; consultancy: one speaks and the judge asks; "
        "double_consultancy: two consultancies judged together; or MODULE:FUNCTION",
    )
    rounds: int = Field(3, ge=1, le=20, description="rounds in a debate")
    static: bool = Field(default=False, description="a consultancy in which the judge only listens")
    questioner: QuestionerConfig = Field(QuestionerConfig(), description="how the judge asks")
    options: dict[str, JsonValue] = Field({}, description="whatever a protocol of your own takes")

    @pydantic.model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.static and self.kind not in {"consultancy", "double_consultancy"}:
            raise ValueError(f"static is for consultancies; a {self.kind} debate is what it is, leave it out")
        if self.options and not is_extension(self.kind):
            raise ValueError(f"options are for a protocol of your own; {self.kind} has none")
        return self

    @property
    def judge_speaks(self) -> bool:
        """Whether the judge speaks before it decides; a protocol of one's own is given a questioner too."""
        return (self.kind in JUDGE_SPEAKS and not self.static) or is_extension(self.kind)

    @property
    def speakers(self) -> int:
        """How many speak: one in a consultancy, else two."""
        return 1 if self.kind == "consultancy" else 2


def build_protocol(config: ProtocolConfig, questioner: Questioner | None = None) -> DebateProtocol:
    """Make the protocol that a configuration names.

    Args:
        config: The protocol.
        questioner: The judge that speaks; None where the protocol has none, or where no debate will be held.

    Returns:
        The protocol. One of your own is made by ``FUNCTION(config, questioner)``.

    Raises:
        ConfigError: A protocol of your own cannot be imported, or has the name of one that ships.
    """
    if is_extension(config.kind):
        made: DebateProtocol = load_extension(config.kind)(config, questioner)
        if made.name in {*_KINDS, *BASELINES}:  # debates are filed by it, and the judge of "expert" reads the story
            raise ConfigError(f"{config.kind!r} calls itself {made.name!r}, which ships; give it a name of its own")
        return made
    return _KINDS[config.kind](config.rounds, questioner)
