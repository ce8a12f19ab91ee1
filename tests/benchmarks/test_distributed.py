"""The tables about distributed training: bytes are counted as they are, and a small table is right."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import distributed_jobs  # noqa: E402


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the kernel's count of a connection is Linux's")
def test_bytes_that_are_sent():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
        other, _ = server.accept()
        with other:
            before = distributed_jobs.sent()
            one.sendall(bytes(100_000))
            left = 100_000
            while left:
                left -= len(other.recv(left))
            end = time.monotonic() + 20
            while distributed_jobs.sent() < before + 100_000 and time.monotonic() < end:
                time.sleep(0.05)
            assert before + 100_000 <= distributed_jobs.sent() < before + 110_000


@pytest.mark.slow
def test_a_small_table(tmp_path):
    command = [sys.executable, str(BENCHMARKS / "distributed.py"), "correctness", "--sizes", "1", "2"]
    done = subprocess.run(
        [*command, "--only", "data parallel", "--keep", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=280,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    row = next(line for line in done.stdout.splitlines() if line.startswith("| data parallel"))
    one, two = (float(cell) for cell in row.split("|")[2:4])
    assert one == 0 and two < 1e-5
