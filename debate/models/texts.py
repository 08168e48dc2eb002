"""Between messages and token ids: chat template, continuations, replies, stop texts."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from debate.errors import ModelAccessError, ModelError
from debate.models.base import Message, Messages
from debate.models.prefixes import Tokens

# No choice is longer than this, so longer tokens need not be looked up.
LONGEST_CHOICE = 32


class Texts:
    """A model's tokenizer, safe to use from several threads.

    Args:
        folder: A model folder with a tokenizer that has a chat template.

    Raises:
        ModelAccessError: There is no tokenizer or no chat template.
    """

    def __init__(self, folder: Path) -> None:
        from transformers import AutoTokenizer, GenerationConfig

        try:
            self._tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        except (OSError, ValueError, ImportError) as error:
            raise ModelAccessError(f"{folder}: no usable tokenizer: {error}; save one beside the weights") from error
        if not self._tokenizer.chat_template:
            raise ModelAccessError(f"{folder}: the tokenizer has no chat template; use an instruction-tuned model")
        ends = {self._tokenizer.eos_token_id}
        if (folder / "generation_config.json").is_file():
            named = GenerationConfig.from_pretrained(str(folder), local_files_only=True).eos_token_id
            ends.update(named if isinstance(named, list) else [named])
        self.ends = frozenset(int(token) for token in ends if token is not None)
        self._lock = threading.Lock()
        self._forms: dict[str, list[int]] | None = None
        self.system_role = self._takes_system()

    def prompt(self, messages: Messages) -> Tokens:
        """Return the token ids of a prompt, at least one, up to where the assistant's reply begins.

        Raises:
            ModelError: There is nothing in it.
        """
        return self._templated(messages, begins_reply=True)

    def exchange(self, messages: Messages, reply: str) -> Tokens:
        """Return the token ids of a prompt with the assistant's whole reply, up to where the template ends it."""
        return self._templated([*messages, Message("assistant", reply)], begins_reply=False)

    def _templated(self, messages: Messages, *, begins_reply: bool) -> Tokens:
        if not self.system_role:
            messages = without_system(messages)
        chat = [{"role": message.role, "content": message.content} for message in messages]
        with self._lock:
            ids = (
                self._tokenizer.apply_chat_template(
                    chat, add_generation_prompt=begins_reply, tokenize=True, return_dict=False
                )
                if chat
                else []
            )
        if not len(ids):
            raise ModelError("the prompt has no tokens; give at least one message with text")
        return np.asarray(ids, dtype=np.int64)

    def encode(self, text: str) -> Tokens:
        """Return the token ids of a text as part of a reply, without marks around it."""
        with self._lock:
            ids = self._tokenizer.encode(text, add_special_tokens=False)
        return np.asarray(ids, dtype=np.int64)

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of a reply's tokens."""
        with self._lock:
            text = self._tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return str(text)

    def forms(self, choice: str) -> list[int]:
        """Return every token whose text, white space around it aside, is the choice.

        Raises:
            ModelError: There is none.
        """
        if self._forms is None:
            self._forms = self._all_forms()
        tokens = self._forms.get(choice.strip(), [])
        if not tokens:
            raise ModelError(f"choice {choice!r} is not a single token of this model; use short choices such as 'A'")
        return tokens

    def _all_forms(self) -> dict[str, list[int]]:
        with self._lock:
            special = set(self._tokenizer.all_special_ids)
            ids = [token for token in range(len(self._tokenizer)) if token not in special]
            texts = self._tokenizer.batch_decode([[token] for token in ids], clean_up_tokenization_spaces=False)
        forms: dict[str, list[int]] = {}
        for token, text in zip(ids, texts, strict=True):
            if len(text) <= LONGEST_CHOICE:
                forms.setdefault(text.strip(), []).append(token)
        return forms

    def _takes_system(self) -> bool:
        from jinja2.exceptions import TemplateError

        chat = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
        try:
            self._tokenizer.apply_chat_template(chat, tokenize=False)
        except TemplateError:
            return False
        return True


def without_system(messages: Messages) -> list[Message]:
    """Put system messages before the first user message, for templates that know no system role."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    if not system:
        return rest
    for index, message in enumerate(rest):
        if message.role == "user":
            rest[index] = Message("user", f"{system}\n\n{message.content}")
            return rest
    return [Message("user", system), *rest]


def cut(text: str, stop: Sequence[str]) -> str | None:
    """Return the text before the first stop text in it, or None where there is none."""
    places = [place for place in (text.find(mark) for mark in stop if mark) if place >= 0]
    return text[: min(places)] if places else None


def tail_tokens(stop: Sequence[str]) -> int:
    """Return how many last tokens can hold a stop text that the newest token completed: a token is a byte or more."""
    return max((len(mark.encode()) for mark in stop), default=0) + 4
