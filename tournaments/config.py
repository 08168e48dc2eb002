"""Configurations that the tournament commands share, and that of a Swiss tournament."""

from __future__ import annotations

from collections import Counter
from typing import Literal, Self

from pydantic import Field, model_validator

from debate.agents.judge import JudgeConfig
from debate.config import NOT_IN_DIGEST, Config
from debate.models.limits import Price
from debate.models.load import ModelConfig
from debate.protocols import ProtocolConfig
from debate.question import Fold
from tournaments.matches import OutcomeKind
from tournaments.pairing import default_rounds, round_robin, schedule_is_round_robin
from tournaments.players import PlayerConfig, SpeechConfig


class QuestionsConfig(Config):
    """Which questions are debated."""

    source: str = Field(
        "shipped:stories", description="shipped:stories, quality:FILE, leval:FILE, nyu:FILE, questions:FILE"
    )
    fold: Fold | None = Field(None, description="judge, debater, validation or test; none for all")
    stories: int | None = Field(None, ge=1, description="at most so many stories")
    per_story: int | None = Field(None, ge=1, description="at most so many questions of a story")
    limit: int | None = Field(None, ge=1, description="at most so many questions")


class SelfPlayConfig(QuestionsConfig):
    """Questions on which every player debates itself, on other stories than cross-play: they measure the judge."""


class BudgetConfig(Config):
    """What the whole run may use, resumed sessions included."""

    max_calls: int | None = Field(None, ge=0, description="finished calls")
    max_tokens: int | None = Field(None, ge=0, description="tokens in and out")
    max_cost: float | None = Field(None, ge=0, description="dollars; every remote model needs a price then")


class PriceConfig(Config):
    """What a model costs, in dollars per million tokens."""

    input: float = Field(ge=0, description="prompt tokens")
    output: float = Field(ge=0, description="reply tokens")
    cached: float | None = Field(None, ge=0, description="prompt tokens from a cache")


class SwissConfig(QuestionsConfig):
    """A Swiss tournament."""

    players: tuple[PlayerConfig, ...] = Field(min_length=2, description="the field, names unique")
    judge: JudgeConfig = Field(description="who judges")
    protocol: ProtocolConfig = Field(ProtocolConfig(), description="how a debate goes")
    speech: SpeechConfig = Field(SpeechConfig(), description="limits and sampling of speeches")
    self_play: SelfPlayConfig | None = Field(None, description="self-play on other stories; none for no self-play")
    rounds: int | None = Field(None, ge=1, description="rounds of the tournament; default ceil(log2 players) + 2")
    questions: Literal["shared", "fresh"] = Field(
        "shared", description="shared: every match has the same questions; fresh: they are dealt out to the rounds"
    )
    outcome: OutcomeKind = Field("hard", description="hard: the likelier answer takes the point; soft: its probability")
    prior_sd: float = Field(500.0, gt=0, description="sd of the ratings' prior, in Elo")
    long_stories: Literal["refuse", "window"] = Field(
        "refuse", description="what to do with stories over a player's context: refuse to start, or show a window"
    )
    seed: int = Field(0, ge=0, description="draws, question choice and pairings follow from it")
    max_unparsed: float = Field(0.02, ge=0, le=1, description="share of unparsed verdicts above which the run fails")
    max_failed: float = Field(0.02, ge=0, le=1, description="share of failed debates above which the run fails")
    prompts: str | None = Field(None, description="folder whose templates take the place of the shipped ones")
    concurrency: int = Field(256, ge=1, description="debates under way at a time", json_schema_extra=NOT_IN_DIGEST)
    budget: BudgetConfig = Field(BudgetConfig(), description="when to stop", json_schema_extra=NOT_IN_DIGEST)
    prices: dict[str, PriceConfig] = Field({}, description="by model name", json_schema_extra=NOT_IN_DIGEST)

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = Counter(player.name for player in self.players)
        double = sorted(name for name, count in names.items() if count > 1)
        if double:
            raise ValueError(f"player named twice: {', '.join(double)}; give every player a name of its own")
        return self

    @property
    def tournament_rounds(self) -> int:
        """Rounds to be played: as asked or by default, no more than a round robin has."""
        n = len(self.players)
        rounds = self.rounds or default_rounds(n)
        return len(round_robin([str(index) for index in range(n)], 0)) if schedule_is_round_robin(n, rounds) else rounds

    @property
    def is_round_robin(self) -> bool:
        """Whether everybody meets everybody, instead of Swiss rounds."""
        n = len(self.players)
        return schedule_is_round_robin(n, self.rounds or default_rounds(n))

    @property
    def models(self) -> list[ModelConfig]:
        """The judge's model and those of the players."""
        return [model for model in (self.judge.model, *(p.model for p in self.players)) if model is not None]

    @property
    def price_table(self) -> dict[str, Price]:
        """Prices by model name."""
        return {name: Price(price.input, price.output, price.cached) for name, price in self.prices.items()}
