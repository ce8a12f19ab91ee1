"""Ours, official PaddlePaddle and PyTorch in turns on unchanged dynamic-graph code, from the same weights.

Each workload gets processes of its own. One round of processes takes a few steps without anything random: their losses must
agree (and our compile cache is filled). A second round, fresh, measures the time to the first finished step (from the start
of the process, with a warm cache), the median time of a step in turns, and the peak memory. The environment variable BEFORE
names another checkout of ours that takes part.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from suite_workloads import SAME, TOLERANCE, WORKLOADS
from turns import FRAMEWORKS, HERE, OURS, Worker, in_turns, python_of

STEPS = 4  # whose losses are compared
CORES = 2
WARM = 8  # turns at most until a turn compiles nothing


def measure(
    name: str, rounds: int, seconds: float, cache: str, frameworks: list[str], checkers: dict
) -> dict[str, dict]:
    """The figures of a workload by framework; `checkers` are processes of the rivals that serve all workloads."""
    found: dict[str, dict] = {}
    env = {"PADDLE_XLA_CACHE_DIR": cache}
    for framework in frameworks:
        worker = checkers.get(framework) or Worker(framework, "suite_workloads", **env)
        answer = worker.ask("losses", name, steps=STEPS)
        if answer:
            found[framework] = {"losses": answer["losses"]}
        if framework not in checkers:
            found.get(framework, {})["cold"] = worker.ask("state", name)
            worker.close()
    workers = []
    try:
        for framework in frameworks:
            if framework not in found:
                continue
            if framework in OURS and name in SAME:  # what differs from the code whose losses were taken
                worker = Worker(framework, "suite_workloads", **env)
                worker.ask("first", name)
                worker.close()
            start = time.perf_counter()
            worker = Worker(framework, "suite_workloads", **env)
            workers.append(worker)
            parts = worker.ask("first", name)
            found[framework]["first"] = {"total": time.perf_counter() - start, **parts}
        for _ in range(WARM if workers else 0):
            before = [w.ask("state", name).get("compiles") for w in workers]
            in_turns(workers, 1, name, seconds=seconds)
            if before == [w.ask("state", name).get("compiles") for w in workers]:
                break
        for framework, times in in_turns(workers, rounds if workers else 0, name, seconds=seconds).items():
            found[framework].update(turns=times, step=statistics.median(times))
        for worker in workers:
            found[worker.framework].update(worker.ask("state", name))
    finally:
        for worker in workers:
            worker.close()
    return found


def disagree(name: str, found: dict[str, dict]) -> str | None:
    """What the losses say against each other, None when they agree."""
    ours = found.get("ours", {}).get("losses")
    for rival in sorted(found.keys() - {"ours"}):
        theirs = found.get(rival, {}).get("losses")
        for i, (a, b) in enumerate(zip(ours or [], theirs or [])):
            if not abs(a - b) <= TOLERANCE.get(name, 2e-3) * max(abs(a), abs(b), 1e-3):
                return f"step {i}: ours {a:.6g}, {rival} {b:.6g}"
    return None


def ratios(results: dict[str, dict], rival: str, key=lambda f: f.get("step")) -> dict[str, float]:
    """How many times faster ours is than a rival, by workload."""
    pairs = {n: (key(f.get("ours", {})), key(f.get(rival, {}))) for n, f in results.items()}
    return {n: theirs / ours for n, (ours, theirs) in pairs.items() if ours and theirs}


def _rivals(results: dict[str, dict]) -> list[str]:
    """What ours is compared with: the official package, PyTorch, and a checkout of ours if one took part."""
    return [*FRAMEWORKS[1:], *(["before"] if any("before" in found for found in results.values()) else [])]


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def rows(results: dict[str, dict]) -> list[list[str]]:
    """The table: the heads, then a row for each workload."""
    rivals = _rivals(results)
    heads = ["workload", *(f"{f} ms" for f in ("ours", *rivals)), *(f"x {f}" for f in rivals), "MB ours", *rivals]
    out = [[*heads, "cold MB", "first s", *rivals, "compiles", "losses"]]
    faster = {rival: ratios(results, rival) for rival in rivals}
    for name, found in results.items():
        each = [found.get(f, {}) for f in ("ours", *rivals)]
        row = [name, *(_cell(f.get("step") and f["step"] * 1e3, ".3g") for f in each)]
        row += [_cell(faster[rival].get(name), ".2f") for rival in rivals]
        row += [_cell(f.get("memory") and f["memory"] / 2**20, ".0f") for f in each]
        row += [_cell(each[0].get("cold") and each[0]["cold"]["memory"] / 2**20, ".0f")]
        row += [_cell(f.get("first", {}).get("total"), ".2f") for f in each]
        row += [_cell(each[0].get("compiles"), "d"), disagree(name, found) or "agree"]
        out.append(row)
    return out


def summary(results: dict[str, dict]) -> list[str]:
    """The geometric means."""
    lines = []
    for rival in _rivals(results):
        faster = ratios(results, rival)
        if faster:
            slow = [n for n, r in faster.items() if r < 1]
            lines.append(
                f"geometric mean against {rival}: {statistics.geometric_mean(faster.values()):.2f}"
                + (f"; slower in {', '.join(slow)}" if slow else "; slower in none")
            )
    return lines


def _machine(frameworks: list[str]) -> dict:
    """Where and on what the figures were taken."""
    versions = {}
    for framework in frameworks:
        library = "torch" if framework == "torch" else "paddle"
        code = f"import {library}; print({library}.__version__)"
        env = dict(os.environ, PYTHONPATH=OURS.get(framework, ""))
        out = subprocess.run([python_of(framework), "-c", code], env=env, cwd=HERE, capture_output=True, text=True)
        versions[framework] = out.stdout.strip()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True)
    with open("/proc/cpuinfo") as f:
        model = next((line.split(":")[1].strip() for line in f if line.startswith("model name")), platform.machine())
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg(),
        "time": time.strftime("%Y-%m-%d %H:%M"),
        "commit": commit.stdout.strip(),
        "versions": versions,
    }


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> dict:
    """Measure what the options ask for."""
    words = options.only.split(",") if options.only else [""]
    names = [n for n in WORKLOADS if any(w in n for w in words)]
    if not names:
        parser.error(f"--only: no such workload; there are {', '.join(WORKLOADS)}")
    frameworks = [f for f in FRAMEWORKS if python_of(f) and f not in (options.without or "").split(",")]
    frameworks += ["before"] if OURS["before"] else []
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    os.environ.update(OMP_NUM_THREADS=str(CORES), FLAGS_paddle_num_threads=str(CORES))
    rounds, seconds = (3, 0.1) if options.quick else (options.rounds, options.seconds)
    report = {"machine": _machine(frameworks), "workloads": {}}
    with tempfile.TemporaryDirectory() as fresh:
        checkers = {f: Worker(f, "suite_workloads") for f in frameworks if f not in OURS}
        for name in names:
            print(f"{name} ...", file=sys.stderr, end=" ", flush=True)
            start = time.perf_counter()
            found = measure(name, rounds, seconds, options.cache or fresh, frameworks, checkers)
            report["workloads"][name] = found
            print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
            if options.json:  # what is there, should the run be stopped
                Path(options.json).write_text(json.dumps(report, indent=1))
        for worker in checkers.values():
            worker.close()
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="workloads, separated by commas; a part of the name is enough")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a turn")
    parser.add_argument("--quick", action="store_true", help="three short turns")
    parser.add_argument("--without", help="frameworks to leave out, separated by commas")
    parser.add_argument("--cache", help="keep our compile cache in this folder instead of a fresh one")
    parser.add_argument("--json", help="also write all figures to this file")
    parser.add_argument("--read", nargs="+", metavar="FILE", help="show what --json wrote instead of measuring")
    parser.add_argument("--markdown", help="also write the table to this file")
    options = parser.parse_args()
    if options.read:
        reports = [json.loads(Path(path).read_text()) for path in options.read]
        report = {**reports[-1], "workloads": {n: f for r in reports for n, f in r["workloads"].items()}}
    else:
        report = _run(parser, options)
    results = report["workloads"]
    table, means = rows(results), summary(results)
    widths = [max(map(len, column)) for column in zip(*table)]
    for row in table:
        print("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))))
    print("\n".join(means))
    if options.markdown:
        lines = ["| " + " | ".join(row) + " |" for row in table]
        lines.insert(1, "|---" * len(table[0]) + "|")
        about = report["machine"]
        lines += [
            "",
            f"{about['processor']}, {about['cores']} cores, load {about['load'][0]:.1f}, {about['time']}.",
            "",
        ]
        Path(options.markdown).write_text("\n".join(lines + means) + "\n")
    return 1 if any(disagree(n, f) for n, f in results.items()) else 0


if __name__ == "__main__":
    sys.exit(main())
