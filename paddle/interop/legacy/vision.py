"""Convolutions, pooling, normalization, resizing and sampling of images."""

from __future__ import annotations

import paddle
from paddle.nn import functional as F

from .activation import fused_activation
from .call import Call, constant, number, translates


def _padding(op: Call):
    algorithm = op.attr("padding_algorithm", "EXPLICIT")
    return algorithm if algorithm in ("SAME", "VALID") else list(op.attr("paddings", [0, 0]))


def _layout(op: Call, n: int) -> str:
    found = op.attr("data_format", op.attr("data_layout", ""))
    channels_first = {1: "NCL", 2: "NCHW", 3: "NCDHW"}[n]
    channels_last = {1: "NLC", 2: "NHWC", 3: "NDHWC"}[n]
    return channels_last if found in ("NHWC", "NDHWC", "NWC", "NLC") else channels_first


def convolution(op: Call, n: int):
    x, w = op["Input"], op["Filter"]
    function = F.conv2d if n == 2 else F.conv3d
    groups = op.attr("groups", 1)
    if op.type.startswith("depthwise") and groups == 1 and w.shape[1] == 1:
        groups = x.shape[1 if _layout(op, n) in ("NCHW", "NCDHW") else -1]
    ones = [1] * n
    out = function(
        x, w, None, op.attr("strides", ones), _padding(op), op.attr("dilations", ones), groups, _layout(op, n)
    )
    return channelwise(out, op["Bias"], _layout(op, n)) if op.has("Bias") else out


def channelwise(x, bias, layout: str = "NCHW"):
    """x plus one number a channel."""
    shape = [1] * len(x.shape)
    shape[-1 if layout[-1] == "C" else 1] = -1
    return x + bias.reshape(shape)


@translates("conv2d", "depthwise_conv2d")
def conv2d(op):
    out = convolution(op, 2)
    if op.attr("fuse_residual_connection", False) and op.has("ResidualData"):
        out = out + op["ResidualData"]
    if op.attr("fuse_relu", False):
        out = F.relu(out)
    name = op.attr("fuse_activation", "")
    return fused_activation(name, out, op.attr("fuse_alpha", 0.0), op.attr("fuse_beta", 0.0)) if name else out


@translates("fused_conv2d", "fused_conv2d_add_act", "conv2d_fusion", "depthwise_conv2d_bias")
def fused_conv2d(op):
    out = convolution(op, 2)
    if op.has("ResidualData"):
        out = out + op["ResidualData"]
    name = op.attr("fuse_activation", "") or op.attr(
        "activation", "relu" if op.type in ("conv2d_fusion", "fused_conv2d_add_act") else ""
    )
    numbers = (op.attr("fuse_alpha", 0.0), op.attr("fuse_beta", 0.0))
    out = fused_activation(name, out, *(numbers if any(numbers) else ()))
    parts = op.attr("split_channels", [])
    return {"Output": out, "Outputs": paddle.split(out, parts, 1)} if parts else out


@translates("conv3d", "fused_conv3d")
def conv3d(op):
    out = convolution(op, 3)
    return fused_activation(op.attr("fuse_activation", ""), out)


@translates("conv2d_transpose", "depthwise_conv2d_transpose", "conv3d_transpose", "conv2d_transpose_bias")
def conv2d_transpose(op):
    n = 3 if "conv3d" in op.type else 2
    ones = [1] * n
    layout = _layout(op, n)
    function = F.conv2d_transpose if n == 2 else F.conv3d_transpose
    out = function(
        op["Input"], op["Filter"], None, op.attr("strides", ones), _padding(op),
        output_padding=op.attr("output_padding", []) or 0 if not op.attr("output_size", []) else 0,
        dilation=op.attr("dilations", ones), groups=op.attr("groups", 1),
        output_size=op.numbers("output_size") or None, data_format=layout,
    )  # fmt: skip
    out = channelwise(out, op["Bias"], layout) if op.has("Bias") else out
    return fused_activation(op.attr("fuse_activation", ""), out)


@translates("deformable_conv", "deformable_conv_v1")
def deformable_conv(op):
    out = paddle.vision.ops.deform_conv2d(
        op["Input"], op["Offset"], op["Filter"], None, op.attr("strides", [1, 1]), op.attr("paddings", [0, 0]),
        op.attr("dilations", [1, 1]), op.attr("deformable_groups", 1), op.attr("groups", 1), op.get("Mask"),
    )  # fmt: skip
    return {"Output": out}


# ---- pooling ----


