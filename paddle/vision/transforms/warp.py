"""Affine and perspective transforms of one picture."""
from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...engine import errors
from . import functional as F

__all__ = ["affine", "perspective"]

_METHODS = ("nearest", "bilinear", "bicubic")


def affine_matrix(center: Sequence[float], angle: float, translate: Sequence[float], scale: float,
                  shear: Sequence[float]) -> list[float]:
    """The inverse transform (from a pixel of the result to the place it comes from), six numbers by rows."""
    turn, sx, sy = (math.radians(v) for v in (angle, *shear))
    a = math.cos(turn - sy) / math.cos(sy)
    b = -math.cos(turn - sy) * math.tan(sx) / math.cos(sy) - math.sin(turn)
    c = math.sin(turn - sy) / math.cos(sy)
    d = -math.sin(turn - sy) * math.tan(sx) / math.cos(sy) + math.cos(turn)
    rows = [d / scale, -b / scale, -c / scale, a / scale]
    x, y = center[0] + translate[0], center[1] + translate[1]
    return [
        rows[0], rows[1], center[0] - rows[0] * x - rows[1] * y, rows[2], rows[3],
        center[1] - rows[2] * x - rows[3] * y
    ]


def affine(img: Any, angle: float, translate: Sequence[float], scale: float, shear: Any, interpolation: str = "nearest",
           fill: Any = 0, center: Sequence[float] | None = None) -> Any:
    """The picture turned, sheared, scaled about its centre, and moved.

    Args:
        angle: clockwise, in degrees.
        translate: how far to the right and down, in pixels.
        scale: a positive factor.
        shear: an angle in degrees, or one for each axis.
        interpolation: "nearest", "bilinear" or "bicubic".
        fill: the value outside, or one for each channel.
        center: (x, y) from the upper left corner; default the middle.

    Raises:
        ValueError: a scale that is not positive, or arguments of another length.
    """
    F.kind_of(img, "affine")
    shear = [float(shear), 0.0] if isinstance(shear, numbers.Real) else list(shear)
    if not isinstance(angle, numbers.Real) or len(translate) != 2 or len(shear) not in (1, 2):
        raise errors.ValueError_(
            f"affine: angle must be a number, translate two and shear one or two numbers; got {angle!r}, "
            f"{translate!r}, {shear!r}"
        )
    if not scale > 0:
        raise errors.ValueError_(f"affine: scale must be positive, got {scale!r}")
    shear = shear + [0.0] * (2 - len(shear))
    rows, columns = F.size_of(img)
    matrix = affine_matrix(center or (columns * 0.5, rows * 0.5), angle, translate, scale, shear)
    return _transform(img, "AFFINE", matrix, interpolation, fill, "affine")


def perspective(
    img: Any, startpoints: Sequence, endpoints: Sequence, interpolation: str = "nearest", fill: Any = 0
) -> Any:
    """The picture in another perspective: the four start points move to the four end points.

    Args:
        startpoints, endpoints: four (x, y) each: upper left, upper right, lower right, lower left.
        interpolation: "nearest", "bilinear" or "bicubic".
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
    try:
        return np.linalg.solve(np.array(equations), start.reshape(-1)).tolist()
    except np.linalg.LinAlgError:
        raise errors.ValueError_(f"perspective: three of the endpoints {endpoints!r} lie on one line") from None


def _transform(img: Any, method: str, data: Sequence[float], interpolation: str, fill: Any, name: str) -> Any:
    resample = F.pillow_method(interpolation, name, _METHODS)

    def run(image: Any) -> Any:
        kind = getattr(F._pillow().Transform, method)
        return image.transform(image.size, kind, data, resample, fillcolor=F._fill_of(image, fill, name))
    return on_images(img, run)


def on_images(img: Any, run: Callable) -> Any:
    """A function of Pillow images on a picture of any kind."""
    kind = F.kind_of(img, "transform")
    if kind == "pil":
        return run(img)
    if kind == "array":
        return F.through_pillow(img, run)
    from ...ops.creation import to_tensor
    array = img.numpy()
    planes = array.reshape(-1, *array.shape[-2:]).transpose(1, 2, 0)
    out = F.through_pillow(planes, run).transpose(2, 0, 1)
    return to_tensor(np.ascontiguousarray(out.reshape(*array.shape[:-2], *out.shape[-2:])))
