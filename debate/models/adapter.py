"""LoRA adapters on a local model: which folder fits which model, and merging one into the weights."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from debate.card import CARD, read_card
from debate.errors import ConfigError, ModelAccessError
from debate.models.embedded import HUB_ID
from debate.models.embedded import NAME as EMBEDDED

if TYPE_CHECKING:
    import torch

WEIGHTS = "adapter_model.safetensors"
CONFIG = "adapter_config.json"
_HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def find_adapter(adapter: str, base: str) -> Path:
    """Find an adapter's folder and hold that it was made for a model, as far as that takes no weights.

    Args:
        adapter: Its folder.
        base: The model's name in a configuration.

    Returns:
        The folder.

    Raises:
        ModelAccessError: It is no folder of a LoRA adapter of a causal language model.
        ConfigError: Its card or its configuration says that it was trained on another model.
    """
    folder = Path(adapter).expanduser()
    missing = [name for name in (CONFIG, WEIGHTS) if not (folder / name).is_file()]
    if missing:
        raise ModelAccessError(
            f"adapter {adapter}: {' and '.join(missing)} missing; give the folder that a training command or peft's "
            "save_pretrained wrote"
        )
    config = _read_config(folder / CONFIG)
    kind, task = config.get("peft_type"), config.get("task_type")
    if kind != "LORA" or task not in {None, "CAUSAL_LM"}:
        raise ModelAccessError(
            f"adapter {adapter}: its {CONFIG} says peft_type {kind}, task_type {task}; a LORA adapter of a CAUSAL_LM "
            "is needed"
        )
    _check_base(folder, config, base)
    return folder


def _read_config(path: Path) -> dict[str, object]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelAccessError(f"cannot read {path}: {error}; restore it from a copy or train again") from error
    return config if isinstance(config, dict) else {}


def _check_base(folder: Path, config: dict[str, object], base: str) -> None:
    """Refuse another model than the card names, or, where there is no card, than the adapter's own configuration.

    That configuration may hold a path of another machine, which says nothing; so only hub ids are compared.
    """
    card = read_card(folder)
    if card is not None:
        trained, own, field = card.base, base, f"base in {folder / CARD}"
    else:
        trained = str(config.get("base_model_name_or_path") or "")
        own = HUB_ID if base == EMBEDDED else base.removeprefix("hf/")
        field = f"base_model_name_or_path in {folder / CONFIG}"
        if not (_is_hub_id(trained) and _is_hub_id(own)):
            return
    if trained != own:
        raise ConfigError(
            f"adapter {folder} was trained on {trained!r}, not on {own!r}; name the model that it was trained on, or, "
            f"if this is the same model under another name, correct {field}"
        )


def _is_hub_id(name: str) -> bool:
    return _HUB_ID.fullmatch(name) is not None and not Path(name).exists()


def merge_adapter(model: torch.nn.Module, folder: Path) -> torch.nn.Module:
    """Merge a LoRA adapter into the weights of its base model, in place.

    Args:
        model: A causal language model of the transformers library, on its device.
        folder: What ``find_adapter`` returned.

    Returns:
        The model with the adapter's change in its weights, without peft's wrappers.

    Raises:
        ModelAccessError: The adapter does not fit the model.
    """
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors import safe_open

    device = str(next(model.parameters()).device)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of weights without a place, which are looked for below, and among libraries
            adapted = PeftModel.from_pretrained(model, str(folder), torch_device=device)
        with safe_open(folder / WEIGHTS, framework="pt") as file:
            given = set(file.keys())
    except (OSError, ValueError, RuntimeError, TypeError, KeyError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]  # torch lists every weight
        raise ModelAccessError(
            f"adapter {folder} does not fit the model: {' '.join(lines[:2])}; name the model that it was trained on"
        ) from error
    # peft only warns of weights that it finds no place or no value for; the model would run as if it were untrained.
    wanted = set(get_peft_model_state_dict(adapted, save_embedding_layers=False))
    odd = sorted((wanted - given) | (given - wanted - set(adapted.state_dict())))
    if odd:
        raise ModelAccessError(
            f"adapter {folder} does not fit the model: {len(odd)} weights are in only one of them, such as {odd[0]}; "
            "name the model that it was trained on"
        )
    merged: torch.nn.Module = adapted.merge_and_unload()
    return merged
