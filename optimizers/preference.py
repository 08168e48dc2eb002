"""Preference models: how well a speech serves its speaker, in log-odds of the speaker's answer.

A candidate is judged as the judge will see it: in its place in the debate, without the story. Where the opponent speaks
at the same time, or after, its speech is not known: it is shown as not given yet, or replies are drawn from the
opponent's own debater.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from debate.agents.debater import Debater
from debate.agents.judge import Judge
from debate.errors import ConfigError
from debate.models.base import Draw
from debate.protocols.base import Facing
from debate.quotes import Argument, Seat, hold_to
from debate.together import together
from debate.transcript import Candidate
from debate.verdict import Verdict
from debate.view import View, ViewTurn

Orders = Literal["both", "single"]
#: Log-odds are held within this, so that a judge that is certain does not outweigh all others in a mean.
LIMIT = 10.0
#: What a judge is shown in the place of a speech that nobody knows yet.
NOT_GIVEN = Argument(("(This speech has not been given yet.)",))


class Preference(Protocol):
    """Anything that says how well speeches serve their speaker: a judge, a reward model, or one of your own."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    async def log_odds(self, view: View, candidates: Sequence[Candidate], draw: Draw) -> list[float | None]:
        """Score candidates for the speaker's next speech.

        Args:
            view: The speaker's own view, with its seat and what was said so far.
            candidates: What it may say.
            draw: The draw of the turn, for preference models that sample.

        Returns:
            For each candidate the log-odds (nats) of the speaker's own answer with the candidate in place, within ±10;
            None where the preference model gave nothing that can be read.

        Raises:
            ModelError: A model failed for good.
        """
        ...


@runtime_checkable
class FacingPreference(Preference, Protocol):
    """A preference model that wants to know against whom it is to imagine the debate."""

    def facing(self, opponent: Debater) -> Preference:
        """Return a copy of it that knows the opponent."""
        ...


@runtime_checkable
class Wrapped(Protocol):
    """A debater that is made of another one."""

    def plain(self) -> Debater:
        """Return the debater without what was put around it."""
        ...


def plain(debater: Debater) -> Debater:
    """Take off whatever optimizers are around a debater."""
    return debater.plain() if isinstance(debater, Wrapped) else debater


def rounds_within(debater: Debater) -> int:
    """Count the rounds of critique that a debater's speeches go through, in whatever optimizers are around it."""
    found: int = getattr(debater, "rounds_within", 0)
    return found


def faced(preference: Preference, base: Debater, opponent: Debater) -> tuple[Preference, Debater]:
    """Tell a preference model and a debater their opponent, where they want to know.

    Args:
        preference: Any preference model.
        base: Any debater.
        opponent: Whom the debater speaks against.

    Returns:
        Both, or their copies.
    """
    return (
        preference.facing(opponent) if isinstance(preference, FacingPreference) else preference,
        base.facing(opponent) if isinstance(base, Facing) else base,
    )


@dataclass(frozen=True, slots=True)
class Sampled:
    """Replies of the opponent to try a candidate on.

    Attributes:
        replies: How many are drawn, from the opponent's debater without its own optimizer.
        case: Whether a candidate is worth its mean over the replies, or its worst.
    """

    replies: int = 4
    case: Literal["mean", "worst"] = "mean"


def awaits_opponent(view: View) -> bool:
    """Whether the opponent's speech of the round that is being spoken is still to come.

    It is not in a consultancy, where nobody else speaks, nor where the opponent has spoken first.

    Args:
        view: The view of one about to speak.
    """
    round_ = _round_of(view)
    spoke = any(turn.seat not in {None, view.seat} and turn.round == round_ for turn in view.turns)
    return view.role != "consultant" and not spoke


def judged_view(view: View, argument: Argument, reply: Argument = NOT_GIVEN) -> View:
    """Show a judge the debate with a speech in place.

    Args:
        view: The view of the one about to speak, with its seat.
        argument: The speech; what it marks as verified is looked for in the story once more, whoever made it.
        reply: What the opponent says in the same round, where that is still to come.

    Returns:
        A judge's view, without the story.
    """
    turns = [_turn(view, argument)]
    if awaits_opponent(view):
        turns.append(_turn(_opponent(view), reply))
    return dataclasses.replace(view.with_turns(*turns), story=None, seat=None, role="judge")


async def judged_log_odds(judge: Judge, view: View, seat: Seat, draw: Draw, orders: Orders = "both") -> float | None:
    """Ask a judge for the log-odds of the answer in a seat; of the two seats one is minus the other.

    Args:
        judge: Any judge.
        view: A judge's view of two answers.
        seat: Whose answer.
        draw: For judges that sample.
        orders: ``both`` takes the mean over this view and the one with exchanged seats; ``single`` this view alone, as
            in Khan et al. 2024.

    Returns:
        Nats, each order's within ±10; None where a decision is unparsed.

    Raises:
        ConfigError: The judge decided on another number of answers.
        ModelError: Its model failed for good.
    """
    shown = [(view, (0, 1))] if orders == "single" else [(view, (0, 1)), (view.swapped(), (1, 0))]
    decisions = await together(judge.decide(one, draw) for one, _order in shown)
    own = "AB".index(seat)
    values = []
    for decision, (_view, order) in zip(decisions, shown, strict=True):
        probabilities = Verdict.of(decision, judge=judge.name, order=order).probabilities
        if probabilities is None:
            return None
        values.append(_log_odds(probabilities[own], probabilities[1 - own]))
    return sum(values) / len(values)


