"""Translators of the operators of networks: convolutions, pools, normalizations, attention, recurrence, losses."""

from __future__ import annotations

from typing import Any

import paddle as P

from ...engine import errors
from ...ops.pooling import _unpool
from ...ops.recurrent import rnn
from .format import damaged
from .read_elementwise import _activation
from .reading import READERS, Call, reads

F = P.nn.functional
I = P.incubate.nn.functional  # noqa: E741


# ---- convolutions and pools ----


def _padding(call: Call) -> Any:
    return call.padding_algorithm if call.padding_algorithm in ("SAME", "VALID") else list(call.paddings)


def _layout(call: Call) -> str:
    found = call.data_format
    if found == "AnyLayout":
        return "NCHW"
    return found.replace("NC", "NCD").replace("NHW", "NDHW") if "3d" in call.op and "D" not in found else found


@reads("conv2d", "depthwise_conv2d", "conv3d", "depthwise_conv2d_bias")
def _conv(call: Call) -> Any:
    function = F.conv3d if call.op == "conv3d" else F.conv2d
    bias = call.bias if "bias" in call.slots else None
    return function(
        call.input, call.filter, bias, list(call.strides), _padding(call), list(call.dilations), call.groups,
        _layout(call),
    )  # fmt: skip


@reads("fused_conv2d_add_act")
def _conv_add_act(call: Call) -> Any:
    bias = None if not call.has("bias") else call.bias.reshape([-1])
    out = F.conv2d(
        call.input, call.filter, bias, list(call.strides), _padding(call), list(call.dilations), call.groups,
        _layout(call),
    )  # fmt: skip
    if call.has("residual_data"):
        out = out + call.residual_data
    return _activation(call.activation, out), None


@reads("conv2d_transpose", "depthwise_conv2d_transpose", "conv3d_transpose", "conv2d_transpose_bias")
def _conv_transpose(call: Call) -> Any:
    function = F.conv3d_transpose if call.op == "conv3d_transpose" else F.conv2d_transpose
    size = call.fixed("output_size")
    extra = list(call.output_padding)
    return function(
        call.x, call.filter, call.bias if "bias" in call.slots else None, list(call.strides), _padding(call),
        0 if size or not extra else extra, groups=call.groups, dilation=list(call.dilations),
        output_size=size or None, data_format=_layout(call),
    )  # fmt: skip


def _spatial(x: Any, layout: str) -> list:
    return list(x._raw.shape[1:-1] if layout[-1] == "C" else x._raw.shape[2:])


@reads("pool2d", "pool3d")
def _pool(call: Call) -> Any:
    n = int(call.op[4])
    x, layout = call.x, _layout(call)
    if x.ndim != n + 2:
        raise damaged(f"{call.op} of a tensor of shape {list(x.shape)}")
    size = call.fixed("kernel_size")
    kind = call.pooling_type
    if kind not in ("max", "avg"):
        raise damaged(f"{call.op} of kind {kind!r}")
    if call.global_pooling or call.adaptive and all(s == 1 for s in size):
        axes = list(range(1, n + 1) if layout[-1] == "C" else range(2, n + 2))
        return P.max(x, axes, True) if kind == "max" else P.mean(x, axes, True)
    if call.adaptive:
        if kind == "avg":
            return getattr(F, f"adaptive_avg_pool{n}d")(x, size, layout)
        if layout[-1] == "C":
            raise errors.NotImplemented_("official model files with adaptive max pooling, channels last")
        return getattr(F, f"adaptive_max_pool{n}d")(x, size)
    if kind == "max":
        return getattr(F, f"max_pool{n}d")(
            x, size, list(call.strides), _padding(call), False, call.ceil_mode, data_format=layout
        )
    return getattr(F, f"avg_pool{n}d")(
        x, size, list(call.strides), _padding(call), call.ceil_mode, call.exclusive, data_format=layout
    )


