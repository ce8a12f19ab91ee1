"""Every operator that has a sample in tests/_gradients.py through ONNX Runtime.

PYTHONPATH=.:tests python tests/_onnx_operators.py [NAME ...] [--opset N]
"""

import argparse
import collections
import importlib
import pkgutil
import warnings

import numpy as np
import onnxruntime

import paddle
from paddle.engine.op import registry
from paddle.jit.saving import program_of
from paddle.onnx.convert import to_onnx
from paddle.static import InputSpec

from _gradients import SAMPLES, fixed, sample


def everything():
    for found in pkgutil.walk_packages(paddle.__path__, "paddle."):
        importlib.import_module(found.name)


def single(array):
    """In float32, which runtimes have everywhere."""
    array = np.asarray(array)
    return array.astype("float32") if array.dtype == np.float64 else array


def filled(argument, tensors):
    """The argument with the next tensors in the places of its arrays."""
    if isinstance(argument, (list, tuple)):
        return type(argument)([filled(part, tensors) for part in argument])
    if isinstance(argument, fixed):
        return paddle.to_tensor(single(argument.values))
    return next(tensors) if isinstance(argument, np.ndarray) else argument


def arrays_of(argument):
    if isinstance(argument, (list, tuple)):
        return [a for part in argument for a in arrays_of(part)]
    return [single(argument)] if isinstance(argument, np.ndarray) else []


def check(name, opset=17):
    """(difference to ours by the largest element, kinds of nodes); raises NotImplementedError for what is not exported."""
    if name not in registry:
        everything()
    row = SAMPLES[name]
    row = row if isinstance(row, sample) else sample(*row)
    call = row.via or (lambda *tensors: registry[name].public(*filled(row.args, iter(tensors))))
    arrays = arrays_of(row.args)

    def function(*tensors):
        out = call(*tensors)
        return [o for o in (out if isinstance(out, (list, tuple)) else [out]) if isinstance(o, paddle.Tensor)]

    paddle.seed(5)
    wanted = [np.asarray(o) for o in function(*[paddle.to_tensor(a) for a in arrays])]
    specs = [InputSpec(a.shape, a.dtype.name, f"x{i}") for i, a in enumerate(arrays)]
    model = to_onnx(*program_of("operator", function, specs), opset)
    nodes = collections.Counter(n.op_type for n in model.graph.node)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    given = {i.name: a for i, a in zip(session.get_inputs(), arrays)}
    gap = 0.0
    for have, want in zip(session.run(None, given), wanted):
        assert have.shape == want.shape and have.dtype == want.dtype, (have.shape, have.dtype, want.shape, want.dtype)
        if want.size:
            np.testing.assert_array_equal(np.isnan(have), np.isnan(want))
            difference = np.nan_to_num(np.abs(have.astype("float64") - want.astype("float64")), posinf=0)
            gap = max(gap, float(difference.max() / max(np.nan_to_num(np.abs(want)).max(), 1e-3)))
    return gap, nodes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--opset", type=int, default=17)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    counts = collections.Counter()
    for name in given.names or sorted(SAMPLES):
        try:
            gap, nodes = check(name, given.opset)
            state, told = ("ok" if gap < 1e-3 else "WRONG"), f"{gap:.1e} {dict(nodes)}"
        except NotImplementedError as e:
            state, told = "no", str(e).splitlines()[-1][:200]
        except Exception as e:
            state, told = "ERROR", f"{type(e).__name__}: {' '.join(str(e).split())[:400]}"
        counts[state] += 1
        print(f"{name:<34} {state:<6} {told}", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
