"""How units travel through operators. An operator without a rule holds what reaches it."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from paddle.engine.value import Value
from paddle.ir.program import Operator

from .propagation import Propagation, compressed, rule, varying
from .units import KEPT

ELEMENTWISE = """
    abs add add_n acos acosh alpha_dropout asin asinh assign atan atan2 atanh bound cast ceil celu clip copysign cos cosh
    divide dropout dropout_scale elu equal erf exp expm1 floor floor_divide fmax fmin gelu greater_equal greater_than
    hardshrink hardsigmoid hardswish hardtanh integer_pow leaky_relu lerp less_equal less_than log log10 log1p log2
    log_sigmoid logical_and logical_not logical_or logsigmoid maximum minimum mish multiply neg not_equal pow reciprocal
    relu relu6 remainder round rrelu rsqrt scale selu sigmoid sign silu sin sinh softplus softshrink softsign sqrt square
    stanh stop_gradient subtract swish tan tanh tanhshrink thresholded_relu trunc where
""".split()


def channel_axis(data_format: Any, ndim: int) -> int:
    """The axis of the channels of a data format such as "NCHW" or "NHWC"."""
    return ndim - 1 if str(data_format).endswith("C") and ndim > 2 else 1


def operands(operator: Operator) -> list[Any]:
    return [x for x in operator.inputs if isinstance(x, Value) or np.ndim(x)]


@rule(*ELEMENTWISE)
def elementwise(p: Propagation, operator: Operator, given: dict) -> None:
    labels = p.joined(operands(operator), f"operator {operator.name} meets a value of fixed channels")
    for value in operator.outputs:
        p.put(value, labels.reshape((1,) * (value.ndim - labels.ndim) + labels.shape))


# ---- weights ----


def _with_weight(p: Propagation, operator: Operator, weight: Any) -> bool:
    if p.is_state(weight):
        return True
    p.block_operator(operator, "has a weight that is computed")
    return False


def _vector(p: Propagation, operator: Operator, ids: np.ndarray, *vectors: Any) -> None:
    """Biases and the like go with the channels."""
    for vector in vectors:
        if not isinstance(vector, Value):
            continue
        if p.is_state(vector) and vector.ndim == 1 and vector.shape[0] == len(ids):
            p.units.join(p.axis(vector, 0), ids)
        elif vector in p.labels and vector.ndim == 1:
            p.units.join(p.along(vector, 0), ids)
        else:
            p.block(vector, f"operator {operator.name} reads it in an unusual shape")
            p.units.hold(ids, f"operator {operator.name} reads a vector of an unusual shape")


@rule("conv1d", "conv2d", "conv3d", "conv1d_transpose", "conv2d_transpose", "conv3d_transpose")
def convolution(p: Propagation, operator: Operator, given: dict) -> None:
    x, weight, groups = given["x"], given["weight"], int(given["groups"])
    if not _with_weight(p, operator, weight):
        return
    axis = channel_axis(given["data_format"], x.ndim)
    ids, name = p.along(x, axis), p.states[weight]
    transposed = operator.name.endswith("transpose")
    first, second = p.axis(weight, 0), p.axis(weight, 1)
    out = second if transposed else first
    if groups == 1:
        p.units.join(first if transposed else second, ids)
    elif len(ids) == groups:  # depthwise: each input has outputs of its own
        many = len(second) if transposed else len(first) // groups
        if transposed:
            p.units.join(first, ids)
            p.units.hold(second, "the outputs of an input of a depthwise convolution stay together")
            out = np.repeat(first, many)
        else:
            p.units.join(first, np.repeat(ids, many))
        p.depthwise[name] = many
    else:  # of every group the same
        by_group = ids.reshape(groups, -1)
        p.units.join(by_group, by_group[:1])
        if transposed:
            p.units.join(first, ids)
            out = np.tile(second, groups)
        else:
            p.units.join(second, by_group[0])
            rows = first.reshape(groups, -1)
            p.units.join(rows, rows[:1])
    p.owners[name] = 1 if transposed and groups != len(ids) else 0
    _vector(p, operator, out, given.get("bias"))
    p.put_along(operator.outputs[0], axis, out)


@rule("linear")
def linear(p: Propagation, operator: Operator, given: dict) -> None:
    x, weight = given["x"], given["weight"]
    if not _with_weight(p, operator, weight):
        return
    p.units.join(p.axis(weight, 0), p.along(x, x.ndim - 1))
    out = p.axis(weight, 1)
    p.owners[p.states[weight]] = 1
    _vector(p, operator, out, given.get("bias"))
    p.put_along(operator.outputs[0], operator.outputs[0].ndim - 1, out)


@rule("matmul", "bmm")
def matmul(p: Propagation, operator: Operator, given: dict) -> None:
    x, y = given["x"], given["y"]
    turn_x, turn_y = bool(given.get("transpose_x")), bool(given.get("transpose_y"))
    (out,) = operator.outputs
    if not isinstance(x, Value) or not isinstance(y, Value) or x.ndim < 2 or y.ndim < 2:
        p.block_operator(operator, "multiplies by a vector or a constant")
    elif p.is_state(y) and y.ndim == 2 and not p.is_state(x):
        rows, columns = p.axis(y, int(turn_y)), p.axis(y, 1 - int(turn_y))
        p.units.join(rows, p.along(x, x.ndim - 2 if turn_x else x.ndim - 1))
        p.owners[p.states[y]] = 1 - int(turn_y)
        p.put_along(out, out.ndim - 1, columns)
    elif p.is_state(x) or p.is_state(y):
        p.block_operator(operator, "has a weight in an unusual place")
    else:
        _product(p, out, _matrices(p, x, turn_x), _matrices(p, y, turn_y))


def _matrices(p: Propagation, x: Value, turned: bool) -> tuple[np.ndarray, tuple]:
    labels, shape = p.of(x), p.shape(x)
    if turned:
        labels = np.swapaxes(labels, -1, -2)
        shape = (*shape[:-2], shape[-1], shape[-2])
    return labels, shape


def _product(p: Propagation, out: Value, left: tuple, right: tuple) -> None:
    """[..., M, K] times [..., K, N]: in each matrix the units along K meet; heads (leading axes) stay whole."""
    (x, x_shape), (y, y_shape) = left, right
    heads = any(a.shape[i] > 1 for a in (x, y) for i in range(a.ndim - 2))
    if heads:
        p.units.join(x, x[..., :1])
        p.units.join(y, y[..., :1, :])
        given = [(x[..., :1], (*x_shape[:-1], 1)), (y[..., :1, :], (*y_shape[:-2], 1, y_shape[-1]))]
        labels = p.joined_labels(given, "a product meets a value of fixed heads")
    else:
        k_x, k_y = x.reshape(x.shape[-2:]), y.reshape(y.shape[-2:])
        met = x_shape[-1]
        p.units.join(np.broadcast_to(k_x[:1], (1, met)), np.broadcast_to(k_y[:, :1].T, (1, met)))
        for a, axis in ((k_x, 1), (k_y, 0)):  # a matrix in which both axes have units
            if len(varying(a)) == 2:
                p.units.join(a, np.take(a, [0], 1 - axis))
        left_rows = k_x[:, :1] if k_x.shape[1] == 1 else np.full((1, 1), KEPT)
        right_columns = k_y[:1] if k_y.shape[0] == 1 else np.full((1, 1), KEPT)
        labels = p.joined_labels([(left_rows, (x_shape[-2], 1)), (right_columns, (1, y_shape[-1]))])
    p.put(out, labels.reshape((1,) * (out.ndim - labels.ndim) + labels.shape))


@rule("embedding")
def embedding(p: Propagation, operator: Operator, given: dict) -> None:
    weight = given["weight"]
    if not _with_weight(p, operator, weight):
        return
    p.units.hold(p.axis(weight, 0), "the rows of an embedding are its words")
    p.owners[p.states[weight]] = 1
    p.put_along(operator.outputs[0], operator.outputs[0].ndim - 1, p.axis(weight, 1))


@rule("prelu")
def prelu(p: Propagation, operator: Operator, given: dict) -> None:
    x, weight = given["x"], given["weight"]
    if isinstance(weight, Value) and weight.size > 1:
        _vector(p, operator, p.along(x, channel_axis(given["data_format"], x.ndim)), weight)
    p.put(operator.outputs[0], p.of(x))


@rule("batch_norm", "instance_norm")
def normalised_channels(p: Propagation, operator: Operator, given: dict) -> None:
    x = given["x"]
    axis = channel_axis(given["data_format"], x.ndim)
    ids = p.along(x, axis)
    _vector(p, operator, ids, *(given.get(n) for n in ("running_mean", "running_var", "weight", "bias")))
    p.put_along(operator.outputs[0], axis, ids)
    for value in operator.outputs[1:]:  # new statistics
        p.put_along(value, 0, ids)


@rule("layer_norm", "rms_norm", "group_norm")
def normalised_together(p: Propagation, operator: Operator, given: dict) -> None:
    """Every channel changes the statistics of the others, so all stay."""
    x = given["x"] if "x" in given else given["input"]
    if operator.name == "group_norm":
        axes = [channel_axis(given["data_format"], x.ndim), *range(2, x.ndim)]
    else:
        axes = list(range(x.ndim - len(np.atleast_1d(given["normalized_shape"])), x.ndim))
    _hold_along(p, operator, x, axes, "normalises over its channels")
    for value in (given.get("weight"), given.get("bias")):
        p.block(value, f"operator {operator.name} normalises over its channels")
    p.put(operator.outputs[0], p.of(x))
    for value in operator.outputs[1:]:
        p.put(value, np.full((1,) * value.ndim, KEPT))


def _hold_along(p: Propagation, operator: Operator, x: Value, axes: list[int], reason: str) -> None:
    labels = p.of(x)
    if any(labels.shape[a] > 1 for a in axes):
        p.units.hold(labels, f"operator {operator.name}{' at ' + operator.line if operator.line else ''} {reason}")


@rule("softmax", "log_softmax", "cumsum", "normalize")
def softmax(p: Propagation, operator: Operator, given: dict) -> None:
    x = given["x"]
    axis = given.get("axis")
    axes = list(range(x.ndim)) if axis is None else [int(a) % x.ndim for a in np.atleast_1d(axis)]
    _hold_along(p, operator, x, axes, "needs all elements of an axis")
    p.put(operator.outputs[0], p.of(x))


@rule("attention", "attention_dropout", "attention_heads_first")
def attention(p: Propagation, operator: Operator, given: dict) -> None:
    head = 1 if operator.name == "attention_heads_first" else 2
    parts = [given[n] for n in ("query", "key", "value")]
    if (
        len({p.shape(x)[head] for x in parts}) > 1
        or isinstance(given.get("mask"), Value)
        and p.shape(given["mask"])[1] > 1
    ):
        p.block_operator(operator, "shares heads, or has a mask for each head")
        return
    ids = [p.along(x, head) for x in parts]
    for other in ids[1:]:
        p.units.join(ids[0], other, "an attention meets heads that are fixed")
    p.put_along(operator.outputs[0], head, ids[0])


# ---- channels that stay apart ----


@rule(
    "max_pool", "max_pool_with_index", "avg_pool", "lp_pool", "adaptive_avg_pool", "adaptive_max_pool", "interpolate",
    "temporal_shift",
)  # fmt: skip
def spatial(p: Propagation, operator: Operator, given: dict) -> None:
    x = given["x"]
    last = given.get("last") if operator.name == "interpolate" else None
    axis = x.ndim - 1 if last else channel_axis(given.get("data_format", "NCHW"), x.ndim)
    if operator.name == "temporal_shift":
        p.block_operator(operator, "shifts a share of the channels")
        return
    ids = p.along(x, axis)
    for value in operator.outputs:
        p.put_along(value, axis, ids)


@rule("sum", "mean", "max", "min", "amax", "amin", "any", "all", "argmax", "argmin", "logsumexp", "prod", "std", "var")
def reduction(p: Propagation, operator: Operator, given: dict) -> None:
    x, (out,) = given["x"], operator.outputs
    axis = given.get("axis")
    axes = list(range(x.ndim)) if axis is None or np.size(axis) == 0 else [int(a) % x.ndim for a in np.atleast_1d(axis)]
    labels = p.of(x)
    if any(labels.shape[a] > 1 for a in axes):
        if operator.name == "sum":
            p.units.join(labels, labels[tuple(slice(0, 1) if a in axes else slice(None) for a in range(x.ndim))])
            if not [a for a in varying(labels) if a not in axes]:
                labels = np.full((1,) * x.ndim, KEPT)
        else:
            _hold_along(p, operator, x, axes, "takes all elements of an axis together")
            labels = np.full((1,) * x.ndim, KEPT)
    labels = labels[tuple(slice(0, 1) if a in axes else slice(None) for a in range(x.ndim))]
    p.put(
        out, labels if out.ndim == x.ndim else labels.reshape([n for i, n in enumerate(labels.shape) if i not in axes])
    )


# ---- movement ----


@rule("reshape", "flatten", "squeeze", "unsqueeze")
def reshaped(p: Propagation, operator: Operator, given: dict) -> None:
    x, (out,) = operator.inputs[0], operator.outputs
    labels, a, b = p.of(x), list(p.shape(x)), list(p.shape(out))
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    end_a, end_b = len(a) - tail, len(b) - tail
    around = (*labels.shape[:head], *labels.shape[end_a:])
    whole = np.broadcast_to(labels, (*labels.shape[:head], *a[head:end_a], *labels.shape[end_a:]))
    p.put(out, whole.reshape(*around[:head], *b[head:end_b], *around[head:]))


@rule("transpose")
def transpose(p: Propagation, operator: Operator, given: dict) -> None:
    p.put(operator.outputs[0], np.transpose(p.of(given["x"]), given["perm"]))


@rule("concat")
def concat(p: Propagation, operator: Operator, given: dict) -> None:
    (out,) = operator.outputs
    axis, parts = int(given["axis"]) % out.ndim, list(given["x"])
    labels = [p.of(x) for x in parts]
    if all(a.shape[i] == 1 for a in labels for i in range(out.ndim) if i != axis):
        p.put(
            out,
            np.concatenate(
                [np.broadcast_to(a, _with(a.shape, axis, p.shape(x)[axis])) for a, x in zip(labels, parts)], axis
            ),
        )
        return
    given_labels = []
    for a, x in zip(labels, parts):  # the units lie along other axes: the same for all parts
        p.units.join(a, np.take(a, [0], axis))
        given_labels.append((np.take(a, [0], axis), _with(p.shape(x), axis, 1)))
    p.put(out, p.joined_labels(given_labels, "a concatenation with a value of fixed channels"))


def _with(shape: tuple, axis: int, length: int) -> tuple:
    return (*shape[:axis], length, *shape[axis + 1 :])


@rule("stack")
def stack(p: Propagation, operator: Operator, given: dict) -> None:
    (out,) = operator.outputs
    p.put(out, np.expand_dims(p.joined(given["x"]), int(given["axis"]) % out.ndim))


@rule("unbind")
def unbind(p: Propagation, operator: Operator, given: dict) -> None:
    x = operator.inputs[0]
    axis, labels = int(given["axis"]) % x.ndim, p.of(x)
    p.units.join(labels, np.take(labels, [0], axis))
    if labels.shape[axis] > 1 and len(varying(labels)) == 1:
        p.units.hold(labels, "operator unbind takes the channels apart")
    for value in operator.outputs:
        p.put(value, np.take(labels, 0, axis))


@rule("split")
def split(p: Propagation, operator: Operator, given: dict) -> None:
    """Parts of equal length stay equal, so that code that divides by a number goes on working."""
    x = operator.inputs[0]
    axis, labels = int(given["axis"]) % x.ndim, p.of(x)
    if labels.shape[axis] == 1:
        for value in operator.outputs:
            p.put(value, labels)
        return
    lengths = [p.shape(v)[axis] for v in operator.outputs]
    parts = np.split(labels, np.cumsum(lengths)[:-1], axis)
    for value, part in zip(operator.outputs, parts):
        if len(set(lengths)) == 1:
            p.units.join(parts[0], part)
        p.put(value, part)


@rule("glu", "swiglu")
def gated(p: Propagation, operator: Operator, given: dict) -> None:
    if isinstance(given.get("y"), Value):
        elementwise(p, operator, given)
        return
    x = given["x"]
    axis, labels = int(given.get("axis", -1)) % x.ndim, p.of(x)
    if labels.shape[axis] > 1:
        labels, other = np.split(labels, 2, axis)
        p.units.join(labels, other)
    p.put(operator.outputs[0], labels)


@rule("pad")
def pad(p: Propagation, operator: Operator, given: dict) -> None:
    """Spatial padding belongs to the channel it lies in; added channels belong to no unit."""
    x, (out,) = operator.inputs[0], operator.outputs
    labels, padded = p.of(x), [i for i, (a, b) in enumerate(zip(p.shape(x), p.shape(out))) if a != b]
    if all(labels.shape[i] == 1 for i in padded):
        p.put(out, labels)
    elif len(varying(labels)) == 1 and given["mode"] == "constant" and not operator.open:
        (axis,) = varying(labels)
        moved(p, operator, given)
        p.put_along(out, axis, np.moveaxis(p.of(out), axis, 0).reshape(p.of(out).shape[axis], -1).max(1))
    else:
        p.block_operator(operator, "adds to its channels")


@rule(
    "expand",
    "tile",
    "flip",
    "roll",
    "pixel_shuffle",
    "pixel_unshuffle",
    "channel_shuffle",
    "slice_get",
    "getitem",
    "select",
)
def moved(p: Propagation, operator: Operator, given: dict) -> None:
    """Operators that move elements move their numbers in the same way."""
    x = operator.inputs[0]
    labels = p.of(x)
    if any(isinstance(v, Value) and v.known is None for v in list(operator.reads())[1:]):
        p.block_operator(operator, "takes elements at computed places")
        return
    whole = jnp.asarray(np.broadcast_to(labels, p.shape(x)), jnp.int32)
    entry = operator.entry(lambda v: np.asarray(v.known[0]), lambda v: v.trials[0])
    rest = [np.asarray(v.known[0]) if isinstance(v, Value) else v for v in operator.inputs[1:]]
    if operator.name == "pad":
        rest = [jnp.int32(KEPT) for _ in rest]
    out = entry.call(whole, *rest)
    found = compressed(np.asarray(out[0] if isinstance(out, (tuple, list)) else out).astype(np.int64))
    if operator.name in ("slice_get", "getitem", "select", "pad"):
        _of_part(p, operator, labels, found)
    elif operator.name in ("flip", "roll", "tile") and any(labels.shape[i] > 1 for i in _moved_axes(given, x)):
        p.units.hold(labels, f"operator {operator.name} moves its channels")
    elif operator.name in ("channel_shuffle", "pixel_shuffle"):
        _equal_groups(p, operator, given, labels)
    p.put(operator.outputs[0], found)


def _moved_axes(given: dict, x: Value) -> list[int]:
    axis = given.get("axis")
    return list(range(x.ndim)) if axis is None else [int(a) % x.ndim for a in np.atleast_1d(axis)]


def _equal_groups(p: Propagation, operator: Operator, given: dict, labels: np.ndarray) -> None:
    axis = channel_axis(given["data_format"], labels.ndim)
    if labels.shape[axis] == 1:
        return
    rows = np.moveaxis(labels, axis, 0)
    if operator.name == "channel_shuffle":  # of every group the same
        rows = rows.reshape(int(given["groups"]), -1)
        p.units.join(rows, rows[:1])
    else:  # those of a pixel together
        rows = rows.reshape(-1, int(given["upscale_factor"]) ** 2)
        p.units.join(rows, rows[:, :1])


def _of_part(p: Propagation, operator: Operator, labels: np.ndarray, found: np.ndarray) -> None:
    """A part of the channels: one of several equal blocks keeps its share, another part is held."""
    before, after = p.units.find(labels[labels != KEPT]), p.units.find(found[found != KEPT])
    if set(before.tolist()) <= set(after.tolist()) and (found != KEPT).any() == (labels != KEPT).any():
        return
    ids = labels.reshape(-1)
    taken = found.reshape(-1)
    start = np.flatnonzero(ids == taken[0]) if len(taken) else np.zeros(0, int)
    blocks = len(varying(labels)) == 1 and len(taken) > 1 and len(ids) % len(taken) == 0 and len(start) == 1
    if blocks and start[0] % len(taken) == 0 and np.array_equal(ids[start[0] : start[0] + len(taken)], taken):
        rows = ids.reshape(-1, len(taken))
        p.units.join(rows, rows[:1])
    else:
        where = f" at {operator.line}" if operator.line else ""
        p.units.hold(labels, f"operator {operator.name}{where} takes a part of the channels")
