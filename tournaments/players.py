"""Players: named debater configurations, and how a debater is made from one. Every command makes its players here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple, Protocol, Self

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, model_validator

from debate.agents.debater import Debater, FreeDebater, Limits
from debate.agents.evidence import EvidenceFirstDebater
from debate.agents.extractive import ExtractiveDebater
from debate.agents.judge import JudgeConfig
from debate.config import Config
from debate.errors import ConfigError
from debate.extensions import check_kind, is_extension, load_extension
from debate.models.base import Model, Sampling
from debate.models.load import ModelConfig, ModelField, kind_of
from debate.prompts import Prompts
from debate.windows import Windowed
from tournaments.few_shot import read_examples
from tournaments.optimizing import OptimizerConfig, optimize


class SpeechConfig(Config):
    """Limits of a speech, and how it is sampled."""

    min_words: int = Field(70, ge=1, description="fewest words of a valid speech")
    max_words: int = Field(150, ge=1, description="most words of a valid speech")
    max_attempts: int = Field(3, ge=1, le=20, description="attempts at a valid speech")
    max_tokens: int = Field(600, ge=1, description="longest reply of a model, thinking included, in tokens")
    temperature: float = Field(0.8, ge=0, le=2, description="sampling temperature")
    top_p: float = Field(1.0, gt=0, le=1, description="nucleus of sampling")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_words > self.max_words:
            raise ValueError(f"min_words {self.min_words} is more than max_words {self.max_words}")
        return self

    @property
    def limits(self) -> Limits:
        """What makes a speech valid."""
        return Limits(self.min_words, self.max_words, min_quotes=1, max_attempts=self.max_attempts)

    @property
    def sampling(self) -> Sampling:
        """How a model writes it."""
        return Sampling(self.max_tokens, self.temperature, self.top_p)


KINDS = ("free", "evidence_first", "extractive")


def _listed(value: object) -> object:
    """One optimizer is short for a list of one; null for none."""
    return () if value is None else (value,) if isinstance(value, Mapping) else value


class PlayerConfig(Config):
    """A player: a debater or a consultant, as the protocol has it."""

    name: str = Field(min_length=1, max_length=60, description="unique in its field")
    kind: Annotated[str, AfterValidator(lambda kind: check_kind(kind, KINDS))] = Field(
        "free",
        description="free: writes from the story; evidence_first: picks quotes by likelihood, writes around them; "
        "extractive: no model, quotes by shared words; or MODULE:FUNCTION",
    )
    model: ModelField | None = Field(None, description="its model: a name, or a mapping; none for extractive")
    speech: SpeechConfig | None = Field(None, description="its own limits and sampling, instead of the tournament's")
    quotes: int = Field(1, ge=1, le=5, description="quotes in a speech (evidence_first and extractive)")
    drafts: int = Field(
        1, ge=1, le=32, description="explanations it chooses from by its own likelihood (evidence_first)"
    )
    spread: float = Field(
        0.0,
        ge=0,
        description="how far its candidates after the first stray from the strongest quotes, in nats (evidence_first); "
        "0: all have the same, so best-of-N chooses among wordings alone",
    )
    examples: str | None = Field(
        None,
        min_length=1,
        description="file of speeches on other stories that it is shown first (free): a YAML or JSON list with "
        "question, answers, story, argument, seat",
    )
    options: dict[str, JsonValue] = Field({}, description="whatever a debater of your own takes")
    optimizer: Annotated[tuple[OptimizerConfig, ...], BeforeValidator(_listed)] = Field(
        (), description="what makes its speeches better: one optimizer, or a list, the first innermost"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.kind == "extractive" and self.model is not None:
            raise ValueError(f"player {self.name!r} is extractive, which takes no model; leave model out")
        if self.options and not is_extension(self.kind):
            raise ValueError(f"player {self.name!r}: options are for a debater of your own; {self.kind} has none")
        if self.kind in {"free", "evidence_first"} and self.model is None:
            raise ValueError(f"player {self.name!r} is {self.kind} and needs a model, such as embedded/smollm2-135m")
        if self.examples is not None and self.kind != "free":
            raise ValueError(
                f"player {self.name!r}: examples are for kind free, which writes as they do; {self.kind} takes none, "
                "leave examples out"
            )
        if self.drafts > 1 and self.model is not None and kind_of(self.model.name) == "remote":
            raise ValueError(
                f"player {self.name!r}: drafts are chosen between by the model's own likelihood, which "
                f"{self.model.name} does not give (no server does); leave drafts out, or use a local model"
            )
        if self.spread > 0 and self.kind != "evidence_first":
            raise ValueError(
                f"player {self.name!r}: spread is for kind evidence_first, which ranks quotes; {self.kind} does not, "
                "leave spread out"
            )
        if self.spread > 0 and self.model is not None and kind_of(self.model.name) == "remote":
            raise ValueError(
                f"player {self.name!r}: spread is in nats of the model's own likelihood, which {self.model.name} does "
                "not give (no server does); leave spread out, or use a local model"
            )
        if self.model is None and any(optimizer.kind == "critique_refine" for optimizer in self.optimizer):
            raise ValueError(
                f"player {self.name!r} has no model that could write a speech anew; give it one, or leave "
                "critique_refine out"
            )
        if any(ord(character) < 32 for character in self.name):
            raise ValueError(f"player name {self.name!r} holds a control character")
        return self

    def reads_story(self, *, scores: bool) -> bool:
        """Whether its prompts hold the whole story.

        Args:
            scores: Whether its model scores, so that evidence is found sentence by sentence.
        """
        return self.kind == "free" or is_extension(self.kind) or (self.kind == "evidence_first" and not scores)

    def needs_story(self, *, scores: bool) -> bool:
        """Whether it reads the whole story, or what is around it does: critics and refinements.

        Args:
            scores: As for ``reads_story``.
        """
        refines = any(optimizer.kind == "critique_refine" for optimizer in self.optimizer)
        return refines or self.reads_story(scores=scores)


class Parts(NamedTuple):
    """What a debater is made of.

    Attributes:
        model: Its model, or None where the configuration names none.
        limits: What makes a speech of it valid.
        sampling: How a model writes it.
        prompts: The run's templates.
    """

    model: Model | None
    limits: Limits
    sampling: Sampling
    prompts: Prompts


class ModelSource(Protocol):
    """Where a player's model comes from: the run's models, or something that watches them."""

    def get(self, config: ModelConfig) -> Model:
        """Return the model of a configuration."""
        ...


def build_player(
    config: PlayerConfig,
    *,
    speech: SpeechConfig,
    models: ModelSource,
    prompts: Prompts,
    judge: JudgeConfig,
    story_tokens: int | None = None,
) -> Debater:
    """Make the debater that a configuration describes, with its optimizers around it.

    Args:
        config: The player.
        speech: The tournament's limits and sampling, where the player has none of its own.
        models: The run's open models.
        prompts: Templates.
        judge: The judge of the debates: the preference model of optimizers that name none.
        story_tokens: Longest story shown to a player whose prompts hold it, in its model's tokens; longer stories are
            windowed (``debate.windows``). None shows every story whole.

    Returns:
        The debater. One of your own is made by ``FUNCTION(config, parts)``, see ``Parts``.

    Raises:
        ConfigError: The player is inconsistent, or cannot be imported.
        ModelAccessError: Its model cannot be had.
    """
    speech = config.speech or speech
    model = None if config.model is None else models.get(config.model)
    debater = _base(config, Parts(model, speech.limits, speech.sampling, prompts))
    if config.optimizer:
        debater = optimize(
            debater,
            config.optimizer,
            judge=judge,
            model=model,
            open_model=models.get,
            prompts=prompts,
            limits=speech.limits,
            sampling=speech.sampling,
        )
    # Outermost: critics and refinements read the story too.
    if story_tokens is not None and model is not None and config.needs_story(scores=model.capabilities.score):
        return Windowed(debater, model, story_tokens)
    return debater


def _base(config: PlayerConfig, parts: Parts) -> Debater:
    """The debater without optimizers."""
    model, limits, sampling, prompts = parts
    if is_extension(config.kind):
        made: Debater = load_extension(config.kind)(config, parts)
        return made
    if config.kind == "extractive":
        return ExtractiveDebater(name=config.name, limits=limits, quotes=config.quotes)
    if model is None:  # the configuration has checked this; a caller of its own may not have
        raise ConfigError(f"player {config.name!r} needs a model")
    if config.kind == "free":
        examples = () if config.examples is None else read_examples(config.examples)
        return FreeDebater(
            model, name=config.name, prompts=prompts, limits=limits, sampling=sampling, examples=examples
        )
    return EvidenceFirstDebater(
        model,
        name=config.name,
        prompts=prompts,
        limits=limits,
        sampling=sampling,
        quotes=config.quotes,
        drafts=config.drafts,
        spread=config.spread,
    )
