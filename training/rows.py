"""Rows that models are trained on: what they are and what must hold of them; ``training.rows_folder`` keeps them.

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
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from debate.card import SeenStory
from debate.errors import FoldError, SourceError
from debate.models.base import Message, Messages
from debate.question import Fold

if TYPE_CHECKING:
    from datasets import Dataset

SOURCE: Final = "source"
"""The tag that says which source a row came from."""
SAME: Final = "the same as another row"
"""Why a row is left out that is there already."""
_EXAMPLES = 3  # stories that a message names


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


if __name__ == "__main__":
    from training.rows_command import COMMAND

    sys.exit(COMMAND.main())
