"""Checkpoints in parts: one process, four processes, crashes at any moment."""

import base64
import dataclasses
import itertools
import multiprocessing
import os
import pickle
import random
import signal
import time

import numpy as np
import pytest

import paddle
import paddle.distributed as dist
from paddle.distributed.flex_checkpoint.dcp import metadata as records
from paddle.distributed.flex_checkpoint.dcp.save_state_dict import clear_async_save_task_queue

from _jobs import Job, raised


@pytest.fixture(scope="module")
def job():
    made = Job(4)
    yield made
    made.close()


def numbered(*shape, dtype="float32"):
    return paddle.arange(int(np.prod(shape))).reshape(list(shape)).astype(dtype)


# ---- one process ----
def test_values_types_and_numbers_come_back(tmp_path):
    types = ["float32", "float64", "float16", "bfloat16", "int64", "int8", "uint8", "bool", "complex64"]
    state = {
        "a": {t: numbered(2, 3, dtype=t) for t in types},
        "scalar": paddle.to_tensor(2.5),
        "empty": paddle.zeros([0, 2]),
    }
    dist.save_state_dict({**state, "epoch": 7, "rate": 0.25, "done": True}, tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["0.metadata", "0_0.distcp"]
    blank = {
        "a": {t: paddle.zeros_like(v) for t, v in state["a"].items()},
        "scalar": paddle.zeros([]),
        "empty": paddle.zeros([0, 2]),
        "epoch": 0,
        "rate": 0.0,
        "done": False,
    }
    held = blank["a"]["int64"]
    dist.load_state_dict(blank, tmp_path)
    assert blank["epoch"] == 7 and blank["rate"] == 0.25 and blank["done"] is True and blank["scalar"].item() == 2.5
    assert held is blank["a"]["int64"]
    for t in types:
        assert blank["a"][t].dtype == state["a"][t].dtype
        np.testing.assert_array_equal(blank["a"][t].numpy(), state["a"][t].numpy())
    whole = dist.load_merged_state_dict(tmp_path, prefix="a")
    assert list(whole) == types and whole["bfloat16"].dtype == paddle.bfloat16


def test_a_layer_and_its_optimizer_go_on_where_they_were(tmp_path):
    def make():
        net = paddle.nn.Linear(3, 2)
        net.weight.name, net.bias.name = "w", "b"
        rate = paddle.optimizer.lr.StepDecay(0.1, 2)
        return net, paddle.optimizer.Adam(rate, parameters=net.parameters()), rate

    def step(net, optimizer, rate):
        (net(numbered(4, 3)) ** 2).mean().backward()
        optimizer.step(), optimizer.clear_grad(), rate.step()

    one = make()
    for _ in range(3):
        step(*one)
    dist.save_state_dict({"net": one[0].state_dict(), "opt": one[1].state_dict()}, tmp_path)
    step(*one)
    two = make()
    dist.load_state_dict({"net": two[0].state_dict()}, tmp_path)
    two[1].set_state_dict(dist.load_merged_state_dict(tmp_path, prefix="opt"))
    two[2].set_state_dict(
        {
            k[13:]: v.item()
            for k, v in dist.load_merged_state_dict(tmp_path, prefix="opt").items()
            if k[:13] == "LR_Scheduler."
        }
    )
    step(*two)
    np.testing.assert_array_equal(two[0].weight.numpy(), one[0].weight.numpy())


def test_floats_are_converted_and_master_weights_have_two_names(tmp_path):
    dist.save_state_dict({"opt": {"w_fp32_master_0": numbered(3)}, "h": numbered(2, dtype="float16")}, tmp_path)
    state = {"opt": {"master_weights": {"w": paddle.zeros([3])}}, "h": paddle.zeros([2])}
    dist.load_state_dict(state, tmp_path)
    assert state["opt"]["master_weights"]["w"].tolist() == [0, 1, 2] and state["h"].tolist() == [0, 1]
    with pytest.raises(KeyError, match="lacks 'opt.master_weights.w'"):
        dist.load_state_dict(state, tmp_path, mw_name_compatibility=False)


def test_versions(tmp_path):
    for i in range(3):
        dist.save_state_dict({"w": paddle.full([2], i)}, tmp_path)
        dist.save_state_dict({"w": paddle.full([2], 10 + i)}, tmp_path, unique_id=5) if i == 1 else None
    assert sorted(os.listdir(tmp_path)) == ["0.metadata", "1_0.distcp", "1_5.distcp", "5.metadata"]
    got = [dist.load_merged_state_dict(tmp_path, unique_id=i)["w"][0].item() for i in (None, 0, 5)]
    assert got == [2, 1, 2]  # None stands for the highest
    with pytest.raises(FileNotFoundError, match="does not hold version 3"):
        dist.load_merged_state_dict(tmp_path, unique_id=3)


def test_safetensors(tmp_path):
    dist.save_state_dict({"w": numbered(2, 2, dtype="bfloat16")}, tmp_path, safetensors=True)
    assert sorted(os.listdir(tmp_path)) == ["0.metadata", "0_0.safetensors"]
    assert dist.load_merged_state_dict(tmp_path, safetensors=True)["w"].tolist() == [[0, 1], [2, 3]]
    os.unlink(tmp_path / "0.metadata")  # as other packages write them
    assert dist.load_merged_state_dict(tmp_path, safetensors=True)["w"].tolist() == [[0, 1], [2, 3]]


def test_an_address(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    for i in range(3):
        dist.save_state_dict({"w": paddle.full([2], i)}, "memory://run/one")
    assert dist.load_merged_state_dict("memory://run/one")["w"].tolist() == [2, 2]
    assert len(fsspec.filesystem("memory").ls("/run/one")) == 2


def test_parts_that_are_put_together(tmp_path):
    w = numbered(4, 6)
    parts = {}
    for i, j in itertools.product(range(2), range(2)):
        parts[f"{i}{j}"] = dist.ShardedWeight(
            "w", w[2 * i : 2 * i + 2, 3 * j : 3 * j + 3], (2, 3), (4, 6), (2 * i, 3 * j)
        )
    dist.save_state_dict({"a": parts["00"], "b": parts["11"]}, tmp_path)
    half = dist.ShardedWeight("a", paddle.zeros([4, 2]), (4, 2), (4, 6), (0, 1))
    with pytest.raises(ValueError, match="only 4 of 8 elements of 'a'"):
        dist.load_state_dict({"a": half}, tmp_path)
    inner = dist.ShardedWeight("b", paddle.zeros([1, 2]), (1, 2), (4, 6), (3, 4))
    dist.load_state_dict({"b": inner}, tmp_path)
    np.testing.assert_array_equal(inner.local_tensor.numpy(), w.numpy()[3:, 4:])


def test_parts_that_are_flat(tmp_path):
    w = numbered(4, 3)
    flat = dist.ShardedWeight("w", w.reshape([-1])[:12], (4, 3), (4, 3), (0, 0), True, slice(0, 12))
    dist.save_state_dict({"w": flat}, tmp_path)
    state = {"w": paddle.zeros([4, 3])}
    dist.load_state_dict(state, tmp_path)
    np.testing.assert_array_equal(state["w"].numpy(), w.numpy())
    piece = dist.ShardedWeight("w", paddle.zeros([5]), (4, 3), (4, 3), (0, 0), True, slice(5, 10))
    dist.load_state_dict({"w": piece}, tmp_path)
    assert piece.local_tensor.tolist() == [5, 6, 7, 8, 9]


def test_background_saving_keeps_the_values_of_the_call(tmp_path):
    w = paddle.zeros([1000])
    dist.save_state_dict({"w": w}, tmp_path, async_save=True)
    w.add_(paddle.ones([1000]))
    state = {"w": paddle.ones([1000])}
    dist.load_state_dict(state, tmp_path)  # waits for it
    assert state["w"].abs().sum().item() == 0


def test_an_error_in_the_background_is_raised_later(tmp_path):
    (tmp_path / "file").write_text("")
    for wait in (clear_async_save_task_queue, lambda: dist.save_state_dict({"w": paddle.ones([1])}, tmp_path)):
        dist.save_state_dict({"w": paddle.ones([1])}, tmp_path / "file" / "folder", async_save=True)
        with pytest.raises(RuntimeError, match="saving in the background failed"):
            wait()
    dist.save_state_dict({"w": paddle.ones([1])}, tmp_path)


@pytest.mark.parametrize(
    "state, error, message",
    [
        ({"w": "text"}, ValueError, r"state_dict\['w'\] must be a Tensor"),
        ({"a": {1: paddle.ones([1])}}, ValueError, "must be strings, got 1"),
        ({"a": {"b": 1}, "a.b": 2}, ValueError, "two entries of state_dict have the name 'a.b'"),
        ([], TypeError, "state_dict must be a dict"),
        ({"w": paddle.ones([1], "uint16")}, ValueError, "uint16, which means bfloat16"),
    ],
)
def test_what_cannot_be_saved(tmp_path, state, error, message):
    with pytest.raises(error, match=message):
        dist.save_state_dict(state, tmp_path)
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize(
    "state, error, message",
    [
        ({"w": paddle.zeros([3, 2])}, ValueError, r"'w' has shape \[3, 2\], in the checkpoint \[2, 3\]"),
        ({"w": paddle.zeros([2, 3], "int32")}, ValueError, "'w' has the type int32, in the checkpoint float32"),
        ({"x": paddle.zeros([1]), "y": 1}, KeyError, "lacks 'x', 'y'"),
    ],
)
def test_what_does_not_fit(tmp_path, state, error, message):
    dist.save_state_dict({"w": numbered(2, 3)}, tmp_path)
    with pytest.raises(error, match=message):
        dist.load_state_dict(state, tmp_path)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_an_optimizer_takes_what_is_loaded_into_its_state(tmp_path, dtype):
    def make(seed):
        paddle.seed(seed)
        net = paddle.nn.Linear(3, 2)
        net.weight.name, net.bias.name = "w", "b"
        net.to(dtype=dtype)
        return net, paddle.optimizer.AdamW(0.1, parameters=net.parameters(), multi_precision=True)

    def step(net, optimizer):
        (net(numbered(4, 3, dtype=dtype)) ** 2).mean().backward()
        optimizer.step(), optimizer.clear_grad()

    def both(net, optimizer, kind):
        model = net.sharded_state_dict() if kind else net.state_dict()
        states = optimizer.sharded_state_dict(model) if kind else optimizer.state_dict()
        return {"model": model, "optimizer": states}

    one = make(0)
    step(*one), step(*one)
    for kind in (0, 1):
        dist.save_state_dict(both(*one, kind), tmp_path / str(kind))
    step(*one)
    for kind, steps in ((0, 1), (1, 1), (1, 0)):  # one of them has made no step yet
        two = make(1)
        [step(*two) for _ in range(steps)]
        dist.load_state_dict(both(*two, kind), tmp_path / str(kind))
        step(*two)
        np.testing.assert_array_equal(two[0].weight.numpy(), one[0].weight.numpy())


# ---- files of others ----
OFFICIAL = {  # written by the official package 3.3.1 from {"w": [[0., 1., 2.], [3., 4., 5.]]}
    "0.metadata": "gASVfwEAAAAAAACML3BhZGRsZS5kaXN0cmlidXRlZC5mbGV4X2NoZWNrcG9pbnQuZGNwLm1ldGFkYXRhlIwITWV0YWRhdGGUk5QpgZR9lCiME3N0YXRlX2RpY3RfbWV0YWRhdGGUfZSMAXeUXZRoAIwTTG9jYWxUZW5zb3JNZXRhZGF0YZSTlCmBlH2UKIwNZ2xvYmFsX29mZnNldJRLAEsAhpSMC2xvY2FsX3NoYXBllEsCSwOGlIwFZHR5cGWUjAdmbG9hdDMylIwMZ2xvYmFsX3NoYXBllGgQjAxpc19mbGF0dGVuZWSUiYwPZmxhdHRlbmVkX3JhbmdllE51YmFzjBBzdG9yYWdlX21ldGFkYXRhlH2UaACMEExvY2FsVGVuc29ySW5kZXiUk5QpgZR9lCiMCnRlbnNvcl9rZXmUaAdoDWgOaBSJaBVOjApyZXBsaWNhX2lklE5oD2gQdWKMCjBfMC5kaXN0Y3CUc4wMZmxhdF9tYXBwaW5nlH2UaAdoB4WUc3ViLg==",
    "0_0.distcp": "gASV3AAAAAAAAAB9lCiMAXeUjBZudW1weS5fY29yZS5tdWx0aWFycmF5lIwMX3JlY29uc3RydWN0lJOUjAVudW1weZSMB25kYXJyYXmUk5RLAIWUQwFilIeUUpQoSwFLAksDhpRoBYwFZHR5cGWUk5SMAmY0lImIh5RSlChLA4wBPJROTk5K/////0r/////SwB0lGKJQxgAAAAAAACAPwAAAEAAAEBAAACAQAAAoECUdJRijBtTdHJ1Y3R1cmVkVG9QYXJhbWV0ZXJOYW1lQECUfZRoAYwLZWFnZXJfdG1wXzCUc3Uu",
}


def test_official_files(tmp_path):
    for name, text in OFFICIAL.items():
        (tmp_path / name).write_bytes(base64.b64decode(text))
    assert dist.load_merged_state_dict(tmp_path)["w"].tolist() == [[0, 1, 2], [3, 4, 5]]


class Harm:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_nothing_in_a_file_is_executed(tmp_path):
    dist.save_state_dict({"w": numbered(2)}, tmp_path)
    mark = str(tmp_path / "harm")
    whole = (tmp_path / "0.metadata").read_bytes()
    for harmful in (pickle.dumps(Harm(mark)), pickle.dumps(records.Metadata({"w": Harm(mark)}, {}, {}), 4)):
        (tmp_path / "0.metadata").write_bytes(harmful)
        with pytest.raises(ValueError, match="cannot be read"):
            dist.load_merged_state_dict(tmp_path)
    away = records.Metadata({}, {records.LocalTensorIndex("w", (0,)): "../../secret"}, {})
    (tmp_path / "0.metadata").write_bytes(records.dump(away))
    with pytest.raises(ValueError, match="no name of a file"):
        dist.load_merged_state_dict(tmp_path)
    (tmp_path / "0.metadata").write_bytes(whole)
    (tmp_path / "0_0.distcp").write_bytes(pickle.dumps({"w": Harm(mark)}))
    with pytest.raises(ValueError, match="is damaged"):
        dist.load_merged_state_dict(tmp_path)
    assert not os.path.exists(mark)


def test_damaged_files(tmp_path):
    dist.save_state_dict({"w": numbered(300)}, tmp_path)
    for name in ("0.metadata", "0_0.distcp"):
        whole = (tmp_path / name).read_bytes()
        for end in (0, 1, len(whole) // 2, len(whole) - 1):
            (tmp_path / name).write_bytes(whole[:end])
            with pytest.raises(ValueError, match="(cannot be read|is damaged)"):
                dist.load_merged_state_dict(tmp_path)
        (tmp_path / name).write_bytes(whole)
    os.unlink(tmp_path / "0_0.distcp")
    with pytest.raises(FileNotFoundError, match="0_0.distcp' of the checkpoint is not there"):
        dist.load_merged_state_dict(tmp_path)


# ---- crashes ----
class Crash(BaseException):
    pass


def test_a_crash_at_any_step_leaves_the_old_or_the_new_version(tmp_path, monkeypatch):
    names = ("open", "fsync", "replace", "unlink", "chmod")
    for at in itertools.count():
        count = itertools.count()

        def stepping(function):
            def call(*args, **kwargs):
                if next(count) >= at:
                    raise Crash
                return function(*args, **kwargs)

            return call

        for new in (0, 1):
            state = {"a": paddle.full([50], at + new), "b": paddle.full([7], at + new)}
            with monkeypatch.context() as patch:
                if new:
                    for name in names:
                        patch.setattr(os, name, stepping(getattr(os, name)))
                try:
                    dist.save_state_dict(state, tmp_path)
                    crashed = False
                except Crash:
                    crashed = True
        got = dist.load_merged_state_dict(tmp_path)
        values = {v for t in got.values() for v in t.tolist()}
        assert values in ({at}, {at + 1})
        if not crashed:
            assert values == {at + 1} and at > 5
            break


def save_for_ever(path, start):
    state = {f"t{i}": paddle.full([5000], start) for i in range(8)}
    for number in itertools.count(start):
        for t in state.values():
            t.set_value(paddle.full([5000], number))
        dist.save_state_dict({**state, "number": number}, path, async_save=number % 2 == 0)


@pytest.mark.slow
def test_killed_fifty_times(tmp_path):
    context = multiprocessing.get_context("forkserver")  # imports paddle once
    context.set_forkserver_preload(["paddle", "paddle.distributed.flex_checkpoint.dcp.save_state_dict"])
    chance = random.Random(0)
    dist.save_state_dict({**{f"t{i}": paddle.full([5000], 0) for i in range(8)}, "number": 0}, tmp_path)
    last, moved = 0, 0
    for _ in range(50):
        child = context.Process(target=_as_a_script, args=(__file__, str(tmp_path), last + 1))
        child.start()
        end, files = time.monotonic() + 60, set(os.listdir(tmp_path))
        while set(os.listdir(tmp_path)) == files and time.monotonic() < end:  # until it saves
            time.sleep(0.001)
        time.sleep(chance.random() * 0.05)
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        got = dist.load_merged_state_dict(tmp_path)
        (number,) = {v for t in got.values() for v in t.reshape([-1]).tolist()}
        assert number >= last
        moved += number > last
        last = int(number)
    assert moved > 25
    assert len(os.listdir(tmp_path)) < 10  # what killed processes left is tidied up


def _as_a_script(file, path, start):
    from _jobs import _module

    _module(file).save_for_ever(path, start)


# ---- four processes ----
W = np.arange(48, dtype="float32").reshape(8, 6)


def spread(ranks, placements, array=W):
    names = ["x", "y"][: np.ndim(ranks)]
    return dist.shard_tensor(paddle.to_tensor(array), dist.ProcessMesh(ranks, dim_names=names), placements)


LAYOUTS = {
    "two": lambda: spread([0, 1], [dist.Shard(0)]),
    "four": lambda: spread([0, 1, 2, 3], [dist.Shard(0)]),
    "columns": lambda: spread([[0, 1], [2, 3]], [dist.Replicate(), dist.Shard(1)]),
    "both": lambda: spread([[0, 1], [2, 3]], [dist.Shard(0), dist.Shard(1)]),
    "twice": lambda: spread([[0, 1], [2, 3]], [dist.Shard(0), dist.Shard(0)]),
    "whole": lambda: spread([3, 2, 1, 0], [dist.Replicate()]),
}


def save_layouts(rank, path):
    state = {name: make() for name, make in LAYOUTS.items()}
    state["plain"] = paddle.to_tensor(W)
    dist.save_state_dict({"w": state, "epoch": 3}, path)


def load_layouts(rank, path):
    """Each layout from each other one."""
    wrong = []
    for saved in (*LAYOUTS, "plain"):
        for name, make in (*LAYOUTS.items(), ("plain", lambda: paddle.to_tensor(W))):
            blank = make() * 0 - 1 if name == "plain" else None
            if blank is None:
                blank = dist.shard_tensor(paddle.full(W.shape, -1.0), make().process_mesh, make().placements)
            dist.load_state_dict({"w": {saved: blank}}, path)
            inside = name != "two" or rank < 2
            if inside and not np.array_equal(blank._local_value().numpy(), make()._local_value().numpy()):
                wrong.append((saved, name))
    return wrong


def test_tensors_are_divided_anew(job, tmp_path):
    job.run(save_layouts, str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == ["0.metadata", *(f"{r}_0.distcp" for r in range(4))]
    sizes = [os.path.getsize(tmp_path / f"{r}_0.distcp") for r in range(4)]
    assert sum(sizes) < 7 * W.nbytes + 4 * 700  # every element once
    assert max(sizes) < 3 * W.nbytes + 700  # and spread over the files
    whole = dist.load_merged_state_dict(tmp_path, prefix="w")
    assert set(whole) == {*LAYOUTS, "plain"}
    for name, tensor in whole.items():
        np.testing.assert_array_equal(tensor.numpy(), W, err_msg=name)
    assert job.run(load_layouts, str(tmp_path)) == [[]] * 4


def parts_of_a_layer(rank, degree):
    """What rank-local layers of tensor parallelism hold: groups of `degree` share a column-parallel weight."""
    place, n = rank % degree, 6 // degree
    weight = paddle.to_tensor(W[:, place * n : place * n + n])
    part = dist.ShardedWeight("weight", weight, (8, n), (8, 6), (0, place * n))
    return {"weight": part, "bias": dist.ShardedWeight("bias", paddle.to_tensor(W[0]), (6,), (6,), (0,))}


def save_parallel(rank, path):
    dist.save_state_dict(parts_of_a_layer(rank, 2), path)


def load_parallel(rank, path):
    found = []
    for degree in (1, 2, 3):
        part = parts_of_a_layer(rank, degree)
        want = part["weight"].local_tensor.numpy().copy()
        part["weight"].local_tensor.set_value(paddle.zeros(want.shape))
        dist.load_state_dict(part, path)
        found.append(np.array_equal(part["weight"].local_tensor.numpy(), want))
    return found


def test_parts_of_parallel_layers_for_another_degree(job, tmp_path):
    job.run(save_parallel, str(tmp_path))
    state = {"weight": paddle.zeros([8, 6]), "bias": paddle.zeros([6])}
    dist.load_state_dict(state, tmp_path)
    np.testing.assert_array_equal(state["weight"].numpy(), W)
    assert job.run(load_parallel, str(tmp_path)) == [[True] * 3] * 4


def divided_training(rank, path):
    from paddle.distributed.fleet.meta_parallel import ColumnParallelLinear

    groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]

    def make(scale):
        net = ColumnParallelLinear(6, 4, has_bias=True, gather_output=True, mp_group=groups[rank // 2])
        place = 2 * (rank % 2)
        net.weight.set_value(paddle.to_tensor(W[:6, place : place + 2] * scale))
        return net, paddle.optimizer.Adam(0.01, parameters=net.parameters())

    def state(net, optimizer):
        model = net.sharded_state_dict("net.")
        return {**model, **optimizer.sharded_state_dict(model)}

    net, optimizer = make(0.1)
    learn(net, optimizer, 3)
    dist.save_state_dict(state(net, optimizer), path)
    learn(net, optimizer, 2)
    other, later = make(0.0)
    dist.load_state_dict(state(other, later), path)
    learn(other, later, 2)
    assert np.array_equal(other.weight.numpy(), net.weight.numpy())
    return net.weight.numpy(), net.bias.numpy()


def learn(net, optimizer, steps):
    for _ in range(steps):
        (net(paddle.to_tensor(W / 10)) ** 2).mean().backward()
        optimizer.step()
        optimizer.clear_grad()


def test_a_divided_layer_with_its_optimizer_goes_on_in_one_process(job, tmp_path):
    found = job.run(divided_training, str(tmp_path))
    net = paddle.nn.Linear(6, 4)
    optimizer = paddle.optimizer.Adam(0.01, parameters=net.parameters())
    model = net.sharded_state_dict("net.")
    dist.load_state_dict({**model, **optimizer.sharded_state_dict(model)}, tmp_path)
    learn(net, optimizer, 2)
    for pair in (found[:2], found[2:]):
        np.testing.assert_allclose(np.concatenate([w for w, _ in pair], 1), net.weight.numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(np.concatenate([b for _, b in pair]), net.bias.numpy(), rtol=1e-5, atol=1e-6)


def fail_in_one(rank, path):
    def save(value, **kwargs):
        dist.save_state_dict({f"w{r}": paddle.full([3], value) for r in range(4)}, path, **kwargs)

    found = []
    save(1)
    if rank == 2:
        atomic = _module_of_saving().atomic_write

        def broken(file):
            if file.endswith(".distcp"):
                raise OSError("No space left on device")
            return atomic(file)

        _module_of_saving().atomic_write = broken
    found.append(raised(save, 2))
    save(2, async_save=True)
    found.append(raised(clear_async_save_task_queue))
    if rank == 2:
        _module_of_saving().atomic_write = atomic
    state = {f"w{r}": paddle.zeros([3]) for r in range(4)}
    dist.load_state_dict(state, path)
    found.append({v for t in state.values() for v in t.tolist()})
    save(3, async_save=True)
    save(4)
    dist.load_state_dict(state, path)
    found.append({v for t in state.values() for v in t.tolist()})
    found.append(raised(dist.save_state_dict, {"w": paddle.ones([1]) if rank else "text"}, path))
    found.append(raised(dist.save_state_dict, {"w": paddle.ones([rank + 1])}, path))
    found.append(raised(dist.save_state_dict, {"w": paddle.ones([1])}, path, unique_id=rank // 2))
    found.append(raised(dist.load_state_dict, {f"w{rank + 1}": paddle.ones([3])}, path))
    return found


def _module_of_saving():
    import importlib

    return importlib.import_module("paddle.distributed.flex_checkpoint.dcp.save_state_dict")


def test_what_fails_in_one_process_fails_in_all(job, tmp_path):
    for rank, found in enumerate(job.run(fail_in_one, str(tmp_path))):
        now, later, before, after, text, shapes, numbers, missing = found
        assert "No space left" in now[1] and ("rank 2" in now[1]) == (rank != 2)
        assert later[0] == "RuntimeError" and "No space left" in later[1]
        assert before == {1.0} and after == {4.0}
        assert text[0] == ("RuntimeError" if rank else "ValueError") and "must be a Tensor" in text[1]
        assert shapes[0] == "ValueError" and "ShardedWeight" in shapes[1]
        assert "unique_id must be the same" in numbers[1]
        assert ("KeyError" if rank == 3 else "rank 3") in str(missing).replace("MissingKeys", "KeyError")


def save_in_a_group(rank, path):
    group = dist.new_group([1, 3])
    if rank in (1, 3):
        state = {"w": paddle.full([2], 5.0), f"own{rank}": paddle.full([1], rank)}
        dist.save_state_dict(state, path, process_group=group, coordinator_rank=3)
        blank = {"w": paddle.zeros([2]), f"own{4 - rank}": paddle.zeros([1])}
        dist.load_state_dict(blank, path, process_group=group)
        return blank["w"].tolist(), blank[f"own{4 - rank}"].item()


def test_a_group_saves(job, tmp_path):
    assert job.run(save_in_a_group, str(tmp_path)) == [None, ([5, 5], 3), None, ([5, 5], 1)]
    assert sorted(os.listdir(tmp_path)) == ["0.metadata", "1_0.distcp", "3_0.distcp"]


def test_files_that_contradict_their_metadata(tmp_path):
    dist.save_state_dict({"model": {"w": paddle.ones([2, 3])}, "models": {"v": paddle.ones([1])}}, tmp_path)
    found = records.read((tmp_path / "0.metadata").read_bytes())
    (part,) = found.state_dict_metadata["model.w"]
    for dtype, message in (("int32", "its metadata say int32"), ("object", "damaged"), ("float99", "damaged")):
        found.state_dict_metadata["model.w"] = [dataclasses.replace(part, dtype=dtype)]
        (tmp_path / "0.metadata").write_bytes(records.dump(found))
        with pytest.raises(ValueError, match=message):
            dist.load_merged_state_dict(tmp_path)


def test_a_prefix_ends_at_a_dot(tmp_path):
    dist.save_state_dict({"model": {"w": paddle.ones([1])}, "model2": {"v": paddle.ones([1])}}, tmp_path)
    assert list(dist.load_merged_state_dict(tmp_path, prefix="model")) == ["w"]
    assert list(dist.load_merged_state_dict(tmp_path, prefix="mod")) == []
    with pytest.raises(ValueError, match="64 bits"):  # it would be an object, which no one can read again
        dist.save_state_dict({"n": 10**30}, tmp_path)
