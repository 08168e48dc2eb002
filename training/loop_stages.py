"""What each stage of the closed loop runs: the configurations of tournaments, judgings and trainings."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from debate.agents.judge import JudgeConfig
from debate.config import Config
from debate.models.adapter_folder import OWN
from debate.prompts import Prompts
from debate.question import Fold, Question
from debate.sources import load, select
from tournaments import concessions, consultancy, rejudge, self_play, swiss
from tournaments.calls import Calls
from tournaments.config import ConsultancyConfig, QuestionsConfig, RejudgeConfig, SwissConfig
from tournaments.lengths import Reader
from tournaments.plan import Field, consultancy_field, judging_all, plan_field, swiss_field
from tournaments.players import PlayerConfig
from training import finetune_debater, finetune_judge
from training.debater_fit import Method
from training.fitting import FitSettings
from training.gather import DataConfig
from training.loop_config import LoopConfig, StartConfig
from training.stages import Estimate, Stage

TOURNAMENT, DEBATES, RATINGS = "tournament", "debates", "ratings"
SELF_PLAY, JUDGED, CONCESSIONS = "self-play", "judged", "concessions"
TEST = "test"


def iteration(number: int, part: str) -> str:
    """Name a stage of an iteration."""
    return f"iteration-{number}/{part}"


@functools.lru_cache(maxsize=16)
def loaded(source: str) -> tuple[Question, ...]:
    """Load the questions of a source, once."""
    return tuple(load(source))


def questions_of(config: QuestionsConfig, seed: int) -> list[Question]:
    """Choose questions as the tournaments do (``tournaments.questions``)."""
    wanted = {name: getattr(config, name) for name in ("fold", "stories", "per_story", "limit", "skip")}
    return select([question.pair(config.distractor) for question in loaded(config.source)], **wanted, seed=seed)


@dataclasses.dataclass(frozen=True)
class Recipes:
    """Makes the stages of a loop.

    Attributes:
        config: The loop's.
        root: The run's folder.
        planning: Whether nothing is there yet, so that adapters of the run are left out of models.
    """

    config: LoopConfig
    root: Path
    planning: bool = False

    def adapter(self, name: str) -> str | None:
        """The adapter that a training of the run leaves."""
        return None if self.planning else str(self.root / name / OWN)

    def judge(self, name: str) -> JudgeConfig:
        """A letter judge that the run trains."""
        model = self.config.base.model_copy(update={"adapter": self.adapter(name)})
        return JudgeConfig(model=model, kind="letter", name=name)

    def start(self, start: StartConfig, name: str) -> JudgeConfig:
        """A judge that the loop begins with, by the name that its verdicts are filed under."""
        return self.judge(name) if start.judge is None else start.judge.model_copy(update={"name": name})

    def newcomer(self, name: str, adapter: str | None) -> PlayerConfig:
        """The player of a new debater, with an adapter or without."""
        player = self.config.newcomer
        model = None if player.model is None else player.model.model_copy(update={"adapter": adapter})
        return player.model_copy(update={"name": name, "model": model})

    def folder(self, stage: str) -> str:
        """The folder of a stage, as a source of debates."""
        return str(self.root / stage)

    def play(self, name: str, questions: QuestionsConfig, players: Sequence[PlayerConfig], judge: JudgeConfig) -> Stage:
        """Have players meet on questions; consultants each argue for themselves."""
        if self.config.alone:
            return self._consult(name, questions, players, judge)
        config = SwissConfig.model_validate(
            {**self._field(questions, players, judge), "prior_sd": self.config.prior_sd, "rounds": self.config.rounds}
        )

        def field() -> Field:
            return swiss_field(config, questions_of(config, config.seed), ())

        return Stage(name, swiss.COMMAND, config, estimate=_planned(field))

    def alone(
        self, name: str, questions: QuestionsConfig, players: Sequence[PlayerConfig], judge: JudgeConfig
    ) -> Stage:
        """Have each player debate itself; consultants argue as they do elsewhere."""
        if self.config.alone:
            return self._consult(name, questions, players, judge)
        config = self_play.SelfPlayFieldConfig.model_validate(self._field(questions, players, judge))

        def field() -> Field:
            return self_play.self_play_field(config, questions_of(config, config.seed))

        return Stage(name, self_play.COMMAND, config, estimate=_planned(field))

    def _consult(
        self, name: str, questions: QuestionsConfig, players: Sequence[PlayerConfig], judge: JudgeConfig
    ) -> Stage:
        config = ConsultancyConfig.model_validate(self._field(questions, players, judge))

        def field() -> Field:
            return consultancy_field(config, questions_of(config, config.seed))

        return Stage(name, consultancy.COMMAND, config, estimate=_planned(field))

    def rejudge(
        self, name: str, sources: Sequence[str], judges: Sequence[JudgeConfig], fresh: Mapping[str, Sequence[Stage]]
    ) -> Stage:
        """Have more judges judge the debates of other stages.

        Args:
            name: The stage's.
            sources: Names of the stages whose debates are judged.
            judges: Who judges.
            fresh: By judge, the stages that held the debates which it has not judged yet, for the plan.
        """
        config = RejudgeConfig.model_validate(
            {
                **self._session(),
                "outcome": self.config.outcome,
                "prior_sd": self.config.prior_sd,
                "sources": tuple(map(self.folder, sources)),
                "judges": tuple(judges),
            }
        )

        def estimate() -> Estimate:
            debates, calls = 0, dict[str, Calls]()
            for judge in judges:
                for stage in fresh[judge.label]:
                    held = stage.estimate().debates
                    debates += held
                    if judge.model is not None:
                        own = _judging(stage.config, judge, held)
                        calls[judge.model.label] = calls.get(judge.model.label, Calls()) + own
            return Estimate(debates, calls)

        return Stage(name, rejudge.COMMAND, config, estimate=estimate)

    def concessions(self, name: str, held: Stage, judge: JudgeConfig) -> Stage:
        """Look for speakers who give their side away."""
        config = concessions.ConcessionsConfig.model_validate(
            {**self._session(), "sources": (self.folder(held.name),), "judge": judge}
        )

        def estimate() -> Estimate:
            spoken = held.estimate().debates * self.config.protocol.speakers
            if judge.model is None:
                return Estimate(spoken)
            return Estimate(spoken, {judge.model.label: _judging(held.config, judge, spoken)})

        return Stage(name, concessions.COMMAND, config, estimate=estimate)

    def train_judge(
        self,
        name: str,
        data: Sequence[DataConfig],
        *,
        seed: int,
        fit: FitSettings,
        start: str | None = None,
        fold: str = "judge",
        held: Sequence[Stage] = (),
    ) -> Stage:
        """Train a judge.

        Args:
            name: The judge's, and the stage's.
            data: Debates; those of stages of this run are added.
            seed: Of the training.
            fit: How.
            start: The adapter that it goes on from.
            fold: Of the stories.
            held: Stages of this run whose debates it learns from too.
        """
        lessons = self.config.judge
        config = finetune_judge.JudgeTrainingConfig.model_validate(
            {
                "base": self.config.base.name,
                "start": start,
                "fold": fold,
                "data": (*data, *self._runs(held, "judge")),
                "adapter": lessons.adapter,
                "fit": fit,
                "mass_weight": lessons.mass_weight,
                "seed": seed,
                "prompts": self.config.prompts,
            }
        )

        def estimate() -> Estimate:
            rows = 2 * (sum(map(_debates_of, data)) + sum(stage.estimate().debates for stage in held))
            return Estimate(rows=rows, steps=config.steps(rows))

        return Stage(name, finetune_judge.COMMAND, config, estimate=estimate, launch=True)

    def train_debater(
        self,
        name: str,
        method: Method,
        *,
        seed: int,
        start: str | None,
        data: Sequence[DataConfig] = (),
        held: Sequence[Stage] = (),
    ) -> Stage:
        """Train a debater by one method, on debates of other stages, or on others whoever won them."""
        lessons = self.config.debater
        arguments = lessons.arguments if held else lessons.arguments.model_copy(update={"won": False, "judge": None})
        config = finetune_debater.DebaterTrainingConfig.model_validate(
            {
                "base": self.config.base.name,
                "method": method,
                "start": start,
                "data": (*data, *self._runs(held, "debater")),
                "arguments": arguments,
                "pairs": lessons.pairs,
                "adapter": lessons.adapter,
                "fit": lessons.sft if method == "sft" else lessons.dpo,
                "dpo": lessons.preference,
                "seed": seed,
                "prompts": self.config.prompts,
            }
        )

        def estimate() -> Estimate:
            rows = self.config.protocol.speakers * sum(map(_debates_of, data)) + sum(
                _turns(stage, method) for stage in held
            )
            return Estimate(rows=rows, steps=config.steps(rows))

        return Stage(name, finetune_debater.COMMAND, config, estimate=estimate, launch=True)

    def _runs(self, held: Sequence[Stage], fold: Fold) -> tuple[DataConfig, ...]:
        """The debates of stages, as data of a training."""
        return tuple(DataConfig(debates=f"run:{self.folder(stage.name)}", fold=fold) for stage in held)

    def _session(self) -> dict[str, Any]:
        """What all commands that ask models share; the loop itself tracks."""
        names = ("seed", "max_unparsed", "max_failed", "prompts", "concurrency", "prices", "prices_file")
        return {name: getattr(self.config, name) for name in names}

    def _field(self, questions: QuestionsConfig, players: Sequence[PlayerConfig], judge: JudgeConfig) -> dict[str, Any]:
        chosen = {name: getattr(questions, name) for name in QuestionsConfig.model_fields}
        shared = ("protocol", "speech", "outcome", "long_stories")
        return {
            **self._session(),
            **chosen,
            **{name: getattr(self.config, name) for name in shared},
            "players": tuple(players),
            "judge": judge,
        }


def slice_of(questions: QuestionsConfig, number: int) -> QuestionsConfig:
    """Return the questions of an iteration: other stories than those of the iterations before."""
    return questions.model_copy(update={"skip": (number - 1) * (questions.stories or 0)})


def _planned(field: Callable[[], Field]) -> Callable[[], Estimate]:
    """What the debates of a field will take, worked out once: stages that judge or learn from them ask for it too."""

    @functools.cache
    def estimate() -> Estimate:
        plan = plan_field(field())
        return Estimate(plan.all_debates, plan.calls)

    return estimate


def _judging(config: Config, judge: JudgeConfig, debates: int) -> Calls:
    """Calls of another judge on so many debates of a stage."""
    if judge.model is None or not isinstance(config, (SwissConfig, ConsultancyConfig, self_play.SelfPlayFieldConfig)):
        return Calls()
    judged = config.model_copy(update={"judge": judge, "baselines": ()})
    questions = questions_of(config, config.seed)
    field = Field(judged, questions, (), debates=debates, self_play_debates=0, speeches=0, sides=0)
    prompts = Prompts(Path(config.prompts) if config.prompts else None)
    return judging_all(field, Reader(judge.model, questions, prompts))


def _turns(held: Stage, method: Method) -> int:
    """Different speeches of a stage that a method may learn from, at most: openings are the same in every debate."""
    config = held.config
    if not isinstance(config, (SwissConfig, ConsultancyConfig)):
        return 0
    learned = [
        player
        for player in config.players
        if method == "sft" or any(one.kind == "best_of_n" for one in player.optimizer)
    ]
    sides = 2 * len(questions_of(config, config.seed))
    later = 2 * held.estimate().debates // len(config.players) * (config.protocol.rounds - 1)
    return len(learned) * (sides + later)


def _debates_of(entry: DataConfig) -> int:
    """How many debates an entry gives, at most; none where it cannot be said before they are read."""
    if entry.recorded:
        return entry.limit or 0
    of_fold = sum(entry.fold in {None, question.fold} for question in loaded(entry.debates))
    return min(of_fold, entry.limit or of_fold)
