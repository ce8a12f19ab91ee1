"""How image files are read."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

from ..engine import errors
from ..utils import storage

__all__ = ["set_image_backend", "get_image_backend", "image_load"]

_BACKENDS = ("pil", "cv2", "tensor")
_backend = "pil"


def check_backend(backend: Any, name: str, allowed: tuple[str, ...] = _BACKENDS) -> str:
    if backend not in allowed:
        raise errors.ValueError_(f"{name}: backend must be one of {', '.join(allowed)}, got {backend!r}")
    return backend


def set_image_backend(backend: str) -> None:
    """What datasets and `image_load` make of a picture: "pil" a Pillow image, "cv2" a NumPy array as OpenCV would read
    it ([H, W, C], channels in the order BGR), "tensor" a Tensor. ValueError for another name."""
    global _backend
    _backend = check_backend(backend, "set_image_backend")


def get_image_backend() -> str:
    """The name that `set_image_backend` set, "pil" at start.

    Example:
        >>> paddle.vision.get_image_backend()
        'pil'
    """
    return _backend


@contextlib.contextmanager
def named(path: Any) -> Iterator[None]:
    """Names the file when Pillow finds in the block that it is no picture: OSError, as Pillow raises it."""
    from PIL import Image

    try:
        yield
    except (OSError, SyntaxError, Image.DecompressionBombError) as e:
        if isinstance(e, OSError) and e.errno is not None:
            raise
        raise OSError(f"{path} is no picture, or it is damaged ({str(e).partition(' <')[0]})") from None


def image_load(path: str, backend: str | None = None) -> Any:
    """Read an image file.

    Args:
        path: the file, or its address in object storage.
        backend: "pil", "cv2" or "tensor" (float [C, H, W] from 0 to 1), default the one that is set.

    Raises:
        ValueError: another backend.
        FileNotFoundError: no such file.
        OSError: a file that is no picture, or is damaged; "pil" finds the latter when the pixels are read.
    """
    backend = check_backend(backend or _backend, "image_load")
    from PIL import Image

    with named(path):
        image = Image.open(io.BytesIO(storage.read(path)) if storage.is_remote(path) else storage.local(path))
        if backend == "pil":
            return image
        with image:  # closes the file
            image.load()
    if backend == "tensor":
        from .transforms import functional

        return functional.to_tensor(image)
    import numpy as np

    return np.ascontiguousarray(np.asarray(image.convert("RGB"))[:, :, ::-1])
