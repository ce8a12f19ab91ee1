"""LogReader: what a LogWriter (or another writer of event files) has written."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engine import errors
from . import messages
from .records import read_frames


@dataclass
class Record:
    """One record: `id` is its step, `timestamp` milliseconds since 1970, `value` what was written (see `get_data`)."""

    id: int
    tag: str
    timestamp: int
    value: Any


@dataclass
class Picture:
    """An encoded picture."""

    height: int
    width: int
    channels: int
    encoded: bytes

    def numpy(self) -> np.ndarray:
        """Its pixels, uint8[height, width, channels]."""
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.encoded))).reshape(self.height, self.width, self.channels)


@dataclass
class Sound:
    """An encoded sound, a WAV file."""

    sample_rate: float
    channels: int
    frames: int
    encoded: bytes


@dataclass
class Histogram:
    """Buckets: `limits` are their upper edges."""

    min: float
    max: float
    num: float
    sum: float
    sum_squares: float
    limits: np.ndarray
    counts: np.ndarray


_PLUGINS = {"text": "text", "pr_curves": "pr_curve", "roc_curves": "roc_curve", "embeddings": "embeddings"}


class LogReader:
    """Reads event files.

    Args:
        logdir: a folder, whose event files (also those of its folders) are read one after the other.
        file_path: one file.

    Raises:
        FileNotFoundError: there is no such file, or no event file in the folder.
        ValueError: the file is damaged.
    """

    def __init__(self, logdir: str | None = None, file_path: str | None = None):
        self._path = os.fspath(file_path or logdir or "")
        self._records: dict[str, dict[str, list[Record]]] = {}
        for path in self._files():
            with open(path, "rb") as file:
                for content in read_frames(file, path):
                    self._read(messages.decode(content))

    def _files(self) -> list[str]:
        if os.path.isfile(self._path):
            return [self._path]
        found = [
            os.path.join(folder, name)
            for folder, _, names in os.walk(self._path)
            for name in names
            if "vdlrecords" in name or "tfevents" in name
        ]
        if not found:
            raise errors.NotFound(f"LogReader: there is no event file at {self._path!r}")
        return sorted(found)

    def _read(self, event: dict[int, list]) -> None:
        step, wall = messages.signed(event.get(2, [0])[0]), messages.number(event, 1)
        if 4 in event:
            self._keep("graph", Record(step, "graph", round(wall * 1000), event[4][0]))
        for summary in event.get(5, []):
            for raw in messages.decode(summary).get(1, []):
                value = messages.decode(raw)
                kind, content = _value(value)
                if kind:
                    self._keep(kind, Record(step, messages.text(value, 1), round(wall * 1000), content))

    def _keep(self, kind: str, record: Record) -> None:
        self._records.setdefault(kind, {}).setdefault(record.tag, []).append(record)

    def get_tags(self) -> dict[str, list[str]]:
        """The tags of each kind: "scalar", "image", "histogram", "text", "audio", "pr_curve", "roc_curve",
        "embeddings", "hyper_parameters", "graph"."""
        return {kind: list(tags) for kind, tags in self._records.items()}

    tags = get_tags

    def get_data(self, component: str, tag: str) -> list[Record]:
        """The records of a tag, in the order in which they were written. `value` is a float for scalars, a str for
        texts, a `Picture`, a `Sound` or a `Histogram`, an array for curves (rows: true positives, false positives, true
        negatives, false negatives, and the two rates) and for embeddings, bytes for graphs and hyper-parameters.

        Raises:
            ValueError: there is no such tag.
        """
        if tag not in self._records.get(component, {}):
            raise errors.ValueError_(f"LogReader: there is no {component} {tag!r}; there are {self.get_tags()}")
        return list(self._records[component][tag])


def _value(value: dict[int, list]) -> tuple[str, Any]:
    m = messages
    if 2 in value:
        return "scalar", m.number(value, 2)
    if 4 in value:
        f = m.decode(value[4][0])
        return "image", Picture(*(f.get(i, [0])[0] for i in (1, 2, 3)), f.get(4, [b""])[0])
    if 5 in value:
        f = m.decode(value[5][0])
        numbers = [m.number(f, i) for i in range(1, 6)]
        return "histogram", Histogram(*numbers, *(np.frombuffer(b"".join(f.get(i, [])), "<f8") for i in (6, 7)))
    if 6 in value:
        f = m.decode(value[6][0])
        return "audio", Sound(m.number(f, 1), f.get(2, [0])[0], f.get(3, [0])[0], f.get(4, [b""])[0])
    plugin = m.decode(m.decode(value.get(9, [b""])[0]).get(1, [b""])[0])
    name = m.text(plugin, 1)
    if name == "hparams":
        return "hyper_parameters", plugin.get(2, [b""])[0]
    if 8 in value and name in _PLUGINS:
        content = m.read_tensor(value[8][0])
        return _PLUGINS[name], content[0] if name == "text" and content else content
    return "", None
