"""Models divided over processes against one process: losses, gradients and weights."""

import numpy as np
import pytest

import paddle
from paddle.distributed import fleet

from _jobs import Job
from _transformer import Transformer, adam, batch, fill, gathered, gradients, one_process, split_axes, weights

STEPS = 4


@pytest.fixture(scope="module")
def job():
    made = Job(4)
    yield made
    made.close()


def start(**degrees):
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = degrees
    fleet.init(is_collective=True, strategy=strategy)
    return fleet.get_hybrid_communicate_group()


def train(rank, mp, clip):
    groups = start(mp_degree=mp, dp_degree=4 // mp)
    place, n = groups.get_model_parallel_rank(), groups.get_model_parallel_world_size()
    model = Transformer()
    fill(model.named_parameters(), place, n)
    model = fleet.distributed_model(model)
    optimizer = fleet.distributed_optimizer(adam(model, clip))
    copies, copy = groups.get_data_parallel_world_size(), groups.get_data_parallel_rank()
    curve, first = [], None
    for step in range(STEPS):
        ids, labels = batch(step)
        rows = slice(copy * len(ids) // copies, (copy + 1) * len(ids) // copies)
        loss = model(ids[rows], labels[rows])
        loss.backward()
        first = first or gradients(model._layers)
        optimizer.step()
        optimizer.clear_grad()
        curve.append(loss.item())
    return curve, first, weights(model._layers), split_axes(model._layers)


@pytest.mark.parametrize("mp, clip", [(2, 0.2), (4, None)])
def test_training_equals_one_process(job, mp, clip):
    found = job.run(train, mp, clip)
    curve, first, end = one_process(STEPS, clip)
    copies = [found[i : i + mp] for i in range(0, 4, mp)]
    np.testing.assert_allclose(np.mean([c[0][0] for c in copies], 0), curve, atol=1e-5)
    for copy in copies:
        assert copy[0][0] == copy[1][0]  # the same losses in all parts of a copy
        got = gathered([p[2] for p in copy], copy[0][3])
        for name, want in end.items():
            np.testing.assert_allclose(got[name], want, atol=1e-5, err_msg=name)
    starts = [gathered([p[1] for p in copy], copy[0][3]) for copy in copies]
    for name, want in first.items():
        np.testing.assert_allclose(np.mean([s[name] for s in starts], 0), want, atol=1e-6, err_msg=name)
