"""How likely each answer letter is, read from a server's list of the likeliest first tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class TokenProbability(NamedTuple):
    """One of the likeliest first tokens of a reply."""

    token: str
    probability: float


def choice_probabilities(tokens: Sequence[TokenProbability], choices: Sequence[str]) -> tuple[tuple[float, ...], float]:
    """Sum the probabilities of each choice over its token forms (``A``, `` A``).

    A choice that is not among the listed tokens is less likely than each of them: it gets that bound, provided that the
    bound is small beside the listed choices. Where it is not, or no choice is listed, the list says too little.

    Args:
        tokens: The likeliest first tokens.
        choices: Short texts.

    Returns:
        Probabilities over the choices, normalised to sum 1, and their mass; where the list says too little, equal
        ones and 0.

    Raises:
        ValueError: The tokens are no distribution; the message says why.
    """
    total = math.fsum(probability for _token, probability in tokens)
    if not tokens or not total <= 1.01:
        shown = ", ".join(f"{token!r} {probability:.3g}" for token, probability in tokens[:5])
        raise ValueError(f"the token probabilities sum to {total:.3g}, which is no distribution ({shown})")
    sums = dict.fromkeys(choices, 0.0)
    listed = set()
    for token, probability in tokens:
        text = token.strip(" \t\n\u2581\u0120")  # two tokenizers write a leading space as U+2581 and U+0120
        if text in sums:
            listed.add(text)
            sums[text] += probability
    mass = math.fsum(sums.values())
    bound = max(0.0, min(1 - total, *(probability for _token, probability in tokens)))
    unlisted = set(choices) - listed
    if mass <= 0 or (unlisted and bound > 0.01 * mass):
        return (1 / len(choices),) * len(choices), 0.0
    sums |= dict.fromkeys(unlisted, bound)
    whole = math.fsum(sums.values())
    return tuple(sums[choice] / whole for choice in choices), min(1.0, whole)
