"""Pictures as inputs: decoded within limits, and prepared as the transforms of `paddle.vision` do it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from .options import ImageOptions

FORMATS = {"image/jpeg": "JPEG", "image/png": "PNG", "image/webp": "WEBP", "image/bmp": "BMP"}


class BadInput(ValueError):
    """What a client sent does not fit; the message is for the client."""


def prepared(data: bytes, options: ImageOptions, shape: tuple[int, ...], dtype: Any, max_pixels: int) -> np.ndarray:
    """One row of an input from the bytes of a picture.

    Args:
        data: a JPEG, PNG, WebP or BMP file.
        options: what is done with it.
        shape: of a row, -1 for lengths that vary.
        dtype: of the input.
        max_pixels: larger pictures are refused before they are decoded.

    Raises:
        BadInput: no picture, one that is damaged, too large, or of another size than the model takes.
    """
    from PIL import Image

    from ..vision.transforms import functional as F

    try:
        with Image.open(io.BytesIO(data), formats=tuple(FORMATS.values())) as picture:
            width, height = picture.size
            if width * height > max_pixels:
                raise BadInput(f"the picture has {width} x {height} pixels; {max_pixels} are allowed")
            picture = picture.convert(options.mode)
    except BadInput:
        raise
    except Exception as e:  # the decoders raise many kinds
        raise BadInput(f"the picture cannot be decoded: {type(e).__name__}") from None
    channels = len(options.mode) if options.mode != "L" else 1
    wanted = shape[1:] if options.layout == "CHW" else shape[:2]
    resize = options.resize
    if resize is None and options.crop is None and min(wanted) > 0:
        resize = (int(wanted[0]), int(wanted[1]))
    if resize is not None:
        picture = F.resize(picture, resize, options.interpolation)
    if options.crop is not None:
        picture = F.center_crop(picture, options.crop)
    array = np.asarray(picture).reshape(picture.size[1], picture.size[0], channels)
    if np.dtype(dtype) != np.uint8:
        array = (array * np.float32(options.scale) - np.float32(options.mean)) / np.float32(options.std)
    if options.layout == "CHW":
        array = array.transpose(2, 0, 1)
    if len(shape) != 3 or any(w not in (-1, n) for w, n in zip(shape, array.shape)):
        raise BadInput(f"the picture becomes {list(array.shape)}, the model takes {list(shape)}")
    return np.ascontiguousarray(array, dtype)
