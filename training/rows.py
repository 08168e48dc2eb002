"""Rows that models are trained on: what they are, what must hold of them, and how they are kept.

``python -m training.rows`` makes rows of debates, writes and shows them (``training.rows_command``).
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar

import pydantic
from pydantic import JsonValue

from debate.card import SeenStory
from debate.errors import FoldError, SourceError, StoreError
from debate.models.base import Message, Messages
from debate.question import Fold
from debate.run_folder import write_whole

if TYPE_CHECKING:
    from datasets import Dataset

CARD: Final = "dissoi-rows.json"
DATA: Final = "train.parquet"
LINES: Final = "train.jsonl"
SCHEMA: Final = 1
SOURCE: Final = "source"
"""The tag that says which source a row came from."""
SAME: Final = "the same as another row"
"""Why a row is left out that is there already."""
_EXAMPLES = 3  # stories that a message names

Format = Literal["datasets", "openai"]


@dataclass(frozen=True, slots=True)
class Row:
    """One prompt, and the completion that is trained on.

    Attributes:
        prompt: Untemplated.
        completion: A letter, or an argument as a model would write it.
        question: Question id.
        story: Story id.
        fold: What the story may be used for, or None where its source does not say.
        tags: Whatever else is known: source, protocol, order, round, player, ...
    """

    prompt: Messages
    completion: str
    question: str
    story: str
    fold: Fold | None
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PairRow:
    """One prompt, and a better and a worse completion of it.

    Attributes:
        prompt: Untemplated.
        chosen: The better completion.
        rejected: The worse one.
        margin: By how much it is better, in log-odds of a preference model or judge.
        question: Question id.
        story: Story id.
        fold: What the story may be used for, or None where its source does not say.
        tags: As of a Row.
    """

    prompt: Messages
    chosen: str
    rejected: str
    margin: float
    question: str
    story: str
    fold: Fold | None
    tags: Mapping[str, str]


RowT = TypeVar("RowT", Row, PairRow)


@dataclass(frozen=True)
class RowSet(Generic[RowT]):
    """Rows, and what became of the material they were made from.

    Attributes:
        rows: The rows.
        stories: Every story behind them, each once.
        dropped: How many debates, candidates or rows were left out, by why.
    """

    rows: tuple[RowT, ...]
    stories: tuple[SeenStory, ...]
    dropped: Mapping[str, int]

    @property
    def kept(self) -> Mapping[str, int]:
        """How many rows each source gave."""
        return dict(Counter(row.tags.get(SOURCE, "unknown") for row in self.rows))

    @property
    def folds(self) -> Mapping[str, int]:
        """How many rows are of stories of each fold."""
        return dict(Counter(row.fold or "none" for row in self.rows))

    @cached_property
    def digest(self) -> str:
        """Hash the rows in their order (sha256, hexadecimal)."""
        found = hashlib.sha256()
        for row in self.rows:
            found.update(json.dumps(_plain(row), sort_keys=True).encode() + b"\n")
        return found.hexdigest()


AnyRows: TypeAlias = RowSet[Row] | RowSet[PairRow]


def merge(parts: Sequence[RowSet[RowT]]) -> RowSet[RowT]:
    """Put row sets one behind the other."""
    stories = {(story.id, story.source, story.fingerprint): story for part in parts for story in part.stories}
    dropped: Counter[str] = Counter()
    for part in parts:
        dropped.update(part.dropped)
    return RowSet(tuple(row for part in parts for row in part.rows), tuple(stories.values()), dict(dropped))


def deduplicate(rowset: RowSet[RowT]) -> RowSet[RowT]:
    """Keep the first of the rows that have the same prompt and the same completion, or pair of them."""
    first: dict[tuple[Messages, ...], RowT] = {}
    for row in rowset.rows:
        first.setdefault(content_of(row), row)
    twice = len(rowset.rows) - len(first)
    dropped = {**rowset.dropped, **({SAME: twice} if twice else {})}
    return RowSet(tuple(first.values()), rowset.stories, dropped)


def content_of(row: Row | PairRow) -> tuple[Messages, ...]:
    """Return what is trained on, without what is known of it: equal for rows that are the same."""
    return (tuple(row.prompt), *((Message("assistant", text),) for text in _completions(row)))


def _completions(row: Row | PairRow) -> tuple[str, ...]:
    return (row.completion,) if isinstance(row, Row) else (row.chosen, row.rejected)


def check_some(rowset: AnyRows, what: str) -> None:
    """Hold that there is a row.

    Args:
        rowset: The rows.
        what: The rows, for the message, such as "judge".

    Raises:
        SourceError: There is none; the message says what was left out and why.
    """
    if not rowset.rows:
        raise SourceError(f"no {what} row is left ({listed(rowset.dropped)}); give other data or loosen the filters")


def check_fold(rowset: AnyRows, wanted: Fold) -> None:
    """Hold that all rows are of stories that may be used so; stories without a fold, as own questions have, may.

    Args:
        rowset: The rows.
        wanted: The fold: ``judge`` for judges and preference models, ``debater`` for debaters, ``validation`` for
            selection. Test stories are in no set that anything is trained or selected on.

    Raises:
        FoldError: A story is in another fold; the message names some.
    """
    wrong = {row.story: row.fold for row in rowset.rows if row.fold not in {wanted, None}}
    if wrong:
        folds = " and ".join(sorted({str(fold) for fold in wrong.values()}))
        some = ", ".join(map(repr, sorted(wrong)[:_EXAMPLES])) + (", ..." if len(wrong) > _EXAMPLES else "")
        raise FoldError(
            f"{len(wrong)} stories of these rows are in fold {folds}, and the rows must be of fold {wanted}: {some}; "
            f"set fold: {wanted} in the data entry, or choose another source"
        )


def listed(dropped: Mapping[str, int]) -> str:
    """Write out counts of what was left out, by why."""
    return ", ".join(f"{reason}: {count}" for reason, count in dropped.items()) or "nothing was left out"


def to_dataset(rows: Sequence[Row | PairRow]) -> Dataset:
    """Make a dataset in TRL's conversational form.

    Args:
        rows: One or more rows of one type.

    Returns:
        Columns ``prompt`` and ``completion``, or ``prompt``, ``chosen``, ``rejected`` and ``score_margin``; and
        ``question``, ``story``, ``fold`` and ``tags`` (absent where no row has one). TRL's reward trainer would take a
        column named ``margin`` into its loss unasked; hence the other name.
    """
    from datasets import Dataset, Features, List, Value

    text = Value("string")
    messages = List({"role": text, "content": text})
    pairs = isinstance(rows[0], PairRow)
    texts = ("prompt", "chosen", "rejected") if pairs else ("prompt", "completion")
    columns: dict[str, Any] = dict.fromkeys(texts, messages)
    columns |= {"score_margin": Value("float64")} if pairs else {}
    columns |= dict.fromkeys(("question", "story", "fold"), text)
    tags = sorted({tag for row in rows for tag in row.tags})
    if tags:
        columns["tags"] = dict.fromkeys(tags, text)
    plain = [_plain(row) for row in rows]
    for row in plain:
        row["tags"] = {tag: row["tags"].get(tag) for tag in tags}
    return Dataset.from_dict(
        {name: [row[name] for row in plain] for name in columns},
        features=Features(columns),
    )


def _plain(row: Row | PairRow) -> dict[str, Any]:
    """A row as plain values, by the dataset's columns."""
    said: dict[str, Any] = {"prompt": [message._asdict() for message in row.prompt]}
    if isinstance(row, Row):
        said |= {"completion": _reply(row.completion)}
    else:
        said |= {"chosen": _reply(row.chosen), "rejected": _reply(row.rejected)}
        said |= {"score_margin": row.margin}
    return {
        **said,
        "question": row.question,
        "story": row.story,
        "fold": row.fold,
        "tags": dict(row.tags),
    }


