"""Stages of a long run: each a command with its configuration and a folder, done once, gone on with, or done anew.

A stage is known by a key: a hash of its command, of what in its configuration decides results, of what it reads from
outside the run, and of the keys of the stages whose folders its configuration names. So a stage whose key is known as
done is left alone; one that was begun under the same key is gone on with by its own ``--resume``; and one whose key has
changed is done anew, its old folder moved to ``replaced``. What does not depend on a change is not done again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TextIO

import pydantic
import yaml

from debate.command import Command, Invocation
from debate.config import Config, digest, results_tree
from debate.errors import DissoiError, ModelAccessError, StoreError
from debate.models.adapter import WEIGHTS
from debate.models.adapter_folder import SHIPPED, adapter_folder
from debate.models.limits import Budget, Figures, Meter, Price
from debate.models.memory import give_back
from debate.run_folder import CONFIG, STORE, write_whole
from debate.store import Store
from tournaments.calls import Calls
from tournaments.config import BudgetConfig, SessionConfig

FILE = "stages.json"
LOGS = "logs"
REPLACED = "replaced"
_DECIDING = ("*.txt", "debates.jsonl", WEIGHTS)
_ROOT = "RUN"  # stands for the run's folder in keys, so that a run may be moved


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a stage will take.

    Attributes:
        debates: Debates held or judged.
        calls: To models, by their names.
        rows: Rows trained on, at most.
        steps: Steps of a training, at most.
    """

    debates: int = 0
    calls: Mapping[str, Calls] = field(default_factory=dict)
    rows: int = 0
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage.

    Attributes:
        name: Its folder below the run's.
        command: What does it.
        config: The command's.
        estimate: Works out what it will take.
        launch: Whether a launcher may start it in processes of its own.
    """

    name: str
    command: Command[Any]
    config: Config
    estimate: Callable[[], Estimate] = Estimate
    launch: bool = False


class Runner(Protocol):
    """Whatever takes stages in turn: it does them, or only plans them."""

    def run(self, stage: Stage) -> Path:
        """Take a stage; returns its folder."""
        ...


class _Entry(pydantic.BaseModel):
    """What is known of a stage."""

    model_config = pydantic.ConfigDict(extra="forbid")

    key: str
    state: Literal["begun", "done"]
    seconds: float = 0.0


class _Book(pydantic.BaseModel):
    """What ``stages.json`` holds."""

    model_config = pydantic.ConfigDict(extra="forbid")

    stages: dict[str, _Entry] = {}
    notes: dict[str, str] = {}


class Stages:
    """Does stages, in a run's folder.

    Args:
        root: The run's folder.
        launcher: Words that start a stage in processes of its own; none: in this process.
        budget: Of all stages together.
        prices: By model name.
        told: Where a line for each stage goes.

    Raises:
        StoreError: What is known of earlier stages cannot be read.
    """

    def __init__(
        self,
        root: Path,
        *,
        launcher: tuple[str, ...] = (),
        budget: Budget = Budget(),  # noqa: B008 - frozen
        prices: Mapping[str, Price] | None = None,
        told: TextIO | None = None,
    ) -> None:
        self.root = root.resolve()
        self._launcher = launcher
        self._budget = budget
        self._prices = dict(prices or {})
        self._told = told
        self._book = _read(self.root / FILE)

    def run(self, stage: Stage) -> Path:
        """Do a stage, unless it is done; go on with it where it was begun.

        Args:
            stage: The stage.

        Returns:
            Its folder.

        Raises:
            DissoiError: It failed; what finished is kept.
        """
        folder, key = self.root / stage.name, self.key(stage)
        entry = self._book.stages.get(stage.name)
        if entry is not None and entry.key == key and entry.state == "done" and folder.is_dir():
            return folder
        if entry is None or entry.key != key:
            self._put_away(stage.name)
            entry = _Entry(key=key, state="begun")
            self._book.stages[stage.name] = entry
            self._write()
        begun = time.monotonic()
        self._tell(f"{stage.name}: {stage.command.name}")
        try:
            self._do(stage, folder)
        except DissoiError as error:
            raise type(error)(f"stage {stage.name}: {error}") from error
        finally:
            give_back()
            entry.seconds += time.monotonic() - begun
            self._write()
        entry.state = "done"
        self._write()
        self._tell(f"{stage.name}: done, {entry.seconds:.0f} s")
        return folder

    def key(self, stage: Stage) -> str:
        """Hash what decides a stage's results (sha256, hexadecimal)."""
        tree = results_tree(stage.config)
        places = set(_paths(tree))
        inside = {place for text in places if (place := self._inside(text)) is not None}
        needed = [name for name in self._book.stages if any(_holds(name, place) for place in inside)]
        return digest(
            {
                "command": stage.command.name,
                "config": self._portable(tree),
                "needs": {name: self._book.stages[name].key for name in sorted(needed)},
                "outside": {text: found for text in sorted(places) if (found := self._outside(text)) is not None},
            }
        )

    def note(self, name: str, text: str | None = None) -> str | None:
        """Write something down beside the stages, or look it up."""
        if text is not None:
            self._book.notes[name] = text
            self._write()
        return self._book.notes.get(name)

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds that each stage took, all sessions together."""
        return {name: entry.seconds for name, entry in self._book.stages.items()}

    def usage(self) -> dict[str, Figures]:
        """What every stage has used so far; stages that ask no model are left out."""
        found = {}
        for name in self._book.stages:
            path = self.root / name / STORE
            if path.is_file():
                found[name] = _usage(path, self._prices)
        return found

    def _do(self, stage: Stage, folder: Path) -> None:
        resumed = (folder / CONFIG).is_file()
        invocation = Invocation(resume=folder) if resumed else Invocation(output=folder)
        config = self._within_budget(stage)
        with self._log(stage.name) as log:
            if stage.launch and self._launcher:
                code = self._start(stage, config, folder, resumed=resumed, log=log)
            else:
                with contextlib.redirect_stdout(log):
                    code = stage.command.run(config, invocation)
        if code:
            raise DissoiError(
                f"it ended with exit code {code}; what it said is in {self.root / LOGS / _flat(stage.name)}.txt, and "
                f"{folder / 'report.html'} shows what came of it"
            )

    def _start(self, stage: Stage, config: Config, folder: Path, *, resumed: bool, log: TextIO) -> int:
        """Start the stage's script by the launcher, and wait for it."""
        path = self.root / LOGS / f"{_flat(stage.name)}.yaml"
        write_whole(path, yaml.safe_dump(config.model_dump(mode="json"), sort_keys=False, allow_unicode=True))
        script = Path(sys.modules[stage.command.run.__module__].__file__ or "")
        words = [*self._launcher, str(script), "--config", str(path)]
        words += ["--resume" if resumed else "--output", str(folder)]
        log.flush()
        return subprocess.run(words, stdout=log, check=False).returncode  # noqa: S603 - the user's own launcher

    def _within_budget(self, stage: Stage) -> Config:
        """Leave a stage what the others have not used."""
        if not isinstance(stage.config, SessionConfig) or self._budget == Budget():
            return stage.config
        rows = [figures for name, figures in self.usage().items() if name != stage.name]
        calls = sum(row.calls for row in rows)
        tokens = sum(row.tokens.tokens_in + row.tokens.tokens_out for row in rows)
        cost = sum(row.cost or 0.0 for row in rows)
        of = self._budget
        left = BudgetConfig(
            max_calls=None if of.max_calls is None else max(0, of.max_calls - calls),
            max_tokens=None if of.max_tokens is None else max(0, of.max_tokens - tokens),
            max_cost=None if of.max_cost is None else max(0.0, of.max_cost - cost),
        )
        return stage.config.model_copy(update={"budget": left})

    def _inside(self, text: str) -> str | None:
        """What a text names below the run's folder, or None."""
        head = f"{self.root}{os.sep}"
        return text.removeprefix(head) if text.startswith(head) else None

    def _outside(self, text: str) -> str | None:
        return None if self._inside(text) is not None else _contents(text)

    def _portable(self, tree: Any) -> Any:
        if isinstance(tree, str):
            return tree.replace(str(self.root), _ROOT)
        if isinstance(tree, dict):
            return {key: self._portable(value) for key, value in tree.items()}
        return [self._portable(value) for value in tree] if isinstance(tree, list) else tree

    def _put_away(self, name: str) -> None:
        """Move what an earlier configuration has left in a stage's folder out of the way."""
        folder = self.root / name
        if not folder.exists():
            return
        away = self.root / REPLACED
        away.mkdir(exist_ok=True)
        number = 1
        while (place := away / f"{_flat(name)}-{number}").exists():
            number += 1
        folder.rename(place)
        self._tell(f"{name}: what decides it has changed; what was there is kept in {place}")

    @contextlib.contextmanager
    def _log(self, name: str) -> Iterator[TextIO]:
        """Open the file that gets what a stage prints."""
        folder = self.root / LOGS
        folder.mkdir(exist_ok=True)
        with (folder / f"{_flat(name)}.txt").open("a", encoding="utf-8") as log:
            yield log

    def _tell(self, line: str) -> None:
        out = sys.stdout if self._told is None else self._told
        out.write(f"{line}\n")
        out.flush()

    def _write(self) -> None:
        write_whole(self.root / FILE, self._book.model_dump_json(indent=1) + "\n")


