"""Linear maps, embedding, dropout, reshaping and resizing, padding."""

from __future__ import annotations

from typing import Any

from ...engine import errors
from ...engine.modes import modes
from ...engine.tensor import Tensor
from .. import functional as F
from ..initializer import Constant
from ..layer import Layer, other_names
from ..parameter import ParamAttr


def with_name(text: str, name: str | None) -> str:
    """The text of extra_repr with the layer's own name, where it has one."""
    return text if name is None else f"{text}, name={name}" if text else f"name={name}"


class Identity(Layer):
    """Returns its input. All arguments are accepted and ignored.

    Example:
        >>> paddle.nn.Identity(54, unused=True)(paddle.ones([1])).tolist()
        [1.0]
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def forward(self, input):
        return input


class Linear(Layer):
    """x @ weight + bias.

    Args:
        in_features: length of the last axis of the input.
        out_features: length of the last axis of the output.
        weight_attr: ParamAttr of the weight `[in_features, out_features]`, by default XavierUniform.
        bias_attr: ParamAttr of the bias `[out_features]`, by default zero; False for none.

    Raises:
        ValueError: a negative length, or an input that does not fit.

    Example:
        >>> paddle.nn.Linear(4, 3)(paddle.ones([2, 4])).shape
        [2, 3]
    """

    def __init__(self, in_features, out_features, weight_attr=None, bias_attr=None, name=None):
        super().__init__()
        self.in_features, self.out_features, self.name = in_features, out_features, name
        self.weight = self.create_parameter([in_features, out_features], weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self):
        rows, columns = self.weight.shape
        return with_name(f"in_features={rows}, out_features={columns}, dtype={self._dtype}", self.name)


class Bilinear(Layer):
    """x1 @ weight[k] @ x2 + bias for each output k.

    Args:
        in1_features, in2_features: lengths of the last axes of the inputs.
        out_features: length of the output's last axis.
        weight_attr: of the weight `[out_features, in1_features, in2_features]`.
        bias_attr: of the bias `[1, out_features]`; False for none.

    Example:
        >>> paddle.nn.Bilinear(4, 3, 2)(paddle.ones([5, 4]), paddle.ones([5, 3])).shape
        [5, 2]
    """

    def __init__(self, in1_features, in2_features, out_features, weight_attr=None, bias_attr=None, name=None):
        super().__init__()
        self._in1_features, self._in2_features = in1_features, in2_features
        self._out_features, self._name = out_features, name
        self.weight = self.create_parameter([out_features, in1_features, in2_features], weight_attr)
        self.bias = self.create_parameter([1, out_features], bias_attr, is_bias=True)

    def forward(self, x1, x2):
        return F.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self):
        return with_name(
            f"in1_features={self._in1_features}, in2_features={self._in2_features}, "
            f"out_features={self._out_features}, dtype={self._dtype}",
            self._name,
        )


class Embedding(Layer):
    """Rows of a table, chosen by integers.

    Args:
        num_embeddings: number of rows.
        embedding_dim: length of a row.
        padding_idx: a row that gives zeros and is not trained; negative counts from the end.
        max_norm: rows that are looked up and longer than this are shortened to it, in the table.
        norm_type: the p of that norm.
        scale_grad_by_freq: divide a row's gradient by the number of its occurrences.
        sparse: ask for a sparse gradient.
        _weight: a tensor to start from.
        _freeze: do not train the table.
        device, dtype: of the table.
        weight_attr: ParamAttr of the table, by default XavierUniform.

    Raises:
        ValueError: sizes that are not positive, or `padding_idx` out of range.

    Example:
        >>> paddle.nn.Embedding(10, 3)(paddle.to_tensor([[1, 2]])).shape
        [1, 2, 3]
    """

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        *,
        scale_grad_by_freq=False,
        sparse=False,
        _weight=None,
        _freeze=False,
        device=None,
        dtype=None,
        weight_attr=None,
        name=None,
    ):
        super().__init__(dtype=dtype)
        if num_embeddings <= 0 or embedding_dim <= 0:
            raise errors.ValueError_(
                f"Embedding: num_embeddings and embedding_dim must be positive, got {num_embeddings}, {embedding_dim}"
            )
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise errors.ValueError_(
                f"Embedding: padding_idx must be within [{-num_embeddings}, {num_embeddings}), got {padding_idx}"
            )
        self._num_embeddings, self._embedding_dim, self._padding_idx = num_embeddings, embedding_dim, padding_idx
        self._max_norm, self._norm_type, self._name = max_norm, norm_type, name
        self._scale_grad_by_freq, self._sparse = scale_grad_by_freq, sparse
        shape = [num_embeddings, embedding_dim]
        if _weight is None:
            self.weight = self.create_parameter(shape, weight_attr, device=device)
            if padding_idx is not None and modes.program is None:  # as officially; lookups give zeros anyway
                table = self.weight.numpy()
                table[padding_idx] = 0
                self.weight.set_value(table)
        else:
            if list(_weight.shape) != shape:
                raise errors.ValueError_(f"Embedding: _weight must have shape {shape}, got {list(_weight.shape)}")
            weight = self.create_parameter(shape, weight_attr, _weight.dtype, False, Constant(0.0), device)
            weight.set_value(_weight)
            self.weight = weight
        if _freeze:
            self.weight.stop_gradient = True
        if sparse:  # a table that parameter servers may hold
            self.weight.row_sparse = True
            self.weight.row_initializer = getattr(ParamAttr._to_attr(weight_attr), "initializer", None)

    @property
    def padding_idx(self) -> int | None:
        return self._padding_idx

    @property
    def num_embeddings(self) -> int:
        return self._num_embeddings

    @property
    def embedding_dim(self) -> int:
        return self._embedding_dim

    @other_names(input="x")
    def forward(self, x):
        return F.embedding(
            x, self.weight, self._padding_idx, self._max_norm, self._norm_type, self._sparse, self._scale_grad_by_freq
        )

    def extra_repr(self):
        padding = "" if self._padding_idx is None else f", padding_idx={self._padding_idx}"
        return with_name(
            f"{self._num_embeddings}, {self._embedding_dim}{padding}, sparse={self._sparse}, "
            f"scale_grad_by_freq={self._scale_grad_by_freq}",
            self._name,
        )


# ---- dropout ----
class Dropout(Layer):
    """In training sets elements to zero with probability p.

    Args:
        p: the probability, a number or a tensor of one element.
        inplace: allowed, without effect on the result.
        axis: the axes along which elements are chosen; all others share the choice. None: each element on its own.
        mode: "upscale_in_train" divides by 1 - p in training; "downscale_in_infer" multiplies by 1 - p in evaluation.

    Example:
        >>> layer = paddle.nn.Dropout(0.5)
        >>> layer.eval()(paddle.ones([3])).tolist()
        [1.0, 1.0, 1.0]
    """

    def __init__(self, p=0.5, inplace=False, axis=None, mode="upscale_in_train", name=None):
        super().__init__()
        self.p, self.inplace, self.axis, self.mode, self.name = p, inplace, axis, mode, name

    def forward(self, input):
        return F.dropout(input, self.p, self.axis, self.training, self.inplace, self.mode)

    def extra_repr(self):
        return with_name(f"p={self.p}, axis={self.axis}, mode={self.mode}", self.name) + f", inplace={self.inplace}"


class Dropout2D(Layer):
    """In training sets whole channels of [N, C, H, W] to zero with probability p.

    Example:
        >>> paddle.nn.Dropout2D(0.5)(paddle.ones([2, 3, 4, 4])).shape
        [2, 3, 4, 4]
    """

    def __init__(self, p=0.5, data_format="NCHW", name=None):
        super().__init__()
        self.p, self.data_format, self.name = p, data_format, name

    def forward(self, input):
        return F.dropout2d(input, self.p, self.training, self.data_format)

    def extra_repr(self):
        return with_name(f"p={self.p}, data_format={self.data_format}", self.name)


class Dropout3D(Layer):
    """In training sets whole channels of [N, C, D, H, W] to zero with probability p.

    Example:
        >>> paddle.nn.Dropout3D(0.5)(paddle.ones([1, 2, 3, 3, 3])).shape
        [1, 2, 3, 3, 3]
    """

    def __init__(self, p=0.5, data_format="NCDHW", name=None):
        super().__init__()
        self.p, self.data_format, self.name = p, data_format, name

    def forward(self, input):
        return F.dropout3d(input, self.p, self.training, self.data_format)

    def extra_repr(self):
        return with_name(f"p={self.p}, data_format={self.data_format}", self.name)


class AlphaDropout(Layer):
    """Dropout that keeps mean and variance of self-normalizing networks (Klambauer et al., NeurIPS 2017).

    Example:
        >>> paddle.nn.AlphaDropout(0.5)(paddle.ones([2, 3])).shape
        [2, 3]
    """

    def __init__(self, p=0.5, name=None):
        super().__init__()
        self.p, self.name = p, name

    def forward(self, input):
        return F.alpha_dropout(input, self.p, self.training)

    def extra_repr(self):
        return with_name(f"p={self.p}", self.name)


class FeatureAlphaDropout(Layer):
    """Alpha dropout of whole channels.

    Example:
        >>> paddle.nn.FeatureAlphaDropout(0.5)(paddle.ones([2, 3])).shape
        [2, 3]
    """

    def __init__(self, p=0.5, name=None):
        super().__init__()
        self.p, self.name = p, name

    def forward(self, input):
        return F.feature_alpha_dropout(input, self.p, self.training)

    def extra_repr(self):
        return with_name(f"p={self.p}", self.name)


# ---- shapes ----
class Flatten(Layer):
    """Joins the axes from start_axis to stop_axis, by default all but the first.

    Example:
        >>> paddle.nn.Flatten()(paddle.ones([2, 3, 4])).shape
        [2, 12]
    """

    def __init__(self, start_axis=1, stop_axis=-1):
        super().__init__()
        self.start_axis, self.stop_axis = start_axis, stop_axis

    def forward(self, input):
        return Tensor.flatten(input, self.start_axis, self.stop_axis)


class Unflatten(Layer):
    """Splits one axis into several.

    Args:
        axis: the axis.
        shape: the lengths that replace it; one may be -1.

    Example:
        >>> paddle.nn.Unflatten(1, [2, -1])(paddle.ones([3, 6])).shape
        [3, 2, 3]
    """

    def __init__(self, axis, shape, name=None):
        super().__init__()
        self.axis, self.shape, self.name = axis, shape, name

    def forward(self, input):
        return Tensor.unflatten(input, self.axis, self.shape)

    def extra_repr(self):
        return with_name(f"axis={self.axis}, shape={self.shape}", self.name)


class Fold(Layer):
    """Puts sliding blocks back together into an image and sums where they overlap, the reverse of Unfold.

    Args:
        output_sizes: [H, W] of the image.
        kernel_sizes, dilations, paddings, strides: of the blocks, ints or pairs.

    Example:
        >>> paddle.nn.Fold([4, 4], 2, strides=2)(paddle.ones([1, 8, 4])).shape
        [1, 2, 4, 4]
    """

    @other_names(
        output_size="output_sizes",
        kernel_size="kernel_sizes",
        dilation="dilations",
        padding="paddings",
        stride="strides",
    )
    def __init__(self, output_sizes, kernel_sizes, dilations=1, paddings=0, strides=1, name=None):
        super().__init__()
        self.output_sizes, self.kernel_sizes, self.dilations = output_sizes, kernel_sizes, dilations
        self.paddings, self.strides, self.name = paddings, strides, name

    output_size = property(lambda self: self.output_sizes)
    kernel_size = property(lambda self: self.kernel_sizes)
    dilation = property(lambda self: self.dilations)
    padding = property(lambda self: self.paddings)
    stride = property(lambda self: self.strides)

    def forward(self, input):
        return F.fold(input, self.output_sizes, self.kernel_sizes, self.strides, self.paddings, self.dilations)

    def extra_repr(self):
        return with_name(
            f"kernel_size={self.kernel_sizes}, dilation={self.dilations}, padding={self.paddings}, "
            f"stride={self.strides}",
            self.name,
        )


class Unfold(Layer):
    """Cuts [N, C, H, W] into sliding blocks: the result is [N, C * kh * kw, number of blocks].

    Example:
        >>> paddle.nn.Unfold(2, strides=2)(paddle.ones([1, 2, 4, 4])).shape
        [1, 8, 4]
    """

    def __init__(self, kernel_sizes, dilations=1, paddings=0, strides=1, name=None):
        super().__init__()
        self.kernel_sizes, self.dilations, self.paddings = kernel_sizes, dilations, paddings
        self.strides, self.name = strides, name

    def forward(self, input):
        return F.unfold(input, self.kernel_sizes, self.strides, self.paddings, self.dilations)

    def extra_repr(self):
        return with_name(
            f"kernel_size={self.kernel_sizes}, dilation={self.dilations}, padding={self.paddings}, "
            f"stride={self.strides}",
            self.name,
        )


# ---- resizing ----
class Upsample(Layer):
    """Resizes images to a size or by a factor, see `paddle.nn.functional.interpolate`.

    Args:
        size: the spatial lengths, or
        scale_factor: the factor(s).
        mode: "nearest", "linear", "bilinear", "bicubic", "trilinear" or "area".
        align_corners: keep the corner elements where they are.
        align_mode: 0 or 1, where "linear" and "bilinear" take their samples.
        data_format: the order of the axes.

    Example:
        >>> paddle.nn.Upsample(scale_factor=2)(paddle.ones([1, 1, 2, 3])).shape
        [1, 1, 4, 6]
    """

    def __init__(
        self,
        size=None,
        scale_factor=None,
        mode="nearest",
        align_corners=False,
        align_mode=0,
        data_format=None,
        recompute_scale_factor=None,
        name=None,
    ):
        super().__init__()
        self.size, self.scale_factor, self.mode = size, scale_factor, mode.lower()
        self.align_corners, self.align_mode, self.data_format = align_corners, align_mode, data_format
        self.recompute_scale_factor, self.name = recompute_scale_factor, name

    def forward(self, x):
        return F.interpolate(
            x,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.align_mode,
            self.data_format,
            self.recompute_scale_factor,
        )

    def extra_repr(self):
        by = f"scale_factor={self.scale_factor}" if self.scale_factor is not None else f"size={self.size}"
        return with_name(
            f"{by}, mode={self.mode}, align_corners={self.align_corners}, align_mode={self.align_mode}, "
            f"data_format={self.data_format}",
            self.name,
        )


class UpsamplingNearest2D(Layer):
    """Resizes images by repeating pixels.

    Example:
        >>> paddle.nn.UpsamplingNearest2D(size=[4, 4])(paddle.ones([1, 1, 2, 2])).shape
        [1, 1, 4, 4]
    """

    def __init__(self, size=None, scale_factor=None, data_format="NCHW", name=None):
        super().__init__()
        self.size, self.scale_factor, self.data_format, self.name = size, scale_factor, data_format, name

    @other_names(input="x")
    def forward(self, x):
        return F.interpolate(x, self.size, self.scale_factor, "nearest", False, 0, self.data_format)

    def extra_repr(self):
        by = f"scale_factor={self.scale_factor}" if self.scale_factor is not None else f"size={self.size}"
        return with_name(f"{by}, data_format={self.data_format}", self.name)


class UpsamplingBilinear2D(UpsamplingNearest2D):
    """Resizes images bilinearly with the corners kept in place.

    Example:
        >>> paddle.nn.UpsamplingBilinear2D(scale_factor=2)(paddle.ones([1, 1, 2, 2])).shape
        [1, 1, 4, 4]
    """

    @other_names(input="x")
    def forward(self, x):
        return F.interpolate(x, self.size, self.scale_factor, "bilinear", True, 0, self.data_format)
