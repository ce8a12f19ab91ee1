"""What became slower, larger or wrong between two result files of `suite.py --json`: `compare.py BEFORE AFTER`.

Machines and hours differ, so times are also set against the rivals of the same run: a workload counts as slower when it is by
its own time and by its ratio to each rival. Ends with 1 when something got worse.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path

from suite import disagree, ratios
from turns import FRAMEWORKS


def worse(before: dict[str, dict], after: dict[str, dict], limit: float) -> tuple[list[str], list[str]]:
    """The lines of the table, and the regressions; `limit` is the factor from which a change counts."""
    lines, regressions = [], []
    relative = {r: (ratios(before, r), ratios(after, r)) for r in FRAMEWORKS[1:]}
    for name in before:
        old, new = before[name].get("ours", {}), after.get(name, {}).get("ours", {})
        if not old.get("step"):
            continue
        if not new.get("step"):
            regressions.append(f"{name}: no figure any more")
            continue
        change = new["step"] / old["step"]
        against = [a[name] / b[name] for a, b in relative.values() if name in a and name in b]
        memory = new["memory"] / old["memory"]
        first = new["first"]["total"] / old["first"]["total"]
        lines.append(
            f"{name:<20}{old['step'] * 1e3:10.3f}{new['step'] * 1e3:10.3f}  x{change:5.2f}"
            + "".join(f"  x{a:5.2f}" for a in against).ljust(18)
            + f"  memory x{memory:.2f}  first x{first:.2f}  compiles {old.get('compiles')} {new.get('compiles')}"
        )
        if min([change, *against]) > limit:
            regressions.append(f"{name}: {change:.2f} times the time of a step")
        if memory > limit:
            regressions.append(f"{name}: {memory:.2f} times the memory")
        if first > 1.5 * limit:
            regressions.append(f"{name}: {first:.2f} times the time to the first step")
        if (new.get("compiles") or 0) > (old.get("compiles") or 0) * limit + 2:
            regressions.append(f"{name}: {new['compiles']} compilations instead of {old['compiles']}")
        if message := disagree(name, after[name]):
            regressions.append(f"{name}: losses disagree: {message}")
    return lines, regressions


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--limit", type=float, default=1.1, help="the factor from which a change counts")
    options = parser.parse_args()
    before, after = (json.loads(Path(p).read_text())["workloads"] for p in (options.before, options.after))
    lines, regressions = worse(before, after, options.limit)
    print("workload              before ms  after ms   time   and relative to each rival (above 1: slower)")
    print("\n".join(lines))
    for rival in FRAMEWORKS[1:]:
        old, new = ratios(before, rival), ratios(after, rival)
        if common := old.keys() & new.keys():
            means = [statistics.geometric_mean(r[n] for n in common) for r in (old, new)]
            print(f"geometric mean against {rival}: {means[0]:.2f} before, {means[1]:.2f} after")
    print("\n".join(["", "regressions:", *regressions] if regressions else ["", "no regressions"]))
    return 1 if regressions else 0


if __name__ == "__main__":
    sys.exit(main())
