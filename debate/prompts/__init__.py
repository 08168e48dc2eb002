"""Prompt templates: one text file each, filled in one pass with strict names.

A template is split by lines ``=== system``, ``=== user`` or ``=== assistant`` into messages; ``{{name}}`` stands for a
value. Values are put in in one pass, so a value that holds a brace or a placeholder stays text; control strings of chat
templates (``<|im_end|>``, ``[INST]``) get a blank inside, since a tokenizer would take them for the end of a message.
"""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from debate.errors import PromptError
from debate.models.base import Message, MessageRole

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_SECTION = re.compile(r"^=== (system|user|assistant)[ \t]*\n", re.MULTILINE)
_CONTROL = re.compile(r"<(?=\||/?s>|/?(?:start|end)_of_turn>)|\[(?=/?INST\])")
SHIPPED = Path(__file__).parent


Sections = tuple[tuple[MessageRole, str], ...]


@dataclass(frozen=True, slots=True)
class _Template:
    """A template as it was when it was read.

    Attributes:
        path: Its file.
        digest: Of its text (sha256, hexadecimal).
        sections: A role and a text for each message.
        names: Its placeholders.
    """

    path: Path
    digest: str
    sections: Sections
    names: frozenset[str]


def _read(path: Path) -> _Template:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"cannot read the prompt template {path}: {error}") from error
    head, *parts = _SECTION.split(text)
    if head.strip() or not parts:
        raise PromptError(f"{path} must begin with a line '=== system' or '=== user'")
    for body in parts[1::2]:
        rest = _PLACEHOLDER.sub("", body)
        if "{{" in rest or "}}" in rest:
            raise PromptError(f"{path}: a placeholder is written {{{{name}}}}, without blanks; braces are left over")
    sections = tuple(
        (cast("MessageRole", role), body.strip()) for role, body in zip(parts[::2], parts[1::2], strict=True)
    )
    names = frozenset(name for _, body in sections for name in _PLACEHOLDER.findall(body))
    return _Template(path, hashlib.sha256(text.encode()).hexdigest(), sections, names)


def _read_folder(folder: Path) -> dict[str, _Template]:
    return {path.stem: _read(path) for path in sorted(folder.glob("*.txt"))}


@functools.cache
def _shipped() -> dict[str, _Template]:
    return _read_folder(SHIPPED)


class Prompts:
    """A folder of templates; what it lacks comes from the shipped ones. All are read at once: later edits do not count.

    Args:
        folder: A folder whose ``<name>.txt`` files take the place of the shipped ones, or None.

    Raises:
        PromptError: The folder is none, or a template in it is malformed.
    """

    def __init__(self, folder: Path | None = None) -> None:
        if folder is not None and not folder.is_dir():
            raise PromptError(f"{folder} is not a folder of prompt templates")
        self._folders = [SHIPPED] if folder is None else [folder, SHIPPED]
        self._own = {} if folder is None else _read_folder(folder)
        self._templates = {**_shipped(), **self._own}

    @property
    def digests(self) -> dict[str, str]:
        """A digest of each template in effect, by name."""
        return {name: template.digest for name, template in sorted(self._templates.items())}

    def check(self) -> None:
        """Hold that each template of the folder takes the place of a shipped one and has the placeholders of it.

        Raises:
            PromptError: A name that no shipped template has, or other placeholders.
        """
        for name, template in self._own.items():
            shipped = _shipped().get(name)
            if shipped is None:
                raise PromptError(
                    f"{template.path}: there is no shipped template of this name, so it would never be used; "
                    f"the names are {', '.join(sorted(_shipped()))}"
                )
            if template.names != shipped.names:
                raise PromptError(
                    f"{template.path}: placeholders differ from those of the shipped template: missing "
                    f"{sorted(shipped.names - template.names)}, unknown {sorted(template.names - shipped.names)}"
                )

    def fill(self, name: str, **values: str) -> list[Message]:
        """Fill a template.

        Args:
            name: The template's file name without ``.txt``.
            **values: One for each placeholder, no more and no fewer.

        Returns:
            Messages, ready for a model.

        Raises:
            PromptError: The template is missing, or the names do not match its placeholders.
        """
        template = self._templates.get(name)
        if template is None:
            raise PromptError(f"no prompt template {name}.txt in {', '.join(map(str, self._folders))}")
        if template.names != values.keys():
            raise PromptError(
                f"{template.path}: placeholders and values differ: without a value "
                f"{sorted(template.names - values.keys())}, without a placeholder "
                f"{sorted(values.keys() - template.names)}"
            )
        return [
            Message(role, _PLACEHOLDER.sub(lambda match: harmless(values[match[1]]), body))
            for role, body in template.sections
        ]


def harmless(value: str) -> str:
    """Put a blank into control strings of chat templates, so that a tokenizer takes them for text.

    Args:
        value: Text that somebody else has written.
    """
    return _CONTROL.sub(lambda match: f"{match[0]} ", value)
