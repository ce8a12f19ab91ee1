"""Dropout in its forms. The backward pass draws the mask again from the same key, so no mask is kept."""

from __future__ import annotations

import builtins
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.tensor import Tensor

nn_op = functools.partial(op, method=False)
nn_api = functools.partial(api, method=False)

ALPHA = -1.6732632423543772 * 1.0507009873554805  # what SELU tends to at -infinity


def keep(key, shape, axis, p):
    """A mask of kept elements, broadcastable to `shape`; it varies along `axis` only (None: everywhere). The
    probability p is exact to 2 ** -24.

    An element's bits are a hash of its position and the key: threefry, which has to be good for every purpose, takes four
    times as long, and the mask is drawn twice in a training step.
    """
    if axis is not None:
        shape = tuple(n if i in axis else 1 for i, n in enumerate(shape))
    bits = _hash(math.prod(shape), jax.random.key_data(key)).reshape(shape)
    # signed: comparing unsigned numbers is slow on the CPU
    return (bits >> np.uint32(8)).astype(np.int32) >= jnp.round(p * 2.0**24).astype(np.int32)


def _hash(n, words):
    """32 bits for each position below n: two rounds of the hash "lowbias32" (Wellons, 2018), with one word of the key each."""
    wide = isinstance(n, int) and n > 2**32
    position = jax.lax.iota(np.uint64 if wide else np.uint32, n)
    bits = position.astype(np.uint32)
    for word in (words[0], words[1] ^ (position >> np.uint64(32)).astype(np.uint32) if wide else words[1]):
        bits = bits ^ word
        bits = (bits ^ bits >> np.uint32(16)) * np.uint32(0x21F0AAAD)
        bits = (bits ^ bits >> np.uint32(15)) * np.uint32(0x735A2D97)
        bits = bits ^ bits >> np.uint32(15)
    return bits


@nn_op(random=True, scalars="p", export=False, name="dropout")
def _dropout(key, x, p, axis, upscale):
    kept = keep(key, x.shape, axis, p)
    return jnp.where(kept, x / jnp.where(p < 1, 1 - p, 1).astype(x.dtype) if upscale else x, 0)


@nn_op(scalars="p", export=False, name="dropout_scale")
def _scaled(x, p):
    return x * (1 - p)


@nn_op(random=True, scalars="p", export=False, name="alpha_dropout")
def _alpha_dropout(key, x, p, axis):
    kept = keep(key, x.shape, axis, p)
    a = 1 / jnp.sqrt((1 - p) * (1 + p * ALPHA * ALPHA))
    return jnp.where(p < 1, jnp.where(kept, x, ALPHA) * a - ALPHA * p * a, 0).astype(x.dtype)


def _check(name, x, p):
    if not isinstance(x, Tensor):
        raise errors.TypeError_(f"{name}: x must be a Tensor, got {errors.describe(x)}")
    if (isinstance(p, Tensor) or p != 0) and not x.dtype.is_floating and not x.dtype.is_complex:
        raise errors.TypeError_(f"{name}: x must be floating, got {x.dtype.name}")
    if isinstance(p, (int, float)) and not isinstance(p, builtins.bool):
        if not 0 <= p <= 1:
            raise errors.ValueError_(f"{name}: p must be between 0 and 1, got {p}")
    elif not isinstance(p, (Tensor, np.number)):
        raise errors.TypeError_(f"{name}: p must be a number, got {errors.describe(p)}")


