"""Debates made on the spot on dossiers, without any model: what they quote tells who is right, how they speak does not.

Every speech is put together from wordings that are drawn alike for both sides, around quotes whose marks are drawn
alike for both sides. So a judge learns nothing from style, length or counts of marks, and all from what is quoted:

- ``both``: each side quotes its own sentence, both verified; only the kind of evidence tells.
- ``forged``: the wrong side quotes the decisive sentence with the answers exchanged. It looks decisive; only its mark
  tells.
- ``filler``: the wrong side quotes a sentence that bears on nothing.
- ``bare``: one side, either as often, quotes nothing; the kind of what the other quotes tells.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, TypeVar, get_args

from pydantic import Field, model_validator

from debate.agents.debater import Limits
from debate.config import Config
from debate.dossiers.draws import Draws
from debate.errors import ConfigError
from debate.protocols.base import drawn_seats
from debate.question import Question
from debate.quotes import Argument, Name, Quote, story_index, verify
from debate.record import Debate, Recorded, join_key
from debate.sentences import is_ended
from debate.transcript import Candidate, Transcript, Turn
from debate.view import Role
from training import wordings
from training.named_evidence import NamedEvidence, named_evidence

Kind = Literal["both", "forged", "filler", "bare"]
Made = Literal["simultaneous", "consultancy"]
KINDS: tuple[Kind, ...] = get_args(Kind)
PLAYER = "made"
"""Who speaks in made debates."""
ROOMY = 60
"""Most words of a speech below which counts of marks and words find the right answer (73 % of the time at 36)."""

# Chances, in percent. Beside its evidence a side brings an unverified quote that proves nothing, or a verified one.
_EMPTY, _IDLE = 15, 20
_MISLEADING_TOO = 80  # a forger quotes its true but misleading sentence too
_ABOUT = 60  # an invention names the speaker's answer
_AGAIN = 50  # a later speech quotes again
_QUOTE_FIRST = 25  # a speech begins with its quotes
_SHORT = 14  # words of a quote that stands beside evidence
_NEAREST = 3  # passages to choose from that are as long as the evidence
_LEAD = 4  # most words that lead into a quote

T = TypeVar("T", bound=str)
Quotes = tuple[Quote, ...]


class MadeConfig(Config):
    """How debates are made on the spot."""

    seed: int = Field(0, description="of everything that is drawn")
    rounds: int = Field(1, ge=1, le=3, description="rounds in a debate")
    protocols: dict[Made, float] = Field(
        {"simultaneous": 1.0}, description="share of debates of each protocol; shares are divided by their sum"
    )
    kinds: dict[Kind, float] = Field(
        {"both": 0.6, "forged": 0.25, "filler": 0.1, "bare": 0.05},
        description="share of debates of each kind (see training.made); shares are divided by their sum",
    )
    quotes: Literal["own", "shuffled"] = Field(
        "own",
        description="own: from the debate's story; shuffled: with their marks from a debate on another story, which "
        "says nothing about who is right",
    )
    min_words: int = Field(25, ge=1, description="fewest words of a speech")
    max_words: int = Field(60, ge=20, description="most words of a speech")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.min_words > self.max_words:
            raise ValueError(f"min_words {self.min_words} is more than max_words {self.max_words}")
        for name, shares in (("protocols", self.protocols), ("kinds", self.kinds)):
            if min(shares.values(), default=0) < 0 or not sum(shares.values()) > 0:
                raise ValueError(f"{name} {dict(shares)} are no shares; give at least one above 0, and none below")
        if self.max_words < ROOMY and any(share > 0 for kind, share in self.kinds.items() if kind != "both"):
            raise ValueError(
                f"speeches of at most {self.max_words} words have no room for all that both sides bring, and what is "
                f"left out tells who is right; allow {ROOMY} words, or kinds: {{both: 1}}"
            )
        return self


@dataclass(frozen=True, slots=True)
class _Plan:
    """A debate before it is put into words.

    Attributes:
        question: The question.
        protocol: How it goes.
        kind: What tells who is right.
        quotes: What is quoted for an answer in each round, by the answers that somebody speaks for.
    """

    question: Question
    protocol: Made
    kind: Kind
    quotes: Mapping[int, tuple[Quotes, ...]]


def make_debates(questions: Sequence[Question], config: MadeConfig) -> list[Recorded]:
    """Make a debate on each question.

    Tags of a debate: ``made`` is its kind, ``quotes`` as in the configuration, and of a consultancy ``assigned`` says
    whether the consultant argues for the right or the wrong answer. On shipped stories nothing is forged (their answers
    name nothing that could be exchanged); those debates are of kind ``both``.

    Args:
        questions: Questions of ``dossiers:...`` or ``shipped:stories``.
        config: How they go.

    Returns:
        Debates in the order of the questions, without verdicts; the same for the same seed and questions. With quotes
        of the debates' own each debate depends on its question alone.

    Raises:
        ConfigError: Quotes cannot be shuffled, since more than half of the questions are on one story.
        SourceError: It is not known what in a question's story speaks for its answers.
    """
    plans = [_plan(question, config) for question in questions]
    if config.quotes == "shuffled":
        plans = _shuffle(plans, config.seed)
    return [Recorded(_hold(plan, config), ()) for plan in plans]


def _plan(question: Question, config: MadeConfig) -> _Plan:
    """Draw what a debate is and what is quoted in it."""
    evidence = named_evidence(question)
    draws = Draws("made", config.seed, question.id)
    protocol = _draw(draws, get_args(Made), config.protocols)
    kind = _draw(draws, KINDS, config.kinds)
    gold = question.gold or 0  # named_evidence has refused a question without
    speakers = (0, 1) if protocol == "simultaneous" else (draws.below(2),)
    forging = config.kinds.get("forged", 0) / sum(config.kinds.values()) if evidence.exchange else 0.0
    if (kind == "forged" and evidence.exchange is None) or (kind == "bare" and len(speakers) < 2):
        kind = "both"
    silent = draws.choice(speakers) if kind == "bare" else None
    quotes = {}
    for answer in speakers:
        side = _Side(question, evidence, answer, answer == gold, config.max_words)
        own = () if answer == silent else side.quotes(draws, kind, forging)
        again = (((draws.choice(own),) if own and draws.coin(_AGAIN) else ()) for _ in range(1, config.rounds))
        quotes[answer] = (own, *again)
    return _Plan(question, protocol, kind, quotes)


def _draw(draws: Draws, items: Iterable[T], shares: Mapping[T, float]) -> T:
    """Draw one of the items in proportion to its share."""
    found = [item for item in items if shares.get(item, 0) > 0]
    weights = (max(1, round(1e6 * shares[item] / sum(shares.values()))) for item in found)
    return draws.weighted(found, list(itertools.accumulate(weights)))


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a debate, and what it may quote."""

    question: Question
    evidence: NamedEvidence
    answer: int
    right: bool
    max_words: int

    def quotes(self, draws: Draws, kind: Kind, forging: float) -> Quotes:
        """Draw the quotes of its first speech.

        Both sides bring unverified quotes equally often: the right side as often as the wrong one forges or not.

        Args:
            draws: Decides.
            kind: Of the debate.
            forging: Share of debates in which the wrong side forges.
        """
        own = draws.choice(self.evidence.quotes[self.answer])
        forged = self.evidence.forged(self.answer, self.story)
        percent = _EMPTY if not self.right else round(100 * forging + _EMPTY * (1 - forging))
        beside: Quote | None = None
        if kind == "filler" and not self.right:
            own = self._instead(draws, own)
        if kind == "forged" and not self.right and forged is not None:
            beside = forged
            if not (draws.coin(_MISLEADING_TOO) and self._fits(own, beside)):
                own = self._instead(draws, own, beside)
        elif draws.coin(percent):
            # As often as the wrong false quotes are forged, the right ones are the misleading sentence with the
            # answers exchanged: false too, as long, and just as needless.
            exchanges = self.right and draws.coin(round(10_000 * forging / percent))
            beside = forged if exchanges and self._fits(own, forged) else self._invented(draws)
        elif draws.coin(_IDLE):
            beside = self._idle(draws, own)
        return (own,) if beside in {None, own} else tuple(draws.shuffled((own, beside)))

    @property
    def story(self) -> str:
        """The story."""
        return self.question.story or ""

    def _idle(self, draws: Draws, own: Quote) -> Quote | None:
        """Draw a short verified quote that bears on nothing, to stand beside evidence."""
        short = [text for text in self.evidence.fillers if len(text.split()) <= _SHORT]
        idle = self._quote(draws.choice(short)) if short else None
        return idle if self._fits(own, idle) else None

    def _instead(self, draws: Draws, own: Quote, beside: Quote | None = None) -> Quote:
        """Draw a verified quote that bears on nothing and is about as long as the evidence it stands for."""
        words = len(own.text.split())
        room = self.max_words if beside is None else self._room - len(beside.text.split())
        found = [text for text in self.evidence.fillers if len(text.split()) <= room]
        nearest = sorted(found, key=lambda text: abs(len(text.split()) - words))
        return self._quote(draws.choice(nearest[:_NEAREST])) if nearest else own

    def _invented(self, draws: Draws) -> Quote:
        """Draw an unverified quote that bears on nothing."""
        label = None if self.evidence.labels is None else self.evidence.labels[self.answer]
        if label is None or not draws.coin(_ABOUT):
            return self._quote(draws.choice(wordings.INVENTIONS))
        return self._quote(draws.choice(wordings.INVENTIONS_ABOUT).format(it=label))

    def _quote(self, text: str) -> Quote:
        return verify(text, story_index(self.story), nearest=False)

    @property
    def _room(self) -> int:
        """Words that two quotes may have beside the answer and what leads into them."""
        return self.max_words - len(self.question.answers[self.answer].split()) - 2 * _LEAD

    def _fits(self, own: Quote, beside: Quote | None) -> bool:
        """Whether there is another quote, and room for both."""
        return beside is not None and len(own.text.split()) + len(beside.text.split()) <= self._room


