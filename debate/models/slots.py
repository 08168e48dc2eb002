"""Keys and values of the rows that decode now.

A beginning that prompts share is held and read once, the rest of each prompt once for all replies to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from debate.models.attention import Attended, KVShape, attend, merge
from debate.models.prefixes import Tokens, common

# Lengths are rounded up to these, so that few distinct shapes reach the kernels (each new shape costs a set-up).
PREFIX_STEP = 64
REPLY_STEP = 32
# Shorter beginnings are cheaper to hold in every prompt than to attend to apart.
LEAST_BEGINNING = 64


def round_up(value: int, step: int) -> int:
    """Round up to a multiple of ``step``."""
    return -(-value // step) * step


@dataclass(frozen=True, slots=True, eq=False)
class Beginning:
    """The beginning of some of the prompts.

    Attributes:
        tokens: Token ids.
        kv: Keys and values (layers, 2, heads, tokens, dim).
    """

    tokens: Tokens
    kv: Tensor


class Slots:
    """The decoding rows' keys and values, and attention over them.

    Prompt slots and reply slots are dense: the last one moves into the place of one that leaves, and the caller keeps
    its own lists in the same order. Unused room is zero, since masked values still meet a weight of zero.

    Args:
        shape: Of keys and values.
        most_replies: Most replies at a time.
        max_bytes: Most bytes of prompts that room is made for in advance.
    """

    def __init__(self, shape: KVShape, most_replies: int, max_bytes: int) -> None:
        self.shape = shape
        self.most_replies = most_replies
        self.max_bytes = max_bytes
        self.prompt_lengths: list[int] = []  # without the beginning
        self.beginnings: list[Beginning | None] = []  # of each prompt slot
        self.reply_lengths: list[int] = []
        self.owner: list[int] = []  # prompt slot of each reply slot
        self._prompts = torch.zeros((shape.layers, 2, 0, shape.heads, 0, shape.dim))
        self._replies = self._prompts
        self._plan: _Plan | None = None

    @property
    def bytes(self) -> int:
        """Bytes that the prompts take, their beginnings included."""
        return self._prompts.numel() * self._prompts.element_size() + self._beginning_bytes

    @property
    def _beginning_bytes(self) -> int:
        held = {id(one): len(one.tokens) for one in self.beginnings if one is not None}
        return sum(held.values()) * self.shape.bytes_per_token

    def bytes_with(self, lengths: Sequence[int]) -> int:
        """Bytes that the prompts take at most once prompts of these lengths join."""
        every = [*lengths, *self.prompt_lengths]
        return round_up(max(every), PREFIX_STEP) * len(every) * self.shape.bytes_per_token + self._beginning_bytes

    def add_prompt(self, tokens: Tokens, kv: Tensor, shared: int, coming: int = 0) -> int:
        """Add a prompt.

        Args:
            tokens: Token ids.
            kv: Keys and values (layers, 2, heads, tokens, dim).
            shared: How many leading tokens other prompts are likely to share.
            coming: How many more prompts are about to be added: room for them is made at once.

        Returns:
            Its slot.
        """
        beginning = self._beginning(tokens, kv, shared)
        rest = kv if beginning is None else kv[:, :, :, len(beginning.tokens) :]
        length = rest.shape[3]
        slot = len(self.prompt_lengths)
        longest = round_up(max([length, *self.prompt_lengths]), PREFIX_STEP)
        affordable = (self.max_bytes - self._beginning_bytes) // (longest * self.shape.bytes_per_token) - slot - 1
        spare = max(0, min(max(coming, min(slot, 16) - 1), affordable))
        self._prompts = self._fit(self._prompts, slot + 1, longest, PREFIX_STEP, spare)
        self._prompts[:, :, slot, :, :length] = rest
        self.prompt_lengths.append(length)
        self.beginnings.append(beginning)
        return slot

    def _beginning(self, tokens: Tokens, kv: Tensor, shared: int) -> Beginning | None:
        """Find or make the beginning of a new prompt; at least one token is left to the prompt itself."""
        shared = min(shared, len(tokens) - 1)
        best: Beginning | None = None
        for held in {id(one): one for one in self.beginnings if one is not None}.values():
            count = len(held.tokens)
            whole = count < len(tokens) and common(held.tokens, tokens) == count
            if whole and (best is None or count > len(best.tokens)):
                best = held
        # A held beginning that is somewhat shorter is better than one more to attend to.
        if shared >= LEAST_BEGINNING and (best is None or shared - len(best.tokens) >= LEAST_BEGINNING):
            best = Beginning(tokens[:shared].copy(), kv[:, :, :, :shared].contiguous())
        return best

    def add_reply(self, prompt_slot: int) -> int:
        """Add an empty reply to a prompt; return its slot."""
        slot = len(self.reply_lengths)
        self._replies = self._fit(self._replies, self.most_replies, max(self.reply_lengths, default=0) + 1, REPLY_STEP)
        self.reply_lengths.append(0)
        self.owner.append(prompt_slot)
        return slot

    def drop_reply(self, slot: int) -> None:
        """Remove a reply; the last reply takes its slot."""
        last = len(self.reply_lengths) - 1
        if slot != last:
            length = self.reply_lengths[last]
            self._replies[:, :, slot, :, :length] = self._replies[:, :, last, :, :length]
            self.reply_lengths[slot] = length
            self.owner[slot] = self.owner[last]
        self.reply_lengths.pop()
        self.owner.pop()

    def drop_prompt(self, slot: int) -> None:
        """Remove a prompt that has no replies; the last prompt takes its slot."""
        last = len(self.prompt_lengths) - 1
        if slot != last:
            length = self.prompt_lengths[last]
            self._prompts[:, :, slot, :, :length] = self._prompts[:, :, last, :, :length]
            self.prompt_lengths[slot] = length
            self.beginnings[slot] = self.beginnings[last]
            self.owner = [slot if owner == last else owner for owner in self.owner]
        self.prompt_lengths.pop()
        self.beginnings.pop()
        if not self.prompt_lengths:  # idle: give the memory back
            self._prompts = self._prompts.new_zeros((self.shape.layers, 2, 0, self.shape.heads, 0, self.shape.dim))
            self._replies = self._prompts

    def begin_step(self) -> Tensor:
        """Make room for one token in every reply; return the tokens' positions (replies,)."""
        longest = max(self.reply_lengths) + 1
        self._replies = self._fit(self._replies, self.most_replies, longest, REPLY_STEP)
        self._plan = _Plan.of(self, self._prompts.shape[4], self._replies.shape[4])
        return self._plan.positions

    def end_step(self) -> None:
        """Count the token that the step wrote into every reply."""
        self.reply_lengths = [length + 1 for length in self.reply_lengths]

    def attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        """Write the new keys and values, then attend to prompts (one read for all replies to one) and replies."""
        plan = self._plan
        if plan is None:
            raise RuntimeError("begin_step comes before attention")
        heads, replies, dim = query.shape
        kv_heads = key.shape[0]
        share = heads // kv_heads
        keys, values = self._replies[layer, 0], self._replies[layer, 1]
        keys[plan.rows, :, plan.ends] = key.transpose(0, 1)
        values[plan.rows, :, plan.ends] = value.transpose(0, 1)
        rows = query.transpose(0, 1)  # (replies, heads, dim)
        prompts, seats = plan.seating.shape
        seated = rows.index_select(0, plan.seating.flatten()).view(prompts, seats, kv_heads, share, dim)
        prompt_keys, prompt_values = self._prompts[layer, :, :prompts]
        far = attend(
            seated.transpose(1, 2).reshape(prompts, kv_heads, seats * share, dim),
            prompt_keys,
            prompt_values,
            scale,
            plan.prompt_bias,
        )
        output = far.output.view(prompts, kv_heads, seats, share, dim).transpose(1, 2)
        normaliser = far.normaliser.view(prompts, kv_heads, seats, share).transpose(1, 2)
        far = Attended(
            output.reshape(prompts * seats, kv_heads, share, dim).index_select(0, plan.seat_of),
            normaliser.reshape(prompts * seats, kv_heads, share).index_select(0, plan.seat_of),
        )
        near = attend(
            rows.reshape(replies, kv_heads, share, dim),
            keys[:replies],
            values[:replies],
            scale,
            plan.reply_bias,
        )
        both = merge(far, near)
        for beginning, members in plan.beginnings:
            own = rows if members is None else rows.index_select(0, members)
            folded = own.reshape(-1, kv_heads, share, dim).transpose(0, 1).reshape(1, kv_heads, -1, dim)
            kv = beginning.kv[layer]
            seen = attend(folded, kv[None, 0], kv[None, 1], scale)
            first = Attended(
                seen.output.view(kv_heads, -1, share, dim).transpose(0, 1),
                seen.normaliser.view(kv_heads, -1, share).transpose(0, 1),
            )
            if members is None:
                both = merge(first, both)
            else:
                part = merge(first, Attended(both.output[members], both.normaliser[members]))
                both.output[members] = part.output
        return both.output.to(query.dtype).reshape(replies, heads, dim)

    def _fit(self, store: Tensor, slots: int, tokens: int, step: int, spare: int = 0) -> Tensor:
        """Return the store with room for so many slots, and for so many tokens but no more than about twice that.

        A new store has ``spare`` slots more, and no others: with longer tokens, slots that are free may be too many.

        Kernels get the whole length of the store, masked: a shorter view would not be contiguous, and matrix products
        would copy it. So room for tokens is tight; it changes once in ``step`` tokens.
        """
        have_slots, have_tokens = store.shape[2], store.shape[4]
        tokens = round_up(tokens, step)
        if slots <= have_slots and have_tokens // 2 < tokens <= have_tokens:
            return store
        slots += spare
        shape = self.shape
        fitted = torch.zeros(
            (shape.layers, 2, slots, shape.heads, tokens, shape.dim), dtype=shape.dtype, device=shape.device
        )
        both, kept = min(tokens, have_tokens), min(slots, have_slots)
        fitted[:, :, :kept, :, :both] = store[:, :, :kept, :, :both]
        return fitted


