"""Configurations that the tournament commands share, and those of each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from debate.agents.critic import MAX_CRITIQUES
from debate.agents.debater import draws_differ
from debate.agents.judge import JudgeConfig
from debate.config import NOT_IN_DIGEST, Config
from debate.extensions import is_extension
from debate.models.limits import Price
from debate.models.load import ModelConfig, ModelField, capabilities_of
from debate.models.prices import PriceConfig, price_table
from debate.protocols import BaselineName, ProtocolConfig
from debate.question import DistractorChoice, Fold
from debate.tracking import TrackingConfig
from optimizers.preference import Orders
from tournaments.matches import OutcomeKind
from tournaments.optimizing import REWARD, PreferenceConfig
from tournaments.pairing import default_rounds, round_robin, schedule_is_round_robin
from tournaments.players import PlayerConfig, SpeechConfig
from tournaments.variants import Variant, make_variants


def _texts(tags: object) -> object:
    # YAML reads true and 3 as more than text, and every tag is text.
    if not isinstance(tags, dict):
        return tags
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, int) else value
        for key, value in tags.items()
    }


#: Tags of debates, by which some are chosen.
Tags = Annotated[dict[str, str], BeforeValidator(_texts)]


class QuestionsConfig(Config):
    """Which questions are debated."""

    source: str = Field(
        "shipped:stories",
        description="shipped:stories, dossiers:N?seed=S, quality:FILE, leval:FILE, nyu:FILE, questions:FILE, run:DIR",
    )
    fold: Fold | None = Field(None, description="judge, debater, validation or test; none for all")
    stories: int | None = Field(None, ge=1, description="at most so many stories")
    skip: int = Field(
        0, ge=0, description="so many stories that the seed would choose first are left out, as another run has them"
    )
    per_story: int | None = Field(None, ge=1, description="at most so many questions of a story")
    limit: int | None = Field(None, ge=1, description="at most so many questions")
    distractor: DistractorChoice = Field(
        "source",
        description="of more than two answers, which stands against the right one: source: the one the source names, "
        "else a drawn one; drawn: always a drawn one; closest: the one worded most like the right answer",
    )


class SelfPlayConfig(QuestionsConfig):
    """Questions on which every player debates itself, on other stories than cross-play: they measure the judge."""


class BudgetConfig(Config):
    """What the whole run may use, resumed sessions included."""

    max_calls: int | None = Field(None, ge=0, description="finished calls")
    max_tokens: int | None = Field(None, ge=0, description="tokens in and out")
    max_cost: float | None = Field(None, ge=0, description="dollars; every remote model needs a price then")


class SessionConfig(Config):
    """What every command that asks models has."""

    seed: int = Field(0, ge=0, description="draws, question choice and pairings follow from it")
    max_unparsed: float = Field(0.02, ge=0, le=1, description="share of unparsed verdicts above which the run fails")
    max_failed: float = Field(0.02, ge=0, le=1, description="share of failed debates above which the run fails")
    prompts: str | None = Field(None, description="folder whose templates take the place of the shipped ones")
    concurrency: int = Field(256, ge=1, description="debates under way at a time", json_schema_extra=NOT_IN_DIGEST)
    budget: BudgetConfig = Field(BudgetConfig(), description="when to stop", json_schema_extra=NOT_IN_DIGEST)
    prices: dict[str, PriceConfig] = Field(
        {}, description="by model name; these go before others", json_schema_extra=NOT_IN_DIGEST
    )
    prices_file: str | None = Field(
        None,
        description="file of more prices, like debate/models/prices.yaml, which has OpenAI's list prices",
        json_schema_extra=NOT_IN_DIGEST,
    )
    wandb: TrackingConfig = Field(TrackingConfig(), description="tracking", json_schema_extra=NOT_IN_DIGEST)

    @property
    def models(self) -> list[ModelConfig]:
        """All models that are asked."""
        return []

    @property
    def judge_models(self) -> list[ModelConfig]:
        """Those of them that score debates, and so must not have been trained on their stories."""
        return []

    @property
    def reward_models(self) -> list[ModelConfig]:
        """Those of them that are named to give rewards, and nothing else."""
        return []

    @property
    def kinds(self) -> list[str]:
        """The kinds of players, judges and protocol, some of which may be extensions."""
        return []

    @property
    def example_files(self) -> list[str]:
        """Files of example speeches that players are shown."""
        return []

    @property
    def price_table(self) -> dict[str, Price]:
        """Prices by model name: the configuration's, the file's, and list prices of models at OpenAI."""
        return price_table(self.models, self.prices, self.prices_file)


class OutcomeConfig(Config):
    """What a verdict counts."""

    outcome: OutcomeKind = Field("hard", description="hard: the likelier answer takes the point; soft: its probability")


class RatingConfig(OutcomeConfig):
    """How verdicts become ratings."""

    prior_sd: float = Field(500.0, gt=0, description="sd of the ratings' prior, in Elo")


class FieldConfig(SessionConfig, QuestionsConfig, OutcomeConfig):
    """A field of players before a judge."""

    players: tuple[PlayerConfig, ...] = Field(min_length=1, description="the field, names unique")
    judge: JudgeConfig = Field(description="who judges")
    protocol: ProtocolConfig = Field(ProtocolConfig(), description="how a debate goes")
    speech: SpeechConfig = Field(
        SpeechConfig(), description="limits and sampling of speeches; in consultancies up to 300 words and 1000 tokens"
    )
    baselines: tuple[BaselineName, ...] = Field(
        (), description="blind: the judge decides from the question alone; expert: it reads the story; both give PGR"
    )
    long_stories: Literal["refuse", "window"] = Field(
        "refuse", description="what to do with stories over a player's context: refuse to start, or show a window"
    )

    @model_validator(mode="before")
    @classmethod
    def _consultants_may_say_more(cls, tree: object) -> object:
        if not isinstance(tree, dict):
            return tree
        protocol, speech = tree.get("protocol", cls.model_fields["protocol"].default), tree.get("speech", {})
        kind = protocol.get("kind") if isinstance(protocol, dict) else getattr(protocol, "kind", None)
        if "consultancy" in str(kind) and isinstance(speech, dict):
            return {**tree, "speech": {"max_words": 300, "max_tokens": 1000, **speech}}
        return tree

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = Counter(player.name for player in self.players)
        double = sorted(name for name, count in names.items() if count > 1)
        if double:
            raise ValueError(f"player named twice: {', '.join(double)}; give every player a name of its own")
        return self

    @model_validator(mode="after")
    def _judge_can_speak(self) -> Self:
        # A protocol of one's own may do without a judge that speaks, and is given none then.
        if self.protocol.judge_speaks and self.questioner_model is None and not is_extension(self.protocol.kind):
            raise ValueError(
                f"protocol {self.protocol.kind}: the judge speaks, and this judge has no model to speak with; set "
                "protocol.questioner.model, or judge.model"
            )
        return self

    @model_validator(mode="after")
    def _samples_differ(self) -> Self:
        for player in self.players:
            sampling = (player.speech or self.speech).sampling
            n = max((one.n for one in player.optimizer if one.kind == "best_of_n"), default=1)
            if n > 1 and player.model is not None and sampling.temperature == 0:
                if draws_differ(capabilities_of(player.model), sampling):
                    continue
                raise ValueError(
                    f"player {player.name!r}: best of {n} at temperature 0 is {n} times the same speech; set "
                    "speech.temperature (0.8 in Khan et al. 2024), or leave best_of_n out"
                )
            for one in player.optimizer:
                critic = one.critic or player.model
                if one.kind != "critique_refine" or one.critiques == 1 or critic is None:
                    continue
                if not draws_differ(capabilities_of(critic), sampling):
                    raise ValueError(
                        f"player {player.name!r}: {one.critiques} critiques at temperature 0 are as many times the "
                        "same critique; set speech.temperature, or critiques to 1"
                    )
        return self

    @property
    def example_files(self) -> list[str]:
        """Files of example speeches that players are shown."""
        return list(dict.fromkeys(player.examples for player in self.players if player.examples is not None))

    @property
    def questioner_model(self) -> ModelConfig | None:
        """The model of the judge that speaks; None where the protocol has no such judge, or nothing to speak with."""
        return (self.protocol.questioner.model or self.judge.model) if self.protocol.judge_speaks else None

    @property
    def models(self) -> list[ModelConfig]:
        """The models of the judge, of the judge that speaks, of the players and of their optimizers."""
        asked = [self.judge.model, *(player.model for player in self.players), self.questioner_model]
        asked += [critic for player in self.players for critic in (one.critic for one in player.optimizer)]
        return [model for model in (*asked, *(likes.model for likes in self._preferences)) if model is not None]

    @property
    def judge_models(self) -> list[ModelConfig]:
        """The judge's model, that of the judge that speaks, and preference models."""
        scoring = (self.judge.model, self.questioner_model, *(likes.model for likes in self._preferences))
        return [model for model in scoring if model is not None]

    @property
    def reward_models(self) -> list[ModelConfig]:
        """The reward models among the preference models."""
        return _reward_models(self._preferences)

    @property
    def kinds(self) -> list[str]:
        """The kinds of players, judges, preference models and protocol."""
        judges = (self.judge, *self._preferences)
        return [self.protocol.kind, *(judge.kind for judge in judges), *(player.kind for player in self.players)]

    @property
    def _preferences(self) -> list[JudgeConfig]:
        named = (optimizer.preference for player in self.players for optimizer in player.optimizer)
        return [preference for preference in named if preference is not None]


