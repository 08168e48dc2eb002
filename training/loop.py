"""``python -m training.loop``: debates, ratings, better debaters, better judges, and debates again.

The order of an iteration: the population meets on stories of the debater fold; the new debater learns from what won
there, and from the better of its candidates; the same population debates on stories of the judge fold, from which the
new judge learns; whoever is new debates itself on validation stories, judged by the frozen first judge, the new judge
and a held-out one; the new debater joins, and the weakest leaves. The test fold is touched once, by the final report.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from debate.agents.judge import JudgeConfig
from debate.command import Command, Invocation
from tournaments.players import PlayerConfig
from training.loop_config import FIRST, HELD_OUT, LoopConfig, settled, weakest
from training.loop_stages import (
    CONCESSIONS,
    DEBATES,
    JUDGED,
    RATINGS,
    SELF_PLAY,
    TEST,
    TOURNAMENT,
    Recipes,
    iteration,
    slice_of,
)
from training.stages import Runner, Stage

Rate = Callable[[Sequence[str], JudgeConfig], Mapping[str, float]]
"""Tells how persuasive players were in the debates of some stages, before one judge."""


@dataclass(frozen=True, slots=True)
class Iteration:
    """What an iteration did.

    Attributes:
        number: From 1 on.
        population: Who met in its tournament.
        newcomer: Who joined after it.
        left: Who left after it, or None.
        judge: Its new judge, or the one that stayed.
        rated: Stages with the tournaments so far, judged by the first judge.
        validated: Stages with all self-play on validation stories so far, judged by everybody.
        concessions: Stages that looked for concessions in it so far.
        trained: Trainings of this iteration, by what they trained.
        held: Stages of this iteration that held debates.
    """

    number: int
    population: tuple[PlayerConfig, ...]
    newcomer: PlayerConfig
    left: str | None
    judge: JudgeConfig
    rated: tuple[str, ...]
    validated: tuple[str, ...]
    concessions: tuple[str, ...]
    trained: Mapping[str, str]
    held: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tested:
    """What the test held.

    Attributes:
        tournament: Stages with cross-play of everybody, by the judge whose verdicts are in them.
        own: Stages with everybody's own debates, likewise.
        concessions: The stage that looked for concessions in the latter, or None.
        judges: Who judged, the first one first.
        players: Everybody.
    """

    tournament: str
    own: str
    concessions: str | None
    judges: tuple[JudgeConfig, ...]
    players: tuple[PlayerConfig, ...]


@dataclass
class Loop:
    """Takes the stages in their order.

    Attributes:
        config: The loop's.
        recipes: Makes stages.
        runner: Does them, or plans them.
        rate: Tells how persuasive players were.
    """

    config: LoopConfig
    recipes: Recipes
    runner: Runner
    rate: Rate
    first: JudgeConfig = field(init=False)
    held_out: JudgeConfig | None = field(init=False, default=None)
    judge: JudgeConfig = field(init=False)
    population: list[PlayerConfig] = field(init=False, default_factory=list)
    everyone: list[PlayerConfig] = field(init=False, default_factory=list)
    _debater: str | None = field(init=False, default=None)
    _judge: str | None = field(init=False, default=None)
    _tournaments: list[Stage] = field(init=False, default_factory=list)
    _rated: list[str] = field(init=False, default_factory=list)
    _lessons: list[Stage] = field(init=False, default_factory=list)
    _own: list[Stage] = field(init=False, default_factory=list)
    _validated: list[str] = field(init=False, default_factory=list)
    _conceded: list[str] = field(init=False, default_factory=list)

    def follow(self, after: Callable[[Iteration], None] | None = None) -> Tested:
        """Take all stages in their order.

        Args:
            after: Called with each iteration.

        Returns:
            What the test held.
        """
        self.begin()
        for number in range(1, self.config.iterations + 1):
            found = self.iterate(number)
            if after is not None:
                after(found)
        return self.test()

    def begin(self) -> None:
        """Train what the loop begins with, and bring the first population together."""
        lessons, recipes = self.config.judge, self.recipes
        for name, start in ((FIRST, lessons.first), (HELD_OUT, lessons.held_out)):
            if start is not None and start.judge is None:
                self.runner.run(
                    recipes.train_judge(name, start.data, seed=start.seed, fit=lessons.fit, fold=start.fold)
                )
        self.first = self.judge = recipes.start(lessons.first, FIRST)
        self._judge = self._adapter_of_first()
        if lessons.held_out is not None:
            self.held_out = recipes.start(lessons.held_out, HELD_OUT)
        self.population = [settled(player, self.first) for player in self.config.players]
        self._debater = self.config.debater.start
        if self.config.debater.first:
            name = self.config.named(0)
            self.runner.run(
                recipes.train_debater(name, "sft", seed=self.config.seed, start=None, data=self.config.debater.first)
            )
            self._debater = recipes.adapter(name)
            self.population.append(settled(recipes.newcomer(name, self._debater), self.first))
        self.everyone = list(self.population)

    def iterate(self, number: int) -> Iteration:
        """Take one iteration.

        Args:
            number: From 1 on, in order.

        Returns:
            What it did.
        """
        population = tuple(self.population)
        tournament = self._hold(number, population)
        trained = self._teach_debater(number, tournament)
        debates = self._teach_judge(number, population, trained)
        newcomer = settled(self.recipes.newcomer(self.config.named(number), self._debater), self.judge)
        self._validate(number, newcomer)
        left = self._renew(newcomer)
        return Iteration(
            number=number,
            population=population,
            newcomer=newcomer,
            left=left,
            judge=self.judge,
            rated=tuple(self._rated),
            validated=tuple(self._validated),
            concessions=tuple(self._conceded),
            trained=trained,
            held=(tournament.name, *debates, self._own[-1].name),
        )

    def test(self) -> Tested:
        """Have everybody who ever played meet and debate on the test stories, before all judges."""
        folds, recipes = self.config.folds, self.recipes
        tournament = recipes.play(f"{TEST}/{TOURNAMENT}", folds.rating, self.everyone, self.first)
        own = recipes.alone(f"{TEST}/{SELF_PLAY}", folds.test, self.everyone, self.first)
        more = [judge for judge in (self.judge, self.held_out) if judge is not None and judge.label != FIRST]
        places = []
        for stage in (tournament, own):
            self.runner.run(stage)
            places.append(stage.name)
            if more:
                places[-1] = f"{stage.name}-{JUDGED}"
                fresh = {judge.label: [stage] for judge in more}
                self.runner.run(recipes.rejudge(places[-1], [stage.name], more, fresh))
        conceded = self._look(f"{TEST}/{CONCESSIONS}", own)
        return Tested(places[0], places[1], conceded, (self.first, *more), tuple(self.everyone))

    def _adapter_of_first(self) -> str | None:
        """The adapter of the first judge, where it is one that a training can go on from."""
        start = self.config.judge.first
        if start.judge is None:
            return self.recipes.adapter(FIRST)
        model = start.judge.model
        same = model is not None and model.name == self.config.base.name
        return model.adapter if same and model is not None else None

    def _hold(self, number: int, population: Sequence[PlayerConfig]) -> Stage:
        """Hold the tournament, and have it judged by the first judge too."""
        stage = self.recipes.play(
            iteration(number, TOURNAMENT), slice_of(self.config.folds.debater, number), population, self.judge
        )
        self.runner.run(stage)
        self._tournaments.append(stage)
        rated = stage.name
        if self.judge.label != FIRST:
            rated = iteration(number, RATINGS)
            self.runner.run(self.recipes.rejudge(rated, [stage.name], [self.first], {FIRST: [stage]}))
        self._rated.append(rated)
        return stage

    def _teach_debater(self, number: int, tournament: Stage) -> dict[str, str]:
        """Train the new debater; returns the stages by what they trained."""
        trained: dict[str, str] = {}
        methods = self.config.debater.methods
        for method in methods:
            name = self.config.lesson_named(number, method)
            self.runner.run(
                self.recipes.train_debater(
                    name, method, seed=self.config.seed + number, start=self._debater, held=[tournament]
                )
            )
            self._debater = self.recipes.adapter(name)
            trained[method] = name
            if method == methods[-1]:
                trained["debater"] = name
        return trained

    def _teach_judge(self, number: int, population: Sequence[PlayerConfig], trained: dict[str, str]) -> list[str]:
        """Train the new judge on debates of the same population; returns the stages that held them."""
        lessons = self.config.judge
        if not lessons.train:
            return []
        stage = self.recipes.play(
            iteration(number, DEBATES), slice_of(self.config.folds.judge, number), population, self.judge
        )
        self.runner.run(stage)
        self._lessons.append(stage)
        name = self.config.judge_named(number)
        self.runner.run(
            self.recipes.train_judge(
                name,
                lessons.data,
                seed=self.config.seed + number,
                fit=lessons.later_fit or lessons.fit,
                start=None if lessons.fresh else self._judge,
                held=self._lessons if lessons.fresh else [stage],
            )
        )
        self._judge = self.recipes.adapter(name)
        self.judge = self.recipes.judge(name)
        trained["judge"] = name
        return [stage.name]

    def _validate(self, number: int, newcomer: PlayerConfig) -> None:
        """Have whoever is new debate itself on validation stories, before the first, the new and the held-out judge."""
        fresh = [*(self.population if number == 1 else []), newcomer]
        stage = self.recipes.alone(iteration(number, SELF_PLAY), self.config.folds.validation, fresh, self.first)
        self.runner.run(stage)
        self._own.append(stage)
        conceded = self._look(iteration(number, CONCESSIONS), stage)
        self._conceded += [] if conceded is None else [conceded]
        judges = [judge for judge in (self.judge, self.held_out) if judge is not None and judge.label != FIRST]
        if not judges:
            self._validated.append(stage.name)
            return
        name = iteration(number, JUDGED)
        unread = {judge.label: self._own if judge.label == self.judge.label else [stage] for judge in judges}
        self.runner.run(self.recipes.rejudge(name, [*self._validated, stage.name], judges, unread))
        self._validated = [name]

    def _look(self, name: str, held: Stage) -> str | None:
        if self.config.concessions is None:
            return None
        self.runner.run(self.recipes.concessions(name, held, self.config.concessions))
        return name

    def _renew(self, newcomer: PlayerConfig) -> str | None:
        """Take the newcomer in; returns who left for it."""
        left = None
        if self.config.size is not None and len(self.population) >= self.config.size:
            values = self.rate(self._rated, self.first)
            known = {player.name: values.get(player.name) for player in self.population}
            left = weakest(known, self.config.anchors)
        self.population = [player for player in self.population if player.name != left] + [newcomer]
        self.everyone.append(newcomer)
        return left


def run_loop(config: LoopConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    if invocation.dry_run:
        from training.loop_plan import plan_loop

        return plan_loop(config)
    from training.loop_run import start_loop

    return start_loop(config, invocation)


COMMAND = Command(
    name="training.loop",
    about="Close the loop: debates, ratings, fine-tuned debaters and judges, and the next debates; at the end, Elo "
    "against accuracy on stories that nothing was trained or selected on.",
    config=LoopConfig,
    run=run_loop,
)

if __name__ == "__main__":
    sys.exit(COMMAND.main())
