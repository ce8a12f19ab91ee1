"""Layers and losses, by their names before version 2."""

from __future__ import annotations

from typing import Any

import paddle
from paddle.nn import functional as F

from ...engine import errors
from ...engine.tensor import Tensor
from ...metric.metrics import _accuracy
from ...static import nn as static_nn
from ...static.nn.builder import activation
from ..framework import in_dygraph_mode

__all__ = """fc embedding
prelu pool2d pool3d adaptive_pool2d adaptive_pool3d dropout softmax
cross_entropy softmax_with_cross_entropy sigmoid_cross_entropy_with_logits square_error_cost smooth_l1 huber_loss log_loss
mse_loss kldiv_loss rank_loss margin_rank_loss bpr_loss label_smooth topk one_hot reshape squeeze unsqueeze transpose split
stack unstack slice strided_slice gather gather_nd scatter scatter_nd scatter_nd_add expand expand_as pad pad2d flatten where
shape rank size relu relu6 leaky_relu elu selu gelu swish hard_sigmoid hard_swish brelu soft_relu mish maxout lrn
image_resize resize_bilinear resize_nearest pixel_shuffle unfold accuracy auc multiplex crop_tensor unique index_sample
grid_sampler temporal_shift shuffle_channel space_to_depth cosine_similarity sequence_mask dice_loss npair_loss warpctc triu tril cross
autoincreased_step_counter uniform_random_batch_size_like gaussian_random_batch_size_like""".split()

relu, relu6, selu, gelu, mish, multiplex = F.relu, F.relu6, F.selu, F.gelu, F.mish, paddle.multiplex


def _activated(out: Tensor, act: str | None) -> Tensor:
    return out if act is None else activation("fluid.layers", act)(out)


# ---- with parameters ----


def fc(
    input: Any,
    size: int,
    num_flatten_dims: int = 1,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
    is_test: bool = False,
) -> Tensor:
    """`paddle.static.nn.fc`."""
    return static_nn.fc(input, size, num_flatten_dims, param_attr, bias_attr, act, name)


def embedding(
    input: Tensor,
    size: Any,
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
) -> Tensor:
    """Rows of a table; a last axis of length 1 of `input` is dropped (`fluid.embedding` keeps it)."""
    ids = paddle.squeeze(input, -1) if input.ndim > 1 and input.shape[-1] == 1 else input
    return static_nn.embedding(ids, size, is_sparse, is_distributed, padding_idx, param_attr, dtype)


def prelu(x: Tensor, mode: str, param_attr: Any = None, name: str | None = None) -> Tensor:
    return static_nn.prelu(x, mode, param_attr, name=name)


# ---- pooling ----


def _pool(
    axes: int, input: Tensor, size: Any, kind: str, stride: Any, padding: Any, whole: bool, **options: Any
) -> Tensor:
    if kind not in ("max", "avg"):
        raise errors.ValueError_(f"pool{axes}d: pool_type must be 'max' or 'avg', got {kind!r}")
    if whole:
        data_format = options.get("data_format", "NCHW" if axes == 2 else "NCDHW")
        function = getattr(F, f"adaptive_{kind}_pool{axes}d")
        return function(input, 1) if data_format[1] == "C" else function(input, 1, data_format=data_format)
    if kind == "max":
        options.pop("exclusive")
    return getattr(F, f"{kind}_pool{axes}d")(input, size, stride, padding, **options)


def pool2d(
    input: Tensor,
    pool_size: Any = -1,
    pool_type: str = "max",
    pool_stride: Any = 1,
    pool_padding: Any = 0,
    global_pooling: bool = False,
    use_cudnn: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
    exclusive: bool = True,
    data_format: str = "NCHW",
) -> Tensor:
    """Pooling of images; `global_pooling` takes each whole picture."""
    options = dict(ceil_mode=ceil_mode, exclusive=exclusive, data_format=data_format)
    return _pool(2, input, pool_size, pool_type, pool_stride, pool_padding, global_pooling, **options)


