"""Reward models are trained, saved, loaded back, measured, and used by optimizers."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from debate.card import read_card
from debate.errors import FoldError
from debate.models.base import Draw, Message
from debate.models.embedded import NAME
from debate.models.load import ModelConfig, open_model
from debate.prompts import Prompts
from debate.question import Question
from debate.quotes import parse_argument
from debate.record import Debate, Recorded, to_json
from debate.run_folder import RunFolder
from debate.sentences import sentence_spans
from debate.sources import load
from debate.transcript import Candidate, Transcript, Turn
from optimizers.reward import RewardPreference, bounded, read_speech
from tests.commands import assert_refuses, call
from tests.launching import assert_two_train_as_one
from tests.runs import ROOT
from tests.tiny import plain_reward, save_model
from training.argument_rows import speeches
from training.candidate_pairs import PairConfig
from training.finetune_preference import COMMAND, lengths_of
from training.fitting import AdapterSettings, FitSettings, Process, find_base
from training.gather import DataConfig, Gathered, gather
from training.progress import read_metrics
from training.reward_measures import ask_rewards, baseline_measures, measure_pairs
from training.reward_rows import reward_row_set
from training.rows import PairRow
from training.rows_command import COMMAND as ROWS
from training.rows_folder import read_rows

PROMPTS = Prompts()
QUESTIONS = [question for question in load("dossiers:60?seed=1") if question.fold in {"judge", "validation"}]


def candidate(text: str, score: float | None, question: Question, seat: str) -> Candidate:
    argument = parse_argument(text, question.story, seat="B" if seat == "B" else "A")
    return Candidate(f"<argument>{text}</argument>", argument, "", (), score)


def debate(question: Question, *, better: str, worse: str) -> Recorded:
    """A debate of one round in which both sides had the choice of two speeches around a sentence of the story."""
    story = question.story or ""
    sentences = [story[start:end] for start, end in sentence_spans(story)]
    turns = []
    for answer in (0, 1):
        quote = sentences[answer]
        candidates = tuple(
            candidate(text.format(quote=quote), score, question, "AB"[answer])
            for text, score in ((worse, -1.0), (better, 1.5))
        )
        turns.append(Turn.choose(candidates, 1, round_=1, answer=answer))
    return Recorded(Debate(question.id, "simultaneous", Transcript(question, (0, 1), tuple(turns)), ("p", "r")), ())


def held(folder: Path, questions: Sequence[Question], better: str, worse: str) -> str:
    """Keep such debates in the folder of a run; returns its source string."""
    with RunFolder.create(folder, DataConfig(debates="x"), {}) as made:
        made.keep_models({})

        async def put() -> None:
            for question in questions:
                item = debate(question, better=better, worse=worse)
                await made.store.put("debates", item.debate.id, to_json(item.debate))

        asyncio.run(put())
    return f"run:{folder}"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a base model, and a run in which speeches with a bell in them are better than those with a lamp."""
    folder = tmp_path_factory.mktemp("preference")
    save_model(folder / "base", context=512)
    better, worse = "fog bell sea bell <quote>{quote}</quote> who", "fog lamp sea lamp <quote>{quote}</quote> who"
    held(folder / "run", QUESTIONS, better, worse)
    return folder


def tree(root: Path, **changes: Any) -> dict[str, Any]:
    source = f"run:{root / 'run'}"
    return {
        "base": f"hf/{root / 'base'}",
        "data": [{"debates": source, "fold": "judge"}],
        "validation": [{"debates": source, "fold": "validation"}],
        "fit": {"batch": 4, "learning_rate": 0.01, "dtype": "float32", "device": "cpu", "epochs": 2},
        "adapter": {"r": 4},
        "seed": 1,
    } | changes


