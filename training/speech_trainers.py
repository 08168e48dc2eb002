"""TRL's trainers for speeches and for pairs of them, with rows of one story in one batch and no loss that is no number.

This module imports torch at its top: it is itself imported only where a model is trained.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor
from torch.utils.data import Sampler
from trl.trainer.dpo_trainer import DPOTrainer
from trl.trainer.sft_trainer import SFTTrainer

from training.fitting import TrainingError
from training.packed_forward import group_order

PLACE = "place"
"""The column of a row's place among the rows."""
_NAMES = "names"


class _Names:
    """The rows of a batch; a thing of its own, so that nobody takes it for tensors on the way."""

    def __init__(self, examples: Sequence[dict[str, Any]]) -> None:
        self.questions = tuple(dict.fromkeys(str(example["question"]) for example in examples))
        self.places = [int(example[PLACE]) for example in examples]


class _Naming:
    """A collator that also says which rows a batch is of."""

    def __init__(self, collator: Any) -> None:
        self._collator = collator

    def __call__(self, examples: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return {**self._collator(examples), _NAMES: _Names(examples)}


class StorySampler(Sampler[int]):
    """Rows in an order drawn for each epoch, those of one story next to each other."""

    def __init__(self, stories: Sequence[str], seed: int) -> None:
        self._stories = stories
        self._seed = seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Draw another order."""
        self._epoch = int(epoch)

    def __len__(self) -> int:
        return len(self._stories)

    def __iter__(self) -> Iterator[int]:
        return iter(group_order(self._stories, self._seed * 1_000_003 + self._epoch))


class _ByStory:
    """What both trainers have in common; stands before TRL's class among the bases."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self.seen: Counter[int] = Counter()
        self.data_collator: Any = _Naming(self.data_collator)

    def _get_train_sampler(self, train_dataset: Any = None) -> StorySampler:
        rows = self.train_dataset if train_dataset is None else train_dataset  # type: ignore[attr-defined]
        return StorySampler(list(rows["story"]), self.args.seed)  # type: ignore[attr-defined]

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,  # noqa: FBT001, FBT002 - the signature in the base class
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """Compute the loss; see ``Trainer.compute_loss``.

        Raises:
            TrainingError: It is not a finite number.
        """
        names: _Names = inputs[_NAMES]
        rest = {name: value for name, value in inputs.items() if name != _NAMES}
        found = super().compute_loss(model, rest, return_outputs, num_items_in_batch)  # type: ignore[misc]
        loss = found[0] if return_outputs else found
        if not bool(loss.isfinite()):
            step = self.state.global_step + 1  # type: ignore[attr-defined]
            raise TrainingError(
                f"the loss at step {step} is not finite, in rows of {', '.join(map(repr, names.questions))}; lower "
                "fit.learning_rate, set fit.dtype to float32, or look at these rows"
            )
        if model.training:
            self.seen.update(names.places)
        return found


class SpeechTrainer(_ByStory, SFTTrainer):
    """``SFTTrainer``; see the module."""


class PairTrainer(_ByStory, DPOTrainer):
    """``DPOTrainer``; the reference is the adapter that fitting starts from. See the module."""
