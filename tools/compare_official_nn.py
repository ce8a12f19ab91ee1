#!/usr/bin/env python3
"""Compare layers and functionals with the official package: values, running statistics, gradients, text, which calls raise.

    python tools/compare_official_nn.py --official /path/to/venv/bin/python [--family pooling] [--only TEXT] [--reuse] [--verbose]

Like `compare_official.py`, with the calls of `official_nn_calls.py`; gradients are those of the sum of all floating results,
each element with a weight of its own, with respect to all floating inputs and parameters.
"""

from __future__ import annotations

import argparse
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from compare_official import LIMIT, difference, load, plain, short  # noqa: E402
from official_nn_calls import calls  # noqa: E402

QUIET = ("unsupported there", "class of the error", "no gradient there", "gradient is None there")


class Inputs:
    """Makes the inputs of one call: fixed functions of their order and shape. Remembers them for the gradients."""

    def __init__(self, paddle, dtype: str):
        self.paddle, self.dtype, self.made, self.count = paddle, dtype, [], 0

    def floating(self, shape, function):
        self.count += 1
        k = np.arange(int(np.prod(shape))) + 17 * self.count
        x = self.paddle.to_tensor(function(k).reshape(shape)).astype(self.dtype)
        x.stop_gradient = False
        self.made.append(x)
        return x

    def scope(self) -> dict:
        paddle = self.paddle

        def fixed(values, dtype=None):
            return paddle.to_tensor(np.asarray(values), dtype=dtype)

        def run(layer, *args, train=True):
            layer.to(dtype=self.dtype) if self.dtype != "float32" else None
            layer.train() if train else layer.eval()
            for n, p in enumerate(layer.parameters()):
                if not p.stop_gradient:
                    k = np.arange(int(np.prod(p.shape))) + 3 * n
                    p.set_value(paddle.to_tensor(np.cos(k * 1.3 + 0.2).reshape(p.shape)).astype(p.dtype))
            out = layer(*args)
            self.made.extend(p for p in layer.parameters() if not p.stop_gradient)
            kept = layer.state_dict()
            return [out, [b for name, b in sorted(layer.named_buffers()) if name in kept]]

        def statistics(function, n):
            m, v = fixed(np.arange(n) * 0.5).astype(self.dtype), fixed(np.arange(n) + 1.0).astype(self.dtype)
            return [function(m, v), m, v]

        return {
            "paddle": paddle,
            "nn": paddle.nn,
            "F": paddle.nn.functional,
            "dt": self.dtype,
            "A": lambda *s: self.floating(s, lambda k: np.cos(k * 1.7 + 0.3) * 1.6),
            "P": lambda *s: self.floating(s, lambda k: np.cos(k * 1.1) * 0.8 + 1.2),
            "U": lambda *s: self.floating(s, lambda k: np.cos(k * 1.9 + 1) * 0.45 + 0.5),
            "S": lambda *s: fixed(np.where(np.arange(int(np.prod(s))) % 3 == 1, -1.0, 1.0).reshape(s)).astype(
                self.dtype
            ),
            "I": lambda n, *s: fixed(
                (np.arange(int(np.prod(s))) * 7 + 3) % n if n > 0 else np.arange(int(np.prod(s)))
            ).reshape(s),
            "B": lambda *s: fixed((np.arange(int(np.prod(s))) % 4 != 1).reshape(s)),
            "one": lambda n, c: fixed(np.eye(c)[(np.arange(n) * 7 + 1) % c]).astype(self.dtype),
            "special": lambda: fixed([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, -1e30]).astype(self.dtype),
            "t": fixed,
            "stats": statistics,
            "L": run,
            "E": lambda layer, *args: run(layer, *args, train=False),
        }


def evaluate(paddle, call: str, dtype: str):
    """[the results, the gradients] as plain data."""
    paddle.seed(0)
    inputs = Inputs(paddle, dtype)
    out = eval(call, inputs.scope())
    results = plain(out, paddle)
    weighted = [
        (
            t.astype("float64") * paddle.to_tensor(np.cos(np.arange(int(np.prod(t.shape))) * 0.7 + 1).reshape(t.shape))
        ).sum()
        for t in flat(out, paddle)
        if t.dtype in (paddle.float16, paddle.bfloat16, paddle.float32, paddle.float64) and not t.stop_gradient
    ]
    if not weighted:
        return [results]
    try:
        sum(weighted).backward()
    except Exception as e:  # noqa: BLE001
        return [results, ("python", (), f"backward: {type(e).__name__}")]
    return [results, [None if t.grad is None else plain(t.grad, paddle) for t in inputs.made]]