@reads("max_pool2d_with_index", "max_pool3d_with_index")
def _pool_with_index(call: Call) -> Any:
    n = int(call.op[8])
    if call.adaptive:
        return tuple(getattr(F, f"adaptive_max_pool{n}d")(call.x, list(call.kernel_size), True))
    size = _spatial(call.x, "NCHW") if call.global_pooling else list(call.kernel_size)
    function = getattr(F, f"max_pool{n}d")
    return tuple(function(call.x, size, list(call.strides), list(call.paddings), True, call.ceil_mode))


@reads("lp_pool2d")
def _lp_pool(call: Call) -> Any:
    return F.lp_pool2d(
        call.x, call.norm_type, call.fixed("kernel_size"), list(call.strides), _padding(call), call.ceil_mode,
        _layout(call),
    )  # fmt: skip


@reads("unpool", "unpool3d")
def _max_unpool(call: Call) -> Any:
    size = call.fixed("output_size")
    if call.data_format not in ("NCHW", "NCDHW") or len(size) != call.x.ndim - 2 or call.indices.shape != call.x.shape:
        raise damaged(f"{call.op} to the shape {size} of a tensor of shape {list(call.x.shape)}")
    return _unpool(call.x, call.indices, tuple(size))  # the window is of no importance: the indices tell the places


# ---- resizing ----


@reads("nearest_interp", "bilinear_interp", "bicubic_interp", "linear_interp", "trilinear_interp")
def _interpolate(call: Call) -> Any:
    x, layout = call.x, call.data_format
    n = x.ndim - 2
    if layout in ("NCHW", "NHWC") and n != 2:
        layout = {1: "NCW" if layout == "NCHW" else "NWC", 3: "NCDHW" if layout == "NCHW" else "NDHWC"}[n]
    size: Any = None
    scale: Any = list(call.scale) or None
    if call.has("size_tensor"):
        found = call.elements("size_tensor")
        size = [s.reshape([]) for s in call.size_tensor] if found is None else list(found)
        scale = None
    elif call.has("out_size"):
        size, scale = call.ints("out_size"), None
    elif call.has("scale_tensor"):
        scale = call.number("scale_tensor")
    elif not scale or scale[0] <= 0:
        size, scale = [s for s in (call.out_d, call.out_h, call.out_w)][3 - n :], None
    elif len(scale) == 1:
        scale = scale * n
    mode = call.interp_method
    corners = call.align_corners and mode != "nearest"
    return F.interpolate(x, size, scale, mode, corners, call.align_mode, layout)


READERS["pixel_shuffle"] = lambda c: F.pixel_shuffle(c.x, c.upscale_factor, c.data_format)
READERS["pixel_unshuffle"] = lambda c: F.pixel_unshuffle(c.x, c.downscale_factor, c.data_format)
READERS["channel_shuffle"] = lambda c: F.channel_shuffle(c.x, c.groups, c.data_format)
READERS["shuffle_channel"] = lambda c: F.channel_shuffle(c.x, c.group)
READERS["temporal_shift"] = lambda c: F.temporal_shift(c.x, c.seg_num, c.shift_ratio, data_format=c.data_format)
READERS["unfold"] = lambda c: F.unfold(c.x, list(c.kernel_sizes), list(c.strides), list(c.paddings), list(c.dilations))
READERS["fold"] = lambda c: F.fold(
    c.x, list(c.output_sizes), list(c.kernel_sizes), list(c.strides), list(c.paddings), list(c.dilations)
)
READERS["grid_sample"] = lambda c: F.grid_sample(c.x, c.grid, c.mode, c.padding_mode, c.align_corners)
READERS["affine_grid"] = lambda c: F.affine_grid(c.input, c.fixed("output_shape"), c.align_corners)


# ---- normalizations ----


