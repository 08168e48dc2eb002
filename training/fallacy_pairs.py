"""Fallacy pairs: what a persuader would have said, and what a fallacious helper made of it, with the class of fallacy.

``python -m training.fallacy_pairs RUN…`` makes a data set of them (``training.fallacy_pairs_command``).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from debate.agents.form import Form, fill_in
from debate.agents.memory import Memory, Said, show_said
from debate.fallacies import FALLACIES, NONE, OTHER, classify
from debate.metrics.agreement import cohen_kappa
from debate.metrics.intervals import Interval, cluster_mean
from debate.models.base import Draw, Message, Model, Sampling
from debate.prompts import Prompts
from debate.protocols.persuasion import PERSUASION, Stop, said_in
from debate.record import Recorded
from debate.together import together

if TYPE_CHECKING:
    from datasets import Dataset

#: What a validator may say: a class, or that there is no fallacy.
CLASS_FORM: Final = Form({"fallacy": (*FALLACIES, NONE)}, open=frozenset({"fallacy"}))


@dataclass(frozen=True, slots=True)
class FallacyPair:
    """One draft and its fallacious rewrite.

    Attributes:
        topic: What is talked about.
        claim: The claim.
        claim_id: The claim's id; intervals go by it.
        history: What was said before, the debater's last message at its end.
        logical: What the persuader would have said.
        fallacious: What it said instead.
        written: The fallacy as the helper wrote it.
        fallacy: Its class.
        convinced: Whether the debater was convinced upon it.
        debate: The debate's id.
        round: The round it was said in.
        persuader: Whose draft it is.
        debater: Who heard the rewrite.
    """

    topic: str
    claim: str
    claim_id: str
    history: tuple[Said, ...]
    logical: str
    fallacious: str
    written: str
    fallacy: str
    convinced: bool
    debate: str
    round: int
    persuader: str
    debater: str


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs, and how many messages of fallacious helpers were left out, by why."""

    pairs: tuple[FallacyPair, ...]
    dropped: Mapping[str, int]


def fallacy_pairs(recorded: Iterable[Recorded]) -> Pairs:
    """Take the pairs out of recorded debates.

    Left out are messages of which the helper failed, and those of which it wrote that there is no fallacy.

    Args:
        recorded: Debates of any protocol; those that are no persuasion hold none.

    Returns:
        One pair for each rewritten message of the fallacy scenario, in order.
    """
    pairs: list[FallacyPair] = []
    dropped: Counter[str] = Counter()
    for item in recorded:
        debate = item.debate
        if debate.protocol != PERSUASION or debate.failed is not None:
            continue
        said = said_in(debate.transcript)
        convinced = debate.tags.get("stop") == Stop.CONVINCED
        last = max((turn.round for turn in debate.transcript.turns), default=0)
        for place, turn in enumerate(debate.transcript.turns):
            if turn.help is None or turn.help.kind != "fallacy":
                continue
            fallacy = classify(turn.help.name)
            if turn.help.failed or fallacy == NONE:
                dropped["the helper failed" if turn.help.failed else "the helper wrote that there is none"] += 1
                continue
            pairs.append(
                FallacyPair(
                    topic=debate.transcript.question.text,
                    claim=debate.tags["claim"],
                    claim_id=debate.transcript.question.id,
                    history=tuple(said[:place]),
                    logical=turn.help.draft.plain(),
                    fallacious=turn.argument.plain(),
                    written=turn.help.name,
                    fallacy=fallacy,
                    convinced=convinced and turn.round == last,
                    debate=debate.id,
                    round=turn.round,
                    persuader=debate.players[0] or "",
                    debater=debate.players[1] or "",
                )
            )
    return Pairs(tuple(pairs), dict(dropped))


class Validator:
    """A second model that names the class of a fallacious argument, without being told the helper's.

    Args:
        model: Any model; one that is ``json_schema`` is held to the list.
        prompts: Templates; it uses ``fallacy_class``.
        sampling: How it writes.
        attempts: Most replies.
        seed: The run's seed.
    """

    def __init__(self, model: Model, *, prompts: Prompts, sampling: Sampling, attempts: int, seed: int) -> None:
        self._model = model
        self._prompts = prompts
        self._sampling = sampling
        self._attempts = attempts
        self._draw = Draw(seed, "fallacy validator")
        self._memory = Memory(prompts=prompts)

    async def name_all(self, pairs: Sequence[FallacyPair]) -> list[str | None]:
        """Name the class of each pair's fallacy; None where no reply can be read."""
        return await together(self._name(pair) for pair in pairs)

    async def _name(self, pair: FallacyPair) -> str | None:
        def build(summary: str, said: Sequence[Said]) -> list[Message]:
            return ask_class(pair, self._prompts, said, summary)

        reply = self._sampling.max_tokens
        fitted = await self._memory.fit(self._model, pair.history, build, reply=reply, draw=self._draw)
        filled = await fill_in(
            self._model,
            fitted.messages,
            CLASS_FORM,
            prompts=self._prompts,
            sampling=self._sampling,
            draw=self._draw,
            attempts=self._attempts,
            room=fitted.room,
        )
        return None if filled.values is None else classify(filled.values["fallacy"])


