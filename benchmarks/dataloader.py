"""Epochs of data loaders, in turns with official Paddle and PyTorch (milliseconds an epoch).

`images`: JPEG pictures are decoded, cropped at random, scaled, flipped and normalised, 32 to a batch, with the number of
worker processes in the name; `persistent` keeps them between epochs. `arrays`: batches of 38 MB that cost nothing to make,
so that mostly the way between the processes is measured. Every sample runs the same Pillow and NumPy code. `bare`: one and
two processes that make the same pictures and drop them, without a loader: how much a second process helps on this machine
at all.

The rounds go over all workloads, so that what is compared was measured close together.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from turns import FRAMEWORKS, Worker, in_turns, python_of, table

NAMES = (
    "bare_1",
    "bare_2",
    "images_0",
    "images_2",
    "images_2_persistent",
    "images_4_persistent",
    "arrays_0",
    "arrays_2_persistent",
)
_PLAIN = ("bare_1", "bare_2")  # of no framework


def measure(names: list[str], rounds: int) -> dict[str, dict[str, float]]:
    """Best seconds an epoch, by workload and framework."""
    workers = [Worker(f, "dataloader_workloads") for f in FRAMEWORKS if python_of(f)]
    found: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    try:
        for turn in range(-1, rounds):  # the first one warms up
            for name in names:
                able = [w for w in workers if w.framework == "ours" or name not in _PLAIN]
                able = able[turn % len(able) :] + able[: turn % len(able)]
                for framework, times in in_turns(able, 1, name, calls=1).items():
                    if turn >= 0:
                        found[name].setdefault(framework, []).extend(times)
    finally:
        for worker in workers:
            worker.close()
    return {name: {f: min(times) for f, times in by.items()} for name, by in found.items()}


def scaling(results: dict[str, dict[str, float]]) -> list[str]:
    """How many times the pictures of one process there are with more, as lines."""
    lines = []
    for name, label in (
        ("bare_2", "two bare processes"),
        ("images_2", "two workers, new in each epoch"),
        ("images_2_persistent", "two workers that stay"),
        ("images_4_persistent", "four workers that stay"),
    ):
        one = results.get("bare_1" if name == "bare_2" else "images_0", {})
        many = results.get(name, {})
        if both := [f for f in FRAMEWORKS if f in one and f in many]:
            lines.append(f"{label:<32}" + "".join(f"  {f} x{one[f] / many[f]:.2f}" for f in both))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only workloads whose name contains one of these")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    results = measure([n for n in NAMES if not options.words or any(w in n for w in options.words)], options.rounds)
    table(results, 1e3, "ms")
    print("against one process:", *scaling(results), sep="\n  ")
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    sys.exit(main())
