"""Adapters on a local model, against transformers and peft as they come, on a tiny random model."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from debate.card import CARD, Card, write_card
from debate.errors import ConfigError, ModelAccessError
from debate.models.base import Draw, Message, Sampling
from debate.models.limits import Budget, Meter
from debate.models.load import EMBEDDED, ModelConfig, Models, TokenCounter, check_access, open_model
from debate.run_folder import RunFolder
from debate.store import Store
from tests.tiny import plain_logs, save_adapter, save_model

PROMPTS = [[Message("user", text)] for text in ("fog sea bell", "who boat", "lamp lamp A B fog who sea boat")]
CONTINUATIONS = ("fog sea", "bell", "boat lamp who C")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a base model and two adapters for it."""
    root = tmp_path_factory.mktemp("adapters")
    save_model(root / "base")
    save_adapter(root / "base", root / "judge", seed=1)
    save_adapter(root / "base", root / "debater", seed=2)
    return root


@pytest.fixture
def copied(folders: Path, tmp_path: Path) -> Path:
    """A copy of the folder that a test may change."""
    return Path(shutil.copytree(folders, tmp_path / "copied"))


def config(root: Path, adapter: str | None = "judge", *, dtype: str = "float32") -> ModelConfig:
    tree = {"name": f"hf/{root / 'base'}", "dtype": dtype, "device": "cpu"}
    return ModelConfig.model_validate(tree | ({} if adapter is None else {"adapter": str(root / adapter)}))


async def test_an_adapted_model_is_what_peft_makes_of_it(folders: Path) -> None:
    import torch
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(str(folders / "base"))
    values = {}
    for adapter in (None, "judge", "debater"):
        logs = plain_logs(folders / "base", None if adapter is None else folders / adapter)
        model = open_model(config(folders, adapter))
        for messages in PROMPTS:
            prompt = tokenizer.apply_chat_template([messages[0]._asdict()], return_tensors="pt")["input_ids"]
            next_token = logs(prompt)[-1]
            choice = await model.choose(messages, ("A", "B"))
            letters = next_token[tokenizer.convert_tokens_to_ids(["A", "B"])]
            assert choice.probabilities == pytest.approx(letters.softmax(-1).tolist(), abs=1e-4)
            assert choice.mass == pytest.approx(float(letters.exp().sum()), abs=1e-4)
            scores = await model.score(messages, CONTINUATIONS)
            for text, value in zip(CONTINUATIONS, scores.values, strict=True):
                ids = torch.tensor([tokenizer.encode(text, add_special_tokens=False)])
                after = logs(torch.cat([prompt, ids], 1))[prompt.shape[1] - 1 : -1]
                assert value == pytest.approx(float(after.gather(-1, ids[0, :, None]).sum()), abs=1e-4)
            values[adapter] = scores.values
        await model.close()
    # The adapters are large enough that taking one for another, or for none, would have failed above.
    assert (
        min(abs(values[a][0] - values[b][0]) for a, b in ((None, "judge"), (None, "debater"), ("judge", "debater")))
        > 0.1
    )


async def test_in_bfloat16_an_adapted_model_is_near(folders: Path) -> None:
    exact, short = (open_model(config(folders, dtype=dtype)) for dtype in ("float32", "bfloat16"))
    for messages in PROMPTS:
        one, other = await exact.choose(messages, ("A", "B")), await short.choose(messages, ("A", "B"))
        assert other.probabilities == pytest.approx(one.probabilities, abs=0.1)
    await exact.close()
    await short.close()


async def test_models_that_differ_by_adapter_are_kept_apart(folders: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "run.sqlite")
    models = Models(store, Meter(Budget(), {}))
    opened = [models.get(config(folders, adapter)) for adapter in (None, "judge", "debater")]
    base = f"hf/{folders / 'base'}"
    assert [model.name for model in opened] == [base, f"{base}+judge", f"{base}+debater"]
    assert set(models.digests) == {base, f"{base}+judge", f"{base}+debater"}
    assert len(set(models.digests.values())) == 3
    replies = [await model.choose(PROMPTS[0], ("A", "B")) for model in opened]
    sampled = [await model.sample(PROMPTS[0], draws=[Draw()], sampling=Sampling(4)) for model in opened]
    assert len({reply.probabilities for reply in replies}) == 3
    assert [len(completions) for completions in sampled] == [1, 1, 1]
    await models.close()
    assert {name: usage.calls for name, usage in store.usage().items()} == dict.fromkeys(models.digests, 2)
    store.close()


