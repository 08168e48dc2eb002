"""What a training leaves behind: an adapter beside its card, and a merged model for servers."""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debate.card import Card, write_card
from debate.errors import StoreError
from debate.models import adapter_folder
from debate.models.adapter import CONFIG, WEIGHTS
from debate.models.embedded import HUB_ID
from debate.models.embedded import NAME as EMBEDDED
from training.fitting import Base, TrainingError, hub_id_of, load_base

if TYPE_CHECKING:
    from peft import PeftModel
    from torch import Tensor

ADAPTER = adapter_folder.OWN
MERGED = "merged"


def save_adapter(model: PeftModel, folder: Path, state: dict[str, Tensor] | None = None) -> None:
    """Save an adapter in bfloat16, as models load it by ``adapter: FOLDER``.

    Args:
        model: With one adapter.
        folder: Where; what is there is replaced.
        state: All weights, where they are spread over processes.

    Raises:
        TrainingError: A weight is not finite.
        StoreError: It cannot be written.
    """
    import torch
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    weights = get_peft_model_state_dict(model, state_dict=state, save_embedding_layers=False)
    for name, weight in weights.items():
        if not bool(weight.isfinite().all()):
            raise TrainingError(f"weight {name} of the adapter is not finite after training; lower fit.learning_rate")
    saved = {name: weight.detach().to("cpu", torch.bfloat16).contiguous() for name, weight in weights.items()}
    config = copy.deepcopy(model.peft_config["default"])
    config.inference_mode = True
    base = Path(config.base_model_name_or_path or "")
    if base.is_dir():
        config.base_model_name_or_path = hub_id_of(base)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        config.save_pretrained(str(folder))
        save_file(saved, folder / WEIGHTS, metadata={"format": "pt"})
    except OSError as error:
        raise StoreError(f"cannot write the adapter into {folder}: {error.strerror or error}") from error


def save_card(folder: Path, card: Card) -> None:
    """Write a card beside weights: for commands ``dissoi.json``, and in words ``README.md``, as the hub reads it.

    Args:
        folder: Of an adapter, or of a whole model.
        card: The card.
    """
    write_card(folder, card)
    lines = [
        "---",
        f"base_model: {_hub_name(card.base)}",
        f"library_name: {'peft' if (folder / CONFIG).is_file() else 'transformers'}",
        "---",
        "",
        f"# A {card.kind} on {card.base}",
        "",
        f"Trained on {len(card.stories)} stories, which `dissoi.json` names; sha256 of the rows `{card.data}`.",
        "",
        *(f"- {name}: {_in_words(value)}" for name, value in card.facts.items()),
    ]
    (folder / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _hub_name(base: str) -> str:
    """What the hub calls a base, by its name in a configuration; see ``hub_id_of``."""
    path = base.removeprefix("hf/")
    if base == EMBEDDED:
        return HUB_ID
    return hub_id_of(Path(path).expanduser()) if Path(path).expanduser().is_dir() else path


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_in_words(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return "[" + ", ".join(map(_in_words, value)) + "]"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def save_merged(base: Base, adapter: Path, folder: Path, card: Card) -> None:
    """Save base and adapter as one model, with its tokenizer, for servers that load no adapters.

    Args:
        base: The base, which is loaded once more: merging needs its weights as they were.
        adapter: The folder of the saved adapter.
        folder: Where; what is there is replaced.
        card: The adapter's.
    """
    import torch
    from peft import PeftModel
    from transformers import AutoTokenizer

    model: Any = PeftModel.from_pretrained(load_base(base, torch.float32), str(adapter))
    if folder.exists():
        shutil.rmtree(folder)
    model.merge_and_unload().to(torch.bfloat16).save_pretrained(str(folder))
    AutoTokenizer.from_pretrained(str(base.folder), local_files_only=True).save_pretrained(str(folder))
    save_card(folder, card)
