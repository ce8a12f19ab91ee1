"""Training with parameter servers: what `fleet` does in workers and servers."""

from __future__ import annotations

import os
import weakref
import zlib
from typing import Any

import numpy as np

from ....engine import errors
from ....engine.modes import set_mode
from ....engine.random import generator
from ....engine.tensor import Tensor
from ... import ps
from ...ps import program as programs
from ...ps.rows import initializer_kind
from ...ps.rules import update_of

_PATIENCE = 600.0  # seconds that servers wait for workers to come


def _environ(name: str, default: Any) -> Any:
    value = os.environ.get(name)
    return default if not value else type(default)(value)


def snapshots() -> str | None:
    """The folder for copies of tables."""
    return os.environ.get("PADDLE_XLA_PS_SNAPSHOTS") or None


class ParameterServerRuntime:
    """One process of a job with parameter servers.

    Args:
        role: a role maker.
        strategy: a DistributedStrategy: `a_sync` and `k_steps` of `a_sync_configs` choose the mode.

    The variables PADDLE_XLA_PS (ray), PADDLE_XLA_PS_SNAPSHOTS (a folder), PADDLE_XLA_PS_SNAPSHOT_SECONDS and
    PADDLE_XLA_PS_TIMEOUT (seconds that workers wait for each other) are read.
    """

    def __init__(self, role: Any, strategy: Any):
        self.role, self.strategy = role, strategy
        self.tables: dict[str, dict] = {}  # the sparse tables, as arguments of SparseTable
        self.dense: dict[str, tuple] = {}  # dense parameter -> (shape, update)
        self.client: ps.Client | None = None
        self.geo: ps.GeoClient | None = None
        self.scope: Any = None
        self._changed: weakref.WeakSet = weakref.WeakSet()  # programs that pull and push
        self._server: ps.Server | None = None
        self._rewritten: Any = None  # the program before its lookups became pulls
        self._eager: dict[str, Tensor] = {}  # parameters of eager training by name

    # ---- how ----
    @property
    def mode(self) -> str:
        """sync, async or geo."""
        if not self.strategy.a_sync:
            return "sync"
        return "geo" if self.period > 0 else "async"

    @property
    def period(self) -> int:
        return int(self.strategy.a_sync_configs["k_steps"])

    def _client(self) -> ps.Client:
        if self.client is None:
            raise errors.RuntimeError_("parameter server: call fleet.init_worker() before training")
        return self.client

    def _spec(self, parameter: Any, optimizer: Any, seed: int) -> dict:
        name = parameter.name
        who = f"fleet.minimize: table {name}"
        entry = getattr(parameter, "entry", None)
        policy = None if entry is None else entry._policy()
        if policy is not None and self.mode == "geo":
            raise errors.NotImplemented_(f"{who}: entry policies with k_steps > 0")
        shape = tuple(int(n) for n in parameter.shape)
        if parameter.dtype.name != "float32":
            raise errors.TypeError_(f"{who}: tables of parameter servers are float32, got {parameter.dtype.name}")
        return {
            "name": name,
            "width": shape[1],
            "initializer": initializer_kind(getattr(parameter, "row_initializer", None), shape, who),
            "update": update_of(optimizer, parameter, who),
            "entry": policy,
            "seed": zlib.crc32(name.encode()) ^ seed,
        }

    # ---- programs ----
    def minimize(
        self, optimizer: Any, loss: Tensor, startup_program: Any, parameter_list: Any, no_grad_set: Any
    ) -> tuple[list, list]:
        """Add gradients and what the workers and servers do to the program of the loss."""
        from ....optimizer.program import _clipped, add_step
        from ....static import backward, default_startup_program
        from ....static import program as static_program
        from ....static.backward import training_part

        if self.role._is_server():  # a server does not train
            return [], []
        recorder = backward.recorder_of([loss])
        main = recorder.graph
        if main in self._changed:
            raise errors.NotImplemented_(
                "fleet.minimize: a second loss in one program with parameter servers; add them up"
            )
        sparse = programs.sparse_parameters(main)
        with programs.without_rows(main, set(sparse)):
            pairs = backward.backward(optimizer, loss, parameter_list, no_grad_set)
        lookups = programs.lookups_of(main, set(sparse))
        seed = main.random_seed or generator().initial_seed()
        self.tables |= {n: self._spec(p, optimizer, seed) for n, p in sparse.items()}
        dense = [(p, g) for p, g in pairs if p.name not in sparse]
        if sparse and any(optimizer._clips()):
            raise errors.NotImplemented_("fleet.minimize: grad_clip together with sparse tables of parameter servers")
        self._rewritten = main.with_operators(list(main.block.operators))
        looks = self._looks(main, sparse)
        pushes = programs.gradients_of(main.block.operators, lookups)
        names = [p.name for p, _ in dense]
        if self.mode == "geo":
            self.dense |= {p.name: (tuple(p.shape), ("sum", {})) for p, _ in dense}
            if dense:
                add_step(recorder, optimizer, dense)
        else:
            who = "fleet.minimize: parameter {}".format
            self.dense |= {p.name: (tuple(p.shape), update_of(optimizer, p, who(p.name))) for p, _ in dense}
            with recorder, set_mode(grad=False, amp=None), training_part(recorder):
                dense = _clipped(recorder, optimizer, dense)
        with training_part(recorder):
            main.block.operators.append(self._push_operator(main, optimizer, pushes, looks, dense))
            main.changed()
        pulled = [] if self.mode == "geo" else names
        for each in list(static_program.programs):  # clones, too
            theirs = programs.lookups_of(each, {n for n in sparse if _same(each, main, n)})
            again = [n for n in pulled if _same(each, main, n)]
            if each is not main and (theirs or again):
                programs.pull_into(each, theirs, again, self._pull)
        programs.pull_into(main, lookups, pulled, self._pull)
        programs.drop_first_values(startup_program or default_startup_program(), set(sparse))
        self._changed.add(main)
        return [], pairs

    def _looks(self, main: Any, sparse: dict[str, Any]) -> dict[str, tuple]:
        """The inputs that count shows and clicks, by table."""
        found = {}
        for name, parameter in sparse.items():
            entry = getattr(parameter, "entry", None)
            inputs = [] if entry is None else entry._inputs()
            for each in inputs:
                if each not in main.inputs:
                    raise errors.ValueError_(
                        f"fleet.minimize: ShowClickEntry of table {name}: there is no input {each!r}"
                    )
            if inputs:
                found[name] = tuple(main.inputs[each] for each in inputs)
        return found

    def _push_operator(self, main: Any, optimizer: Any, pushes: list, looks: dict, dense: list) -> Any:
        lookups = [lookup for lookup, _ in pushes]
        sparse_inputs = [v for lookup, gradient in pushes for v in (lookup.ids, gradient)]
        look_inputs = [v for values in looks.values() for v in values]
        geo = self.mode == "geo"
        dense_names = [p.name for p, _ in dense]
        states = [main.states[n] for n in dense_names]
        dense_inputs = [s.update for s in states] if geo else [g._value for _, g in dense]
        outputs: list[Any] = []
        if geo:  # the parameters after the step, or what the exchange makes of them
            from ....engine.value import Value

            outputs = [Value(s.name, s.value.trials, s.value.dtype) for s in states]
            for state, value in zip(states, outputs):
                state.update = value

        def call(*arrays: np.ndarray) -> list:
            given = list(arrays)
            ids, gradients = given[0 : 2 * len(lookups) : 2], given[1 : 2 * len(lookups) : 2]
            counted = given[2 * len(lookups) : 2 * len(lookups) + len(look_inputs)]
            values = given[2 * len(lookups) + len(look_inputs) :]
            sparse = _by_table(lookups, ids, gradients, looks, counted)
            rate = optimizer.get_lr()
            if not geo:
                self._client().push(sparse, dict(zip(dense_names, values)), rate)
                return []
            self._client()
            assert self.geo is not None
            self.geo.push(sparse, rate)
            if self.geo.due():
                new = self.geo.exchange(dict(zip(dense_names, values)))
                values = [new[n] for n in dense_names]
            return values

        inputs = [*sparse_inputs, *look_inputs, *dense_inputs]
        return programs.on_host("exchange" if geo else "push", call, inputs, outputs, True)

    def _pull(self, batches: dict[str, np.ndarray], dense: bool) -> tuple[dict, dict]:
        client = self._client()
        if self.geo is not None:
            return self.geo.pull(batches), {}
        return client.pull_all(batches, dense=dense)

    # ---- workers ----
    def init_worker(self, scopes: Any = None) -> None:
        """Connect to the servers; worker 0 makes the tables and gives the dense parameters their first values."""
        from ....static import global_scope

        if self.client is not None:
            return
        self.scope = global_scope() if not scopes else scopes[0]
        servers, worker, workers = self.role._server_num(), self.role._worker_index(), self.role._worker_num()
        queued = int(self.strategy.a_sync_configs["send_queue_size"]) if self.mode == "async" and not self._eager else 0
        self.client = ps.Client(
            self._transport(servers, worker, workers), servers, worker, workers, self.mode == "sync", max(queued, 0)
        )
        self.client.hello()
        geo_tables = list(self.tables.values())
        if self.mode == "geo":
            self.geo = ps.GeoClient(self.client, geo_tables, self.period)
            geo_tables = [{**spec, "update": ("sum", {})} for spec in geo_tables]
        self._give(geo_tables, {n: about for n, about in self.dense.items()})
        values = self._current_dense()
        if self.geo is not None:
            self.geo.start(values)
        self._take(values)

    def _give(self, tables: list[dict], dense: dict[str, tuple]) -> None:
        """Worker 0 tells the servers of tables and parameters; the others wait for it."""
        client = self._client()
        client.entries |= {spec["name"]: spec["entry"] for spec in tables}
        client.assign({n: int(np.prod(shape)) for n, (shape, _) in dense.items()})
        if client.worker == 0:
            client.create(tables, {n: (self._first(n), update) for n, (_, update) in dense.items()})
        client.meet()

    def _first(self, name: str) -> np.ndarray:
        if name in self._eager:
            return np.asarray(self._eager[name]._value)
        variable = self.scope.find_var(name)
        if variable is None or variable.array is None:
            raise errors.RuntimeError_(
                f"fleet.init_worker: parameter {name} has no value; run the startup program first"
            )
        return np.asarray(variable.array)

    def _current_dense(self) -> dict[str, np.ndarray]:
        client = self._client()
        client._versions = [-1] * client.servers
        return client.pull_all({})[1]

    def _take(self, values: dict[str, np.ndarray]) -> None:
        """Put dense parameters where the program, or eager code, reads them."""
        for name in self.dense:
            if name in self._eager:
                tensor = self._eager[name]
                tensor._write_array(np.asarray(values[name]).astype(tensor._value.dtype))
            elif name in values:
                self.scope.var(name).set(values[name])

    def _transport(self, servers: int, worker: int, workers: int) -> Any:
        if os.environ.get("PADDLE_XLA_PS", "").lower() == "ray":
            job = os.environ.get("PADDLE_XLA_PS_JOB") or os.environ.get("PADDLE_JOB_ID") or "default"
            return ps.Ray(job, servers, workers, worker, snapshots(), _environ("PADDLE_XLA_PS_SNAPSHOT_SECONDS", 30.0))
        recovers = snapshots() is not None and _environ("PADDLE_XLA_PS_RESTARTS", 0) > 0
        return ps.TCP(self.role._get_pserver_endpoints(), worker, recovers)

    def pull_dense(self) -> None:
        """Bring the dense parameters of this worker up to date."""
        if self.geo is None:
            self._client().flush()
            self._take(self._current_dense())

    def barrier(self) -> None:
        """Wait until all workers have come here and all their pushes are applied."""
        self._client().meet()

    def gather(self, value: Any) -> list:
        return self._client().meet(value)

    def stop_worker(self) -> None:
        """This worker has finished; the servers end when all have."""
        if self.client is None:
            return
        if self.geo is not None:
            self.exchange()
        client, self.client = self.client, None
        client.leave()

    def exchange(self) -> None:
        """With k_steps > 0: send what has not been sent yet."""
        assert self.geo is not None
        new = self.geo.exchange({n: self._first(n) for n in self.dense})
        self._take(new)

    # ---- servers ----
    def init_server(self, dirname: str | None = None, var_names: Any = None, **kwargs: Any) -> None:
        """Make this server, with the tables of a folder if one is given.

        Args:
            dirname: what `save_persistables` wrote.
            var_names: the tables to read; default: all, and the dense parameters.
        """
        number, servers, workers = self.role._server_index(), self.role._server_num(), self.role._worker_num()
        again = _environ("PADDLE_RESTART_COUNT", 0) > 0 or _environ("PADDLE_XLA_PS_STARTS", 0) > 0
        if snapshots() is not None and not again:
            ps.server.forget(os.path.join(snapshots() or "", f"server.{number}"))
        self._server = ps.Server(
            number,
            servers,
            workers,
            snapshots(),
            _environ("PADDLE_XLA_PS_SNAPSHOT_SECONDS", 30.0),
            _environ("PADDLE_XLA_PS_TIMEOUT", ps.transport.TIMEOUT),
        )
        if dirname is not None and not self._server.tables:
            self._server.load(os.path.normpath(dirname), None if var_names is None else list(var_names))

    def run_server(self) -> None:
        """Serve until all workers have called `stop_worker`. RuntimeError when one ended without."""
        if self._server is None:
            raise errors.RuntimeError_("fleet.run_server: call fleet.init_server() first")
        endpoint = self.role._get_pserver_endpoints()[self.role._server_index()]
        ps.serve(self._server, endpoint, _PATIENCE)

    # ---- eager training ----
    def adopt(self, optimizer: Any) -> None:
        """Take over the parameters of an optimizer of eager training."""
        seed = generator().initial_seed()
        who = "fleet.distributed_optimizer: parameter {}".format
        if any(optimizer._clips()):
            raise errors.NotImplemented_("fleet.distributed_optimizer: grad_clip with parameter servers in eager mode")
        if self.mode == "geo":
            raise errors.NotImplemented_("fleet.distributed_optimizer: k_steps > 0 in eager mode")
        for p in optimizer._parameter_list:
            if p.stop_gradient:
                continue
            self._eager[p.name] = p
            if getattr(p, "row_sparse", False):
                self.tables[p.name] = self._spec(p, optimizer, seed)
            else:
                self.dense[p.name] = (tuple(p.shape), update_of(optimizer, p, who(p.name)))

    def step(self, optimizer: Any) -> None:
        """Push the gradients of eager training, and pull the dense parameters."""
        client = self._client()
        if not self._eager:
            raise errors.RuntimeError_("parameter server: the optimizer must be given its parameters in eager mode")
        sparse: dict[str, tuple] = {}
        dense: dict[str, np.ndarray] = {}
        for name, p in self._eager.items():
            gradient = p.grad
            if gradient is None:
                continue
            if name in self.tables:
                held = gradient._payload()
                ids, values = np.asarray(held.rows).astype(np.int64), np.asarray(held.values)
                inside = ids < p.shape[0]  # rows that fill up a merged gradient lie beyond
                sparse[name] = (ids[inside], values[inside])
            else:
                dense[name] = np.asarray(gradient._value)
        client.push(sparse, dense, optimizer.get_lr())
        self._take(client.pull_all({})[1])

    def fetch_rows(self, table: Tensor, ids: np.ndarray) -> None:
        """Bring rows of a local table of eager training up to date."""
        import jax.numpy as jnp

        unique = np.unique(ids)
        rows = self._client().pull({table.name: unique})
        full = np.resize(np.arange(len(unique)), 1 << max(len(unique) - 1, 0).bit_length())  # few shapes to compile
        new = jnp.asarray(rows[table.name][full])
        table._write_array(table._value.at[jnp.asarray(unique[full])].set(new.astype(table._value.dtype)))