def _shuffle(plans: Sequence[_Plan], seed: int) -> list[_Plan]:
    """Give each debate the quotes, marks and all, of a debate of its protocol on another story, sides at random."""
    found = list(plans)
    for protocol in get_args(Made):
        places: dict[str, list[int]] = {}
        for place, plan in enumerate(plans):
            if plan.protocol == protocol:
                places.setdefault(plan.question.story_id, []).append(place)
        draws = Draws("shuffled", seed, protocol)
        # Stories one after the other, and everybody takes from as far on as the story with most questions is long.
        order = [place for story in draws.shuffled(sorted(places)) for place in places[story]]
        step = max(map(len, places.values()), default=0)
        if 2 * step > len(order):
            raise ConfigError(
                f"quotes of {len(order)} {protocol} debates cannot be shuffled: {step} of them are on one story, so "
                "others are too few to take quotes from; take more stories, or quotes: own"
            )
        for at, place in enumerate(order):
            donor = plans[order[(at + step) % len(order)]]
            taken = [_foreign(rounds) for rounds in draws.shuffled([*donor.quotes.values()])]
            found[place] = replace(plans[place], quotes=dict(zip(plans[place].quotes, taken, strict=True)))
    return found


def _foreign(rounds: tuple[Quotes, ...]) -> tuple[Quotes, ...]:
    return tuple(tuple(replace(quote, span=None) for quote in quotes) for quotes in rounds)


