"""Forward passes of one transformers model: packed rows with a shared prefix, and decoding steps.

Any causal model whose layers all attend to everything before them works (Llama, Qwen, SmolLM, Mistral without a
window): attention goes through `debate.models.attention`, the rest is the model's own code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from debate.errors import ModelAccessError
from debate.models import attention
from debate.models.attention import KVShape, Layout, Packed
from debate.models.forest import Forest, grow
from debate.models.lora import Adapters, Lora
from debate.models.packing import pack
from debate.models.prefixes import LEAST_SHARED, Known, PrefixStore, Tokens, adapters_of, ids_of
from debate.models.slots import Slots

if TYPE_CHECKING:
    from transformers import PreTrainedConfig


@dataclass(frozen=True, slots=True)
class Row:
    """One sequence to run through the model.

    Attributes:
        tokens: Token ids, marked with the adapter.
        wanted: How many last positions' logits are wanted, at least 1.
        keep: Whether the sequence's keys and values are wanted too.
        done: Called with logits (wanted, vocabulary) or states (wanted, hidden) in the model's dtype, and its keys
            and values (layers, 2, heads, tokens, dim) where kept.
        failed: Called with the error instead.
        met: How many leading tokens a recent sequence shares with this one.
        again: Puts the row back in line, where memory ran out only in ``done`` and there may be room later.
        states: Whether the last positions' final states are wanted, what the output layer sees, instead of logits.
    """

    tokens: Tokens
    wanted: int
    keep: bool
    done: Callable[[Tensor, Tensor | None], None]
    failed: Callable[[Exception], None]
    met: int = 0
    again: Callable[[], None] | None = None
    states: bool = False


class Runner:
    """A loaded model and its forward passes. All calls come from one thread, in inference mode.

    Args:
        folder: A model folder as ``save_pretrained`` writes it.
        dtype: Of weights, activations and caches.
        device: Where it runs.
        prefix_bytes: Most bytes of stored prefixes.

    Attributes:
        model: The transformers model. Other threads may read its shapes and weights.

    Raises:
        ModelAccessError: The folder cannot be loaded, or the attention is of a kind that this engine lacks.
    """

    def __init__(self, folder: Path, dtype: torch.dtype, device: torch.device, prefix_bytes: int) -> None:
        from transformers import AutoModelForCausalLM

        attention.register()
        try:
            with no_progress_bar():
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
        self.model = module.to(device).eval()
        with torch.inference_mode():
            pack(self.model)
        head: torch.nn.Module = model.get_output_embeddings()  # type: ignore[no-untyped-call]  # as below
        self._adapters = Adapters(self.model, head)
        self._states = torch.empty(0)  # of the latest pass: what the output layer saw
        head.register_forward_pre_hook(self._keep_states)
        self.device = device
        self.context: int = config.max_position_embeddings
        self.hidden: int = config.hidden_size
        heads = config.num_attention_heads
        dim = getattr(config, "head_dim", None) or self.hidden // heads
        kv_heads = getattr(config, "num_key_value_heads", None) or heads
        self.vocabulary: int = config.vocab_size
        self._heads: int = heads
        self.shape = KVShape(config.num_hidden_layers, kv_heads, dim, dtype, device)
        self.store = PrefixStore(prefix_bytes)

    def attach(self, number: int, loras: Mapping[str, Lora]) -> None:
        """Put a LoRA adapter beside the weights: it changes the tokens that are marked with its number."""
        self._adapters.attach(number, loras)

    def evaluate(self, rows: Sequence[Row]) -> list[tuple[Tensor, Tensor | None]]:
        """Run rows in one pass; every token that rows share is computed once, or read from the store.

        Args:
            rows: At least one.

        Returns:
            For each row logits (wanted, vocabulary), or states (wanted, hidden), and, where kept, its keys and values.
        """
        known = [self.known(row) for row in rows]
        forest = grow([row.tokens for row in rows], known, [row.wanted for row in rows])
        before = forest.stored_tokens
        pieces = [self.store.read(entry.name, entry.tokens) for entry in forest.stored]
        stored = (pieces[0] if len(pieces) == 1 else torch.cat(pieces, 3)) if pieces else None
        common_ones = self._worth_storing(rows, known)
        keeping = common_ones or any(row.keep for row in rows)
        kept = self.shape.empty(len(forest.tokens)) if keeping else None
        wanted, inverse = np.unique(
            np.concatenate([path[-row.wanted :] for path, row in zip(forest.paths, rows, strict=True)]) - before,
            return_inverse=True,
        )
        layout = Packed(forest, stored, kept, self._heads, self.shape)
        logits = self._forward(forest.tokens, forest.positions, layout, wanted)
        for index, length in common_ones:
            self.store.put(rows[index].tokens[:length], self._gather(forest, index, length, stored, kept))
        outcomes, start = [], 0
        for index, row in enumerate(rows):
            kv = self._gather(forest, index, len(row.tokens), stored, kept) if row.keep else None
            places = torch.as_tensor(inverse[start : start + row.wanted], device=self.device)
            outcomes.append(((self._states if row.states else logits).index_select(0, places), kv))
            start += row.wanted
        return outcomes

    def _keep_states(self, _head: torch.nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self._states = inputs[0][0]

    def known(self, row: Row) -> Known:
        """Return the stored beginning that a row can read; its wanted positions are computed."""
        known = self.store.find(row.tokens)
        tokens = min(known.tokens, len(row.tokens) - row.wanted)
        return Known(known.name, tokens) if tokens > 0 else Known()

    @staticmethod
    def _worth_storing(rows: Sequence[Row], known: Sequence[Known]) -> list[tuple[int, int]]:
        """Return rows and lengths of their beginnings that came before and are not stored, each beginning once."""
        found: dict[bytes, tuple[int, int]] = {}
        for index, (row, have) in enumerate(zip(rows, known, strict=True)):
            length = min(row.met, len(row.tokens))
            if length >= have.tokens + LEAST_SHARED:
                found.setdefault(row.tokens[:length].tobytes(), (index, length))
        return list(found.values())

    def _gather(self, forest: Forest, row: int, tokens: int, stored: Tensor | None, kept: Tensor | None) -> Tensor:
        """Return keys and values (layers, 2, heads, tokens, dim) of a row's first tokens."""
        if kept is None:
            raise RuntimeError("keys and values of this pass were not kept")
        path, before = forest.paths[row][:tokens], forest.stored_tokens
        # Paths are a few runs of neighbouring places, which copy much faster as slices than token by token.
        computed = path >= before
        turns = (np.diff(path) != 1) | (computed[1:] != computed[:-1])
        starts = [0, *(np.flatnonzero(turns) + 1).tolist(), tokens]
        pieces = []
        for start, end in pairwise(starts):
            place = int(path[start])
            source, place = (stored, place) if stored is not None and place < before else (kept, place - before)
            pieces.append(source[:, :, :, place : place + end - start])
        return torch.cat(pieces, 3)

    def step(self, slots: Slots, tokens: Sequence[int]) -> Tensor:
        """Run one token for every reply in the slots.

        Args:
            slots: The decoding rows.
            tokens: The newest token of each reply, marked with its adapter.

        Returns:
            Float32 logits (replies, vocabulary).
        """
        positions = slots.begin_step()
        logits = self._forward(np.asarray(tokens, dtype=np.int64), positions, slots, None)
        slots.end_step()
        return logits.float()

    def _forward(self, tokens: Tokens, positions: Tokens | Tensor, layout: Layout, wanted: Tokens | None) -> Tensor:
        self._adapters.select(adapters_of(tokens), wanted)
        output = self.model(
            input_ids=torch.as_tensor(ids_of(tokens), device=self.device)[None],
            position_ids=torch.as_tensor(positions, device=self.device)[None],
            use_cache=False,
            logits_to_keep=0 if wanted is None else torch.as_tensor(wanted, device=self.device),
            layout=layout,
        )
        logits: Tensor = output.logits[0]
        return logits


