"""Names by which the people who judged published debates are told, and which no judge of ours can have."""

from __future__ import annotations

import re

from debate.errors import ConfigError

PUBLISHED = "as published"
"""What the final verdicts of the live judges of published debates are shown under."""
PEOPLE = "human/"
"""What the names of people begin with who judge in a room of ours."""
_OFFLINE = re.compile(r" \(offline, \w+\)$")


def offline_name(name: str, mode: str) -> str:
    """Name somebody who judged a published debate afterwards, "stepped" or "timed"."""
    return f"{name} (offline, {mode})"


def is_offline(judge: str) -> bool:
    """Whether ``offline_name`` made this name."""
    return _OFFLINE.search(judge) is not None


def is_person(judge: str) -> bool:
    """Whether a judge is a person, as far as its name tells: a live judge of published debates has any name."""
    return judge == PUBLISHED or judge.startswith(PEOPLE) or is_offline(judge)


def person_of(judge: str) -> str:
    """Return the name of a person, the same whether it judged a published debate live or afterwards."""
    return _OFFLINE.sub("", judge)


def check_judge_name(name: str) -> None:
    """Hold that a judge of ours has no such name: its verdicts would count as those people's, or in no table at all.

    Raises:
        ConfigError: It has.
    """
    if name == PUBLISHED or is_offline(name):
        raise ConfigError(
            f"judge name {name!r} is kept for people who judged published debates; give the judge another name"
        )