def pool3d(
    input: Tensor,
    pool_size: Any = -1,
    pool_type: str = "max",
    pool_stride: Any = 1,
    pool_padding: Any = 0,
    global_pooling: bool = False,
    use_cudnn: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
    exclusive: bool = True,
    data_format: str = "NCDHW",
) -> Tensor:
    """Pooling of volumes; see `pool2d`."""
    options = dict(ceil_mode=ceil_mode, exclusive=exclusive, data_format=data_format)
    return _pool(3, input, pool_size, pool_type, pool_stride, pool_padding, global_pooling, **options)


def adaptive_pool2d(
    input: Tensor, pool_size: Any, pool_type: str = "max", require_index: bool = False, name: str | None = None
) -> Any:
    if pool_type == "max":
        return F.adaptive_max_pool2d(input, pool_size, require_index)
    return F.adaptive_avg_pool2d(input, pool_size)


def adaptive_pool3d(
    input: Tensor, pool_size: Any, pool_type: str = "max", require_index: bool = False, name: str | None = None
) -> Any:
    if pool_type == "max":
        return F.adaptive_max_pool3d(input, pool_size, require_index)
    return F.adaptive_avg_pool3d(input, pool_size)


# ---- activations ----


def softmax(input: Tensor, use_cudnn: bool = False, name: str | None = None, axis: int = -1) -> Tensor:
    return F.softmax(input, axis)


def dropout(
    x: Tensor,
    dropout_prob: float,
    is_test: bool = False,
    seed: int | None = None,
    name: str | None = None,
    dropout_implementation: str = "downgrade_in_infer",
) -> Tensor:
    """Dropout; by default the activations are scaled in inference, not in training."""
    mode = {"downgrade_in_infer": "downscale_in_infer"}.get(dropout_implementation, dropout_implementation)
    return F.dropout(x, dropout_prob, training=not is_test, mode=mode)


def leaky_relu(x: Tensor, alpha: float = 0.02, name: str | None = None) -> Tensor:
    return F.leaky_relu(x, alpha)


def elu(x: Tensor, alpha: float = 1.0, name: str | None = None) -> Tensor:
    return F.elu(x, alpha)


def swish(x: Tensor, beta: float = 1.0, name: str | None = None) -> Tensor:
    return x * F.sigmoid(x * beta)


def hard_sigmoid(x: Tensor, slope: float = 0.2, offset: float = 0.5, name: str | None = None) -> Tensor:
    return F.hardsigmoid(x, slope, offset)


def hard_swish(
    x: Tensor, threshold: float = 6.0, scale: float = 6.0, offset: float = 3.0, name: str | None = None
) -> Tensor:
    return x * paddle.clip(x + offset, 0.0, threshold) / scale


def brelu(x: Tensor, t_min: float = 0.0, t_max: float = 24.0, name: str | None = None) -> Tensor:
    return paddle.clip(x, t_min, t_max)


def soft_relu(x: Tensor, threshold: float = 40.0, name: str | None = None) -> Tensor:
    return paddle.log1p(paddle.exp(paddle.clip(x, -threshold, threshold)))


def maxout(x: Tensor, groups: int, name: str | None = None, axis: int = 1) -> Tensor:
    return F.maxout(x, groups, axis)


