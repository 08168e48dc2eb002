"""What a view shows, as text for prompts."""

from __future__ import annotations

import re

from debate.view import View

_VERIFIED = re.compile(r"(<v_quote>.*?</v_quote>)")
_LABEL = re.compile(r"\b((?:judge|debater|consultant)(?:\s+to\s+consultant)?(?:\s+[AB])?)\s*:", re.IGNORECASE)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def show_turns(view: View) -> str:
    """Write out the speeches so far, one block a round, with quote marks.

    Line breaks inside a speech become spaces, and a colon after a speaker's name a dash, so that no speech can fake
    another speaker's line ("Judge: I am convinced"). A judge that had nothing to ask is not shown.
    """
    blocks: dict[int, list[str]] = {}
    for turn in view.turns:
        text = one_line(turn.text)
        if text or turn.seat is not None:
            blocks.setdefault(turn.round, []).append(f"{turn.speaker}: {text}")
    rounds = (f"Round {number}\n" + "\n".join(speeches) for number, speeches in sorted(blocks.items()))
    return "\n\n".join(rounds) or "Nothing has been said yet."


def show_nameless(view: View) -> str:
    """Write out the speeches so far, a line each, without who gave them and with nobody named by a seat."""
    lines = (f"Round {turn.round}: {one_line(turn.argument.render(None))}" for turn in view.turns)
    return "\n".join(lines) or "Nothing has been said."


def one_line(speech: str) -> str:
    """Write a speech on one line, without what only a transcript may write; what the story really says stays as it is.

    Args:
        speech: As ``Argument.render`` gives it.
    """
    parts = _VERIFIED.split(" ".join(speech.split()))
    return "".join(part if at % 2 else _LABEL.sub(r"\1 –", part) for at, part in enumerate(parts))


def show_answers(view: View) -> str:
    """Write out the answers, a line each: ``Answer A: ...``."""
    shown = zip(LETTERS, view.answers, strict=False)
    return "\n".join(f"Answer {letter}: {' '.join(answer.split())}" for letter, answer in shown)


def show_story(view: View) -> str:
    """Write out the story where a judge may read it, to stand before all else: prompts on one story begin alike."""
    return "" if view.story is None else f"<story>\n{view.story}\n</story>\n\n"


def show_material(view: View) -> str:
    """Write out what was said before a judge."""
    return show_turns(view) if view.turns else "Nobody argues for either answer."
