"""Operators that are one public function, and operators of several devices, which alone do nothing."""

from __future__ import annotations

from collections.abc import Callable

import paddle
from paddle.nn import functional as F

from .call import TRANSLATORS, Call, number, translates

# (public function, input slots, attributes in the order of its arguments)
PLAIN: dict[str, tuple[Callable, str, str]] = {
    "complex": (paddle.complex, "X Y", ""),
    "as_complex": (paddle.as_complex, "X", ""),
    "as_real": (paddle.as_real, "X", ""),
    "copysign": (paddle.copysign, "x y", ""),
    "nextafter": (paddle.nextafter, "x y", ""),
    "bitwise_left_shift": (paddle.bitwise_left_shift, "x y", ""),
    "bitwise_right_shift": (paddle.bitwise_right_shift, "x y", ""),
    "i0": (paddle.i0, "x", ""),
    "i0e": (paddle.i0e, "x", ""),
    "i1": (paddle.i1, "x", ""),
    "i1e": (paddle.i1e, "x", ""),
    "gammaln": (paddle.gammaln, "x", ""),
    "gammaincc": (paddle.gammaincc, "x y", ""),
    "polygamma": (paddle.polygamma, "x", "n"),
    "renorm": (paddle.renorm, "X", "p axis max_norm"),
    "histogram": (paddle.histogram, "X", "bins min max"),
    "masked_fill": (paddle.masked_fill, "x mask value", ""),
    "reduce_as": (paddle.reduce_as, "x target", ""),
    "solve": (paddle.linalg.solve, "X Y", ""),
    "slogdeterminant": (paddle.linalg.slogdet, "Input", ""),
    "view_shape": (paddle.reshape, "input", "dims"),
    "poisson": (paddle.poisson, "X", ""),
}


def plain(op: Call):
    function, slots, names = PLAIN[op.type]
    return function(*(op[s] for s in slots.split()), *(op.attr(n) for n in names.split()))


for _kind in PLAIN:
    TRANSLATORS[_kind] = plain


@translates("cummax", "cummin")
def cummax(op):
    out, indices = getattr(paddle, op.type)(op["x"], op.attr("axis", -1), op.dtype("dtype", "int64"))
    return {"out": out, "indices": indices}


@translates("eigh")
def eigh(op):
    values, vectors = paddle.linalg.eigh(op["X"], op.attr("UPLO", "L"))
    return {"Eigenvalues": values, "Eigenvectors": vectors}


@translates("cholesky_solve")
def cholesky_solve(op):
    return paddle.linalg.cholesky_solve(op["X"], op["Y"], bool(op.attr("upper", False)))


@translates("triangular_solve")
def triangular_solve(op):
    flags = (bool(op.attr(n, d)) for n, d in (("upper", True), ("transpose", False), ("unitriangular", False)))
    return paddle.linalg.triangular_solve(op["X"], op["Y"], *flags)


@translates("swiglu")
def swiglu(op):
    x, y = (op["x"], op.get("y")) if op.has("x") else (op["X"], op.get("Y"))
    if y is None:
        x, y = paddle.split(x, 2, -1)
    return F.silu(x) * y


@translates("huber_loss")
def huber_loss(op):
    residual, delta = op["Y"] - op["X"], op.attr("delta")
    size = paddle.abs(residual)
    out = paddle.where(size <= delta, 0.5 * residual * residual, delta * (size - 0.5 * delta))
    return {"Out": out, "Residual": residual}


@translates("log_loss")
def log_loss(op):
    return {"Loss": F.log_loss(op["Predicted"], op["Labels"], op.attr("epsilon", 1e-4))}


@translates("kldiv_loss")
def kldiv_loss(op):
    return {"Loss": F.kl_div(op["X"], op["Target"], op.attr("reduction", "mean"))}


@translates("bce_loss")
def bce_loss(op):
    return F.binary_cross_entropy(op["X"], op["Label"], reduction="none")


@translates("iou_similarity")
def iou_similarity(op):
    """Intersection over union of every box of x with every box of y."""
    x, y, more = op["X"].unsqueeze(1), op["Y"].unsqueeze(0), 0.0 if op.attr("box_normalized", True) else 1.0

    def area(b):
        return (b[..., 2] - b[..., 0] + more) * (b[..., 3] - b[..., 1] + more)

    low, high = paddle.maximum(x[..., :2], y[..., :2]), paddle.minimum(x[..., 2:], y[..., 2:])
    sides = F.relu(high - low + more)
    common = sides[..., 0] * sides[..., 1]
    return common / (area(x) + area(y) - common + 1e-10)


