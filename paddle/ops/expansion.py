"""Larger tensors from smaller ones: expansion, repetition, padding."""

from __future__ import annotations

import builtins

import jax
import jax.numpy as jnp

from ..engine import errors
from ..engine.executable import Frozen
from ..engine.op import api, op
from ..engine.tensor import Tensor
from ..engine.value import Dim, Value
from .axes import axis_of
from .manipulation import common_shape, flatten, ints_of, star, tensor_of, tensors_of


def _expanded(name, shape, new):
    if len(new) < len(shape):
        raise errors.ValueError_(f"{name}: shape {list(new)} has fewer axes than x, whose shape is {list(shape)}")
    out = []
    for i, n in enumerate(new):
        own = i - (len(new) - len(shape))
        have = shape[own] if own >= 0 else 1
        if n == -1 and own >= 0:
            n = have
        if n < 0 or have not in (1, n):
            raise errors.ValueError_(
                f"{name}: axis {i}, of length {have if own >= 0 else 'none'}, cannot become {n}; "
                f"x has shape {list(shape)}, shape is {list(new)}"
            )
        out.append(n)
    return out


@op(method=False, export=False, name="expand")
def _expand(x, shape):
    return jnp.broadcast_to(x, _expanded("expand", x.shape, shape))


@star("expand")
@api(method=True)
def expand(x, shape):
    """Repeat axes of length 1 to the lengths of `shape`; new axes may come in front, -1 keeps a length.

    Raises:
        ValueError: an axis of another length than 1 would change.

    Example:
        >>> paddle.ones([1, 3]).expand([2, 3]).shape
        [2, 3]
    """
    return _expand(tensor_of("expand", x), ints_of("expand", shape, "shape"))


@api
def broadcast_to(x, shape):
    """The same as `expand`.

    Example:
        >>> paddle.ones([3]).broadcast_to([2, 3]).shape
        [2, 3]
    """
    return _expand(tensor_of("broadcast_to", x), ints_of("broadcast_to", shape, "shape"))


@api
def expand_as(x, y):
    """Expand to the shape of y.

    Example:
        >>> paddle.ones([1, 3]).expand_as(paddle.ones([2, 3])).shape
        [2, 3]
    """
    return _expand(tensor_of("expand_as", x), Frozen(tensor_of("expand_as", y, "y")._raw.shape))


@api(method="broadcast_tensors")
def broadcast_tensors(input):
    """The tensors, which must have one type, each expanded to their common shape.

    Raises:
        ValueError: the shapes do not broadcast.

    Example:
        >>> [t.shape for t in paddle.broadcast_tensors([paddle.ones([2, 1]), paddle.ones([3])])]
        [[2, 3], [2, 3]]
    """
    listed = tensors_of("broadcast_tensors", input, "input")
    shape = Frozen(common_shape("broadcast_tensors", *(t._raw.shape for t in listed)))
    return [_expand(t, shape) for t in listed]


@op(method=False, export=False, name="tile")
def _tile(x, repeat_times):
    if builtins.any(n < 0 for n in repeat_times):
        raise errors.ValueError_(f"tile: repeat_times cannot be negative, got {list(repeat_times)}")
    return jnp.tile(x, repeat_times)


