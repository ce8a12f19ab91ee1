"""paddlelite against bare ONNX Runtime and `paddle.inference`, in turns: importing, loading, running (docs/lite.md).

Each rival is a process of its own with two threads; figures are the best of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATH = os.pathsep.join((str(HERE.parent), str(HERE.parent / "suite"), str(HERE)))
KINDS = ("lite", "lite int8", "onnxruntime", "paddle.inference")
IMPORTS = {
    "lite": "import paddlelite",
    "onnxruntime": "import numpy, onnxruntime",
    "paddle.inference": "import paddle.inference",
}
NETWORKS = {"lenet": 300, "mobile": 30, "resnet": 10, "encoder": 10}  # calls in a turn
THREADS = 2


def prepare(folder: str) -> None:
    """The files of the networks in all forms."""
    import paddle
    import paddlelite

    import networks

    for name in NETWORKS:
        paddle.seed(0)
        net, shape = getattr(networks, name)(networks.Names(paddle, False))
        net.eval()
        path = os.path.join(folder, name)
        paddle.jit.save(net, path, input_spec=[paddle.static.InputSpec([None, *shape], "float32", "x")])
        networks.data(1, *shape).tofile(path + ".bin")
        Path(path + ".shape").write_text(json.dumps([1, *shape]))
        for out, form, quantise in (
            (path, "naive_buffer", False),
            (path, "onnx", False),
            (path + "-int8", "naive_buffer", True),
        ):
            opt = paddlelite.Opt()
            opt.set_model_file(path + ".pdmodel")
            opt.set_param_file(path + ".pdiparams")
            opt.set_valid_places("host")
            opt.set_model_type(form)
            opt.set_quant_model(quantise)
            opt.set_quant_type("QUANT_INT8")
            opt.set_optimize_out(out)
            opt.run()


def step_of(kind: str, path: str):
    """A function that runs one sample, from the input array to the output array."""
    import numpy as np

    x = np.fromfile(path + ".bin", "float32").reshape(json.loads(Path(path + ".shape").read_text()))
    if kind == "onnxruntime":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        session = onnxruntime.InferenceSession(path + ".onnx", options, providers=["CPUExecutionProvider"])
        return lambda: session.run(None, {"x": x})[0]
    if kind == "paddle.inference":
        import paddle.inference

        config = paddle.inference.Config(path + ".pdmodel", path + ".pdiparams")
        config.set_cpu_math_library_num_threads(THREADS)
        predictor = paddle.inference.create_predictor(config)
        taken = predictor.get_input_handle("x")
        given = predictor.get_output_handle(predictor.get_output_names()[0])

        def step():
            taken.copy_from_cpu(x)
            predictor.run()
            return given.copy_to_cpu()

        return step
    import paddlelite

    config = paddlelite.MobileConfig()
    config.set_model_from_file(path + ("-int8.nb" if kind == "lite int8" else ".nb"))
    config.set_threads(THREADS)
    predictor = paddlelite.create_predictor(config)
    first, out = predictor.get_input(0), predictor.get_output(0)

    def step():
        first.from_numpy(x)
        predictor.run()
        return out.numpy()

    return step


def work(kind: str) -> None:
    """A rival: answers lines of [what, path, calls] with seconds."""
    exec(IMPORTS.get(kind, "import paddlelite, onnxruntime"))
    if kind.startswith("lite"):
        import onnxruntime  # noqa: F401
    steps = {}
    for line in sys.stdin:
        what, path, calls = json.loads(line)
        start = time.perf_counter()
        if what == "load":
            made = step_of(kind, path)
            seconds = time.perf_counter() - start
            steps.setdefault(path, made)
        else:
            for _ in range(calls):
                steps[path]()
            seconds = (time.perf_counter() - start) / calls
        print(json.dumps(seconds), flush=True)


class Rival:
    """A process that is asked."""

    def __init__(self, kind: str):
        self.kind = kind
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "lite.py"), "--work", kind],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=dict(os.environ, PYTHONPATH=PATH),
        )  # fmt: skip

    def ask(self, what: str, path: str, calls: int = 0) -> float:
        self.process.stdin.write(json.dumps([what, path, calls]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def in_turns(names: list, rounds: int, ask) -> dict:
    """The best answer of each, who begins changes from round to round."""
    found: dict = {}
    for i in range(rounds):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            found[name] = min(found.get(name, float("inf")), ask(name))
    return found


def import_seconds(statement: str) -> float:
    code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ, PYTHONPATH=PATH)
    )
    return float(ran.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        return work(given.work)
    results: dict = {"import": in_turns(list(IMPORTS), given.rounds, lambda kind: import_seconds(IMPORTS[kind]))}
    with tempfile.TemporaryDirectory() as folder:
        sys.path[:0] = PATH.split(os.pathsep)
        prepare(folder)
        rivals = {kind: Rival(kind) for kind in KINDS}
        try:
            for name, calls in NETWORKS.items():
                path = os.path.join(folder, name)
                loads = in_turns(list(KINDS), given.rounds, lambda kind: rivals[kind].ask("load", path))  # noqa: B023
                for rival in rivals.values():
                    rival.ask("run", path, 3)
                runs = in_turns(list(KINDS), given.rounds, lambda kind: rivals[kind].ask("run", path, calls))  # noqa: B023
                ends = {"lite": ".nb", "lite int8": "-int8.nb", "onnxruntime": ".onnx"}
                sizes = {k: os.path.getsize(path + e) for k, e in ends.items()}
                sizes["paddle.inference"] = sum(os.path.getsize(path + e) for e in (".pdmodel", ".pdiparams"))
                results[name] = {"load": loads, "run": runs, "bytes": sizes}
        finally:
            for rival in rivals.values():
                rival.close()
    print("| import, ms | " + " | ".join(IMPORTS) + " |\n|" + "---|" * (len(IMPORTS) + 1))
    print("| | " + " | ".join(f"{s * 1e3:.0f}" for s in results["import"].values()) + " |\n")
    print("| load ms, run ms, KiB | " + " | ".join(KINDS) + " |\n|" + "---|" * (len(KINDS) + 1))
    for name in NETWORKS:
        row = results[name]
        cells = (f"{row['load'][k] * 1e3:.1f}, {row['run'][k] * 1e3:.3f}, {row['bytes'][k] / 1024:.0f}" for k in KINDS)
        print(f"| {name} | " + " | ".join(cells) + " |")
    if given.json:
        Path(given.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
