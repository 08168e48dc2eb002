"""Contexts: whether the models' contexts have room for what a field's debates may hold, as long as it may get."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from debate.agents.critic import CHOICE_TOKENS, CRITIQUE_WORDS
from debate.agents.debater import check_examples
from debate.agents.evidence import longest_quote
from debate.agents.judge import JudgeConfig
from debate.errors import ContextError
from debate.extensions import is_extension
from debate.models.load import ModelConfig, capabilities_of
from debate.protocols import judge_reads_story
from debate.view import Role
from tournaments.few_shot import read_examples
from tournaments.lengths import Reader
from tournaments.optimizing import REWARD
from tournaments.players import PlayerConfig

if TYPE_CHECKING:
    from tournaments.plan import Field

#: Measures what a model reads.
ReaderOf = Callable[[ModelConfig], Reader]


def story_room(player: PlayerConfig, field: Field, reader_of: ReaderOf) -> int | None:
    """Tokens that contexts leave for the story in the last round, as the player's model counts; None if none is known.

    They are those of the player's model and of whoever reads the story beside it: critics, and who chooses among
    critiques.

    Raises:
        ContextError: The context of one leaves no room.
    """
    if player.model is None:
        return None
    own = _own_room(player, field, reader_of(player.model))
    rooms = [*([] if own is None else [own]), *_refining_rooms(player, field, reader_of)]
    return min(rooms, default=None)


def _own_room(player: PlayerConfig, field: Field, reader: Reader) -> int | None:
    if reader.context is None or player.model is None:
        return None
    speech = player.speech or field.config.speech
    frame = reader.speaker_frame(field.role, template_of(player, field), longest=True)
    room = reader.context - frame - _longest_heard(player, field, reader) - speech.max_tokens
    room -= examples_tokens(player, field, reader)
    if player.kind == "evidence_first":
        room -= player.quotes * reader.longest_speech(longest_quote(speech.max_words, player.quotes))
    if room <= 0:
        raise ContextError(
            f"player {player.name!r}: its model's context of {reader.context} tokens leaves no room for a "
            f"story beside {field.rounds} rounds of up to {speech.max_words} and {field.longest_other(player)} words; "
            "use fewer rounds, shorter speeches or another model"
        )
    if player.kind != "evidence_first" or capabilities_of(player.model).score:
        return room
    # The story is not in the prompt of its speeches, but, sentence by sentence, in that by which it picks evidence.
    frame = reader.speaker_frame(field.role, "evidence_pick", longest=True)
    sentences = reader.numbered(longest_quote(speech.max_words, player.quotes))
    return int((reader.context - frame - pick_tokens(player)) / sentences)


def _longest_heard(player: PlayerConfig, field: Field, reader: Reader) -> int:
    own, others = field.heard
    heard = own * reader.longest_speech(field.words(player)) + others * reader.longest_speech(
        field.longest_other(player)
    )
    return heard + field.asked * reader.longest_speech(field.config.protocol.questioner.max_words)


def _refining_rooms(player: PlayerConfig, field: Field, reader_of: ReaderOf) -> Iterator[int]:
    """What the contexts leave when a speech is criticised, a critique chosen, and the speech written anew."""
    if player.model is None:
        return
    speech, own = player.speech or field.config.speech, reader_of(player.model)
    for one in (one for one in player.optimizer if one.kind == "critique_refine"):
        critic = one.critic or player.model
        chooser = one.chooser(field.config.judge) or player.model
        reply = 1 if capabilities_of(chooser).letters else CHOICE_TOKENS
        read = reader_of(critic), reader_of(chooser)
        tasks = [
            (own, own.speaker_frame(field.role, f"{field.role}_free", longest=True) + own.refine_frame, 3, 1),
            (read[0], read[0].critic_frame(field.role, "critic_speech"), 3, 0),
        ]
        if one.critiques > 1:
            tasks.append((read[1], read[1].critic_frame(field.role, "critic_choose"), 1, one.critiques))
        for reader, frame, speeches, critiques in tasks:
            if reader.context is None:
                continue
            # Beside the speech there is what is known of its quotes: each, and the passage most like it.
            said = _longest_heard(player, field, reader) + speeches * reader.longest_speech(field.words(player))
            said += critiques * reader.longest_speech(CRITIQUE_WORDS)
            room = reader.context - frame - said - (speech.max_tokens if speeches > 1 else reply)
            if room <= 0:
                raise ContextError(
                    f"player {player.name!r}: a context of {reader.context} tokens leaves no room for a story beside "
                    f"a speech of up to {speech.max_words} words, its critiques and {field.rounds} rounds; use fewer "
                    "rounds or critiques, shorter speeches or another model"
                )
            # Another model counts otherwise.
            yield int(room * min(own.stories[name] / max(1, reader.stories[name]) for name in own.stories))


def heard_tokens(player: PlayerConfig, field: Field, reader: Reader) -> float:
    """Tokens that a player has heard before it speaks: on average half of all that it has heard in the end."""
    own, others = field.heard
    heard = own * reader.speech(field.words(player)) + others * reader.speech(field.mean_words)
    return (heard + field.asked * reader.speech(field.config.protocol.questioner.max_words)) / 2


def examples_tokens(player: PlayerConfig, field: Field, reader: Reader) -> int:
    """Tokens that a player's example speeches take in each of its prompts."""
    return 0 if player.examples is None else reader.examples(read_examples(player.examples), field.role)


