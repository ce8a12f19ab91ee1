"""What `PADDLE_XLA_DEBUG=2` prints and ``FLAGS_check_nan_inf`` checks, after every operator."""

from __future__ import annotations

import sys
from typing import Any

import jax
import numpy as np

from . import errors, flags

selected: Any = None  # a function of an operator's name: whether it is checked (amp.debugging sets it)
layers: list[str] = []  # the layers that are being called, outermost first; nn.Layer keeps it while the check is on


def watch(op: Any, args: Any, out: Any) -> None:
    """Print and check one call of an operator (or of the gradient of one)."""
    if flags.debug_level() >= 2:
        print(f"[paddle-xla] {op.name}({', '.join(map(errors.describe, args))})", file=sys.stderr)
    if flags.flag("FLAGS_check_nan_inf") and (selected is None or selected(op.name)):
        check_finite(op, args, out)


def check_finite(op: Any, args: Any, out: Any) -> None:
    """Raise (or, with FLAGS_check_nan_inf_level above 0, report) when a result holds NaN or infinity, naming the
    operator and the layer."""
    for i, result in enumerate(out if isinstance(out, tuple) else (out,)):
        array = getattr(result, "_value", result)
        if (
            array is None
            or isinstance(array, jax.core.Tracer)
            or not jax.numpy.issubdtype(array.dtype, jax.numpy.inexact)
        ):
            continue
        values = np.asarray(array)
        values = values if values.dtype.kind == "c" else values.astype(np.float64)
        if np.isfinite(values).all():
            continue
        where = " in layer " + ".".join(layers) if layers else ""
        text = (
            f"{op.name}{where}: output {i} has {int(np.isnan(values).sum())} NaN and {int(np.isinf(values).sum())} "
            f"infinite of {values.size} elements; inputs were {', '.join(map(errors.describe, args))}"
        )
        if flags.flag("FLAGS_check_nan_inf_level"):
            print("[paddle-xla] " + text, file=sys.stderr)
        else:
            raise errors.RuntimeError_(text)
