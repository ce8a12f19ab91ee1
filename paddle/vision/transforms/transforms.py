"""Transforms of pictures as objects, to be put together with Compose.

The random ones draw from Python's `random` (`random.seed`), as the official package does.
"""

from __future__ import annotations

import math
import numbers
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...engine import errors
from . import basic as F
from . import warp

__all__ = [
    "BaseTransform",
    "Compose",
    "Resize",
    "CenterCrop",
    "RandomHorizontalFlip",
    "RandomVerticalFlip",
    "RandomCrop",
    "Transpose",
    "Normalize",
    "ToTensor",
    "Pad",
    "RandomRotation",
    "RandomResizedCrop",
    "Grayscale",
]


class Compose:
    """Several transforms, one after the other.

    Args:
        transforms: callables. The first gets the sample, every further one what the one before returned.

    Example:
        >>> import numpy as np; T = paddle.vision.transforms
        >>> T.Compose([T.Resize(8), T.ToTensor()])(np.zeros([16, 20, 3], 'uint8')).shape
        [3, 8, 10]
    """

    def __init__(self, transforms: Sequence[Callable]):
        given = [*transforms] if isinstance(transforms, Iterable) else [transforms]
        if not all(callable(t) for t in given):
            raise errors.TypeError_(f"Compose: transforms must be a list of callables, got {transforms!r}")
        self.transforms = transforms if isinstance(transforms, list) else given

    def __call__(self, data: Any) -> Any:
        for transform in self.transforms:
            data = transform(data)
        return data

    def __repr__(self) -> str:
        return "Compose(\n" + "".join(f"    {t}\n" for t in self.transforms) + ")"


_FIELDS = ("image", "coords", "boxes", "mask")


class BaseTransform:
    """A transform of one picture, or of a tuple of things that belong together.

    Subclasses define `_apply_image` and, for other fields, `_apply_coords`, `_apply_boxes`, `_apply_mask`. What is
    drawn at random is drawn once a sample, in `_get_params(inputs)`, and found in `self.params`.

    Args:
        keys: what the elements of the tuple are: "image", "coords", "boxes", "mask", or None to leave one as it is.
            Default ("image",); elements beyond the keys pass unchanged.
    """

    def __init__(self, keys: Sequence[str | None] | None = None):
        keys = ("image",) if keys is None else keys
        if isinstance(keys, str) or not isinstance(keys, (list, tuple)):
            raise errors.ValueError_(f"{type(self).__name__}: keys must be a sequence of names, got {keys!r}")
        for key in keys:
            if key is not None and key not in _FIELDS:
                raise errors.NotImplemented_(f"{type(self).__name__}: keys can be {', '.join(_FIELDS)}; got {key!r}")
        self.keys = keys
        self.params: Any = None

    def _get_params(self, inputs: tuple) -> Any:
        return None

    def __call__(self, inputs: Any) -> Any:
        several = isinstance(inputs, tuple)
        fields = inputs if several else (inputs,)
        self.params = self._get_params(fields)
        out = tuple(f if key is None else getattr(self, "_apply_" + key)(f) for key, f in zip(self.keys, fields))
        out += fields[len(self.keys) :]
        return out if several and len(out) > 1 else out[0]

    def _apply_image(self, image: Any) -> Any:
        raise errors.NotImplemented_(f"{type(self).__name__} does not say what it does with an image")

    def _apply_boxes(self, boxes: Any) -> Any:
        raise errors.NotImplemented_(f"{type(self).__name__} does not say what it does with boxes")

    def _apply_mask(self, mask: Any) -> Any:
        raise errors.NotImplemented_(f"{type(self).__name__} does not say what it does with a mask")

    def _apply_coords(self, coords: Any) -> Any:
        raise errors.NotImplemented_(f"{type(self).__name__} does not say what it does with coordinates")

    def _picture(self, inputs: tuple) -> Any:
        """The first image of a sample."""
        return inputs[self.keys.index("image")] if "image" in self.keys else inputs[0]


class ToTensor(BaseTransform):
    """A Pillow image or array as a Tensor, bytes scaled to 0..1; see `to_tensor`."""

    def __init__(self, data_format: str = "CHW", keys: Sequence[str | None] | None = None):
        super().__init__(keys)
        self.data_format = data_format

    def _apply_image(self, img: Any) -> Any:
        return F.to_tensor(img, self.data_format)


