"""The published logs of LOGICOM: every figure of their description, from the command as a user runs it."""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from debate.fallacies import FALLACIES, NONE, OTHER, classify
from debate.protocols.persuasion import Stop
from debate.sources.logicom import fallacy_named, load_outcomes
from debate.sources.rows import json_rows
from tests.commands import call
from tournaments.persuasion import COMMAND

pytestmark = pytest.mark.external

FILES = ("logicom-outcomes.jsonl", "logicom-debates.jsonl.gz")
# Debater and scenario; success rate %; claims with 0, 1, 2, 3 successes of three %.
SUCCESS = [
    ("GPT-3.5", "none", "29.00", "47.5/27.5/15.5/9.5"),
    ("GPT-3.5", "fallacy", "37.00", "42.0/22.0/19.0/17.0"),
    ("GPT-3.5", "logical", "29.83", "49.5/23.5/15.0/12.0"),
    ("GPT-4", "none", "37.33", "58.0/5.0/4.0/33.0"),
    ("GPT-4", "fallacy", "67.00", "21.5/13.0/8.5/57.0"),
    ("GPT-4", "logical", "38.83", "55.0/7.0/4.5/33.5"),
]


@pytest.fixture(scope="module", params=FILES)
def found(request: pytest.FixtureRequest, check_data: Path) -> dict[str, Any]:
    ended = call(COMMAND, "--outcomes", check_data / request.param, "--format", "json")
    assert ended.code == 0, ended.err
    loaded: dict[str, Any] = json.loads(ended.out)
    return loaded


def pair(found: dict[str, Any], debater: str) -> dict[str, Any]:
    (one,) = (pair for pair in found["pairs"] if pair["debater"] == debater)
    loaded: dict[str, Any] = one
    return loaded


def percent(interval: list[float], digits: int = 2) -> str:
    value, low, high = interval
    assert 0 <= low <= value <= high <= 1
    return f"{100 * value:.{digits}f}"


@pytest.mark.parametrize(("debater", "scenario", "success", "claims"), SUCCESS)
def test_success(found: dict[str, Any], debater: str, scenario: str, success: str, claims: str) -> None:
    figures = pair(found, debater)["scenarios"][scenario]
    assert percent(figures["success"]) == success
    assert f"{100 * sum(figures['success_by_repetition']) / 3:.2f}" == success
    assert "/".join(percent(share, 1) for share in figures["claims_by_successes"]) == claims
    assert (figures["debates"], figures["missing"]) == (600, int((debater, scenario) == ("GPT-3.5", "none")))


@pytest.mark.parametrize(
    ("debater", "alone", "changed", "counts"),
    [("GPT-3.5", ("17.67", "10.50"), "17.63", (260, 1475)), ("GPT-4", ("29.00", "0.83"), "20.26", (238, 1175))],
)
def test_ablation_and_change_of_opinion(
    found: dict[str, Any], debater: str, alone: tuple[str, str], changed: str, counts: tuple[int, int]
) -> None:
    figures = pair(found, debater)
    assert (percent(figures["fallacy_only"]), percent(figures["logical_only"])) == alone
    assert figures["ablation_pairs"] == 600
    assert percent(figures["opinion_changed"]) == changed
    assert (figures["opinion_changed_convinced"], figures["opinion_changed_debates"]) == counts


@pytest.mark.parametrize(("debater", "none", "logical"), [("GPT-3.5", "27.6", "24.0"), ("GPT-4", "79.5", "72.5")])
def test_how_much_more_often_fallacies_convince(found: dict[str, Any], debater: str, none: str, logical: str) -> None:
    figures = pair(found, debater)
    assert f"{100 * figures['more_than_none'][0]:.1f}" == none
    assert f"{100 * figures['more_than_logical'][0]:.1f}" == logical
    assert figures["more_than_logical"][1] > 0


def test_what_is_odd_about_them_is_said(found: dict[str, Any]) -> None:
    assert any("50 of 3599 logs" in note for note in found["notes"])
    assert any("3 logs have no stop reason" in note for note in found["notes"])


def test_texts_add_the_classes_of_fallacies(check_data: Path) -> None:
    whole, alone = (load_outcomes(check_data / name).outcomes for name in reversed(FILES))
    assert all(one.fallacies is None for one in alone)
    assert [one.fallacies is not None for one in whole] == [one.scenario == "fallacy" for one in whole]
    # 6,091 messages, of which the last of each of 1,200 debates had no reply.
    assert sum(len(one.fallacies or ()) for one in whole) == 4891
    rows = [row.values for row in json_rows(check_data / FILES[0]) if row.text("helper").lower() == "fallacy_helper"]
    early = sum(row["number_of_rounds"] == 1 and row["Convinced?"] is True for row in rows)
    convinced = [one for one in whole if one.scenario == "fallacy" and one.stop is Stop.CONVINCED]
    assert sum(one.rounds == 1 for one in convinced) == early  # before they had heard any


def test_spellings_of_fallacies(check_data: Path) -> None:
    names: Counter[str] = Counter()
    for row in json_rows(check_data / FILES[1]):
        for message in row.rows("log") if row.text("helper").lower() == "fallacy_helper" else ():
            text = message.any_text("assistant") if message.has("assistant") else ""
            if text.startswith("[{"):
                assert fallacy_named(text) == ast.literal_eval(text)[0]["fallacy"]
                names[str(fallacy_named(text))] += 1
    assert (names.total(), len(names), len({name.casefold() for name in names})) == (6091, 171, 123)
    classes = Counter(classify(name) for name in names.elements())
    assert classes.keys() <= {*FALLACIES, NONE, OTHER}
    assert classes[OTHER] / names.total() < 0.005
    assert [name for name, _ in classes.most_common(4)] == [
        "ad populum",
        "false dilemma",
        "straw man",
        "appeal to emotion",
    ]
