"""Normalization layers."""

from __future__ import annotations

import math
import sys
from typing import Any

from ...engine import errors
from .. import functional as F
from ..initializer import Constant, Normal
from ..layer import Layer, other_names
from ..parameter import ParamAttr
from .common import with_name


class _BatchNorm(Layer):
    """The parts that all batch normalizations share: parameters, running statistics, text."""

    _ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features,
        momentum=0.9,
        epsilon=1e-5,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
        use_global_stats=None,
        name=None,
    ):
        super().__init__()
        self._num_features, self._momentum, self._epsilon = num_features, momentum, epsilon
        self._data_format, self._use_global_stats, self._name = data_format, use_global_stats, name
        self._statistics(num_features, weight_attr, bias_attr, name and f"{name}_mean", name and f"{name}_variance")

    def _statistics(
        self, channels: int, weight_attr: Any, bias_attr: Any, mean_name: str | None, variance_name: str | None
    ) -> None:
        self.weight = self.create_parameter([channels], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([channels], bias_attr, is_bias=True)
        # Officially the running statistics are parameters that are not trained, so they count in parameters().
        self._mean = self.create_parameter([channels], ParamAttr(mean_name, Constant(0.0), trainable=False))
        self._variance = self.create_parameter([channels], ParamAttr(variance_name, Constant(1.0), trainable=False))

    def _check_rank(self, x: Any) -> None:
        if self._ranks and x.ndim not in self._ranks:
            ranks = " or ".join(map(str, self._ranks))
            raise errors.ValueError_(
                f"{type(self).__name__}: the input must have {ranks} axes, its shape is {list(x.shape)}"
            )

    def forward(self, input):
        self._check_rank(input)
        return F.batch_norm(
            input,
            self._mean,
            self._variance,
            self.weight,
            self.bias,
            self.training,
            self._momentum,
            self._epsilon,
            self._data_format,
            self._use_global_stats,
        )

    def extra_repr(self):
        text = f"num_features={self._num_features}, momentum={self._momentum}, epsilon={self._epsilon}"
        if self._data_format != "NCHW":
            text += f", data_format={self._data_format}"
        return with_name(text, self._name)


class BatchNorm1D(_BatchNorm):
    """Batch normalization of [N, C] or [N, C, L]; the arguments are those of BatchNorm2D, `data_format` is "NCL" or "NLC".

    Example:
        >>> paddle.nn.BatchNorm1D(3)(paddle.ones([2, 3])).shape
        [2, 3]
    """

    _ranks = (2, 3)

    def __init__(
        self,
        num_features,
        momentum=0.9,
        epsilon=1e-05,
        weight_attr=None,
        bias_attr=None,
        data_format="NCL",
        use_global_stats=None,
        name=None,
    ):
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name)


class BatchNorm2D(_BatchNorm):
    """(x - mean) / sqrt(variance + epsilon) * weight + bias for each channel of [N, C, H, W] (Ioffe and Szegedy, ICML 2015).

    In training by the statistics of the batch, which also move the running ones: running = momentum * running +
    (1 - momentum) * batch, with the biased variance. In evaluation by the running ones.

    Args:
        num_features: number of channels.
        momentum: how much of the running statistics stays.
        epsilon: keeps the division away from zero.
        weight_attr: of the weight `[C]`, by default one; False for none.
        bias_attr: of the bias `[C]`, by default zero; False for none.
        data_format: "NCHW" or "NHWC".
        use_global_stats: True uses the running statistics in training, too; False never; None decides by the mode.

    Raises:
        ValueError: an input of another rank or number of channels.

    Example:
        >>> paddle.nn.BatchNorm2D(3)(paddle.ones([2, 3, 4, 4])).shape
        [2, 3, 4, 4]
    """

    _ranks = (4,)

    def __init__(
        self,
        num_features,
        momentum=0.9,
        epsilon=1e-05,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
        use_global_stats=None,
        name=None,
    ):
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name)


