"""FORD: models seek agreement by debate, fairly matched or not, or at a roundtable (Xiong et al. 2023)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from debate.command import Invocation
from tournaments.config import QuestionsConfig, SessionConfig
from tournaments.ford_outcomes import read_outcomes as outcomes
from tournaments.plan import Plan
from tournaments.speakers import SpeakerConfig

__all__ = ["FordConfig", "outcomes", "plan", "run"]


class FordConfig(SessionConfig, QuestionsConfig):
    """A FORD run."""

    system: Literal["ford"] = Field(description="ford")
    speakers: tuple[SpeakerConfig, ...] = Field(min_length=2, description="who debates, the proponent first")


def plan(config: FordConfig) -> Plan:
    """Count what a run will take."""
    raise NotImplementedError(config)


def run(config: FordConfig, invocation: Invocation) -> int:
    """Hold a run, or print its plan; returns the exit code."""
    raise NotImplementedError(config, invocation)
