"""The basic transforms of one picture, as functions.

A picture is a Pillow image, a NumPy array [H, W] or [H, W, C], or a Tensor [..., C, H, W]; the result is of the same
kind unless the function says otherwise. Pillow images go through Pillow, arrays and tensors have their own arithmetic.
"""

from __future__ import annotations

import numbers
import os
import sys
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ...engine import errors
from ...engine.op import op
from ...engine.tensor import Tensor
from ...io.host import host_array, host_tensor

__all__ = ["to_tensor", "hflip", "vflip", "resize", "pad", "crop", "center_crop", "to_grayscale", "normalize"]

_LUMA = np.array([0.299, 0.587, 0.114])  # ITU-R BT.601


def kind_of(img: Any, name: str) -> str:
    """ "pil", "array" or "tensor"; TypeError for anything else."""
    if isinstance(img, Tensor):
        waiting = host_array(img)
        if (img if waiting is None else waiting).ndim >= 2:
            return "tensor"
    elif isinstance(img, np.ndarray):
        if img.ndim in (2, 3):
            return "array"
    else:
        pillow = sys.modules.get("PIL.Image")  # whoever has an image has imported it
        if pillow is not None and isinstance(img, pillow.Image):
            return "pil"
    raise errors.TypeError_(
        f"{name}: img must be a Pillow image, an array [H, W] or [H, W, C], or a Tensor [..., H, W]; got "
        f"{errors.describe(img)}"
    )


def size_of(img: Any, name: str = "size") -> tuple[int, int]:
    """(height, width)."""
    kind = kind_of(img, name)
    if kind == "pil":
        return img.size[1], img.size[0]
    return tuple(img.shape[:2]) if kind == "array" else tuple(img.shape[-2:])


def pair(size: Any, name: str, least: int = 1) -> tuple[int, int]:
    """A size argument as (height, width): a number means a square."""
    size = (size, size) if isinstance(size, numbers.Number) else size
    if (
        not isinstance(size, (list, tuple))
        or len(size) != 2
        or not all(isinstance(s, (int, np.integer)) and not isinstance(s, bool) for s in size)
    ):
        raise errors.TypeError_(f"{name}: size must be an int or (height, width), got {size!r}")
    if min(size) < least:
        raise errors.ValueError_(f"{name}: height and width must be at least {least}, got {tuple(size)}")
    return int(size[0]), int(size[1])


def check_size(name: str, img: Any, height: int, width: int) -> None:
    """MemoryError where a picture of this size is larger than the memory: the system would end the process."""
    rows, columns = size_of(img)
    bytes_of_a_pixel = 4 if not isinstance(img, np.ndarray) else img.nbytes // max(rows * columns, 1)
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 1 << 50
    if height * width * bytes_of_a_pixel > there:
        raise errors.OutOfMemory(f"{name}: a picture of {height}x{width} needs more memory than there is")


def to_tensor(pic: Any, data_format: str = "CHW") -> Tensor:
    """A picture as a Tensor.

    Args:
        pic: a Pillow image or an array; bytes (0 to 255) become float32 from 0 to 1, other types keep type and values.
        data_format: "CHW" or "HWC".

    Example:
        >>> import numpy as np
        >>> paddle.vision.transforms.to_tensor(np.full([4, 5, 3], 255, 'uint8')).shape
        [3, 4, 5]
    """
    if data_format not in ("CHW", "HWC"):
        raise errors.ValueError_(f"to_tensor: data_format must be 'CHW' or 'HWC', got {data_format!r}")
    kind = kind_of(pic, "to_tensor")
    if kind == "tensor":
        return pic if data_format == "CHW" or pic.ndim != 3 else pic.transpose([1, 2, 0])
    array = _array_of(pic)
    if array.ndim == 2:
        array = array[:, :, None]
    if data_format == "CHW":
        array = array.transpose(2, 0, 1)
    if array.dtype == np.uint8 or array.dtype == bool and kind == "pil":
        array = array.astype("float32") / np.float32(1 if array.dtype == bool else 255)
    elif array.dtype == np.uint16:
        array = array.astype("int32")
    return host_tensor(np.array(array, order="C"))


