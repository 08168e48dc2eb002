"""Fallacies: a closed list of classes, and what models write for them brought to it.

Asked for the name of a fallacy, models write it in as many ways as they can: the published logs of LOGICOM hold 171
spellings, 123 if case does not count. ``classify`` brings a name to one of 25 classes, or says that it is none of them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

NONE: Final = "none"
OTHER: Final = "other"

#: What makes an argument one of a class, in a line.
FALLACIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ad hominem": "attacks who speaks, or the motives, instead of what was said",
        "ad populum": "takes it for true because many believe or do it",
        "anecdote": "takes one case or experience for proof of the rule",
        "appeal to authority": "takes it for true because somebody of standing says so, on whatever ground",
        "appeal to consequences": "takes it for true or false because that would be welcome or not",
        "appeal to emotion": "puts fear, pity, pride or hope in the place of a reason",
        "appeal to flattery": "praises the listener so that agreeing feels deserved",
        "appeal to ignorance": "takes it for true because nobody has shown it false, or the reverse",
        "appeal to tradition": "takes it for right because it was always so, or for better because it is new",
        "begging the question": "assumes what it should show, in other words or in a circle",
        "cherry picking": "tells only what fits, and leaves out what does not",
        "equivocation": "uses a word in one sense first and in another later, or leaves it vague",
        "false analogy": "treats as alike what differs where it matters",
        "false cause": "takes what came before, or along with it, for what brought it about",
        "false dilemma": "offers two ways as if there were no third",
        "false information": "states as a fact what is not one",
        "hasty generalization": "goes from a few cases to all of them",
        "loaded question": "asks so that every answer admits what is in dispute",
        "middle ground": "takes the half-way point between two positions for true because it is half-way",
        "non sequitur": "draws a conclusion that does not follow",
        "personal incredulity": "takes it for false because it is hard to imagine or to understand",
        "red herring": "leads away to something that does not bear on the matter",
        "slippery slope": "says that one step must bring on the worst, without showing the steps between",
        "straw man": "answers a weaker or twisted form of what was said",
        "tu quoque": "answers a charge by saying that the other is no better",
    }
)

# Words of a name that tell nothing of the class.
_IDLE = re.compile(
    r"\b(?:logical|informal|formal|fallacy|fallacies|fallacious|argument|the|an?|used|introduction|of|to|from)\b"
)
_SPLIT = re.compile(r"[/(),;]|\band\b|\bor\b|\s-\s|:")
_ALIASES: Final[Mapping[str, str]] = {
    "ad personam": "ad hominem",
    "personal attack": "ad hominem",
    "attacking person": "ad hominem",
    "poisoning well": "ad hominem",
    "genetic": "ad hominem",
    "appeal popular opinion": "ad populum",
    "appeal popularity": "ad populum",
    "appeal common practice": "ad populum",
    "appeal common belief": "ad populum",
    "appeal majority": "ad populum",
    "argumentum ad populum": "ad populum",
    "bandwagon": "ad populum",
    "false consensus": "ad populum",
    "anecdotal": "anecdote",
    "anecdotal evidence": "anecdote",
    "appeal personal experience": "anecdote",
    "appeal personal anecdote": "anecdote",
    "false authority": "appeal to authority",
    "appeal false authority": "appeal to authority",
    "appeal expert": "appeal to authority",
    "appeal expertise": "appeal to authority",
    "appeal consequence": "appeal to consequences",
    "appeal cost": "appeal to consequences",
    "wishful thinking": "appeal to consequences",
    "emotional appeal": "appeal to emotion",
    "emotional manipulation": "appeal to emotion",
    "psychological manipulation": "appeal to emotion",
    "appeal fear": "appeal to emotion",
    "appeal pity": "appeal to emotion",
    "appeal urgency": "appeal to emotion",
    "flattery": "appeal to flattery",
    "sycophancy": "appeal to flattery",
    "appeal gratitude": "appeal to flattery",
    "appeal politeness": "appeal to flattery",
    "appeal respect": "appeal to flattery",
    "empty pleasantries": "appeal to flattery",
    "appeal history": "appeal to tradition",
    "appeal novelty": "appeal to tradition",
    "appeal nature": "appeal to tradition",
    "circular reasoning": "begging the question",
    "circular": "begging the question",
    "repetition": "begging the question",
    "confirmation bias": "cherry picking",
    "appeal confirmation bias": "cherry picking",
    "selective evidence": "cherry picking",
    "suppressed evidence": "cherry picking",
    "ambiguity": "equivocation",
    "vague terms": "equivocation",
    "false comparison": "false analogy",
    "false equivalence": "false analogy",
    "weak analogy": "false analogy",
    "causal": "false cause",
    "post hoc": "false cause",
    "post hoc ergo propter hoc": "false cause",
    "correlation implies causation": "false cause",
    "false dichotomy": "false dilemma",
    "fake dilemma": "false dilemma",
    "black white": "false dilemma",
    "either": "false dilemma",
    "misrepresenting facts": "false information",
    "misrepresentation facts": "false information",
    "deliberately providing false information": "false information",
    "misinformation": "false information",
    "generalization": "hasty generalization",
    "overgeneralization": "hasty generalization",
    "faulty generalization": "hasty generalization",
    "sweeping generalization": "hasty generalization",
    "jumping conclusions": "hasty generalization",
    "complex question": "loaded question",
    "false compromise": "middle ground",
    "agree disagree": "middle ground",
    "appeal common ground": "middle ground",
    "appeal moderation": "middle ground",
    "compromise": "middle ground",
    "agreement": "middle ground",
    "irrelevant conclusion": "red herring",
    "irrelevance": "red herring",
    "avoiding question": "red herring",
    "ignoring": "red herring",
    "misdirection": "red herring",
    "diversion": "red herring",
    "distraction": "red herring",
    "strawman": "straw man",
    "misrepresentation": "straw man",
    "hypocrisy": "tu quoque",
    "whataboutism": "tu quoque",
    "none": NONE,
    "none selected": NONE,
    "no": NONE,
    "n a": NONE,
    "na": NONE,
    "not applicable": NONE,
}


def classify(name: str) -> str:
    """Bring what somebody wrote for a fallacy's name to a class.

    Case, punctuation and words such as "fallacy of" do not count, small slips of the pen neither. Of several names in
    one ("Flattery/Ad Hominem") the first that is known counts.

    Args:
        name: What was written.

    Returns:
        A class of ``FALLACIES``; ``none`` where it says that there is no fallacy; ``other`` where it names something
        else.
    """
    parts = [part for part in (_plain(part) for part in _SPLIT.split(name.casefold().replace("n/a", "none"))) if part]
    if not parts:
        # Nothing is left of "no fallacy", nor of no name at all.
        return NONE
    known = _known()
    exact = (known[part] for part in parts if part in known)
    near = (known[best] for part in parts if (best := _nearest(part)) is not None)
    return next(exact, None) or next(near, OTHER)


def _plain(name: str) -> str:
    return " ".join(_IDLE.sub(" ", re.sub(r"[\W_]+", " ", name)).split())


@functools.cache
def _known() -> Mapping[str, str]:
    return {_plain(name): name for name in FALLACIES} | dict(_ALIASES)


def _nearest(part: str) -> str | None:
    """The known name that a slip of the pen may have been meant for."""
    from rapidfuzz import fuzz, process

    best = process.extractOne(part, list(_known()), scorer=fuzz.ratio, score_cutoff=90)
    return None if best is None else str(best[0])
