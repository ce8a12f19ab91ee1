"""Brightness, contrast, saturation, hue, and erasing, as functions of one picture."""

from __future__ import annotations

import numbers
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...engine import errors
from ...engine.op import op
from ...engine.tensor import Tensor
from .basic import _LUMA, _cast, _pillow, kind_of

__all__ = ["adjust_brightness", "adjust_contrast", "adjust_hue", "erase"]

_TENSOR_LUMA = (0.2989, 0.587, 0.114)  # the official weights, for tensors


_NAMES = {"Brightness": "brightness", "Contrast": "contrast", "Color": "saturation"}


def _factor(value: Any, name: str) -> float:
    if not isinstance(value, numbers.Real) or not value >= 0:
        raise errors.ValueError_(f"{name}: the factor must be a number of at least 0, got {value!r}")
    return float(value)


def _enhance(img: Any, factor: float, what: str) -> Any:
    """Blend with black ("Brightness"), with the mean grey ("Contrast") or with the grey picture ("Color")."""
    kind = kind_of(img, f"adjust_{_NAMES[what]}")
    if kind == "pil":
        from PIL import ImageEnhance

        try:
            return getattr(ImageEnhance, what)(img).enhance(factor)
        except ValueError as e:
            raise errors.ValueError_(
                f"adjust_{_NAMES[what]}: a Pillow image of mode {img.mode!r} cannot be changed ({e}); convert it to 'RGB'"
            ) from None
    if kind == "tensor":
        return _blend(img, factor, what)
    values = img.astype("float64")
    if what == "Brightness":
        other: Any = 0.0
    else:
        other = values if img.ndim == 2 or img.shape[2] != 3 else (values @ _LUMA)[:, :, None]
        if what == "Contrast":
            other = np.rint(other.mean())
    return _cast(np.clip(values * factor + other * (1 - factor), 0, 255), img.dtype)


@op(method=False, export=False, scalars="factor")
def _blend(img, factor, what):
    values = img.astype(jnp.promote_types(img.dtype, jnp.float32))
    if what == "Brightness":
        other = 0.0
    else:
        other = _tensor_grey(values)
        if what == "Contrast":
            other = other.mean(axis=(-3, -2, -1), keepdims=True)
    top = 1.0 if jnp.issubdtype(img.dtype, jnp.floating) else 255.0
    return jnp.clip(values * factor + other * (1 - factor), 0.0, top).astype(img.dtype)


def _tensor_grey(values: jax.Array) -> jax.Array:
    if values.ndim < 3 or values.shape[-3] not in (1, 3):
        raise errors.ValueError_(f"a Tensor picture must have 1 or 3 channels [..., C, H, W], got {list(values.shape)}")
    if values.shape[-3] == 1:
        return values
    return sum(values[..., i : i + 1, :, :] * w for i, w in enumerate(_TENSOR_LUMA))


def adjust_brightness(img: Any, brightness_factor: float) -> Any:
    """The picture brighter or darker: 0 gives black, 1 the picture, 2 twice the brightness.

    Raises ValueError for a negative factor.
    """
    return _enhance(img, _factor(brightness_factor, "adjust_brightness"), "Brightness")


def adjust_contrast(img: Any, contrast_factor: float) -> Any:
    """The picture with more or less contrast: 0 its mean grey, 1 the picture. ValueError for a negative factor."""
    return _enhance(img, _factor(contrast_factor, "adjust_contrast"), "Contrast")


def adjust_saturation(img: Any, saturation_factor: float) -> Any:
    """The picture with stronger or weaker colours: 0 gives grey, 1 the picture. ValueError for a negative factor."""
    return _enhance(img, _factor(saturation_factor, "adjust_saturation"), "Color")


def adjust_hue(img: Any, hue_factor: float) -> Any:
    """The picture with its hue turned on the circle of colours; a grey picture stays as it is.

    Args:
        hue_factor: from -0.5 to 0.5, parts of the whole circle.

    Raises:
        ValueError: a factor out of this range.
    """
    if not isinstance(hue_factor, numbers.Real) or not -0.5 <= hue_factor <= 0.5:
        raise errors.ValueError_(f"adjust_hue: hue_factor must be between -0.5 and 0.5, got {hue_factor!r}")
    kind = kind_of(img, "adjust_hue")
    if kind == "tensor":
        return img if img.shape[-3] == 1 else _turn_hue(img, float(hue_factor))
    if kind == "array":
        if img.ndim == 2 or img.shape[2] == 1:
            return img
        scale = 255.0 if np.issubdtype(img.dtype, np.integer) else 1.0
        return _cast(_hue(np, img.astype("float64") / scale, hue_factor, -1) * scale, img.dtype)
    if img.mode in ("L", "1", "I", "F"):
        return img
    image = _pillow()
    h, s, v = img.convert("HSV").split()
    turned = np.asarray(h).astype("int64") + int(hue_factor * 255)
    return image.merge("HSV", (image.fromarray((turned % 256).astype("uint8")), s, v)).convert(img.mode)


@op(method=False, export=False, scalars="hue_factor")
def _turn_hue(img, hue_factor):
    if img.ndim < 3 or img.shape[-3] != 3:
        raise errors.ValueError_(f"adjust_hue: a Tensor picture must be [..., 3, H, W], got {list(img.shape)}")
    scale = 1.0 if jnp.issubdtype(img.dtype, jnp.floating) else 255.0
    values = img.astype(jnp.promote_types(img.dtype, jnp.float32)) / scale
    return (_hue(jnp, values, hue_factor, -3) * scale).astype(img.dtype)


def _hue(xp: Any, rgb: Any, turn: Any, axis: int) -> Any:
    """RGB from 0 to 1 with the hue moved by `turn`, through HSV."""
    r, g, b = (xp.take(rgb, i, axis=axis) for i in range(3))
    high, low = rgb.max(axis=axis), rgb.min(axis=axis)
    spread = high - low
    grey = spread == 0
    safe = xp.where(grey, 1.0, spread)
    sector = xp.where(high == r, (g - b) / safe, xp.where(high == g, 2.0 + (b - r) / safe, 4.0 + (r - g) / safe))
    hue = xp.where(grey, 0.0, sector / 6.0) + turn
    # each channel is `high` less its distance on the circle of colours, in parts of the spread
    out = [
        high - spread * xp.clip(xp.minimum(k, 4.0 - k), 0.0, 1.0)
        for k in ((n + hue * 6.0) % 6.0 for n in (5.0, 3.0, 1.0))
    ]
    return xp.stack(out, axis=axis).astype(rgb.dtype)


def erase(img: Any, i: int, j: int, h: int, w: int, v: Any, inplace: bool = False) -> Any:
    """The picture with a rectangle overwritten.

    Args:
        i, j: the row and column of its upper left corner.
        h, w: its height and width.
        v: the value, a number or an array that fits the rectangle.
        inplace: overwrite the picture itself (arrays and tensors).
    """
    kind = kind_of(img, "erase")
    if kind == "pil":
        array = np.array(img)
        array[i : i + h, j : j + w] = v
        return _pillow().fromarray(array)
    if kind == "array":
        out = img if inplace else img.copy()
        out[i : i + h, j : j + w] = v
        return out
    out = img if inplace else img.clone()
    if isinstance(v, np.ndarray):
        v = Tensor(v.astype(img.dtype.numpy))
    out[..., i : i + h, j : j + w] = v
    return out
