"""Inference with tables that lie on parameter servers."""

from __future__ import annotations

from typing import Any

from ....engine import errors
from ....static.program import Program, default_main_program, default_startup_program

__all__: list[str] = []


class DistributedInfer:
    """Runs a program for inference whose tables parameter servers hold. The script is started as for training: the
    processes that are servers load the model and serve, the workers go on.

    Args:
        main_program: the program of the model and its loss, by default the default one.
        startup_program: its startup program, by default the default one.

    `init_distributed_infer_env(exe, loss, role_maker, dirname)`, then `exe.run(infer.get_dist_infer_program(), ...)`, and
    `fleet.stop_worker()` at the end.
    """

    def __init__(self, main_program: Program | None = None, startup_program: Program | None = None):
        self.origin_main_program = (main_program or default_main_program()).clone()
        self.origin_startup_program = startup_program or default_startup_program()
        self._ready = False

    def init_distributed_infer_env(
        self, exe: Any, loss: Any, role_maker: Any = None, dirname: str | None = None
    ) -> None:
        """Connect to the servers; a server serves until the workers have stopped, and ends.

        Args:
            exe: an Executor.
            loss: a variable that depends on all tables, of the program from which this was made.
            role_maker: as of `fleet.init`.
            dirname: what `fleet.save_persistables` wrote, for the servers.
        """
        import paddle.distributed.fleet as front

        from ....optimizer import SGD

        fleet = front.fleet
        if fleet._role_maker is None:
            fleet.init(role_maker)
        strategy = front.DistributedStrategy()
        strategy.a_sync = True
        fleet.distributed_optimizer(SGD(0.0), strategy).minimize(loss, self.origin_startup_program)
        if fleet.is_server():
            fleet.init_server(dirname=dirname)
            fleet.run_server()
        else:
            exe.run(self.origin_startup_program)
            fleet.init_worker()
        self._ready = True

    def get_dist_infer_program(self) -> Program:
        """The program as it was given, with lookups that ask the servers. RuntimeError before
        `init_distributed_infer_env`."""
        if not self._ready:
            raise errors.RuntimeError_("DistributedInfer: call init_distributed_infer_env first")
        return self.origin_main_program
