"""Optimizers of players: what a configuration says of them, and how they are put around a debater."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Self

from pydantic import Field, model_validator

from debate.agents.critic import MAX_CRITIQUES, CritiqueChooser, ModelCritic
from debate.agents.debater import Debater, Limits
from debate.agents.judge import JudgeConfig, build_judge
from debate.config import Config
from debate.errors import ConfigError
from debate.models.base import Model, Sampling
from debate.models.load import ModelConfig, ModelField
from debate.prompts import Prompts
from optimizers.best_of_n import BestOfN
from optimizers.critique_refine import CritiqueRefine
from optimizers.preference import JudgePreference, Orders, Sampled


class OptimizerConfig(Config):
    """An optimizer around a player."""

    kind: Literal["best_of_n", "critique_refine"] = Field(
        description="best_of_n: of n speeches the preference model chooses one; critique_refine: a speech is "
        "criticised and written anew, and kept if the preference model likes it better"
    )
    n: int = Field(8, ge=1, le=1024, description="speeches of which one is chosen (best_of_n)")
    preference: JudgeConfig | None = Field(None, description="the preference model; none for the judge of the debates")
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
        foreign = {"best_of_n": ("critiques", "critic", "rounds"), "critique_refine": ("n",)}[self.kind]
        given = [name for name in foreign if name in self.model_fields_set]
        if given:
            raise ValueError(f"{', '.join(given)}: not of {self.kind}; leave out, or choose the other kind")
        if self.opponent == "hidden" and {"replies", "case"} & self.model_fields_set:
            raise ValueError("replies and case are for opponent: sampled; set it, or leave them out")
        return self


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
        likes = config.preference or judge
        scorer = build_judge(likes, None if likes.model is None else open_model(likes.model), prompts)
        sampled = Sampled(config.replies, config.case) if config.opponent == "sampled" else None
        preference = JudgePreference(scorer, orders=config.orders, sampled=sampled)
        if config.kind == "best_of_n":
            debater = BestOfN(debater, preference, n=config.n, limits=limits)
            continue
        critic_model = model if config.critic is None else open_model(config.critic)
        chooser_model = critic_model if likes.model is None else open_model(likes.model)
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


def _critic(model: Model | None, prompts: Prompts, sampling: Sampling) -> ModelCritic:
    if model is None:
        raise ConfigError("critique_refine needs a model for its critic; name one (critic), or give the player one")
    return ModelCritic(model, prompts=prompts, sampling=sampling)
