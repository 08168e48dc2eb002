"""Which of two arguments is sound: what judges are trained and measured on, made of fallacy pairs.

A judge is shown how a persuasion began, as the story, how it went on, as the question, and two messages that the
persuader might say next, as the answers: one that nobody made fallacious, and the same with a fallacy. Nobody debates
it, so it is filed under ``expert``: a judge that reads the story and decides by itself.

What the fallacious message is set against is the draft that it was made of and, where the logical helper rewrote the
same draft in the same place, that rewrite too: against drafts alone, a fallacy could be told by its being a rewrite.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from debate.agents.memory import Said, show_said
from debate.agents.talker import opening
from debate.claim import Claim
from debate.fallacies import NONE
from debate.prompts import Prompts
from debate.protocols.persuasion import PERSUASION, said_in
from debate.question import Fold, Question
from debate.record import Debate, Recorded, join_key
from debate.transcript import Transcript
from training.fallacy_pairs import FallacyPair

#: The protocol that these decisions are filed under.
EXPERT: Final = "expert"
SOURCE: Final = "fallacy pairs"

# "Answer B:" inside a message, which only the list of answers may write.
_LABEL = re.compile(r"\b(answer\s+[A-Z])\s*[:：]", re.IGNORECASE)


class Place(NamedTuple):
    """Where a draft was to be said: helpers of one draft in one place are each other's control."""

    claim: str
    persuader: str
    debater: str
    history: tuple[Said, ...]
    draft: str


def sound_or_not(
    pairs: Sequence[FallacyPair],
    validated: Sequence[str | None],
    recorded: Iterable[Recorded],
    prompts: Prompts,
    *,
    fold: Fold | None = None,
) -> list[Recorded]:
    """Make the decisions between a sound message and a fallacious one.

    Left out are pairs of which a validator found no fallacy, and messages that a helper left as they were.

    Args:
        pairs: Fallacy pairs.
        validated: A validator's class of each, or None where there was none or it could not be read.
        recorded: The debates that they were taken from, for what the logical helper made of the same drafts.
        prompts: Templates; ``sound_question`` is used.
        fold: What the claims may be used for; None where that is not said.

    Returns:
        One or two for each pair, tagged ``sound`` with ``draft`` or ``helper``. Their story is the claim's opening and
        has the claim's id, so that intervals, folds and model cards go by claim.
    """
    fair = _fair(recorded)
    made: dict[str, Recorded] = {}
    for pair, name in zip(pairs, validated, strict=True):
        if name == NONE:
            continue
        place = Place(pair.claim_id, pair.persuader, pair.debater, pair.history, pair.logical)
        sound = {"draft": pair.logical, "helper": fair.get(place)}
        for kind, text in sound.items():
            if text is not None and _plain(text) != _plain(pair.fallacious):
                debate = _decision(pair, text, kind, prompts, fold)
                made[debate.id] = Recorded(debate, ())
    return list(made.values())


def claim_question(claim: Claim, prompts: Prompts, fold: Fold | None = None) -> Question:
    """Write a claim as a question whose story is its opening, which folds and model cards know a claim by."""
    asked = claim.question
    return Question(
        asked.id,
        asked.text,
        asked.answers,
        None,
        opening(claim, prompts).argument.plain(),
        claim.id,
        claim.source,
        fold,
    )


def _decision(pair: FallacyPair, sound: str, kind: str, prompts: Prompts, fold: Fold | None) -> Debate:
    name = join_key(pair.debate, str(pair.round), kind)
    said, *later = pair.history
    # A hash orders the two, so that their order says nothing.
    first = hashlib.sha256(f"sound\0{name}\0{sound}".encode()).digest()[0] % 2
    answers = tuple(_LABEL.sub(r"\1 –", " ".join(text.split())) for text in (sound, pair.fallacious))
    question = Question(
        id=name,
        text=prompts.fill("sound_question", dialogue=show_said(later))[0].content,
        answers=answers if first == 0 else answers[::-1],
        gold=first,
        story=said.text,
        story_id=pair.claim_id,
        source=SOURCE,
        fold=fold,
    )
    tags = {"claim": pair.claim, "fallacy": pair.fallacy, "sound": kind, "round": str(pair.round)}
    return Debate(name, EXPERT, Transcript(question), (None, None), tags=tags)


def _fair(recorded: Iterable[Recorded]) -> Mapping[Place, str]:
    """What logical helpers made of drafts, by where those were to be said."""
    return dict(_rewrites(recorded))


def _rewrites(recorded: Iterable[Recorded]) -> Iterator[tuple[Place, str]]:
    for item in recorded:
        debate = item.debate
        if debate.protocol != PERSUASION or debate.failed is not None:
            continue
        said = tuple(said_in(debate.transcript))
        persuader, debater = (name or "" for name in debate.players)
        for at, turn in enumerate(debate.transcript.turns):
            if turn.help is not None and turn.help.kind == "logical" and not turn.help.failed:
                draft = turn.help.draft.plain()
                place = Place(debate.transcript.question.id, persuader, debater, said[:at], draft)
                yield place, turn.argument.plain()


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
