"""Large blocks stay with the process once an executable needs them, in a process of its own: the choice cannot be undone."""

import os
import subprocess
import sys

import pytest

TEXT = """
import ctypes, resource
import paddle
from paddle.engine import heap

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    block = libc.malloc(64 << 20)
    ctypes.memset(block, 1, 64 << 20)
    libc.free(block)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

heap.needs(heap.LARGE - 1)
faults()
assert faults() > 10  # a page each, or a large page each
heap.needs(heap.LARGE)
faults()
again = faults()
heap.trim()
print(again, faults() > 10, int(paddle.ones([1000]).sum()))
"""


def run(**variables):
    done = subprocess.run(
        [sys.executable, "-c", TEXT], env={**os.environ, **variables}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.skipif(sys.platform != "linux", reason="of glibc")
def test_large_blocks_stay_until_they_are_given_back():
    again, given_back, total = run()
    assert int(again) < 10 and given_back == "True" and total == "1000"


@pytest.mark.skipif(sys.platform != "linux", reason="of glibc")
def test_switched_off():
    assert int(run(PADDLE_XLA_HEAP="0")[0]) > 10
