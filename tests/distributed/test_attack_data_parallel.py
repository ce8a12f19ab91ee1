"""Layers that change after they were wrapped, backwards that fail, and threads: gradients stay those of all processes."""

import copy
import threading

import numpy as np
import pytest

import paddle
import paddle.distributed as dist
from paddle import nn

from _jobs import Job, raised


@pytest.fixture(scope="module")
def job():
    made = Job(2)
    yield made
    made.close()


def gradients(model, rank):
    """Of inputs that are 1 in the first process and 2 in the second: 3 where the sum of a Linear's rows is averaged."""
    model(paddle.ones([2, 2]) * (rank + 1)).sum().backward()
    return [None if p.grad is None else p.grad.numpy().tolist() for p in model.parameters()]


def frozen(layer, yes):
    for p in layer.parameters():
        p.stop_gradient = yes


def changes(rank):
    paddle.seed(rank)
    out = {}
    net = nn.Linear(2, 1)
    model = paddle.DataParallel(net)
    net.weight = paddle.create_parameter([2, 1], "float32")
    out["replaced"] = gradients(model, rank)
    out["same values"] = net.weight.tolist()

    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    frozen(net[0], True)
    model = paddle.DataParallel(net)
    frozen(net[0], False)
    out["unfrozen"] = gradients(model, rank)
    frozen(net, True)
    net.add_sublayer("2", nn.Linear(1, 1, bias_attr=False))
    for p in model.parameters():
        p.clear_grad(False)
    with model.no_sync():
        gradients(model, rank)
    out["added"] = gradients(model, rank)

    model = paddle.DataParallel(nn.Linear(2, 1))
    other = copy.deepcopy(model)
    out["copied"] = gradients(other, rank), [p.grad for p in model.parameters()]
    return out


def test_layers_that_change_after_they_were_wrapped(job):
    first, second = job.run(changes)
    assert first == second
    assert first["replaced"][0] == [[3.0], [3.0]] and first["replaced"][1] == [2.0]
    assert np.any(first["unfrozen"][0]) and first["unfrozen"][3] == [2.0]
    assert first["added"][:4] == [None] * 4 and np.any(first["added"][4])
    assert first["copied"] == ([[[3.0], [3.0]], [2.0]], [None, None])


def fails(rank):
    model = paddle.DataParallel(nn.Linear(2, 1))
    hook = model._layers.weight.register_hook(lambda g: 1 / 0)
    error = raised(gradients, model, rank)[0]
    hook.remove()
    for p in model.parameters():
        p.clear_grad(False)
    return error, gradients(model, rank)


def test_a_backward_that_failed_does_not_end_the_averages(job):
    assert job.run(fails) == [("ZeroDivisionError", [[[3.0], [3.0]], [2.0]])] * 2


def threads(rank):
    """Only one process is entered by a second thread: nothing is sent."""
    from paddle.distributed.communication import watch

    found, go = [], threading.Event()

    def other():
        with watch.inside("all_reduce"):
            go.set()
            done.wait(60)

    done = threading.Event()
    thread = threading.Thread(target=other)
    thread.start()
    go.wait(60)
    found.append(raised(dist.all_reduce, paddle.ones([2])))
    objects = []
    dist.all_gather_object(objects, rank)
    dist.barrier()
    done.set()
    thread.join(60)
    x = paddle.ones([2])
    thread = threading.Thread(target=lambda: dist.all_reduce(x))
    thread.start()
    thread.join(60)
    return *found[0], objects, x.tolist()


def test_collectives_of_two_threads_at_once_are_refused(job):
    for kind, message, objects, total in job.run(threads):
        assert kind == "RuntimeError" and "another thread is in a collective (all_reduce)" in message
        assert objects == [0, 1] and total == [2.0, 2.0]
