"""Prompt templates: one text file each, filled in one pass with strict names.

A template is split by lines ``=== system``, ``=== user`` or ``=== assistant`` into messages; ``{{name}}`` stands for a
value. Values are put in in one pass, so a value that holds a brace or a placeholder stays text; control strings of chat
templates (``<|im_end|>``, ``[INST]``) get a blank inside, since a tokenizer would take them for the end of a message.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import cast

from debate.errors import PromptError
from debate.models.base import Message, MessageRole

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_SECTION = re.compile(r"^=== (system|user|assistant)[ \t]*\n", re.MULTILINE)
_CONTROL = re.compile(r"<(?=\||/?s>|/?(?:start|end)_of_turn>)|\[(?=/?INST\])")
SHIPPED = Path(__file__).parent


@functools.lru_cache(maxsize=256)
def _load(path: Path) -> tuple[tuple[MessageRole, str], ...]:
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
    return tuple((cast("MessageRole", role), body.strip()) for role, body in zip(parts[::2], parts[1::2], strict=True))


class Prompts:
    """A folder of templates; what it lacks comes from the shipped ones.

    Args:
        folder: A folder whose ``<name>.txt`` files take the place of the shipped ones, or None.
    """

    def __init__(self, folder: Path | None = None) -> None:
        if folder is not None and not folder.is_dir():
            raise PromptError(f"{folder} is not a folder of prompt templates")
        self._folders = [SHIPPED] if folder is None else [folder, SHIPPED]

    def fill(self, name: str, **values: str) -> list[Message]:
        """Fill a template.

        Args:
            name: The template's file name without ``.txt``.
            **values: One for each placeholder, no more and no fewer.

        Returns:
            Messages, ready for a model.

        Raises:
            PromptError: The template is missing or malformed, or the names do not match its placeholders.
        """
        path = next((folder / f"{name}.txt" for folder in self._folders if (folder / f"{name}.txt").is_file()), None)
        if path is None:
            raise PromptError(f"no prompt template {name}.txt in {', '.join(map(str, self._folders))}")
        sections = _load(path)
        wanted = {match for _, body in sections for match in _PLACEHOLDER.findall(body)}
        if wanted != values.keys():
            raise PromptError(
                f"{path}: placeholders and values differ: without a value {sorted(wanted - values.keys())}, "
                f"without a placeholder {sorted(values.keys() - wanted)}"
            )
        return [
            Message(role, _PLACEHOLDER.sub(lambda match: _harmless(values[match[1]]), body)) for role, body in sections
        ]


def _harmless(value: str) -> str:
    return _CONTROL.sub(lambda match: f"{match[0]} ", value)
