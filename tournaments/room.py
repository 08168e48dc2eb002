"""A judge room without its pages: who is given which debate in which order, and what becomes of a judgement."""

from __future__ import annotations

import asyncio
import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from debate.errors import ConfigError
from debate.judge_names import PEOPLE, check_judge_name
from debate.protocols import judge_reads_story
from debate.record import Debate, Recorded, from_json, join_key, split_key, to_json, verdict_key
from debate.store import Store
from debate.transcript import Transcript
from debate.verdict import Verdict
from tournaments.judged import speaks
from tournaments.room_config import RoomConfig
from tournaments.room_journal import Given, Journal, Tagged

LIVE = "questions by"
"""The tag that says who asked the debaters of a live debate."""
_NAME = re.compile(r"[^\W_](?:[\w .'’-]{0,38}[\w.])?")
_MARKS = {"Mn", "Mc"}  # signs that letters of many scripts are written with, and no letters to ``re``

Order = tuple[int, int]


class JudgedAlreadyError(ConfigError):
    """A person has judged this debate, and not so."""


def judge_of(name: str) -> str:
    """Name the judge that a person is.

    Args:
        name: As the person wrote it; blanks around and between words do not count, nor does case.

    Returns:
        ``human/NAME``.

    Raises:
        ConfigError: It is no name.
    """
    plain = " ".join(unicodedata.normalize("NFKC", name).split()).casefold()
    letters = "".join("x" if unicodedata.category(character) in _MARKS else character for character in plain)
    if unicodedata.category(plain[:1] or " ") in _MARKS or not _NAME.fullmatch(letters):
        raise ConfigError(
            "a name has up to 40 letters, digits, blanks, dots, hyphens and apostrophes, and begins with a letter or a "
            "digit; choose such a one"
        )
    check_judge_name(f"{PEOPLE}{plain}")
    return f"{PEOPLE}{plain}"


@dataclass(frozen=True, slots=True)
class Ballot:
    """What a person says of a debate.

    Attributes:
        first: Confidence that the answer shown first is right, in percent.
        explanation: Why.
    """

    first: int
    explanation: str

    def verdict(self, judge: str, order: Order, round_: int | None = None) -> Verdict:
        """The verdict that it is."""
        shown = (self.first / 100, (100 - self.first) / 100)
        probabilities = (shown[order.index(0)], shown[order.index(1)])
        return Verdict(judge, order, probabilities, reasoning=self.explanation, round=round_)


#: The confidences that can be given, in percent for the answer shown first: steps of five, and never one half.
STEPS: tuple[int, ...] = tuple(step for step in range(95, 0, -5) if step != 50)


