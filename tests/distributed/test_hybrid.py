"""Kinds of parallelism together, against one process on whole batches: losses and weights."""

import numpy as np
import pytest

from paddle.distributed import fleet
from paddle.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer

from _jobs import Job
from _transformer import (
    ROWS,
    Block,
    Embed,
    Head,
    Loss,
    Transformer,
    adam,
    batch,
    fill,
    gathered,
    named,
    one_process,
    split_axes,
    weights,
)

STEPS, CLIP = 3, 0.2


@pytest.fixture(scope="module")
def job(request):
    made = Job(request.param)
    yield made
    made.close()


def train(rank, degrees):
    """The curve of this process's part of the batches, its place in the grid, and the weights that it holds."""
    copies = degrees.get("dp_degree", 1) * degrees.get("sharding_degree", 1)
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = degrees
    strategy.pipeline_configs = {"accumulate_steps": 2, "micro_batch_size": ROWS // copies // 2}
    fleet.init(is_collective=True, strategy=strategy)
    groups = fleet.get_hybrid_communicate_group()
    stages = groups.get_pipe_parallel_world_size()
    if stages > 1:
        parts = [LayerDesc(Embed), LayerDesc(Block, "blocks.0"), LayerDesc(Block, "blocks.1"), LayerDesc(Head)]
        net = PipelineLayer(parts, num_stages=stages, loss_fn=Loss())
    else:
        net = Transformer()
    fill(named(net), groups.get_model_parallel_rank(), groups.get_model_parallel_world_size())
    model = fleet.distributed_model(net)
    optimizer = fleet.distributed_optimizer(adam(model, CLIP))
    copy = groups.get_data_parallel_rank() * groups.get_sharding_parallel_world_size()
    copy += groups.get_sharding_parallel_rank()
    curve = []
    for step in range(STEPS):
        ids, labels = batch(step)
        rows = slice(copy * ROWS // copies, (copy + 1) * ROWS // copies)
        data = ids[rows], labels[rows]
        if stages > 1:
            loss = model.train_batch(data, optimizer)
        else:
            loss = model(*data)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        curve.append(loss.item())
    place = copy, groups.get_stage_id(), groups.get_model_parallel_rank()
    return place, curve, weights(net), split_axes(net)


@pytest.mark.parametrize(
    "job, degrees",
    [
        pytest.param(4, {"dp_degree": 1, "sharding_degree": 2, "mp_degree": 2}, marks=pytest.mark.slow),
        pytest.param(4, {"dp_degree": 1, "sharding_degree": 2, "pp_degree": 2}, marks=pytest.mark.slow),
        (8, {"dp_degree": 2, "mp_degree": 2, "pp_degree": 2}),
    ],
    indirect=["job"],
)
def test_training_equals_one_process(job, degrees):
    found = {place: rest for place, *rest in job.run(train, degrees)}
    curve, _, end = one_process(STEPS, CLIP)
    copies, stages, parts = (max(place[i] for place in found) + 1 for i in range(3))
    assert len(found) == copies * stages * parts
    np.testing.assert_allclose(np.mean([found[c, 0, 0][0] for c in range(copies)], 0), curve, atol=1e-5)
    for copy in range(copies):
        got = {}
        for stage in range(stages):
            members = [found[copy, stage, part] for part in range(parts)]
            assert all(m[0] == members[0][0] for m in members)
            got |= gathered([m[1] for m in members], members[0][2])
        assert sorted(got) == sorted(end)
        for name, want in end.items():
            np.testing.assert_allclose(got[name], want, atol=1e-5, err_msg=f"{name} in copy {copy}")