@translates("pool2d", "pool3d")
def pool(op):
    x, n = op["X"], 2 if op.type == "pool2d" else 3
    layout, ones = _layout(op, n), [1] * n
    average = op.attr("pooling_type", "max") == "avg"
    size = op.numbers("ksize")
    if op.attr("global_pooling", False) or op.attr("adaptive", False):
        size = ones if op.attr("global_pooling", False) else size
        if average:
            return (F.adaptive_avg_pool2d if n == 2 else F.adaptive_avg_pool3d)(x, size, layout)
        first = layout[-1] != "C"
        x = x if first else x.transpose([0, n + 1, *range(1, n + 1)])
        out = (F.adaptive_max_pool2d if n == 2 else F.adaptive_max_pool3d)(x, size)
        return out if first else out.transpose([0, *range(2, n + 2), 1])
    given = {
        "stride": op.attr("strides", ones),
        "padding": _padding(op),
        "ceil_mode": bool(op.attr("ceil_mode", False)),
    }
    if average:
        function = F.avg_pool2d if n == 2 else F.avg_pool3d
        return function(x, size, exclusive=bool(op.attr("exclusive", True)), data_format=layout, **given)
    return (F.max_pool2d if n == 2 else F.max_pool3d)(x, size, data_format=layout, **given)


@translates("max_pool2d_with_index", "max_pool3d_with_index")
def max_pool_with_index(op):
    x, n = op["X"], 2 if op.type == "max_pool2d_with_index" else 3
    size = op.attr("ksize")
    if op.attr("global_pooling", False) or op.attr("adaptive", False):
        size = [1] * n if op.attr("global_pooling", False) else size
        out, mask = (F.adaptive_max_pool2d if n == 2 else F.adaptive_max_pool3d)(x, size, return_mask=True)
    else:
        out, mask = (F.max_pool2d if n == 2 else F.max_pool3d)(
            x, size, op.attr("strides", [1] * n), op.attr("paddings", [0] * n), True, bool(op.attr("ceil_mode", False))
        )
    return {"Out": out, "Mask": mask}


@translates("unpool")
def unpool(op):
    size = op.numbers("output_size")
    size = None if all(isinstance(n, int) and n == 0 for n in size) else size
    return F.max_unpool2d(
        op["X"],
        op["Indices"],
        op.attr("ksize"),
        op.attr("strides", [1, 1]),
        op.attr("paddings", [0, 0]),
        output_size=size,
    )


# ---- normalization ----


@translates("batch_norm", "sync_batch_norm", "inplace_abn")
def batch_norm(op):
    x = op["X"]
    layout = op.attr("data_layout", "NCHW")
    layout = "NHWC" if layout in ("NHWC", "NDHWC", "NLC") and len(x.shape) > 2 else "NCHW"
    layout = {3: {"NCHW": "NCL", "NHWC": "NLC"}, 5: {"NCHW": "NCDHW", "NHWC": "NDHWC"}}.get(len(x.shape), {}).get(
        layout, layout
    )
    training = not (op.attr("is_test", False) or op.attr("use_global_stats", False)) or bool(
        op.attr("trainable_statistics", False)
    )
    out = F.batch_norm(
        x, op["Mean"], op["Variance"], op.get("Scale"), op.get("Bias"), training, number(op.attr("momentum", 0.9)),
        op.attr("epsilon", 1e-5), "NC" if len(x.shape) == 2 else layout, use_global_stats=not training,
    )  # fmt: skip
    if op.attr("fuse_with_relu", False):
        out = F.relu(out)
    if op.type == "inplace_abn":
        out = fused_activation(op.attr("activation", ""), out, op.attr("alpha", 0.1))
    return {"Y": out}


@translates("layer_norm")
def layer_norm(op):
    return {
        "Y": layer_normalized(
            op["X"], op.get("Scale"), op.get("Bias"), op.attr("begin_norm_axis", 1), op.attr("epsilon", 1e-5)
        )
    }


def layer_normalized(x, scale, bias, begin: int, epsilon: float):
    begin += len(x.shape) if begin < 0 else 0
    shape = x.shape[begin:]
    scale, bias = (v if v is None else v.reshape(shape) for v in (scale, bias))
    return F.layer_norm(x, list(shape), scale, bias, epsilon)


@translates("group_norm")
def group_norm(op):
    layout = "NHWC" if op.attr("data_layout", "NCHW") == "NHWC" else "NCHW"
    return {
        "Y": F.group_norm(op["X"], op.attr("groups"), op.attr("epsilon", 1e-5), op.get("Scale"), op.get("Bias"), layout)
    }


@translates("instance_norm")
def instance_norm(op):
    return {"Y": F.instance_norm(op["X"], None, None, op.get("Scale"), op.get("Bias"), eps=op.attr("epsilon", 1e-5))}


@translates("rms_norm")
def rms_norm(op):
    x = op["x"]
    return {
        "y": F.rms_norm(
            x, op.attr("normalized_shape", []) or list(x.shape[-1:]), op.get("scale"), op.attr("epsilon", 1e-5)
        )
    }


@translates("affine_channel")
def affine_channel(op):
    x, scale, bias = op["X"], op["Scale"], op["Bias"]
    shape = [1] * len(x.shape)
    shape[-1 if op.attr("data_layout", "NCHW") == "NHWC" else 1] = -1
    return x * scale.reshape(shape) + bias.reshape(shape)


@translates("lrn")
def lrn(op):
    """x over (k plus alpha times the sum of n squares) to the power of beta; the public function takes the mean."""
    n = op.attr("n", 5)
    layout = "NHWC" if op.attr("data_format", "NCHW") == "NHWC" else "NCHW"
    return F.local_response_norm(
        op["X"], n, op.attr("alpha", 1e-4) * n, op.attr("beta", 0.75), op.attr("k", 2.0), layout
    )


