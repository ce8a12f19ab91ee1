"""Files from the network, kept in a cache: `$PADDLE_HOME`, by default the user's cache folder (~/.cache/paddle)."""

from __future__ import annotations

import hashlib
import os
import shutil
import warnings

from .files import atomic_write

__all__ = ["get_weights_path_from_url"]

_TIMEOUT = 30  # seconds without an answer


class DownloadError(RuntimeError):
    """A file is neither in the cache nor to be had from the network."""


def cache_home() -> str:
    """The folder of the cache, read from the environment at each call."""
    home = os.environ.get("PADDLE_HOME")
    if home:
        return os.path.expanduser(home)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "paddle")


def md5_of(path: str) -> str:
    """The MD5 checksum of a file, in hexadecimal digits."""
    found = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def cached_file(url: str, folder: str, md5sum: str | None = None, download: bool = True) -> str:
    """The path of a file in a folder of the cache; it is fetched when it is not there.

    A file that lies there already is used even when its checksum is another one: the user may have put it there. Then
    there is a warning. A fresh download with another checksum is an error, and is not kept.

    Args:
        url: where the file comes from; its last part is the name in the cache.
        folder: relative to `cache_home()`.
        md5sum: the published checksum.
        download: False forbids the network.

    Raises:
        DownloadError: naming the file, its source, and where to put it by hand.
    """
    path = os.path.join(cache_home(), *folder.split("/"), url.rsplit("/", 1)[-1])
    if os.path.isfile(path):
        if md5sum and md5_of(path) != md5sum:
            warnings.warn(
                f"{path} is not the published file (its MD5 checksum is not {md5sum}); it is used as it is. Remove it "
                "to have it downloaded",
                stacklevel=4,
            )
        return path
    by_hand = f"Get {url} elsewhere and put it there as {path}"
    if not download:
        raise DownloadError(f"(NotFound) there is no file {path}, and download=False. {by_hand}")
    try:
        _fetch(url, path, md5sum)
    except (OSError, ValueError) as e:
        raise DownloadError(
            f"(Unavailable) there is no file {path}, and the download failed ({e}). {by_hand}"
        ) from None
    return path


def _fetch(url: str, path: str, md5sum: str | None) -> None:
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"{url!r} is no web address")
    import urllib.request

    with urllib.request.urlopen(url, timeout=_TIMEOUT) as answer, atomic_write(path) as f:
        shutil.copyfileobj(answer, f, 1 << 20)
        expected = answer.headers.get("Content-Length")
        if expected is not None and f.tell() != int(expected):
            raise OSError(f"{f.tell()} of {expected} bytes came")
        f.flush()
        if md5sum and md5_of(f.name) != md5sum:
            raise OSError(f"what came does not have the MD5 checksum {md5sum}")


def get_weights_path_from_url(url: str, md5sum: str | None = None) -> str:
    """The path of a file of weights, in `$PADDLE_HOME/hapi/weights`; it is fetched when it is not there.

    Args:
        url: where it comes from.
        md5sum: its published checksum. A file in the cache with another one is used, with a warning.

    Raises:
        RuntimeError: the file is not there and the download failed; the message says where to put it by hand.
    """
    return cached_file(url, "hapi/weights", md5sum)
