"""LoRA adapters of a local model: which folder fits which model, and what is in it."""

from __future__ import annotations

import copy
import json
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from debate.card import CARD, read_card
from debate.errors import ConfigError, ModelAccessError
from debate.models.adapter_folder import adapter_folder
from debate.models.embedded import HUB_ID
from debate.models.embedded import NAME as EMBEDDED

if TYPE_CHECKING:
    from peft.tuners.lora import LoraLayer
    from torch import Tensor, nn

    from debate.models.lora import Lora

WEIGHTS = "adapter_model.safetensors"
CONFIG = "adapter_config.json"
# What peft puts before a layer's name in the weights' file, and what it calls the adapter here.
_PREFIX = "base_model.model."
_NAME = "default"
# The options of an adapter that is more than LoRA matrices on linear layers, and the values that each may have.
_PLAIN: dict[str, tuple[object, ...]] = {
    "bias": ("none",),
    "init_lora_weights": (True, False, "gaussian", "orthogonal", "eva"),  # others change the base too
}
# Options that leave the matrices what they are.
_HARMLESS = frozenset(
    {
        *("alpha_pattern", "auto_mapping", "base_model_name_or_path", "corda_config", "eva_config", "exclude_modules"),
        *("fan_in_fan_out", "inference_mode", "layers_pattern", "layers_to_transform", "lora_alpha", "lora_dropout"),
        *("loftq_config", "megatron_config", "megatron_core", "peft_type", "peft_version", "qalora_group_size", "r"),
        *("rank_pattern", "revision", "runtime_config", "target_modules", "task_type", "use_rslora"),
    }
)
# The one layer that a reward model has instead of the output layer, and peft's name for such a model.
HEAD = f"{_PREFIX}score.weight"
_REWARD = "SEQ_CLS"
# What peft trains and saves whole in such a model, whichever of them it has.
_HEADS = frozenset({"score", "classifier"})
_HUB_ID = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def find_adapter(adapter: str, base: str) -> Path:
    """Find an adapter's folder and hold that it was made for a model, as far as that takes no weights.

    Args:
        adapter: Its folder, or another name of ``adapter_folder``.
        base: The model's name in a configuration.

    Returns:
        The folder.

    Raises:
        ModelAccessError: It is no folder of a LoRA adapter of a causal language model or of a reward model on one.
        ConfigError: Its card or its configuration says that it was trained on another model.
    """
    folder = adapter_folder(adapter)
    missing = [name for name in (CONFIG, WEIGHTS) if not (folder / name).is_file()]
    if missing:
        raise ModelAccessError(
            f"adapter {adapter}: {' and '.join(missing)} missing; give the folder that a training command or peft's "
            "save_pretrained wrote"
        )
    config = _read_config(folder / CONFIG)
    kind, task = config.get("peft_type"), config.get("task_type")
    if kind != "LORA" or task not in {None, "CAUSAL_LM", _REWARD}:
        raise ModelAccessError(
            f"adapter {adapter}: its {CONFIG} says peft_type {kind}, task_type {task}; a LORA adapter of a CAUSAL_LM "
            f"is needed, or of a reward model ({_REWARD})"
        )
    saved = config.get("modules_to_save")
    if task == _REWARD and isinstance(saved, list) and set(saved) <= _HEADS:
        config = config | {"modules_to_save": None}
    more = [
        f"{name} {config[name]}"
        for name in sorted(config)
        if name not in _HARMLESS and config[name] and config[name] not in _PLAIN.get(name, ())
    ]
    if more:
        raise ModelAccessError(
            f"adapter {adapter}: {', '.join(more)} in its {CONFIG}: only LoRA matrices on linear layers can be put "
            "beside a base; train it without, or merge it into the base with peft and name the merged folder"
        )
    _check_base(folder, config, base)
    return folder


def is_reward(folder: Path) -> bool:
    """Whether an adapter makes a reward model: one number for a whole exchange in place of next tokens."""
    return _read_config(folder / CONFIG).get("task_type") == _REWARD


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