def write(path: Path, config: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(root: Path) -> Path:
    """The folder of a finished training."""
    ended = call(COMMAND, "--config", write(root / "config.yaml", tree(root)), "--output", root / "trained")
    assert ended.code == 0, ended.err
    return root / "trained"


def model_config(root: Path, adapter: Path) -> ModelConfig:
    return ModelConfig(name=f"hf/{root / 'base'}", adapter=str(adapter), dtype="float32", device="cpu")


def pairs(root: Path, fold: str) -> tuple[PairRow, ...]:
    config = DataConfig.model_validate({"debates": f"run:{root / 'run'}", "fold": fold})
    return reward_row_set([gather(config)], PairConfig(), PROMPTS).rows


def test_a_row_is_what_an_optimizer_will_show_the_reward_model(root: Path) -> None:
    gathered = gather(DataConfig(debates=f"run:{root / 'run'}", fold="judge"))
    rows = reward_row_set([gathered], PairConfig(), PROMPTS).rows
    spoken = list(speeches(gathered.recorded))
    assert len(rows) == len(spoken) > 20
    for row, one in zip(rows, spoken, strict=True):
        worse, better = (read_speech(one.view, each.argument, PROMPTS) for each in one.turn.candidates)
        assert (row.prompt, row.chosen, row.rejected) == (better.prompt, better.completion, worse.completion)
        assert row.margin == 2.5
        assert (one.item.debate.transcript.question.story or "") not in row.prompt[-1].content


def test_what_is_left_out_is_counted() -> None:
    question = next(one for one in QUESTIONS if one.fold == "judge")
    one, two = (
        debate(question, better=text, worse="So <quote>{quote}</quote>") for text in ("It <quote>{quote}</quote>", "No")
    )
    same = dataclasses.replace(one.debate, id="again")
    failed = dataclasses.replace(one.debate, id="failed", failed="ModelError: no")
    config = DataConfig(debates="run:x")
    items = (one, two, Recorded(same, ()), Recorded(failed, ()))
    rowset = reward_row_set([Gathered(config, items, {"never finished": 2})], PairConfig(), PROMPTS)
    assert len(rowset.rows) == 2
    assert rowset.dropped == {"never finished": 2, "no verified quote": 2, "the same as another row": 2}


def test_both_seatings_of_a_debate_give_the_same_rows() -> None:
    question = next(one for one in QUESTIONS if one.fold == "judge")
    item = debate(question, better="Debater A: <quote>{quote}</quote>", worse="Debater B lies.")
    swapped = Recorded(dataclasses.replace(item.debate, id="s", transcript=item.debate.transcript.swapped()), ())
    config = DataConfig(debates="run:x")
    rowset = reward_row_set([Gathered(config, (item, swapped), {})], PairConfig(), PROMPTS)
    assert len(rowset.rows) == 2
    assert rowset.dropped == {"the same as another row": 2}


def test_a_training_leaves_a_reward_model_that_is_right_where_it_never_was(root: Path, trained: Path) -> None:
    figures = json.loads((trained / "metrics.json").read_text())
    found = figures["measures"]["validation"]
    assert found["before"]["accuracy"][0] == 0.5
    assert found["before"]["loss"][0] == pytest.approx(math.log(2))
    assert found["longer"]["accuracy"][0] == 0.5
    assert found["more verified quotes"]["accuracy"][0] == 0.5
    assert found["after"]["accuracy"][0] == 1.0
    assert found["after"]["loss"][0] < 0.5
    assert found["after"]["stories"] > 5
    assert figures["training"]["seen"] == figures["training"]["rows"] == len(pairs(root, "judge"))
    assert {"step", "loss", "accuracy"} <= read_metrics(trained / "metrics.jsonl")[0].keys()
    card = read_card(trained / "adapter")
    assert card is not None
    assert (card.kind, card.base) == ("preference", f"hf/{root / 'base'}")
    assert {story.id for story in card.stories} == {one.story_id for one in QUESTIONS if one.fold == "judge"}


async def test_what_is_loaded_back_is_what_was_trained_head_and_all(root: Path, trained: Path) -> None:
    """By transformers and peft alone, and by the engine; without its head it would be another model."""
    import torch

    rows = pairs(root, "validation")[:8]
    texts = find_base(f"hf/{root / 'base'}").texts
    plain = plain_reward(root / "base", trained / "adapter")
    model = open_model(model_config(root, trained / "adapter"))
    for row in rows:
        found = (await model.score(row.prompt, [row.chosen, row.rejected])).values
        ids = [torch.as_tensor(texts.exchange(row.prompt, text))[None] for text in (row.chosen, row.rejected)]
        assert list(found) == pytest.approx([plain(one) for one in ids], abs=1e-5)
        assert found[0] > found[1]
    await model.close()


def test_the_saved_model_gives_the_rewards_of_the_fitted_one(root: Path, tmp_path: Path) -> None:
    """Of the same weights in memory, padded in batches as TRL pads them, and loaded back, packed or alone."""
    import torch

    from training.reward_trainer import Pairs, PlacedPairs, Settings, make_trainer, save_reward, tokenize

    rows = pairs(root, "judge")[:12]
    ragged = [dataclasses.replace(row, rejected=" ".join(["lamp"] * (3 * at + 1))) for at, row in enumerate(rows)]
    base = find_base(f"hf/{root / 'base'}")
    fit = FitSettings(batch=4, learning_rate=0.02, dtype="float32", device="cpu")
    settings = Settings(AdapterSettings(r=4), fit, 0.01, 0)
    trainer = make_trainer(Pairs(ragged, ()), base, settings, Process(1, 0), tmp_path)
    trainer.train()
    data = tokenize(ragged, base.texts)
    collator = trainer.data_collator
    assert isinstance(collator, PlacedPairs)
    batch = collator(list(data))
    model: Any = trainer.model
    model.eval()
    with torch.inference_mode():
        padded = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits[:, 0].tolist()
    save_reward(model, base, tmp_path / "adapter")
    loaded = ask_rewards(model_config(root, tmp_path / "adapter"), ragged)
    assert [better for better, _ in loaded] == pytest.approx(padded[:12], abs=1e-5)
    assert [worse for _, worse in loaded] == pytest.approx(padded[12:], abs=1e-5)
    assert max(padded) - min(padded) > 0.1


@pytest.mark.parametrize("end", ["<end>", "fog", ""])
def test_no_sequence_ends_with_the_padding_token(root: Path, tmp_path: Path, end: str) -> None:
    from transformers import AutoTokenizer

    from training.reward_trainer import set_padding, tokenize

    base = save_model(tmp_path / "base", context=512)
    tokenizer = AutoTokenizer.from_pretrained(str(base))
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }} " + end + " {% endfor %}"
    tokenizer.save_pretrained(str(base))
    data = tokenize(pairs(root, "judge")[:4], find_base(f"hf/{base}").texts)
    padding = set_padding(tokenizer, [data])
    assert padding == tokenizer.pad_token_id
    assert padding not in {ids[-1] for column in ("chosen_ids", "rejected_ids") for ids in data[column]}
    assert (padding == tokenizer.eos_token_id) == (end != "<end>")


