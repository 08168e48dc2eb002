"""Passes filled up to sizes that recur."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from training.packing import STEP, pack


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=40), min_size=1, max_size=6))
def test_every_row_lies_on_its_path_and_the_rest_is_nobodys(rows: list[list[int]]) -> None:
    forest = pack([np.array(row) for row in rows])
    assert len(forest.tokens) % STEP == 0
    for row, path in zip(rows, forest.paths, strict=False):
        assert forest.tokens[path].tolist() == row
        assert forest.positions[path].tolist() == list(range(len(row)))
    used = {int(place) for path in forest.paths[: len(rows)] for place in path}
    filler = {int(place) for path in forest.paths[len(rows) :] for place in path}
    assert len(forest.paths) <= len(rows) + 1
    assert used.isdisjoint(filler)
    assert used | filler == set(range(len(forest.tokens)))
