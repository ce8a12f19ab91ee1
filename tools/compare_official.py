#!/usr/bin/env python3
"""Compare this package with the official one on some ten thousand calls: types, shapes, values, and which calls raise.

    python tools/compare_official.py --official /path/to/venv/bin/python [--only 'TEXT'] [--every N [--offset K]] [--verbose]

`--official` is a Python with paddlepaddle installed; this package runs under the Python that runs the script. Each side
runs in child processes of its own (a call that crashes the official package costs only itself) and writes its answers to
`--store` (default: a folder in the temporary directory), which `--reuse` reads again for the official side. The report
groups what differs: error here only, error there only, type, shape, value. `--only` takes a part of the expression.
"""

from __future__ import annotations

import argparse
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from official_calls import calls  # noqa: E402

LIMIT = 30  # seconds for one call
TOLERANCE = {"float16": 6e-3, "bfloat16": 4e-2, "float64": 1e-7, "complex128": 1e-7}
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e30]
UNSUPPORTED = (
    "is not registered",
    "not support",
    "not implemented",
    "Unimplemented",
    "NotFound",
    "NotImplemented",
    "not been implemented",
)


def array(dtype: str, shape, shift: int = 0) -> np.ndarray:
    """The values of an input: a fixed function of its type and shape."""
    if isinstance(shape, str):
        values = np.array(SPECIAL if shape == "special" else SPECIAL[::-1])
        return values.astype("complex64" if dtype == "complex64" else "float64")
    n = int(np.prod(shape))
    k = np.arange(n) + shift
    if dtype == "bool":
        values = k % 3 != 1
    elif dtype == "complex64":
        values = (np.cos(k * 1.7 + 0.3) * 2.2 + 1j * np.sin(k * 1.1)).astype("complex64")
    elif "float" in dtype:
        values = (np.cos(k * 1.7 + 0.3) * 2.2).astype("float64")
    else:
        values = (k * 7 + 3) % 11 - (0 if dtype == "uint8" else 5)
    return values.reshape(shape)


def evaluate(paddle, call: str, dtype: str, shape, other: str, other_shape):
    """The result of one call as plain data."""

    def make(t, s, shift=0):
        values = array(t, s, shift)
        return paddle.to_tensor(values).astype(t)

    x = make(dtype, shape)
    scope = {
        "paddle": paddle,
        "F": paddle.nn.functional,
        "np": np,
        "x": x,
        "y": make(other, other_shape, 2),
        "i": paddle.to_tensor([0, 1]),
        "m": x.astype("float32") > 0 if dtype != "bool" else x,
    }
    if call.startswith("assign_to("):
        target, value = call[len("assign_to(") : -1].rsplit("], ", 1)
        exec(f"{target}] = {value}", scope)
        return plain(scope["x"], paddle)
    return plain(eval(call, scope), paddle)


def plain(value, paddle):
    if isinstance(value, paddle.Tensor):
        kind = str(value.dtype).split(".")[-1]
        shape = tuple(int(n) for n in value.shape)
        value = value.astype("float32") if kind == "bfloat16" else value
        return kind, shape, np.array(value.numpy())
    if isinstance(value, (list, tuple)):
        return [plain(v, paddle) for v in value]
    if isinstance(value, (bool, int, float, complex, str, type(None))):
        return ("python " + type(value).__name__, (), np.array(value))
    return ("python", (), str(value).split(".")[-1])


def record(path: Path, only: str, every: int, offset: int) -> None:
    """Child: append (key, answer) for every call that the file does not have yet; a key alone precedes each call."""
    import paddle

    done, crashed = load(path)
    skip = set(done) | crashed
    with path.open("ab") as out:
        for number, key in enumerate(calls()):
            if key in skip or only not in key[0] or number % every != offset % every:
                continue
            skip.add(key)
            pickle.dump((key,), out)
            out.flush()
            signal.alarm(LIMIT)  # ends a call that hangs together with the process, also inside compiled code
            try:
                answer = ("ok", evaluate(paddle, *key))
            except Exception as e:  # noqa: BLE001
                answer = ("error", type(e).__name__, str(e)[:2000])
            signal.alarm(0)
            pickle.dump((key, answer), out)
        out.flush()


