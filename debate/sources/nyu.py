"""``nyu:FILE``: the published debates and consultancies of people and GPT-4 on QuALITY stories (Michael et al. 2023).

The archive holds ``debates-metadata.jsonl``, one line a room, and ``debates/official/NAME.json``, a room with its story
as tokens, its rounds, and offline judges. ``load`` gives the questions, ``load_debates`` what was said and judged.

The published facts are a debate's tags: ``setting`` ("human debate", "AI consultancy", ...), ``debaters`` ("human" or
"AI"), ``form`` ("debate" or "consultancy"), ``included_in_paper`` ("true" or "false"), ``status``, ``title`` and, where
there was one, ``ended_by`` and ``judge``. Verdicts come in the order they were given: the live judge's, with ``round``
the number of rounds heard (0 before the first) and None for the one that ended the debate; then those of offline
judges, named ``NAME (offline, stepped)`` or ``NAME (offline, timed)``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from debate.errors import SourceError
from debate.folds import fold_of
from debate.judge_names import offline_name
from debate.question import Question
from debate.quotes import Argument, Name, Quote, parse_argument, parse_plain, quote_span
from debate.record import Debate, Recorded
from debate.sources.locate import find
from debate.sources.once import read_once
from debate.sources.rows import Row, json_row, read_text
from debate.transcript import SEATS, Transcript, Turn
from debate.verdict import Decision, Verdict

__all__ = ["Recorded", "load_debates", "load_questions"]

_METADATA = "debates-metadata.jsonl"
_ROOMS = "debates/official"


def load_questions(place: str, source: str) -> Iterator[Question]:
    """Load the questions that were debated, each once.

    Args:
        place: The archive (``.tar.gz``) as a path, URL or hub file, or a folder that holds it unpacked.
        source: The source string, for the questions to carry.

    Yields:
        Questions of two answers, in the order of the rooms' names. Answers are in alphabetical order, since rooms on
        one question differ in it.

    Raises:
        SourceError: The archive is malformed.
    """
    stories = _Stories()
    seen: set[str] = set()
    for _, room, _ in _rooms(find(place)):
        question = _frame(room.row("setup"), stories, source).question
        if question.id not in seen:
            seen.add(question.id)
            yield question


def load_debates(path: str | Path) -> list[Recorded]:
    """Load the recorded debates and consultancies, complete or not.

    A process reads an archive once, as long as the file does not change.

    Args:
        path: As for ``load_questions``; a Path or a string.

    Returns:
        One record a room, in the order of the rooms' names. ``debate.failed`` says so where a room was never finished.

    Raises:
        SourceError: The archive is malformed.
    """
    return list(_read(find(str(path)), f"nyu:{path}"))


@read_once(1)
def _read(place: Path, source: str) -> tuple[Recorded, ...]:
    stories = _Stories()
    return tuple(_recorded(name, room, meta, stories, source) for name, room, meta in _rooms(place))


def _rooms(path: Path) -> Iterator[tuple[str, Row, Row]]:
    """Yield name, room and metadata of every room, sorted by name; rooms are parsed one at a time to spare memory."""
    metadata: dict[str, Row] = {}
    rooms: dict[str, tuple[str, str]] = {}
    for file, text in _unpacked(path) if path.is_dir() else _packed(path):
        where = f"{path}, {file}"
        if PurePosixPath(file).name == _METADATA:
            for number, line in enumerate(text.split("\n"), 1):
                if line.strip():
                    row = json_row(line, f"{where}, line {number}")
                    metadata[row.text("name")] = row
        else:
            rooms[PurePosixPath(file).stem] = (text, where)
    if not metadata or not rooms:
        raise SourceError(
            f"{path} does not hold {_METADATA} and {_ROOMS}/*.json; give the archive of the published debates"
        )
    for name, (text, where) in sorted(rooms.items()):
        if name not in metadata:
            raise SourceError(f"{where}: the room has no line in {_METADATA}; the archive is not whole, get it again")
        yield name, json_row(text, where), metadata[name]


def _wanted(name: str) -> bool:
    file = PurePosixPath(name)
    return file.name == _METADATA or (file.suffix == ".json" and str(file.parent).endswith(_ROOMS))


def _unpacked(folder: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(folder.rglob("*.json*")):
        name = file.relative_to(folder.parent).as_posix()
        if _wanted(name):
            yield name, read_text(file)


def _packed(path: Path) -> Iterator[tuple[str, str]]:
    try:
        with tarfile.open(path, "r:*") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isfile() and _wanted(member.name) else None
                if file is not None:
                    yield member.name, file.read().decode("utf-8")
    except (tarfile.TarError, EOFError, UnicodeDecodeError, OSError) as error:
        raise SourceError(
            f"cannot read {path} as an archive: {error}; give the whole .tar.gz or its unpacked folder"
        ) from error


@dataclass(slots=True)
class _Stories:
    """Stories by text, so that the rooms on one story share it; each with the character at which each token starts."""

    known: dict[str, tuple[str, list[int]]] = field(default_factory=dict)

    def get(self, room: Row) -> tuple[str, list[int]]:
        """Return a room's story, its tokens joined by single spaces, and where each token starts."""
        tokens = room.texts("contents")
        text = " ".join(tokens)
        if text not in self.known:
            starts = [0, *itertools.accumulate(len(token) + 1 for token in tokens)]
            self.known[text] = (text, starts)
        return self.known[text]


