"""The configuration of a judge room: what people judge there, how, and where the room is reached."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from debate.config import NOT_IN_DIGEST, Config, read_tree
from debate.errors import ConfigError
from debate.metrics.raters import RULES, Rules
from debate.models.load import ModelConfig
from debate.question import Fold
from debate.run_folder import CONFIG, check_is_run
from tournaments.config import FieldConfig, RatingConfig, RejudgeConfig, SessionConfig

MAX_EXPLANATION = 5000  # characters


class RulesConfig(Config):
    """When a person's judgements are kept; the right answers have no part in it."""

    judgements: int = Field(RULES.judgements, ge=1, description="with fewer there is too little to tell by")
    agreement: float = Field(RULES.agreement, ge=0, le=1, description="least share of others who name the same answer")
    words: float = Field(RULES.words, ge=0, description="least median length of an explanation")
    unique: float = Field(RULES.unique, ge=0, le=1, description="least share of explanations that repeat no other")
    refers: float = Field(RULES.refers, ge=0, le=1, description="least share of those that take up the debate")
    shared: int = Field(RULES.shared, ge=1, description="words of a debate that take it up")

    @property
    def rules(self) -> Rules:
        """The rules."""
        return Rules(**self.model_dump())


def _listed(names: object) -> object:
    """One name is short for a list of one."""
    return (names,) if isinstance(names, str) else names


class RoomConfig(SessionConfig, RatingConfig):
    """A room in which people judge recorded debates, or debates that are held for them."""

    sources: tuple[str, ...] = Field((), description="run folders (DIR or run:DIR), published debates (nyu:FILE)")
    mode: Literal["judge", "tag", "table"] = Field(
        "judge",
        description="judge: people judge; tag: errors are tagged in what was judged, right answers and stories shown; "
        "table: print what there is, without a server",
        json_schema_extra=NOT_IN_DIGEST,
    )
    format: Literal["table", "json"] = Field(
        "table", description="how mode table prints", json_schema_extra=NOT_IN_DIGEST
    )
    fold: Fold | None = Field(None, description="only debates on stories of this fold")
    limit: int | None = Field(None, ge=1, description="about so many debates, as in rejudge")
    tags: dict[str, JsonValue] = Field({}, description="only debates with these tags, as in rejudge")
    blind: bool = Field(default=False, description="questions without any debate too, where the sources have them")
    beliefs: bool = Field(
        default=False, description="reveal a debate round by round, and ask for a belief after each but the last"
    )
    feedback: bool = Field(default=False, description="show the right answer once a debate is judged, never before")
    min_words: int = Field(10, ge=1, le=200, description="fewest words of an explanation")
    people: int = Field(3, ge=1, description="people who judge a debate before others are begun")
    repeat: bool = Field(default=False, description="give a person several debates on one question")
    live: bool = Field(
        default=False,
        description="hold each debate anew for each person, with the players of the run, who answer the person's "
        "questions; sources is one run folder then",
    )
    field: FieldConfig | None = Field(None, description="players of live debates; none for those of the run")
    host: str = Field(
        "127.0.0.1", min_length=1, description="address to listen at; not a loopback one needs a link with a token",
        json_schema_extra=NOT_IN_DIGEST,
    )  # fmt: skip
    port: int = Field(8765, ge=0, le=65535, description="0 for any free one", json_schema_extra=NOT_IN_DIGEST)
    names: Annotated[tuple[str, ...], BeforeValidator(_listed)] = Field(
        (),
        description="further host names that people reach the room by; one, or a list",
        json_schema_extra=NOT_IN_DIGEST,
    )
    rules: RulesConfig = Field(
        RulesConfig(), description="whose judgements are kept", json_schema_extra=NOT_IN_DIGEST
    )  # fmt: skip

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.feedback and self.repeat:
            raise ValueError("feedback on one debate gives away the next on the same question; leave out repeat")
        if self.live and len(self.sources) != 1:
            raise ValueError(f"live debates are held by the players of one run, and there are {len(self.sources)}")
        if self.live and self.blind:
            raise ValueError("nothing is held for a question without a debate; leave out blind, or live")
        return self

    @property
    def choice(self) -> RejudgeConfig:
        """Which debates: chosen as if they were judged again by models."""
        tree = {"sources": self.sources, "limit": self.limit, "fold": self.fold, "tags": self.tags, "seed": self.seed}
        return RejudgeConfig.model_validate(tree)

    @property
    def speaking(self) -> FieldConfig | None:
        """The players of live debates, before a person: nobody else judges or asks.

        The judge's model stays where an optimizer takes it as its preference model.
        """
        if self.field is None:
            return None
        optimizers = [one for player in self.field.players for one in player.optimizer]
        judge = self.field.judge
        if all(one.preference is not None for one in optimizers):
            judge = judge.model_copy(update={"model": None})
        questioner = self.field.protocol.questioner.model_copy(update={"model": None})
        changes: dict[str, object] = {"static": False, "questioner": questioner}
        if self.field.protocol.speakers == 2:
            changes["kind"] = "interactive"
        return self.field.model_copy(
            update={"judge": judge, "baselines": (), "protocol": self.field.protocol.model_copy(update=changes)}
        )

    @property
    def models(self) -> list[ModelConfig]:
        """The models of live debates."""
        return [] if self.speaking is None else self.speaking.models

    @property
    def judge_models(self) -> list[ModelConfig]:
        """Those of them that score: preference models."""
        return [] if self.speaking is None else self.speaking.judge_models

    @property
    def reward_models(self) -> list[ModelConfig]:
        """Those of them that give rewards."""
        return [] if self.speaking is None else self.speaking.reward_models

    @property
    def kinds(self) -> list[str]:
        """The kinds of the players of live debates."""
        return [] if self.field is None else self.field.kinds

    @property
    def example_files(self) -> list[str]:
        """Files of example speeches of those players."""
        return [] if self.field is None else self.field.example_files


def with_field(config: RoomConfig) -> RoomConfig:
    """Take the players of live debates from the run whose debates they are, where the configuration names none.

    Args:
        config: The configuration.

    Returns:
        The same where debates are not live.

    Raises:
        ConfigError: The source is no run of players.
    """
    if not config.live or config.field is not None:
        return config
    folder = Path(config.sources[0].removeprefix("run:")).expanduser()
    check_is_run(folder)
    tree = read_tree(folder / CONFIG)
    if not tree.get("players") or not tree.get("judge"):
        raise ConfigError(
            f"{folder} is no run of players, so nobody could speak live; give the run that held its debates"
        )
    known = {key: value for key, value in tree.items() if key in FieldConfig.model_fields}
    return RoomConfig.model_validate({**config.model_dump(), "field": known})
