"""Attention over packed rows, shared prefixes and slots, plugged into any transformers model.

Rows are packed one after the other into a batch of one, so linear layers see no padding. The attention function that
transformers calls in each layer hands queries, keys and values to the *layout* of the running forward pass, which knows
which tokens belong together: `Packed` for prompts and continuations, `debate.models.slots.Slots` for decoding.

This module imports torch at its top: it is itself imported only where a local model is loaded.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

IMPLEMENTATION = "dissoi_packed"
# Queries times keys whose float32 scores are held at a time where no fused kernel gives the normaliser.
SCORES_AT_ONCE = 1 << 26


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


def attend_long(query: Tensor, key: Tensor, value: Tensor, scale: float, *, causal: bool) -> Attended:
    """Attend with many queries: fused on the CPU, in chunks of queries elsewhere.

    Args:
        query: (heads, q, dim).
        key: (heads, k, dim), with k = q where causal.
        value: Like ``key``.
        scale: Factor on the scores.
        causal: Whether query i sees only keys up to i.

    Returns:
        Output and log-normaliser.
    """
    if query.device.type == "cpu":
        output, normaliser = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(  # noqa: SLF001 - the one fused CPU kernel that returns the normaliser
            query[None], key[None], value[None], 0.0, causal, scale=scale
        )
        return Attended(output[0], normaliser[0])
    outputs, normalisers = [], []
    chunk = max(1, SCORES_AT_ONCE // (query.shape[0] * key.shape[1]))
    positions = torch.arange(key.shape[1], device=query.device)
    for start in range(0, query.shape[1], chunk):
        part = query[:, start : start + chunk]
        bias = None
        if causal:
            seen = positions[start : start + part.shape[1], None] >= positions
            bias = torch.zeros(seen.shape, device=query.device).masked_fill_(~seen, float("-inf"))
        attended = attend(part[None], key[None], value[None], scale, bias)
        outputs.append(attended.output[0])
        normalisers.append(attended.normaliser[0])
    return Attended(torch.cat(outputs, 1), torch.cat(normalisers, 1))


def merge(first: Attended, second: Attended, dtype: torch.dtype) -> Tensor:
    """Merge attention over two disjoint sets of keys into attention over both."""
    share = torch.sigmoid(first.normaliser - second.normaliser).unsqueeze(-1)
    return torch.lerp(second.output.float(), first.output.float(), share).to(dtype)


class Packed:
    """Rows packed one after the other, each causal within itself, all seeing one shared prefix.

    Args:
        lengths: Tokens of each row.
        prefix: Keys and values of the shared prefix (layers, 2, kv heads, tokens, dim), or None.
        kept: Where to write this pass's keys and values, shaped like a prefix of all packed tokens, or None.
    """

    def __init__(self, lengths: list[int], prefix: Tensor | None, kept: Tensor | None) -> None:
        self.lengths = lengths
        self.prefix = prefix
        self.kept = kept

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        """Attend within rows and to the prefix."""
        if self.kept is not None:
            self.kept[layer, 0] = key
            self.kept[layer, 1] = value
        if self.prefix is None:
            return self._within(query, key, value, scale)
        heads, tokens, dim = query.shape
        share = heads // key.shape[0]
        # Nothing is masked in the prefix, so query heads that share a key head can stand in one row of queries.
        folded = query.reshape(key.shape[0], share * tokens, dim)
        far = attend_long(folded, self.prefix[layer, 0], self.prefix[layer, 1], scale, causal=False)
        far = Attended(far.output.reshape(heads, tokens, dim), far.normaliser.reshape(heads, tokens))
        key, value = key.repeat_interleave(share, 0), value.repeat_interleave(share, 0)
        parts, start = [], 0
        for length in self.lengths:
            span = slice(start, start + length)
            near = attend_long(query[:, span], key[:, span], value[:, span], scale, causal=True)
            parts.append(merge(Attended(far.output[:, span], far.normaliser[:, span]), near, query.dtype))
            start += length
        return torch.cat(parts, 1).transpose(0, 1)

    def _within(self, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        parts, start = [], 0
        for length in self.lengths:
            span = slice(start, start + length)
            parts.append(
                scaled_dot_product_attention(
                    query[None, :, span],
                    key[None, :, span],
                    value[None, :, span],
                    is_causal=True,
                    scale=scale,
                    enable_gqa=query.shape[0] != key.shape[0],
                )[0].transpose(0, 1)
            )
            start += length
        return torch.cat(parts)
