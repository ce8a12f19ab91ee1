import pytest

import paddle


@pytest.fixture(autouse=True)
def fresh_state():
    """Every test starts from the same modes and seed."""
    paddle.seed(0)
    yield
    paddle.set_default_dtype("float32")
