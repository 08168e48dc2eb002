"""The shell around every command: flags, help, one-line errors, exit codes."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from debate import config as configuration
from debate.config import ConfigT, Tree, Variants
from debate.errors import ConfigError, DissoiError
from debate.run_folder import CONFIG, check_is_run

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130
PACKAGES = ("debate", "optimizers", "tournaments", "training")

_SHARED_FLAGS = """\
  --config FILE   YAML file to start from
  --output DIR    run folder to write (default: runs/<command>-<date>-<time>)
  --resume DIR    go on with a run that was stopped
  --dry-run       print the plan (debates, calls, tokens, cost) and stop
  --help          this text
Any key of the configuration is a flag too; lists go by index, values are YAML: --players.0.model NAME --seed 3
A flag for true or false may stand alone, for true.
"""


@dataclass(frozen=True, slots=True)
class Invocation:
    """What the command line asked for beside the configuration.

    Attributes:
        output: Run folder to write, or None for a default name.
        resume: Run folder to go on with, or None.
        dry_run: Whether only the plan is wanted.
    """

    output: Path | None = None
    resume: Path | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Command(Generic[ConfigT]):
    """One command.

    Attributes:
        name: As in ``python -m NAME``.
        about: What it does, in a sentence or two.
        config: The class of its configuration, or variants of which the configuration says which it is.
        run: Does it; returns the exit code.
        default: The configuration file used when none is given; None if one is needed, or if flags can set every key
            that has no default.
        positional: The list-valued key that arguments without a flag are appended to, each as text; None where there
            are no such arguments. What the list holds already is not added again, so that a run is gone on with by the
            same arguments.
    """

    name: str
    about: str
    config: type[ConfigT] | Variants[ConfigT]
    run: Callable[[ConfigT, Invocation], int]
    default: Path | None = None
    positional: str | None = None

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Run the command and return its exit code: 0 done, 2 refused or failed with a message, 130 interrupted."""
        arguments = list(sys.argv[1:] if argv is None else argv)
        if "--help" in arguments or "-h" in arguments:
            sys.stdout.write(self.help())
            return 0
        try:
            check_one_root()
            config, invocation = self._read(arguments)
            return self.run(config, invocation)
        except DissoiError as error:
            for line in str(error).splitlines():
                sys.stderr.write(f"{self.name}: {line}\n")
            return EXIT_ERROR
        except KeyboardInterrupt:
            sys.stderr.write(f"{self.name}: interrupted; nothing that finished is lost, go on with --resume\n")
            return EXIT_INTERRUPTED

    def help(self) -> str:
        """Return the text of ``--help``."""
        keys = configuration.describe(self.config)
        file = "--config FILE" if self._needs_file({}) and self.positional is None else "[--config FILE]"
        words = f" {self.positional.upper()} ..." if self.positional else ""
        more = f"Arguments without a flag are appended to --{self.positional}.\n" if self.positional else ""
        return f"usage: python -m {self.name} {file}{words} [flags]\n\n{self.about}\n\n{_SHARED_FLAGS}{more}\n{keys}\n"

    def _needs_file(self, tree: Tree) -> bool:
        """Whether flags and arguments leave keys unset that have no default."""
        if isinstance(self.config, Variants):
            return self.config.key not in tree and not any(key in tree for key in self.config.alone)
        return any(field.is_required() and name not in tree for name, field in self.config.model_fields.items())

    def _is_switch(self, key: str) -> bool:
        """Whether a key is true or false, so that a flag without a value can mean true."""
        given = self.config
        classes = [*given.classes.values(), *given.alone.values()] if isinstance(given, Variants) else [given]
        fields = (one.model_fields.get(key) for one in classes)
        return any(field is not None and field.annotation is bool for field in fields)

    def _read(self, arguments: list[str]) -> tuple[ConfigT, Invocation]:
        own: dict[str, str] = {}
        overrides: list[tuple[str, str]] = []
        words: list[str] = []
        dry_run = False
        position = 0
        while position < len(arguments):
            flag, equals, value = arguments[position].partition("=")
            position += 1
            if self.positional is not None and not flag.startswith("-"):
                words.append(arguments[position - 1])
                continue
            flag = _with_underscores(flag)
            if not flag.startswith("--") or flag == "--":
                raise ConfigError(f"{flag!r} is not a flag; flags start with -- (see --help)")
            if flag == "--dry-run":
                if equals:
                    raise ConfigError(f"--dry-run takes no value, got {value!r}; leave it out for a real run")
                dry_run = True
                continue
            if not equals:
                if position < len(arguments) and not arguments[position].startswith("--"):
                    value = arguments[position]
                    position += 1
                elif self._is_switch(flag[2:]):
                    value = "true"
                else:
                    raise ConfigError(f"{flag} needs a value; one that starts with -- is given as {flag}=VALUE")
            if flag in {"--config", "--output", "--resume"}:
                own[flag] = value
            else:
                overrides.append((flag[2:], value))
        return self._config(own, overrides, words), Invocation(
            output=Path(own["--output"]) if "--output" in own else None,
            resume=Path(own["--resume"]) if "--resume" in own else None,
            dry_run=dry_run,
        )

    def _config(self, own: dict[str, str], overrides: list[tuple[str, str]], words: list[str]) -> ConfigT:
        if "--config" in own:
            path: Path | None = Path(own["--config"])
        elif "--resume" in own:
            check_is_run(Path(own["--resume"]))
            path = Path(own["--resume"]) / CONFIG
        else:
            path = self.default
        tree = {} if path is None else configuration.read_tree(path)
        tree.pop("provenance", None)  # a run folder's config.yaml also says where it came from
        for dotted, value in overrides:
            configuration.set_path(tree, dotted, value)
        if words:
            self._append(tree, words)
        if path is None and self._needs_file(tree):
            other = "" if self.positional is None else f", or {self.positional} as arguments"
            raise ConfigError(f"no configuration; give one with --config FILE (examples in configs/){other}")
        return configuration.parse(self.config, tree, where="flags" if path is None else str(path))

    def _append(self, tree: Tree, words: list[str]) -> None:
        """Append arguments without a flag to the list that takes them."""
        key = str(self.positional)
        listed = tree.get(key) or []
        if not isinstance(listed, list):
            raise ConfigError(f"{key} is {listed!r}, to which {words[0]!r} cannot be appended; make it a list")
        tree[key] = [*listed, *(word for word in dict.fromkeys(words) if word not in listed)]


def _with_underscores(flag: str) -> str:
    """Read ``--against-paper`` as the key ``against_paper``; keys below it may be anybody's and stay as they are."""
    key, dot, rest = flag[2:].partition(".")
    if f"--{key}" in {"--dry-run", "--help"} or not flag.startswith("--"):
        return flag
    return f"--{key.replace('-', '_')}{dot}{rest}"


def check_one_root() -> None:
    """Hold that all packages of Dissoi come from one folder: one of the same name elsewhere may shadow it.

    Raises:
        ConfigError: They do not; the message names where each comes from.
    """
    roots = {}
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        origin = None if spec is None else spec.origin
        roots[name] = None if origin is None else Path(origin).resolve().parent.parent
    if len(set(roots.values())) > 1 or None in roots.values():
        found = ", ".join(f"{name} from {root or 'a folder without __init__.py'}" for name, root in roots.items())
        raise ConfigError(
            f"Dissoi's packages come from different places: {found}; start from another folder, or remove the one in "
            "the way"
        )
