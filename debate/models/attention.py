"""Attention over packed rows, shared prefixes and slots, plugged into any transformers model.

Rows are packed one after the other into a batch of one, so linear layers see no padding. The attention function that
transformers calls in each layer hands queries, keys and values to the *layout* of the running forward pass, which knows
which tokens belong together: `Packed` for prompts and continuations, `debate.models.slots.Slots` for decoding.

This module imports torch at its top: it is itself imported only where a local model is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from debate.models.forest import Block, Forest
from debate.models.forest import blocks as buckets_of

IMPLEMENTATION = "dissoi_packed"


class KVShape(NamedTuple):
    """Shape and kind of a model's keys and values."""

    layers: int
    heads: int
    dim: int
    dtype: torch.dtype
    device: torch.device

    def empty(self, tokens: int) -> Tensor:
        """Return room for one sequence: (layers, 2, heads, tokens, dim)."""
        return torch.empty((self.layers, 2, self.heads, tokens, self.dim), dtype=self.dtype, device=self.device)

    @property
    def bytes_per_token(self) -> int:
        """Bytes of one token's keys and values over all layers."""
        return 2 * self.layers * self.heads * self.dim * self.dtype.itemsize


class Layout(Protocol):
    """Which tokens of a forward pass attend to which."""

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        """Return attention outputs (tokens, heads, dim) of (heads, tokens, dim) queries, keys and values."""
        ...


class Attended(NamedTuple):
    """Attention over one set of keys: output (..., q, dim) and float32 log-normaliser (..., q)."""

    output: Tensor
    normaliser: Tensor


def register() -> None:
    """Make the attention function known to transformers; calling it again does no harm."""
    from transformers import AttentionInterface

    AttentionInterface.register(IMPLEMENTATION, _attention)


def _attention(  # noqa: PLR0917 - the signature that transformers calls
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,  # noqa: ARG001 - the layout knows who sees whom
    scaling: float,
    dropout: float = 0.0,  # noqa: ARG001 - never trained through
    *,
    layout: Layout,
    **_other: object,
) -> tuple[Tensor, None]:
    layer = module.layer_idx
    if not isinstance(layer, int):
        raise TypeError(f"{type(module).__name__}: attention modules must number their layers")
    return layout.attend(layer, query[0], key[0], value[0], scaling).unsqueeze(0), None


def attend(query: Tensor, key: Tensor, value: Tensor, scale: float, bias: Tensor | None = None) -> Attended:
    """Attend with plain matrix products: the fastest way for few queries, and exact on every device.

    Args:
        query: (batch, kv heads, q, dim); query heads that share a key head are folded into q.
        key: (batch, kv heads, k, dim).
        value: Like ``key``.
        scale: Factor on the scores.
        bias: Float32, broadcasts to (batch, kv heads, q, k); 0 where a key is seen, -inf where not.

    Returns:
        Output and log-normaliser.
    """
    # Unnormalised weights: one exponential, and the division falls on the outputs, which are fewer than the scores.
    scores = torch.matmul(query * scale, key.transpose(-1, -2)).float()
    if bias is not None:
        scores += bias
    largest = scores.amax(-1, keepdim=True)
    weights = scores.sub_(largest).exp_()
    total = weights.sum(-1, keepdim=True)
    output = torch.matmul(weights.to(value.dtype), value) / total
    return Attended(output, (largest + total.log()).squeeze(-1))


def merge(first: Attended, second: Attended) -> Attended:
    """Merge attention over two disjoint sets of keys into attention over both; the output is float32."""
    share = torch.sigmoid(first.normaliser - second.normaliser).unsqueeze(-1)
    output = torch.lerp(second.output.float(), first.output.float(), share)
    return Attended(output, torch.logaddexp(first.normaliser, second.normaliser))


class Bucket(NamedTuple):
    """Blocks of queries padded to one size, as indices that are the same in every layer.

    Attributes:
        queries: (kv heads, blocks, heads of a kv head, q) flat rows of (tokens, heads) queries.
        keys: (kv heads, blocks, k) flat rows of (tokens, kv heads) keys.
        unseen: (blocks, q, k), 0 where a query sees a key, -inf where not, in the dtype of the scores.
    """

    queries: Tensor
    keys: Tensor
    unseen: Tensor


