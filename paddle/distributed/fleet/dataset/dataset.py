"""Data sets of text files: a line is a sample, for each slot how many values it has and the values.

A command prepares the lines (`pipe_command`), usually a script with a `MultiSlotDataGenerator`. `Executor.train_from_dataset`
runs a program on the batches.
"""

from __future__ import annotations

import contextlib
import math
import random
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from ....engine import errors

_SETTINGS = dict(
    batch_size=1, thread_num=1, use_var=[], pipe_command="cat", input_type=0, fs_name="", fs_ugi="", download_cmd="cat"
)
_IGNORED = frozenset(
    """data_feed_type queue_num merge_size parse_ins_id parse_content fleet_send_batch_size fleet_send_sleep_seconds fea_eval
    candidate_size""".split()
)


class DatasetBase:
    """What the data sets share: settings, files and how a line is read."""

    _known: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.filelist: list[str] = []
        self._settings: dict[str, Any] = dict(_SETTINGS)

    def init(self, **kwargs: Any) -> None:
        """Set the settings.

        Args:
            batch_size: samples in a batch; the last one may have fewer.
            thread_num: accepted.
            use_var: the inputs of the program, in the order of the slots in a line; int64 or float32.
            pipe_command: a command of the shell that reads a file and writes lines.
            input_type: 0.
            fs_name, fs_ugi, download_cmd: of remote file systems; only the defaults.

        Raises:
            ValueError: a setting that there is not, an input of another type.
            NotImplementedError: remote file systems.
        """
        self._set(kwargs)

    def _set(self, kwargs: dict) -> None:
        for name, value in kwargs.items():
            if name in self._known:
                continue
            if name not in _SETTINGS:
                raise errors.ValueError_(f"{type(self).__name__}: there is no setting {name!r}")
            if name in ("fs_name", "fs_ugi", "download_cmd", "input_type") and value != _SETTINGS[name]:
                raise errors.NotImplemented_(f"{type(self).__name__}: {name}={value!r}")
            if name == "batch_size" and (not isinstance(value, int) or value < 1):
                raise errors.ValueError_(f"{type(self).__name__}: batch_size must be a positive int, got {value!r}")
            if name == "use_var":
                for v in value:
                    if v.dtype.name not in ("int64", "float32"):
                        raise errors.ValueError_(
                            f"{type(self).__name__}: slots are int64 or float32, {v.name} is {v.dtype.name}"
                        )
            self._settings[name] = value

    def set_filelist(self, filelist: list[str]) -> None:
        """The files of this worker."""
        self.filelist = list(filelist)

    # ---- reading ----
    def _slots(self) -> list[tuple[str, Any, list[int]]]:
        found = [(v.name, np.dtype(v.dtype.name), [int(n) for n in v.shape[1:]]) for v in self._settings["use_var"]]
        if not found:
            raise errors.ValueError_(f"{type(self).__name__}: use_var must name the inputs of the program, got none")
        return found

    def _samples(self) -> Iterator[list[np.ndarray]]:
        slots, command = self._slots(), self._settings["pipe_command"]
        for path in self.filelist:
            with open(path, "rb") as file:
                if command.strip() == "cat":
                    yield from self._parsed(file, path, slots)
                    continue
                process = subprocess.Popen(command, shell=True, stdin=file, stdout=subprocess.PIPE)
                try:
                    yield from self._parsed(process.stdout, path, slots)
                finally:
                    process.stdout.close()  # type: ignore[union-attr]
                    code = process.wait()
                if code:
                    raise errors.RuntimeError_(f"{type(self).__name__}: {command!r} ended with code {code} for {path}")

    @staticmethod
    def _parsed(lines: Any, path: str, slots: list) -> Iterator[list[np.ndarray]]:
        for number, line in enumerate(lines, 1):
            words = line.split()
            if not words:
                continue
            at, sample = 0, []
            try:
                for _, dtype, _ in slots:
                    count = int(words[at])
                    values = words[at + 1 : at + 1 + count]
                    if len(values) < count or count < 0:
                        raise ValueError(f"{count} values are announced, {len(values)} are there")
                    if dtype.kind == "i":  # ids of 64 bits may be written without sign
                        sample.append(np.array([int(v) for v in values], np.uint64).astype(np.int64))
                    else:
                        sample.append(np.array(values, dtype))
                    at += count + 1
            except (ValueError, IndexError, OverflowError) as error:
                name = slots[len(sample)][0]
                raise errors.ValueError_(f"data set: line {number} of {path}, slot {name}: {error}") from None
            yield sample

    def _batches(self) -> Iterator[dict[str, np.ndarray]]:
        """Feeds of a program."""
        slots, batch = self._slots(), []
        with contextlib.closing(self._samples()) as samples:  # type: ignore[type-var]
            for sample in samples:
                batch.append(sample)
                if len(batch) == self._settings["batch_size"]:
                    yield _joined(slots, batch)
                    batch = []
        if batch:
            yield _joined(slots, batch)


