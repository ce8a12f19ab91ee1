"""IMDB: reviews of films, good and bad (Maas et al., 2011)."""

from __future__ import annotations

import re
import string
from collections import Counter

import numpy as np

from ...engine import errors
from ...io import Dataset
from ...vision.datasets.archive import mode_of, opened, read_member
from .source import by_frequency, file_of

__all__ = ["Imdb"]

_MEMBER = re.compile(r"aclImdb/(train|test)/(pos|neg)/.*\.txt$")
_PUNCTUATION = string.punctuation.encode()


class Imdb(Dataset):
    """Reviews as numbers of words: sample i is (words [length], 0 for a good review and 1 for a bad one [1]), int64.

    Args:
        data_file: the archive `aclImdb_v1.tar.gz`; default the one in `$PADDLE_HOME/dataset/imdb`, which is downloaded
            when it is not there.
        mode: "train" or "test".
        cutoff: words that are not more frequent than this, in both parts together, count as unknown.
        download: False forbids the network.

    `word_idx` gives the number of each word (bytes), by falling frequency.

    Raises:
        RuntimeError: the file is missing and cannot be downloaded; the message says where to put it.
        ValueError: another mode; a file that is not this archive, or is damaged.

    Example:
        >>> data = paddle.text.Imdb("aclImdb_v1.tar.gz", mode="test")  # doctest: +SKIP
    """

    _url = "https://dataset.bj.bcebos.com/imdb%2FaclImdb_v1.tar.gz"
    _md5 = "7c2ac02c03563afcf9b574c7e56c153a"

    def __init__(self, data_file: str | None = None, mode: str = "train", cutoff: int = 150, download: bool = True):
        self.mode = mode_of("Imdb", mode, ("train", "test"))
        self.data_file = file_of(data_file, self._url, "imdb", self._md5, download)
        numbers: dict[bytes, int] = {}  # in the order in which words come; final numbers need all frequencies
        counts: Counter = Counter()
        found: dict[str, list[np.ndarray]] = {"pos": [], "neg": []}
        with opened(self.data_file) as archive:
            for member in archive:
                match = _MEMBER.match(member.name.removeprefix("./"))
                if match is None or not member.isfile():
                    continue
                words = self._words(read_member(archive, member))
                counts.update(words)
                if match[1] == self.mode:
                    found[match[2]].append(np.array([numbers.setdefault(w, len(numbers)) for w in words], "int64"))
        if not counts:
            raise errors.ValueError_(f"{self.data_file} is not the archive of Imdb: there are no reviews in it")
        self.word_idx = by_frequency(counts, cutoff)
        final = np.array([self.word_idx.get(w, self.word_idx["<unk>"]) for w in numbers], "int64")
        self.docs = [final[doc].tolist() for doc in found["pos"] + found["neg"]]
        self.labels = [0] * len(found["pos"]) + [1] * len(found["neg"])

    @staticmethod
    def _words(text: bytes) -> list[bytes]:
        return text.translate(None, _PUNCTUATION).lower().split()

    def __getitem__(self, idx: int) -> tuple[np.ndarray, np.ndarray]:
        return np.array(self.docs[idx], "int64"), np.array([self.labels[idx]])

    def __len__(self) -> int:
        return len(self.docs)