def ask_class(pair: FallacyPair, prompts: Prompts, said: Sequence[Said], summary: str = "") -> list[Message]:
    """Ask for the class of a pair's fallacy, with so much of the history."""
    return prompts.fill(
        "fallacy_class",
        classes="\n".join(f"- {name}: {meaning}" for name, meaning in FALLACIES.items()),
        claim=pair.claim,
        dialogue=show_said(said, summary),
        argument=pair.fallacious,
    )


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far helper and validator agree on the class.

    Attributes:
        kappa: Cohen's kappa; None where there is nothing to tell.
        share: Share of pairs that both put into one class; None without any.
        read: Pairs that the validator named a class, or none, of.
        unread: Pairs of which no reply could be read.
    """

    kappa: Interval | None
    share: Interval | None
    read: int
    unread: int


def agreement(pairs: Sequence[FallacyPair], validated: Sequence[str | None]) -> Agreement:
    """Measure how far a validator agrees with the helper, with intervals by claim.

    Args:
        pairs: The pairs.
        validated: The validator's class of each, or None.

    Returns:
        The agreement.
    """
    known = [(pair, name) for pair, name in zip(pairs, validated, strict=True) if name is not None]
    claims = [pair.claim_id for pair, _ in known]
    both = [float(pair.fallacy == name) for pair, name in known]
    return Agreement(
        cohen_kappa([pair.fallacy for pair, _ in known], [name for _, name in known], claims),
        cluster_mean(both, claims, bounds=(0.0, 1.0)) if known else None,
        len(known),
        len(validated) - len(known),
    )


def to_dataset(pairs: Sequence[FallacyPair], validated: Sequence[str | None], *, withhold: bool) -> Dataset:
    """Make a data set of pairs.

    Args:
        pairs: One or more.
        validated: The validator's class of each, or None.
        withhold: Leave out the fallacious texts, and of histories what may hold one.

    Returns:
        Columns ``topic``, ``claim``, ``claim_id``, ``history`` (messages of persuader and debater), ``logical``,
        ``fallacious``, ``fallacy`` (a class), ``fallacy_as_written``, ``fallacy_validated``, ``convinced``, ``debate``,
        ``round``, ``persuader`` and ``debater``. Withheld, there is no ``fallacious``, and a history is the opening and
        the debater's messages.
    """
    from datasets import Dataset, Features, List, Value

    text = Value("string")
    plain = [_plain(pair, name, withhold=withhold) for pair, name in zip(pairs, validated, strict=True)]
    features = Features(
        {
            "topic": text,
            "claim": text,
            "claim_id": text,
            "history": List({"speaker": text, "text": text}),
            "logical": text,
            **({} if withhold else {"fallacious": text}),
            "fallacy": text,
            "fallacy_as_written": text,
            "fallacy_validated": text,
            "convinced": Value("bool"),
            "debate": text,
            "round": Value("int32"),
            "persuader": text,
            "debater": text,
        }
    )
    return Dataset.from_dict({name: [row[name] for row in plain] for name in features}, features=features)


def _plain(pair: FallacyPair, validated: str | None, *, withhold: bool) -> dict[str, object]:
    shown = [one for place, one in enumerate(pair.history) if not withhold or place == 0 or one.speaker == "debater"]
    return {
        "topic": pair.topic,
        "claim": pair.claim,
        "claim_id": pair.claim_id,
        "history": [{"speaker": one.speaker, "text": one.text} for one in shown],
        "logical": pair.logical,
        "fallacious": pair.fallacious,
        "fallacy": pair.fallacy,
        "fallacy_as_written": pair.written,
        "fallacy_validated": validated,
        "convinced": pair.convinced,
        "debate": pair.debate,
        "round": pair.round,
        "persuader": pair.persuader,
        "debater": pair.debater,
    }


def by_class(pairs: Sequence[FallacyPair]) -> dict[str, int]:
    """Count pairs by class, the commonest first, what is of no class last."""
    counts = Counter(pair.fallacy for pair in pairs)
    return dict(sorted(counts.items(), key=lambda item: (item[0] == OTHER, -item[1], item[0])))


if __name__ == "__main__":
    from training.fallacy_pairs_command import COMMAND

    sys.exit(COMMAND.main())
