"""Single operators at three sizes, in turns with official PaddlePaddle and PyTorch (microseconds a call), and the list of
those that take more than twice the time of the faster rival.

`python benchmarks/ops.py --markdown docs/operator-speed.md` writes the page with the table and the reasons.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from pathlib import Path

from op_workloads import OPS, SIZES
from turns import compare, table

CALLS = {"small": 300, "middle": 60, "large": 5}
LIMIT = 2.0  # times the faster rival
CALL = 40e-6  # seconds; below, a difference is that of the way from Python to the kernel

# Why a call of few elements takes longer, and why an operator does at the sizes where its kernel counts.
CALL_REASON = (
    "the call: 8 to 13 us from Python to the end of an XLA executable, 5 more where it has several loops or where XLA "
    "splits one loop between threads, against 1 to 5 us of a rival's C++"
)
REASONS = {
    "scalar": "two operators, each of which passes over the memory; XLA joins them under `jit`",
    "sigmoid": "XLA's exp and division take longer than PyTorch's vector routine",
    "reshape": "arrays are immutable: a view that is made eagerly is a copy; the rivals only write a new shape",
    "transpose": "a view that is made eagerly is a copy, then the sum is a second pass; one pass under `jit`",
    "split": "XLA copies both halves, the rivals' first one stays a view",
    "slice": "a view that is made eagerly is a copy, then the sum is a second pass; one pass under `jit`",
    "stack": "XLA's concatenation is one loop without threads, and the result is new memory each time",
    "concat": "XLA's concatenation is one loop without threads, and the result is new memory each time",
    "cumsum": "within blocks of eight, then over the blocks: three passes over the memory, PyTorch takes one",
    "cumprod": "within blocks of eight, then over the blocks: three passes over the memory, PyTorch takes one",
    "roll": "XLA selects each element from two shifted pieces; the rivals copy the pieces",
    "pad": "XLA tests for each element whether it is padding; the rivals fill and copy rows",
    "tile": "XLA computes the place of each element; the rivals copy rows",
    "prod": "XLA takes several times as long for a product as for a sum, which it vectorises",
    "softmax": "XLA makes three loops of it (maximum, sum, quotient) that write to memory, PyTorch one",
    "logsumexp": "XLA makes several loops of it that write to memory",
    "take_along": "the look at the indices (IndexError when one is out of range) is another pass, and XLA's gather takes "
    "the elements one by one",
    "index_add": "XLA's scatter takes the rows one after the other, and the result is a copy",
    "scatter": "the look at the indices and a copy of x; XLA's scatter takes the rows one after the other",
    "gather": "the look at the indices (IndexError when one is out of range) before the call",
    "index": "the look at the indices (IndexError when one is out of range) before the call",
    "rand": "numbers that are the same on every device: threefry takes more arithmetic than the rivals' generators",
    "randn": "numbers that are the same on every device: threefry takes more arithmetic than the rivals' generators",
    "one_hot": "XLA compares each element with its class; PaddlePaddle writes only the ones into zeros",
    "solve": "several XLA calls: factors, substitution, and the check for a singular matrix",
    "median": "XLA sorts the rows; PyTorch selects",
    "topk": "XLA selects row after row in one thread; PyTorch shares the rows between threads",
    "sin": "the series is summed in float64, and a pass before it looks how large the operands are",
    "layer_norm": "XLA makes several loops of it (mean, variance, quotient) that write to memory",
    **dict.fromkeys(
        "add multiply divide maximum abs floor sqrt clip where equal less isnan cast pow".split(),
        "one XLA loop, bound by memory; the result is new memory each time, and the factor swings from run to run",
    ),
}


def factor(found: dict[str, float]) -> float | None:
    """How many times the time of the faster rival ours takes."""
    rivals = [t for f, t in found.items() if f != "ours"]
    return found["ours"] / min(rivals) if "ours" in found and rivals else None


def reason(name: str, found: dict[str, float]) -> str:
    """Why an operator takes more than twice the time of the faster rival."""
    rival = min(t for f, t in found.items() if f != "ours")
    if name.endswith("_small") or found["ours"] - rival < CALL:
        return CALL_REASON
    return REASONS.get(name.rpartition("_")[0], "not looked into yet")


def markdown(results: dict[str, dict[str, float]], rounds: int) -> str:
    """The page: one table, and the reasons."""
    names = list(dict.fromkeys(name.rpartition("_")[0] for name in results))
    sizes = [s for s in SIZES if any(name.endswith(s) for name in results)]
    lines = [
        "# Speed of single operators on the CPU",
        "",
        f"Written by `python benchmarks/ops.py --markdown docs/operator-speed.md`: one run on {os.cpu_count()} cores, "
        f"float32, ours, official PaddlePaddle and PyTorch in turns, the best of {rounds} rounds each. A cell holds the "
        "microseconds of a call of ours and, in brackets, how many times those of the faster rival they are (below 1: "
        f"ours is the fastest; **bold**: more than {LIMIT:g}). Square matrices of "
        + ", ".join(f"{SIZES[s]}² ({s})" for s in sizes)
        + " elements; benchmarks/op_workloads.py has the expressions.",
        "",
        "| operator | " + " | ".join(sizes) + " |",
        "|---|" + "---|" * len(sizes),
    ]
    slow: dict[str, list[str]] = {}
    for name in names:
        cells = []
        for size in sizes:
            found = results.get(f"{name}_{size}", {})
            times = factor(found)
            if times is None:
                cells.append(f"{found['ours'] * 1e6:.0f}" if "ours" in found else "")
                continue
            cell = f"{found['ours'] * 1e6:.0f} ({times:.1f})"
            if times > LIMIT:
                slow.setdefault(reason(f"{name}_{size}", found), []).append(f"{name} {size} {times:.1f}")
                cell = f"**{cell}**"
            cells.append(cell)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    means = [
        f"{size} {statistics.geometric_mean(times):.2f}"
        for size in sizes
        if (times := [f for n, r in results.items() if n.endswith(size) and (f := factor(r)) is not None])
    ]
    lines += ["", "Geometric mean of the factors: " + ", ".join(means) + "."]
    lines += ["", f"## More than {LIMIT:g} times the faster rival, and why", ""]
    for why, which in slow.items():
        lines.append(f"- **{', '.join(which)}**: {why}.")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only operators whose name contains one of these")
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="also write the seconds of each framework to this file")
    parser.add_argument("--markdown", help="also write a page with one table and the reasons to this file")
    parser.add_argument("--read", help="take the figures from a file that --json wrote instead of measuring")
    options = parser.parse_args()
    names = [f"{name}_{size}" for size in options.sizes.split(",") for name in OPS]
    chosen = [n for n in names if not options.words or any(w in n for w in options.words)]
    if options.read:
        results = {n: r for n, r in json.loads(Path(options.read).read_text()).items() if n in chosen}
    else:
        results = compare("op_workloads", {n: CALLS[n.rpartition("_")[2]] for n in chosen}, options.rounds)
    table(results)
    slow = {n: times for n, r in results.items() if (times := factor(r)) is not None and times > LIMIT}
    print(f"\n{len(slow)} of {len(results)} take more than {LIMIT:g} times the time of the faster rival:")
    for name, times in sorted(slow.items(), key=lambda item: -item[1]):
        print(f"  {name:<20} {times:5.1f}")
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1))
    if options.markdown:
        Path(options.markdown).write_text(markdown(results, options.rounds))
