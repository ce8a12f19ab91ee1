"""Compares whole legacy models with the official package. Under the official one it writes inputs and outputs,

    python compare_models.py write MODEL.pdmodel OUT.npz 1x3x48x320 [3x3x48x100 ...]

and under this package it reads the model and compares, at every size:

    python compare_models.py check MODEL.pdmodel OUT.npz
"""

import sys
import time
from pathlib import Path

import numpy as np


def write(model, target, *sizes):
    from paddle import inference

    config = inference.Config(model, model.removesuffix(".pdmodel") + ".pdiparams")
    config.disable_glog_info()
    predictor = inference.create_predictor(config)
    (name,) = predictor.get_input_names()
    arrays = {}
    for size in sizes:
        x = np.random.default_rng(0).standard_normal([int(n) for n in size.split("x")]).astype("float32")
        predictor.get_input_handle(name).copy_from_cpu(x)
        predictor.run()
        arrays[f"in_{size}"] = x
        for k, out in enumerate(predictor.get_output_names()):
            arrays[f"out{k}_{size}"] = predictor.get_output_handle(out).copy_to_cpu()
    np.savez(target, **arrays)


def check(model, source):
    from paddle.interop.legacy_model import LegacyModel
    from paddle.ir.run import Executable

    begin = time.perf_counter()
    read = LegacyModel(Path(model).read_bytes(), Path(model).with_suffix(".pdiparams").read_bytes())
    graph, (name,), values = read.graph()
    print(f"{model}: {len(graph.block.operators)} operators, read in {time.perf_counter() - begin:.1f} s")
    executable = Executable(graph, values, updates=False)
    states = {n: s.tensor._value for n, s in executable.states.items()}
    worst = 0.0
    with np.load(source) as arrays:
        for size in [n[3:] for n in arrays if n.startswith("in_")]:
            found, _ = executable.run({name: arrays[f"in_{size}"]}, states, None)
            errors = [float(np.abs(np.asarray(o) - arrays[f"out{k}_{size}"]).max()) for k, o in enumerate(found)]
            worst = max(worst, *errors)
            print(f"  {size}: largest difference {max(errors):.2e}")
    assert worst < 1e-3


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](*sys.argv[2:])
