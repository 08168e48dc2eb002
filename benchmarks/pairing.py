"""Time to pair a Swiss round: `python benchmarks/pairing.py [players ...]`; the target is a second at 1,000 players."""

from __future__ import annotations

import random
import sys
import time

from tournaments.pairing import default_rounds, pair_round


def seconds_a_round(n: int, seed: int = 0) -> list[float]:
    """Wall time of each of the default rounds with random results.

    Args:
        n: Number of players.
        seed: Decides results and pairings.

    Returns:
        Seconds, one a round.
    """
    rng = random.Random(seed)
    standings = {f"player {i}": 0.0 for i in range(n)}
    played: set[frozenset[str]] = set()
    byes: set[str] = set()
    times = []
    for number in range(default_rounds(n)):
        start = time.perf_counter()
        pairings = pair_round(standings, played, byes, seed + number)
        times.append(time.perf_counter() - start)
        for pairing in pairings:
            score = rng.choice((0.0, 0.5, 1.0)) if pairing.player_b is not None else 1.0
            standings[pairing.player_a] += score
            if pairing.player_b is None:
                byes.add(pairing.player_a)
            else:
                standings[pairing.player_b] += 1 - score
                played.add(frozenset((pairing.player_a, pairing.player_b)))
    return times


def main() -> None:
    """Print a table of players against seconds a round."""
    print(f"{'players':>8} {'rounds':>7} {'mean s':>8} {'worst s':>8}")
    for n in [int(word) for word in sys.argv[1:]] or [100, 999, 1000]:
        times = seconds_a_round(n)
        print(f"{n:>8} {len(times):>7} {sum(times) / len(times):>8.3f} {max(times):>8.3f}")


if __name__ == "__main__":
    main()
