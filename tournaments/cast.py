"""Casts: what the players and judges of a run are by its configuration, so that names can be compared across runs.

One name in two runs is one player only if it was configured alike: by its ``PlayerConfig`` with the limits of its
speeches, by the weights of its model, and by the templates that both runs know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pydantic
from pydantic import TypeAdapter

from debate.agents.judge import JudgeConfig
from debate.config import Config, Tree, read_tree, results_tree
from debate.errors import ConfigError, StoreError
from debate.run_folder import CONFIG, RunFolder, read_models
from tournaments.players import PlayerConfig, SpeechConfig

CAST = "cast.json"
C = TypeVar("C", bound=Config)


@dataclass(frozen=True, slots=True)
class Member:
    """What decides what a player or a judge of some name does.

    Attributes:
        config: Its configuration, without what cannot change results.
        weights: A digest of its model's weights, where it is known.
        prompts: Digests of the templates that it may use, by name.
    """

    config: Tree
    weights: str | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)

    def same(self, other: Member) -> bool:
        """Whether two members are one; a template that one run did not know yet makes no difference."""
        shared = self.prompts.keys() & other.prompts.keys()
        return (
            self.config == other.config
            and (self.weights == other.weights or None in {self.weights, other.weights})
            and all(self.prompts[name] == other.prompts[name] for name in shared)
        )


@dataclass(frozen=True, slots=True)
class Cast:
    """The players and judges of a run, by name.

    Attributes:
        players: Its players; people and models of published debates are not among them.
        judges: Its judges, by the names that their verdicts are filed under.
    """

    players: Mapping[str, Member] = field(default_factory=dict)
    judges: Mapping[str, Member] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kept:
    """What a run of ``rejudge`` writes down of its sources once their debates are in its store.

    Attributes:
        cast: Who took part in them.
        judges: Whose verdicts came with them, in order.
        notes: What a reader must know of how they were brought together.
        verdicts: How many verdicts came with them: so many of the store's are theirs, the first; None where that was
            not written down.
    """

    cast: Cast
    judges: Sequence[str] = ()
    notes: Sequence[str] = ()
    verdicts: int | None = None


_KEPT = TypeAdapter(Kept)


def cast_of(folder: Path) -> Cast:
    """Read a run's cast from its configuration, and from what a run of ``rejudge`` wrote down of its sources.

    Args:
        folder: The run's folder.

    Returns:
        The cast. What a configuration of another version names is compared as it stands there.

    Raises:
        ConfigError: The configuration cannot be read.
        StoreError: What was written down of sources or models cannot be read.
    """
    tree = read_tree(folder / CONFIG)
    prompts = (tree.get("provenance") or {}).get("prompts") or {}
    weights = weights_of(read_models(folder))
    speech = tree.get("speech")
    players = {
        str(player["name"]): member_of(
            PlayerConfig, {**player, "speech": player.get("speech") or speech}, weights, prompts
        )
        for player in _mappings(tree.get("players"))
        if "name" in player
    }
    judges: dict[str, Member] = {}
    for judge in _mappings([tree.get("judge"), *(tree.get("judges") or [])]):
        member = member_of(JudgeConfig, judge, weights, prompts)
        judges |= dict.fromkeys(_filed_under(judge), member)
    kept = read_kept(folder)
    if kept is None:
        return Cast(players, judges)
    # Verdicts that came with the debates stand under their own judge's name, whatever this run asked under it.
    return Cast({**players, **kept.cast.players}, {**judges, **kept.cast.judges})


def member_of(kind: type[C], tree: Mapping[str, Any], weights: Mapping[str, str], prompts: Mapping[str, str]) -> Member:
    """Make the member that a configuration describes.

    Args:
        kind: ``PlayerConfig`` or ``JudgeConfig``.
        tree: Its part of a configuration; a player's with the limits of its speeches.
        weights: Digests of the run's models, by name.
        prompts: Digests of the run's templates, by name.

    Returns:
        The member; what has no model uses no template.
    """
    judging = issubclass(kind, JudgeConfig)
    own = {name: digest for name, digest in prompts.items() if name.startswith("judge") == judging}
    try:
        config = kind.model_validate({key: value for key, value in tree.items() if value is not None})
    except pydantic.ValidationError:  # of another version: as it stands
        return Member(dict(tree), None, own)
    shown = results_tree(config)
    if isinstance(config, PlayerConfig):
        speech = config.speech or SpeechConfig()
        # What samples has sampling; what has no model differs by its limits alone.
        limits = results_tree(speech) if config.model else {"min": speech.min_words, "max": speech.max_words}
        shown["speech"] = limits
    model = config.model if isinstance(config, (PlayerConfig, JudgeConfig)) else None
    return Member(shown, weights.get(model.label), own) if model is not None else Member(shown)


def _filed_under(judge: Mapping[str, Any]) -> list[str]:
    """The names that a judge's verdicts may be filed under: a letter judge can have become a vote."""
    try:
        config = JudgeConfig.model_validate(judge)
    except pydantic.ValidationError:
        return [str(judge["name"])] if judge.get("name") else []
    return [config.label, f"{config.label} by vote of {config.votes}"]


def write_kept(run: RunFolder, kept: Kept) -> None:
    """Write down what came from a run's sources, whole or not at all: its debates are all in the store by now."""
    run.write_json(CAST, _KEPT.dump_python(kept, mode="json"))


def read_kept(folder: Path) -> Kept | None:
    """Read what ``write_kept`` wrote, or None where the run has no sources, or was stopped before they were kept.

    Raises:
        StoreError: It cannot be read.
    """
    try:
        return _KEPT.validate_json((folder / CAST).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, pydantic.ValidationError) as error:
        raise StoreError(f"cannot read {folder / CAST}: {error}; restore it from a copy or start a new run") from error


def weights_of(models: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Digests of models' weights by the models' names, from what a run wrote down of its models."""
    return {facts.get("model", name): facts["digest"].partition(":")[0] for name, facts in models.items()}


def _mappings(values: object) -> Iterable[Mapping[str, Any]]:
    return [value for value in values if isinstance(value, Mapping)] if isinstance(values, list) else []


def check_judge_same(name: str, ours: Member, theirs: Member | None) -> None:
    """Hold that a judge that is asked is the one whose verdicts on some of the debates are kept under its name.

    Raises:
        ConfigError: It is another, or it is not known what the other was.
    """
    if theirs is None or not ours.same(theirs):
        raise ConfigError(
            f"judge {name!r} has judged debates of these sources already, as another configuration; give this one a "
            "name of its own (judge.name), or set keep: false to leave the verdicts of the sources out"
        )
