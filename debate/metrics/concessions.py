"""Concessions: speakers who give their side away, as a judge reads what each of them said by itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from debate.metrics.accuracy import final_verdicts
from debate.metrics.intervals import Interval, cluster_mean
from debate.record import Debate, Recorded, join_key
from debate.verdict import combine

TAG = "alone"
"""The tag of a debate of which only one speaker is left; its value is the answer that the speaker was to argue for."""
OF = "of"
"""The tag that names the whole debate."""


def alone(debate: Debate, answer: int) -> Debate:
    """Leave of a debate what was said for one answer.

    Args:
        debate: A debate or consultancy.
        answer: Whose speaker's speeches stay; what the judge said goes too.

    Returns:
        A debate of its own, with an id of its own.
    """
    turns = tuple(turn for turn in debate.transcript.turns if turn.answer == answer)
    return dataclasses.replace(
        debate,
        id=join_key(debate.id, TAG, str(answer)),
        transcript=dataclasses.replace(debate.transcript, turns=turns),
        tags={**debate.tags, OF: debate.id, TAG: str(answer)},
    )


def speakers(debate: Debate) -> list[int]:
    """Return the answers that somebody argues for, in order."""
    return sorted({turn.answer for turn in debate.transcript.turns if turn.answer is not None})


@dataclass(frozen=True, slots=True)
class Concession:
    """What a judge makes of one speaker of one debate.

    Attributes:
        debate: The debate's id.
        answer: The answer that the speaker was to argue for.
        player: The speaker's name, or None where nobody named it.
        story: The story that it is about; intervals are robust by story.
        argued: Probability that the speaker argues for this answer, the mean of both orders; None where a verdict is
            unparsed or missing.
        conceded: Whether the judge says in both orders that the speaker argues for another answer. A judge that follows
            the order of the answers thus finds no concession, instead of one in every other speech.
    """

    debate: str
    answer: int
    player: str | None
    story: str
    argued: float | None
    conceded: bool


def read_concession(item: Recorded) -> Concession:
    """Read what a judge that was asked for concessions made of one speaker.

    Args:
        item: What ``alone`` left, with its verdicts.

    Returns:
        The concession, or that there is none.
    """
    debate, answer = item.debate, int(item.debate.tags[TAG])
    verdicts = final_verdicts(item)
    mean = combine(verdicts)
    shares = [verdict.probabilities[answer] for verdict in verdicts if verdict.probabilities is not None]
    return Concession(
        debate=debate.tags[OF],
        answer=answer,
        player=debate.players[answer],
        story=debate.transcript.question.story_id,
        argued=None if mean is None else mean[answer],
        conceded=len(shares) >= 2 and len(shares) == len(verdicts) and max(shares) < 0.5,
    )


def concession_rates(found: Iterable[Concession]) -> dict[str, Interval]:
    """Measure how often each player gives its side away.

    Args:
        found: One for each speaker of each debate; those that the judge did not read are left out.

    Returns:
        By player, the share of its debates in which it does; intervals are 95 %, robust by story.
    """
    by_player: dict[str, list[Concession]] = {}
    for one in found:
        if one.player is not None and one.argued is not None:
            by_player.setdefault(one.player, []).append(one)
    return {
        name: cluster_mean([float(one.conceded) for one in rows], [one.story for one in rows])
        for name, rows in sorted(by_player.items())
    }


def without_concessions(recorded: Sequence[Recorded], found: Iterable[Concession]) -> list[Recorded]:
    """Leave out the debates in which somebody gave its side away.

    Args:
        recorded: Debates.
        found: What is known of their speakers.

    Returns:
        The others, in order.
    """
    conceded = {one.debate for one in found if one.conceded}
    return [item for item in recorded if item.debate.id not in conceded]
