"""Deformable convolution."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import same_type
from . import window
from .detection import check


def _sample(image: Any, rows: Any, columns: Any) -> Any:
    """Linear interpolations [points, C] of an image [H, W, C], which is zero outside."""
    h, w, c = image.shape
    flat = image.reshape(h * w, c)
    # further out is outside as well, and has finite weights
    rows, columns = jnp.clip(rows, -2, h + 1), jnp.clip(columns, -2, w + 1)
    top, left = jnp.floor(rows), jnp.floor(columns)
    total: Any = 0
    for below in (0, 1):
        for right in (0, 1):
            i, j = top + below, left + right
            weight = (1 - jnp.abs(rows - i)) * (1 - jnp.abs(columns - j))
            inside = (i >= 0) & (i < h) & (j >= 0) & (j < w)
            at = (jnp.clip(jnp.nan_to_num(i), 0, h - 1) * w + jnp.clip(jnp.nan_to_num(j), 0, w - 1)).astype(np.int32)
            total = total + jnp.where(inside, weight, 0)[:, None] * flat[at]
    return total


@op(method=False, export=False, name="deform_conv2d", tensors="offset")
def _deform_conv2d(x, offset, weight, mask, stride, padding, dilation, parts, groups):
    for other in (offset, weight, *([] if mask is None else [mask])):
        same_type("deform_conv2d", x, other)
    n, c, h, w = x.shape
    out, _, kh, kw = weight.shape
    oh, ow = offset.shape[2:]
    taps = kh * kw
    wide = jnp.promote_types(x.dtype, np.float32)
    shifts = offset.reshape(n, parts, taps, 2, oh, ow).astype(wide)
    tap = np.indices((kh, kw)).reshape(2, taps)
    rows = np.arange(oh)[:, None] * stride[0] - padding[0] + (tap[0] * dilation[0])[:, None, None]
    columns = np.arange(ow) * stride[1] - padding[1] + (tap[1] * dilation[1])[:, None, None]
    rows, columns = (
        (shifts[:, :, :, k] + jnp.asarray(base, wide)).reshape(n * parts, taps * oh * ow)
        for k, base in enumerate((rows, columns))
    )
    images = jnp.moveaxis(x.reshape(n * parts, c // parts, h, w), 1, -1)
    read = jax.vmap(_sample)(images.astype(wide), rows, columns).reshape(n, parts, taps, oh, ow, c // parts)
    if mask is not None:
        read = read * mask.reshape(n, parts, taps, oh, ow, 1).astype(wide)
    read = read.astype(x.dtype).transpose(0, 1, 5, 2, 3, 4).reshape(n, groups, c // groups, taps, oh, ow)
    kernel = weight.reshape(groups, out // groups, c // groups, taps)
    return jnp.einsum("gock,ngckhw->ngohw", kernel, read).reshape(n, out, oh, ow)


@api(method=False)
def deform_conv2d(
    x, offset, weight, bias=None, stride=1, padding=0, dilation=1, deformable_groups=1, groups=1, mask=None
):
    """A convolution whose kernel reads the picture at shifted points, between pixels linearly (Dai et al., 2017; with a
    mask Zhu et al., 2018).

    Args:
        x: [N, C, H, W].
        offset: the shifts down and right of each point, [N, deformable_groups * 2 * KH * KW, OH, OW].
        weight: [out, C / groups, KH, KW].
        bias: [out], or None.
        stride, padding, dilation: an int or two.
        deformable_groups: parts of the channels of x with shifts of their own.
        groups: as for `conv2d`.
        mask: weights of the points, [N, deformable_groups * KH * KW, OH, OW], or None.

    Returns:
        [N, out, OH, OW].

    Raises:
        ValueError: wrong shapes, values out of range.
        TypeError: different types.

    Example:
        >>> x, offset = paddle.ones([1, 1, 3, 3]), paddle.zeros([1, 8, 2, 2])
        >>> paddle.vision.ops.deform_conv2d(x, offset, paddle.ones([1, 1, 2, 2])).tolist()
        [[[[4.0, 4.0], [4.0, 4.0]]]]
    """
    name = "deform_conv2d"
    given = {"x": x, "offset": offset, "weight": weight} | ({} if mask is None else {"mask": mask})
    for argument, value in given.items():
        check(name, argument, value, "floating", ["N", "C", "H", "W"])
    stride = window.sizes(name, "stride", stride, 2)
    padding = window.sizes(name, "padding", padding, 2, 0)
    dilation = window.sizes(name, "dilation", dilation, 2)
    parts, groups = (
        window.sizes(name, a, v, 1)[0] for a, v in (("deformable_groups", deformable_groups), ("groups", groups))
    )
    n, c, *lengths = x.shape
    out, own, *kernel = weight.shape
    wrong = c >= 0 and (c != own * groups or c % parts) or out >= 0 and out % groups
    if wrong or 0 in (out, own, *kernel):
        raise errors.ValueError_(
            f"{name}: a weight of shape {list(weight.shape)} with groups={groups} and deformable_groups={parts} does not "
            f"fit to x of shape {list(x.shape)}"
        )
    places = [
        (length + 2 * p - d * (k - 1) - 1) // s + 1
        for length, p, d, k, s in zip(lengths, padding, dilation, kernel, stride)
    ]
    if any(length >= 0 and place < 1 for length, place in zip(lengths, places)):
        raise errors.ValueError_(
            f"{name}: a kernel {kernel} is larger than x of shape {list(x.shape)} with its padding"
        )
    taps = kernel[0] * kernel[1]
    for argument, each in (("offset", 2), ("mask", 1)):
        if argument in given:
            check(name, argument, given[argument], "floating", [n, parts * each * taps, *places])
    result = _deform_conv2d(x, offset, weight, mask, stride, padding, dilation, parts, groups)
    if bias is None:
        return result
    check(name, "bias", bias, "floating", [out])
    return result + bias.reshape([1, out, 1, 1])
