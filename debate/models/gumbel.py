"""Sampling by Gumbel-max, with noise that depends on the draw alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from debate.models.base import Draw, Sampling

# A nucleus almost always lies within this many tokens; only where it does not is the whole vocabulary sorted.
NUCLEUS_FIRST_LOOK = 256
# Exponential noise below this is drawn again more finely: float32 generators give multiples of about 1e-6 there, and 0,
# but unlikely tokens win by just such values.
FINE = 2.0**-9


class Noise:
    """The noise of one draw: step t of the reply always gets the t-th block, whatever else is in the batch.

    On the CPU numpy's SFC64 is used (several times faster than torch's generator), elsewhere a generator that lives on
    the device, seeded alike.

    Args:
        prompt: Token ids of the prompt.
        sampling: How to sample.
        draw: Which draw.
        device: Where the logits are.
    """

    def __init__(self, prompt: Sequence[int], sampling: Sampling, draw: Draw, device: torch.device) -> None:
        key = repr((tuple(map(int, prompt)), sampling, tuple(draw))).encode()
        seed = int.from_bytes(hashlib.sha256(key).digest()[:8], "little")
        self._numpy = np.random.Generator(np.random.SFC64(seed)) if device.type == "cpu" else None
        self._torch = None if device.type == "cpu" else torch.Generator(device).manual_seed(seed % (1 << 63))

    def fill(self, row: Tensor) -> None:
        """Fill a contiguous float32 row with the next block of standard exponential noise E; -log E is Gumbel."""
        if self._numpy is not None:
            values = row.numpy()
            self._numpy.standard_exponential(out=values, dtype=np.float32)
            small = np.flatnonzero(values < FINE)
            values[small] = -np.log1p((1 - self._numpy.random(len(small))) * np.expm1(-FINE))
        else:
            row.exponential_(generator=self._torch)
            fine = 1 - torch.rand(row.shape, generator=self._torch, device=row.device, dtype=torch.float64)
            torch.where(row < FINE, -torch.log1p(fine * np.expm1(-FINE)).float(), row, out=row)


def pick(logits_RV: Tensor, samplings: Sequence[Sampling], noises: Sequence[Noise]) -> list[int]:  # noqa: N803 - shape
    """Pick the next token of each row: argmax(logits / temperature + Gumbel noise) samples from the softmax.

    Args:
        logits_RV: Float32 logits (rows, vocabulary); not changed.
        samplings: Each row's temperature and nucleus; temperature 0 takes the argmax.
        noises: Each row's noise, which moves on by one block where the temperature is not 0.

    Returns:
        Token ids; -1 for a row whose logits are not finite.
    """
    gumbel = torch.ones_like(logits_RV)
    for row, (sampling, noise) in enumerate(zip(samplings, noises, strict=True)):
        if sampling.temperature > 0:
            noise.fill(gumbel[row])
    inverse = torch.tensor(
        [1 / s.temperature if s.temperature > 0 else 1.0 for s in samplings], device=logits_RV.device
    )
    scaled = logits_RV * inverse[:, None]
    nucleus = [row for row, s in enumerate(samplings) if s.top_p < 1 and s.temperature > 0]
    if nucleus:
        rows = torch.tensor(nucleus, device=logits_RV.device)
        top_p = torch.tensor([samplings[row].top_p for row in nucleus], device=logits_RV.device)
        scaled[rows] = keep_nucleus(scaled[rows], top_p)
    best = torch.max(scaled.sub_(gumbel.log_()), dim=-1)
    tokens = torch.where(torch.isfinite(best.values), best.indices, -1)
    return [int(token) for token in tokens.tolist()]


def keep_nucleus(logits_RV: Tensor, top_p: Tensor) -> Tensor:  # noqa: N803 - shape
    """Set all logits outside the nucleus to -inf: the least set of likeliest tokens whose probability reaches top_p.

    Args:
        logits_RV: Float32 logits (rows, vocabulary).
        top_p: (rows,), in (0, 1).

    Returns:
        New logits. Tokens tied with the least likely one of the nucleus are kept.
    """
    total = torch.logsumexp(logits_RV, -1, keepdim=True)
    look = min(NUCLEUS_FIRST_LOOK, logits_RV.shape[-1])
    while True:
        top = torch.topk(logits_RV, look, dim=-1).values
        reached = (top - total).exp().cumsum(-1) >= top_p[:, None]
        if look == logits_RV.shape[-1] or bool(reached[:, -1].all()):
            break
        look = logits_RV.shape[-1]
    # The first place where the sum reaches top_p; rounding may keep the whole vocabulary just short of it.
    last = torch.where(reached.any(-1), reached.int().argmax(-1), look - 1)
    least = top.gather(-1, last[:, None])
    return logits_RV.masked_fill(logits_RV < least, float("-inf"))
