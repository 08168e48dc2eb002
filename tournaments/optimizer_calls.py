"""What optimizers take: the calls that they add to each speech of a player."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from debate.agents.judge import JudgeConfig
from debate.models.load import ModelConfig, capabilities_of
from tournaments.calls import Calls, hidden_tokens, judging_calls
from tournaments.contexts import heard_tokens, roles, thinks
from tournaments.lengths import Reader
from tournaments.optimizing import OptimizerConfig
from tournaments.players import PlayerConfig

if TYPE_CHECKING:
    from tournaments.plan import Field

# Tokens of instructions, question, answers, speech and critiques in a prompt that chooses among critiques.
_FRAME_OF_CHOICE = 900


class Need(NamedTuple):
    """What one speech takes, before attempts after invalid speeches.

    Attributes:
        samples: Speeches of the player's own that are sampled.
        replies: Replies that are drawn from the opponent's own model.
        refinements: Speeches that are written anew.
        critiques: Each critic's model and its critiques; None for the player's own model.
        scores: Each preference model and its verdicts.
        choices: Each preference model and its choices among critiques.
    """

    samples: int = 1
    replies: int = 0
    refinements: int = 0
    critiques: tuple[tuple[ModelConfig | None, int], ...] = ()
    scores: tuple[tuple[JudgeConfig, int], ...] = ()
    choices: tuple[tuple[JudgeConfig, int], ...] = ()

    def times(self, n: int) -> Need:
        """What n such speeches take; who speaks at the same time replies alike to all of them."""
        return Need(
            self.samples * n,
            self.replies,
            self.refinements * n,
            tuple((model, count * n) for model, count in self.critiques),
            tuple((likes, count * n) for likes, count in self.scores),
            tuple((likes, count * n) for likes, count in self.choices),
        )


def need(optimizers: Sequence[OptimizerConfig], *, judge: JudgeConfig) -> Need:
    """Count what one speech takes.

    Best of n takes n speeches and the score of each; critique-and-refine takes a speech, its score, and in each round
    its critiques, the choice among them, one refinement and its score. What is around another optimizer takes that
    many times what the inner one does. A speech that both score by the same judge in the same way is scored once.

    Args:
        optimizers: The player's, the first innermost.
        judge: The judge of the debates.

    Returns:
        Counts for one speech; without an optimizer, one sample.
    """
    found = Need()
    before: OptimizerConfig | None = None
    for config in optimizers:
        likes = config.preference or judge
        drawn = config.replies if config.opponent == "sampled" else 0
        shown = (2 if config.orders == "both" else 1) * max(1, drawn)
        again = before is not None and _scores_alike(before, config)
        if config.kind == "best_of_n":
            found = found.times(config.n)
            scored = 0 if again else config.n
        else:
            scored = config.rounds + (0 if again else 1)
            found = found._replace(
                refinements=found.refinements + config.rounds,
                critiques=(*found.critiques, (config.critic, config.rounds * config.critiques)),
            )
            if config.critiques > 1:
                found = found._replace(choices=(*found.choices, (likes, config.rounds * _choosing(likes))))
        found = found._replace(
            replies=found.replies + (0 if again else drawn), scores=(*found.scores, (likes, scored * shown))
        )
        before = config
    return found


def _choosing(judge: JudgeConfig) -> int:
    return 2 if judge.model is not None and capabilities_of(judge.model).letters else 1


def _scores_alike(one: OptimizerConfig, other: OptimizerConfig) -> bool:
    """Whether what the outer optimizer scores first has its score from the inner one already."""
    same = ("preference", "orders", "opponent", "replies", "case")
    return all(getattr(one, name) == getattr(other, name) for name in same)


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
    if player.optimizer:
        yield from need_calls(need(player.optimizer, judge=field.config.judge), field.turns, player, field, reader_of)


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
            yield likes.model, judging_calls(likes, turns * count, frame + said)
    for likes, count in wanted.choices:
        chooser = likes.model or player.model
        if chooser is not None:
            prompt = reader_of(chooser).mean_story + _FRAME_OF_CHOICE + heard_tokens(player, field, reader_of(chooser))
            yield chooser, Calls(turns * count, round(turns * count * prompt), turns * count)
