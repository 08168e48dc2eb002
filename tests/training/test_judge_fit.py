"""Fitting a judge's adapter, on a tiny random model: what it computes, in which order, and when it stops."""

from __future__ import annotations

import asyncio
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.errors import ConfigError, DissoiError, ModelAccessError, SourceError
from debate.models.base import Message
from debate.models.load import ModelConfig, open_model
from tests.tiny import save_model
from training.finetune_judge import JudgeTrainingConfig
from training.fitted import Fitted
from training.fitting import (
    AdapterSettings,
    Base,
    FitSettings,
    Process,
    TrainingError,
    add_adapter,
    cut_long,
    find_base,
    load_base,
)
from training.judge_fit import Rows, fit_judge, lengths_of
from training.progress import last_checkpoint, read_metrics
from training.rows import Row
from training.saving import ADAPTER

SAID = ("fog", "sea", "bell", "boat", "lamp")


def rows_of(count: int, seed: int = 0) -> list[Row]:
    """Return rows of prompts of a few words, A where fog is told of and B where sea is."""
    draws = np.random.default_rng(seed)
    rows = []
    for place in range(count):
        gold = int(draws.integers(2)) if place > 1 else place
        words = [*draws.choice(SAID[2:], draws.integers(2, 9)), SAID[gold], *draws.choice(SAID[2:], 2), "who"]
        tags = {"debate": f"d{place // 2}", "order": "01"}
        rows.append(Row((Message("user", " ".join(words)),), "AB"[gold], f"q{place}", f"s{place // 2}", "judge", tags))
    return rows


def settings(**fit: Any) -> JudgeTrainingConfig:
    fitted: dict[str, Any] = {"dtype": "float32", "log_steps": 1, "batch": 4, "learning_rate": 0.02, **fit}
    tree: Mapping[str, Any] = {"data": [{"debates": "dossiers:10?seed=1"}], "fit": fitted}
    return JudgeTrainingConfig.model_validate(tree)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    return find_base(f"hf/{save_model(tmp_path_factory.mktemp('model'))}")


def fit(base: Base, folder: Path, rows: list[Row], held: list[Row] | None = None, **changes: Any) -> Fitted:
    folder.mkdir(exist_ok=True)
    tokens = sum(lengths_of(rows, base.texts, "letter"))
    return fit_judge(Rows(rows, held or [], tokens, 0), base, settings(**changes), Process(1, 0), folder)


def losses(folder: Path) -> list[float]:
    return [line["loss"] for line in read_metrics(folder / "metrics.jsonl") if "loss" in line]


class Said(NamedTuple):
    """The probability of a row's letter among the letters, and of all letters."""

    right: float
    mass: float


def judged(base: Base, adapter: Path | None, rows: list[Row]) -> list[Said]:
    """Ask the judge as everybody does."""

    async def ask() -> list[Said]:
        config = ModelConfig(name=base.name, adapter=None if adapter is None else str(adapter), dtype="float32")
        model = open_model(config)
        try:
            found = [await model.choose(row.prompt, ("A", "B")) for row in rows]
        finally:
            await model.close()
        places = ["AB".index(row.completion) for row in rows]
        return [Said(one.probabilities[place], one.mass) for one, place in zip(found, places, strict=True)]

    return asyncio.run(ask())


def test_what_is_learned_is_what_the_engine_then_says(base: Base, tmp_path: Path) -> None:
    held = rows_of(16, seed=9)
    found = fit(base, tmp_path, rows_of(160), held, epochs=2)
    before, after = judged(base, None, held), judged(base, tmp_path / ADAPTER, held)
    assert np.mean([said.right > 0.5 for said in before]) < 0.8
    assert np.mean([said.right > 0.5 for said in after]) > 0.95
    # The saved weights are rounded to bfloat16.
    loss = np.mean([-math.log(said.right * said.mass) for said in after])
    assert found.validation_loss == pytest.approx(loss, abs=0.005)
    assert (found.rows, found.seen, found.times, found.steps) == (160, 160, 320, 80)