def _same(other: Any, main: Any, name: str) -> bool:
    """Whether a program has the same variable, which clones share."""
    a, b = other.states.get(name), main.states.get(name)
    return a is not None and b is not None and a.value is b.value


def _by_table(lookups: list, ids: list, gradients: list, looks: dict, counted: list) -> dict[str, tuple]:
    """What is pushed, by table: (ids, gradients) of all its lookups, and shows and clicks of each id."""
    asked, places = programs.batches(lookups, ids)
    parts: dict[str, list] = {}
    for (table, _, chosen), gradient in zip(places, gradients):
        parts.setdefault(table, []).append(gradient.reshape(-1, gradient.shape[-1])[chosen])
    out: dict[str, tuple] = {t: (asked[t], np.concatenate(g) if len(g) > 1 else g[0]) for t, g in parts.items()}
    values = iter(counted)
    for table, names in looks.items():
        columns = [next(values).reshape(-1) for _ in names]
        if table in out:
            spread = []
            for column in columns:
                each = []
                for array, (name, _, chosen) in zip(ids, places):
                    if name == table:
                        per_sample = array.size // max(len(column), 1)
                        each.append(np.repeat(column, per_sample)[chosen])
                spread.append(np.concatenate(each))
            out[table] = (*out[table], *spread)
    return out
