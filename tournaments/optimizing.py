"""Optimizers of players: what a configuration says of them, and how they are put around a debater."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from debate.agents.critic import MAX_CRITIQUES, CritiqueChooser, ModelCritic
from debate.agents.debater import Debater, Limits
from debate.agents.judge import KINDS, JudgeConfig, build_judge
from debate.config import Config
from debate.errors import ConfigError
from debate.extensions import check_kind
from debate.models.base import Model, Sampling
from debate.models.load import ModelConfig, ModelField, capabilities_of, kind_of
from debate.prompts import Prompts
from optimizers.best_of_n import BestOfN
from optimizers.critique_refine import CritiqueRefine
from optimizers.preference import JudgePreference, Orders, Preference, Sampled
from optimizers.reward import RewardPreference

#: The kind of a preference model that is no judge.
REWARD = "reward"


class PreferenceConfig(JudgeConfig):
    """A preference model: any judge, or a reward model."""

    kind: Annotated[str, AfterValidator(lambda kind: check_kind(kind, (*KINDS, REWARD)))] = Field(
        "letter",
        description="as of a judge; or reward: a reward model, an adapter that training.finetune_preference made",
    )

    @model_validator(mode="after")
    def _has_a_head(self) -> Self:
        if self.kind != REWARD or self.model is None:
            return self
        kind = kind_of(self.model.name)
        if kind == "remote":
            raise ValueError(
                f"a reward model runs on this machine, and {self.model.name} is behind a server; name embedded/… or "
                "hf/… with the adapter that training.finetune_preference made"
            )
        if kind != "scripted" and self.model.adapter is None:
            raise ValueError(
                f"{self.model.name} alone gives no rewards; name the adapter that training.finetune_preference made "
                "(model.adapter)"
            )
        return self


class OptimizerConfig(Config):
    """An optimizer around a player."""

    kind: Literal["best_of_n", "critique_refine"] = Field(
        description="best_of_n: of n speeches the preference model chooses one; critique_refine: a speech is "
        "criticised and written anew, and kept if the preference model likes it better"
    )
    n: int = Field(8, ge=1, le=1024, description="speeches of which one is chosen (best_of_n)")
    preference: PreferenceConfig | None = Field(
        None, description="the preference model; none for the judge of the debates"
    )
    orders: Orders = Field("both", description="both: scored in both orders of the answers; single: in the shown one")
    opponent: Literal["hidden", "sampled"] = Field(
        "hidden", description="the opponent's speech of the round: hidden, or replies are sampled from its own model"
    )
    replies: int = Field(4, ge=1, le=64, description="replies that are sampled (opponent: sampled)")
    case: Literal["mean", "worst"] = Field("mean", description="of sampled replies: the mean score, or the worst")
    critiques: int = Field(2, ge=1, le=MAX_CRITIQUES, description="critiques of a speech (critique_refine)")
    critic: ModelField | None = Field(None, description="the critic's model; none for the player's own")
    rounds: int = Field(1, ge=1, le=10, description="times that a speech is criticised (critique_refine)")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        # A run's own configuration, as it is gone on with, names every key: what stands at its default says nothing.
        given = {name for name, field in type(self).model_fields.items() if getattr(self, name) != field.default}
        foreign = {"best_of_n": ("critiques", "critic", "rounds"), "critique_refine": ("n",)}[self.kind]
        if given & set(foreign):
            named = ", ".join(name for name in foreign if name in given)
            raise ValueError(f"{named}: not of {self.kind}; leave out, or choose the other kind")
        if self.opponent == "hidden" and {"replies", "case"} & given:
            raise ValueError("replies and case are for opponent: sampled; set it, or leave them out")
        rewards = self.preference is not None and self.preference.kind == REWARD
        if rewards and (self.opponent == "sampled" or self.orders == "single"):
            raise ValueError(
                "a reward model reads the speech itself, in one frame for both orders and before any reply to it; "
                "leave orders, opponent, replies and case out"
            )
        return self

    def likes(self, judge: JudgeConfig) -> JudgeConfig:
        """Return the preference model: its own, or the judge of the debates."""
        return self.preference or judge

    def chooser(self, judge: JudgeConfig) -> ModelConfig | None:
        """Return the model that chooses among critiques, or None for the player's own.

        It is that of the preference model, or, where that is a reward model or has none, the critic's.
        """
        likes = self.likes(judge)
        return self.critic if likes.kind == REWARD else likes.model or self.critic


def check_uses(models: Sequence[ModelConfig], rewards: Sequence[ModelConfig]) -> None:
    """Hold that what gives rewards is a reward model, and what speaks and judges is none.

    Args:
        models: All models of a run, each as often as it is named.
        rewards: Those of them that are named to give rewards.

    Raises:
        ConfigError: One is of the other kind.
    """
    others = list(models)
    for model in rewards:
        others.remove(model)
        if not capabilities_of(model).reward:
            raise ConfigError(
                f"preference of kind {REWARD}: {model.label} is no reward model; name the adapter that "
                "training.finetune_preference made, or choose another kind"
            )
    for model in others:
        if capabilities_of(model).reward:
            raise ConfigError(
                f"{model.label} is a reward model, which neither speaks nor judges; it can be the preference of an "
                f"optimizer (preference: {{kind: {REWARD}, model: …}})"
            )


def optimize(
    debater: Debater,
    optimizers: Sequence[OptimizerConfig],
    *,
    judge: JudgeConfig,
    model: Model | None,
    open_model: Callable[[ModelConfig], Model],
    prompts: Prompts,
    limits: Limits,
    sampling: Sampling,
) -> Debater:
    """Put optimizers around a debater, the first one innermost.

    Args:
        debater: The debater.
        optimizers: What to put around it.
        judge: The judge of the debates: the preference model where none is named.
        model: The player's model, or None.
        open_model: Opens the models of critics and preference models.
        prompts: Templates.
        limits: The player's limits.
        sampling: How the player writes.

    Returns:
        The debater with all optimizers.

    Raises:
        ConfigError: One does not go with the player.
        ModelAccessError: A model cannot be had.
    """
    for config in optimizers:
        preference = _preference(config, judge, open_model, prompts)
        if config.kind == "best_of_n":
            debater = BestOfN(debater, preference, n=config.n, limits=limits)
            continue
        critic_model = model if config.critic is None else open_model(config.critic)
        named = config.chooser(judge)
        chooser_model = model if named is None else open_model(named)
        debater = CritiqueRefine(
            debater,
            preference,
            critic=_critic(critic_model, prompts, sampling),
            chooser=None if chooser_model is None else CritiqueChooser(chooser_model, prompts=prompts),
            model=model,
            prompts=prompts,
            limits=limits,
            sampling=sampling,
            critiques=config.critiques,
            rounds=config.rounds,
        )
    return debater


def _preference(
    config: OptimizerConfig, judge: JudgeConfig, open_model: Callable[[ModelConfig], Model], prompts: Prompts
) -> Preference:
    likes = config.likes(judge)
    model = None if likes.model is None else open_model(likes.model)
    if likes.kind == REWARD and model is not None:
        return RewardPreference(model, name=likes.label, prompts=prompts)
    sampled = Sampled(config.replies, config.case) if config.opponent == "sampled" else None
    return JudgePreference(build_judge(likes, model, prompts), orders=config.orders, sampled=sampled)


def _critic(model: Model | None, prompts: Prompts, sampling: Sampling) -> ModelCritic:
    if model is None:
        raise ConfigError("critique_refine needs a model for its critic; name one (critic), or give the player one")
    return ModelCritic(model, prompts=prompts, sampling=sampling)
