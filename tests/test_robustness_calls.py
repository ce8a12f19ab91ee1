"""Hostile calls of classes, layers, optimizers and plain functions: errors name them and end in the user's line; empty
inputs; gradients of a wrong shape; warnings."""

import re
import traceback
import warnings

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.engine import executable
from paddle.engine.dispatch import dispatch

X = paddle.ones([3, 4])
SPARSE = paddle.sparse.sparse_coo_tensor([[0], [1]], [1.0], [3, 4])


def scaler(**settings):
    return paddle.amp.GradScaler(**settings)


NAMED = {
    "Linear: missing": lambda: nn.Linear(3),
    "linear: argument 'x' cannot be of type NoneType": lambda: nn.Linear(3, 3)(None),
    "LSTM: argument 'inputs' cannot be of type int": lambda: nn.LSTM(3, 4)(1),
    "SGD: got an unexpected keyword argument 'nope'": lambda: paddle.optimizer.SGD(nope=1),
    "Rprop: list index out of range; got etas=": lambda: paddle.optimizer.Rprop(etas=[]),
    "CyclicLR: ": lambda: paddle.optimizer.lr.CyclicLR(None, 0.2, 2),
    "Accuracy.update: ": lambda: paddle.metric.Accuracy().update(True),
    "GradScaler": lambda: scaler().step([]),
    "accuracy: ": lambda: paddle.metric.accuracy(X, 1, []),
    "clip_grad_norm_: ": lambda: nn.utils.clip_grad_norm_([], ""),
    "vjp: ": lambda: paddle.incubate.autograd.vjp([], X),
    "create_parameter: ": lambda: paddle.create_parameter([2], "float32", default_initializer=X),
    "elu: .* 'range' and 'Tensor'": lambda: F.elu(X, range(3)),
    "matmul: argument 'transpose_x' must be a bool": lambda: paddle.matmul(X, X, "abc"),
    "nanmedian: argument 'keepdim' must be a bool": lambda: paddle.nanmedian(X, keepdim=-1),
    "argsort: argument 'stable' must be a bool": lambda: paddle.argsort(X, stable=X),
    "acos: out must be a dense": lambda: paddle.acos(X, out=SPARSE),
    "atanh_: a sparse tensor": lambda: paddle.atanh_(SPARSE),
    "GradScaler: the scale must be positive": lambda: scaler(init_loss_scaling=0.0),
    "GradScaler: incr_every_n_steps must be": lambda: scaler(incr_every_n_steps=0),
    "GradScaler: decr_every_n_nan_or_inf must be": lambda: scaler().set_decr_every_n_nan_or_inf("a"),
}


@pytest.mark.parametrize("message", NAMED)
def test_errors_name_the_class_or_function_and_end_in_the_users_line(message):
    with pytest.raises((ValueError, TypeError, IndexError)) as caught:
        NAMED[message]()
    assert re.match(r"\((Invalid\w+|OutOfRange)\) " + message, str(caught.value)), caught.value
    assert traceback.extract_tb(caught.value.__traceback__)[-1].filename == __file__


def test_out_takes_the_type_of_the_result_unless_it_is_a_view():
    out, base = paddle.zeros([2], "int64"), paddle.zeros([3], "int64")
    view = base[0:2]
    paddle.scale(X[0, :2], 0.5, out=out)
    paddle.scale(X[0, :2], 3.5, out=view)
    assert out.dtype == paddle.float32 and out.tolist() == [0.5, 0.5]
    assert view.dtype == paddle.int64 and base.tolist() == [3, 3, 0]


def test_a_wrong_type_stays_a_type_error_in_constructors():
    with pytest.raises(TypeError, match="TruncatedNormal"):
        nn.initializer.TruncatedNormal(a=[])


def test_what_a_users_subclass_raises_stays_what_it_is():
    class Mine(nn.Layer):
        def forward(self, x):
            return {}[x]

    class Slow(paddle.optimizer.lr.LRScheduler):
        def get_lr(self):
            return 1 / 0

    with pytest.raises(KeyError):
        nn.Sequential(Mine())("a")
    with pytest.raises(ZeroDivisionError):
        Slow(0.1)


def test_values_that_cannot_be_shown_do_not_hide_an_error():
    nested = 1
    for _ in range(5000):
        nested = [nested]
    with pytest.raises((ValueError, RuntimeError), match="to_tensor"):
        paddle.to_tensor(nested)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_gradients_of_single_numbers(name):
    x = paddle.to_tensor(0.3, stop_gradient=False)
    getattr(F, name)(x).backward()
    assert x.grad.shape == [] and x.grad.item() == 0


def test_a_gradient_rule_may_read_the_shape_of_a_result_that_it_does_not_need():
    shaped = executable.Kernel(lambda x: x * 1, "shaped", ("",), gradient=lambda i, o, g: (g[0] * o[0].size,))
    x = paddle.ones([5])
    x.stop_gradient = False
    dispatch(shaped, (x,)).sum().backward()
    assert x.grad.tolist() == [5.0] * 5


def test_gradients_of_a_wrong_shape_raise():
    class Wrong(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return paddle.ones([7])

    x = paddle.ones([2])
    x.stop_gradient = False
    with pytest.raises(ValueError, match=r"Wrong.backward: gradient 0 has shape \[7\], the input of forward \[2\]"):
        Wrong.apply(x).sum().backward()
    x.register_hook(lambda g: paddle.ones([5]))
    with pytest.raises(ValueError, match=r"register_hook: .*\[2\] returned one of shape \[5\]"):
        (x * 2).sum().backward()
    assert x.grad is None


def empty(*shape):
    x = paddle.zeros(shape)
    x.stop_gradient = False
    return x


EMPTY = {
    "max_unpool2d": (lambda x: F.max_unpool2d(x, paddle.zeros([0, 2, 3, 3], "int32"), 2), [0, 2, 3, 3], [0, 2, 6, 6]),
    "grid_sample": (lambda x: F.grid_sample(x, paddle.zeros([0, 3, 3, 2])), [0, 2, 4, 4], [0, 2, 3, 3]),
    "grid_sample, no channels": (lambda x: F.grid_sample(x, paddle.zeros([1, 3, 3, 2])), [1, 0, 4, 4], [1, 0, 3, 3]),
    "affine_grid": (lambda x: F.affine_grid(x, [0, 2, 4, 4]), [0, 2, 3], [0, 4, 4, 2]),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_batches(name):
    call, shape, result = EMPTY[name]
    x = empty(*shape)
    y = call(x)
    y.sum().backward()
    assert y.shape == result and x.grad.shape == shape


def test_a_row_sparse_gradient_of_no_rows():
    table = nn.Embedding(5, 2, sparse=True)
    before = table.weight.numpy()
    table(paddle.zeros([0], "int64")).sum().backward()
    paddle.optimizer.Adam(0.1, parameters=table.parameters()).step()
    np.testing.assert_array_equal(table.weight.numpy(), before)


def test_warnings_point_at_the_users_line():
    w = paddle.create_parameter([2], "float32")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        paddle.optimizer.SGD(0.1, parameters=[w, w])
        paddle.optimizer.LBFGS(weight_decay=0.1, parameters=[w])
        nn.Linear(2, 2).set_state_dict({})
    assert len(seen) == 4 and {each.filename for each in seen} == {__file__}


def test_attributes_without_end_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(executable, "MAX_ENTRIES", 8)
    times = executable.Kernel(lambda x, n: x * n, "times", ("", "static"))
    for n in range(1, 30):
        assert dispatch(times, (X, n))[0, 0].item() == n
        assert len(times.entries) <= 8
