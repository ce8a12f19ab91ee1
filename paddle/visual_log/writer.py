"""LogWriter: curves, pictures, histograms, texts and more of a training run, in event files."""

from __future__ import annotations

import io
import itertools
import os
import re
import threading
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..engine import errors
from . import messages
from .records import complete, frame

_counter = itertools.count()


class LogWriter:
    """Writes records into an event file that `LogReader` and TensorBoard (``tensorboard --logdir ...``) read. The
    interface is that of VisualDL's LogWriter. Calls from several threads are safe.

    Args:
        logdir: the folder; None: ``runs/<date and time>``.
        max_queue: records that may wait in memory.
        flush_secs: seconds after which waiting records are written.
        filename_suffix: end of the file's name.
        display_name: accepted; the folder is what is shown.
        file_name: the name of the file; it must contain "vdlrecords" or "tfevents". An existing file is continued.

    Example:
        >>> with paddle.visual_log.LogWriter("log") as writer:
        ...     for step in range(3):
        ...         writer.add_scalar("train/loss", 1 / (step + 1), step)
        >>> [r.value for r in paddle.visual_log.LogReader(writer.file_name).get_data("scalar", "train/loss")][0]
        1.0
    """

    def __init__(
        self,
        logdir: str | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
        display_name: str = "",
        file_name: str = "",
    ):
        self._logdir = os.fspath(logdir) if logdir else os.path.join("runs", time.strftime("%b%d_%H-%M-%S"))
        if file_name and not re.search("vdlrecords|tfevents", file_name):
            raise errors.ValueError_(
                f"LogWriter: file_name must contain 'vdlrecords' or 'tfevents', so that readers find it; got {file_name!r}"
            )
        self.display_name = display_name
        self._max_queue, self._flush_secs, self._suffix = max_queue, flush_secs, filename_suffix
        name = file_name or (
            f"vdlrecords.{int(time.time()):010d}.{os.getpid()}-{next(_counter)}.tfevents{filename_suffix}"
        )
        os.makedirs(self._logdir, exist_ok=True)
        self._path = os.path.join(self._logdir, name)
        self._lock = threading.Lock()
        self._waiting, self._flushed = 0, time.monotonic()
        self._parts: dict[str, LogWriter] = {}
        self._hparams: set[str] = set()
        self._projections: list[str] = []
        if os.path.isfile(self._path):
            with open(self._path, "rb+") as before:  # a writer that was killed may have left half a record
                before.truncate(complete(before, self._path))
        self._file = open(self._path, "ab")
        if self._file.tell() == 0:
            self._put(messages.event(time.time(), file_version="brain.Event:2"))

    @property
    def logdir(self) -> str:
        """The folder."""
        return self._logdir

    @property
    def file_name(self) -> str:
        """The path of the event file."""
        return self._path

    # ---- what can be written ----
    def add_scalar(self, tag: str, value: Any, step: int, walltime: float | None = None) -> None:
        """A point of a curve."""
        self._add(messages.summary(_tag(tag), (2, "float", _number("add_scalar", value))), step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: dict, step: int, walltime: float | None = None) -> None:
        """Points of several curves of one picture; each curve has a folder of its own below `logdir`."""
        for name, value in tag_scalar_dict.items():
            curve = re.sub(r"[^\w.-]", "_", f"{main_tag}_{name}")
            if curve not in self._parts:
                folder = os.path.join(self._logdir, curve)
                self._parts[curve] = LogWriter(folder, self._max_queue, self._flush_secs, self._suffix)
            self._parts[curve].add_scalar(main_tag, value, step, walltime)

    def add_image(self, tag: str, img: Any, step: int, walltime: float | None = None, dataformats: str = "HWC") -> None:
        """A picture: uint8, or floats from 0 to 1, laid out as `dataformats` says ("HWC", "CHW" or "HW")."""
        self._add(messages.summary(_tag(tag), (4, "bytes", _png(_pixels(img, dataformats)))), step, walltime)

    def add_figure(self, tag: str, figure: Any, step: int, walltime: float | None = None) -> None:
        """A figure of matplotlib."""
        from PIL import Image

        out = io.BytesIO()
        figure.savefig(out, format="png")
        self.add_image(tag, np.asarray(Image.open(out).convert("RGB")), step, walltime)

    def add_image_matrix(
        self,
        tag: str,
        imgs: Any,
        step: int,
        rows: int = -1,
        scale: float = 1.0,
        walltime: float | None = None,
        dataformats: str = "HWC",
    ) -> None:
        """Several pictures in `rows` rows; -1 makes about as many columns."""
        pictures = [_pixels(img, dataformats) for img in imgs]
        if not pictures:
            raise errors.ValueError_("LogWriter.add_image_matrix: there is no picture")
        if rows <= 0:
            rows = int(np.ceil(np.sqrt(len(pictures))))
        columns = -(-len(pictures) // rows)
        height, width = (max(p.shape[i] for p in pictures) for i in (0, 1))
        sheet = np.zeros((rows * height, columns * width, 4), np.uint8)
        for i, picture in enumerate(pictures):
            top, left = i // columns * height, i % columns * width
            h, w, c = picture.shape
            sheet[top : top + h, left : left + w, :3] = picture[..., :3]
            sheet[top : top + h, left : left + w, 3] = picture[..., 3] if c == 4 else 255
        if scale != 1.0:
            from PIL import Image

            size = (max(int(sheet.shape[1] * scale), 1), max(int(sheet.shape[0] * scale), 1))
            sheet = np.asarray(Image.fromarray(sheet).resize(size))
        self.add_image(tag, sheet, step, walltime)

    def add_text(self, tag: str, text_string: str, step: int | None = None, walltime: float | None = None) -> None:
        """A text, shown as Markdown."""
        data = messages.tensor([str(text_string)])
        self._add(messages.summary(_tag(tag), (8, "bytes", data), "text"), step, walltime)

    def add_audio(
        self, tag: str, audio_array: Any, step: int, sample_rate: int = 8000, walltime: float | None = None
    ) -> None:
        """Sound: int16 or floats from -1 to 1, of shape [frames] or [frames, channels]."""
        import wave

        sound = _array(audio_array)
        sound = sound[:, None] if sound.ndim == 1 else sound
        if sound.ndim != 2:
            raise errors.ValueError_(
                f"LogWriter.add_audio: audio_array has the shape [frames] or [frames, channels], got {list(sound.shape)}"
            )
        if sound.dtype != np.int16:
            sound = np.clip(np.round(sound.astype(float) * 32767), -32768, 32767).astype(np.int16)
        out = io.BytesIO()
        with wave.open(out, "wb") as file:
            file.setnchannels(sound.shape[1])
            file.setsampwidth(2)
            file.setframerate(int(sample_rate))
            file.writeframes(sound.astype("<i2").tobytes())
        data = messages.audio(float(sample_rate), sound.shape[1], len(sound), out.getvalue())
        self._add(messages.summary(_tag(tag), (6, "bytes", data)), step, walltime)

    def add_histogram(self, tag: str, values: Any, step: int, walltime: float | None = None, buckets: int = 10) -> None:
        """How often values lie in each of `buckets` equal parts of their range. Values that are not finite are left out."""
        data = _array(values).astype(float).reshape(-1)
        data = data[np.isfinite(data)]
        if not data.size:
            raise errors.ValueError_("LogWriter.add_histogram: there is no finite value")
        counts, edges = np.histogram(data, bins=buckets)
        kind = (5, "bytes", messages.histogram(data, edges[1:], counts))
        self._add(messages.summary(_tag(tag), kind), step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        step: int,
        num_thresholds: int = 10,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Precision over recall: `labels` of 0 and 1, `predictions` from 0 to 1."""
        tp, fp, tn, fn = _outcomes("add_pr_curve", labels, predictions, num_thresholds, weights)
        rows = [tp, fp, tn, fn, tp / np.maximum(tp + fp, 1e-7), tp / np.maximum(tp + fn, 1e-7)]
        content = messages.encode([(1, "int", 0), (2, "int", num_thresholds)])
        kind = (8, "bytes", messages.tensor(np.stack(rows)))
        self._add(messages.summary(_tag(tag), kind, "pr_curves", content), step, walltime)

    def add_roc_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        step: int,
        num_thresholds: int = 10,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """True positives over false positives; arguments as those of `add_pr_curve`. `LogReader` reads it, TensorBoard
        has no view for it."""
        tp, fp, tn, fn = _outcomes("add_roc_curve", labels, predictions, num_thresholds, weights)
        rows = [tp, fp, tn, fn, tp / np.maximum(tp + fn, 1e-7), fp / np.maximum(fp + tn, 1e-7)]
        kind = (8, "bytes", messages.tensor(np.stack(rows)))
        self._add(messages.summary(_tag(tag), kind, "roc_curves"), step, walltime)

    def add_hparams(self, hparams_dict: dict, metrics_list: Iterable[str], walltime: float | None = None) -> None:
        """The settings of this run, and the tags of the curves that tell how good it is."""
        m = messages
        metrics = list(metrics_list)
        infos = [
            (4, "bytes", m.encode([(1, "bytes", k), (4, "int", _hparam_type(v))])) for k, v in hparams_dict.items()
        ]
        infos += [(5, "bytes", m.encode([(1, "bytes", m.encode([(2, "bytes", tag)]))])) for tag in metrics]
        settings = [
            (1, "bytes", m.encode([(1, "bytes", k), (2, "bytes", m.hparam_value(v))])) for k, v in hparams_dict.items()
        ]
        now = time.time() if walltime is None else walltime
        for tag, field, content in (
            ("_hparams_/experiment", 2, m.encode([(6, "bytes", ""), (7, "double", now), *infos])),
            ("_hparams_/session_start_info", 3, m.encode([*settings, (5, "double", now)])),
            ("_hparams_/session_end_info", 4, m.encode([(1, "int", 1), (2, "double", now)])),
        ):
            value = (8, "bytes", m.tensor(np.zeros(0)))
            self._add(m.summary(tag, value, "hparams", m.hparams_plugin(field, content)), None, walltime)

    def add_embeddings(
        self,
        tag: str,
        mat: Any = None,
        metadata: Any = None,
        metadata_header: Any = None,
        step: int | None = None,
        walltime: float | None = None,
        labels: Any = None,
        hot_vectors: Any = None,
        labels_meta: Any = None,
    ) -> None:
        """Points of many dimensions with labels, for TensorBoard's projector.

        Args:
            mat: the points, [n, dimensions].
            metadata: for each point a label, or a list of several.
            metadata_header: names of the labels, when there are several.
            hot_vectors, labels, labels_meta: other names of the three.
        """
        mat = hot_vectors if mat is None else mat
        metadata = labels if metadata is None else metadata
        metadata_header = labels_meta if metadata_header is None else metadata_header
        points = _array(mat)
        if points.ndim != 2:
            raise errors.ValueError_(
                f"LogWriter.add_embeddings: mat has the shape [n, dimensions], got {list(points.shape)}"
            )
        if metadata is not None and len(metadata) != len(points):
            raise errors.ValueError_(
                f"LogWriter.add_embeddings: {len(points)} points but {len(metadata)} rows of metadata"
            )
        folder = os.path.join(re.sub(r"[^\w.-]", "_", tag), f"{step or 0:05d}")
        os.makedirs(os.path.join(self._logdir, folder), exist_ok=True)
        np.savetxt(os.path.join(self._logdir, folder, "tensors.tsv"), points, delimiter="\t")
        quoted = re.sub(r'(["\\])', r"\\\1", tag).replace("\n", " ")
        entry = [f'  tensor_name: "{quoted}:{step or 0}"', f'  tensor_path: "{folder}/tensors.tsv"']
        if metadata is not None:
            rows = [row if isinstance(row, (list, tuple)) else [row] for row in metadata]
            if rows and len(rows[0]) > 1:
                rows.insert(0, list(metadata_header or [f"label {i}" for i in range(len(rows[0]))]))
            with open(os.path.join(self._logdir, folder, "metadata.tsv"), "w", encoding="utf-8") as file:
                file.writelines("\t".join(re.sub(r"\s", " ", str(c)) for c in row) + "\n" for row in rows)
            entry.append(f'  metadata_path: "{folder}/metadata.tsv"')
        self._projections.append("embeddings {\n" + "\n".join(entry) + "\n}\n")
        with open(os.path.join(self._logdir, "projector_config.pbtxt"), "w", encoding="utf-8") as file:
            file.writelines(self._projections)
        self._add(messages.summary(_tag(tag), (8, "bytes", messages.tensor(points)), "embeddings"), step, walltime)

    def add_graph(self, model: Any, input_spec: Any = None, verbose: bool = False) -> None:
        """The operators of a network: a Layer or a function, with one InputSpec or example tensor for each input;
        `verbose` also prints the program."""
        from .graph import nodes_of

        nodes, shown = nodes_of(model, input_spec)
        if verbose:
            print(shown)
        self._put(messages.event(time.time(), 0, graph=messages.graph(nodes)))
        self.flush()

    # ---- the file ----
    def _add(self, summary: bytes, step: int | None, walltime: float | None) -> None:
        self._put(messages.event(time.time() if walltime is None else float(walltime), _step(step), summary))

    def _put(self, event: bytes) -> None:
        data = frame(event)
        with self._lock:
            if self._file.closed:  # after close() a writer goes on in the same file
                self._file = open(self._path, "ab")
            self._file.write(data)
            self._waiting += 1
            now = time.monotonic()
            if self._waiting >= self._max_queue or now - self._flushed >= self._flush_secs:
                self._file.flush()
                self._waiting, self._flushed = 0, now

    def flush(self) -> None:
        """Write what waits in memory."""
        with self._lock:
            if not self._file.closed:
                self._file.flush()
            self._waiting, self._flushed = 0, time.monotonic()
        for part in self._parts.values():
            part.flush()

    def close(self) -> None:
        """Write what waits and close the file."""
        with self._lock:
            self._file.close()
        for part in self._parts.values():
            part.close()

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()


def _tag(tag: Any) -> str:
    if not isinstance(tag, str) or not tag:
        raise errors.TypeError_(f"LogWriter: tag must be a str that is not empty, got {tag!r}")
    return tag


def _step(step: Any) -> int | None:
    if step is not None and (isinstance(step, bool) or not isinstance(step, (int, np.integer))):
        raise errors.TypeError_(f"LogWriter: step must be an int, got {step!r}")
    return None if step is None else int(step)


def _array(value: Any) -> np.ndarray:
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def _number(who: str, value: Any) -> float:
    array = _array(value)
    if array.size != 1 or array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        raise errors.TypeError_(f"LogWriter.{who}: value must be one number, got {errors.describe(value)}")
    with np.errstate(over="ignore"):
        return float(np.float32(array.reshape(())))


def _pixels(img: Any, layout: str) -> np.ndarray:
    """uint8 of shape [height, width, channels]."""
    array = _array(img)
    order = layout.upper()
    if order not in ("HWC", "CHW", "HW") or array.ndim != len(order):
        raise errors.ValueError_(
            f"LogWriter.add_image: dataformats is 'HWC', 'CHW' or 'HW' and fits the picture; got {layout!r} for the shape "
            f"{list(array.shape)}"
        )
    array = array[..., None] if order == "HW" else array.transpose(1, 2, 0) if order == "CHW" else array
    if array.shape[2] not in (1, 3, 4) or not array.size:
        raise errors.ValueError_(f"LogWriter.add_image: a picture has 1, 3 or 4 channels, got {array.shape[2]}")
    if array.dtype.kind == "f":
        array = np.clip(np.nan_to_num(array) * 255 + 0.5, 0, 255)
    return array.astype(np.uint8)


def _png(pixels: np.ndarray) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(out, "PNG")
    return messages.image(*pixels.shape, out.getvalue())


def _outcomes(who: str, labels: Any, predictions: Any, n: int, weights: Any) -> tuple:
    """True and false positives, true and false negatives at `n` thresholds from 0 to 1."""
    truth, scores = _array(labels).reshape(-1).astype(bool), _array(predictions).reshape(-1).astype(float)
    if truth.shape != scores.shape or n < 2:
        raise errors.ValueError_(
            f"LogWriter.{who}: as many labels as predictions and at least 2 thresholds are needed, got {truth.size}, "
            f"{scores.size} and {n}"
        )
    weight = np.ones(truth.size) if weights is None else np.broadcast_to(_array(weights).reshape(-1), truth.shape)
    bucket = np.clip(np.floor(scores * (n - 1)), 0, n - 1).astype(int)
    above = [np.bincount(bucket, weight * side, n)[::-1].cumsum()[::-1] for side in (truth, ~truth)]
    tp, fp = above
    return tp, fp, fp[0] - fp, tp[0] - tp


def _hparam_type(value: Any) -> int:
    return 2 if isinstance(value, bool) else 3 if isinstance(value, (int, float, np.number)) else 1