@reads("batch_norm_", "batch_norm", "sync_batch_norm_")
def _batch_norm(call: Call) -> Any:
    training = not call.is_test and not call.use_global_stats
    out = F.batch_norm(
        call.x, call.mean, call.variance, call.scale, call.bias, training=training, momentum=call.momentum,
        epsilon=call.epsilon, data_format=_channels(call, call.x),
    )  # fmt: skip
    return out, call.mean, call.variance, call.mean, call.variance, None


def _channels(call: Call, x: Any) -> str:
    last = call.data_format[-1] == "C"
    n = x.ndim
    if n <= 2:
        return "NC"
    return {3: ("NCL", "NLC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}[n][last]


@reads("layer_norm")
def _layer_norm(call: Call) -> Any:
    x, axis = call.x, call.begin_norm_axis
    if not 0 < axis < x.ndim:
        raise damaged(f"layer_norm from axis {axis} of a tensor of shape {list(x.shape)}")
    shape = list(x._raw.shape[axis:])
    weight, bias = ((None if p is None else p.reshape(shape)) for p in (call.scale, call.bias))
    return F.layer_norm(x, shape, weight, bias, call.epsilon), None, None


READERS["instance_norm"] = lambda c: (F.instance_norm(c.x, weight=c.scale, bias=c.bias, eps=c.epsilon), None, None)
READERS["group_norm"] = lambda c: (
    F.group_norm(c.x, c.groups, c.epsilon, c.scale, c.bias, c.data_format), None, None,
)  # fmt: skip


@reads("rms_norm", "fused_rms_norm_quant")
def _rms_norm(call: Call) -> Any:
    if call.op == "rms_norm":
        shape = call.attribute("normalized_shape")
        return F.rms_norm(call.x, list(shape), call.scale, call.epsilon), None
    x = call.x
    if call.has("bias"):
        x = x + call.bias
    if call.has("residual"):
        x = x + call.residual
    if call.quant_scale > 0:
        raise errors.NotImplemented_("official model files with fused_rms_norm_quant that quantises")
    out = I.fused_rms_norm(x, call.norm_weight, call.norm_bias, call.epsilon, call.begin_norm_axis)
    return (out[0] if isinstance(out, (tuple, list)) else out), x, None


READERS["lrn"] = lambda c: (F.local_response_norm(c.x, c.n, c.alpha, c.beta, c.k, c.data_format), None)
READERS["affine_channel"] = lambda c: c.x * c.scale.reshape([1, -1, 1, 1]) + c.bias.reshape([1, -1, 1, 1])
READERS["softmax"] = lambda c: F.softmax(c.x, c.axis)
READERS["log_softmax"] = lambda c: F.log_softmax(c.x, c.axis)


@reads("dropout")
def _dropout(call: Call) -> Any:
    p = call.number("p")
    if not isinstance(p, (int, float)):
        raise errors.NotImplemented_("official model files with dropout whose probability depends on data")
    return F.dropout(call.x, p, training=not call.is_test, mode=_mode(call.mode)), None


def _mode(name: str) -> str:
    return "downscale_in_infer" if name == "downgrade_in_infer" else name


@reads("fused_dropout_add")
def _dropout_add(call: Call) -> Any:
    return F.dropout(call.x, call.number("p"), training=not call.is_test, mode=_mode(call.mode)) + call.y, None


# ---- embedding, attention ----


@reads("embedding")
def _embedding(call: Call) -> Any:
    return F.embedding(call.x, call.weight, None if call.padding_idx == -1 else call.padding_idx)


READERS["fused_softmax_mask"] = lambda c: P.incubate.softmax_mask_fuse(c.x, c.mask)
READERS["fused_softmax_mask_upper_triangle"] = lambda c: P.incubate.softmax_mask_fuse_upper_triangle(c.x)


@reads("flash_attn")
def _flash_attention(call: Call) -> Any:
    dropout = 0.0 if call.is_test else call.dropout
    out = F.scaled_dot_product_attention(call.q, call.k, call.v, call.attn_mask, dropout, call.causal)
    return out, None, None, None


@reads("memory_efficient_attention")
def _memory_efficient_attention(call: Call) -> Any:
    scale = None if call.scale <= 0 else call.scale
    return F.scaled_dot_product_attention(call.query, call.key, call.value, call.bias, 0.0, call.causal, scale=scale), None, None  # fmt: skip  # noqa: E501


@reads("multihead_matmul")
def _multihead_matmul(call: Call) -> Any:
    x, heads = call.input, call.head_number
    batch, length, width = x._raw.shape
    weight = call.w.reshape([width, -1])
    packed = P.matmul(x, weight) + call.bias.reshape([-1])
    packed = packed.reshape([batch, length, 3, heads, -1]).transpose([2, 0, 3, 1, 4])
    q, k, v = P.unbind(packed, 0)
    scores = P.matmul(q, k, transpose_y=True) * call.alpha
    if call.has("bias_qk"):
        scores = scores + call.bias_qk
    out = P.matmul(F.softmax(scores), v).transpose([0, 2, 1, 3])
    return out.reshape([batch, length, -1])


@reads("skip_layernorm")
def _skip_layernorm(call: Call) -> Any:
    x = call.x + call.y
    axis = call.begin_norm_axis
    shape = list(x._raw.shape[axis:])
    return F.layer_norm(x, shape, call.scale.reshape(shape), call.bias.reshape(shape), call.epsilon)


@reads("fused_fc_elementwise_layernorm")
def _fc_layernorm(call: Call) -> Any:
    out = P.matmul(call.x, call.w)
    if call.has("bias0"):
        out = out + call.bias0
    out = _activation(call.activation_type, out) + call.y
    axis = call.begin_norm_axis
    shape = list(out._raw.shape[axis:])
    weight, bias = ((None if p is None else p.reshape(shape)) for p in (call.scale, call.bias1))
    return F.layer_norm(out, shape, weight, bias, call.epsilon), None, None


@reads("fused_bias_dropout_residual_layer_norm")
def _bias_residual_norm(call: Call) -> Any:
    x = call.x if not call.has("bias") else call.x + call.bias
    x = (
        F.dropout(x, call.dropout_rate, training=not call.is_test, mode=_mode(call.dropout_implementation))
        + call.residual
    )
    return F.layer_norm(x, [x.shape[-1]], call.ln_scale, call.ln_bias, call.ln_epsilon), x, None, None, None


# ---- recurrence ----


@reads("rnn", "rnn_")
def _rnn(call: Call) -> Any:
    mode = call.mode
    n_states = 2 if mode == "LSTM" else 1
    ways = 2 if call.is_bidirec else 1
    layers = call.num_layers
    weights, states = call.weight_list, call.pre_state
    if mode not in ("LSTM", "GRU", "RNN_TANH", "RNN_RELU") or not isinstance(weights, list):
        raise damaged(f"a recurrent layer of mode {mode!r}")
    if len(weights) != 4 * layers * ways or len(states) != n_states:
        raise damaged(f"a recurrent layer of {layers} layers with {len(weights)} weights and {len(states)} states")
    x = call.x
    half = len(weights) // 2
    split = [P.unbind(s, 0) if s.shape[0] == layers * ways else None for s in states]
    if any(s is None for s in split):
        raise damaged("a recurrent layer whose states do not fit its layers")
    ends: list[list] = [[] for _ in states]
    for layer in range(layers):
        outs = []
        for way in range(ways):
            i = layer * ways + way
            own = [weights[2 * i], weights[2 * i + 1], weights[half + 2 * i], weights[half + 2 * i + 1], None]
            out, *last = rnn(x, [s[i] for s in split], own, call.sequence_length, mode, way == 1, True, True)
            outs.append(out)
            for collected, e in zip(ends, last):
                collected.append(e)
        x = P.concat(outs, -1) if ways == 2 else outs[0]
        if call.dropout_prob and not call.is_test and layer < layers - 1:
            x = F.dropout(x, call.dropout_prob)
    return x, None, [P.stack(e, 0) for e in ends], None


# ---- losses ----


@reads("cross_entropy_with_softmax")
def _cross_entropy(call: Call) -> Any:
    x = call.input
    loss = F.cross_entropy(
        x, call.label, ignore_index=call.ignore_index, reduction="none", soft_label=call.soft_label, axis=call.axis,
        use_softmax=call.use_softmax,
    )  # fmt: skip
    axis = call.axis % x.ndim
    if loss.ndim < x.ndim:
        loss = P.unsqueeze(loss, axis)
    return F.softmax(x, call.axis) if call.use_softmax else x, loss


READERS["bce_loss"] = lambda c: F.binary_cross_entropy(c.input, c.label, reduction="none")
READERS["kldiv_loss"] = lambda c: F.kl_div(c.x, c.label, c.reduction, c.log_target)
READERS["log_loss"] = lambda c: F.log_loss(c.input, c.label, c.epsilon)
READERS["huber_loss"] = lambda c: (F.smooth_l1_loss(c.input, c.label, "none", c.delta), c.label - c.input)
READERS["nll_loss"] = lambda c: (F.nll_loss(c.input, c.label, c.weight, c.ignore_index, c.reduction), None)
READERS["label_smooth"] = lambda c: F.label_smooth(c.label, c.prior_dist, c.epsilon)
READERS["identity_loss"] = lambda c: c.x if c.reduction == 2 else P.sum(c.x) if c.reduction == 0 else P.mean(c.x)


@reads("sigmoid_cross_entropy_with_logits")
def _sigmoid_cross_entropy(call: Call) -> Any:
    x, label = call.x, call.label
    out = F.binary_cross_entropy_with_logits(x, label, None, "none", call.pos_weight)
    kept = (label != float(call.ignore_index)).astype(x.dtype)
    out = out * kept
    return out / P.clip(P.sum(kept), min=1.0) if call.normalize else out


# ---- graphs, detection ----


@reads("segment_pool")
def _segment(call: Call) -> Any:
    return getattr(P.geometric, "segment_" + call.pooltype.lower())(call.x, call.segment_ids), None


@reads("send_u_recv")
def _send(call: Call) -> Any:
    size = call.fixed("out_size")
    size = size[0] if size and size[0] > 0 else None
    out = P.geometric.send_u_recv(call.x, call.src_index, call.dst_index, call.reduce_op.lower(), size)
    return out, None


@reads("nms")
def _nms(call: Call) -> Any:
    return P.vision.ops.nms(call.x, call.threshold)


@reads("roi_align")
def _roi_align(call: Call) -> Any:
    size = (call.pooled_height, call.pooled_width)
    return P.vision.ops.roi_align(
        call.x, call.boxes, call.boxes_num, size, call.spatial_scale, call.sampling_ratio, call.aligned
    )


@reads("roi_pool")
def _roi_pool(call: Call) -> Any:
    size = (call.pooled_height, call.pooled_width)
    return P.vision.ops.roi_pool(call.x, call.boxes, call.boxes_num, size, call.spatial_scale), None


@reads("yolo_box")
def _yolo_box(call: Call) -> Any:
    return tuple(
        P.vision.ops.yolo_box(
            call.x, call.img_size, list(call.anchors), call.class_num, call.conf_thresh, call.downsample_ratio,
            call.clip_bbox, None, call.scale_x_y, call.iou_aware, call.iou_aware_factor,
        )
    )  # fmt: skip


@reads("deformable_conv")
def _deformable(call: Call) -> Any:
    return P.vision.ops.deform_conv2d(
        call.x, call.offset, call.filter, None, list(call.strides), list(call.paddings), list(call.dilations),
        call.deformable_groups, call.groups, call.mask,
    )  # fmt: skip
