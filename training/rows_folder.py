"""Folders of rows: written as a data set with its card, or in a provider's form, and read back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import pydantic
from pydantic import JsonValue

from debate.card import SeenStory
from debate.errors import StoreError
from debate.models.base import Message
from debate.run_folder import write_whole
from training.rows import AnyRows, PairRow, Row, RowSet, check_some, openai_lines, to_dataset

CARD: Final = "dissoi-rows.json"
DATA: Final = "train.parquet"
LINES: Final = "train.jsonl"
SCHEMA: Final = 1

Format = Literal["datasets", "openai"]


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

    counts = _read_counts(folder)
    try:
        plain = pq.read_table(folder / DATA).to_pylist()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _unreadable(folder / DATA, error) from error
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
    return _read_counts(folder, "restore it from a copy").sha256


def _read_counts(folder: Path, cure: str = "write them again") -> _Counts:
    try:
        return _Counts.model_validate_json((folder / CARD).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unreadable(folder / CARD, error, cure) from error


def _unreadable(path: Path, error: Exception, cure: str = "write them again") -> StoreError:
    why = str(error).strip().partition("\n")[0]
    return StoreError(f"cannot read rows from {path} ({type(error).__name__}: {why}); {cure}")


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
