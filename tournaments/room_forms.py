"""What people send: read from a form, and refused with a sentence that they can follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from debate.errors import ConfigError
from tournaments.room import STEPS, Ballot
from tournaments.room_config import MAX_EXPLANATION
from tournaments.room_tags import ERRORS


class FormError(ConfigError):
    """A form lacks something; the message is for who filled it in."""


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form that was sent, each as text.

    Attributes:
        fields: By name; of several of one name the first.
        errors: The values of the boxes that are ticked.
    """

    fields: Mapping[str, str]
    errors: tuple[str, ...] = ()

    @staticmethod
    def of(items: Iterable[tuple[str, object]]) -> Form:
        """Read the fields; files are no text and are left out."""
        fields: dict[str, str] = {}
        errors: list[str] = []
        for name, value in items:
            if isinstance(value, str):
                fields.setdefault(name, _plain(value))
                if name == "error":
                    errors.append(value)
        return Form(fields, tuple(errors))

    def __getitem__(self, name: str) -> str:
        """A field; empty where it was not sent."""
        return self.fields.get(name, "")


def _plain(text: str) -> str:
    """Lines as a text field means them, without control characters and halves of characters."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    kept = "".join(character for character in lines if character in "\n\t" or character >= " ")
    return kept.encode("utf-8", "replace").decode("utf-8").strip()


def read_ballot(form: Form, *, min_words: int) -> Ballot:
    """Read a judgement, or a belief.

    Args:
        form: With ``share``, the confidence in the answer shown first in percent, and ``explanation``.
        min_words: Fewest words of the explanation; 0 where none is needed.

    Raises:
        FormError: It is none.
    """
    if form["share"] not in map(str, STEPS):
        raise FormError("Choose how sure you are, of one answer or the other.")
    return Ballot(int(form["share"]), _text(form["explanation"], "your explanation", min_words))


def read_question(form: Form, *, max_words: int) -> str:
    """Read a question to the speakers.

    Raises:
        FormError: It is empty, or too long.
    """
    text = " ".join(_text(form["question"], "your question", 1).split())
    if not any(character.isalnum() for character in text):
        raise FormError("Write what you want to know.")
    if len(text.split()) > max_words:
        raise FormError(f"Ask in at most {max_words} words; these are {len(text.split())}.")
    return text


def read_errors(form: Form) -> tuple[tuple[str, ...], str]:
    """Read tags and a note.

    Raises:
        FormError: A tag is unknown, or the note too long.
    """
    unknown = [name for name in form.errors if name not in ERRORS]
    if unknown:
        raise FormError(f"There is no error {unknown[0]!r}.")
    return tuple(name for name in ERRORS if name in form.errors), _text(form["note"], "your note", 0)


def _text(text: str, what: str, min_words: int) -> str:
    words = len(text.split())
    if words < min_words:
        raise FormError(
            f"Write at least {min_words} {'word' if min_words == 1 else 'words'} as {what}; there are {words}."
        )
    if len(text) > MAX_EXPLANATION:
        raise FormError(f"{what.capitalize()} has {len(text)} characters; {MAX_EXPLANATION} are taken at most.")
    return text