class SwissConfig(FieldConfig, RatingConfig):
    """A Swiss tournament."""

    players: tuple[PlayerConfig, ...] = Field(min_length=2, description="the field, names unique")
    self_play: SelfPlayConfig | None = Field(None, description="self-play on other stories; none for no self-play")
    rounds: int | None = Field(None, ge=1, description="rounds of the tournament; default ceil(log2 players) + 2")
    questions: Literal["shared", "fresh"] = Field(
        "shared", description="shared: every match has the same questions; fresh: they are dealt out to the rounds"
    )

    @model_validator(mode="after")
    def _debates(self) -> Self:
        if self.protocol.speakers != 2:
            raise ValueError(
                f"a tournament sets two speakers against each other, and a {self.protocol.kind} has one; measure "
                "consultants with python -m tournaments.consultancy, or use protocol.kind double_consultancy"
            )
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


class ConsultancyConfig(FieldConfig):
    """A field of consultants, each of which argues alone."""

    protocol: ProtocolConfig = Field(ProtocolConfig(kind="consultancy"), description="how a consultancy goes")

    @model_validator(mode="after")
    def _consultancies(self) -> Self:
        if self.protocol.speakers != 1:
            raise ValueError(
                f"consultants speak alone, and a {self.protocol.kind} has two speakers; hold it with python -m "
                "tournaments.swiss, or use protocol.kind consultancy"
            )
        return self


