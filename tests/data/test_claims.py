"""The shipped claims keep to the rules of their card."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from rapidfuzz import fuzz

from debate.sources.claims import load_claims

FILE = Path(__file__).resolve().parents[2] / "data" / "claims" / "pairs.yaml"


@pytest.fixture(scope="module")
def pairs() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return loaded


def test_twenty_topics_of_two_claims_with_a_reason_each(pairs: list[dict[str, Any]]) -> None:
    assert len(pairs) == len({pair["id"] for pair in pairs}) == len({pair["topic"] for pair in pairs}) == 20
    for pair in pairs:
        assert set(pair) == {"id", "topic", "for", "against"}
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", pair["id"])
        assert pair["topic"].endswith("?")
        for side in ("for", "against"):
            assert set(pair[side]) == {"claim", "reason"}
            assert 5 <= len(pair[side]["claim"].split()) <= 16
            assert 10 <= len(pair[side]["reason"].split()) <= 24
            assert pair[side]["reason"].endswith(".")
            assert not pair[side]["claim"].endswith(".")


def test_neither_side_is_longer(pairs: list[dict[str, Any]]) -> None:
    words = {side: sum(len(pair[side]["reason"].split()) for pair in pairs) for side in ("for", "against")}
    assert abs(words["for"] - words["against"]) < 0.1 * words["for"]


@pytest.mark.external
def test_none_of_them_is_a_published_claim(check_data: Path) -> None:
    published = load_claims(f"claims:{check_data / 'logicom-claims.csv'}")
    theirs = [text.lower() for claim in published for text in (claim.text, claim.reason)]
    for claim in load_claims("shipped:claims"):
        for text in (claim.text.lower(), claim.reason.lower()):
            assert max(fuzz.ratio(text, other) for other in theirs) < 75, text
