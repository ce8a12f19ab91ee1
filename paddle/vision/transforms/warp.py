"""Rotation, affine and perspective transforms of one picture."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ...engine import errors
from ...engine.op import op
from ...engine.tensor import Tensor
from . import basic as F

__all__ = ["affine", "perspective", "rotate"]

_METHODS = ("nearest", "bilinear", "bicubic")


def affine_matrix(
    center: Sequence[float], angle: float, translate: Sequence[float], scale: float, shear: Sequence[float]
) -> list[float]:
    """The inverse transform (from a pixel of the result to the place it comes from), six numbers by rows."""
    turn, sx, sy = (math.radians(v) for v in (angle, *shear))
    a = math.cos(turn - sy) / math.cos(sy)
    b = -math.cos(turn - sy) * math.tan(sx) / math.cos(sy) - math.sin(turn)
    c = math.sin(turn - sy) / math.cos(sy)
    d = -math.sin(turn - sy) * math.tan(sx) / math.cos(sy) + math.cos(turn)
    rows = [d / scale, -b / scale, -c / scale, a / scale]
    x, y = center[0] + translate[0], center[1] + translate[1]
    return [
        rows[0],
        rows[1],
        center[0] - rows[0] * x - rows[1] * y,
        rows[2],
        rows[3],
        center[1] - rows[2] * x - rows[3] * y,
    ]


def affine(
    img: Any,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Any,
    interpolation: str = "nearest",
    fill: Any = 0,
    center: Sequence[float] | None = None,
) -> Any:
    """The picture turned, sheared, scaled about its centre, and moved.

    Args:
        angle: clockwise, in degrees.
        translate: how far to the right and down, in pixels.
        scale: a positive factor.
        shear: an angle in degrees, or one for each axis.
        interpolation: "nearest", "bilinear" or, not for tensors, "bicubic".
        fill: the value outside, or one for each channel.
        center: (x, y) from the upper left corner; default the middle.

    Raises:
        ValueError: a scale that is not positive, or arguments of another length.
    """
    kind = F.kind_of(img, "affine")
    shear = [float(shear), 0.0] if isinstance(shear, numbers.Real) else list(shear)
    if not isinstance(angle, numbers.Real) or len(translate) != 2 or len(shear) not in (1, 2):
        raise errors.ValueError_(
            f"affine: angle must be a number, translate two and shear one or two numbers; got {angle!r}, "
            f"{translate!r}, {shear!r}"
        )
    if not scale > 0:
        raise errors.ValueError_(f"affine: scale must be positive, got {scale!r}")
    shear = shear * (3 - len(shear))  # officially one number in a list counts for both axes
    rows, columns = size = F.size_of(img)
    if kind == "tensor":
        middle = _from_middle(center, size)
        return _warped(img, affine_matrix(middle, angle, translate, scale, shear), size, interpolation, fill, "affine")
    matrix = affine_matrix(center or (columns * 0.5, rows * 0.5), angle, translate, scale, shear)
    return _transform(img, "AFFINE", matrix, interpolation, fill, "affine")


def _from_middle(center: Sequence[float] | None, size: tuple) -> tuple[float, float]:
    """A point of a picture, (x, y) from its middle."""
    return (0.0, 0.0) if center is None else (center[0] - size[1] * 0.5, center[1] - size[0] * 0.5)


def perspective(
    img: Any, startpoints: Sequence, endpoints: Sequence, interpolation: str = "nearest", fill: Any = 0
) -> Any:
    """The picture in another perspective: the four start points move to the four end points.

    Args:
        startpoints, endpoints: four (x, y) each: upper left, upper right, lower right, lower left.
        interpolation: "nearest", "bilinear" or, not for tensors, "bicubic".
        fill: the value outside, or one for each channel.

    Raises:
        ValueError: not four points, or points that lie on one line.
    """
    F.kind_of(img, "perspective")
    return _transform(
        img, "PERSPECTIVE", perspective_coefficients(startpoints, endpoints), interpolation, fill, "perspective"
    )


def perspective_coefficients(startpoints: Sequence, endpoints: Sequence) -> list[float]:
    """The eight numbers of the map from the end points back to the start points."""
    start, end = np.asarray(startpoints, "float64"), np.asarray(endpoints, "float64")
    if start.shape != (4, 2) or end.shape != (4, 2):
        raise errors.ValueError_(
            f"perspective: startpoints and endpoints must be four (x, y) each, got {startpoints!r} and {endpoints!r}"
        )
    equations = []
    for (x, y), (u, v) in zip(end, start):
        equations += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    found, _, rank, _ = np.linalg.lstsq(np.array(equations), start.reshape(-1), rcond=None)
    if rank < 8:
        raise errors.ValueError_(f"perspective: three of the endpoints {endpoints!r} lie on one line")
    return found.tolist()


def _transform(img: Any, method: str, data: Sequence[float], interpolation: str, fill: Any, name: str) -> Any:
    kind = F.kind_of(img, name)
    if kind == "tensor":
        return _warped(img, data, F.size_of(img), interpolation, fill, name)
    resample = F.pillow_method(interpolation, name, _METHODS)

    def run(image: Any) -> Any:
        how = getattr(F._pillow().Transform, method)
        return image.transform(image.size, how, data, resample, fillcolor=F._fill_of(image, fill, name))

    return run(img) if kind == "pil" else through_pillow(img, run)


def through_pillow(array: np.ndarray, function: Callable) -> np.ndarray:
    """A transform of Pillow images on an array: at once for bytes, else channel by channel as float32."""
    image = F._pillow()
    if array.dtype == np.uint8 and (array.ndim == 2 or array.shape[2] in (3, 4)):
        return np.array(function(image.fromarray(array)))
    planes = array[:, :, None] if array.ndim == 2 else array
    done = [
        np.array(function(image.fromarray(np.ascontiguousarray(planes[:, :, c], "float32"))))
        for c in range(planes.shape[2])
    ]
    out = F._cast(np.stack(done, 2), array.dtype)
    return out[:, :, 0] if array.ndim == 2 else out


def _warped(img: Tensor, data: Sequence[float], size: tuple, interpolation: str, fill: Any, name: str) -> Tensor:
    if interpolation not in _METHODS[:2]:
        raise errors.ValueError_(
            f"{name}: interpolation of a Tensor must be nearest or bilinear, got {interpolation!r}"
        )
    channels = img.shape[-3] if img.ndim > 2 else 1
    values = np.asarray(fill, "float32").reshape(-1, 1, 1) if F._is_fill(fill) else np.zeros((0, 1, 1))
    if len(values) not in (1, channels):
        raise errors.ValueError_(f"{name}: fill must be a number or {channels} of them, got {fill!r}")
    return _warp(img, np.array(data), values if channels > 1 else values[0], size, interpolation)


@op(method=False, export=False, static="size interpolation")
def _warp(img, matrix, fill, size, interpolation):
    dtype = img.dtype if jnp.issubdtype(img.dtype, jnp.floating) else jnp.float32
    rows, columns = img.shape[-2:]
    # in the float32 steps of the official package: which of two pixels is nearest may depend on them
    flat = len(matrix) == 6  # affine, of places from the middle; else perspective, of places from the corner
    y, x = (jnp.arange(n, dtype=np.float32) + np.float32(0.5 - n * 0.5 if flat else 0.5) for n in size)
    y = y[:, None]
    matrix = matrix.astype(np.float32)
    scale = 1 if flat else matrix[6] * x + matrix[7] * y + 1
    places = []
    for row, length in ((matrix[:3], columns), (matrix[3:6], rows)):
        a, b, c = row / np.float32(length * 0.5)
        place = (x * a + y * b + c) / scale - (0 if flat else 1)  # from -1 to 1
        places.append(((place + 1) * length - 1) / 2)
    x, y = places

    def pick(row, column):
        """The pixels at whole positions, and whether they lie in the picture."""
        inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        row, column = (jnp.clip(v, 0, n - 1).astype(int) for v, n in ((row, rows), (column, columns)))
        return img[..., row, column].astype(dtype), inside

    if interpolation == "nearest":
        value, inside = pick(jnp.round(y), jnp.round(x))
        return jnp.where(inside, value, fill.astype(dtype)).astype(img.dtype)
    left, top = jnp.floor(x), jnp.floor(y)
    total, seen = 0.0, 0.0
    for row, by_row in ((top, top + 1 - y), (top + 1, y - top)):
        for column, by_column in ((left, left + 1 - x), (left + 1, x - left)):
            value, inside = pick(row, column)
            weight = (by_row * by_column * inside).astype(dtype)
            total, seen = total + weight * value, seen + weight
    out = total * seen + (1 - seen) * fill.astype(dtype)  # officially the border counts twice
    return (out if jnp.issubdtype(img.dtype, jnp.floating) else jnp.rint(out)).astype(img.dtype)


def rotate(
    img: Any, angle: float, interpolation: str = "nearest", expand: bool = False, center: Any = None, fill: Any = 0
) -> Any:
    """The picture turned counter-clockwise.

    Args:
        angle: in degrees.
        interpolation: "nearest", "bilinear" or, not for tensors, "bicubic".
        expand: enlarge the picture so that all of it is seen (only about its middle).
        center: (x, y) from the upper left corner; default the middle.
        fill: the value outside, or one for each channel.
    """
    kind = F.kind_of(img, "rotate")
    if not isinstance(angle, numbers.Real) or not math.isfinite(angle):
        raise errors.ValueError_(f"rotate: angle must be a number, got {angle!r}")
    if kind == "tensor":
        rows, columns = size = F.size_of(img)
        matrix = affine_matrix(_from_middle(center, size), -angle % 360, (0, 0), 1.0, (0, 0))
        if expand:
            a, b, c, d, e, f = np.array(matrix, "float32")
            x, y = (
                np.float32([-1, -1, 1, 1]) * np.float32(columns / 2),
                np.float32([-1, 1, 1, -1]) * np.float32(rows / 2),
            )
            corners = x * a + y * b + c, x * d + y * e + f
            width, height = (int(np.ceil(v.max()) - np.floor(v.min())) for v in corners)
            size = (height, width)
        return _warped(img, matrix, size, interpolation, fill, "rotate")
    method = F.pillow_method(interpolation, "rotate", _METHODS)

    def turn(image: Any) -> Any:
        whole = image.mode in ("RGBA", "P") and isinstance(fill, numbers.Number)  # an opaque grey
        colour = (int(fill),) * 3 if whole else F._fill_of(image, fill, "rotate")
        return image.rotate(angle, method, expand=expand, center=center, fillcolor=colour)

    return turn(img) if kind == "pil" else through_pillow(img, turn)