def _reward_models(preferences: Iterable[JudgeConfig]) -> list[ModelConfig]:
    return [likes.model for likes in preferences if likes.kind == REWARD and likes.model is not None]


Size = Annotated[int, Field(ge=1, le=1024)]


class CompareConfig(SessionConfig, QuestionsConfig, RatingConfig):
    """One player under optimizers of several sizes, on the same questions, before several judges."""

    player: PlayerConfig = Field(description="the player, without an optimizer")
    n: tuple[Size, ...] = Field((1, 2, 4, 8, 16), description="best-of-N: speeches of which one is chosen")
    critiques: tuple[Annotated[int, Field(ge=0, le=MAX_CRITIQUES)], ...] = Field(
        (0, 2, 8), description="critique-and-refine: critiques of a speech, K; 0 for none"
    )
    together: tuple[tuple[Size, Annotated[int, Field(ge=1, le=MAX_CRITIQUES)]], ...] = Field(
        (), description="both: [N, K], the best of N is criticised; it takes N + K + 1 expert calls"
    )
    preferences: tuple[PreferenceConfig, ...] = Field(
        min_length=1, description="preference models; each variant has each"
    )
    judges: tuple[JudgeConfig, ...] = Field(
        min_length=1, description="who judges: the preference models themselves, and others that are held out"
    )
    orders: Orders = Field("both", description="both: scored in both orders of the answers; single: in the shown one")
    opponent: Literal["hidden", "sampled"] = Field("hidden", description="as in an optimizer")
    replies: int | None = Field(None, ge=1, le=64, description="replies that are sampled (opponent: sampled)")
    case: Literal["mean", "worst"] | None = Field(None, description="of sampled replies: the mean score, or the worst")
    critic: ModelField | None = Field(None, description="the critic's model; none for the player's own")
    protocol: ProtocolConfig = Field(ProtocolConfig(), description="how a debate goes; one with two speakers")
    speech: SpeechConfig = Field(SpeechConfig(), description="limits and sampling of speeches")
    long_stories: Literal["refuse", "window"] = Field(
        "refuse", description="what to do with stories over the player's context: refuse to start, or show a window"
    )

    @model_validator(mode="after")
    def _comparable(self) -> Self:
        if self.player.optimizer:
            raise ValueError("player.optimizer: the variants' optimizers are made from n, critiques and together")
        if self.player.model is None:
            raise ValueError(f"player {self.player.name!r} has no model, so all its speeches are one; give it a model")
        if self.protocol.speakers != 2:
            raise ValueError(f"variants debate the base, and a {self.protocol.kind} has one speaker; use another kind")
        if len(self.sizes) < 2:
            raise ValueError("there is nothing beside N = 1 to compare; add to n, critiques or together")
        for what, judges in (("preference", self.preferences), ("judge", self.judges)):
            double = sorted(name for name, count in Counter(one.label for one in judges).items() if count > 1)
            if double:
                raise ValueError(f"{what} named twice: {', '.join(double)}; give every {what} a name of its own")
        self.field(self.judges[0])  # holds what every field must hold
        return self

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """N and K of every variant, the base first."""
        alone = [*((n, 0) for n in sorted(self.n)), *((1, critiques) for critiques in sorted(self.critiques))]
        return list(dict.fromkeys([(1, 0), *alone, *self.together]))

    @property
    def variants(self) -> list[Variant]:
        """All variants, the base first."""
        options = {"opponent": self.opponent, "replies": self.replies, "case": self.case, "critic": self.critic}
        given = {name: value for name, value in options.items() if value is not None}
        return make_variants(self.player, self.sizes, self.preferences, orders=self.orders, **given)

    def field(self, judge: JudgeConfig) -> FieldConfig:
        """The field in which the player stands before a judge, under the largest of its optimizers."""
        largest = max(self.variants, key=lambda variant: (variant.n, variant.critiques))
        shared = {name: getattr(self, name) for name in SessionConfig.model_fields | QuestionsConfig.model_fields}
        return FieldConfig(
            **shared,
            outcome=self.outcome,
            players=(largest.player,),
            judge=judge,
            protocol=self.protocol,
            speech=self.speech,
            long_stories=self.long_stories,
        )

    @property
    def models(self) -> list[ModelConfig]:
        """The models of the player, of critics, preference models and judges."""
        asked = (self.player.model, self.critic, self.field(self.judges[0]).questioner_model)
        return [*(model for model in asked if model is not None), *self._judging]

    @property
    def judge_models(self) -> list[ModelConfig]:
        """The models of judges, of the judge that speaks, and of preference models."""
        speaking = self.field(self.judges[0]).questioner_model
        return [*([] if speaking is None else [speaking]), *self._judging]

    @property
    def reward_models(self) -> list[ModelConfig]:
        """The reward models among the preference models."""
        return _reward_models(self.preferences)

    @property
    def kinds(self) -> list[str]:
        """The kinds of player, judges, preference models and protocol."""
        return [self.protocol.kind, self.player.kind, *(judge.kind for judge in (*self.judges, *self.preferences))]

    @property
    def example_files(self) -> list[str]:
        """The file of example speeches that the player is shown."""
        return [] if self.player.examples is None else [self.player.examples]

    @property
    def _judging(self) -> list[ModelConfig]:
        return [judge.model for judge in (*self.judges, *self.preferences) if judge.model is not None]


