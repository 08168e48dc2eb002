"""Variants of one player: the same debater under optimizers of several sizes and several preference models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from debate.agents.judge import JudgeConfig
from debate.extensions import is_extension
from tournaments.contexts import thinks
from tournaments.optimizer_calls import Need, Reply, need
from tournaments.optimizing import OptimizerConfig
from tournaments.players import PlayerConfig

Match = Literal["matched", "same model", "held out"]


@dataclass(frozen=True, slots=True)
class Variant:
    """One player under optimizers.

    Attributes:
        name: What debates and tables call it, such as "N=8, K=2".
        n: Speeches of which one is chosen.
        critiques: Critiques of the chosen one, K; 0 for none.
        preference: The preference model.
        player: The configuration, under the name of the base: so all variants draw in one stream and share their
            samples, the first of sixteen being the one of best-of-1.
        plays: Whether it debates others. A base is there once for each preference model, which scores its speeches in
            self-play; only the first one debates.
    """

    name: str
    n: int
    critiques: int
    preference: JudgeConfig
    player: PlayerConfig
    plays: bool = True

    @property
    def is_base(self) -> bool:
        """Whether nothing is chosen and nothing criticised."""
        return self.n == 1 and not self.critiques

    @property
    def need(self) -> Need:
        """What each speech takes, where the opponent speaks at the same time."""
        return self.need_for("alike")

    def need_for(self, reply: Reply) -> Need:
        """What each speech takes, by how the opponent replies."""
        return need(self.player, judge=self.preference, reply=reply)

    @property
    def expert_calls(self) -> int:
        """Calls of a speech to models that read the story and write: speeches, critiques, refinements.

        Best-of-N takes N; critique-and-refine 1 + K + 1; both together N + K + 1.
        """
        wanted = self.need
        return wanted.samples + wanted.refinements + sum(count for _, count in wanted.critiques)

    @property
    def preference_calls(self) -> int:
        """Verdicts of the preference model on a speech's candidates, and choices among critiques."""
        return sum(count for _, count in (*self.need.scores, *self.need.choices))


def make_variants(
    player: PlayerConfig,
    sizes: Iterable[tuple[int, int]],
    preferences: Sequence[JudgeConfig],
    **common: object,
) -> list[Variant]:
    """Make all variants of a player.

    Args:
        player: The base, without optimizers.
        sizes: N and K of each variant beside the base.
        preferences: The preference models; each variant is there under each.
        **common: Keys of ``OptimizerConfig`` that all have, such as ``orders``; ``critic`` is for critiques alone.

    Returns:
        The base first, then for each preference model the variants in order.
    """
    critic = common.pop("critic", None)
    found: list[Variant] = []
    for place, likes in enumerate(preferences):
        for n, critiques in dict.fromkeys(((1, 0), *sizes)):
            shared = {"preference": likes, **common}
            optimizers: list[OptimizerConfig] = []
            if n > 1 or not critiques:
                optimizers.append(OptimizerConfig.model_validate({"kind": "best_of_n", "n": n, **shared}))
            if critiques:
                own = {} if critic is None else {"critic": critic}
                tree = {"kind": "critique_refine", "critiques": critiques, **own, **shared}
                optimizers.append(OptimizerConfig.model_validate(tree))
            parts = [*([f"N={n}"] if n > 1 or not critiques else []), *([f"K={critiques}"] if critiques else [])]
            name = ", ".join(parts)
            if len(preferences) > 1 and not (place == 0 and (n, critiques) == (1, 0)):
                name += f" by {likes.label}"
            config = player.model_copy(update={"optimizer": tuple(optimizers)})
            found.append(Variant(name, n, critiques, likes, config, plays=place == 0 or (n, critiques) != (1, 0)))
    return found


def match_of(preference: JudgeConfig, judge: JudgeConfig) -> Match:
    """Say whether a judge is the preference model.

    Names, servers and whatever else changes no verdict do not count.

    Args:
        preference: The preference model.
        judge: The judge.

    Returns:
        ``matched``: it is; ``same model``: the same weights, or the same code where there is no model, asked in another
        way; ``held out``: neither.
    """
    if _weights(preference) != _weights(judge):
        return "held out"
    return "matched" if _asks(preference) == _asks(judge) else "same model"


def _weights(judge: JudgeConfig) -> tuple[str, str | None]:
    return (judge.kind, None) if judge.model is None else (judge.model.name, judge.model.adapter)


def _asks(judge: JudgeConfig) -> dict[str, object]:
    """What of a judge decides its verdicts, beside its weights."""
    if thinks(judge) or is_extension(judge.kind):
        return judge.model_dump(exclude={"name", "model"})
    return {"kind": judge.kind}  # it reads probabilities: no sampling, no votes
