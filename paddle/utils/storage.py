"""Files wherever they lie: on this machine, or in object storage by an address such as `s3://bucket/key`.

Addresses go through the package fsspec, which is imported when the first one comes. What a store needs beside the
address (endpoint, credentials) is set as fsspec takes it: `FSSPEC_S3_ENDPOINT_URL`, `AWS_ACCESS_KEY_ID`, ...
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, BinaryIO

_ADDRESS = re.compile(r"[a-z][a-z0-9+.\-]+(::|://)", re.IGNORECASE)
_WITH_FOLDERS = {"ftp", "hdfs", "webhdfs", "sftp", "ssh", "smb", "dbfs"}  # where a folder must be made first


def local(path: Any) -> str:
    """A path as a str; `file://` is taken off."""
    path = os.fspath(path)
    return path.split("://", 1)[1] if path.startswith(("file://", "local://")) else path


def is_remote(path: Any) -> bool:
    """Whether it is an address in another place than the file system of this machine."""
    return isinstance(path, str) and not path.startswith(("file://", "local://")) and bool(_ADDRESS.match(path))


def _system(path: str) -> tuple[Any, str]:
    """The file system of an address, and the path there."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as e:
        raise ImportError(f"{path!r} needs the package 'fsspec': pip install 'paddle-xla[storage]'") from e
    try:
        return url_to_fs(path)
    except ImportError as e:
        raise ImportError(f"{path!r} needs a further package for its kind of storage: {e}") from e


def after_fork() -> None:
    """In a process that was forked: the threads that served addresses before are not there."""
    if (asyn := sys.modules.get("fsspec.asyn")) is not None:
        asyn.reset_lock()
        sys.modules["fsspec.spec"].AbstractFileSystem.clear_instance_cache()


def is_file(path: Any) -> bool:
    """Whether there is such a file."""
    return _is(path, "isfile")


def is_folder(path: Any) -> bool:
    """Whether there is such a folder."""
    return _is(path, "isdir")


def _is(path: Any, kind: str) -> bool:
    """What `os.path` and the file systems of fsspec call alike."""
    path = local(path)
    if not is_remote(path):
        return getattr(os.path, kind)(path)
    system, inner = _system(path)
    return getattr(system, kind)(inner)


def opened(path: Any) -> BinaryIO:
    """A binary file for reading."""
    path = local(path)
    if not is_remote(path):
        return open(path, "rb")
    system, inner = _system(path)
    return system.open(inner, "rb")


def read(path: Any, start: int = 0, size: int | None = None) -> bytes:
    """Bytes of a file: all, or `size` of them from `start` on."""
    path = local(path)
    if is_remote(path):
        system, inner = _system(path)
        return system.cat_file(inner, start or None, None if size is None else start + size)
    with open(path, "rb") as f:
        f.seek(start)
        return f.read(-1 if size is None else size)


def join(folder: Any, *names: str) -> str:
    """The path of something in a folder."""
    folder = local(folder)
    return "/".join([folder.rstrip("/"), *names]) if is_remote(folder) else os.path.join(folder, *names)


def folders(path: Any) -> list[str]:
    """The names of the folders in a folder."""
    return _names(path, "directory")


def names(path: Any) -> list[str]:
    """The names of the files in a folder, none where there is no such folder."""
    try:
        return _names(path, "file")
    except (FileNotFoundError, NotADirectoryError):
        return []


def _names(path: Any, kind: str) -> list[str]:
    path = local(path)
    if not is_remote(path):
        with os.scandir(path) as entries:
            return sorted(e.name for e in entries if (e.is_dir() if kind == "directory" else e.is_file()))
    system, inner = _system(path)
    system.invalidate_cache(inner)
    found = system.ls(inner, detail=True)
    return sorted(e["name"].rstrip("/").rsplit("/", 1)[-1] for e in found if e["type"] == kind)


def remove(path: Any) -> None:
    """Take a file away; nothing where there is none."""
    path = local(path)
    with contextlib.suppress(FileNotFoundError):
        if is_remote(path):
            system, inner = _system(path)
            system.rm_file(inner)
        else:
            os.unlink(path)


def files(path: Any) -> Iterator[str]:
    """The files in a folder and the folders in it: those of one folder after those of another, in order."""
    path = local(path)
    if not is_remote(path):
        yield from (os.path.join(where, name) for where, names in sorted(_walk(path, ())) for name in sorted(names))
        return
    system, inner = _system(path)
    inner = inner.rstrip("/")
    for name in sorted(system.find(inner), key=lambda found: found.rpartition("/")):
        yield path.rstrip("/") + name[len(inner) :]


def _walk(path: str, above: tuple[tuple[int, int], ...]) -> Iterator[tuple[str, list[str]]]:
    """Every folder and the names of its files. Links are followed, but not to a folder that one is in."""
    try:
        here = os.stat(path)
        with os.scandir(path) as found:
            entries = list(found)
    except OSError:  # as in `os.walk`: a folder that cannot be read has nothing
        return
    key = (here.st_dev, here.st_ino)
    if key in above:
        return
    yield path, [e.name for e in entries if not e.is_dir()]
    for entry in entries:
        if entry.is_dir():
            yield from _walk(entry.path, (*above, key))


def local_copy(path: Any) -> str:
    """The path on this machine of a file. What comes from elsewhere is kept in the cache, once for each content."""
    from .download import cache_home

    path = local(path)
    if not is_remote(path):
        return path
    system, inner = _system(path)
    key = hashlib.sha256(f"{path} {system.ukey(inner)}".encode()).hexdigest()[:20]
    here = os.path.join(cache_home(), "storage", key, inner.rsplit("/", 1)[-1])
    if not os.path.isfile(here):
        from .files import atomic_write

        with atomic_write(here) as f:
            system.get_file(inner, f.name)
    return here


@contextlib.contextmanager
def uploaded(path: str) -> Iterator[BinaryIO]:
    """A binary file to write an address with: it is sent when the block ends well."""
    system, inner = _system(path)
    with tempfile.NamedTemporaryFile() as f:
        yield f  # type: ignore[misc]
        f.flush()
        if not _WITH_FOLDERS.isdisjoint([system.protocol] if isinstance(system.protocol, str) else system.protocol):
            system.makedirs(inner.rsplit("/", 1)[0], exist_ok=True)
        system.put_file(f.name, inner)
