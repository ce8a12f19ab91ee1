"""What the datasets of texts share: where their files are, and dictionaries of words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...engine import errors
from ...utils.download import cached_file


def file_of(given: str | None, url: str, folder: str, md5: str, download: bool) -> str:
    """The file that is given, or the one in `$PADDLE_HOME/dataset/<folder>`, which is fetched when it is not there."""
    return given if given is not None else cached_file(url, f"dataset/{folder}", md5, download)


def size_of_dict(name: str, argument: str, value: Any) -> int:
    """A number of words. ValueError below 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise errors.ValueError_(f"{name}: {argument} must be a positive integer, got {value!r}")
    return value


def numbered(words: Iterable) -> dict:
    """Word to number, in the given order."""
    return {word: i for i, word in enumerate(words)}


def by_frequency(counts: dict, more_than: int) -> dict:
    """The words that are more frequent than a limit, numbered by falling frequency (ties: by the word), and "<unk>"."""

    def text(word: Any) -> str:
        return word.decode("latin1") if isinstance(word, bytes) else word

    chosen = sorted((w for w, n in counts.items() if n > more_than), key=lambda w: (-counts[w], text(w)))
    return numbered([*chosen, "<unk>"])