def read_adapter(folder: Path, model: nn.Module) -> dict[str, Lora]:
    """Read a LoRA adapter's weights for a model, which stays as it is.

    Args:
        folder: What ``find_adapter`` returned.
        model: A causal language model of the transformers library, on its device.

    Returns:
        What the adapter adds to each linear layer that it changes, by the layer's name, in the model's dtype and on its
        device.

    Raises:
        ModelAccessError: The adapter does not fit the model, or changes more than linear layers.
    """
    from safetensors.torch import load_file

    from debate.models.lora import Lora

    try:
        layers = _adapted_layers(folder, model)
        given = load_file(folder / WEIGHTS)
    except (OSError, ValueError, RuntimeError, TypeError, KeyError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise _misfit(folder, " ".join(lines[:2])) from error
    shapes: dict[str, tuple[int, ...]] = {}
    for name, layer in layers.items():
        for part, matrix in (("lora_A", layer.lora_A), ("lora_B", layer.lora_B)):
            shapes[f"{_PREFIX}{name}.{part}.weight"] = tuple(matrix.get_parameter(f"{_NAME}.weight").shape)
    if is_reward(folder):
        given.pop(HEAD, None)
    odd = sorted(name for name in set(shapes) ^ set(given) if not _is_base_weight(name, given.get(name), model))
    if odd:
        raise _misfit(folder, f"{len(odd)} weights are in only one of them, such as {odd[0]}")
    for name, shape in shapes.items():
        if tuple(given[name].shape) != shape:
            raise _misfit(folder, f"size mismatch for {name}: {tuple(given[name].shape)}, the model's {shape}")
        if not given[name].isfinite().all():  # in a mixed batch they would reach other requests
            raise ModelAccessError(f"adapter {folder}: {name} is not finite; its training failed, so train it again")
    like = next(model.parameters())
    return {
        name: Lora(
            given[f"{_PREFIX}{name}.lora_A.weight"].to(like),
            given[f"{_PREFIX}{name}.lora_B.weight"].to(like),
            float(layer.scaling[_NAME]),
        )
        for name, layer in layers.items()
    }


def read_head(folder: Path, size: int) -> Tensor:
    """Read a reward model's head.

    Args:
        folder: What ``find_adapter`` returned, of a reward model (``is_reward``).
        size: Of the model's final states.

    Returns:
        (size,) in float32: a final state's product with it is the reward.

    Raises:
        ModelAccessError: It is not among the weights, of another size, or not finite.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        head = load_file(folder / WEIGHTS).get(HEAD)
    except (OSError, SafetensorError) as error:
        raise _misfit(folder, str(error)) from error
    if head is None:
        raise ModelAccessError(
            f"adapter {folder}: its head ({HEAD}) is not in {WEIGHTS}, and without the one that was trained every "
            "score is noise; train again with modules_to_save: [score] in peft's configuration"
        )
    if tuple(head.shape) != (1, size):
        raise _misfit(folder, f"its head is {tuple(head.shape)}; one of {(1, size)} is needed")
    if not head.isfinite().all():
        raise ModelAccessError(f"adapter {folder}: {HEAD} is not finite; its training failed, so train it again")
    return head[0].float()


def _adapted_layers(folder: Path, model: nn.Module) -> dict[str, LoraLayer]:
    """Let peft say which layers an adapter changes, and by what factor, on a copy of the model without weights."""
    import torch
    from peft import LoraConfig, get_peft_model
    from peft.tuners.lora import LoraLayer
    from transformers import AutoModelForCausalLM, PreTrainedModel

    if not isinstance(model, PreTrainedModel):
        raise TypeError(f"{type(model).__name__} is no model of the transformers library")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # among libraries
        with torch.device("meta"):
            copied = AutoModelForCausalLM.from_config(copy.deepcopy(model.config))  # type: ignore[no-untyped-call]  # theirs
        lora = LoraConfig.from_pretrained(str(folder))
        lora.task_type = lora.modules_to_save = None  # of a reward model: its head is none of the causal model's
        adapted = get_peft_model(copied, lora, _NAME, low_cpu_mem_usage=True)
    found = {}
    for name, layer in adapted.get_base_model().named_modules():
        if isinstance(layer, LoraLayer):
            base = layer.get_base_layer()
            if type(base) is not torch.nn.Linear or ".experts." in name:  # experts see rows in an order of their own
                raise ValueError(f"it changes {name}, of type {type(base).__name__}, and only linear layers can be")
            found[name] = layer
    return found


def _is_base_weight(name: str, value: Tensor | None, model: nn.Module) -> bool:
    """Whether an adapter's weight is a copy of the model's own: peft adds embeddings that it holds for changed."""
    own = dict(model.named_parameters(remove_duplicate=False)).get(
        name.removeprefix(_PREFIX).replace(".base_layer.", ".")
    )
    return value is not None and own is not None and value.shape == own.shape and bool((value.to(own) == own).all())


def _misfit(folder: Path, why: str) -> ModelAccessError:
    return ModelAccessError(f"adapter {folder} does not fit the model: {why}; name the model that it was trained on")
