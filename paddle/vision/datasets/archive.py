"""Files inside of archives, and what the datasets share that read them."""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...engine import errors
from ...utils import storage
from .. import image as backends


def mode_of(name: str, mode: Any, allowed: tuple[str, ...]) -> str:
    """The mode in small letters. ValueError for one that is not allowed."""
    found = str(mode).lower()
    if found not in allowed:
        raise errors.ValueError_(f"{name}: mode must be {', '.join(map(repr, allowed))}, got {mode!r}")
    return found


def backend_of(name: str, backend: str | None) -> str:
    """The backend of a dataset, "pil" or "cv2": the one that is given, or else the one that is set."""
    found = backends.get_image_backend()
    return backends.check_backend(backend or (found if found in ("pil", "cv2") else "pil"), name, ("pil", "cv2"))


@contextmanager
def opened(path: str) -> Iterator[tarfile.TarFile]:
    """A tar archive, compressed or not, here or in object storage. FileNotFoundError when it is missing, ValueError naming it when it is damaged."""
    if not storage.is_file(path):
        raise errors.NotFound(f"there is no file {path}")
    try:
        with storage.opened(path) as file, tarfile.open(path, fileobj=file) as archive:
            archive.name = str(path)
            yield archive
    except (tarfile.TarError, EOFError, zlib.error) as e:
        raise errors.ValueError_(f"{path} is no tar archive, or it is damaged ({e})") from None


def member(archive: tarfile.TarFile, name: str) -> tarfile.TarInfo:
    """The file of that name in an archive. ValueError when there is none."""
    try:
        found = archive.getmember(name)
    except KeyError:
        raise errors.ValueError_(
            f"{archive.name} is not the archive of this dataset: there is no {name} in it"
        ) from None
    if not found.isfile():
        raise errors.ValueError_(f"{archive.name}: {name} is no file")
    return found


def read_member(archive: tarfile.TarFile, found: tarfile.TarInfo) -> bytes:
    """The bytes of a file in an archive."""
    source = archive.extractfile(found)
    data = source.read() if source is not None else b""
    if len(data) != found.size:
        raise errors.ValueError_(f"{archive.name} is truncated: {found.name} is not whole")
    return data


def picture(data: bytes, where: str) -> Any:
    """The Pillow image in the bytes of a file."""
    from PIL import Image

    try:
        found = Image.open(io.BytesIO(data))
        found.load()
    except (OSError, SyntaxError, Image.DecompressionBombError) as e:
        raise errors.ValueError_(f"{where} holds no picture ({e})") from None
    return found
