"""What an ablation will take: debates once, and verdicts at every level."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from debate.agents.judge import JudgeConfig
from debate.errors import ConfigError, ContextError
from debate.models.base import Message
from debate.models.load import TokenCounter
from debate.prompts import Prompts
from debate.protocols import build_protocol
from debate.question import Question
from debate.record import Recorded
from tournaments.ablate_config import AblateConfig
from tournaments.ablation_judges import Examples
from tournaments.ablation_levels import Level, example_messages, prompt_for
from tournaments.calls import Calls, judging_calls
from tournaments.contexts import roles, thinks
from tournaments.lengths import Reader
from tournaments.plan import Field, Plan, judging_all, plan_field
from tournaments.rejudge import judge_notes


def plan_made(config: AblateConfig, levels: Sequence[Level], questions: Sequence[Question]) -> Plan:
    """Count what debates take that are made, and their verdicts.

    Args:
        config: The configuration.
        levels: The levels.
        questions: The questions.

    Returns:
        The plan.

    Raises:
        ContextError: The context of a model is too short for a debate, or the judge's for what a level shows.
    """
    _check_stories(config, levels, questions)
    field = made_field(config, questions)
    plan = plan_field(field)
    if config.factor == "words":
        return plan
    judge = config.judge
    if judge.model is None:
        return plan
    prompts = Prompts(Path(config.prompts) if config.prompts else None)
    reader = Reader(judge.model, questions, prompts)
    calls = dict(plan.calls)
    label = judge.model.label
    for level in _asked_apart(levels):
        spent = _level_calls(level, config, field, reader)
        _check_room(level, spent, 2 * field.self_play_debates, reader, judge)
        calls[label] = calls.get(label, Calls()) + spent
    return dataclasses.replace(plan, calls=calls)


def _check_stories(config: AblateConfig, levels: Sequence[Level], questions: Sequence[Question]) -> None:
    """Hold that examples will be there on other stories, before any debate is held."""
    most = max(level.shots for level in levels)
    stories = len({question.story_id for question in questions})
    if config.examples is None and stories <= most:
        raise ConfigError(
            f"{most} examples on other stories are wanted beside the debate that is judged, and there are {stories} "
            "stories; use more (stories), name recorded debates (examples), or show fewer (levels)"
        )


def made_field(config: AblateConfig, questions: Sequence[Question]) -> Field:
    """The field of the debates that are made: self-play, and for words every other level against the first one."""
    field = config.field()
    each = len(questions) * len(build_protocol(field.protocol).seatings(questions[0]))
    players = len(field.players)
    matches = 2 * each * (players - 1)
    return Field(
        field,
        questions,
        questions,
        debates=matches,
        self_play_debates=players * each,
        speeches=2 * each + 2 * matches / players,
        sides=2 * len(questions),
    )


def _asked_apart(levels: Sequence[Level]) -> list[Level]:
    """The levels whose verdicts the plan of the field does not hold: all but the last of those that see it all.

    Fewer votes are among the more, and are asked for once.
    """
    held = [level for level in levels if level.as_held]
    votes = {level.judge.votes for level in held}
    if len(votes) > 1:
        return []
    counted = held[-1] if held else levels[-1]  # after the last round a judge sees all there is
    return [level for level in levels if level is not counted]


def _level_calls(level: Level, config: AblateConfig, field: Field, reader: Reader) -> Calls:
    verdicts = 2 * field.self_play_debates
    judge = level.judge
    if config.factor == "rounds":
        shorter = config.field(rounds=int(level.value))
        return judging_all(dataclasses.replace(field, config=shorter), reader)
    if config.factor == "information" and level.value in {"blind", "story"}:
        informed = level.value == "story"
        frame = reader.judge_frame((), thinks=thinks(judge), informed=informed, longest=False)
        return judging_calls(judge, verdicts, frame + (round(reader.mean_story) if informed else 0))
    whole = judging_all(field, reader)
    if config.factor == "information" and level.value == "both":
        frames = [
            reader.judge_frame(roles(field), thinks=thinks(judge), informed=on, longest=False) for on in (False, True)
        ]
        more = frames[1] - frames[0] + round(reader.mean_story)
        return dataclasses.replace(whole, tokens_in=whole.tokens_in + verdicts * more)
    return dataclasses.replace(whole, tokens_in=whole.tokens_in * (1 + level.shots))


def _check_room(level: Level, spent: Calls, verdicts: int, reader: Reader, judge: JudgeConfig) -> None:
    """Hold that what a level shows fits the judge's context, on average at the least."""
    reply = judge.max_tokens if thinks(judge) else 1
    prompt = spent.tokens_in // max(1, verdicts)
    if reader.context is not None and prompt + reply > reader.context:
        raise ContextError(
            f"level {level.label!r}: a prompt takes about {prompt} tokens, which with a reply of up to {reply} exceed "
            f"the context of judge {judge.label!r}, {reader.context}; leave it out (levels), or use another judge"
        )


def plan_recorded(
    config: AblateConfig,
    levels: Sequence[Level],
    recorded: Sequence[Recorded],
    examples: Examples | None,
    prompts: Prompts,
) -> Plan:
    """Count what verdicts on recorded debates take, by the prompts that the judge will read.

    Args:
        config: The configuration.
        levels: The levels.
        recorded: The debates.
        examples: What the judge's examples are chosen from, where there are any.
        prompts: Templates.

    Returns:
        The plan.
    """
    judge = config.judge
    if judge.model is None:
        return Plan(len(recorded), 0, 0, {}, {}, {})
    counter = TokenCounter(judge.model)
    calls = Calls()
    notes: list[str] = []
    votes = max(level.judge.votes for level in levels)
    for level in levels:
        if config.factor == "votes" and level.judge.votes < votes:
            continue  # they are among the more
        lengths = [counter(prompt) for prompt in _prompts(level, recorded, examples, prompts)]
        calls += judging_calls(level.judge, 2 * len(recorded), sum(lengths) // max(1, len(lengths)))
        notes += judge_notes(level.judge, judge.model, counter, lengths)
    return Plan(len(recorded), 0, 0, {judge.model.label: calls}, {}, {}, tuple(dict.fromkeys(notes)))


def _prompts(
    level: Level, recorded: Sequence[Recorded], examples: Examples | None, prompts: Prompts
) -> Iterator[list[Message]]:
    for item in recorded:
        transcript = item.debate.transcript
        chosen = examples.on(transcript.question, level.shots) if examples is not None and level.shots else []
        yield prompt_for(level.judge, level.see(transcript), prompts, example_messages(level.judge, chosen, prompts))
