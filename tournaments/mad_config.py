"""The configuration of MAD, and which items it takes."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from debate.agents.debater import draws_differ
from debate.agents.open_judge import OpenJudgeConfig
from debate.errors import ConfigError
from debate.extensions import check_kind, load_extension
from debate.item import Item, Task
from debate.models.base import Sampling
from debate.models.load import ModelConfig, ModelField, capabilities_of
from debate.protocols.alone import METHODS, Method, Quality, agreement
from debate.sources.items import load_items
from debate.sources.select import rank
from tournaments.config import SessionConfig
from tournaments.mad_outcomes import Order
from tournaments.speakers import SpeakerConfig, check_speaker_names

#: Quality estimates that ship, for reranking.
QUALITIES: dict[str, Quality] = {"agreement": agreement}
_RESERVED = {"judge", "none"}


class MadConfig(SessionConfig):
    """A MAD run."""

    system: Literal["mad"] = Field(description="mad")
    source: str = Field(
        "shipped:counterintuitive", description="shipped:counterintuitive, shipped:ambiguity, items:FILE"
    )
    limit: int | None = Field(None, ge=1, description="at most so many items")
    speakers: tuple[SpeakerConfig, ...] = Field(
        min_length=2,
        max_length=8,
        description="the debaters in speaking order; of two the first is the affirmative and the second the negative",
    )
    judge: OpenJudgeConfig = Field(description="who says when an answer is clear, and extracts it")
    base: ModelField | None = Field(
        None, description="the model of the base answer and of all baselines; none for the first speaker's"
    )
    levels: tuple[Annotated[int, Field(ge=0, le=3)], ...] = Field(
        (1,), min_length=1, description="of tit for tat, from 0 (help each other) to 3 (disagree on every point)"
    )
    iterations: int = Field(3, ge=1, le=20, description="most iterations, in each of which everybody speaks once")
    forced: bool = Field(
        default=False, description="go on to the limit and extract an answer after every iteration; tells both"
    )
    orders: Literal["given", "both"] = Field(
        "given", description="both: each debate is held in the order of the speakers and in its reverse"
    )
    baselines: tuple[Method, ...] | None = Field(
        None,
        description="base, self_reflection, chain_of_thought, self_consistency (questions), rerank, "
        "analyse_then_translate (texts); none for all that fit the items",
    )
    samples: int | None = Field(
        None, ge=2, le=100, description="of self-consistency; none for as many as a debate takes calls at most"
    )
    candidates: int = Field(4, ge=2, le=100, description="of reranking")
    reflections: int | None = Field(
        None, ge=1, le=20, description="of self-reflection, after the base answer; none for as many as iterations"
    )
    quality: Annotated[str, AfterValidator(lambda kind: check_kind(kind, QUALITIES))] = Field(
        "agreement",
        description="estimates the quality of reranked answers: agreement (mean chrF against the others), or "
        "MODULE:FUNCTION, called with an item and its answers, which returns a number for each",
    )
    max_words: int = Field(120, ge=5, le=1000, description="most words of a speech, as its prompt says")
    max_tokens: int = Field(300, ge=1, description="longest reply of debaters and baselines, in tokens")
    temperature: float = Field(0.0, ge=0, le=2, description="of debaters and baselines")
    sample_temperature: float = Field(0.7, ge=0, le=2, description="of self-consistency and reranking")

    @model_validator(mode="after")
    def _can_be_held(self) -> Self:
        check_speaker_names(self.speakers)
        names = [speaker.name.casefold() for speaker in self.speakers]
        if len(set(names)) < len(names):
            raise ValueError("speakers: two names differ by case alone, which a judge may not tell; give them others")
        if taken := _RESERVED & set(names):
            raise ValueError(f"speakers: {min(taken)!r} has a meaning of its own to the judge; give another name")
        if len(set(self.levels)) < len(self.levels):
            raise ValueError("levels: one is named twice; keep one")
        sampled = self.drawn
        if not draws_differ(capabilities_of(self.base_model), sampled):
            raise ValueError("sample_temperature: samples at temperature 0 are as many times the same; set it above 0")
        if self.judge.kind == "letter" and not capabilities_of(self.judge.model).letters:
            raise ValueError(
                f"judge: {self.judge.model.label} gives no probabilities of letters; set judge.kind to form"
            )
        return self

    @property
    def base_model(self) -> ModelConfig:
        """The model of the base answer and of the baselines."""
        return self.base or self.speakers[0].model

    @property
    def models(self) -> list[ModelConfig]:
        """All models that are asked."""
        return [*(speaker.model for speaker in self.speakers), self.judge.model, self.base_model]

    @property
    def judge_models(self) -> list[ModelConfig]:
        """The judge's model."""
        return [self.judge.model]

    @property
    def kinds(self) -> list[str]:
        """The quality estimate, which may be an extension."""
        return [self.quality]

    @property
    def sampling(self) -> Sampling:
        """How debaters and baselines write."""
        return Sampling(self.max_tokens, self.temperature)

    @property
    def drawn(self) -> Sampling:
        """How several samples are drawn."""
        return Sampling(self.max_tokens, self.sample_temperature)

    @property
    def order_names(self) -> tuple[Order, ...]:
        """The orders that debates are held in."""
        return ("given", "reversed") if self.orders == "both" else ("given",)

    @property
    def debate_calls(self) -> int:
        """Most calls of one adaptive debate, a form that is read at once: the base answer, speeches, rulings."""
        ruling = 2 if self.judge.kind == "letter" else 1
        return 1 + self.iterations * (len(self.speakers) + ruling) + ruling

    @property
    def sample_count(self) -> int:
        """Samples of self-consistency."""
        return self.samples or max(2, self.debate_calls)

    @property
    def reflection_count(self) -> int:
        """Reflections after the base answer."""
        return self.reflections or self.iterations

    def estimate(self) -> Quality:
        """Return the quality estimate.

        Raises:
            ConfigError: One of one's own cannot be imported.
        """
        return QUALITIES[self.quality] if self.quality in QUALITIES else load_extension(self.quality)

    def methods(self, task: Task) -> tuple[Method, ...]:
        """Return the baselines that are run on items of a task.

        Raises:
            ConfigError: One that was named does not fit the task.
        """
        fitting = METHODS[task]
        if self.baselines is None:
            return fitting
        odd = [method for method in self.baselines if method not in fitting]
        if odd:
            raise ConfigError(
                f"baselines: {odd[0]} is not for items of the task {task}; those that are: {', '.join(fitting)}"
            )
        return self.baselines


def choose_items(config: MadConfig) -> list[Item]:
    """Load the items and choose some, the same ones for the same seed; a larger limit chooses more beside them.

    Raises:
        SourceError: The source is wrong or empty.
    """
    items = load_items(config.source)
    return sorted(items, key=lambda item: rank(config.seed, "item", item.id))[: config.limit]