def _joined(slots: list, batch: list[list[np.ndarray]]) -> dict[str, np.ndarray]:
    out = {}
    for i, (name, dtype, shape) in enumerate(slots):
        values = [sample[i] for sample in batch]
        if -1 in shape:  # as long as the longest, with zeros at the end
            if shape != [-1]:
                raise errors.ValueError_(f"data set: slot {name} may have one open length, as [-1, -1], got {shape}")
            width = max(len(v) for v in values)
            out[name] = np.zeros((len(batch), width), dtype)
            for row, v in zip(out[name], values):
                row[: len(v)] = v
            continue
        wanted = math.prod(shape)
        wrong = next((len(v) for v in values if len(v) != wanted), None)
        if wrong is not None:
            raise errors.ValueError_(
                f"data set: slot {name} has {wrong} values in a sample, its input of shape {[-1, *shape]} takes {wanted}; "
                "an input of shape [-1, -1] takes any number"
            )
        out[name] = np.stack(values).reshape(len(batch), *shape)
    return out


class QueueDataset(DatasetBase):
    """Reads its files anew in each pass, without keeping them.

    Example:
        >>> dataset = paddle.distributed.QueueDataset()
        >>> dataset.init(batch_size=2, pipe_command="cat")
        >>> dataset.set_filelist([])
    """


