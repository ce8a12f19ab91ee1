"""Translators of operators that passes of the official package make of several, and of rarer ones."""

from __future__ import annotations

from typing import Any

import paddle as P

from ...engine import errors
from .format import damaged
from .read_elementwise import _activation
from .reading import READERS, Call, reads

F = P.nn.functional

for _name in "memcpy print depend nop trans_layout shadow_feed share_var".split():
    READERS[_name] = lambda call: getattr(call, call.interface.operands[0])


def _plain(call: Call) -> None:
    if call.quant_scale > 0:
        raise errors.NotImplemented_(f"official model files with {call.op} that quantises")


def _layer_norm(x: Any, axis: int, scale: Any, bias: Any, epsilon: float) -> Any:
    if not 0 < axis < x.ndim:
        raise damaged(f"a normalization from axis {axis} of a tensor of shape {list(x.shape)}")
    shape = list(x._raw.shape[axis:])
    scale, bias = (None if p is None else p.reshape(shape).astype(x.dtype) for p in (scale, bias))
    return F.layer_norm(x, shape, scale, bias, epsilon)


@reads("fused_bias_residual_layernorm")
def _bias_residual_layernorm(call: Call) -> Any:
    _plain(call)
    x = call.x if not call.has("bias") else call.x + call.bias
    x = x if not call.has("residual") else x + call.residual * call.residual_alpha
    if not call.has("norm_weight") and not call.has("norm_bias"):
        return x, x, None, None
    return _layer_norm(x, call.begin_norm_axis, call.norm_weight, call.norm_bias, call.epsilon), x, None, None


@reads("fused_embedding_eltwise_layernorm")
def _embeddings(call: Call) -> Any:
    if not call.ids or len(call.ids) != len(call.embs):
        raise damaged("a sum of embeddings with another number of tables than of indices")
    parts = [F.embedding(i, e) for i, e in zip(call.ids, call.embs)]
    x = parts[0]
    for part in parts[1:]:
        x = x + part
    return _layer_norm(x, x.ndim - 1, call.scale, call.bias, call.epsilon)


@reads("add_group_norm_silu")
def _add_group_norm_silu(call: Call) -> Any:
    x = call.x if not call.has("residual") else call.x + call.residual
    out = F.group_norm(x, call.groups, call.epsilon, call.scale, call.bias, call.data_format)
    return _activation(call.activation, out), x, None, None


@reads("fused_rms_norm_ext")
def _rms_norm_ext(call: Call) -> Any:
    return F.rms_norm(call.x, [call.x.shape[-1]], call.scale, call.epsilon), None


@reads("fused_rotary_position_embedding")
def _rotary(call: Call) -> Any:
    out = P.incubate.nn.functional.fused_rotary_position_embedding(
        call.q, call.k, call.v, call.sin, call.cos, call.position_ids, call.use_neox_rotary_style, call.time_major,
        call.rotary_emb_base,
    )  # fmt: skip
    return tuple(out)


@reads("fused_elemwise_add_activation")
def _add_activation(call: Call) -> Any:
    names = [n.removeprefix("elementwise_") for n in call.functor_list]
    if len(names) != 2 or "add" not in names:
        raise errors.NotImplemented_(f"official model files with the fused functions {names}")
    if names[0] == "add":  # x + f(y)
        return call.x + _activation(names[1], call.y), None
    return _activation(names[0], call.x + call.y), None


# ---- quantised models: the numbers as they are rounded ----


def _along(scale: Any, x: Any, axis: int) -> Any:
    if scale._raw.size == 1 or axis < 0:
        return scale.reshape([])
    if axis >= x.ndim:
        raise damaged(f"scales along axis {axis} of a tensor of shape {list(x.shape)}")
    return scale.reshape([-1 if i == axis else 1 for i in range(x.ndim)])


@reads("quantize_linear")
def _quantize(call: Call) -> Any:
    x = call.x
    if call.only_observer:
        return x, None, None, None
    bound = float(2 ** (call.bit_length - 1) - 1)
    scaled = x / _along(call.scale, x, call.quant_axis) * bound
    return P.clip(P.round(scaled), call.qmin, call.qmax), None, None, None


