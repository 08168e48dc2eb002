"""LoRA adapters beside the weights of one model: each token of a pass gets the change of its own request's adapter.

Nothing is merged, so one copy of the weights serves the base and all its adapters, in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from debate.models.prefixes import Tokens


class Lora(NamedTuple):
    """What an adapter adds to a linear layer's output of x: ``scale * (x down^T) up^T`` (Hu et al. 2021, equation 3).

    Attributes:
        down: (rank, in), peft's ``lora_A``.
        up: (out, rank), peft's ``lora_B``.
        scale: alpha / rank, or alpha / sqrt(rank) where the adapter is rank-stabilised.
    """

    down: Tensor
    up: Tensor
    scale: float


class Part(NamedTuple):
    """The rows of a pass that belong to one adapter: neighbours as a slice, others by their indices."""

    adapter: int
    rows: slice | Tensor


def parts_of(adapters: Tokens, device: torch.device) -> list[Part]:
    """Cut the rows of a pass by adapter.

    Args:
        adapters: (rows,) number of each row's adapter, 0 for none.
        device: Where the pass runs.

    Returns:
        One part for each adapter; rows without one are in no part.
    """
    parts = []
    for number in np.unique(adapters).tolist() if adapters.any() else ():
        if number:
            rows = np.flatnonzero(adapters == number)
            first, last = int(rows[0]), int(rows[-1]) + 1
            whole = last - first == len(rows)
            parts.append(Part(number, slice(first, last) if whole else torch.as_tensor(rows, device=device)))
    return parts


class Adapters:
    """The adapters of one model. All calls come from the thread that runs the model.

    Args:
        model: A causal language model of the transformers library, its linear layers in their final places.
        head: Its output layer, which sees only the rows whose logits are wanted.
    """

    def __init__(self, model: nn.Module, head: nn.Module | None) -> None:
        self._model = model
        self._head = head
        self._changes: dict[str, dict[int, Lora]] = {}
        self._rows: dict[bool, tuple[int, list[Part]]] = {False: (0, []), True: (0, [])}  # True: of the head

    def attach(self, number: int, loras: Mapping[str, Lora]) -> None:
        """Put an adapter beside the model.

        Args:
            number: Names it in ``select``; not 0.
            loras: Its changes by the names of the model's linear layers.
        """
        for name, lora in loras.items():
            if name not in self._changes:
                self._changes[name] = {}
                layer = self._model.get_submodule(name)
                layer.register_forward_hook(self._hook(name, self._changes[name], head=layer is self._head))
            self._changes[name][number] = lora

    def select(self, adapters: Tokens, wanted: Tokens | None, device: torch.device) -> None:
        """Say which rows of the next pass belong to which adapter.

        Args:
            adapters: (rows,) number of each row's adapter, 0 for none.
            wanted: The rows whose logits are wanted, or None for all.
            device: Where the pass runs.
        """
        parts = parts_of(adapters, device)
        self._rows[False] = self._rows[True] = (len(adapters), parts)
        if wanted is not None and parts:
            self._rows[True] = (len(wanted), parts_of(adapters[wanted], device))

    def _hook(
        self, name: str, changes: Mapping[int, Lora], *, head: bool
    ) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
        def hook(_layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            rows, parts = self._rows[head]
            for part in parts:
                lora = changes.get(part.adapter)
                if lora is None:
                    continue
                if output.shape[:2] != (1, rows):
                    raise RuntimeError(f"{name}: {tuple(output.shape)} is not one row for each of {rows} tokens")
                _add(inputs[0][0], output[0], part.rows, lora)

        return hook


def _add(inputs: Tensor, output: Tensor, rows: slice | Tensor, lora: Lora) -> None:
    """Add an adapter's change to some rows of a layer's output, in place."""
    if isinstance(rows, slice):
        output[rows].addmm_(inputs[rows] @ lora.down.T, lora.up.T, alpha=lora.scale)
    else:
        output.index_add_(0, rows, (inputs.index_select(0, rows) @ lora.down.T) @ lora.up.T, alpha=lora.scale)
