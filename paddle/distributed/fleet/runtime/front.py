"""The part of `fleet` that concerns parameter servers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ....engine import errors
from ....engine.modes import modes
from ....engine.tensor import Tensor
from ....nn.layers.common import Embedding
from .parameter_server import ParameterServerRuntime


class ServerOptimizer:
    """An optimizer whose updates parameter servers make. In a program `minimize` adds pulls and pushes; in eager mode `step`
    makes them. Everything else is asked of the optimizer inside."""

    def __init__(self, optimizer: Any, runtime: ParameterServerRuntime):
        self.user_defined_optimizer, self._runtime = optimizer, runtime
        if modes.program is None and optimizer._given is not None:
            runtime.adopt(optimizer)

    def minimize(
        self, loss: Tensor, startup_program: Any = None, parameter_list: Any = None, no_grad_set: Any = None
    ) -> tuple[list, list]:
        """Add gradients and updates to the program of `loss`, or take a step in eager mode, as `Optimizer.minimize`."""
        inner = self.user_defined_optimizer
        if modes.program is not None:
            return self._runtime.minimize(inner, loss, startup_program, parameter_list, no_grad_set)
        if all(p.grad is None for p in inner._parameter_list):
            loss.backward()
        self.step()
        return [], inner._with_gradients()

    def step(self) -> None:
        """Send the gradients to the servers and get the new dense parameters."""
        self._runtime.step(self.user_defined_optimizer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["user_defined_optimizer"], name)


class ServerMethods:
    """The methods of `fleet` for jobs with parameter servers. Without servers, when a script runs by itself, they do
    nothing."""

    _servers: ParameterServerRuntime | None = None

    def _runtime(self) -> ParameterServerRuntime | None:
        """What runs here; None where there are no servers."""
        role = self._role()  # type: ignore[attr-defined]
        if self._is_collective or not role._server_num():  # type: ignore[attr-defined]
            return None
        if self._servers is None or self._servers.role is not role:
            self._servers = ParameterServerRuntime(role, self._user_defined_strategy)  # type: ignore[attr-defined]
        return self._servers

    def _server_optimizer(self, optimizer: Any, strategy: Any) -> Any:
        runtime = self._runtime()
        if runtime is None:
            return optimizer
        if strategy is not None:
            runtime.strategy = strategy
        return ServerOptimizer(optimizer, runtime)

    def _server_model(self, model: Any) -> Any:
        """Let the sparse embeddings of a model ask the servers for the rows of each batch."""
        runtime = self._runtime()
        if runtime is not None:
            for layer in model.sublayers(include_self=True):
                if isinstance(layer, Embedding) and layer._sparse:
                    layer.register_forward_pre_hook(_fetches(runtime))
        return model

    # ---- start and end ----
    def init_worker(self, scopes: Any = None) -> None:
        """Connect this worker to the servers. Worker 0 makes the tables; dense parameters get its first values.

        Args:
            scopes: a list with the scope of the program; default: `paddle.static.global_scope()`.

        Raises:
            RuntimeError: a server does not answer, or the startup program was not run.
        """
        runtime = self._runtime()
        if runtime is not None:
            runtime.init_worker(scopes)

    def init_server(self, *args: Any, **kwargs: Any) -> None:
        """Make the tables of this server: ``init_server(dirname=None, var_names=None)`` reads those that
        `save_persistables` wrote."""
        runtime = self._runtime()
        if runtime is not None:
            runtime.init_server(*args, **kwargs)

    def run_server(self) -> None:
        """Serve until all workers have called `stop_worker`. RuntimeError when a worker ended without."""
        runtime = self._runtime()
        if runtime is not None:
            runtime.run_server()

    def stop_worker(self) -> None:
        """This worker has finished training; the servers end when all have."""
        runtime = self._runtime()
        if runtime is not None:
            runtime.stop_worker()

    def init_coordinator(self, scopes: Any = None) -> None:
        """Not built: federated training with a coordinator."""
        raise errors.NotImplemented_("fleet.init_coordinator: federated training")

    def make_fl_strategy(self) -> None:
        """Not built: federated training with a coordinator."""
        raise errors.NotImplemented_("fleet.make_fl_strategy: federated training")

    def get_fl_client(self) -> Any:
        """Not built: federated training with a coordinator."""
        raise errors.NotImplemented_("fleet.get_fl_client: federated training")

    # ---- files ----
    def _first_with_servers(self) -> ParameterServerRuntime | None:
        """What runs here, for what only worker 0 does."""
        runtime = self._runtime()
        return runtime if runtime is not None and runtime.role._is_first_worker() else None

    def save_persistables(self, executor: Any, dirname: str, main_program: Any = None, mode: int = 0) -> None:
        """Write all tables and dense parameters; worker 0 does it, for the others this does nothing. What is there before
        stays whole until the new state is.

        Args:
            executor: accepted.
            dirname: a folder that the servers see, too. `init_server(dirname)` and `load_model` read it.
            main_program: accepted.
            mode: 0, everything.
        """
        runtime = self._first_with_servers()
        if mode != 0:
            raise errors.NotImplemented_(f"fleet.save_persistables: mode={mode}")
        if runtime is not None:
            if runtime.geo is not None:
                runtime.exchange()
            runtime._client().save(os.path.abspath(dirname))
        elif self._runtime() is None:
            from ....fluid.io import save_persistables

            save_persistables(executor, dirname, main_program)

    def save_inference_model(
        self,
        executor: Any,
        dirname: str,
        feeded_var_names: list[str],
        target_vars: list[Any],
        main_program: Any = None,
        export_for_deployment: bool = True,
        mode: int = 0,
    ) -> None:
        """Write a model for inference that needs no servers: the dense parameters and the whole of the sparse tables, each
        in one array. Worker 0 does it.

        Args:
            executor: accepted.
            dirname: a folder; `paddle.static.load_inference_model(dirname + "/model", exe)` reads it.
            feeded_var_names: names of inputs.
            target_vars: variables of the program.
            main_program: the program; default: that of `minimize`.

        Raises:
            NotImplementedError: a table with more than 2 GB.
        """
        from ....static import default_main_program, io

        runtime = self._runtime()
        if runtime is None:
            program = main_program or default_main_program()
            feeds = [program.global_block().var(n) for n in feeded_var_names]
            io.save_inference_model(os.path.join(dirname, "model"), feeds, target_vars, executor, program=program)
        elif runtime.role._is_first_worker():
            from .export import write_inference_model

            write_inference_model(runtime, os.path.join(dirname, "model"), feeded_var_names, target_vars)

    def save(self, dirname: str, feed: list = [], fetch: list = [], **configs: Any) -> None:
        """`save_inference_model` with the inputs `feed` and the results `fetch`, variables or names; without both
        `save_persistables`."""
        if not feed and not fetch:
            self.save_persistables(None, dirname, None, int(configs.get("mode", 0)))
            return
        from ....static import default_main_program

        block = default_main_program().global_block()
        names = [v if isinstance(v, str) else v.name for v in feed]
        self.save_inference_model(None, dirname, names, [block.var(v) if isinstance(v, str) else v for v in fetch])

    def save_dense_params(
        self, executor: Any, dirname: str, scope: Any, program: Any, var_names: list[str] | None = None
    ) -> None:
        """Write the dense parameters, as the servers have them, into one file; worker 0 does it.

        Args:
            dirname: the path of the file, in the official binary format.
            scope: where they are put first.
            var_names: which; default: all.
        """
        from ....static import executor as executors
        from ....static import io

        runtime = self._first_with_servers()
        if runtime is None:
            return
        runtime.pull_dense()
        with executors.scope_guard(scope or runtime.scope):
            names = list(runtime.dense) if var_names is None else list(var_names)
            io.save_vars(executor, "./", program, vars=names, filename=dirname)

    def _named_table(self, table_id: int) -> str:
        runtime = self._runtime()
        names = [] if runtime is None else list(runtime.tables)
        if isinstance(table_id, bool) or not isinstance(table_id, int) or not 0 <= table_id < len(names):
            raise errors.ValueError_(f"fleet: there is no sparse table {table_id!r}; there are {len(names)}: {names}")
        return names[table_id]

    def save_one_table(self, table_id: int, path: str, mode: int) -> None:
        """Write one sparse table, by its number in the order of the program; worker 0 does it."""
        runtime, name = self._first_with_servers(), self._named_table(table_id)
        if runtime is not None:
            runtime._client().save(os.path.abspath(path), [name])

    def load_one_table(self, table_id: int, path: str, mode: int) -> None:
        """Read one sparse table; worker 0 does it, all wait."""
        self._load(path, [self._named_table(table_id)])

    def load_model(self, path: str, mode: int) -> None:
        """Read what `save_persistables` wrote into the tables of the servers; worker 0 does it, all wait."""
        self._load(path, None)

    def _load(self, path: str, names: list[str] | None) -> None:
        runtime = self._runtime()
        if runtime is None:
            return
        if runtime.geo is not None:
            raise errors.NotImplemented_("fleet.load_model: with k_steps > 0; give the folder to init_server")
        if runtime.role._is_first_worker():
            runtime._client().load(os.path.abspath(path), names)
        runtime.barrier()
        runtime.pull_dense()

    def load_inference_model(self, path: str, mode: int) -> None:
        """Not built: reading tables back from a model for inference."""
        raise errors.NotImplemented_("fleet.load_inference_model: reading tables from a model for inference")

    # ---- tables ----
    def shrink(self, threshold: float | None = None) -> None:
        """Let the servers forget rows that matter little, see `paddle.distributed.ps.SparseTable.shrink`; worker 0 does it,
        all wait."""
        runtime = self._runtime()
        if runtime is None:
            return
        runtime.barrier()
        if runtime.role._is_first_worker():
            runtime._client().shrink(threshold)
        runtime.barrier()

    def print_table_stat(self, table_id: int, pass_id: int, threshold: float) -> None:
        """Print how many rows a sparse table has."""
        runtime, name = self._first_with_servers(), self._named_table(table_id)
        if runtime is not None:
            rows = sum(each["sparse"][name]["rows"] for each in runtime._client().statistics())
            print(f"table {table_id} ({name}), pass {pass_id}: {rows} rows", flush=True)

    def save_cache_model(self, dirname: str, **configs: Any) -> int:
        """Not built: a table of the most frequent rows only."""
        raise errors.NotImplemented_("fleet.save_cache_model")

    def save_cache_table(self, table_id: int, pass_id: int, mem_cache_key_threshold: int = 4000000000) -> None:
        """Not built: a table of the most frequent rows only."""
        raise errors.NotImplemented_("fleet.save_cache_table")

    def check_save_pre_patch_done(self) -> None:
        """Saving is done when it returns."""

    def set_date(self, table_id: int, day_id: str) -> None:
        """Not built: tables on GPUs."""
        raise errors.NotImplemented_("fleet.set_date: tables on GPUs")


def _fetches(runtime: ParameterServerRuntime) -> Callable:
    def fetch(layer: Any, inputs: tuple) -> None:
        if runtime.client is not None:
            ids = np.asarray(inputs[0]._value).reshape(-1).astype(np.int64)
            runtime.fetch_rows(layer.weight, ids)

    return fetch
