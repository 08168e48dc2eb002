"""Everything that recorded debates tell of judges and arguments, part by part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from debate.errors import DissoiError
from debate.report import Section
from tournaments import (
    analysis_accuracy,
    analysis_arguments,
    analysis_biases,
    analysis_calibration,
    analysis_paired,
    analysis_rounds,
    analysis_votes,
)
from tournaments.gather import Gathered
from tournaments.metrics import Values


class Part(NamedTuple):
    """One part of an analysis: what people read, and the same as plain values that JSON can hold."""

    sections: Callable[[Gathered], list[Section]]
    values: Callable[[Gathered], Values]


#: The parts by name, in the order of the page.
PARTS: Mapping[str, Part] = {
    "accuracy": Part(analysis_accuracy.sections, analysis_accuracy.values),
    "paired": Part(analysis_paired.sections, analysis_paired.values),
    "rounds": Part(analysis_rounds.sections, analysis_rounds.values),
    "calibration": Part(analysis_calibration.sections, analysis_calibration.values),
    "biases": Part(analysis_biases.sections, analysis_biases.values),
    "votes": Part(analysis_votes.sections, analysis_votes.values),
    "arguments": Part(analysis_arguments.sections, analysis_arguments.values),
}
#: What a part needs, said where it has nothing to show.
NEEDS: Mapping[str, str] = {
    "accuracy": "no judge has a verdict on the whole of a debate",
    "paired": "no judge has decided one question in two settings",
    "rounds": "no judge has a verdict on a question with a known answer",
    "calibration": "no judge has a probability on a question with a known answer",
    "biases": "no judge has verdicts that could show one",
    "votes": "there are not several verdicts on one debate to count together",
    "arguments": "nobody argues for an answer",
}


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was found.

    Attributes:
        sections: For people.
        values: The same as plain values, by part, where they were wanted.
        notes: Of each part that does not apply, why.
    """

    sections: Sequence[Section]
    values: Values
    notes: Sequence[str]


def analyse(gathered: Gathered, parts: Sequence[str] = tuple(PARTS), *, plain: bool = True) -> Analysis:
    """Analyse recorded debates.

    Args:
        gathered: The debates.
        parts: Names of the parts that are wanted, of ``PARTS``.
        plain: Whether the plain values are wanted too; they are counted apart, in as much time again.

    Returns:
        What the parts found. One that does not apply, or cannot be had, is a note and no failure of the rest.
    """
    shown: list[Section] = []
    values: dict[str, object] = {}
    notes: list[str] = []
    for name in parts:
        try:
            sections = PARTS[name].sections(gathered)
            own = PARTS[name].values(gathered) if plain else {}
        except DissoiError as error:
            notes.append(f"{name}: not measured: {error}")
            continue
        if not any(section.blocks for section in sections):
            notes.append(f"{name}: not measured: {NEEDS[name]}.")
            continue
        shown += sections
        values[name] = own
    return Analysis(shown, values, notes)
