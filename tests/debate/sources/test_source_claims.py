"""Claims: those that ship, and files of one's own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from debate.claim import NOT_CONVINCED
from debate.errors import SourceError
from debate.sources.claims import choose, load_claims

CSV = "topic,claim,reason,more\nTea?,Tea is best,It is warm,x\nTea?,Coffee is best.,It wakes,y\n"


def test_the_shipped_claims_are_pairs() -> None:
    claims = load_claims("shipped:claims")
    assert len(claims) == 40
    assert [claim.id.rpartition("-")[2] for claim in claims] == ["for", "against"] * 20
    assert all(one.topic == other.topic for one, other in zip(claims[::2], claims[1::2], strict=True))


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(CSV, encoding="utf-8")
    claims = load_claims(f"claims:{tmp_path / 'own.csv'}")
    assert [(claim.topic, claim.text, claim.reason) for claim in claims] == [
        ("Tea?", "Tea is best", "It is warm"),
        ("Tea?", "Coffee is best.", "It wakes"),
    ]
    lines = [{"title": "Tea?", "claim": "Tea is best", "reason": "It is warm", "id": "t1"}]
    (tmp_path / "own.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    (claim,) = load_claims(f"claims:{tmp_path / 'own.jsonl.gz'}")
    assert (claim.id, claim.topic) == ("t1", "Tea?")
    # An id is made of what the claim says, so that it stays when rows move.
    (tmp_path / "turned.csv").write_text("\n".join([*CSV.split("\n")[:1], *CSV.split("\n")[2:0:-1]]), encoding="utf-8")
    assert {one.id for one in load_claims(f"claims:{tmp_path / 'turned.csv'}")} == {one.id for one in claims}


def test_a_claim_as_a_question(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(CSV, encoding="utf-8")
    claims = load_claims(f"claims:{tmp_path / 'own.csv'}")
    question = claims[1].question
    assert question.text == "Tea?"
    assert question.answers == ("Coffee is best. Reason: It wakes", NOT_CONVINCED)
    assert (question.gold, question.story, question.id, question.story_id) == (None, None, claims[1].id, claims[1].id)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("topic,claim,reason\n", ["holds no claims"]),
        ("topic,claim\nTea?,Tea is best\n", ["line 2", "'reason' is missing"]),
        ("topic,claim,reason\nTea?,,It is warm\n", ["line 2", "'claim' is blank"]),
        ("topic,claim,reason,id\nA,b,c,x\nD,e,f,x\n", ["two claims have the id 'x'"]),
        ("topic,claim,reason\nA,b,c\nA,b,c\n", ["two claims have the id"]),
    ],
)
def test_a_malformed_table_is_refused_with_its_line(tmp_path: Path, text: str, words: list[str]) -> None:
    (tmp_path / "own.csv").write_text(text, encoding="utf-8")
    with pytest.raises(SourceError) as raised:
        load_claims(f"claims:{tmp_path / 'own.csv'}")
    for word in words:
        assert word in str(raised.value)


@pytest.mark.parametrize("source", ["claims", "claims:", "shipped:", "shipped:stories", "claim:x.csv", "quality:x"])
def test_another_source_is_refused(source: str) -> None:
    with pytest.raises(SourceError, match=r"shipped:claims"):
        load_claims(source)


def test_a_limit_draws_and_keeps_the_order() -> None:
    claims = load_claims("shipped:claims")
    drawn = [choose(claims, 5, seed) for seed in range(20)]
    assert all(len(set(some)) == 5 for some in drawn)
    assert all([claims.index(claim) for claim in some] == sorted(map(claims.index, some)) for some in drawn)
    assert len({tuple(claim.id for claim in some) for some in drawn}) > 15
    assert choose(claims, 5, 3) == drawn[3]
    assert choose(claims, None, 0) == choose(claims, 40, 0) == choose(claims, 99, 0) == claims


@pytest.mark.external
def test_the_published_claims(check_data: Path) -> None:
    claims = load_claims(f"claims:{check_data / 'logicom-claims.csv'}")
    assert len(claims) == 200
    first = claims[0]
    assert (first.id, first.topic) == (
        "20932920_284_A104V8NZIQFN2F",
        "Should Foreign Language Classes Be Mandatory in College?",
    )
    assert first.text == "Foreign language classes should be mandatory in college"
    assert first.reason.startswith("We should be able to speak other languages")
