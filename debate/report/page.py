"""One debate as its page shows it: speeches by round and seat, quotes placed in the story, verdicts by seat."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from debate.protocols.baselines import judge_reads_story
from debate.quotes import Quote, Seat
from debate.record import Debate
from debate.report.speech import Passage, speech_html, story_html
from debate.transcript import SEATS, Candidate, Transcript, Turn
from debate.verdict import Verdict, combine, points


@dataclass(frozen=True, slots=True)
class DebatePage:
    """What a debate's page is built from.

    Attributes:
        debate: The debate.
        verdicts: All verdicts on it, of any judge, order and round.
        facts: Further facts as name and text, such as what it cost.
    """

    debate: Debate
    verdicts: Sequence[Verdict] = ()
    facts: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class _Side:
    seat: Seat
    answer: str
    player: str | None
    right: bool | None


@dataclass(frozen=True, slots=True)
class _Speech:
    seat: Seat | None
    to: Seat | None
    speaker: str
    player: str | None
    html: Markup
    words: int
    turn: Turn
    verified: int
    unverified: tuple[Quote, ...]
    candidates: tuple[_Sample, ...]


@dataclass(frozen=True, slots=True)
class _Sample:
    candidate: Candidate
    html: Markup
    chosen: bool


@dataclass(frozen=True, slots=True)
class _Shown:
    """One letter of a verdict: what the judge saw at it, where that sits on the page, and what the judge gave it."""

    letter: str
    seat: Seat
    answer: str
    probability: float | None


@dataclass(frozen=True, slots=True)
class _Opinion:
    verdict: Verdict
    swapped: bool
    shown: tuple[_Shown, ...]
    for_a: float | None
    outcome: str


@dataclass(frozen=True, slots=True)
class _Combined:
    judge: str
    count: int
    for_a: float | None
    outcome: str
    flips: bool


@dataclass(frozen=True, slots=True)
class _Judgement:
    """What one judge said: by round, the final verdicts last, and of each round the page's own order first."""

    judge: str
    rounds: tuple[tuple[int | None, tuple[_Opinion, ...]], ...]


def page_context(page: DebatePage) -> dict[str, object]:
    """Work out what the template of a debate shows.

    Args:
        page: The debate and its verdicts.

    Returns:
        Values for the template, in the frame of the transcript's seats.
    """
    debate = page.debate
    transcript = debate.transcript
    question = transcript.question
    passages: list[Passage] = []
    speeches = [_speech(debate, turn, passages) for turn in _in_order(transcript)]
    return {
        "debate": debate,
        "question": question,
        "sides": [_side(debate, seat) for seat in SEATS],
        "rounds": [
            (number, list(group)) for number, group in itertools.groupby(speeches, lambda speech: speech.turn.round)
        ],
        "spoken_order": transcript.spoken_order,
        "layout": _layout(transcript),
        "verb": "argued for" if any(turn.role == "consultant" for turn in transcript.turns) else "defended",
        "baseline": _baseline(debate),
        "story": None if question.story is None else story_html(question.story, passages),
        "passages": len(passages),
        "verified": sum(speech.verified for speech in speeches),
        "quotes": sum(speech.verified + len(speech.unverified) for speech in speeches),
        "combined": combined_verdicts(page),
        "judgements": _judgements(page),
        "facts": {**debate.tags, **_effort(debate), **(page.facts or {})},
    }


def index_row(page: DebatePage, number: int) -> dict[str, object]:
    """Sum up a debate for the list of debates, as plain values for its script file.

    Args:
        page: The debate and its verdicts.
        number: The number of its page.

    Returns:
        Values that JSON can hold; ``judges`` gives each judge's mean probability for the answer in seat A, what that
        makes of the debate, and whether its two orders name different answers.
    """
    debate = page.debate
    transcript = debate.transcript
    quotes = [quote for turn in transcript.turns for quote in turn.argument.quotes]
    gold = transcript.question.gold
    return {
        "n": number,
        "id": debate.id,
        "question": transcript.question.text,
        "protocol": debate.protocol,
        "players": [debate.players[answer] for answer in transcript.seats],
        "gold": None if gold is None else transcript.seat_of(gold),
        "judges": [[one.judge, one.for_a, one.outcome, one.flips] for one in combined_verdicts(page)],
        "verified": sum(quote.verified for quote in quotes),
        "quotes": len(quotes),
        "failed": debate.failed is not None,
    }


def combined_verdicts(page: DebatePage) -> list[_Combined]:
    """Combine each judge's final verdicts (both orders, where there are both) by their mean probability."""
    transcript = page.debate.transcript
    final = [verdict for verdict in page.verdicts if verdict.round is None]
    rows = []
    for judge in dict.fromkeys(verdict.judge for verdict in final):
        own = [verdict for verdict in final if verdict.judge == judge]
        probabilities = combine(own)
        for_a = None if probabilities is None else probabilities[transcript.seats[0]]
        sides = {points(verdict.probabilities[0]) for verdict in own if verdict.probabilities is not None}
        rows.append(_Combined(judge, len(own), for_a, _outcome(transcript, for_a), {0, 1} <= sides))
    return rows


