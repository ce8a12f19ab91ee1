"""Checks on values while a program runs (``FLAGS_check_nan_inf``)."""
from __future__ import annotations

import sys
from typing import Any

import jax
import numpy as np

from . import errors, flags

_layers: list[str] = []  # the layers that are being called, outermost first; kept by nn.Layer while the check is on


def check_finite(op: Any, args: tuple, out: Any) -> None:
    """Raise (or, at level 1 and above, report) when an operator produced NaN or infinity, naming it and the layer."""
    from .tensor import Tensor
    for i, result in enumerate(out if isinstance(out, tuple) else (out,)):
        if not isinstance(result, Tensor) or isinstance(result._value, jax.core.Tracer) or not result.dtype.is_differentiable:
            continue
        array = np.asarray(result._value).astype(np.complex128 if result.dtype.is_complex else np.float64)
        bad = ~np.isfinite(array)
        if not bad.any():
            continue
        where = " in layer " + ".".join(_layers) if _layers else ""
        text = (f"{op.name}{where}: output {i} has {int(np.isnan(array).sum())} NaN and {int(np.isinf(array).sum())} infinite "
                f"of {array.size} elements; inputs were {', '.join(errors.describe(a) for a in args)}")
        if flags.flag("FLAGS_check_nan_inf_level"):
            print("[paddle-xla] " + text, file=sys.stderr)
        else:
            raise errors.RuntimeError_(text)
