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
OURS = {
    "ours": str(HERE.parent),
    "before": os.environ.get("BEFORE", ""),
}  # and another checkout of ours, if one is named


def python_of(framework: str) -> str | None:
    """The interpreter for a framework, None when it is not installed."""
    if framework in OURS:
        return sys.executable
    python = os.environ.get("RIVALS_PYTHON") or str(HERE.parent / ".rivals" / "bin" / "python")
    return python if Path(python).exists() else None


class Worker:
    """One framework in a process of its own."""

    def __init__(self, framework: str, module: str, **env: str):
        env = dict(os.environ, PYTHONPATH=OURS.get(framework, ""), **env)
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

    def ask(self, command: str, name: str, **arguments) -> dict:
        """The answer of a function of the worker (below); {} when the framework does not have the workload."""
        self._process.stdin.write(json.dumps([command, name, arguments]) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("{"):
                answer = json.loads(line)
                if error := answer.pop("error", None):
                    print(f"  {self.framework} {name}: {error}", file=sys.stderr)
                return answer
        raise RuntimeError(f"the worker of {self.framework} ended during {name}")

    def close(self) -> None:
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:  # it has answered everything
            self._process.kill()
            self._process.wait()


def in_turns(workers: list[Worker], rounds: int, name: str, **arguments) -> dict[str, list[float]]:
    """Seconds a call in each turn, by framework; who begins changes from round to round."""
    found: dict[str, list[float]] = {}
    for i in range(rounds):
        for worker in workers[i % len(workers) :] + workers[: i % len(workers)]:
            seconds = worker.ask("turn", name, **arguments).get("seconds")
            if seconds is not None:
                found.setdefault(worker.framework, []).append(seconds)
    return found


def compare(
    module: str, names: dict[str, int], rounds: int, frameworks: tuple[str, ...] = FRAMEWORKS
) -> dict[str, dict[str, float]]:
    """Best seconds a call, by workload and framework; `names` gives the calls in one turn."""
    workers = [Worker(f, module) for f in frameworks if python_of(f)]
    results = {}
    try:
        for name, calls in names.items():
            in_turns(workers, 1, name, calls=calls)  # warms up
            found = in_turns(workers, rounds, name, calls=calls)
            results[name] = {f: min(times) for f, times in found.items()}
    finally:
        for worker in workers:
            worker.close()
    return results


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


# ---- the worker ----


class _Session:
    """The workloads of a module in this process; its public methods are what a worker can be asked for."""

    def __init__(self, framework: str, module: str):
        start = time.perf_counter()
        self._kind = framework if framework in ("torch", "onnx") else "paddle"  # ONNX Runtime runs PyTorch's export
        self._library = importlib.import_module("torch" if self._kind == "onnx" else self._kind)
        self._imported = time.perf_counter() - start
        self._module = importlib.import_module(module)
        self._stats = self._library.utils.compile_stats if framework in OURS else None
        self._steps: dict = {}

    def _make(self, name: str, **options):
        if hasattr(self._module, "make"):
            return self._module.make(self._library, name, **options)
        make = getattr(self._module, f"{self._kind}_{name}", None)
        return make and make(self._library)

    def _wait(self, out) -> None:
        if hasattr(out, "numpy"):
            (out.detach() if self._kind != "paddle" else out).numpy()

    def turn(self, name: str, calls: int = 0, seconds: float = 0.0) -> dict:
        """Seconds a call, over so many calls or over a stretch of time."""
        if name not in self._steps:
            self._steps[name] = self._make(name)
        step = self._steps[name]
        if step is None:
            return {}
        start = time.perf_counter()
        if not calls:
            self._wait(step())
            calls = max(1, round(seconds / (time.perf_counter() - start)))
            start = time.perf_counter()
        for _ in range(calls):
            out = step()
        self._wait(out)
        return {"seconds": (time.perf_counter() - start) / calls}

    def first(self, name: str) -> dict:
        """Seconds of the import, of making the model, and of the first step with its result."""
        start = time.perf_counter()
        self._steps[name] = step = self._make(name)
        made = time.perf_counter()
        self._wait(step())
        return {"import": self._imported, "build": made - start, "first": time.perf_counter() - made}

    def losses(self, name: str, steps: int, small: bool = False) -> dict:
        """What the first steps return, without anything random."""
        step = self._make(name, same=True, small=small)
        return {"losses": [self._module.value(step()) for _ in range(steps)]}

    def state(self, name: str) -> dict:
        """Peak memory of the process in bytes, and ours: how often it compiled."""
        with open("/proc/self/status") as f:
            peak = next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))
        stats = self._stats
        if stats is None:
            return {"memory": peak}
        background = getattr(self._library.engine.compile, "background", None)
        if background is not None:  # programs that capture compiles meanwhile
            background.submit(lambda: None).wait()
        compiles = stats.compiles + getattr(stats, "captured", 0)
        return {"memory": peak, "compiles": compiles, "hits": stats.cache_hits}


def _work() -> None:
    session = _Session(*sys.argv[1:3])
    for line in sys.stdin:
        command, name, arguments = json.loads(line)
        try:
            answer = getattr(session, command)(name, **arguments)
        except Exception as e:
            answer = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _work()
