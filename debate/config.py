"""Configuration: one YAML file and some flags, read into one frozen pydantic model, with hints for wrong keys."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import types
import typing
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import pydantic
import yaml

from debate.errors import ConfigError

Tree = dict[str, Any]


class Config(pydantic.BaseModel):
    """Base of every configuration: unknown keys are refused, nothing changes after loading."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


ConfigT = TypeVar("ConfigT", bound=Config)


@dataclass(frozen=True, slots=True)
class Variants(Generic[ConfigT]):
    """Configurations of one command that are told apart by a key.

    Attributes:
        key: The key whose value names the variant.
        classes: By that value; none where keys alone tell the variants apart.
        alone: By a key that only this variant has, so that it needs no other to be told.
    """

    key: str
    classes: Mapping[str, type[ConfigT]]
    alone: Mapping[str, type[ConfigT]] = dataclasses.field(default_factory=dict)

    def choose(self, tree: Mapping[str, Any], *, where: str) -> type[ConfigT]:
        """Return the class of the variant that a tree is of.

        Args:
            tree: Keys and values.
            where: Names the file or flags in messages.

        Raises:
            ConfigError: The key is missing, or names no variant.
        """
        for key, config in self.alone.items():
            if tree.get(key) is not None:
                return config
        if not self.classes:
            raise ConfigError(f"{where}: none of {', '.join(self.alone)} is set; set the one that says what is wanted")
        known = ", ".join(self.classes)
        name = tree.get(self.key)
        if name is None:
            raise ConfigError(f"{where}: {self.key}: missing; set it to one of {known}")
        if not isinstance(name, str) or name not in self.classes:
            raise ConfigError(f"{where}: {self.key}: {name!r} is none of {known}")
        return self.classes[name]


#: Put into ``Field(json_schema_extra=...)`` of what may change on a resume without changing results.
NOT_IN_DIGEST: dict[str, Any] = {"digest": False}


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses a key written twice, where PyYAML would keep the last silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        seen: dict[object, int] = {}
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge" or not isinstance(key_node, yaml.ScalarNode):
                continue  # PyYAML merges the one, and refuses the other, which no dictionary can hold
            key = self.construct_object(key_node, deep=deep)
            if key in seen:
                raise ConfigError(
                    f"{node.start_mark.name}, line {key_node.start_mark.line + 1}: key {key!r} appears twice, first on "
                    f"line {seen[key]}; keep one"
                )
            seen[key] = key_node.start_mark.line + 1
        return super().construct_mapping(node, deep)


