"""What a view shows, as text for prompts."""

from __future__ import annotations

from debate.view import View

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def show_turns(view: View) -> str:
    """Write out the speeches so far, one block a round, with quote marks.

    Line breaks inside a speech become spaces, so that no speech can fake another speaker's line.
    """
    blocks = []
    for number in sorted({turn.round for turn in view.turns}):
        speeches = [f"{turn.speaker}: {' '.join(turn.text.split())}" for turn in view.turns if turn.round == number]
        blocks.append(f"Round {number}\n" + "\n".join(speeches))
    return "\n\n".join(blocks) if blocks else "Nothing has been said yet."


def show_answers(view: View) -> dict[str, str]:
    """Name the answers for a template: ``answer_a``, ``answer_b``, ..."""
    return {f"answer_{LETTERS[index].lower()}": answer for index, answer in enumerate(view.answers)}