def _reply(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


def openai_lines(rows: Iterable[Row | PairRow]) -> Iterable[str]:
    """Write rows in the form that OpenAI's fine-tuning takes (supervised, or preference pairs), one JSON text each."""
    for row in rows:
        plain = _plain(row)
        if isinstance(row, Row):
            line = {"messages": plain["prompt"] + plain["completion"]}
        else:
            line = {
                "input": {"messages": plain["prompt"], "tools": [], "parallel_tool_calls": True},
                "preferred_output": plain["chosen"],
                "non_preferred_output": plain["rejected"],
            }
        yield json.dumps(line, ensure_ascii=False)


class _Counts(pydantic.BaseModel):
    """What ``dissoi-rows.json`` holds."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    schema_version: int = SCHEMA
    kind: str
    rows: int
    sha256: str
    kept: dict[str, int]
    dropped: dict[str, int]
    folds: dict[str, int]
    stories: tuple[SeenStory, ...]
    facts: dict[str, JsonValue] = {}


def write_rows(
    folder: Path,
    rowset: AnyRows,
    *,
    kind: str,
    form: Format = "datasets",
    facts: Mapping[str, JsonValue] | None = None,
) -> None:
    """Write rows and what is known of them into a new folder.

    Args:
        folder: Where; what lies there is never overwritten.
        rowset: One or more rows.
        kind: What they train, such as "judge".
        form: ``datasets``: a Parquet file and a card, which ``datasets.load_dataset(FOLDER)`` and the hub take;
            ``openai``: ``train.jsonl`` for a provider's fine-tuning.
        facts: More to write down, such as the data entries.

    Raises:
        SourceError: There is no row.
        StoreError: The folder is not empty, or cannot be written.
    """
    check_some(rowset, kind)
    check_new(folder)
    counts = _Counts(
        kind=kind,
        rows=len(rowset.rows),
        sha256=rowset.digest,
        kept=dict(rowset.kept),
        dropped=dict(rowset.dropped),
        folds=dict(rowset.folds),
        stories=rowset.stories,
        facts=dict(facts or {}),
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if form == "datasets":
            import pyarrow.parquet as pq

            pq.write_table(to_dataset(rowset.rows).data.table, folder / DATA)
        else:
            write_whole(folder / LINES, openai_lines(rowset.rows))
    except OSError as error:
        raise StoreError(f"cannot write the rows into {folder}: {error.strerror or error}") from error
    write_whole(folder / "README.md", _readme(counts, form))
    write_whole(folder / CARD, counts.model_dump_json(indent=1) + "\n")


def check_new(folder: Path) -> None:
    """Hold that rows can be written into a folder: it is absent or empty.

    Raises:
        StoreError: It is not.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StoreError(f"{folder} exists already; choose another --output")


def _readme(counts: _Counts, form: Format) -> str:
    def table(title: str, of: Mapping[str, int]) -> list[str]:
        cells = [f"| {name.replace('|', '&#124;')} | {count} |" for name, count in of.items()]
        return ["", f"| {title} | number |", "|---|---|", *cells] if cells else []

    file = DATA if form == "datasets" else LINES
    head = ["---", "configs:", "- config_name: default", f"  data_files: {file}", "---", ""]
    lines = [
        f"# Training rows: {counts.kind}",
        "",
        f"{counts.rows} rows of {len(counts.stories)} stories, in `{file}`; `{CARD}` names every story.",
        f"sha256 of the rows: `{counts.sha256}`.",
        *table("rows kept, by source", counts.kept),
        *table("rows, by the fold of their story", counts.folds),
        *table("left out, by why", counts.dropped),
    ]
    return "\n".join([*(head if form == "datasets" else []), *lines]) + "\n"


def read_rows(folder: Path) -> AnyRows:
    """Read what ``write_rows`` wrote in the form ``datasets``.

    Args:
        folder: The folder.

    Returns:
        The same rows.

    Raises:
        StoreError: It holds no rows, or they are not those that were written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        counts = _Counts.model_validate_json((folder / CARD).read_text(encoding="utf-8"))
        plain = pq.read_table(folder / DATA).to_pylist()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise StoreError(
            f"cannot read rows from {folder} ({type(error).__name__}: {_first(error)}); write them again"
        ) from error
    pairs = bool(plain) and "chosen" in plain[0]
    rowset: AnyRows
    if pairs:
        rowset = RowSet(tuple(_read_pair(row) for row in plain), counts.stories, counts.dropped)
    else:
        rowset = RowSet(tuple(_read_row(row) for row in plain), counts.stories, counts.dropped)
    if rowset.digest != counts.sha256:
        raise StoreError(f"the rows in {folder} are not those that {CARD} describes; write them again")
    return rowset


def read_digest(folder: Path) -> str:
    """Read the hash of the rows that ``write_rows`` wrote (sha256, hexadecimal), not the rows.

    Raises:
        StoreError: It wrote none there.
    """
    try:
        return _Counts.model_validate_json((folder / CARD).read_text(encoding="utf-8")).sha256
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot read {folder / CARD} ({_first(error)}); restore it from a copy") from error


def _first(error: Exception) -> str:
    """What is wrong, in one line."""
    return str(error).strip().partition("\n")[0]


def _read_row(plain: Mapping[str, Any]) -> Row:
    return Row(completion=plain["completion"][0]["content"], **_shared(plain))


def _read_pair(plain: Mapping[str, Any]) -> PairRow:
    return PairRow(
        chosen=plain["chosen"][0]["content"],
        rejected=plain["rejected"][0]["content"],
        margin=plain["score_margin"],
        **_shared(plain),
    )


def _shared(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "prompt": tuple(Message(message["role"], message["content"]) for message in plain["prompt"]),
        "question": plain["question"],
        "story": plain["story"],
        "fold": plain["fold"],
        "tags": {tag: value for tag, value in (plain.get("tags") or {}).items() if value is not None},
    }


if __name__ == "__main__":
    from training.rows_command import COMMAND

    sys.exit(COMMAND.main())
