"""Forms: replies of named texts as one JSON object, held to a schema where the server can, read strictly in any case.

A debater's text may hold JSON of its own. So a reply is read only if the object is all of it, a code fence aside, and
its keys are the form's, each once: nothing that a reply quotes can be taken for its answer.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from debate.agents.debater import split_thinking
from debate.models.base import Completion, Draw, Message, Messages, Model, Sampling
from debate.prompts import Prompts

_FENCE = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL | re.IGNORECASE)
# How models say that they will not do a thing. It is only looked for in replies that hold no form, and not in what they
# quote: a debater that cannot agree refuses nothing. Whoever cannot tell which it is, is asked again.
_REFUSAL = re.compile(
    r"\b(?:i\s*(?:['’]m|\s+am)\s+(?:sorry|unable|not\s+(?:able|comfortable|going))|(?:i\s+)?apologi[sz]e|"
    r"i\s+(?:can(?:not|['’]t|\s+not)|won['’]t|will\s+not|must\s+decline|refuse)|as\s+an\s+ai)\b"
    r"(?!\s+(?:yet\s+|really\s+)?(?:tell|say|see|know|determine|decide)\b)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“][^\"“”]*[\"”]|^\W*(?:persuader|debater)\W*:.*", re.IGNORECASE | re.MULTILINE)
_REFUSED = "it refused"


@dataclass(frozen=True, slots=True)
class Form:
    """A JSON object of texts.

    Attributes:
        fields: By key, in order: the words that the text is one of, or none for any text.
        open: Keys whose words the schema holds a model to, while a reply may hold another.
    """

    fields: Mapping[str, tuple[str, ...]]
    open: frozenset[str] = frozenset()

    @property
    def schema(self) -> str:
        """The JSON schema of it, as JSON."""
        properties = {
            key: {"type": "string", **({"enum": list(words)} if words else {})} for key, words in self.fields.items()
        }
        return json.dumps(
            {
                "type": "object",
                "properties": properties,
                "required": list(self.fields),
                "additionalProperties": False,
            }
        )

    def read(self, text: str) -> dict[str, str]:
        """Read a reply.

        Args:
            text: The whole reply; what a reasoning model wrote for itself is left out.

        Returns:
            A text for each key, without blanks around it; one that is held to words is the word as the form has it.

        Raises:
            ValueError: It is no such object; the message says why.
        """
        said = split_thinking(text)[0].strip()
        fenced = _FENCE.fullmatch(said)
        values = _parse(fenced[1] if fenced else said)
        odd = [key for key in self.fields if key not in values] or [key for key in values if key not in self.fields]
        if odd:
            raise ValueError(f"its keys are {', '.join(map(repr, values)) or 'none'}, not {', '.join(self.fields)}")
        found = {}
        for key, words in self.fields.items():
            value = values[key]
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"{key!r} is no text")
            found[key] = value.strip()
            if words and key not in self.open:
                known = {word.casefold(): word for word in words}
                if found[key].casefold() not in known:
                    raise ValueError(f"{key!r} is {found[key][:40]!r}, which is none of {', '.join(words)}")
                found[key] = known[found[key].casefold()]
        return found


class Filled(NamedTuple):
    """What came of asking for a form.

    Attributes:
        values: A text for each key, or None where no reply could be read.
        replies: Every reply, the last one first read, in order.
        flaws: Why each reply could not be read; empty for one that could.
    """

    values: Mapping[str, str] | None
    replies: tuple[Completion, ...]
    flaws: tuple[str, ...]

    @property
    def refused(self) -> bool:
        """Whether the model would not fill it in."""
        return self.values is None and self.flaws[-1] == _REFUSED


async def fill_in(
    model: Model,
    messages: Messages,
    form: Form,
    *,
    prompts: Prompts,
    sampling: Sampling,
    draw: Draw,
    attempts: int,
    room: float = math.inf,
) -> Filled:
    """Ask a model for a form, and again a bounded number of times, saying what was wrong.

    Args:
        model: Any model; one that is ``json_schema`` is held to the schema.
        messages: The prompt; it says which keys are wanted.
        form: What is wanted.
        prompts: Templates; it uses ``form_again``.
        sampling: How it writes.
        draw: The first draw.
        attempts: Most replies. A model that refuses is not asked again: it would only refuse in other words.
        room: Longest prompt, in tokens. Where there is none for a reply that could not be read, it is not shown again.

    Returns:
        What came of it.

    Raises:
        ModelError: The model failed for good.
    """
    schema = form.schema if model.capabilities.json_schema else ""
    how = Sampling(sampling.max_tokens, sampling.temperature, sampling.top_p, schema=schema)
    asked = list(messages)
    replies: list[Completion] = []
    flaws: list[str] = []
    for attempt in range(attempts):
        (reply,) = await model.sample(asked, draws=[draw._replace(attempt=draw.attempt + attempt)], sampling=how)
        replies.append(reply)
        try:
            values = form.read(reply.text)
        except ValueError as error:
            flaws.append(_why(reply, str(error)))
        else:
            return Filled(values, tuple(replies), (*flaws, ""))
        if flaws[-1] == _REFUSED:
            break
        asked = _ask_again(model, messages, form, prompts, reply.text, flaws[-1], room)
    return Filled(None, tuple(replies), tuple(flaws))


def _ask_again(  # noqa: PLR0917 - one call
    model: Model, messages: Messages, form: Form, prompts: Prompts, reply: str, flaw: str, room: float
) -> list[Message]:
    keys = ", ".join(f'"{key}"' for key in form.fields)
    for shown in (reply.strip() or "(nothing)", "(too long to show)"):
        asked = [*messages, *prompts.fill("form_again", reply=shown, flaw=flaw, keys=keys)]
        if model.count_tokens(asked) <= room:
            return asked
    return list(messages)


def _why(reply: Completion, error: str) -> str:
    if reply.finish == "filter" or ("{" not in reply.text and _REFUSAL.search(_QUOTED.sub(" ", reply.text))):
        return _REFUSED
    return "the reply was cut at max_tokens" if reply.finish == "length" else error


def _parse(text: str) -> dict[str, object]:
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a key appears twice")
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=once, strict=False)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not one JSON object ({error.msg})") from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if not isinstance(value, dict):
        raise ValueError("it is not one JSON object")  # noqa: TRY004 - what is wrong is the text
    return value