def said_text(page: DebatePage) -> str:
    """All that a reader may look for by words: the answers, what was said, and judges' reasons; for the list's search.

    Args:
        page: The debate and its verdicts.

    Returns:
        Small letters, as the names stand on the page.
    """
    transcript = page.debate.transcript
    texts = [*transcript.question.answers, *(turn.text for turn in transcript.view().turns)]
    return "\n".join([*texts, *(verdict.reasoning for verdict in page.verdicts)]).lower()


def _judgements(page: DebatePage) -> list[_Judgement]:
    transcript = page.debate.transcript
    found = []
    for judge in dict.fromkeys(verdict.judge for verdict in page.verdicts):
        rounds: dict[int | None, list[_Opinion]] = {}
        for verdict in page.verdicts:
            if verdict.judge == judge:
                rounds.setdefault(verdict.round, []).append(_opinion(transcript, verdict))
        ordered = sorted(rounds.items(), key=lambda row: (row[0] is None, row[0] or 0))
        shown = ((number, tuple(sorted(own, key=lambda one: one.swapped))) for number, own in ordered)
        found.append(_Judgement(judge, tuple(shown)))
    return found


def _effort(debate: Debate) -> dict[str, str]:
    """What the debate took, as far as its transcript tells; nothing where nobody spoke."""
    turns = debate.transcript.turns
    samples = [sample for turn in turns for sample in turn.candidates]
    if not samples:
        return {}
    invalid = sum(not sample.valid for sample in samples)
    critiques = sum(bool(sample.critique) for sample in samples)
    words = sum(len(sample.raw.split()) or sample.argument.words for sample in samples)
    text = (
        f"{len(samples)} candidates of {words:,} words for {len(turns)} {'speech' if len(turns) == 1 else 'speeches'}"
    )
    text += f", {invalid} not valid" if invalid else ""
    return {"What it took": text + (f", {critiques} written after a critique" if critiques else "")}


def _in_order(transcript: Transcript) -> list[Turn]:
    """Order turns as the transcript's views do."""
    if transcript.spoken_order:
        return sorted(transcript.turns, key=lambda turn: turn.round)

    def place(turn: Turn) -> tuple[int, int, bool]:
        about = turn.to if turn.answer is None else turn.answer
        return turn.round, -1 if about is None else transcript.seats.index(about), turn.answer is not None

    return sorted(transcript.turns, key=place)


def _layout(transcript: Transcript) -> str:
    """How rounds are laid out: two columns for two who speak to each other or apart, one for a speaker alone."""
    speakers = {(turn.answer, turn.role) for turn in transcript.turns if turn.answer is not None}
    if len(speakers) < 2:
        return "alone"
    return "apart" if {role for _, role in speakers} == {"consultant"} else "facing"


def _baseline(debate: Debate) -> str | None:
    """What a judge decided from where nobody was to speak, or None where somebody was."""
    if debate.transcript.turns or debate.players != (None, None):
        return None
    return "the story" if judge_reads_story(debate.protocol) else "the question alone"


def _side(debate: Debate, seat: Seat) -> _Side:
    transcript = debate.transcript
    answer = transcript.seats[SEATS.index(seat)]
    gold = transcript.question.gold
    return _Side(
        seat, transcript.question.answers[answer], debate.players[answer], None if gold is None else gold == answer
    )


def _speech(debate: Debate, turn: Turn, passages: list[Passage]) -> _Speech:
    transcript = debate.transcript
    (seen,) = dataclasses.replace(transcript, turns=(turn,)).view().turns
    story = transcript.question.story
    anchors: list[int | None] = []
    for quote in turn.argument.quotes:
        if story is None or quote.span is None:
            anchors.append(None)
            continue
        passages.append(Passage(len(passages) + 1, *quote.span, f"{seen.speaker} in round {turn.round}"))
        anchors.append(len(passages))
    return _Speech(
        seen.seat,
        seen.to,
        seen.speaker,
        None if turn.answer is None else debate.players[turn.answer],
        speech_html(turn.argument, seen.frame, anchors),
        turn.argument.words,
        turn,
        sum(quote.verified for quote in turn.argument.quotes),
        tuple(quote for quote in turn.argument.quotes if not quote.verified),
        tuple(_samples(turn, seen.frame)),
    )


def _samples(turn: Turn, seat: Seat | None) -> Iterable[_Sample]:
    spoken = next((sample for sample in turn.candidates if sample.argument == turn.argument), None)
    for candidate in turn.candidates:
        unplaced = [None] * len(candidate.argument.quotes)
        yield _Sample(candidate, speech_html(candidate.argument, seat, unplaced), candidate is spoken)


def _opinion(transcript: Transcript, verdict: Verdict) -> _Opinion:
    probabilities = verdict.probabilities
    shown = tuple(
        _Shown(
            letter,
            transcript.seat_of(answer),
            transcript.question.answers[answer],
            None if probabilities is None else probabilities[answer],
        )
        for letter, answer in zip("AB", verdict.order, strict=True)
    )
    for_a = None if probabilities is None else probabilities[transcript.seats[0]]
    return _Opinion(verdict, verdict.order != transcript.seats, shown, for_a, _outcome(transcript, for_a))


def _outcome(transcript: Transcript, for_a: float | None) -> str:
    if for_a is None:
        return "unparsed"
    won = points(for_a)
    if won == 0.5:
        return "tie"
    seat: Seat = "A" if won else "B"
    gold = transcript.question.gold
    if gold is None:
        return f"for {seat}"
    return "right" if transcript.seat_of(gold) == seat else "wrong"
