"""The convolution as XLA has it, for arrays: what operators mean, on every device.

On the CPU, XLA's grouped convolutions and those of a single input channel are many times slower than the same work in
other forms, so there a convolution with one input channel for each output is a sum of shifted products, and one of a
few groups a convolution for each group.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from . import window

_AXES = "DHW"


def _layout(n, last):
    spatial = _AXES[3 - n :]
    x = f"N{spatial}C" if last else f"NC{spatial}"
    return x, "OI" + spatial, x


def convolve(x, w, stride, pads, dilation, groups, last, interior=None):
    """The convolution of x with w [out, in / groups, kernel]; interior - 1 zeros go between the elements of x."""
    n = len(stride)
    interior = interior or (1,) * n
    kernel = w.shape[2:]
    axes = window.spatial_axes(n, last)
    plain = groups == 1 and all(p == (0, 0) for p in pads) and max(interior) == 1
    if plain and all(k == 1 for k in kernel):  # a matrix product for each position
        x = x[tuple(slice(None, None, stride[axes.index(i)]) if i in axes else slice(None) for i in range(n + 2))]
        return _matrix(x, w.reshape(w.shape[:2]), last)
    if plain and kernel == tuple(x.shape[a] for a in axes):  # one position
        out = jnp.tensordot(x, w, ((x.ndim - 1 if last else 1, *axes), tuple(range(1, n + 2))))
        return jnp.expand_dims(out, axes)

    def general(x, w):
        if n == 3 and max(stride) > 1:
            return jax.lax.platform_dependent(x, w, cpu=padded_first, default=direct)
        return direct(x, w)

    def direct(x, w, pads=pads):
        return jax.lax.conv_general_dilated(
            x, w, stride, pads, interior, dilation, _layout(n, last), feature_group_count=groups
        )

    def padded_first(x, w):  # with padding inside, XLA's compiler for CPUs ends the process at some gradients
        config = [(0, 0, 0)] * x.ndim
        for a, (before, after) in zip(axes, pads):
            config[a] = (before, after, 0)
        return direct(jax.lax.pad(x, jnp.zeros((), x.dtype), config), w, [(0, 0)] * n)

    if w.shape[1] == 1 and np.prod(kernel) <= 128:

        def depthwise(x, w):
            return _depthwise(x, w, stride, pads, dilation, last, interior)

        return jax.lax.platform_dependent(x, w, cpu=depthwise, default=general)
    if 1 < groups <= 64:

        def grouped(x, w):
            channels = -1 if last else 1
            parts = [
                convolve(a, b, stride, pads, dilation, 1, last, interior)
                for a, b in zip(jnp.split(x, groups, channels), jnp.split(w, groups, 0))
            ]
            return jnp.concatenate(parts, channels)

        return jax.lax.platform_dependent(x, w, cpu=grouped, default=general)
    return general(x, w)


def _matrix(x, w, last):
    return jnp.einsum("n...c,oc->n...o", x, w) if last else jnp.einsum("nc...,oc->no...", x, w)


def _depthwise(x, w, stride, pads, dilation, last, interior):
    """The convolution of each channel (or the only one) with its own kernels, as a sum of shifted products."""
    n = len(stride)
    axes = window.spatial_axes(n, last)
    channels = x.ndim - 1 if last else 1
    config = [(0, 0, 0)] * x.ndim
    for a, (before, after), i in zip(axes, pads, interior):
        config[a] = (before, after, i - 1)
    x = jax.lax.pad(x, jnp.zeros((), x.dtype), config)
    if x.shape[channels] not in (1, w.shape[0]):
        x = jnp.repeat(x, w.shape[0] // x.shape[channels], channels)
    kernel = w.shape[2:]
    outs = [(x.shape[a] - d * (k - 1) - 1) // s + 1 for a, k, s, d in zip(axes, kernel, stride, dilation)]
    shape = [-1 if i == channels else 1 for i in range(x.ndim)]
    total = 0
    for at in np.ndindex(*kernel):
        index = [slice(None)] * x.ndim
        for a, i, o, s, d in zip(axes, at, outs, stride, dilation):
            index[a] = slice(i * d, i * d + (o - 1) * s + 1, s)
        total = total + x[tuple(index)] * w[(slice(None), 0, *at)].reshape(shape)
    return total
