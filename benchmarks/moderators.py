"""How well a small model's moderators tell what they read: letters against likelihoods, on dialogues written by hand.

    python benchmarks/moderators.py [MODEL]        # embedded/smollm2-135m by default

Prints, for each kind and task: the area under the ROC curve (chance is 0.5), and how often a yes is a yes and a no a no
at even odds, which is where a moderator decides.
"""

from __future__ import annotations

import asyncio
import sys
from typing import NamedTuple

from debate.agents.memory import Memory, Said
from debate.agents.moderator import ModeratorConfig, Moderators, Task
from debate.agents.talker import opening
from debate.models.base import Draw
from debate.models.load import EMBEDDED, ModelConfig, open_model
from debate.prompts import Prompts
from debate.report import Column, Table, print_table
from debate.report.table import Cell
from debate.sources.claims import load_claims

ACCEPTS = (
    "I agree with the claim. The reason is convincing.",
    "Yes, you are right about this, and I accept the claim.",
    "You have convinced me. I now agree.",
    "That makes sense to me, so I agree that this should be done.",
    "I had my doubts, but I think the claim is right.",
    "Yes. I agree completely with your claim.",
)
DOUBTS = (
    "I do not agree with the claim. The reason is too weak.",
    "No, I think you are wrong about this, and I reject the claim.",
    "Thank you for the good point, but I am not convinced.",
    "That makes some sense, but I still disagree.",
    "I see what you mean. I cannot accept the claim, since there are other ways.",
    "No. I disagree completely with your claim.",
)
THANKS = (
    "Thank you so much, it was a pleasure to talk to you.",
    "You are very kind. Thank you, and have a lovely day.",
    "Thanks again for this pleasant conversation. Goodbye!",
    "You are welcome. I enjoyed our talk very much.",
)
ASIDES = (
    "By the way, did you see the football match last night? Our goalkeeper was superb.",
    "I have a recipe for apple cake that you must try. You need four eggs.",
    "My train was late again this morning, and it was raining too.",
    "Have you read any good detective novels lately? I like the old ones.",
)
ARGUES = "Think of those who have no choice."
#: Messages for which a task has another answer than for the others.
ODD: tuple[tuple[Task, tuple[str, ...], bool], ...] = (("pleasantries", THANKS, True), ("on_topic", ASIDES, False))


class Case(NamedTuple):
    """What is said after the opening, the debater first, and the answer of one task."""

    task: Task
    yes: bool
    said: tuple[str, ...]


def cases() -> list[Case]:
    """All dialogues."""
    found = [Case("convinced", text in ACCEPTS, (text,)) for text in (*ACCEPTS, *DOUBTS)]
    plain = [(DOUBTS[0], ARGUES, text) for text in (ACCEPTS[0], DOUBTS[2], DOUBTS[4], ACCEPTS[4])]
    for task, texts, yes in ODD:
        said = [(DOUBTS[0], texts[(at + 1) % len(texts)], text) for at, text in enumerate(texts)]
        found += [Case(task, yes, one) for one in said] + [Case(task, not yes, one) for one in plain]
    return found


async def shares(kind: str, name: str) -> dict[Task, dict[bool, list[float]]]:
    """The share of yes that moderators of a kind give, by task and right answer; each dialogue on two claims."""
    prompts, claims = Prompts(), load_claims("shipped:claims")
    model = open_model(ModelConfig(name=name))
    config = ModeratorConfig.model_validate({"model": name, "kind": kind, "master": "rule"})
    moderators = Moderators(model, None, prompts=prompts, config=config, memory=Memory(prompts=prompts))
    found: dict[Task, dict[bool, list[float]]] = {}
    for at, case in enumerate(cases()):
        for claim in (claims[7 * at % 40], claims[(7 * at + 13) % 40]):
            said = [Said("persuader", opening(claim, prompts).argument.plain())]
            said += [Said("persuader" if turn % 2 else "debater", text) for turn, text in enumerate(case.said)]
            share = (await moderators.rule(claim, said, Draw())).findings[case.task].share
            found.setdefault(case.task, {True: [], False: []})[case.yes].append(0.5 if share is None else share)
    await model.close()
    return found


def main() -> None:
    """Print the table."""
    name = sys.argv[1] if len(sys.argv) > 1 else EMBEDDED
    rows: list[list[Cell]] = []
    for kind in ("letter", "score"):
        for task, of in asyncio.run(shares(kind, name)).items():
            yes, no = of[True], of[False]
            area = sum((one > other) + 0.5 * (one == other) for one in yes for other in no) / len(yes) / len(no)
            right = [sum(share > 0.5 for share in yes) / len(yes), sum(share <= 0.5 for share in no) / len(no)]
            rows.append([kind, task.replace("_", " "), len(yes) + len(no), area, *right])
    columns = (
        Column("kind"),
        Column("task"),
        Column("dialogues", kind="count"),
        Column("area under curve", kind="number"),
        Column("yes told", kind="share"),
        Column("no told", kind="share"),
    )
    print_table(Table(f"Moderators on {name}", columns, rows))


if __name__ == "__main__":
    main()