def _array_of(img: Any) -> np.ndarray:
    return img if isinstance(img, np.ndarray) else np.asarray(img)


def normalize(img: Any, mean: Any, std: Any, data_format: str = "CHW", to_rgb: bool = False) -> Any:
    """(img - mean) / std for each channel. A Pillow image gives an array; arrays become float32 (float64 stays).

    Args:
        mean, std: one number, which keeps the number of channels, or one for each channel.
        data_format: "CHW" or "HWC", where the channels are. A picture [H, W] gets a dimension in front.
        to_rgb: turn the order of the channels around first (BGR to RGB); of a Tensor officially ignored.

    Raises:
        ValueError: the numbers do not fit the channels, or a zero in `std`.
    """
    if data_format not in ("CHW", "HWC"):
        raise errors.ValueError_(f"normalize: data_format must be 'CHW' or 'HWC', got {data_format!r}")
    kind = kind_of(img, "normalize")
    if kind == "tensor" and (waiting := host_array(img)) is not None:
        return host_tensor(normalize(waiting, mean, std, data_format))
    axis = -3 if data_format == "CHW" else -1
    mean, std = (np.asarray(v.numpy() if isinstance(v, Tensor) else v, "float64").reshape(-1) for v in (mean, std))
    if not std.all():
        raise errors.ValueError_("normalize: std must not be 0")
    if kind != "tensor":
        img = _array_of(img)
        img = img.astype("float64" if img.dtype == np.float64 else "float32")
        if img.ndim == 2:
            img = img[None]
    channels = img.shape[axis] if len(img.shape) >= 3 else 1
    for name, values in (("mean", mean), ("std", std)):
        if len(values) not in (1, channels) and channels != 1:
            hint = (
                "; the picture is [H, W, C]: use data_format='HWC', or ToTensor or Transpose before"
                if data_format == "CHW" and img.shape[-1] == len(values)
                else ""
            )
            raise errors.ValueError_(
                f"normalize: {name} has {len(values)} numbers, the picture {channels} channels in the shape "
                f"{list(img.shape)} ({data_format}){hint}"
            )
    if to_rgb and kind != "tensor":
        img = _flip(img, axis)
    shape = [1] * 3
    shape[axis] = -1
    if kind == "tensor":
        return _standardize(img, mean.reshape(shape), std.reshape(shape))
    return (img - mean.reshape(shape).astype(img.dtype)) / std.reshape(shape).astype(img.dtype)


@op(method=False, export=False)
def _standardize(img, mean, std):
    dtype = jnp.promote_types(img.dtype, jnp.float32) if jnp.issubdtype(img.dtype, jnp.integer) else img.dtype
    return (img.astype(dtype) - mean.astype(dtype)) / std.astype(dtype)


# ---- geometry ----
def _flip(img: Any, axis: int) -> Any:
    if isinstance(img, Tensor):
        from ...ops.manipulation import flip

        return flip(img, axis)
    return np.ascontiguousarray(np.flip(img, axis))


def hflip(img: Any) -> Any:
    """The picture mirrored left to right."""
    kind = kind_of(img, "hflip")
    if kind == "pil":
        return img.transpose(_pillow().Transpose.FLIP_LEFT_RIGHT)
    return _flip(img, 1 if kind == "array" else -1)


def vflip(img: Any) -> Any:
    """The picture upside down."""
    kind = kind_of(img, "vflip")
    if kind == "pil":
        return img.transpose(_pillow().Transpose.FLIP_TOP_BOTTOM)
    return _flip(img, 0 if kind == "array" else -2)


def crop(img: Any, top: int, left: int, height: int, width: int) -> Any:
    """A part of the picture; what lies outside of it is 0.

    Args:
        top, left: the upper left corner.
        height, width: the size of the part.
    """
    kind = kind_of(img, "crop")
    height, width = pair((height, width), "crop", least=0)
    if kind == "pil":
        return img.crop((left, top, left + width, top + height))
    rows, columns = size_of(img)
    before = (max(0, -top), max(0, -left))
    after = (max(0, top + height - rows), max(0, left + width - columns))
    if any(before + after):
        img = pad(img, (before[1], before[0], after[1], after[0]))
    y, x = top + before[0], left + before[1]
    if kind == "array":
        return img[y : y + height, x : x + width]
    return img[..., y : y + height, x : x + width]


