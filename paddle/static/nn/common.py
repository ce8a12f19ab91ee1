"""Layers of programs that multiply: fully connected, embedding, bilinear, and smaller ones."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...engine import errors
from ...engine.op import op
from ...engine.tensor import Tensor
from ...nn import functional as F
from ...nn.initializer import Constant
from ...nn.parameter import ParamAttr
from ...ops.joining import add_n
from ...ops.linalg import matmul
from ...ops.manipulation import flatten, squeeze
from ...ops.selection import where
from .builder import Builder

__all__ = [
    "bilinear_tensor_product",
    "continuous_value_model",
    "embedding",
    "fc",
    "nce",
    "prelu",
    "row_conv",
    "sparse_embedding",
]


@errors.clean
def fc(
    x: Any,
    size: int,
    num_flatten_dims: int = 1,
    weight_attr: Any = None,
    bias_attr: Any = None,
    activation: str | None = None,
    name: str | None = None,
    *,
    act: str | None = None,
) -> Tensor:
    """A fully connected layer: the trailing axes of x, flattened, times a matrix, plus a bias.

    Args:
        x: a tensor, or a list of tensors whose products are added.
        size: how many numbers come out.
        num_flatten_dims: the axes that stay; negative values count from the end.
        weight_attr, bias_attr: a ParamAttr or a short form of it; ``bias_attr=False`` for no bias.
        activation: the name of a function of `paddle.nn.functional`. The older keyword `act` means the same.
        name: replaces the generated name of the layer.

    Raises:
        ValueError: `num_flatten_dims` out of range, trailing lengths that are not known.
        TypeError: x is no tensor of floats.

    Example:
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     x = paddle.static.data("x", [None, 3, 4])
        ...     paddle.static.nn.fc(x, 5).shape
        [-1, 5]
    """
    layer = Builder("fc", name)
    products = []
    inputs = list(x) if isinstance(x, (list, tuple)) else [x]
    attrs = list(weight_attr) if isinstance(weight_attr, (list, tuple)) else [weight_attr] * len(inputs)
    for each, attr in zip(inputs, attrs):
        layer.check("x", each)
        axes = num_flatten_dims + each.ndim if num_flatten_dims < 0 else num_flatten_dims
        if not 1 <= axes < each.ndim:
            raise errors.ValueError_(
                f"fc: num_flatten_dims must leave an axis of x to multiply, got {num_flatten_dims} and shape "
                f"{list(each.shape)}"
            )
        width = math.prod(layer.fixed("x", each.shape[axes:]))
        weight = layer.parameter(attr, [width, size], each.dtype)
        flat = each if axes == each.ndim - 1 else flatten(each, axes)
        products.append(layer.named(matmul(flat, weight)))
    out = products[0] if len(products) == 1 else layer.named(add_n(products))
    bias = layer.parameter(bias_attr, [size], out.dtype, is_bias=True)
    if bias is not None:
        out = layer.named(out + bias)
    act = activation or act
    return out if act is None else layer.finish(_activated("fc", act, out))


def _activated(kind: str, act: Any, x: Tensor) -> Tensor:
    from .builder import activation

    return activation(kind, act)(x)


@errors.clean
def embedding(
    input: Tensor,
    size: Any,
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
) -> Tensor:
    """Rows of a table of parameters.

    Args:
        input: numbers of rows, of any shape.
        size: [rows, columns].
        is_sparse, is_distributed: parameter servers, where there are any, hold the table by rows.
        padding_idx: a row that gives zeros; negative values count from the end.
        param_attr: a ParamAttr for the table.
        dtype: of the table.
    """
    layer = Builder("embedding")
    layer.check("input", input, "int16 int32 int64")
    table = layer.parameter(param_attr, list(size), dtype)
    if is_sparse or is_distributed:
        _by_rows(table, param_attr)
    return layer.finish(F.embedding(input, table, padding_idx))


def _by_rows(table: Any, param_attr: Any, entry: Any = None) -> None:
    """Mark a parameter as a table that parameter servers may hold."""
    table.row_sparse, table.entry = True, entry
    table.row_initializer = getattr(ParamAttr._to_attr(param_attr), "initializer", None)


@errors.clean
def sparse_embedding(
    input: Tensor,
    size: Any,
    padding_idx: int | None = None,
    is_test: bool = False,
    entry: Any = None,
    table_class: str = "MemorySparseTable",
    param_attr: Any = None,
    dtype: Any = "float32",
    slot: Any = None,
) -> Tensor:
    """Rows of a table that parameter servers hold; in one process the same as `embedding`.

    Args:
        input: ids, int64; a last axis of length 1 is dropped. Servers take any id, whatever `size` says.
        size: [rows, columns].
        padding_idx: an id that gives zeros and is never sent.
        is_test: accepted; looking rows up does not make them.
        entry: which ids get a row: `paddle.distributed.CountFilterEntry`, `ProbabilityEntry` or `ShowClickEntry`; default:
            all.
        table_class: "MemorySparseTable".
        param_attr: a ParamAttr, whose initializer gives rows their first values.
        dtype: float32.
        slot: accepted.

    Raises:
        TypeError: ids of another type, an `entry` of another kind.
        ValueError: another `table_class`.
    """
    layer = Builder("embedding")
    layer.check("input", input, "int32 int64")
    if table_class not in ("MemorySparseTable", "CommonSparseTable"):
        raise errors.ValueError_(f"sparse_embedding: table_class must be 'MemorySparseTable', got {table_class!r}")
    if entry is not None and not hasattr(entry, "_to_attr"):
        raise errors.TypeError_(
            "sparse_embedding: entry must be a CountFilterEntry, ProbabilityEntry or ShowClickEntry, got "
            f"{errors.describe(entry)}"
        )
    table = layer.parameter(param_attr, list(size), dtype)
    _by_rows(table, param_attr, entry)
    ids = squeeze(input, -1) if input.ndim > 1 and input.shape[-1] == 1 else input
    return layer.finish(F.embedding(ids, table, padding_idx))


@errors.clean
def prelu(x: Tensor, mode: str, param_attr: Any = None, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """x where it is positive, elsewhere x times a parameter.

    Args:
        mode: "all" (one parameter), "channel" or "element" (one for each element of a sample).
        data_format: NCHW or NHWC, and those of other ranks.

    Raises ValueError for another mode.
    """
    layer = Builder("prelu", name)
    layer.check("x", x)
    if mode == "all":
        shape = [1]
    elif mode == "channel":
        channel = 1 if data_format[1] == "C" else x.ndim - 1
        shape = [int(n) if i == channel else 1 for i, n in enumerate(x.shape)]
    elif mode == "element":
        shape = [1, *x.shape[1:]]
    else:
        raise errors.ValueError_(f"prelu: mode must be 'all', 'channel' or 'element', got {mode!r}")
    slope = layer.parameter(param_attr, layer.fixed("x", shape), x.dtype, initializer=Constant(0.25))
    return layer.finish(where(x > 0, x, x * slope))


@errors.clean
def bilinear_tensor_product(
    x: Tensor,
    y: Tensor,
    size: int,
    act: str | None = None,
    name: str | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
) -> Tensor:
    """``x W[k] y`` for each of `size` matrices of parameters, plus a bias.

    Args:
        x, y: shapes [N, M] and [N, K].
        size: how many numbers come out.
        act: the name of an activation.
    """
    layer = Builder("bilinear_tensor_product", name)
    layer.check("x", x), layer.check("y", y)
    weight = layer.parameter(param_attr, [size, *layer.fixed("x and y", [x.shape[1], y.shape[1]])], x.dtype)
    bias = layer.parameter(bias_attr, [1, size], x.dtype, is_bias=True)
    return layer.finish(F.bilinear(x, y, weight, bias), act)


@op(method=False, export=False, name="row_conv")
def _row_conv(x, weight):
    steps, length = weight.shape[0], x.shape[1]
    padded = jnp.pad(x, [(0, 0), (0, steps - 1), (0, 0)])
    return sum(jax.lax.slice_in_dim(padded, k, k + length, axis=1) * weight[k] for k in range(steps))


@errors.clean
def row_conv(input: Tensor, future_context_size: int, param_attr: Any = None, act: str | None = None) -> Tensor:
    """Each step plus the next ones, each times its own row of parameters (Amodei et al., "Deep Speech 2", 2016).

    Args:
        input: shape [batch, steps, channels].
        future_context_size: how many further steps are seen.
    """
    layer = Builder("row_conv")
    layer.check("input", input)
    if input.ndim != 3:
        raise errors.ValueError_(f"row_conv: input must be [batch, steps, channels], got {list(input.shape)}")
    weight = layer.parameter(param_attr, [future_context_size + 1, *layer.fixed("input", input.shape[2:])], input.dtype)
    return layer.finish(_row_conv(input, weight), act)


def _cvm_gradient(inputs, outputs, cotangents, use_cvm):
    x, cvm = inputs
    g = cotangents[0]
    rest = g[:, 2:] if use_cvm else g
    return jnp.concatenate([cvm.astype(x.dtype), rest], 1), jnp.zeros_like(cvm)


@op(method=False, export=False, name="cvm", gradient=_cvm_gradient)
def _cvm(x, cvm, use_cvm=True):
    if not use_cvm:
        return x[:, 2:]
    show, click = jnp.log(x[:, :1] + 1), jnp.log(x[:, 1:2] + 1)
    return jnp.concatenate([show, click - show, x[:, 2:]], 1)


def continuous_value_model(input: Tensor, cvm: Tensor, use_cvm: bool = True) -> Tensor:
    """Features whose first two columns are counts of shows and clicks, as logarithms, or without these columns.

    Args:
        input: shape [N, D].
        cvm: shape [N, 2]: the gradient of the first two columns, officially.
        use_cvm: False drops the two columns.
    """
    return _cvm(input, cvm, use_cvm)


@op(method=False, export=False, random=True, name="nce", static="sampler classes negatives")
def _nce(key, x, label, weight, bias, sample_weight, distribution, classes, negatives, sampler="uniform"):
    label = label.astype(np.int32).reshape(label.shape[0], -1)
    shape = (x.shape[0], negatives)
    if sampler == "uniform":
        drawn = jax.random.randint(key, shape, 0, classes)
    elif sampler == "log_uniform":
        drawn = jnp.exp(jax.random.uniform(key, shape) * math.log(classes + 1)).astype(np.int32) - 1
        drawn = jnp.clip(drawn, 0, classes - 1)
    else:
        drawn = jax.random.categorical(key, jnp.log(distribution), shape=shape)
    targets = jnp.concatenate([label, drawn], 1)
    logits = jnp.einsum("nd,nkd->nk", x, weight[targets])
    if bias is not None:
        logits = logits + bias.reshape(-1)[targets]
    if sampler == "uniform":
        likely = jnp.full(targets.shape, 1 / classes, x.dtype)
    elif sampler == "log_uniform":
        likely = jnp.log((targets + 2) / (targets + 1)) / math.log(classes + 1)
    else:
        likely = distribution[targets]
    odds = jax.nn.sigmoid(logits)
    noise = likely.astype(x.dtype) * negatives
    true = jnp.arange(targets.shape[1]) < label.shape[1]
    cost = -jnp.log(jnp.where(true, odds, noise) / (odds + noise)).sum(1, keepdims=True)
    return cost if sample_weight is None else cost * sample_weight.reshape(-1, 1)


@errors.clean
def nce(
    input: Tensor,
    label: Tensor,
    num_total_classes: int,
    sample_weight: Tensor | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    num_neg_samples: int | None = None,
    name: str | None = None,
    sampler: str = "uniform",
    custom_dist: Any = None,
    seed: int = 0,
    is_sparse: bool = False,
) -> Tensor:
    """Noise-contrastive estimation (Gutmann and Hyvärinen, 2010): a loss over many classes of which few are drawn.

    Args:
        input: shape [N, D].
        label: shape [N, labels].
        num_total_classes: how many classes there are.
        sample_weight: shape [N, 1].
        num_neg_samples: how many wrong classes are drawn for each row; default 10.
        sampler: "uniform", "log_uniform" or "custom_dist", which draws with the probabilities `custom_dist`.
        seed, is_sparse: accepted.

    Returns:
        The cost of each row, [N, 1].

    Raises:
        ValueError: another sampler, or no `custom_dist` for it.
    """
    layer = Builder("nce", name)
    layer.check("input", input), layer.check("label", label, "int32 int64")
    if sampler not in ("uniform", "log_uniform", "custom_dist"):
        raise errors.ValueError_(f"nce: sampler must be 'uniform', 'log_uniform' or 'custom_dist', got {sampler!r}")
    negatives = 10 if num_neg_samples is None else int(num_neg_samples)
    weight = layer.parameter(param_attr, [num_total_classes, *layer.fixed("input", input.shape[1:])], input.dtype)
    bias = layer.parameter(bias_attr, [num_total_classes, 1], input.dtype, is_bias=True)
    distribution = None
    if sampler == "custom_dist":
        if custom_dist is None or len(custom_dist) != num_total_classes:
            raise errors.ValueError_("nce: the sampler 'custom_dist' needs custom_dist, one probability for each class")
        distribution = np.asarray(custom_dist, np.float32)
    cost = _nce(input, label, weight, bias, sample_weight, distribution, num_total_classes, negatives, sampler)
    return layer.finish(cost / (negatives + 1))