@dataclass(frozen=True, slots=True)
class _Frame:
    """A room's question, and how its published answer order maps to the question's.

    Attributes:
        question: The question, answers in alphabetical order.
        seats: The answer index of published answer 0 (seat A) and of published answer 1 (seat B).
        starts: Where each token of the story starts, and one more.
    """

    question: Question
    seats: tuple[int, int]
    starts: list[int]

    @property
    def literal(self) -> tuple[str, ...]:
        """Texts whose own phrases, such as "side B", are no names of seats."""
        return (self.question.story or "", self.question.text, *self.question.answers)


def _frame(setup: Row, stories: _Stories, source: str) -> _Frame:
    material = setup.row("sourceMaterial").row("QuALITYSourceMaterial")
    published = setup.texts("answers")
    if len(published) != 2 or published[0] == published[1]:
        raise setup.error(f"{len(published)} answers; two different ones are needed")
    gold = setup.integer("correctAnswerIndex")
    if gold not in {0, 1}:
        raise setup.error(f"correctAnswerIndex is {gold}; 0 or 1 is needed")
    # One id must mean one order of answers, but rooms on one question show them in either: seats keep that.
    seats = (0, 1) if published[0] < published[1] else (1, 0)
    answers = tuple(sorted(published))
    story, starts = stories.get(material)
    article = material.text("articleId")
    text = setup.text("question")
    digest = hashlib.sha256("\0".join((text, *answers)).encode()).hexdigest()[:10]
    question = Question(
        id=f"nyu-{article}-{digest}",
        text=text,
        answers=answers,
        gold=seats[gold],
        story=story,
        story_id=f"quality-{article}",
        source=source,
        fold=fold_of(article),
    )
    return _Frame(question, seats, starts)


def _recorded(name: str, room: Row, meta: Row, stories: _Stories, source: str) -> Recorded:
    setup = room.row("setup")
    frame = _frame(setup, stories, source)
    speakers = setup.row("roles")
    judge = speakers.text("Judge") if speakers.has("Judge") else None
    consultancy = not meta.row("setting").boolean("isDebate")
    turns: list[Turn] = []
    verdicts: list[Verdict] = []
    offline: list[Verdict] = []
    heard = 0
    in_turn = False
    for entry in room.rows("rounds"):
        kind, value = entry.sole()
        if kind == "JudgeFeedback":
            verdict = _verdict(value, frame, value.row("feedback").text("speaker"), heard)
            verdicts.append(verdict)
            judge = verdict.judge
            if verdict.round is not None and verdict.reasoning:
                # What the judge says opens the next round, as in interactive debate.
                said = parse_plain(verdict.reasoning, seat="A", literal=frame.literal)
                turns.append(Turn(heard + 1, "judge", None, said, first=frame.seats[0]))
        elif kind in {"SimultaneousSpeeches", "SequentialSpeeches"}:
            heard += 1
            speeches = value.row("speeches")
            in_turn |= kind == "SequentialSpeeches" and len(speeches.values) > 1
            turns.extend(
                _speech(speeches, side, frame, heard, consultancy=consultancy) for side in sorted(speeches.values)
            )
        elif kind == "OfflineJudgments":
            offline.extend(_offline(value.row("judgments"), frame))
        elif kind != "NegotiateEnd":
            raise entry.error(f"unknown kind of round {kind!r}; this loader knows the archive as published in 2023")
    if consultancy:
        protocol = "consultancy"
    elif judge is not None:
        protocol = "interactive"
    else:
        protocol = "sequential" if in_turn else "simultaneous"
    tags = _tags(meta, judge)
    seated = [speakers.text(f"Debater {seat}") if speakers.has(f"Debater {seat}") else None for seat in SEATS]
    debate = Debate(
        id=name,
        protocol=protocol,
        # Where both spoke at once, exchanging seats exchanges their speeches too; a judge opens its round either way.
        transcript=Transcript(frame.question, frame.seats, tuple(turns), spoken_order=in_turn),
        players=(seated[frame.seats[0]], seated[frame.seats[1]]),
        failed=None if tags["status"] == "Complete" else f"published as {tags['status']}",
        tags=tags,
    )
    return Recorded(debate, (*verdicts, *offline))


