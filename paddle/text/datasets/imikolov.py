"""Penn Treebank for language models, as Mikolov prepared it (2010)."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...engine import errors
from ...io import Dataset
from ...vision.datasets.archive import member, mode_of, opened, read_member
from .source import by_frequency, file_of

__all__ = ["Imikolov"]


class Imikolov(Dataset):
    """Sentences as numbers of words.

    Args:
        data_file: the archive `simple-examples.tgz`; default the one in `$PADDLE_HOME/dataset/imikolov`, which is
            downloaded when it is not there.
        data_type: "NGRAM": each sample is `window_size` words in a row; "SEQ": a sentence, and the same one word later.
        window_size: of "NGRAM"; with "SEQ" longer sentences are left out (-1: none).
        mode: "train" or "test".
        min_word_freq: words that are not more frequent than this count as unknown.
        download: False forbids the network.

    `word_idx` gives the number of each word (bytes), by falling frequency, and of "<s>", "<e>", "<unk>".

    Raises:
        RuntimeError: the file is missing and cannot be downloaded; the message says where to put it.
        ValueError: other values of the arguments; a file that is not this archive, or is damaged.

    Example:
        >>> data = paddle.text.Imikolov(data_type="NGRAM", window_size=5)  # doctest: +SKIP
    """

    _url = "https://dataset.bj.bcebos.com/imikolov%2Fsimple-examples.tgz"
    _md5 = "30177ea32e27c525793142b6bf2c8e2d"

    def __init__(
        self,
        data_file: str | None = None,
        data_type: str = "NGRAM",
        window_size: int = -1,
        mode: str = "train",
        min_word_freq: int = 50,
        download: bool = True,
    ):
        self.data_type = str(data_type).upper()
        if self.data_type not in ("NGRAM", "SEQ"):
            raise errors.ValueError_(f"Imikolov: data_type must be 'NGRAM' or 'SEQ', got {data_type!r}")
        self.mode = mode_of("Imikolov", mode, ("train", "test"))
        if self.data_type == "NGRAM" and window_size < 1:
            raise errors.ValueError_(f"Imikolov: window_size must be positive for 'NGRAM', got {window_size}")
        self.window_size, self.min_word_freq = window_size, min_word_freq
        self.data_file = file_of(data_file, self._url, "imikolov", self._md5, download)
        with opened(self.data_file) as archive:
            texts = {part: self._text(archive, part) for part in ("train", "valid", self.mode)}
        counts = self.word_count(io.BytesIO(texts["valid"]), self.word_count(io.BytesIO(texts["train"])))
        counts.pop("<unk>", None)
        self.word_idx = by_frequency(counts, min_word_freq)
        if "<s>" not in self.word_idx:
            raise errors.ValueError_(f"Imikolov: no more than min_word_freq={min_word_freq} sentences are in the file")
        self.data = list(self._samples(texts[self.mode]))

    @staticmethod
    def _text(archive: Any, part: str) -> bytes:
        name = f"simple-examples/data/ptb.{part}.txt"
        names = archive.getnames()
        return read_member(archive, member(archive, f"./{name}" if f"./{name}" in names else name))

    def word_count(self, f: Iterable, word_freq: dict | None = None) -> dict:
        """Count the words of the lines of a file, and their starts "<s>" and ends "<e>", in `word_freq`."""
        counts: dict = Counter() if word_freq is None else word_freq
        for line in f:
            for word in [*line.strip().split(), "<s>", "<e>"]:
                counts[word] = counts.get(word, 0) + 1
        return counts

    def _samples(self, text: bytes) -> Any:
        unknown, width = self.word_idx["<unk>"], self.window_size
        for line in text.splitlines():
            words = [self.word_idx.get(w, unknown) for w in ["<s>", *line.strip().split(), "<e>"]]
            if self.data_type == "NGRAM":
                yield from (tuple(words[i : i + width]) for i in range(len(words) - width + 1))
            elif not 0 < width < len(words) - 1:
                yield words[:-1], words[1:]

    def __getitem__(self, idx: int) -> tuple[np.ndarray, ...]:
        return tuple(np.array(part) for part in self.data[idx])

    def __len__(self) -> int:
        return len(self.data)
