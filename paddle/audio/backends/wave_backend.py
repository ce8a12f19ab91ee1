"""WAV files with samples of 8, 16, 24 and 32 bits, or floats (IBM and Microsoft, "Multimedia programming interface", 1991)."""

from __future__ import annotations

import contextlib
import io
import os
import struct
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...engine import errors
from ...engine.tensor import Tensor
from ...ops.creation import to_tensor
from ...utils import storage
from ...utils.files import atomic_write
from .backend import AudioInfo

__all__ = ["info", "load", "save"]


_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_OF_A_TAG = bytes.fromhex("000000001000800000aa00389b71")  # what follows a tag where it is written as an identifier
_WIDTHS = {_PCM: (1, 2, 3, 4), _FLOAT: (4, 8)}
_UNKNOWN = 0xFFFFFFFF  # the length in the header of what was written as a stream


class _NoWave(Exception):
    """Why a file cannot be read."""


@dataclass
class _Wave:
    """The header of a WAV file, and the open file that it stands in."""

    file: Any
    rate: int
    channels: int
    width: int  # bytes of a sample
    tag: int
    start: int
    frames: int  # that are there
    promised: int  # frames according to the header


def _parsed(file: Any) -> _Wave:
    if not file.seekable():
        file = io.BytesIO(file.read())
    begin = file.tell()
    length = file.seek(0, io.SEEK_END)
    file.seek(begin)
    top = file.read(12)
    if top[:4] != b"RIFF" or top[8:] != b"WAVE":
        raise _NoWave("it does not begin as one")
    form = None
    while len(head := file.read(8)) == 8:
        kind, size = struct.unpack("<4sI", head)
        if kind == b"data":
            break
        at = file.tell()
        if kind == b"fmt ":
            form = file.read(min(size, 40))
        file.seek(at + size + size % 2)
    else:
        raise _NoWave("it ends early")
    if form is None or len(form) < 16:
        raise _NoWave("it does not say of which kind its samples are")
    tag, channels, rate, _, _, bits = struct.unpack("<HHIIHH", form[:16])
    if tag == _EXTENSIBLE and form[26:] == _OF_A_TAG:
        tag = struct.unpack("<H", form[24:26])[0]
    width = (bits + 7) // 8
    if width not in _WIDTHS.get(tag, ()):
        raise _NoWave(f"samples of {bits} bits in format {tag}")
    if not channels or not rate:
        raise _NoWave(f"{channels} channels, {rate} samples a second")
    start = file.tell()
    there = max(length - start, 0)
    promised = there if size == _UNKNOWN else size
    whole = channels * width
    return _Wave(file, rate, channels, width, tag, start, min(promised, there) // whole, promised // whole)


@contextlib.contextmanager
def _reading(name: str, file: Any) -> Iterator[_Wave]:
    """A WAV file, given by its path or as an open binary file."""
    source: Any = storage.local(file) if isinstance(file, (str, os.PathLike)) else file
    if not isinstance(source, str) and not hasattr(source, "read"):
        raise errors.TypeError_(f"{name}: filepath must be a path or an open binary file, got {errors.describe(file)}")
    with contextlib.ExitStack() as stack:
        if isinstance(source, str):
            if not storage.is_file(source):
                raise errors.NotFound(f"{name}: there is no file {source}")
            source = stack.enter_context(storage.opened(source))
        try:
            found = _parsed(source)
        except _NoWave as e:
            raise errors.NotImplemented_(
                f"{name}: {file} is no WAV file with samples in PCM, or it is damaged ({e}). "
                "Other kinds of files have no backend: convert the file to WAV"
            ) from None
        if found.frames < found.promised:
            errors.warn(f"{name}: {file} is cut off: {found.frames} of {found.promised} frames are there")
        yield found


def info(filepath: Any) -> AudioInfo:
    """What is known of a WAV file: `sample_rate`, `num_samples`, `num_channels`, `bits_per_sample`, `encoding`.

    Args:
        filepath: a path, or a binary file that is open for reading.

    Raises:
        FileNotFoundError: there is no such file.
        NotImplementedError: another kind of file.

    Example:
        >>> paddle.audio.info("speech.wav").sample_rate  # doctest: +SKIP
        16000
    """
    with _reading("audio.info", filepath) as f:
        encoding = "PCM_F" if f.tag == _FLOAT else "PCM_U" if f.width == 1 else "PCM_S"
        return AudioInfo(f.rate, f.frames, f.channels, 8 * f.width, encoding)


def load(
    filepath: Any, frame_offset: int = 0, num_frames: int = -1, normalize: bool = True, channels_first: bool = True
) -> tuple[Tensor, int]:
    """The samples of a WAV file and their number a second.

    Args:
        filepath: a path, or a binary file that is open for reading.
        frame_offset: where to begin.
        num_frames: how many frames; -1 for all that follow.
        normalize: values in [-1, 1); False gives those of the file (16 bits: -32768 to 32767). Floats stay as they are.
        channels_first: shape [channels, frames], otherwise [frames, channels].

    Returns:
        A float32 tensor and an int.

    Raises:
        FileNotFoundError: there is no such file.
        NotImplementedError: another kind of file.
        ValueError: `frame_offset` negative, `num_frames` below -1.

    Example:
        >>> wave, rate = paddle.audio.load("speech.wav")  # doctest: +SKIP
    """
    for name, value, least in (("frame_offset", frame_offset, 0), ("num_frames", num_frames, -1)):
        if not isinstance(value, (int, np.integer)) or value < least:
            raise errors.ValueError_(f"audio.load: {name} must be an int of at least {least}, got {value!r}")
    with _reading("audio.load", filepath) as f:
        first = min(frame_offset, f.frames)
        count = f.frames - first if num_frames == -1 else min(num_frames, f.frames - first)
        whole = f.channels * f.width
        f.file.seek(f.start + first * whole)
        data = f.file.read(count * whole)
    values = _numbers(data, f.width, f.tag).reshape(-1, f.channels)
    scaled = values / np.float64(2 ** (8 * f.width - 1)) if normalize and f.tag == _PCM else values
    return to_tensor(np.ascontiguousarray((scaled.T if channels_first else scaled).astype("float32"))), f.rate


def _numbers(data: bytes, width: int, tag: int) -> np.ndarray:
    if tag == _FLOAT:
        return np.frombuffer(data, f"<f{width}")
    if width == 1:
        return np.frombuffer(data, "u1").astype("i2") - 128
    if width == 3:  # as the upper three bytes of an int32
        wide = np.zeros((len(data) // 3, 4), "u1")
        wide[:, 1:] = np.frombuffer(data, "u1").reshape(-1, 3)
        return wide.view("<i4")[:, 0] >> 8
    return np.frombuffer(data, f"<i{width}")


def save(
    filepath: Any,
    src: Any,
    sample_rate: int,
    channels_first: bool = True,
    encoding: str | None = None,
    bits_per_sample: int | None = 16,
) -> None:
    """Write a WAV file with samples of 16 bits.

    Args:
        filepath: a path, or a binary file that is open for writing.
        src: shape [channels, frames], or [frames, channels] without `channels_first`; real values in [-1, 1) (what lies
            outside is clipped), or int16.
        sample_rate: samples a second.
        encoding: None, "PCM_S" or "PCM_16".
        bits_per_sample: 16 or None.

    Raises:
        ValueError: another number of dimensions, another encoding or number of bits, int types except int16.

    Example:
        >>> paddle.audio.save("tone.wav", paddle.sin(paddle.arange(800) / 5).unsqueeze(0), 8000)  # doctest: +SKIP
    """
    values = src.numpy() if isinstance(src, Tensor) else np.asarray(src)
    if values.ndim != 2:
        raise errors.ValueError_(f"audio.save: src must have two dimensions, got {errors.describe(src)}")
    if bits_per_sample not in (None, 16) or encoding not in (None, "PCM_S", "PCM_16"):
        raise errors.ValueError_(
            f"audio.save: only samples of 16 bits (PCM_S) can be written, got {encoding}, {bits_per_sample} bits"
        )
    frames = values.T if channels_first else values
    channels = frames.shape[1]
    if not 0 < channels < 65536:
        raise errors.ValueError_(f"audio.save: a file has 1 to 65535 channels, got {errors.describe(src)}")
    if not isinstance(sample_rate, (int, float, np.number)) or not 1 <= sample_rate <= _UNKNOWN // (2 * channels):
        raise errors.ValueError_(f"audio.save: sample_rate must be a positive number, got {sample_rate!r}")
    if 2 * frames.size > _UNKNOWN - 64:
        raise errors.ValueError_(f"audio.save: a WAV file holds 4 GiB, src has {2 * frames.size} bytes")
    if values.dtype.name in ("float16", "bfloat16", "float32", "float64"):
        frames = np.nan_to_num(np.clip(frames.astype("float64") * 2**15, -(2**15), 2**15 - 1))
    elif values.dtype != np.int16:
        raise errors.ValueError_(f"audio.save: src must hold real values or int16, got {errors.describe(src)}")
    with contextlib.ExitStack() as stack:
        target: Any = storage.local(filepath) if isinstance(filepath, (str, os.PathLike)) else filepath
        if isinstance(target, str):
            target = stack.enter_context(atomic_write(target))
        f = stack.enter_context(wave.open(target, "wb"))
        f.setnchannels(frames.shape[1])
        f.setsampwidth(2)
        f.setframerate(int(sample_rate))
        f.writeframes(np.ascontiguousarray(frames.astype("<i2")).tobytes())