class RejudgeConfig(SessionConfig, RatingConfig):
    """More judges for debates that are recorded, or none: then what is there is rated at once."""

    sources: tuple[str, ...] = Field((), description="run folders (DIR or run:DIR), published debates (nyu:FILE)")
    judge: JudgeConfig | None = Field(None, description="who judges, where it is one judge; none for no calls at all")
    judges: tuple[JudgeConfig, ...] = Field((), description="who judges, where they are several")
    keep: bool = Field(
        default=True, description="keep the verdicts that the sources have, each judge's beside the others"
    )
    limit: int | None = Field(
        None,
        ge=1,
        description="about so many debates, spread over the stories; those on one question by the same players are "
        "drawn together, so there may be a few more",
    )
    fold: Fold | None = Field(None, description="only debates on stories of this fold")
    tags: Tags = Field({}, description="only debates with these tags, such as included_in_paper: true")

    @property
    def all_judges(self) -> list[JudgeConfig]:
        """Every judge that is asked."""
        return [*([] if self.judge is None else [self.judge]), *self.judges]

    @model_validator(mode="after")
    def _some_judge(self) -> Self:
        if not self.all_judges and not self.keep:
            raise ValueError("no judge, and keep: false leaves no verdict; give a judge by --judge.model NAME")
        names = Counter(judge.label for judge in self.all_judges)
        double = sorted(name for name, count in names.items() if count > 1)
        if double:
            raise ValueError(f"judge named twice: {', '.join(double)}; give every judge a name of its own")
        return self

    @property
    def models(self) -> list[ModelConfig]:
        """The judges' models."""
        return [judge.model for judge in self.all_judges if judge.model is not None]

    @property
    def judge_models(self) -> list[ModelConfig]:
        """The same: nobody else is asked."""
        return self.models

    @property
    def kinds(self) -> list[str]:
        """The kinds of the judges."""
        return [judge.kind for judge in self.all_judges]
