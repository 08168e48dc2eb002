"""LoRA adapters beside the weights of one model: each token of a pass gets the change of its own request's adapter.

Nothing is merged, so one copy of the weights serves the base and all its adapters, in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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


class Stack:
    """The changes of all adapters of one linear layer, one below the other, so that one product serves several.

    Args:
        like: The layer's weight, for shape, dtype and device.

    Attributes:
        down: (ranks, in).
        up: (out, ranks).
        parts: Of each adapter its ranks and its scale.
        factors: Adapter and scale of each rank: layers for which they are equal share one mask.
    """

    def __init__(self, like: Tensor) -> None:
        self.down = like.new_empty((0, like.shape[1]))
        self.up = like.new_empty((like.shape[0], 0))
        self.parts: dict[int, tuple[slice, float]] = {}
        self.factors: tuple[tuple[int, float], ...] = ()

    def put(self, number: int, lora: Lora) -> None:
        """Add an adapter's change."""
        start = len(self.down)
        self.down = torch.cat([self.down, lora.down])
        self.up = torch.cat([self.up, lora.up], 1)
        self.parts[number] = (slice(start, len(self.down)), lora.scale)
        self.factors += ((number, lora.scale),) * len(lora.down)


@dataclass(slots=True)
class Selection:
    """Which rows of a pass belong to which adapter.

    Attributes:
        adapters: (rows,) number of each row's adapter, 0 for none.
        slices: The rows of each adapter, where they are neighbours.
        scattered: Whether those of some adapter are not; ``slices`` is empty then.
        masks: What each rank counts in each row (rows, ranks), by ``Stack.factors``.
    """

    adapters: Tokens
    slices: list[tuple[int, slice]] = field(default_factory=list)
    scattered: bool = False
    masks: dict[tuple[tuple[int, float], ...], Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, adapters: Tokens) -> Selection:
        """Look how rows lie: prompts of one adapter are neighbours in a pass, decoding replies lie as they came."""
        found = cls(adapters)
        for number in np.unique(adapters).tolist() if adapters.any() else ():
            rows = np.flatnonzero(adapters == number)
            found.scattered |= bool(number) and int(rows[-1] - rows[0]) + 1 != len(rows)
            if number:
                found.slices.append((number, slice(int(rows[0]), int(rows[-1]) + 1)))
        if found.scattered:
            found.slices.clear()
        return found

    def mask(self, stack: Stack) -> Tensor:
        """Return the mask of a layer's ranks."""
        factors = stack.factors
        if factors not in self.masks:
            owners, scales = np.array([number for number, _ in factors]), np.array([scale for _, scale in factors])
            mask = np.where(self.adapters[:, None] == owners, scales, 0.0)
            self.masks[factors] = torch.as_tensor(mask, dtype=stack.down.dtype, device=stack.down.device)
        return self.masks[factors]


class Adapters:
    """The adapters of one model. All calls come from the thread that runs the model.

    Args:
        model: A causal language model of the transformers library, its linear layers in their final places.
        head: Its output layer, which sees only the rows whose logits are wanted.
    """

    def __init__(self, model: nn.Module, head: nn.Module | None) -> None:
        self._model = model
        self._head = head
        self._stacks: dict[str, Stack] = {}
        self._body = self._wanted = Selection(np.empty(0, np.int64))

    def attach(self, number: int, loras: Mapping[str, Lora]) -> None:
        """Put an adapter beside the model.

        Args:
            number: Names it in ``select``; not 0.
            loras: Its changes by the names of the model's linear layers.
        """
        for name, lora in loras.items():
            if name not in self._stacks:
                layer = self._model.get_submodule(name)
                self._stacks[name] = Stack(layer.get_parameter("weight"))
                layer.register_forward_hook(self._hook(name, self._stacks[name], head=layer is self._head))
            self._stacks[name].put(number, lora)

    def select(self, adapters: Tokens, wanted: Tokens | None) -> None:
        """Say which rows of the next pass belong to which adapter.

        Args:
            adapters: (rows,) number of each row's adapter, 0 for none.
            wanted: The rows whose logits are wanted, or None for all.
        """
        self._body = self._wanted = Selection.of(adapters)
        if wanted is not None and adapters.any():
            self._wanted = Selection.of(adapters[wanted])

    def _hook(self, name: str, stack: Stack, *, head: bool) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
        def hook(_layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            selected = self._wanted if head else self._body
            if not (selected.slices or selected.scattered):
                return
            if output.shape[:2] != (1, len(selected.adapters)):
                raise RuntimeError(f"{name}: {tuple(output.shape)} is not one row for each token of the pass")
            if selected.scattered:
                # Every row through every adapter, all but its own masked: three small operations, where picking rows
                # out and adding them back would cost several times as much for each adapter.
                output[0].addmm_((inputs[0][0] @ stack.down.T).mul_(selected.mask(stack)), stack.up.T)
                return
            for number, rows in selected.slices:
                if number in stack.parts:
                    ranks, scale = stack.parts[number]
                    low = inputs[0][0, rows] @ stack.down[ranks].T
                    output[0, rows].addmm_(low, stack.up[:, ranks].T, alpha=scale)

        return hook