@translates("box_clip")
def box_clip(op):
    """Boxes cut at the borders of their image, whose height, width and scale are in ImInfo."""
    boxes, info = op["Input"], op["ImInfo"]
    if len(boxes.shape) == 2:
        raise NotImplementedError("box_clip: boxes of several images told apart by sequence offsets (LoD)")
    sides = paddle.round(info[:, :2] / info[:, 2:3]) - 1.0
    most = paddle.stack([sides[:, 1], sides[:, 0]] * 2, -1).unsqueeze(1)
    return {"Output": paddle.maximum(paddle.minimum(boxes, most), paddle.zeros_like(boxes))}


@translates("polygon_box_transform")
def polygon_box_transform(op):
    """Offsets of corners, in quarters of pixels, as coordinates."""
    x = op["Input"]
    n, c, h, w = x.shape
    across = paddle.arange(w, dtype=x.dtype).reshape([1, 1, 1, w]) * 4.0
    down = paddle.arange(h, dtype=x.dtype).reshape([1, 1, h, 1]) * 4.0
    even = (paddle.arange(c, dtype="int64") % 2 == 0).reshape([1, c, 1, 1])
    return {"Output": paddle.where(even, across, down) - x}


@translates("fused_bias_act")
def fused_bias_act(op):
    from .activation import fused_activation

    if op.has("dequant_scales") or op.has("shift") or op.has("smooth"):
        raise NotImplementedError("fused_bias_act: quantized inputs")
    x, method = op["x"], op.attr("act_method", "gelu")
    x = x + op["bias"] if op.has("bias") else x
    if method in ("swiglu", "geglu"):
        a, b = paddle.split(x, 2, -1)
        return {"out": (F.silu(a) if method == "swiglu" else F.gelu(a)) * b}
    return {"out": fused_activation(method, x)}


@translates("spectral_norm")
def spectral_norm(op):
    """A weight divided by its largest singular value, found by power iteration from the stored vectors."""
    w, u, v, dim = op["Weight"], op["U"], op["V"], op.attr("dim", 0)
    order = [dim, *(a for a in range(len(w.shape)) if a != dim)]
    matrix = w.transpose(order).reshape([w.shape[dim], -1])
    epsilon = op.attr("eps", 1e-12)
    u, v = u.reshape([-1, 1]), v.reshape([-1, 1])
    for _ in range(op.attr("power_iters", 1)):
        v = paddle.matmul(matrix, u, transpose_x=True)
        v = v / (paddle.sqrt(paddle.sum(v * v)) + epsilon)
        u = paddle.matmul(matrix, v)
        u = u / (paddle.sqrt(paddle.sum(u * u)) + epsilon)
    return w / paddle.sum(u * paddle.matmul(matrix, v))


@translates("fft_c2c", "fft_r2c", "fft_c2r")
def fft(op):
    x, axes, norm, forward = op["X"], op.attr("axes"), op.attr("normalization", "backward"), op.attr("forward", True)
    if forward != (op.type == "fft_r2c") and op.type != "fft_c2c":
        raise NotImplementedError(f"{op.type}: the transform of a Hermitian signal (forward is {forward})")
    if op.type == "fft_c2c":
        return (paddle.fft.fftn if forward else paddle.fft.ifftn)(x, None, axes, norm)
    if op.type == "fft_r2c":
        if op.attr("onesided", True):
            return paddle.fft.rfftn(x, None, axes, norm)
        return paddle.fft.fftn(x, None, axes, norm)
    last = op.attr("last_dim_size", 0)
    sizes = [*(x.shape[a] for a in axes[:-1]), last] if last else None
    return paddle.fft.irfftn(x, sizes, axes, norm)


@translates("unique_consecutive")
def unique_consecutive(op):
    axis = op.attr("axis", [])
    out, inverse, counts = paddle.unique_consecutive(
        op["X"], True, True, axis[0] if axis else None, op.dtype("dtype", "int64")
    )
    return {"Out": out, "Index": inverse, "Counts": counts}


@translates("select_output")
def select_output(op):
    """The input, under the name that the mask chooses; the other name keeps what it has."""
    at = number(op["Mask"])
    if not isinstance(at, (int, bool)):
        return {"Out": [op["X"], op["X"]]}
    found = [op.scope.get(n) for n in op.desc.outputs["Out"]]
    found[int(at)] = op["X"]
    return {"Out": found}


@translates(
    "c_allreduce_sum", "c_allreduce_max", "c_broadcast", "c_concat", "c_split", "mp_allreduce_sum", "c_allgather"
)
def alone(op):
    """Communication between devices: a model that was divided among several cannot be read as one."""
    if op.attr("nranks", 1) > 1:
        raise NotImplementedError(f"{op.type}: a model that is divided among {op.attr('nranks')} devices")
    return op["X"]


@translates("nop", "delete_var", "assert", "c_sync_calc_stream", "c_sync_comm_stream", "check_memory_continue")
def nothing(op):
    return {}