def check_player_examples(player: PlayerConfig, field: Field) -> None:
    """Hold that a player's examples are speeches that it might give, and on none of the stories that are debated.

    Raises:
        ConfigError: One is not within the player's limits, or quotes what its story does not hold.
        FoldError: One is on a story of the field's questions.
    """
    if player.examples is None:
        return
    examples = read_examples(player.examples)
    check_examples(examples, (player.speech or field.config.speech).limits)
    for story in {question.story_id: question.story for question in field.all_questions}.values():
        for example in examples:
            example.hold_apart(story)


def template_of(player: PlayerConfig, field: Field) -> str:
    """The template of a player's speeches; one of a user's own is taken to be like a free debater's."""
    return "evidence_argue" if player.kind == "evidence_first" else f"{field.role}_free"


def pick_tokens(player: PlayerConfig) -> int:
    """Tokens of a reply that picks evidence."""
    return 16 + 8 * player.quotes


def _most_said(field: Field, reader: Reader, rounds: int) -> int:
    """Tokens of all that may be said in so many rounds, the judge's questions included."""
    protocol = field.config.protocol
    speeches = rounds * (reader.longest_speech(field.longest_pair) + reader.longest_speech(0))
    asked = min(rounds, field.asked)
    return speeches + (1 + field.apart) * asked * reader.longest_speech(protocol.questioner.max_words)


def thinks(judge: JudgeConfig) -> bool:
    """Whether a judge with a model replies at length; a letter judge does where its model gives no probabilities.

    Of preference models, a reward model never does.
    """
    if judge.kind == REWARD:
        return False
    return judge.kind != "letter" or judge.model is None or not capabilities_of(judge.model).letters


def roles(field: Field) -> list[Role]:
    """Those whose speeches a judge reads."""
    return [field.role] * field.config.protocol.speakers


def check_judge(field: Field, reader: Reader) -> None:
    """Hold that the judge's context has room for any debate and, where it reads them, for the stories.

    A judge or a protocol of a user's own may show and say whatever it likes, so that only its calls can tell.
    """
    judge, questions = field.config.judge, field.all_questions
    if reader.context is None or judge.model is None or is_extension(judge.kind):
        return
    reply = judge.max_tokens if thinks(judge) else 1
    prompt = reader.judge_frame(roles(field), thinks=thinks(judge), informed=False, longest=True)
    prompt += _most_said(field, reader, field.rounds)
    if prompt + reply > reader.context and not is_extension(field.config.protocol.kind):
        raise ContextError(
            f"judge {judge.label!r}: {field.rounds} rounds of up to {field.longest_pair} words may take {prompt} "
            f"tokens, which with a reply of up to {reply} exceed its model's context of {reader.context}; use fewer "
            "rounds, shorter speeches or another judge"
        )
    for baseline in filter(judge_reads_story, field.config.baselines):
        room = reader.context - reader.judge_frame((), thinks=thinks(judge), informed=True, longest=True) - reply
        long = [story for story in dict.fromkeys(q.story_id for q in questions) if reader.stories[story] > room]
        if long:
            raise ContextError(
                f"baseline {baseline}: {len(long)} stories exceed the {room} tokens that the context of judge "
                f"{judge.label!r} leaves ({', '.join(long[:5])}{', ...' if len(long) > 5 else ''}); leave the baseline "
                "out, choose shorter stories or use another judge"
            )


def check_preferences(player: PlayerConfig, field: Field, reader_of: ReaderOf) -> None:
    """Hold that the preference models of a player's optimizers have room for any debate; see ``check_judge``."""
    for likes in filter(None, (optimizer.preference for optimizer in player.optimizer)):
        if likes.model is not None:
            config = field.config.model_copy(update={"judge": likes, "baselines": ()})
            check_judge(dataclasses.replace(field, config=config), reader_of(likes.model))


def check_questioner(field: Field, reader: Reader) -> None:
    """Hold that a judge that speaks has room for what is said before it speaks for the last time."""
    questioner = field.config.protocol.questioner
    if reader.context is None or is_extension(field.config.protocol.kind):
        return
    said = _most_said(field, reader, field.rounds - 1) // (1 + field.apart)  # of one speaker, where it hears only one
    prompt = reader.questioner_frame(roles(field), longest=True) + said
    if prompt + questioner.max_tokens > reader.context:
        raise ContextError(
            f"protocol.questioner: before the last of {field.rounds} rounds of up to {field.longest_pair} words its "
            f"prompt may take {prompt} tokens, which with a reply of up to {questioner.max_tokens} exceed its model's "
            f"context of {reader.context}; use fewer rounds, shorter speeches or another model (protocol.questioner."
            "model)"
        )
