"""Persuasion: a persuader argues for a claim until the debater accepts it, or somebody says stop (LOGICOM).

After Payandeh et al., "How susceptible are LLMs to logical fallacies?". One exchange is a round. What the persuader
drafts may be rewritten by a helper before the debater hears it, with a fallacy or with fair argument. Moderators look
at the transcript after each round.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, NamedTuple, get_args

from debate.agents.helper import Helper
from debate.agents.memory import Said
from debate.agents.moderator import MODERATORS, Moderators, Ruling
from debate.agents.talker import Spoken, Talker, opening
from debate.claim import Claim
from debate.models.base import Draw
from debate.prompts import Prompts
from debate.transcript import Transcript, Turn
from debate.verdict import Verdict

#: What debates of this kind are filed under.
PERSUASION: Final = "persuasion"

Scenario = Literal["none", "fallacy", "logical"]
"""Whether a helper rewrites what the persuader drafts, and how."""
SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)

# The claim, which the persuader speaks for, and not being convinced of it, which is the debater's side.
_CLAIM, _DOUBT = 0, 1


class Stop(StrEnum):
    """Why a dialogue ended. The stance at its end follows from it, so the two cannot contradict each other."""

    CONVINCED = "convinced"
    ROUNDS = "rounds"
    PLEASANTRIES = "pleasantries"
    OFF_TOPIC = "off_topic"
    OTHER = "other"
    UNREAD = "unread"

    @property
    def convinced(self) -> bool | None:
        """Whether the debater was convinced at the end; None where the moderators' last word could not be read."""
        return None if self is Stop.UNREAD else self is Stop.CONVINCED


def stop_of(ruling: Ruling, *, last: bool) -> Stop | None:
    """Say why a dialogue ends after a round, or that it goes on.

    The stance comes first, whatever else is a reason to stop: who accepts the claim and then says thank you is
    convinced.

    Args:
        ruling: What the moderators said after the round.
        last: Whether there may be no further round.

    Returns:
        The reason, or None where it goes on.
    """
    if not ruling.stops and not last:
        return None
    convinced = ruling.findings["convinced"].yes
    if convinced is None:
        return Stop.UNREAD
    if convinced:
        return Stop.CONVINCED
    if ruling.stops:
        if ruling.findings["pleasantries"].yes:
            return Stop.PLEASANTRIES
        return Stop.OFF_TOPIC if ruling.findings["on_topic"].yes is False else Stop.OTHER
    return Stop.ROUNDS


class Persuaded(NamedTuple):
    """What a dialogue came to.

    Attributes:
        transcript: What was said; the persuader's turns hold what a helper made of them.
        rulings: What the moderators said after each round.
        stop: Why it ended.
    """

    transcript: Transcript
    rulings: Sequence[Ruling]
    stop: Stop

    @property
    def verdicts(self) -> list[Verdict]:
        """The stances that the moderators read after each round, the last one as the final verdict."""
        last = len(self.rulings)
        return [verdict_of(ruling, None if number == last else number) for number, ruling in enumerate(self.rulings, 1)]

    @property
    def tags(self) -> Mapping[str, str]:
        """What a record of it says beyond the transcript."""
        counts = {
            "rounds": len(self.rulings),
            "refused": sum(ruling.all_refused for ruling in self.rulings),
            "unread": sum(ruling.all_unread for ruling in self.rulings),
        }
        return {"stop": self.stop.value, **{name: str(count) for name, count in counts.items()}}


def verdict_of(ruling: Ruling, round_: int | None) -> Verdict:
    """Write the stance that a ruling read as a verdict, with all the ruling says as its reasoning."""
    found = ruling.findings["convinced"]
    probabilities = None if found.share is None else (found.share, 1 - found.share)
    unparsed = found.why if found.share is None else None
    return Verdict(MODERATORS, (_CLAIM, _DOUBT), probabilities, None, ruling.text, unparsed, round_)


@dataclass(frozen=True, slots=True)
class Persuasion:
    """A persuader, a debater, moderators, and a helper or none.

    Attributes:
        persuader: Who argues for the claim.
        debater: Who weighs it.
        helper: Who rewrites drafts, or None.
        moderators: Who says after each round how it stands.
        prompts: Templates, for the opening.
        rounds: Most rounds.
    """

    persuader: Talker
    debater: Talker
    helper: Helper | None
    moderators: Moderators
    prompts: Prompts
    rounds: int = 10

    @property
    def scenario(self) -> Scenario:
        """Which scenario this is."""
        return "none" if self.helper is None else self.helper.kind

    async def hold(self, claim: Claim, draw: Draw) -> Persuaded:
        """Hold one dialogue.

        The opening is the same in all scenarios, and what follows is drawn alike as long as the same was said: the
        debater's first reply, the moderators' first ruling and the persuader's first draft are shared by them.

        Args:
            claim: The claim.
            draw: Seed and repetition; everybody draws in a stream of its own.

        Returns:
            The dialogue, ended.

        Raises:
            ModelError: A model failed for good.
        """
        transcript = Transcript(claim.question, spoken_order=True)
        rulings: list[Ruling] = []
        for round_ in range(1, self.rounds + 1):
            transcript = transcript.with_turns(await self._persuade(claim, transcript, round_, draw))
            reply = await self.debater.say(claim, said_in(transcript), draw)
            transcript = transcript.with_turns(_turn(reply, round_, "debater", _DOUBT))
            rulings.append(await self.moderators.rule(claim, said_in(transcript), draw))
            stop = stop_of(rulings[-1], last=round_ == self.rounds)
            if stop is not None:
                return Persuaded(transcript, rulings, stop)
        raise AssertionError("unreachable: the last round stops")

    async def _persuade(self, claim: Claim, transcript: Transcript, round_: int, draw: Draw) -> Turn:
        if round_ == 1:
            return Turn.choose((opening(claim, self.prompts),), 0, round_=1, answer=_CLAIM, role="persuader")
        said = said_in(transcript)
        draft = await self.persuader.say(claim, said, draw)
        turn = _turn(draft, round_, "persuader", _CLAIM)
        if self.helper is None:
            return turn
        rewritten = await self.helper.rewrite(claim, said, draft.speech, draw)
        flaws = turn.flaws if rewritten.help.failed else ()
        return dataclasses.replace(turn, argument=rewritten.argument, flaws=flaws, help=rewritten.help)


def said_in(transcript: Transcript) -> list[Said]:
    """Return the messages of a dialogue, as its speakers and moderators are shown them."""
    return [
        Said("persuader" if turn.role == "persuader" else "debater", turn.argument.plain()) for turn in transcript.turns
    ]


def _turn(spoken: Spoken, round_: int, role: Literal["persuader", "debater"], answer: int) -> Turn:
    turn = Turn.choose(spoken.speech.candidates, spoken.speech.chosen, round_=round_, answer=answer, role=role)
    if not spoken.summary:
        return turn
    note = f"It was told what was said in between in short: {spoken.summary}"
    return dataclasses.replace(turn, thinking="\n\n".join(filter(None, (note, turn.thinking))))
