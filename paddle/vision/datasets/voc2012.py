"""PASCAL VOC 2012: pictures with a class for each pixel (Everingham et al., 2012)."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine import errors
from ...engine.dtype import default_dtype
from ...io import Dataset
from ...utils import storage
from ...utils.download import cached_file
from .archive import backend_of, member, mode_of, opened, picture, read_member

__all__ = ["VOC2012"]

_URL = "https://dataset.bj.bcebos.com/voc/VOCtrainval_11-May-2012.tar"
_MD5 = "6cd6e144f989b92b3379bac3b3de84fd"
_ROOT = "VOCdevkit/VOC2012/"


class VOC2012(Dataset):
    """The pictures of PASCAL VOC 2012 for segmentation, each with the picture of its classes.

    Args:
        data_file: the archive, not compressed; default `$PADDLE_HOME/dataset/voc2012/VOCtrainval_11-May-2012.tar`, which
            is downloaded when it is not there.
        mode: "train" (the list trainval of the archive, 2913 pictures), "test" (its list train) or "valid" (val).
        transform: applied to each picture, not to its classes.
        download: False forbids the network.
        backend: "pil" (default) gives Pillow images, "cv2" arrays of the default dtype.

    Raises:
        RuntimeError: the file is missing and cannot be downloaded; the message says where to put it.
        ValueError: a file that is not this archive, or is damaged.

    Example:
        >>> data = paddle.vision.datasets.VOC2012("VOCtrainval_11-May-2012.tar", mode="valid")  # doctest: +SKIP
        >>> len(data)  # doctest: +SKIP
        1449
    """

    def __init__(
        self,
        data_file: str | None = None,
        mode: str = "train",
        transform: Callable | None = None,
        download: bool = True,
        backend: str | None = None,
    ):
        mode = mode_of("VOC2012", mode, ("train", "test", "valid"))
        self.mode = mode
        self.flag = {"train": "trainval", "test": "train", "valid": "val"}[mode]
        self.backend = backend_of("VOC2012", backend)
        self.data_file = data_file or cached_file(_URL, "dataset/voc2012", _MD5, download)
        self.transform = transform
        self.dtype = default_dtype().name
        self.data: list[str] = []
        self.labels: list[str] = []
        self._places: dict[str, tuple[int, int]] = {}  # where a file begins in the archive, and its length
        with opened(self.data_file) as archive:
            names = read_member(archive, member(archive, f"{_ROOT}ImageSets/Segmentation/{self.flag}.txt"))
            for name in names.decode("utf-8", "replace").split():
                self.data.append(f"{_ROOT}JPEGImages/{name}.jpg")
                self.labels.append(f"{_ROOT}SegmentationClass/{name}.png")
            if isinstance(archive.fileobj, (gzip.GzipFile, bz2.BZ2File, lzma.LZMAFile)):
                raise errors.ValueError_(f"VOC2012: {self.data_file} is compressed; unpack it to a plain .tar file")
            for name in (*self.data, *self.labels):
                found = member(archive, name)
                self._places[name] = (found.offset_data, found.size)

    def _picture(self, name: str) -> Any:
        # its own handle for each reading: workers that were forked would share the position of one that stays open
        start, size = self._places[name]
        found = picture(storage.read(self.data_file, start, size), f"{self.data_file}: {name}")
        return found if self.backend == "pil" else np.asarray(found).astype(self.dtype)

    def __getitem__(self, idx: int) -> tuple[Any, Any]:
        image, classes = self._picture(self.data[idx]), self._picture(self.labels[idx])
        if self.transform is not None:
            image = self.transform(image)
        return image, classes

    def __len__(self) -> int:
        return len(self.data)
