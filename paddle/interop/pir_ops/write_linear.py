"""Writers of products, decompositions and transforms."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import paddle as P

from ...engine import errors
from ...engine.value import Value
from .write_elementwise import both
from .writing import COMPOSED, WRITERS, Writing, composes, writes

F = P.nn.functional

# ---- products ----


@writes("matmul")
def _matmul(w: Writing, a: SimpleNamespace) -> Any:
    x, y = both(w, a.x, a.y, w.results[0][0])
    return w.op("matmul", x, y, transpose_x=a.transpose_x, transpose_y=a.transpose_y)


WRITERS["bmm"] = lambda w, a: w.op("bmm", a.x, a.y)
WRITERS["mv"] = lambda w, a: w.op("mv", a.x, a.vec)
WRITERS["cross"] = lambda w, a: w.op("cross", a.x, a.y, axis=a.axis)
WRITERS["multi_dot"] = lambda w, a: w.op("multi_dot", list(a.x))
WRITERS["bilinear"] = lambda w, a: w.op("bilinear", a.x1, a.x2, a.weight, getattr(a, "bias", None))
WRITERS["einsum"] = lambda w, a: w.op("einsum", list(a.operands), equation=a.equation)[:1]
WRITERS["cholesky"] = lambda w, a: [*w.op("cholesky", a.x, upper=a.upper), w.full(True, "bool")]
WRITERS["inverse"] = lambda w, a: [*w.op("inverse", a.x), w.full(True, "bool")]
WRITERS["slogdet"] = lambda w, a: w.op("slogdet", a.x)
WRITERS["matrix_power"] = lambda w, a: w.op("matrix_power", a.x, n=a.n)
WRITERS["triangular_solve"] = lambda w, a: w.op(
    "triangular_solve", a.x, a.y, upper=a.upper, transpose=a.transpose, unitriangular=a.unitriangular
)
WRITERS["svd"] = lambda w, a: w.op("svd", a.x, full_matrices=a.full_matrices)
WRITERS["eigh"] = lambda w, a: w.op("eigh", a.x, UPLO=a.UPLO)
WRITERS["frame"] = lambda w, a: w.op("frame", a.x, frame_length=a.frame_length, hop_length=a.hop_length, axis=a.axis)
WRITERS["overlap_add"] = lambda w, a: w.op("overlap_add", a.x, hop_length=a.hop_length, axis=a.axis)
WRITERS["eigvalsh"] = lambda w, a: w.op("eigvalsh", a.x, uplo=a.UPLO, is_test=True)[:1]
WRITERS["qr"] = lambda w, a: w.op("qr", a.x, mode="reduced") if len(w.results) == 2 else NotImplemented


@writes("solve")
def _solve(w: Writing, a: SimpleNamespace) -> Any:
    if not a.left:
        return NotImplemented
    return [*w.op("solve", a.x, a.y), w.full(True, "bool")]


@writes("addmm", "baddbmm")
def _addmm(w: Writing, a: SimpleNamespace) -> Any:
    if isinstance(a.beta, Value) or isinstance(a.alpha, Value):
        return NotImplemented
    return w.op(w.operator.name, a.input, a.x, a.y, beta=a.beta, alpha=a.alpha)


COMPOSED["addmm"] = COMPOSED["baddbmm"] = lambda input, x, y, beta, alpha: input * beta + P.matmul(x, y) * alpha


@composes("linear")
def _linear(x: Any, weight: Any, bias: Any = None, **_: Any) -> Any:
    out = P.matmul(x, weight)
    return out if bias is None else P.add(out, bias)


COMPOSED["outer"] = lambda x, y: P.reshape(x, [-1, 1]) * P.reshape(y, [1, -1])
COMPOSED["inner"] = lambda x, y: x * y if not x.ndim or not y.ndim else P.tensordot(x, y, [[x.ndim - 1], [y.ndim - 1]])


@composes("tensordot")
def _tensordot(x: Any, y: Any, axes: Any) -> Any:
    if isinstance(axes, int):
        axes = [list(range(x.ndim - axes, x.ndim)), list(range(axes))]
    left, right = ([v] if isinstance(v, int) else list(v) for v in axes)
    left, right = [i % x.ndim for i in left], [i % y.ndim for i in right]
    keep, take = ([i for i in range(t.ndim) if i not in used] for t, used in ((x, left), (y, right)))
    count = int(np.prod([x._raw.shape[i] for i in left]))
    a = P.reshape(P.transpose(x, [*keep, *left]), [-1, count])
    b = P.reshape(P.transpose(y, [*right, *take]), [count, -1])
    return P.reshape(P.matmul(a, b), [x._raw.shape[i] for i in keep] + [y._raw.shape[i] for i in take])


@writes("fourier")
def _fourier(w: Writing, a: SimpleNamespace) -> Any:
    x = w.ref(a.x)
    axes = [i % x.ndim for i in a.axes]
    lengths = [x.shape[i] for i in axes]
    last = None
    sizes = list(a.sizes)
    if a.kind in ("irfftn", "hfftn"):
        last, sizes[-1] = sizes[-1], sizes[-1] // 2 + 1
    if sizes != lengths:
        raise errors.NotImplemented_("a transform of another length than the input's")
    forward = a.kind in ("fftn", "rfftn", "hfftn")
    common = {"axes": axes, "normalization": a.norm, "forward": forward}
    if a.kind in ("fftn", "ifftn"):
        if not x.dtype.startswith("complex"):
            raise errors.NotImplemented_("a complex transform of real numbers")
        return w.op("fft_c2c", x, **common)
    if a.kind in ("rfftn", "ihfftn"):
        return w.op("fft_r2c", x, onesided=True, **common)
    return w.op("fft_c2r", x, last_dim_size=last, **common)
