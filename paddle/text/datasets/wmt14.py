"""WMT 14: sentences in English and French (Bojar et al., 2014)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine import errors
from ...io import Dataset
from ...vision.datasets.archive import member, mode_of, opened, read_member
from .source import file_of, numbered, size_of_dict

__all__ = ["WMT14"]

_START, _END, _UNKNOWN = "<s>", "<e>", "<unk>"
_LONGEST = 80


class WMT14(Dataset):
    """Sample i is (words of the source, words of the target behind "<s>", words of the target with "<e>"), int64.

    Args:
        data_file: the archive `wmt14.tgz`; default the one in `$PADDLE_HOME/dataset/wmt14`, which is downloaded when it
            is not there.
        mode: "train", "test" or "gen".
        dict_size: the words of both dictionaries; others count as unknown.
        download: False forbids the network.

    Raises:
        RuntimeError: the file is missing and cannot be downloaded; the message says where to put it.
        ValueError: another mode, dict_size below 1; a file that is not this archive, or is damaged.

    Example:
        >>> data = paddle.text.WMT14("wmt14.tgz", dict_size=30000)  # doctest: +SKIP
    """

    _url = "http://paddlemodels.bj.bcebos.com/wmt/wmt14.tgz"
    _md5 = "0791583d57d5beb693b9414c5b36798c"

    def __init__(self, data_file: str | None = None, mode: str = "train", dict_size: int = -1, download: bool = True):
        self.mode = mode_of("WMT14", mode, ("train", "test", "gen"))
        self.dict_size = size_of_dict("WMT14", "dict_size", dict_size)
        self.data_file = file_of(data_file, self._url, "wmt14", self._md5, download)
        with opened(self.data_file) as archive:
            files = {m.name.rsplit("/", 1)[-1]: m for m in archive if m.isfile()}
            ends = [m for m in archive if m.isfile() and m.name.endswith(f"{self.mode}/{self.mode}")]

            def lines(found: Any) -> list[str]:
                return read_member(archive, found).decode("utf-8", "replace").split("\n")

            def words(name: str) -> dict[str, int]:
                found = files[name] if name in files else member(archive, f"wmt14/{name}")
                return numbered(line.strip() for line in lines(found)[: self.dict_size] if line.strip())

            self.src_dict, self.trg_dict = words("src.dict"), words("trg.dict")
            for name, known in (("src.dict", self.src_dict), ("trg.dict", self.trg_dict)):
                if not {_START, _END} <= known.keys():
                    raise errors.ValueError_(f"{self.data_file}: the first words of {name} are not {_START} and {_END}")
            pairs = lines(ends[0] if ends else member(archive, f"wmt14/{self.mode}/{self.mode}"))
        self.src_ids: list[list[int]] = []
        self.trg_ids: list[list[int]] = []
        self.trg_ids_next: list[list[int]] = []
        for line in pairs:
            self._add(line.strip().split("\t"))

    def _add(self, pair: list[str]) -> None:
        if len(pair) != 2:
            return
        source = [self.src_dict.get(w, self.src_dict.get(_UNKNOWN, 2)) for w in (_START, *pair[0].split(), _END)]
        target = [self.trg_dict.get(w, self.trg_dict.get(_UNKNOWN, 2)) for w in pair[1].split()]
        if len(source) > _LONGEST or len(target) > _LONGEST:
            return
        self.src_ids.append(source)
        self.trg_ids.append([self.trg_dict[_START], *target])
        self.trg_ids_next.append([*target, self.trg_dict[_END]])

    def __getitem__(self, idx: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.array(self.src_ids[idx]), np.array(self.trg_ids[idx]), np.array(self.trg_ids_next[idx])

    def __len__(self) -> int:
        return len(self.src_ids)

    def get_dict(self, reverse: bool = False) -> tuple[dict, dict]:
        """The dictionaries of source and target, word to number, or number to word with `reverse`."""
        if not reverse:
            return self.src_dict, self.trg_dict
        return tuple({i: w for w, i in words.items()} for words in (self.src_dict, self.trg_dict))  # type: ignore
