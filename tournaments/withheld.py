"""What is kept out of exports of persuasion debates: fallacious texts, wherever they stand word for word."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from debate.quotes import Argument
from debate.record import Recorded, from_json, to_json
from debate.sentences import sentence_spans
from debate.transcript import Transcript

#: What stands in exports in the place of a fallacious text.
WITHHELD: Final = "[withheld: a fallacious argument]"
_FEWEST = 3  # words of a sentence that is looked for elsewhere; "Of course." gives nothing away


def withhold(item: Recorded) -> Recorded:
    """Take the fallacious texts out of a debate, for exports; names of fallacies stay.

    Drafts, replies, summaries and rulings stay too, but for the sentences that they take over from a fallacious text
    word for word. What they say of it in other words is there still.

    Args:
        item: A debate of any scenario.

    Returns:
        The debate.
    """
    sentences = set(_sentences(item.debate.transcript))
    turns = []
    for turn in item.debate.transcript.turns:
        if turn.help is None or turn.help.kind != "fallacy":
            turns.append(turn)
            continue
        kept = dataclasses.replace(turn.help, replies=(WITHHELD,) * len(turn.help.replies))
        argument = turn.argument if kept.failed else Argument((WITHHELD,))
        turns.append(dataclasses.replace(turn, argument=argument, help=kept))
    transcript = dataclasses.replace(item.debate.transcript, turns=tuple(turns))
    shown = dataclasses.replace(item, debate=dataclasses.replace(item.debate, transcript=transcript))
    if not sentences:
        return shown
    # The longest first, so that none is left with an end that another has eaten.
    patterns = (r"\s+".join(map(re.escape, one.split())) for one in sorted(sentences, key=len, reverse=True))
    pattern = re.compile("|".join(patterns), re.IGNORECASE)
    tree = json.loads(to_json(shown))
    tree["verdicts"] = _without(tree["verdicts"], pattern)
    tree["debate"]["transcript"]["turns"] = _without(tree["debate"]["transcript"]["turns"], pattern)
    return from_json(Recorded, json.dumps(tree))


def _sentences(transcript: Transcript) -> Iterator[str]:
    """Yield the sentences of fallacious texts that neither their own draft nor the opening holds."""
    opening = next((turn.argument.plain() for turn in transcript.turns), "")
    for turn in transcript.turns:
        if turn.help is None or turn.help.kind != "fallacy" or turn.help.failed:
            continue
        fair = _words(f"{opening} {turn.help.draft.plain()}")
        text = turn.argument.plain()
        for start, end in sentence_spans(text):
            sentence = text[start:end]
            if len(sentence.split()) >= _FEWEST and _words(sentence) not in fair:
                yield sentence


def _words(text: str) -> str:
    return " ".join(text.casefold().split())


def _without(tree: Any, pattern: re.Pattern[str]) -> Any:
    if isinstance(tree, str):
        return pattern.sub(WITHHELD, tree)
    if isinstance(tree, dict):
        return {key: _without(value, pattern) for key, value in tree.items()}
    return [_without(value, pattern) for value in tree] if isinstance(tree, list) else tree
