"""The command line of the launcher."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

PORTS = 1 << 16


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m paddle.distributed.launch",
        description="Start the processes of a distributed job, watch them, and end all when one fails.",
    )
    add, environ = parser.add_argument, os.environ.get
    add("--master", default=environ("PADDLE_MASTER"), help="host:port where the launchers of several nodes meet")
    add(
        "--rank",
        type=int,
        default=environ("PADDLE_RANK") or "-1",
        help="number of this node; default: who comes first",
    )
    add("--nnodes", default=environ("PADDLE_NNODES") or "1", help="number of nodes, or a range MIN:MAX (elastic)")
    add("--nproc_per_node", type=int, help="processes on this node; default: one for each device, one on a CPU")
    add("--log_dir", default=environ("PADDLE_LOG_DIR") or "log", help="folder of the processes' logs; default ./log")
    add("--log_level", default="INFO")
    add("--log_overwrite", default=False, type=_yes, help="start the logs anew instead of appending")
    add("--run_mode", default="collective", help="collective, ps or rpc")
    add("--job_id", default="default", help="a name that the variable PADDLE_JOB_ID passes on")
    add("--devices", "--gpus", "--npus", "--xpus", help="the devices to use, such as 0,1")
    add("--host", default=environ("POD_IP"), help="the address of this node")
    add("--ips", help="the addresses of all nodes, the first of which is the master's")
    add("--start_port", type=_port, help="the first port for the endpoints")
    add("--max_restart", type=_count, help="how often the job may start again after a failure; default 3 where it may")
    add("--elastic_level", type=int, default=-1, help="-1: a failure ends the job; 0 or 1: the job starts again")
    add("--elastic_timeout", type=_count, default=30, help="seconds to wait for more nodes than the least number")
    add("--servers", default="", type=_endpoints, help="endpoints of the parameter servers")
    add("--trainers", "--workers", default="", type=_endpoints, help="endpoints of the trainers")
    add("--server_num", type=_count, help="number of parameter servers")
    add("--trainer_num", "--worker_num", type=_count, help="number of trainers")
    for ignored in ("--legacy", "--sort_ip", "--enable_gpu_log", "--gloo_port", "--with_gloo"):
        add(ignored, help=argparse.SUPPRESS)
    for absent in ("--auto_parallel_config", "--auto_cluster_config", "--auto_tuner_json"):
        add(absent, help=argparse.SUPPRESS)
    add("training_script", help="the script, or a module with a leading -m")
    add("training_script_args", nargs=argparse.REMAINDER)
    args = parser.parse_args(argv)
    for absent in ("auto_parallel_config", "auto_cluster_config", "auto_tuner_json"):
        if getattr(args, absent):
            parser.error(f"--{absent} is not built")
    _nodes(parser, args)
    if args.server_num or args.trainer_num or args.servers or args.trainers:
        args.run_mode = "ps"
    if args.run_mode == "rpc":  # the same processes; `rpc.init_rpc` connects them
        args.run_mode = "collective"
    if args.run_mode not in ("collective", "ps"):
        parser.error(f"--run_mode must be collective, ps or rpc, got {args.run_mode}")
    if args.run_mode == "ps" and args.max_nodes > 1:
        parser.error("--run_mode ps starts the processes of one node only")
    if args.nproc_per_node is not None and args.nproc_per_node < 1:
        parser.error(f"--nproc_per_node must be at least 1, got {args.nproc_per_node}")
    if args.devices and (args.nproc_per_node or 1) > len(args.devices.split(",")):
        parser.error(f"--nproc_per_node {args.nproc_per_node} is more than the devices {args.devices}")
    may_restart = args.elastic_level >= 0 or args.min_nodes < args.max_nodes or args.max_restart is not None
    args.restarts = (3 if args.max_restart is None else args.max_restart) if may_restart else 0
    return args


def _nodes(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    if args.ips and "," in args.ips:
        addresses = args.ips.split(",")
        args.nnodes = args.nnodes if args.nnodes != "1" else str(len(addresses))
        args.master = args.master or f"{addresses[0]}:{args.start_port or 6070}"
    low, _, high = str(args.nnodes).partition(":")
    if not low.isdecimal() or not (high or low).isdecimal() or not 1 <= int(low) <= int(high or low):
        parser.error(f"--nnodes must be a number or a range MIN:MAX, got {args.nnodes}")
    args.min_nodes, args.max_nodes = int(low), int(high or low)
    if args.max_nodes > 1:
        host, _, port = (args.master or "").removeprefix("http://").rpartition(":")
        if not host or not port.isdecimal() or int(port) >= PORTS:
            parser.error(f"several nodes need --master host:port, got {args.master}")
        args.master = f"{host}:{port}"
    elif args.rank > 0:
        parser.error(f"--rank {args.rank} of one node")


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a number, 0 or more, got {text!r}")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < PORTS:
        raise argparse.ArgumentTypeError(f"must be a port, 1 to {PORTS - 1}, got {text!r}")
    return int(text)


def _endpoints(text: str) -> str:
    for endpoint in text.split(",") if text else ():
        host, _, port = endpoint.rpartition(":")
        if not host:
            raise argparse.ArgumentTypeError(f"must be host:port,host:port, got {text!r}")
        _port(port)
    return text


def _yes(text: str) -> bool:
    return str(text).lower() in ("1", "true", "yes")
