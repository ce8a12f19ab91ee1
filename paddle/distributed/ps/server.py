"""A parameter server: its tables, the steps of synchronous training, meetings of the workers, files."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import threading
import time
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine import errors
from .rows import owners
from .tables import DenseTable, SparseTable, summed

GRACE = 5.0  # seconds from the end of a worker's connection to its being lost
MANIFEST = "tables.json"
_OURS = re.compile(r"v[0-9-]+\.(\d+|dense)\.\d+\.npz(\.part)?")


class Server:
    """One of the servers of a job. The methods named in `CALLS` are what workers call, from several threads at once.

    Args:
        number: of this server.
        servers, workers: how many there are.
        snapshots: a folder for copies of the tables, from which a server that is started again goes on; None: none.
        period: seconds between them.
        timeout: seconds that workers wait for each other.
    """

    CALLS = frozenset("hello create pull push exchange put_dense meet leave save load shrink statistics".split())

    def __init__(
        self,
        number: int = 0,
        servers: int = 1,
        workers: int = 1,
        snapshots: str | None = None,
        period: float = 30.0,
        timeout: float = 1800.0,
    ):
        self.number, self.servers, self.workers = number, servers, workers
        self.timeout = timeout
        self.tables: dict[str, SparseTable] = {}
        self.dense = DenseTable()
        self._changed = threading.Condition()
        self._rounds: dict[int, dict[int, tuple]] = {}  # step -> pushes by worker
        self._at: dict[int, int] = {}  # the last step that each worker pushed
        self._done: dict[int, int] = {}  # the last step of each worker that was applied
        self._exchanges = 0
        self._idle: set[int] = set()  # workers at a meeting
        self._meetings: dict[int, dict[int, Any]] = {}
        self._came: set[int] = set()
        self._left: set[int] = set()
        self._lost: set[int] = set()
        self._open: dict[int, int] = {}  # connections by worker
        self._loaded: dict[str, dict[str, np.ndarray]] = {}  # dense parameters from files that no worker named yet
        self._snapshots, self._period = snapshots, period
        self._snapshot_due, self._saving = threading.Event(), threading.Lock()
        if snapshots is not None:
            folder = self._snapshot_folder()
            if os.path.exists(os.path.join(folder, MANIFEST)):
                self.load(folder)
                for name, update in [(n, u) for part in read_manifest(folder) for n, u in part["updates"].items()]:
                    self._add_dense(name, self._loaded[name][f"value/{name}"], _tuple(update))
            threading.Thread(target=self._keep_snapshots, daemon=True).start()

    def handle(self, call: tuple) -> Any:
        """Run a call of a worker: (name of a method, arguments)."""
        method, *args = call
        if method not in self.CALLS:
            raise errors.ValueError_(f"parameter server: there is no call {method!r}")
        return getattr(self, method)(*args)

    # ---- tables ----
    def create(self, sparse: list[dict], dense: dict[str, tuple]) -> None:
        """Make tables and parameters; those that exist stay as they are.

        Args:
            sparse: arguments of `SparseTable`.
            dense: name -> (first value, arguments of `Update`).
        """
        with self._changed:
            for spec in sparse:
                known = self.tables.get(spec["name"])
                if known is None:
                    self.tables[spec["name"]] = SparseTable(**spec)
                elif known.width != spec["width"]:
                    raise errors.ValueError_(
                        f"parameter server: table {spec['name']} has rows of length {known.width}, asked for is "
                        f"{spec['width']}"
                    )
            for name, (value, update) in dense.items():
                self._add_dense(name, value, update)
        self._snapshot_due.set()

    def _add_dense(self, name: str, value: np.ndarray, update: tuple) -> None:
        self.dense.add(name, value, update)
        if name in self._loaded:
            self.dense.take(self._loaded.pop(name))

    def _table(self, name: str) -> SparseTable:
        found = self.tables.get(name)
        if found is None:
            raise errors.RuntimeError_(
                f"parameter server {self.number} has no table {name!r}; it has {', '.join(self.tables) or 'none'}. "
                "Call fleet.init_worker() in all workers"
            )
        return found

    def pull(self, requests: list[tuple], version: int | None = None) -> tuple:
        """Rows and dense parameters.

        Args:
            requests: (table, different ids, whether to create rows).
            version: of the dense parameters that the worker has; None: it wants none.

        Returns:
            (list of arrays of rows, version, parameters by name or None).
        """
        rows = [self._table(name).pull(ids, create) for name, ids, create in requests]
        return (rows, *((None, None) if version is None else self.dense.pull(version)))

    def push(self, worker: int, step: int, sparse: list[tuple], dense: dict, lr: float, together: bool) -> None:
        """Gradients of a step. A step that came before is not applied again.

        Args:
            sparse: (table, different ids, gradients, counts, shows, clicks).
            dense: gradients by name.
            together: wait for the same step of the other workers and apply the average.
        """
        if not together:
            with self._changed:
                if step <= self._done.get(worker, -1):
                    return
                self._done[worker] = step
            self._apply(sparse, dense, lr)
            return
        with self._changed:
            if step <= self._done.get(worker, -1):
                return
            self._idle.discard(worker)
            self._at[worker] = step
            self._rounds.setdefault(step, {})[worker] = (sparse, dense, lr)
            self._apply_complete()
            self._wait(
                lambda: self._done.get(worker, -1) >= step, lambda: self._absent(step), f"step {step} of training"
            )

    def _absent(self, step: int) -> set[int]:
        """The workers whose part of a step is still to come."""
        there = set(self._rounds.get(step, ())) | self._idle | self._left
        return {w for w in range(self.workers) if w not in there and self._at.get(w, -1) <= step}

    def _apply_complete(self) -> None:
        for step in sorted(self._rounds):
            if self._absent(step):
                break
            pushes = self._rounds.pop(step)
            self._apply(*_average(list(pushes.values())))
            for worker in pushes:
                self._done[worker] = step
        self._changed.notify_all()

    def _apply(self, sparse: list[tuple], dense: dict, lr: float) -> None:
        for name, ids, gradients, counts, shows, clicks in sparse:
            self._table(name).push(ids, gradients, lr, counts, shows, clicks)
        self.dense.push(dense, lr)

    def exchange(self, worker: int, step: int, sparse: list[tuple], dense: dict) -> tuple:
        """Add differences to rows (see `SparseTable.add`) and parameters and give their new values: (list of rows,
        parameters by name).

        Args:
            sparse: (table, different ids, differences).
            dense: differences by name.
        """
        with self._changed:
            again = step <= self._done.get(worker, -1)
            self._done[worker] = step
            self._exchanges += not again
            round_ = self._exchanges // self.workers
        for name, ids, difference in sparse:
            if not again:
                self._table(name).add(ids, difference, worker, round_)
        if not again:
            self.dense.push(dense, 1.0)
        _, values = self.dense.pull()
        return [self._table(name).pull(ids) for name, ids, _ in sparse], {n: values[n] for n in dense}  # type: ignore[index]

    def put_dense(self, values: dict) -> None:
        """Overwrite dense parameters."""
        self.dense.put(values)

    # ---- workers ----
    def hello(self, worker: int) -> dict:
        """A worker says that it is there."""
        with self._changed:
            self._came.add(worker)
            self._lost.discard(worker)
        return {"workers": self.workers, "tables": list(self.tables)}

    def meet(self, worker: int, number: int, value: Any) -> list:
        """Wait until all workers have come to the meeting of this number; what each has brought."""
        with self._changed:
            meeting = self._meetings.setdefault(number, {})
            meeting[worker] = value
            self._idle.add(worker)
            self._apply_complete()
            absent = lambda: {w for w in range(self.workers) if w not in meeting and w not in self._left}
            if not absent():
                self._idle.clear()  # before anybody goes on
                self._meetings.pop(number - 2, None)  # nobody asks for it again
            self._wait(lambda: not absent(), absent, "a barrier")
            return [meeting.get(w) for w in range(self.workers)]

    def _wait(self, over: Callable[[], bool], absent: Callable[[], set], what: str) -> None:
        self._changed.wait_for(lambda: over() or absent() & self._lost, self.timeout)
        if over():
            return
        lost = absent() & self._lost
        names = ", ".join(map(str, sorted(lost or absent())))
        if lost:
            raise errors.RuntimeError_(
                f"parameter server: worker {names} has ended unexpectedly; others wait for it in {what}"
            )
        raise errors.RuntimeError_(
            f"parameter server: worker {names} did not come to {what} within {self.timeout:g} seconds"
        )

    def leave(self, worker: int) -> None:
        """A worker has finished."""
        with self._changed:
            self._left.add(worker)
            self._apply_complete()

    def finished(self) -> bool:
        """Whether all workers have left."""
        return self._left >= set(range(self.workers))

    def connected(self, worker: int) -> None:
        """A connection of a worker is there (called by the transport)."""
        with self._changed:
            self._open[worker] = self._open.get(worker, 0) + 1

    def disconnected(self, worker: int) -> None:
        """A connection of a worker has ended; the worker is lost unless it left or comes again soon."""
        with self._changed:
            self._open[worker] = self._open.get(worker, 1) - 1
        timer = threading.Timer(GRACE, self._lose, (worker,))
        timer.daemon = True
        timer.start()

    def _lose(self, worker: int) -> None:
        with self._changed:
            if self._open.get(worker, 0) <= 0 and worker not in self._left:
                self._lost.add(worker)
                self._changed.notify_all()

    def wait(self, patience: float) -> None:
        """Return when all workers have left.

        Args:
            patience: seconds in which all of them must have come.

        Raises:
            RuntimeError: workers ended without leaving, or never came.
        """
        start = time.monotonic()
        everyone = set(range(self.workers))
        with self._changed:
            while not self._left | self._lost >= everyone:
                self._changed.wait(1.0)
                if time.monotonic() > start + patience:
                    self._lost |= everyone - self._came
            lost = self._lost - self._left
        if lost:
            names = ", ".join(map(str, sorted(lost)))
            raise errors.RuntimeError_(
                f"parameter server {self.number}: worker {names} has ended without fleet.stop_worker(), or never came"
            )

    # ---- files ----
    def save(self, folder: str, version: str, names: list[str] | None = None) -> dict:
        """Write the tables of this server into `folder`; they count once the manifest names them (see `commit`)."""
        os.makedirs(folder, exist_ok=True)
        files = {}
        for name, table in list(self.tables.items()):
            if names is None or name in names:
                files[name] = f"{version}.{len(files)}.{self.number}.npz"
                _write(os.path.join(folder, files[name]), table.contents())
        dense = None
        if names is None and self.dense.values:
            dense = f"{version}.dense.{self.number}.npz"
            _write(os.path.join(folder, dense), self.dense.contents())
        specs = {name: self.tables[name].spec for name in files}
        return {"sparse": files, "specs": specs, "dense": dense, "updates": dict(self.dense.specs)}

    def load(self, folder: str, names: list[str] | None = None, only_check: bool = False) -> None:
        """Read what is this server's of saved tables, also of another number of servers; all or, when something is wrong,
        nothing. ValueError for damaged files and rows of another length."""
        sparse: list[tuple[str, dict, dict]] = []
        dense: dict[str, dict[str, np.ndarray]] = {}
        for part in read_manifest(folder):
            for name, file in part["sparse"].items():
                if names is not None and name not in names:
                    continue
                spec = {k: _tuple(v) for k, v in part["specs"][name].items()}
                contents = _read(os.path.join(folder, file))
                width = self.tables[name].width if name in self.tables else spec["width"]
                if contents["rows"].shape != (len(contents["ids"]), width):
                    raise errors.ValueError_(
                        f"table {name} has rows of length {width}, {file} in {folder} has {list(contents['rows'].shape)}"
                    )
                mine = owners(contents["ids"], self.servers) == self.number
                sparse.append((name, spec, {n: c[mine] for n, c in contents.items()}))
            if part["dense"] and names is None:
                for key, array in _read(os.path.join(folder, part["dense"])).items():
                    dense.setdefault(key.split("/", 1)[1], {})[key] = array
        if only_check:
            return
        for name, spec, contents in sparse:
            if name not in self.tables:
                self.tables[name] = SparseTable(**spec)
            self.tables[name].take(contents)
        for name, contents in dense.items():
            if name in self.dense.values:
                self.dense.take(contents)
            else:
                self._loaded[name] = contents

    def shrink(self, threshold: float | None, names: list[str] | None = None) -> int:
        """Forget rows of sparse tables, see `SparseTable.shrink`; how many."""
        return sum(t.shrink(threshold) for n, t in list(self.tables.items()) if names is None or n in names)

    def statistics(self) -> dict:
        """Rows and pushes of each sparse table, and the names of the dense parameters."""
        return {
            "sparse": {n: {"rows": t.size, "pushes": t.changes} for n, t in self.tables.items()},
            "dense": list(self.dense.values),
        }

    def _snapshot_folder(self) -> str:
        return os.path.join(self._snapshots, f"server.{self.number}")  # type: ignore[arg-type]

    def _keep_snapshots(self) -> None:
        number = 0
        while True:
            self._snapshot_due.wait(self._period)
            self._snapshot_due.clear()
            number += 1
            with contextlib.suppress(OSError):  # a full disk must not end the training
                self.snapshot(f"v{os.getpid()}-{number}")

    def snapshot(self, version: str) -> None:
        """Write a copy of the tables for a server that is started again."""
        folder = self._snapshot_folder()
        with self._saving:
            if self.tables or self.dense.values:
                commit(folder, [self.save(folder, version)])


def _average(pushes: list[tuple]) -> tuple:
    """The pushes of several workers as one: averages of the gradients."""
    n = len(pushes)
    if n == 1:
        return pushes[0]
    dense: dict[str, np.ndarray] = {}
    sparse: dict[str, list[tuple]] = {}
    for part, gradients, _ in pushes:
        for name, gradient in gradients.items():
            dense[name] = dense[name] + gradient / n if name in dense else gradient / n
        for name, *rest in part:
            sparse.setdefault(name, []).append(rest)
    merged = []
    for name, parts in sparse.items():
        ids = np.concatenate([p[0] for p in parts])
        unique, gradients = summed(ids, np.concatenate([p[1] for p in parts]))
        extra = [
            None if parts[0][i] is None else summed(ids, np.concatenate([p[i] for p in parts]))[1] for i in (2, 3, 4)
        ]
        merged.append((name, unique, gradients / np.float32(n), *extra))
    return merged, dense, pushes[0][2]


# ---- files that are there as a whole or not at all ----


def _write(path: str, arrays: dict[str, np.ndarray]) -> None:
    with open(path + ".part", "wb") as f:
        np.savez(f, **arrays)
        f.flush()
        os.fsync(f.fileno())
    os.replace(path + ".part", path)


def _read(path: str) -> dict[str, np.ndarray]:
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as found:
            return dict(found)
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise errors.ValueError_(f"{path} is missing or damaged ({error})") from None


def _tuple(value: Any) -> Any:
    return tuple(_tuple(v) for v in value) if isinstance(value, list) else value


def commit(folder: str, parts: list[dict]) -> None:
    """Let the saved tables be those that the servers have just written, and take away older ones."""
    path = os.path.join(folder, MANIFEST)
    with open(path + ".part", "w") as f:
        json.dump({"format": 1, "parts": parts}, f)
        f.flush()
        os.fsync(f.fileno())
    os.replace(path + ".part", path)
    named = {file for part in parts for file in (*part["sparse"].values(), part["dense"])}
    for file in os.listdir(folder):
        if _OURS.fullmatch(file) and file not in named:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, file))


def read_manifest(folder: str) -> list[dict]:
    """What was saved in a folder. ValueError when that is nothing, or something else."""
    try:
        with open(os.path.join(folder, MANIFEST)) as f:
            found = json.load(f)
        if found["format"] != 1:
            raise KeyError(f"format {found['format']}")
        for part in found["parts"]:
            for file in (*part["sparse"].values(), *([part["dense"]] if part["dense"] else [])):
                if not _OURS.fullmatch(file):
                    raise KeyError(file)
            part["specs"], part["updates"]
        return found["parts"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise errors.ValueError_(f"{folder} holds no tables of parameter servers ({MANIFEST}: {error})") from None


def forget(folder: str) -> None:
    """Take away a folder of snapshots."""
    shutil.rmtree(folder, ignore_errors=True)
