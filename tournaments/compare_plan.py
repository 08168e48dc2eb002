"""What a comparison of optimizers will take: variants of one player share samples, critiques and scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from debate.models.load import ModelConfig, capabilities_of
from debate.prompts import Prompts
from debate.protocols import build_protocol
from debate.question import Question
from tournaments.calls import Calls
from tournaments.config import CompareConfig
from tournaments.contexts import (
    ReaderOf,
    check_judge,
    check_player_examples,
    check_preferences,
    check_questioner,
    story_room,
)
from tournaments.lengths import Reader
from tournaments.optimizer_calls import Need, Reply, need_calls
from tournaments.plan import (
    Field,
    Plan,
    asking_calls,
    is_short,
    judging_all,
    plan_notes,
    ranking_calls,
    sampling_calls,
)
from tournaments.variants import Variant

Asked = Iterator[tuple[ModelConfig, Calls]]


def shared_opening(variants: Sequence[Variant], reply: Reply) -> Need:
    """Count what one opening takes for all variants together.

    All have the same prompt and draw in one stream: the largest best-of-N holds the samples of the others, and their
    scores under the same preference model. The largest K holds the critiques of the others, where the same speech is
    criticised; a refinement follows another critique in each variant.

    Args:
        variants: All of them.
        reply: How the opponent replies to openings, where replies are sampled.

    Returns:
        Counts for one question and side.
    """
    needs = {variant.name: variant.need_for(reply) for variant in variants}
    scores: dict[str, int] = {}
    critiques: dict[tuple[int, str], int] = {}
    for variant in variants:
        label, wanted = variant.preference.label, needs[variant.name]
        scores[label] = max(scores.get(label, 0), variant.n * _shown(wanted))
        # The first sample is criticised whoever scores it; the best of n depends on that.
        start = (variant.n, label if variant.n > 1 else "")
        critiques[start] = max(critiques.get(start, 0), variant.critiques)
    refined = [variant for variant in variants if variant.critiques]
    critic = next((model for variant in refined for model, _ in needs[variant.name].critiques), None)
    likes = {variant.preference.label: variant.preference for variant in variants}
    samples, replies = (max(getattr(wanted, what) for wanted in needs.values()) for what in ("samples", "replies"))
    if reply == "each":  # whoever scores a candidate, the replies to it are the same
        replies = (samples + len(refined)) * needs[variants[0].name].replies
    return Need(
        samples=samples,
        replies=replies,
        refinements=len(refined),
        critiques=((critic, sum(critiques.values())),) if refined else (),
        scores=(
            *((likes[label], count) for label, count in scores.items()),
            *((variant.preference, _shown(needs[variant.name])) for variant in refined),
        ),
        choices=tuple(choice for variant in refined for choice in needs[variant.name].choices),
    )


def _shown(wanted: Need) -> int:
    """Verdicts on one candidate; every sample and every refinement is scored once."""
    return sum(count for _, count in wanted.scores) // (wanted.samples + wanted.refinements)


def plan_comparison(config: CompareConfig, questions: Sequence[Question]) -> Plan:
    """Count what a comparison takes, at most: variants that come to say the same share what follows from it.

    Args:
        config: The configuration.
        questions: Its questions.

    Returns:
        The plan; debates are counted once, whoever judges them.

    Raises:
        ContextError: The context of a model is too short for the longest debate.
    """
    prompts = Prompts(Path(config.prompts) if config.prompts else None)
    readers: dict[str, Reader] = {}

    def reader_of(model: ModelConfig) -> Reader:
        key = model.model_dump_json()
        return readers.get(key) or readers.setdefault(key, Reader(model, questions, prompts))

    variants = config.variants
    playing = sum(variant.plays for variant in variants)
    each = len(questions) * len(build_protocol(config.protocol).seatings(questions[0]))
    field = Field(
        config.field(config.judges[0]),
        questions,
        questions,
        debates=(playing - 1) * 2 * each,
        self_play_debates=playing * each,  # a base under another preference model says the same once more
        speeches=4 * each,
        sides=2 * len(questions),
    )
    calls: dict[str, Calls] = {}
    for model, spent in (*_speaking(config, field, each, reader_of), *_judging(config, field, reader_of)):
        calls[model.label] = calls.get(model.label, Calls()) + spent
    too_long, story_tokens = _windows(config, field, reader_of)
    notes = dict.fromkeys(note for judge in config.judges for note in plan_notes(config.field(judge)))
    return Plan(field.debates, len(variants) * each, 0, calls, too_long, story_tokens, tuple(notes))


def _later(variant: Variant, field: Field, each: int, others: int) -> dict[Reply, int]:
    """Speeches of a variant after the shared openings, in self-play and in its matches; of the base, in those of all.

    Returns:
        Counts by how the opponent replies.
    """
    matches = 0 if not variant.plays else 2 * each * (others if variant.is_base else 1)
    found = dataclasses.replace(field, speeches=2 * each + matches).turns_by_reply
    found[next(iter(found))] -= round(field.sides)
    return found


def _speaking(config: CompareConfig, field: Field, each: int, reader_of: ReaderOf) -> Asked:
    """Calls to the player's model, to critics and to preference models."""
    variants, player, openings = config.variants, config.player, round(field.sides)
    if player.model is None:  # the configuration has checked this
        return
    others = sum(variant.plays for variant in variants) - 1
    later = {variant.name: _later(variant, field, each, others) for variant in variants}
    shared = shared_opening(variants, next(iter(field.turns_by_reply)))
    samples = openings * shared.samples
    if is_short(player, field):  # what is said to a refined speech may bring other quotes, so that is drawn apart
        samples *= field.rounds
        drawn = [variant for variant in variants if variant.critiques]
    else:
        drawn = [variant for variant in variants if variant.plays]
    samples += sum(sum(later[variant.name].values()) * variant.need.samples for variant in drawn)
    reader = reader_of(player.model)
    yield player.model, sampling_calls(samples, player, field, reader)
    yield player.model, ranking_calls(player, field, reader, set())
    yield from need_calls(shared, openings, player, field, reader_of)
    for variant in variants:
        for reply, turns in later[variant.name].items():
            wanted = variant.need_for(reply)
            wanted = wanted if variant.plays else Need(scores=wanted.scores)
            yield from need_calls(wanted, turns, player, field, reader_of)