def test_a_packed_batch_has_the_loss_and_the_gradient_of_its_rows_one_by_one(base: Base) -> None:
    import torch

    from debate.models import attention
    from training.letter_trainer import ATTENTION, collate, encode, letter_losses, shape_of

    attention.register()
    rows = encode(rows_of(6), base.texts)
    adapter = AdapterSettings(r=4)
    forms = [torch.tensor(base.texts.forms(letter)) for letter in "AB"]
    grads: list[dict[str, Any]] = []
    values: list[Any] = []
    for implementation in (ATTENTION, "eager"):
        model: Any = add_adapter(load_base(base, torch.float32, implementation), base, adapter, seed=3)
        with torch.no_grad():  # the change starts from nothing, whose gradient would be nothing in half of the weights
            noise = torch.Generator().manual_seed(5)
            for name, parameter in model.named_parameters():
                if "lora_B" in name:
                    parameter.copy_(torch.randn(parameter.shape, generator=noise) * 0.1)
        if implementation == ATTENTION:
            batch = collate(rows)
            forest = batch.pop("packed").batch.forest
            gold = batch.pop("labels")
            shape = shape_of(model.config, torch.float32, torch.device("cpu"))
            layout = attention.Packed(forest, None, None, model.config.num_attention_heads, shape)
            logits = model(**batch, use_cache=False, layout=layout).logits[0]
            computed = {int(place) for path in forest.paths[: len(rows)] for place in path}
            assert len(computed) < sum(len(row.tokens) for row in rows)
        else:
            gold = torch.tensor([row.gold for row in rows])
            each = [model(torch.as_tensor(row.tokens)[None], use_cache=False).logits[0, -1] for row in rows]
            logits = torch.stack(each)
        found = letter_losses(logits, gold, forms)
        (found.among - found.mass).mean().backward()  # type: ignore[no-untyped-call]  # torch's
        values.append(torch.stack(found).detach())
        grads.append({name: p.grad.clone() for name, p in model.named_parameters() if p.requires_grad})
    assert torch.allclose(values[0], values[1], atol=1e-5)
    for name, gradient in grads[1].items():
        assert torch.allclose(grads[0][name], gradient, atol=1e-5), name


def test_losses_are_those_of_the_letters_probabilities() -> None:
    import torch

    from training.letter_trainer import letter_losses

    p = np.array([0.1, 0.2, 0.3, 0.15, 0.25])
    logits = torch.tensor(np.log(p) + 7.0)[None]  # logits are log-probabilities up to a constant
    forms = [torch.tensor([0, 3]), torch.tensor([1])]
    among, mass = letter_losses(logits, torch.tensor([1]), forms)
    assert among.item() == pytest.approx(-math.log(0.2 / 0.45), abs=1e-6)
    assert mass.item() == pytest.approx(math.log(0.45), abs=1e-6)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(1, 9), st.integers(0, 5))
def test_an_epoch_holds_every_row_once_and_groups_together(groups: list[int], batch: int, seed: int) -> None:
    from training.letter_trainer import epoch_order

    names = [str(group) for group in groups]
    order = epoch_order(names, batch, seed)
    count = len(names)
    assert sorted(order[:count]) == list(range(count))
    assert len(order) % batch == 0
    assert len(order) - count < batch
    assert set(order[count:]) <= {count}
    runs = [names[place] for at, place in enumerate(order[:count]) if at == 0 or names[order[at - 1]] != names[place]]
    assert len(runs) == len(set(names))


def test_fillers_of_the_last_batch_change_nothing(base: Base, tmp_path: Path) -> None:
    rows = rows_of(6)
    fit(base, tmp_path / "filled", rows, batch=8, save_steps=1)  # two fillers
    fit(base, tmp_path / "whole", rows, batch=6, save_steps=1)
    assert losses(tmp_path / "filled") == pytest.approx(losses(tmp_path / "whole"), abs=1e-6)


def test_passes_that_make_up_a_batch_have_its_loss(base: Base, tmp_path: Path) -> None:
    rows = rows_of(22)
    fit(base, tmp_path / "one", rows, batch=8)
    fit(base, tmp_path / "four", rows, batch=8, accumulate=4)
    assert len(losses(tmp_path / "one")) == 3
    assert losses(tmp_path / "one") == pytest.approx(losses(tmp_path / "four"), abs=1e-5)


@pytest.mark.model
@pytest.mark.skipif(shutil.which("g++") is None, reason="compiling needs a C++ compiler")
def test_compiled_parts_change_no_loss(base: Base, tmp_path: Path) -> None:
    rows = rows_of(16)
    fit(base, tmp_path / "plain", rows)
    fit(base, tmp_path / "compiled", rows, compile=True)
    assert losses(tmp_path / "compiled") == pytest.approx(losses(tmp_path / "plain"), abs=1e-4)


