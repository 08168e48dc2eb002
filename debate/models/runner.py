"""Forward passes of one transformers model: packed rows with a shared prefix, and decoding steps.

Any causal model whose layers all attend to everything before them works (Llama, Qwen, SmolLM, Mistral without a
window): attention goes through `debate.models.attention`, the rest is the model's own code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from debate.errors import ModelAccessError
from debate.models import attention
from debate.models.attention import Layout, Packed
from debate.models.packing import pack
from debate.models.prefixes import PrefixStore, Tokens
from debate.models.slots import KVShape, Slots

if TYPE_CHECKING:
    from transformers import PreTrainedConfig


@dataclass(frozen=True, slots=True)
class Row:
    """One sequence to run through the model.

    Attributes:
        tokens: Token ids.
        wanted: How many last positions' logits are wanted, at least 1.
        keep: Whether the sequence's keys and values are wanted too.
        done: Called with float32 logits (wanted, vocabulary) and the pieces of keys and values, in order.
        failed: Called with the error instead.
        met: How many leading tokens a recent sequence shares with this one.
    """

    tokens: Tokens
    wanted: int
    keep: bool
    done: Callable[[Tensor, list[Tensor]], None]
    failed: Callable[[Exception], None]
    met: int = 0


class Runner:
    """A loaded model and its forward passes. All calls come from one thread, in inference mode.

    Args:
        folder: A model folder as ``save_pretrained`` writes it.
        dtype: Of weights, activations and caches.
        device: Where it runs.
        prefix_bytes: Most bytes of stored prefixes.

    Raises:
        ModelAccessError: The folder cannot be loaded, or its attention is of a kind that this engine lacks.
    """

    def __init__(self, folder: Path, dtype: torch.dtype, device: torch.device, prefix_bytes: int) -> None:
        from transformers import AutoModelForCausalLM

        attention.register()
        try:
            model = AutoModelForCausalLM.from_pretrained(
                str(folder), dtype=dtype, attn_implementation=attention.IMPLEMENTATION, local_files_only=True
            )
        except (OSError, ValueError, ImportError, RuntimeError) as error:
            raise ModelAccessError(
                f"{folder}: cannot be loaded as a causal language model: {error}; give a folder that save_pretrained "
                "wrote, or a hub id"
            ) from error
        config = model.config.get_text_config()
        _check(folder, config)
        module: torch.nn.Module = model
        self._model = module.to(device).eval()
        with torch.inference_mode():
            pack(self._model)
        self.device = device
        self.context: int = config.max_position_embeddings
        heads = config.num_attention_heads
        dim = getattr(config, "head_dim", None) or config.hidden_size // heads
        kv_heads = getattr(config, "num_key_value_heads", None) or heads
        self.shape = KVShape(config.num_hidden_layers, kv_heads, dim, dtype, device)
        self.store = PrefixStore(prefix_bytes)

    def evaluate(self, rows: Sequence[Row], shared: int) -> list[tuple[Tensor, list[Tensor]]]:
        """Run rows packed in one pass.

        Args:
            rows: At least one.
            shared: How many leading tokens all rows have in common; computed once, or taken from the store.

        Returns:
            For each row float32 logits (wanted, vocabulary) and, where kept, the pieces of its keys and values.
        """
        prefix = self._prefix(rows[0].tokens[:shared]) if shared else None
        parts = [row.tokens[shared:] for row in rows]
        lengths = [len(part) for part in parts]
        ends = np.cumsum(lengths)
        kept = self.shape.empty(int(ends[-1])) if any(row.keep for row in rows) else None
        wanted = np.concatenate([np.arange(end - row.wanted, end) for end, row in zip(ends, rows, strict=True)])
        positions = np.concatenate([np.arange(shared, shared + length) for length in lengths])
        logits = self._forward(np.concatenate(parts), positions, Packed(lengths, prefix, kept), wanted)
        outcomes, start = [], 0
        for row, end, length in zip(rows, ends, lengths, strict=True):
            pieces: list[Tensor] = []
            if row.keep and kept is not None:
                own = kept[:, :, :, end - length : end]
                pieces = [own] if prefix is None else [prefix, own]
            outcomes.append((logits[start : start + row.wanted], pieces))
            start += row.wanted
        return outcomes

    def step(self, slots: Slots, tokens: Sequence[int]) -> Tensor:
        """Run one token for every reply in the slots.

        Args:
            slots: The decoding rows.
            tokens: The newest token of each reply.

        Returns:
            Float32 logits (replies, vocabulary).
        """
        positions = slots.begin_step()
        logits = self._forward(np.asarray(tokens, dtype=np.int64), positions, slots, None)
        slots.end_step()
        return logits

    def _prefix(self, tokens: Tokens) -> Tensor:
        """Return keys and values of a shared beginning, reusing what the store has of it."""
        known = self.store.find(tokens)
        have = 0 if known is None else known.shape[3]
        if known is not None and have == len(tokens):
            return known
        new = tokens[have:]
        entry = self.shape.empty(len(tokens))
        if known is not None:
            entry[:, :, :, :have] = known
        positions = np.arange(have, len(tokens))
        self._forward(new, positions, Packed([len(new)], known, entry[:, :, :, have:]), np.arange(1))
        self.store.put(tokens, entry)
        return entry

    def _forward(self, tokens: Tokens, positions: Tokens | Tensor, layout: Layout, wanted: Tokens | None) -> Tensor:
        output = self._model(
            input_ids=torch.as_tensor(tokens, device=self.device)[None],
            position_ids=torch.as_tensor(positions, device=self.device)[None],
            use_cache=False,
            logits_to_keep=0 if wanted is None else torch.as_tensor(wanted, device=self.device),
            layout=layout,
        )
        logits: Tensor = output.logits[0]
        return logits.float()


def _check(folder: Path, config: PreTrainedConfig) -> None:
    """Refuse models whose attention is more than causal attention to everything before."""
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    window = getattr(config, "sliding_window", None)
    if getattr(config, "use_sliding_window", True) and window is not None and window < config.max_position_embeddings:
        kinds.add(f"a sliding window of {window}")
    if getattr(config, "attn_logit_softcapping", None) is not None:
        kinds.add("capped scores")
    if other := sorted(kinds - {"full_attention"}):
        raise ModelAccessError(
            f"{folder}: this model's attention ({', '.join(other)}) is not supported by the local engine; serve it "
            "with vLLM and name it openai/… with a base URL"
        )
