"""Configuration of ``python -m tournaments.ablate``: one factor, its levels, and what it is varied on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, Self

from pydantic import Field, model_validator

from debate.agents.judge import JudgeConfig
from debate.extensions import is_extension
from debate.models.load import ModelConfig
from debate.protocols import ProtocolConfig
from tournaments.ablation_views import INFORMATION, MARKS
from tournaments.config import FieldConfig, OutcomeConfig, QuestionsConfig, RejudgeConfig, SessionConfig
from tournaments.players import PlayerConfig, SpeechConfig

Factor = Literal["words", "rounds", "marks", "fewshot", "votes", "information"]
Level = int | str

LEVELS: Mapping[Factor, tuple[Level, ...]] = {
    "words": (100, 200, 300),
    "rounds": (1, 2, 3, 4, 5),
    "marks": MARKS,
    "fewshot": (0, 2, 4, 8),
    "votes": (1, 3, 5),
    "information": INFORMATION,
}
_LEAST = {"words": 5, "rounds": 1, "fewshot": 0, "votes": 1}
_MOST = {"words": 2000, "rounds": 20, "fewshot": 64, "votes": 100}
_NAMED = {"marks": MARKS, "information": INFORMATION}


class AblateConfig(SessionConfig, QuestionsConfig, OutcomeConfig):
    """One factor of debates or of their judge, varied on the same questions while all else stays."""

    factor: Factor = Field(
        description="words: limits of a speech; rounds: after which the judge decides; marks: quotes and their marks; "
        "fewshot: judged debates that the judge is shown first; votes: of which its verdict is the majority; "
        "information: what it reads"
    )
    levels: tuple[Level, ...] = Field(
        (),
        description="what the factor is varied over, the first is what the others are compared with; default words "
        "100 200 300, rounds 1 2 3 4 5, marks full arguments quotes stripped swapped, fewshot 0 2 4 8, votes 1 3 5, "
        "information blind debate story both",
    )
    debates: tuple[str, ...] = Field(
        (), description="recorded debates that are judged: run folders, nyu:FILE; none: the player debates itself"
    )
    tags: dict[str, str] = Field({}, description="only recorded debates with these tags")
    examples: str | None = Field(
        None,
        min_length=1,
        description="recorded debates that the judge's examples are of (fewshot); none: the debates themselves, those "
        "on other stories",
    )
    player: PlayerConfig | None = Field(None, description="who debates itself, where no recorded debates are judged")
    judge: JudgeConfig = Field(description="who judges")
    protocol: ProtocolConfig = Field(ProtocolConfig(), description="how a debate goes; one with two speakers")
    speech: SpeechConfig = Field(SpeechConfig(), description="limits and sampling of speeches; words scales them")
    long_stories: Literal["refuse", "window"] = Field(
        "refuse", description="what to do with stories over the player's context: refuse to start, or show a window"
    )

    @model_validator(mode="after")
    def _levels_fit(self) -> Self:
        known = _NAMED.get(self.factor)
        for level in self.levels:
            if known is not None and level not in known:
                raise ValueError(f"levels: {level!r} is no level of {self.factor}; they are {', '.join(known)}")
            if known is None and not (isinstance(level, int) and _LEAST[self.factor] <= level <= _MOST[self.factor]):
                raise ValueError(
                    f"levels: {level!r} is no level of {self.factor}; give whole numbers from {_LEAST[self.factor]} to "
                    f"{_MOST[self.factor]}"
                )
        if len(set(self.levels)) < len(self.levels):
            raise ValueError("levels: one is there twice; give each once")
        if len(self.levels) == 1:
            raise ValueError("levels: one level has nothing to be compared with; give two or more")
        if self.factor == "fewshot" and self.all_levels[0] != 0:
            raise ValueError("levels: the first level of fewshot is 0, the judge without examples")
        return self

    @model_validator(mode="after")
    def _something_to_judge(self) -> Self:
        if self.factor == "words" and self.debates:
            raise ValueError("factor words needs new speeches, which recorded debates do not have; leave debates out")
        if not self.debates and self.player is None:
            raise ValueError("nothing to judge: name recorded debates as arguments, or give a player that makes some")
        if self.examples is not None and self.factor != "fewshot":
            raise ValueError(f"examples are for factor fewshot; {self.factor} shows none, leave examples out")
        if self.protocol.speakers != 2:
            raise ValueError(
                f"protocol.kind: the player debates itself, and a {self.protocol.kind} has one speaker; use another "
                "kind, or judge the recorded consultancies of a run"
            )
        if self.factor in {"votes", "fewshot"} and is_extension(self.judge.kind):
            raise ValueError(
                f"factor {self.factor} changes how a judge is asked, which a judge of your own decides by itself; use "
                "kind letter, reason or vote"
            )
        self.judges()  # holds what every judge must hold
        if self.makes:
            self.field()
        return self

    @property
    def all_levels(self) -> tuple[Level, ...]:
        """The levels, the one that others are compared with first."""
        return self.levels or LEVELS[self.factor]

    @property
    def makes(self) -> bool:
        """Whether debates are made, and none that are recorded are judged."""
        return not self.debates

    def judges(self) -> list[JudgeConfig]:
        """The judge at each level: it is the same but for its votes."""
        if self.factor != "votes":
            return [self.judge for _ in self.all_levels]
        shared = self.judge.model_dump() | {"kind": "vote", "name": self.judge.label}
        return [JudgeConfig.model_validate(shared | {"votes": level}) for level in self.all_levels]

    def speeches(self) -> list[SpeechConfig]:
        """Limits of a speech at each level: at most so many words, all other limits in proportion."""
        if self.factor != "words":
            return [self.speech]
        base = self.speech if self.player is None else self.player.speech or self.speech
        found = []
        for level in map(int, self.all_levels):
            scale = level / base.max_words
            limits = {"max_words": level, "min_words": max(1, round(base.min_words * scale))}
            # A reply holds thinking and marks too, which do not shrink.
            longest = max(base.max_tokens, math.ceil(base.max_tokens * scale))
            found.append(SpeechConfig.model_validate(base.model_dump() | limits | {"max_tokens": longest}))
        return found

    def players(self) -> list[PlayerConfig]:
        """The player at each level; the same but for its words, under a name that says them."""
        if self.player is None:
            return []
        if self.factor != "words":
            return [self.player]
        return [
            self.player.model_copy(update={"name": words_name(level), "speech": speech})
            for level, speech in zip(self.all_levels, self.speeches(), strict=True)
        ]

    def field(self, judge: JudgeConfig | None = None, rounds: int | None = None) -> FieldConfig:
        """The field that makes the debates.

        Args:
            judge: Who judges; none for the judge of the last level.
            rounds: Rounds of a debate; none for as many as are held.
        """
        shared = {name: getattr(self, name) for name in SessionConfig.model_fields | QuestionsConfig.model_fields}
        held = max(map(int, self.all_levels)) if self.factor == "rounds" else self.protocol.rounds
        return FieldConfig(
            **shared,
            outcome=self.outcome,
            players=tuple(self.players()),
            judge=judge or self.judges()[-1],
            protocol=self.protocol.model_copy(update={"rounds": rounds or held}),
            speech=self.speech,
            long_stories=self.long_stories,
        )

    def recorded(self) -> RejudgeConfig:
        """How the recorded debates are read."""
        shared = {name: getattr(self, name) for name in SessionConfig.model_fields}
        return RejudgeConfig(
            **shared,
            sources=self.debates,
            judge=self.judge,
            keep=False,
            limit=self.limit,
            fold=self.fold,
            tags=self.tags,
        )

    @property
    def models(self) -> list[ModelConfig]:
        """The models of the judge, and of the player and whoever is around it."""
        return self.field().models if self.makes else self.judge_models

    @property
    def judge_models(self) -> list[ModelConfig]:
        """The judge's model, and of made debates those of whoever else scores them."""
        if self.makes:
            return self.field().judge_models
        return [] if self.judge.model is None else [self.judge.model]

    @property
    def reward_models(self) -> list[ModelConfig]:
        """The reward models of the player's optimizers."""
        return self.field().reward_models if self.makes else []

    @property
    def kinds(self) -> list[str]:
        """The kinds of judge, player and protocol."""
        return self.field().kinds if self.makes else [self.judge.kind]

    @property
    def example_files(self) -> list[str]:
        """The file of example speeches that the player is shown."""
        return self.field().example_files if self.makes else []


def words_name(level: Level) -> str:
    """The name of the player whose speeches have at most so many words."""
    return f"{level} words"
