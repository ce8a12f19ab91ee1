"""Hostile calls, processes that fork, threads, copies: nothing crashes, hangs or fails with an error from inside."""

import copy
import multiprocessing
import pickle
import re
import subprocess
import sys
import threading
import traceback

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.engine import compile as compiler
from paddle.engine import flags

X = paddle.ones([3, 4])
HUGE = 1 << 40


@pytest.mark.parametrize(
    "call",
    [
        lambda: paddle.zeros([1 << 62, 4]),
        lambda: paddle.zeros([HUGE]),
        lambda: paddle.arange(HUGE),
        lambda: paddle.eye(1 << 20),
        lambda: X.expand([HUGE, 3, 4]),
        lambda: F.sequence_mask(X, HUGE),
        lambda: paddle.rand([1 << 38]),
        lambda: F.pad(paddle.ones([1, 1, 4, 4]), [HUGE] * 4),
        lambda: paddle.tile(X, [HUGE, HUGE]),
        lambda: F.one_hot(paddle.to_tensor([0, 1]), HUGE),
    ],
)
def test_results_that_no_device_can_hold_raise(call):
    with pytest.raises(MemoryError, match=r"\(ResourceExhausted\) \w+: "):
        call()


HOSTILE = {
    "None": lambda: paddle.ceil(None),
    "a dict": lambda: paddle.abs({}),
    "text": lambda: paddle.acos("a"),
    "in place on None": lambda: paddle.tanh_(None),
    "too few": lambda: paddle.roll(X),
    "too many": lambda: paddle.add(X, X, 1, 2, 3),
    "a list of numbers": lambda: paddle.histogram(X, 100, [0, 1]),
    "a tensor as type": lambda: paddle.cast(X, X),
    "a number as type": lambda: X.astype(-1),
    "a list as offset": lambda: paddle.diagonal(X, [0, 1]),
    "a tensor of two as number": lambda: paddle.eye(paddle.to_tensor([2, 3])),
    "no tensor as out": lambda: paddle.assign(X, -1),
    "an error of NumPy": lambda: paddle.linspace(2**70, 5, 4),
    "no layer input": lambda: F.conv2d(None, X),
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_errors_from_inside_name_the_function_and_end_in_the_users_line(name):
    with pytest.raises((ValueError, TypeError)) as caught:
        HOSTILE[name]()
    assert re.match(r"\(Invalid\w+\) \w+: ", str(caught.value))
    assert traceback.extract_tb(caught.value.__traceback__)[-1].filename == __file__


def test_errors_of_the_users_functions_stay_what_they_are():
    with pytest.raises(AttributeError, match="nope"):
        X.apply(lambda x: x.nope)


def test_a_tensor_stands_for_a_switch():
    assert paddle.allclose(X, X, equal_nan=paddle.to_tensor(True))
    assert paddle.argsort(paddle.to_tensor([1.0, 3.0, 2.0]), descending=paddle.to_tensor(True)).tolist() == [1, 2, 0]


def train(net, optimizer, x, steps):
    for _ in range(steps):
        net(x).square().mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    return net[0].weight.numpy()


@pytest.mark.parametrize(
    "how", [copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))], ids=["deepcopy", "pickle"]
)
@pytest.mark.parametrize("rule", ["Momentum", "Adam"])
def test_copies_of_a_layer_and_its_optimizer_train_on_alike(how, rule):
    net = paddle.nn.Sequential(paddle.nn.Linear(4, 3), paddle.nn.Linear(3, 2))
    optimizer = getattr(paddle.optimizer, rule)(learning_rate=0.1, parameters=net.parameters())
    x = paddle.rand([5, 4])
    before = train(net, optimizer, x, 3)
    other = how((net, optimizer))
    np.testing.assert_array_equal(other[0][0].weight.numpy(), before)
    np.testing.assert_array_equal(train(*other, x, 2), train(net, optimizer, x, 2))
    assert not np.array_equal(net[0].weight.numpy(), before)


def test_gradients_of_several_threads_add_up_and_modes_are_their_own():
    w = paddle.ones([10])
    w.stop_gradient = False
    seen = []

    def work():
        seen.append(paddle.is_grad_enabled())
        for _ in range(50):
            (w * 2).sum().backward()

    with paddle.no_grad():
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen == [True] * 4
    assert w.grad.tolist() == [400.0] * 10


def in_the_child(pipe, x):
    try:
        pipe.send(x.numpy())
        x * 2
    except BaseException as e:
        pipe.send(e)


@pytest.mark.filterwarnings("ignore:os.fork")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
def test_a_forked_process_reads_tensors_and_refuses_to_compute():
    context = multiprocessing.get_context("fork")
    x = paddle.rand([64, 64]) @ paddle.rand([64, 64])
    ours, theirs = context.Pipe()
    child = context.Process(target=in_the_child, args=(theirs, x))
    child.start()
    try:
        assert ours.poll(30), "the child hangs"
        np.testing.assert_array_equal(ours.recv(), x.numpy())
        assert ours.poll(30), "the child hangs"
        error = ours.recv()
    finally:
        child.kill()
    assert isinstance(error, RuntimeError) and "spawn" in str(error), error


def test_a_process_that_forks_before_it_computes_is_free():
    code = (
        "import os, paddle\n"
        "child = os.fork()\n"
        "os.write(1, b'%.1f\\n' % float((paddle.ones([64, 64]) @ paddle.ones([64, 64])).sum()))\n"
        "if child: assert os.waitpid(child, 0)[1] == 0"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["262144.0"] * 2, done.stderr


def test_numbers_far_outside():
    assert paddle.roll(paddle.arange(12), HUGE).tolist() == np.roll(np.arange(12), HUGE % 12).tolist()
    assert paddle.roll(paddle.arange(12), -(2**70), 0)[0].item() == 2**70 % 12
    grid = paddle.to_tensor([[[[1e30, 0.0], [-1e30, 1e30], [float("inf"), 0.0]]]])
    assert F.grid_sample(paddle.ones([1, 1, 2, 2]), grid).tolist() == [[[[0.0, 0.0, 0.0]]]]


@pytest.mark.parametrize("pool", [F.avg_pool1d, F.max_pool1d])
def test_windows_much_larger_than_x_cost_nothing(pool):
    x = paddle.to_tensor([[[1.0, 2.0, 6.0]]])
    assert pool(x, HUGE, padding=0).tolist() == [[[6.0 if pool is F.max_pool1d else 3.0]]]


@pytest.mark.parametrize(
    "call",
    [
        lambda: paddle.tensor_split(X, HUGE),
        lambda: paddle.hsplit(X, HUGE),
        lambda: paddle.multigammaln(X + 9, HUGE),
        lambda: paddle.linalg.svd_lowrank(X, niter=HUGE),
    ],
)
def test_counts_without_limit_are_errors(call):
    with pytest.raises(ValueError, match=r"\(InvalidArgument\) \w+: "):
        call()


def test_shapes_without_end_do_not_fill_the_memory(monkeypatch):
    cleared = []
    monkeypatch.setattr(compiler, "KEPT", 10)
    monkeypatch.setattr(compiler.heap, "trim", lambda: cleared.append(compiler.stats.compiles))
    w = paddle.to_tensor(3.0, stop_gradient=False)
    for n in range(301, 316):
        (w * paddle.ones([n])).sum().backward()
        assert w.grad.item() == n
        w.clear_gradient()
    assert len(cleared) >= 2


def test_words_for_the_debug_level():
    assert [flags._level(text) for text in ("", "0", "2", "yes", "no")] == [0, 0, 2, 1, 0]
