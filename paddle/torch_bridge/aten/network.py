"""Operators of ATen for networks: convolutions, pooling, normalization, attention, losses."""

from __future__ import annotations

from typing import Any

import paddle as P

from ...engine import errors
from ...engine.modes import set_mode
from ...nn import functional as F
from .table import aten


@aten("linear")
def linear(input, weight, bias=None):
    product = P.matmul(input, weight, transpose_y=True)
    return product if bias is None else product + bias


def linear_transposed(input, weight, bias=None):
    """aten.linear with a weight that lies as [in, out]."""
    return F.linear(input, weight, bias)


def _padding(padding: Any) -> Any:
    return (
        padding.upper()
        if isinstance(padding, str)
        else list(padding)
        if isinstance(padding, (list, tuple))
        else padding
    )


def _fit(given: Any, n: int) -> Any:
    """A list of n numbers from one of one number."""
    found = list(given) if isinstance(given, (list, tuple)) else [given]
    return found * n if len(found) == 1 else found


def _convolve(n: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    alone = input.ndim == n + 1
    x = P.unsqueeze(input, 0) if alone else input
    function = (F.conv1d, F.conv2d, F.conv3d)[n - 1]
    pads = _padding(padding)
    pads = pads if isinstance(pads, str) else _fit(pads, n)
    out = function(x, weight, bias, _fit(stride, n), pads, _fit(dilation, n), groups)
    return P.squeeze(out, 0) if alone else out


@aten("conv1d")
def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _convolve(1, input, weight, bias, stride, padding, dilation, groups)


@aten("conv2d")
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _convolve(2, input, weight, bias, stride, padding, dilation, groups)


@aten("conv3d")
def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _convolve(3, input, weight, bias, stride, padding, dilation, groups)


def _transposed(
    n: int, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, extra: Any, groups: int, dilation: Any
) -> Any:
    alone = input.ndim == n + 1
    x = P.unsqueeze(input, 0) if alone else input
    function = (F.conv1d_transpose, F.conv2d_transpose, F.conv3d_transpose)[n - 1]
    out = function(
        x, weight, bias, _fit(stride, n), _fit(padding, n), _fit(extra, n), groups=groups, dilation=_fit(dilation, n)
    )
    return P.squeeze(out, 0) if alone else out


@aten("conv_transpose1d")
def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return _transposed(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@aten("conv_transpose2d")
def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return _transposed(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@aten("conv_transpose3d")
def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return _transposed(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


@aten("convolution")
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    n = weight.ndim - 2
    if transposed:
        return _transposed(n, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return _convolve(n, input, weight, bias, stride, padding, dilation, groups)


# ---- pooling ----


def _max_pool(
    n: int, self: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool, index: bool = False
) -> Any:
    if any(d != 1 for d in _fit(dilation, n)):
        raise errors.NotImplemented_("convert_model: aten.max_pool with dilation")
    alone = self.ndim == n + 1
    x = P.unsqueeze(self, 0) if alone else self
    function = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[n - 1]
    kernel = _fit(kernel, n)
    out = function(
        x, kernel, _fit(stride, n) if stride else kernel, _fit(padding, n), return_mask=index, ceil_mode=ceil
    )
    if not alone:
        return out
    return tuple(P.squeeze(o, 0) for o in out) if index else P.squeeze(out, 0)


@aten("max_pool1d")
def max_pool1d(self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    return _max_pool(1, self, kernel_size, stride, padding, dilation, ceil_mode)


@aten("max_pool2d")
def max_pool2d(self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    return _max_pool(2, self, kernel_size, stride, padding, dilation, ceil_mode)


@aten("max_pool3d")
def max_pool3d(self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    return _max_pool(3, self, kernel_size, stride, padding, dilation, ceil_mode)


@aten("max_pool2d_with_indices")
def max_pool2d_with_indices(self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    return _max_pool(2, self, kernel_size, stride, padding, dilation, ceil_mode, True)


def _avg_pool(
    n: int, self: Any, kernel: Any, stride: Any, padding: Any, ceil: bool, include: bool, divisor: Any = None
) -> Any:
    alone = self.ndim == n + 1
    x = P.unsqueeze(self, 0) if alone else self
    kernel = _fit(kernel, n)
    arguments = [x, kernel, _fit(stride, n) if stride else kernel, _fit(padding, n)]
    if n == 1:
        out = F.avg_pool1d(*arguments, exclusive=not include, ceil_mode=ceil)
    else:
        function = F.avg_pool2d if n == 2 else F.avg_pool3d
        out = function(*arguments, ceil_mode=ceil, exclusive=not include, divisor_override=divisor)
    return P.squeeze(out, 0) if alone else out


@aten("avg_pool1d")
def avg_pool1d(self, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True):
    return _avg_pool(1, self, kernel_size, stride, padding, ceil_mode, count_include_pad)


@aten("avg_pool2d")
def avg_pool2d(self, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    return _avg_pool(2, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@aten("avg_pool3d")
def avg_pool3d(self, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    return _avg_pool(3, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _adaptive(functions: tuple, n: int, self: Any, size: Any) -> Any:
    alone = self.ndim == n + 1
    x = P.unsqueeze(self, 0) if alone else self
    size = _fit(size, n)
    out = functions[n - 1](x, size[0] if n == 1 else size)
    return P.squeeze(out, 0) if alone else out


_AVG = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)
_MAX = (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)


@aten("adaptive_avg_pool1d")
def adaptive_avg_pool1d(self, output_size):
    return _adaptive(_AVG, 1, self, output_size)


@aten("adaptive_avg_pool2d", "_adaptive_avg_pool2d")
def adaptive_avg_pool2d(self, output_size):
    return _adaptive(_AVG, 2, self, output_size)


@aten("adaptive_avg_pool3d", "_adaptive_avg_pool3d")
def adaptive_avg_pool3d(self, output_size):
    return _adaptive(_AVG, 3, self, output_size)


def _with_index(n: int, self: Any, size: Any) -> Any:
    return _MAX[n - 1](self, _fit(size, n)[0] if n == 1 else _fit(size, n), return_mask=True)


@aten("adaptive_max_pool1d")
def adaptive_max_pool1d(self, output_size):
    return _with_index(1, self, output_size)


@aten("adaptive_max_pool2d")
def adaptive_max_pool2d(self, output_size):
    return _with_index(2, self, output_size)


# ---- normalization ----


def _new_statistics(momentum: float, x: Any, mean: Any, var: Any, old: Any) -> None:
    """PyTorch keeps the unbiased variance: n / (n - 1) times that of the batch, which `batch_norm` has written."""
    count = 1
    for axis, n in enumerate(x.shape):
        count = count * (1 if axis == 1 else n)
    with set_mode(grad=False):
        share = var - old * (1 - momentum)
        var.set_value(var + share / (count - 1))


@aten("batch_norm", module=True)
def batch_norm(
    input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled=True, module=None
):
    batch = training and (module is None or module.training)
    if running_mean is None:
        zero, one = P.zeros([input.shape[1]], input.dtype), P.ones([input.shape[1]], input.dtype)
        return F.batch_norm(input, zero, one, weight, bias, True, 1.0, eps)
    if not batch:
        return F.batch_norm(input, running_mean, running_var, weight, bias, False, 1 - momentum, eps)
    with set_mode(grad=False):
        old = running_var * 1.0
    out = F.batch_norm(input, running_mean, running_var, weight, bias, True, 1 - momentum, eps)
    _new_statistics(momentum, input, running_mean, running_var, old)
    return out


@aten("_native_batch_norm_legit_no_training")
def batch_norm_frozen(input, weight, bias, running_mean, running_var, momentum, eps):
    return F.batch_norm(input, running_mean, running_var, weight, bias, False, 1 - momentum, eps), None, None


@aten("_native_batch_norm_legit_functional", module=True)
def batch_norm_functional(
    input, weight, bias, running_mean, running_var, training=False, momentum=0.1, eps=1e-5, module=None
):
    """(result, two that nobody reads, the new running statistics): the form that decompositions leave."""
    if not training or not (module is None or module.training):
        out = F.batch_norm(input, running_mean, running_var, weight, bias, False, 1 - momentum, eps)
        return out, None, None, running_mean, running_var
    with set_mode(grad=False):
        mean, var = running_mean * 1.0, running_var * 1.0
    return batch_norm(input, weight, bias, mean, var, True, momentum, eps), None, None, mean, var


@aten("layer_norm")
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    if eps > 0.001:
        axes = list(range(-len(normalized_shape), 0))
        mean = P.mean(input, axes, True)
        out = (input - mean) * P.rsqrt(P.mean(P.square(input - mean), axes, True) + eps)
        out = out if weight is None else out * weight
        return out if bias is None else out + bias
    return F.layer_norm(input, list(normalized_shape), weight, bias, eps)


@aten("native_layer_norm")
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    return layer_norm(input, normalized_shape, weight, bias, eps), None, None


@aten("rms_norm")
def rms_norm(input, normalized_shape, weight=None, eps=None):
    axes = list(range(-len(normalized_shape), 0))
    eps = 1.1920929e-07 if eps is None else eps
    out = input * P.rsqrt(P.mean(P.square(input), axes, True) + eps)
    return out if weight is None else out * weight


@aten("group_norm")
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    return F.group_norm(input, num_groups, eps, weight, bias)


@aten("instance_norm")
def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled=True):
    if not use_input_stats:
        return F.batch_norm(input, running_mean, running_var, weight, bias, False, 1 - momentum, eps)
    if running_mean is not None:
        raise errors.NotImplemented_("convert_model: aten.instance_norm that tracks statistics in training")
    return F.instance_norm(input, weight=weight, bias=bias, eps=eps)


@aten("native_group_norm")
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    return F.group_norm(input, group, eps, weight, bias), None, None


@aten("local_response_norm")
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    return F.local_response_norm(input, size, alpha, beta, k)


@aten("_weight_norm")
def weight_norm(v, g, dim=0):
    axes = None if dim == -1 else [i for i in range(v.ndim) if i != dim % v.ndim]
    return v * (g / P.sqrt(P.sum(P.square(v), axes, keepdim=dim != -1)))


# ---- dropout, embeddings, attention ----


@aten("dropout", "feature_dropout", module=True)
def dropout(input, p, train, module=None):
    return F.dropout(input, p, training=train and (module is None or module.training))


@aten("feature_dropout", module=True)
def feature_dropout(input, p, train, module=None):
    axes = [0, 1]
    return F.dropout(input, p, axis=axes, training=train and (module is None or module.training))


@aten("alpha_dropout", module=True)
def alpha_dropout(input, p, train, module=None):
    return F.alpha_dropout(input, p, training=train and (module is None or module.training))


@aten("native_dropout")
def native_dropout(input, p, train=True):
    return F.dropout(input, p, training=train), None


@aten("embedding")
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    return F.embedding(indices, weight, padding_idx if padding_idx >= 0 else None)


@aten("scaled_dot_product_attention")
def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    extra = query.ndim - 4
    lead = list(query.shape[:-3]) if extra > 0 else None
    if extra == -1:
        query, key, value = (P.unsqueeze(x, 1) for x in (query, key, value))
        attn_mask = P.unsqueeze(attn_mask, 1) if attn_mask is not None and attn_mask.ndim == 3 else attn_mask
    elif extra > 0:
        query, key, value = (P.reshape(x, [-1, *x.shape[-3:]]) for x in (query, key, value))
        if attn_mask is not None and attn_mask.ndim > 4:
            attn_mask = P.reshape(attn_mask, [-1, *attn_mask.shape[-3:]])
    query, key, value = (P.transpose(x, [0, 2, 1, 3]) for x in (query, key, value))
    out = F.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, True, scale=scale)
    out = P.transpose(out, [0, 2, 1, 3])
    if extra == -1:
        return P.squeeze(out, 1)
    return P.reshape(out, [*lead, *out.shape[1:]]) if lead is not None else out


# ---- pictures ----


@aten("pad")
def pad(self, pad, mode="constant", value=None):
    spans = list(pad)
    if mode == "constant":
        spans += [0] * (2 * self.ndim - len(spans))
        return F.pad(self, spans, "constant", 0.0 if value is None else value, pad_from_left_axis=False)
    alone = len(spans) // 2 + 1 == self.ndim
    out = F.pad(P.unsqueeze(self, 0) if alone else self, spans, mode)
    return P.squeeze(out, 0) if alone else out


@aten("constant_pad_nd")
def constant_pad(self, pad_, value=0):
    return pad(self, pad_, "constant", value)


@aten("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(self, padding):
    return pad(self, padding, "reflect")


@aten("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(self, padding):
    return pad(self, padding, "replicate")


def _resize(input: Any, size: Any, factors: Any, **how: Any) -> Any:
    if size is not None:
        return F.interpolate(input, size=list(size), **how)
    return F.interpolate(input, scale_factor=list(factors), **how)


@aten("upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec")
def upsample_nearest(input, output_size, scale_factors):
    return _resize(input, output_size, scale_factors, mode="nearest")


@aten("upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec")
def upsample_linear(input, output_size, align_corners, scale_factors):
    mode = {3: "linear", 4: "bilinear", 5: "trilinear"}[input.ndim]
    return _resize(input, output_size, scale_factors, mode=mode, align_corners=align_corners)


@aten("upsample_bicubic2d.vec")
def upsample_bicubic(input, output_size, align_corners, scale_factors):
    return _resize(input, output_size, scale_factors, mode="bicubic", align_corners=align_corners)


@aten("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def upsample_nearest_to(self, output_size, scales=None, scales_d=None, scales_h=None, scales_w=None):
    return F.interpolate(self, size=list(output_size), mode="nearest")


@aten("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
def upsample_linear_to(self, output_size, align_corners, scales=None, scales_d=None, scales_h=None, scales_w=None):
    mode = {3: "linear", 4: "bilinear", 5: "trilinear"}[self.ndim]
    return F.interpolate(self, size=list(output_size), mode=mode, align_corners=align_corners)


@aten("upsample_bicubic2d")
def upsample_bicubic_to(self, output_size, align_corners, scales_h=None, scales_w=None):
    return F.interpolate(self, size=list(output_size), mode="bicubic", align_corners=align_corners)


@aten("_upsample_bilinear2d_aa.vec")
def upsample_bilinear_aa(input, output_size, align_corners, scale_factors):
    return _resize(input, output_size, scale_factors, mode="bilinear", align_corners=align_corners, antialias=True)


@aten("_upsample_bicubic2d_aa.vec")
def upsample_bicubic_aa(input, output_size, align_corners, scale_factors):
    return _resize(input, output_size, scale_factors, mode="bicubic", align_corners=align_corners, antialias=True)


@aten("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    modes, edges = ("bilinear", "nearest"), ("zeros", "border", "reflection")
    if interpolation_mode > 1:
        raise errors.NotImplemented_("convert_model: aten.grid_sampler with bicubic interpolation")
    return F.grid_sample(input, grid, modes[interpolation_mode], edges[padding_mode], align_corners)


@aten("affine_grid_generator")
def affine_grid(theta, size, align_corners):
    return F.affine_grid(theta, list(size), align_corners)


@aten("im2col")
def im2col(self, kernel_size, dilation, padding, stride):
    return F.unfold(self, list(kernel_size), list(stride), list(padding), list(dilation))


@aten("col2im")
def col2im(self, output_size, kernel_size, dilation, padding, stride):
    return F.fold(self, list(output_size), list(kernel_size), list(stride), list(padding), list(dilation))


# ---- losses ----

_REDUCTIONS = ("none", "mean", "sum")


def _reduced(loss: Any, reduction: int) -> Any:
    return loss if reduction == 0 else P.mean(loss) if reduction == 1 else P.sum(loss)


@aten("mse_loss")
def mse_loss(self, target, reduction=1):
    return _reduced(P.square(self - target), reduction)


@aten("l1_loss")
def l1_loss(self, target, reduction=1):
    return _reduced(P.abs(self - target), reduction)


@aten("smooth_l1_loss")
def smooth_l1_loss(self, target, reduction=1, beta=1.0):
    gap = P.abs(self - target)
    return _reduced(P.where(gap < beta, gap * gap * 0.5 / beta, gap - 0.5 * beta) if beta else gap, reduction)


@aten("huber_loss")
def huber_loss(self, target, reduction=1, delta=1.0):
    gap = P.abs(self - target)
    return _reduced(P.where(gap < delta, gap * gap * 0.5, delta * (gap - 0.5 * delta)), reduction)


@aten("binary_cross_entropy_with_logits")
def bce_with_logits(self, target, weight=None, pos_weight=None, reduction=1):
    return F.binary_cross_entropy_with_logits(self, target, weight, _REDUCTIONS[reduction], pos_weight)


@aten("cross_entropy_loss")
def cross_entropy(self, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    if label_smoothing or target.is_floating_point():
        raise errors.NotImplemented_("convert_model: aten.cross_entropy_loss with probabilities or label_smoothing")
    axis = 1 if self.ndim > 1 else 0
    return nll_loss(F.log_softmax(self, axis), target, weight, reduction, ignore_index)


@aten("nll_loss", "nll_loss_nd", "nll_loss2d")
def nll_loss(self, target, weight=None, reduction=1, ignore_index=-100):
    return F.nll_loss(self, target, weight, ignore_index, _REDUCTIONS[reduction])


@aten("kl_div")
def kl_div(self, target, reduction=1, log_target=False):
    loss = P.exp(target) * (target - self) if log_target else F.kl_div(self, target, "none")
    return _reduced(loss, reduction)