def lrn(
    input: Tensor,
    n: int = 5,
    k: float = 1.0,
    alpha: float = 1e-4,
    beta: float = 0.75,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Tensor:
    return F.local_response_norm(input, n, alpha * n, beta, k, data_format)


# ---- losses: one number for each row, [N, 1] ----


def _is_one_hot(input: Tensor, label: Tensor) -> bool:
    """A whole-number label with as many columns as there are classes holds a 1 for the class."""
    return label.ndim == input.ndim and label.shape[-1] == input.shape[-1] and input.shape[-1] != 1


def _column(label: Tensor, ndim: int) -> Tensor:
    return label if label.ndim == ndim else paddle.unsqueeze(label, -1)


def cross_entropy(input: Tensor, label: Tensor, soft_label: bool = False, ignore_index: int = -100) -> Tensor:
    """The negative logarithm of the probability of the class, [N, 1].

    Args:
        input: probabilities [N, ..., classes].
        label: classes [N, ..., 1]; or, with `soft_label` or with whole numbers in as many columns as there are classes,
            a distribution for each row.
        ignore_index: a class that gives 0.
    """
    logs = paddle.log(paddle.clip(input, 1e-20, None))
    if soft_label or _is_one_hot(input, label):
        return -paddle.sum(label.astype(input.dtype) * logs, -1, keepdim=True)
    label = _column(label, input.ndim)
    ignored = label == ignore_index
    chosen = paddle.take_along_axis(logs, paddle.where(ignored, paddle.zeros_like(label), label), -1)
    return paddle.where(ignored, paddle.zeros_like(chosen), -chosen)


def softmax_with_cross_entropy(
    logits: Tensor,
    label: Tensor,
    soft_label: bool = False,
    ignore_index: int = -100,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """`paddle.nn.functional.softmax_with_cross_entropy`; see `cross_entropy` for labels with a column for each class."""
    if not soft_label and _is_one_hot(logits, label):
        soft_label, label = True, label.astype(logits.dtype)
    if not soft_label and label.ndim < logits.ndim:
        label = paddle.unsqueeze(label, axis)
    return F.softmax_with_cross_entropy(
        logits, label, soft_label, ignore_index, numeric_stable_mode, return_softmax, axis
    )


def sigmoid_cross_entropy_with_logits(
    x: Tensor, label: Tensor, ignore_index: int = -100, name: str | None = None, normalize: bool = False
) -> Tensor:
    label = label.astype(x.dtype)
    kept = (label != ignore_index).astype(x.dtype)
    loss = (F.relu(x) - x * label + paddle.log1p(paddle.exp(-paddle.abs(x)))) * kept
    return loss / paddle.clip(paddle.sum(kept), 1e-5, None) if normalize else loss


def square_error_cost(input: Tensor, label: Tensor) -> Tensor:
    return F.square_error_cost(input, label)


def smooth_l1(
    x: Tensor,
    y: Tensor,
    inside_weight: Tensor | None = None,
    outside_weight: Tensor | None = None,
    sigma: float | None = None,
) -> Tensor:
    """The smooth L1 loss of each row, [N, 1]; below 1 / sigma**2 it is a parabola."""
    square = (1.0 if sigma is None else sigma) ** 2
    difference = x - y if inside_weight is None else (x - y) * inside_weight
    far = paddle.abs(difference)
    loss = paddle.where(far < 1 / square, difference * difference * (0.5 * square), far - 0.5 / square)
    loss = loss if outside_weight is None else loss * outside_weight
    return paddle.sum(paddle.flatten(loss, 1), 1, keepdim=True)


def huber_loss(input: Tensor, label: Tensor, delta: float) -> Tensor:
    far = paddle.abs(label - input)
    return paddle.where(far <= delta, far * far * 0.5, far * delta - 0.5 * delta * delta)


def log_loss(input: Tensor, label: Tensor, epsilon: float = 1e-4, name: str | None = None) -> Tensor:
    return F.log_loss(input, label, epsilon)


def mse_loss(input: Tensor, label: Tensor) -> Tensor:
    return F.mse_loss(input, label).reshape([1])


def kldiv_loss(x: Tensor, target: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    out = F.kl_div(x, target, reduction)
    return out if out.ndim else out.reshape([1])


def rank_loss(label: Tensor, left: Tensor, right: Tensor, name: str | None = None) -> Tensor:
    """The loss of RankNet (Burges et al., 2005)."""
    difference = left - right
    return F.softplus(difference) - label * difference


def margin_rank_loss(
    label: Tensor, left: Tensor, right: Tensor, margin: float = 0.1, name: str | None = None
) -> Tensor:
    return F.relu(-label * (left - right) + margin)


def bpr_loss(input: Tensor, label: Tensor, name: str | None = None) -> Tensor:
    """Bayesian personalised ranking (Rendle et al., 2009), [N, 1]."""
    label = _column(label, input.ndim)
    chosen = paddle.take_along_axis(input, label, -1)
    loss = F.softplus(input - chosen)
    own = F.one_hot(paddle.squeeze(label, -1), int(input.shape[-1])).astype(input.dtype)
    return paddle.sum(loss * (1 - own), -1, keepdim=True) / (int(input.shape[-1]) - 1)


def label_smooth(
    label: Tensor,
    prior_dist: Tensor | None = None,
    epsilon: float = 0.1,
    dtype: Any = "float32",
    name: str | None = None,
) -> Tensor:
    return F.label_smooth(label.astype(dtype), prior_dist, epsilon)


def accuracy(
    input: Tensor, label: Tensor, k: int = 1, correct: Tensor | None = None, total: Tensor | None = None
) -> Tensor:
    """The share of rows whose label is among the k largest, [1]."""
    from ...static.metric import accuracy as measure

    if in_dygraph_mode() and correct is None and total is None:
        return _accuracy(input, _column(label, 2), k)[0].reshape([1])
    return measure(input, label, k, correct, total).reshape([1])


def auc(
    input: Tensor,
    label: Tensor,
    curve: str = "ROC",
    num_thresholds: int = 2**12 - 1,
    topk: int = 1,
    slide_steps: int = 1,
) -> Any:
    """`paddle.static.auc`, with areas of shape [1]."""
    from ...static.metric import auc as measure

    whole, batch, states = measure(input, label, curve, num_thresholds, topk, slide_steps)
    return whole.reshape([1]), batch.reshape([1]), states


# ---- shapes and indices ----


def topk(input: Tensor, k: Any, name: str | None = None) -> Any:
    return paddle.topk(input, k)


def one_hot(input: Tensor, depth: Any, allow_out_of_range: bool = False) -> Tensor:
    """Whole numbers [N, 1] as rows with a 1 (`fluid.one_hot` appends an axis instead)."""
    ids = paddle.squeeze(input, -1) if input.ndim > 1 and input.shape[-1] == 1 else input
    return F.one_hot(ids, depth)


def reshape(
    x: Tensor,
    shape: Any,
    actual_shape: Any = None,
    act: str | None = None,
    inplace: bool = False,
    name: str | None = None,
) -> Tensor:
    return _activated(paddle.reshape(x, shape if actual_shape is None else actual_shape), act)


def squeeze(input: Tensor, axes: Any, name: str | None = None) -> Tensor:
    return paddle.squeeze(input, axes or None)


def unsqueeze(input: Tensor, axes: Any, name: str | None = None) -> Tensor:
    return paddle.unsqueeze(input, axes)


def transpose(x: Tensor, perm: Any, name: str | None = None) -> Tensor:
    return paddle.transpose(x, perm)


def split(input: Tensor, num_or_sections: Any, dim: Any = -1, name: str | None = None) -> Any:
    return paddle.split(input, num_or_sections, dim)


def stack(x: Any, axis: int = 0, name: str | None = None) -> Tensor:
    return paddle.stack(list(x) if isinstance(x, (list, tuple)) else [x], axis)


def unstack(x: Tensor, axis: int = 0, num: int | None = None) -> Any:
    return paddle.unstack(x, axis, num)


def slice(input: Tensor, axes: Any, starts: Any, ends: Any) -> Tensor:
    return paddle.slice(input, axes, starts, ends)


def strided_slice(input: Tensor, axes: Any, starts: Any, ends: Any, strides: Any) -> Tensor:
    return paddle.strided_slice(input, axes, starts, ends, strides)


def gather(input: Tensor, index: Tensor, overwrite: bool = True) -> Tensor:
    return paddle.gather(input, index)


def gather_nd(input: Tensor, index: Tensor, name: str | None = None) -> Tensor:
    return paddle.gather_nd(input, index)


def scatter(input: Tensor, index: Tensor, updates: Tensor, name: str | None = None, overwrite: bool = True) -> Tensor:
    return paddle.scatter(input, index, updates, overwrite)


def scatter_nd(index: Tensor, updates: Tensor, shape: Any, name: str | None = None) -> Tensor:
    return paddle.scatter_nd(index, updates, shape)


def scatter_nd_add(ref: Tensor, index: Tensor, updates: Tensor, name: str | None = None) -> Tensor:
    return paddle.scatter_nd_add(ref, index, updates)


def index_sample(x: Tensor, index: Tensor) -> Tensor:
    return paddle.index_sample(x, index)


def expand(x: Tensor, expand_times: Any, name: str | None = None) -> Tensor:
    """x repeated so many times along each axis."""
    return paddle.tile(x, expand_times)


def expand_as(x: Tensor, target_tensor: Tensor, name: str | None = None) -> Tensor:
    """x repeated along each axis to the shape of `target_tensor`."""
    times = [t // n for t, n in zip(target_tensor.shape, x.shape)]
    return paddle.tile(x, times)


def pad(x: Tensor, paddings: Any, pad_value: float = 0.0, name: str | None = None) -> Tensor:
    """Padding of every axis: `paddings` has two numbers for each."""
    return F.pad(x, list(paddings), "constant", pad_value)


def pad2d(
    input: Tensor,
    paddings: Any = (0, 0, 0, 0),
    mode: str = "constant",
    pad_value: float = 0.0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Padding of images: top, bottom, left, right."""
    top, bottom, left, right = paddings
    mode = {"edge": "replicate"}.get(mode, mode)
    return F.pad(input, [left, right, top, bottom], mode, pad_value, data_format)


def crop_tensor(x: Tensor, shape: Any = None, offsets: Any = None, name: str | None = None) -> Tensor:
    return paddle.crop(x, shape, offsets)


def flatten(x: Tensor, axis: int = 1, name: str | None = None) -> Tensor:
    """A matrix: the axes before `axis` are the rows."""
    rows: Any = 1
    for n in x.shape[:axis]:
        rows = rows * n
    return paddle.reshape(x, [rows, -1] if int(rows) >= 0 else [-1, _product(x.shape[axis:])])


def _product(lengths: Any) -> Any:
    product: Any = 1
    for n in lengths:
        product = product * n
    return product


def where(condition: Tensor) -> Tensor:
    """The indices of the True elements, [n, ndim]."""
    return paddle.nonzero(condition)


def unique(x: Tensor, dtype: Any = "int32") -> tuple[Tensor, Tensor]:
    """(the distinct elements, for each element of x the number of its value)."""
    return paddle.unique(x, return_inverse=True, dtype=dtype)


def shape(input: Tensor) -> Tensor:
    return paddle.shape(input)


def rank(input: Tensor) -> Tensor:
    return paddle.full([1], input.ndim, "int32")


def size(input: Tensor) -> Tensor:
    return paddle.numel(input).reshape([1])


# ---- pictures ----


def image_resize(
    input: Tensor,
    out_shape: Any = None,
    scale: Any = None,
    name: str | None = None,
    resample: str = "BILINEAR",
    actual_shape: Any = None,
    align_corners: bool = True,
    align_mode: int = 1,
    data_format: str = "NCHW",
) -> Tensor:
    mode = resample.lower()
    corners = align_corners and mode != "nearest"
    return F.interpolate(input, out_shape, scale, mode, corners, align_mode, data_format)


def resize_bilinear(
    input: Tensor,
    out_shape: Any = None,
    scale: Any = None,
    name: str | None = None,
    actual_shape: Any = None,
    align_corners: bool = True,
    align_mode: int = 1,
    data_format: str = "NCHW",
) -> Tensor:
    return image_resize(input, out_shape, scale, name, "BILINEAR", None, align_corners, align_mode, data_format)


def resize_nearest(
    input: Tensor,
    out_shape: Any = None,
    scale: Any = None,
    name: str | None = None,
    actual_shape: Any = None,
    align_corners: bool = True,
    data_format: str = "NCHW",
) -> Tensor:
    return image_resize(input, out_shape, scale, name, "NEAREST", None, align_corners, 1, data_format)


def pixel_shuffle(x: Tensor, upscale_factor: int) -> Tensor:
    return F.pixel_shuffle(x, upscale_factor)


def unfold(
    x: Tensor, kernel_sizes: Any, strides: Any = 1, paddings: Any = 0, dilations: Any = 1, name: str | None = None
) -> Tensor:
    return F.unfold(x, kernel_sizes, strides, paddings, dilations)


def grid_sampler(x: Tensor, grid: Tensor, name: str | None = None) -> Tensor:
    return F.grid_sample(x, grid)


def temporal_shift(x: Tensor, seg_num: int, shift_ratio: float = 0.25, name: str | None = None) -> Tensor:
    return F.temporal_shift(x, seg_num, shift_ratio)


def shuffle_channel(x: Tensor, group: int, name: str | None = None) -> Tensor:
    return F.channel_shuffle(x, group)


def space_to_depth(x: Tensor, blocksize: int, name: str | None = None) -> Tensor:
    return F.pixel_unshuffle(x, blocksize)


cosine_similarity = F.cosine_similarity


# ---- further ones ----

dice_loss, triu, tril, cross = F.dice_loss, paddle.triu, paddle.tril, paddle.cross


def npair_loss(anchor: Tensor, positive: Tensor, labels: Tensor, l2_reg: float = 0.002) -> Tensor:
    return F.npair_loss(anchor, positive, labels, l2_reg).reshape([1])


def sequence_mask(x: Tensor, maxlen: Any = None, dtype: Any = "int64", name: str | None = None) -> Tensor:
    return F.sequence_mask(x, maxlen, dtype)


def warpctc(
    input: Tensor,
    label: Tensor,
    blank: int = 0,
    norm_by_times: bool = False,
    input_length: Tensor | None = None,
    label_length: Tensor | None = None,
) -> Tensor:
    """The loss of connectionist temporal classification (Graves et al., 2006), [N, 1]; `input` is [time, N, classes]."""
    if input_length is None or label_length is None:
        raise errors.NotImplemented_(
            "warpctc: sequences of ragged length (LoD tensors); give input_length, label_length"
        )
    loss = F.ctc_loss(input, label, input_length, label_length, blank, "none", norm_by_times)
    return loss.reshape([-1, 1])


def autoincreased_step_counter(counter_name: str | None = None, begin: int = 1, step: int = 1) -> Tensor:
    """A variable of the program that grows by `step` in each run, and is `begin` in the first one."""
    from ...static.variables import create_global_var

    counter = create_global_var([1], begin - step, "int64", True, name=counter_name or "@STEP_COUNTER@")
    return counter._rebind(counter + step)


def _like(input: Tensor, shape: Any, input_dim_idx: int, output_dim_idx: int) -> list:
    shape = list(shape)
    shape[output_dim_idx] = input.shape[input_dim_idx]
    return shape


def uniform_random_batch_size_like(
    input: Tensor,
    shape: Any,
    dtype: Any = "float32",
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    min: float = -1.0,
    max: float = 1.0,
    seed: int = 0,
) -> Tensor:
    """Uniform numbers; the length along `output_dim_idx` is that of `input` along `input_dim_idx`."""
    return paddle.uniform(_like(input, shape, input_dim_idx, output_dim_idx), dtype, min, max, seed)


def gaussian_random_batch_size_like(
    input: Tensor,
    shape: Any,
    input_dim_idx: int = 0,
    output_dim_idx: int = 0,
    mean: float = 0.0,
    std: float = 1.0,
    seed: int = 0,
    dtype: Any = "float32",
) -> Tensor:
    """Normal numbers; the length along `output_dim_idx` is that of `input` along `input_dim_idx`."""
    made = paddle.randn(_like(input, shape, input_dim_idx, output_dim_idx), dtype)
    return (made * std + mean).astype(dtype)
