"""Gradient clipping called by hand and by an optimizer; numbers of the official package."""

import numpy as np
import pytest

import paddle
from paddle.engine.parameter import as_parameter
from paddle.nn.clip import ClipGradBase, ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue


def parameter(n=2):
    return as_parameter(paddle.zeros([n]))


def gradients():
    return paddle.to_tensor([3.0, 4.0]), paddle.to_tensor([0.0, 12.0])


@pytest.mark.parametrize(
    "rule, first, second, in_place",
    [
        (ClipGradByGlobalNorm(1.0), [3 / 13, 4 / 13], [0.0, 12 / 13], True),
        (ClipGradByGlobalNorm(20.0), [3.0, 4.0], [0.0, 12.0], True),
        (ClipGradByNorm(1.0), [0.6, 0.8], [0.0, 1.0], False),
        (ClipGradByValue(3.5), [3.0, 3.5], [0.0, 3.5], False),
        (ClipGradByValue(3.5, 1.0), [3.0, 3.5], [1.0, 3.5], False),
    ],
)
def test_by_hand(rule, first, second, in_place):
    a, b = gradients()
    out = rule([(parameter(), a), (parameter(), None), (parameter(), b)])
    assert len(out) == 2
    np.testing.assert_allclose(out[0][1].numpy(), first, rtol=1e-6)
    np.testing.assert_allclose(out[1][1].numpy(), second, rtol=1e-6)
    assert (out[0][1] is a) is in_place  # the global norm changes the gradients themselves, the others give new ones
    if not in_place:
        assert a.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    "rule, written",
    [(ClipGradByGlobalNorm(1.0), [0.6, 0.8]), (ClipGradByNorm(1.0), [3.0, 4.0]), (ClipGradByValue(2.0), [3.0, 4.0])],
)
def test_only_the_global_norm_writes_back(rule, written):
    p = parameter()
    p.grad = paddle.to_tensor([3.0, 4.0])
    grad = p.grad
    paddle.optimizer.SGD(0.1, parameters=[p], grad_clip=rule).step()
    np.testing.assert_allclose(p.grad.numpy(), written, rtol=1e-6)
    assert p.grad is grad


def test_parameters_that_need_no_clipping_do_not_count():
    p, q = parameter(), parameter()
    q.need_clip = False
    a, b = gradients()
    out = ClipGradByGlobalNorm(1.0)([(p, a), (q, b)])
    np.testing.assert_allclose(out[0][1].numpy(), [0.6, 0.8], rtol=1e-6)
    assert out[1][1].tolist() == [0.0, 12.0]
    p.grad, q.grad = gradients()
    paddle.optimizer.SGD(1.0, parameters=[p, q], grad_clip=ClipGradByGlobalNorm(1.0)).step()
    np.testing.assert_allclose(p.numpy(), [-0.6, -0.8], rtol=1e-6)
    np.testing.assert_allclose(q.numpy(), [0.0, -12.0], rtol=1e-6)


def test_every_group_is_clipped_by_itself():
    p, q = parameter(), parameter()
    p.grad, q.grad = gradients()
    rule = ClipGradByGlobalNorm(1.0)
    paddle.optimizer.SGD(1.0, parameters=[{"params": [p]}, {"params": [q]}], grad_clip=rule).step()
    np.testing.assert_allclose(p.numpy(), [-0.6, -0.8], rtol=1e-6)
    np.testing.assert_allclose(q.numpy(), [0.0, -1.0], rtol=1e-6)


def test_norm_of_each_small_parameter_in_one_array():
    params = [parameter(i + 1) for i in range(5)]
    for i, p in enumerate(params):
        p.grad = paddle.full([i + 1], float(i))
    paddle.optimizer.SGD(1.0, parameters=params, grad_clip=ClipGradByNorm(1.0)).step()
    for i, p in enumerate(params):
        want = np.full(i + 1, float(i))
        want /= max(1.0, np.linalg.norm(want))
        np.testing.assert_allclose(p.numpy(), -want, rtol=1e-6)


def test_mixed_precision_norm_does_not_overflow():
    p, q = parameter(), parameter()
    a = paddle.to_tensor([300.0, 400.0]).astype("float16")
    out = ClipGradByGlobalNorm(1.0)([(p, a), (q, paddle.to_tensor([0.0, 0.0]))])
    assert out[0][1].dtype == paddle.float16
    np.testing.assert_allclose(out[0][1].astype("float32").numpy(), [0.6, 0.8], rtol=2e-3)


def test_nan_is_not_hidden():
    a = paddle.to_tensor([float("nan"), 1.0])
    out = ClipGradByGlobalNorm(1.0)([(parameter(), a)])
    assert np.isnan(out[0][1].numpy()).all()


def test_a_rule_of_the_user():
    class Half(ClipGradBase):
        def __call__(self, params_grads):
            return [(p, g * 0.5) for p, g in params_grads]

    p = parameter()
    p.grad = paddle.to_tensor([3.0, 4.0])
    paddle.optimizer.SGD(1.0, parameters=[p], grad_clip=Half()).step()
    np.testing.assert_allclose(p.numpy(), [-1.5, -2.0])


def test_bad_arguments():
    for make, error in (
        (lambda: ClipGradByNorm("1"), TypeError),
        (lambda: ClipGradByGlobalNorm(-1.0), ValueError),
        (lambda: ClipGradByValue(-1.0), ValueError),
        (lambda: ClipGradByValue(1.0, 2.0), ValueError),
    ):
        with pytest.raises(error):
            make()
