"""Fitting a debater's adapter, on a tiny random model: what TRL is told, what is learned, and when it stops."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from debate.card import Card, read_card, write_card
from debate.errors import ConfigError, ModelAccessError, SourceError
from debate.models.base import Message
from debate.models.embedded import NAME
from debate.models.load import ModelConfig, open_model
from debate.question import Question
from debate.record import Debate, Recorded
from debate.transcript import Transcript
from debate.verdict import Verdict
from tests.tiny import save_adapter, save_model, save_reward
from training.debater_fit import AnyRow, Lengths, RowsToFit, fit_debater, lengths_of, make_trainer, replies
from training.finetune_debater import DebaterTrainingConfig, check_short, judges_of
from training.fitted import Fitted
from training.fitting import (
    AdapterSettings,
    Base,
    FitSettings,
    Process,
    TrainingError,
    find_base,
)
from training.gather import DataConfig, Gathered
from training.packed_forward import group_order
from training.progress import read_metrics, watched
from training.rows import SAME, PairRow, Row, RowSet
from training.saving import ADAPTER, save_card
from training.start import adapter_facts, cards_from, load_start
from training.worth import TOO_LONG

WORDS = ("fog", "sea", "bell", "boat", "lamp", "A", "B", "C")


def rows_of(count: int, *, pairs: bool = False, seed: int = 0) -> list[AnyRow]:
    """Rows of two a story, whose prompts begin alike and whose replies repeat a word of the prompt."""
    draws = np.random.default_rng(seed)
    rows: list[AnyRow] = []
    for place in range(count):
        story = np.random.default_rng([seed, place // 2]).choice(WORDS[:5], 12)
        word = str(draws.choice(story))
        prompt = (Message("user", " ".join([*story, "who", word])),)
        good, bad = f"{word} {word} A", " ".join(draws.choice(WORDS, draws.integers(1, 5)))
        known: dict[str, Any] = {"question": f"q{place}", "story": f"s{place // 2}", "fold": "debater", "tags": {}}
        rows.append(PairRow(prompt, good, bad, 1.0, **known) if pairs else Row(prompt, good, **known))
    return rows


def settings(method: str = "sft", start: Path | None = None, **fit: Any) -> DebaterTrainingConfig:
    fitted: dict[str, Any] = {"dtype": "float32", "log_steps": 1, "batch": 4, "learning_rate": 0.02, **fit}
    tree: Mapping[str, Any] = {
        "method": method,
        "data": [{"debates": "run:there"}],
        "fit": fitted,
        "start": None if start is None else str(start),
    }
    return DebaterTrainingConfig.model_validate(tree)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    return find_base(f"hf/{save_model(tmp_path_factory.mktemp('model'))}")


def fit(rows: Sequence[AnyRow], base: Base, config: DebaterTrainingConfig, folder: Path, held: int = 0) -> Fitted:
    lengths = lengths_of(rows, base.texts)
    parts = RowsToFit(rows, rows_of(held, pairs=config.method == "dpo", seed=9), lengths, 0)
    folder.mkdir(exist_ok=True)
    return fit_debater(parts, base, config, Process(1, 0), folder)


def batch_of(rows: Sequence[AnyRow], base: Base) -> dict[str, Any]:
    """A batch as TRL pads it, replies labelled."""
    import torch

    ids, labels = [], []
    for row in rows:
        whole = base.texts.exchange(row.prompt, replies(row)[0]).tolist()
        start = len(base.texts.prompt(row.prompt))
        ids.append(whole)
        labels.append([-100] * start + whole[start:])
    longest = max(map(len, ids))
    return {
        "input_ids": torch.tensor([one + [1] * (longest - len(one)) for one in ids]),
        "attention_mask": torch.tensor([[1] * len(one) + [0] * (longest - len(one)) for one in ids]),
        "labels": torch.tensor([one + [-100] * (longest - len(one)) for one in labels]),
    }


def test_a_packed_model_tells_trl_what_trls_own_forward_would(base: Base) -> None:
    import torch
    from trl.trainer.utils import add_fused_lm_head

    from debate.models import attention
    from training.packed_forward import add_packed_forward

    attention.register()
    config = settings()
    batch = batch_of(rows_of(6), base)
    found: dict[str, Any] = {}
    gradients: dict[str, list[Any]] = {}
    packing: Callable[[Any], None] = add_packed_forward
    fields = ("log_probs", "entropy", "mean_logits", "is_top1", "label_mask")
    for name, kind in (("plain", "eager"), ("packed", attention.IMPLEMENTATION)):
        model: Any = load_start(base, config, torch.float32, kind)
        if name == "plain":
            add_fused_lm_head(model.get_base_model(), outputs=("log_probs", "entropy", "mean_logits", "is_top1"))
        else:
            packing(model.get_base_model())
        for weight in model.parameters():
            if weight.requires_grad:
                weight.data += 0.1  # off zero, so that all of it has a gradient
        found[name] = model(**batch, fused_lm_head=True)
        (found[name].log_probs.sum() * found[name].label_mask.sum()).backward()
        gradients[name] = [weight.grad for weight in model.parameters() if weight.requires_grad]
    plain, packed = found["plain"], found["packed"]
    mask = plain.label_mask
    assert mask.sum() == 6 * 4  # the role and three words, whatever is padded
    for field in fields:
        assert torch.allclose(getattr(packed, field)[mask].float(), getattr(plain, field)[mask].float(), atol=1e-5)
        assert not getattr(packed, field)[~mask].any()
    assert float(packed.loss) == pytest.approx(float(plain.loss), abs=1e-5)
    assert len(gradients["packed"]) == len(gradients["plain"]) > 0
    for ours, theirs in zip(gradients["packed"], gradients["plain"], strict=True):
        assert float((ours - theirs).abs().max()) < 1e-4 * float(theirs.abs().max())


def test_what_rows_share_is_computed_once(base: Base) -> None:
    from training.packed_forward import pack_rows

    batch = batch_of(rows_of(2), base)
    forest, places = pack_rows(**batch)
    alone, _ = pack_rows(**{name: part[:1] for name, part in batch.items()})
    sizes = ((forest, len(batch["labels"])), (alone, 1))
    both, one = (len({int(place) for path in found.paths[:rows] for place in path}) for found, rows in sizes)
    assert both < int(batch["attention_mask"].sum()) - 10
    assert both > one
    assert len(places.packed) == int((batch["labels"] >= 0).sum())


@pytest.mark.parametrize(("method", "packed"), [("sft", True), ("dpo", True), ("sft", False)])
def test_the_losses_are_those_of_plain_trl(base: Base, tmp_path: Path, method: str, *, packed: bool) -> None:
    """The same rows, adapter and order by TRL's own trainer, attention and padding give the same losses."""
    import torch
    from transformers import AutoTokenizer
    from trl.trainer.dpo_config import DPOConfig
    from trl.trainer.dpo_trainer import DPOTrainer
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer

    from training.fitting import arguments
    from training.rows import to_dataset

    start = save_adapter(base.folder, tmp_path / "start") if method == "dpo" else None
    config = settings(method, start, batch=8, epochs=3).model_copy(update={"packed": packed})
    rows = rows_of(8, pairs=method == "dpo")
    fit(rows, base, config, tmp_path / "ours")
    common = {**arguments(config.fit, Process(1, 0), tmp_path / "theirs", 0), "max_length": 128}
    common["gradient_checkpointing"] = False
    parts: dict[str, Any] = {
        "model": load_start(base, config, torch.float32, "eager"),
        "train_dataset": to_dataset(rows),
        "processing_class": AutoTokenizer.from_pretrained(str(base.folder)),
    }
    trainer: Any = (
        SFTTrainer(args=SFTConfig(**common, completion_only_loss=True), **parts)
        if method == "sft"
        else DPOTrainer(args=DPOConfig(**common), **parts)
    )
    trainer.train()
    theirs = [line["loss"] for line in trainer.state.log_history if "loss" in line]
    ours = [line["loss"] for line in read_metrics(tmp_path / "ours" / "metrics.jsonl") if "loss" in line]
    assert ours == pytest.approx(theirs, abs=1e-4)
    assert len(ours) == 3
    if method == "dpo":  # against the adapter that it starts from, nothing is better at first
        assert ours[0] == pytest.approx(math.log(2), abs=1e-5)


