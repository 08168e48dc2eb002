"""Rows that judges are trained on: what a judge is asked about a debate, and what a right judge replies.

Prompts are those that judges are sent in use, made by the same functions, so that training and use agree.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from debate.agents.judge import letter_prompt, parse_answer, reason_prompt
from debate.agents.render import LETTERS
from debate.card import Card
from debate.errors import ConfigError, SourceError
from debate.models.base import Message
from debate.prompts import Prompts, harmless
from debate.protocols import judge_reads_story
from debate.question import Question
from debate.record import Debate, Recorded
from debate.transcript import Transcript
from training.gather import Gathered, Show, as_shown
from training.rows import SOURCE, Row, RowSet, check_some, deduplicate, merge

JudgeReply = Literal["letter", "reason"]
FINAL = "final"
"""The tag ``round`` of a row on a whole debate."""
_PASSED_ON = ("made", "quotes", "setting")  # tags of debates that rows have too


def judge_row_set(gathered: Sequence[Gathered], prompts: Prompts, reply: JudgeReply = "letter") -> RowSet[Row]:
    """Make the rows that a judge is trained on, each once, and hold that there is something to learn.

    Args:
        gathered: Debates of one or more sources; their entries say whether debates are also cut off, and what is shown.
        prompts: Templates.
        reply: ``letter``: the letter of the right answer; ``reason``: recorded reasoning that ended right.

    Returns:
        Rows; those on both orders of a debate stand next to each other.

    Raises:
        ConfigError: Reasoning is wanted on what no judge was shown.
        SourceError: No row is left, or all say the same.
    """
    parts = []
    for part in gathered:
        config = part.config
        if reply == "reason" and (config.partial or config.show != "debate"):
            raise ConfigError(
                f"reasoning is recorded on whole debates as they were judged, so {config.debates!r} can neither be "
                "partial nor show the question alone; leave out partial and show"
            )
        if reply == "reason":
            made = reason_rows(part.recorded, prompts, source=config.debates)
        else:
            made = judge_rows(part.recorded, prompts, source=config.debates, partial=config.partial, show=config.show)
        dropped = Counter(part.dropped)
        dropped.update(made.dropped)
        parts.append(dataclasses.replace(made, dropped=dict(dropped)))
    rowset = deduplicate(merge(parts))
    check_some(rowset, "judge")
    check_classes(rowset, [question for part in gathered for question in part.questions])
    return rowset


def judge_rows(
    recorded: Iterable[Recorded],
    prompts: Prompts,
    *,
    source: str = "unknown",
    partial: bool = False,
    show: Show = "debate",
) -> RowSet[Row]:
    """Make rows for a judge that replies with the letter of an answer (``debate.agents.judge.LetterJudge``).

    Args:
        recorded: Debates; what judges made of them does not matter.
        prompts: Templates.
        source: What rows are tagged with as their source.
        partial: Also make rows of each debate as it was after each round but the last.
        show: ``question``: only question and answers, as a blind judge is shown them.

    Returns:
        Two rows for each debate, or each part of one: its own seats first, then the exchanged ones. Debates without a
        gold answer are left out, and counted.
    """
    rows: list[Row] = []
    questions: list[Question] = []
    without = 0
    for debate in (as_shown(item, show).debate for item in recorded):
        gold = debate.transcript.question.gold
        if gold is None:
            without += 1
            continue
        questions.append(debate.transcript.question)
        story = judge_reads_story(debate.protocol)
        for round_, part in _parts(debate.transcript, partial=partial):
            for transcript in (part, part.swapped()):
                prompt = letter_prompt(transcript.view(story=story), prompts)
                tags = _tags(debate, transcript, source) | {"round": round_}
                rows.append(_row(debate, prompt, LETTERS[transcript.seats.index(gold)], tags))
    return RowSet(tuple(rows), Card.stories_of(questions), {"no gold answer": without} if without else {})


def _parts(transcript: Transcript, *, partial: bool) -> Iterator[tuple[str, Transcript]]:
    """Yield what is judged of a debate, and after which round: all of it last."""
    rounds = sorted({turn.round for turn in transcript.turns})
    for round_ in rounds[:-1] if partial else ():
        # What a judge asks opens the next round: it is cut off with it.
        heard = tuple(turn for turn in transcript.turns if turn.round <= round_)
        yield str(round_), dataclasses.replace(transcript, turns=heard)
    yield FINAL, transcript


def reason_rows(recorded: Iterable[Recorded], prompts: Prompts, *, source: str = "unknown") -> RowSet[Row]:
    """Make rows for a judge that reasons, of recorded reasoning that ended right: rejection sampling.

    Only verdicts of a ``ReasonJudge`` on a whole debate hold one reply as it was written, with the line that names the
    answer; a vote's replies are kept joined, where one of them could fake the beginning of the next.

    Args:
        recorded: Debates with verdicts.
        prompts: Templates.
        source: What rows are tagged with as their source.

    Returns:
        As many rows for each letter, drawn by a hash where more ended in one: a judge that leans to a letter is right
        more often where that is the right answer's, and must not learn to lean more. What is left out is counted.
    """
    rows: list[Row] = []
    questions: list[Question] = []
    dropped: Counter[str] = Counter()
    for item in recorded:
        debate = item.debate
        question = debate.transcript.question
        if question.gold is None:
            dropped["no gold answer"] += 1
            continue
        if not item.verdicts:
            dropped["no verdict"] += 1
        for verdict in item.verdicts:
            if verdict.round is not None:
                dropped["given before the end of the debate"] += 1
            elif verdict.probabilities is None:
                dropped["unparsed"] += 1
            elif max(verdict.probabilities) < 1 or parse_answer(verdict.reasoning, len(verdict.order)) is None:
                dropped["no reasoning of one reply with an answer line"] += 1
            elif verdict.probabilities[question.gold] < 1:
                dropped["ended wrong"] += 1
            else:
                transcript = _seated(debate.transcript, verdict.order)
                view = transcript.view(story=judge_reads_story(debate.protocol))
                tags = _tags(debate, transcript, source) | {"round": FINAL, "judge": verdict.judge}
                rows.append(_row(debate, reason_prompt(view, prompts), harmless(verdict.reasoning.strip()), tags))
                questions.append(question)
    kept = _balanced(rows)
    if len(kept) < len(rows):
        dropped["more of one letter than of the other"] = len(rows) - len(kept)
    return RowSet(kept, Card.stories_of(questions), dict(dropped))


def _seated(transcript: Transcript, order: Sequence[int]) -> Transcript:
    return transcript if transcript.seats == tuple(order) else transcript.swapped()


def _balanced(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Keep as many rows of each letter; which ones, a hash of debate, judge and order decides."""
    places: dict[str, list[int]] = {"A": [], "B": []}
    for place, row in enumerate(rows):
        places[row.tags["letter"]].append(place)

    def lot(place: int) -> bytes:
        tags = rows[place].tags
        return hashlib.sha256("\0".join((tags["debate"], tags["judge"], tags["order"])).encode()).digest()

    fewest = min(map(len, places.values()))
    kept = sorted(place for of in places.values() for place in sorted(of, key=lot)[:fewest])
    return tuple(rows[place] for place in kept)


