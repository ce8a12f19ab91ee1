"""Batch normalization of sparse tensors: of the stored values, channel by channel."""

from __future__ import annotations

from typing import Any

from ....engine import errors
from ....nn import functional as dense
from ....nn.layer import Layer
from ....nn.layers import norm
from ....nn.layers.common import with_name
from ...creation import sparse_of


def _normalized(layer: Any, x: Any) -> Any:
    x = sparse_of(type(layer).__name__, x, "input", "coo")
    if x._values.ndim != 2:
        raise errors.ValueError_(
            f"{type(layer).__name__}: the input must have one dense dimension, the channels, got "
            f"shape {list(x.shape)} with {x.ndim - x._pattern.sparse_dim} dense ones"
        )
    return x.like(
        dense.batch_norm(
            x._values,
            layer._mean,
            layer._variance,
            layer.weight,
            layer.bias,
            layer.training,
            layer._momentum,
            layer._epsilon,
            "NC",
            layer._use_global_stats,
        )
    )


class BatchNorm(norm.BatchNorm1D):
    """Batch normalization of the stored values of a COO tensor with dense channels.

    Args:
        num_features: number of channels.
        momentum: how much of the running statistics stays.
        epsilon: keeps the division away from zero.
        weight_attr, bias_attr: of the weight and the bias; False for none.
        data_format: "NDHWC" or "NHWC".
        use_global_stats: see `paddle.nn.BatchNorm2D`.

    Raises:
        ValueError: channels that are not dense, or another number of them.

    Example:
        >>> paddle.sparse.nn.BatchNorm(2)(paddle.ones([1, 3, 3, 3, 2]).to_sparse_coo(4)).shape
        [1, 3, 3, 3, 2]
    """

    def __init__(
        self,
        num_features,
        momentum=0.9,
        epsilon=1e-05,
        weight_attr=None,
        bias_attr=None,
        data_format="NDHWC",
        use_global_stats=None,
        name=None,
    ):
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name)

    def forward(self, input):
        return _normalized(self, input)


class SyncBatchNorm(norm.SyncBatchNorm):
    """BatchNorm with the statistics of all devices, see `paddle.nn.SyncBatchNorm`.

    Example:
        >>> paddle.sparse.nn.SyncBatchNorm(2)(paddle.ones([1, 3, 3, 3, 2]).to_sparse_coo(4)).shape
        [1, 3, 3, 3, 2]
    """

    def forward(self, x):
        return _normalized(self, x)

    def extra_repr(self):
        text = f"num_features={self._num_features}, momentum={self._momentum}, epsilon={self._epsilon}"
        return with_name(
            text if self._data_format == "NCHW" else f"{text}, data_format={self._data_format}", self._name
        )

    @classmethod
    def convert_sync_batchnorm(cls, layer):
        """Replace every sparse BatchNorm below `layer` by a SyncBatchNorm with the same parameters; returns the
        layer."""
        if isinstance(layer, BatchNorm):
            return super().convert_sync_batchnorm(layer)
        if not isinstance(layer, Layer):
            raise errors.TypeError_(f"convert_sync_batchnorm: layer must be a Layer, got {errors.describe(layer)}")
        for name, child in list(layer._sub_layers.items()):
            if child is not None:
                layer._sub_layers[name] = cls.convert_sync_batchnorm(child)
        return layer