# ---- resizing ----


@translates(
    "nearest_interp", "nearest_interp_v2", "bilinear_interp", "bilinear_interp_v2", "bicubic_interp", "bicubic_interp_v2",
    "linear_interp", "linear_interp_v2", "trilinear_interp", "trilinear_interp_v2",
)  # fmt: skip
def interpolate(op):
    x, mode = op["X"], op.type.split("_")[0]
    n = len(x.shape) - 2
    layout = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}[n][
        op.attr("data_layout", "NCHW")[-1] == "C"
    ]
    corners = bool(op.attr("align_corners", True))
    size = scale = None
    if op.has("SizeTensor"):
        size = [number(t) for t in op.list("SizeTensor")]
    elif op.has("OutSize"):
        size = op.numbers(None, None, "OutSize")
    else:
        scale = op.numbers("scale")
        if op.has("Scale"):
            given = constant(op["Scale"])
            if given is None:
                raise NotImplementedError(f"{op.type}: a scale that depends on data")
            scale = given.reshape(-1).tolist()
        scale = [s for s in scale if s > 0]
        if not scale:
            size = [op.attr(name) for name in ("out_d", "out_h", "out_w")[3 - n :]]
    if size is not None:
        scale = None
    elif len(scale) == 1:
        scale = scale * n
    return _resized(x, size, scale, mode, corners, op.attr("align_mode", 1), layout)


def _resized(x, size, scale, mode, corners, align_mode, layout):
    if mode == "nearest" and corners:  # positions i * (length - 1) / (size - 1), halves upwards
        for k, axis in enumerate(range(1, len(x.shape) - 1) if layout[-1] == "C" else range(2, len(x.shape))):
            length = x.shape[axis]
            count = size[k] if size is not None else int(length * scale[k])
            if int(length) < 0:
                raise NotImplementedError("nearest_interp: align_corners with a length that is not known")
            ratio = (length - 1) / (count - 1) if count > 1 else 0.0
            x = paddle.index_select(x, paddle.to_tensor([int(ratio * i + 0.5) for i in range(count)]), axis)
        return x
    corners = corners and mode != "nearest"
    return F.interpolate(x, size, scale, mode, corners, align_mode if "linear" in mode else 0, layout)


@translates("grid_sampler")
def grid_sampler(op):
    return {
        "Output": F.grid_sample(
            op["X"],
            op["Grid"],
            op.attr("mode", "bilinear"),
            op.attr("padding_mode", "zeros"),
            bool(op.attr("align_corners", True)),
        )
    }


@translates("affine_grid")
def affine_grid(op):
    return {
        "Output": F.affine_grid(
            op["Theta"], op.numbers("output_shape", None, "OutputShape"), bool(op.attr("align_corners", True))
        )
    }


@translates("pixel_shuffle")
def pixel_shuffle(op):
    return F.pixel_shuffle(op["X"], op.attr("upscale_factor", 1), op.attr("data_format", "NCHW"))


@translates("pixel_unshuffle")
def pixel_unshuffle(op):
    return F.pixel_unshuffle(op["X"], op.attr("downscale_factor", 1), op.attr("data_format", "NCHW"))


@translates("channel_shuffle", "shuffle_channel")
def channel_shuffle(op):
    return F.channel_shuffle(op["X"], op.attr("groups", op.attr("group", 1)), op.attr("data_format", "NCHW"))


@translates("space_to_depth")
def space_to_depth(op):
    """The reorganisation of Darknet: the memory of x is read as fewer channels on a larger grid, whose blocks become
    channels, and the result again as the shape that is wanted."""
    x, b = op["X"], op.attr("blocksize")
    n, c, h, w = x.shape
    y = x.reshape([n, c // (b * b), h, b, w, b]).transpose([0, 3, 5, 1, 2, 4])
    return y.reshape([n, c * b * b, h // b, w // b])


@translates("temporal_shift")
def temporal_shift(op):
    return F.temporal_shift(
        op["X"], op.attr("seg_num"), op.attr("shift_ratio", 0.25), data_format=op.attr("data_format", "NCHW")
    )


@translates("unfold")
def unfold(op):
    return {
        "Y": F.unfold(op["X"], op.attr("kernel_sizes"), op.attr("strides"), op.attr("paddings"), op.attr("dilations"))
    }


@translates("fold")
def fold(op):
    return {
        "Y": F.fold(
            op["X"],
            op.attr("output_sizes"),
            op.attr("kernel_sizes"),
            op.attr("strides"),
            op.attr("paddings"),
            op.attr("dilations"),
        )
    }


@translates("row_conv")
def row_conv(op):
    """The sum of the next steps, each times its own row of weights; x is [batch, time, channels]."""
    x, w = op["X"], op["Filter"]
    steps = w.shape[0]
    padded = F.pad(x, [0, 0, 0, steps - 1, 0, 0])
    out = 0
    for k in range(steps):
        out = out + padded[:, k : k + x.shape[1] if x.shape[1] >= 0 else k - steps + 1 or None] * w[k]
    return out
