"""Writers of normalizations, embedding, attention, recurrence."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import paddle as P

from ...engine import errors
from .format import list_tree, type_tree
from .writing import COMPOSED, WRITERS, Writing, composes, writes

F = P.nn.functional

# ---- normalizations ----


@writes("batch_norm")
def _batch_norm(w: Writing, a: SimpleNamespace) -> Any:
    if a.batch:
        raise errors.NotImplemented_("in training mode; call eval() before saving")
    x = w.ref(a.x)
    last = a.data_format[-1] == "C" and a.data_format != "NC"
    mean, variance = w.ref(a.running_mean), w.ref(a.running_var)
    count, kind = mean.shape, mean.dtype
    scale = w.full(1.0, kind, count) if a.weight is None else w.ref(a.weight)
    bias = w.full(0.0, kind, count) if a.bias is None else w.ref(a.bias)
    out = w.op(
        "batch_norm_", x, mean, variance, scale, bias, results=[w.results[0], *[(kind, count)] * 4, ("uint8", (-1,))],
        is_test=True, momentum=float(a.momentum) if isinstance(a.momentum, (int, float)) else 0.9,
        epsilon=a.epsilon, data_format="NHWC" if last else "NCHW", use_global_stats=False, trainable_statistics=False,
    )  # fmt: skip
    return [out[0], mean, variance][: len(w.results)]


@writes("layer_norm")
def _layer_norm(w: Writing, a: SimpleNamespace) -> Any:
    x = w.ref(a.x)
    axis = x.ndim - len(a.normalized_shape)
    size = int(np.prod([int(n) for n in a.normalized_shape]))
    weight, bias = (
        None if p is None else w.ref(p) if w.ref(p).ndim == 1 else w.reshape(p, [size])
        for p in (getattr(a, "weight", None), getattr(a, "bias", None))
    )
    rows = ("float32", x.shape[:axis])
    return w.op(
        "layer_norm", x, weight, bias, results=[w.results[0], rows, rows], epsilon=a.epsilon, begin_norm_axis=axis
    )[:1]


@writes("instance_norm")
def _instance_norm(w: Writing, a: SimpleNamespace) -> Any:
    x = w.ref(a.x)
    if a.data_format[-1] == "C":
        raise errors.NotImplemented_("channels last")
    count = x.shape[1]
    scale = w.full(1.0, x.dtype, [count]) if a.weight is None else a.weight
    bias = w.full(0.0, x.dtype, [count]) if a.bias is None else a.bias
    return w.op("instance_norm", x, scale, bias, results=[w.results[0], *[(x.dtype, (-1,))] * 2], epsilon=a.eps)[:1]


@writes("group_norm")
def _group_norm(w: Writing, a: SimpleNamespace) -> Any:
    x = w.ref(a.x)
    layout = "NHWC" if a.data_format[-1] == "C" else "NCHW"
    rows = (x.dtype, (x.shape[0], a.num_groups))
    return w.op(
        "group_norm", x, a.weight, a.bias, results=[w.results[0], rows, rows], epsilon=a.epsilon, groups=a.num_groups,
        data_format=layout,
    )[:1]  # fmt: skip


def _rms(x: Any, weight: Any, epsilon: float, axis: int) -> Any:
    axes = list(range(axis % x.ndim, x.ndim))
    inverse = P.rsqrt(P.mean(x * x, axes, True) + epsilon)
    out = x * inverse
    return out if weight is None else out * weight


@composes("fused_rms_norm")
def _fused_rms_norm(x: Any, weight: Any = None, bias: Any = None, epsilon: Any = 1e-6, axis: Any = -1, quant: Any = None, input_bias: Any = None, residual: Any = None, **_: Any) -> Any:  # fmt: skip  # noqa: E501
    if quant is not None and quant[0] > 0:
        raise errors.NotImplemented_("quantisation")
    for more in (input_bias, residual):
        x = x if more is None else x + more
    out = _rms(x, weight, epsilon, axis)
    inverse = P.rsqrt(P.mean(x * x, -1) + epsilon)
    return out if bias is None else out + bias, x, inverse


@composes("rms_norm")
def _rms_norm(x: Any, normalized_shape: Any = None, weight: Any = None, eps: Any = 1e-6, **_: Any) -> Any:
    return _rms(x, weight, eps, x.ndim - len(normalized_shape))


@composes("local_response_norm")
def _local_response_norm(x: Any, size: int, alpha: float, beta: float, k: float, data_format: str) -> Any:
    last = data_format[-1] == "C"
    if last or x.ndim != 4:
        raise errors.NotImplemented_("other than NCHW")
    squares = P.unsqueeze(x * x, 1)
    padded = F.pad(squares, [0, 0, 0, 0, size // 2, (size - 1) // 2], data_format="NCDHW")
    mean = F.avg_pool3d(padded, (size, 1, 1), (1, 1, 1))
    return x / P.pow(P.squeeze(mean, 1) * alpha + k, beta)


@composes("normalize")
def _normalize(x: Any, p: Any, axis: int, epsilon: float) -> Any:
    return x / P.clip(P.linalg.norm(x, p, axis, True), min=epsilon)


WRITERS["softmax"] = lambda w, a: w.op("softmax", w.ref(a.x, w.results[0][0]), axis=a.axis)
WRITERS["log_softmax"] = lambda w, a: w.op("log_softmax", w.ref(a.x, w.results[0][0]), axis=a.axis)
WRITERS["label_smooth"] = lambda w, a: w.op(
    "label_smooth", a.label, getattr(a, "prior_dist", None), epsilon=float(a.epsilon)
)
COMPOSED["dropout_scale"] = lambda x, p: x * (1 - p)


# ---- embedding, attention ----


@writes("embedding")
def _embedding(w: Writing, a: SimpleNamespace) -> Any:
    index = getattr(a, "padding_idx", None)
    return w.op("embedding", a.x, a.weight, padding_idx=-1 if index is None else index, sparse=False)


@composes("attention")
def _attention(
    query: Any, key: Any, value: Any, mask: Any = None, causal: Any = False, scale: Any = None, **more: Any
) -> Any:  # noqa: E501
    if any(v is not None for v in more.values()):
        raise errors.NotImplemented_(f"attention with {', '.join(n for n, v in more.items() if v is not None)}")
    q, k, v = (P.transpose(t, [0, 2, 1, 3]) for t in (query, key, value))
    if k._raw.shape[1] != q._raw.shape[1]:
        times = q.shape[1] // k.shape[1]
        k, v = (P.repeat_interleave(t, times, axis=1) for t in (k, v))
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = P.matmul(q * scale, k, transpose_y=True)
    if mask is not None:
        scores = P.where(mask, scores, P.full_like(scores, -1e30)) if mask.dtype.name == "bool" else scores + mask
    if causal:
        allowed = P.tril(P.ones_like(scores), diagonal=0)
        scores = P.where(allowed > 0, scores, P.full_like(scores, -1e30))
    return P.transpose(P.matmul(F.softmax(scores, -1), v), [0, 2, 1, 3])


COMPOSED["softmax_mask_fuse"] = lambda x, mask: F.softmax(x + mask, -1)


@composes("softmax_mask_fuse_upper_triangle")
def _triangle(x: Any) -> Any:
    return F.softmax(P.where(P.tril(P.ones_like(x)) > 0, x, P.full_like(x, -1e30)), -1)


@composes("cosine_similarity")
def _cosine(x1: Any, x2: Any, axis: int, eps: float) -> Any:
    n = P.sqrt(P.sum(x1 * x1, axis) * P.sum(x2 * x2, axis))
    return P.sum(x1 * x2, axis) / P.clip(n, min=eps)


@composes("pairwise_distance")
def _pairwise(x: Any, y: Any, p: Any, epsilon: float, keepdim: bool) -> Any:
    return P.linalg.norm(x - y + epsilon, p, -1, keepdim)


@composes("cdist")
def _cdist(x: Any, y: Any, p: Any, compute_mode: str = "") -> Any:
    return P.linalg.norm(P.unsqueeze(x, -2) - P.unsqueeze(y, -3), p, -1)


# ---- recurrence ----


@writes("rnn")
def _rnn(w: Writing, a: SimpleNamespace) -> Any:
    weights = list(a.weights)
    if len(weights) > 4 and weights[4] is not None:
        raise errors.NotImplemented_("a projection")
    if a.lengths is not None and not a.padded:
        raise errors.NotImplemented_("sequence lengths with a cell")
    x = w.ref(a.x)
    if not a.time_major:
        x = w.op("transpose", x, results=[(x.dtype, (x.shape[1], x.shape[0], x.shape[2]))], perm=[1, 0, 2])[0]
    time, batch, inputs = x.shape
    w_ih, w_hh = (w.ref(t) for t in weights[:2])
    hidden, gates = w_hh.shape[1], w_ih.shape[0]
    biases = [w.full(0.0, x.dtype, [gates]) if b is None else w.ref(b) for b in weights[2:4]]
    count = 2 if a.mode == "LSTM" else 1
    if a.states is None:
        shape = [1, batch, hidden]
        if batch < 0:
            length = w.op("slice", w.op("shape64", x, results=[("int64", (3,))])[0], w.ints([1]), w.ints([2]),
                          results=[("int64", ())], axes=[0], infer_flags=[1], decrease_axis=[0])[0]  # fmt: skip
            zero = w.op(
                "full_with_tensor", w.full(0.0, x.dtype, [1]), w.ints([1, length, hidden]), results=[(x.dtype, shape)],
                dtype=x.dtype,
            )[0]  # fmt: skip
        else:
            zero = w.full(0.0, x.dtype, shape)
        states = [zero] * count
    else:
        states = [w.op("unsqueeze", s, w.ints([0]), results=[(x.dtype, (1, *w.ref(s).shape))])[0] for s in a.states]
    if a.reverse:  # an official layer runs backwards only beside one that runs forwards
        if a.lengths is not None:
            raise errors.NotImplemented_("a reversed layer with sequence lengths")
        x = w.op("flip", x, results=[(x.dtype, x.shape)], axis=[0])[0]
    out_type = (x.dtype, (time, batch, hidden))
    state_type = (x.dtype, (1, batch, hidden))
    out, _, states_out, _ = w.op(
        "rnn", x, states, [w_ih, w_hh, *biases], None if a.lengths is None else w.cast(a.lengths, "int32"),
        w.full(0, "uint8"),
        results=[out_type, ("uint8", (-1,)), state_type, (x.dtype, (-1,))], dropout_prob=0.0, is_bidirec=False,
        input_size=inputs, hidden_size=hidden, num_layers=1, mode=a.mode, seed=0, is_test=True,
    )  # fmt: skip
    w.operations[-1]["O"][2]["TT"] = list_tree([type_tree(*state_type)] * count)
    parts = [w.new(*state_type, states_out.stop) for _ in range(count)]
    w.add("0.split", [states_out.number], parts, [])
    if a.reverse:
        out = w.op("flip", out, results=[out_type], axis=[0])[0]
    if not a.time_major:
        out = w.op("transpose", out, results=[w.results[0]], perm=[1, 0, 2])[0]
    ends = [w.op("squeeze", p, w.ints([0]), results=[(x.dtype, (batch, hidden))])[0] for p in parts]
    return [out, *ends]


@composes("rnn_cell")
def _rnn_cell(x: Any, states: Any, weights: Any, mode: str) -> Any:
    w_ih, w_hh, b_ih, b_hh, projection = weights
    if states is None:
        raise errors.NotImplemented_("a cell without states")
    z, u = P.matmul(x, w_ih, transpose_y=True), P.matmul(states[0], w_hh, transpose_y=True)
    z, u = (t if b is None else t + b for t, b in ((z, b_ih), (u, b_hh)))
    if mode == "LSTM":
        i, f, g, o = P.split(z + u, 4, axis=-1)
        c = F.sigmoid(f) * states[1] + F.sigmoid(i) * P.tanh(g)
        new = [F.sigmoid(o) * P.tanh(c), c]
    elif mode == "GRU":
        (z_r, z_u, z_c), (u_r, u_u, u_c) = P.split(z, 3, axis=-1), P.split(u, 3, axis=-1)
        update = F.sigmoid(z_u + u_u)
        candidate = P.tanh(z_c + F.sigmoid(z_r + u_r) * u_c)
        new = [update * states[0] + (1 - update) * candidate]
    else:
        new = [P.tanh(z + u) if mode == "RNN_TANH" else F.relu(z + u)]
    return [P.matmul(new[0], projection), *new[1:]] if projection is not None else new
