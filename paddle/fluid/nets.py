"""Combinations of layers that many networks use."""

from __future__ import annotations

from typing import Any

import paddle

from ..engine.tensor import Tensor
from . import layers

__all__ = ["glu", "img_conv_group", "scaled_dot_product_attention", "simple_img_conv_pool"]


def simple_img_conv_pool(
    input: Tensor,
    num_filters: int,
    filter_size: Any,
    pool_size: Any,
    pool_stride: Any,
    pool_padding: Any = 0,
    pool_type: str = "max",
    global_pooling: bool = False,
    conv_stride: Any = 1,
    conv_padding: Any = 0,
    conv_dilation: Any = 1,
    conv_groups: int = 1,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    use_cudnn: bool = True,
) -> Tensor:
    """A convolution, then pooling."""
    out = layers.conv2d(
        input,
        num_filters,
        filter_size,
        conv_stride,
        conv_padding,
        conv_dilation,
        conv_groups,
        param_attr,
        bias_attr,
        act=act,
    )
    return layers.pool2d(out, pool_size, pool_type, pool_stride, pool_padding, global_pooling)


def img_conv_group(
    input: Tensor,
    conv_num_filter: Any,
    pool_size: Any,
    conv_padding: Any = 1,
    conv_filter_size: Any = 3,
    conv_act: str | None = None,
    param_attr: Any = None,
    conv_with_batchnorm: Any = False,
    conv_batchnorm_drop_rate: Any = 0.0,
    pool_stride: Any = 1,
    pool_type: str = "max",
    use_cudnn: bool = True,
) -> Tensor:
    """Several convolutions, with batch normalisation and dropout where asked for, then pooling."""
    n = len(conv_num_filter)

    def each(value: Any) -> list:
        return list(value) if isinstance(value, (list, tuple)) else [value] * n

    out = input
    settings = zip(
        conv_num_filter,
        each(conv_filter_size),
        each(conv_padding),
        each(param_attr),
        each(conv_with_batchnorm),
        each(conv_batchnorm_drop_rate),
    )
    for filters, size, padding, attr, normed, rate in settings:
        act = None if normed else conv_act
        out = layers.conv2d(out, filters, size, padding=padding, param_attr=attr, act=act)
        if normed:
            out = layers.batch_norm(out, act=conv_act)
            if abs(rate) > 1e-5:
                out = layers.dropout(out, rate)
    return layers.pool2d(out, pool_size, pool_type, pool_stride)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half times the sigmoid of the second (Dauphin et al., 2017)."""
    return paddle.nn.functional.glu(input, dim)


def scaled_dot_product_attention(
    queries: Tensor, keys: Tensor, values: Tensor, num_heads: int = 1, dropout_rate: float = 0.0
) -> Tensor:
    """Attention of several heads without parameters (Vaswani et al., 2017): [batch, steps, width]."""

    def heads(x: Tensor) -> Tensor:
        return paddle.transpose(paddle.reshape(x, [0, 0, num_heads, x.shape[2] // num_heads]), [0, 2, 1, 3])

    q, k, v = heads(queries), heads(keys), heads(values)
    weights = paddle.nn.functional.softmax(paddle.matmul(q * q.shape[-1] ** -0.5, k, transpose_y=True))
    if dropout_rate:
        weights = layers.dropout(weights, dropout_rate)
    out = paddle.transpose(paddle.matmul(weights, v), [0, 2, 1, 3])
    return paddle.reshape(out, [0, 0, values.shape[2]])
