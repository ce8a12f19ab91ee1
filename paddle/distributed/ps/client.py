"""What a worker does with the servers: pulls and pushes of whole batches, one message for each server."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

import numpy as np

from ...engine import errors
from .rows import owners
from .server import commit
from .tables import SparseTable


class Plan:
    """Where the rows of a batch of ids are: the different ids, sorted by server, and how to get back.

    Attributes:
        ids: the different ids, those of server 0 first.
        bounds: where those of each server start, and the end.
        inverse: the position in `ids` of each id of the batch.
    """

    def __init__(self, batch: np.ndarray, servers: int):
        self.batch = batch
        self._order = np.argsort(batch)  # the one sort that all below makes use of
        ordered = batch[self._order]
        new = np.ones(len(batch), bool)
        np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
        self._starts = np.flatnonzero(new)
        unique, inverse = ordered[self._starts], np.empty(len(batch), np.int64)
        inverse[self._order] = np.cumsum(new) - 1
        self._by_server: Any = slice(None)
        if servers == 1:
            self.ids, self.inverse, self.bounds = unique, inverse, np.array([0, len(unique)])
            return
        owner = owners(unique, servers)
        self._by_server = np.argsort(owner, kind="stable")
        back = np.empty_like(self._by_server)
        back[self._by_server] = np.arange(len(back))
        self.ids, self.inverse = unique[self._by_server], back[inverse]
        self.bounds = np.searchsorted(owner[self._by_server], np.arange(servers + 1))

    def part(self, server: int) -> slice:
        return slice(self.bounds[server], self.bounds[server + 1])

    def summed(self, values: np.ndarray) -> np.ndarray:
        """The sums over the batch of the values of each different id."""
        if not len(self._starts):
            return values[:0]
        return np.add.reduceat(values[self._order], self._starts, axis=0)[self._by_server]

    def counts(self) -> np.ndarray:
        return np.bincount(self.inverse, minlength=len(self.ids)).astype(np.float32)


class Client:
    """The servers as a worker sees them.

    Args:
        transport: the way to them, see `transport`.
        servers: how many there are.
        worker, workers: the number of this worker and how many there are.
        together: workers wait for each other in each step; the servers apply averages.
        queued: how many pushes may be on their way while the worker goes on; 0: it waits for each.

    Example:
        >>> import numpy as np
        >>> from paddle.distributed.ps import Client, Local, Server
        >>> client = Client(Local([Server(i, 2) for i in range(2)]), 2)
        >>> client.create([dict(name="t", width=1, initializer=("constant", 0.0), update=("sgd", {}))])
        >>> ids = np.array([5, 10**15, 5])
        >>> client.push({"t": (ids, np.ones((3, 1), "float32"))}, {}, lr=1.0)
        >>> client.pull({"t": ids})["t"].ravel().tolist()
        [-2.0, -1.0, -2.0]
    """

    def __init__(
        self,
        transport: Any,
        servers: int,
        worker: int = 0,
        workers: int = 1,
        together: bool = False,
        queued: int = 0,
    ):
        self.transport, self.servers = transport, servers
        self.worker, self.workers = worker, workers
        self.together = together
        self.step = self._meetings = 0
        self.entries: dict[str, Any] = {}  # the entry policy of each table
        self._dense_owner: dict[str, int] = {}
        self._versions = [-1] * servers
        self._dense: dict[str, np.ndarray] = {}
        self._plans: dict[str, Plan] = {}
        self.messages = 0
        self._queue: queue.Queue | None = None
        self._problem: BaseException | None = None
        if queued > 0:
            self._queue = queue.Queue(queued)
            threading.Thread(target=self._send_queued, daemon=True).start()

    # ---- calls ----
    def _all(self, method: str, *args: Any) -> list:
        return self._each(method, {s: args for s in range(self.servers)})

    def _each(self, method: str, arguments: dict[int, tuple]) -> list:
        self.messages += len(arguments)
        return self.transport.call({server: (method, *args) for server, args in arguments.items()})

    def _plan(self, table: str, ids: np.ndarray) -> Plan:
        """The plan of a batch; a push usually follows a pull of the same ids."""
        known = self._plans.get(table)
        if known is None or not (known.batch is ids or np.array_equal(known.batch, ids)):
            if ids.ndim != 1 or ids.dtype.kind not in "iu":
                raise errors.ValueError_(
                    f"parameter server: ids of table {table} must be one row of integers, got {ids.dtype}{list(ids.shape)}"
                )
            known = self._plans[table] = Plan(ids, self.servers)
        return known

    # ---- tables ----
    def create(self, sparse: list[dict], dense: dict[str, tuple] | None = None) -> None:
        """Make tables and parameters on the servers, see `Server.create`. A parameter lies on the server that has least."""
        dense = dense or {}
        self.assign({name: value.size for name, (value, _) in dense.items()})
        self.entries |= {spec["name"]: spec.get("entry") for spec in sparse}
        self._each(
            "create",
            {
                s: (sparse, {n: about for n, about in dense.items() if self._dense_owner[n] == s})
                for s in range(self.servers)
            },
        )

    def assign(self, sizes: dict[str, int]) -> None:
        """Decide which server holds which dense parameter; the same in all workers."""
        load = [0] * self.servers
        for name in sorted(sizes, key=lambda n: (-sizes[n], n)):
            self._dense_owner[name] = server = load.index(min(load))
            load[server] += sizes[name]

    def pull(self, batches: dict[str, np.ndarray], create: bool = False) -> dict[str, np.ndarray]:
        """Rows of tables, float32 [ids, width] each; one message for each server.

        Args:
            batches: ids by table, int64 [n], which may repeat.
            create: make the rows that are not there yet, see `SparseTable.pull`.
        """
        return self.pull_all(batches, create, False)[0]

    def pull_all(
        self, batches: dict[str, np.ndarray], create: bool = False, dense: bool = True
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """(rows by table, dense parameters by name); parameters that have not changed do not travel."""
        self._check()
        plans = {table: self._plan(table, ids) for table, ids in batches.items()}
        asked = {}
        for s in range(self.servers):
            requests = [(table, plan.ids[plan.part(s)], create) for table, plan in plans.items()]
            asked[s] = (requests, self._versions[s] if dense else None)
        answers = self._each("pull", asked)
        for s, (_, version, values) in enumerate(answers):
            if values is not None:
                self._versions[s] = version
                self._dense |= values
        found = {
            table: np.concatenate([answer[0][i] for answer in answers])[plan.inverse]
            for i, (table, plan) in enumerate(plans.items())
        }
        return found, self._dense

    def push(
        self,
        sparse: dict[str, tuple],
        dense: dict[str, np.ndarray],
        lr: float,
    ) -> None:
        """Gradients of a batch; one message for each server.

        Args:
            sparse: table -> (ids [n], gradients [n, width]), or with shows and clicks, [n] each, as well.
            dense: gradients by name.
            lr: the learning rate.

        Raises:
            RuntimeError: a server or another worker has ended.
        """
        self._check()
        parts: list[list[tuple]] = [[] for _ in range(self.servers)]
        for table, (ids, gradients, *looks) in sparse.items():
            plan = self._plan(table, ids)
            if np.ndim(gradients) != 2 or len(gradients) != len(ids):
                raise errors.ValueError_(
                    f"parameter server: gradients of table {table} must have a row for each of the {len(ids)} ids, got shape "
                    f"{list(np.shape(gradients))}"
                )
            sums = plan.summed(np.ascontiguousarray(gradients, np.float32))
            extra: list = [plan.counts() if self.entries.get(table) else None, None, None]
            if looks:
                extra[1:] = [plan.summed(np.asarray(x, np.float32).reshape(-1)) for x in looks]
            for s in range(self.servers):
                part = plan.part(s)
                parts[s].append((table, plan.ids[part], sums[part], *[None if e is None else e[part] for e in extra]))
        message = {
            s: (
                self.worker,
                self.step,
                parts[s],
                {n: g for n, g in dense.items() if self._dense_owner[n] == s},
                lr,
                self.together,
            )
            for s in range(self.servers)
        }
        self.step += 1
        if self._queue is None:
            self._each("push", message)
        else:
            self._queue.put(message)

    def exchange(
        self, sparse: dict[str, tuple[np.ndarray, np.ndarray]], dense: dict[str, np.ndarray]
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Add differences and get the new values: (rows by table, parameters by name); one message for each server.

        Args:
            sparse: table -> (different ids, differences).
            dense: differences by name.
        """
        plans = {table: self._plan(table, ids) for table, (ids, _) in sparse.items()}
        arguments = {}
        for s in range(self.servers):
            part = [(t, p.ids[p.part(s)], p.summed(sparse[t][1])[p.part(s)]) for t, p in plans.items()]
            own = {n: d for n, d in dense.items() if self._dense_owner[n] == s}
            arguments[s] = (self.worker, self.step, part, own)
        self.step += 1
        answers = self._each("exchange", arguments)
        rows = {
            table: np.concatenate([answer[0][i] for answer in answers])[plan.inverse]
            for i, (table, plan) in enumerate(plans.items())
        }
        return rows, {n: v for _, values in answers for n, v in values.items()}

    def put_dense(self, values: dict[str, np.ndarray]) -> None:
        """Overwrite dense parameters."""
        self._each(
            "put_dense",
            {s: ({n: v for n, v in values.items() if self._dense_owner[n] == s},) for s in range(self.servers)},
        )

    # ---- pushes that wait ----
    def _send_queued(self) -> None:
        assert self._queue is not None
        while True:
            message = self._queue.get()
            try:
                if self._problem is None:
                    self._each("push", message)
            except BaseException as error:
                self._problem = error
            finally:
                self._queue.task_done()

    def _check(self) -> None:
        if self._problem is not None:
            raise self._problem

    def flush(self) -> None:
        """Wait until all pushes have been applied."""
        if self._queue is not None:
            self._queue.join()
        self._check()

    # ---- together ----
    def hello(self) -> None:
        """Say that this worker is there. ValueError when the servers expect another number of workers."""
        for s, about in enumerate(self._all("hello", self.worker)):
            if about["workers"] != self.workers:
                raise errors.ValueError_(
                    f"{self.transport.where(s)} expects {about['workers']} workers, this one is of {self.workers} "
                    "(PADDLE_TRAINERS_NUM)"
                )

    def meet(self, value: Any = None) -> list:
        """Wait until all workers have come here; what each of them has brought."""
        self.flush()
        self._meetings += 1
        arguments = {s: (self.worker, self._meetings, value if s == 0 else None) for s in range(self.servers)}
        return self._each("meet", arguments)[0]

    def leave(self) -> None:
        """This worker has finished; servers end when all have."""
        self.flush()
        self._all("leave", self.worker)
        self.transport.close()

    # ---- files ----
    def save(self, folder: str, names: list[str] | None = None) -> None:
        """Let the servers write their tables into a folder; whole or not at all.

        Args:
            folder: one that the servers and this worker see.
            names: of tables; default: all, and the dense parameters.
        """
        self.flush()
        commit(folder, self._all("save", folder, f"v{time.time_ns()}", names))

    def load(self, folder: str, names: list[str] | None = None) -> None:
        """Let the servers read tables that were saved, also by another number of servers; ValueError, and nothing has
        changed, when a file is missing or damaged."""
        self.flush()
        self._all("load", folder, names, True)
        self._all("load", folder, names)
        self._versions = [-1] * self.servers

    def shrink(self, threshold: float | None = None, names: list[str] | None = None) -> int:
        """Forget rows that matter little, see `SparseTable.shrink`; how many."""
        self.flush()
        return sum(self._all("shrink", threshold, names))

    def statistics(self) -> list[dict]:
        """Of each server: rows and pushes of the sparse tables, names of the dense parameters."""
        self.flush()
        return self._all("statistics")


