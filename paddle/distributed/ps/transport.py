"""Ways from a worker to the servers: within a process, over TCP, through Ray. Each has `call(calls)`, which takes
{server: (method, *arguments)} and gives the list of the results, `where(server)` for messages, and `close()`."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any

from ...engine import errors
from ..rpc.agent import split_endpoint
from ..rpc.channel import Channel, Listener, Lost
from ..rpc.secret import job_token
from .server import Server, forget

_RECOVERY = 60.0  # seconds to wait for a server that is started again
TIMEOUT = 1800.0  # seconds that workers wait for each other


def _limit() -> float:
    """Seconds after which an answer will not come any more: servers say before who keeps a worker waiting."""
    return float(os.environ.get("PADDLE_XLA_PS_TIMEOUT") or TIMEOUT) + 60.0


def _silent(where: str) -> Exception:
    return errors.RuntimeError_(f"{where} gave no answer within {_limit():g} seconds (PADDLE_XLA_PS_TIMEOUT)")


class Local:
    """Servers in this process."""

    def __init__(self, servers: list[Server]):
        self.servers = servers

    def call(self, calls: dict[int, tuple]) -> list:
        if len(calls) == 1 or self.servers[0].workers == 1:
            return [self.servers[server].handle(call) for server, call in calls.items()]
        with ThreadPoolExecutor(len(calls)) as pool:  # each may wait for other workers
            return list(pool.map(lambda item: self.servers[item[0]].handle(item[1]), calls.items()))

    def where(self, server: int) -> str:
        return f"parameter server {server} (in this process)"

    def close(self) -> None:
        pass


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

    def _forget(self, server: int, seconds: float) -> None:
        """The connection has ended: the next one goes to the server that takes its place."""
        with self._lock:
            self._patience = max(seconds, 1.0)
            channel = self._channels.pop(server, None)
        if channel is not None:
            channel.close()
        time.sleep(0.2)

    def call(self, calls: dict[int, tuple]) -> list:
        futures = {server: self._send(server, call) for server, call in calls.items()}
        wait(futures.values(), _limit(), FIRST_EXCEPTION)  # what waits for a server that has ended may wait for long
        failed = [s for s, f in futures.items() if f.done() and f.exception() is not None]
        results = {s: self._result(s, calls[s], futures[s]) for s in (*failed, *(s for s in calls if s not in failed))}
        return [results[server] for server in calls]

    def _send(self, server: int, call: tuple) -> Future:
        try:
            return self.channel(server).call(call)
        except Lost as error:
            future: Future = Future()
            future.set_exception(error)
            return future

    def _result(self, server: int, call: tuple, future: Future) -> Any:
        """The result; the call is sent again to a server that has been started again."""
        end = time.monotonic() + _RECOVERY
        while True:
            try:
                return future.result(_limit())
            except TimeoutError:
                raise _silent(self.where(server)) from None
            except Lost as error:
                if not self.recovers:
                    raise errors.RuntimeError_(
                        f"{error}. Training can go on from a copy of its tables when PADDLE_XLA_PS_SNAPSHOTS names a folder "
                        "and the launcher has --max_restart"
                    ) from None
                if time.monotonic() > end:
                    raise errors.RuntimeError_(
                        f"{error} and was not there again within {_RECOVERY:g} seconds"
                    ) from None
                self._forget(server, end - time.monotonic())
                future = self._send(server, call)

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
    """Servers as actors of Ray. Worker 0 makes and owns them: they end with it. The others find them by their names.

    Args:
        job: a name that the workers of the job share.
        servers, workers: how many there are.
        worker: the number of this worker.
        snapshots, period: see `Server`; with snapshots Ray starts an actor again that has ended.

    The variable RAY_ADDRESS names the cluster; the launcher starts one where there is none.
    """

    def __init__(
        self, job: str, servers: int, workers: int, worker: int, snapshots: str | None = None, period: float = 30.0
    ):
        try:
            import ray
        except ImportError:
            raise errors.RuntimeError_("PADDLE_XLA_PS=ray needs the package ray: pip install paddle-xla[ps]") from None
        self._ray, self._owner = ray, worker == 0
        self._started = not ray.is_initialized()
        if self._started:
            address = os.environ.get("RAY_ADDRESS")
            ray.init(address=address, namespace="paddle-xla", log_to_driver=False, logging_level="error")
        self.names = [f"{job}/server/{i}" for i in range(servers)]
        self._folder = None if snapshots is None else os.path.join(snapshots, job)
        if self._owner:
            limits = {"max_restarts": 3, "max_task_retries": 3} if snapshots else {}
            kind = ray.remote(num_cpus=0, max_concurrency=2 * workers + 4, **limits)(Server)
            made = [kind.options(name=name) for name in self.names]
            self._actors = [m.remote(i, servers, workers, self._folder, period) for i, m in enumerate(made)]
        else:
            self._actors = [self._find(name) for name in self.names]

    def _find(self, name: str) -> Any:
        end = time.monotonic() + 300.0
        while True:
            try:
                return self._ray.get_actor(name)
            except ValueError:
                if time.monotonic() > end:
                    raise errors.RuntimeError_(f"worker 0 did not make the actor {name} within 300 seconds") from None
                time.sleep(0.2)

    def where(self, server: int) -> str:
        return f"parameter server {server} (actor {self.names[server]} of Ray)"

    def call(self, calls: dict[int, tuple]) -> list:
        references = {server: self._actors[server].handle.remote(call) for server, call in calls.items()}
        return [self._result(server, reference) for server, reference in references.items()]

    def _result(self, server: int, reference: Any) -> Any:
        kinds = self._ray.exceptions
        try:
            return self._ray.get(reference, timeout=_limit())
        except kinds.GetTimeoutError:
            raise _silent(self.where(server)) from None
        except kinds.RayTaskError as error:
            raise (error.cause if isinstance(error.cause, Exception) else error) from error
        except kinds.RayActorError as error:
            raise errors.RuntimeError_(f"{self.where(server)} has ended ({type(error).__name__})") from None

    def close(self) -> None:
        """Worker 0 stays until the others have left, and ends the actors."""
        if self._owner:
            with contextlib.suppress(Exception):
                while not all(self._ray.get([a.finished.remote() for a in self._actors], timeout=60)):
                    time.sleep(0.1)
            for actor in self._actors:
                self._ray.kill(actor)
            if self._folder is not None:
                forget(self._folder)
        if self._started:
            self._ray.shutdown()