def _read(path: Path) -> _Book:
    try:
        return _Book.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return _Book()
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot read {path}: {error}; restore it from a copy or start a new run") from error


def _usage(path: Path, prices: Mapping[str, Price]) -> Figures:
    store = Store(path, readonly=True)
    try:
        return Meter(Budget(), prices, earlier=store.usage()).total()
    finally:
        store.close()


def _paths(tree: object) -> Iterator[str]:
    """Every text of a tree that may name a place, without what stands before it (``run:``) and behind it (``?…``)."""
    if isinstance(tree, str):
        kind, colon, rest = tree.partition(":")
        yield (rest if colon and kind.isalpha() and kind != SHIPPED.rstrip(":") else tree).partition("?")[0]
    elif isinstance(tree, dict):
        for value in tree.values():
            yield from _paths(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _paths(value)


def _holds(name: str, place: str) -> bool:
    return place == name or place.startswith(f"{name}/")


def _contents(text: str) -> str | None:
    """Hash what a text names outside the run: a file, or of a folder what may decide results; None where it is none."""
    try:
        place = (adapter_folder(text) if text.startswith(SHIPPED) else Path(text)).expanduser()
        if place.suffix and place.is_file():
            files = [place]
        elif "/" in str(place) and place.is_dir():
            files = sorted(path for pattern in _DECIDING for path in place.glob(pattern))
        else:
            return None
        return digest([[path.name, hashlib.sha256(path.read_bytes()).hexdigest()] for path in files])
    except (OSError, ModelAccessError):
        # A long text is no path, and what ships need be no adapter; whoever reads it will say what is wrong.
        return None


def _flat(name: str) -> str:
    return name.replace("/", "-")
