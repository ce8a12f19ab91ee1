"""WMT 16, multi-modal task: captions in English and German (Elliott et al., 2016)."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ...engine import errors
from ...io import Dataset
from ...vision.datasets.archive import member, mode_of, opened, read_member
from .source import file_of, numbered, size_of_dict

__all__ = ["WMT16"]

_MARKS = ["<s>", "<e>", "<unk>"]
_COLUMNS = ("en", "de")


class WMT16(Dataset):
    """Sample i is (words of the source with "<s>" and "<e>", of the target behind "<s>", of the target with "<e>"),
    int64.

    Args:
        data_file: the archive `wmt16.tar.gz`; default the one in `$PADDLE_HOME/dataset/wmt16`, which is downloaded when
            it is not there.
        mode: "train", "test" or "val".
        src_dict_size, trg_dict_size: words of the dictionaries with the three marks: the most frequent ones in the part
            for training; others count as unknown.
        lang: the language of the source, "en" or "de"; the other one is that of the target.
        download: False forbids the network.

    Raises:
        RuntimeError: the file is missing and cannot be downloaded; the message says where to put it.
        ValueError: other arguments; a file that is not this archive, or is damaged.

    Example:
        >>> data = paddle.text.WMT16("wmt16.tar.gz", "val", 11250, 19220)  # doctest: +SKIP
    """

    _url = "http://paddlemodels.bj.bcebos.com/wmt/wmt16.tar.gz"
    _md5 = "0c38be43600334966403524a40dcd81e"

    def __init__(
        self,
        data_file: str | None = None,
        mode: str = "train",
        src_dict_size: int = -1,
        trg_dict_size: int = -1,
        lang: str = "en",
        download: bool = True,
    ):
        self.mode = mode_of("WMT16", mode, ("train", "test", "val"))
        self.lang = mode_of("WMT16 (lang)", lang, _COLUMNS)
        self.src_dict_size = size_of_dict("WMT16", "src_dict_size", src_dict_size)
        self.trg_dict_size = size_of_dict("WMT16", "trg_dict_size", trg_dict_size)
        self.data_file = file_of(data_file, self._url, "wmt16", self._md5, download)
        with opened(self.data_file) as archive:
            found = {part: read_member(archive, member(archive, f"wmt16/{part}")) for part in {"train", self.mode}}
        source = _COLUMNS.index(self.lang)
        training = _pairs(found["train"])
        self.src_dict = _dictionary([pair[source] for pair in training], self.src_dict_size)
        self.trg_dict = _dictionary([pair[1 - source] for pair in training], self.trg_dict_size)
        start, end, unknown = (self.src_dict.get(mark, i) for i, mark in enumerate(_MARKS))
        self.src_ids: list[list[int]] = []
        self.trg_ids: list[list[int]] = []
        self.trg_ids_next: list[list[int]] = []
        for pair in _pairs(found[self.mode]):
            words = [self.src_dict.get(w, unknown) for w in pair[source].split()]
            target = [self.trg_dict.get(w, unknown) for w in pair[1 - source].split()]
            self.src_ids.append([start, *words, end])
            self.trg_ids.append([start, *target])
            self.trg_ids_next.append([*target, end])

    def __getitem__(self, idx: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.array(self.src_ids[idx]), np.array(self.trg_ids[idx]), np.array(self.trg_ids_next[idx])

    def __len__(self) -> int:
        return len(self.src_ids)

    def get_dict(self, lang: str, reverse: bool = False) -> dict:
        """The dictionary of a language, "en" or "de": word to number, or number to word with `reverse`."""
        if lang not in _COLUMNS:
            raise errors.ValueError_(f"WMT16.get_dict: lang must be 'en' or 'de', got {lang!r}")
        words = self.src_dict if lang == self.lang else self.trg_dict
        return {i: w for w, i in words.items()} if reverse else words


def _pairs(data: bytes) -> list[list[str]]:
    """English and German of each line."""
    lines = (line.strip().split("\t") for line in data.decode("utf-8", "replace").split("\n"))
    return [pair for pair in lines if len(pair) == 2]


def _dictionary(sentences: list[str], size: int) -> dict[str, int]:
    counts = Counter(w for sentence in sentences for w in sentence.split())
    chosen = [w for w, _ in sorted(counts.items(), key=lambda item: -item[1])]  # ties: as they come
    return numbered([*_MARKS, *chosen][: max(size, len(_MARKS))])
