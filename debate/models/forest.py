"""Packing rows into one pass in which every token that rows share is computed once.

Rows are sequences that may begin alike: prompts with one system text, continuations of one prompt. Sorted, each row
shares with the one before it all that it shares with any row before it, so inserting rows in that order builds the tree
of their tokens: a row's *path* names, for each of its tokens, the place of that token's keys and values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from debate.models.prefixes import Known, Tokens, common, sort_key

# Queries of one block at the most: keys behind a block are left out, so shorter blocks waste less of a long row.
BLOCK_QUERIES = 256
# Score elements that one more bucket costs as much time as: buckets may waste this much padding, and a quarter more.
BUCKET_COST = 4096
# Most score elements of one bucket, so that scores of all heads stay small.
BUCKET_LIMIT = 1 << 20


class Stored(NamedTuple):
    """A stored beginning that a forest reads: its name in the store, and how many of its tokens."""

    name: bytes
    tokens: int


class Forest(NamedTuple):
    """What one pass computes.

    Attributes:
        tokens: (n,) token ids to compute.
        positions: (n,) their positions in their rows.
        stored: Beginnings whose keys stand before the computed ones, in this order.
        paths: For each row the places of its tokens' keys: stored ones first, then the computed ones.
        own: For each row how many of its last tokens were added for it.
    """

    tokens: Tokens
    positions: Tokens
    stored: list[Stored]
    paths: list[Tokens]
    own: list[int]

    @property
    def stored_tokens(self) -> int:
        """How many stored tokens stand before the computed ones."""
        return sum(entry.tokens for entry in self.stored)


def grow(sequences: Sequence[Tokens], known: Sequence[Known], wanted: Sequence[int]) -> Forest:
    """Build the forest of rows.

    Args:
        sequences: Token ids of each row.
        known: The stored beginning of each row that it may read.
        wanted: How many of each row's last tokens must be computed, not read.

    Returns:
        The forest; paths and own counts in the order of ``sequences``.
    """
    most: dict[bytes, int] = {}
    for entry in known:
        if entry.tokens:
            most[entry.name] = max(most.get(entry.name, 0), entry.tokens)
    offsets, total = {}, 0
    for name, count in most.items():
        offsets[name] = total
        total += count
    paths: list[Tokens] = [np.empty(0, np.int64)] * len(sequences)
    own = [0] * len(sequences)
    new, positions = [], []
    place = total
    before, before_path, before_stored = np.empty(0, np.int64), np.empty(0, np.int64), 0
    for row in sorted(range(len(sequences)), key=lambda row: sort_key(sequences[row])):
        tokens, entry = sequences[row], known[row]
        shared = common(before, tokens)
        if before_stored <= min(shared, len(tokens) - wanted[row]) and entry.tokens <= shared:
            start, stored = before_path[:shared], before_stored
        else:
            stored = entry.tokens
            start = np.arange(offsets[entry.name], offsets[entry.name] + stored) if stored else before_path[:0]
        added = len(tokens) - len(start)
        path = np.concatenate([start, np.arange(place, place + added)])
        new.append(tokens[len(start) :])
        positions.append(np.arange(len(start), len(tokens)))
        place += added
        paths[row], own[row] = path, added
        before, before_path, before_stored = tokens, path, stored
    stored_list = [Stored(name, count) for name, count in most.items()]
    return Forest(np.concatenate(new), np.concatenate(positions), stored_list, paths, own)


class Block(NamedTuple):
    """Queries next to each other on one path: their keys, and how many of the last of these are the queries' own."""

    keys: Tokens
    queries: int


def blocks(forest: Forest) -> list[list[Block]]:
    """Cut a forest's queries into blocks, and put blocks of like size into buckets that are padded to one size.

    Returns:
        Buckets. Every computed token is a query of exactly one block.
    """
    every: list[Block] = []
    for path, own in zip(forest.paths, forest.own, strict=True):
        for start in range(len(path) - own, len(path), BLOCK_QUERIES):
            end = min(start + BLOCK_QUERIES, len(path))
            every.append(Block(path[:end], end - start))
    every.sort(key=lambda block: (block.queries, len(block.keys)), reverse=True)
    buckets: list[list[Block]] = []
    queries = keys = used = 0
    for block in every:
        size = block.queries * len(block.keys)
        wide = max(keys, len(block.keys))
        if buckets:
            padded = queries * wide * (len(buckets[-1]) + 1)
            if padded <= min(1.25 * (used + size) + BUCKET_COST, max(BUCKET_LIMIT, size)):
                buckets[-1].append(block)
                keys, used = wide, used + size
                continue
        buckets.append([block])
        queries, keys, used = block.queries, len(block.keys), size
    return buckets
