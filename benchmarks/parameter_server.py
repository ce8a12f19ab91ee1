"""Pulls and pushes a second of parameter servers in processes of their own: by batch size and number of servers.

    python benchmarks/parameter_server.py [--width 16] [--servers 1 2 4] [--batches 1000 10000 100000] [--seconds 2]

A batch holds ids drawn from a million by Zipf's law (exponent 1.2), as clicks have them; rows are updated by Adagrad. The
figures are ids a second of one worker (ids of the batch, with repetitions), the median over the repetitions.
"""

import argparse
import os
import secrets
import statistics
import subprocess
import sys
import time

import numpy as np

SERVER = """
import sys
from paddle.distributed.ps import Server, serve
number, servers, port = map(int, sys.argv[1:])
serve(Server(number, servers, 1), f"127.0.0.1:{port}", 600.0)
"""


def measure(client, ids, gradients, seconds):
    """(pulls, pushes) of batches a second."""
    times = [], []
    end = time.perf_counter() + seconds
    while len(times[0]) < 5 or time.perf_counter() < end:
        batch = ids[len(times[0]) % len(ids)]
        start = time.perf_counter()
        client.pull({"table": batch})
        middle = time.perf_counter()
        client.push({"table": (batch, gradients)}, {}, 0.01)
        times[0].append(middle - start)
        times[1].append(time.perf_counter() - middle)
    return tuple(1 / statistics.median(t) for t in times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--servers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--batches", type=int, nargs="+", default=[1000, 10000, 100000])
    parser.add_argument("--seconds", type=float, default=2.0)
    args = parser.parse_args()
    os.environ["PADDLE_XLA_TOKEN"] = secrets.token_hex(16)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from paddle.distributed.launch.main import free_ports
    from paddle.distributed.ps import TCP, Client

    rng = np.random.RandomState(0)
    print("| servers | ids in a batch | different | pulls: batches/s | ids/s | pushes: batches/s | ids/s |")
    print("|---|---|---|---|---|---|---|")
    for servers in args.servers:
        ports = free_ports(servers, None)
        running = [
            subprocess.Popen([sys.executable, "-c", SERVER, str(i), str(servers), str(port)])
            for i, port in enumerate(ports)
        ]
        client = Client(TCP([f"127.0.0.1:{p}" for p in ports], 0), servers)
        client.hello()
        update = ("adagrad", {"epsilon": 1e-6, "initial_accumulator_value": 0.0})
        client.create([dict(name="table", width=args.width, initializer=("uniform", -0.1, 0.1), update=update)])
        for size in args.batches:
            ids = [(rng.zipf(1.2, size) * 2654435761) % 1000003 for _ in range(5)]
            gradients = rng.randn(size, args.width).astype("float32")
            for batch in ids:  # rows come into being
                client.push({"table": (batch, gradients)}, {}, 0.01)
            pulls, pushes = measure(client, ids, gradients, args.seconds)
            different = statistics.median(len(np.unique(b)) for b in ids)
            print(
                f"| {servers} | {size} | {different:.0f} | {pulls:.0f} | {pulls * size:.3g} | {pushes:.0f} | "
                f"{pushes * size:.3g} |",
                flush=True,
            )
        client.leave()
        for process in running:
            process.wait(30)


if __name__ == "__main__":
    main()
