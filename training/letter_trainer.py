"""Training a judge on answer letters alone: one probability at the end of each prompt, and nothing else.

The rows of a batch are packed as the local engine packs the requests that it answers (``debate.models.forest``):
without padding, and tokens that rows share, such as the instructions and the question, are computed once. Logits are
computed at the last position only. So training sees the numbers that the judge will see, and costs little more than it
must.

This module imports torch at its top: it is itself imported only where a model is trained.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, Sampler
from transformers import Trainer

from debate.agents.render import LETTERS
from debate.errors import SourceError
from debate.models import attention
from debate.models.attention import KVShape, Packed
from debate.models.forest import Forest
from debate.models.prefixes import Tokens
from debate.models.texts import Texts
from training.fitting import IGNORED, TrainingError
from training.packing import pack
from training.rows import Row

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

ATTENTION = attention.IMPLEMENTATION


@dataclass(frozen=True, slots=True)
class LetterRow:
    """A prompt and the letter of the right answer.

    Attributes:
        tokens: Of the prompt, up to where the reply begins.
        gold: Index of the letter, or IGNORED where the row is not to be learned.
        name: For messages, another for each row.
        group: Rows of one group, such as both orders of a debate, go into one batch.
    """

    tokens: Tokens
    gold: int
    name: str = ""
    group: str = ""


def encode(rows: Sequence[Row], texts: Texts) -> list[LetterRow]:
    """Turn rows into token ids, as ``choose`` does.

    Args:
        rows: With a letter as completion.
        texts: The tokenizer.

    Raises:
        SourceError: A completion is no letter of an answer, or all are the same.
    """
    found = []
    for place, row in enumerate(rows, 1):
        letter = row.completion.strip()
        if len(letter) != 1 or letter not in LETTERS:
            raise SourceError(
                f"question {row.question!r}: the completion {row.completion[:40]!r} is no answer letter, so nothing of "
                "the row can be learned; make rows of kind letter"
            )
        group = row.tags.get("debate", row.question)
        known = "".join(f", {tag} {row.tags[tag]}" for tag in ("order", "round") if tag in row.tags)
        name = f"row {place} (question {row.question!r}{known})"
        found.append(LetterRow(texts.prompt(row.prompt), LETTERS.index(letter), name, f"{row.story}\0{group}"))
    if len({row.gold for row in found}) < 2:
        raise SourceError(f"the right answer has one letter in all {len(rows)} rows; give debates in both orders")
    return found


class LetterRows(Dataset[LetterRow]):
    """Encoded rows; the place after the last one holds a row that is not learned and costs nothing.

    Args:
        rows: One or more.
    """

    def __init__(self, rows: Sequence[LetterRow]) -> None:
        self.rows = list(rows)
        # Its token is one that all prompts begin with, so it is computed anyway.
        self._filler = LetterRow(rows[0].tokens[:1], IGNORED)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> LetterRow:
        return self.rows[place] if place < len(self.rows) else self._filler


def epoch_order(groups: Sequence[str], batch: int, seed: int) -> list[int]:
    """Draw the order of an epoch: groups in random order, their rows next to each other, the last batch filled up.

    Args:
        groups: Of each row.
        batch: Rows of a step in all processes.
        seed: Of the draw.

    Returns:
        Places of rows, each once; the number of rows stands for a filler. Their count is a multiple of ``batch``.
    """
    members: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    listed = list(members.values())
    drawn = np.random.default_rng(seed).permutation(len(listed))
    order = [place for index in drawn for place in listed[index]]
    return order + [len(groups)] * (-len(order) % batch)


class GroupSampler(Sampler[int]):
    """The order of rows in each epoch; see ``epoch_order``.

    It does not depend on how many processes share a batch. accelerate hands out passes in turn, so that the passes of
    one step lie next to each other.
    """

    def __init__(self, groups: Sequence[str], batch: int, seed: int) -> None:
        self._groups = groups
        self._batch = batch
        self._seed = seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Draw another order."""
        self._epoch = int(epoch)

    def __len__(self) -> int:
        return -(-len(self._groups) // self._batch) * self._batch

    def __iter__(self) -> Iterator[int]:
        return iter(epoch_order(self._groups, self._batch, self._seed * 1_000_003 + self._epoch))


class Batch(NamedTuple):
    """What one pass computes."""

    forest: Forest
    names: tuple[str, ...]


def collate(rows: Sequence[LetterRow]) -> dict[str, Any]:
    """Pack rows into one pass; see ``debate.models.forest``."""
    forest = pack([row.tokens for row in rows])
    return {
        "labels": torch.tensor([row.gold for row in rows]),
        "input_ids": torch.as_tensor(forest.tokens)[None],
        "position_ids": torch.as_tensor(forest.positions)[None],
        "logits_to_keep": torch.tensor([int(path[-1]) for path in forest.paths[: len(rows)]]),
        "packed": _Opaque(Batch(forest, tuple(row.name for row in rows))),
    }


class _Opaque:
    """Keeps accelerate from walking through what it holds on its way to a device."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch


class LetterLosses(NamedTuple):
    """Of each row: the loss among the letters, and the log-probability that the letters hold together."""

    among: Tensor
    mass: Tensor


def letter_losses(logits: Tensor, gold: Tensor, forms: Sequence[Tensor]) -> LetterLosses:
    """Compute the loss of a letter's probability, summed over its token forms as ``choose`` does.

    Args:
        logits: (rows, vocabulary) at the end of the prompts.
        gold: (rows,) index of the right letter; a negative one counts as the first.
        forms: Token ids of each letter.

    Returns:
        -log(p(gold) / sum of p(letter)) and log(sum of p(letter)), each (rows,), float32.
    """
    logs = logits.float()
    letters = torch.stack([logs.index_select(-1, tokens).logsumexp(-1) for tokens in forms], -1)
    total = letters.logsumexp(-1)
    own = letters.gather(-1, gold.clamp(min=0)[:, None])[:, 0]
    return LetterLosses(total - own, total - logs.logsumexp(-1))


class LetterTrainer(Trainer):
    """Fits a model to answer letters. Works with whatever ``accelerate launch`` starts.

    Args:
        texts: The tokenizer.
        letters: How many answers there are.
        mass_weight: Weight of -log(mass) in the loss: 1 makes it the plain loss of the letter among all tokens, 0
            leaves the letters' mass alone.
        **rest: As of ``transformers.Trainer``; data sets are ``LetterRows``.
    """

    def __init__(self, *, texts: Texts, letters: int, mass_weight: float, **rest: Any) -> None:
        super().__init__(data_collator=collate, **rest)
        self.model_accepts_loss_kwargs = True  # so that the trainer counts the labels of all processes
        self._loss_shifts_labels = False
        self._forms = [torch.tensor(texts.forms(letter)) for letter in LETTERS[:letters]]
        self._mass_weight = mass_weight
        self._shape: KVShape | None = None
        self._sums: dict[str, float] = defaultdict(float)
        self.seen: Counter[str] = Counter()

    def _get_train_sampler(self, train_dataset: Any = None) -> GroupSampler:
        rows: Any = self.train_dataset if train_dataset is None else train_dataset
        args = self.args
        batch = args.per_device_train_batch_size * args.gradient_accumulation_steps * args.world_size
        return GroupSampler([row.group for row in rows.rows], batch, args.seed)

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,  # noqa: FBT001, FBT002 - the signature in the base class
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """Compute the mean loss over the batch; see ``Trainer.compute_loss``.

        Raises:
            TrainingError: A row's loss is not a finite number.
        """
        inputs = dict(inputs)
        batch: Batch = inputs.pop("packed").batch
        gold: Tensor = inputs.pop("labels")
        layout = self._layout(batch.forest, gold.device)
        outputs = model(**inputs, use_cache=False, layout=layout)
        losses = letter_losses(outputs.logits[0], gold, [tokens.to(gold.device) for tokens in self._forms])
        counted = gold >= 0
        each = (losses.among - self._mass_weight * losses.mass) * counted
        if not bool(each.isfinite().all()):
            where = int((~each.isfinite()).nonzero()[0])
            raise TrainingError(
                f"the loss at step {self.state.global_step + 1} is not finite, first for {batch.names[where]}; lower "
                "fit.learning_rate, set fit.dtype to float32, or look at that row"
            )
        if num_items_in_batch is None:
            loss = each.sum() / counted.sum().clamp(min=1)
        else:
            # Gradients are averaged over processes, and each has divided by the number of rows of all.
            loss = each.sum() / num_items_in_batch * self.accelerator.num_processes
        if model.training:
            self._count(losses, counted, batch)
        return (loss, {"logits": losses.among.detach()}) if return_outputs else loss

    def _layout(self, forest: Forest, device: torch.device) -> Packed:
        config = self.accelerator.unwrap_model(self.model).config.get_text_config()
        if self._shape is None or self._shape.device != device:
            self._shape = shape_of(config, _base_dtype(self.model), device)
        return Packed(forest, None, None, config.num_attention_heads, self._shape)

    def _count(self, losses: LetterLosses, counted: Tensor, batch: Batch) -> None:
        among, mass = losses.among.detach()[counted], losses.mass.detach()[counted]
        self._sums["rows"] += len(among)
        self._sums["right"] += float((among < np.log(2)).sum())
        self._sums["mass"] += float(mass.exp().sum())
        self._sums["tokens"] += sum(len(path) for path in batch.forest.paths[: len(batch.names)])
        self._sums["computed"] += len(batch.forest.tokens)
        self.seen.update(name for name, count in zip(batch.names, counted.tolist(), strict=True) if count)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log, with the share of rows that were right and the letters' mass, both of this process's rows."""
        if "loss" in logs and self._sums["rows"]:
            rows = self._sums["rows"]
            logs |= {name: self._sums[name] / rows for name in ("right", "mass")}
            logs |= {name: self._sums[name] for name in ("tokens", "computed")}
            self._sums.clear()
        super().log(logs, start_time)

    def prediction_step(self, model: Any, inputs: dict[str, Any], *_: Any, **__: Any) -> tuple[Tensor, None, None]:
        """Compute the mean loss of a batch of validation rows."""
        with torch.no_grad():
            loss = self.compute_loss(model, self._prepare_inputs(inputs))
        return loss.detach(), None, None


def shape_of(config: PreTrainedConfig, dtype: torch.dtype, device: torch.device) -> KVShape:
    """Return the shape of a model's keys and values."""
    heads = config.num_attention_heads
    dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    return KVShape(config.num_hidden_layers, kv_heads, dim, dtype, device)


def _base_dtype(model: Any) -> torch.dtype:
    found: torch.dtype = next(parameter.dtype for parameter in model.parameters() if not parameter.requires_grad)
    return found