def flat(value, paddle):
    if isinstance(value, paddle.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from flat(v, paddle)


def compare(theirs, ours) -> str:
    """As `difference`; where one side has no gradient, or one of zeros, the other may have zeros or none."""
    if theirs[0] == "ok" == ours[0] and len(theirs[1]) == 2 == len(ours[1]):
        first = difference(("ok", theirs[1][0]), ("ok", ours[1][0]))
        if first:
            return first
        mine, other = theirs[1][1], ours[1][1]
        if not (isinstance(mine, list) and isinstance(other, list)):
            return "" if mine == other else "no gradient there" if isinstance(other, list) else "no gradient here"
        for a, b in zip(mine, other):
            if a is None or b is None:
                c = b if a is None else a
                if c is not None and np.any(c[2]):
                    return "gradient is None there" if a is None else "gradient is None here"
            elif d := difference(("ok", [a]), ("ok", [b])):
                return "gradient " + d
        return ""
    return difference(theirs, ours)


def record(path: Path, family: str, only: str) -> None:
    """Child: as in `compare_official`."""
    import paddle

    done, crashed = load(path)
    skip = set(done) | crashed
    with path.open("ab") as out:
        for key in calls(family):
            if key in skip or only not in key[0]:
                continue
            skip.add(key)
            pickle.dump((key,), out)
            out.flush()
            signal.alarm(4 * LIMIT)
            try:
                answer = ("ok", evaluate(paddle, *key))
            except Exception as e:  # noqa: BLE001
                answer = ("error", type(e).__name__, str(e)[:2000])
            signal.alarm(0)
            pickle.dump((key, answer), out)


def run(python: str, path: Path, options: argparse.Namespace, official: bool) -> None:
    env = {
        **os.environ,
        "PYTHONPATH": "" if official else str(HERE.parent),
        "GLOG_minloglevel": "3",
        "FLAGS_call_stack_level": "0",
    }
    command = [python, str(HERE / "compare_official_nn.py"), "--record", str(path), "--family", options.family]
    while True:  # each crash ends one child
        before = load(path)[1]
        with open(path.with_suffix(".log"), "w") as log:
            done = subprocess.run(
                [*command, "--only", options.only], env=env, cwd=tempfile.gettempdir(), stdout=log, stderr=log
            )
        if done.returncode == 0:
            return
        if load(path)[1] == before:
            raise SystemExit(f"{python}: the recording fails, see {path.with_suffix('.log')}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--official", help="a Python that has the official package")
    parser.add_argument("--family", default="", help="only families of calls whose name contains this text")
    parser.add_argument("--only", default="", help="only expressions that contain this text")
    parser.add_argument("--store", default=str(Path(tempfile.gettempdir()) / "compare_official_nn"))
    parser.add_argument("--reuse", action="store_true", help="keep what the official side answered before")
    parser.add_argument("--verbose", action="store_true", help="also what is unsupported there, and classes of errors")
    parser.add_argument("--record", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.record:
        return record(Path(options.record), options.family, options.only)
    store = Path(options.store)
    store.mkdir(parents=True, exist_ok=True)
    theirs, ours = store / "official.pickle", store / "ours.pickle"
    if not options.reuse:
        theirs.unlink(missing_ok=True)
    ours.unlink(missing_ok=True)
    run(options.official, theirs, options, True)
    run(sys.executable, ours, options, False)
    (want, _), (got, fell) = load(theirs), load(ours)
    counts: Counter = Counter()
    for key, answer in got.items():
        if key not in want:
            counts["crash there"] += 1
            continue
        found = compare(want[key], answer)
        counts[found or "equal"] += 1
        if found and (options.verbose or found not in QUIET):
            print(f"{found:18} {' | '.join(key)}\n    official: {short(want[key])}\n    here:     {short(answer)}")
    for key in fell:
        print("crash here", key)
    print(dict(counts))


if __name__ == "__main__":
    main()
