"""What a judge of open debates prefers: places, its own model, the right side, on outcomes that are counted by hand."""

from __future__ import annotations

import pytest

from debate.metrics.grades import Graded
from tournaments.mad_outcomes import DebateOutcome, Order, Ruled, read_outcomes, to_line
from tournaments.mad_tables import decided, plain, show, sides_table

RIGHT, TRAP, OTHER = Graded("18", True, False), Graded("24", False, True), Graded("20", False, False)


def outcome(
    item: str,
    last: tuple[Graded | None, ...],
    side: int | None,
    *,
    models: tuple[str, ...] = ("m1", "m2"),
    order: Order = "given",
    opposed: float | None = 1.0,
) -> DebateOutcome:
    """A debate of one iteration that ended with a side supported."""
    ruling = Ruled(1, "discriminative", True, side, None if side is None else last[side], None)
    names = ("a", "b", "c")[: len(last)]
    return DebateOutcome(
        *(item, "question", 1, order, names, models, "m2", 1, False),
        base=TRAP,
        answers=(last,),
        opposed=(opposed,),
        rulings=(ruling,),
        calls=4,
    )


HELD = [
    outcome("q1", (RIGHT, TRAP), 1),
    outcome("q2", (TRAP, OTHER), 1),
    outcome("q3", (TRAP, OTHER), 1, models=("m2", "m1"), order="reversed"),
    outcome("q4", (TRAP, RIGHT), 1, models=("m2", "m1"), order="reversed"),
    outcome("q5", (OTHER, TRAP), 0),
    outcome("q6", (TRAP, TRAP), 0, opposed=0.0),  # they agree, so no side is taken
    outcome("q7", (TRAP, OTHER), None),
]


def test_sides_are_counted_where_the_answers_are_opposed() -> None:
    assert [one.debate.item for one in decided(HELD)] == ["q1", "q2", "q3", "q4", "q5"]
    rows = {row["side"]: row for row in plain(sides_table(HELD))}
    second = rows["place 2 (b)"]
    assert second["n"] == 5
    assert value(second["supported"]) == pytest.approx(4 / 5)
    assert value(second["supported, equally right"]) == pytest.approx(2 / 3)  # of q2, q3 and q5
    assert second["by chance"] == 0.5
    assert value(rows["place 1 (a)"]["supported"]) == pytest.approx(1 / 5)
    own = rows["the judge's own model"]
    # m2 was supported in q1 and q2, not in q3, q4 and q5; of equally right ones in q2 alone.
    assert own["n"] == 5
    assert value(own["supported"]) == pytest.approx(2 / 5)
    assert value(own["supported, equally right"]) == pytest.approx(1 / 3)
    right = rows["the right side"]
    assert right["n"] == 2
    assert value(right["supported"]) == pytest.approx(1 / 2)  # q4 of q1 and q4


def value(cell: object) -> float:
    assert isinstance(cell, list)
    low, high = cell[1:]
    assert low <= cell[0] <= high
    return float(cell[0])


def test_a_backbone_is_shared_whatever_the_adapter() -> None:
    held = [
        outcome("q", (TRAP, OTHER), 0, models=("m2+debater", "m1")),
        outcome("r", (TRAP, OTHER), 1, models=("m1", "m2")),
    ]
    rows = {row["side"]: row for row in plain(sides_table(held))}
    assert (rows["the judge's own model"]["n"], value(rows["the judge's own model"]["supported"])) == (2, 1)
    both = [outcome("q", (TRAP, OTHER), 0, models=("m2+debater", "m2"))]
    assert "the judge's own model" not in [row["side"] for row in plain(sides_table(both))]


def test_one_model_on_all_sides_tells_nothing_of_a_backbone() -> None:
    rows = plain(sides_table([outcome("q", (TRAP, OTHER), 0, models=("m2", "m2"))]))
    assert "the judge's own model" not in [row["side"] for row in rows]


def test_three_sides_have_a_third_each_by_chance() -> None:
    held = [outcome("q", (TRAP, OTHER, RIGHT), 2, models=("m2", "m1", "m1"))]
    rows = {row["side"]: row for row in plain(sides_table(held))}
    assert rows["place 3 (c)"]["by chance"] == pytest.approx(1 / 3)
    assert rows["the judge's own model"]["by chance"] == pytest.approx(1 / 3)


def test_outcomes_are_read_as_they_were_written(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("o") / "outcomes.jsonl"
    path.write_text("".join(f"{to_line(one)}\n" for one in HELD), encoding="utf-8")
    assert read_outcomes(path) == HELD
    assert show(read_outcomes(path)) == show(HELD)
