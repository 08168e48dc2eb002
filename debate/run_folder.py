"""Run folders: the resolved configuration, the store and the exports of one run."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Self

import yaml

from debate.config import Config, Tree, differences, parse, read_tree, results_tree
from debate.errors import ConfigError, StoreError
from debate.store import Store
from debate.store_file import lock

CONFIG = "config.yaml"
MODELS = "models.json"
STORE = "run.sqlite"
_LOCK = f"{STORE}.lock"


class RunFolder:
    """The folder of one run, open for writing.

    Attributes:
        path: The folder.
        store: Its calls, debates and verdicts.
        warnings: What the user should know of a run that is gone on with.
    """

    def __init__(self, path: Path, store: Store, *, resumed: bool = False, warnings: Sequence[str] = ()) -> None:
        self.path = path
        self.store = store
        self.warnings = tuple(warnings)
        self._begun = resumed

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
        _check_free(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot write the run folder {path}: {error.strerror or error}") from error
        # Two runs may have come so far at once: who has the store's lock has the folder, unless another had it before.
        claim = lock(path / STORE)
        try:
            _check_free(path)
            tree = {**config.model_dump(mode="json"), "provenance": origin}
            write_whole(path / CONFIG, yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))
        except BaseException:
            os.close(claim)
            raise
        return RunFolder(path, Store(path / STORE, claim=claim))

    @staticmethod
    def resume(path: Path, config: Config, origin: Tree) -> RunFolder:
        """Go on with a run.

        Args:
            path: The run's folder.
            config: The configuration now; what decides results must be what it was.
            origin: What ``provenance`` returns now; the data and the prompt templates must be what they were.

        Returns:
            The open folder.

        Raises:
            ConfigError: The folder is no run, or the configuration, the data or the prompt templates differ; the
                message names the keys.
            StoreError: The store is in use or cannot be opened.
        """
        check_is_run(path)
        tree = read_tree(path / CONFIG)
        old_origin = tree.pop("provenance", None) or {}
        old = parse(type(config), tree, where=str(path / CONFIG))
        # Another seed or source makes other data too; naming the hashes of those would only hide the key.
        changed = differences(results_tree(old), results_tree(config)) or _changed_inputs(old_origin, origin)
        if changed:
            raise ConfigError(
                f"{path} was run with another configuration: {'; '.join(changed)}. "
                "Resume it with its own, or start a new run"
            )
        before, now = old_origin.get("revision"), origin.get("revision")
        warnings = []
        if before is not None and now is not None and before != now:
            warnings.append(f"{path} was started by another revision of the code: {before} -> {now}")
        return RunFolder(path, Store(path / STORE), resumed=True, warnings=warnings)

    def keep_models(self, models: Mapping[str, Mapping[str, str]]) -> None:
        """Write down what the run's models are, and hold that they are what they were when first opened.

        Args:
            models: What each open model is, by name: ``digest`` is what decides its replies, the rest is for readers.

        Raises:
            ConfigError: A model differs; the message names it.
            StoreError: The file cannot be read or written.
        """
        kept = read_models(self.path)
        for name, facts in models.items():
            before = kept.setdefault(name, dict(facts))
            if before.get("digest") != facts["digest"]:
                raise ConfigError(
                    f"model {name!r} is not what it was when {self.path} was started: its weights, device, number type "
                    f"(dtype) or engine differ ({before.get('digest')} -> {facts['digest']}); resume it where they are "
                    "the same, or start a new run"
                )
        self.write_json(MODELS, kept)
        self._begun = True

    def discard(self) -> None:
        """Close the run and remove what ``create`` made, so that a run that could not begin is not in the way."""
        # Under the lock: once it is given up, what lies here may be another run's.
        for name in (CONFIG, MODELS, STORE, f"{STORE}-wal", f"{STORE}-shm", _LOCK):
            (self.path / name).unlink(missing_ok=True)
        self.close()
        with contextlib.suppress(OSError):  # it held something before, or may not be removed
            self.path.rmdir()

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

    def __exit__(self, kind: object, *_: object) -> None:
        """Close; a new run that failed before its models were open is removed, as it would only be in the way."""
        if kind is not None and not self._begun:
            self.discard()
        else:
            self.close()


def check_is_run(path: Path) -> None:
    """Hold that a folder is a run's.

    Raises:
        ConfigError: It is not.
    """
    if not (path / CONFIG).is_file():
        raise ConfigError(f"{path} is no run folder ({CONFIG} is missing); start a run with --output")


def read_models(folder: Path) -> dict[str, dict[str, str]]:
    """Read what a run's models were, by name, as ``RunFolder.keep_models`` wrote it; nothing where it did not yet.

    Args:
        folder: The run's folder.

    Raises:
        StoreError: The file cannot be read.
    """
    path = folder / MODELS
    try:
        return {name: dict(facts) for name, facts in json.loads(path.read_text(encoding="utf-8")).items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise StoreError(f"cannot read {path}: {error}; restore it from a copy or start a new run") from error


def _changed_inputs(old: Tree, new: Tree) -> list[str]:
    """Name data and templates that differ; what the run did not write down cannot be compared."""
    data, prompts = old.get("data") or {}, old.get("prompts") or {}
    return differences(
        {"data": data, "prompts": prompts, "extensions": old.get("extensions") or {}},
        {
            "data": {name: digest for name, digest in new["data"].items() if name in data},
            "prompts": {name: digest for name, digest in new["prompts"].items() if name in prompts},
            "extensions": new.get("extensions") or {},
        },
    )


def _check_free(path: Path) -> None:
    """Hold that a folder is absent, or empty but for what a process killed at its very start leaves.

    That is a lock and half a configuration: nothing to go on with.

    Raises:
        StoreError: It is not, or it cannot be read.
    """
    try:
        held = [file.name for file in path.iterdir()]
    except FileNotFoundError:
        return
    except NotADirectoryError:  # it is a file, or a file stands where a folder above it is needed: mkdir will say so
        held = [path.name] if path.exists() else []
    except OSError as error:
        raise StoreError(f"cannot read the run folder {path}: {error.strerror or error}") from error
    if set(held) - {_LOCK, _partial(path / CONFIG).name}:
        raise StoreError(f"{path} exists already; choose another --output, or go on with it by --resume {path}")


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.part")


def write_whole(path: Path, text: str | Iterable[str]) -> None:
    """Write a file under another name, then move it into place, so that no reader finds half of it.

    Raises:
        StoreError: It cannot be written.
    """
    partial = _partial(path)
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
    """Make a new, empty folder under ``runs/`` (or ``$DISSOI_RUNS``), named by command, date and time.

    Args:
        command: The command.
        environment: Where ``DISSOI_RUNS`` is looked up.

    Returns:
        The folder; a name that another run has, started within the same second, gets ``-2``, ``-3``, ...

    Raises:
        StoreError: It cannot be made.
    """
    root = Path(environment.get("DISSOI_RUNS", "runs"))
    name = f"{command}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    for number in itertools.count(1):
        path = root / (name if number == 1 else f"{name}-{number}")
        try:
            root.mkdir(parents=True, exist_ok=True)
            path.mkdir()
        except FileExistsError as error:
            if path.exists():
                continue
            raise StoreError(f"cannot make the run folder {path}: {error.filename} is no folder; move it") from error
        except OSError as error:
            raise StoreError(
                f"cannot make the run folder {path}: {error.strerror or error}; make {root} writable or give --output"
            ) from error
        return path
    raise AssertionError("unreachable: the numbers do not end")