class InMemoryDataset(DatasetBase):
    """Reads its files into memory, where samples can be shuffled, also between workers.

    Example:
        >>> dataset = paddle.distributed.InMemoryDataset()
        >>> dataset.init(batch_size=2)
        >>> dataset.get_memory_data_size()
        0
    """

    _known = _IGNORED

    def __init__(self) -> None:
        super().__init__()
        self._memory: list[list[np.ndarray]] = []
        self._preloading: threading.Thread | None = None
        self._problem: BaseException | None = None
        self._shuffled = 0

    def update_settings(self, **kwargs: Any) -> None:
        """Change settings, see `init`."""
        self._set(kwargs)

    def _init_distributed_settings(self, **kwargs: Any) -> None:
        self._set(kwargs)

    def _samples(self) -> Iterator[list[np.ndarray]]:
        yield from self._memory

    def load_into_memory(self, is_shuffle: bool = False) -> None:
        """Read the files; with `is_shuffle` shuffle the samples."""
        self._memory = list(super()._samples())
        if is_shuffle:
            self.local_shuffle()

    def preload_into_memory(self, thread_num: int | None = None) -> None:
        """Read the files in a thread; see `wait_preload_done`."""

        def load() -> None:
            try:
                self.load_into_memory()
            except BaseException as error:
                self._problem = error

        self._preloading = threading.Thread(target=load, daemon=True)
        self._preloading.start()

    def wait_preload_done(self) -> None:
        """Wait until `preload_into_memory` has read all."""
        if self._preloading is not None:
            self._preloading.join()
            self._preloading = None
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem

    def local_shuffle(self) -> None:
        """Shuffle the samples of this worker (by the generator of `random`)."""
        random.shuffle(self._memory)

    def global_shuffle(self, fleet: Any = None, thread_num: int = 12) -> None:
        """Shuffle the samples of all workers among them.

        Args:
            fleet: `paddle.distributed.fleet`; None: of this worker only.
        """
        if fleet is not None and fleet.worker_num() > 1:
            size, rank = fleet.worker_num(), fleet.worker_index()
            parts: list[list] = [[] for _ in range(size)]
            for sample in self._memory:
                parts[random.randrange(size)].append(sample)
            self._memory = [s for everyone in fleet.util.all_gather(parts) for s in everyone[rank]]
        self.local_shuffle()
        self._shuffled = len(self._memory)

    def release_memory(self) -> None:
        """Forget the samples."""
        self._memory = []

    def get_memory_data_size(self, fleet: Any = None) -> int:
        """The number of samples; of all workers when `fleet` is given."""
        return _over_workers(len(self._memory), fleet)

    def get_shuffle_data_size(self, fleet: Any = None) -> int:
        """The number of samples after `global_shuffle`; of all workers when `fleet` is given."""
        return _over_workers(self._shuffled, fleet)

    def slots_shuffle(self, slots: list[str]) -> None:
        """Shuffle the values of some slots among the samples, by which one sees what they are worth."""
        names = [name for name, *_ in self._slots()]
        for slot in slots:
            if slot not in names:
                raise errors.ValueError_(f"slots_shuffle: there is no slot {slot!r}; there are {names}")
            i = names.index(slot)
            values = [sample[i] for sample in self._memory]
            random.shuffle(values)
            self._memory = [[*s[:i], v, *s[i + 1 :]] for s, v in zip(self._memory, values)]

    def set_date(self, date: str) -> None:
        """Not built: tables on GPUs, which are loaded by date."""
        raise errors.NotImplemented_("InMemoryDataset.set_date")

    def tdm_sample(
        self,
        tree_name: str,
        tree_path: str,
        tdm_layer_counts: list[int],
        start_sample_layer: int,
        with_hierarchy: bool,
        seed: int,
        id_slot: int,
    ) -> None:
        """Not built: samples from index trees."""
        raise errors.NotImplemented_("InMemoryDataset.tdm_sample")


def _over_workers(count: int, fleet: Any) -> int:
    return count if fleet is None else int(fleet.util.all_reduce(np.array([count]), "sum")[0])


def run_batches(
    executor: Any,
    name: str,
    program: Any,
    dataset: Any,
    scope: Any,
    debug: bool,
    fetch_list: Any,
    fetch_info: Any,
    print_period: int,
    fetch_handler: Any,
) -> None:
    """What `train_from_dataset` and `infer_from_dataset` do."""
    if not isinstance(dataset, DatasetBase):
        raise errors.TypeError_(
            f"{name}: dataset must be a QueueDataset or InMemoryDataset, got {errors.describe(dataset)}"
        )
    if fetch_handler is not None:
        raise errors.NotImplemented_(f"{name}: fetch_handler")
    fetches = list(fetch_list or [])
    infos = list(fetch_info or [getattr(f, "name", f) for f in fetches])
    if len(infos) != len(fetches):
        raise errors.ValueError_(f"{name}: fetch_info must have an entry for each of fetch_list")
    for number, feed in enumerate(dataset._batches()):
        show = fetches and (number + 1) % print_period == 0
        found = executor.run(program, feed=feed, fetch_list=fetches if show else [], scope=scope)
        if show:
            text = ", ".join(f"{info}: {np.asarray(value)}" for info, value in zip(infos, found))
            print(f"batch {number + 1}: {text}", flush=True)