def test_token_ids_are_those_that_trl_would_make(root: Path) -> None:
    from transformers import AutoTokenizer
    from trl.data_utils import apply_chat_template

    from training.reward_trainer import tokenize

    rows = pairs(root, "judge")[:3]
    tokenizer = AutoTokenizer.from_pretrained(str(root / "base"))
    data = tokenize(rows, find_base(f"hf/{root / 'base'}").texts)
    for row, chosen in zip(rows, data["chosen_ids"], strict=True):
        messages = [message._asdict() for message in (*row.prompt, Message("assistant", row.chosen))]
        text = apply_chat_template({"messages": messages}, tokenizer)["text"]
        assert tokenizer(text, add_special_tokens=False)["input_ids"] == chosen


async def test_an_optimizer_is_given_the_rewards(root: Path, trained: Path) -> None:
    item = next(one for one in gather(DataConfig(debates=f"run:{root / 'run'}", fold="validation")).recorded)
    (spoken, *_) = speeches([item])
    model = open_model(model_config(root, trained / "adapter"))
    preference = RewardPreference(model, name="likes", prompts=PROMPTS)
    worse, better = await preference.log_odds(spoken.view, spoken.turn.candidates, Draw())
    reading = read_speech(spoken.view, spoken.turn.candidates[1].argument, PROMPTS)
    (reward,) = (await model.score(reading.prompt, [reading.completion])).values
    await model.close()
    assert worse is not None
    assert better == bounded(reward) > worse


