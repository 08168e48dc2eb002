"""What the closed loop is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from debate.agents.judge import JudgeConfig
from debate.config import NOT_IN_DIGEST, Config
from debate.models.load import EMBEDDED, ModelConfig, ModelField
from debate.protocols import ProtocolConfig
from tournaments.config import QuestionsConfig, RatingConfig, SessionConfig
from tournaments.optimizing import PreferenceConfig
from tournaments.players import PlayerConfig, SpeechConfig
from training.argument_rows import ArgumentConfig
from training.candidate_pairs import PairConfig
from training.debater_fit import Method, PreferenceSettings
from training.fitting import AdapterSettings, FitSettings
from training.gather import DataConfig

FIRST = "first"
"""What the frozen first judge is called."""
HELD_OUT = "held-out"
"""What the held-out judge is called."""


class FoldsConfig(Config):
    """Which questions are used for what; ``stories`` of the first two are of one iteration, the next takes others."""

    debater: QuestionsConfig = Field(description="debated in the tournaments that debaters learn from; fold debater")
    judge: QuestionsConfig = Field(description="debated to train the judge on; fold judge")
    validation: QuestionsConfig = Field(description="self-play of every player, which measures each iteration")
    test: QuestionsConfig = Field(description="self-play in the final report: how often judges are right; fold test")
    rating: QuestionsConfig = Field(
        description="cross-play in the final report: how persuasive the players are; fold test, on other stories"
    )

    @model_validator(mode="after")
    def _folds(self) -> Self:
        wanted = {"debater": "debater", "judge": "judge", "validation": "validation", "test": "test", "rating": "test"}
        for name, fold in wanted.items():
            given = getattr(self, name)
            if given.fold not in {fold, None}:
                raise ValueError(
                    f"{name}.fold is {given.fold}; it must be {fold}, or none where the source has no folds"
                )
            if name in {"debater", "judge"} and (given.stories is None or given.skip):
                raise ValueError(f"{name}: set stories, how many an iteration takes, and leave out skip, which follows")
        return self


class StartConfig(Config):
    """A judge that the loop begins with: given, or trained on debates first."""

    judge: JudgeConfig | None = Field(None, description="a judge as it is; none to train one on data")
    data: tuple[DataConfig, ...] = Field((), description="debates to train it on")
    fold: Literal["judge", "debater"] = Field("judge", description="of the stories that it is trained on")
    seed: int = Field(0, ge=0, description="of its training")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.judge is None) == (not self.data):
            raise ValueError("give judge, or data to train one on, and not both")
        return self


class JudgeLessonsConfig(Config):
    """The judges, and how they are trained."""

    train: bool = Field(default=True, description="whether each iteration trains a judge; or the first one stays")
    first: StartConfig = Field(description="the first judge, which stays frozen and puts all iterations on one scale")
    held_out: StartConfig | None = Field(
        None,
        description="a judge that nothing is selected by, of other data and another seed, best of another fold",
    )
    data: tuple[DataConfig, ...] = Field((), description="debates that every iteration's judge learns from too")
    fresh: bool = Field(default=False, description="train each judge anew; or it goes on from the one before")
    adapter: AdapterSettings = Field(AdapterSettings(), description="what is trained")
    fit: FitSettings = Field(FitSettings(), description="how the first and the held-out judge are trained")
    later_fit: FitSettings | None = Field(None, description="how later ones are; none: in the same way")
    mass_weight: float = Field(1.0, ge=0, description="as of finetune_judge")


class DebaterLessonsConfig(Config):
    """How debaters are trained."""

    methods: tuple[Method, ...] = Field(
        ("sft", "dpo"),
        description="in order: sft on winning arguments, dpo on the best candidates against the worst; none: the new "
        "debater differs by best-of-N before the new judge alone",
    )
    first: tuple[DataConfig, ...] = Field(
        (), description="debates that a debater learns to speak from before the first iteration, whoever won them"
    )
    start: str | None = Field(None, min_length=1, description="adapter to go on from, instead of first")
    arguments: ArgumentConfig = Field(ArgumentConfig(), description="which speeches sft learns from")
    pairs: PairConfig = Field(PairConfig(), description="which candidates dpo learns from")
    adapter: AdapterSettings = Field(AdapterSettings(), description="what is trained")
    sft: FitSettings = Field(FitSettings(), description="how sft is fitted")
    dpo: FitSettings = Field(FitSettings(learning_rate=2e-4), description="how dpo is fitted")
    preference: PreferenceSettings = Field(PreferenceSettings(), description="how dpo weighs what is better")

    @model_validator(mode="after")
    def _once(self) -> Self:
        if len(set(self.methods)) < len(self.methods):
            raise ValueError(f"methods {list(self.methods)} name one twice; each is done once an iteration")
        if self.first and self.start is not None:
            raise ValueError("give first, debates to begin with, or start, an adapter, and not both")
        return self


class LoopConfig(SessionConfig, RatingConfig):
    """The closed loop."""

    base: ModelField = Field(
        ModelConfig(name=EMBEDDED), description="the model that judges and debaters are trained on: embedded/… or hf/…"
    )
    iterations: int = Field(2, ge=1, description="times that debaters and judges are trained")
    protocol: ProtocolConfig = Field(ProtocolConfig(), description="how a debate goes; or kind consultancy, alone")
    speech: SpeechConfig = Field(SpeechConfig(), description="limits and sampling of speeches")
    players: tuple[PlayerConfig, ...] = Field(min_length=2, description="the first population, names unique")
    anchors: tuple[str, ...] = Field(
        min_length=1, description="names of players that stay whatever happens, such as the extractive one and the base"
    )
    size: int | None = Field(None, ge=2, description="most players of a population; the weakest leaves; none: no limit")
    newcomer: PlayerConfig = Field(
        PlayerConfig(name="debater", model=ModelConfig(name=EMBEDDED)),
        description="the player that each iteration adds, called NAME-1, NAME-2, …; its model gets the new adapter",
    )
    folds: FoldsConfig = Field(description="which questions are used for what")
    judge: JudgeLessonsConfig = Field(description="the judges")
    debater: DebaterLessonsConfig = Field(DebaterLessonsConfig(), description="how debaters are trained")
    concessions: JudgeConfig | None = Field(
        None, description="who finds speakers that give their side away; none for no such search"
    )
    rounds: int | None = Field(None, ge=1, description="rounds of a tournament; default ceil(log2 players) + 2")
    long_stories: Literal["refuse", "window"] = Field("refuse", description="as in a tournament")
    launcher: tuple[str, ...] = Field(
        (),
        description="words that start a training in processes of its own, such as [accelerate, launch, "
        "--config_file, configs/accelerate/ddp.yaml]; none: in this process",
        json_schema_extra=NOT_IN_DIGEST,
    )

    @property
    def alone(self) -> bool:
        """Whether consultants argue alone, instead of debaters against each other."""
        return self.protocol.speakers == 1

    @property
    def models(self) -> list[ModelConfig]:
        """All models that are known beforehand; adapters come later."""
        players = (*self.players, self.newcomer)
        optimizers = [one for player in players for one in player.optimizer]
        judges = [start.judge for start in (self.judge.first, self.judge.held_out) if start is not None]
        judges += [self.concessions, *(one.preference for one in optimizers)]
        asked = [self.base, *(player.model for player in players), *(one.critic for one in optimizers)]
        asked += [self.protocol.questioner.model, *(judge.model for judge in judges if judge is not None)]
        return [model for model in asked if model is not None]

    @property
    def trained(self) -> list[str]:
        """The names of all adapters that come."""
        starts = {FIRST: self.judge.first, HELD_OUT: self.judge.held_out}
        names = [name for name, start in starts.items() if start is not None and start.judge is None]
        names += [self.named(0)] if self.debater.first else []
        for number in range(1, self.iterations + 1):
            names += [self.judge_named(number)] if self.judge.train else []
            names += [self.lesson_named(number, method) for method in self.debater.methods]
        return names

    def judge_named(self, number: int) -> str:
        """Return what the judge of an iteration is called."""
        return f"judge-{number}"

    def lesson_named(self, number: int, method: Method) -> str:
        """Return what the adapter of one of a debater's lessons is called; the last one's is the debater's."""
        return self.named(number) if method == self.debater.methods[-1] else f"{self.named(number)}-{method}"

    def named(self, number: int) -> str:
        """Return what the debater of an iteration is called; that of the first lesson is number 0."""
        return f"{self.newcomer.name}-{number}"

    @model_validator(mode="after")
    def _names(self) -> Self:
        names = [player.name for player in self.players]
        made = [self.named(number) for number in range(0 if self.debater.first else 1, self.iterations + 1)]
        double = sorted(name for name, count in Counter([*names, *made]).items() if count > 1)
        if double:
            raise ValueError(f"player named twice: {', '.join(double)}; give every player a name of its own")
        missing = [name for name in self.anchors if name not in names]
        if missing:
            raise ValueError(f"anchors: there is no player {missing[0]!r} among players; anchors are some of them")
        most = len(self.anchors) + 1
        if self.size is not None and self.size < most:
            raise ValueError(
                f"size {self.size} has no room for {len(self.anchors)} anchors and the newest; allow {most}"
            )
        return self

    @model_validator(mode="after")
    def _something_changes(self) -> Self:
        trained = bool(self.debater.methods)
        best = any(one.kind == "best_of_n" for one in self.newcomer.optimizer)
        if not trained and not self.judge.train:
            raise ValueError("neither the debater nor the judge is trained, so nothing would change; train one of them")
        if not trained and not best:
            raise ValueError(
                "debater.methods is empty, so the newcomer needs an optimizer of kind best_of_n: the new judge is then "
                "what it chooses by"
            )
        if trained and (self.newcomer.model is None or self.newcomer.model.name != self.base.name):
            raise ValueError(f"newcomer.model must be the base, {self.base.name}, whose adapter it gets")
        if self.newcomer.model is not None and self.newcomer.model.adapter is not None:
            raise ValueError("newcomer.model has an adapter, and gets one; name it as debater.start")
        return self

    @model_validator(mode="after")
    def _learns_what_is_asked(self) -> Self:
        speech = self.newcomer.speech or self.speech
        for key, learned in (("sft", self.debater.arguments), ("dpo", self.debater.pairs)):
            limits = (learned.min_words, learned.max_words)
            if key in self.debater.methods and limits != (speech.min_words, speech.max_words):
                raise ValueError(
                    f"{key} learns to answer prompts for {limits[0]} to {limits[1]} words, but the newcomer is asked "
                    f"for {speech.min_words} to {speech.max_words}; give both the same"
                )
        if "dpo" in self.debater.methods and not any(
            one.kind == "best_of_n" for player in (*self.players, self.newcomer) for one in player.optimizer
        ):
            raise ValueError("dpo learns from candidates, and no player has the optimizer best_of_n; give one to some")
        return self


def settled(player: PlayerConfig, judge: JudgeConfig) -> PlayerConfig:
    """Fix what a player's optimizers choose by, so that it stays the same player before whatever judge.

    Args:
        player: A player.
        judge: The preference model of optimizers that name none.

    Returns:
        The player.
    """
    likes = PreferenceConfig.model_validate(judge.model_dump())
    optimizers = tuple(
        one if one.preference is not None else one.model_copy(update={"preference": likes}) for one in player.optimizer
    )
    return player.model_copy(update={"optimizer": optimizers})


def weakest(population: Mapping[str, float | None], anchors: tuple[str, ...]) -> str | None:
    """Return who leaves a population: the least persuasive one that is no anchor.

    Args:
        population: How persuasive each is; None where that is not known, such as of a newcomer, who stays.
        anchors: Who stays anyway.

    Returns:
        A name, the later of equals; None where nobody can leave.
    """
    known = [(value, name) for name, value in population.items() if value is not None and name not in anchors]
    return min(reversed(known), key=lambda pair: pair[0])[1] if known else None
