"""Speeches of people who won in the published debates: how many rows they make, and why no more."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from debate.prompts import Prompts
from training.argument_rows import ArgumentConfig, argument_rows
from training.gather import DataConfig, Gathered, gather
from training.rows import Row

pytestmark = pytest.mark.external

PROMPTS = Prompts()
EVERY = ArgumentConfig(min_words=1, max_words=1000, min_quotes=0, verified=False, max_copied=1, balance=False)


@pytest.fixture(scope="module")
def people(check_data: Path) -> Gathered:
    archive = check_data / "nyu-human-debates.tar.gz"
    return gather(DataConfig(debates=f"nyu:{archive}", tags={"debaters": "human"}))


def rows(people: Gathered, form: str, config: ArgumentConfig) -> tuple[tuple[Row, ...], Counter[str]]:
    recorded = [item for item in people.recorded if item.debate.tags["form"] == form]
    found = argument_rows(recorded, config, PROMPTS)
    return found.rows, Counter(found.dropped)


def test_what_people_said_who_won(people: Gathered) -> None:
    """The paper trained on 1,063 winning turns of people; rooms of this archive that a judge ended hold 581 + 253."""
    debates, left = rows(people, "debate", EVERY)
    assert left == {"not won by the margin": 581, "no final verdict": 292, "a quote given twice": 5}
    assert len(debates) + left["a quote given twice"] == 581
    consultancies, left = rows(people, "consultancy", EVERY)
    assert (len(consultancies), left) == (253, {"not won by the margin": 193})


@pytest.mark.parametrize(("form", "kept", "debater_fold"), [("debate", 445, 138), ("consultancy", 98, 20)])
def test_what_of_it_is_verified_distinct_and_not_mostly_copied(
    people: Gathered, form: str, kept: int, debater_fold: int
) -> None:
    config = ArgumentConfig(min_words=1, max_words=1000, balance=False)
    found, left = rows(people, form, config)
    assert len(found) == kept
    if form == "debate":
        assert left["an unverified quote"] == 65  # people could mark any range, some of a word or two
    assert sum(row.fold == "debater" for row in found) == debater_fold


@pytest.mark.parametrize(("form", "kept"), [("debate", 48), ("consultancy", 22)])
def test_people_seldom_win_both_sides_of_a_question(people: Gathered, form: str, kept: int) -> None:
    found, _ = rows(people, form, ArgumentConfig(min_words=1, max_words=1000))
    assert len(found) == kept
    assert Counter(row.tags["assigned"] for row in found) == {"right": kept // 2, "wrong": kept // 2}