def _hold(plan: _Plan, config: MadeConfig) -> Debate:
    """Put a debate into words."""
    question = plan.question
    seats = drawn_seats(question)[0]
    transcript = Transcript(question, seats)
    alone = plan.protocol == "consultancy"
    role: Role = "consultant" if alone else "debater"
    limits = Limits(config.min_words, config.max_words)
    for round_ in range(1, config.rounds + 1):
        for answer in (seat for seat in seats if seat in plan.quotes):
            draws = Draws("speech", config.seed, question.id, round_, answer)
            quotes = plan.quotes[answer][round_ - 1]
            argument = _speech(draws, question.answers[answer], quotes, limits, first=round_ == 1, alone=alone)
            said = Candidate("", argument, "", limits.flaws(argument))
            transcript = transcript.with_turns(Turn.choose((said,), 0, round_=round_, answer=answer, role=role))
    tags: dict[str, str] = {"made": plan.kind, "quotes": config.quotes}
    if alone:
        tags["assigned"] = "right" if question.gold in plan.quotes else "wrong"
    players = tuple(PLAYER if answer in plan.quotes else None for answer in (0, 1))
    key = join_key("made", plan.protocol, question.id, str(config.seed), config.quotes)
    return Debate(key, plan.protocol, transcript, (players[0], players[1]), tags=tags)


def _speech(draws: Draws, answer: str, quotes: Quotes, limits: Limits, *, first: bool, alone: bool) -> Argument:
    """Word a speech around its quotes; which of the wordings come depends on no quote, but for the room it leaves."""
    target = draws.between(limits.min_words, limits.max_words)
    answer = answer if is_ended(answer) else f"{answer}."
    cited: list[str | Quote] = []
    for place, quote in enumerate(quotes):
        cited += [draws.choice(wordings.FURTHER if place else wordings.INTRODUCTIONS), quote]
    claim = draws.choice(wordings.CLAIMS if first else wordings.RESTATEMENTS).format(answer=answer)
    if _words((claim, *cited)) > limits.max_words:
        claim = answer
    parts = [*cited, claim] if draws.coin(_QUOTE_FIRST) else [claim, *cited]
    doubts = wordings.DOUBTS if alone else (*wordings.DOUBTS, *wordings.REPROACHES)
    remarks = draws.shuffled([draws.choice(wordings.FOLLOW_UPS), draws.choice(doubts)])
    remarks += draws.shuffled(wordings.FOLLOW_UPS)
    for remark in dict.fromkeys(remarks):
        words = _words(parts)
        if words >= target:
            break
        if words + _words((remark,)) <= max(target, limits.min_words + 1):
            parts.append(remark)
    return _join(parts)


def _words(parts: Iterable[str | Quote]) -> int:
    return _join(tuple(parts)).words


def _join(parts: Sequence[str | Quote]) -> Argument:
    """Set parts side by side, a blank between them, and the opponent's name where it belongs."""
    spans: list[str | Quote | Name] = []
    text = ""
    for place, part in enumerate(parts):
        text += " " if place else ""
        if isinstance(part, Quote):
            spans += [text, part] if text else [part]
            text = ""
            continue
        before, *after = part.split("{opponent}")
        text += before
        for piece in after:
            spans += [text, Name("opponent", "Debater")] if text else [Name("opponent", "Debater")]
            text = piece
    return Argument((*spans, text) if text else tuple(spans))
