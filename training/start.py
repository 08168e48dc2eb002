"""The adapter that a training goes on from: its weights, and the stories that it has seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import JsonValue

from debate.card import Card, read_card
from debate.errors import ConfigError
from debate.models.adapter_folder import adapter_folder
from training.fitting import AdapterSettings, Base, add_adapter, load_base

if TYPE_CHECKING:
    from peft import PeftModel


class Settings(Protocol):
    """What is read of a configuration."""

    @property
    def start(self) -> str | None: ...  # noqa: D102
    @property
    def adapter(self) -> AdapterSettings: ...  # noqa: D102
    @property
    def seed(self) -> int: ...  # noqa: D102


def load_start(base: Base, settings: Settings, dtype: Any, attention: str) -> PeftModel:
    """Load the base with the adapter that fitting starts from: a new one, or one that was trained before.

    Args:
        base: The base.
        settings: With ``start``, the name of an adapter, whose rank and layers then hold.
        dtype: Of the base.
        attention: What transformers calls the way to compute attention.

    Raises:
        ConfigError: The adapter is of another base.
        ModelAccessError: It is not there.
    """
    if settings.start is None:
        return add_adapter(load_base(base, dtype, attention), base, settings.adapter, settings.seed)
    from peft import PeftModel

    folder = find_start(settings.start, base.name)
    model = load_base(base, dtype, attention)
    try:
        loaded: PeftModel = PeftModel.from_pretrained(model, str(folder), is_trainable=True)
    except (RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(
            f"start: the adapter in {folder} does not fit {base.name}: {reason}; name its base"
        ) from error
    loaded.peft_config["default"].base_model_name_or_path = str(base.folder)
    return loaded


def find_start(start: str, base: str) -> Path:
    """Find the folder of the adapter that a training goes on from.

    Args:
        start: The adapter's name.
        base: The base's, in a configuration.

    Raises:
        ConfigError: The adapter is of another base, or a reward model.
        ModelAccessError: It is not there.
    """
    from debate.models.adapter import find_adapter, is_reward

    folder = find_adapter(start, base)
    if is_reward(folder):
        raise ConfigError(
            f"start: the adapter in {folder} is a reward model, which neither speaks nor judges; name an adapter of a "
            "judge or debater"
        )
    return folder


def adapter_facts(settings: Settings) -> dict[str, JsonValue]:
    """Return what kind of adapter is trained, for its card: one that is gone on with keeps its rank and layers."""
    own: dict[str, JsonValue] = settings.adapter.model_dump(mode="json")
    if settings.start is None:
        return own
    kept = json.loads((adapter_folder(settings.start) / "adapter_config.json").read_text(encoding="utf-8"))
    named = {"r": "r", "alpha": "lora_alpha", "dropout": "lora_dropout", "targets": "target_modules"}
    return own | {name: kept[theirs] for name, theirs in named.items() if theirs in kept}


def cards_from(start: str | None, own: Card) -> list[Card]:
    """Return what a training will have seen: its own card, and that of the adapter that it starts from if it has one.

    Args:
        start: The adapter's name, or None.
        own: The card of the rows alone.

    Raises:
        ConfigError: The adapter is none to go on from on the card's base.
        ModelAccessError: It is not there.
    """
    before = None if start is None else read_card(find_start(start, own.base))
    return [own] if before is None else [own, before]


def with_start(start: str | None, own: Card) -> Card:
    """Return a card with the stories that the adapter saw which training starts from."""
    stories = (story for card in cards_from(start, own) for story in card.stories)
    return own.model_copy(update={"stories": tuple(dict.fromkeys(stories))})