def _judging(config: CompareConfig, field: Field, reader_of: ReaderOf) -> Asked:
    """Calls to the judges, and to the first where it speaks."""
    for judge in config.judges:
        if judge.model is not None:
            own = dataclasses.replace(field, config=config.field(judge))
            check_judge(own, reader_of(judge.model))
            yield judge.model, judging_all(own, reader_of(judge.model))
    speaking = field.config.questioner_model
    if field.asked and speaking is not None:
        check_questioner(field, reader_of(speaking))
        # Apart, it asks each variant once for a question and side; else once in each debate, whoever speaks.
        for _ in [variant for variant in config.variants if variant.plays] if field.apart else [field]:
            yield speaking, asking_calls(field, speaking, reader_of(speaking))


def _windows(config: CompareConfig, field: Field, reader_of: ReaderOf) -> tuple[dict[str, int], dict[str, int]]:
    """How many stories are too long for the player, and the longest that it can be shown, by its name."""
    player = config.player
    if player.model is None:
        return {}, {}
    check_player_examples(player, field)
    reader, rooms = reader_of(player.model), []
    for variant in config.variants:
        check_preferences(variant.player, field, reader_of)
        room = story_room(variant.player, field, reader_of)
        if room is not None and variant.player.needs_story(scores=capabilities_of(player.model).score):
            rooms.append(room)
    if not rooms:
        return {}, {}
    room = min(rooms)  # one window for all: so they have their samples in common
    count = sum(length > room for length in reader.stories.values())
    return ({player.name: count} if count else {}), {player.name: room}