@contextmanager
def no_progress_bar() -> Iterator[None]:
    """Keep transformers from drawing progress bars while a model loads; the caller's own setting comes back after."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # the library left it untyped
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]  # as above


def _check(folder: Path, config: PreTrainedConfig) -> None:
    """Refuse models whose attention is more than causal attention to everything before."""
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    window = getattr(config, "sliding_window", None)
    if getattr(config, "use_sliding_window", True) and window is not None and window < config.max_position_embeddings:
        kinds.add(f"a sliding window of {window}")
    if getattr(config, "attn_logit_softcapping", None) is not None:
        kinds.add("capped scores")
    # One set of factors holds for a whole pass, chosen by its longest row: replies would depend on who else is in it.
    if "longrope" in _rope_types(config):
        kinds.add("longrope positions, which depend on the longest text of a batch")
    if other := sorted(kinds - {"full_attention"}):
        raise ModelAccessError(
            f"{folder}: this model's attention ({', '.join(other)}) is not supported by the local engine; serve it "
            "with vLLM and name it openai/… with a base URL"
        )


def _rope_types(config: PreTrainedConfig) -> set[str]:
    """Return how positions are scaled: one way, or one for each kind of layer."""
    rope = getattr(config, "rope_parameters", None) or {}
    each = [rope, *(part for part in rope.values() if isinstance(part, dict))]
    return {str(part.get("rope_type")) for part in each if "rope_type" in part}
