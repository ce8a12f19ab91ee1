"""Overhead of an operator in microseconds, and the time to the first finished training step of LeNet, in turns with
official PaddlePaddle and PyTorch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from turns import FRAMEWORKS, HERE, main, python_of

NAMES = {
    "add": 3000,
    "add_tape": 3000,
    "multiply_scalar": 3000,
    "relu_tape": 3000,
    "matmul_tape": 3000,
    "index_row": 2000,
    "chain_backward": 100,
}

FIRST_STEP = """
import json, sys, time
start = time.perf_counter()
kind = "torch" if sys.argv[1] == "torch" else "paddle"
library = __import__(kind)
imported = time.perf_counter()
import workloads
step = getattr(workloads, kind + "_lenet")(library)
made = time.perf_counter()
loss = step()
float(loss)
first = time.perf_counter()
float(step())
second = time.perf_counter()
answer = {"import": imported - start, "build": made - imported, "first step": first - made, "second step": second - first}
if sys.argv[1] == "ours":
    stats = library.utils.compile_stats
    answer["compiles"], answer["cache hits"] = stats.compiles, stats.cache_hits
print("{}" + json.dumps(answer))
"""


def first_step(framework: str, cache: str) -> dict:
    env = dict(os.environ, PYTHONPATH=str(HERE.parent) if framework == "ours" else "", PADDLE_XLA_CACHE_DIR=cache)
    out = subprocess.run(
        [python_of(framework), "-c", FIRST_STEP, framework], env=env, cwd=HERE, capture_output=True, text=True
    )
    lines = [line for line in out.stdout.splitlines() if line.startswith("{}")]
    if not lines:
        raise RuntimeError(f"{framework} failed: {out.stderr[-500:]}")
    return json.loads(lines[0][2:])


if __name__ == "__main__":
    results = main("workloads", NAMES, 1e6, "us")
    if all(a.startswith("-") or a.isdigit() for a in sys.argv[1:]) or "first" in sys.argv:
        print("\nfirst step of LeNet, seconds")
        with tempfile.TemporaryDirectory() as cache:
            for label, framework in [("ours, cold cache", "ours"), ("ours, warm cache", "ours")] + [
                (f, f) for f in FRAMEWORKS[1:] if python_of(f)
            ]:
                found = first_step(framework, cache)
                print(
                    f"  {label:<18}"
                    + "  ".join(f"{k} {v:.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in found.items())
                )