@pytest.mark.parametrize(("number", "epochs"), [(9, 2), (8, 1.5)])
def test_a_plan_counts_the_steps_that_are_made(base: Base, tmp_path: Path, number: int, epochs: float) -> None:
    config = settings(epochs=epochs)
    done = fit(rows_of(number), base, config, tmp_path)
    assert done.steps == config.steps(number)
    # Half an epoch more sees only some rows again: what is told of it is counted, not computed.
    assert (done.seen, done.times) == (number, round(number * epochs))


def test_speeches_are_learned_and_the_adapter_is_a_player_s(base: Base, tmp_path: Path) -> None:
    rows = rows_of(64)
    done = fit(rows, base, settings(epochs=6), tmp_path, held=8)
    losses = [line["loss"] for line in read_metrics(tmp_path / "metrics.jsonl") if "loss" in line]
    assert np.mean(losses[-8:]) < 0.5 * np.mean(losses[:8])
    assert (done.rows, done.seen, done.steps, done.times) == (64, 64, 96, 384)
    assert done.validation_loss is not None
    row = rows[0]

    async def likelihood(adapter: Path | None) -> float:
        model = open_model(ModelConfig(name=base.name, adapter=None if adapter is None else str(adapter)))
        try:
            return (await model.score(row.prompt, [replies(row)[0]])).values[0]
        finally:
            await model.close()

    assert asyncio.run(likelihood(tmp_path / ADAPTER)) > asyncio.run(likelihood(None)) + 1


