"""Discrete Fourier transforms (Cooley, Tukey, "An Algorithm for the Machine Calculation of Complex Fourier Series").

All transforms are one operator. A Hermitian transform is a real one of conjugates: hfft(x) is the unscaled
irfft(conj(x)).
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.executable import Frozen
from ..engine.op import api, op
from ..engine.tensor import Tensor
from .axes import axes_of
from .creation import _constant, placed
from .manipulation import _roll, cast, tensor_of

_OTHER_WAY = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


@op(method=False, export=False, name="fourier", static="kind sizes axes norm")
def _fourier(x, kind, sizes, axes, norm):
    if kind == "hfftn":
        return _fourier.__wrapped__(jnp.conj(x), "irfftn", sizes, axes, _OTHER_WAY[norm])
    if kind == "ihfftn":
        return jnp.conj(_fourier.__wrapped__(x, "rfftn", sizes, axes, _OTHER_WAY[norm]))
    if not axes:
        return x
    if 0 in x.shape or 0 in sizes:
        shape = list(x.shape)
        for axis, n in zip(axes, sizes):
            shape[axis] = n
        if kind == "rfftn":
            shape[axes[-1]] = sizes[-1] // 2 + 1
        real = np.finfo(x.dtype).dtype
        return jnp.zeros(shape, real if kind == "irfftn" else np.result_type(real, np.complex64))
    return getattr(jnp.fft, kind)(x, sizes, axes, norm)


def _wide(x: Tensor) -> Tensor:
    """The tensor in a type that can be transformed: integers in the default dtype, halves in float32."""
    if x.dtype.is_complex or x.dtype in (dtypes.float32, dtypes.float64):
        return x
    double = dtypes.default_dtype() is dtypes.float64 and not x.dtype.is_floating
    return cast(x, dtypes.float64 if double else dtypes.float32)


def complex_type(dtype: dtypes.DType) -> dtypes.DType:
    """The type of complex numbers whose parts have a type."""
    return dtypes.complex128 if dtype is dtypes.float64 else dtypes.complex64


def _transform(name: str, kind: str, x: Any, sizes: Any, axes: Any, norm: str, argument: str = "axes") -> Tensor:
    """Check the arguments and run; `sizes` and `axes` are sequences or None, None for `axes` means the last axes."""
    tensor_of(name, x)
    if norm not in _OTHER_WAY:
        raise errors.ValueError_(f"{name}: norm must be 'forward', 'backward' or 'ortho', got {norm!r}")
    if axes is None:
        axes = range(-x.ndim if sizes is None else -len(sizes), 0)
    if not x.ndim:
        raise errors.ValueError_(f"{name}: x must have at least one dimension")
    axes = axes_of(name, list(axes), x.ndim, argument)
    if sizes is None:
        sizes = [x.shape[a] for a in axes]
        if kind in ("irfftn", "hfftn") and axes:
            sizes[-1] = 2 * (sizes[-1] - 1)
    elif len(sizes) != len(axes):
        raise errors.ValueError_(f"{name}: s {list(sizes)} and axes {list(axes)} differ in length")
    if kind not in ("fftn", "ifftn") and (not axes or sizes[-1] < 0):
        raise errors.ValueError_(f"{name}: x {errors.describe(x)} has no points along the axes {list(axes)}")
    if x.dtype.is_complex:
        if kind in ("rfftn", "ihfftn"):
            raise errors.TypeError_(f"{name}: x must be real, got {x.dtype.name}")
    else:
        x = _wide(x)
        if kind not in ("rfftn", "ihfftn"):
            x = cast(x, complex_type(x.dtype))
    return _fourier(x, kind, Frozen(sizes), Frozen(axes), norm)


def _lengths(name: str, s: Any) -> list:
    """The sizes of the transform as ints, ValueError for what is no list of positive ints."""
    try:
        found = [v.__index__() for v in s]
    except (TypeError, AttributeError):
        raise errors.ValueError_(f"{name}: the sizes must be integers, got {errors.describe(s)}") from None
    if any(v <= 0 for v in found):
        raise errors.ValueError_(f"{name}: the sizes must be positive, got {found}")
    return found


def _one(name: str, kind: str, x: Any, n: Any, axis: Any, norm: str) -> Tensor:
    """A transform along one axis."""
    if not hasattr(axis, "__index__"):
        raise errors.ValueError_(f"{name}: axis must be an int, got {errors.describe(axis)}")
    return _transform(name, kind, x, None if n is None else _lengths(name, [n]), [axis], norm, "axis")


def _many(name: str, kind: str, x: Any, s: Any, axes: Any, norm: str) -> Tensor:
    """A transform along several axes: those given, or the last ones when `s` is given, or all."""
    if axes is not None and not isinstance(axes, (list, tuple)):
        raise errors.ValueError_(f"{name}: axes must be a list of ints, got {errors.describe(axes)}")
    if s is not None:
        s = _lengths(name, s)
        if axes is None and len(s) > tensor_of(name, x).ndim:
            raise errors.ValueError_(f"{name}: s {s} has more numbers than x {errors.describe(x)} dimensions")
    return _transform(name, kind, x, s, axes, norm)


def _two(name: str, kind: str, x: Any, s: Any, axes: Any, norm: str) -> Tensor:
    """A transform along two axes."""
    if tensor_of(name, x).ndim < 2:
        raise errors.ValueError_(f"{name}: x must have at least 2 dimensions, got {errors.describe(x)}")
    for argument, value in (("s", s), ("axes", axes)):
        if value is not None and not (isinstance(value, (list, tuple)) and len(value) == 2):
            raise errors.ValueError_(f"{name}: {argument} must be a list of 2 ints, got {errors.describe(value)}")
    return _many(name, kind, x, s, (-2, -1) if axes is None else axes, norm)


# ---- along one axis ----


@api(method=False)
def fft(x, n=None, axis=-1, norm="backward"):
    """The discrete Fourier transform along an axis.

    Args:
        x: real or complex; integers count as the default dtype.
        n: the number of points, to which x is cut or filled with zeros; by default all.
        norm: "backward" divides the inverse transform by n, "forward" this one, "ortho" both by sqrt(n).

    Raises:
        ValueError: n is no positive int, there is no such axis or norm.

    Example:
        >>> paddle.fft.fft(paddle.to_tensor([1.0, 0.0])).tolist()
        [(1+0j), (1+0j)]
    """
    return _one("fft", "fftn", x, n, axis, norm)


@api(method=False)
def ifft(x, n=None, axis=-1, norm="backward"):
    """The inverse of `fft`, with the same arguments.

    Example:
        >>> paddle.fft.ifft(paddle.to_tensor([2.0, 0.0])).tolist()
        [(1+0j), (1+0j)]
    """
    return _one("ifft", "ifftn", x, n, axis, norm)


@api(method=False)
def rfft(x, n=None, axis=-1, norm="backward"):
    """The first n // 2 + 1 points of `fft` for a real x; the others are their conjugates.

    Example:
        >>> paddle.fft.rfft(paddle.to_tensor([1.0, 0.0])).tolist()
        [(1+0j), (1+0j)]
    """
    return _one("rfft", "rfftn", x, n, axis, norm)


@api(method=False)
def irfft(x, n=None, axis=-1, norm="backward"):
    """The inverse of `rfft`, real.

    Args:
        n: the number of points of the result, by default 2 * (points of x - 1).

    Example:
        >>> paddle.fft.irfft(paddle.to_tensor([2 + 0j, 0 + 0j])).tolist()
        [1.0, 1.0]
    """
    return _one("irfft", "irfftn", x, n, axis, norm)


@api(method=False)
def hfft(x, n=None, axis=-1, norm="backward"):
    """The real transform of a Hermitian signal, of which x is the first half.

    Args:
        n: the number of points of the result, by default 2 * (points of x - 1).

    Example:
        >>> paddle.fft.hfft(paddle.to_tensor([1 + 0j, 0 + 0j])).tolist()
        [1.0, 1.0]
    """
    return _one("hfft", "hfftn", x, n, axis, norm)


@api(method=False)
def ihfft(x, n=None, axis=-1, norm="backward"):
    """The inverse of `hfft`: the first half of the inverse transform of a real x.

    Example:
        >>> paddle.fft.ihfft(paddle.to_tensor([2.0, 2.0])).real().tolist()
        [2.0, 0.0]
    """
    return _one("ihfft", "ihfftn", x, n, axis, norm)


# ---- along two axes ----


@api(method=False, aliases={"dim": "axes"})
def fft2(x, s=None, axes=(-2, -1), norm="backward"):
    """`fft` along two axes.

    Args:
        s: the number of points along each axis, to which x is cut or filled with zeros.

    Raises:
        ValueError: x has fewer than two dimensions, s or axes do not hold two ints.

    Example:
        >>> paddle.fft.fft2(paddle.ones([2, 2])).tolist()
        [[(4+0j), 0j], [0j, 0j]]
    """
    return _two("fft2", "fftn", x, s, axes, norm)


@api(method=False, aliases={"dim": "axes"})
def ifft2(x, s=None, axes=(-2, -1), norm="backward"):
    """The inverse of `fft2`, with the same arguments.

    Example:
        >>> paddle.fft.ifft2(paddle.ones([2, 2])).tolist()
        [[(1+0j), 0j], [0j, 0j]]
    """
    return _two("ifft2", "ifftn", x, s, axes, norm)


@api(method=False, aliases={"dim": "axes"})
def rfft2(x, s=None, axes=(-2, -1), norm="backward"):
    """`fft2` of a real x, halved along the last of the axes.

    Example:
        >>> paddle.fft.rfft2(paddle.ones([2, 4])).shape
        [2, 3]
    """
    return _two("rfft2", "rfftn", x, s, axes, norm)


@api(method=False, aliases={"dim": "axes"})
def irfft2(x, s=None, axes=(-2, -1), norm="backward"):
    """The inverse of `rfft2`, real; s gives the shape of the result.

    Example:
        >>> paddle.fft.irfft2(paddle.fft.rfft2(paddle.ones([2, 4]))).tolist()
        [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    """
    return _two("irfft2", "irfftn", x, s, axes, norm)


@api(method=False, aliases={"dim": "axes"})
def hfft2(x, s=None, axes=(-2, -1), norm="backward"):
    """The real transform of a signal that is Hermitian along two axes, halved along the last of them.

    Example:
        >>> paddle.fft.hfft2(paddle.fft.ihfft2(paddle.ones([2, 2]))).tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    return _two("hfft2", "hfftn", x, s, axes, norm)


@api(method=False, aliases={"dim": "axes"})
def ihfft2(x, s=None, axes=(-2, -1), norm="backward"):
    """The inverse of `hfft2`.

    Example:
        >>> paddle.fft.ihfft2(paddle.ones([2, 4])).shape
        [2, 3]
    """
    return _two("ihfft2", "ihfftn", x, s, axes, norm)


# ---- along several axes ----


@api(method=False, aliases={"dim": "axes"})
def fftn(x, s=None, axes=None, norm="backward"):
    """`fft` along several axes.

    Args:
        s: the number of points along each axis, to which x is cut or filled with zeros.
        axes: by default the last len(s), or all.

    Raises:
        ValueError: s and axes do not fit each other or x.

    Example:
        >>> paddle.fft.fftn(paddle.ones([2, 2])).tolist()
        [[(4+0j), 0j], [0j, 0j]]
    """
    return _many("fftn", "fftn", x, s, axes, norm)


@api(method=False, aliases={"dim": "axes"})
def ifftn(x, s=None, axes=None, norm="backward"):
    """The inverse of `fftn`, with the same arguments.

    Example:
        >>> paddle.fft.ifftn(paddle.ones([2, 2])).tolist()
        [[(1+0j), 0j], [0j, 0j]]
    """
    return _many("ifftn", "ifftn", x, s, axes, norm)


@api(method=False, aliases={"dim": "axes"})
def rfftn(x, s=None, axes=None, norm="backward"):
    """`fftn` of a real x, halved along the last of the axes.

    Example:
        >>> paddle.fft.rfftn(paddle.ones([2, 4])).shape
        [2, 3]
    """
    return _many("rfftn", "rfftn", x, s, axes, norm)


@api(method=False, aliases={"dim": "axes"})
def irfftn(x, s=None, axes=None, norm="backward"):
    """The inverse of `rfftn`, real; s gives the shape of the result.

    Example:
        >>> paddle.fft.irfftn(paddle.fft.rfftn(paddle.ones([2, 4]))).shape
        [2, 4]
    """
    return _many("irfftn", "irfftn", x, s, axes, norm)


@api(method=False, aliases={"dim": "axes"})
def hfftn(x, s=None, axes=None, norm="backward"):
    """The real transform of a signal that is Hermitian along several axes, halved along the last of them.

    Example:
        >>> paddle.fft.hfftn(paddle.fft.ihfftn(paddle.ones([2, 2]))).tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    return _many("hfftn", "hfftn", x, s, axes, norm)


@api(method=False, aliases={"dim": "axes"})
def ihfftn(x, s=None, axes=None, norm="backward"):
    """The inverse of `hfftn`.

    Example:
        >>> paddle.fft.ihfftn(paddle.ones([2, 4])).shape
        [2, 3]
    """
    return _many("ihfftn", "ihfftn", x, s, axes, norm)


# ---- frequencies and their order ----


def _frequencies(name: str, n: Any, d: Any, dtype: Any, half: bool, device: Any, requires_grad: bool) -> Tensor:
    dtype = dtypes.default_dtype() if dtype is None else to_dtype(dtype)
    if not dtype.is_floating:
        raise errors.TypeError_(f"{name}: dtype must be a floating type, got {dtype.name}")
    (n,), d = _lengths(name, [n]), float(d)
    if d == 0:
        raise errors.ValueError_(f"{name}: d cannot be 0")
    index = np.arange(n // 2 + 1) if half else (np.arange(n) + n // 2) % n - n // 2
    return placed(_constant(index / (n * d), dtype), device, requires_grad)


@api(method=False)
def fftfreq(n, d=1.0, dtype=None, *, device=None, requires_grad=False):
    """The frequencies of the points of `fft`, in cycles per unit of the spacing d.

    Raises:
        ValueError: n is not positive, d is 0.

    Example:
        >>> paddle.fft.fftfreq(4).tolist()
        [0.0, 0.25, -0.5, -0.25]
    """
    return _frequencies("fftfreq", n, d, dtype, False, device, requires_grad)


@api(method=False)
def rfftfreq(n, d=1.0, dtype=None, *, device=None, requires_grad=False):
    """The frequencies of the points of `rfft`, in cycles per unit of the spacing d.

    Raises:
        ValueError: n is not positive, d is 0.

    Example:
        >>> paddle.fft.rfftfreq(4).tolist()
        [0.0, 0.25, 0.5]
    """
    return _frequencies("rfftfreq", n, d, dtype, True, device, requires_grad)


def _shift(name: str, x: Any, axes: Any, back: bool) -> Tensor:
    axes = range(tensor_of(name, x).ndim) if axes is None else axes_of(name, axes, x.ndim, "axes")
    shifts = [-(x.shape[a] // 2) if back else x.shape[a] // 2 for a in axes if x.ndim]
    return _roll(x, np.array(shifts, np.int64), Frozen(axes)) if shifts else x.clone()


@api(method=False, aliases={"dim": "axes"})
def fftshift(x, axes=None):
    """Bring the frequency 0 from the front to the middle of each axis (default: of all axes).

    Example:
        >>> paddle.fft.fftshift(paddle.fft.fftfreq(4)).tolist()
        [-0.5, -0.25, 0.0, 0.25]
    """
    return _shift("fftshift", x, axes, False)


@api(method=False, aliases={"dim": "axes"})
def ifftshift(x, axes=None):
    """The inverse of `fftshift`.

    Example:
        >>> paddle.fft.ifftshift(paddle.to_tensor([-2, -1, 0, 1])).tolist()
        [0, 1, -2, -1]
    """
    return _shift("ifftshift", x, axes, True)
