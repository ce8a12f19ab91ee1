"""Models over a mesh as programs: DistModel, parallelize, sharded optimizers, loaders; in two processes, and over eight
faked devices of one process, against one device."""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import paddle
import paddle.distributed as dist
import paddle.nn.functional as F
from paddle import nn
from paddle.distributed.auto_parallel.hlo import analyse, collectives

from _jobs import Job, raised
from _launched import on_devices

IDS = np.random.RandomState(0).randint(0, 32, (16, 4))
WANT = np.random.RandomState(1).randint(0, 32, (16, 4))


class Block(nn.Layer):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return x + self.down(F.relu(self.up(self.norm(x))))


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(32, 8)
        self.blocks = nn.LayerList([Block() for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 32)

    def forward(self, x):
        x = self.table(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def build():
    paddle.seed(0)
    return Net()


def loss_of(outputs, labels):
    return F.cross_entropy(outputs, labels)


def plans():
    return {
        "parallelize_plan": {
            "table": dist.ColWiseParallel(gather_output=True),
            "blocks.*.up": dist.ColWiseParallel(),
            "blocks.*.down": dist.RowWiseParallel(),
            "head.weight": dist.ColWiseParallel(),
        }
    }


def sequence_plans():
    return {
        "parallelize_plan": {
            "table": [dist.RowWiseParallel(), dist.SequenceParallelBegin()],
            "blocks.*.up": dist.ColWiseParallel(),
            "blocks.*.down": dist.RowWiseParallel(),
            "norm": dist.SequenceParallelEnd(),
        }
    }


def curve(shape=None, names=(), config=None, program=True, strategy=None, steps=3):
    """(losses, model) of a few steps, over a mesh where a shape is given."""
    dist.set_mesh(None)
    net = build()
    optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0))
    batch = [paddle.to_tensor(IDS), paddle.to_tensor(WANT)]
    if shape is not None:
        mesh = dist.ProcessMesh(np.arange(int(np.prod(shape))).reshape(shape), dim_names=list(names))
        net, optimizer = dist.parallelize(net, optimizer, mesh, config)
        where = [dist.Shard(0) if n == "dp" else dist.Replicate() for n in names]
        batch = [dist.shard_tensor(t, mesh, where) for t in batch]
    if program:
        model = dist.to_static(net, loss=loss_of, optimizer=optimizer, strategy=strategy)
        losses = [model(*batch).item() for _ in range(steps)]
        return losses, model, batch
    losses = []
    for _ in range(steps):
        loss = loss_of(net(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    return losses, net, batch


# ---- eight devices ----
EIGHT = """
import numpy as np
import paddle
import paddle.distributed as dist
import test_dist_model as t
"""


def on_eight_devices(folder, code):
    return on_devices(folder, EIGHT + code)


def test_layouts_equal_one_device(tmp_path):
    out = on_eight_devices(
        tmp_path,
        """
alone, *_ = t.curve(program=False)
again = dist.Strategy({"recompute": {"enable": True}})
for program, level, plan in ((True, 1, t.plans), (False, 3, t.plans), (True, 0, t.sequence_plans)):
    config = {"mp_config": plan(), "dp_config": {"sharding_level": level}}
    found, *_ = t.curve([4, 2], ["dp", "mp"], config, program, again if level == 1 else None)
    np.testing.assert_allclose(found, alone, rtol=1e-5)
sharding = dist.Strategy({"sharding": {"enable": True, "stage": 2}, "pipeline": {"enable": True, "accumulate_steps": 4}})
found, model, batch = t.curve([8], ["dp"], {"dp_config": {}}, strategy=sharding)
np.testing.assert_allclose(found, alone, rtol=1e-5)
moment = next(v for k, v in model.state_dict("opt").items() if "moment1" in k)
print(moment.placements)
merged = dist.Strategy({"gradient_merge": {"enable": True, "k_steps": 2}})
found, *_ = t.curve([8], ["dp"], {"dp_config": {}}, strategy=merged, steps=6)
np.testing.assert_allclose(found[::2], alone, rtol=1e-5)
np.testing.assert_allclose(found[1::2], alone, rtol=1e-5)
""",
    )
    assert out.strip() == "[Shard(dim=0)]"


def test_a_step_is_one_executable_with_its_collectives(tmp_path):
    on_eight_devices(
        tmp_path,
        """
alone, *_ = t.curve(program=False)
config = {"mp_config": t.plans(), "pp_config": {"split_spec": "blocks", "micro_batches": 4}, "dp_config": {"sharding_level": 1}}
found, model, batch = t.curve([2, 2, 2], ["pp", "dp", "mp"], config)
np.testing.assert_allclose(found, alone, rtol=1e-5)
with paddle.utils.count_compiles() as compiles:
    model(*batch)
assert compiles.compiles == 0, compiles.names
analysis = model.analysis(*batch)
# 4 + 2 - 1 turns: micro-batches move on in the forward and in the backward, and parameters to their stages
assert analysis.count("collective-permute") >= 10, str(analysis)
names = [o.name() for o in model.dist_main_program().global_block().ops]
assert names.count("pd_op.pipeline") == 1, names

found, model, batch = t.curve([8], ["dp"], {"dp_config": {}})
analysis = model.analysis(*batch)
parameters = sum(p.size for p in model._layer.parameters()) * 4
sums = sum(c.times * c.payload for c in analysis.collectives if c.kind == "all-reduce")
assert parameters <= sums <= parameters + 4096, (parameters, sums)  # gradients, and losses
assert {c.kind for c in analysis.collectives} == {"all-reduce"} and all(c.size == 8 for c in analysis.collectives)
""",
    )


def test_random_numbers_and_gathers_in_a_pipeline(tmp_path):
    on_eight_devices(
        tmp_path,
        """
class Drop(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.scale = self.create_parameter([64], default_initializer=paddle.nn.initializer.Constant(1.0))
    def forward(self, x):
        return t.F.dropout(x * self.scale, 0.5)
net = paddle.nn.Sequential(Drop(), Drop())
mesh = dist.ProcessMesh(np.arange(4).reshape(2, 2), dim_names=["pp", "dp"])
dist.parallelize(net, None, mesh, {"pp_config": {"split_spec": "", "micro_batches": 2}})
x = dist.shard_tensor(np.ones((8, 64), "float32"), mesh, [dist.Replicate(), dist.Shard(0)])
first, second = net(x).numpy(), net(x).numpy()
assert set(np.unique(first)) == {0.0, 4.0} and 0.15 < (first == 4).mean() < 0.35
assert len({row.tobytes() for row in [*first, *second]}) == 16  # no two samples, stages, micro-batches, calls have a mask
class Picks(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.a, self.b = paddle.nn.Linear(8, 8), paddle.nn.Linear(16, 8)
    def forward(self, x):
        heads = self.a(x).reshape([x.shape[0], 4, 2]).repeat_interleave(2, axis=1)
        return x + self.b(heads.reshape([x.shape[0], 16]))
net = paddle.nn.Sequential(Picks(), Picks())
x = paddle.randn([8, 8])
want = net(x).numpy()
mesh = dist.ProcessMesh(np.arange(8).reshape(2, 2, 2), dim_names=["pp", "dp", "mp"])
plan = {".*.a": dist.ColWiseParallel(), ".*.b": dist.RowWiseParallel()}
dist.set_mesh(None)
dist.parallelize(net, None, mesh, {"pp_config": {"split_spec": ""}, "mp_config": {"parallelize_plan": plan}})
x = dist.shard_tensor(x, mesh, [dist.Replicate(), dist.Shard(0)])
np.testing.assert_allclose(net(x).numpy(), want, rtol=1e-5, atol=1e-6)
""",
    )


def test_local_layers_and_meshes_of_parts(tmp_path):
    on_eight_devices(
        tmp_path,
        """
from paddle.distributed.auto_parallel.local import moe_global_mesh_tensor, moe_sub_mesh_tensors
mesh = dist.ProcessMesh(np.arange(8).reshape(4, 2), dim_names=["dp", "mp"])
x = dist.shard_tensor(np.arange(16, dtype="float32").reshape(8, 2), mesh, [dist.Shard(0)], stop_gradient=False)
both = dist.local_map(lambda x: (x * 2, x.sum()), [[dist.Shard(0)], [dist.Partial()]], process_mesh=mesh)
doubled, total = both(x)
assert doubled.placements == [dist.Shard(0), dist.Replicate()] and total.item() == 120
(doubled.sum() + total).backward()
np.testing.assert_array_equal(x.grad.numpy(), np.full((8, 2), 3))
class Mean(dist.LocalLayer):
    def forward(self, x):
        return x.mean() / 4
layer = Mean([(mesh, [dist.Partial(), dist.Replicate()])], [(mesh, [dist.Shard(0), dist.Replicate()])])
assert layer(x).item() == 7.5
parts = moe_sub_mesh_tensors(x, mesh, 0, [dist.Shard(0), dist.Replicate()])
assert [p.process_mesh.process_ids for p in parts] == [[0, 1], [2, 3], [4, 5], [6, 7]] and parts[1].tolist() == [[4, 5], [6, 7]]
whole = moe_global_mesh_tensor(parts, mesh, [dist.Shard(0), dist.Replicate()], 0)
np.testing.assert_array_equal(whole.numpy(), x.numpy())
whole.sum().backward()
np.testing.assert_array_equal(x.grad.numpy(), np.full((8, 2), 4))
odd = dist.shard_tensor(np.arange(10, dtype="float32"), mesh, [dist.Shard(0)])
assert odd.placements[0] == dist.Shard(0) and odd._local_shape == [3] and odd.sum().item() == 45
""",
    )


def test_engine_and_to_distributed(tmp_path):
    on_eight_devices(
        tmp_path,
        """
import paddle.io as io
data = [(t.IDS[i], t.WANT[i]) for i in range(16)]
alone, *_ = t.curve(program=False, steps=2)
net = t.build()
optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters(), grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0))
net, optimizer, loader = dist.to_distributed(net, optimizer, io.DataLoader(data, batch_size=16), 8)
found = []
for _ in range(2):
    for x, y in loader:
        assert dist.Shard(0) in x.placements or loader._meshes[0].get_dim_size("dp") == 1
        loss = t.loss_of(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        found.append(loss.item())
np.testing.assert_allclose(found, alone, rtol=1e-5)
dist.set_mesh(None)
net = dist.shard_layer(t.build(), dist.ProcessMesh(np.arange(8), dim_names=["dp"]))
optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters(), grad_clip=paddle.nn.ClipGradByGlobalNorm(1.0))
engine = dist.auto_parallel.Engine(net, t.loss_of, optimizer)
assert np.allclose(engine.fit(data, batch_size=16, epochs=2, verbose=0)["loss"], alone, rtol=1e-5)
before = engine.evaluate(data, batch_size=8, verbose=0)["loss"]
assert [x[0].shape for x in engine.predict(data, batch_size=8, verbose=0)] == [(8, 4, 32)] * 2
engine.save("kept")
engine.fit(data, batch_size=16, epochs=1, verbose=0)
assert engine.evaluate(data, batch_size=8, verbose=0)["loss"] != before
engine.load("kept")
assert engine.evaluate(data, batch_size=8, verbose=0)["loss"] == before
""",
    )


# ---- two processes ----
@pytest.fixture(scope="module")
def job():
    made = Job(2)
    yield made
    made.close()


def two(rank):
    import paddle.io as io

    found = {}
    data = [(IDS[i], WANT[i]) for i in range(16)]
    for name, level in (("dp", 1), ("dp", 3), ("mp", 0), ("pp", 0)):
        dist.set_mesh(None)
        axes = ["dp", "mp", "pp"]
        mesh = dist.ProcessMesh(np.arange(2).reshape([2 if a == name else 1 for a in axes]), dim_names=axes)
        net = build()
        optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters(), grad_clip=nn.ClipGradByGlobalNorm(1.0))
        config = {"dp_config": {"sharding_level": level}, **({"mp_config": plans()} if name == "mp" else {})}
        config |= {"pp_config": {"split_spec": "blocks"}} if name == "pp" else {}
        net, optimizer = dist.parallelize(net, optimizer, mesh, config)
        loader = dist.shard_dataloader(io.DataLoader(data, batch_size=16), mesh, shard_dims="dp")
        model = dist.to_static(net, loader, loss_of, optimizer)
        losses = [model(x, y).item() for _ in range(3) for x, y in loader]
        held = sum(p._value.addressable_shards[0].data.size for p in net.parameters())
        found[name, level] = losses, held, loader.batch_size
        if level == 1:
            state = {k: v.numpy() for k, v in model.state_dict().items()}  # gathers
            after = model(*next(iter(loader))).item()
            model.set_state_dict({k: paddle.to_tensor(v) for k, v in state.items()})
            found["again"] = model(*next(iter(loader))).item() == after
    return found


@pytest.mark.slow
def test_two_processes_equal_one(job):
    alone, net, _ = curve(program=False)
    size = sum(p.size for p in net.parameters())
    for found in job.run(two):
        assert found.pop("again")
        for losses, _, _ in found.values():
            np.testing.assert_allclose(losses, alone, rtol=1e-5)
        assert [found["dp", n][2] for n in (1, 3)] == [8, 8]
        assert found["dp", 1][1] == size and found["dp", 3][1] <= size / 2 + 8 and found["mp", 0][1] < 0.65 * size
        assert found["pp", 0][1] < 0.9 * size


def parts(rank):
    from paddle.distributed.auto_parallel.api import dtensor_from_local

    mesh = dist.ProcessMesh([0, 1], dim_names=["x"])
    local = paddle.full([4], float(rank + 1))
    local.stop_gradient = False
    partial = dtensor_from_local(local, mesh, [dist.Partial()])
    whole = dist.reshard(partial, mesh, [dist.Replicate()])
    cut = dist.reshard(partial, mesh, [dist.Shard(0)])
    largest = dtensor_from_local(local.detach(), mesh, [dist.Partial(dist.ReduceType.kRedMax)])
    (cut * cut).sum().backward()
    odd = dist.shard_tensor(np.arange(3, dtype="float32"), mesh, [dist.Shard(0)])

    class Mean(dist.LocalLayer):
        def forward(self, x):
            return x.sum() + 0 * dist.get_rank()

    x = dist.shard_tensor(np.arange(4, dtype="float32"), mesh, [dist.Shard(0)], stop_gradient=False)
    total = Mean([(mesh, [dist.Partial()])], [(mesh, [dist.Shard(0)])])(x)
    total.backward()
    doubled = dist.local_map(lambda x: 2 * x, [[dist.Shard(0)]], [[dist.Shard(0)]])(x)
    return (
        partial._local_value().tolist(),
        (whole.tolist(), cut._local_value().tolist(), cut.placements == [dist.Shard(0)], largest.tolist()),
        local.grad.tolist(),
        (odd._local_value().tolist(), odd.tolist(), str(odd.placements)),
        (total.item(), total.is_dist(), x.grad.tolist(), doubled._local_value().tolist()),
        raised(dtensor_from_local, partial, mesh, [dist.Shard(0)])[0],
    )


def test_partial_and_uneven_tensors_and_local_layers(job):
    for rank, (own, moved, gradient, odd, local, error) in enumerate(job.run(parts)):
        assert own == [rank + 1.0] * 4  # as officially: the part, not the sum
        assert moved == ([3.0] * 4, [3.0] * 2, True, [2.0] * 4)
        assert gradient == [6.0] * 4
        assert odd == ([[0.0, 1.0], [2.0]][rank], [0.0, 1.0, 2.0], "[Shard(dim=0)]")
        assert local == (6.0, True, [1.0] * 4, [[0.0, 2.0], [4.0, 6.0]][rank])
        assert error == "ValueError"


# ---- one process, one device ----
def test_modes_and_errors():
    net = build()
    model = dist.to_static(net)
    with pytest.raises(ValueError, match="loss"):
        model.eval()
    found = model(paddle.to_tensor(IDS))
    assert list(found) == ["out0"] and found["out0"].shape == [16, 4, 32]
    with pytest.raises(ValueError, match="mode"):
        model.dist_main_program("test")
    with pytest.raises(TypeError, match="tensors"):
        model(IDS)
    with pytest.raises(ValueError, match="no mesh"):
        dist.parallelize(net, None, None, {"dp_config": {}})
    mesh = dist.ProcessMesh([[0]], dim_names=["dp", "mp"])
    with pytest.raises(ValueError, match="'pp'"):
        dist.parallelize(net, None, mesh, {"pp_config": {"split_spec": "blocks"}})
    with pytest.warns(UserWarning, match="nothing_here"):
        dist.parallelize(net, None, mesh, {"mp_config": {"parallelize_plan": {"nothing_here": dist.ColWiseParallel()}}})
    dist.set_mesh(None)
    with pytest.raises(TypeError):
        dist.shard_optimizer(net)
    with pytest.raises(ValueError, match="shard_dims"):
        dist.shard_dataloader(paddle.io.DataLoader([1, 2]), mesh, is_dataset_splitted=True)


def test_loaders():
    mesh = dist.ProcessMesh([[0]], dim_names=["dp", "mp"])
    data = [{"a": [np.full(2, i, "float32"), np.full(3, i, "float32")], "b": np.float32(i)} for i in range(4)]
    loader = dist.shard_dataloader(
        paddle.io.DataLoader(data, batch_size=2), [mesh, mesh], ["a", "b"], "dp", dense_tensor_idx=[[1], []]
    )
    assert len(loader) == 2
    for _ in range(2):
        batches = list(loader)
        assert [b["b"].tolist() for b in batches] == [[0, 1], [2, 3]]
        assert [x.is_dist() for x in batches[0]["a"]] == [True, False]
        assert batches[0]["b"].placements == [dist.Shard(0), dist.Replicate()]


def test_strategy():
    strategy = dist.Strategy(
        {"sharding": {"enable": True, "stage": 2}, "amp": {"dtype": "bfloat16"}, "full_graph": False}
    )
    assert (strategy.sharding.stage, strategy.sharding.degree, strategy.amp.dtype) == (2, 8, "bfloat16")
    assert not strategy.full_graph and strategy.get("seed") is None and strategy.pipeline.schedule_mode == "1F1B"
    strategy.gradient_merge.k_steps = 3
    assert strategy.to_dict()["_gradient_merge"]["k_steps"] == 3
    with pytest.raises(ValueError):
        dist.Strategy("strategy.yml")
    with pytest.raises(ValueError, match="unknown"):
        dist.Strategy({"fused_passes": {"unknown": True}})


TEXT = """
HloModule m, entry_computation_layout={()->f32[]}

%body (p: f32[4]) -> f32[4] {
  %ar = f32[4,8]{1,0} all-reduce(%x), channel_id=1, replica_groups={{0,1},{2,3}}, to_apply=%add
  ROOT %ag = bf16[16]{0} all-gather(%y), replica_groups=[2,4]<=[4,2]T(1,0), dimensions={0}
}

ENTRY %main (p: f32[4]) -> f32[] {
  %w = f32[4] while(%p), condition=%cond, body=%body, backend_config={"known_trip_count":{"n":"3"}}
  %rs = f32[2]{0} reduce-scatter(%z), replica_groups=mesh['axis_0'=2,'axis_1'=2,'axis_2'=2] {'axis_1'}, to_apply=%add
  ROOT %cp = f32[5]{0} collective-permute(%q), source_target_pairs={{0,4},{4,0}}
}
"""


def test_collectives_of_a_module():
    import jax

    class Mesh:
        size, shape, axis_names = 8, {"a": 2, "b": 2, "c": 2}, ("a", "b", "c")

    found = [(c.kind, c.payload, c.size, c.axes, c.times) for c in collectives(TEXT, Mesh)]
    assert found == [
        ("all-reduce", 128.0, 2, ("c",), 3),
        ("all-gather", 32.0, 4, ("a", "b"), 3),
        ("reduce-scatter", 16.0, 2, ("b",), 1),
        ("collective-permute", 20.0, 2, ("a",), 1),
    ]
    analysis = analyse(jax.jit(lambda x: x @ x).lower(np.ones((8, 8), "float32")).compile())
    assert analysis.flops >= 1024 and analysis.collectives == [] and analysis.memory >= 512


def test_examples():
    """Examples of names that are imported when they are first used."""
    package = importlib.import_module("paddle.distributed.auto_parallel")
    names = [m.name for m in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
    found, lines = 0, []
    for name in names:
        for example in doctest.DocTestFinder().find(importlib.import_module(name), extraglobs={"paddle": paddle}):
            found += bool(example.examples)
            doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=lines.append)
            dist.set_mesh(None)
    assert not lines and found > 15, "".join(lines)
