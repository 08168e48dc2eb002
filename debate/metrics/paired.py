"""Paired tests: whether differences on the same questions could as well have had the other sign."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from debate.errors import ConfigError

EXACT = 16
"""Up to so many clusters whose differences do not cancel, all signs are tried; beyond it, ``DRAWS`` are drawn."""
DRAWS = 20_000
_CHUNK = 2_000
_NEAR = 1e-9


def sign_flip(differences: Sequence[float], clusters: Sequence[str], *, draws: int = DRAWS, seed: int = 0) -> float:
    """Two-sided sign-flip test of paired differences, by cluster.

    Under the null hypothesis the two things compared are exchangeable, so each cluster's summed difference could as
    well have the other sign. The p-value is the share of all assignments of signs whose total is as far from 0 as the
    one seen, or farther. With one difference of -1, 0 or 1 in each cluster it is McNemar's exact test. Of many clusters
    signs are drawn, and the p-value is (1 + as far) / (1 + drawn), valid at any number of draws (Phipson & Smyth 2010).

    Args:
        differences: One for each pair.
        clusters: The cluster of each, such as its story id; pairs of one cluster flip together.
        draws: How many assignments are drawn where they cannot all be tried.
        seed: Of the draws.

    Returns:
        The p-value; 1 where nothing differs.

    Raises:
        ConfigError: No differences, unequal lengths, or one that is not finite.
    """
    if len(differences) != len(clusters) or not differences:
        raise ConfigError(f"{len(differences)} differences in {len(clusters)} cluster labels; give one label to each")
    values = np.asarray(differences, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ConfigError("differences must be finite numbers")
    names = {name: index for index, name in enumerate(dict.fromkeys(clusters))}
    sums = np.bincount([names[name] for name in clusters], values)
    scale = float(np.abs(values).max())
    sums = sums[np.abs(sums) > _NEAR * scale]
    if not sums.size:
        return 1.0
    least = abs(float(sums.sum())) - _NEAR * scale
    if sums.size <= EXACT:
        totals = np.zeros(1)
        for size in sums:
            totals = np.concatenate((totals + size, totals - size))
        return float(np.mean(np.abs(totals) >= least))
    generator = np.random.default_rng(seed)
    far = 0
    for start in range(0, draws, _CHUNK):
        signs = generator.integers(0, 2, size=(min(_CHUNK, draws - start), sums.size)) * 2 - 1
        far += int(np.count_nonzero(np.abs(signs @ sums) >= least))
    return (1 + far) / (1 + draws)