class BatchNorm3D(_BatchNorm):
    """Batch normalization of [N, C, D, H, W]; the arguments are those of BatchNorm2D, with "NCDHW" or "NDHWC".

    Example:
        >>> paddle.nn.BatchNorm3D(3)(paddle.ones([1, 3, 2, 2, 2])).shape
        [1, 3, 2, 2, 2]
    """

    _ranks = (5,)

    def __init__(
        self,
        num_features,
        momentum=0.9,
        epsilon=1e-05,
        weight_attr=None,
        bias_attr=None,
        data_format="NCDHW",
        use_global_stats=None,
        name=None,
    ):
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization with the statistics of the batches of all processes (see `paddle.distributed`), whose gradients
    flow to all of them. In one process it is BatchNorm.

    Example:
        >>> model = paddle.nn.SyncBatchNorm.convert_sync_batchnorm(paddle.nn.Sequential(paddle.nn.BatchNorm2D(3)))
        >>> type(model[0]).__name__
        'SyncBatchNorm'
    """

    def __init__(
        self, num_features, momentum=0.9, epsilon=1e-05, weight_attr=None, bias_attr=None, data_format="NCHW", name=None
    ):
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, None, name)

    def forward(self, x):
        group = None
        if self.training and not self._use_global_stats and "paddle.distributed.world" in sys.modules:
            from ...distributed.communication.group import shared_group

            group = shared_group()
        if group is None:
            return super().forward(x)
        from ...distributed.sync_batch_norm import sync_batch_norm

        channel = x.ndim - 1 if self._data_format[-1] == "C" and x.ndim > 2 else 1
        return sync_batch_norm(
            x, self._mean, self._variance, self.weight, self.bias, self._momentum, self._epsilon, channel, group
        )

    @classmethod
    def convert_sync_batchnorm(cls, layer):
        """Replace every BatchNorm below `layer` by a SyncBatchNorm with the same parameters; returns the layer.

        Raises TypeError when `layer` is no Layer.
        """
        if not isinstance(layer, Layer):
            raise errors.TypeError_(f"convert_sync_batchnorm: layer must be a Layer, got {errors.describe(layer)}")
        if isinstance(layer, _BatchNorm) and not isinstance(layer, (SyncBatchNorm, BatchNorm)):
            made = cls(layer._num_features, layer._momentum, layer._epsilon, False, False, layer._data_format)
            made._parameters.clear()  # so that the order of the state stays
            made.weight, made.bias, made._mean, made._variance = layer.weight, layer.bias, layer._mean, layer._variance
            made._name, made._use_global_stats, made.training = layer._name, layer._use_global_stats, layer.training
            return made
        for name, child in list(layer._sub_layers.items()):
            if child is not None:
                layer._sub_layers[name] = cls.convert_sync_batchnorm(child)
        return layer


class BatchNorm(_BatchNorm):
    """Batch normalization of any rank, with an activation behind it (the interface of old programs).

    Args:
        num_channels: number of channels.
        act: name of an activation in paddle.nn.functional.
        is_test: start in evaluation mode.
        momentum, epsilon, bias_attr, use_global_stats: see BatchNorm2D.
        param_attr: of the weight.
        dtype: of the parameters; they stay float32 for half types.
        data_layout: "NCHW" or "NHWC".
        moving_mean_name, moving_variance_name: names of the running statistics.
        trainable_statistics: use the statistics of the batch in evaluation, too.

    Example:
        >>> paddle.nn.BatchNorm(3)(paddle.ones([2, 3, 4])).shape
        [2, 3, 4]
    """

    def __init__(
        self,
        num_channels,
        act=None,
        is_test=False,
        momentum=0.9,
        epsilon=1e-05,
        param_attr=None,
        bias_attr=None,
        dtype="float32",
        data_layout="NCHW",
        in_place=False,
        moving_mean_name=None,
        moving_variance_name=None,
        do_model_average_for_mean_and_var=True,
        use_global_stats=False,
        trainable_statistics=False,
    ):
        Layer.__init__(self, dtype="float32" if dtype in ("float16", "bfloat16") else dtype)
        self._num_features, self._momentum, self._epsilon, self._name = num_channels, momentum, epsilon, None
        self._data_format, self._use_global_stats = data_layout, use_global_stats
        self._act, self._is_test, self._trainable_statistics = act, is_test, trainable_statistics
        self._statistics(num_channels, param_attr, bias_attr, moving_mean_name, moving_variance_name)
        if is_test:
            self.training = False

    def forward(self, input):
        training = self.training or self._trainable_statistics
        out = F.batch_norm(
            input,
            self._mean,
            self._variance,
            self.weight,
            self.bias,
            training,
            self._momentum,
            self._epsilon,
            self._data_format,
            self._use_global_stats or None,
        )
        return out if self._act is None else getattr(F, self._act)(out)

    def extra_repr(self):
        return ""


class LayerNorm(Layer):
    """(x - mean) / sqrt(variance + epsilon) * weight + bias over the last axes (Ba et al. 2016).

    Args:
        normalized_shape: the lengths of those axes, an int or a list.
        epsilon: keeps the division away from zero, at most 0.001.
        elementwise_affine: False for neither weight nor bias.
        bias: False for no bias.
        device, dtype: of the parameters.
        weight_attr, bias_attr: of weight and bias, flat vectors with one element for each normalized one; False for none.

    Raises:
        ValueError: the last axes of the input have other lengths.

    Example:
        >>> paddle.nn.LayerNorm(4)(paddle.ones([2, 4])).tolist()[0]
        [0.0, 0.0, 0.0, 0.0]
    """

    @other_names(eps="epsilon")
    def __init__(
        self,
        normalized_shape,
        epsilon=1e-05,
        *,
        elementwise_affine=True,
        bias=True,
        device=None,
        dtype=None,
        weight_attr=None,
        bias_attr=None,
        name=None,
    ):
        super().__init__(dtype=dtype)
        shape = normalized_shape if isinstance(normalized_shape, (list, tuple)) else [normalized_shape]
        if not all(hasattr(length, "__index__") for length in shape):
            raise errors.TypeError_(
                f"LayerNorm: normalized_shape must be an int or a list of ints, got {normalized_shape!r}"
            )
        shape = [length.__index__() for length in shape]
        self._normalized_shape, self._epsilon = shape, epsilon
        size = [math.prod(shape)]
        self.weight = self.create_parameter(
            size, weight_attr if elementwise_affine else False, default_initializer=Constant(1.0), device=device
        )
        self.bias = self.create_parameter(
            size, bias_attr if elementwise_affine and bias else False, is_bias=True, device=device
        )

    def forward(self, input):
        return F.layer_norm(input, self._normalized_shape, self.weight, self.bias, self._epsilon)

    def extra_repr(self):
        return f"normalized_shape={self._normalized_shape}, epsilon={self._epsilon}"


class GroupNorm(Layer):
    """Normalization over groups of channels of each sample (Wu and He, ECCV 2018).

    Args:
        num_groups: number of groups, which must divide
        num_channels: number of channels.
        epsilon: keeps the division away from zero.
        affine: False for neither weight nor bias.
        device, dtype: of the parameters.
        weight_attr, bias_attr: of weight and bias `[num_channels]`; False for none.
        data_format: "NCHW", "NHWC" and the like.

    Raises:
        ValueError: another `data_format`, or channels that `num_groups` does not divide (when called).

    Example:
        >>> paddle.nn.GroupNorm(2, 4)(paddle.ones([1, 4, 3, 3])).shape
        [1, 4, 3, 3]
    """

    @other_names(eps="epsilon")
    def __init__(
        self,
        num_groups,
        num_channels,
        epsilon=1e-05,
        *,
        affine=True,
        device=None,
        dtype=None,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
        name=None,
    ):
        super().__init__(dtype=dtype)
        if data_format not in ("NCHW", "NHWC", "NCL", "NLC", "NCDHW", "NDHWC"):
            raise errors.ValueError_(
                f"GroupNorm: data_format must be NCHW, NHWC, NCL, NLC, NCDHW or NDHWC, got {data_format!r}"
            )
        self._num_groups, self._num_channels = num_groups, num_channels
        self._epsilon, self._data_format = epsilon, data_format
        self.weight = self.create_parameter(
            [num_channels], weight_attr if affine else False, default_initializer=Constant(1.0), device=device
        )
        self.bias = self.create_parameter([num_channels], bias_attr if affine else False, is_bias=True, device=device)

    def forward(self, input):
        return F.group_norm(input, self._num_groups, self._epsilon, self.weight, self.bias, self._data_format)

    def extra_repr(self):
        return f"num_groups={self._num_groups}, num_channels={self._num_channels}, epsilon={self._epsilon}"


class _InstanceNorm(Layer):
    """Normalization of each channel of each sample by its own statistics (Ulyanov et al. 2016)."""

    _ranks: tuple[int, ...] = ()

    def __init__(
        self, num_features, epsilon=1e-5, momentum=0.9, weight_attr=None, bias_attr=None, data_format="NCHW", name=None
    ):
        super().__init__()
        if (weight_attr is False) != (bias_attr is False):
            raise errors.ValueError_(f"{type(self).__name__}: weight_attr and bias_attr must both be False, or neither")
        self._num_features, self._epsilon, self._momentum, self._data_format = (
            num_features,
            epsilon,
            momentum,
            data_format,
        )
        self.scale = self.create_parameter([num_features], weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter([num_features], bias_attr, is_bias=True)

    def forward(self, input):
        if input.ndim not in self._ranks:
            raise errors.ValueError_(
                f"{type(self).__name__}: the input must have {' or '.join(map(str, self._ranks))} axes, "
                f"its shape is {list(input.shape)}"
            )
        return F.instance_norm(
            input, None, None, self.scale, self.bias, True, self._momentum, self._epsilon, self._data_format
        )

    def extra_repr(self):
        return f"num_features={self._num_features}, epsilon={self._epsilon}"


class InstanceNorm1D(_InstanceNorm):
    """Instance normalization of [N, C, L]; the arguments are those of InstanceNorm2D.

    Example:
        >>> paddle.nn.InstanceNorm1D(3)(paddle.ones([2, 3, 4])).shape
        [2, 3, 4]
    """

    _ranks = (2, 3)

    def __init__(
        self, num_features, epsilon=1e-05, momentum=0.9, weight_attr=None, bias_attr=None, data_format="NCL", name=None
    ):
        super().__init__(num_features, epsilon, momentum, weight_attr, bias_attr, data_format, name)


class InstanceNorm2D(_InstanceNorm):
    """Normalization of each channel of each sample of [N, C, H, W] by its own statistics (Ulyanov et al. 2016).

    Args:
        num_features: number of channels.
        epsilon: keeps the division away from zero.
        momentum: without effect, there are no running statistics.
        weight_attr, bias_attr: of `scale` and `bias` `[num_features]`; both False for none.
        data_format: "NCHW" or "NHWC".

    Raises:
        ValueError: only one of the attrs is False, or an input of another rank.

    Example:
        >>> paddle.nn.InstanceNorm2D(3)(paddle.ones([2, 3, 4, 4])).shape
        [2, 3, 4, 4]
    """

    _ranks = (4,)

    def __init__(
        self, num_features, epsilon=1e-05, momentum=0.9, weight_attr=None, bias_attr=None, data_format="NCHW", name=None
    ):
        super().__init__(num_features, epsilon, momentum, weight_attr, bias_attr, data_format, name)


class InstanceNorm3D(_InstanceNorm):
    """Instance normalization of [N, C, D, H, W]; the arguments are those of InstanceNorm2D.

    Example:
        >>> paddle.nn.InstanceNorm3D(3)(paddle.ones([1, 3, 2, 2, 2])).shape
        [1, 3, 2, 2, 2]
    """

    _ranks = (5,)

    def __init__(
        self,
        num_features,
        epsilon=1e-05,
        momentum=0.9,
        weight_attr=None,
        bias_attr=None,
        data_format="NCDHW",
        name=None,
    ):
        super().__init__(num_features, epsilon, momentum, weight_attr, bias_attr, data_format, name)


class LocalResponseNorm(Layer):
    """Divides by a power of the mean square over `size` neighbouring channels (Krizhevsky et al., NeurIPS 2012).

    Example:
        >>> paddle.nn.LocalResponseNorm(5)(paddle.ones([1, 3, 2, 2])).shape
        [1, 3, 2, 2]
    """

    def __init__(self, size, alpha=0.0001, beta=0.75, k=1.0, data_format="NCHW", name=None):
        super().__init__()
        self.size, self.alpha, self.beta, self.k, self.data_format, self.name = size, alpha, beta, k, data_format, name

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k, self.data_format)

    def extra_repr(self):
        text = f"size={self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
        if self.data_format != "NCHW":
            text += f", data_format={self.data_format}"
        return with_name(text, self.name)


class SpectralNorm(Layer):
    """A weight divided by its largest singular value, which power iteration estimates (Miyato et al., ICLR 2018).

    Args:
        weight_shape: the shape of the weight.
        dim: the axis that becomes the rows of the matrix.
        power_iters: steps in each call.
        eps: keeps the division away from zero.
        dtype: of the estimates.

    Example:
        >>> paddle.nn.SpectralNorm([2, 3])(paddle.ones([2, 3])).shape
        [2, 3]
    """

    def __init__(self, weight_shape, dim=0, power_iters=1, eps=1e-12, dtype="float32"):
        super().__init__(dtype=dtype)
        if len(weight_shape) == 0 or math.prod(weight_shape) <= 0:
            raise errors.ValueError_(f"SpectralNorm: weight_shape must have elements, got {list(weight_shape)}")
        if not -len(weight_shape) <= dim < len(weight_shape):
            raise errors.ValueError_(f"SpectralNorm: dim={dim} is no axis of {list(weight_shape)}")
        self._dim, self._power_iters = dim % len(weight_shape), power_iters
        self._eps, self._weight_shape = eps, list(weight_shape)
        rows = weight_shape[dim]
        fixed = ParamAttr(initializer=Normal(0.0, 1.0), trainable=False)
        self.weight_u = self.create_parameter([rows], fixed)
        self.weight_v = self.create_parameter([math.prod(weight_shape) // rows], fixed)

    def forward(self, x):
        from ..utils.spectral import divide_by_norm

        if list(x.shape) != self._weight_shape:
            raise errors.ValueError_(f"SpectralNorm: x must have shape {self._weight_shape}, got {list(x.shape)}")
        return divide_by_norm(x, self.weight_u, self.weight_v, self._dim, self._power_iters, self._eps)
