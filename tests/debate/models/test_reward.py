"""Reward models on a base that others share, against transformers and peft as they come."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
from pathlib import Path
from typing import Any

import pytest

from debate.errors import ConfigError, ContextError, ModelAccessError
from debate.models.base import Draw, Message, Sampling, Scores
from debate.models.limits import Budget, Meter
from debate.models.load import ModelConfig, Models, capabilities_of, open_model
from debate.store import Store
from tests.tiny import WORDS, plain_reward, save_adapter, save_model, save_reward

PROMPT = (Message("system", "fog sea bell"), Message("user", "who boat lamp lamp A B fog who sea boat"))
SPEECHES = ("fog", "fog sea", "lamp B fog", "who who who sea boat C A", "", "bell " * 40)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a base model, a reward model and a judge on it."""
    folder = tmp_path_factory.mktemp("reward")
    save_model(folder / "base")
    save_reward(folder / "base", folder / "likes", seed=1)
    save_adapter(folder / "base", folder / "judge", seed=2)
    return folder


def config(root: Path, adapter: str = "likes", **more: object) -> ModelConfig:
    tree = {"name": f"hf/{root / 'base'}", "adapter": str(root / adapter), "dtype": "float32", "device": "cpu"}
    return ModelConfig.model_validate(tree | more)


def tokens(root: Path, speech: str) -> Any:
    """Token ids (1, tokens) of the prompt and a speech, by the template alone."""
    import torch
    from transformers import AutoTokenizer

    chat = [{"role": role, "content": text} for role, text in (*PROMPT, ("assistant", speech))]
    ids = AutoTokenizer.from_pretrained(str(root / "base")).apply_chat_template(chat, return_dict=False)
    return torch.tensor([ids])


def expected(root: Path) -> list[float]:
    reward = plain_reward(root / "base", root / "likes")
    return [reward(tokens(root, speech)) for speech in SPEECHES]


async def test_rewards_are_those_of_transformers_and_peft_alone_or_together(root: Path) -> None:
    model = open_model(config(root))
    together = await asyncio.gather(*(model.score(PROMPT, [speech]) for speech in SPEECHES))
    alone = [await model.score(PROMPT, [speech]) for speech in SPEECHES]
    at_once = await model.score(PROMPT, SPEECHES)
    await model.close()
    want = expected(root)
    assert max(want) - min(want) > 0.1
    assert [scores.values[0] for scores in together] == pytest.approx(want, abs=1e-5)
    assert [scores.values[0] for scores in alone] == pytest.approx(want, abs=1e-5)
    assert list(at_once.values) == pytest.approx(want, abs=1e-5)
    assert at_once.usage.tokens_in == sum(tokens(root, speech).shape[1] for speech in SPEECHES)
    assert at_once.usage.tokens_out == 0


async def test_a_judge_on_the_same_base_is_none_the_worse(root: Path) -> None:
    models = Models(None, Meter(Budget(), {}))
    likes, judge = models.get(config(root)), models.get(config(root, "judge"))
    alone = await judge.choose(PROMPT, ["A", "B"])
    scores, choice = await asyncio.gather(likes.score(PROMPT, SPEECHES), judge.choose((*PROMPT, PROMPT[1]), ["A", "B"]))
    apart = await judge.choose((*PROMPT, PROMPT[1]), ["A", "B"])
    await models.close()
    assert list(scores.values) == pytest.approx(expected(root), abs=1e-5)
    assert choice.probabilities == pytest.approx(apart.probabilities, abs=1e-5)
    assert choice.probabilities != pytest.approx(alone.probabilities, abs=1e-5)


async def test_the_last_token_counts_where_it_is_the_padding_token_too(root: Path, tmp_path: Path) -> None:
    """A template that ends a reply with the end token, which also pads: transformers reads the token before it."""
    import torch
    from peft import PeftModel
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    base = save_model(tmp_path / "base")
    tokenizer = AutoTokenizer.from_pretrained(str(base))
    tokenizer.chat_template = "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} <end> {% endfor %}"
    tokenizer.save_pretrained(str(base))
    save_reward(base, tmp_path / "likes", seed=1)
    own = {**config(root).model_dump(), "name": f"hf/{base}", "adapter": str(tmp_path / "likes")}
    model = open_model(ModelConfig.model_validate(own))
    (found,) = (await model.score(PROMPT, ["fog sea"])).values
    await model.close()
    ids = tokens(tmp_path, "fog sea")
    assert ids[0, -1] == tokenizer.pad_token_id == tokenizer.eos_token_id
    assert found == pytest.approx(plain_reward(base, tmp_path / "likes")(ids), abs=1e-5)
    plain = AutoModelForSequenceClassification.from_pretrained(str(base), num_labels=1, dtype=torch.float32)
    trapped = PeftModel.from_pretrained(plain, str(tmp_path / "likes")).eval()
    trapped.config.pad_token_id = tokenizer.pad_token_id
    with torch.inference_mode():
        assert float(trapped(input_ids=ids).logits[0, 0]) != pytest.approx(found, abs=1e-3)