def _tags(meta: Row, judge: str | None) -> dict[str, str]:
    setting = meta.row("setting")
    debaters = "human" if setting.boolean("isHuman") else "AI"
    form = "debate" if setting.boolean("isDebate") else "consultancy"
    status, details = meta.row("status").sole()
    tags = {
        "setting": f"{debaters} {form}",
        "debaters": debaters,
        "form": form,
        "included_in_paper": "true" if meta.boolean("includedInPaper") else "false",
        "status": status,
        "title": meta.text("storyTitle"),
    }
    if details.has("result"):
        tags["ended_by"] = details.row("result").row("endedBy").sole()[0]
    if judge is not None:
        tags["judge"] = judge
    return tags


def _speech(speeches: Row, side: str, frame: _Frame, round_: int, *, consultancy: bool) -> Turn:
    if side not in {"0", "1"}:
        raise speeches.error(f"a speech for side {side!r}; 0 or 1 is needed")
    seat = SEATS[int(side)]
    spans: list[str | Quote | Name] = []
    for part in speeches.row(side).rows("content"):
        kind, value = part.sole()
        if kind == "Text":
            spans.extend(parse_argument(value.any_text("text"), None, seat=seat, literal=frame.literal).spans)
        elif kind == "Quote":
            spans.append(_quote(value, frame))
        else:
            raise part.error(f"unknown kind of content {kind!r}; Text or Quote is needed")
    answer = frame.seats[int(side)]
    return Turn(round_, "consultant" if consultancy else "debater", answer, Argument(tuple(spans)))


def _quote(value: Row, frame: _Frame) -> Quote:
    """Make a quote of a published half-open token range."""
    span = value.items("span")
    if len(span) != 2 or not all(isinstance(index, int) for index in span):
        raise value.error(f"span is {span}; two token numbers are needed")
    first, end = (int(str(index)) for index in span)
    n_tokens = len(frame.starts) - 1
    if not 0 <= first < end or first >= n_tokens:
        raise value.error(f"span {span} is not a range of the story's {n_tokens} tokens")
    # A published range may end past the story; it quotes to the story's end.
    return quote_span(str(frame.question.story), frame.starts[first], frame.starts[min(end, n_tokens)] - 1)


def _verdict(judgment: Row, frame: _Frame, judge: str, heard: int) -> Verdict:
    distribution = judgment.numbers("distribution")
    if len(distribution) != 2 or min(distribution) < 0 or abs(sum(distribution) - 1) > 1e-6:
        raise judgment.error(f"distribution {distribution} is not one over two answers")
    reasoning = "".join(
        value.any_text("text")
        for kind, value in (part.sole() for part in judgment.row("feedback").rows("content"))
        if kind == "Text"
    ).strip()
    verdict = Verdict.of(Decision(distribution, reasoning=reasoning), judge=judge, order=frame.seats)
    return dataclasses.replace(verdict, round=None if judgment.boolean("endDebate") else heard)


def _offline(judges: Row, frame: _Frame) -> Iterator[Verdict]:
    """Yield offline judges' verdicts: a stepped judge gives one before the first round, then one after each."""
    for name in judges.values:
        offline = judges.row(name)
        for heard, judgment in enumerate(offline.rows("judgments")):
            yield _verdict(judgment, frame, offline_name(name, offline.text("mode")), heard)
