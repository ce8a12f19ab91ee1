"""Writers of rarer operators: decompositions with an official twin, and many that are composed of others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import paddle as P

from ...engine import errors
from ...engine.value import Value
from .write_loss import _reduced
from .writing import COMPOSED, WRITERS, Writing, composes, writes

F = P.nn.functional

# ---- with an official twin ----

WRITERS["gather_tree"] = lambda w, a: w.op("gather_tree", a.ids, a.parents)
WRITERS["cholesky_solve"] = lambda w, a: w.op("cholesky_solve", a.x, a.y, upper=a.upper)
WRITERS["eigvals"] = lambda w, a: w.op("eigvals", a.x)
WRITERS["eig"] = lambda w, a: w.op("eig", a.x)
WRITERS["svdvals"] = lambda w, a: w.op("svdvals", a.x)
WRITERS["reduce_as"] = lambda w, a: w.op("reduce_as", a.x, a.target)
WRITERS["renorm"] = lambda w, a: w.op("renorm", a.x, p=float(a.p), axis=a.axis, max_norm=float(a.max_norm))
WRITERS["logsigmoid"] = lambda w, a: w.op("logsigmoid", a.x)


@writes("lu")
def _lu(w: Writing, a: SimpleNamespace) -> Any:
    batch = w.ref(a.x).shape[:-2]
    out = w.op("lu", a.x, results=[*w.results[:2], ("int32", batch or (1,))], pivot=True)
    return out[: len(w.results)] if len(w.results) <= 3 else NotImplemented


@writes("matrix_rank")
def _matrix_rank(w: Writing, a: SimpleNamespace) -> Any:
    given = [getattr(a, n, None) for n in ("tol", "atol", "rtol")]
    if any(isinstance(g, Value) for g in given) or any(g is not None for g in given[1:]):
        raise errors.NotImplemented_("tolerances in tensors, atol or rtol")
    tol = given[0]
    return w.op(
        "matrix_rank", a.x, tol=0.0 if tol is None else float(tol), use_default_tol=tol is None, hermitian=a.hermitian
    )


@writes("ctc_loss")
def _ctc(w: Writing, a: SimpleNamespace) -> Any:
    x = w.ref(a.logits)
    lengths = [w.cast(v, "int64") for v in (a.times, a.lengths)]
    label = w.cast(a.labels, "int32")
    loss = w.op(
        "warpctc", x, label, *lengths, results=[(x.dtype, (x.shape[1], 1)), (x.dtype, x.shape)], blank=a.blank,
        norm_by_times=a.by_times,
    )[0]  # fmt: skip
    return [w.reshape(loss, list(w.results[0][1]))]


# ---- random numbers ----


def _shape(w: Writing, a: SimpleNamespace) -> Any:
    return w.ints(a.shape)


def _numbers(*values: Any) -> bool:
    return all(isinstance(v, (int, float)) for v in values)


@writes("gaussian")
def _gaussian(w: Writing, a: SimpleNamespace) -> Any:
    if not _numbers(a.mean, a.std):
        return NotImplemented
    return w.op("gaussian", _shape(w, a), mean=a.mean, std=a.std, seed=0, dtype=w.results[0][0])


@writes("uniform")
def _uniform(w: Writing, a: SimpleNamespace) -> Any:
    if not _numbers(a.low, a.high):
        return NotImplemented
    dtype = w.results[0][0]
    bounds = [w.full(v, dtype, [1], "cpu") for v in (a.low, a.high)]
    return w.op("uniform", _shape(w, a), *bounds, seed=0, dtype=dtype)


@writes("randint")
def _randint(w: Writing, a: SimpleNamespace) -> Any:
    if not _numbers(a.low, a.high):
        return NotImplemented
    return w.op("randint", _shape(w, a), low=int(a.low), high=int(a.high), dtype=w.results[0][0])


WRITERS["randperm"] = lambda w, a: w.op("randperm", w.full(a.n, "int32", [1], "cpu"), dtype=w.results[0][0])
WRITERS["bernoulli"] = lambda w, a: w.op("bernoulli", a.x)
WRITERS["poisson"] = lambda w, a: w.op("poisson", a.x)
WRITERS["multinomial"] = lambda w, a: w.op(
    "multinomial", a.x, w.full(a.num_samples, "int32", [1], "cpu"), replacement=a.replacement
)
WRITERS["gumbel_softmax"] = lambda w, a: w.op(
    "gumbel_softmax", a.x, temperature=float(a.temperature), hard=a.hard, axis=a.axis
)


@writes("dropout")
def _dropout(w: Writing, a: SimpleNamespace) -> Any:
    raise errors.NotImplemented_("in training mode; call eval() before saving")


# ---- composed ----

COMPOSED["sgn"] = lambda x: P.sign(x)
COMPOSED["isposinf"] = lambda x: P.logical_and(P.isinf(x), x > 0)
COMPOSED["isneginf"] = lambda x: P.logical_and(P.isinf(x), x < 0)
COMPOSED["vecdot"] = lambda x, y, axis: P.sum(x * y, axis)
COMPOSED["polar"] = lambda abs, angle: P.complex(abs * P.cos(angle), abs * P.sin(angle))
COMPOSED["trunc_divide"] = lambda x, y: P.trunc(P.divide(x, y)).astype(x.dtype)
COMPOSED["first_true"] = lambda x: P.argmax(P.stack([*[f.reshape([]).astype("int32") for f in x], P.ones([], "int32")]))
COMPOSED["transfer"] = lambda x, device: P.assign(x)


@composes("isreal")
def _isreal(x: Any) -> Any:
    return P.imag(x) == 0 if x.dtype.name.startswith("complex") else P.ones_like(x, "bool")


def _cut(x: Any, axis: int, start: Any, end: Any) -> Any:
    return P.slice(x, [axis % x.ndim], [start], [end])


@composes("diff")
def _diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    parts = [p for p in (prepend, x, append) if p is not None]
    x = P.concat(parts, axis) if len(parts) > 1 else x
    for _ in range(n):
        a, b = _cut(x, axis, 1, 2**31 - 1), _cut(x, axis, 0, -1)
        x = P.logical_xor(a, b) if x.dtype.name == "bool" else a - b
    return x


def _trapezoids(y: Any, x: Any, dx: Any, axis: int) -> Any:
    sums = _cut(y, axis, 1, 2**31 - 1) + _cut(y, axis, 0, -1)
    if x is not None:
        if x.ndim == 1 and y.ndim > 1:
            x = x.reshape([-1 if i == axis % y.ndim else 1 for i in range(y.ndim)])
        dx = _diff(x, 1, axis)
    return sums * (1.0 if dx is None else dx) * 0.5


COMPOSED["trapezoid"] = lambda y, x=None, dx=None, axis=-1: P.sum(_trapezoids(y, x, dx, axis), axis)
COMPOSED["cumulative_trapezoid"] = lambda y, x=None, dx=None, axis=-1: P.cumsum(_trapezoids(y, x, dx, axis), axis)


@composes("cov")
def _cov(x: Any, fweights: Any = None, aweights: Any = None, rowvar: bool = True, ddof: Any = True) -> Any:
    if fweights is not None or aweights is not None:
        raise errors.NotImplemented_("weights")
    x = x.reshape([1, -1]) if x.ndim == 1 else x if rowvar else P.transpose(x, [1, 0])
    d = x - P.mean(x, 1, True)
    out = P.matmul(d, d, transpose_y=True) / max(int(x.shape[1]) - int(ddof), 0)
    return P.squeeze(out)


@composes("corrcoef")
def _corrcoef(x: Any, rowvar: bool = True) -> Any:
    c = _cov(x, None, None, rowvar)
    if not c.ndim:
        return c / c
    d = P.sqrt(P.diagonal(c))
    return P.clip(c / d.reshape([-1, 1]) / d.reshape([1, -1]), -1.0, 1.0)


@composes("vander")
def _vander(x: Any, n: Any = None, increasing: bool = False) -> Any:
    n = int(x.shape[0]) if n is None else n
    powers = np.arange(n) if increasing else np.arange(n)[::-1].copy()
    return P.pow(P.unsqueeze(x, 1), P.to_tensor(powers.astype(x.dtype.name)))


@composes("isin")
def _isin(x: Any, test_x: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    found = P.any(P.unsqueeze(x, -1) == P.flatten(test_x), -1)
    return P.logical_not(found) if invert else found


@composes("take")
def _take(x: Any, index: Any, mode: str = "raise") -> Any:
    flat = P.flatten(x)
    n = int(flat.shape[0])
    index = index.astype("int64")
    if mode == "clip":
        index = P.clip(index, 0, n - 1)
    else:
        index = P.remainder(index, P.full([], n, "int64"))
    return P.gather_nd(flat, P.unsqueeze(index, -1))


@composes("index_fill")
def _index_fill(x: Any, index: Any, axis: int, value: Any) -> Any:
    axis = axis % x.ndim
    order = [axis, *[i for i in range(x.ndim) if i != axis]]
    value = value.astype(x.dtype) if hasattr(value, "astype") else P.full([], value, x.dtype)
    moved = P.index_put(P.transpose(x, order), (index.astype("int64"),), value)
    return P.transpose(moved, [order.index(i) for i in range(x.ndim)])


@composes("select_write")
def _select_write(x: Any, value: Any, index: Any, axis: int) -> Any:
    axis = axis % x.ndim
    order = [axis, *[i for i in range(x.ndim) if i != axis]]
    place = index.reshape([1]).astype("int64") if hasattr(index, "reshape") else P.to_tensor([int(index)])
    moved = P.index_put(P.transpose(x, order), (place,), P.unsqueeze(value.astype(x.dtype), 0))
    return P.transpose(moved, [order.index(i) for i in range(x.ndim)])


@composes("select")
def _select(x: Any, index: Any, axis: int) -> Any:
    place = index.reshape([1]) if hasattr(index, "reshape") else P.to_tensor([int(index)])
    return P.squeeze(P.index_select(x, place, axis), axis)


@composes("masked_scatter")
def _masked_scatter(x: Any, mask: Any, value: Any) -> Any:
    mask = P.expand(mask, list(x._raw.shape))
    order = P.clip(P.cumsum(P.flatten(mask).astype("int64"), 0) - 1, 0, int(value._raw.size) - 1)
    picked = P.reshape(P.gather(P.flatten(value), order), list(x._raw.shape))
    return P.where(mask, picked, x)


@composes("diagonal_write")
def _diagonal_write(x: Any, y: Any, offset: int, axis1: int, axis2: int) -> Any:
    a, b = axis1 % x.ndim, axis2 % x.ndim
    rows, columns = int(x.shape[a]), int(x.shape[b])
    n = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    i = np.arange(n) - min(offset, 0)
    order = [a, b, *[k for k in range(x.ndim) if k not in (a, b)]]
    y = P.transpose(y, [y.ndim - 1, *range(y.ndim - 1)]) if y.ndim > 1 else y
    places = (P.to_tensor(i), P.to_tensor(i + offset))
    moved = P.index_put(P.transpose(x, order), places, y.astype(x.dtype))
    return P.transpose(moved, [order.index(k) for k in range(x.ndim)])


@composes("npair_loss")
def _npair(anchor: Any, positive: Any, labels: Any, l2_reg: float) -> Any:
    labels = labels.reshape([-1, 1]).astype(anchor.dtype)
    same = (labels == P.transpose(labels, [1, 0])).astype(anchor.dtype)
    same = same / P.sum(same, 1, keepdim=True)
    l2 = (P.mean(P.sum(anchor * anchor, 1)) + P.mean(P.sum(positive * positive, 1))) * 0.25 * l2_reg
    scores = P.matmul(anchor, positive, transpose_y=True)
    return l2 + P.mean(-P.sum(same * F.log_softmax(scores, -1), 1))


COMPOSED["gammainc"] = lambda x, y: 1.0 - P.gammaincc(x, y)


@composes("ldexp")
def _ldexp(x: Any, y: Any) -> Any:
    return x * P.pow(P.full([], 2.0, x.dtype), y.astype(x.dtype))


@composes("multigammaln")
def _multigammaln(x: Any, p: int) -> Any:
    out = x * 0.0 + 0.25 * p * (p - 1) * float(np.log(np.pi))
    for i in range(p):
        out = out + P.lgamma(x - 0.5 * i)
    return out


@composes("block_diag")
def _block_diag(inputs: Any) -> Any:
    blocks = [b.reshape([1, -1]) if b.ndim < 2 else b for b in inputs]
    width = sum(int(b.shape[1]) for b in blocks)
    rows, left = [], 0
    for b in blocks:
        rows.append(F.pad(b, [0, 0, left, width - left - int(b.shape[1])]))
        left += int(b.shape[1])
    return P.concat(rows, 0)


@composes("pdist")
def _pdist(x: Any, p: Any) -> Any:
    i, j = np.triu_indices(int(x.shape[0]), 1)
    return P.linalg.norm(P.gather(x, P.to_tensor(i)) - P.gather(x, P.to_tensor(j)), p, -1)


@composes("matrix_norm")
def _matrix_norm(x: Any, p: Any, axis: Any, keepdim: bool) -> Any:
    a, b = (i % x.ndim for i in axis)
    if p in (1, -1, np.inf, -np.inf):
        inner, outer = (a, b) if abs(p) == 1 else (b, a)
        sums = P.sum(P.abs(x), inner, keepdim=True)
        out = (P.max if p > 0 else P.min)(sums, outer, True)
        return out if keepdim else P.squeeze(out, [a, b])
    if p == "fro":
        return P.sqrt(P.sum(x * x, [a, b], keepdim=keepdim))
    raise errors.NotImplemented_(f"the norm {p!r}")


@composes("norm_except")
def _norm_except(v: Any, dim: int) -> Any:
    axes = [i for i in range(v.ndim) if i != dim % v.ndim]
    return P.sqrt(P.sum(v * v, axes))


@composes("scale_to_norm")
def _scale_to_norm(v: Any, g: Any, dim: Any) -> Any:
    if dim is None or dim == -1:
        return v * (g / P.sqrt(P.sum(v * v)))
    axes = [i for i in range(v.ndim) if i != dim % v.ndim]
    shape = [-1 if i == dim % v.ndim else 1 for i in range(v.ndim)]
    return v * (g.reshape(shape) / P.sqrt(P.sum(v * v, axes, keepdim=True)))


@composes("flash_attention")
def _flash_attention(query: Any, key: Any, value: Any, causal: bool, scale: Any) -> Any:
    return COMPOSED["attention"](query, key, value, None, causal, scale)


@composes("rrelu")
def _rrelu(x: Any, lower: float, upper: float) -> Any:
    raise errors.NotImplemented_("in training mode; call eval() before saving")


@composes("linspace")
def _linspace(start: Any, stop: Any, num: int, dtype: Any) -> Any:
    name = getattr(dtype, "name", dtype)
    if num == 1:
        return P.reshape(start, [1]).astype(name) if hasattr(start, "reshape") else P.full([1], start, name)
    steps = P.to_tensor(np.linspace(0.0, 1.0, num).astype(name))
    return steps * (stop - start) + start


@composes("fused_layer_norm")
def _fused_layer_norm(x: Any, weight: Any = None, norm_bias: Any = None, bias: Any = None, residual: Any = None, epsilon: Any = 1e-5, alpha: Any = 1.0, axis: Any = 1, quant: Any = None) -> Any:  # fmt: skip  # noqa: E501
    if quant is not None and quant[0] > 0:
        raise errors.NotImplemented_("quantisation")
    x = x if bias is None else x + bias
    x = x if residual is None else x + residual * alpha
    shape = list(x._raw.shape[axis % x.ndim :])
    weight, norm_bias = (None if p is None else p.reshape(shape).astype(x.dtype) for p in (weight, norm_bias))
    out = x if weight is None and norm_bias is None else F.layer_norm(x, shape, weight, norm_bias, epsilon)
    return out, x, None, None


# ---- losses ----


@composes("sigmoid_focal_loss")
def _focal(
    logit: Any, label: Any, normalizer: Any = None, alpha: Any = 0.25, gamma: Any = 2.0, reduction: str = "sum"
) -> Any:  # noqa: E501
    p = F.sigmoid(logit)
    cross = F.binary_cross_entropy_with_logits(logit, label, reduction="none")
    hit = p * label + (1 - p) * (1 - label)
    loss = (alpha * label + (1 - alpha) * (1 - label)) * P.pow(1 - hit, gamma) * cross
    return _reduced(loss if normalizer is None else loss / normalizer, reduction)


@composes("dice_loss")
def _dice(input: Any, label: Any, epsilon: float) -> Any:
    wanted = F.one_hot(P.squeeze(label, -1), int(input.shape[-1]))
    axes = list(range(1, input.ndim))
    both = P.sum(input * wanted, axes)
    return P.mean(1 - both * 2 / (P.sum(input, axes) + P.sum(wanted, axes) + epsilon))


COMPOSED["soft_margin_loss"] = lambda input, label, reduction: _reduced(
    P.log1p(P.exp(-label.astype(input.dtype) * input)), reduction
)


@composes("hinge_embedding_loss")
def _hinge_embedding(input: Any, label: Any, margin: float, reduction: str) -> Any:
    zero = P.zeros_like(input)
    loss = P.where(label == 1.0, input, zero) + P.where(label == -1.0, F.relu(margin - input), zero)
    return _reduced(loss, reduction)


@composes("cosine_embedding_loss")
def _cosine_embedding(input1: Any, input2: Any, label: Any, margin: float, reduction: str) -> Any:
    n = P.sqrt((P.sum(input1 * input1, -1) + 1e-12) * (P.sum(input2 * input2, -1) + 1e-12))
    cos = P.sum(input1 * input2, -1) / n
    zero = P.zeros_like(cos)
    loss = P.where(label == 1.0, 1 - cos, zero) + P.where(label == -1.0, F.relu(cos - margin), zero)
    return _reduced(loss, reduction)


COMPOSED["triplet_margin"] = lambda positive, negative, margin, reduction: _reduced(
    F.relu(positive - negative + margin), reduction
)


@composes("poisson_nll_loss")
def _poisson_nll(input: Any, label: Any, log_input: bool, full: bool, epsilon: float, reduction: str) -> Any:
    loss = P.exp(input) - label * input if log_input else input - label * P.log(input + epsilon)
    if full:
        stirling = label * P.log(label) - label + 0.5 * P.log(2 * np.pi * label)
        loss = loss + P.where(label > 1, stirling, P.zeros_like(label))
    return _reduced(loss, reduction)


@composes("gaussian_nll_loss")
def _gaussian_nll(x: Any, label: Any, variance: Any, full: bool, epsilon: float, reduction: str) -> Any:
    variance = P.clip(variance, min=epsilon)
    loss = 0.5 * (P.log(variance) + P.square(x - label) / variance)
    return _reduced(loss + 0.5 * float(np.log(2 * np.pi)) if full else loss, reduction)


@composes("multi_label_soft_margin_loss")
def _multi_label(input: Any, label: Any, weight: Any = None, reduction: str = "mean") -> Any:
    loss = -(label * F.log_sigmoid(input) + (1 - label) * F.log_sigmoid(-input))
    return _reduced(P.mean(loss if weight is None else loss * weight, -1), reduction)


@composes("multi_margin_loss")
def _multi_margin(
    x: Any, label: Any, p: int = 1, margin: float = 1.0, weight: Any = None, reduction: str = "mean"
) -> Any:  # noqa: E501
    label = label.reshape([-1, 1])
    own = P.take_along_axis(x, label, 1, broadcast=False)
    loss = P.pow(F.relu(margin - own + x), float(p))
    if weight is not None:
        loss = loss * P.gather(weight, P.flatten(label)).reshape([-1, 1])
        mine = P.pow(P.full([], float(margin), x.dtype), float(p)) * P.gather(weight, P.flatten(label))
    else:
        mine = float(margin) ** p
    return _reduced((P.sum(loss, 1) - mine) / int(x.shape[1]), reduction)
