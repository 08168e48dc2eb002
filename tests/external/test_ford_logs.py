"""The published logs of FORD, held against the figures that were worked out from them apart from this project."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.commands import call
from tournaments.consensus import COMMAND

pytestmark = pytest.mark.external
DAVINCI, NEAR = "chatgpt__text-davinci-003", "chatgpt__chatgpt-0301"
RUNS = {"chatgpt, davinci": DAVINCI, "chatgpt, 0301": NEAR}
# | run: data set (n) | A | B | Col-S | Col-H | FORD | INCON by round |
ROW = re.compile(r"\| (chatgpt, \w+): (\w+) \((\d+)\) \|" + r" ([\d.]+) \|" * 5 + r" ([\d. ]+) \|")
BROKEN = {
    (DAVINCI, "anli"): (1505, "2 lost"),
    (DAVINCI, "piqa"): (1880, "42 doubled"),
    ("chatgpt__gpt-4", "ecare"): (2120, "2 lost"),
    (f"{DAVINCI}__chatgpt-0301", "ecare"): (2156, "34 doubled"),
    (f"{DAVINCI}__chatgpt-0301", "piqa"): (1948, "110 doubled"),
}


@pytest.fixture(scope="module")
def found(check_data: Path) -> dict[str, Any]:
    ended = call(COMMAND, "--outcomes", check_data / "ford-outcomes.jsonl", "--format", "json")
    assert ended.code == 0, ended.err
    values: dict[str, Any] = json.loads(ended.out)
    return values


def percent(figure: list[float]) -> str:
    return f"{100 * figure[0]:.2f}"


def test_every_figure_of_the_table_to_the_digit(found: dict[str, Any], check_data: Path) -> None:
    table = ROW.findall((check_data / "README.md").read_text(encoding="utf-8"))
    assert len(table) == 12
    chains = {(chain["run"], chain["dataset"]): chain for chain in found["chains"]}
    for run, dataset, n, first, second, col_s, col_h, ford, incon in table:
        chain = chains[RUNS[run], dataset]
        assert chain["n"] == int(n)
        assert [percent(figure) for figure in chain["alone"].values()] == [first, second], dataset
        assert [percent(chain[key]) for key in ("col_s", "col_h", "ford")] == [col_s, col_h, ford], dataset
        assert [percent(figure) for figure in chain["incon"]] == incon.split(), dataset


def test_broken_chains_are_refused_with_the_reason(found: dict[str, Any]) -> None:
    refused = {(one["run"], one["dataset"]): one for one in found["refused"]}
    assert refused.keys() == BROKEN.keys()
    for key, (samples, words) in BROKEN.items():
        assert refused[key]["samples"] == samples
        assert words in refused[key]["reason"]


def test_all_other_runs_and_data_sets_of_the_file_are_measured(found: dict[str, Any], check_data: Path) -> None:
    lines = (check_data / "ford-outcomes.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = {(row["run"], row["dataset"]) for row in map(json.loads, lines)}
    assert {(chain["run"], chain["dataset"]) for chain in found["chains"]} == pairs - BROKEN.keys()


def test_a_plain_majority_vote_beat_the_published_roundtable(found: dict[str, Any]) -> None:
    tables = [chain for chain in found["chains"] if len(chain["alone"]) == 3]
    assert [chain["dataset"] for chain in tables] == ["ecare", "piqa"]
    assert all(chain["majority"][0] > chain["ford"][0] for chain in tables)


def test_the_stronger_of_a_mismatched_pair_dominates(found: dict[str, Any]) -> None:
    (chain,) = (chain for chain in found["chains"] if chain["run"] == "chatgpt__gpt-4")
    weak, strong = chain["sway"]
    assert strong["dominance_of_agreed"][0] > 0.8
    assert weak["dominance_of_agreed"][0] < 0.2
    assert chain["alone"]["chatgpt"][0] < chain["ford"][0] < chain["alone"]["gpt-4"][0]


def test_tables_are_printed_for_people(check_data: Path) -> None:
    ended = call(COMMAND, "--outcomes", check_data / "ford-outcomes.jsonl")
    assert ended.code == 0, ended.err
    for title in ("Right answers", "INCON", "Dominance", "Refused"):
        assert title in ended.out
