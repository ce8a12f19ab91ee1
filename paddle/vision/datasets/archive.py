"""Files inside of archives, and what the datasets share that read them."""

from __future__ import annotations

import errno
import io
import lzma
import tarfile
import zipfile
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


_LENGTHENING = 200  # times that contents may be longer than what they are packed in; texts come to about ten
_ALWAYS = 1 << 26  # bytes that every file may unpack to
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
_ENCRYPTED = 0x61  # flags: encrypted, a patch, strongly encrypted
# what reading a damaged archive ends in, beside OSErrors without a number
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, OSError)


class Tar(tarfile.TarFile):
    """A tar archive that knows the length of its file."""

    packed = 0


def check_length(where: Any, length: int, packed: int) -> None:
    """ValueError for contents that are out of all proportion to the file they come from, made to fill memory or a disk."""
    if length > max(_ALWAYS, _LENGTHENING * packed):
        raise errors.ValueError_(
            f"{where} is damaged, or an attack: {packed} bytes would become {length}, more than {_LENGTHENING} times as many"
        )


@contextmanager
def _file(path: Any, kind: str) -> Iterator[tuple[Any, int]]:
    """A file for reading, and its length. FileNotFoundError when it is missing, ValueError for damage found in the block."""
    if not storage.is_file(path):
        raise errors.NotFound(f"there is no file {path}")
    try:
        with storage.opened(path) as file:
            length = file.seek(0, io.SEEK_END)
            file.seek(0)
            yield file, length
    except _DAMAGE as e:
        # with a number it is about the disk or the network; EINVAL is a position outside of the file
        if isinstance(e, FileNotFoundError) or (isinstance(e, OSError) and e.errno not in (None, errno.EINVAL)):
            raise
        reason = (str(e).splitlines() or [type(e).__name__])[0].rstrip(":")
        raise errors.ValueError_(f"{path} is no {kind} archive, or it is damaged ({reason})") from None


@contextmanager
def opened(path: Any) -> Iterator[Tar]:
    """A tar archive, compressed or not, here or in object storage. FileNotFoundError when it is missing, ValueError naming it when it is damaged."""
    with _file(path, "tar") as (file, length), Tar.open(path, fileobj=file) as archive:
        archive.name, archive.packed = str(path), length
        yield archive


@contextmanager
def opened_zip(path: Any) -> Iterator[zipfile.ZipFile]:
    """A zip archive; errors as for `opened`."""
    with _file(path, "zip") as (file, length), zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if any(found.flag_bits & _ENCRYPTED or found.compress_type not in _METHODS for found in members):
            raise errors.ValueError_(f"{path} is encrypted, or packed in a way that is not known")
        check_length(path, sum(found.file_size for found in members), length)
        yield archive


def member(archive: Tar, name: str) -> tarfile.TarInfo:
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


def read_member(archive: Tar, found: tarfile.TarInfo) -> bytes:
    """The bytes of a file in an archive."""
    check_length(f"{archive.name}: {found.name}", found.size, archive.packed)
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
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as e:
        raise errors.ValueError_(f"{where} holds no picture ({str(e).partition(' <')[0]})") from None
    return found