class Resize(BaseTransform):
    """Another size: (height, width), or an int for the shorter side; see `resize`."""

    def __init__(self, size: Any, interpolation: str = "bilinear", keys: Sequence[str | None] | None = None):
        super().__init__(keys)
        if not (isinstance(size, (int, np.integer)) and not isinstance(size, bool)):
            F.pair(size, "Resize")
        self.size, self.interpolation = size, interpolation

    def _apply_image(self, img: Any) -> Any:
        return F.resize(img, self.size, self.interpolation)


class Normalize(BaseTransform):
    """(picture - mean) / std for each channel; see `normalize`. One number serves all channels."""

    def __init__(
        self,
        mean: Any = 0.0,
        std: Any = 1.0,
        data_format: str = "CHW",
        to_rgb: bool = False,
        keys: Sequence[str | None] | None = None,
    ):
        super().__init__(keys)
        self.mean, self.std, self.data_format, self.to_rgb = mean, std, data_format, to_rgb

    def _apply_image(self, img: Any) -> Any:
        return F.normalize(img, self.mean, self.std, self.data_format, self.to_rgb)


class Transpose(BaseTransform):
    """The axes of the picture (as an array) in another order, default [H, W, C] to [C, H, W]; [H, W] has one channel."""

    def __init__(self, order: Sequence[int] = (2, 0, 1), keys: Sequence[str | None] | None = None):
        super().__init__(keys)
        self.order = order

    def _apply_image(self, img: Any) -> Any:
        if F.kind_of(img, "Transpose") == "tensor":
            return img.transpose(list(self.order))
        array = np.asarray(img)
        array = array[..., None] if array.ndim == 2 else array
        there = range(-array.ndim, array.ndim)
        if any(a not in there for a in self.order) or {a % array.ndim for a in self.order} != {*range(array.ndim)}:
            raise errors.ValueError_(f"Transpose: order must be a permutation of {array.ndim} axes, got {self.order!r}")
        return array.transpose(self.order)


class CenterCrop(BaseTransform):
    """The middle of the picture, an int (a square) or (height, width)."""

    def __init__(self, size: Any, keys: Sequence[str | None] | None = None):
        super().__init__(keys)
        self.size = F.pair(size, "CenterCrop")

    def _apply_image(self, img: Any) -> Any:
        return F.center_crop(img, self.size)

    _apply_mask = _apply_image


class Pad(BaseTransform):
    """A frame around the picture; see `pad`."""

    def __init__(
        self, padding: Any, fill: Any = 0, padding_mode: str = "constant", keys: Sequence[str | None] | None = None
    ):
        super().__init__(keys)
        F.four_sides(padding, "Pad")
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def _apply_image(self, img: Any) -> Any:
        return F.pad(img, self.padding, self.fill, self.padding_mode)


class Grayscale(BaseTransform):
    """The picture in grey, with 1 or 3 channels."""

    def __init__(self, num_output_channels: int = 1, keys: Sequence[str | None] | None = None):
        super().__init__(keys)
        self.num_output_channels = num_output_channels

    def _apply_image(self, img: Any) -> Any:
        return F.to_grayscale(img, self.num_output_channels)


class _RandomFlip(BaseTransform):
    _flip: Callable

    def __init__(self, prob: float = 0.5, keys: Sequence[str | None] | None = None):
        super().__init__(keys)
        self.prob = probability(prob, type(self).__name__)

    def _get_params(self, inputs: tuple) -> bool:
        return random.random() < self.prob

    def _apply_image(self, img: Any) -> Any:
        return type(self)._flip(img) if self.params else img

    _apply_mask = _apply_image


class RandomHorizontalFlip(_RandomFlip):
    """Mirrored left to right with the probability `prob`."""

    _flip = staticmethod(F.hflip)


class RandomVerticalFlip(_RandomFlip):
    """Upside down with the probability `prob`."""

    _flip = staticmethod(F.vflip)


def probability(prob: Any, name: str) -> float:
    if not isinstance(prob, numbers.Real) or not 0 <= prob <= 1:
        raise errors.ValueError_(f"{name}: prob must be between 0 and 1, got {prob!r}")
    return prob