@reads("dequantize_linear")
def _dequantize(call: Call) -> Any:
    x = call.x
    if call.only_observer:
        return x, None, None, None
    bound = float(2 ** (call.bit_length - 1) - 1)
    scale = _along(call.scale, x, call.quant_axis)
    return x.astype(scale.dtype) * scale / bound, None, None, None


@reads("weight_only_linear")
def _weight_only(call: Call) -> Any:
    return P.nn.quant.weight_only_linear(
        call.x, call.weight, call.bias, call.weight_scale, call.weight_dtype, call.arch or None, call.group_size
    )


# ---- rarer ones ----

READERS["variance"] = lambda c: P.var(c.x, list(c.axis) or None, False, c.keepdim)
READERS["soft_relu"] = lambda c: P.log1p(P.exp(P.clip(c.x, -c.threshold, c.threshold)))
READERS["renorm"] = lambda c: P.renorm(c.x, c.p, c.axis, c.max_norm)
READERS["gather_tree"] = lambda c: F.gather_tree(c.ids, c.parents)
READERS["gumbel_softmax"] = lambda c: F.gumbel_softmax(c.x, c.temperature, c.hard, c.axis)
READERS["eig"] = lambda c: tuple(P.linalg.eig(c.x))
READERS["lu"] = lambda c: tuple(P.linalg.lu(c.x, c.pivot, True))
READERS["matrix_rank_tol"] = lambda c: P.linalg.matrix_rank(c.x, c.atol_tensor, c.hermitian)


@reads("fill_diagonal_tensor")
def _fill_diagonal_tensor(call: Call) -> Any:
    x, place = call.x, (call.offset, call.dim1, call.dim2)
    shape = P.diagonal(x, *place)._raw.shape
    return x.fill_diagonal_tensor(call.y.reshape(list(shape)), *place)


@reads("lstsq")
def _lstsq(call: Call) -> Any:
    return tuple(P.linalg.lstsq(call.x, call.y, None, call.driver))


@reads("norm")
def _l2_normalize(call: Call) -> Any:
    length = P.sqrt(P.sum(call.x * call.x, call.axis, keepdim=True) + call.epsilon)
    return call.x / length, length


@reads("clip_by_norm")
def _clip_by_norm(call: Call) -> Any:
    length = P.sqrt(P.sum(call.x * call.x))
    return P.where(length > call.max_norm, call.x * (call.max_norm / length), call.x)


@reads("hinge_loss")
def _hinge(call: Call) -> Any:
    return F.relu(1.0 - (2.0 * call.labels - 1.0) * call.logits)


@reads("spectral_norm")
def _spectral_norm(call: Call) -> Any:
    weight, dim = call.weight, call.dim
    if not 0 <= call.power_iters <= 1000 or not 0 <= dim < weight.ndim:
        raise damaged("spectral_norm with impossible attributes")
    order = [dim, *[i for i in range(weight.ndim) if i != dim]]
    matrix = P.flatten(P.transpose(weight, order), 1) if weight.ndim > 1 else weight.reshape([-1, 1])
    u, v = call.u, call.v
    for _ in range(call.power_iters):
        v = P.mv(P.transpose(matrix, [1, 0]), u)
        v = v / (P.linalg.norm(v) + call.eps)
        u = P.mv(matrix, v)
        u = u / (P.linalg.norm(u) + call.eps)
    return weight / P.dot(u, P.mv(matrix, v))


@reads("max_with_index", "min_with_index")
def _with_index(call: Call) -> Any:
    name = call.op[:3]
    if call.flatten:
        return getattr(P, name)(call.x), getattr(P, "arg" + name)(call.x)
    return (
        getattr(P, name)(call.x, call.dim, call.keepdim),
        getattr(P, "arg" + name)(call.x, call.dim, call.keepdim),
    )


