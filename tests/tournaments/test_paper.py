"""What the papers found: whole, readable, and held against ours with care."""

from __future__ import annotations

from pathlib import Path

import pytest

from debate.config import parse
from debate.errors import ConfigError
from debate.metrics.intervals import Interval
from tests.analysed import FIELD, item
from tests.judged import RIGHT, WRONG
from tournaments.cast import Cast, Member
from tournaments.gather import Gathered
from tournaments.paper import Findings, Subject, about, beside, compare_sign, load_findings, read_sign
from tournaments.paper_subjects import consensus_subjects, debate_subjects

FINDINGS = load_findings()


def span(value: float, low: float, high: float) -> Interval:
    return Interval(value, low, high, 100, 50)


def test_every_finding_is_measured_here_or_says_where() -> None:
    for finding in FINDINGS.findings:
        assert finding.figures or finding.signs or (finding.value and finding.see), finding.id
        assert all(0 <= value <= 1 for value in finding.figures.values()), finding.id
    assert {finding.system for finding in FINDINGS.findings} == {"debate", "logicom", "ford", "mad"}


@pytest.mark.parametrize(
    ("finding", "figure", "value"),
    [
        ("accuracy-models", "debate", 0.76),
        ("accuracy-models", "consultancy", 0.54),
        ("accuracy-people", "debate", 0.88),
        ("expert-gap", "expert", 0.925),
        ("rejection-people", "debate right at 75 %", 0.94),
        ("logicom-gpt-4", "fallacy", 0.67),
        ("mad-counterintuitive", "debate", 0.36),
    ],
)
def test_figures_are_those_that_the_papers_print(finding: str, figure: str, value: float) -> None:
    (found,) = [one for one in FINDINGS.findings if one.id == finding]
    assert found.figures[figure] == value


@pytest.mark.parametrize(
    ("sign", "gap", "reading"),
    [
        ("a > b", span(0.1, 0.02, 0.2), "as in the paper"),
        ("a > b", span(0.1, -0.02, 0.2), "as in the paper, not told apart"),
        ("a > b", span(-0.1, -0.2, 0.02), "the other way, not told apart"),
        ("a > b", span(-0.1, -0.2, -0.02), "the other way"),
        ("a = b", span(0.1, -0.02, 0.2), "no difference shown, as in the paper"),
        ("a = b", span(0.1, 0.02, 0.2), "not as in the paper"),
    ],
)
def test_a_sign_is_confirmed_only_where_the_interval_says_so(sign: str, gap: Interval, reading: str) -> None:
    both = {"a": span(0.6, 0.5, 0.7), "b": span(0.5, 0.4, 0.6)}
    assert compare_sign(read_sign(sign), Subject("us", both, None, {("a", "b"): gap})) == (gap, reading)


def test_without_a_difference_the_intervals_must_not_meet() -> None:
    apart = Subject("us", {"a": span(0.9, 0.8, 0.95), "b": span(0.5, 0.4, 0.6)})
    assert _reading("a > b", apart) == "as in the paper"
    meeting = Subject("us", {"a": span(0.9, 0.55, 0.95), "b": span(0.5, 0.4, 0.6)})
    assert _reading("a > b", meeting) == "as in the paper, not told apart"
    assert compare_sign(read_sign("a > c"), apart) is None


def _reading(sign: str, subject: Subject) -> str:
    found = compare_sign(read_sign(sign), subject)
    assert found is not None
    assert found[0] == pytest.approx(0.4)
    return found[1]


def test_a_finding_on_people_is_not_held_against_models() -> None:
    (people,) = [one for one in FINDINGS.findings if one.id == "accuracy-people"]
    judges = [Subject("us", {}, "people"), Subject("gpt", {}, "models")]
    assert [one.name for one in about(people, judges, ())] == ["us"]


def test_a_finding_on_a_model_is_held_against_it_or_against_models_that_no_paper_has() -> None:
    (gpt4,) = [one for one in FINDINGS.findings if one.id == "logicom-gpt-4"]
    pairs = [Subject(f"{name}, persuaded by x", {}) for name in ("GPT-3.5", "GPT-4", "llama")]
    assert about(gpt4, pairs, {"gpt-3.5", "gpt-4"}) == pairs[1:]


