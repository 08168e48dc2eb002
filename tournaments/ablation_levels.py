"""The levels of an ablated factor: what the judge sees of a debate at each, and how it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from debate.agents.judge import JudgeConfig, letter_prompt, reason_prompt
from debate.models.base import Message
from debate.prompts import Prompts
from debate.transcript import Transcript
from debate.view import View
from tournaments.ablate_config import AblateConfig, Factor, words_name
from tournaments.ablate_config import Level as Value
from tournaments.ablation_views import Information, Marks, See, first_rounds, informed, whole, with_marks
from tournaments.contexts import thinks

_MARKS = {
    "full": "as they are",
    "arguments": "arguments only",
    "quotes": "quotes only",
    "stripped": "marks stripped",
    "swapped": "marks swapped",
}
_INFORMATION = {
    "blind": "question alone",
    "debate": "debate",
    "story": "story",
    "both": "story and debate",
}


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a factor.

    Attributes:
        value: As the configuration names it.
        label: As tables name it.
        judge: Who judges.
        see: What it sees of a debate.
        shots: How many judged debates on other stories it is shown first.
    """

    value: Value
    label: str
    judge: JudgeConfig
    see: See = whole
    shots: int = 0

    @property
    def as_held(self) -> bool:
        """Whether the judge reads the debate as every judge does."""
        return self.see is whole and not self.shots


def levels_of(config: AblateConfig) -> list[Level]:
    """Make the levels that a configuration names, the one that others are compared with first."""
    pairs = list(zip(config.all_levels, config.judges(), strict=True))
    if config.factor == "words":
        return [Level(value, words_name(value), judge) for value, judge in pairs]
    return [
        Level(value, label_of(config.factor, value), judge, *_shown(config.factor, value)) for value, judge in pairs
    ]


def label_of(factor: Factor, value: Value) -> str:
    """Name a level for readers."""
    if factor == "words":
        return words_name(value)
    if factor == "marks":
        return _MARKS[str(value)]
    if factor == "information":
        return _INFORMATION[str(value)]
    what = {"rounds": "round", "fewshot": "example", "votes": "vote"}[factor]
    return f"{value} {what}{'' if value == 1 else 's'}"


def _shown(factor: Factor, value: Value) -> tuple[See, int]:
    """What a judge sees at a level, and how many examples it is shown."""
    if factor == "rounds":
        return first_rounds(int(value)), 0
    if factor == "marks":
        (marks,) = (name for name in get_args(Marks) if name == value)
        return (whole if marks == "full" else with_marks(marks)), 0
    if factor == "information":
        (information,) = (name for name in get_args(Information) if name == value)
        return (whole if information == "debate" else informed(information)), 0
    return whole, int(value) if factor == "fewshot" else 0


def prompt_for(judge: JudgeConfig, view: View, prompts: Prompts, shown: Sequence[Message] = ()) -> list[Message]:
    """Write out what a judge that ships is asked on a view.

    Args:
        judge: The judge.
        view: What it sees.
        prompts: Templates.
        shown: Examples, see ``example_messages``.

    Returns:
        Messages.
    """
    asked = reason_prompt(view, prompts) if thinks(judge) else letter_prompt(view, prompts)
    return with_examples(asked, shown)


def example_messages(judge: JudgeConfig, examples: Sequence[Transcript], prompts: Prompts) -> list[Message]:
    """Write judged debates as earlier exchanges with the judge.

    Args:
        judge: The judge that is shown them.
        examples: Debates with known answers, seated as they are to be shown.
        prompts: Templates.

    Returns:
        Of each debate what the judge is asked, and the right letter as it would reply.
    """
    found: list[Message] = []
    for transcript in examples:
        if transcript.question.gold is None:  # chosen among those that have one
            continue
        letter = transcript.seat_of(transcript.question.gold)
        found += [one for one in prompt_for(judge, transcript.view(), prompts) if one.role != "system"]
        found.append(Message("assistant", f"Answer: {letter}" if thinks(judge) else letter))
    return found


def with_examples(asked: Sequence[Message], shown: Sequence[Message]) -> list[Message]:
    """Put earlier exchanges before a prompt, behind its system message."""
    start = 1 if asked[0].role == "system" else 0
    return [*asked[:start], *shown, *asked[start:]]
