"""Random changes of colour and form."""

from __future__ import annotations

import math
import numbers
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...engine import errors
from . import basic as F
from . import color, warp
from .transforms import BaseTransform, angles, probability

__all__ = [
    "BrightnessTransform",
    "SaturationTransform",
    "ContrastTransform",
    "HueTransform",
    "ColorJitter",
    "RandomErasing",
    "RandomAffine",
    "RandomPerspective",
]


def _range(
    value: Any, name: str, around: float = 1.0, low: float = 0.0, high: float = math.inf
) -> tuple[float, float] | None:
    """A range of factors: (low, high), or v for (around - v, around + v); None when nothing would change."""
    if isinstance(value, numbers.Real):
        if value < 0:
            raise errors.ValueError_(f"{name}: value must not be negative, got {value!r}")
        bounds = (max(around - value, 0.0) if around else -value, around + value)
    elif isinstance(value, (list, tuple)) and len(value) == 2:
        bounds = tuple(value)
    else:
        raise errors.TypeError_(f"{name}: value must be a number or (low, high), got {value!r}")
    if not low <= bounds[0] <= bounds[1] <= high:
        raise errors.ValueError_(f"{name}: values must be between {low} and {high}, got {value!r}")
    return None if bounds == (around, around) else bounds


class _Adjust(BaseTransform):
    _change: Callable
    _around, _low, _high = 1.0, 0.0, math.inf

    def __init__(self, value: Any, keys: Sequence[str | None] | None = None):
        super().__init__(keys)
        self.value = _range(value, type(self).__name__, self._around, self._low, self._high)

    def _get_params(self, inputs: tuple) -> float | None:
        return None if self.value is None else random.uniform(*self.value)

    def _apply_image(self, img: Any) -> Any:
        return img if self.params is None else type(self)._change(img, self.params)


class BrightnessTransform(_Adjust):
    """The brightness times a random factor from max(0, 1 - value) to 1 + value, or from a range (low, high)."""

    _change = staticmethod(color.adjust_brightness)


class ContrastTransform(_Adjust):
    """The contrast times a random factor from max(0, 1 - value) to 1 + value, or from a range (low, high)."""

    _change = staticmethod(color.adjust_contrast)


class SaturationTransform(_Adjust):
    """The saturation times a random factor from max(0, 1 - value) to 1 + value, or from a range (low, high)."""

    _change = staticmethod(color.adjust_saturation)


class HueTransform(_Adjust):
    """The hue turned by a random part of the circle from -value to value (at most 0.5), or from a range (low, high)."""

    _change = staticmethod(color.adjust_hue)
    _around, _low, _high = 0.0, -0.5, 0.5


class ColorJitter(BaseTransform):
    """Random brightness, contrast, saturation and hue, in random order; arguments as those of the single transforms."""

    def __init__(
        self,
        brightness: Any = 0,
        contrast: Any = 0,
        saturation: Any = 0,
        hue: Any = 0,
        keys: Sequence[str | None] | None = None,
    ):
        super().__init__(keys)
        self.brightness, self.contrast, self.saturation, self.hue = brightness, contrast, saturation, hue
        self._parts = [
            BrightnessTransform(brightness),
            ContrastTransform(contrast),
            SaturationTransform(saturation),
            HueTransform(hue),
        ]

    def _apply_image(self, img: Any) -> Any:
        parts = list(self._parts)
        random.shuffle(parts)
        for part in parts:
            img = part(img)
        return img


class RandomErasing(BaseTransform):
    """A random rectangle overwritten (Zhong et al., "Random erasing data augmentation", 2020).

    Args:
        prob: how often.
        scale: the range of its area as a part of the picture's.
        ratio: the range of height / width.
        value: a number, one for each channel, or "random" (normal noise).
        inplace: overwrite the picture itself.
    """

    def __init__(
        self,
        prob: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
        keys: Sequence[str | None] | None = None,
    ):
        super().__init__(keys)
        if len(scale) != 2 or not 0 <= scale[0] <= scale[1] <= 1:
            raise errors.ValueError_(f"RandomErasing: scale must be a range between 0 and 1, got {scale!r}")
        if len(ratio) != 2 or not 0 < ratio[0] <= ratio[1]:
            raise errors.ValueError_(f"RandomErasing: ratio must be a range of positive numbers, got {ratio!r}")
        if value != "random" and not F._is_fill(value):
            raise errors.ValueError_(
                f"RandomErasing: value must be a number, one for each channel, or 'random'; got {value!r}"
            )
        self.prob, self.scale, self.ratio = probability(prob, "RandomErasing"), scale, ratio
        self.value, self.inplace = value, inplace

    def _get_params(self, inputs: tuple) -> tuple[int, int, int, int] | None:
        if random.random() >= self.prob:
            return None
        rows, columns = F.size_of(self._picture(inputs), "RandomErasing")
        for _ in range(10):
            area = rows * columns * np.random.uniform(*self.scale)
            ratio = math.exp(np.random.uniform(*np.log(self.ratio)))
            height, width = int(round(math.sqrt(area * ratio))), int(round(math.sqrt(area / ratio)))
            if height < rows and width < columns:
                return np.random.randint(0, rows - height + 1), np.random.randint(0, columns - width + 1), height, width
        return None

    def _apply_image(self, img: Any) -> Any:
        if self.params is None:
            return img
        top, left, height, width = self.params
        first = F.kind_of(img, "RandomErasing") == "tensor"
        if self.value == "random":
            shape = (*img.shape[:-2], height, width) if first else (height, width, *np.shape(img)[2:])
            value: Any = np.random.normal(size=shape).astype("float32")
        else:
            value = self.value if isinstance(self.value, numbers.Number) else np.asarray(self.value)
            if first and not isinstance(value, numbers.Number):
                value = value.reshape(-1, 1, 1)
        return color.erase(img, top, left, height, width, value, self.inplace)