def _row(debate: Debate, prompt: Sequence[Message], completion: str, tags: Mapping[str, str]) -> Row:
    question = debate.transcript.question
    return Row(tuple(prompt), completion, question.id, question.story_id, question.fold, tags)


def _tags(debate: Debate, transcript: Transcript, source: str) -> dict[str, str]:
    """What is known of a row: ``order`` is the answer index at each letter, ``letter`` that of the right answer."""
    gold = debate.transcript.question.gold
    tags = {tag: debate.tags[tag] for tag in _PASSED_ON if tag in debate.tags}
    tags |= {SOURCE: source, "debate": debate.id, "protocol": debate.protocol}
    tags["order"] = "".join(map(str, transcript.seats))
    if gold is not None:
        tags["letter"] = LETTERS[transcript.seats.index(gold)]
    defended = {turn.answer for turn in debate.transcript.turns} - {None}
    if len(defended) == 1:
        tags["assigned"] = "right" if gold in defended else "wrong"
    return tags


def check_classes(rowset: RowSet[Row], questions: Sequence[Question]) -> None:
    """Hold that a judge cannot be right on all rows by a rule that has nothing to do with the debate.

    Args:
        rowset: One or more rows of judges.
        questions: What they are on.

    Raises:
        SourceError: All right answers have one letter or one text, or all that is argued is right, or all wrong.
    """
    letters = {row.tags.get("letter") for row in rowset.rows}
    if len(letters) == 1:
        raise SourceError(
            f"the right answer is {letters.pop()} in all {len(rowset.rows)} rows, so a judge would learn the letter; "
            "give debates in both orders"
        )
    known = {question.id: question for question in questions if question.gold is not None}
    answers = {question.answers[question.gold or 0].casefold() for question in known.values()}
    if len(answers) == 1:
        raise SourceError(
            f"the right answer of all {len(known)} questions is {answers.pop()!r}, so a judge would learn its words; "
            "give questions with other right answers too"
        )
    assigned = {row.tags.get("assigned") for row in rowset.rows}
    if len(assigned) == 1 and None not in assigned:
        which = assigned.pop()
        habit = "believe" if which == "right" else "disbelieve"
        raise SourceError(
            f"every consultant argues for the {which} answer, so a judge would learn to {habit} whoever speaks; give "
            "consultancies for both answers"
        )
