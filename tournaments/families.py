"""Families of models: which judge and which player are of one make."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tournaments.cast import Member

_LEADING = re.compile(r"[a-z]+")


def family_of(member: Member | None) -> str | None:
    """Name the family of the model of a player or a judge: the letters that its name begins with.

    So ``openai/gpt-4.1-mini`` is of ``gpt``, ``hf/Qwen/Qwen2.5-7B-Instruct`` of ``qwen``; adapters make no difference.
    Names that are alike only by chance are one family, and models of one house that are named otherwise are two.

    Args:
        member: As its configuration describes it; None where there is none.

    Returns:
        The family; None for whoever has no model, or a scripted one.
    """
    model = None if member is None else member.config.get("model")
    name = model.get("name") if isinstance(model, Mapping) else model
    if not isinstance(name, str) or name.startswith("scripted/"):
        return None
    found = _LEADING.match(name.rstrip("/").rpartition("/")[2].casefold())
    return None if found is None else found[0]
