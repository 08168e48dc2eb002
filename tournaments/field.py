"""A field of players before a judge: what is noted beforehand, and the arena that holds and judges its debates."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from debate.agents.judge import build_judge
from debate.agents.questioner import ModelQuestioner
from debate.errors import ContextError
from debate.models.load import EMBEDDED, Models
from debate.prompts import Prompts
from debate.protocols import Baseline, build_protocol
from debate.run_folder import RunFolder
from tournaments.config import FieldConfig
from tournaments.matches import Arena
from tournaments.plan import Plan
from tournaments.players import build_player

UNTRAINED = (
    "The judge is the embedded model as it was published: nobody has trained it to judge, it is near chance and "
    "follows the order of the answers. This run shows that everything works; it says little about who argues better."
)


def check_lengths(config: FieldConfig, plan: Plan) -> None:
    """Hold that stories fit the players' contexts, unless the configuration allows windows.

    Raises:
        ContextError: They do not.
    """
    if plan.too_long and config.long_stories == "refuse":
        raise ContextError(
            _long_stories(plan) + "; set long_stories: window to show them in part, or use another model"
        )


def _long_stories(plan: Plan) -> str:
    return "; ".join(
        f"player {name!r}: {count} stories exceed the {plan.story_tokens[name]} tokens that its model's context leaves"
        for name, count in sorted(plan.too_long.items())
    )


def notes_for(config: FieldConfig, plan: Plan) -> list[str]:
    """What a reader of the results must know first."""
    judge_model = config.judge.model
    notes = [UNTRAINED] if judge_model is not None and judge_model.label == EMBEDDED else []
    notes.extend(plan.notes)
    if plan.too_long:
        notes.append(f"{_long_stories(plan)}; there they read a window of the story.")
    return notes


def build_arena(
    config: FieldConfig,
    plan: Plan,
    *,
    models: Models,
    prompts: Prompts,
    run: RunFolder,
    progress: Callable[[], None],
) -> Arena:
    """Open the models of a field, and make the arena of its debates.

    Args:
        config: The field.
        plan: Its plan, which says whose stories are too long.
        models: The run's models.
        prompts: Templates.
        run: The run.
        progress: Called after each debate.

    Returns:
        The arena.

    Raises:
        DissoiError: A model cannot be opened, or is not what it was when the run began.
    """
    debaters = {
        player.name: build_player(
            player,
            speech=config.speech,
            models=models,
            prompts=prompts,
            judge=config.judge,
            story_tokens=plan.story_tokens.get(player.name) if player.name in plan.too_long else None,
        )
        for player in config.players
    }
    judge = build_judge(config.judge, None if config.judge.model is None else models.get(config.judge.model), prompts)
    questioner = None
    if config.questioner_model is not None:
        model = models.get(config.questioner_model)
        questioner = ModelQuestioner(model, name=judge.name, prompts=prompts, config=config.protocol.questioner)
    run.keep_models(models.facts)
    return Arena(
        protocol=build_protocol(config.protocol, questioner),
        debaters=debaters,
        judge=judge,
        store=run.store,
        seed=config.seed,
        slots=asyncio.Semaphore(config.concurrency),
        progress=progress,
    )


def baseline_arenas(config: FieldConfig, arena: Arena) -> dict[str, Arena]:
    """The arenas of a field's baselines, by name: the same judge, and nobody speaks."""
    return {name: arena.with_protocol(Baseline(name)) for name in config.baselines}
