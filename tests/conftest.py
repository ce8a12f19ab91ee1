import signal
import sys
import threading

import pytest

import paddle
from paddle.engine import capture

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's "&" has it ignored, and what tests start would too


@pytest.fixture(autouse=True)
def fresh_state():
    """Every test starts from the same modes and seed, with nothing captured."""
    paddle.seed(0)
    capture.install()
    yield
    paddle.set_default_dtype("float32")
    world = sys.modules.get("paddle.distributed.world")
    if world is not None and world.is_connected():  # a job of one process that a test began
        paddle.distributed.destroy_process_group()
