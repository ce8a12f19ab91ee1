"""Ways from a worker to the servers: within a process, over TCP, through Ray. Each has `call(server, method, *args)`,
which gives a future, `where(server)` for messages, and `close()`."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from concurrent.futures import Future
from typing import Any

from ...engine import errors
from ..rpc.agent import split_endpoint
from ..rpc.channel import Channel, Listener, Lost
from ..rpc.secret import job_token
from .server import Server

_RECOVERY = 60.0  # seconds to wait for a server that is started again


class Local:
    """Servers in this process."""

    def __init__(self, servers: list[Server]):
        self.servers = servers

    def call(self, server: int, *call: Any) -> Future:
        future: Future = Future()
        try:
            future.set_result(self.servers[server].handle(call))
        except Exception as error:
            future.set_exception(error)
        return future

    def where(self, server: int) -> str:
        return f"parameter server {server} (in this process)"

    def close(self) -> None:
        pass


class _Retried:
    """The future of a call that is sent again to a server that was started again."""

    def __init__(self, transport: TCP, server: int, call: tuple):
        self._transport, self._server, self._call = transport, server, call
        self._send()

    def _send(self) -> None:
        try:
            self._future = self._transport.channel(self._server).call(self._call)
        except Lost as error:
            self._future = Future()
            self._future.set_exception(error)

    def result(self, timeout: float | None = None) -> Any:
        end = time.monotonic() + _RECOVERY
        while True:
            try:
                return self._future.result(timeout)
            except Lost as error:
                if not self._transport.recovers or time.monotonic() > end:
                    raise errors.RuntimeError_(
                        f"{error}; set PADDLE_XLA_PS_SNAPSHOTS to a folder and launch with --max_restart to go on from its "
                        "last snapshot"
                        if not self._transport.recovers
                        else f"{error} and was not started again within {_RECOVERY:g} seconds"
                    ) from None
                self._transport.forget(self._server, end - time.monotonic())
                self._send()


class TCP:
    """Servers in processes of their own, started by the launcher.

    Args:
        endpoints: host:port of each server.
        worker: the number of this worker.
        recovers: a server that has ended will be started again.
        patience: seconds to wait for servers that are still starting.
    """

    def __init__(self, endpoints: list[str], worker: int, recovers: bool = False, patience: float = 300.0):
        self.endpoints, self.worker, self.recovers = endpoints, worker, recovers
        self._token, self._patience = job_token(), patience
        self._channels: dict[int, Channel] = {}
        self._lock = threading.Lock()

    def where(self, server: int) -> str:
        return f"parameter server {server} ({self.endpoints[server]})"

    def channel(self, server: int) -> Channel:
        with self._lock:
            found = self._channels.get(server)
            if found is None:
                host, port = split_endpoint("PADDLE_PSERVERS_IP_PORT_LIST", self.endpoints[server])
                name = f"worker/{self.worker}"
                found = Channel(host, port, self._token, name, self.where(server), self._patience)
                self._channels[server] = found
            return found

    def forget(self, server: int, seconds: float) -> None:
        """The connection has ended: the next one goes to the server that takes its place."""
        with self._lock:
            self._patience = max(seconds, 1.0)
            channel = self._channels.pop(server, None)
        if channel is not None:
            channel.close()
        time.sleep(0.2)

    def call(self, server: int, *call: Any) -> _Retried:
        return _Retried(self, server, call)

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()


def serve(server: Server, endpoint: str, patience: float) -> None:
    """Take calls for a server at an endpoint until all workers have left; see `Server.wait`."""
    host, port = split_endpoint("PADDLE_PSERVERS_IP_PORT_LIST", endpoint)

    def number(caller: str) -> int:
        return int(caller.rpartition("/")[2])

    listener = Listener(
        host,
        port,
        lambda caller, call: server.handle(call),
        job_token(),
        gone=lambda caller: server.disconnected(number(caller)),
        came=lambda caller: server.connected(number(caller)),
    )
    try:
        server.wait(patience)
        time.sleep(0.2)  # the last answers
    finally:
        listener.close()


class Ray:
    """Servers as actors of Ray, which this worker makes or finds by their names.

    Args:
        job: a name that the workers of the job share.
        servers, workers: how many there are.
        worker: the number of this worker.
        snapshots, period: see `Server`; with snapshots Ray starts an actor again that has ended.
    """

    def __init__(
        self, job: str, servers: int, workers: int, worker: int, snapshots: str | None = None, period: float = 30.0
    ):
        try:
            import ray
        except ImportError:
            raise errors.RuntimeError_("PADDLE_XLA_PS=ray needs the package ray: pip install paddle-xla[ps]") from None
        self._ray = ray
        self._started = not ray.is_initialized()
        if self._started:
            address = os.environ.get("RAY_ADDRESS")
            ray.init(address=address, namespace="paddle-xla", log_to_driver=False, logging_level="error")
        limits = {"max_restarts": 3, "max_task_retries": 3} if snapshots else {}
        kind = ray.remote(num_cpus=0, max_concurrency=2 * workers + 4, **limits)(Server)
        self._first = worker == 0
        self.names = [f"{job}/server/{i}" for i in range(servers)]
        self._actors = [
            kind.options(name=name, get_if_exists=True, lifetime="detached").remote(
                i, servers, workers, snapshots, period
            )
            for i, name in enumerate(self.names)
        ]

    def where(self, server: int) -> str:
        return f"parameter server {server} (actor {self.names[server]} of Ray)"

    def call(self, server: int, *call: Any) -> _OfRay:
        return _OfRay(self, server, self._actors[server].handle.remote(call))

    def close(self) -> None:
        """The last worker to come here ends the actors."""
        for actor in self._actors:
            with contextlib.suppress(Exception):
                if self._ray.get(actor.finished.remote(), timeout=10):
                    self._ray.kill(actor)
        if self._started:
            self._ray.shutdown()


class _OfRay:
    def __init__(self, transport: Ray, server: int, reference: Any):
        self._transport, self._server, self._reference = transport, server, reference

    def result(self, timeout: float | None = None) -> Any:
        ray = self._transport._ray
        try:
            return ray.get(self._reference, timeout=timeout)
        except ray.exceptions.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, Exception) else error) from error
        except ray.exceptions.RayActorError as error:
            where = self._transport.where(self._server)
            raise errors.RuntimeError_(f"{where} has ended unexpectedly ({type(error).__name__})") from None