def test_better_speeches_gain_on_worse_ones_and_only_the_new_adapter_is_saved(base: Base, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    start = save_adapter(base.folder, tmp_path / "start")
    fit(rows_of(16, pairs=True), base, settings("dpo", start, epochs=10, batch=8, save_steps=5), tmp_path / "run")
    lines = [line for line in read_metrics(tmp_path / "run" / "metrics.jsonl") if "loss" in line]
    assert lines[0]["rewards/margins"] == pytest.approx(0, abs=1e-5)
    assert lines[-1]["rewards/margins"] > 0.1
    weights = load_file(tmp_path / "run" / ADAPTER / "adapter_model.safetensors")
    began = load_file(start / "adapter_model.safetensors")
    assert weights.keys() == began.keys()
    assert all(not bool((weights[name].float() == began[name].float()).all()) for name in weights)


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_a_resumed_training_has_the_losses_of_one_that_was_never_stopped(
    base: Base, tmp_path: Path, method: str
) -> None:
    rows = rows_of(24, pairs=method == "dpo")
    start = save_adapter(base.folder, tmp_path / "start") if method == "dpo" else None
    config = settings(method, start, epochs=2, save_steps=5)
    fit(rows, base, config, tmp_path / "whole")
    lengths = lengths_of(rows, base.texts)
    folder = tmp_path / "stopped"
    folder.mkdir()
    trainer = make_trainer(RowsToFit(rows, [], lengths, 0), base, config, Process(1, 0), folder, dtype=_float32())
    trainer.add_callback(_stop_at(7))
    with watched(trainer, folder):
        trainer.train()
    done = fit(rows, base, config, folder)
    whole, resumed = (
        [(line["step"], line["loss"]) for line in read_metrics(path / "metrics.jsonl") if "loss" in line]
        for path in (tmp_path / "whole", folder)
    )
    assert [step for step, _ in resumed] == [step for step, _ in whole] == list(range(1, 13))
    assert [loss for _, loss in resumed] == pytest.approx([loss for _, loss in whole], abs=1e-6)
    assert done.steps == 12


def _stop_at(step: int) -> Any:
    from transformers import TrainerCallback

    class Stop(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - the interface
            control.should_training_stop = state.global_step >= step

    return Stop()


def _float32() -> Any:
    import torch

    return torch.float32


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_a_loss_that_is_no_number_names_the_rows(base: Base, tmp_path: Path, method: str) -> None:
    start = save_adapter(base.folder, tmp_path / "start", size=math.nan)
    rows = rows_of(4, pairs=method == "dpo")
    with pytest.raises(
        TrainingError, match=r"loss at step 1 is not finite, in rows of 'q\d', .*; lower fit\.learning_rate"
    ):
        fit(rows, base, settings(method, start), tmp_path / "run")


def test_lengths_are_of_the_whole_row_and_of_what_is_learned(base: Base) -> None:
    prompt = (Message("user", "fog sea"),)
    known: dict[str, Any] = {"question": "q", "story": "s", "fold": None, "tags": {}}
    rows: list[AnyRow] = [Row(prompt, "A B", **known), PairRow(prompt, "A", "A B C", 1.0, **known)]
    first, second = lengths_of(rows, base.texts)
    start = len(base.texts.prompt(prompt))
    assert first == Lengths(len(base.texts.exchange(prompt, "A B")), len(base.texts.exchange(prompt, "A B")) - start)
    assert second.all == len(base.texts.exchange(prompt, "A B C"))
    assert second.learned == sum(len(base.texts.exchange(prompt, said)) - start for said in ("A", "A B C"))
    with pytest.raises(SourceError, match="question 'q': a speech of its row is empty"):
        lengths_of([Row(prompt, " ", **known)], base.texts)


def test_an_adapter_of_another_base_is_no_start(base: Base, tmp_path: Path) -> None:
    other = save_model(tmp_path / "other", hidden=64)
    start = save_adapter(other, tmp_path / "start")
    with pytest.raises(ConfigError, match=r"does not fit hf/.*; name its base"):
        load_start(base, settings(start=start), _float32(), "eager")


def test_what_is_no_start_is_refused_before_anything_is_trained(base: Base, tmp_path: Path) -> None:
    own = Card(kind="debater", base=base.name, stories=(), data="0" * 64)
    reward = save_reward(base.folder, tmp_path / "reward")
    with pytest.raises(ConfigError, match="is a reward model, which neither speaks nor judges"):
        load_start(base, settings(start=reward), _float32(), "eager")
    with pytest.raises(ConfigError, match="is a reward model"):
        cards_from(str(reward), own)
    with pytest.raises(ModelAccessError, match=r"adapter_config\.json and .* missing"):
        cards_from(str(tmp_path / "nowhere"), own)
    other = save_adapter(base.folder, tmp_path / "other")
    write_card(other, own.model_copy(update={"base": "hf/other"}))
    with pytest.raises(ConfigError, match="was trained on 'hf/other', not on"):
        cards_from(str(other), own)


def test_too_many_speeches_that_do_not_fit_stop_the_training(base: Base) -> None:
    rows = tuple(row for row in rows_of(46) if isinstance(row, Row))
    others = {SAME: 1, "more for one side of their question": 1, "not won by the margin": 900}
    check_short(RowSet(rows, (), {**others, TOO_LONG: 1}), FitSettings(max_cut=0.03), base, "training")  # 1 of 49
    with pytest.raises(SourceError, match=r"2 of 50 training rows have more than 99 tokens even .*fit\.max_cut 0\.03"):
        check_short(
            RowSet(rows, (), {**others, TOO_LONG: 2}), FitSettings(max_cut=0.03, max_length=99), base, "training"
        )


def test_the_card_names_whose_verdicts_said_who_won() -> None:
    question = Question("q", "Who?", ("A.", "B."), 0, "A story.", "s", "debater")
    transcript = Transcript(question, (0, 1))

    def part(judge: str, tags: Mapping[str, str] | None = None) -> Gathered:
        verdicts = tuple(Verdict(judge, order, (0.8, 0.2)) for order in ((0, 1), (1, 0)))
        held = Recorded(Debate("d", "simultaneous", transcript, ("x", "y"), tags=tags or {}), verdicts)
        return Gathered(DataConfig(debates="run:there"), (held,), {})

    parts = [part("one"), part("two"), part("one"), part("person", {"judge": "person"})]
    assert judges_of(settings(), parts) == ["one", "two", "whoever ended the debate"]
    assert judges_of(settings("dpo"), parts) == []


def test_the_card_tells_of_the_adapter_that_was_gone_on_with(base: Base, tmp_path: Path) -> None:
    start = save_adapter(base.folder, tmp_path / "start", rank=3)
    assert adapter_facts(settings())["r"] == 8
    found = adapter_facts(settings(start=start))
    assert (found["r"], found["alpha"]) == (3, 6)
    assert set(found["targets"]) == {"q_proj", "v_proj", "o_proj", "down_proj"}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("base_name", "hub"),
    [(NAME, "HuggingFaceTB/SmolLM2-135M-Instruct"), ("hf/Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-7B-Instruct")],
)
def test_a_model_card_says_what_the_hub_must_know(tmp_path: Path, base_name: str, hub: str) -> None:
    card = Card(kind="judge", base=base_name, stories=(), data="0" * 64)
    for name, library in (("adapter", "peft"), ("merged", "transformers")):
        folder = tmp_path / name
        folder.mkdir()
        if name == "adapter":
            (folder / "adapter_config.json").write_text("{}", encoding="utf-8")
        save_card(folder, card)
        head = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---")[1])
        assert head == {"base_model": hub, "library_name": library}
        assert read_card(folder) == card


def test_rows_of_one_story_stand_together_and_each_once() -> None:
    @given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=20), st.integers(0, 3))
    def holds(stories: list[str], seed: int) -> None:
        order = group_order(stories, seed)
        assert sorted(order) == list(range(len(stories)))
        drawn = [stories[place] for place in order]
        changes = sum(one != two for one, two in itertools.pairwise(drawn))
        assert changes == len(set(stories)) - 1
        assert order == group_order(stories, seed)

    holds()


def test_the_prompt_learned_is_the_prompt_measured() -> None:
    tree = {
        "data": [{"debates": "run:there"}],
        "arguments": {"min_words": 25, "max_words": 70},
        "measure": {"unseen": {"source": "dossiers:9"}},
        "speech": {"min_words": 25, "max_words": 60},
    }
    with pytest.raises(ValueError, match="arguments asks for 25 to 70 words, but speech for 25 to 60"):
        DebaterTrainingConfig.model_validate(tree)
    assert AdapterSettings().r == 8
