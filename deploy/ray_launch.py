"""Run a training script on the nodes of a Ray cluster, one launcher on each.

    python deploy/ray_launch.py --nodes 2 --gpus 8 deploy/train.py --checkpoints s3://bucket/run

Ray places the launchers, brings their output together, and with `--attempts` starts the job again when nodes are lost;
the script goes on from its last checkpoint.
"""

import argparse
import ctypes
import os
import signal
import socket
import subprocess
import sys

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--address", help="of the cluster; default: RAY_ADDRESS, or a cluster of this machine alone")
parser.add_argument("--nodes", type=int, default=1)
parser.add_argument("--cpus", type=float, default=1, help="of a node")
parser.add_argument("--gpus", type=float, default=0, help="of a node")
parser.add_argument("--processes", type=int, help="of a node; default: one for each GPU, one on a CPU")
parser.add_argument("--together", action="store_true", help="several launchers may share a machine")
parser.add_argument("--attempts", type=int, default=1)
parser.add_argument("script")
parser.add_argument("arguments", nargs=argparse.REMAINDER)


def end_with_parent():
    """In a child process: end when Ray ends its parent."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


@ray.remote(max_restarts=0)
class Node:
    def where(self):
        """The address of this node, and a free port."""
        with socket.socket() as s:
            s.bind(("", 0))
            return f"{ray.util.get_node_ip_address()}:{s.getsockname()[1]}"

    def run(self, flags, folder, path):
        """The exit code of the launcher."""
        environment = {**os.environ, "PYTHONPATH": path}
        command = [sys.executable, "-m", "paddle.distributed.launch", *flags]
        return subprocess.run(command, cwd=folder, env=environment, preexec_fn=end_with_parent).returncode


def attempt(args):
    group = placement_group(
        [{"CPU": args.cpus, **({"GPU": args.gpus} if args.gpus else {})}] * args.nodes,
        strategy="PACK" if args.together else "STRICT_SPREAD",
    )
    ray.get(group.ready())
    nodes = [
        Node.options(
            num_cpus=args.cpus,
            num_gpus=args.gpus,
            scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=i),
        ).remote()
        for i in range(args.nodes)
    ]
    try:
        master = ray.get(nodes[0].where.remote())
        running = []
        for i, node in enumerate(nodes):
            flags = ["--nnodes", str(args.nodes), "--rank", str(i), "--log_dir", f"log/{i}"] if args.nodes > 1 else []
            flags += ["--master", master] if args.nodes > 1 else []
            flags += ["--nproc_per_node", str(args.processes)] if args.processes else []
            flags += [os.path.abspath(args.script), *args.arguments]
            running.append(node.run.remote(flags, os.getcwd(), os.environ.get("PYTHONPATH", "")))
        return max(ray.get(running))
    except ray.exceptions.RayActorError as error:
        print(f"a node was lost: {error}", file=sys.stderr)
        return 1
    finally:
        for node in nodes:
            ray.kill(node)
        remove_placement_group(group)


def main():
    args = parser.parse_args()
    ray.init(address=args.address or os.environ.get("RAY_ADDRESS"))
    for left in reversed(range(args.attempts)):
        code = attempt(args)
        if code == 0 or not left:
            sys.exit(code)
        print(f"the job starts again; {left} attempts are left", file=sys.stderr)


if __name__ == "__main__":
    main()