class Packed:
    """The attention of a `debate.models.forest.Forest`: each computed token sees the tokens before it on its path.

    Args:
        forest: What the pass computes.
        stored: Keys and values of its stored beginnings (layers, 2, kv heads, tokens, dim), or None.
        kept: Where to write this pass's keys and values, of that shape for all computed tokens, or None.
        heads: Query heads.
        shape: Of the keys and values.
    """

    def __init__(self, forest: Forest, stored: Tensor | None, kept: Tensor | None, heads: int, shape: KVShape) -> None:
        self.stored = stored
        self.kept = kept
        before = forest.stored_tokens
        self.buckets: list[Bucket] = []
        self.place = torch.empty((len(forest.tokens), heads), dtype=torch.int64)
        start = 0
        for blocks in buckets_of(forest):
            bucket, places, tokens = _bucket(blocks, before, heads, shape)
            self.place[tokens] = places + start
            start += bucket.queries.numel()
            self.buckets.append(bucket)
        self.place = self.place.flatten().to(shape.device)

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        """Attend along the paths."""
        if self.kept is not None:
            self.kept[layer, 0] = key
            self.kept[layer, 1] = value
        if self.stored is not None:
            key = torch.cat([self.stored[layer, 0], key], 1)
            value = torch.cat([self.stored[layer, 1], value], 1)
        heads, tokens, dim = query.shape
        queries = query.transpose(0, 1).reshape(-1, dim) * scale
        keys, values = key.transpose(0, 1).reshape(-1, dim), value.transpose(0, 1).reshape(-1, dim)
        outputs = []
        for bucket in self.buckets:
            kv_heads, blocks, share, q = bucket.queries.shape
            own = _take(queries, bucket.queries.flatten()).view(kv_heads, blocks, share * q, dim)
            where = bucket.keys.flatten()
            seen = _take(keys, where).view(kv_heads, blocks, -1, dim)
            scores = torch.matmul(own, seen.transpose(-1, -2))
            scores.view(kv_heads, blocks, share, q, -1).add_(bucket.unseen[:, None])
            weights = torch.softmax(scores, -1)
            met = _take(values, where).view(kv_heads, blocks, -1, dim)
            outputs.append(torch.matmul(weights, met).view(-1, dim))
        output = outputs[0] if len(outputs) == 1 else torch.cat(outputs)
        return _take(output, self.place).view(tokens, heads, dim)


def _take(rows: Tensor, where: Tensor) -> Tensor:
    """Take rows of a matrix, as `index_select`, which adds up gradients row by row, in four times the time."""
    return torch.nn.functional.embedding(where, rows)


def _bucket(blocks: Sequence[Block], before: int, heads: int, shape: KVShape) -> tuple[Bucket, Tensor, Tensor]:
    """Return a bucket, where the outputs of its tokens lie in it (tokens, heads), and these tokens (tokens,)."""
    q, k = max(block.queries for block in blocks), max(len(block.keys) for block in blocks)
    count, share = len(blocks), heads // shape.heads
    keys = np.zeros((count, k), dtype=np.int64)
    queries = np.zeros((count, q), dtype=np.int64)
    lengths = np.array([len(block.keys) for block in blocks])
    own = np.array([block.queries for block in blocks])
    for index, block in enumerate(blocks):
        keys[index, : len(block.keys)] = block.keys
        queries[index, : block.queries] = block.keys[-block.queries :] - before
    # The i-th query of a block sees all keys but the queries after it; padding queries see the first key.
    last = np.minimum((lengths - own)[:, None] + np.arange(q), (lengths - 1)[:, None])
    unseen = torch.zeros((count, q, k), dtype=shape.dtype)
    unseen.masked_fill_(torch.as_tensor(np.arange(k) > last[:, :, None]), float("-inf"))
    head = np.arange(heads).reshape(shape.heads, 1, share, 1)
    flat_queries = queries[None, :, None, :] * heads + head
    flat_keys = keys[None] * shape.heads + np.arange(shape.heads)[:, None, None]
    real = np.arange(q) < own[:, None]
    places = np.arange(flat_queries.size).reshape(flat_queries.shape).transpose(1, 3, 0, 2)[real].reshape(-1, heads)
    device = shape.device
    bucket = Bucket(
        torch.as_tensor(flat_queries, device=device), torch.as_tensor(flat_keys, device=device), unseen.to(device)
    )
    return bucket, torch.as_tensor(places), torch.as_tensor(queries[real])
