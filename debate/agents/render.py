"""What a view shows, as text for prompts."""

from __future__ import annotations

from debate.view import View

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def show_turns(view: View) -> str:
    """Write out the speeches so far, one block a round, with quote marks.

    Line breaks inside a speech become spaces, so that no speech can fake another speaker's line. A judge that had
    nothing to ask is not shown.
    """
    blocks: dict[int, list[str]] = {}
    for turn in view.turns:
        text = " ".join(turn.text.split())
        if text or turn.seat is not None:
            blocks.setdefault(turn.round, []).append(f"{turn.speaker}: {text}")
    rounds = (f"Round {number}\n" + "\n".join(speeches) for number, speeches in sorted(blocks.items()))
    return "\n\n".join(rounds) or "Nothing has been said yet."


def show_answers(view: View) -> str:
    """Write out the answers, a line each: ``Answer A: ...``."""
    shown = zip(LETTERS, view.answers, strict=False)
    return "\n".join(f"Answer {letter}: {' '.join(answer.split())}" for letter, answer in shown)


def show_material(view: View) -> str:
    """Write out what a judge decides on: the story where it may read it, then what was said."""
    parts = [] if view.story is None else [f"<story>\n{view.story}\n</story>"]
    if view.turns:
        parts.append(show_turns(view))
    return "\n\n".join(parts) or "Nobody argues for either answer."
