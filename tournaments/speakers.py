"""Speakers: models that discuss a question without an assigned answer, and what a configuration says of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pydantic import Field, field_validator, model_validator

from debate.config import Config
from debate.models.load import ModelField


class SpeakerConfig(Config):
    """A model that takes part in a discussion."""

    name: str = Field(min_length=1, max_length=60, description="unique among the speakers")
    model: ModelField = Field(description="its model: a name, or a mapping")
    temperature: float | None = Field(None, ge=0, le=2, description="its own temperature, instead of the system's")
    character: str = Field(
        "", description="a sentence or two that its prompts begin with; two speakers of one model may differ by it"
    )

    @model_validator(mode="before")
    @classmethod
    def _no_optimizer(cls, tree: object) -> object:
        if isinstance(tree, dict) and tree.get("optimizer"):
            raise ValueError(
                "optimizer: best-of-N and critique-and-refine make a speech better for an answer that its speaker was "
                "assigned, and here nobody is assigned one; leave optimizer out"
            )
        return tree

    @field_validator("name")
    @classmethod
    def _one_line(cls, name: str) -> str:
        if any(ord(character) < 32 for character in name):
            raise ValueError(f"speaker name {name!r} holds a control character")
        return name


def check_speaker_names(speakers: Sequence[SpeakerConfig]) -> None:
    """Hold that every speaker has a name of its own.

    Raises:
        ValueError: Two have one; to be raised from a configuration's own check.
    """
    double = sorted(name for name, count in Counter(speaker.name for speaker in speakers).items() if count > 1)
    if double:
        raise ValueError(f"speaker named twice: {', '.join(double)}; give every speaker a name of its own")