class RandomCrop(BaseTransform):
    """A part of the picture at a random place.

    Args:
        size: an int (a square) or (height, width).
        padding: a frame that is put around the picture first; see `pad`.
        pad_if_needed: widen a picture that is smaller than `size`.
        fill, padding_mode: of the frames.

    Raises:
        ValueError: the picture is smaller than `size`.
    """

    def __init__(
        self,
        size: Any,
        padding: Any = None,
        pad_if_needed: bool = False,
        fill: Any = 0,
        padding_mode: str = "constant",
        keys: Sequence[str | None] | None = None,
    ):
        super().__init__(keys)
        self.size = F.pair(size, "RandomCrop")
        self.padding, self.pad_if_needed, self.fill, self.padding_mode = padding, pad_if_needed, fill, padding_mode

    def _framed(self, img: Any) -> Any:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed:
            rows, columns = F.size_of(img)
            missing = max(0, self.size[1] - columns), max(0, self.size[0] - rows)
            if any(missing):
                img = F.pad(img, missing, self.fill, self.padding_mode)
        return img

    def _get_params(self, inputs: tuple) -> tuple[int, int]:
        rows, columns = F.size_of(self._framed(self._picture(inputs)), "RandomCrop")
        height, width = self.size
        if height > rows or width > columns:
            raise errors.ValueError_(
                f"RandomCrop: the picture is {rows}x{columns}, smaller than {height}x{width}; "
                "pad_if_needed=True widens it"
            )
        return random.randint(0, rows - height), random.randint(0, columns - width)

    def _apply_image(self, img: Any) -> Any:
        return F.crop(self._framed(img), *self.params, *self.size)

    _apply_mask = _apply_image


class RandomResizedCrop(BaseTransform):
    """A part of random size, place and aspect ratio, brought to `size` ("Inception" crop; Szegedy et al., 2015).

    Args:
        size: an int (a square) or (height, width).
        scale: the range of its area as a part of the picture's.
        ratio: the range of width / height.
        interpolation: see `resize`.
    """

    def __init__(
        self,
        size: Any,
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4, 4.0 / 3),
        interpolation: str = "bilinear",
        keys: Sequence[str | None] | None = None,
    ):
        super().__init__(keys)
        self.size = F.pair(size, "RandomResizedCrop")
        for name, bounds in (("scale", scale), ("ratio", ratio)):
            if len(bounds) != 2 or not 0 < bounds[0] <= bounds[1]:
                raise errors.ValueError_(
                    f"RandomResizedCrop: {name} must be a range of positive numbers, got {bounds!r}"
                )
        self.scale, self.ratio, self.interpolation = scale, ratio, interpolation

    def _get_params(self, inputs: tuple) -> tuple[int, int, int, int]:
        rows, columns = F.size_of(self._picture(inputs), "RandomResizedCrop")
        for _ in range(10):
            area = np.random.uniform(*self.scale) * rows * columns
            ratio = math.exp(np.random.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            width, height = int(round(math.sqrt(area * ratio))), int(round(math.sqrt(area / ratio)))
            if 0 < width <= columns and 0 < height <= rows:
                return random.randint(0, rows - height), random.randint(0, columns - width), height, width
        ratio = min(max(columns / rows, self.ratio[0]), self.ratio[1])  # none fitted: the largest middle part
        height, width = min(rows, int(round(columns / ratio))), min(columns, int(round(rows * ratio)))
        return (rows - height) // 2, (columns - width) // 2, height, width

    def _apply_image(self, img: Any) -> Any:
        return F.resize(F.crop(img, *self.params), self.size, self.interpolation)


class RandomRotation(BaseTransform):
    """Turned by a random angle.

    Args:
        degrees: the range (low, high), or a number d for (-d, d).
        interpolation, expand, center, fill: see `rotate`.
    """

    def __init__(
        self,
        degrees: Any,
        interpolation: str = "nearest",
        expand: bool = False,
        center: Any = None,
        fill: Any = 0,
        keys: Sequence[str | None] | None = None,
    ):
        super().__init__(keys)
        self.degrees = angles(degrees, "RandomRotation")
        self.interpolation, self.expand, self.center, self.fill = interpolation, expand, center, fill

    def _get_params(self, inputs: tuple) -> float:
        return random.uniform(*self.degrees)

    def _apply_image(self, img: Any) -> Any:
        return warp.rotate(img, self.params, self.interpolation, self.expand, self.center, self.fill)


def angles(degrees: Any, name: str) -> tuple[float, float]:
    """A range of angles: (low, high), or d for (-d, d)."""
    if isinstance(degrees, numbers.Real):
        if degrees < 0:
            raise errors.ValueError_(f"{name}: a single number for degrees must not be negative, got {degrees}")
        return -degrees, degrees
    if not isinstance(degrees, (list, tuple)) or len(degrees) != 2:
        raise errors.ValueError_(f"{name}: degrees must be a number or (low, high), got {degrees!r}")
    return degrees[0], degrees[1]
