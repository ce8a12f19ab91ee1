"""Model files from the official package to this one and back, compared number by number: one command.

    python tools/roundtrip_official.py --official PYTHON [--only NAME ...]

PYTHON is an interpreter with the official package. Steps, each in its own process where it needs one: the official
package saves the networks of tests/interop/pir_networks.py (and a few from its paddle.vision.models) with
paddle.jit.save; this package reads them, runs them, and writes them again; it also records the small programs of
tests/interop/pir_cases.py and writes them; the official package loads everything that was written, with
paddle.jit.load and paddle.inference or static.load_inference_model, and compares.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "interop"))
LARGE = {
    "resnet18": ("resnet18", "f ?1,3,64,64"),
    "mobilenet_v2": ("mobilenet_v2", "f ?1,3,64,64"),
    "mobilenet_v3_small": ("mobilenet_v3_small", "f ?1,3,64,64"),
    "squeezenet1_1": ("squeezenet1_1", "f ?1,3,64,64"),
    "shufflenet_v2_x0_25": ("shufflenet_v2_x0_25", "f ?1,3,64,64"),
    "densenet121": ("densenet121", "f ?1,3,32,32"),
    "googlenet": ("googlenet", "f ?1,3,224,224"),
}


def networks() -> dict[str, tuple]:
    import pir_networks

    found = dict(pir_networks.NETWORKS)
    for name, (model, spec) in LARGE.items():
        found[name] = (lambda P, model=model: getattr(P.vision.models, model)(), spec)
    return found


def flat(out: Any) -> list:
    return [y for x in out for y in flat(x)] if isinstance(out, (list, tuple)) else [out]


# ---- in the official package ----


def official_save(folder: Path, only: list[str]) -> None:
    import pir_cases

    import paddle

    for name, (build, *inputs) in networks().items():
        if only and name not in only:
            continue
        paddle.seed(7)
        layer = build(paddle)
        layer.eval()
        arrays = [pir_cases.make(text, i) for i, text in enumerate(inputs)]
        outs = flat(layer(*map(paddle.to_tensor, arrays)))
        specs = [
            paddle.static.InputSpec(pir_cases.describe(t)[1], pir_cases.DTYPES[t[0]], f"x{i}")
            for i, t in enumerate(inputs)
        ]
        paddle.jit.save(layer, str(folder / "official" / name), input_spec=specs)
        given = {f"in{i}": a for i, a in enumerate(arrays)} | {f"out{i}": o.numpy() for i, o in enumerate(outs)}
        np.savez(folder / "official" / f"{name}.npz", **given)


def _static(path: str, arrays: Any) -> list:
    import paddle

    executor = paddle.static.Executor(paddle.CPUPlace())
    paddle.enable_static()
    try:
        with paddle.static.scope_guard(paddle.static.Scope()):
            program, feeds, fetches = paddle.static.load_inference_model(path, executor)
            return executor.run(program, feed={n: arrays["in" + n[1:]] for n in feeds}, fetch_list=fetches)
    finally:
        paddle.disable_static()


def _layer(path: str, arrays: Any) -> list:
    import paddle

    layer = paddle.jit.load(path)
    given = [paddle.to_tensor(arrays[k]) for k in sorted(arrays.files) if k.startswith("in")]
    return [o.numpy() for o in flat(layer(*given))]


def _predictor(path: str, arrays: Any) -> list:
    from paddle import inference

    config = inference.Config(path + ".json", path + ".pdiparams")
    config.disable_mkldnn()  # its kernels refuse what the package itself saves, of networks with interpolation
    predictor = inference.create_predictor(config)
    for name in predictor.get_input_names():
        predictor.get_input_handle(name).copy_from_cpu(arrays["in" + name[1:]])
    predictor.run()
    return [predictor.get_output_handle(n).copy_to_cpu() for n in predictor.get_output_names()]


def official_check(folder: Path, only: list[str]) -> int:
    failed = count = 0
    for path in sorted((folder / "ours").glob("*.json")):
        name = path.stem
        if only and name not in only:
            continue
        arrays = np.load(path.with_suffix(".npz"))
        for road in (_layer, _static, _predictor) if name in networks() else (_static,):
            count += 1
            print("...", name, road.__name__, flush=True)
            try:
                compare(road(str(path)[:-5], arrays), arrays)
            except Exception as e:
                failed += 1
                text = [t for t in str(e).splitlines() if "rror" in t or "mismatch" in t.lower()] or [str(e)[-300:]]
                print(f"FAILED in the official package: {name} {road.__name__}: {' '.join(text)[:400]}", flush=True)
    print(f"official package reading what was written: {count - failed} of {count} agree")
    return failed


# ---- in this package ----


def compare(outs: list, arrays: Any) -> None:
    wanted = [arrays[f"out{i}"] for i in range(len([k for k in arrays.files if k.startswith("out")]))]
    assert len(outs) == len(wanted), (len(outs), len(wanted))
    for o, w in zip(outs, wanted):
        o = np.asarray(o)
        assert o.shape == w.shape and (o.dtype == w.dtype or w.dtype == np.uint16), (o.dtype, o.shape, w.dtype, w.shape)
        np.testing.assert_allclose(o, w, rtol=3e-5, atol=2e-5 * max(1.0, float(np.abs(w).max()) if w.size else 1.0))


def run(graph: Any, fetches: list, arrays: dict) -> list:
    import jax.numpy as jnp

    from paddle.ir.run import Executable

    executable = Executable(graph, fetches)
    feeds = {n: jnp.asarray(arrays["in" + n[1:]]) for n in executable.inputs}
    states = {n: s.tensor._value for n, s in executable.states.items()}
    return executable.run(feeds, states, np.zeros(4, np.uint32))[0]


def record(case: tuple) -> tuple:
    """(graph, names of inputs, fetches, arrays of the inputs) of a small program."""
    import pir_cases

    import paddle
    from paddle.engine.tensor import _make
    from paddle.engine.value import PROBES, Value
    from paddle.ir.program import Graph
    from paddle.ir.record import Recorder

    _, function, *inputs = case
    graph = Graph()
    recorder = Recorder(graph)
    arrays, feeds = {}, []
    for i, text in enumerate(inputs):
        arrays[f"in{i}"] = pir_cases.make(text, i)
        trials = tuple(tuple(p if n < 0 else n for n in pir_cases.describe(text)[1]) for p in PROBES)
        graph.inputs[f"x{i}"] = Value(f"x{i}", trials, pir_cases.DTYPES[text[0]])
        feeds.append(_make(graph.inputs[f"x{i}"]))
    with recorder:
        fetches = [recorder.value_of(o) for o in flat(function(paddle, *feeds))]
    recorder.restore()
    return graph, list(graph.inputs), fetches, arrays


def ours(folder: Path, only: list[str]) -> int:
    import pir_cases

    from paddle.interop.pir_reader import read_pir_model
    from paddle.interop.pir_writer import write_pir_model

    failed = count = 0

    def keep(name: str, graph: Any, feeds: list, fetches: list, arrays: dict) -> None:
        text, params = write_pir_model(graph, feeds, fetches)
        (folder / "ours" / f"{name}.json").write_bytes(text)
        (folder / "ours" / f"{name}.pdiparams").write_bytes(params)
        np.savez(folder / "ours" / f"{name}.npz", **arrays)

    for path in sorted((folder / "official").glob("*.json")):
        count += 1
        try:
            arrays = np.load(path.with_suffix(".npz"))
            graph, feeds, fetches = read_pir_model(path.read_bytes(), path.with_suffix(".pdiparams").read_bytes())
            compare(run(graph, fetches, arrays), arrays)
            keep(path.stem, graph, feeds, fetches, dict(arrays))
        except Exception as e:
            failed += 1
            print(f"FAILED here: {path.stem}: {type(e).__name__} {str(e)[:400]}")
    print(f"this package reading official models: {count - failed} of {count} agree", flush=True)
    written = absent = 0
    for case in pir_cases.CASES:
        if only and case[0] not in only:
            continue
        try:
            graph, feeds, fetches, arrays = record(case)
            outs = {f"out{i}": np.asarray(o) for i, o in enumerate(run(graph, fetches, arrays))}
            keep(case[0], graph, feeds, fetches, {**arrays, **outs})
            written += 1
        except NotImplementedError as e:
            absent += 1
            print(f"no writer: {case[0]}: {str(e)[:200]}")
        except Exception as e:
            failed += 1
            print(f"FAILED here: {case[0]}: {type(e).__name__} {str(e)[:300]}")
    print(f"small programs written: {written}, without a writer: {absent}", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--official", default=os.environ.get("PADDLE_OFFICIAL_PYTHON"), help="an interpreter")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--stage", choices=["save", "check"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", help="keep the files here")
    options = parser.parse_args()
    if options.stage:
        folder = Path(options.folder)
        return official_check(folder, options.only) if options.stage == "check" else official_save(folder, options.only)
    if not options.official:
        parser.error("give --official, an interpreter that has the official package")
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.folder or temporary)
        for name in ("official", "ours"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        command = [options.official, str(Path(__file__).resolve()), "--folder", str(folder)]
        only = ["--only", *options.only] if options.only else []
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"GLOG_minloglevel": "3"}
        subprocess.run([*command, "--stage", "save", *only], cwd=temporary, env=environment, check=True)
        failed = ours(folder, options.only)
        failed += subprocess.run([*command, "--stage", "check", *only], cwd=temporary, env=environment).returncode
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
