"""What the papers found, set beside what recorded debates give; models differ, so signs say more than values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import pydantic
from pydantic import Field

from debate.config import Config, parse, read_tree
from debate.errors import ConfigError, SourceError
from debate.metrics.intervals import Interval
from debate.report import Column, Section, Table
from debate.report.table import Cell, format_number
from debate.sources.locate import data_folder
from tournaments.metrics import Values, interval

System = Literal["debate", "logicom", "ford", "mad"]
Whose = Literal["people", "models"]
FILE = Path("paper") / "findings.yaml"


class Finding(Config):
    """One thing that a paper found."""

    id: str = Field(description="unique")
    system: System = Field(description="which system it is about")
    source: str = Field(description="the paper, a key of sources")
    says: str = Field(description="the finding, in our words")
    whose: Whose | None = Field(None, description="which judges it is about; none for all")
    of: str | None = Field(None, description="a model that it is about, part of its name")
    figures: dict[str, float] = Field({}, description="values in the paper, by the quantity of ours that they stand by")
    signs: tuple[str, ...] = Field((), description="orders among quantities: 'A > B', or 'A = B' for about equal")
    value: str | None = Field(None, description="its value in words, where nothing here measures it")
    see: str | None = Field(None, description="what measures it, where recorded debates alone cannot")

    @pydantic.field_validator("signs")
    @classmethod
    def _readable(cls, signs: tuple[str, ...]) -> tuple[str, ...]:
        for sign in signs:
            read_sign(sign)
        return signs


class Findings(Config):
    """All that is known of the papers."""

    sources: dict[str, str] = Field(description="papers by a short name")
    findings: tuple[Finding, ...] = Field(description="what they found")

    @pydantic.model_validator(mode="after")
    def _whole(self) -> Findings:
        names = [finding.id for finding in self.findings]
        if len(set(names)) < len(names):
            raise ValueError("two findings have one id")
        lost = {finding.source for finding in self.findings} - self.sources.keys()
        if lost:
            raise ValueError(f"sources {', '.join(sorted(lost))} are named by a finding and not listed")
        return self


class Sign(NamedTuple):
    """An order among two quantities."""

    first: str
    relation: Literal[">", "="]
    second: str


def read_sign(text: str) -> Sign:
    """Read ``A > B`` or ``A = B``.

    Raises:
        ValueError: It is neither.
    """
    for relation in (">", "="):
        first, found, second = text.partition(f" {relation} ")
        if found and first and second:
            return Sign(first.strip(), ">" if relation == ">" else "=", second.strip())
    raise ValueError(f"{text!r} is no sign; write 'A > B' or 'A = B'")


def load_findings() -> Findings:
    """Load what ships of the papers' findings.

    Raises:
        SourceError: The file is absent or malformed.
    """
    path = data_folder() / FILE
    try:
        return parse(Findings, read_tree(path), where=str(path))
    except ConfigError as error:
        raise SourceError(f"{error}; install Dissoi again, from its wheel or from a whole checkout") from error


@dataclass(frozen=True, slots=True)
class Subject:
    """What has figures of ours: a judge, a pair of LOGICOM, a chain of FORD, a run of MAD.

    Attributes:
        name: What it is called.
        figures: Its figures, by quantity.
        whose: Whether it is people or a model that judged; None where nobody did.
        gaps: Differences with their intervals, by two quantities, the first less the second.
    """

    name: str
    figures: Mapping[str, Interval]
    whose: Whose | None = None
    gaps: Mapping[tuple[str, str], Interval] = field(default_factory=dict)


def about(finding: Finding, subjects: Sequence[Subject], models: Collection[str]) -> list[Subject]:
    """Choose the subjects that a finding can be held against.

    Args:
        finding: The finding.
        subjects: What we have figures of.
        models: The models that findings on this system are about, ``Finding.of``.

    Returns:
        Those of its kind of judges. A subject whose model is one of these is held against findings on it alone; other
        models, which no paper has, against all.
    """
    found = []
    for one in subjects:
        named = {model for model in models if model.casefold() in one.name.casefold()}
        if (finding.whose is None or one.whose in {None, finding.whose}) and (
            finding.of is None or not named or finding.of in named
        ):
            found.append(one)
    return found


class Compared(NamedTuple):
    """A sign of the paper beside ours."""

    finding: Finding
    subject: str
    sign: str
    gap: Interval | float
    reading: str


def compare_sign(sign: Sign, subject: Subject) -> tuple[Interval | float, str] | None:
    """Hold a sign against a subject's figures.

    Args:
        sign: What the paper says.
        subject: Whose figures.

    Returns:
        The difference of ours, an interval where there is one, and what it says of the sign: told apart only where the
        interval of the difference keeps clear of 0, or else the two intervals of each other. None where one of the
        figures is missing.
    """
    first, second = subject.figures.get(sign.first), subject.figures.get(sign.second)
    if first is None or second is None:
        return None
    gap: Interval | float = subject.gaps.get((sign.first, sign.second), first.value - second.value)
    if isinstance(gap, Interval):
        value, above, below = gap.value, gap.low > 0, gap.high < 0
    else:
        value, above, below = gap, first.low > second.high, first.high < second.low
    if sign.relation == "=":
        return gap, "not as in the paper" if above or below else "no difference shown, as in the paper"
    if above or below:
        return gap, "as in the paper" if above else "the other way"
    if value == 0:
        return gap, "no difference, not told apart"
    return gap, f"{'as in the paper' if value > 0 else 'the other way'}, not told apart"


def beside(findings: Findings, system: System, subjects: Sequence[Subject]) -> tuple[list[Section], Values]:
    """Set ours beside the papers' findings on a system.

    Args:
        findings: What the papers found.
        system: The system.
        subjects: What we have figures of.

    Returns:
        A section, and the same as plain values.
    """
    own = [finding for finding in findings.findings if finding.system == system]
    figures = list(_figures(own, subjects))
    signs = list(_signs(own, subjects))
    measured = {finding.id for finding, _, _, _, _ in figures} | {one.finding.id for one in signs}
    left = [finding for finding in own if finding.id not in measured]
    tables = [_figure_table(figures), _sign_table(signs), _left_table(left)]
    papers = dict.fromkeys(finding.source for finding in own)
    section = Section(
        "Beside the papers",
        [table for table in tables if table.rows],
        notes=[f"{name}: {findings.sources[name]}." for name in papers],
    )
    values: Values = {
        "figures": [
            {"finding": finding.id, "subject": name, "figure": figure, "paper": paper, "ours": _plain(ours)}
            for finding, name, figure, paper, ours in figures
        ],
        "signs": [
            {
                "finding": one.finding.id,
                "subject": one.subject,
                "sign": one.sign,
                "difference": _plain(one.gap),
                "reading": one.reading,
            }
            for one in signs
        ],
        "not_measured": [finding.id for finding in left],
    }
    return [section], {"against_paper": values}


_Figure = tuple[Finding, str, str, float, Interval]


def _figures(findings: Sequence[Finding], subjects: Sequence[Subject]) -> Iterator[_Figure]:
    for finding in findings:
        for subject in about(finding, subjects, _models(findings)):
            for name, value in finding.figures.items():
                ours = subject.figures.get(name)
                if ours is not None:
                    yield finding, subject.name, name, value, ours


def _signs(findings: Sequence[Finding], subjects: Sequence[Subject]) -> Iterator[Compared]:
    for finding in findings:
        for subject in about(finding, subjects, _models(findings)):
            for text in finding.signs:
                found = compare_sign(read_sign(text), subject)
                if found is not None:
                    yield Compared(finding, subject.name, text, *found)


def _models(findings: Iterable[Finding]) -> set[str]:
    return {finding.of for finding in findings if finding.of is not None}


def _figure_table(figures: Iterable[_Figure]) -> Table:
    rows: list[list[Cell]] = [
        [finding.source, finding.id, figure, paper, name, ours] for finding, name, figure, paper, ours in figures
    ]
    columns = (
        Column("paper"),
        Column("finding"),
        Column("figure"),
        Column("in the paper", kind="share"),
        Column("whose"),
        Column("ours", kind="share"),
    )
    note = (
        "Other questions, models and people than the paper's, unless the source is its own data: values need not "
        "agree. Intervals are 95 %, robust by story, claim or item."
    )
    return Table("Figures beside the papers'", columns, rows, note=note)


def _sign_table(signs: Iterable[Compared]) -> Table:
    rows: list[list[Cell]] = [
        [one.finding.source, one.finding.id, one.sign, one.subject, one.gap, one.reading] for one in signs
    ]
    columns = (
        Column("paper"),
        Column("finding"),
        Column("the paper's sign"),
        Column("whose"),
        Column("ours, first less second", kind="share"),
        Column("reading"),
    )
    note = (
        "Each quantity over all its debates, whether or not on the same questions; the table of differences on the "
        "same questions is the stricter one. Without an interval of the difference, told apart only where the two "
        "intervals do not meet. 'Not told apart' confirms and refutes nothing."
    )
    return Table("Signs beside the papers'", columns, rows, note=note)


def _left_table(findings: Iterable[Finding]) -> Table:
    rows: list[list[Cell]] = [
        [
            finding.source,
            finding.id,
            finding.says,
            finding.value or _listed(finding),
            finding.see or "such debates, with such judges",
        ]
        for finding in findings
    ]
    columns = (Column("paper"), Column("finding"), Column("says"), Column("in the paper"), Column("measured by"))
    return Table("Measured elsewhere, or not told from these", columns, rows)


def _listed(finding: Finding) -> str:
    if not finding.figures:
        return "; ".join(finding.signs)
    return ", ".join(f"{name} {format_number(value, 'share')}" for name, value in finding.figures.items())


def _plain(value: Interval | float) -> object:
    return interval(value) if isinstance(value, Interval) else value
