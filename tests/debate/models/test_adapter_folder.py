"""Names of adapters: folders, shipped ones, and ones on the hub, whose cache is laid out as its client lays it out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from debate.errors import ModelAccessError
from debate.models.adapter_folder import adapter_folder, adapter_label

ASK = "import sys; from debate.models.adapter_folder import adapter_folder; print(adapter_folder(sys.argv[1]))"


def asked(adapter: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Ask in a process of its own: the hub's client reads its environment once."""
    environment = os.environ | {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    environment.pop("HF_HUB_CACHE", None)
    return subprocess.run(
        [sys.executable, "-c", ASK, adapter], env=environment, capture_output=True, text=True, check=False
    )


def test_folders_are_taken_as_they_are(tmp_path: Path) -> None:
    assert adapter_folder(str(tmp_path)) == tmp_path
    assert adapter_folder("runs/judge") == Path("runs/judge")
    assert adapter_folder("~/judge") == Path.home() / "judge"


def test_a_folder_is_preferred_to_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hf" / "owner" / "judge").mkdir(parents=True)
    assert adapter_folder("hf/owner/judge") == Path("hf/owner/judge")


def test_an_adapter_of_the_hub_is_found_in_its_cache(tmp_path: Path) -> None:
    kept = tmp_path / "hub" / "models--owner--judge"
    snapshot = kept / "snapshots" / "0123abc"
    snapshot.mkdir(parents=True)
    (kept / "refs").mkdir()
    (kept / "refs" / "main").write_text("0123abc", encoding="ascii")
    (snapshot / "adapter_config.json").write_text("{}", encoding="ascii")
    assert asked("hf/owner/judge", tmp_path).stdout.strip() == str(snapshot)


def test_an_adapter_that_the_hub_does_not_give_is_named(tmp_path: Path) -> None:
    done = asked("hf/owner/judge", tmp_path)
    assert done.returncode != 0
    assert "adapter hf/owner/judge: neither a folder nor to be had from the hub" in done.stderr


def test_an_unknown_shipped_adapter_is_told_of_the_others() -> None:
    with pytest.raises(ModelAccessError, match=r"adapter shipped:jugde: the adapters that ship are .*; name one"):
        adapter_folder("shipped:jugde")


def test_labels_are_the_last_part() -> None:
    found = [adapter_label(name) for name in ("shipped:judge", "runs/judge/", "hf/owner/judge", "~/judge/.")]
    assert found == ["judge"] * 4


def test_what_a_training_wrote_is_called_as_its_folder() -> None:
    found = [adapter_label(name) for name in ("runs/judge/adapter", "judge/adapter/", "adapter", "/adapter")]
    assert found == ["judge", "judge", "adapter", "adapter"]