def test_what_is_not_measured_is_listed_and_not_lost() -> None:
    subjects = debate_subjects(FIELD)
    (section,), values = beside(FINDINGS, "debate", subjects)
    held = values["against_paper"]
    assert isinstance(held, dict)
    measured = {row["finding"] for row in [*held["figures"], *held["signs"]]}
    own = {finding.id for finding in FINDINGS.findings if finding.system == "debate"}
    assert measured | set(held["not_measured"]) == own
    assert "accuracy-models" in measured
    assert "accuracy-people" in held["not_measured"]
    assert any("2402.06782" in note for note in section.notes)


def test_our_figures_have_the_papers_names() -> None:
    (judge,) = debate_subjects(FIELD)
    assert judge.whose == "models"
    assert judge.figures["debate"].value == 4.5 / 8
    assert judge.figures["blind"].value == 0.5
    assert judge.gaps["debate", "blind"].value == pytest.approx(4.5 / 8 - 0.5)
    assert judge.figures["debater wins when right"].value == judge.figures["debate"].value
    assert judge.gaps["debater wins when right", "debater wins when wrong"].value == pytest.approx(2 * 4.5 / 8 - 1)


def test_best_of_n_is_held_against_the_same_debater_without_it() -> None:
    base, other = {"kind": "free", "optimizer": []}, {"kind": "extractive", "optimizer": []}
    chosen = base | {"optimizer": [{"kind": "best_of_n", "n": 4}]}
    cast = Cast({"base": Member(base), "four": Member(chosen), "other": Member(other)})
    own = {"base": WRONG, "four": RIGHT, "other": RIGHT}
    played = [item(str(at), right, number=at, players=(name, name)) for name, right in own.items() for at in range(4)]
    (judge,) = debate_subjects(Gathered(played, cast))
    assert judge.figures["self-play at most N"].value == 1
    assert judge.figures["self-play at least N"].value == 0  # not of the other debater, who is always right
    (judge,) = debate_subjects(Gathered(played, Cast({"base": Member(other), "four": Member(chosen)})))
    assert "self-play at most N" not in judge.figures


def test_consensus_is_named_by_the_systems_own_words() -> None:
    share, lower = [0.5, 0.4, 0.6], [0.3, 0.2, 0.35]
    chain = {"run": "a__b", "dataset": "x", "n": 9, "ford": share, "col_s": share, "col_h": None}
    chain |= {"alone": {"a": share, "b": share}, "incon": [share, None]}
    comparable, mismatched = consensus_subjects(
        {"system": "ford", "chains": [chain, chain | {"alone": {"a": lower, "b": share}}]}
    )
    assert comparable.name == "a__b, x"
    assert set(comparable.figures) == {"FORD", "Col-S", "INCON at first"}
    assert mismatched.figures["worse model alone"].value == 0.3
    assert mismatched.figures["better model alone"].value == 0.5
    assert "Col-S" not in mismatched.figures
    rows = [{"answered by": way, "right": share, "n": 9} for way in ("base", "debate, level 1", "debate, level 3")]
    (mad,) = consensus_subjects({"system": "mad", "results": rows})
    assert set(mad.figures) == {"base", "debate"}
    (told,) = consensus_subjects({"system": "mad", "results": [row | {"chrF": None} for row in rows]})
    assert set(told.figures) == {"base in translation", "debate in translation"}


@pytest.mark.parametrize("sign", ["a < b", "a", "> b"])
def test_what_is_no_sign_is_refused(sign: str) -> None:
    finding = {"id": "x", "system": "ford", "source": "s", "says": "x", "signs": [sign]}
    with pytest.raises(ConfigError, match="no sign"):
        parse(Findings, {"sources": {"s": "S"}, "findings": [finding]}, where="here")


def test_a_paper_that_is_not_listed_is_refused() -> None:
    finding = {"id": "x", "system": "ford", "source": "other", "says": "x"}
    with pytest.raises(ConfigError, match="other"):
        parse(Findings, {"sources": {"s": "S"}, "findings": [finding]}, where=str(Path("here")))
