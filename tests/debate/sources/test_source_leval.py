"""The L-Eval form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from debate.errors import SourceError
from debate.sources import load

FILE = Path(__file__).resolve().parents[2] / "fixtures" / "leval" / "two.jsonl"


def test_options_and_letters() -> None:
    first, second = load(f"leval:{FILE}")
    assert first.text == "Why did the miller keep a second ledger?"
    assert first.answers == (
        "To cheat the farmers, as (B) would suggest",
        "To hide his debts",
        "To teach his daughter\n over many years",
        "To please the tax office",
    )
    assert (first.gold, second.gold) == (1, 2)
    assert first.story_id == second.story_id
    assert first.id == f"{first.story_id}-1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"outputs": ["(B)", "(E) Nobody"]},
            "line 1: output 2 ('(E) Nobody') does not begin with the letter of one of 4",
        ),
        ({"outputs": ["(B)", "Nobody"]}, "output 2 ('Nobody')"),
        ({"outputs": ["(B)"]}, "2 instructions but 1 outputs"),
        ({"instructions": ["Who?", "Who? (A) x (B) y"]}, "instruction 1 has 0 options"),
        ({"instructions": ["Who?\n(A) x\n(B)\n", "Who?"]}, "instruction 1 has a blank question or option"),
    ],
)
def test_malformed_rows_are_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    row = {**json.loads(FILE.read_text(encoding="utf-8")), **change}
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(SourceError) as error:
        load(f"leval:{path}")
    assert message in str(error.value)