def test_going_on_from_a_checkpoint_gives_the_same_losses_and_weights(base: Base, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    rows = rows_of(40)
    changes: dict[str, Any] = {
        "save_steps": 7,
        "epochs": 2,
        "batch": 4,
    }
    fit(base, tmp_path / "whole", rows, **changes)
    fit(base, tmp_path / "broken", rows, **changes)
    shutil.rmtree(tmp_path / "broken" / "checkpoints" / "checkpoint-20")
    shutil.rmtree(tmp_path / "broken" / ADAPTER)
    again = fit(base, tmp_path / "broken", rows, **changes)
    assert again.steps == 20
    assert again.times == 24  # 6 steps of 4
    assert losses(tmp_path / "broken") == losses(tmp_path / "whole")
    one, two = (load_file(tmp_path / name / ADAPTER / "adapter_model.safetensors") for name in ("whole", "broken"))
    assert all(bool((one[name] == two[name]).all()) for name in one)


@pytest.mark.parametrize("left", [None, "", '{"global_step": 1'])
def test_a_checkpoint_that_was_not_finished_is_passed_over(base: Base, tmp_path: Path, left: str | None) -> None:
    rows = rows_of(16)
    fit(base, tmp_path, rows, save_steps=3)
    whole = losses(tmp_path)
    state = tmp_path / "checkpoints" / "checkpoint-4" / "trainer_state.json"  # what is written last
    state.unlink() if left is None else state.write_text(left, encoding="utf-8")
    again = fit(base, tmp_path, rows, save_steps=3)
    assert (again.steps, again.times) == (4, 4)  # from step 3 on
    assert losses(tmp_path) == whole
    for path in (tmp_path / "checkpoints").iterdir():
        (path / "trainer_state.json").unlink()
    assert last_checkpoint(tmp_path) is None


def test_rows_on_one_question_are_counted_each(base: Base, tmp_path: Path) -> None:
    rows = [Row(row.prompt, row.completion, "q", row.story, row.fold, row.tags) for row in rows_of(16)]
    found = fit(base, tmp_path, rows)
    assert (found.rows, found.seen, found.times) == (16, 16, 16)


def test_a_loss_that_is_no_number_stops_and_names_the_row(base: Base, tmp_path: Path) -> None:
    with pytest.raises(
        TrainingError, match=r"loss at step \d+ is not finite, first for row \d+ \(question 'q\d+', order 01\)"
    ):
        fit(base, tmp_path, rows_of(40), learning_rate=1e38, schedule="constant_with_warmup", warmup=0)
    assert not (tmp_path / ADAPTER).exists()


def test_the_adapter_is_small_and_says_what_it_is_for(base: Base, tmp_path: Path) -> None:
    import json

    from safetensors.torch import load_file

    fit(base, tmp_path, rows_of(8))
    weights = load_file(tmp_path / ADAPTER / "adapter_model.safetensors")
    assert {str(weight.dtype) for weight in weights.values()} == {"torch.bfloat16"}
    config = json.loads((tmp_path / ADAPTER / "adapter_config.json").read_text(encoding="utf-8"))
    assert config["inference_mode"] is True
    assert "/" not in config["base_model_name_or_path"]  # a folder's path means nothing elsewhere


@pytest.mark.model
def test_reasoning_is_learned_as_it_was_written(base: Base, tmp_path: Path) -> None:
    rows = [
        Row(row.prompt, f"who bell {row.completion}", row.question, row.story, row.fold, row.tags)
        for row in rows_of(24)
    ]
    lengths = lengths_of(rows, base.texts, "reason")
    assert [long - short for long, short in zip(lengths, lengths_of(rows, base.texts, "letter"), strict=True)] >= [
        3
    ] * 24
    reasons = settings(epochs=4).model_copy(update={"judge": "reason"})
    found = fit_judge(Rows(rows, [], sum(lengths), 0), base, reasons, Process(1, 0), tmp_path)
    assert (found.rows, found.steps) == (24, 24)
    assert losses(tmp_path)[-1] < 0.5 * losses(tmp_path)[0]
    assert (tmp_path / ADAPTER / "adapter_model.safetensors").is_file()


def letters(rows: list[Row], letter: str) -> list[Row]:
    return [Row(row.prompt, letter, row.question, row.story, row.fold, row.tags) for row in rows]


@pytest.mark.parametrize("letter", ["", "AB", "The first", "a"])
def test_a_completion_that_is_no_letter_is_refused(base: Base, tmp_path: Path, letter: str) -> None:
    with pytest.raises(SourceError, match="no answer letter"):
        fit(base, tmp_path, letters(rows_of(8), letter))


def test_a_single_class_is_refused(base: Base, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="one letter in all 8 rows"):
        fit(base, tmp_path, letters(rows_of(8), "A"))


def test_long_rows_are_left_out_up_to_a_share(base: Base) -> None:
    lengths = [10] * 98 + [200] * 2
    cut = cut_long(lengths, FitSettings(max_cut=0.02), base, "training")
    assert (cut.kept, cut.over) == (list(range(98)), 2)
    with pytest.raises(SourceError, match=r"2 of 100 training rows have more than 128 tokens \(the longest 200\)"):
        cut_long(lengths, FitSettings(max_cut=0.01, max_length=4096), base, "training")
    with pytest.raises(SourceError, match="7 training rows are fewer than a batch of 8"):
        cut_long([10] * 7, FitSettings(batch=8), base, "training")


def test_settings_that_do_not_fit_are_refused(base: Base) -> None:
    with pytest.raises(ConfigError, match="cannot be shared out among 3 processes"):
        FitSettings(batch=8).per_pass(3)
    with pytest.raises(ValueError, match="3 equal passes"):
        FitSettings(batch=8, accumulate=3)
    import torch

    model = load_base(base, torch.float32)
    with pytest.raises(ConfigError, match=r"adapter\.targets"):
        add_adapter(model, base, AdapterSettings(targets=("query",)), 0)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("openai/gpt-4.1-mini", ConfigError),
        ("scripted/tests.scripts:judge", ConfigError),
        ("hf/./no", ModelAccessError),
    ],
)
def test_a_base_without_weights_is_refused(name: str, error: type[DissoiError]) -> None:
    with pytest.raises(error):
        find_base(name)
