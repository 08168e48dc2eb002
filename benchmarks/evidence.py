"""How often the sentence that is quoted is one that the story's author named as evidence.

    python benchmarks/evidence.py [fold] [questions a story]

Every shipped question lists sentences that favour each answer. For each question and side this ranks the story's
sentences by likelihood of the embedded model, by shared words, and by both, and counts how often an author's sentence
is first, and how often one is among the first two.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Sequence
from typing import NamedTuple

import yaml

from debate.agents.evidence import rank_by_likelihood
from debate.agents.extractive import rank_by_overlap
from debate.agents.passages import overlaps, quotable
from debate.metrics.intervals import cluster_mean
from debate.models.base import Model
from debate.models.load import EMBEDDED, ModelConfig, open_model
from debate.prompts import Prompts
from debate.quotes import Quote
from debate.sources import load
from debate.sources.locate import data_folder
from debate.transcript import Transcript
from debate.view import View

WEIGHTS = (0.0, 2.0, 4.0, 6.0, 10.0)
_WORD = re.compile(r"[a-z0-9]+")


class Case(NamedTuple):
    """One question and side: what its debater sees, and the sentences its author named for it."""

    story_id: str
    view: View
    named: Sequence[str]


def cases(fold: str, per_story: int) -> list[Case]:
    """Read the questions of a fold with their authors' evidence."""
    found = []
    for question in load("shipped:stories"):
        if question.fold != fold or int(question.id.rpartition("-")[2]) > per_story:
            continue
        document = yaml.safe_load((data_folder() / "stories" / f"{question.story_id}.yaml").read_text(encoding="utf-8"))
        named = next(item["evidence"] for item in document["questions"] if item["id"] == question.id)
        transcript = Transcript(question)
        found += [
            Case(question.story_id, transcript.view(answer=answer, story=True), named[answer]) for answer in (0, 1)
        ]
    return found


def is_named(quote: Quote, named: Sequence[str]) -> bool:
    """Whether a sentence is one that the author named: one holds the other, or they share most words."""
    words = _plain(quote.text)
    for text in named:
        other = _plain(text)
        shared = set(words.split()) & set(other.split())
        if words in other or other in words or len(shared) > 0.7 * len(set(words.split())):
            return True
    return False


def _plain(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "


async def rankings(model: Model, case: Case) -> dict[str, list[Quote]]:
    """Rank a case's sentences in every way that is compared."""
    quotes = quotable(case.view.story or "", 30)
    ways = {"shared words alone": rank_by_overlap(case.view, quotes)}
    gains = {item.quote: item.gain or 0.0 for item in await rank_by_likelihood(model, Prompts(), case.view, quotes)}
    shared = dict(zip(quotes, overlaps(case.view, quotes), strict=True))
    for weight in WEIGHTS:
        ways[f"likelihood + {weight:g} x shared words"] = sorted(
            quotes, key=lambda quote: -gains[quote] - weight * shared[quote]
        )
    return ways


async def measure(fold: str, per_story: int) -> None:
    """Print the table."""
    from debate.models.calls import LoggedModel
    from debate.models.limits import Budget, Meter

    model = open_model(ModelConfig(name=EMBEDDED))
    shared = LoggedModel(model, None, Meter(Budget(), {}))  # both sides of a question ask the same at the same time
    listed = cases(fold, per_story)
    ranked = await asyncio.gather(*(rankings(shared, case) for case in listed))
    stories = [case.story_id for case in listed]
    print(f"{len(listed)} sides of {len(listed) // 2} questions on {len(set(stories))} stories, fold {fold}")
    for way in ranked[0]:
        cells = []
        for most in (1, 2):
            hits = [
                float(any(is_named(quote, case.named) for quote in ways[way][:most]))
                for case, ways in zip(listed, ranked, strict=True)
            ]
            cells.append(cluster_mean(hits, stories).format(percent=True))
        print(f"{way:36} first {cells[0]:32} first two {cells[1]}")
    await model.close()


if __name__ == "__main__":
    asyncio.run(measure(sys.argv[1] if len(sys.argv) > 1 else "judge", int(sys.argv[2]) if len(sys.argv) > 2 else 4))
