"""Writes the fixtures of legacy models: small models, inputs for them, and what the official package gives.

Run it where the official package is installed and this repository is not on the path: with version 3 for
`operators.tar.xz`, with version 2.6 for `networks.tar.xz` (programs and traced layers as that version exports them):

    python make_fixtures.py tests/interop/fixtures [NAME ...]
"""

import contextlib
import io
import os
import sys
import tarfile
import tempfile

os.environ["FLAGS_enable_pir_api"] = "0"
os.environ["FLAGS_enable_pir_in_executor"] = "0"

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import legacy_cases
import numpy as np

import paddle
from paddle.base.layer_helper import LayerHelper


def raw(kind, inputs, attributes, outputs):
    """Append one operator by name: outputs is {slot: dtype or a list of dtypes}; returns the variables by slot. The
    statistics of a normalization are written in place."""
    helper = LayerHelper(kind)
    made = {
        slot: [helper.create_variable_for_type_inference(d) for d in (kinds if isinstance(kinds, list) else [kinds])]
        for slot, kinds in outputs.items()
    }
    for old, new in (("Mean", "MeanOut"), ("Variance", "VarianceOut")):
        if new in made:
            made[new] = inputs[old]
    helper.append_op(type=kind, inputs=inputs, outputs=made, attrs=attributes)
    return made


def other_numbers(array, name):
    """Numbers for a parameter that are neither 0 nor 1."""
    rng = np.random.RandomState(len(name) + array.size)
    low, high = (0.5, 1.5) if "w_2" in name or "variance" in name else (-0.6, 0.6)
    return rng.uniform(low, high, array.shape).astype(array.dtype)


def write_program(case, prefix, feeds, shapes, executor):
    main, startup = paddle.static.Program(), paddle.static.Program()
    scope = paddle.static.Scope()
    with paddle.static.scope_guard(scope), paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
        variables = [paddle.static.data(n, shapes[n], str(a.dtype)) for n, a in feeds.items()]
        outs = case.build(paddle, raw, *variables)
        outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
        executor.run(startup)
        for p in main.all_parameters():
            tensor = scope.find_var(p.name).get_tensor()
            tensor.set(other_numbers(np.asarray(tensor), p.name), paddle.CPUPlace())
        paddle.static.save_inference_model(prefix, variables, outs, executor, program=main)


def write_layer(case, prefix, feeds, shapes):
    paddle.disable_static()
    paddle.seed(3)
    layer = case.build(paddle)
    layer.eval()
    for name, p in layer.named_parameters():
        p.set_value(other_numbers(p.numpy(), name))
    specs = [paddle.static.InputSpec(shapes[n], str(a.dtype), n) for n, a in feeds.items()]
    paddle.jit.save(layer, prefix, specs)
    paddle.enable_static()


def build(case, folder):
    """Write the model of a case; returns its files."""
    feeds = {name: np.asarray(array) for name, array in case.feeds.items()}
    shapes = {
        name: [-1 if i in case.unknown.get(name, ()) else n for i, n in enumerate(array.shape)]
        for name, array in feeds.items()
    }
    executor = paddle.static.Executor(paddle.CPUPlace())
    prefix = os.path.join(folder, case.name)
    if case.kind == "layer":
        write_layer(case, prefix, feeds, shapes)
    else:
        write_program(case, prefix, feeds, shapes, executor)
    with paddle.static.scope_guard(paddle.static.Scope()):
        program, names, fetches = paddle.static.load_inference_model(prefix, executor)
        results = executor.run(program, feed={n: feeds[n] for n in names}, fetch_list=fetches, return_numpy=False)
    arrays = {f"in_{n}": feeds[n] for n in names} | {f"out_{i}": np.array(r) for i, r in enumerate(results)}
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    files = {f"{case.name}.npz": stream.getvalue()}
    for ending in ("pdmodel", "pdiparams"):
        path = f"{prefix}.{ending}"
        if os.path.exists(path):
            with open(path, "rb") as f:
                files[f"{case.name}.{ending}"] = f.read()
    return files


def main():
    folder, wanted = sys.argv[1], set(sys.argv[2:])
    new = int(paddle.__version__.split(".")[0]) >= 3
    target = os.path.join(folder, "operators.tar.xz" if new else "networks.tar.xz")
    guard = paddle.pir_utils.OldIrGuard if new else contextlib.nullcontext
    paddle.enable_static()
    files, failed = {}, []
    with tempfile.TemporaryDirectory() as temporary, guard():
        for case in legacy_cases.CASES:
            if wanted and case.name not in wanted or (case.kind == "operator") != new:
                continue
            try:
                files |= build(case, temporary)
            except Exception as e:
                failed.append(case.name)
                text = [line for line in str(e).splitlines() if line.strip()]
                print(
                    f"{case.name}: {type(e).__name__}: {text[0] if text else ''} ... {text[-1][:300] if text else ''}"
                )
                paddle.enable_static()
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for name in sorted(files):
            info = tarfile.TarInfo(name)
            info.size = len(files[name])
            archive.addfile(info, io.BytesIO(files[name]))
    print(f"{len(files)} files, {os.path.getsize(target)} bytes, failed: {failed}")


if __name__ == "__main__":
    main()
