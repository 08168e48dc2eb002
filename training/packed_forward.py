"""What TRL's trainers ask of a model, on packed rows: no padding, shared beginnings once, scores where one learns.

TRL asks for the log-probability of every labelled token (``fused_lm_head=True``). On a CPU it scores every position of
every padded row. Here the rows of a batch are packed as the local engine packs requests (``debate.models.forest``), so
the story and the question that speeches for both answers share are computed once, and so is the prompt that the two
speeches of a pair share; and the vocabulary is scored only where a label follows.

This module imports torch at its top: it is itself imported only where a model is trained.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from trl.trainer.utils import FusedCausalLMOutput

from debate.models.attention import KVShape, Packed
from debate.models.forest import Forest
from training.fitting import IGNORED
from training.letter_trainer import shape_of
from training.packing import pack

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Places(NamedTuple):
    """Where the labelled tokens of a batch are predicted.

    Attributes:
        rows: (labels,) the row of each.
        columns: (labels,) its place among its row's tokens less one, as in shifted labels.
        packed: (labels,) the packed token that predicts it.
    """

    rows: Tensor
    columns: Tensor
    packed: Tensor


def pack_rows(input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> tuple[Forest, Places]:
    """Pack a padded batch.

    Args:
        input_ids: (rows, tokens), padded on the right.
        attention_mask: (rows, tokens), 1 for tokens and 0 for padding.
        labels: (rows, tokens), -100 where nothing is learned.

    Returns:
        What is computed, and where labelled tokens are predicted.
    """
    lengths = attention_mask.sum(1).tolist()
    sequences = [row[:length].numpy() for row, length in zip(input_ids.cpu(), lengths, strict=True)]
    forest = pack(sequences)
    found = (labels[:, 1:].cpu() != IGNORED).nonzero()
    rows, columns = found[:, 0], found[:, 1]
    packed = torch.as_tensor(
        np.array([forest.paths[row][column] for row, column in zip(rows.tolist(), columns.tolist(), strict=True)], int)
    )
    return forest, Places(rows, columns, packed)


def add_packed_forward(model: PreTrainedModel) -> None:
    """Have a causal language model answer TRL's trainers by packing; call it once the trainer is made.

    Args:
        model: Loaded with the packed attention (``debate.models.attention``), without the wrapper of its adapter. Its
            forward is replaced; asked in another way than by TRL's trainers it does what it did.
    """
    before = model.forward
    shape: list[KVShape] = []

    @functools.wraps(type(model).forward)
    def forward(*args: Any, fused_lm_head: bool = False, **inputs: Any) -> Any:
        if not fused_lm_head:
            return before(*args, **inputs)
        ids, mask, labels = inputs["input_ids"], inputs["attention_mask"], inputs["labels"]
        forest, places = pack_rows(ids, mask, labels)
        config = model.config.get_text_config()
        if not shape or shape[0].device != ids.device:
            shape[:] = [shape_of(config, model.dtype, ids.device)]
        layout = Packed(forest, None, None, config.num_attention_heads, shape[0])
        states = model.base_model(
            input_ids=torch.as_tensor(forest.tokens, device=ids.device)[None],
            position_ids=torch.as_tensor(forest.positions, device=ids.device)[None],
            use_cache=False,
            layout=layout,
        ).last_hidden_state[0]
        rows, columns, packed = (part.to(ids.device) for part in places)
        head: Any = model.get_output_embeddings()  # type: ignore[no-untyped-call]  # the library's
        logits = head(states.index_select(0, packed)).float()
        return _scored(logits, labels, rows, columns)

    model.forward = forward


def _scored(logits: Tensor, labels: Tensor, rows: Tensor, columns: Tensor) -> FusedCausalLMOutput:
    """Put what is known of labelled tokens where TRL looks for it; see ``trl.trainer.utils.FusedCausalLMOutput``."""
    wanted = labels[rows, columns + 1]
    logs = logits.log_softmax(-1)
    own = logs.gather(-1, wanted[:, None])[:, 0]
    where = (rows, columns)
    empty = own.new_zeros(labels.shape[0], labels.shape[1] - 1)
    with torch.no_grad():
        entropy = -(logs.exp() * logs).sum(-1)
        top = logits.argmax(-1) == wanted
        mean = logits.mean(-1)
    return FusedCausalLMOutput(
        loss=-own.sum() / max(1, len(own)),
        log_probs=empty.index_put(where, own),
        entropy=empty.index_put(where, entropy),
        mean_logits=empty.index_put(where, mean),
        is_top1=torch.zeros_like(empty, dtype=torch.bool).index_put(where, top),
        label_mask=labels[:, 1:] != IGNORED,
    )


def group_order(groups: Sequence[str], seed: int) -> list[int]:
    """Draw the order of an epoch: groups in random order, their rows next to each other.

    Args:
        groups: Of each row, such as its story.
        seed: Of the draw.

    Returns:
        Places of rows, each once.
    """
    members: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    listed = list(members.values())
    return [place for index in np.random.default_rng(seed).permutation(len(listed)) for place in listed[index]]
