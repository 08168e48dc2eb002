"""Published commonsense data sets in the forms that they were released in: ``anli:FILE``, ``csqa:FILE``, ...

A data set is a field map, which says where a row has its question, its answers and its label. Where a release keeps the
labels in a file of their own (``dev.jsonl`` and ``dev-labels.lst``), that is found beside the file, or named by
``?labels=FILE``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from debate.errors import SourceError
from debate.question import Question
from debate.sources.locate import find
from debate.sources.rows import Row, json_rows, listed, read_text

OPTIONS = ("labels",)


@dataclass(frozen=True, slots=True)
class FieldMap:
    """How a data set writes a question. Fields are named by their keys, those inside others with dots.

    Attributes:
        question: What is asked, with fields in braces; ``{asked}`` is what ``asked`` makes of the field ``ask``.
        answers: The fields of the answers, in order; or one field that lists them, as texts, as objects with a
            ``text``, or as an object with lists ``label`` and ``text``.
        gold: The field of the label, where it stands in the row.
        first: What the label of the first answer is; the others follow it (1, 2 or B, C).
        id: The field of the id; none where rows have none.
        cluster: The field that rows about one thing share; none where each row stands alone.
        fixed: The answers, where all questions have the same.
        ask: The field that says what is asked for, where that is part of the wording.
        asked: The wording for each value of ``ask``.
    """

    question: str
    answers: tuple[str, ...]
    gold: str
    first: str | int | bool = 0
    id: str | None = None
    cluster: str | None = None
    fixed: tuple[str, ...] = ()
    ask: str | None = None
    asked: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def fields(self) -> list[str]:
        """The fields that tell this map from another of the same data set."""
        return [*self.answers, *([] if self.ask is None else [self.ask])]


_CAUSAL = MappingProxyType({"cause": "What was the cause of this?", "effect": "What happened because of this?"})
_BETWEEN = "{%s} Later: {%s} What most likely happened in between?"
#: Maps of each data set; of several the one whose fields a row has. The second ones are those of files on the hub.
MAPS: Mapping[str, tuple[FieldMap, ...]] = MappingProxyType(
    {
        "anli": (
            FieldMap(_BETWEEN % ("obs1", "obs2"), ("hyp1", "hyp2"), "label", 1, cluster="story_id"),
            FieldMap(
                _BETWEEN % ("observation_1", "observation_2"),
                ("hypothesis_1", "hypothesis_2"),
                "label",
                1,
                cluster="story_id",
            ),
        ),
        "csqa": (
            FieldMap("{question.stem}", ("question.choices",), "answerKey", "A", id="id"),
            FieldMap("{question}", ("choices",), "answerKey", "A", id="id"),
        ),
        "copa": (
            FieldMap("{premise} {asked}", ("choice1", "choice2"), "label", 0, id="idx", ask="question", asked=_CAUSAL),
            FieldMap(
                "{p} {asked}", ("a1", "a2"), "most-plausible-alternative", 1, id="id", ask="asks-for", asked=_CAUSAL
            ),
        ),
        "ecare": (
            FieldMap(
                "{premise} {asked}",
                ("hypothesis1", "hypothesis2"),
                "label",
                0,
                id="index",
                ask="ask-for",
                asked=_CAUSAL,
            ),
            FieldMap("{premise} {asked}", ("choice1", "choice2"), "label", 0, id="idx", ask="question", asked=_CAUSAL),
        ),
        "socialiqa": (
            FieldMap("{context} {question}", ("answerA", "answerB", "answerC"), "label", 1, cluster="context"),
        ),
        "piqa": (FieldMap("{goal} Which way works?", ("sol1", "sol2"), "label", 0, cluster="goal"),),
        "strategyqa": (FieldMap("{question}", (), "answer", first=True, id="qid", fixed=("Yes", "No")),),
    }
)


def load_questions(name: str, place: str, source: str, options: Mapping[str, str]) -> Iterator[Question]:
    """Load a file of a data set.

    Args:
        name: The data set, a key of ``MAPS``.
        place: A path, URL or hub file: JSON Lines, a JSON list, Parquet, or XML as COPA's is; the first three by their
            endings, JSON Lines where there is none.
        source: The source string, for the questions to carry.
        options: ``labels``: the file of labels, one a line.

    Yields:
        Questions in the order of the file; gold is None where a row has no label, as in test splits.

    Raises:
        SourceError: A row is malformed, or there are not as many labels as rows.
    """
    path = find(place)
    labels = _labels(place, path, options)
    rows = list(_rows(path))
    if labels is not None and len(labels) != len(rows):
        raise SourceError(
            f"{path} holds {len(rows)} questions and its file of labels {len(labels)}; take those of one split"
        )
    for number, row in enumerate(rows, 1):
        form = _map_of(name, row)
        label = _value(row, form.gold) if labels is None else labels[number - 1]
        yield _question(row, form, label, name=name, number=number, source=source)


def _question(row: Row, form: FieldMap, label: object, *, name: str, number: int, source: str) -> Question:
    given = form.fixed or _answers(row, form)
    answers = tuple(dict.fromkeys(given))  # an answer that a row gives twice is one
    if len(answers) < 2 or not all(answers):
        raise row.error(f"answers {list(given)!r}: two or more different ones are needed, none of them blank")
    gold = _gold(row, form, label, len(given))
    own = None if form.id is None else _value(row, form.id)
    text = _fill(row, form)
    about = text if form.cluster is None else str(_value(row, form.cluster))
    return Question(
        id=f"{name}-{number if own is None else own}",
        text=text,
        answers=answers,
        gold=None if gold is None else answers.index(given[gold]),
        story=None,
        story_id=f"{name}-{hashlib.sha256(about.encode()).hexdigest()[:16]}",
        source=source,
    )


def _map_of(name: str, row: Row) -> FieldMap:
    for form in MAPS[name]:
        if all(_value(row, key) is not None for key in form.fields):
            return form
    known = " or ".join(listed(form.fields) for form in MAPS[name])
    raise row.error(f"this is no row of {name}: it needs the fields {known}; its own are {listed(row.values)}")


def _value(row: Row, key: str) -> object:
    """Return a field by its dotted name; None where it is not there."""
    *above, last = key.split(".")
    for part in above:
        if not isinstance(row.values.get(part), dict):
            return None
        row = row.row(part)
    return row.values.get(last)


def _text(row: Row, key: str) -> str:
    value = _value(row, key)
    if not isinstance(value, str) or not value.strip():
        raise row.error(f"field {key!r} is {value!r}; text is needed")
    return " ".join(value.split())


def _fill(row: Row, form: FieldMap) -> str:
    """Fill the wording in one pass; braces in what a row says stay as they are."""
    parts = []
    for position, part in enumerate(form.question.replace("}", "{").split("{")):
        if position % 2 == 0:
            parts.append(part)
        elif part == "asked" and form.ask is not None:
            asked = _text(row, form.ask)
            if asked not in form.asked:
                raise row.error(f"field {form.ask!r} is {asked!r}; {listed(form.asked)} are known")
            parts.append(form.asked[asked])
        else:
            parts.append(_text(row, part))
    return "".join(parts)


def _answers(row: Row, form: FieldMap) -> tuple[str, ...]:
    if len(form.answers) > 1:
        return tuple(_text(row, key) for key in form.answers)
    value = _value(row, form.answers[0])
    if isinstance(value, dict):
        value = value.get("text")
    if not isinstance(value, list):
        raise row.error(f"field {form.answers[0]!r} lists no answers")
    texts = [item.get("text") if isinstance(item, dict) else item for item in value]
    if not all(isinstance(text, str) for text in texts):
        raise row.error(f"field {form.answers[0]!r} lists answers that are no text")
    return tuple(" ".join(str(text).split()) for text in texts)


def _gold(row: Row, form: FieldMap, label: object, answers: int) -> int | None:
    if label is None or str(label).strip() in {"", "-1"}:  # a test split keeps its labels to itself
        return None
    if isinstance(form.first, bool):
        index = ["true", "false"].index(str(label).lower()) if str(label).lower() in {"true", "false"} else -1
    elif isinstance(form.first, int):
        index = int(str(label)) - form.first if str(label).strip().isdecimal() else -1
    else:
        index = ord(str(label)) - ord(form.first) if len(str(label)) == 1 else -1
    if not 0 <= index < answers:
        raise row.error(f"label {label!r} names none of the {answers} answers")
    return index


def _labels(place: str, path: Path, options: Mapping[str, str]) -> Sequence[str] | None:
    """Read the file of labels: the one that is named, or one that lies beside."""
    if "labels" in options:
        file = find(options["labels"])
    elif place.startswith(("http://", "https://", "hub:")):
        return None
    else:
        name = path.name.removesuffix(".gz")
        file = path.with_name(f"{name.removesuffix('.jsonl')}-labels.lst")
        if not name.endswith(".jsonl") or not file.is_file():
            return None
    return read_text(file).split()


def _rows(path: Path) -> Iterator[Row]:
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".parquet"):
        import pyarrow.parquet

        values = pyarrow.parquet.read_table(path).to_pylist()
    elif name.endswith(".xml"):
        values = _xml_items(path)
    elif name.endswith(".json"):
        values = _json_list(path)
    else:
        yield from json_rows(path)
        return
    for number, value in enumerate(values, 1):
        yield Row(value, f"{path}, item {number}")


def _json_list(path: Path) -> list[dict[str, object]]:
    try:
        value = json.loads(read_text(path))
    except ValueError as error:
        raise SourceError(f"{path} is not JSON: {error}; name a file of JSON Lines .jsonl") from error
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise SourceError(f"{path} holds no list of JSON objects; give the released file")
    return value


def _xml_items(path: Path) -> list[dict[str, object]]:
    """Read ``<item id=... asks-for=...><p>...</p><a1>...</a1><a2>...</a2></item>``, attributes and children alike."""
    from xml.etree import ElementTree as ET

    try:
        root = ET.fromstring(read_text(path))  # noqa: S314 - expat bounds entities, and loads nothing from outside
    except ET.ParseError as error:
        raise SourceError(f"{path} is not XML: {error}; give the released file") from error
    return [{**item.attrib, **{child.tag: child.text for child in item}} for item in root.iter("item")]
