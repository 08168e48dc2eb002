"""Opening speeches of one player, drawn at random, to be read against a sheet.

    python benchmarks/speeches.py CONFIG PLAYER [how many] [seed]

CONFIG is a configuration of `tournaments.swiss`; its questions, player and limits are used, its judge is not.
"""

from __future__ import annotations

import asyncio
import random
import sys
import textwrap
from pathlib import Path

from debate.config import parse, read_tree
from debate.errors import ConfigError
from debate.models.base import Draw
from debate.models.limits import Budget, Meter
from debate.models.load import Models
from debate.prompts import Prompts
from debate.transcript import Transcript
from tournaments.config import SwissConfig
from tournaments.players import build_player
from tournaments.questions import read_questions


async def show(config: SwissConfig, name: str, count: int, seed: int) -> None:
    """Print speeches, each with its question, side and flaws."""
    player = next((player for player in config.players if player.name == name), None)
    if player is None:
        raise ConfigError(f"no player {name!r}; there are {', '.join(player.name for player in config.players)}")
    models = Models(None, Meter(Budget(), {}))
    debater = build_player(player, speech=config.speech, models=models, prompts=Prompts(), judge=config.judge)
    sides = [(question, answer) for question in read_questions(config).cross_play for answer in (0, 1)]
    drawn = random.Random(seed).sample(sides, min(count, len(sides)))
    views = [Transcript(question).view(answer=answer, story=True) for question, answer in drawn]
    speeches = await asyncio.gather(*(debater.argue(view, Draw(config.seed, name)) for view in views))
    for number, ((question, answer), view, speech) in enumerate(zip(drawn, views, speeches, strict=True), 1):
        spoken = speech.candidates[speech.chosen]
        side = "right" if answer == question.gold else "wrong"
        print(f"{number}. {question.id}: {question.text} Side ({side}): {view.own_answer}")
        print(textwrap.fill(spoken.argument.render(view.seat), 118, initial_indent="   ", subsequent_indent="   "))
        if spoken.flaws:
            print(f"   Flaws: {'; '.join(spoken.flaws)}")
    await models.close()


if __name__ == "__main__":
    path = Path(sys.argv[1])
    rest = [int(word) for word in sys.argv[3:]]
    asyncio.run(
        show(
            parse(SwissConfig, read_tree(path), where=str(path)),
            sys.argv[2],
            rest[0] if rest else 20,
            rest[1] if len(rest) > 1 else 0,
        )
    )
