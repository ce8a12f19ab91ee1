"""The launcher: meets those of other nodes, starts the processes, and decides what follows when one ends."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import sys
import time
from argparse import Namespace
from typing import Any

from ..processes import start_service
from ..rpc.secret import VARIABLE
from ..store import TCPStore
from . import arguments
from .pod import Container, Pod, exit_code

BEAT = 1.0  # seconds between signs of life of a node
SILENT = 8.0  # seconds without one after which a node counts as lost


class Stopped(Exception):
    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


def launch(argv: list[str] | None = None) -> None:
    """Start the processes of a job as the command line says (see ``--help``); ends this process with their exit code.

    When a process fails, all others are ended, the end of its log is shown, and the exit code is its own. With
    `--max_restart`, `--elastic_level` or a range of nodes all start again instead, as often as allowed.
    """
    args = arguments.parse(argv)

    signals = signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT

    def stopped(number: int, frame: Any) -> None:
        for other in signals:  # ending the processes takes seconds and is not to be disturbed
            signal.signal(other, signal.SIG_IGN)
        raise Stopped(number)

    for number in signals:
        signal.signal(number, stopped)
    try:
        code = Controller(args).run()
    except Stopped as stop:
        say(f"stopped by signal {stop.number}")
        code = 128 + stop.number
    except (RuntimeError, OSError) as error:  # no such host, no folder for the logs
        say(str(error))
        code = 1
    sys.exit(code)


def say(text: str) -> None:
    print(f"LAUNCH {time.strftime('%Y-%m-%d %H:%M:%S')} {text}", file=sys.stderr, flush=True)


def is_local(host: str) -> bool:
    """Whether an address belongs to this machine."""
    try:
        with socket.socket() as s:
            s.bind((host, 0))
        return True
    except OSError:
        return False


def free_ports(count: int, start: int | None) -> list[int]:
    if start is not None:
        return list(range(start, start + count))
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for s in sockets:
            s.bind(("", 0))
        return [s.getsockname()[1] for s in sockets]


def local_devices(chosen: str | None) -> list[str]:
    """The accelerators to use, without starting them."""
    if chosen:
        return str(chosen).split(",")
    if os.environ.get("JAX_PLATFORMS", "").startswith("cpu"):
        return []
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [d for d in visible.split(",") if d and d != "-1"]
    with contextlib.suppress(OSError):
        return [str(i) for i in range(len(os.listdir("/proc/driver/nvidia/gpus")))]
    return []


def how_it_ended(container: Container) -> str:
    code = exit_code(container.process.returncode)  # type: ignore[union-attr]
    return f"exit code {code}" if code < 128 else f"signal {code - 128}"


class Controller:
    """The launcher of one node. `round` counts the starts of the job."""

    def __init__(self, args: Namespace):
        self.args = args
        self.devices = local_devices(args.devices)
        self.round = 0
        self.elsewhere = False  # a job with parameter servers has processes on other machines
        self.revived = 0  # how often a parameter server was started again by itself
        self.store, self.leads = self._open_store()
        self.host = args.host or self._own_address()
        self.index = 0
        self.nodes: list[dict] = []
        self.held: tuple = ()  # the store of the processes and XLA's service, on the first node
        self.addresses: list[str] = []  # of the two
        # the secret of `paddle.distributed.rpc`; on several machines that of the user, or one that the user sets
        self.token = {VARIABLE: secrets.token_hex(32)} if args.max_nodes == 1 and VARIABLE not in os.environ else {}

    def _open_store(self) -> tuple[TCPStore, bool]:
        args = self.args
        if args.max_nodes == 1:
            return TCPStore("127.0.0.1", 0, is_master=True), True
        host, port = args.master.rsplit(":", 1)
        if args.rank <= 0 and is_local(socket.gethostbyname(host)):
            try:
                return TCPStore(host, int(port), is_master=True), True
            except RuntimeError:  # another launcher on this machine was first
                if args.rank == 0:
                    raise
        return TCPStore(host, int(port), timeout=300), False

    def _own_address(self) -> str:
        if self.args.max_nodes == 1:
            return "127.0.0.1"
        if self.leads:
            return self.args.master.rsplit(":", 1)[0]
        return self.store._connection().getsockname()[0]

    # ---- meeting ----
    def meet(self) -> None:
        """Agree with the launchers of the other nodes on who takes part in this round, and in which order."""
        args, store = self.args, self.store
        count = args.nproc_per_node or len(self.devices) or 1
        while True:
            now = self.round
            ports = free_ports(count + 1, args.start_port)
            about = {
                "host": self.host,
                "ports": ports,
                "rank": args.rank,
                "beat": f"{now}/{store.add(f'join/{now}', 1)}",
            }
            store.set(f"node/{about['beat']}", json.dumps(about))
            if self.leads:
                self._close_round(now)
            nodes = json.loads(store.get(f"round/{now}", 3600.0))
            mine = [i for i, node in enumerate(nodes) if node["beat"] == about["beat"]]
            if mine:
                self.index, self.nodes = mine[0], nodes
                return
            say("the job runs already; waiting for its next start")
            store.get(f"again/{now}", 10**9)
            self.round += 1

    def _close_round(self, now: int) -> None:
        args, store = self.args, self.store
        least = time.monotonic() + args.elastic_timeout
        while True:
            come = store.add(f"join/{now}", 0)
            if come >= args.max_nodes or (come >= args.min_nodes and time.monotonic() > least):
                break
            time.sleep(0.1)
        come = min(come, args.max_nodes)
        nodes = [json.loads(store.get(f"node/{now}/{i + 1}")) for i in range(come)]
        ranks = [node["rank"] for node in nodes]
        if all(r >= 0 for r in ranks):
            nodes.sort(key=lambda node: node["rank"])
        else:  # the one that holds the store first: the first process of the job is there
            nodes.sort(key=lambda node: node["host"] != self.host)
        store.set(f"round/{now}", json.dumps(nodes))

    # ---- starting ----
    def containers(self) -> list[Container]:
        args, nodes = self.args, self.nodes
        if args.run_mode == "ps":
            found = self._parameter_server()
            if not found:
                raise RuntimeError("none of the endpoints of --servers and --trainers is on this machine")
            return found
        counts = [len(node["ports"]) - 1 for node in nodes]
        self._hold(sum(counts))
        endpoints = [f"{node['host']}:{port}" for node in nodes for port in node["ports"][1:]]
        first = sum(counts[: self.index])
        out = []
        for local in range(counts[self.index]):
            environment = {
                "PADDLE_MASTER": self.addresses[0],
                "PADDLE_XLA_COORDINATOR": self.addresses[1],
                "PADDLE_GLOBAL_SIZE": str(sum(counts)),
                "PADDLE_LOCAL_SIZE": str(counts[self.index]),
                "PADDLE_GLOBAL_RANK": str(first + local),
                "PADDLE_LOCAL_RANK": str(local),
                "PADDLE_RANK_IN_NODE": str(local),
                "PADDLE_NNODES": str(len(nodes)),
                "PADDLE_CURRENT_ENDPOINT": endpoints[first + local],
                "PADDLE_TRAINER_ID": str(first + local),
                "PADDLE_TRAINERS_NUM": str(sum(counts)),
                "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
                "PADDLE_LOG_DIR": os.path.abspath(args.log_dir),
            }
            if self.devices:
                device = self.devices[local % len(self.devices)]
                environment |= {"CUDA_VISIBLE_DEVICES": device, "FLAGS_selected_gpus": device}
            else:
                environment["PADDLE_DISTRI_BACKEND"] = "gloo"
            out.append(self._container(environment, "workerlog", local, f"rank {first + local}"))
        return out

    def _hold(self, size: int) -> None:
        """What outlives each process: their store, and the service through which XLA connects them."""
        if self.index == 0:
            host, port = self.nodes[0]["host"], self.nodes[0]["ports"][0]
            if self.held:
                self.held[0].close()
            service, number = start_service(size, host)
            self.held = TCPStore(host, port, is_master=True), service
            self.store.set(f"held/{self.round}", json.dumps([f"{host}:{port}", f"{host}:{number}"]))
        self.addresses = json.loads(self.store.get(f"held/{self.round}"))

    def _container(self, environment: dict, log: str, number: int, what: str, is_server: bool = False) -> Container:
        args = self.args
        environment |= {"PADDLE_JOB_ID": args.job_id, "PADDLE_RESTART_COUNT": str(self.round), "PYTHONUNBUFFERED": "1"}
        environment |= self.token
        script = [args.training_script] if args.training_script.endswith(".py") else ["-m", args.training_script]
        if os.path.exists(args.training_script):
            script = [args.training_script]
        command = [sys.executable, *script, *args.training_script_args]
        return Container(command, environment, os.path.join(args.log_dir, f"{log}.{number}"), what, is_server)

    def _parameter_server(self) -> list[Container]:
        args = self.args
        servers = args.servers.split(",") if args.servers else []
        trainers = args.trainers.split(",") if args.trainers else []
        ports = iter(free_ports((args.server_num or 1) + (args.trainer_num or 1), args.start_port))
        servers = servers or [f"127.0.0.1:{next(ports)}" for _ in range(args.server_num or 1)]
        trainers = trainers or [f"127.0.0.1:{next(ports)}" for _ in range(args.trainer_num or 1)]
        common = {
            "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(servers),
            "PADDLE_TRAINER_ENDPOINTS": ",".join(trainers),
            "PADDLE_TRAINERS_NUM": str(len(trainers)),
            "PADDLE_LOG_DIR": os.path.abspath(args.log_dir),
            "PADDLE_XLA_PS_RESTARTS": str(args.restarts),
        }
        if os.environ.get("PADDLE_XLA_PS", "").lower() == "ray":  # the servers are actors, which worker 0 makes
            common |= self._ray() | {"PADDLE_XLA_PS_JOB": f"{args.job_id}-{secrets.token_hex(6)}"}
            endpoints = []
        else:
            endpoints = servers
        out = []
        here = {host: is_local(host) for host in {e.rsplit(":", 1)[0] for e in (*servers, *trainers)}}
        self.elsewhere = not all(here.values())
        if self.elsewhere:  # launchers of other machines, started with the same endpoints, cannot know the secret
            self.token = {}
        for i, endpoint in enumerate(endpoints):
            host, port = endpoint.rsplit(":", 1)
            if not here[host]:
                continue
            own = {"TRAINING_ROLE": "PSERVER", "POD_IP": host, "PADDLE_PORT": port, "PADDLE_SERVER_ID": str(i)}
            out.append(self._container({**common, **own}, "serverlog", i, f"server {i}", True))
        for i, endpoint in enumerate(trainers):
            if not here[endpoint.rsplit(":", 1)[0]]:
                continue
            own = {"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(i), "PADDLE_CURRENT_ENDPOINT": endpoint}
            out.append(self._container({**common, **own}, "trainerlog", i, f"trainer {i}"))
        return out

    @staticmethod
    def _ray() -> dict[str, str]:
        """The address of the cluster; one is started on this machine, for this job, when RAY_ADDRESS names none."""
        if os.environ.get("RAY_ADDRESS"):
            return {}
        try:
            import ray
        except ImportError:
            raise RuntimeError("PADDLE_XLA_PS=ray needs the package ray: pip install paddle-xla[ps]") from None
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False, logging_level="error")
        return {"RAY_ADDRESS": ray.get_runtime_context().gcs_address}

    def _revive(self, pod: Pod, failed: Container) -> bool:
        """Start a parameter server again, alone, when there are copies of its tables."""
        if not failed.is_server or not os.environ.get("PADDLE_XLA_PS_SNAPSHOTS") or self.revived >= self.args.restarts:
            return False
        self.revived += 1
        say(f"{failed.what} failed with {how_it_ended(failed)}; it starts again from its last snapshot")
        failed.environment["PADDLE_XLA_PS_STARTS"] = str(self.revived)
        pod.start_again(failed)
        return True

    # ---- watching ----
    def run(self) -> int:
        while True:
            self.meet()
            pod = Pod(self.containers(), self.args.log_overwrite and self.round == 0)
            pod.elsewhere = self.elsewhere
            try:
                pod.start()
                code = self._watch(pod)
            finally:
                pod.stop()
            if code is not None:
                return code
            self.round += 1
            say(f"start number {self.round + 1}")

    def _watch(self, pod: Pod) -> int | None:
        """Until the round ends: the exit code, or None when the job starts again."""
        store, now, beat = self.store, self.round, 0.0
        seen: dict[str, tuple[int, float]] = {}
        over = finished = False
        while True:
            if time.monotonic() > beat + BEAT:
                beat = time.monotonic()
                store.add(f"beat/{self.nodes[self.index]['beat']}", 1)
                lost = self._lost(seen) if self.leads and len(self.nodes) > 1 else None
                if lost is not None and not finished:
                    self._end_round(f"node {lost} gives no sign of life")
                elif self.leads and len(self.nodes) < min(self.args.max_nodes, store.add(f"join/{now}", 0)):
                    store.set(f"again/{now}", "another node has come")
            if len(self.nodes) > 1 or self.args.max_nodes > 1:
                if not store.missing([f"again/{now}"], 0):
                    say(f"{store.get(f'again/{now}').decode()}: all processes start again")
                    return None
                if not store.missing([f"failed/{now}"], 0):
                    say(f"{store.get(f'failed/{now}').decode()}: the job ends")
                    return 1
            failed = pod.failed()
            if failed is not None and self._revive(pod, failed):
                continue
            if failed is not None:
                time.sleep(0.2)  # what it wrote last, and which others have failed
                return self._report(pod.failed() or failed)
            if pod.done() and not over:
                over = True
                store.set(f"done/{now}/{self.index}", b"")
            if over:
                waiting = [f"done/{now}/{i}" for i in range(len(self.nodes))] if self.leads else []
                finished = True
                if not waiting or not store.missing(waiting, 0):
                    return 0
            time.sleep(0.05)

    def _lost(self, seen: dict[str, tuple[int, float]]) -> int | None:
        """The number of a node that gave no sign of life for long."""
        time_now = time.monotonic()
        for i, node in enumerate(self.nodes):
            if i == self.index or not self.store.missing([f"done/{self.round}/{i}"], 0):
                continue
            count = self.store.add(f"beat/{node['beat']}", 0)
            if node["beat"] not in seen or seen[node["beat"]][0] != count:
                seen[node["beat"]] = count, time_now
            elif time_now > seen[node["beat"]][1] + SILENT:
                return i
        return None

    def _end_round(self, why: str) -> bool:
        """Tell all nodes that the round is over; whether another follows."""
        again = self.round < self.args.restarts
        self.store.set(f"{'again' if again else 'failed'}/{self.round}", why)
        return again

    def _report(self, failed: Container) -> int | None:
        code = exit_code(failed.process.returncode)  # type: ignore[union-attr]
        how = how_it_ended(failed)
        say(f"{failed.what} failed with {how}; the end of {failed.log}:")
        sys.stderr.write(Pod.tail(failed).rstrip("\n") + "\n")
        sys.stderr.flush()
        if self._end_round(f"{failed.what} failed with {how}"):
            return None
        return code or 1
