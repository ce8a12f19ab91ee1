"""oneDNN on the CPU, through two custom calls of XLA that the jaxlib wheel contains.

The calls are an internal interface: a configuration that oneDNN does not know ends the process. So nothing is called
before a child process, started once for each jaxlib and kind of machine when a first operator is compiled that could
use them, has compared small products and convolutions with XLA's own; the verdict is kept in the cache folder.
``PADDLE_XLA_ONEDNN=0`` switches all of it off. Nothing of it is ever part of an exported program.

This file is also the program of the child, so it imports nothing of ours on its first level.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.ffi
import jax.numpy as jnp
import numpy as np

TYPES = ("float32", "bfloat16")
PATIENCE = 120  # seconds that the child may take on a machine that is busy with other things
_AXES = "DHW"

# ---- the calls ----


def _call(target: str, config: dict, shape: Sequence[int], operands: Sequence[Any]) -> Any:
    config = {"outer_dimension_partitions": [], **config}
    result = jax.ShapeDtypeStruct(tuple(shape), operands[0].dtype)
    call = jax.ffi.ffi_call(
        target, result, custom_call_api_version=1, legacy_backend_config=json.dumps(config, sort_keys=True)
    )
    return call(*operands)


def matmul(x: Any, y: Any, transpose_x: bool = False, transpose_y: bool = False) -> Any:
    """The product of matrices or of equally many of them, [..., m, k] and [..., k, n]; both of one type of TYPES."""
    rows, columns = x.shape[-1 if transpose_x else -2], y.shape[-2 if transpose_y else -1]
    config = {"transpose_a": transpose_x, "transpose_b": transpose_y}
    return _call("__onednn$matmul", {"onednn_matmul_config": config}, (*x.shape[:-2], rows, columns), (x, y))


def convolve(
    x: Any,
    w: Any,
    stride: Sequence[int],
    pads: Sequence[tuple[int, int]],
    dilation: Sequence[int],
    groups: int = 1,
    exchanged: bool = False,
    bias: Any = None,
    residual: Any = None,
    relu: bool = False,
) -> Any:
    """The convolution of x [N, spatial, C] with w, and what is done with its result: relu(x * w + bias + residual).

    Args:
        w: shape [out, C / groups, kernel], with `exchanged` [C / groups, out, kernel]; oneDNN puts it into its own order.
        bias: shape [out].
        residual: shape of the result.
    """
    n = len(stride)
    kernel = w.shape[2:]
    spatial = [
        (l + sum(p) - d * (k - 1) - 1) // s + 1 for l, p, d, k, s in zip(x.shape[1:], pads, dilation, kernel, stride)
    ]
    shape = (x.shape[0], *spatial, w.shape[int(exchanged)])
    data = {"dims": n + 2, "data": {"batch_dim": 0, "feature_dim": n + 1, "spatial_dims": list(range(1, n + 1))}}
    places = {
        "input_feature_dim": 1 - int(exchanged),
        "output_feature_dim": int(exchanged),
        "spatial_dims": list(range(2, n + 2)),
        "shape": list(w.shape),
    }
    config: dict[str, Any] = {
        "dims": n + 2,
        "feature_groups": groups,
        "input": data,
        "kernel": {"dims": n + 2, "filter": places},
        "output": data,
        "window": {
            "size": list(kernel),
            "pad_left": [before for before, _ in pads],
            "pad_right": [after for _, after in pads],
            "strides": list(stride),
            "window_dilations": list(dilation),
        },
    }
    fused = {"BIAS": bias is not None, "BINARY_ADD": residual is not None, "RELU": relu}
    if any(fused.values()):
        config["fusions"] = {"ops": [name for name, wanted in fused.items() if wanted]}
    operands = [x, w, *(o for o in (bias, residual) if o is not None)]
    return _call("__onednn$convolution", {"onednn_conv_config": config}, shape, operands)


# ---- whether they work here ----


def switched_on() -> bool:
    from . import flags

    return flags.switched_on("PADDLE_XLA_ONEDNN")


def works(dtype: Any) -> bool:
    """Whether oneDNN computes with this type on this machine; the first question may start the child."""
    name = np.dtype(dtype).name
    return name in TYPES and switched_on() and name in _verdict()


@functools.cache
def _verdict() -> frozenset[str]:
    from .compile import cache_folder

    folder = cache_folder()
    questions = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:8]  # what the child tries may change
    file = None if folder is None else folder / f"onednn-{jax.lib.__version__}-{questions}.json"
    try:
        if file is not None:
            return frozenset(json.loads(file.read_text())["types"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not asked yet, or the file is damaged
    found = _ask_child()
    if file is not None:
        try:
            whole = file.with_suffix(f".{os.getpid()}")
            whole.write_text(json.dumps({"types": sorted(found)}))
            whole.replace(file)
        except OSError:
            pass  # asked again next time
    return found


def _ask_child(file: str | os.PathLike = __file__) -> frozenset[str]:
    """The types for which the child, which a wrong call may end, found right values."""
    names = ("PATH", "HOME", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "SYSTEMROOT", "TMPDIR")
    env = {n: os.environ[n] for n in names if n in os.environ}
    try:
        child = subprocess.run(
            [sys.executable, "-P", str(file)],
            env={**env, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PATIENCE,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return frozenset()
    return frozenset(child.stdout.decode().split()) & frozenset(TYPES)


# ---- the child ----


def _trials(array: Callable) -> dict[str, tuple[Callable, Callable]]:
    """For each kind of call: what oneDNN and what XLA makes of it."""
    layouts = {1: ("NHC", "OIH", "NHC"), 2: ("NHWC", "OIHW", "NHWC"), 3: ("NDHWC", "OIDHW", "NDHWC")}
    found = {}

    def product(x, y, transpose_x, transpose_y):
        def plain():
            return jnp.matmul(x.swapaxes(-1, -2) if transpose_x else x, y.swapaxes(-1, -2) if transpose_y else y)

        return lambda: matmul(x, y, transpose_x, transpose_y), plain

    for lead in ((), (3,), (2, 3)):
        for at in ((False, False), (True, False), (False, True), (True, True)):
            x = array(*lead, *((17, 34) if at[0] else (34, 17)))
            y = array(*lead, *((33, 17) if at[1] else (17, 33)))
            found[f"matmul {lead} {at}"] = product(x, y, *at)

    def convolution(x, w, stride, pads, dilation, groups, exchanged, bias, residual, relu):
        def plain():
            turned = jnp.swapaxes(w, 0, 1) if exchanged else w
            out = jax.lax.conv_general_dilated(
                x, turned, stride, pads, None, dilation, layouts[x.ndim - 2], feature_group_count=groups
            )
            out = out if bias is None else out + bias
            out = out if residual is None else out + residual
            return jax.nn.relu(out) if relu else out

        return lambda: convolve(x, w, stride, pads, dilation, groups, exchanged, bias, residual, relu), plain

    for n in (1, 2, 3):
        for groups, width in ((1, 5), (3, 4), (6, 1)):
            for stride, pads, dilation in ((1, (1, 1), 1), (2, (2, 1), 1), (1, (0, 3), 2)):
                x = array(2, *(9,) * n, groups * width)
                w = array(groups * (8 if groups == 1 else width), width, *(3,) * n)
                found[f"convolution {n} {groups} {stride}"] = convolution(
                    x, w, (stride,) * n, (pads,) * n, (dilation,) * n, groups, False, None, None, False
                )
    ones = ((1, 1), ((1, 1), (1, 1)), (1, 1))
    x, w, bias, residual = array(2, 7, 7, 6), array(6, 8, 3, 3), array(8), array(2, 7, 7, 8)
    for extra in ((bias, None, False), (bias, None, True), (bias, residual, True), (None, residual, False)):
        found[f"fused {[e is not None for e in extra]}"] = convolution(x, w, *ones, 1, True, *extra)
    for width in (1, 2):
        w, bias = array(6, width, 3, 3), array(6)
        found[f"fused groups of {width}"] = convolution(x, w, *ones, 6 // width, False, bias, x, True)
        found[f"rectified groups of {width}"] = convolution(x, w, *ones, 6 // width, False, None, None, True)
    return found


def _compare(name: str) -> bool:
    draw = np.random.RandomState(0)
    trials = _trials(lambda *shape: jnp.asarray(draw.randint(-4, 5, shape), name))

    def run(which):
        return {kind: forms[which]() for kind, forms in trials.items()}

    got, wanted = jax.jit(lambda: run(0))(), jax.jit(lambda: run(1))()
    # small integers: sums are exact in float32, and rounded once at the end in bfloat16
    return all(np.array_equal(np.asarray(got[k], np.float32), np.asarray(wanted[k], np.float32)) for k in trials)


if __name__ == "__main__":
    for each in TYPES:
        if _compare(each):
            print(each, flush=True)  # what was right counts, also when the next type ends the process
