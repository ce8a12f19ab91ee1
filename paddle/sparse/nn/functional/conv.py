"""Convolutions of sparse tensors: only stored values are met, and only places that meet one are stored.

Each is one gather of the values that the windows meet, by a table made on the host, and one matrix product (Graham,
Engelcke and van der Maaten, "3D Semantic Segmentation with Submanifold Sparse Convolutional Networks", CVPR 2018).
"""

from __future__ import annotations

import jax.numpy as jnp

from ....engine import errors
from ....engine.op import api
from ....engine.promotion import same_type
from ....ops import window
from ....ops.manipulation import tensor_of
from ...tensor import SparseTensor
from ...values import value_op
from .windows import read, table_of, with_channels


@value_op(name="sparse_conv")
def _convolve(values, table, weight, bias=None):
    """out[q] = sum over positions k of values[table[q, k]] @ weight[k] + bias; numbers beyond the values stand for
    zeros."""
    same_type("conv", values, weight)
    met = jnp.concatenate([values, jnp.zeros((1, values.shape[1]), values.dtype)])[table]
    out = met.reshape(table.shape[0], table.shape[1] * values.shape[1]) @ weight.reshape(-1, weight.shape[-1])
    if bias is None:
        return out
    same_type("conv", values, bias)
    return out + bias


def _conv(name, n, x, weight, bias, stride, padding, dilation, groups, data_format, same=False):
    if groups != 1:
        raise errors.ValueError_(f"{name}: a sparse convolution has groups=1, got {groups!r}")
    if not window.channel_last(name, data_format, n):
        raise errors.ValueError_(
            f"{name}: the data_format of a sparse tensor is {window.FORMATS[n][1]}, got {data_format!r}"
        )
    x, weight = read(name, x, n), tensor_of(name, weight, "weight")
    channels, kernel = x.shape[-1], tuple(weight.shape[:n])
    if weight.ndim != n + 2 or weight.shape[n] != channels or 0 in weight.shape:
        raise errors.ValueError_(
            f"{name}: weight must have shape [{'kernel, ' * n}{channels}, out], got {list(weight.shape)}"
        )
    if bias is not None and list(tensor_of(name, bias, "bias").shape) != [weight.shape[-1]]:
        raise errors.ValueError_(f"{name}: bias must have shape [{weight.shape[-1]}], got {list(bias.shape)}")
    stride = window.sizes(name, "stride", stride, n)
    dilation = window.sizes(name, "dilation", dilation, n)
    lengths = list(x.shape[1:-1])
    pads = window.pairs(name, padding, n, True, tuple(lengths), kernel, stride)
    if same:  # the window stands with its centre on the place of the result
        stride, pads = (1,) * n, [(d * (k // 2), d * (k // 2)) for d, k in zip(dilation, kernel)]
    else:
        if isinstance(padding, str) and padding.upper() == "SAME":
            dilation = (1,) * n
        spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel)]
        if any(length + sum(p) < span for length, p, span in zip(lengths, pads, spans)):
            raise errors.ValueError_(
                f"{name}: the kernel {list(kernel)} with dilation {list(dilation)} is larger than "
                f"x of shape {list(x.shape)} with its padding {[list(p) for p in pads]}"
            )
        lengths = [(length + sum(p) - span) // s + 1 for length, p, span, s in zip(lengths, pads, spans, stride)]
    pattern, table = table_of(x._pattern, kernel, stride, pads, dilation, lengths, same)
    return SparseTensor(with_channels(pattern, weight.shape[-1]), _convolve(x._values, table, weight, bias))


@api(method=False)
def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NHWC"):
    """The convolution of a sparse image; it stores every place whose window meets a stored value. See `conv3d`.

    Example:
        >>> x = paddle.ones([1, 3, 3, 2]).to_sparse_coo(3)
        >>> paddle.sparse.nn.functional.conv2d(x, paddle.ones([3, 3, 2, 4])).shape
        [1, 1, 1, 4]
    """
    return _conv("conv2d", 2, x, weight, bias, stride, padding, dilation, groups, data_format)


@api(method=False)
def conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NDHWC"):
    """The convolution of a sparse volume; it stores every place whose window meets a stored value.

    Args:
        x: COO, shape [N, D, H, W, C] with dense channels (`to_sparse_coo(4)`).
        weight: shape [KD, KH, KW, C, out].
        bias: shape [out], added at stored places; or None.
        stride, padding, dilation: as in `paddle.nn.functional.conv3d`.
        groups: 1.
        data_format: "NDHWC".

    Raises:
        ValueError: shapes that do not fit, values out of range.
        TypeError: x is no COO tensor, or different data types.

    Example:
        >>> x = paddle.ones([1, 3, 3, 3, 2]).to_sparse_coo(4)
        >>> paddle.sparse.nn.functional.conv3d(x, paddle.ones([3, 3, 3, 2, 4])).shape
        [1, 1, 1, 1, 4]
    """
    return _conv("conv3d", 3, x, weight, bias, stride, padding, dilation, groups, data_format)


@api(method=False)
def subm_conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NHWC", key=None):
    """The submanifold convolution of a sparse image, see `subm_conv3d`.

    Example:
        >>> x = paddle.eye(3).reshape([1, 3, 3, 1]).to_sparse_coo(3)
        >>> paddle.sparse.nn.functional.subm_conv2d(x, paddle.ones([3, 3, 1, 1])).values().flatten().tolist()
        [2.0, 3.0, 2.0]
    """
    return _conv("subm_conv2d", 2, x, weight, bias, stride, padding, dilation, groups, data_format, True)


@api(method=False)
def subm_conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NDHWC", key=None):
    """The submanifold convolution of a sparse volume: it stores the places that x stores, so that tensors do not fill
    up
    from layer to layer.

    Args:
        stride, padding: not used, the window stands with its centre on each stored place.
        key: not needed, a pattern remembers its neighbours by itself.
        x, weight, bias, dilation, groups, data_format: see `conv3d`.

    Example:
        >>> x = paddle.eye(3).reshape([1, 1, 3, 3, 1]).to_sparse_coo(4)
        >>> paddle.sparse.nn.functional.subm_conv3d(x, paddle.ones([3, 3, 3, 1, 1])).values().flatten().tolist()
        [2.0, 3.0, 2.0]
    """
    return _conv("subm_conv3d", 3, x, weight, bias, stride, padding, dilation, groups, data_format, True)


@api(method=False)
def subm_conv2d_igemm(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NHWC", key=None):
    """`subm_conv2d`, officially with another kernel; here there is one.

    Example:
        >>> x = paddle.eye(3).reshape([1, 3, 3, 1]).to_sparse_coo(3)
        >>> paddle.sparse.nn.functional.subm_conv2d_igemm(x, paddle.ones([3, 3, 1, 1])).nnz()
        3
    """
    return _conv("subm_conv2d_igemm", 2, x, weight, bias, stride, padding, dilation, groups, data_format, True)


@api(method=False)
def subm_conv3d_igemm(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NDHWC", key=None):
    """`subm_conv3d`, officially with another kernel; here there is one.

    Example:
        >>> x = paddle.eye(3).reshape([1, 1, 3, 3, 1]).to_sparse_coo(4)
        >>> paddle.sparse.nn.functional.subm_conv3d_igemm(x, paddle.ones([3, 3, 3, 1, 1])).nnz()
        3
    """
    return _conv("subm_conv3d_igemm", 3, x, weight, bias, stride, padding, dilation, groups, data_format, True)