def load(path: Path) -> tuple[dict, set]:
    """(answers, calls that ended the process)."""
    done: dict = {}
    begun: set = set()
    if path.exists():
        with path.open("rb") as source:
            while True:
                try:
                    entry = pickle.load(source)
                except (EOFError, pickle.UnpicklingError):
                    break
                if len(entry) == 1:
                    begun.add(entry[0])
                else:
                    done[entry[0]] = entry[1]
    return done, begun - set(done)


def run(python: str, path: Path, options: argparse.Namespace, official: bool) -> None:
    env = {
        **os.environ,
        "PYTHONPATH": "" if official else str(HERE.parent),
        "GLOG_minloglevel": "3",
        "FLAGS_call_stack_level": "0",
    }
    chosen = ["--only", options.only, "--every", str(options.every), "--offset", str(options.offset)]
    while True:  # each crash ends one child
        before = load(path)[1]
        child = subprocess.Popen(
            [python, str(HERE / "compare_official.py"), "--record", str(path), *chosen],
            env=env,
            cwd=tempfile.gettempdir(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        size, still = -1, 0.0
        while child.poll() is None:
            time.sleep(1)
            now = path.stat().st_size if path.exists() else 0
            size, still = now, still + 1 if now == size else 0
            if still > 3 * LIMIT:  # a crash that hangs in its own report
                child.kill()
        if child.returncode == 0:
            return
        if load(path)[1] == before:
            raise SystemExit(f"{python}: the recording fails")


def difference(theirs, ours) -> str:
    """What differs between two answers, in words; empty if nothing does."""
    if theirs[0] == "error":
        if ours[0] == "error":
            return (
                ""
                if theirs[1] == ours[1] or theirs[1] in ("SystemError", "RuntimeError", "OSError")
                else "class of the error"
            )
        return "unsupported there" if any(word in theirs[2] for word in UNSUPPORTED) else "error there only"
    if ours[0] == "error":
        return "error here only"
    return different(theirs[1], ours[1])


def different(want, got) -> str:
    if isinstance(want, list) or isinstance(got, list):
        if not (isinstance(want, list) and isinstance(got, list) and len(want) == len(got)):
            return "number of results"
        return next((d for d in map(different, want, got) if d), "")
    if want[0] != got[0]:
        return "type"
    if want[1] != got[1]:
        return "shape"
    if want[0] == "python" or want[2].dtype.kind in "US":
        return "" if str(want[2]) == str(got[2]) else "value"
    if want[2].dtype.kind in "fc":
        tol = TOLERANCE.get(want[0], 1e-4)
        with np.errstate(all="ignore"):
            return "" if np.allclose(got[2], want[2], rtol=tol, atol=tol / 10, equal_nan=True) else "value"
    return "" if np.array_equal(want[2], got[2]) else "value"


def short(answer) -> str:
    if answer[0] == "error":
        lines = [line for line in answer[2].splitlines() if line.strip()]
        return f"{answer[1]}: {lines[-1 if len(lines) > 1 else 0][:150] if lines else ''}"
    return " ".join(str(answer[1]).split())[:180]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--official", help="a Python that has the official package")
    parser.add_argument("--only", default="", help="only expressions that contain this text")
    parser.add_argument("--every", type=int, default=1, help="only every n-th call, for a quick look")
    parser.add_argument("--offset", type=int, default=0, help="with --every: where the sample begins")
    parser.add_argument("--store", default=str(Path(tempfile.gettempdir()) / "compare_official"))
    parser.add_argument("--reuse", action="store_true", help="keep what the official side answered before")
    parser.add_argument(
        "--verbose", action="store_true", help="also calls that are unsupported there and classes of errors"
    )
    parser.add_argument("--record", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.record:
        return record(Path(options.record), options.only, options.every, options.offset)
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
        found = difference(want[key], answer)
        counts[found or "equal"] += 1
        if found and (options.verbose or found not in ("unsupported there", "class of the error")):
            print(
                f"{found:18} {' | '.join(map(str, key))}\n    official: {short(want[key])}\n    here:     {short(answer)}"
            )
    for key in fell:
        print("crash here", key)
    print(dict(counts))


if __name__ == "__main__":
    main()