class GeoClient:
    """Training on copies of the rows that are used here; differences are exchanged now and then. Those of dense parameters
    are averaged over all workers, those of a row over the workers that change it.

    Args:
        client: the servers; their tables have the update "sum".
        tables: the arguments of `SparseTable` of the copies, with the updates of training.
        period: after how many steps differences are exchanged.
    """

    def __init__(self, client: Client, tables: list[dict], period: int):
        self.client, self.period = client, period
        self.entries = client.entries
        self._tables = {spec["name"]: SparseTable(**spec) for spec in tables}
        # without an update of its own: what the servers had when this worker last asked
        self._base = {spec["name"]: SparseTable(**{**spec, "update": ("sum", {}), "entry": None}) for spec in tables}
        self._touched: dict[str, list[np.ndarray]] = {spec["name"]: [] for spec in tables}
        self._dense_base: dict[str, np.ndarray] = {}
        self._steps = 0

    def start(self, dense: dict[str, np.ndarray]) -> None:
        """The dense parameters as the servers have them."""
        self._dense_base = {n: np.array(v) for n, v in dense.items()}

    def pull(self, batches: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Rows for a batch, from the copies; those that are not there yet come from the servers."""
        wanted = {}
        for name, ids in batches.items():
            unique = np.unique(ids)
            missing = unique[self._base[name].index.find(unique) < 0]
            if len(missing):
                wanted[name] = missing
        if wanted:
            for name, rows in self.client.pull(wanted).items():
                self._tables[name].put(wanted[name], rows)
                self._base[name].put(wanted[name], rows)
        out = {}
        for name, ids in batches.items():
            unique, inverse = np.unique(ids, return_inverse=True)
            out[name] = self._tables[name].pull(unique)[inverse]
        return out

    def push(self, sparse: dict[str, tuple], lr: float) -> None:
        """Apply gradients of a batch to the copies."""
        for name, (ids, gradients, *_) in sparse.items():
            plan = Plan(ids, 1)
            self._tables[name].push(plan.ids, plan.summed(np.ascontiguousarray(gradients, np.float32)), lr)
            self._touched[name].append(plan.ids)

    def due(self) -> bool:
        """Count a step; whether differences are to be exchanged now."""
        self._steps += 1
        return self._steps % self.period == 0

    def exchange(self, dense: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Send the differences of rows and of the dense parameters, which are given as they are here; their new values."""
        share = np.float32(1 / self.client.workers)
        sparse = {}
        for name, touched in self._touched.items():
            if touched:
                ids = np.unique(np.concatenate(touched))
                sparse[name] = (ids, self._tables[name].pull(ids) - self._base[name].pull(ids))
                touched.clear()
        changes = {n: (v - self._dense_base[n]) * share for n, v in dense.items()}
        rows, values = self.client.exchange(sparse, changes)
        for name, new in rows.items():
            self._tables[name].put(sparse[name][0], new)
            self._base[name].put(sparse[name][0], new)
        self._dense_base |= {n: np.array(v) for n, v in values.items()}
        return values
