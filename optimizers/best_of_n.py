"""Best-of-N: a debater that makes N speeches and gives the one that a preference model likes best."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence

from debate.agents.debater import Debater, Limits, Speech, speak
from debate.errors import ConfigError
from debate.models.base import Draw
from debate.transcript import Candidate
from debate.view import View
from optimizers.preference import Preference, faced, plain, rounds_within


def results_first(candidates: Sequence[Candidate], results: Sequence[int]) -> tuple[Candidate, ...]:
    """Put an optimizer's results before whatever else was sampled, so that the first ``n`` valid ones are its results.

    Args:
        candidates: Everything, in order of sampling.
        results: The places of the results.
    """
    others = (candidate for place, candidate in enumerate(candidates) if place not in set(results))
    return (*(candidates[place] for place in results), *others)


def best_of_each(candidates: Sequence[Candidate], n: int, groups: int) -> list[int]:
    """Choose the best of each group of valid candidates.

    Args:
        candidates: In order; the first ``n * groups`` valid ones count, dealt out to the groups one by one.
        n: How many are in a full group.
        groups: How many groups.

    Returns:
        For each group with a valid candidate the place of the one with the highest score, the first of those that tie;
        one whose score could not be read comes after all whose could.
    """
    valid = [place for place, candidate in enumerate(candidates) if candidate.valid][: n * groups]

    def worth(place: int) -> tuple[bool, float]:
        score = candidates[place].score
        return score is not None, 0.0 if score is None else score

    return [max(valid[group::groups], key=worth) for group in range(min(groups, len(valid)))]


class BestOfN:
    """Samples N valid candidates, as few requests as the model allows, and says what the preference model likes best.

    Everything sampled is kept on the turn, in order, and each valid candidate with its ``score``. An invalid candidate
    is not scored and never wins over a valid one; where none is valid, the best invalid one is cut, as without an
    optimizer. A valid candidate without a score is one that the preference model gave nothing readable for: that is no
    flaw of the speech, and it is spoken only if no valid one has a score. With n = 1 nothing is chosen, but the
    one candidate gets its score.

    Composition: ``candidates`` puts the winner of each of n groups first and then whatever else was sampled, and takes
    of its base only the first that it asked for. So best-of-N over critique-and-refine chooses among refined speeches,
    and critique-and-refine over best-of-N refines the winner.

    Args:
        base: Who makes the candidates.
        preference: Who likes them.
        n: Valid candidates of which one is spoken.
        limits: How a speech is cut if none is valid; the base's own.
    """

    def __init__(self, base: Debater, preference: Preference, *, n: int, limits: Limits) -> None:
        if n < 1:
            raise ConfigError(f"best of {n} is no speech; n is 1 or more")
        self.name = base.name
        self._base = base
        self._preference = preference
        self._n = n
        self._limits = limits

    def plain(self) -> Debater:
        """Return the debater that is innermost."""
        return plain(self._base)

    @property
    def rounds_within(self) -> int:
        """Rounds of critique that the candidates have gone through; see ``rounds_within``."""
        return rounds_within(self._base)

    def facing(self, opponent: Debater) -> BestOfN:
        """Return a copy that knows its opponent; see ``debate.protocols.base.Facing``."""
        told = copy.copy(self)
        told._preference, told._base = faced(self._preference, self._base, opponent)  # noqa: SLF001 - its own copy
        return told

    async def candidates(self, view: View, draw: Draw, n: int) -> tuple[Candidate, ...]:
        """Choose n times the best of N, sampled together: the winners, then the rest; see Debater."""
        found = await self._scored(view, draw, n)
        return results_first(found, best_of_each(found, self._n, n))

    async def argue(self, view: View, draw: Draw) -> Speech:
        """Make the next speech; see Debater."""
        found = await self._scored(view, draw, 1)
        chosen = best_of_each(found, self._n, 1)
        return Speech(found, chosen[0]) if chosen else speak(found, self._limits, view.story)

    async def _scored(self, view: View, draw: Draw, groups: int) -> tuple[Candidate, ...]:
        """Sample for some groups at once and score the valid ones, all at the same time."""
        found = list(await self._base.candidates(view, draw, self._n * groups))
        valid = [place for place, candidate in enumerate(found) if candidate.valid][: self._n * groups]
        scores = await self._preference.log_odds(view, [found[place] for place in valid], draw)
        for place, score in zip(valid, scores, strict=True):
            found[place] = dataclasses.replace(found[place], score=score)
        return tuple(found)
