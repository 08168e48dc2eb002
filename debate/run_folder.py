"""Run folders: the resolved configuration, the store and the exports of one run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Self

import yaml

from debate.config import Config, Tree, differences, parse, read_tree, results_tree
from debate.errors import ConfigError, StoreError
from debate.store import Store

CONFIG = "config.yaml"
STORE = "run.sqlite"


class RunFolder:
    """The folder of one run, open for writing.

    Attributes:
        path: The folder.
        store: Its calls, debates and verdicts.
    """

    def __init__(self, path: Path, store: Store) -> None:
        self.path = path
        self.store = store

    @staticmethod
    def create(path: Path, config: Config, origin: Tree) -> RunFolder:
        """Start a run in a new folder.

        Args:
            path: Where; an existing run is never overwritten.
            config: The resolved configuration.
            origin: What ``provenance`` returned.

        Returns:
            The open folder.

        Raises:
            StoreError: The folder exists and is not empty, or cannot be written.
        """
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise StoreError(f"{path} exists already; choose another --output, or go on with it by --resume {path}")
        try:
            path.mkdir(parents=True, exist_ok=True)
            tree = {**config.model_dump(mode="json"), "provenance": origin}
            write_whole(path / CONFIG, yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))
        except OSError as error:
            raise StoreError(f"cannot write the run folder {path}: {error.strerror or error}") from error
        return RunFolder(path, Store(path / STORE))

    @staticmethod
    def resume(path: Path, config: Config, origin: Tree) -> RunFolder:
        """Go on with a run.

        Args:
            path: The run's folder.
            config: The configuration now; what decides results must be what it was.
            origin: What ``provenance`` returns now; the data must be what they were.

        Returns:
            The open folder.

        Raises:
            ConfigError: The folder is no run, or the configuration or the data differ; the message names the keys.
            StoreError: The store is in use or cannot be opened.
        """
        if not (path / CONFIG).is_file():
            raise ConfigError(f"{path} is no run folder ({CONFIG} is missing); start a run with --output")
        tree = read_tree(path / CONFIG)
        old_origin = tree.pop("provenance", None) or {}
        old = parse(type(config), tree, where=str(path / CONFIG))
        # Another seed or source makes other data too; naming the hashes of those would only hide the key.
        changed = differences(results_tree(old), results_tree(config)) or differences(
            {"data": old_origin.get("data")}, {"data": origin["data"]}
        )
        if changed:
            raise ConfigError(
                f"{path} was run with another configuration: {'; '.join(changed)}. "
                "Resume it with its own, or start a new run"
            )
        return RunFolder(path, Store(path / STORE))

    def write_json(self, name: str, value: object) -> None:
        """Write an export as JSON, whole or not at all."""
        write_whole(self.path / name, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    def write_text(self, name: str, text: str) -> None:
        """Write an export as text, whole or not at all."""
        write_whole(self.path / name, text)

    def write_lines(self, name: str, lines: Iterable[str]) -> None:
        """Write an export line by line, whole or not at all."""
        write_whole(self.path / name, lines)

    def close(self) -> None:
        """Close the store and give up the lock."""
        self.store.close()

    def __enter__(self) -> Self:
        """Use as a context."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


def write_whole(path: Path, text: str | Iterable[str]) -> None:
    """Write a file under another name, then move it into place, so that no reader finds half of it.

    Raises:
        StoreError: It cannot be written.
    """
    partial = path.with_name(f".{path.name}.part")
    try:
        # A model can write half of a surrogate pair, which no encoding has.
        with partial.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            for line in [text] if isinstance(text, str) else text:
                file.write(line if isinstance(text, str) else f"{line}\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from error


def default_path(command: str, environment: Mapping[str, str] = os.environ) -> Path:
    """Name a new folder under ``runs/`` (or ``$DISSOI_RUNS``) by command, date and time."""
    root = Path(environment.get("DISSOI_RUNS", "runs"))
    return root / f"{command}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
