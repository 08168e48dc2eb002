"""Fitting a reward model by TRL's reward trainer: a base with a head, token ids of pairs, a padding token apart.

This module imports torch at its top: it is itself imported only where a reward model is trained.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from trl.trainer.reward_config import RewardConfig
from trl.trainer.reward_trainer import DataCollatorForPreference, RewardTrainer

from debate.errors import ConfigError
from debate.models.texts import Texts
from training.fitted import Fitted, run_trainer
from training.fitting import (
    AdapterSettings,
    Base,
    FitSettings,
    Process,
    TrainingError,
    arguments,
    dtype_of,
    load_base,
    lora_config,
    misfit,
    set_threads,
)
from training.rows import PairRow
from training.saving import ADAPTER

if TYPE_CHECKING:
    from datasets import Dataset
    from peft import PeftModel
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

# What TRL's reward trainer takes as tokenized, and what it is given beside: the pair's place among the rows.
CHOSEN, REJECTED, PLACE = "chosen_ids", "rejected_ids", "place"


class Pairs(NamedTuple):
    """Pairs that are short enough: those to fit, and those whose loss is looked at."""

    train: Sequence[PairRow]
    held: Sequence[PairRow]


class Settings(NamedTuple):
    """How a reward model is fitted.

    Attributes:
        adapter: What is trained beside the head.
        fit: How.
        center: Weight in the loss of the squared sum of both rewards: the loss itself leaves open where 0 is.
        seed: Of the adapter's first weights and of the order of rows.
    """

    adapter: AdapterSettings
    fit: FitSettings
    center: float
    seed: int


class Head(nn.Linear):
    """A head in float32 on a body of any number type: one number for each final state."""

    def __init__(self, size: int, device: torch.device) -> None:
        super().__init__(size, 1, bias=False, device=device)
        # All runs begin alike, with reward 0 for everything, and so do all processes of one run.
        nn.init.zeros_(self.weight)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - the name in the base class
        """Apply the layer."""
        return super().forward(input.to(self.weight.dtype))


def with_head(model: PreTrainedModel) -> PreTrainedModel:
    """Put a causal language model's body under a new head of zeros, as transformers knows reward models.

    Args:
        model: A causal language model of the transformers library; its body becomes the new model's.

    Raises:
        ConfigError: transformers has no such model with a head.
    """
    from transformers import AutoModelForSequenceClassification

    body, config = model.base_model, model.config
    config.num_labels = 1
    try:
        with torch.device("meta"):  # its own body is left aside
            made: Any = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]  # theirs
    except ValueError as error:
        raise ConfigError(
            f"base: transformers knows no reward model on a {type(model).__name__}; name another base"
        ) from error
    setattr(made, made.base_model_prefix, body)
    made.score = Head(config.get_text_config().hidden_size, model.device)
    found: PreTrainedModel = made
    return found


def add_reward_adapter(model: PreTrainedModel, base: Base, adapter: AdapterSettings, seed: int) -> PeftModel:
    """Put a new LoRA adapter on a base model that has a head; both are trained and saved, all else is frozen.

    Args:
        model: What ``with_head`` returned.
        base: Where it came from.
        adapter: Of what kind.
        seed: Of its first weights.

    Raises:
        ConfigError: The model has no such layers.
    """
    from peft import get_peft_model

    config = lora_config(base, adapter)
    # Without the head's name among them peft leaves the trained head out of what it saves, without a word, and puts
    # a random one in its place where the adapter is loaded.
    config.task_type, config.modules_to_save = "SEQ_CLS", ["score"]
    # At every checkpoint peft looks for the base's configuration under this name, on the hub if need be.
    config.base_model_name_or_path = str(base.folder)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        try:
            adapted: PeftModel = get_peft_model(model, config)
        except ValueError as error:
            raise misfit(base, adapter, error) from error
    return adapted


def tokenize(rows: Sequence[PairRow], texts: Texts) -> Dataset:
    """Turn pairs into token ids, by the function by which a reward model in use reads an exchange.

    Args:
        rows: The pairs.
        texts: The base's tokenizer.

    Returns:
        Columns ``chosen_ids`` and ``rejected_ids``, which TRL takes as they are, and ``place``.
    """
    from datasets import Dataset

    def ids(speeches: Iterable[tuple[PairRow, str]]) -> list[list[int]]:
        return [texts.exchange(row.prompt, speech).tolist() for row, speech in speeches]

    return Dataset.from_dict(
        {
            CHOSEN: ids((row, row.chosen) for row in rows),
            REJECTED: ids((row, row.rejected) for row in rows),
            PLACE: list(range(len(rows))),
        }
    )


def lengths(data: Dataset) -> list[int]:
    """Return the tokens of the longer speech of each pair, with its prompt."""
    return [max(len(chosen), len(rejected)) for chosen, rejected in _sides(data)]


def set_padding(tokenizer: PreTrainedTokenizerBase, data: Iterable[Dataset]) -> int:
    """Give a tokenizer a padding token with which no sequence ends.

    transformers reads the reward at the last token that is not padding. Where padding is the end token, as it often is,
    and a template ends replies with it, that would be the token before.

    Args:
        tokenizer: Changed in place.
        data: Everything that is trained or evaluated on, see ``tokenize``.

    Returns:
        The token's id.
    """
    ends = {sequence[-1] for part in data for column in (CHOSEN, REJECTED) for sequence in part[column]}
    tried = (tokenizer.pad_token_id, *tokenizer.all_special_ids, *range(len(tokenizer)))
    chosen = next(token for token in tried if token is not None and token not in ends)
    tokenizer.pad_token = tokenizer.convert_ids_to_tokens(chosen)
    return int(chosen)


@dataclass
class PlacedPairs(DataCollatorForPreference):
    """Pads pairs, and says which they are."""

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        """Make a batch."""
        return {**super().torch_call(examples), PLACE: torch.tensor([example[PLACE] for example in examples])}


class PairTrainer(RewardTrainer):
    """TRL's reward trainer, stopping at a loss that is not finite, and counting the pairs that it was fitted to.

    Args:
        rows: The training rows, for the message.
        given: What TRL's takes.
    """

    def __init__(self, *, rows: Sequence[PairRow], **given: Any) -> None:
        super().__init__(**given)
        self.seen: Counter[int] = Counter()
        self._rows = rows

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """Write none beside checkpoints: ours is beside the adapter."""

    def compute_loss(self, model: nn.Module, inputs: dict[str, Any], *args: Any, **more: Any) -> Any:
        """Compute it; see TRL."""
        places = inputs.pop(PLACE).tolist()
        found = super().compute_loss(model, inputs, *args, **more)  # type: ignore[no-untyped-call]  # theirs
        if model.training:
            loss = found[0] if isinstance(found, tuple) else found
            if not bool(loss.isfinite()):
                named = ", ".join(f"{place} ({self._rows[place].question})" for place in places)
                raise TrainingError(
                    f"the loss is {loss.item()} after step {self.state.global_step}, on training rows {named}; lower "
                    "fit.learning_rate, or set fit.dtype to float32"
                )
            self.seen.update(places)
        return found


def fit_reward(pairs: Pairs, base: Base, settings: Settings, process: Process, folder: Path) -> Fitted:
    """Fit an adapter and a head, and save them into the run's folder; goes on from the last checkpoint there.

    Args:
        pairs: The pairs.
        base: The base.
        settings: How.
        process: This one; every process calls this.
        folder: Of the run.

    Returns:
        What was fitted.

    Raises:
        TrainingError: A loss or a weight is not finite.
    """
    set_threads()
    trainer = make_trainer(pairs, base, settings, process, folder)
    tokens = sum(len(chosen) + len(rejected) for chosen, rejected in _sides(trainer.train_dataset))
    return run_trainer(
        trainer,
        settings.fit,
        process,
        folder,
        rows=len(pairs.train),
        tokens=tokens,
        save=lambda model, state: save_reward(model, base, folder / ADAPTER, state),
    )


def make_trainer(pairs: Pairs, base: Base, settings: Settings, process: Process, folder: Path) -> PairTrainer:
    """Make the trainer of ``fit_reward``."""
    from transformers import AutoTokenizer

    data = [tokenize(rows, base.texts) for rows in pairs if rows]
    tokenizer = AutoTokenizer.from_pretrained(str(base.folder), local_files_only=True)
    padding = set_padding(tokenizer, data)
    model = add_reward_adapter(
        with_head(load_base(base, dtype_of(settings.fit))), base, settings.adapter, settings.seed
    )
    return PairTrainer(
        rows=pairs.train,
        model=model,
        processing_class=tokenizer,
        args=RewardConfig(
            **arguments(settings.fit, process, folder, settings.seed),
            max_length=None,  # what is too long has been left out, and counted
            center_rewards_coefficient=settings.center or None,
            disable_dropout=settings.adapter.dropout == 0,
        ),
        data_collator=PlacedPairs(pad_token_id=padding),
        train_dataset=data[0],
        eval_dataset=data[1] if pairs.held else None,
    )


def save_reward(model: PeftModel, base: Base, folder: Path, state: dict[str, Tensor] | None = None) -> None:
    """Save adapter and head in float32, as they were fitted, so that what is loaded gives the same rewards.

    Args:
        model: The fitted model.
        base: Where it came from.
        folder: Where; what is there is replaced.
        state: All weights, where they are spread over processes.

    Raises:
        TrainingError: A weight is not finite.
    """
    for name, weight in model.named_parameters():
        if weight.requires_grad and not bool(weight.isfinite().all()):
            raise TrainingError(f"weight {name} is not finite after training; lower fit.learning_rate")
    model.peft_config["default"].base_model_name_or_path = base.hub_id  # a folder's path is of this machine alone
    model.save_pretrained(str(folder), state_dict=state, save_embedding_layers=False)


def _sides(data: Any) -> Iterable[tuple[list[int], list[int]]]:
    return zip(data[CHOSEN], data[REJECTED], strict=True)
