"""CoNLL 2005: the test part of the task of labelling semantic roles (Carreras, Marquez, 2005)."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator

import numpy as np

from ...engine import errors
from ...io import Dataset
from ...utils import storage
from ...vision.datasets.archive import member, opened, read_member
from .source import file_of, numbered

__all__ = ["Conll05st"]

_URL = "http://paddlemodels.bj.bcebos.com/conll05st"
_FILES = {
    "data_file": (f"{_URL}/conll05st-tests.tar.gz", "387719152ae52d60422c016e92a742fc"),
    "word_dict_file": (f"{_URL}%2FwordDict.txt", "ea7fb7d4c75cc6254716f0177a506baa"),
    "verb_dict_file": (f"{_URL}%2FverbDict.txt", "0d2977293bbb6cbefab5b0f97db1e77c"),
    "target_dict_file": (f"{_URL}%2FtargetDict.txt", "d8c7f03ceb5fc2e5a0fa7503a4353751"),
    "emb_file": (f"{_URL}%2Femb", "bf436eb0faa1f6f9103017f8be57cdb7"),
}
_UNKNOWN = 0


class Conll05st(Dataset):
    """Sentences with the roles that their parts play for one verb. Sample i is nine int64 arrays, one element a word: the
    words, the words two and one before the verb, the verb, one and two behind it (each repeated), the number of the verb
    (repeated), 1 for the words within two of the verb, and the labels.

    Args:
        data_file: the archive `conll05st-tests.tar.gz`.
        word_dict_file, verb_dict_file, target_dict_file: lists of words, verbs and labels.
        emb_file: embeddings of words; only its path is of use, see `get_embedding`.
        download: False forbids the network.

    Files that are not given are those in `$PADDLE_HOME/dataset/conll05st`, which are downloaded when they are not there.

    Raises:
        RuntimeError: a file is missing and cannot be downloaded; the message says where to put it.
        ValueError: a file that is not this archive, or is damaged.

    Example:
        >>> words, *_, labels = paddle.text.Conll05st()[0]  # doctest: +SKIP
    """

    def __init__(
        self,
        data_file: str | None = None,
        word_dict_file: str | None = None,
        verb_dict_file: str | None = None,
        target_dict_file: str | None = None,
        emb_file: str | None = None,
        download: bool = True,
    ):
        def path(given: str | None, which: str) -> str:
            url, md5 = _FILES[which]
            return file_of(given, url, "conll05st", md5, download)

        self.data_file = path(data_file, "data_file")
        self.word_dict_file = path(word_dict_file, "word_dict_file")
        self.verb_dict_file = path(verb_dict_file, "verb_dict_file")
        self.target_dict_file = path(target_dict_file, "target_dict_file")
        self.emb_file = path(emb_file, "emb_file")
        self.word_dict = numbered(_lines(self.word_dict_file))
        self.predicate_dict = numbered(_lines(self.verb_dict_file))
        kinds = sorted({line[2:] for line in _lines(self.target_dict_file) if line[:2] in ("B-", "I-")})
        self.label_dict = numbered([*(mark + kind for kind in kinds for mark in ("B-", "I-")), "O"])
        self.sentences: list[list[str]] = []
        self.predicates: list[str] = []
        self.labels: list[list[str]] = []
        try:
            self._load()
        except (ValueError, IndexError, EOFError, zlib.error, gzip.BadGzipFile) as e:
            raise errors.ValueError_(f"{self.data_file} is not the archive of Conll05st, or is damaged ({e})") from None

    def _load(self) -> None:
        with opened(self.data_file) as archive:
            words, props = (
                gzip.decompress(
                    read_member(archive, member(archive, f"conll05st-release/test.wsj/{kind}/test.wsj.{kind}.gz"))
                ).decode("utf-8")
                for kind in ("words", "props")
            )
        for sentence, table in zip(_blocks(words), _blocks(props), strict=True):
            columns = list(zip(*(line.split() for line in table), strict=True))
            verbs = [verb for verb in columns[0] if verb != "-"]
            for verb, column in zip(verbs, columns[1:], strict=True):
                self.sentences.append([line.strip() for line in sentence])
                self.predicates.append(verb)
                self.labels.append(_labels(column))
                self.labels[-1].index("B-V")

    def __getitem__(self, idx: int) -> tuple[np.ndarray, ...]:
        sentence, labels = self.sentences[idx], self.labels[idx]
        verb, length = labels.index("B-V"), len(sentence)

        def at(offset: int) -> list[int]:
            i = verb + offset
            word = sentence[i] if 0 <= i < length else "bos" if i < 0 else "eos"
            return [self.word_dict.get(word, _UNKNOWN)] * length

        near = [int(abs(i - verb) <= 2) for i in range(length)]
        fields = [
            [self.word_dict.get(w, _UNKNOWN) for w in sentence],
            *(at(offset) for offset in (-2, -1, 0, 1, 2)),
            [self.predicate_dict.get(self.predicates[idx], _UNKNOWN)] * length,
            near,
            [self._number(label) for label in labels],
        ]
        return tuple(np.array(field) for field in fields)

    def _number(self, label: str) -> int:
        if label not in self.label_dict:
            raise errors.ValueError_(f"Conll05st: the label {label!r} is not in {self.target_dict_file}")
        return self.label_dict[label]

    def __len__(self) -> int:
        return len(self.sentences)

    def get_dict(self) -> tuple[dict, dict, dict]:
        """The dictionaries of words, verbs and labels."""
        return self.word_dict, self.predicate_dict, self.label_dict

    def get_embedding(self) -> str:
        """The path of the file of embeddings."""
        return self.emb_file


def _lines(path: str) -> list[str]:
    if not storage.is_file(path):
        raise errors.NotFound(f"there is no file {path}")
    return [line.strip() for line in io.TextIOWrapper(io.BytesIO(storage.read(path)), "utf-8")]


def _blocks(text: str) -> Iterator[list[str]]:
    """The lines of each sentence; an empty line stands between two."""
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.strip():
            block.append(line)
        elif block:
            yield block
            block = []


def _labels(column: tuple[str, ...]) -> list[str]:
    """Labels "B-X", "I-X" and "O" of marks such as "(A0*", "*", "*)", "(V*)"."""
    labels, inside = [], ""
    for mark in column:
        if mark.startswith("("):
            inside = mark[1 : mark.index("*")]
            labels.append("B-" + inside)
        else:
            labels.append("I-" + inside if inside else "O")
        if mark.endswith(")"):
            inside = ""
    return labels
