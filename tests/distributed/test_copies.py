"""Copies that are kept equal by the optimizer of fleet: over tensor parallelism, over the stages of a pipeline, float32
gradients of 16-bit parameters; in two processes."""

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.distributed import fleet
from paddle.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer, SharedLayerDesc
from paddle.distributed.fleet.utils import mix_precision_utils as mix

from _jobs import Job


@pytest.fixture(scope="module")
def job():
    made = Job(2)
    yield made
    made.close()


def start(**degrees):
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"dp_degree": 1, "mp_degree": 1, "pp_degree": 1, **degrees}
    fleet.init(is_collective=True, strategy=strategy)
    return strategy


def drifted(rank, mode):
    start(mp_degree=2, mp_configs={"sync_param": True, "sync_moment": True, "sync_mode": mode})
    net = nn.LayerNorm(2)
    adam = fleet.distributed_optimizer(paddle.optimizer.Adam(0.5, beta1=0.5, parameters=net.parameters()))
    for _ in range(2):
        net.weight.grad, net.bias.grad = paddle.full([2], rank * 4.0), paddle.zeros([2])
        adam.step()
    return net.weight.numpy(), adam.state_dict()[f"{net.weight.name}_moment1_0"].numpy()


@pytest.mark.parametrize("mode", ["broadcast", "average"])
def test_moments_that_drift(job, mode):
    one, other = job.run(drifted, mode)
    for found, same in zip(one, other):
        np.testing.assert_array_equal(found, same)
    gradient = 0.0 if mode == "broadcast" else 2.0  # of the first process, or the mean
    np.testing.assert_allclose(one[1], np.full(2, gradient * 0.75), rtol=1e-6)


def _logits(layer, x):
    return paddle.matmul(x, layer.weight, transpose_y=True)


def shared(rank):
    """A weight of both stages; that of the second is disturbed before the step."""
    strategy = start(pp_degree=2, pp_configs={"sync_param": True, "sync_moment": True})
    strategy.pipeline_configs = {"accumulate_steps": 2, "micro_batch_size": 1}
    fleet.init(is_collective=True, strategy=strategy)
    paddle.seed(1)
    key = ("table", nn.Embedding)
    net = PipelineLayer(
        [
            SharedLayerDesc(*key, None, "weight", 5, 4),
            LayerDesc(nn.Linear, 4, 4),
            SharedLayerDesc(*key, _logits, "weight", 5, 4),
        ],
        num_stages=2,
        loss_fn=nn.CrossEntropyLoss(),
    )
    model = fleet.distributed_model(net)
    adam = fleet.distributed_optimizer(paddle.optimizer.Adam(0.1, parameters=net.parameters()))
    weight = next(p for p in net.parameters() if hasattr(p, "color"))
    if rank:
        weight.set_value(weight + 0.5)
    x = paddle.to_tensor([1, 3])
    model.train_batch([x, x], adam)
    return weight.numpy(), adam.state_dict()[f"{weight.name}_moment1_0"].numpy()


def test_what_stages_share_is_made_equal(job):
    one, other = job.run(shared)
    for found, same in zip(one, other):
        np.testing.assert_array_equal(found, same)


def averaged(rank):
    """Main gradients in an optimizer that averages over data and tensor parallelism, with clipping."""
    start(mp_degree=2)
    net = nn.Linear(4, 2, bias_attr=False).bfloat16()
    net.weight.set_value(paddle.ones([4, 2], "bfloat16"))
    net = mix.MixPrecisionLayer(net, "bfloat16")
    sgd = paddle.optimizer.SGD(
        1.0, parameters=net.parameters(), multi_precision=True, grad_clip=nn.ClipGradByGlobalNorm(1.0)
    )
    sgd = fleet.distributed_optimizer(mix.MixPrecisionOptimizer(sgd))
    for size in (256.0, 1.0):
        net(paddle.full([1, 4], size, "bfloat16")).sum().backward()
    sgd.step()
    weight = net.parameters()[0]
    kept = weight.grad is None
    sgd.clear_grad()
    return next(iter(sgd.state_dict()["master_weights"].values())).numpy(), kept, weight.main_grad.numpy()


def test_main_gradients_in_the_optimizer_of_fleet(job):
    for master, kept, gradient in job.run(averaged):
        np.testing.assert_allclose(master, np.full((4, 2), 1 - 8**-0.5), rtol=1e-6)  # eight equal gradients
        assert kept and not gradient.any()
