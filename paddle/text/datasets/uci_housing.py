"""Prices of houses in the suburbs of Boston (Harrison, Rubinfeld, 1978)."""

from __future__ import annotations

import numpy as np

from ...engine import errors
from ...engine.dtype import default_dtype
from ...io import Dataset
from ...utils import storage
from ...vision.datasets.archive import mode_of
from .source import file_of

__all__ = ["UCIHousing"]

_FIELDS = 14  # the last one is the price


class UCIHousing(Dataset):
    """Sample i is (13 features, each minus its mean and divided by its range, and the price [1]).

    Args:
        data_file: `housing.data`; default the one in `$PADDLE_HOME/dataset/uci_housing`, which is downloaded when it is
            not there.
        mode: "train" takes the first 80 percent, "test" the rest.
        download: False forbids the network.

    Raises:
        RuntimeError: the file is missing and cannot be downloaded; the message says where to put it.
        ValueError: another mode; a file that is not this one.

    Example:
        >>> data = paddle.text.UCIHousing("housing.data", mode="test")  # doctest: +SKIP
    """

    _url = "http://paddlemodels.bj.bcebos.com/uci_housing/housing.data"
    _md5 = "d4accdce7a25600298819f8e28e8d593"

    def __init__(self, data_file: str | None = None, mode: str = "train", download: bool = True):
        self.mode = mode_of("UCIHousing", mode, ("train", "test"))
        self.data_file = file_of(data_file, self._url, "uci_housing", self._md5, download)
        if not storage.is_file(self.data_file):
            raise errors.NotFound(f"there is no file {self.data_file}")
        self.dtype = default_dtype().name
        try:
            table = np.array(storage.read(self.data_file).split(), "float64").reshape(-1, _FIELDS)
        except ValueError:
            raise errors.ValueError_(f"{self.data_file} is no table of numbers with {_FIELDS} columns") from None
        if not len(table):
            raise errors.ValueError_(f"{self.data_file} is empty")
        features = table[:, :-1]
        reach = np.ptp(features, 0)
        features -= features.mean(0)
        features /= np.where(reach, reach, 1)
        first_of_test = int(len(table) * 0.8)
        self.data = table[:first_of_test] if self.mode == "train" else table[first_of_test:]

    def __getitem__(self, idx: int) -> tuple[np.ndarray, np.ndarray]:
        row = self.data[idx].astype(self.dtype)
        return row[:-1], row[-1:]

    def __len__(self) -> int:
        return len(self.data)
