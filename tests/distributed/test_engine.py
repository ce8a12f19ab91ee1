"""`Engine` step by step, annotations of tensors and operators, convolution and attention of cut tensors, other notations of
placements: over faked devices against one device, and recorded results of the official package."""

import os

import numpy as np
import pytest

import paddle
import paddle.distributed as dist
from paddle.distributed.auto_parallel import placement_type as kinds
from paddle.engine.modes import modes

from _jobs import raised
from _launched import on_devices

HEAD = """
import numpy as np, paddle, paddle.distributed as dist, paddle.nn.functional as F
from paddle.distributed.fleet import auto
from paddle.static import InputSpec
rs = np.random.RandomState(0)
"""


def on_four_devices(folder, code):
    return on_devices(folder, HEAD + code, 4)


def test_engine_step_by_step(tmp_path):
    on_four_devices(
        tmp_path,
        """
class Net(paddle.nn.Layer):
    def __init__(self, mesh):
        super().__init__()
        self.mesh, self.a, self.b = mesh, paddle.nn.Linear(8, 16), paddle.nn.Linear(16, 4)
    def forward(self, x):
        if self.mesh is not None:
            auto.shard_tensor(self.a.weight, self.mesh, [None, "mp"])
            auto.shard_tensor(x, self.mesh, ["dp", None])
        h = auto.recompute(self.a)(x)
        auto.fetch(h.sum(), "hidden")
        return self.b(h)
def build(mesh):
    paddle.seed(0)
    net = Net(mesh)
    schedule = paddle.optimizer.lr.StepDecay(0.1, 1)
    sgd = paddle.optimizer.SGD(schedule, parameters=net.parameters())
    return net, schedule, sgd
x, y = rs.randn(4, 8).astype("float32"), np.array([0, 1, 2, 3])
net, schedule, sgd = build(None)
want = []
for step in range(4):
    h = net.a(paddle.to_tensor(x))
    loss = F.cross_entropy(net.b(h), paddle.to_tensor(y))
    loss.backward(); sgd.step(); sgd.clear_grad()
    want.append((loss.item(), h.sum().item()))
    if step > 1:
        schedule.step()
mesh = dist.ProcessMesh([[0, 1], [2, 3]], dim_names=["dp", "mp"])
auto.set_mesh(mesh)
net, schedule, sgd = build(mesh)
engine = auto.Engine(net, paddle.nn.CrossEntropyLoss(), sgd)
engine.prepare(InputSpec([None, 8], "float32", "x"), InputSpec([None], "int64", "y"), mode="train")
assert engine.get_feed_name_list() == ["x", "y"]
assert [list(v.shape) for v in engine.inputs + engine.labels] == [[4, 8], [4]]
assert len(engine.fetch_vars["loss"]) == 1 and engine.main_program.global_block().ops
milliseconds, memory = engine.cost()
assert milliseconds > 0 and memory > 2 * 4 * (8 * 16 + 16 * 4) / 2
found = [engine.run(feed={"x": x, "y": y}), engine.run([x, y])]
class Watch(paddle.callbacks.Callback):
    seen = []
    def on_train_batch_end(self, step, logs=None):
        self.seen.append(logs)
data = [(x[i], y[i]) for i in range(4)]
history = engine.fit(data, batch_size=4, epochs=2, verbose=0, callbacks=Watch(), valid_data=data)
found += Watch.seen
np.testing.assert_allclose([[f["loss"], f["hidden"]] for f in found], want, rtol=1e-5)
assert schedule.last_epoch == 2 and len(history["val_loss"]) == 2
assert net.a.weight.placements == [dist.Replicate(), dist.Shard(1)]
before = history["val_loss"][-1]
assert np.isclose(engine.run([x, y], mode="eval", fetch_list=[])["loss"], before, rtol=1e-6)
assert engine.run([x], mode="predict")["outputs"][0].shape == (4, 4)
try:
    engine.run([x, y], mode="eval", fetch_list=["missing"])
except ValueError as e:
    assert "hidden" in str(e)
else:
    raise AssertionError
""",
    )


@pytest.mark.slow
def test_convolution_and_attention_of_cut_tensors(tmp_path):
    on_four_devices(
        tmp_path,
        """
from paddle.distributed.auto_parallel.ring import shard_seq_load_balance, unshard_seq_load_balance
mesh = dist.ProcessMesh([0, 1, 2, 3], dim_names=["sep"])
for stride, pad, k, dilation in (([1, 1], [1, 1], 3, 1), ([2, 2], [0, 0], 2, 1), (1, 2, 3, 2)):
    x, w, b = (paddle.to_tensor(rs.randn(*s).astype("float32"), stop_gradient=False)
               for s in ((2, 3, 8, 16), (4, 3, k, k), (4,)))
    ref = F.conv2d(x, w, b, stride, pad, dilation)
    g = paddle.to_tensor(rs.randn(*ref.shape).astype("float32"))
    cut = dist.shard_tensor(x.detach(), mesh, [dist.Shard(3)], stop_gradient=False)
    out = auto.RingConv2d.apply(cut, w, b, stride, pad, None, dilation)
    assert out.placements == [dist.Shard(3)]
    class context: pass
    again = auto.RingConv2d.forward(context, cut, w, b, stride, pad, padding_algorithm=None, dilation=dilation)
    wanted = [ref, *paddle.grad([ref], [x, w, b], [g])]
    for found in ([out, *paddle.grad([out], [cut, w, b], [g])], [again, *auto.RingConv2d.backward(context, g)]):
        for have, want in zip(found, wanted):
            np.testing.assert_allclose(have.numpy(), want.numpy(), rtol=1e-4, atol=1e-4)
    assert again.stop_gradient
mask = rs.randn(2, 1, 16, 16).astype("float32")
for causal, masked in ((False, False), (True, False), (False, True)):
    arrays = [rs.randn(2, 16, 2, 8).astype("float32") for _ in range(3)]
    plain = [paddle.to_tensor(a, stop_gradient=False) for a in arrays]
    ref = F.scaled_dot_product_attention(*plain, paddle.to_tensor(mask) if masked else None, is_causal=causal)
    whole = [dist.shard_tensor(a, mesh, [dist.Replicate()], stop_gradient=False) for a in arrays]
    rows = shard_seq_load_balance(dist.shard_tensor(mask, mesh, [dist.Replicate()]), 2) if masked else None
    out = auto.RingFlashAttention.apply(*(shard_seq_load_balance(x, 1) for x in whole), rows, 0.0, causal)
    assert out.placements == [dist.Shard(1)]
    got = [unshard_seq_load_balance(out, 1), *paddle.grad([(out**2).sum()], whole)]
    for have, want in zip(got, [ref, *paddle.grad([(ref**2).sum()], plain)]):
        np.testing.assert_allclose(have.numpy(), want.numpy(), rtol=1e-4, atol=1e-5)
add = dist.shard_op(paddle.add, mesh, [["sep", None], None], [[None, "sep"]])
out = add(paddle.ones([4, 8]), paddle.ones([4, 8]))
assert out.placements == [dist.Shard(1)] and out.sum().item() == 64
""",
    )


