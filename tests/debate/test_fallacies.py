"""Names of fallacies, as models write them, and the classes that a reader would put them in."""

from __future__ import annotations

from pathlib import Path

import pytest

from debate.fallacies import FALLACIES, NONE, OTHER, classify

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", FALLACIES)
def test_a_class_is_itself_however_it_is_written(name: str) -> None:
    ways = (name, name.title(), name.upper(), f"{name} fallacy", f"The Fallacy of {name}", name.replace(" ", "_"))
    assert {classify(way) for way in ways} == {name}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Strawman", "straw man"),
        ("Bandwagon Fallacy", "ad populum"),
        ("Ad Populum (Appeal to Popular Opinion)", "ad populum"),
        ("Appeal to Polularity", "ad populum"),
        ("Logical Fallacy: Appeal to Popular Opinion", "ad populum"),
        ("False Dichotomy", "false dilemma"),
        ("Personal Attack/Ad Hominem", "ad hominem"),
        ("Appeal to Emotion and Straw man", "appeal to emotion"),
        ("Straw Man and Appeal to Emotion", "straw man"),
        ("Irrelevant Conclusion (Red Herring)", "red herring"),
        ("Post hoc ergo propter hoc", "false cause"),
        ("Hasty generalisation", "hasty generalization"),
        ("Whataboutism", "tu quoque"),
        ("No logical fallacy used", NONE),
        ("None - No logical fallacy used", NONE),
        ("N/A", NONE),
        ("", NONE),
        ("Appeal to Timeframe", OTHER),
        ("Appeal to Personal Preference", OTHER),
        ("name of the fallacy", OTHER),
        ("稻草人", OTHER),
    ],
)
def test_names_that_models_write(name: str, expected: str) -> None:
    assert classify(name) == expected


def test_the_docs_list_every_class_with_its_meaning() -> None:
    page = (DOCS / "persuasion.md").read_text(encoding="utf-8")
    for name, meaning in FALLACIES.items():
        assert f"| {name} | {meaning} |" in page
