import pytest

import paddle
from paddle.engine import capture


@pytest.fixture(autouse=True)
def fresh_state():
    """Every test starts from the same modes and seed, with nothing captured."""
    paddle.seed(0)
    capture.install()
    yield
    paddle.set_default_dtype("float32")
