"""What the robustness benchmark is told."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from debate.agents.helper import HelperConfig
from debate.agents.moderator import ModeratorConfig
from debate.agents.talker import TalkConfig
from debate.config import NOT_IN_DIGEST, Config
from debate.models.load import EMBEDDED, ModelConfig, ModelField, kind_of
from debate.protocols.persuasion import SCENARIOS, Scenario
from tournaments.config import SessionConfig
from tournaments.persuasion_config import MemoryConfig
from tournaments.speakers import SpeakerConfig
from training.fitting import AdapterSettings, FitSettings
from training.gather import DataConfig

BASE, JUDGE, MITIGATION = "base", "judge", "mitigation"


class LearningConfig(Config):
    """How an adapter is trained, by ``training.finetune_judge``."""

    adapter: AdapterSettings = Field(AdapterSettings(), description="what is trained")
    fit: FitSettings = Field(FitSettings(), description="how")
    mass_weight: float = Field(1.0, ge=0, description="as of finetune_judge")


class JudgeTrainingChoice(LearningConfig):
    """The judge training of which is asked whether it buys resistance."""

    trained: str | None = Field(
        None,
        min_length=1,
        description="an adapter that finetune_judge has made already, such as shipped:judge; none to train one on data",
    )
    data: tuple[DataConfig, ...] = Field((), description="debates with known answers that it is trained on")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.trained is None) == (not self.data):
            raise ValueError("give trained, an adapter, or data to train one on, and not both")
        return self


class MitigationConfig(LearningConfig):
    """Training on pairs of a sound and a fallacious message."""

    start: Literal["base", "judge"] = Field(
        "base", description="base: a new adapter; judge: it goes on from the judge's"
    )
    data: tuple[DataConfig, ...] = Field((), description="debates with known answers that are mixed in")


class LessonConfig(Config):
    """The debates that the pairs are taken from, on claims that are in no benchmark."""

    claims: int | None = Field(None, ge=1, description="at most so many claims, drawn by the seed; none for all left")
    rounds: int = Field(3, ge=2, le=50, description="most rounds; the first holds no helper")
    repetitions: int = Field(1, ge=1, le=100, description="debates on each claim with either helper")


class RobustnessConfig(SessionConfig):
    """The persuasion benchmark on a model as it is, after judge training, and after training on fallacy pairs."""

    base: ModelField = Field(
        ModelConfig(name=EMBEDDED), description="the debater that is to be persuaded, and trained: embedded/… or hf/…"
    )
    claims: str = Field(
        "shipped:claims", description="shipped:claims, or claims:FILE, a table of topic, claim and reason"
    )
    benchmark: int = Field(
        ge=1,
        description="claims in the benchmark, drawn by the seed; training sees no claim on a topic of theirs",
    )
    persuader: SpeakerConfig = Field(description="who argues for the claims, always the same")
    scenarios: tuple[Scenario, ...] = Field(SCENARIOS, min_length=1, description="as of tournaments.persuasion")
    rounds: int = Field(10, ge=1, le=50, description="most rounds of a debate in the benchmark")
    repetitions: int = Field(3, ge=1, le=100, description="debates on each claim in each scenario of the benchmark")
    talk: TalkConfig = Field(TalkConfig(), description="limits and sampling of messages")
    helper: HelperConfig = Field(HelperConfig(), description="who rewrites what the persuader drafts")
    moderators: ModeratorConfig = Field(description="who says whether the debater is convinced; never trained here")
    memory: MemoryConfig = Field(MemoryConfig(), description="what becomes of debates that are too long for a model")
    lessons: LessonConfig = Field(LessonConfig(), description="the debates that the pairs are taken from")
    validator: ModelField | None = Field(
        None, description="a second model that names each fallacy; pairs of which it finds none are not trained on"
    )
    judge: JudgeTrainingChoice = Field(description="the judge training")
    mitigation: MitigationConfig = Field(MitigationConfig(), description="the training on pairs")
    launcher: tuple[str, ...] = Field(
        (),
        description="words that start a training in processes of its own, such as [accelerate, launch, "
        "--config_file, configs/accelerate/ddp.yaml]; none: in this process",
        json_schema_extra=NOT_IN_DIGEST,
    )

    @property
    def models(self) -> list[ModelConfig]:
        """All models that are known beforehand; adapters come later."""
        moderators = self.moderators
        more = [self.helper.model, moderators.model, moderators.second, self.validator]
        return [self.base, self.persuader.model, *(model for model in more if model is not None)]

    @property
    def judge_models(self) -> list[ModelConfig]:
        """The models of the moderators."""
        second = self.moderators.second
        return [self.moderators.model, *([] if second is None else [second])]

    @model_validator(mode="after")
    def _trains(self) -> Self:
        if kind_of(self.base.name) not in {"embedded", "local"}:
            raise ValueError(f"base {self.base.name!r} cannot be trained here; name embedded/… or hf/FOLDER-OR-ID")
        if self.base.adapter is not None:
            raise ValueError("base has an adapter; leave it out, the judge's is named as judge.trained")
        if "fallacy" not in self.scenarios:
            raise ValueError("scenarios without fallacy measure no resistance to fallacies; add it")
        return self
