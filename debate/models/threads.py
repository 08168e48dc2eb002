"""How many CPU threads a model gets: the cores that this process may use."""

from __future__ import annotations

import os
from pathlib import Path

# Where Linux says how much CPU time a container gets: "QUOTA PERIOD" in microseconds, or "max PERIOD".
QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores(most: int, quota: Path = QUOTA) -> int:
    """Return how many threads have a core of their own.

    A thread more than that waits for one that does not run, at every operation.

    Args:
        most: What the library would take: its own default, which knows physical cores and ``OMP_NUM_THREADS``, but
            neither a container's quota nor an affinity that was set later.
        quota: The file with the container's quota; it need not exist.

    Returns:
        A count from 1 to ``most``.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        allowed, period = quota.read_text(encoding="ascii").split()
        if allowed != "max":
            cores = min(cores, -(-int(allowed) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):
        pass  # no such limit here
    return max(1, min(most, cores))
