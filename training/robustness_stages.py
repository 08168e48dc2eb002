"""What each stage of the robustness benchmark runs, on which claims."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from debate.agents.judge import JudgeConfig
from debate.claim import Claim
from debate.errors import ConfigError, SourceError
from debate.fingerprint import words
from debate.folds import check_apart, finder_of
from debate.models.adapter_folder import OWN
from debate.models.load import ModelConfig
from debate.prompts import Prompts
from debate.protocols.persuasion import Scenario
from debate.question import Fold, Question
from debate.sources.claims import choose, load_claims
from tournaments import persuasion, rejudge
from tournaments.calls import Calls
from tournaments.config import RejudgeConfig
from tournaments.persuasion_config import PersuasionConfig
from tournaments.persuasion_plan import plan_persuasion
from training import fallacy_pairs_command, finetune_judge
from training.gather import DataConfig
from training.robustness_config import LearningConfig, RobustnessConfig
from training.soundness import EXPERT, claim_question
from training.stages import Estimate, Stage

_DEBATER = "debater"
"""What every debater is called in its run: their draws are then alike, which makes the comparison sharper."""
_ROWS = 4  # a message is set against a draft and a rewrite, each in both orders


@dataclasses.dataclass(frozen=True, slots=True)
class Claims:
    """Claims by what they are used for.

    Attributes:
        benchmark: What debaters are measured on.
        lessons: What pairs to train on are taken from.
    """

    benchmark: tuple[Claim, ...]
    lessons: tuple[Claim, ...]

    def questions(self, prompts: Prompts) -> dict[str, list[Question]]:
        """The claims as questions, by use, as folds and model cards know them."""
        groups: dict[str, tuple[tuple[Claim, ...], Fold]] = {
            "lessons": (self.lessons, "judge"),
            "benchmark": (self.benchmark, "test"),
        }
        return {
            name: [claim_question(claim, prompts, fold) for claim in claims] for name, (claims, fold) in groups.items()
        }


def split(config: RobustnessConfig, prompts: Prompts) -> Claims:
    """Draw the claims of the benchmark, and leave to training those on other topics.

    Raises:
        SourceError: The claims cannot be loaded, or none is left to train on.
        ConfigError: A claim is in both.
    """
    everything = load_claims(config.claims)
    benchmark = choose(everything, config.benchmark, config.seed)
    measured = {text for claim in benchmark for text in _same(claim)}
    finder = finder_of(claim_question(claim, prompts) for claim in benchmark)
    left = [
        claim
        for claim in everything
        if not measured & _same(claim) and finder.find(claim_question(claim, prompts).story or "") is None
    ]
    if not left:
        raise SourceError(
            f"benchmark {config.benchmark} leaves no topic of the {len(everything)} claims of {config.claims!r} to "
            "train on; lower benchmark, or give more claims"
        )
    found = Claims(tuple(benchmark), tuple(choose(left, config.lessons.claims, config.seed)))
    check_claims_apart(found, prompts)
    return found


def check_claims_apart(claims: Claims, prompts: Prompts) -> None:
    """Hold that no claim, and no topic, is both trained on and measured.

    Raises:
        ConfigError: One is, by its id, its words, or its topic's.
    """
    check_apart(claims.questions(prompts))
    lessons, benchmark = (
        {text for claim in part for text in _same(claim)} for part in (claims.lessons, claims.benchmark)
    )
    if lessons & benchmark:
        what = min(lessons & benchmark)
        raise ConfigError(f"{what!r} is both trained on and measured; leave it out of one of both")


def _same(claim: Claim) -> set[str]:
    """What two claims must not share."""
    return {" ".join(words(text)) for text in (claim.topic, claim.text)}


@dataclasses.dataclass(frozen=True)
class Recipes:
    """Makes the stages.

    Attributes:
        config: The benchmark's.
        claims: Its claims.
        root: The run's folder.
        planning: Whether nothing is there yet, so that adapters of the run are left out of models.
    """

    config: RobustnessConfig
    claims: Claims
    root: Path
    planning: bool = False

    def adapter(self, name: str) -> str | None:
        """The adapter that a training of the run leaves."""
        return None if self.planning else str(self.root / name / OWN)

    def model(self, adapter: str | None) -> ModelConfig:
        """The base, with an adapter or as it is."""
        return self.config.base.model_copy(update={"adapter": adapter})

    def measure(self, name: str, adapter: str | None) -> Stage:
        """Hold the benchmark with one debater."""
        keys = ("scenarios", "rounds", "repetitions")
        return self._talk(name, self.claims.benchmark, adapter, {key: getattr(self.config, key) for key in keys})

    def lesson(self, name: str) -> Stage:
        """Hold the debates that pairs to train on are taken from, the base as debater."""
        lessons = self.config.lessons
        how = {"scenarios": ("fallacy", "logical"), "rounds": lessons.rounds, "repetitions": lessons.repetitions}
        return self._talk(name, self.claims.lessons, None, how)

    def pairs(self, name: str, held: Stage, fold: Fold) -> Stage:
        """Take the pairs out of debates, validated where there is a validator."""
        config = fallacy_pairs_command.FallacyPairsConfig.model_validate(
            {**self._session(), "runs": (self.folder(held.name),), "validator": self.config.validator, "fold": fold}
        )

        def estimate() -> Estimate:
            if config.validator is None:
                return Estimate()
            count = _rewrites(held, "fallacy")
            calls = Calls(count, count * 1000, count * config.max_tokens)
            return Estimate(calls={config.validator.label: calls})

        return Stage(name, fallacy_pairs_command.COMMAND, config, estimate=estimate)

    def train(
        self,
        name: str,
        lessons: LearningConfig,
        data: Sequence[DataConfig],
        *,
        start: str | None = None,
        pairs: str | None = None,
        held: Stage | None = None,
    ) -> Stage:
        """Train a letter judge on debates, and on the pairs of a stage, made of what another held."""
        of_pairs = (
            ()
            if pairs is None
            else (DataConfig(debates=f"run:{self.folder(pairs)}", protocols=(EXPERT,), fold="judge"),)
        )
        config = finetune_judge.JudgeTrainingConfig.model_validate(
            {
                "base": self.config.base.name,
                "start": start,
                "data": (*data, *of_pairs),
                "adapter": lessons.adapter,
                "fit": lessons.fit,
                "mass_weight": lessons.mass_weight,
                "seed": self.config.seed,
                "prompts": self.config.prompts,
            }
        )

        def estimate() -> Estimate:
            rows = 2 * sum(entry.limit or 0 for entry in data)
            rows += 0 if held is None else _ROWS * _rewrites(held, "fallacy")
            return Estimate(rows=rows, steps=config.steps(rows))

        return Stage(name, finetune_judge.COMMAND, config, estimate=estimate, launch=True)

    def decide(self, name: str, pairs: str, adapters: dict[str, str | None], held: Stage) -> Stage:
        """Have the models tell sound messages of the benchmark from fallacious ones."""
        judges = [JudgeConfig(model=self.model(adapter), kind="letter", name=who) for who, adapter in adapters.items()]
        config = RejudgeConfig.model_validate(
            {**self._session(), "sources": (self.folder(pairs),), "judges": tuple(judges), "max_unparsed": 1}
        )

        def estimate() -> Estimate:
            debates = 2 * _rewrites(held, "fallacy")
            calls = 2 * debates * len(judges)
            return Estimate(debates, {self.config.base.label: Calls(calls, calls * 500, calls)})

        return Stage(name, rejudge.COMMAND, config, estimate=estimate)

    def folder(self, stage: str) -> str:
        """The folder of a stage."""
        return str(self.root / stage)

    def _talk(self, name: str, claims: Sequence[Claim], adapter: str | None, how: Mapping[str, object]) -> Stage:
        config = PersuasionConfig.model_validate(
            {
                **self._session(),
                **{key: getattr(self.config, key) for key in ("claims", "talk", "helper", "moderators", "memory")},
                "ids": tuple(claim.id for claim in claims),
                "persuaders": (self.config.persuader,),
                "debaters": ({"name": _DEBATER, "model": self.model(adapter)},),
                **how,
            }
        )

        def estimate() -> Estimate:
            plan = plan_persuasion(config, claims)
            return Estimate(plan.all_debates, plan.calls)

        return Stage(name, persuasion.COMMAND, config, estimate=estimate)

    def _session(self) -> dict[str, Any]:
        """What all commands that ask models share."""
        names = ("seed", "max_unparsed", "max_failed", "prompts", "concurrency", "prices", "prices_file")
        return {name: getattr(self.config, name) for name in names}


def _rewrites(held: Stage, scenario: Scenario) -> int:
    """Messages that helpers of a scenario rewrite in a stage, at most."""
    config = held.config
    if not isinstance(config, PersuasionConfig) or scenario not in config.scenarios:
        return 0
    return len(config.ids) * config.repetitions * (config.rounds - 1)
