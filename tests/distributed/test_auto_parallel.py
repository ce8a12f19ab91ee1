"""Tensors spread over a mesh: in two processes, and over eight faked devices of one."""

import numpy as np
import pytest

import paddle
import paddle.distributed as dist
from paddle import nn

from _jobs import Job, raised
from _launched import on_devices

DATA = np.random.RandomState(0).randn(8, 4).astype("float32")


@pytest.fixture(scope="module")
def job():
    made = Job(2)
    yield made
    made.close()


def build():
    paddle.seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def train(net, x, steps=4):
    optimizer = paddle.optimizer.AdamW(learning_rate=0.05, parameters=net.parameters())
    curve = []
    for _ in range(steps):
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        curve.append(loss.item())
    return curve


def columns_and_rows(mesh, axis):
    """A function for shard_layer: the first layer by columns, the second by rows, over one axis of the mesh."""

    def cut(name, layer, mesh):
        if isinstance(layer, nn.Linear):
            where = [dist.Replicate()] * mesh.ndim
            where[axis] = dist.Shard(1 if name == "0" else 0)
            layer.weight = dist.shard_tensor(layer.weight, mesh, where)

    return cut


def spread_training(rank):
    mesh = dist.ProcessMesh([0, 1], dim_names=["mp"])
    net = dist.shard_layer(build(), mesh, columns_and_rows(mesh, 0))
    curve = train(net, dist.shard_tensor(DATA, mesh, [dist.Replicate()]))
    held = [p._value.addressable_shards[0].data.shape for p in net.parameters()]
    whole = [p.numpy() for p in net.parameters()]  # gathers
    return curve, held, whole, [str(p.placements) for p in net.parameters()], net[0].weight._local_value().numpy()