async def test_a_run_notices_that_an_adapter_was_trained_on(copied: Path, tmp_path: Path) -> None:
    facts = []
    for seed in (None, 3):
        if seed is not None:
            save_adapter(copied / "base", copied / "judge", seed=seed)
        models = Models(None, Meter(Budget(), {}))
        models.get(config(copied))
        facts.append(models.facts)
        await models.close()
    run = RunFolder(tmp_path, Store(tmp_path / "run.sqlite"))
    run.keep_models(facts[0])
    with pytest.raises(ConfigError, match=r"model '.*\+judge' is not what it was"):
        run.keep_models(facts[1])
    run.close()


async def test_models_of_one_name_are_each_held_to_what_they_were(copied: Path, tmp_path: Path) -> None:
    def digest_of(folder: Path, decisive: tuple[str, ...]) -> str:
        hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in decisive}
        return hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()

    async def opened() -> dict[str, Mapping[str, str]]:
        models = Models(None, Meter(Budget(), {}))
        for dtype in ("float32", "bfloat16"):
            models.get(config(copied, dtype=dtype))
        models.get(config(copied, None))
        models.get(ModelConfig(name="scripted/debate.models.scripted:ScriptedModel"))
        facts = dict(models.facts)
        assert models.digests == {name: one["digest"] for name, one in facts.items()}
        await models.close()
        return facts

    base = f"hf/{copied / 'base'}"
    facts = await opened()
    names = [f"{base}+judge (dtype=float32)", f"{base}+judge (dtype=bfloat16)", base]
    assert set(facts) == {*names, "scripted/debate.models.scripted:ScriptedModel"}
    for name, dtype in zip(names, ("float32", "bfloat16", "float32"), strict=True):
        assert (facts[name]["device"], facts[name]["dtype"]) == ("cpu", dtype)
        assert facts[name].get("model") == (None if name == base else f"{base}+judge")
    adapter = digest_of(copied / "judge", ("adapter_config.json", "adapter_model.safetensors"))
    assert facts[names[0]]["adapter"] == facts[names[1]]["adapter"] == adapter
    assert len({facts[name]["weights"] for name in names}) == 1
    with RunFolder(tmp_path, Store(tmp_path / "run.sqlite")) as run:
        run.keep_models(facts)
        assert json.loads((tmp_path / "models.json").read_text()) == facts
        for name in names:  # whichever changes is noticed
            with pytest.raises(ConfigError, match=f"model '{re.escape(name)}' is not what it was"):
                run.keep_models({name: {**facts[name], "digest": "another"}})
        save_adapter(copied / "base", copied / "judge", seed=3)
        with pytest.raises(ConfigError, match=r"\(dtype=float32\)' is not what it was"):
            run.keep_models(await opened())


async def test_what_a_trainer_copies_beside_an_adapter_decides_nothing(copied: Path) -> None:
    digests = set()
    for extra in ("", "tokenizer_config.json", CARD):
        if extra:
            shutil.copy(copied / "base" / "tokenizer_config.json", copied / "judge" / "tokenizer_config.json")
        if extra == CARD:
            write_card(copied / "judge", Card(kind="judge", base=f"hf/{copied / 'base'}", stories=(), data="0"))
        model = open_model(config(copied))
        digests.add(model.digest)
        await model.close()
    assert len(digests) == 1


async def test_two_adapters_of_one_label_are_refused(copied: Path) -> None:
    save_adapter(copied / "base", copied / "second" / "judge", seed=4)
    models = Models(None, Meter(Budget(), {}))
    models.get(config(copied))
    with pytest.raises(ConfigError, match=r"'.*copied/judge' and '.*second/judge' would both be called 'hf/.*\+judge'"):
        models.get(config(copied, "second/judge"))
    await models.close()


