"""How to read the choice of a small model: `python benchmarks/choice_reading.py [SOURCE ...]`.

By default the embedded model on `shipped:choices` and on 24 easier questions that no way of reading was chosen by. Each
way is right on how many questions, beside chance, and how often it takes the answer listed first.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from debate.agents.chooser import Asking
from debate.agents.render import LETTERS
from debate.models.base import Message, Model
from debate.models.limits import Budget, Meter
from debate.models.load import EMBEDDED, ModelConfig, Models
from debate.prompts import Prompts
from debate.protocols.roundtable import view_of
from debate.question import Question
from debate.report import Column, Table, print_table
from debate.report.table import Cell
from debate.sources import load
from debate.together import together

# Question; then the answers, the right one marked by a star.
FRESH = """
Why was the road slippery in the morning? * The rain had frozen overnight. | The signs had been painted. | A bus had a new driver.
Milo put the ice cream in the oven instead of the freezer. What did he find later? A cold oven | * A puddle of cream | A harder ice cream
What would you use to cut a thick branch? A butter knife | A ruler | * A saw | A brush
The dog scratched at the front door and whined. What did it want? To read the post | * To go outside
Which animal gives milk? A hen | * A goat | A trout | A bee
Sara forgot her umbrella and walked home in a storm. How was she when she arrived? * Soaked | Sunburnt | Taller
Where do you keep meat so that it stays fresh? On the balcony | * In the fridge | In the wardrobe | Under the bed | In the car
Why did the baby cry at three in the morning? * It was hungry. | It had won a race. | It could not find its keys.
How do you get a nail out of a plank? With a sponge | * With the claw of a hammer
The candle in the jar went out when the lid was put on. Why? The wax was red. | * There was no air left. | The jar was made of glass.
What do people do when the fire alarm rings? * They leave the building. | They go to sleep. | They paint the walls.
Tom broke his leg on Friday. What did he do on Saturday? He ran a marathon. | * He stayed in bed. | He climbed a tree. | He danced all night.
Which is heaviest? A feather | * A piano | A spoon
Anna got the best mark in the class. How did she feel? * Proud | Seasick | Invisible
Why do birds sit on eggs? To hide from the rain | * To keep the eggs warm | To break them
What happens to a sugar cube in hot tea? It floats away. | * It dissolves. | It turns into salt. | It freezes.
The lights in the whole street went off. What happened? Somebody closed a curtain. | * There was a power cut.
What do you need to open a locked door? * A key | A pillow | A newspaper | A fork | A hat
Leo lied to his friend, and the friend found out. How did the friend feel? Grateful | * Betrayed | Sleepy
Why did the cyclist stop at the roadside? * His tyre was flat. | The moon was full. | The grass was green.
Which of these can you drink? Sand | * Juice | Wood | Glass
She watered the plant every day until it stood in water. What happened to it? * Its roots rotted. | It learned to swim. | It grew a second pot.
What do you wear on your feet in deep snow? Sandals | * Boots
Why was the shop empty on Sunday? * It was closed. | It sold bread. | It had a red door.
"""  # noqa: E501 - a question a line
WAYS = ("letters", "listed", "unlisted", "unlisted, less its prior")


def fresh(folder: Path) -> str:
    """Write the fresh questions as a file of one's own; returns its source string."""
    rows = []
    for line in FRESH.strip().splitlines():
        text, _, rest = line.partition("? ")
        parts = [part.strip() for part in rest.split("|")]
        answers = [part.removeprefix("* ") for part in parts]
        gold = next(at for at, part in enumerate(parts) if part.startswith("* "))
        rows.append(json.dumps({"question": f"{text}?", "answers": answers, "gold": gold}))
    path = folder / "fresh.jsonl"
    path.write_text("\n".join(rows), encoding="utf-8")
    return f"questions:{path}"


async def read(model: Model, question: Question) -> tuple[int, ...]:
    """Read a model's choice in each way."""
    asking, view = Asking(Prompts(), 40), view_of(question)
    letters = await model.choose(asking.ask(view, "alone", (), "", asking.letter(view)), LETTERS[: len(view.answers)])
    task = "Which answer is right? Reply with the answer alone, word for word."

    async def score(messages: Sequence[Message]) -> tuple[float, ...]:
        return (await model.score(messages, question.answers)).values

    listed = await score(asking.ask(view, "alone", (), "", task))
    given, prior = await score(asking.words(view, (), "")), await score(asking.prior())
    # A long answer is less likely for its length alone.
    per_character = [value / len(answer) for value, answer in zip(listed, question.answers, strict=True)]
    less = [after - before for after, before in zip(given, prior, strict=True)]
    return tuple(
        max(range(len(one)), key=one.__getitem__) for one in (letters.probabilities, per_character, given, less)
    )


async def main(sources: Sequence[str]) -> None:
    """Print a table for each source."""
    models = Models(None, Meter(Budget(), {}))
    model = models.get(ModelConfig(name=EMBEDDED))
    columns = (Column("read by"), Column("right", kind="count"), Column("first taken", kind="count"))
    for source in sources:
        questions = load(source)
        found = await together(read(model, question) for question in questions)
        rows: list[list[Cell]] = [
            [way, sum(one[at] == question.gold for one, question in zip(found, questions, strict=True)),
             sum(one[at] == 0 for one in found)]
            for at, way in enumerate(WAYS)
        ]  # fmt: skip
        chance = sum(1 / len(question.answers) for question in questions)
        title = f"{Path(source).name}: {len(questions)} questions, by chance {chance:.1f} are right"
        print_table(Table(title, columns, rows))
    await models.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(sys.argv[1:] or ["shipped:choices", fresh(Path(folder))]))