async def test_a_batch_of_many_lengths_is_each_alone(root: Path) -> None:
    draws = random.Random(3)
    speeches = [" ".join(draws.choices(WORDS[3:], k=draws.randrange(1, 60))) for _ in range(60)]
    model = open_model(config(root))
    batch = await asyncio.gather(*(model.score(PROMPT, [speech]) for speech in speeches))
    alone = [await model.score(PROMPT, [speech]) for speech in speeches]
    await model.close()
    assert [one.values[0] for one in batch] == pytest.approx([one.values[0] for one in alone], abs=1e-4)


async def test_every_reward_is_kept_before_it_is_used_and_never_asked_for_twice(root: Path, tmp_path: Path) -> None:
    async def session(expect_calls: int) -> Scores:
        store = Store(tmp_path / "run.sqlite")
        meter = Meter(Budget(), {})
        models = Models(store, meter)
        try:
            scores = await models.get(config(root)).score(PROMPT, ["fog sea"])
        finally:
            await models.close()
            store.close()
        assert sum(figures.calls for figures in meter.by_model().values()) == expect_calls
        return scores

    first = await session(1)
    assert await session(0) == first


async def test_nothing_else_can_be_asked(root: Path) -> None:
    model = open_model(config(root))
    assert model.capabilities.reward
    assert not any((model.capabilities.logprobs, model.capabilities.letters, model.capabilities.score))
    assert capabilities_of(config(root)) == dataclasses.replace(model.capabilities, context=None)
    assert not capabilities_of(config(root, "judge")).reward
    with pytest.raises(ConfigError, match="reward model"):
        await model.choose(PROMPT, ["A", "B"])
    with pytest.raises(ConfigError, match="reward model"):
        await model.sample(PROMPT, draws=[Draw()], sampling=Sampling(3))
    with pytest.raises(ContextError, match="context of 128"):
        await model.score(PROMPT, ["fog", "fog " * 200])
    assert (await model.score(PROMPT, [])).values == ()
    await model.close()


def changed(root: Path, folder: Path, change: Any) -> Path:
    """Copy the reward model with its weights changed."""
    import shutil

    from safetensors.torch import load_file, save_file

    shutil.copytree(root / "likes", folder)
    weights = load_file(folder / "adapter_model.safetensors")
    change(weights)
    save_file(weights, folder / "adapter_model.safetensors")
    return folder


HEAD = "base_model.model.score.weight"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda weights: weights.pop(HEAD), "its head .* is not in"),
        (lambda weights: weights.update({HEAD: weights[HEAD] * float("nan")}), "not finite"),
        (lambda weights: weights.update({HEAD: weights[HEAD][:, :7].contiguous()}), "does not fit"),
        (lambda weights: weights.update({HEAD: weights[HEAD].repeat(2, 1)}), "does not fit"),
    ],
)
def test_a_head_that_is_lost_or_broken_is_refused(root: Path, tmp_path: Path, change: Any, message: str) -> None:
    folder = changed(root, tmp_path / "broken", change)
    with pytest.raises(ModelAccessError, match=message):
        open_model(config(root, str(folder)))


def test_more_than_a_head_beside_the_matrices_is_refused(root: Path, tmp_path: Path) -> None:
    folder = changed(root, tmp_path / "more", lambda _weights: None)
    tree = json.loads((folder / "adapter_config.json").read_text())
    tree["modules_to_save"] = ["score", "embed_tokens"]
    (folder / "adapter_config.json").write_text(json.dumps(tree))
    with pytest.raises(ModelAccessError, match="modules_to_save"):
        open_model(config(root, str(folder)))


def test_another_head_is_another_digest(root: Path, tmp_path: Path) -> None:
    folder = changed(root, tmp_path / "other", lambda weights: weights.update({HEAD: 2 * weights[HEAD]}))
    digests = {open_and_close(config(root, name)) for name in ("likes", str(folder))}
    assert len(digests) == 2


def open_and_close(which: ModelConfig) -> str:
    model = open_model(which)
    asyncio.run(model.close())
    return model.digest