def read_tree(path: Path) -> Tree:
    """Read a YAML file that holds one mapping.

    Raises:
        ConfigError: The file is missing, is not YAML, has a key twice or holds no mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the configuration {path}: {error}") from error
    tree = _load(text, str(path))
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ConfigError(f"{path} holds a {type(tree).__name__}; a mapping of keys to values is needed")
    return tree


def _load(text: str, where: str) -> Any:
    """Read one YAML document; ``where`` names the file or the flag in messages."""
    try:
        loader = _Loader(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{where}: not YAML: {' '.join(str(error).split())}") from error
    loader.name = where
    try:
        return loader.get_single_data()
    except ConfigError:
        raise
    except (yaml.YAMLError, ValueError) as error:  # ValueError: the 45th of a month, an integer beyond all bounds
        raise ConfigError(f"{where}: not YAML: {' '.join(str(error).split())}") from error
    finally:
        loader.dispose()


def set_path(tree: Tree, dotted: str, text: str) -> None:
    """Set one value in a loaded tree in place, as ``--players.0.model VALUE`` does.

    Args:
        tree: What ``read_tree`` returned.
        dotted: Keys and list indices joined by dots; an index one past the end appends.
        text: The value as YAML (``3``, ``true``, ``[1, 2]``, a word).

    Raises:
        ConfigError: A list index is out of range or not a number, the path leads through a plain value, or the value
            is not YAML.
    """
    value = _load(text, f"--{dotted}")
    node: Any = tree
    *parents, last = dotted.split(".")
    for depth, key in enumerate(parents):
        here = ".".join(parents[: depth + 1])
        if isinstance(node, list):
            node = node[_index(node, key, here, append=False)]
        elif isinstance(node, dict):
            if node.get(key) is None:
                node[key] = {}
            elif isinstance(node[key], str) and key == "model":
                node[key] = {"name": node[key]}  # `model: NAME` is short for `model: {name: NAME}`
            node = node[key]
        else:
            raise ConfigError(f"--{dotted}: {here} leads through a plain value; nothing can be set below it")
    if isinstance(node, list):
        index = _index(node, last, dotted, append=True)
        node[index : index + 1] = [value]
    elif isinstance(node, dict):
        node[last] = value
    else:
        raise ConfigError(f"--{dotted}: {'.'.join(parents)} is a plain value; nothing can be set below it")


def _index(items: list[Any], key: str, where: str, *, append: bool) -> int:
    limit = len(items) + append
    if not key.isdecimal() or int(key) >= limit:
        raise ConfigError(f"--{where}: {key!r} is no index of a list of {len(items)}; count from 0")
    return int(key)


def parse(config: type[ConfigT] | Variants[ConfigT], tree: Mapping[str, Any], *, where: str) -> ConfigT:
    """Validate a tree against a configuration class.

    Args:
        config: The class, or variants, of which the tree says which it is.
        tree: Keys and values.
        where: Names the file or flags in messages.

    Returns:
        The frozen configuration.

    Raises:
        ConfigError: One line for each wrong value; unknown keys come with the nearest known one.
    """
    if isinstance(config, Variants):
        config = config.choose(tree, where=where)
    try:
        return config.model_validate(tree)
    except pydantic.ValidationError as error:
        lines = []
        wrong = error.errors(include_url=False)
        for item in wrong:
            if item["type"] == "too_short" and any(_is_below(other["loc"], item["loc"]) for other in wrong):
                continue  # pydantic counts only the valid items of a list
            *above, last = item["loc"] or ("",)
            path = [str(part) for part in above if not _is_union_tag(part)]
            if last != "" and (item["type"] == "extra_forbidden" or not _is_union_tag(last)):
                path.append(str(last))
            lines.append(": ".join(filter(None, (".".join(path), _explain(config, path, item)))))
        unique = list(dict.fromkeys(lines))
        raise ConfigError(f"{where}: " + f"\n{where}: ".join(unique)) from error


def _is_below(place: Sequence[object], above: Sequence[object]) -> bool:
    return len(place) > len(above) and tuple(place[: len(above)]) == tuple(above)


def _is_union_tag(part: int | str) -> bool:
    return isinstance(part, str) and (part in {"str", "int", "float", "bool"} or part.endswith("Config") or "[" in part)


def _explain(config: type[Config], path: Sequence[str], item: Any) -> str:
    if item["type"] == "extra_forbidden":
        hint = _nearest(config, ["*" if part.isdecimal() else part for part in path])
        if hint is None:
            return "unknown key"
        numbers = iter(part for part in path if part.isdecimal())
        return f"unknown key; did you mean {'.'.join(next(numbers, '0') if key == '*' else key for key in hint)}?"
    if item["type"] == "missing":
        return "missing; set it in the configuration or by a flag"
    message = str(item["msg"]).removeprefix("Value error, ")
    given = item.get("input")
    return message if isinstance(given, (dict, list)) else f"{message}, got {given!r}"


def _nearest(config: type[Config], path: Sequence[str]) -> tuple[str, ...] | None:
    """Find the known path whose last key is most like that of a wrong one; beside it before elsewhere."""
    from rapidfuzz import fuzz

    def likeness(keys: Sequence[str]) -> float:
        return fuzz.ratio(path[-1], keys[-1]) + (15 if list(keys[:-1]) == list(path[:-1]) else 0)

    best = max(_paths(config), key=likeness)
    return best if likeness(best) >= 75 else None


def _paths(config: type[Config], depth: int = 0) -> Iterator[tuple[str, ...]]:
    """Every key that the class understands, lists as ``*``."""
    for name, field in config.model_fields.items():
        yield (name,)
        for inner, is_list in _inner(field.annotation):
            if depth < 5:
                for rest in _paths(inner, depth + 1):
                    yield (name, "*", *rest) if is_list else (name, *rest)


def _inner(annotation: object, *, is_list: bool = False) -> Iterator[tuple[type[Config], bool]]:
    if isinstance(annotation, type) and issubclass(annotation, Config):
        yield annotation, is_list
    origin = typing.get_origin(annotation)
    if origin in {list, tuple, Sequence} or origin in {typing.Union, types.UnionType, typing.Annotated}:
        for argument in typing.get_args(annotation):
            yield from _inner(argument, is_list=is_list or origin in {list, tuple, Sequence})


def describe(config: type[Config] | Variants[ConfigT]) -> str:
    """List a configuration's keys with type, default and meaning, for ``--help``; of variants one after the other."""
    if isinstance(config, Variants):
        named = {f"With {config.key} {name}": one for name, one in config.classes.items()}
        named |= {f"With {name}": one for name, one in config.alone.items()}
        return "\n\n".join(f"{title}:\n{describe(one)}" for title, one in named.items())
    lines = []

    def walk(model: type[Config], prefix: str) -> None:
        for name, field in model.model_fields.items():
            default = (
                "required" if field.is_required() else f"default {_short(field.get_default(call_default_factory=True))}"
            )
            lines.append(f"  --{prefix}{name}  {field.description or ''} ({default})")
            for inner, is_list in _inner(field.annotation):
                walk(inner, f"{prefix}{name}.{'0.' if is_list else ''}")

    walk(config, "")
    return "\n".join(lines)


def _short(value: object) -> str:
    if isinstance(value, Config):
        return "see below"
    return json.dumps(value, default=str)


def results_tree(config: Config) -> Tree:
    """What decides a run's results: the configuration without budgets, concurrency, endpoints, prices and output."""
    dumped = config.model_dump(mode="json")
    _drop(config, dumped)
    return dumped


def _drop(config: Config, dumped: Tree) -> None:
    for name, field in type(config).model_fields.items():
        extra = field.json_schema_extra
        if isinstance(extra, dict) and extra.get("digest") is False:
            dumped.pop(name, None)
            continue
        value = getattr(config, name)
        if isinstance(value, Config):
            _drop(value, dumped[name])
        elif isinstance(value, (list, tuple)):
            for item, row in zip(value, dumped[name], strict=True):
                if isinstance(item, Config):
                    _drop(item, row)


def digest(tree: object) -> str:
    """Hash a JSON-like value canonically (sha256, hexadecimal)."""
    return hashlib.sha256(json.dumps(tree, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def differences(old: object, new: object, prefix: str = "") -> list[str]:
    """Name the dotted keys at which two trees differ, as ``key: old -> new``."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [
            line
            for key in sorted(old.keys() | new.keys())
            for line in differences(old.get(key), new.get(key), f"{prefix}.{key}" if prefix else str(key))
        ]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [
            line
            for index, (one, other) in enumerate(zip(old, new, strict=True))
            for line in differences(one, other, f"{prefix}.{index}" if prefix else str(index))
        ]
    return [] if old == new else [f"{prefix}: {json.dumps(old)} -> {json.dumps(new)}"]
