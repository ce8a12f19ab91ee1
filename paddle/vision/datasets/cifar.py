"""CIFAR-10 and CIFAR-100: small colour pictures of ten and a hundred classes (Krizhevsky, 2009)."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine import errors
from ...engine.dtype import default_dtype
from ...framework.unpickle import ArrayRecord, LoadError, restricted_load
from ...io import Dataset
from ...utils.download import cached_file
from .archive import backend_of, mode_of, opened, read_member

__all__ = ["Cifar10", "Cifar100"]


class Cifar10(Dataset):
    """Pictures of 32x32 pixels in ten classes, 50000 for training and 10000 for tests.

    Args:
        data_file: the archive "for Python"; default `$PADDLE_HOME/dataset/cifar/cifar-10-python.tar.gz`, which is
            downloaded when it is not there.
        mode: "train" or "test".
        transform: applied to each picture.
        download: False forbids the network.
        backend: "pil" (default) gives Pillow images, "cv2" arrays [32, 32, 3] of the default dtype.

    Raises:
        RuntimeError: the file is missing and cannot be downloaded; the message says where to put it.
        ValueError: a file that is not this archive, or is damaged.

    Example:
        >>> data = paddle.vision.datasets.Cifar10("cifar-10-python.tar.gz", mode="test")  # doctest: +SKIP
        >>> len(data)  # doctest: +SKIP
        10000
    """

    _url = "https://dataset.bj.bcebos.com/cifar/cifar-10-python.tar.gz"
    _md5 = "c58f30108f718f92721af3b95e74349a"
    _parts = {"train": "data_batch", "test": "test_batch"}
    _labels = "labels"

    def __init__(
        self,
        data_file: str | None = None,
        mode: str = "train",
        transform: Callable | None = None,
        download: bool = True,
        backend: str | None = None,
    ):
        name = type(self).__name__
        self.mode = mode_of(name, mode, ("train", "test"))
        self.backend = backend_of(name, backend)
        self.data_file = data_file or cached_file(self._url, "dataset/cifar", self._md5, download)
        self.transform = transform
        self.dtype = default_dtype().name
        self.data = self._load()

    def _load(self) -> list[tuple[np.ndarray, int]]:
        pictures, labels = [], []
        with opened(self.data_file) as archive:
            for found in archive:
                if found.isfile() and found.name.rsplit("/", 1)[-1].startswith(self._parts[self.mode]):
                    batch = _read_batch(read_member(archive, found), self._labels, f"{self.data_file}: {found.name}")
                    pictures.extend(batch[0])
                    labels.extend(batch[1])
        if not pictures:
            raise errors.ValueError_(
                f"{self.data_file} is not the archive of {type(self).__name__}: no {self._parts[self.mode]} is in it"
            )
        return list(zip(pictures, labels))

    def __getitem__(self, idx: int) -> tuple[Any, np.ndarray]:
        flat, label = self.data[idx]
        picture: Any = flat.reshape(3, 32, 32).transpose(1, 2, 0)
        if self.backend == "pil":
            from PIL import Image

            picture = Image.fromarray(np.ascontiguousarray(picture))
        else:
            picture = picture.astype(self.dtype)
        if self.transform is not None:
            picture = self.transform(picture)
        return picture, np.array(label, "int64")

    def __len__(self) -> int:
        return len(self.data)


class Cifar100(Cifar10):
    """Pictures of 32x32 pixels in a hundred classes; arguments as for `Cifar10`, the file in the cache is
    `cifar-100-python.tar.gz`."""

    _url = "https://dataset.bj.bcebos.com/cifar/cifar-100-python.tar.gz"
    _md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    _parts = {"train": "train", "test": "test"}
    _labels = "fine_labels"


def _read_batch(data: bytes, key: str, where: str) -> tuple[np.ndarray, list[int]]:
    """The pictures [number, 3072] and the labels in one of the pickles."""
    try:
        found = restricted_load(io.BytesIO(data))
    except LoadError as e:
        raise errors.ValueError_(f"{where} is damaged: {e}") from None
    entries = (
        {(k.decode("latin1") if isinstance(k, bytes) else k): v for k, v in found.items()}
        if isinstance(found, dict)
        else {}
    )
    pictures, labels = entries.get("data"), entries.get(key)
    pictures = pictures.array if isinstance(pictures, ArrayRecord) else pictures
    labels = labels.array.tolist() if isinstance(labels, ArrayRecord) else labels
    if (
        not isinstance(pictures, np.ndarray)
        or pictures.dtype != np.uint8
        or pictures.shape[1:] != (3072,)
        or not isinstance(labels, list)
        or len(labels) != len(pictures)
        or not all(isinstance(label, int) for label in labels)
    ):
        raise errors.ValueError_(f"{where} does not hold pictures of 3072 bytes with as many {key}")
    return pictures, labels
