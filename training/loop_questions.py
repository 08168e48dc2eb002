"""The questions of a loop: which are used for what, and that no story is used for two things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from debate.card import check_judge_unseen
from debate.errors import SourceError
from debate.folds import check_apart, check_folds
from debate.models.adapter_folder import OWN
from debate.models.load import check_access, check_labels
from debate.question import Question
from debate.sources import select
from training.gather import DataConfig
from training.loop_config import LoopConfig
from training.loop_stages import loaded, questions_of, slice_of

Groups = dict[str, list[Question]]


def lessons_of(config: LoopConfig) -> dict[str, tuple[DataConfig, ...]]:
    """What debates trainings learn from that the loop does not hold, by who learns."""
    judge, held_out = config.judge, config.judge.held_out
    return {
        "judge.held_out": () if held_out is None else held_out.data,
        "judge.first and judge.data": tuple(dict.fromkeys((*judge.first.data, *judge.data))),
        "debater.first": config.debater.first,
    }


def questions_by_use(config: LoopConfig) -> Groups:
    """Choose all questions of a loop, by what they are used for.

    Raises:
        SourceError: A source is wrong, or has too few stories for all iterations.
        ConfigError: A story is used for two things, which would be recalled instead of argued about.
        FoldError: A story is in two folds.
    """
    found: Groups = {}
    for name, data in lessons_of(config).items():
        found[name] = [question for entry in data for question in _lesson(entry)]
    for name in ("debater", "judge"):
        if name == "judge" and not config.judge.train:
            continue
        chosen = getattr(config.folds, name)
        found[name] = []
        for number in range(1, config.iterations + 1):
            part = questions_of(slice_of(chosen, number), config.seed)
            stories = len({question.story_id for question in part})
            if stories < chosen.stories:
                raise SourceError(
                    f"folds.{name}: {chosen.source!r} has {stories} of {chosen.stories} stories left for iteration "
                    f"{number}; name a larger source, or lower stories or iterations"
                )
            found[name] += part
    for name in ("validation", "rating", "test"):
        found[name] = questions_of(getattr(config.folds, name), config.seed)
    check_apart({f"folds.{name}" if hasattr(config.folds, name) else name: of for name, of in found.items()})
    check_folds([question for of in found.values() for question in of])
    return found


def _lesson(entry: DataConfig) -> list[Question]:
    """The questions behind debates that are made; recorded ones name their stories when they are read."""
    if entry.recorded:
        return []
    known = [question.pair() for question in loaded(entry.debates) if question.gold is not None]
    return select(known, fold=entry.fold, limit=entry.limit, seed=entry.seed)


def check_start(config: LoopConfig, groups: Mapping[str, Sequence[Question]]) -> None:
    """Find out what would stop a loop, before its first stage.

    Args:
        config: The loop's.
        groups: What ``questions_by_use`` found.

    Raises:
        DissoiError: A model cannot be had, an adapter is called like one that the loop will train, or a judge was
            trained on a story that it would score.
    """
    for model in config.models:
        check_access(model)
    coming = (config.base.model_copy(update={"adapter": f"(this run)/{name}/{OWN}"}) for name in config.trained)
    check_labels([*config.models, *coming])
    apart = [question for name in ("validation", "rating", "test") for question in groups[name]]
    scored = [*groups["debater"], *groups.get("judge", ()), *apart]
    for start, questions in ((config.judge.first, scored), (config.judge.held_out, apart)):
        if start is not None and start.judge is not None and start.judge.model is not None:
            check_judge_unseen(start.judge.model, questions)
    if config.concessions is not None and config.concessions.model is not None:
        check_judge_unseen(config.concessions.model, apart)
