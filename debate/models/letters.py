"""How likely each answer letter is, read from a server's list of the likeliest first tokens, or counted in replies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from debate.models.base import Choice, Draw, Messages, Model, Sampling, Usage

#: Replies that are counted where their probabilities are not told.
CHOICE_DRAWS = 16

_CHOICE_TOKENS = 8
# Servers compute in float32, where a sum of probabilities near 1 is not told finer than this.
_RESOLUTION = 2.0**-24


class TokenProbability(NamedTuple):
    """One of the likeliest first tokens of a reply."""

    token: str
    probability: float


def choice_probabilities(tokens: Sequence[TokenProbability], choices: Sequence[str]) -> tuple[tuple[float, ...], float]:
    """Sum the probabilities of each choice over its token forms (``A``, `` A``).

    A choice that is not among the listed tokens is less likely than each of them, and than what they leave of 1: it
    gets that bound, provided that the bound is small beside the listed choices. Where it is not, or no choice is
    listed, the list says too little. What is left of 1 is known only up to rounding, so the bound is never 0: a choice
    that is unlikely is not impossible. A listed probability of 0 is some server's way of not telling: the same.

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
    for token, probability in tokens:
        text = token.strip(" \t\n\u2581\u0120")  # two tokenizers write a leading space as U+2581 and U+0120
        if text in sums:
            sums[text] += probability
    mass = math.fsum(sums.values())
    left = max(abs(1 - total), _RESOLUTION)  # a sum above 1 is rounded by at least so much
    bound = min([left, *(probability for _token, probability in tokens if probability > 0)])
    unlisted = [choice for choice, probability in sums.items() if probability <= 0]
    if mass <= 0 or (unlisted and bound > 0.01 * mass):
        return (1 / len(choices),) * len(choices), 0.0
    sums |= dict.fromkeys(unlisted, bound)
    whole = math.fsum(sums.values())
    return tuple(sums[choice] / whole for choice in choices), min(1.0, whole)


async def draw_choice(model: Model, messages: Messages, choices: Sequence[str]) -> Choice:
    """Draw k = 16 replies that are held to the m choices and count them as votes are: (count + 1/m) / (k + 1).

    They are samples like any others, so that a logged model keeps each of them, whatever becomes of the rest.

    Args:
        model: A model that is ``structured``.
        messages: The prompt.
        choices: Short texts.

    Returns:
        Probabilities over the choices, and a mass of 1.

    Raises:
        ModelError: See ``Model.sample``.
    """
    sampling = Sampling(_CHOICE_TOKENS, temperature=1.0, choices=tuple(choices))
    drawn = await model.sample(messages, draws=Draw(stream="choice").take(CHOICE_DRAWS), sampling=sampling)
    texts = [completion.text.strip() for completion in drawn]
    shares = tuple((texts.count(choice) + 1 / len(choices)) / (len(texts) + 1) for choice in choices)
    return Choice(shares, 1.0, sum((completion.usage for completion in drawn), start=Usage()), len(texts))
