"""Flowers 102: pictures of flowers in 102 classes (Nilsback, Zisserman, 2008)."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine import errors
from ...io import Dataset
from ...utils import storage
from ...utils.download import cached_file
from .archive import backend_of, check_length, mode_of, opened, picture
from .matlab import vector

__all__ = ["Flowers"]

_URL = "http://paddlemodels.bj.bcebos.com/flowers/"
_FILES = {
    "102flowers.tgz": "52808999861908f626f3c1f4e79d11fa",
    "imagelabels.mat": "e0620be6f572b9609742df49c70aed4d",
    "setid.mat": "a5357ecc9cb78c4bef273ce3793fc85c",
}
_SETS = {"train": "tstid", "test": "trnid", "valid": "valid"}  # officially the largest of the sets is for training


class Flowers(Dataset):
    """Pictures of flowers in 102 classes, labels from 1.

    Args:
        data_file, label_file, setid_file: the archive of pictures, their classes, and the sets; default
            `$PADDLE_HOME/dataset/flowers/` with the published names, which are downloaded when they are not there. The
            archive is unpacked into a folder beside it, once.
        mode: "train" (the set "tstid", 6149 pictures), "test" ("trnid", 1020) or "valid" (1020).
        transform: applied to each picture.
        download: False forbids the network.
        backend: "pil" (default) gives Pillow images, "cv2" float32 arrays.

    Raises:
        RuntimeError: a file is missing and cannot be downloaded; the message says where to put it.
        ValueError: files that are not these, or are damaged.

    Example:
        >>> files = "102flowers.tgz", "imagelabels.mat", "setid.mat"
        >>> data = paddle.vision.datasets.Flowers(*files, mode="valid")  # doctest: +SKIP
        >>> len(data)  # doctest: +SKIP
        1020
    """

    def __init__(
        self,
        data_file: str | None = None,
        label_file: str | None = None,
        setid_file: str | None = None,
        mode: str = "train",
        transform: Callable | None = None,
        download: bool = True,
        backend: str | None = None,
    ):
        self.mode = mode_of("Flowers", mode, tuple(_SETS))
        self.backend = backend_of("Flowers", backend)
        self.transform = transform
        self.data_file, self.label_file, self.setid_file = (
            given or cached_file(_URL + name, "dataset/flowers", md5, download)
            for given, (name, md5) in zip((data_file, label_file, setid_file), _FILES.items())
        )
        self.data_path = _unpacked(self.data_file)
        self.labels = _numbers(self.label_file, "labels")
        self.indexes = _numbers(self.setid_file, _SETS[self.mode])
        if len(self.indexes) and not 1 <= self.indexes.min() <= self.indexes.max() <= len(self.labels):
            raise errors.ValueError_(
                f"Flowers: {self.setid_file} names pictures beyond the {len(self.labels)} labels of {self.label_file}"
            )

    def __getitem__(self, idx: int) -> tuple[Any, np.ndarray]:
        number = int(self.indexes[idx])
        path = os.path.join(self.data_path, "jpg", f"image_{number:05d}.jpg")
        if not os.path.isfile(path):
            raise errors.NotFound(f"there is no file {path}; {self.data_file} should have it")
        with open(path, "rb") as f:
            image = picture(f.read(), path)
        if self.backend == "cv2":
            image = np.asarray(image).astype("float32")
        if self.transform is not None:
            image = self.transform(image)
        return image, self.labels[number - 1 : number].astype("int64")

    def __len__(self) -> int:
        return len(self.indexes)


def _unpacked(path: str) -> str:
    """The folder beside an archive that has its files. It appears when all of them are in it."""
    path = storage.local_copy(path)
    folder = os.path.splitext(path)[0]
    folder = folder if folder != path else path + "_files"
    if os.path.isdir(os.path.join(folder, "jpg")):
        return folder
    with opened(path) as archive:
        there = os.path.dirname(os.path.abspath(path))
        part = tempfile.mkdtemp(prefix=os.path.basename(folder) + ".", dir=there)
        try:
            check_length(path, sum(found.size for found in archive if found.isfile()), archive.packed)
            archive.extractall(part, filter=tarfile.data_filter)
            if not os.path.isdir(os.path.join(part, "jpg")):
                raise errors.ValueError_(f"{path} is not the archive of Flowers: there is no folder jpg in it")
            os.chmod(part, 0o755)
            try:
                os.rename(part, folder)
            except OSError:  # another process was faster
                if not os.path.isdir(os.path.join(folder, "jpg")):
                    raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return folder


def _numbers(path: str, key: str) -> np.ndarray:
    """A vector of ints in a MATLAB file."""
    if not storage.is_file(path):
        raise errors.NotFound(f"there is no file {path}")
    return vector(storage.read(path), key, str(path))