def test_what_is_kept_inside_of_recomputation():
    from paddle.distributed.auto_parallel import exclude_ops_in_recompute, recompute

    segments = []

    def function(x):
        segments.append(modes.segment)
        return paddle.sin(keep(paddle.tanh(x)))

    x = paddle.to_tensor([0.5], "float64", stop_gradient=False)
    keep = exclude_ops_in_recompute(lambda x: paddle.exp(x) * 2)
    recompute(function)(x).backward()
    t = np.tanh(0.5)
    np.testing.assert_allclose(x.grad.numpy(), [np.cos(2 * np.exp(t)) * 2 * np.exp(t) * (1 - t * t)], rtol=1e-12)
    assert {call.op.name for call in segments[0].calls.values()} <= {"tanh", "sin"}


def test_other_notations_of_placements():
    """Recorded from the official package."""
    mesh = dist.ProcessMesh([[0, 1], [2, 3]], dim_names=["x", "y"])
    shard, whole = dist.Shard, dist.Replicate()
    assert kinds.to_placements([-1, 0], mesh) == [shard(1), whole]
    assert kinds.to_placements([1, -1, 0], mesh) == [shard(2), shard(0)]
    assert kinds.to_placements([-1], mesh, [0]) == [dist.Partial(), whole]
    assert kinds.dims_mapping_to_placements([[0, 1], []], mesh) == [shard(0), shard(0)]
    assert kinds.to_dim_map([shard(1), dist.Partial()], 3) == ([-1, 0, -1], {1: dist.ReduceType.kRedSum})
    assert kinds.placemetns_to_dist_status([shard(0), shard(0)], 2) == [[[0, 1], []], {}]
    assert kinds.get_shard_spec(mesh, [shard(1)], 2) == [None, "x"]
    assert kinds.check_placements_equal([shard(0)], [shard(0), whole])
    assert not kinds.check_placements_equal([shard(0)], [shard(0), shard(1)])
    with pytest.raises(ValueError, match="axis 0"):
        kinds.to_placements([0, 0], mesh)


def test_errors_name_what_is_wrong():
    auto = dist.auto_parallel
    mesh = dist.ProcessMesh([0], dim_names=["x"])
    assert "process_mesh" in raised(auto.shard_tensor, paddle.ones([2]))[1]
    assert "['x']" in raised(auto.shard_tensor, paddle.ones([2]), mesh, ["y"])[1]
    assert "list of 1" in raised(auto.shard_tensor, paddle.ones([2]), mesh, ["x", None])[1]
    assert "2 entries for 1 tensors" in raised(auto.shard_op(paddle.exp, mesh, [None, None]), paddle.ones([2]))[1]
    assert raised(auto.Engine)[0] == "NotImplementedError"
    assert "distributed" in raised(auto.RingConv2d.apply, paddle.ones([1, 1, 4, 4]), paddle.ones([1, 1, 3, 3]))[1]
    assert "ll_buffsize" in raised(dist.create_nccl_config, {"nope": 1})[1]


def test_persistable_variables_in_files(tmp_path):
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            x = paddle.static.data("x", [None, 3])
            out = paddle.static.nn.fc(x, 2, bias_attr=paddle.ParamAttr("io.b"))
            exe = paddle.static.Executor()
            exe.run(startup)
            feed = {"x": np.ones((1, 3), "float32")}
            (want,) = exe.run(main, feed=feed, fetch_list=[out])
            assert dist.io.is_persistable(main.global_block().var("io.b"))
            dist.io.save_persistables(exe, str(tmp_path / "vars"), main, "all")
            exe.run(startup)
            for p in main.all_parameters():
                paddle.static.global_scope().find_var(p.name).get_tensor().set(np.zeros(p.shape, "float32"), None)
            dist.io.load_persistables(exe, str(tmp_path / "vars"), main, "all")
            np.testing.assert_array_equal(exe.run(main, feed=feed, fetch_list=[out])[0], want)
            paddle.static.save_inference_model(str(tmp_path / "model" / "net"), [x], [out], exe, program=main)
            program, feeds, fetches = dist.io.load_inference_model_distributed(
                str(tmp_path / "model") + os.sep, exe, "net.pdmodel", "net.pdiparams"
            )
            np.testing.assert_array_equal(exe.run(program, feed={feeds[0]: feed["x"]}, fetch_list=fetches)[0], want)
    finally:
        paddle.disable_static()