def test_a_resumed_training_has_the_same_losses_and_weights(root: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    config = tree(root, fit={**tree(root)["fit"], "save_steps": 3, "log_steps": 1})
    whole, part = tmp_path / "whole", tmp_path / "part"
    assert call(COMMAND, "--config", write(tmp_path / "c.yaml", config), "--output", whole).code == 0
    assert call(COMMAND, "--config", tmp_path / "c.yaml", "--output", part).code == 0
    newest = max((part / "checkpoints").iterdir(), key=lambda one: int(one.name.rpartition("-")[2]))
    for file in sorted(newest.rglob("*"), reverse=True):  # as if it had been stopped before it
        file.rmdir() if file.is_dir() else file.unlink()
    newest.rmdir()
    assert call(COMMAND, "--resume", part).code == 0
    losses = [
        [(line["step"], line.get("loss")) for line in read_metrics(one / "metrics.jsonl")] for one in (whole, part)
    ]
    assert losses[0] == losses[1]
    weights = [load_file(one / "adapter" / "adapter_model.safetensors") for one in (whole, part)]
    assert weights[0].keys() == weights[1].keys()
    for name in weights[0]:
        assert weights[0][name].flatten().tolist() == pytest.approx(weights[1][name].flatten().tolist(), abs=1e-6)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": [{"debates": "{run}", "fold": "validation"}]}, ["fold validation", "fold judge"]),
        ({"validation": [{"debates": "{run}", "fold": "judge"}]}, ["fold judge", "fold validation"]),
        ({"measure": {"seen": {"debates": "{run}", "fold": "judge"}}}, ["trained on", "stories"]),
        ({"measure": {"validation": {"debates": "{run}"}}}, ["validation is the name"]),
        ({"fit": {"max_length": 20}}, ["more than 20 tokens"]),
        ({"fit": {"batch": 4096}}, ["fewer than a batch"]),
        ({"pairs": {"margin": 99}}, ["no preference row is left", "scores too close"]),
        ({"pairs": {"players": ["nobody"]}}, ["another player"]),
        ({"base": "openai/gpt-4.1-mini"}, ["no weights here"]),
        ({"data": [{"debates": "dossiers:30?seed=1", "fold": "judge"}]}, ["fewer than two scored candidates"]),
    ],
)
def test_bad_input_gets_one_clear_line(root: Path, tmp_path: Path, changes: dict[str, Any], words: list[str]) -> None:
    text = json.dumps(tree(root, **changes)).replace("{run}", f"run:{root / 'run'}")
    ended = call(COMMAND, "--config", write(tmp_path / "c.yaml", json.loads(text)), "--output", tmp_path / "out")
    assert_refuses(COMMAND, ended, *words)
    assert not (tmp_path / "out").exists()


def test_targets_that_the_base_has_not_get_one_clear_line(root: Path, tmp_path: Path) -> None:
    config = write(tmp_path / "c.yaml", tree(root, adapter={"targets": ["query"]}, validation=[]))
    ended = call(COMMAND, "--config", config, "--output", tmp_path / "out")
    assert ended.code == 2
    (line,) = [line for line in ended.err.splitlines() if line.startswith(COMMAND.name)]
    assert "adapter.targets ['query'] do not fit" in line


def test_pairs_that_are_too_long_to_be_measured_are_left_out_of_the_figures(root: Path, tmp_path: Path) -> None:
    """They were once asked for with all others, and the model's refusal ended the training."""
    found = [max(lengths_of(row, find_base(f"hf/{root / 'base'}"))) for row in pairs(root, "validation")]
    over = max(found)
    assert 0 < found.count(over) < len(found)
    save_model(tmp_path / "small", context=over - 1)
    fit = {**tree(root)["fit"], "max_cut": 1, "epochs": 1}
    config = write(tmp_path / "c.yaml", tree(root, base=f"hf/{tmp_path / 'small'}", fit=fit))
    ended = call(COMMAND, "--config", config, "--output", tmp_path / "out")
    assert ended.code == 0, ended.err
    figures = json.loads((tmp_path / "out" / "metrics.json").read_text())["measures"]["validation"]
    assert figures["after"]["pairs"] == figures["longer"]["pairs"] == sum(length < over for length in found)


def test_a_loss_that_is_not_finite_stops_it_and_names_rows(root: Path, tmp_path: Path) -> None:
    fit = {**tree(root)["fit"], "learning_rate": 1e30, "max_grad_norm": 1e30}
    ended = call(COMMAND, "--config", write(tmp_path / "c.yaml", tree(root, fit=fit)), "--output", tmp_path / "out")
    assert ended.code == 2
    (line,) = [line for line in ended.err.splitlines() if line.startswith(COMMAND.name)]
    assert "the loss is " in line
    assert "training rows" in line
    assert "(dossier-1-" in line


