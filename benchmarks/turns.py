"""Runs workloads of several frameworks in turns, each framework in a process of its own.

A worker is this file started by the framework's Python; it reads commands (JSON lines) and answers with seconds.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FRAMEWORKS = ("ours", "paddle", "torch")


def python_of(framework: str) -> str | None:
    """The interpreter for a framework, None when it is not installed."""
    if framework == "ours":
        return sys.executable
    python = os.environ.get("RIVALS_PYTHON") or str(HERE.parent / ".rivals" / "bin" / "python")
    return python if Path(python).exists() else None


class Worker:
    """One framework in a process of its own."""

    def __init__(self, framework: str, module: str):
        env = dict(os.environ, PYTHONPATH=str(HERE.parent) if framework == "ours" else "")
        self.framework = framework
        self._process = subprocess.Popen(
            [python_of(framework), str(HERE / "turns.py"), framework, module],
            env=env,
            cwd=HERE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, name: str, calls: int) -> float | None:
        """Seconds a call of a workload; None when the framework does not have it."""
        self._process.stdin.write(json.dumps([name, calls]) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("{"):
                answer = json.loads(line)
                if answer.get("error"):
                    print(f"  {self.framework} {name}: {answer['error']}", file=sys.stderr)
                return answer["seconds"]
        raise RuntimeError(f"the worker of {self.framework} ended during {name}")

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(30)


def compare(
    module: str, names: dict[str, int], rounds: int, frameworks: tuple[str, ...] = FRAMEWORKS
) -> dict[str, dict[str, float]]:
    """Best seconds a call, by workload and framework; `names` gives the calls in one turn."""
    workers = [Worker(f, module) for f in frameworks if python_of(f)]
    results: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    try:
        for name, calls in names.items():
            for round_ in range(rounds + 1):  # the first is for warming up
                for worker in workers[round_ % len(workers) :] + workers[: round_ % len(workers)]:
                    seconds = worker.ask(name, calls)
                    if seconds is not None and round_:
                        results[name].setdefault(worker.framework, []).append(seconds)
    finally:
        for worker in workers:
            worker.close()
    return {name: {f: min(times) for f, times in found.items()} for name, found in results.items()}


def table(
    results: dict[str, dict[str, float]],
    unit: float = 1e6,
    label: str = "us",
    frameworks: tuple[str, ...] = FRAMEWORKS,
) -> None:
    """Print the figures and how many times faster ours is."""
    width = max(map(len, results))
    print(
        f"{'workload':<{width}}  "
        + "  ".join(f"{f + ' ' + label:>12}" for f in frameworks)
        + "".join(f"{'x ' + f:>10}" for f in frameworks[1:])
    )
    ratios: dict[str, list[float]] = {f: [] for f in frameworks[1:]}
    for name, found in results.items():
        cells = "  ".join(f"{found[f] * unit:12.1f}" if f in found else f"{'-':>12}" for f in frameworks)
        for rival in frameworks[1:]:
            if rival in found and "ours" in found:
                ratio = found[rival] / found["ours"]
                ratios[rival].append(ratio)
                cells += f"  {ratio:8.2f}"
            else:
                cells += f"  {'-':>8}"
        print(f"{name:<{width}}  {cells}")
    means = {rival: statistics.geometric_mean(r) for rival, r in ratios.items() if r}
    print("geometric mean, ours against " + ", ".join(f"{rival}: {mean:.2f}" for rival, mean in means.items()))


def main(module: str, names: dict[str, int], unit: float, label: str, frameworks: tuple[str, ...] = FRAMEWORKS) -> dict:
    """The command line of a benchmark file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*", help="only workloads whose name contains one of these")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    chosen = {n: c for n, c in names.items() if not options.words or any(w in n for w in options.words)}
    results = compare(module, chosen, options.rounds, frameworks)
    table(results, unit, label, frameworks)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1))
    return results


def _work() -> None:
    framework, module = sys.argv[1:3]
    workloads = importlib.import_module(module)
    kind = framework if framework in ("torch", "onnx") else "paddle"  # ONNX Runtime runs what PyTorch exports
    library = importlib.import_module("torch" if kind == "onnx" else kind)
    steps: dict = {}
    for line in sys.stdin:
        name, calls = json.loads(line)
        answer: dict = {"seconds": None}
        try:
            if name not in steps:
                make = getattr(workloads, f"{kind}_{name}", None)
                steps[name] = make(library) if make else None
            step = steps[name]
            if step is not None:
                start = time.perf_counter()
                for _ in range(calls):
                    out = step()
                if hasattr(out, "numpy"):
                    (out.detach() if kind in ("torch", "onnx") else out).numpy()  # wait for the last result
                answer["seconds"] = (time.perf_counter() - start) / calls
        except Exception as e:
            answer["error"] = f"{type(e).__name__}: {e}"
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _work()
