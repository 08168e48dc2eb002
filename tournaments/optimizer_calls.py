"""What optimizers take: the calls that they add to each speech of a player."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from debate.agents.judge import JudgeConfig
from debate.models.load import ModelConfig, capabilities_of
from tournaments.calls import Calls, hidden_tokens, judging_calls
from tournaments.contexts import heard_tokens, roles, thinks
from tournaments.lengths import Reader
from tournaments.optimizing import REWARD, OptimizerConfig
from tournaments.players import PlayerConfig

if TYPE_CHECKING:
    from tournaments.plan import Field

# Tokens of instructions, question, answers, speech and critiques in a prompt that chooses among critiques.
_FRAME_OF_CHOICE = 900

#: How opponents reply to a speaker's candidates, where replies are sampled: alike to all, since they speak at the same
#: time; to each, since they hear it first; or not at all, since they have spoken, or there is no opponent.
Reply = Literal["alike", "each", "none"]


class Need(NamedTuple):
    """What one speech takes, before attempts after invalid speeches.

    Attributes:
        samples: Speeches of the player's own that are sampled.
        replies: Replies that are drawn from the opponent's own model.
        refinements: Speeches that are written anew.
        critiques: Each critic's model and its critiques; None for the player's own model.
        scores: Each preference model and its verdicts.
        choices: Each model that chooses among critiques and its choices; None for the player's own.
    """

    samples: int = 1
    replies: int = 0
    refinements: int = 0
    critiques: tuple[tuple[ModelConfig | None, int], ...] = ()
    scores: tuple[tuple[JudgeConfig, int], ...] = ()
    choices: tuple[tuple[ModelConfig | None, int], ...] = ()

    def times(self, n: int, reply: Reply) -> Need:
        """What n such speeches take."""
        return Need(
            self.samples * n,
            self.replies * (n if reply == "each" else 1),
            self.refinements * n,
            tuple((model, count * n) for model, count in self.critiques),
            tuple((likes, count * n) for likes, count in self.scores),
            tuple((model, count * n) for model, count in self.choices),
        )


def need(player: PlayerConfig, *, judge: JudgeConfig, reply: Reply = "alike") -> Need:
    """Count what one speech takes.

    Best of n takes n speeches and the score of each; critique-and-refine takes a speech, its score, and in each round
    its critiques, the choice among them, one refinement and its score. What is around another optimizer takes that
    many times what the inner one does. A speech that both score by the same judge in the same way is scored once.

    Args:
        player: The player.
        judge: The judge of the debates.
        reply: How the opponent replies, where replies are sampled.

    Returns:
        Counts for one speech; without an optimizer, one sample.
    """
    found = Need()
    before: OptimizerConfig | None = None
    for config in player.optimizer:
        likes = config.likes(judge)
        drawn = config.replies if config.opponent == "sampled" and reply != "none" else 0
        shown = (2 if config.orders == "both" and likes.kind != REWARD else 1) * max(1, drawn)
        again = before is not None and _scores_alike(before, config, judge)
        if config.kind == "best_of_n":
            found = found.times(config.n, reply)
            scored = 0 if again else config.n
        else:
            scored = config.rounds + (0 if again else 1)
            found = found._replace(
                refinements=found.refinements + config.rounds,
                critiques=(*found.critiques, (config.critic, config.rounds * config.critiques)),
            )
            if config.critiques > 1:
                chooser = config.chooser(judge)
                each = _choosing(chooser or player.model)
                found = found._replace(choices=(*found.choices, (chooser, config.rounds * each)))
        # The first k of more replies are the k that another optimizer draws.
        replies = found.replies + drawn * scored if reply == "each" else max(found.replies, drawn)
        found = found._replace(replies=replies, scores=(*found.scores, (likes, scored * shown)))
        before = config
    return found


def _choosing(model: ModelConfig | None) -> int:
    return 2 if model is not None and capabilities_of(model).letters else 1


def _scores_alike(one: OptimizerConfig, other: OptimizerConfig, judge: JudgeConfig) -> bool:
    """Whether what the outer optimizer scores first has its score from the inner one already."""
    same = ("orders", "opponent", "replies")  # of mean and worst case the verdicts are the same
    # The judge of the debates may be named as a preference too, and that is a class of its own.
    likes, others = (config.likes(judge).model_dump() for config in (one, other))
    return likes == others and all(getattr(one, name) == getattr(other, name) for name in same)


def optimizer_calls(
    player: PlayerConfig, field: Field, reader_of: Callable[[ModelConfig], Reader]
) -> Iterator[tuple[ModelConfig, Calls]]:
    """What a player's optimizers add to the sampling of its speeches, by model.

    Args:
        player: The player.
        field: Its field.
        reader_of: Measures what a model reads.

    Yields:
        Models and the calls to them.
    """
    for reply, turns in field.turns_by_reply.items() if player.optimizer else ():
        wanted = need(player, judge=field.config.judge, reply=reply)
        yield from need_calls(wanted, turns, player, field, reader_of)


def need_calls(
    wanted: Need, turns: int, player: PlayerConfig, field: Field, reader_of: Callable[[ModelConfig], Reader]
) -> Iterator[tuple[ModelConfig, Calls]]:
    """What some speeches of a player take beside the sampling of its own, by model.

    Replies of opponents are counted as if the player's own model gave them: over a field, what each is asked by others
    is what it asks of them.

    Args:
        wanted: What each speech takes.
        turns: How many speeches.
        player: The player.
        field: Its field.
        reader_of: Measures what a model reads.

    Yields:
        Models and the calls to them.
    """
    speech = player.speech or field.config.speech
    if player.model is not None:
        reader = reader_of(player.model)
        story = reader.mean_story + reader.speaker_frame(field.role, f"{field.role}_free", longest=False)
        prompt = story + heard_tokens(player, field, reader)
        reply = speech.max_tokens + hidden_tokens(player.model)
        written = turns * (wanted.refinements + wanted.replies)
        yield player.model, Calls(written, round(written * prompt), written * reply)
        for critic, count in wanted.critiques:
            model = critic or player.model
            yield model, Calls(turns * count, round(turns * count * prompt), turns * count * reply)
    for likes, count in wanted.scores:
        if likes.model is not None:
            reader = reader_of(likes.model)
            frame = reader.judge_frame(roles(field), thinks=thinks(likes), informed=False, longest=False)
            said = round(reader.speech(field.words(player)) + heard_tokens(player, field, reader))
            scored = turns * count
            read = Calls(scored, scored * (frame + said), 0)  # what a reward model reads is about as long
            yield likes.model, read if likes.kind == REWARD else judging_calls(likes, scored, frame + said)
    for named, count in wanted.choices:
        chooser = named or player.model
        if chooser is not None:
            prompt = reader_of(chooser).mean_story + _FRAME_OF_CHOICE + heard_tokens(player, field, reader_of(chooser))
            yield chooser, Calls(turns * count, round(turns * count * prompt), turns * count)
