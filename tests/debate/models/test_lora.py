"""Adapters beside one base, in one pass with it and with each other, against transformers and peft as they come."""

from __future__ import annotations

import asyncio
import gc
import json
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from debate.errors import ModelAccessError, ModelError
from debate.models.base import Choice, Draw, Message, Model, Sampling, Scores
from debate.models.limits import Budget, Meter
from debate.models.load import EMBEDDED, ModelConfig, Models, open_model
from tests.tiny import WORDS, plain_logs, save_adapter, save_model

if TYPE_CHECKING:
    from torch import Tensor

    from debate.models.prefixes import Tokens
    from debate.models.runner import Runner

TEXTS = ("fog sea bell", "who boat", "lamp lamp A B fog who sea boat")
LONG = " ".join(WORDS[3 + index * index % 9] for index in range(70))
CONTINUATIONS = ("fog sea", "bell", "boat lamp who C")
# The kinds of plain LoRA: other ranks and factors for some layers, rank-stabilised factors, some layers only, the head.
KINDS: dict[str, dict[str, Any]] = {
    "judge": {},
    "debater": {
        "use_rslora": True,
        "target_modules": ["k_proj", "up_proj", "gate_proj", "o_proj"],
        "rank_pattern": {"k_proj": 2},
        "alpha_pattern": {"layers.1.mlp.up_proj": 3},
    },
    "head": {"target_modules": ["lm_head", "q_proj"], "layers_to_transform": [1]},
}
ADAPTERS = (None, *KINDS)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a base model and an adapter of each kind."""
    root = tmp_path_factory.mktemp("lora")
    save_model(root / "base")
    for seed, (name, options) in enumerate(KINDS.items()):
        save_adapter(root / "base", root / name, seed=seed + 1, **options)
    return root


def config(root: Path, adapter: str | None, **more: object) -> ModelConfig:
    tree = {"name": f"hf/{root / 'base'}", "dtype": "float32", "device": "cpu", **more}
    return ModelConfig.model_validate(tree | ({} if adapter is None else {"adapter": str(root / adapter)}))


def ask(text: str) -> list[Message]:
    return [Message("user", text)]


async def ask_all(models: Sequence[Model]) -> list[list[tuple[Choice, Scores, list[str]]]]:
    """Everything that every model is asked, all at once."""

    async def one(model: Model, text: str) -> tuple[Choice, Scores, list[str]]:
        choice, scores, completions = await asyncio.gather(
            model.choose(ask(text), ("A", "B")),
            model.score(ask(text), CONTINUATIONS),
            model.sample(ask(text), draws=Draw(seed=3).take(2), sampling=Sampling(8, temperature=1.0)),
        )
        return choice, scores, [completion.text for completion in completions]

    async def each(model: Model) -> list[tuple[Choice, Scores, list[str]]]:
        return list(await asyncio.gather(*(one(model, text) for text in TEXTS)))

    return list(await asyncio.gather(*(each(model) for model in models)))


async def test_adapters_and_base_in_one_batch_are_what_peft_makes_of_each(folders: Path) -> None:
    import torch
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(str(folders / "base"))
    models = Models(None, Meter(Budget(), {}))
    replies = await ask_all([models.get(config(folders, adapter)) for adapter in ADAPTERS])
    await models.close()
    shown = set()
    for adapter, of_adapter in zip(ADAPTERS, replies, strict=True):
        logs = plain_logs(folders / "base", None if adapter is None else folders / adapter)
        for text, (choice, scores, _) in zip(TEXTS, of_adapter, strict=True):
            chat = [ask(text)[0]._asdict()]
            prompt = tokenizer.apply_chat_template(chat, return_tensors="pt")["input_ids"]
            letters = logs(prompt)[-1][tokenizer.convert_tokens_to_ids(["A", "B"])]
            assert choice.probabilities == pytest.approx(letters.softmax(-1).tolist(), abs=1e-4)
            for continuation, value in zip(CONTINUATIONS, scores.values, strict=True):
                ids = torch.tensor([tokenizer.encode(continuation, add_special_tokens=False)])
                after = logs(torch.cat([prompt, ids], 1))[prompt.shape[1] - 1 : -1]
                assert value == pytest.approx(float(after.gather(-1, ids[0, :, None]).sum()), abs=1e-4)
        shown.add(round(of_adapter[0][0].probabilities[0], 2))
    assert len(shown) == len(ADAPTERS)  # one adapter taken for another would have failed above


async def test_a_mixed_batch_equals_each_alone(folders: Path) -> None:
    alone = []
    for adapter in ADAPTERS:
        model = open_model(config(folders, adapter, reproducible=True))
        alone += await ask_all([model])
        await model.close()
    models = Models(None, Meter(Budget(), {}))
    opened = [models.get(config(folders, adapter, reproducible=True)) for adapter in ADAPTERS]
    for mixed in [await ask_all(opened), list(reversed(await ask_all(opened[::-1])))]:
        for ours, theirs in zip(mixed, alone, strict=True):
            for (choice, scores, texts), (choice_alone, scores_alone, texts_alone) in zip(ours, theirs, strict=True):
                assert texts == texts_alone
                assert choice.probabilities == pytest.approx(choice_alone.probabilities, abs=1e-4)
                assert scores.values == pytest.approx(scores_alone.values, abs=1e-4)
    await models.close()


async def test_one_base_holds_its_weights_once(folders: Path) -> None:
    from transformers import LlamaForCausalLM

    def instances() -> int:
        gc.collect()
        return sum(type(thing) is LlamaForCausalLM for thing in gc.get_objects())

    def workers() -> int:
        return sum(thread.name == "local-model" for thread in threading.enumerate())

    instances_before, workers_before = instances(), workers()
    models = Models(None, Meter(Budget(), {}))
    opened = [models.get(config(folders, adapter)) for adapter in ADAPTERS]
    assert (instances() - instances_before, workers() - workers_before) == (1, 1)
    models.get(config(folders, "judge", reproducible=True))  # another mode is another engine
    assert (instances() - instances_before, workers() - workers_before) == (2, 2)
    assert len({model.digest for model in opened}) == len(ADAPTERS)
    assert {facts["mode"] for facts in models.facts.values()} == {"fast", "reproducible"}
    await models.close()
    assert workers() == workers_before


async def test_a_model_that_closes_leaves_the_others_of_its_base_open(folders: Path) -> None:
    from debate.errors import ModelError

    models = Models(None, Meter(Budget(), {}))
    judge, base = (models.get(config(folders, adapter)) for adapter in ("judge", None))
    await judge.close()
    await judge.close()
    with pytest.raises(ModelError, match="closed"):
        await judge.choose(ask(TEXTS[0]), ("A", "B"))
    await base.choose(ask(TEXTS[0]), ("A", "B"))
    await models.close()


@contextmanager
def counting(folder: Path, adapters: dict[int, Path]) -> Iterator[tuple[Runner, list[Tokens]]]:
    """A runner with adapters, and the tokens of every pass that it has made."""
    import torch

    from debate.models.adapter import read_adapter
    from debate.models.runner import Runner

    passes: list[Tokens] = []

    class CountingRunner(Runner):
        def _forward(self, tokens: Tokens, *rest: Any) -> Tensor:
            passes.append(tokens)
            return super()._forward(tokens, *rest)

    with torch.inference_mode():
        runner = CountingRunner(folder, torch.float32, torch.device("cpu"), 1 << 20)
        for number, adapter in adapters.items():
            runner.attach(number, read_adapter(adapter, runner.model))
        yield runner, passes


def rows_of(runner: Runner, sequences: Sequence[Tokens]) -> list[Tensor]:
    """The last logits of some sequences in one pass."""
    from debate.models.runner import Row

    def row(tokens: Tokens) -> Row:
        met = runner.store.met(tokens)
        return Row(tokens, 1, keep=False, done=lambda *_: None, failed=lambda error: pytest.fail(str(error)), met=met)

    return [logits[-1] for logits, _ in runner.evaluate([row(tokens) for tokens in sequences])]


def test_requests_of_different_adapters_share_a_pass_but_no_token_of_it(folders: Path) -> None:
    from debate.models.prefixes import adapters_of, ids_of, marked

    start = np.array([3 + index * index % 9 for index in range(64)], np.int64)
    tails = [np.array([tail, 4], np.int64) for tail in (5, 6, 7)]
    prompts = [np.concatenate([start, tail]) for tail in tails]
    with counting(folders / "base", {1: folders / "judge", 2: folders / "head"}) as (runner, passes):
        first = [marked(prompt, adapter) for prompt in prompts for adapter in (0, 1, 2)]
        together = rows_of(runner, first)
        [tokens] = passes
        for adapter in (0, 1, 2):  # the beginning once, and the tails
            own = ids_of(tokens[adapters_of(tokens) == adapter])
            assert len(own) == len(start) + sum(map(len, tails))
            assert runner.store.find(marked(start, adapter)).tokens == len(start)
        assert runner.store.bytes == 3 * len(start) * runner.shape.bytes_per_token
        runner.store.clear()
        passes.clear()
        for _ in range(2):  # the second time it has been met before and is stored
            rows_of(runner, [marked(prompts[0], 1)])
        rows_of(runner, [marked(prompts[1], 1)])
        rows_of(runner, [marked(prompts[1], 2)])
        rows_of(runner, [prompts[1]])
        whole, tail = len(prompts[0]), len(tails[0])
        assert [len(tokens) for tokens in passes] == [whole, whole, tail, whole, whole]
        runner.store.clear()
        for sequence, logits in zip(first, together, strict=True):
            [alone] = rows_of(runner, [sequence])
            assert alone.tolist() == pytest.approx(logits.tolist(), abs=1e-4)


async def test_replies_on_one_long_prompt_do_not_take_each_others_keys(folders: Path) -> None:
    sampling = Sampling(20, temperature=1.0)

    async def replies(model: Model) -> list[str]:
        completions = await model.sample(ask(LONG), draws=Draw(seed=1).take(4), sampling=sampling)
        return [completion.text for completion in completions]

    alone = []
    for adapter in ADAPTERS:
        model = open_model(config(folders, adapter, reproducible=True))
        alone.append(await replies(model))
        await model.close()
    models = Models(None, Meter(Budget(), {}))
    opened = [models.get(config(folders, adapter, reproducible=True)) for adapter in ADAPTERS]
    for _ in range(3):  # prompts are stored when they are met again
        assert await asyncio.gather(*(replies(model) for model in opened)) == alone
    await models.close()
    assert len({tuple(texts) for texts in alone}) == len(ADAPTERS)


async def test_in_bfloat16_a_mixed_batch_is_near(folders: Path) -> None:
    models = Models(None, Meter(Budget(), {}))
    exact, short = [
        await ask_all([models.get(config(folders, adapter, dtype=dtype)) for adapter in ADAPTERS])
        for dtype in ("float32", "bfloat16")
    ]
    await models.close()
    for one, other in zip(exact, short, strict=True):
        for (choice, _, _), (near, _, _) in zip(one, other, strict=True):
            assert near.probabilities == pytest.approx(choice.probabilities, abs=0.1)


@pytest.mark.model
async def test_adapters_of_the_embedded_model_in_one_batch(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    from debate.models.embedded import ensure_embedded

    try:
        base = ensure_embedded()
    except ModelAccessError as error:
        pytest.skip(str(error))
    adapters = [save_adapter(base, tmp_path / name, seed=seed, size=0.03) for seed, name in enumerate(("one", "two"))]
    story = "The keeper counted the boats at dusk. Eleven had left and ten came back before the fog. " * 3
    prompts = [ask(story + tail) for tail in ("Which boat was late? A or B?", "Say who lit the lamp: A or B.")]
    sampling = Sampling(8, temperature=1.0)
    models = Models(None, Meter(Budget(), {}))
    opened = [
        models.get(
            ModelConfig(
                name=EMBEDDED, adapter=None if adapter is None else str(adapter), reproducible=True, device="cpu"
            )
        )
        for adapter in (None, *adapters)
    ]

    async def replies(model: Model, prompt: list[Message]) -> tuple[Choice, list[str]]:
        choice, completions = await asyncio.gather(
            model.choose(prompt, ("A", "B")), model.sample(prompt, draws=Draw(seed=2).take(2), sampling=sampling)
        )
        return choice, [completion.text for completion in completions]

    pairs = [(model, prompt) for model in opened for prompt in prompts]
    mixed = await asyncio.gather(*(replies(model, prompt) for model, prompt in pairs))
    await models.close()
    tokenizer: Any = AutoTokenizer.from_pretrained(str(base))
    forms = [[t for t in range(len(tokenizer)) if tokenizer.decode([t]).strip() == name] for name in ("A", "B")]
    shown: list[float] = []
    for adapter in (None, *adapters):
        model = open_model(
            ModelConfig(
                name=EMBEDDED, adapter=None if adapter is None else str(adapter), reproducible=True, device="cpu"
            )
        )
        logs = plain_logs(base, adapter)
        for prompt in prompts:
            choice, texts = mixed[len(shown)]
            chat = [prompt[0]._asdict()]
            ids = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt")["input_ids"]
            last = logs(ids)[-1].exp()
            masses = [float(last[tokens].sum()) for tokens in forms]
            assert choice.probabilities == pytest.approx([mass / sum(masses) for mass in masses], abs=1e-4)
            alone = await model.sample(prompt, draws=Draw(seed=2).take(2), sampling=sampling)
            assert [completion.text for completion in alone] == texts
            shown.append(choice.probabilities[0])
        await model.close()
    assert min(abs(shown[0] - shown[2]), abs(shown[0] - shown[4]), abs(shown[2] - shown[4])) > 1e-3


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("use_dora", True),
        ("bias", "lora_only"),
        ("modules_to_save", ["lm_head"]),
        ("init_lora_weights", "pissa"),
        ("target_parameters", ["mlp.down_proj.weight"]),
        ("an_option_of_next_year", 3),
    ],
)
def test_more_than_plain_lora_is_refused(folders: Path, tmp_path: Path, option: str, value: object) -> None:
    changed = Path(shutil.copytree(folders, tmp_path / "copied"))
    settings = changed / "judge" / "adapter_config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {option: value}))
    with pytest.raises(ModelAccessError, match=rf"{option} .*only LoRA matrices.*merge it into the base with peft"):
        open_model(config(changed, "judge"))


def test_an_adapter_that_diverged_is_refused(folders: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    changed = Path(shutil.copytree(folders, tmp_path / "copied"))
    path = changed / "judge" / "adapter_model.safetensors"
    weights = load_file(path)
    name = min(weights)
    weights[name][0, 0] = float("nan")
    save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(ModelAccessError, match=r"lora_A.weight is not finite"):
        open_model(config(changed, "judge"))


def test_an_adapter_of_embeddings_or_with_another_head_is_refused(folders: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    changed = Path(shutil.copytree(folders, tmp_path / "copied"))
    save_adapter(changed / "base", changed / "embeddings", target_modules=["embed_tokens"])
    with pytest.raises(ModelAccessError, match=r"changes model.embed_tokens, of type Embedding"):
        open_model(config(changed, "embeddings"))
    path = changed / "head" / "adapter_model.safetensors"
    weights = load_file(path)
    copied = [name for name in weights if "lora_" not in name]
    assert copied  # peft keeps a copy of the base's head beside an adapter of it
    save_file(weights | {copied[0]: weights[copied[0]] + 1}, path, metadata={"format": "pt"})
    with pytest.raises(ModelAccessError, match=r"in only one of them, such as .*lm_head"):
        open_model(config(changed, "head"))


async def test_an_adapter_that_cannot_be_put_beside_the_model_fails_its_own_requests(folders: Path) -> None:
    import torch

    from debate.models.local import LocalModel
    from debate.models.lora import Lora
    from debate.models.requests import Answer, ChooseRequest

    model = open_model(config(folders, None))
    assert isinstance(model, LocalModel)
    engine = model._base.engine
    engine.attach(7, {"no.such.layer": Lora(torch.zeros(1, 1), torch.zeros(1, 1), 1.0)})
    answer: Answer[Choice] = Answer()
    engine.submit(ChooseRequest(ask("fog"), ("A", "B"), answer, 7))
    with pytest.raises(ModelError, match="adapter could not be put beside the model"):
        await asyncio.wait_for(answer.future, 30)
    assert (await asyncio.wait_for(model.choose(ask("fog"), ("A", "B")), 30)).mass > 0
    await model.close()
