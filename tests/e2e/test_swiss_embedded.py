"""The Swiss command with the embedded model, and on the long stories of QuALITY."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from debate.errors import ModelAccessError
from debate.models.embedded import ensure_embedded
from tests.runs import ROOT, SCRIPTS, assert_refused, cells, debates, finish, metrics, start, swiss, write

EMBEDDED = "embedded/smollm2-135m"
QUALITY = ROOT / "configs" / "swiss" / "quality.yaml"


@pytest.fixture(scope="module")
def embedded() -> Path:
    try:
        return ensure_embedded()
    except ModelAccessError as error:
        pytest.skip(str(error))


@pytest.mark.e2e
@pytest.mark.model
@pytest.mark.usefixtures("embedded")
def test_a_tiny_tournament_of_the_embedded_model(tmp_path: Path) -> None:
    config = yaml.safe_load((ROOT / "configs" / "swiss" / "stories.yaml").read_text(encoding="utf-8"))
    config |= {"stories": 2, "per_story": 1, "players": [config["players"][0], config["players"][2]], "self_play": None}
    ended = finish(start("--config", write(tmp_path / "tiny.yaml", config), "--output", tmp_path / "run"))
    assert ended.code == 0, ended.err
    assert "The judge is the embedded model as it was published: nobody has trained it to judge" in ended.out
    held = debates(tmp_path / "run")
    assert len(held) == 2 * 2
    measured = metrics(tmp_path / "run")["cross_play"]
    assert (measured["verdicts"], measured["unparsed"], measured["failed_debates"]) == (8, 0, 0)
    for item in held:
        for turn in item["debate"]["transcript"]["turns"]:
            quotes = [span for span in turn["argument"]["spans"] if isinstance(span, dict) and "verified" in span]
            assert quotes
            assert all(quote["verified"] for quote in quotes)
    calls = int(cells(ended.out, "Cost")[0][1].replace(",", ""))
    assert calls > 8 + 4


@pytest.mark.e2e
@pytest.mark.model
@pytest.mark.usefixtures("embedded")
@pytest.mark.parametrize("name", ["smoke", "stories", "quality"])
def test_the_plans_of_shipped_configurations(name: str, tmp_path: Path, check_data: Path) -> None:
    flags = ["--config", ROOT / "configs" / "swiss" / f"{name}.yaml", "--output", tmp_path / "run", "--dry-run"]
    if name == "quality":
        flags += ["--source", f"leval:{check_data / 'quality-leval-15-stories.jsonl'}"]
    plan = swiss(*flags)
    assert plan.code == 0, plan.err
    assert f"{EMBEDDED} " in plan.out
    assert "$0.00" in plan.out
    assert not (tmp_path / "run").exists()


@pytest.mark.e2e
def test_long_stories_are_refused_or_windowed_never_cut_in_silence(tmp_path: Path, check_data: Path) -> None:
    config = yaml.safe_load(QUALITY.read_text(encoding="utf-8"))
    short = {"name": "free", "kind": "free", "model": f"{SCRIPTS}:short_debater"}
    evidence = {"name": "evidence", "kind": "evidence_first", "model": f"{SCRIPTS}:debater"}
    config |= {"players": [config["players"][0], evidence, short], "judge": {"model": f"{SCRIPTS}:judge"}, "stories": 3}
    config["source"] = f"leval:{check_data / 'quality-leval-15-stories.jsonl'}"
    config["speech"]["min_words"] = 20
    path = write(tmp_path / "config.yaml", config)
    refused = swiss("--config", path, "--dry-run")
    assert_refused(refused, "player 'free': 3 stories exceed", "long_stories: window")
    assert "evidence" not in refused.err  # it reads sentence by sentence
    flags = ["--config", path, "--long_stories", "window", "--output", tmp_path / "run"]
    told = "player 'free': 3 stories exceed"
    plan = swiss(*flags, "--dry-run")
    assert plan.code == 0, plan.err
    assert told in plan.out
    ended = swiss(*flags)
    assert ended.code == 0, ended.err
    assert told in ended.out
    assert "there they read a window of the story" in ended.out
    assert told in " ".join(
        (tmp_path / "run" / "report.html").read_text(encoding="utf-8").replace("&#39;", "'").split()
    )
    # What is quoted from the window is found in the story, unless the quote runs over a gap in it.
    quotes = [
        span
        for item in debates(tmp_path / "run")
        for turn in item["debate"]["transcript"]["turns"]
        for span in turn["argument"]["spans"]
        if item["debate"]["players"][turn["answer"]] == "free" and isinstance(span, dict) and "verified" in span
    ]
    assert sum(quote["verified"] for quote in quotes) > len(quotes) / 2
    assert all(quote["verified"] != ("[...]" in quote["text"]) for quote in quotes)
