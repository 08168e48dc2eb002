"""Few-shot players: files of example speeches, read and checked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import pydantic
import yaml

from debate.agents.examples import Example
from debate.errors import ConfigError

_LIST = pydantic.TypeAdapter(tuple[Example, ...], config=pydantic.ConfigDict(extra="forbid"))


def read_examples(path: str) -> tuple[Example, ...]:
    """Read a file of example speeches.

    Args:
        path: A YAML or JSON list of mappings with the fields of ``Example``: question, answers, story, argument, and
            seat where it is not A. Relative to the current folder.

    Returns:
        The examples, at least one.

    Raises:
        ConfigError: The file cannot be read, or holds no such list.
    """
    try:
        tree = yaml.safe_load(_bytes(path).decode("utf-8"))
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"examples {path!r}: not YAML or JSON: {' '.join(str(error).split())}") from error
    if not isinstance(tree, list) or not tree:
        raise ConfigError(f"examples {path!r}: a list of speeches is needed, with question, answers, story, argument")
    try:
        return _LIST.validate_python(tree)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(
            f"examples {path!r}: {where}: {first['msg']}; each has question, two answers, story, argument and seat"
        ) from error


def examples_digests(paths: Iterable[str]) -> dict[str, str]:
    """Hash files of examples (sha256, hexadecimal), by path: what they hold decides what is said.

    Raises:
        ConfigError: One cannot be read.
    """
    return {f"examples {path}": hashlib.sha256(_bytes(path)).hexdigest() for path in paths}


def _bytes(path: str) -> bytes:
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise ConfigError(f"examples {path!r} cannot be read: {error.strerror}; name a file from here") from error