def test_labels() -> None:
    assert ModelConfig(name=EMBEDDED).label == EMBEDDED
    for folder in ("runs/judge", "runs/judge/", "~/judge/."):
        assert ModelConfig(name=EMBEDDED, adapter=folder).label == f"{EMBEDDED}+judge"
    assert ModelConfig(name="hf/a/b", adapter=".").label == f"hf/a/b+{Path.cwd().name}"


def test_scripted_models_take_no_adapter() -> None:
    name = "scripted/debate.models.scripted:ScriptedModel"
    with pytest.raises(ValueError, match=f"model '{name}' takes no adapter; leave adapter out"):
        ModelConfig(name=name, adapter="judge")


def refused(model: ModelConfig, kind: type[Exception], message: str) -> None:
    """Hold that a plan, the check before a run and the opening of the model all refuse it."""
    for ask in (TokenCounter, check_access, open_model):
        with pytest.raises(kind, match=message):
            ask(model)


def test_a_folder_that_is_no_adapter_is_refused(copied: Path) -> None:
    refused(config(copied, "nowhere"), ModelAccessError, "adapter_config.json and adapter_model.safetensors missing")
    refused(config(copied, "base"), ModelAccessError, "adapter_config.json and adapter_model.safetensors missing")
    with pytest.raises(ModelAccessError, match=r"this folder holds an adapter; name the model .* adapter: .*judge"):
        open_model(ModelConfig(name=f"hf/{copied / 'judge'}", device="cpu"))
    settings = copied / "judge" / "adapter_config.json"
    tree = json.loads(settings.read_text(encoding="utf-8"))
    settings.write_text(json.dumps(tree | {"task_type": "TOKEN_CLS"}), encoding="utf-8")
    refused(config(copied), ModelAccessError, "peft_type LORA, task_type TOKEN_CLS; a LORA adapter of a CAUSAL_LM")
    settings.write_text("{", encoding="utf-8")
    refused(config(copied), ModelAccessError, "cannot read .*adapter_config.json")


def test_an_adapter_whose_card_names_another_base_is_refused(copied: Path) -> None:
    write_card(copied / "judge", Card(kind="judge", base=EMBEDDED, stories=(), data="0"))
    refused(config(copied), ConfigError, rf"was trained on '{EMBEDDED}', not on 'hf/.*correct base in .*dissoi.json")


def test_an_adapter_without_a_card_is_held_to_its_hub_id(copied: Path) -> None:
    settings = copied / "judge" / "adapter_config.json"
    tree = json.loads(settings.read_text(encoding="utf-8"))
    settings.write_text(json.dumps(tree | {"base_model_name_or_path": "some/other-model"}), encoding="utf-8")
    check_access(config(copied))  # a folder may be any model
    for name in ("hf/some/model", EMBEDDED):
        with pytest.raises(ConfigError, match=r"was trained on 'some/other-model', not on '.*base_model_name_or_path"):
            check_access(ModelConfig(name=name, adapter=str(copied / "judge")))
    check_access(ModelConfig(name="hf/some/other-model", adapter=str(copied / "judge")))


def test_an_adapter_of_another_shape_or_with_weights_missing_is_refused(copied: Path) -> None:
    from safetensors.torch import load_file, save_file

    save_model(copied / "wide", hidden=64)
    save_adapter(copied / "wide", copied / "broad")
    with pytest.raises(ModelAccessError, match=r"broad does not fit the model: .*size mismatch"):
        open_model(config(copied, "broad"))
    path = copied / "judge" / "adapter_model.safetensors"
    weights = load_file(path)
    renamed = {name.replace("layers.1.", "blocks.1."): value for name, value in weights.items()}
    for changed in (dict(list(weights.items())[1:]), renamed):
        save_file(changed, path, metadata={"format": "pt"})
        with pytest.raises(ModelAccessError, match=r"judge does not fit the model: .*weights are in only one of them"):
            open_model(config(copied))
