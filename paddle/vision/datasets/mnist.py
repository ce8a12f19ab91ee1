"""MNIST and Fashion-MNIST: grey pictures of 28x28, ten classes, in gzipped idx files."""

from __future__ import annotations

import contextlib
import gzip
import io
import math
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...engine import errors
from ...engine.dtype import default_dtype
from ...io import Dataset
from ...utils import storage
from ...utils.download import cached_file
from .. import image as backends
from .archive import check_length

__all__ = ["MNIST", "FashionMNIST"]


class MNIST(Dataset):
    """Handwritten digits (LeCun, Cortes, Burges): 60000 pictures for training, 10000 for tests.

    Args:
        image_path, label_path: gzipped idx files, also addresses such as "s3://bucket/key"; default `$PADDLE_HOME/dataset/mnist/` with the published names, which
            are downloaded when they are not there. `paddle.vision.datasets.digits_path()` holds a small real set.
        mode: "train" or "test".
        transform: applied to each picture.
        download: False forbids the network.
        backend: "pil" (default) gives Pillow images, "cv2" arrays [28, 28] of the default dtype.

    Raises:
        RuntimeError: a file is missing and cannot be downloaded; the message says where to put it.
        ValueError: a file that is not in the idx format, is truncated, or does not fit the other one.

    Example:
        >>> data = paddle.vision.datasets.MNIST(*paddle.vision.datasets.digits_path("test"))
        >>> image, label = data[0]
        >>> len(data), image.size, label.shape
        (360, (28, 28), (1,))
    """

    NAME = "mnist"
    URL_PREFIX = "https://dataset.bj.bcebos.com/mnist/"
    TEST_IMAGE_URL = URL_PREFIX + "t10k-images-idx3-ubyte.gz"
    TEST_IMAGE_MD5 = "9fb629c4189551a2d022fa330f9573f3"
    TEST_LABEL_URL = URL_PREFIX + "t10k-labels-idx1-ubyte.gz"
    TEST_LABEL_MD5 = "ec29112dd5afa0611ce80d1b7f02629c"
    TRAIN_IMAGE_URL = URL_PREFIX + "train-images-idx3-ubyte.gz"
    TRAIN_IMAGE_MD5 = "f68b3c2dcbeaaa9fbdd348bbdeb94873"
    TRAIN_LABEL_URL = URL_PREFIX + "train-labels-idx1-ubyte.gz"
    TRAIN_LABEL_MD5 = "d53e105ee54ea40749a09fcbcd1e9432"

    def __init__(
        self,
        image_path: str | None = None,
        label_path: str | None = None,
        mode: str = "train",
        transform: Callable | None = None,
        download: bool = True,
        backend: str | None = None,
    ):
        name = type(self).__name__
        if str(mode).lower() not in ("train", "test"):
            raise errors.ValueError_(f"{name}: mode must be 'train' or 'test', got {mode!r}")
        self.mode = mode.lower()
        self.backend = backends.check_backend(backend or _usable_backend(), name, ("pil", "cv2"))
        self.image_path = image_path or self._cached("IMAGE", download)
        self.label_path = label_path or self._cached("LABEL", download)
        self.transform = transform
        self.dtype = default_dtype().name
        self.images = read_idx(self.image_path, 3)
        self.labels = read_idx(self.label_path, 1).astype("int64")[:, None]
        if len(self.images) != len(self.labels):
            raise errors.ValueError_(
                f"{name}: {len(self.images)} pictures in {self.image_path}, but {len(self.labels)} labels in "
                f"{self.label_path}"
            )

    def _cached(self, kind: str, download: bool) -> str:
        key = f"{self.mode.upper()}_{kind}"
        return cached_file(getattr(self, key + "_URL"), f"dataset/{self.NAME}", getattr(self, key + "_MD5"), download)

    def __getitem__(self, idx: int) -> tuple[Any, np.ndarray]:
        picture: Any = self.images[idx]
        if self.backend == "pil":
            from PIL import Image

            picture = Image.fromarray(picture)
        else:
            picture = picture.astype(self.dtype)
        if self.transform is not None:
            picture = self.transform(picture)
        return picture, self.labels[idx].copy()

    def __len__(self) -> int:
        return len(self.labels)


class FashionMNIST(MNIST):
    """Pictures of clothes in the format of MNIST (Xiao, Rasul, Vollgraf, 2017). Arguments as there; the cache folder is
    `$PADDLE_HOME/dataset/fashion-mnist/`."""

    NAME = "fashion-mnist"
    URL_PREFIX = "https://dataset.bj.bcebos.com/fashion_mnist/"
    TEST_IMAGE_URL = URL_PREFIX + "t10k-images-idx3-ubyte.gz"
    TEST_IMAGE_MD5 = "bef4ecab320f06d8554ea6380940ec79"
    TEST_LABEL_URL = URL_PREFIX + "t10k-labels-idx1-ubyte.gz"
    TEST_LABEL_MD5 = "bb300cfdad3c16e7a12a480ee83cd310"
    TRAIN_IMAGE_URL = URL_PREFIX + "train-images-idx3-ubyte.gz"
    TRAIN_IMAGE_MD5 = "8d4fb7e6c68d591d4c3dfef9ec88bf0d"
    TRAIN_LABEL_URL = URL_PREFIX + "train-labels-idx1-ubyte.gz"
    TRAIN_LABEL_MD5 = "25c81989df183df01b3e8a0aad5dffbe"


def _usable_backend() -> str:
    found = backends.get_image_backend()
    return found if found in ("pil", "cv2") else "pil"


@contextlib.contextmanager
def _plain(path: str) -> Iterator[tuple[Any, int]]:
    """A file, unpacked if it is gzipped, and its length on the disk."""
    with storage.opened(path) as raw:
        length = raw.seek(0, io.SEEK_END)
        raw.seek(0)
        gzipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        with gzip.open(raw) if gzipped else raw as file:
            yield file, length


def read_idx(path: str, ndim: int) -> np.ndarray:
    """The uint8 array of `ndim` dimensions in an idx file, gzipped or not.

    Raises FileNotFoundError when it is missing, ValueError when it is anything else or does not have the bytes that its
    header promises. Memory is taken for what is in the file, not for what the header says.
    """
    if not storage.is_file(path):
        raise errors.NotFound(f"there is no file {path}")
    try:
        with _plain(path) as (f, length):
            header = f.read(4 + 4 * ndim)
            if len(header) < 4 + 4 * ndim or header[:4] != bytes([0, 0, 8, ndim]):
                raise errors.ValueError_(
                    f"{path} is no idx file of bytes with {ndim} dimensions (it starts with {header[:4]!r})"
                )
            shape = struct.unpack(f">{ndim}I", header[4:])
            size, data = math.prod(shape), bytearray()
            while len(data) <= size and (block := f.read(min(1 << 20, size + 1 - len(data)))):
                data += block
                check_length(path, len(data), length)
    except (EOFError, gzip.BadGzipFile, zlib.error) as e:
        raise errors.ValueError_(f"{path} is damaged or truncated ({e})") from None
    if len(data) != size:
        more = "more" if len(data) > size else f"only {len(data)}"
        raise errors.ValueError_(f"{path} is damaged: its header promises {size} bytes {list(shape)}, there are {more}")
    return np.frombuffer(bytes(data), np.uint8).reshape(shape)