def test_two_processes_equal_one(job):
    alone = build()
    curve = train(alone, paddle.to_tensor(DATA))
    for rank, (mine, held, whole, placements, part) in enumerate(job.run(spread_training)):
        np.testing.assert_allclose(mine, curve, rtol=1e-5)
        assert held == [(4, 4), (8,), (4, 2), (2,)]  # each holds half, also after the steps
        assert placements[0] == "[Shard(dim=1)]" and placements[2] == "[Shard(dim=0)]"
        for got, p in zip(whole, alone.parameters()):
            np.testing.assert_allclose(got, p.numpy(), rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(part, whole[0][:, 4 * rank : 4 * rank + 4])


def moves(rank):
    mesh = dist.ProcessMesh([0, 1])
    x = dist.shard_tensor(DATA, mesh, [dist.Shard(0)])
    parts = [x._local_value().numpy(), dist.reshard(x, mesh, [dist.Shard(1)])._local_value().numpy()]
    everything = dist.unshard_dtensor(x)
    partial = dist.shard_tensor(paddle.to_tensor([3.0]), mesh, [dist.Partial()])
    leaf = dist.shard_tensor(DATA, mesh, [dist.Shard(0)], stop_gradient=False)
    (dist.reshard(leaf * 2, mesh, [dist.Replicate()]) ** 2).sum().backward()
    made = dist.dtensor_from_fn(paddle.zeros, mesh, [dist.Shard(0)], [4])
    return (
        parts,
        everything.is_dist() or not np.array_equal(everything.numpy(), DATA),
        (partial._local_value().tolist(), str(partial.placements), dist.reshard(partial, mesh, []).tolist()),
        leaf.grad.numpy(),
        made._local_shape,
        ((x + paddle.ones([4])).sum().item(), str((x * 2).placements)),
        [
            raised(dist.shard_tensor, DATA, mesh, [dist.Shard(0), dist.Shard(1)]),
            raised(dist.shard_tensor, DATA, mesh, [dist.Shard(2)]),
            raised(dist.shard_tensor, DATA, dist.ProcessMesh([0, 5]), [dist.Shard(0)]),
            raised(dist.shard_tensor, DATA, mesh, "Shard(0)"),
        ],
    )


def test_placements(job):
    for rank, (parts, wrong, partial, gradient, shape, mixed, errors) in enumerate(job.run(moves)):
        np.testing.assert_array_equal(parts[0], DATA[4 * rank : 4 * rank + 4])
        np.testing.assert_array_equal(parts[1], DATA[:, 2 * rank : 2 * rank + 2])
        assert not wrong and shape == [2]
        assert partial == ([3.0 if rank == 0 else 0.0], "[Partial(reduce_type=SUM)]", [3.0])
        np.testing.assert_allclose(gradient, 8 * DATA, rtol=1e-6)
        np.testing.assert_allclose(mixed[0], DATA.sum() + 32, rtol=1e-5)
        assert mixed[1] == "[Shard(dim=0)]"
        assert all(kind == "ValueError" for kind, _ in errors), errors
        assert "2 devices" in errors[2][1]


EIGHT = """
import numpy as np
import paddle
import paddle.distributed as dist
from test_auto_parallel import DATA, build, columns_and_rows, train
mesh = dist.ProcessMesh(np.arange(8).reshape(4, 2), dim_names=["dp", "mp"])
net = dist.shard_layer(build(), mesh, columns_and_rows(mesh, 1))
x = dist.shard_tensor(DATA, mesh, [dist.Shard(0), dist.Replicate()])
curve = train(net, x)
alone = build()
np.testing.assert_allclose(curve, train(alone, paddle.to_tensor(DATA)), rtol=1e-5)
np.testing.assert_allclose(net[0].weight.numpy(), alone[0].weight.numpy(), rtol=1e-4, atol=1e-6)
print(x._local_value().shape, net[0].weight._local_value().shape, net[0].weight.placements)
"""


def test_one_process_with_eight_faked_devices(tmp_path):
    assert on_devices(tmp_path, EIGHT).strip() == "[2, 4] [4, 4] [Replicate(), Shard(dim=1)]"


def test_meshes():
    mesh = dist.ProcessMesh([[0, 1], [2, 3]], dim_names=["x", "y"])
    assert (mesh.shape, mesh.process_ids, mesh.dim_names) == ([2, 2], [0, 1, 2, 3], ["x", "y"])
    assert str(mesh) == "shape [2, 2], process_ids [0, 1, 2, 3], dim_names ['x', 'y']"
    assert str(mesh[0]) == "shape [2], process_ids [0, 1], dim_names ['y']"
    assert str(mesh[:, 1]) == "shape [2], process_ids [1, 3], dim_names ['x']"
    assert str(mesh.get_mesh_with_dim("y")) == "shape [2, 2], process_ids [0, 2, 1, 3], dim_names ['y', 'x']"
    assert mesh.get_rank_by_dim_and_process_id("y", 3) == 1 and mesh.get_dim_size("x") == 2
    assert (
        dist.ProcessMesh([0, 1]) == dist.ProcessMesh([0, 1], ["d0"]) == dist.ProcessMesh(shape=[2], process_ids=[0, 1])
    )
    assert dist.get_mesh() is None
    with mesh:
        assert dist.get_mesh() == mesh
    assert dist.get_mesh() is None
    for wrong in ([0, 0], 3, [[0], [1, 2]], [-1]):
        with pytest.raises(ValueError):
            dist.ProcessMesh(wrong)
    with pytest.raises(ValueError, match="dim_names"):
        dist.ProcessMesh([0, 1], ["a", "b"])
    assert repr([dist.Shard(0), dist.Replicate(), dist.Partial(dist.ReduceType.kRedMax)]) == (
        "[Shard(dim=0), Replicate(), Partial(reduce_type=MAX)]"
    )
    assert (
        dist.Shard(1) == dist.Shard(1) != dist.Replicate()
        and dist.Shard(1).is_shard(1)
        and not dist.Shard(1).is_shard(0)
    )