class Room:
    """Who judges what.

    Args:
        config: The room.
        debates: The debates that are given, and in a live room those whose questions and players are.
        store: The open store of the room's run, which holds them.
        journal: The open journal.
    """

    def __init__(
        self,
        config: RoomConfig,
        debates: Iterable[Recorded],
        *,
        store: Store,
        journal: Journal,
    ) -> None:
        self.config = config
        self.journal = journal
        self._store = store
        self._lock = asyncio.Lock()
        self._given: dict[str, list[Given]] = {}
        self._debates = {item.debate.id: item.debate for item in debates if self._fit(item)}
        for event in journal.events:
            if isinstance(event, Given):
                self._given.setdefault(event.judge, []).append(event)
        # Final judgements and beliefs by person, debate and round: those that came with the debates too.
        self._verdicts: dict[tuple[str, str], dict[int | None, Verdict]] = {}
        for key, payload in store.rows("verdicts"):
            verdict = from_json(Verdict, payload)
            if verdict.judge.startswith(PEOPLE):
                self._note(verdict, split_key(key)[0])

    def _fit(self, item: Recorded) -> bool:
        debate = item.debate
        if judge_reads_story(debate.protocol):
            return False
        return self.config.blind or (speaks(item) and bool(debate.transcript.turns))

    def _note(self, verdict: Verdict, debate: str) -> None:
        self._verdicts.setdefault((verdict.judge, debate), {})[verdict.round] = verdict

    @property
    def size(self) -> int:
        """How many debates there are to be given."""
        return len(self._debates)

    def knows(self, judge: str) -> bool:
        """Whether somebody was given debates under a name, or came with them as their judge."""
        return bool(self._given.get(judge)) or any(who == judge for who, _ in self._verdicts)

    def order(self, judge: str, debate: str) -> Order:
        """The answer index shown first and the one shown second: drawn for each person and debate."""
        noise = hashlib.sha256(f"order\0{self.config.seed}\0{judge}\0{debate}".encode()).digest()[0]
        return (0, 1) if noise % 2 == 0 else (1, 0)

    def given(self, judge: str, number: int) -> Given | None:
        """The debate of a number in a person's count, or None."""
        return next((one for one in self._given.get(judge, ()) if one.number == number), None)

    def all_given(self, judge: str) -> list[Given]:
        """All that a person was given, in order."""
        return list(self._given.get(judge, ()))

    def debate(self, debate: str) -> Debate | None:
        """A debate of the store, a live one once it is held; None where there is none."""
        found = self._debates.get(debate)
        if found is not None:
            return found
        payload = self._store.get("debates", debate)
        return None if payload is None else from_json(Debate, payload)

    def seated(self, judge: str, debate: Debate) -> Transcript:
        """A debate's transcript in the order in which a person sees it."""
        transcript = debate.transcript
        return transcript if transcript.seats == self.order(judge, debate.id) else transcript.swapped()

    def final(self, judge: str, debate: str) -> Verdict | None:
        """A person's judgement of a debate, or None."""
        return self._verdicts.get((judge, debate), {}).get(None)

    def beliefs(self, judge: str, debate: str) -> Mapping[int, Verdict]:
        """What a person believed midway, by the round after which."""
        found = self._verdicts.get((judge, debate), {})
        return {round_: found[round_] for round_ in sorted(one for one in found if one is not None)}

    async def next_for(self, judge: str, *, skip: frozenset[str] = frozenset()) -> Given | None:
        """Give a person a debate: the one that is open, else a new one.

        A person gets one debate on a question, unless the room repeats questions. Of what is left, debates that some
        people have been given and others are still to be come first, so that people overlap; then untouched ones; then
        those that enough people have.

        Args:
            judge: The person.
            skip: Debates that are open and cannot be judged, as live ones that failed.

        Returns:
            What is given; None where nothing is left.

        Raises:
            StoreError: It could not be written down.
        """
        async with self._lock:
            own = self._given.setdefault(judge, [])
            for one in own:
                if one.debate not in skip and self.final(judge, one.debate) is None:
                    return one
            chosen = self._choose(judge, own)
            if chosen is None:
                return None
            live = join_key(f"live {judge}")
            debate, of = (f"{chosen} | {live}", chosen) if self.config.live else (chosen, None)
            event = Given(judge, len(own) + 1, debate, of)
            await self.journal.add(event)
            own.append(event)
            return event

    def _choose(self, judge: str, own: Iterable[Given]) -> str | None:
        taken = {one.of or one.debate for one in own} | {debate for who, debate in self._verdicts if who == judge}
        # Who tagged a judgement of a question has seen the right answer and the story.
        seen = {one.debate for one in self.journal.events if isinstance(one, Tagged) and one.tagger == judge}
        questions = {self._question(debate) for debate in (seen if self.config.repeat else taken | seen)}
        counts = Counter(one.of or one.debate for given in self._given.values() for one in given)
        counts.update(
            debate for who, debate in self._verdicts if self.given_by_debate(who, debate) is None
        )  # as in rooms before this one

        def place(debate: str) -> tuple[bool, int, bytes]:
            count = counts[debate]
            full = count >= self.config.people
            noise = hashlib.sha256(f"turn\0{self.config.seed}\0{debate}".encode()).digest()
            return full, count if full else -count, noise

        left = [debate for debate in self._debates if debate not in taken and self._question(debate) not in questions]
        return min(left, key=place, default=None)

    def given_by_debate(self, judge: str, debate: str) -> Given | None:
        """What a person was given of a debate, or None."""
        return next((one for one in self._given.get(judge, ()) if one.debate == debate), None)

    def _question(self, debate: str) -> str:
        found = self.debate(debate)
        if found is None:
            return ""
        # Not by its id: with another wrong answer, or from another source, it has another one and is the same question.
        question = found.transcript.question
        return f"{question.story_id}\0{' '.join(question.text.split()).casefold()}"

    async def judge(self, judge: str, debate: str, ballot: Ballot, *, round_: int | None = None) -> Verdict:
        """Keep a person's judgement of a debate, or its belief after a round; it is in the store when this returns.

        Args:
            judge: The person.
            debate: The debate's id.
            ballot: What it says.
            round_: After which round; None for the judgement.

        Returns:
            The verdict; that which is kept where the same was sent before.

        Raises:
            JudgedAlreadyError: Something else was sent before.
            StoreError: It could not be written.
        """
        verdict = ballot.verdict(judge, self.order(judge, debate), round_)
        async with self._lock:
            kept = self._verdicts.get((judge, debate), {})
            before = kept.get(round_)
            if before is None and round_ is not None:
                before = kept.get(None)  # after the judgement nothing midway is taken
            if before is not None:
                if before == verdict:
                    return before
                raise JudgedAlreadyError("you have judged this debate already, and judgements are not changed")
            key = verdict_key(debate, judge, verdict.order, round_)
            await self._store.put("verdicts", key, to_json(verdict))
            self._note(verdict, debate)
        return verdict
