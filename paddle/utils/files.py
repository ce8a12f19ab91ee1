"""Writing files so that a reader sees either the old file or the whole new one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import BinaryIO

from . import storage


@contextlib.contextmanager
def atomic_write(path: str) -> Iterator[BinaryIO]:
    """A binary file to write `path` with: it appears under its name, complete and on disk, when the block ends well.

    The data goes to a temporary name in the same folder, is synchronised and renamed. After an error, or when the
    process is killed, what was there before is untouched. Missing folders are made. An address of object storage is
    written in one piece at the end.
    """
    path = storage.local(path)
    if storage.is_remote(path):
        with storage.uploaded(path) as f:
            yield f
        return
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe or a device: nothing to rename
        with open(path, "wb") as f:
            yield f
        return
    folder, name = os.path.split(path)
    os.makedirs(folder, exist_ok=True)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        with open(temporary, "xb") as f:
            if os.path.exists(path):
                os.chmod(temporary, os.stat(path).st_mode & 0o7777)
            yield f
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    with contextlib.suppress(OSError):  # the new name itself; not every system lets a folder be opened
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
