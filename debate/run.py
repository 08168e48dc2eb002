"""``python -m debate.run``: one debate on one question, printed as it goes.

The one module of this package that reaches up, to the players and the session that all commands share: it is a command,
and nothing imports it (import-linter holds both).
"""

from __future__ import annotations

import asyncio
import sys
from typing import Literal, Self

from pydantic import Field, model_validator

from debate.agents.judge import build_judge
from debate.agents.questioner import ModelQuestioner, Questioner
from debate.command import Command, Invocation
from debate.config import NOT_IN_DIGEST
from debate.errors import SourceError
from debate.models.base import Model
from debate.models.load import ModelConfig, Models
from debate.protocols import build_protocol
from debate.question import Question
from debate.record import Recorded
from debate.run_folder import RunFolder
from debate.verdict import combine
from debate.watching import WatchedDebater, WatchedModel, WatchedQuestioner, Watcher
from tournaments.config import FieldConfig
from tournaments.field import baseline_arenas, check_lengths, notes_for
from tournaments.matches import Arena
from tournaments.plan import Field as PlanField
from tournaments.plan import Plan, plan_field
from tournaments.players import PlayerConfig, build_player
from tournaments.questions import choose_questions
from tournaments.session import Session, check_quality, write_debates
from tournaments.setups import Setup, baseline_setups


class RunConfig(FieldConfig):
    """One debate."""

    players: tuple[PlayerConfig, ...] = Field(
        min_length=1, max_length=2, description="who defends the first answer and who the second; one in a consultancy"
    )
    question: str | None = Field(None, description="the question's id in its source; none for the first one chosen")
    swap: bool = Field(default=False, description="assign the answers the other way round")
    show: Literal["speeches", "prompts"] = Field(
        "speeches", description="prompts: every prompt and reply too", json_schema_extra=NOT_IN_DIGEST
    )

    @model_validator(mode="after")
    def _as_many_as_speak(self) -> Self:
        if len(self.players) != self.protocol.speakers:
            raise ValueError(
                f"a {self.protocol.kind} has {self.protocol.speakers} speakers, and there are {len(self.players)} "
                "players"
            )
        return self


class _Watched:
    """The run's models, each watched."""

    def __init__(self, models: Models, watcher: Watcher) -> None:
        self._models = models
        self._watcher = watcher

    def get(self, config: ModelConfig) -> Model:
        return WatchedModel(self._models.get(config), self._watcher)


def pick(config: RunConfig) -> Question:
    """Choose the question.

    Raises:
        SourceError: The source has none of this id.
    """
    questions = choose_questions(config, config.seed)
    if config.question is None:
        return questions[0]
    found = next((question for question in questions if question.id == config.question), None)
    if found is None:
        some = ", ".join(question.id for question in questions[:3])
        raise SourceError(f"{config.source!r} has no question {config.question!r} as chosen; it has {some}, ...")
    return found


def plan_for(config: RunConfig, question: Question) -> Plan:
    """Plan the debate."""
    seatings = len(build_protocol(config.protocol).seatings(question))
    return plan_field(PlanField(config, [question], (), seatings, 0, speeches=seatings, sides=1.0))


def open_arena(
    config: RunConfig, plan: Plan, watcher: Watcher, *, session: Session, run: RunFolder, models: Models
) -> Arena:
    """Make the arena of the debate, in which everybody is watched."""
    opened = _Watched(models, watcher) if config.show == "prompts" else models
    debaters = {
        player.name: WatchedDebater(
            build_player(
                player,
                speech=config.speech,
                models=opened,
                prompts=session.prompts,
                judge=config.judge,
                story_tokens=plan.story_tokens.get(player.name) if player.name in plan.too_long else None,
            ),
            watcher,
        )
        for player in config.players
    }
    questioner: Questioner | None = None
    judge_model = None if config.judge.model is None else opened.get(config.judge.model)
    judge = build_judge(config.judge, judge_model, session.prompts)
    if config.questioner_model is not None:
        model = opened.get(config.questioner_model)
        asks = ModelQuestioner(model, name=judge.name, prompts=session.prompts, config=config.protocol.questioner)
        questioner = WatchedQuestioner(asks, watcher)
    run.keep_models(models.facts)
    protocol = build_protocol(config.protocol, questioner)
    return Arena(protocol, debaters, judge, run.store, config.seed, asyncio.Semaphore(config.concurrency))


async def hold(
    config: RunConfig, question: Question, plan: Plan, *, session: Session, run: RunFolder, models: Models
) -> list[Recorded]:
    """Hold the debate, and have it judged, everything printed as it happens."""
    watcher = Watcher()
    arena = open_arena(config, plan, watcher, session=session, run=run, models=models)
    names: list[str | None] = [player.name for player in config.players]
    first, second = [*names, None][:2]
    players = (second, first) if config.swap else (first, second)
    watcher.heading(f"{question.text}")
    for answer, text in enumerate(question.answers):
        watcher.line(f"{text}  [{players[answer] or 'nobody speaks for it'}]")
    recorded = []
    for seats in arena.protocol.seatings(question):  # one after the other: the speeches of two would be mingled
        setup = Setup(question, players, seats)
        kept = run.store.get("debates", setup.key(arena.protocol.name)) is not None
        (held,) = await arena.play([setup])
        if kept:
            watcher.transcript(held.debate.transcript)
        recorded.append(held)
    for silent in baseline_arenas(config, arena).values():
        recorded += await silent.play(baseline_setups([question]))
    return recorded


def show_verdicts(question: Question, recorded: list[Recorded], watcher: Watcher) -> None:
    """Print what the judge made of the debate, and at the very end which answer is right."""
    for item in recorded:
        if item.debate.failed is not None:
            watcher.line(f"The debate failed: {item.debate.failed}", "red")
        silent = f" without a debate ({item.debate.protocol})" if item.debate.players == (None, None) else ""
        for verdict in item.verdicts:
            first = question.answers[verdict.order[0]]
            watcher.heading(f"Verdict of {verdict.judge}{silent}, shown first: {first}")
            if verdict.reasoning:
                watcher.line(verdict.reasoning, "dim")
            if verdict.probabilities is None:
                watcher.line(f"unparsed: {verdict.unparsed}", "red")
                continue
            for text, share in zip(question.answers, verdict.probabilities, strict=True):
                watcher.line(f"{share:6.1%}  {text}")
        mean = combine(item.verdicts)
        if mean is not None:
            watcher.heading(f"Both orders together{silent}")
            for text, share in zip(question.answers, mean, strict=True):
                watcher.line(f"{share:6.1%}  {text}")
    if question.gold is not None:
        watcher.line(f"\nThe right answer is: {question.answers[question.gold]}")


def run_debate(config: RunConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    session = Session("debate.run", config, invocation)
    question = pick(config)
    plan = plan_for(config, question)
    check_lengths(config, plan)
    if invocation.dry_run:
        return session.show_plan(plan, notes_for(config, plan), {"debate": [question]})
    with session.open({"debate": [question]}) as run:
        recorded = session.ask(
            run, lambda models: hold(config, question, plan, session=session, run=run, models=models)
        )
        write_debates(run, recorded)
        show_verdicts(question, recorded, Watcher())
        session.track(run, (), {}, recorded)
        sys.stdout.write(f"Kept in {run.path}\n")
    failures = check_quality(config, recorded)
    for failure in failures:
        sys.stderr.write(f"debate.run: {failure}\n")
    return 1 if failures else 0


COMMAND = Command(
    name="debate.run",
    about="Hold one debate on one question and have it judged, everything printed as it goes.",
    config=RunConfig,
    run=run_debate,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
