"""Power modes: which cores the runtime's threads are bound to, and whether they spin while they wait.

Where all cores are alike (most computers) a mode binds nothing. The thread that calls `run` computes too and is never bound.
"""

from __future__ import annotations

import os
from pathlib import Path

from .enums import PowerMode

__all__ = ["core_kinds", "settings"]

CORES = "/sys/devices/system/cpu"
_LOW = (PowerMode.LITE_POWER_LOW, PowerMode.LITE_POWER_RAND_LOW)
_HIGH = (PowerMode.LITE_POWER_HIGH, PowerMode.LITE_POWER_RAND_HIGH)


def core_kinds(folder: str = CORES) -> tuple[list[int], list[int]]:
    """(the fast cores, the slow ones) that this process may use, by what the kernel says of their capacity or highest
    frequency; all are fast where it says nothing, or they are alike."""
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    speeds = {core: _speed(Path(folder) / f"cpu{core}") for core in allowed}
    bounds = min(speeds.values()), max(speeds.values())
    if bounds[0] <= 0 or bounds[0] > 0.8 * bounds[1]:  # turbo differs a little between equal cores
        return allowed, []
    middle = sum(bounds) / 2
    return [c for c in allowed if speeds[c] > middle], [c for c in allowed if speeds[c] <= middle]


def _speed(core: Path) -> int:
    for name in ("cpu_capacity", "cpufreq/cpuinfo_max_freq"):
        try:
            return int((core / name).read_text())
        except (OSError, ValueError):
            pass
    return 0


def settings(mode: PowerMode, threads: int, folder: str = CORES) -> tuple[int, dict[str, str]]:
    """(how many threads, entries of ONNX Runtime's session configuration) for a mode."""
    fast, slow = core_kinds(folder)
    cores = slow if mode in _LOW and slow else fast if mode in (*_LOW, *_HIGH) else fast + slow
    threads = max(1, min(threads, len(cores)))
    entries = {"session.intra_op.allow_spinning": "0"} if mode in _LOW else {}
    if slow and threads > 1 and mode in (*_LOW, *_HIGH):
        # one entry for each thread but the caller's; numbers begin at 1
        entries["session.intra_op_thread_affinities"] = ";".join(str(c + 1) for c in cores[1:threads])
    return threads, entries
