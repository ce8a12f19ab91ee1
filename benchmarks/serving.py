"""Serving over HTTP, in turns with the same model as ONNX behind bare FastAPI and behind LitServe (benchmarks/README.md).

    RIVALS_PYTHON=/path/to/python python benchmarks/serving.py [--seconds 3] [--rounds 3] [--json FILE]

One process of each server; clients are coroutines of one process on the same machine, each with a connection that is kept.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import io
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from turns import python_of

HERE = Path(__file__).resolve().parent
SERVERS = ("ours", "fastapi", "litserve")
WORKLOADS = {"mlp, JSON": ("json", (784,)), "ResNet-18 at 64x64, binary": ("binary", (3, 64, 64))}


def make(folder: Path) -> None:
    """The two models, in a repository and as ONNX."""
    import paddle
    from paddle import nn

    paddle.seed(0)
    networks = {
        "mlp": nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)),
        "resnet": paddle.vision.models.resnet18(num_classes=10),
    }
    for (name, network), (_, shape) in zip(networks.items(), WORKLOADS.values()):
        network.eval()
        spec = [paddle.static.InputSpec([None, *shape], "float32", "image")]
        paddle.jit.save(network, str(folder / "models" / name / "1" / "model"), spec)
        paddle.onnx.export(network, str(folder / name), spec)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A server in a process of its own."""

    def __init__(self, kind: str, name: str, body: str, shape: tuple, folder: Path):
        self.port, self.path = free_port(), "/predict"
        if kind == "ours":
            command = [sys.executable, "-m", "paddle.serving", str(folder / "models"), "--port", str(self.port)]
            command += ["--no-access-log"]
            environment = dict(os.environ, PYTHONPATH=str(HERE.parent))
            self.path = f"/v1/models/{name}/predict"
        else:
            arguments = [kind, str(folder / f"{name}.onnx"), str(self.port), body, "x".join(map(str, shape))]
            command = [python_of("rivals"), str(HERE / "serving_rivals.py"), *arguments]
            environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, 15)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()


def request(server: Server, kind: str, body: str, x: np.ndarray) -> bytes:
    """The bytes of a request with one row."""
    if body == "json":
        content, media = json.dumps({"inputs": {"image": x.tolist()}}).encode(), "application/json"
    elif kind == "ours":
        file = io.BytesIO()
        np.save(file, x)
        content, media = file.getvalue(), "application/x-npy"
    elif kind == "litserve":
        text = base64.b64encode(x.tobytes()).decode()
        content, media = json.dumps({"inputs": {"image": text}}).encode(), "application/json"
    else:
        content, media = x.tobytes(), "application/octet-stream"
    head = (
        f"POST {server.path} HTTP/1.1\r\nHost: here\r\nContent-Type: {media}\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


async def ask(connection: tuple, sent: bytes) -> tuple[int, bytes]:
    reader, writer = connection
    writer.write(sent)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(re.search(rb"content-length: (\d+)", head, re.I)[1])
    return int(head.split(b" ", 2)[1]), await reader.readexactly(length)


async def load(port: int, sent: bytes, clients: int, seconds: float) -> dict[str, float]:
    """Figures of so many clients that each ask again as soon as they are answered."""
    times: list[float] = []
    connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(clients)]
    start = time.perf_counter()

    async def client(connection: tuple) -> None:
        while (begin := time.perf_counter()) < start + seconds:
            status, _ = await ask(connection, sent)
            assert status == 200, status
            times.append(time.perf_counter() - begin)

    await asyncio.gather(*map(client, connections))
    passed = time.perf_counter() - start
    for _, writer in connections:
        writer.close()
    p50, p95, p99 = np.percentile(times, [50, 95, 99]) * 1e3
    return {"requests": len(times) / passed, "p50": p50, "p95": p95, "p99": p99}


async def first_answer(server: Server, sent: bytes) -> bytes:
    end = time.monotonic() + 180
    while True:
        assert server.process.poll() is None, f"{server.process.args} ended"
        assert time.monotonic() < end, "the server does not answer"
        try:
            connection = await asyncio.open_connection("127.0.0.1", server.port)
            status, body = await ask(connection, sent)
            connection[1].close()
            if status == 200:
                return body
        except (OSError, asyncio.IncompleteReadError):
            pass
        await asyncio.sleep(0.3)


def values(body: bytes, kind: str) -> np.ndarray:
    if body.startswith(b"{"):
        found = json.loads(body)["outputs"]
        return np.array(found if isinstance(found, list) else next(iter(found.values()))).reshape(-1)
    return np.frombuffer(body[-40:], np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", default="1,16,64")
    parser.add_argument("--json")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the servers end too
    servers = [s for s in SERVERS if s == "ours" or python_of("rivals")]
    rows = []
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        subprocess.run(
            [sys.executable, "-c", f"import serving, pathlib; serving.make(pathlib.Path({folder_name!r}))"],
            cwd=HERE, check=True, env=dict(os.environ, PYTHONPATH=str(HERE.parent)),
        )  # fmt: skip
        for (workload, (body, shape)), name in zip(WORKLOADS.items(), ("mlp", "resnet")):
            x = np.random.default_rng(0).normal(size=(1, *shape)).astype(np.float32)
            running: dict[str, Server] = {}
            try:
                sent, answers = {}, {}
                for kind in servers:
                    running[kind] = Server(kind, name, body, shape, folder)
                    sent[kind] = request(running[kind], kind, body, x)
                    answers[kind] = values(asyncio.run(first_answer(running[kind], sent[kind])), kind)
                    np.testing.assert_allclose(answers[kind], answers["ours"], rtol=1e-2, atol=1e-3)
                for clients in map(int, args.clients.split(",")):
                    found: dict[str, list] = {k: [] for k in servers}
                    for i in range(args.rounds + 1):  # the first is for warming up
                        for kind in servers[i % len(servers) :] + servers[: i % len(servers)]:
                            figures = asyncio.run(load(running[kind].port, sent[kind], clients, args.seconds))
                            if i:
                                found[kind].append(figures)
                    for kind in servers:
                        middle = {k: statistics.median(f[k] for f in found[kind]) for k in found[kind][0]}
                        rows.append({"workload": workload, "clients": clients, "server": kind, **middle})
                        show(rows[-1], rows)
            finally:
                for server in running.values():
                    server.close()
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=1))


def show(row: dict, rows: list[dict]) -> None:
    """A line of the table; the ratio is ours through this one's, in requests a second."""
    if len(rows) == 1:
        print(
            "| model | clients | server | requests/s | p50 ms | p95 ms | p99 ms | ours against it |\n"
            + "|---" * 8
            + "|"
        )
    ours = next(r for r in reversed(rows) if r["server"] == "ours")
    print(
        f"| {row['workload']} | {row['clients']} | {row['server']} | {row['requests']:.0f} | {row['p50']:.1f} | "
        f"{row['p95']:.1f} | {row['p99']:.1f} | {ours['requests'] / row['requests']:.2f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