@api
def tile(x, repeat_times):
    """Repeat the whole tensor along its axes; more numbers than axes add axes in front.

    Raises:
        ValueError: a negative number.

    Example:
        >>> paddle.to_tensor([1, 2]).tile([2, 2]).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    return _tile(tensor_of("tile", x), ints_of("tile", repeat_times, "repeat_times"))


def _repeat(x, repeats):
    """The same as `tile` (the PyTorch name)."""
    return tile(x, repeats)


Tensor.repeat = star("repeat")(_repeat)


@op(method=False, export=False, name="repeat_interleave", static="total")
def _repeat_interleave(x, repeats, axis, total):
    return jnp.repeat(x, repeats, axis, total_repeat_length=total)


@api
def repeat_interleave(x, repeats, axis=None, *, output_size=None):
    """Repeat each element (or each slice along `axis`) in place.

    Args:
        repeats: an int, or an int tensor with a number for each element along the axis.
        axis: default None, the flattened tensor.
        output_size: the sum of `repeats`, where it is known.

    Raises:
        ValueError: no or negative repetitions, a tensor of another length than the axis.

    Example:
        >>> paddle.to_tensor([1, 2]).repeat_interleave(2).tolist()
        [1, 1, 2, 2]
    """
    if tensor_of("repeat_interleave", x).ndim == 0 or axis is None:
        axis_of("repeat_interleave", 0 if axis is None else axis, 1)
        x, axis = flatten(x), 0
    axis = axis_of("repeat_interleave", axis, x.ndim)
    n = x._raw.shape[axis]
    if not isinstance(repeats, Tensor):
        (times,) = ints_of("repeat_interleave", repeats, "repeats")
        if times <= 0:
            raise errors.ValueError_(f"repeat_interleave: repeats must be positive, got {times}")
        return _repeat_interleave(x, times, axis, n * times)
    if tuple(repeats.shape) != (n,) or not repeats.dtype.is_integer:
        raise errors.ValueError_(
            f"repeat_interleave: repeats must be an int tensor of shape [{n}], one number for "
            f"each element along the axis, got {errors.describe(repeats)}"
        )
    if isinstance(repeats._raw, Value):  # the sum is read when the program runs
        return _repeat_interleave(x, repeats, axis, repeats.sum() if output_size is None else output_size)
    if output_size is None:
        counts = repeats.numpy()
        if (counts < 0).any():
            raise errors.ValueError_("repeat_interleave: repeats cannot be negative")
        output_size = counts.sum()
    return _repeat_interleave(x, repeats, axis, builtins.int(output_size))


# ---- padding ----


@op(method=False, export=False, name="pad", static="pads mode", scalars="value")
def _pad(x, pads, mode, value):
    if mode == "constant":
        zero = jnp.asarray(value).astype(x.dtype)
        return jax.lax.pad(x, zero, [(before, after, 0) for before, after in pads])
    return jnp.pad(x, pads, mode={"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])


_FORMATS = {3: ("NCL", "NLC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}


def _spatial_axes(ndim: int, data_format: str | None) -> list[int]:
    """The spatial axes, last one first, which is the order in which pads are given."""
    formats = _FORMATS[ndim]
    if data_format is not None and data_format not in formats:
        raise errors.ValueError_(
            f"pad: data_format must be {formats[0]} or {formats[1]} for {ndim} dimensions, got {data_format!r}"
        )
    first = 1 if data_format == formats[1] else 2
    return list(range(first, first + ndim - 2))[::-1]


@api(method=False, export=False)
def pad(x, pad, mode="constant", value=0.0, data_format=None, pad_from_left_axis=True):
    """Add elements around a tensor.

    Args:
        pad: numbers of elements before and after each axis. 2 * ndim numbers (constant mode) start from the first axis,
            or from the last with ``pad_from_left_axis=False``; 2 * (ndim - 2) numbers are for the spatial axes, last
            one first; with other lengths (constant mode) they start from the last axis. Negative numbers (constant
            mode) cut off.
        mode: "constant" (`value`), "reflect" (mirror without the edge), "replicate" (the edge), "circular".
        data_format: "NCL", "NLC", "NCHW", "NHWC", "NCDHW" or "NDHWC"; default channels second.

    Raises:
        ValueError: lengths that do not fit, a reflection longer than the axis.

    Example:
        >>> paddle.nn.functional.pad(paddle.ones([1, 2]), [0, 1, 2, 0]).shape
        [2, 4]
    """
    ndim = tensor_of("pad", x).ndim
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise errors.ValueError_(f"pad: mode must be constant, reflect, replicate or circular, got {mode!r}")
    if not isinstance(pad, (list, tuple, Tensor)):
        raise errors.TypeError_(f"pad: pad must be a list of ints or a Tensor, got {errors.describe(pad)}")
    given = ints_of("pad", pad, "pad")
    spatial = _spatial_axes(ndim, data_format) if ndim in _FORMATS else []
    if len(given) % 2 or len(given) > 2 * ndim or not given:
        raise errors.ValueError_(
            f"pad: pad must hold two numbers for each padded axis of x, which has {ndim} dimensions, got {list(given)}"
        )
    if mode == "constant" and len(given) == 2 * ndim:
        axes = list(range(ndim)) if pad_from_left_axis else list(range(ndim))[::-1]
    elif spatial and len(given) == 2 * len(spatial):
        axes = spatial
    elif mode == "constant":
        axes = list(range(ndim))[::-1]
    else:
        raise errors.ValueError_(
            f"pad: mode {mode!r} pads the spatial axes of a tensor of 3 to 5 dimensions and "
            f"needs two numbers for each of them, got {list(given)} for shape {list(x.shape)}"
        )
    pads = [(0, 0)] * ndim
    for axis, before, after in zip(axes, given[::2], given[1::2]):
        pads[axis] = (before, after)
        n = x._raw.shape[axis]
        if not builtins.any(isinstance(v, (Dim, Tensor)) for v in (n, before, after)):
            _check_pad(axis, n, before, after, mode)
    value = value.item() if isinstance(value, Tensor) else value
    return _pad(x, Frozen(pads), mode, value if mode == "constant" else 0.0)


def _check_pad(axis: int, n: int, before: int, after: int, mode: str) -> None:
    most = {"constant": None, "reflect": n - 1, "replicate": None if n else 0, "circular": None if n else 0}[mode]
    least = builtins.min(before, after)
    if least < 0 and (mode != "constant" or n + before + after < 0):
        raise errors.ValueError_(f"pad: axis {axis}, of length {n}, cannot be padded by {before} and {after}")
    if most is not None and builtins.max(before, after, 0) > builtins.max(most, 0):
        raise errors.ValueError_(
            f"pad: mode {mode!r} can add at most {most} elements at each end of axis {axis}, of "
            f"length {n}; got {before} and {after}"
        )