class RandomAffine(BaseTransform):
    """Turned, moved, scaled and sheared at random.

    Args:
        degrees: the range (low, high) of angles, or d for (-d, d).
        translate: (a, b): moved by at most a * width and b * height.
        scale: the range of factors.
        shear: d for (-d, d) along x, (low, high) along x, or (x low, x high, y low, y high).
        interpolation, fill, center: see `affine`.
    """

    def __init__(
        self,
        degrees: Any,
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: Any = None,
        interpolation: str = "nearest",
        fill: Any = 0,
        center: Sequence[float] | None = None,
        keys: Sequence[str | None] | None = None,
    ):
        super().__init__(keys)
        self.degrees = angles(degrees, "RandomAffine")
        if translate is not None and (len(translate) != 2 or not all(0 <= t <= 1 for t in translate)):
            raise errors.ValueError_(f"RandomAffine: translate must be two numbers between 0 and 1, got {translate!r}")
        if scale is not None and (len(scale) != 2 or min(scale) <= 0):
            raise errors.ValueError_(f"RandomAffine: scale must be a range of positive numbers, got {scale!r}")
        if shear is not None:
            shear = (-shear, shear) if isinstance(shear, numbers.Real) else tuple(shear)
            if len(shear) not in (2, 4):
                raise errors.ValueError_(f"RandomAffine: shear must be a number or 2 or 4 of them, got {shear!r}")
        self.translate, self.scale, self.shear = translate, scale, shear
        self.interpolation, self.fill, self.center = interpolation, fill, center

    def _get_params(self, inputs: tuple) -> tuple:
        rows, columns = F.size_of(self._picture(inputs), "RandomAffine")
        angle = random.uniform(*self.degrees)
        moved = [0, 0]
        if self.translate is not None:
            moved = [int(random.uniform(-t * n, t * n)) for t, n in zip(self.translate, (columns, rows))]
        scale = 1.0 if self.scale is None else random.uniform(*self.scale)
        shear = [0.0, 0.0]
        if self.shear is not None:
            shear[0] = random.uniform(*self.shear[:2])
            shear[1] = random.uniform(*self.shear[2:]) if len(self.shear) == 4 else 0.0
        return angle, moved, scale, shear

    def _apply_image(self, img: Any) -> Any:
        return warp.affine(img, *self.params, self.interpolation, self.fill, self.center)


class RandomPerspective(BaseTransform):
    """In another perspective at random.

    Args:
        prob: how often.
        distortion_scale: how strong, from 0 to 1.
        interpolation, fill: see `perspective`.
    """

    def __init__(
        self,
        prob: float = 0.5,
        distortion_scale: float = 0.5,
        interpolation: str = "nearest",
        fill: Any = 0,
        keys: Sequence[str | None] | None = None,
    ):
        super().__init__(keys)
        self.prob = probability(prob, "RandomPerspective")
        if not 0 <= distortion_scale <= 1:
            raise errors.ValueError_(
                f"RandomPerspective: distortion_scale must be between 0 and 1, got {distortion_scale!r}"
            )
        self.distortion_scale, self.interpolation, self.fill = distortion_scale, interpolation, fill

    def get_params(self, width: int, height: int, distortion_scale: float) -> tuple[list, list]:
        """Random start points and end points."""
        x, y = int(distortion_scale * (width // 2)) + 1, int(distortion_scale * (height // 2)) + 1
        left, right, top, bottom = (0, x), (width - x, width), (0, y), (height - y, height)
        ends = [
            [int(random.uniform(*h)), int(random.uniform(*v))]
            for h, v in ((left, top), (right, top), (right, bottom), (left, bottom))
        ]
        return [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], ends

    def _get_params(self, inputs: tuple) -> tuple[list, list] | None:
        rows, columns = F.size_of(self._picture(inputs), "RandomPerspective")
        return self.get_params(columns, rows, self.distortion_scale) if random.random() < self.prob else None

    def _apply_image(self, img: Any) -> Any:
        return img if self.params is None else warp.perspective(img, *self.params, self.interpolation, self.fill)