def _part(call: Call) -> list:
    start, length = call.start_index, call.length
    return [x[:, start:] if length < 0 else x[:, start : start + length] for x in call.x]


READERS["partial_concat"] = lambda c: P.concat(_part(c), 1)
READERS["partial_sum"] = lambda c: P.add_n(_part(c))


@reads("fractional_max_pool2d", "fractional_max_pool3d")
def _fractional(call: Call) -> Any:
    n = int(call.op[-2])
    kernel = list(call.kernel_size)
    out = getattr(F, f"fractional_max_pool{n}d")(
        call.x, list(call.output_size), kernel if any(kernel) else None, call.random_u or None, True
    )
    return tuple(out)


@reads("max_pool2d_v2")
def _max_pool_v2(call: Call) -> Any:
    size = list(call.kernel_size)
    if call.adaptive or call.global_pooling:
        raise errors.NotImplemented_("official model files with max_pool2d_v2 that is adaptive")
    return F.max_pool2d(call.x, size, list(call.strides), list(call.paddings), data_format=call.data_format), None


@reads("interp_antialias")
def _antialias(call: Call) -> Any:
    if call.has("out_size") or call.has("size_tensor") or call.has("scale_tensor"):
        raise errors.NotImplemented_("official model files with antialiased interpolation to a size in a tensor")
    size, scale = [call.out_h, call.out_w], list(call.scale) or None
    return F.interpolate(
        call.x, None if scale else size, scale, call.interp_method, call.align_corners, call.align_mode,
        call.data_format, antialias=True,
    )  # fmt: skip


@reads("stft")
def _stft(call: Call) -> Any:
    frames = P.signal.frame(call.x, call.n_fft, call.hop_length, -1)
    frames = P.transpose(frames, [*range(frames.ndim - 2), frames.ndim - 1, frames.ndim - 2]) * call.window
    norm = "ortho" if call.normalized else "backward"
    out = P.fft.rfft(frames, norm=norm) if call.onesided else P.fft.fft(frames, norm=norm)
    return P.transpose(out, [*range(out.ndim - 2), out.ndim - 1, out.ndim - 2])


@reads("warpctc")
def _ctc(call: Call) -> Any:
    if not call.has("logits_length"):
        raise errors.NotImplemented_("official model files with warpctc on sequences with offsets")
    loss = F.ctc_loss(
        call.logits, call.label, call.logits_length, call.labels_length, call.blank, "none", call.norm_by_times
    )
    return loss.reshape([-1, 1]), None


@reads("viterbi_decode")
def _viterbi(call: Call) -> Any:
    return tuple(P.text.viterbi_decode(call.potentials, call.transition_params, call.lengths, call.include_bos_eos_tag))


@reads("box_coder")
def _box_coder(call: Call) -> Any:
    variance = call.prior_box_var if call.has("prior_box_var") else list(call.variance)
    return P.vision.ops.box_coder(
        call.prior_box, variance, call.target_box, call.code_type, call.box_normalized, axis=call.axis
    )


@reads("prior_box")
def _prior_box(call: Call) -> Any:
    return tuple(
        P.vision.ops.prior_box(
            call.input, call.image, list(call.min_sizes), list(call.max_sizes) or None, list(call.aspect_ratios),
            list(call.variances), call.flip, call.clip, [call.step_w, call.step_h], call.offset,
            call.min_max_aspect_ratios_order,
        )
    )  # fmt: skip


@reads("matrix_nms")
def _matrix_nms(call: Call) -> Any:
    out, index, counts = P.vision.ops.matrix_nms(
        call.bboxes, call.scores, call.score_threshold, call.post_threshold, call.nms_top_k, call.keep_top_k,
        call.use_gaussian, call.gaussian_sigma, call.background_label, call.normalized, True, True,
    )  # fmt: skip
    return out, index, counts


@reads("psroi_pool")
def _psroi_pool(call: Call) -> Any:
    size = (call.pooled_height, call.pooled_width)
    return P.vision.ops.psroi_pool(call.x, call.boxes, call.boxes_num, size, call.spatial_scale)
