"""Configurations of ``tournaments.persuasion``: a run, or outcomes that are recorded."""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

from pydantic import Field, model_validator

from debate.agents.debater import draws_differ
from debate.agents.helper import HelperConfig
from debate.agents.moderator import ModeratorConfig
from debate.agents.talker import TalkConfig
from debate.config import NOT_IN_DIGEST, Config
from debate.models.load import ModelConfig, capabilities_of
from debate.protocols.persuasion import SCENARIOS, Scenario
from tournaments.config import SessionConfig
from tournaments.speakers import SpeakerConfig, check_speaker_names


class MemoryConfig(Config):
    """What becomes of a dialogue that is too long for a model."""

    context: int | None = Field(
        None, ge=64, description="longest prompt plus reply, in tokens; none for each model's own context"
    )
    summary_tokens: int = Field(200, ge=8, description="longest summary of what is left out, in tokens")


class Talkers(NamedTuple):
    """A persuader and a debater."""

    persuader: SpeakerConfig
    debater: SpeakerConfig


class PersuasionConfig(SessionConfig):
    """Persuaders that argue for claims before debaters, with a fallacious helper, a logical one, and none."""

    claims: str = Field(
        "shipped:claims", description="shipped:claims, or claims:FILE, a table of topic, claim and reason"
    )
    ids: tuple[str, ...] = Field((), description="only claims with these ids; none for all")
    limit: int | None = Field(None, ge=1, description="at most so many of them, drawn by the seed")
    persuaders: tuple[SpeakerConfig, ...] = Field(
        min_length=1, description="who argues for the claims, names unique; several only with grid"
    )
    debaters: tuple[SpeakerConfig, ...] = Field(min_length=1, description="who weighs them, names unique")
    grid: bool = Field(default=False, description="every persuader talks to every debater")
    scenarios: tuple[Scenario, ...] = Field(
        SCENARIOS, min_length=1, description="none: no helper; fallacy: a fallacious helper; logical: a fair one"
    )
    rounds: int = Field(10, ge=1, le=50, description="most rounds of a debate")
    repetitions: int = Field(
        3, ge=1, le=100, description="debates on each claim in each scenario; three, as in the paper, are few"
    )
    talk: TalkConfig = Field(TalkConfig(), description="limits and sampling of messages")
    helper: HelperConfig = Field(HelperConfig(), description="who rewrites what the persuader drafts")
    moderators: ModeratorConfig = Field(description="who says after each round whether the debater is convinced")
    memory: MemoryConfig = Field(MemoryConfig(), description="what becomes of debates that are too long for a model")
    withhold_fallacies: bool = Field(
        default=False,
        description="keep fallacious texts out of debates.jsonl, report and tracking; the store keeps them",
        json_schema_extra=NOT_IN_DIGEST,
    )

    @model_validator(mode="after")
    def _names(self) -> Self:
        check_speaker_names(self.persuaders)
        check_speaker_names(self.debaters)
        if len(set(self.scenarios)) < len(self.scenarios):
            raise ValueError(f"scenario named twice: {', '.join(self.scenarios)}; name each once")
        if len(self.persuaders) > 1 and not self.grid:
            raise ValueError(
                f"{len(self.persuaders)} persuaders: set grid, and each talks to every debater, or leave one of them"
            )
        return self

    @model_validator(mode="after")
    def _repetitions_differ(self) -> Self:
        for pair in self.pairs if self.repetitions > 1 else []:
            if not any(draws_differ(capabilities_of(one.model), self.talk_of(one).sampling) for one in pair):
                raise ValueError(
                    f"{pair.persuader.name} and {pair.debater.name} talk at temperature 0, so {self.repetitions} "
                    "repetitions are the same debate; set talk.temperature, or repetitions to 1"
                )
        return self

    @model_validator(mode="after")
    def _helper_scores(self) -> Self:
        helpers = [self.helper.model or speaker.model for speaker in self.persuaders]
        mute = [model.label for model in helpers if not capabilities_of(model).score]
        if self.helper.kind == "score" and self.helped and mute:
            raise ValueError(f"helper.kind score: {mute[0]} does not score given texts; set helper.kind to json")
        return self

    @property
    def pairs(self) -> list[Talkers]:
        """Who talks to whom."""
        return [Talkers(persuader, debater) for persuader in self.persuaders for debater in self.debaters]

    @property
    def helped(self) -> list[Scenario]:
        """The scenarios in which a helper rewrites drafts."""
        return [scenario for scenario in self.scenarios if scenario != "none"]

    def talk_of(self, speaker: SpeakerConfig) -> TalkConfig:
        """Limits and sampling of one speaker, which may have a temperature of its own."""
        if speaker.temperature is None:
            return self.talk
        return self.talk.model_copy(update={"temperature": speaker.temperature})

    @property
    def models(self) -> list[ModelConfig]:
        """The models of persuaders and debaters, of helper and moderators."""
        asked = [speaker.model for speaker in (*self.persuaders, *self.debaters)]
        asked += [self.helper.model] if self.helper.model is not None and self.helped else []
        return [*asked, *self.judge_models]

    @property
    def judge_models(self) -> list[ModelConfig]:
        """The models of the moderators."""
        second = self.moderators.second
        return [self.moderators.model, *([] if second is None else [second])]


class OutcomesConfig(Config):
    """Figures of recorded outcomes, without a run."""

    outcomes: str = Field(
        description="run folder of this command, or the published logs of LOGICOM (outcomes alone, or whole debates)"
    )
    format: Literal["text", "json"] = Field("text", description="text: tables; json: plain values")
