from __future__ import annotations

import dataclasses
import io
import json
import math
from pathlib import Path

import pytest

from debate.agents.judge import JudgeConfig
from debate.card import Card, write_card
from debate.errors import ConfigError, FoldError, ModelError
from debate.models.base import Draw
from debate.models.load import ModelConfig
from debate.prompts import Prompts
from debate.record import Recorded
from debate.report.console import print_table
from debate.sources import load
from debate.verdict import Decision
from debate.view import View
from tests.judged import RIGHT, TIE, WRONG, judged
from training.judge_measures import before_after, judge_recorded, judge_with, measure, paired_differences
from training.made import MadeConfig, make_debates


def test_by_hand() -> None:
    found = measure(
        [
            judged("a", (0.9, 0.1), (0.9, 0.1), story="s"),
            judged("b", (0.9, 0.1), (0.2, 0.8), story="s"),  # a flip; combined 0.55
            judged("c", (0.2, 0.8), (0.2, 0.8), story="t"),
            judged("d", (0.9, 0.1), None, story="t"),  # unparsed, so not combined
            judged("e", (0.9, 0.1), (0.9, 0.1), gold=None, story="u"),
            judged("f", failed="lost"),
        ]
    )
    assert (found.judge, found.debates, found.stories, found.failed) == ("j", 4, 2, 1)
    assert found.accuracy.combined is not None
    assert found.accuracy.combined.value == pytest.approx(2 / 3)
    assert found.flips is not None
    assert found.flips.value == pytest.approx(1 / 3)
    assert found.brier is not None
    assert found.brier.value == pytest.approx((0.1**2 + 0.45**2 + 0.8**2) / 3)
    assert found.log_score is not None
    assert found.log_score.value == pytest.approx(-(math.log(0.9) + math.log(0.55) + math.log(0.2)) / 3)
    # In bins 0.5-0.6, 0.8-0.9 and 0.9-1: right at 0.55, wrong at 0.8, right at 0.9.
    assert found.calibration_error == pytest.approx((0.45 + 0.8 + 0.1) / 3)
    assert found.unparsed == pytest.approx(1 / 8)
    assert found.confident is not None
    assert found.confident.n == 3  # ⌈0.9 x 3⌉


def test_the_least_confident_are_left_out_of_the_confident() -> None:
    items = [judged(str(at), (0.9, 0.1), (0.9, 0.1)) for at in range(9)]
    found = measure([*items, judged("x", (0.45, 0.55), (0.45, 0.55))])
    assert found.confident is not None
    assert (found.confident.value, found.confident.n) == (1.0, 9)


def test_nothing_to_measure_is_none_and_can_be_written_down() -> None:
    found = measure([])
    assert (found.debates, found.brier, found.confident, found.unparsed) == (0, None, None, None)
    for one in (found, measure([judged("a", RIGHT, RIGHT)]), measure([judged("a", None, None)])):
        json.dumps(one.values(), allow_nan=False)


def test_two_judges_are_not_one() -> None:
    item = judged("a", RIGHT, RIGHT)
    other = tuple(dataclasses.replace(verdict, judge="k") for verdict in item.verdicts)
    with pytest.raises(ConfigError, match="2 judges"):
        measure([Recorded(item.debate, (*item.verdicts, *other))])


def test_differences_are_paired_by_debate() -> None:
    before = [judged("a", RIGHT, WRONG), judged("b", WRONG, WRONG), judged("c", RIGHT, None)]
    after = [judged("a", RIGHT, RIGHT), judged("b", TIE, TIE), judged("c", RIGHT, RIGHT)]
    gaps = paired_differences(before, after)
    values = {name: None if gap is None else gap.value for name, gap in gaps.items()}
    assert values["accuracy"] == pytest.approx((0 + 0.5) / 2)  # 0.55 was right already; c was not combined before
    assert values["single"] == pytest.approx((0.5 + 0.5 + 0) / 3)
    assert values["flips"] == pytest.approx((-1 + 0) / 2)
    assert values["brier"] == pytest.approx((0.1**2 - 0.45**2 + 0.5**2 - 0.8**2) / 2)
    assert values["log_score"] == pytest.approx((-math.log(0.9) + math.log(0.55) - math.log(0.5) + math.log(0.2)) / 2)
    with pytest.raises(ConfigError, match="not the same debates"):
        paired_differences(before, after[:2])


def test_a_judge_that_does_not_change_differs_by_nothing() -> None:
    items = [judged(str(at), RIGHT if at % 3 else WRONG, RIGHT) for at in range(20)]
    for gap in paired_differences(items, items).values():
        assert gap is not None
        assert gap.value == 0
        assert gap.low < 0 < gap.high
    shown = io.StringIO()
    print_table(before_after(items, items), file=shown)
    text = shown.getvalue()
    assert "accuracy, orders combined" in text
    assert "Brier score" in text


class Reads:
    """Decides by a rule that knows the story's side: a stand-in for a model."""

    name = "reads"

    def __init__(self, *, fails_on: str = "") -> None:
        self.fails_on = fails_on
        self.views: list[View] = []

    async def decide(self, view: View, draw: Draw) -> Decision:  # noqa: ARG002 - a rule draws nothing
        if self.fails_on and view.question == self.fails_on:
            raise ModelError("the server is gone")
        self.views.append(view)
        first = view.answers[0] < view.answers[1]
        return Decision((0.8, 0.2) if first else (0.2, 0.8))


async def test_both_orders_are_judged_and_failures_are_data() -> None:
    made = make_debates(load("dossiers:12?seed=1"), MadeConfig(protocols={"simultaneous": 0.5, "consultancy": 0.5}))
    judge = Reads(fails_on=made[0].debate.transcript.question.text)
    found = await judge_recorded(judge, [*made, *made[1:2]], concurrency=3)
    assert [item.debate.id for item in found] == [item.debate.id for item in (*made, made[1])]
    assert found[0].debate.failed == "the server is gone"
    for old, new in zip(made[1:], found[1:], strict=False):
        orders = [verdict.order for verdict in new.verdicts]
        assert orders == [old.debate.transcript.seats, old.debate.transcript.seats[::-1]]
        assert len({verdict.probabilities for verdict in new.verdicts}) == 1
    assert all(view.story is None for view in judge.views)
    figures = measure(found)
    assert figures.failed == 1
    assert figures.flips is not None
    assert figures.flips.value == 0
    # The same debate twice is judged twice: sources may share an id.
    assert figures.debates == 12


async def test_a_judge_is_opened_by_its_configuration() -> None:
    made = make_debates(load("dossiers:3?seed=1"), MadeConfig())
    config = JudgeConfig(model=ModelConfig(name="scripted/tests.scripts:judge"))
    found = await judge_with(config, {"unseen": made, "none": []}, prompts=Prompts())
    assert list(found) == ["unseen", "none"]
    assert [len(item.verdicts) for item in found["unseen"]] == [2, 2, 2]


async def test_stories_that_a_judge_was_trained_on_are_refused(tmp_path: Path) -> None:
    made = make_debates(load("dossiers:3?seed=1"), MadeConfig())
    questions = [item.debate.transcript.question for item in made]
    card = Card(kind="judge", base="hf/base", stories=Card.stories_of(questions[:1]), data="0" * 64)
    write_card(tmp_path, card)
    config = JudgeConfig(model=ModelConfig(name="embedded/smollm2-135m", adapter=str(tmp_path)))
    with pytest.raises(FoldError, match="trained on 1 of these 3"):
        await judge_with(config, {"unseen": made}, prompts=Prompts())
