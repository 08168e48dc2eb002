"""The configuration of FORD."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from debate.agents.chooser import ChooserConfig, Reads, cannot_read
from debate.models.load import ModelConfig, ModelField, capabilities_of
from debate.question import Fold
from tournaments.config import SessionConfig
from tournaments.ford_outcomes import JOINT
from tournaments.speakers import SpeakerConfig, check_speaker_names


class ChoosingSpeakerConfig(SpeakerConfig):
    """A speaker of FORD."""

    reads: Reads | None = Field(None, description="how its choice is read, instead of what choice.reads says")


class JudgeChoiceConfig(ChooserConfig):
    """The judge of FORD, which reads the debate alone."""

    model: ModelField = Field(description="its model: a name, or a mapping; it may be a speaker's too")
    name: str = Field("judge", min_length=1, max_length=60, description="what it is called")


class FordConfig(SessionConfig):
    """A FORD run."""

    system: Literal["ford"] = Field(description="ford")
    source: str = Field(
        "shipped:choices",
        description="questions of two answers or more, their right answers known: shipped:choices, anli:FILE, "
        "csqa:FILE, copa:FILE, ecare:FILE, socialiqa:FILE, piqa:FILE, strategyqa:FILE, questions:FILE or any other",
    )
    fold: Fold | None = Field(None, description="only questions of this fold")
    limit: int | None = Field(None, ge=1, description="at most so many questions, the same ones for the same seed")
    speakers: tuple[ChoosingSpeakerConfig, ...] = Field(
        min_length=2, description="who debates, in the order of speaking; the first is the proponent"
    )
    order: Literal["given", "reversed", "both"] = Field(
        "given", description="the order of speaking; both holds every debate in either, from the same answers alone"
    )
    turns: int | None = Field(
        None,
        ge=0,
        le=60,
        description="most turns of a debate; default 6 for two speakers, 4 for two of one model, 3 a speaker for more",
    )
    choice: ChooserConfig = Field(ChooserConfig(), description="how speakers choose and explain")
    judge: JudgeChoiceConfig | None = Field(None, description="who concludes debates beside the vote; none for nobody")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_speaker_names(self.speakers)
        for speaker in self.speakers:
            if JOINT in speaker.name:
                raise ValueError(f"speaker {speaker.name!r}: {JOINT!r} joins names in outcomes; name it without")
        for what, model, reads in self.readers:
            reason = cannot_read(reads, capabilities_of(model))
            if reason is not None:
                raise ValueError(f"{what}: {model.label} {reason}")
        return self

    @property
    def readers(self) -> list[tuple[str, ModelConfig, Reads]]:
        """Everybody who chooses: what it is called in messages, its model, and how its choice is read."""
        found = [(f"speaker {one.name!r}", one.model, self.how(one).reads) for one in self.speakers]
        return found if self.judge is None else [*found, ("judge", self.judge.model, self.judge.reads)]

    @property
    def models(self) -> list[ModelConfig]:
        """The models of the speakers and of the judge."""
        return [model for _, model, _ in self.readers]

    @property
    def judge_models(self) -> list[ModelConfig]:
        """All of them: each is measured by how often it is right."""
        return self.models

    @property
    def most_turns(self) -> int:
        """Most turns of a debate, as asked or by default."""
        if self.turns is not None:
            return self.turns
        if len(self.speakers) > 2:
            return 3 * len(self.speakers)
        return 4 if len({speaker.model.name for speaker in self.speakers}) == 1 else 6

    @property
    def orders(self) -> list[tuple[ChoosingSpeakerConfig, ...]]:
        """The speakers in each order of speaking."""
        orders = {"given": [self.speakers], "reversed": [self.speakers[::-1]]}
        return orders.get(self.order) or [*orders["given"], *orders["reversed"]]

    def how(self, speaker: ChoosingSpeakerConfig) -> ChooserConfig:
        """How a speaker chooses and explains."""
        own = {"reads": speaker.reads, "temperature": speaker.temperature}
        return self.choice.model_copy(update={name: value for name, value in own.items() if value is not None})