class JudgePreference:
    """Prefers what a judge would: Khan et al. 2024, with both orders and, if wanted, the opponent's replies.

    Draws of the judge and of replies have streams of their own, so nothing that is sampled here is what the judge of
    the debate or the opponent samples later.

    Args:
        judge: Any judge; the debate's own judge is the strongest setting and the one most open to over-optimisation.
        orders: ``both`` or ``single``, see ``judged_log_odds``.
        sampled: How to draw the opponent's replies; None shows its speech as not given yet.
        opponent: Against whom it speaks; a protocol says so, see ``facing``.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        orders: Orders = "both",
        sampled: Sampled | None = None,
        opponent: Debater | None = None,
    ) -> None:
        if sampled is not None and sampled.replies < 1:
            raise ConfigError(f"a preference that samples {sampled.replies} replies samples none; leave sampled out")
        self.name = judge.name
        self._judge = judge
        self._orders = orders
        self._sampled = sampled
        self._opponent = None if opponent is None else plain(opponent)

    def facing(self, opponent: Debater) -> JudgePreference:
        """Return a copy that draws replies from an opponent, without what optimizers are around it."""
        faced = copy.copy(self)
        faced._opponent = plain(opponent)  # noqa: SLF001 - a copy of its own
        return faced

    async def log_odds(self, view: View, candidates: Sequence[Candidate], draw: Draw) -> list[float | None]:
        """Score candidates by the judge's probabilities; see Preference.

        Over sampled replies a candidate's score is None where half of them or more are unparsed.

        Raises:
            ConfigError: Replies are to be sampled and no protocol said from whom.
        """
        draw = draw._replace(sample=0, attempt=0)
        shared: Sequence[Argument] | None = None
        # Who has heard the candidate replies to it; who speaks at the same time says the same whatever it is.
        if not view.spoken_order and candidates:
            shared = await self._replies(view, draw)

        async def score(candidate: Candidate) -> float | None:
            replies = shared
            if replies is None:
                replies = await self._replies(view, draw, heard=candidate.argument)
            return await self._score(view, candidate.argument, replies, draw)

        return await together(score(candidate) for candidate in candidates)

    async def _score(self, view: View, argument: Argument, replies: Sequence[Argument], draw: Draw) -> float | None:
        seat, draw = _seat(view), draw._replace(stream=f"preference of {draw.stream}")
        shown = [judged_view(view, argument, reply) for reply in replies]
        found = await together(judged_log_odds(self._judge, one, seat, draw, self._orders) for one in shown)
        known = [value for value in found if value is not None]
        if 2 * len(known) <= len(found):
            return None
        if self._sampled is not None and self._sampled.case == "worst":
            return min(known)
        return sum(known) / len(known)

    async def _replies(self, view: View, draw: Draw, heard: Argument | None = None) -> Sequence[Argument]:
        """Draw what the opponent may say in this round; one that is not given, where that is not asked for."""
        if self._sampled is None or not awaits_opponent(view):
            return [NOT_GIVEN]
        if self._opponent is None:
            raise ConfigError(
                "replies are to be sampled from the opponent, but nobody said who that is; a protocol of your own "
                "takes its speakers from debate.protocols.base.both"
            )
        asked = _opponent(view)
        if heard is not None:
            asked = asked.with_turns(_turn(view, heard))
        draw = draw._replace(stream=f"replies of {self._opponent.name} to {draw.stream}")
        found = await self._opponent.candidates(asked, draw, self._sampled.replies)
        valid = [candidate for candidate in found if candidate.valid] or found
        return [candidate.argument for candidate in valid[: self._sampled.replies]]


def _log_odds(own: float, other: float) -> float:
    if own <= 0 or other <= 0:
        return LIMIT if own > 0 else -LIMIT
    return max(-LIMIT, min(LIMIT, math.log(own) - math.log(other)))


def _round_of(view: View) -> int:
    """The round in which the viewer is about to speak: it speaks once in each."""
    return 1 + sum(turn.seat == view.seat for turn in view.turns)


def _turn(view: View, argument: Argument) -> ViewTurn:
    seat = _seat(view)
    return ViewTurn(_round_of(view), view.role, seat, hold_to(argument, view.story), frame=seat)


def _opponent(view: View) -> View:
    """What the opponent sees: the same, from the other seat."""
    other: Seat = "B" if _seat(view) == "A" else "A"
    return dataclasses.replace(view, seat=other)


def _seat(view: View) -> Seat:
    if view.seat is None:
        raise ValueError("only one with a seat has something to say; a judge's view was given")
    return view.seat