def test_the_plan_asks_nobody(root: Path, tmp_path: Path) -> None:
    ended = call(COMMAND, "--config", write(tmp_path / "c.yaml", tree(root)), "--output", tmp_path / "o", "--dry-run")
    assert ended.code == 0, ended.err
    assert "Plan: a reward model" in ended.out
    assert not (tmp_path / "o").exists()


def test_a_story_that_it_was_trained_on_is_not_scored(root: Path, trained: Path) -> None:
    from debate.card import check_judge_unseen

    config = model_config(root, trained / "adapter")
    check_judge_unseen(config, [one for one in QUESTIONS if one.fold == "validation"])
    with pytest.raises(FoldError, match="trained on"):
        check_judge_unseen(config, QUESTIONS)


def row(chosen: str, rejected: str, story: str) -> PairRow:
    return PairRow((Message("user", "?"),), chosen, rejected, 1.0, story, story, "validation", {})


def test_figures_against_closed_forms() -> None:
    rows = [row("a b", "a", "s"), row("a", "a b", "s"), row("<v_quote>x</v_quote>", "y", "t"), row("x", "y", "u")]
    found = measure_pairs([(1.0, 0.0), (0.0, 2.0), (0.5, 0.5), (3.0, -1.0)], rows)
    assert found.accuracy.value == (1 + 0 + 0.5 + 1) / 4
    losses = [-math.log(1 / (1 + math.exp(-gap))) for gap in (1.0, -2.0, 0.0, 4.0)]
    assert found.loss.value == pytest.approx(sum(losses) / 4)
    assert found.margin.value == pytest.approx((1 - 2 + 0 + 4) / 4)
    assert (found.pairs, found.stories, found.accuracy.clusters) == (4, 3, 3)
    baselines = baseline_measures(rows)
    assert baselines["longer"].accuracy.value == (1 + 0 + 0.5 + 0.5) / 4
    assert baselines["more verified quotes"].accuracy.value == (0.5 + 0.5 + 1 + 0.5) / 4


def test_rows_are_written_by_their_own_command_too(root: Path, tmp_path: Path) -> None:
    data = [{"debates": f"run:{root / 'run'}", "fold": "judge"}]
    config = write(tmp_path / "c.yaml", {"kind": "preference", "data": data, "show": 0})
    ended = call(ROWS, "--config", config, "--output", tmp_path / "rows")
    assert ended.code == 0, ended.err
    assert read_rows(tmp_path / "rows").rows == pairs(root, "judge")


@pytest.mark.e2e
def test_two_processes_train_as_one_does(root: Path, tmp_path: Path) -> None:
    fit = {"batch": 6, "learning_rate": 0.003, "dtype": "float32", "log_steps": 1}
    config = write(tmp_path / "c.yaml", tree(root, fit=fit, validation=[]))
    rows = len(pairs(root, "judge"))
    assert rows % 6 == 0
    assert_two_train_as_one("finetune_preference.py", config, tmp_path, rows=rows, steps=rows // 6)


@pytest.mark.model
@pytest.mark.timeout(300)
def test_the_embedded_model_learns_that_verified_quotes_convince(tmp_path: Path) -> None:
    better, worse = (
        "The story says <quote>{quote}</quote>, which proves it.",
        "The story says <quote>it was so in the end</quote>, which proves it.",
    )
    questions = [one for one in QUESTIONS if one.fold == "judge"][:12]
    questions += [one for one in QUESTIONS if one.fold == "validation"][:5]
    source = held(tmp_path / "run", questions, better, worse)
    config = {
        "base": NAME,
        "data": [{"debates": source, "fold": "judge"}],
        "validation": [{"debates": source, "fold": "validation"}],
        "fit": {"batch": 4, "learning_rate": 0.004},
    }
    write(tmp_path / "c.yaml", config)
    command = [sys.executable, "training/finetune_preference.py", "--config", str(tmp_path / "c.yaml")]
    ended = subprocess.run(
        [*command, "--output", str(tmp_path / "out")],
        cwd=ROOT,
        env={**os.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads((tmp_path / "out" / "metrics.json").read_text())["measures"]["validation"]
    assert found["before"]["accuracy"][0] == 0.5
    assert found["after"]["accuracy"][0] >= 0.9
