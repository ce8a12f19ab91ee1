"""A model that is served: its inputs and outputs, the few shapes that it is compiled for, and its runs."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import inference
from ..device import cuda
from ..engine import errors
from ..engine.dtype import to_dtype
from ..inference.enums import NAMES
from ..ir.buckets import Buckets
from .images import BadInput
from .repository import Found

log = logging.getLogger("paddle.serving")


class Spec(NamedTuple):
    """An input or output; lengths that vary are -1."""

    name: str
    shape: tuple[int, ...]
    dtype: Any  # of NumPy

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join('?' if n < 0 else str(n) for n in self.shape)}]"


class ServedModel:
    """One version of a model, loaded, with everything compiled that it will need.

    Rows of several requests run together where that gives the same results as alone, which is tried when the model is
    loaded; numbers of rows are padded to `sizes`. Other open lengths are padded to `options.lengths`, with the same
    trial; without `lengths` each shape is compiled as it comes, `max_shapes` of them.

    Args:
        found: where it lies, and its options.

    Raises:
        ValueError: a file that is no model, options that do not fit it.
        NotImplementedError: an operator or an input type that cannot be served.

    Attributes:
        inputs, outputs: a `Spec` for each.
        rows: whether requests have rows that may run together.
        sizes: the numbers of rows that are compiled.
    """

    def __init__(self, found: Found):
        self.name, self.version, self.options = found.name, found.version, found.options
        config = inference.Config(found.program, found.params)
        config.disable_glog_info()
        if self.options.device == "gpu" or self.options.device == "auto" and cuda.device_count():
            config.enable_use_gpu(0, 0)
        first = inference.create_predictor(config)
        self._predictors = [first, *(first.clone() for _ in range(self.options.instances - 1))]
        self.inputs = [_spec(first.get_input_handle(n)) for n in first.get_input_names()]
        self.outputs = [_spec(first.get_output_handle(n)) for n in first.get_output_names()]
        if any(s.dtype.kind == "c" for s in self.inputs):
            raise errors.NotImplemented_(f"serving: {self} has an input of complex numbers")
        self._check_names()
        options = self.options
        self.rows = bool(self.inputs) and all(s.shape and s.shape[0] < 0 for s in self.inputs)
        self._sizes = Buckets(options.sizes or _powers(options.max_batch)) if self.rows else None
        self._lengths = Buckets(options.lengths) if options.lengths and self.open_lengths else None
        self._cuts: list[dict[int, tuple[int, int]]] = [{} for _ in self.outputs]
        self._shapes: set[tuple] = set()
        self.compiled_in = 0.0

    def __str__(self) -> str:
        return f"the model {self.name!r}, version {self.version},"

    def _check_names(self) -> None:
        known = [s.name for s in self.inputs]
        for what in ("images", "pad"):
            if unknown := [n for n in getattr(self.options, what) if n not in known]:
                raise errors.ValueError_(
                    f"serving: {what} of {self} names {unknown[0]!r}; the inputs are {', '.join(known)}"
                )
        for spec in self.inputs:
            if spec.name in self.options.images and len(spec.shape) != 4:
                raise errors.ValueError_(f"serving: the input {spec.name!r} of {self} takes no pictures: it is {spec}")

    @property
    def sizes(self) -> list[int]:
        """The numbers of rows that are compiled; empty where rows do not run together."""
        return self._sizes.lengths if self._sizes else []

    @property
    def open_lengths(self) -> list[tuple[int, int]]:
        """(number of the input, axis) of the lengths that vary, other than the rows."""
        return [
            (i, k) for i, s in enumerate(self.inputs) for k in range(int(self.rows), len(s.shape)) if s.shape[k] < 0
        ]

    # ---- what requests look like ----
    def key(self, arrays: Sequence[np.ndarray]) -> tuple:
        """What requests that run together have in common: the shapes of their rows, padded."""
        return tuple(self._inner(a.shape, s) for a, s in zip(arrays, self.inputs))

    def _inner(self, shape: Sequence[int], spec: Spec) -> tuple[int, ...]:
        start = int(self._sizes is not None)
        up = self._lengths.up if self._lengths else lambda n: n
        return tuple(up(n) if w < 0 else n for n, w in zip(shape[start:], spec.shape[start:]))

    def check(self, arrays: Sequence[np.ndarray]) -> int:
        """The number of rows of a request, 1 where there are no rows. BadInput for arrays that do not fit the model."""
        rows, lengths = None, set()
        for array, spec in zip(arrays, self.inputs):
            if array.dtype != spec.dtype:
                raise BadInput(f"the input {spec.name!r} is {spec}, got {array.dtype.name}")
            if array.ndim != len(spec.shape) or any(w not in (-1, n) for n, w in zip(array.shape, spec.shape)):
                raise BadInput(f"the input {spec.name!r} is {spec}, got the shape {list(array.shape)}")
            if not array.size:
                raise BadInput(f"the input {spec.name!r} is empty, of shape {list(array.shape)}")
            if self.rows:
                if rows not in (None, array.shape[0]):
                    raise BadInput(f"the inputs have different numbers of rows, {rows} and {array.shape[0]}")
                rows = array.shape[0]
            if self._lengths is not None:
                open_ = [n for k, (n, w) in enumerate(zip(array.shape, spec.shape)) if w < 0 and k >= int(self.rows)]
                lengths.update(open_)
                if open_ and max(open_) > self._lengths.lengths[-1]:
                    raise BadInput(
                        f"the input {spec.name!r} has the shape {list(array.shape)}; "
                        f"lengths up to {self._lengths.lengths[-1]} are served"
                    )
        if len(lengths) > 1 and any(self._cuts):
            raise BadInput(f"lengths that vary must be equal in all inputs, got {sorted(lengths)}")
        if self._sizes is None or (self.open_lengths and self._lengths is None):
            shapes = self.key(arrays)
            if shapes not in self._shapes and len(self._shapes) >= self.options.max_shapes:
                raise BadInput(
                    f"inputs of this shape are not served: {self.options.max_shapes} other shapes came before"
                )
            self._shapes.add(shapes)
        return rows or 1

    def padded(self, rows: int) -> int:
        """The number of rows that a run of so many has."""
        return self._sizes.up(rows) if self._sizes else rows

    # ---- runs ----
    def run(self, requests: Sequence[Sequence[np.ndarray]], instance: int = 0) -> list[list[np.ndarray]]:
        """Run requests together.

        Args:
            requests: for each the arrays of the inputs, of one `key`; together not more than `sizes[-1]` rows.
            instance: which of the predictors, one for each thread.

        Returns:
            for each request the arrays of the outputs, with its own rows and lengths.
        """
        if self._sizes is None:
            return [self._execute(arrays, instance) for arrays in requests]
        counts = [arrays[0].shape[0] for arrays in requests]
        size = self._sizes.up(sum(counts))
        feeds = [self._joined([arrays[i] for arrays in requests], spec, size) for i, spec in enumerate(self.inputs)]
        found = self._execute(feeds, instance)
        results, start = [], 0
        for arrays, count in zip(requests, counts):
            results.append([self._cut(a[start : start + count], cut, arrays) for a, cut in zip(found, self._cuts)])
            start += count
        return results

    def _joined(self, parts: list[np.ndarray], spec: Spec, size: int) -> np.ndarray:
        """The rows of several requests as one array of `size` rows; those that are too many repeat the first."""
        inner = self._inner(parts[0].shape, spec)
        if len(parts) == 1 and parts[0].shape == (size, *inner):
            return parts[0]
        joined = np.empty((size, *inner), spec.dtype)
        at = 0
        for part in parts:
            rows = joined[at : at + len(part)]
            if part.shape[1:] != inner:
                rows[...] = self.options.pad.get(spec.name, 0)
            rows[tuple(slice(0, n) for n in part.shape)] = part
            at += len(part)
        joined[at:] = joined[:1]
        return joined

    @staticmethod
    def _cut(array: np.ndarray, cut: dict[int, tuple[int, int]], arrays: Sequence[np.ndarray]) -> np.ndarray:
        """An output with the lengths that it would have without padding."""
        if not cut:
            return array
        lengths = [slice(None)] * array.ndim
        for axis, (i, k) in cut.items():
            lengths[axis] = slice(0, arrays[i].shape[k])
        return array[tuple(lengths)]

    def _execute(self, feeds: Sequence[np.ndarray], instance: int) -> list[np.ndarray]:
        predictor = self._predictors[instance]
        for spec, array in zip(self.inputs, feeds):
            predictor.get_input_handle(spec.name).share_external_data(array)
        predictor.run()
        return [predictor.get_output_handle(s.name).copy_to_cpu() for s in self.outputs]

    # ---- before the first request ----
    def warm_up(self) -> None:
        """Compile what requests will need, and try whether rows and padding change results."""
        start = time.perf_counter()
        random = np.random.default_rng(0)
        if self._sizes is not None:
            if refused := self._why_alone(random):
                log.warning("%s runs each request by itself: %s", self, refused, extra={"model": self.name})
                self._sizes = None
        if self._lengths is not None:
            self._try_lengths(random)
        for rows, length in itertools.product(self.sizes or [1], self._lengths.lengths if self._lengths else [0]):
            if length or not self.open_lengths:
                self.run([self.example(random, rows, length)])
        self.compiled_in = time.perf_counter() - start

    def example(self, random: np.random.Generator, rows: int, length: int) -> list[np.ndarray]:
        """Inputs of a shape: numbers around 0 for floating types, else zeros, which are indices of every table."""
        arrays = []
        for spec in self.inputs:
            shape = [n if n >= 0 else rows if self.rows and not k else length for k, n in enumerate(spec.shape)]
            values = random.standard_normal(shape) if spec.dtype.kind not in "biu" else np.zeros(shape)
            arrays.append(values.astype(spec.dtype))
        return arrays

    def _why_alone(self, random: np.random.Generator) -> str:
        """Why rows cannot run together, "" when they can."""
        size = max(3, self.sizes[min(len(self.sizes) - 1, 2)])
        count = size - 1  # one row is padding
        length = self._lengths.lengths[0] if self._lengths else 8
        together = self.example(random, count, length)
        try:
            found = self._execute([self._joined([a], s, size) for a, s in zip(together, self.inputs)], 0)
            ones = [self._execute([a[i : i + 1] for a in together], 0) for i in sorted({0, count - 1})]
        except Exception as e:
            return f"a trial failed: {e}"
        for spec, output, *alone in zip(self.outputs, found, *ones):
            if output.ndim == 0 or output.shape[0] != size:
                return (
                    f"the output {spec.name!r} has no row for each row of the inputs: {list(output.shape)} for {size}"
                )
            for i, one in zip(sorted({0, count - 1}), alone):
                if not _alike(output[i : i + 1], one):
                    return f"the output {spec.name!r} changes with the other rows, or from run to run"
        return ""

    def _try_lengths(self, random: np.random.Generator) -> None:
        """Find which lengths of the outputs follow those of the inputs, and try whether padding changes results."""
        rows = self.sizes[0] if self._sizes else 1
        length = self._lengths.lengths[0]
        short = max(1, length - 1)
        exact = self.example(random, rows, short)
        wanted = self._execute(exact, 0)
        padded = [self._padded_alone(a, s) for a, s in zip(exact, self.inputs)]
        found = self._execute(padded, 0)
        followed = self.open_lengths[0]
        for spec, cut, a, b in zip(self.outputs, self._cuts, found, wanted):
            for axis in range(int(self._sizes is not None), a.ndim):
                if a.shape[axis] != b.shape[axis]:
                    if (a.shape[axis], b.shape[axis]) != (length, short):
                        raise errors.NotImplemented_(
                            f"serving: lengths of {self} cannot be padded: the output {spec.name!r} has the shape "
                            f"{list(a.shape)} where inputs have the length {length}, and {list(b.shape)} for {short}"
                        )
                    cut[axis] = followed
            if not _alike(self._cut(a, cut, exact), b):
                raise errors.ValueError_(
                    f"serving: lengths of {self} cannot be padded: the output {spec.name!r} changes; mask what is padded, "
                    "give pad a value that is ignored, or leave lengths out of serving.json"
                )
        if self._sizes is None:  # requests run as they come, only padded
            raise errors.NotImplemented_(f"serving: lengths of {self} are padded only where rows can run together")

    def _padded_alone(self, array: np.ndarray, spec: Spec) -> np.ndarray:
        start = int(self._sizes is not None)
        inner = self._inner(array.shape, spec)
        widths = [(0, 0)] * start + [(0, n - m) for n, m in zip(inner, array.shape[start:])]
        return np.pad(array, widths, constant_values=self.options.pad.get(spec.name, 0))


def load(found: Sequence[Found]) -> list[ServedModel]:
    """Load models and compile what they need."""
    models = []
    for each in found:
        model = ServedModel(each)
        model.warm_up()
        log.info(
            "%s is ready: %s -> %s", model, ", ".join(map(str, model.inputs)), ", ".join(map(str, model.outputs)),
            extra={"model": model.name, "version": model.version, "seconds": round(model.compiled_in, 3)},
        )  # fmt: skip
        models.append(model)
    return models


def _spec(handle: Any) -> Spec:
    return Spec(handle.name(), tuple(handle.shape()), to_dtype(NAMES[handle.type()]).numpy)


def _powers(limit: int) -> list[int]:
    """Powers of two below a limit, and the limit."""
    return [*(2**i for i in range(limit.bit_length()) if 2**i < limit), limit]


def _alike(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "biu":
        return bool((a == b).all())
    scale = float(np.nanmax(np.abs(b.astype(np.complex128)), initial=0.0))
    return np.allclose(a.astype(np.complex128), b.astype(np.complex128), 1e-2, 1e-3 * max(scale, 1e-3), equal_nan=True)