def center_crop(img: Any, output_size: Any) -> Any:
    """The middle of the picture; `output_size` is an int (a square) or (height, width)."""
    height, width = pair(output_size, "center_crop")
    rows, columns = size_of(img, "center_crop")
    return crop(img, int(round((rows - height) / 2.0)), int(round((columns - width) / 2.0)), height, width)


_PAD_MODES = ("constant", "edge", "reflect", "symmetric")


def four_sides(padding: Any, name: str = "pad") -> tuple[int, int, int, int]:
    """A padding argument as (left, top, right, bottom)."""
    sides = (padding,) if isinstance(padding, numbers.Number) else padding
    if not isinstance(sides, (list, tuple)) or len(sides) not in (1, 2, 4):
        raise errors.ValueError_(
            f"{name}: padding must be an int, (left and right, top and bottom) or (left, top, right, bottom); "
            f"got {padding!r}"
        )
    if not all(isinstance(s, (int, np.integer)) and s >= 0 for s in sides):
        raise errors.ValueError_(f"{name}: padding must be integers of at least 0, got {padding!r}")
    left, top, right, bottom = tuple(sides) * (4 // len(sides))
    return left, top, right, bottom


def pad(img: Any, padding: Any, fill: Any = 0, padding_mode: str = "constant") -> Any:
    """The picture with a frame.

    Args:
        padding: an int, (left and right, top and bottom), or (left, top, right, bottom).
        fill: the value of the frame, or one for each channel, in the mode "constant". (A number fills all channels of
            arrays and tensors; of a colour Pillow image only the first, as Pillow takes it for an integer colour.)
        padding_mode: "constant", "edge", "reflect" or "symmetric".

    Raises:
        ValueError: another mode, a negative width, a number of fill values that does not fit.
    """
    kind = kind_of(img, "pad")
    if padding_mode not in _PAD_MODES:
        raise errors.ValueError_(f"pad: padding_mode must be one of {', '.join(_PAD_MODES)}, got {padding_mode!r}")
    left, top, right, bottom = four_sides(padding)
    rows, columns = size_of(img)
    check_size("pad", img, top + rows + bottom, left + columns + right)
    if kind == "tensor":
        return _pad_tensor(img, (left, right, top, bottom), fill, padding_mode)
    if kind == "pil" and padding_mode == "constant":
        from PIL import ImageOps

        if not isinstance(fill, numbers.Number):
            fill = _fill_of(img, fill, "pad")
        return ImageOps.expand(img, border=(left, top, right, bottom), fill=fill)  # a number: Pillow's integer colour
    array = _array_of(img)
    widths = [(top, bottom), (left, right)] + [(0, 0)] * (array.ndim - 2)
    if padding_mode != "constant":
        if padding_mode == "reflect" and min(array.shape[:2]) == 1 or min(array.shape) == 0:
            raise errors.ValueError_(
                f"pad: a picture of shape {list(array.shape)} cannot be padded in the mode {padding_mode!r}"
            )
        out = np.pad(array, widths, mode=padding_mode)
        return _like(out, img) if kind == "pil" else out
    value = np.asarray(fill, array.dtype) if _is_fill(fill) else None
    if value is None or value.ndim and (array.ndim == 2 or len(value) not in (1, array.shape[2])):
        raise errors.ValueError_(f"pad: fill must be a number or one for each channel, got {fill!r}")
    out = np.empty([n + a + b for n, (a, b) in zip(array.shape, widths)], array.dtype)
    out[...] = value
    out[top : top + array.shape[0], left : left + array.shape[1]] = array
    return out


def _pad_tensor(img: Tensor, widths: tuple, fill: Any, mode: str) -> Tensor:
    from ...nn import functional as F

    if mode == "symmetric" or not isinstance(fill, numbers.Number):
        raise errors.NotImplemented_("pad: of a Tensor, the mode 'symmetric' and a fill for each channel are not built")
    shape = img.shape
    flat = img.reshape([1, -1, *shape[-2:]])
    out = F.pad(flat, list(widths), mode={"edge": "replicate"}.get(mode, mode), value=fill)
    return out.reshape([*shape[:-2], *out.shape[-2:]])


def _is_fill(fill: Any) -> bool:
    return (
        isinstance(fill, numbers.Number)
        or isinstance(fill, (list, tuple))
        and all(isinstance(f, numbers.Number) for f in fill)
    )


def _fill_of(img: Any, fill: Any, name: str) -> Any:
    """A fill argument as Pillow wants it for the bands of an image."""
    bands = len(img.getbands())
    if isinstance(fill, numbers.Number):
        return (int(fill),) * bands if bands > 1 else fill
    if _is_fill(fill) and len(fill) in (1, bands):
        return tuple(fill) * (bands // len(fill)) if bands > 1 else fill[0]
    raise errors.ValueError_(f"{name}: fill must be a number or {bands} of them, got {fill!r}")


def _like(array: np.ndarray, img: Any) -> Any:
    """An array as a Pillow image of the mode (and palette) of another."""
    out = _pillow().fromarray(array)
    if img.mode == "P":
        out.putpalette(img.getpalette())
    return out if out.mode == img.mode else out.convert(img.mode)


def _pillow() -> Any:
    from PIL import Image

    return Image


def pillow_method(interpolation: Any, name: str, allowed: Sequence[str]) -> Any:
    if interpolation not in allowed:
        raise errors.ValueError_(f"{name}: interpolation must be one of {', '.join(allowed)}, got {interpolation!r}")
    return getattr(_pillow().Resampling, interpolation.upper())


_PIL_METHODS = ("nearest", "bilinear", "bicubic", "box", "lanczos", "hamming")
_ARRAY_METHODS = ("nearest", "bilinear", "bicubic", "area", "lanczos")


def resize(img: Any, size: Any, interpolation: str = "bilinear") -> Any:
    """The picture in another size.

    Args:
        size: (height, width), or an int for the shorter side; the other one keeps the ratio.
        interpolation: for Pillow images "nearest", "bilinear", "bicubic", "box", "lanczos", "hamming" (where the
            picture shrinks they average, as Pillow does); for arrays "nearest", "bilinear", "bicubic", "area",
            "lanczos", by points as OpenCV does; for tensors the modes of `interpolate`.

    Raises:
        TypeError, ValueError: a size that is none, or below 1; another interpolation.
    """
    kind = kind_of(img, "resize")
    rows, columns = size_of(img)
    if not rows * columns:
        raise errors.ValueError_(f"resize: a picture of {rows}x{columns} has no pixels")
    if isinstance(size, (int, np.integer)) and not isinstance(size, bool):
        if size < 1:
            raise errors.ValueError_(f"resize: size must be at least 1, got {size}")
        short = min(rows, columns)
        height, width = (
            (int(size), int(size * columns / short)) if rows <= columns else (int(size * rows / short), int(size))
        )
    else:
        height, width = pair(size, "resize")
    check_size("resize", img, height, width)
    if kind == "pil":
        method = pillow_method(interpolation, "resize", _PIL_METHODS)
        return img if (height, width) == (rows, columns) else img.resize((width, height), method)
    if kind == "tensor":
        from ...nn import functional as F

        batch = img if img.ndim == 4 else img.unsqueeze(0)
        smooth = {} if interpolation in ("nearest", "area") else {"align_corners": False}
        out = F.interpolate(batch, size=[height, width], mode=interpolation, **smooth)
        out = out.astype(img.dtype)
        return out if img.ndim == 4 else out.squeeze(0)
    if interpolation not in _ARRAY_METHODS:
        raise errors.ValueError_(
            f"resize: interpolation must be one of {', '.join(_ARRAY_METHODS)}, got {interpolation!r}"
        )
    return _resize_array(img, height, width, interpolation)


def _resize_array(img: np.ndarray, height: int, width: int, method: str) -> np.ndarray:
    if (height, width) == img.shape[:2]:
        return img
    if method == "nearest":
        rows, columns = (np.minimum(np.arange(n) * m // n, m - 1) for n, m in zip((height, width), img.shape))
        return img[rows[:, None], columns]
    kind = np.float64 if img.dtype == np.float64 else np.float32
    across = _taps(img.shape[1], width, method).astype(kind)
    down = _taps(img.shape[0], height, method).astype(kind)
    planes = img.astype(kind).reshape(*img.shape[:2], -1).transpose(2, 0, 1)
    out = (down @ planes @ across.T).transpose(1, 2, 0).reshape(height, width, *img.shape[2:])
    return _cast(out, img.dtype)


def _cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Floating values back in the type of the picture, rounded and within its range."""
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        values = np.clip(np.rint(values), info.min, info.max)
    return values.astype(dtype)


def _taps(n_in: int, n_out: int, method: str) -> np.ndarray:
    """The matrix [n_out, n_in] that resamples a line; pixel centres lie at halves, edges repeat."""
    scale = n_in / n_out
    if method == "area" and scale > 1:
        edges = np.arange(n_out + 1) * scale
        left, right = np.arange(n_in), np.arange(1, n_in + 1)
        overlap = np.minimum(edges[1:, None], right) - np.maximum(edges[:-1, None], left)
        return np.maximum(overlap, 0) / scale
    centre = (np.arange(n_out) + 0.5) * scale - 0.5
    reach = {"bilinear": 1, "area": 1, "bicubic": 2, "lanczos": 4}[method]
    out = np.zeros((n_out, n_in))
    base = np.floor(centre).astype(int)
    for step in range(1 - reach, reach + 1):
        distance = np.abs(centre - (base + step))
        np.add.at(out, (np.arange(n_out), np.clip(base + step, 0, n_in - 1)), _kernel(distance, method, reach))
    return out / out.sum(1, keepdims=True)


def _kernel(d: np.ndarray, method: str, reach: int) -> np.ndarray:
    if method == "bicubic":  # Keys (1981) with a = -0.75
        near = ((1.25 * d) - 2.25) * d * d + 1
        far = ((-0.75 * d + 3.75) * d - 6) * d + 3
        return np.where(d <= 1, near, np.where(d < 2, far, 0))
    if method == "lanczos":
        return np.where(d < reach, np.sinc(d) * np.sinc(d / reach), 0)
    return np.maximum(0, 1 - d)


def to_grayscale(img: Any, num_output_channels: int = 1) -> Any:
    """The picture in grey (0.299 R + 0.587 G + 0.114 B); ValueError unless `num_output_channels` is 1 or 3."""
    if num_output_channels not in (1, 3):
        raise errors.ValueError_(f"to_grayscale: num_output_channels must be 1 or 3, got {num_output_channels!r}")
    kind = kind_of(img, "to_grayscale")
    if kind == "pil":
        grey = img.convert("L")
        return grey if num_output_channels == 1 else _pillow().merge("RGB", (grey,) * 3)
    axis = 2 if kind == "array" else -3
    if img.ndim == 2:
        img = img[:, :, None] if kind == "array" else img.unsqueeze(0)
    if img.shape[axis] not in (1, 3):
        raise errors.ValueError_(f"to_grayscale: img must have 1 or 3 channels, got the shape {list(img.shape)}")
    if kind == "array":
        grey = img if img.shape[2] == 1 else _cast((img.astype("float64") @ _LUMA)[:, :, None], img.dtype)
        return grey if num_output_channels == 1 else np.repeat(grey, 3, axis=2)
    from ...ops.joining import concat

    if img.shape[axis] == 1:
        grey = img
    else:
        r, g, b = (img[..., i : i + 1, :, :] for i in range(3))
        grey = (r * 0.2989 + g * 0.587 + b * 0.114).astype(img.dtype)  # the official weights, for tensors
    return grey if num_output_channels == 1 else concat([grey] * 3, axis=axis)
