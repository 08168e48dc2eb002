"""``python -m training.rows``: rows of debates, written as a dataset or for a provider's fine-tuning, and shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import yaml
from pydantic import AfterValidator, Field, JsonValue

from debate.command import Command, Invocation
from debate.config import NOT_IN_DIGEST, Config
from debate.errors import ConfigError
from debate.extensions import check_kind
from debate.prompts import Prompts
from debate.provenance import provenance
from debate.question import Fold
from debate.report import Column, Table, print_table
from debate.run_folder import CONFIG, default_path, write_whole
from training.argument_rows import ArgumentConfig, argument_row_set
from training.candidate_pairs import PairConfig, pair_row_set
from training.gather import DataConfig, Gathered, gather_all
from training.judge_rows import JudgeReply, judge_row_set
from training.reward_rows import reward_row_set
from training.rows import AnyRows, PairRow, Row, check_fold
from training.rows_folder import Format, check_new, write_rows


class RowsConfig(Config):
    """Which rows."""

    kind: Annotated[str, AfterValidator(lambda kind: check_kind(kind, KINDS))] = Field(
        "judge",
        description="what the rows train: judge; argument: a debater, on speeches that won; pair: a debater, on the "
        "best against the worst candidate of a turn; preference: a reward model, on the same",
    )
    data: tuple[DataConfig, ...] = Field(min_length=1, description="the debates")
    judge: JudgeReply = Field(
        "letter", description="letter: a judge's reply is the right letter; reason: recorded reasoning that ended right"
    )
    arguments: ArgumentConfig = Field(ArgumentConfig(), description="which speeches a debater learns from")
    pairs: PairConfig = Field(PairConfig(), description="which candidates a debater or a reward model learns from")
    prompts: str | None = Field(None, description="folder of prompt templates of your own")
    format: Format = Field(
        "datasets",
        description="datasets: Parquet and a card; openai: JSON Lines for a provider's fine-tuning",
    )
    show: int = Field(2, ge=0, description="rows to print", json_schema_extra=NOT_IN_DIGEST)


class Kind(NamedTuple):
    """How one kind of rows is made, and of which stories."""

    build: Callable[[RowsConfig, Sequence[Gathered], Prompts], AnyRows]
    fold: Fold


#: One entry a kind: whoever adds one adds the keys that it needs to ``RowsConfig``.
KINDS: Mapping[str, Kind] = {
    "judge": Kind(lambda config, gathered, prompts: judge_row_set(gathered, prompts, config.judge), "judge"),
    "argument": Kind(
        lambda config, gathered, prompts: argument_row_set(gathered, config.arguments, prompts), "debater"
    ),
    "pair": Kind(lambda config, gathered, prompts: pair_row_set(gathered, config.pairs, prompts), "debater"),
    "preference": Kind(lambda config, gathered, prompts: reward_row_set(gathered, config.pairs, prompts), "judge"),
}


def make_rows(config: RowsConfig, prompts: Prompts) -> tuple[list[Gathered], AnyRows]:
    """Make the rows that a configuration describes.

    Returns:
        The debates behind them, and the rows.

    Raises:
        DissoiError: The data cannot be had, no row is left, or rows are of a fold they must not be of.
    """
    kind = KINDS[config.kind]
    gathered = gather_all(config.data)
    rowset = kind.build(config, gathered, prompts)
    check_fold(rowset, kind.fold)
    return gathered, rowset


def counts_table(rowset: AnyRows) -> Table:
    """Say how many rows each source gave, and what was left out and why."""
    rows: list[tuple[str, str, int]] = [("kept", source, count) for source, count in rowset.kept.items()]
    rows += [("left out", why, count) for why, count in rowset.dropped.items()]
    columns = (Column("rows"), Column("of"), Column("number", kind="count"))
    folds = ", ".join(f"{fold} {count}" for fold, count in sorted(rowset.folds.items()))
    note = f"{len(rowset.stories)} stories; rows by fold: {folds}; sha256 {rowset.digest}"
    return Table(f"{len(rowset.rows)} rows", columns, rows, note)


def show_row(number: int, row: Row | PairRow) -> None:
    """Print one row, with rich where there is a terminal."""
    from rich.console import Console
    from rich.text import Text

    # Text of debaters is never markup, and escape sequences in it do nothing.
    console = Console(file=sys.stdout, markup=False, highlight=False, emoji=False, soft_wrap=True)
    tags = ", ".join(f"{tag}={value}" for tag, value in row.tags.items())
    said: list[tuple[str, str]] = [(message.role, message.content) for message in row.prompt]
    if isinstance(row, Row):
        said.append(("completion", row.completion))
    else:
        said += [("chosen", row.chosen), ("rejected", row.rejected), ("margin", f"{row.margin:+.2f}")]
    console.rule(f"Row {number}: {row.question}", align="left")
    console.print(Text(_printable(tags), style="dim"))
    for name, text in said:
        console.print(Text(f"[{name}]", style="bold"))
        console.print(Text(_printable(text)))


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() or one == "\n" else "\N{REPLACEMENT CHARACTER}" for one in text)


def run_rows(config: RowsConfig, invocation: Invocation) -> int:
    """Run the command; returns the exit code."""
    if invocation.resume is not None:
        raise ConfigError("rows are made in one go, and there is nothing to go on with; leave out --resume")
    if invocation.output is not None:
        check_new(invocation.output)
    prompts = Prompts(Path(config.prompts) if config.prompts else None)
    prompts.check()
    gathered, rowset = make_rows(config, prompts)
    print_table(counts_table(rowset))
    rows: Sequence[Row | PairRow] = rowset.rows
    for number, row in enumerate(rows[: config.show], 1):
        show_row(number, row)
    if invocation.dry_run:
        return 0
    folder = invocation.output or default_path("rows")
    entries: list[JsonValue] = [entry.model_dump(mode="json") for entry in config.data]
    write_rows(folder, rowset, kind=config.kind, form=config.format, facts={"data": entries})
    origin = provenance({"data": [one for part in gathered for one in part.questions]}, prompts.digests)
    tree = {**config.model_dump(mode="json"), "provenance": origin}
    write_whole(folder / CONFIG, yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))
    sys.stdout.write(f"Rows in {folder}\n")
    return 0


COMMAND: Command[RowsConfig] = Command(
    name="training.rows",
    about="Make the rows that models are trained on of debates, write them with their card, and show some.",
    config=RowsConfig,
    run=run_rows,
)