@nn_api
def dropout(x, p=0.5, axis=None, training=True, inplace=False, mode="upscale_in_train"):
    """Set elements to 0 with probability p (Srivastava et al., 2014).

    Args:
        x: floating.
        p: a number (or a tensor of one element) in [0, 1].
        axis: an int or a list of ints: the mask varies along these axes only; None means all.
        training: False for inference.
        inplace: write the result into x.
        mode: "upscale_in_train" divides what is kept by 1 - p in training; "downscale_in_infer" multiplies by 1 - p
            in inference.

    Raises:
        TypeError: x not floating (p=0 takes every type), p no number.
        ValueError: p outside [0, 1], an unknown mode, an axis out of range.

    Example:
        >>> paddle.nn.functional.dropout(paddle.ones([2]), 0.5, training=False).tolist()
        [1.0, 1.0]
    """
    _check("dropout", x, p)
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise errors.ValueError_(f"dropout: mode must be 'upscale_in_train' or 'downscale_in_infer', got {mode!r}")
    if axis is not None:
        axis = tuple(int(a) for a in axis) if isinstance(axis, (list, tuple)) else (int(axis),)
        if not all(0 <= a < x.ndim for a in axis):
            raise errors.ValueError_(
                f"dropout: every axis must be in [0, {x.ndim}) for x of shape {list(x.shape)}, got {list(axis)}"
            )
    if inplace:
        return x._inplace(dropout, p, axis, training, False, mode)
    upscale = mode == "upscale_in_train"
    if not isinstance(p, Tensor) and p == 0 or not training and upscale:
        return x
    return _dropout(x, p, axis, upscale) if training else _scaled(x, p)


def _channels(name, x, p, training, ndim, data_format):
    """Dropout of whole channels."""
    formats = {3: ("NCL", "NLC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}[ndim]
    if data_format not in formats:
        raise errors.ValueError_(f"{name}: data_format must be {formats[0]} or {formats[1]}, got {data_format!r}")
    if x.ndim != ndim:
        raise errors.ValueError_(f"{name}: x must be {ndim}-D, got shape {list(x.shape)}")
    return dropout(x, p, (0, 1 if data_format == formats[0] else ndim - 1), training)


@nn_api
def dropout1d(input, p=0.5, training=True, inplace=False):
    """Set whole channels of [N, C, L] or [C, L] to 0 with probability p. ValueError for other ranks.

    Example:
        >>> paddle.nn.functional.dropout1d(paddle.ones([2, 3, 4]), 0.5).shape
        [2, 3, 4]
    """
    if input.ndim not in (2, 3):
        raise errors.ValueError_(f"dropout1d: input must be 2-D or 3-D, got shape {list(input.shape)}")
    return dropout(input, p, tuple(range(input.ndim - 1)), training, inplace)


@nn_api
def dropout2d(x, p=0.5, training=True, data_format="NCHW"):
    """Set whole channels (feature maps) to 0 with probability p (Tompson et al., 2015).

    Args:
        x: 4-D, floating, in `data_format` NCHW or NHWC.

    Raises:
        ValueError: another rank or data_format, p outside [0, 1].

    Example:
        >>> paddle.nn.functional.dropout2d(paddle.ones([1, 2, 2, 2]), 0.5, training=False).sum().item()
        8.0
    """
    return _channels("dropout2d", x, p, training, 4, data_format)


@nn_api
def dropout3d(x, p=0.5, training=True, data_format="NCDHW"):
    """Set whole channels of a 5-D x (NCDHW or NDHWC) to 0 with probability p; errors as for `dropout2d`.

    Example:
        >>> paddle.nn.functional.dropout3d(paddle.ones([1, 2, 2, 2, 2]), 0.5, training=False).sum().item()
        16.0
    """
    return _channels("dropout3d", x, p, training, 5, data_format)


@nn_api
def alpha_dropout(x, p=0.5, training=True):
    """Dropout that keeps mean and variance of self-normalising networks (Klambauer et al., 2017): elements go to the
    negative limit of SELU and the result is scaled and shifted.

    Example:
        >>> paddle.nn.functional.alpha_dropout(paddle.ones([2]), 0.5, training=False).tolist()
        [1.0, 1.0]
    """
    _check("alpha_dropout", x, p)
    return _alpha_dropout(x, p, None) if training and (isinstance(p, Tensor) or p > 0) else x


@nn_api
def feature_alpha_dropout(x, p=0.5, training=True):
    """`alpha_dropout` of whole channels: the first two axes of x share one draw. ValueError for fewer than two axes.

    Example:
        >>> paddle.nn.functional.feature_alpha_dropout(paddle.ones([2, 3, 4]), 0.5).shape
        [2, 3, 4]
    """
    _check("feature_alpha_dropout", x, p)
    if x.ndim < 2:
        raise errors.ValueError_(
            f"feature_alpha_dropout: x must have at least two dimensions, got shape {list(x.shape)}"
        )
    return _alpha_dropout(x, p, (0, 1)) if training and (isinstance(p, Tensor) or p > 0) else x
