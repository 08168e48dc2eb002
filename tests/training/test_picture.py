"""The picture and its tables, from points and lines that are given."""

from __future__ import annotations

import dataclasses
import math

import pytest

from debate.metrics.intervals import Interval
from debate.report.figure import plain_text
from tournaments.elo_accuracy import Point, Relation, Slope
from tournaments.elo_picture import picture, points_table
from training.loop_results import BOTH, RIGHT, WRONG, JudgeTest, Persuasion
from training.picture import picture_name, slopes_table


def point(name: str, elo: float, right: float, status: str = "ok", low: float | None = None) -> Point:
    x = Interval(elo, elo - 20 if low is None else low, elo + 20, 10, 10)
    return Point(name, x, status, Interval(right, right - 0.1, right + 0.05, 50, 25), 50)


POINTS = (point("strong", 100, 0.8), point("odd", 50, 0.7, "undefeated"), point("open", -100, 0.6, low=-math.inf))
LINE = Slope(0.4, 0.1, 0.7, math.log(3), 0.05, 6, 25)
RELATION = Relation("Elo", POINTS, LINE)
NONE = Relation("Elo", POINTS, Slope(None, players=2, stories=4, why="2 comparable players; a slope needs 6"))


def test_points_have_bars_on_both_axes_and_the_unrated_are_left_to_the_table() -> None:
    figure = picture("t", {BOTH: RELATION})
    dots, curve = figure.traces
    assert dots["text"] == ["strong", "open"]
    assert dots["x"] == [100, -100]
    error_x, error_y = dots["error_x"], dots["error_y"]
    assert isinstance(error_x, dict)
    assert isinstance(error_y, dict)
    assert error_x["arrayminus"] == [20, 0]  # an end that there is not is not drawn
    assert error_y["array"] == pytest.approx([0.05, 0.05])
    assert figure.table is not None
    assert [row[1] for row in figure.table.rows][1] == "undefeated"
    assert curve["mode"] == "lines"


def test_the_curve_is_the_line_of_log_odds() -> None:
    _, curve = picture("t", {BOTH: RELATION}).traces
    x, y = curve["x"], curve["y"]
    assert isinstance(x, list)
    assert isinstance(y, list)
    assert (x[0], x[-1]) == (-100, 100)
    assert y[len(y) // 2] == pytest.approx(0.75)  # odds of 3 at Elo 0
    assert y[-1] == pytest.approx(1 / (1 + math.exp(-math.log(3) - 0.4)))


def test_the_slope_without_the_player_that_makes_it_is_told() -> None:
    made = Relation("Elo", POINTS, dataclasses.replace(LINE, without="strong", value_without=-0.2))
    assert "6 players (without strong: -0.20)." in picture("t", {BOTH: made}).note
    table = slopes_table([JudgeTest("first", Persuasion(None, {}), (), {BOTH: made})])
    assert table.rows[0][-1] == "-0.20 (strong)"


def test_where_there_is_no_slope_there_is_no_line_and_the_reason() -> None:
    figure = picture("t", {BOTH: NONE})
    assert len(figure.traces) == 1
    assert "no slope (2 comparable players; a slope needs 6)" in figure.note


def test_several_relations_have_a_colour_each_and_a_legend() -> None:
    figure = picture("t", {RIGHT: RELATION, WRONG: NONE})
    assert [trace["name"] for trace in figure.traces] == [RIGHT, f"{RIGHT}, line", WRONG]
    assert figure.layout["showlegend"] is True
    table = points_table("t", {RIGHT: RELATION, WRONG: NONE})
    assert [row[0] for row in table.rows] == [RIGHT] * 3 + [WRONG] * 3


def test_the_slopes_of_every_judge_stand_in_one_table() -> None:
    tests = [
        JudgeTest(name, Persuasion(None, {}), (), {BOTH: relation, RIGHT: relation, WRONG: NONE})
        for name, relation in (("first", RELATION), ("judge-2", NONE))
    ]
    table = slopes_table(tests)
    assert [row[:2] for row in table.rows] == [
        [judge, name] for judge in ("first", "judge-2") for name in (BOTH, RIGHT, WRONG)
    ]
    assert table.rows[2][2] == "2 comparable players; a slope needs 6"
    assert "100 Elo" in table.columns[2].title
    assert "only 4 stories" in table.note


def test_names_of_players_stay_text() -> None:
    """Plotly reads a little HTML in every text."""
    hostile = Relation("Elo", (point("<b>x</b>", 1, 0.5),), LINE)
    (dots, *_) = picture(picture_name("<i>"), {BOTH: hostile}).traces
    assert "<" not in str(plain_text(dots))
