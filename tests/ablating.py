"""Debates of which it is known by construction what each factor does to their judge, and the models that make them.

On every question the right side quotes the story and the wrong side makes its quote up. Judges are named for what they
go by; where that tells them nothing, both answers are one half.
"""

from __future__ import annotations

import functools
import json
import random
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from debate.models.base import Draw, Messages
from debate.models.scripted import ScriptedModel
from tests.scripts import Slow

MODELS = "scripted/tests.ablating"
STORIES = 16
THINGS = (
    "boat",
    "lamp",
    "clock",
    "drum",
    "ladder",
    "mirror",
    "saddle",
    "anvil",
    "basket",
    "candle",
    "fiddle",
    "hammer",
)
_WORDS = tuple(
    "moss gale reed tide fern dusk oak mist kiln loom pier vale moor glen barn mill ford crag heath quay".split()  # noqa: SIM905 - a list of twenty is no easier to read
)


def write_questions(folder: Path, count: int = STORIES) -> Path:
    """Write questions, each on a story of its own, the right answer first in half of them."""
    rows = []
    for day in range(count):
        right, wrong = THINGS[day % 12], THINGS[(day + 5) % 12]
        rng = random.Random(day)
        prose = " ".join(f"{' '.join(rng.choices(_WORDS, k=9)).capitalize()}." for _ in range(12))
        answers = [f"The {right}", f"The {wrong}"]
        rows.append(
            {
                "id": f"day-{day}",
                "question": f"What was gone before day {day}?",
                "answers": answers if day % 2 else answers[::-1],
                "gold": 0 if day % 2 else 1,
                "story": f"{prose} Everybody saw that the {right} was gone before day {day}. {prose[::-1]}",
                "story_id": f"story-{day}",
            }
        )
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@functools.cache
def questions() -> Path:
    """The questions, written once: where they stand is part of what a run keeps of them."""
    return write_questions(Path(tempfile.mkdtemp(prefix="dissoi-ablating-")))


def config(factor: str, judge: str, **changes: Any) -> dict[str, Any]:
    """Return the configuration of an ablation of one factor before one judge."""
    return {
        "factor": factor,
        "source": f"questions:{questions()}",
        "protocol": {"kind": "simultaneous", "rounds": 2},
        "speech": {"min_words": 20, "max_words": 40, "max_tokens": 200},
        "player": {"name": "honest", "model": f"{MODELS}:debater"},
        "judge": {"model": f"{MODELS}:{judge}"},
        "seed": 1,
    } | changes


def argue(messages: Messages, draw: Draw) -> str:
    """Say as much as may be said, with a quote that the story holds only for the right answer."""
    asked = messages[-1].content
    (thing,) = re.findall(r"Your answer is: The (\w+)", asked)
    (day,) = re.findall(r"Question: What was gone before day (\d+)", asked)
    (most,) = re.findall(r"Write \d+ to (\d+) words", asked)
    speech = f"It was so <quote>Everybody saw that the {thing} was gone before day {day}.</quote> and never otherwise"
    more = int(most) - len(speech.split())
    return f"<argument>{speech} {' '.join(random.Random(str(draw)).choices(_WORDS, k=more))}.</argument>"


def speeches(messages: Messages) -> dict[str, str]:
    """All that each seat says in the debate that is judged."""
    last = messages[-1].content
    return {seat: " ".join(re.findall(rf"^Debater {seat}: (.*)$", last, re.MULTILINE)) for seat in "AB"}


def _more(one: float, other: float) -> list[float]:
    return [0.5, 0.5] if one == other else [0.9, 0.1] if one > other else [0.1, 0.9]


def by_marks(messages: Messages, _choices: Sequence[str]) -> list[float]:
    """Believe whoever has more quotes marked as verified."""
    said = speeches(messages)
    return _more(said["A"].count("<v_quote>"), said["B"].count("<v_quote>"))


def by_length(messages: Messages, _choices: Sequence[str]) -> list[float]:
    """Believe whoever says more."""
    said = speeches(messages)
    return _more(len(said["A"].split()), len(said["B"].split()))


def by_rounds(messages: Messages, choices: Sequence[str]) -> list[float]:
    """Go by marks, and by nothing before a third round."""
    return by_marks(messages, choices) if "\nRound 3\n" in messages[-1].content else [0.5, 0.5]


def by_story(messages: Messages, choices: Sequence[str]) -> list[float]:
    """Go by the story where there is one, else by marks."""
    last = messages[-1].content
    story = re.search(r"<story>(.*)</story>", last, re.DOTALL)
    if story is None:
        return by_marks(messages, choices)
    held = [re.findall(rf"^Answer {seat}: The (\w+)$", last, re.MULTILINE)[0] in story[1].split() for seat in "AB"]
    return _more(*held)


def by_examples(messages: Messages, choices: Sequence[str]) -> list[float]:
    """Go by marks once two examples bear them out, each on another day; if one does not, believe the contrary."""
    day = re.findall(r"before day (\d+)\?", messages[-1].content)
    shown = list(zip(messages[1:-1:2], messages[2:-1:2], strict=True))
    letters = [reply.content for _, reply in shown]
    sound = all(
        re.findall(r"before day (\d+)\?", asked.content) != day
        and "AB"[by_marks([asked], choices).index(0.9)] == reply.content
        and (asked.role, reply.role) == ("user", "assistant")
        for asked, reply in shown
    )
    share = by_marks(messages, choices)
    if not sound or letters.count("A") != letters.count("B"):
        return share[::-1]
    return share if len(shown) >= 2 else [0.5, 0.5]


def vote(messages: Messages, draw: Draw) -> str:
    """Be right in the second and the third of five votes, and wrong in the others."""
    share = by_marks(messages, "AB")
    right = share.index(max(share))
    return f"I weighed it.\nAnswer: {'AB'[right if draw.sample in {1, 2} else 1 - right]}"


def debater() -> ScriptedModel:
    """Whoever quotes the story where it can."""
    return ScriptedModel(argue, name=f"{MODELS}:debater")


def marks() -> ScriptedModel:
    """A judge that goes by marks."""
    return ScriptedModel(choose=by_marks, name=f"{MODELS}:marks")


def slow_marks() -> ScriptedModel:
    """The same, with latency."""
    return Slow(choose=by_marks, name=f"{MODELS}:slow_marks")


def length() -> ScriptedModel:
    """A judge that goes by length."""
    return ScriptedModel(choose=by_length, name=f"{MODELS}:length")


def rounds() -> ScriptedModel:
    """A judge that needs three rounds."""
    return ScriptedModel(choose=by_rounds, name=f"{MODELS}:rounds")


def story() -> ScriptedModel:
    """A judge that goes by the story."""
    return ScriptedModel(choose=by_story, name=f"{MODELS}:story")


def examples() -> ScriptedModel:
    """A judge that needs examples."""
    return ScriptedModel(choose=by_examples, name=f"{MODELS}:examples")


def votes() -> ScriptedModel:
    """A judge whose majority of three is right."""
    return ScriptedModel(vote, name=f"{MODELS}:votes")
