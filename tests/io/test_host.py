"""Tensors that have not moved to the device yet behave like all others."""

import copy
import pickle

import numpy as np
import pytest

import paddle
from paddle.io.host import host_array, host_tensor

ARRAY = np.arange(6, dtype="float32").reshape(2, 3)


def fresh():
    out = host_tensor(ARRAY.copy())
    assert host_array(out) is not None
    return out


@pytest.mark.parametrize(
    "use, want",
    [
        (lambda t: t + 1, ARRAY + 1),
        (lambda t: 1 - t, 1 - ARRAY),
        (lambda t: t[1], ARRAY[1]),
        (lambda t: t.reshape([3, 2]), ARRAY.reshape(3, 2)),
        (lambda t: t.detach(), ARRAY),
        (lambda t: t.astype("int64"), ARRAY.astype("int64")),
        (lambda t: paddle.concat([t, t]), np.concatenate([ARRAY] * 2)),
        (lambda t: copy.deepcopy(t), ARRAY),
        (lambda t: pickle.loads(pickle.dumps(t)), ARRAY),
        (lambda t: t.clone(), ARRAY),
        (lambda t: t, ARRAY),
        (lambda t: t.cpu(), ARRAY),
        (lambda t: paddle.to_tensor(t), ARRAY),
    ],
)
def test_it_moves_when_it_is_needed(use, want):
    assert np.array_equal(use(fresh()).numpy(), want)


def test_writing_and_gradients():
    t = fresh()
    t[0, 0] = 7.0
    assert host_array(t) is None and t[0, 0].item() == 7.0
    t = fresh()
    t.add_(paddle.ones([2, 3]))
    assert np.array_equal(t.numpy(), ARRAY + 1)
    t = fresh()
    t.stop_gradient = False
    (t * t).sum().backward()
    assert np.array_equal(t.grad.numpy(), 2 * ARRAY)
    assert (fresh().shape, fresh().dtype, fresh().ndim, fresh().size) == ([2, 3], paddle.float32, 2, 6)


def test_an_image_pipeline_stays_on_the_host():
    T = paddle.vision.transforms
    one = T.Compose([T.ToTensor(), T.Normalize(0.5, 0.5)])(np.full((4, 4, 3), 255, "uint8"))
    assert np.array_equal(host_array(one), np.ones((3, 4, 4), "float32"))
    batch = paddle.io.collate.default_collate_fn([one, one])
    assert isinstance(batch, paddle.Tensor) and host_array(batch).shape == (2, 3, 4, 4)