class _Plan(NamedTuple):
    """Indices and masks of one decoding step, the same in every layer."""

    positions: Tensor  # (replies,) position of each new token in its sequence
    rows: Tensor  # (replies,) 0, 1, 2, …
    ends: Tensor  # (replies,) where the new token goes in its reply slot
    seating: Tensor  # (prompts, seats) the reply in each seat; empty seats repeat reply 0
    seat_of: Tensor  # (replies,) flat seat of each reply
    prompt_bias: Tensor
    reply_bias: Tensor
    beginnings: list[tuple[Beginning, Tensor | None]]  # and the replies that have it, None for all

    @staticmethod
    def of(slots: Slots, prompt_tokens: int, reply_tokens: int) -> _Plan:
        device = slots.shape.device
        members: list[list[int]] = [[] for _ in slots.prompt_lengths]
        for reply, prompt in enumerate(slots.owner):
            members[prompt].append(reply)
        seats = max(len(replies) for replies in members)
        seating = [replies + [0] * (seats - len(replies)) for replies in members]
        seat_of = [0] * len(slots.owner)
        for prompt, replies in enumerate(members):
            for seat, reply in enumerate(replies):
                seat_of[reply] = prompt * seats + seat
        ends = torch.tensor(slots.reply_lengths)
        prompt_lengths = torch.tensor(slots.prompt_lengths)
        before = [0 if one is None else len(one.tokens) for one in slots.beginnings]
        positions = (prompt_lengths + torch.tensor(before))[torch.tensor(slots.owner)] + ends
        having: dict[int, tuple[Beginning, list[int]]] = {}
        for reply, prompt in enumerate(slots.owner):
            beginning = slots.beginnings[prompt]
            if beginning is not None:
                having.setdefault(id(beginning), (beginning, []))[1].append(reply)
        return _Plan(
            positions.to(device),
            torch.arange(len(slots.owner), device=device),
            ends.to(device),
            torch.tensor(seating, device=device),
            torch.tensor(seat_of, device=device),
            _bias(prompt_lengths, prompt_tokens).to(device),
            _bias(ends + 1, reply_tokens).to(device),
            [
                (beginning, None if len(replies) == len(slots.owner) else torch.tensor(replies, device=device))
                for beginning, replies in having.values()
            ],
        )


def _bias(lengths: Tensor, tokens: int) -> Tensor:
    """Return (slots, 1, 1, tokens): 0 at the first ``lengths`` tokens of each slot, -inf after them."""
    unseen = torch.arange(tokens) >= lengths[:, None]
    return torch.zeros(unseen.shape).masked_fill_(unseen, float("-inf"))[:, None, None, :]
