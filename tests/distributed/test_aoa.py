"""States whose tensors have other names, orders, shapes and types than those of a checkpoint: mappings recorded from the
official package, tensors against NumPy."""

import json

import numpy as np
import pytest

import paddle
import paddle.distributed as dist
from paddle import nn
from paddle.distributed import fleet
from paddle.distributed.fleet.meta_parallel import ColumnParallelLinear
from paddle.distributed.flex_checkpoint.aoa.aoa_engine import AOAEngine
from paddle.distributed.flex_checkpoint.dcp.full_param import full_param
from paddle.distributed.flex_checkpoint.dcp.load_state_dict import merge_sharded_state_dict
from paddle.distributed.flex_checkpoint.dcp.sharded_weight import ShardedWeight, ShardedWeightDesc

from _jobs import Job, raised


def described(table):
    """{key: (shape, parts, axis, type)} as parts."""
    out = {}
    for key, (shape, parts, axis, dtype) in table.items():
        n = shape[axis] // parts
        local = tuple(n if i == axis else m for i, m in enumerate(shape))
        out[key] = [
            ShardedWeightDesc(key, local, shape, tuple(n * r if i == axis else 0 for i in range(len(shape))), dtype)
            for r in range(parts)
        ]
    return out


# (statements, source, wanted, [key, shape, offset, source key, shape, offset, steps] as the official engine gives them)
RECORDED = [
    (
        ["a^T -> x", "x, b -> y, axis=0", "y -> p, q, axis=1"],
        {"a": ((4, 6), 1, 0, "float32"), "b": ((2, 4), 1, 0, "float32")},
        {"q": ((8, 2), 2, 0, "float32"), "p": ((8, 2), 1, 0, "float32")},
        [
            ["p", [2, 2], [6, 0], "b", [2, 2], [0, 0], None],
            ["p", [6, 2], [0, 0], "a", [2, 6], [0, 0], ["[1,0]"]],
            ["q", [2, 2], [4, 0], "a", [2, 2], [2, 4], ["[1,0]"]],
            ["q", [2, 2], [6, 0], "b", [2, 2], [0, 2], None],
            ["q", [4, 2], [0, 0], "a", [2, 4], [2, 0], ["[1,0]"]],
        ],
    ),
    (
        ["g -> h, fused_ffn"],
        {"g": ((3, 16), 2, 1, "float32")},
        {"h": ((3, 16), 4, 1, "float32")},
        [
            ["h", [3, 2], [0, 0], "g", [3, 2], [0, 0], None],
            ["h", [3, 2], [0, 10], "g", [3, 2], [0, 12], None],
            ["h", [3, 2], [0, 12], "g", [3, 2], [0, 10], None],
            ["h", [3, 2], [0, 14], "g", [3, 2], [0, 14], None],
            ["h", [3, 2], [0, 2], "g", [3, 2], [0, 4], None],
            ["h", [3, 2], [0, 4], "g", [3, 2], [0, 2], None],
            ["h", [3, 2], [0, 6], "g", [3, 2], [0, 6], None],
            ["h", [3, 2], [0, 8], "g", [3, 2], [0, 8], None],
        ],
    ),
    (
        ["q, k, v -> f, fused_qkv, num_heads=2, num_key_value_groups=1, axis=1"],
        {"q": ((2, 8), 1, 0, "float32"), "k": ((2, 4), 1, 0, "float32"), "v": ((2, 4), 1, 0, "float32")},
        {"f": ((2, 16), 2, 1, "float32")},
        [
            ["f", [2, 4], [0, 0], "q", [2, 4], [0, 0], None],
            ["f", [2, 4], [0, 12], "v", [2, 4], [0, 0], None],
            ["f", [2, 4], [0, 4], "q", [2, 4], [0, 4], None],
            ["f", [2, 4], [0, 8], "k", [2, 4], [0, 0], None],
        ],
    ),
    (
        ["a^T -> b"],
        {k: ((4, 6), 1, 0, "float32") for k in ("a", "a.moment1_0")} | {"a.beta1_pow_acc_0": ((1,), 1, 0, "float32")},
        {"b.moment1_0": ((6, 4), 2, 0, "float32"), "b.beta1_pow_acc_0": ((1,), 1, 0, "float32")},
        [
            ["b.beta1_pow_acc_0", [1], [0], "a.beta1_pow_acc_0", [1], [0], None],
            ["b.moment1_0", [3, 4], [0, 0], "a.moment1_0", [4, 3], [0, 0], ["[1,0]"]],
            ["b.moment1_0", [3, 4], [3, 0], "a.moment1_0", [4, 3], [0, 3], ["[1,0]"]],
        ],
    ),
]


@pytest.mark.parametrize("statements, source, wanted, rows", RECORDED)
def test_pieces_are_those_of_the_official_engine(statements, source, wanted, rows):
    engine = AOAEngine({"aoa_statements": statements}, described(source), described(wanted))
    found = []
    for parts in described(wanted).values():
        for part in parts:
            for m in engine.find_shard_sources(part):
                s, d = m.source_slice, m.target_slice
                steps = m.postprocess_list and [step.replace(" ", "") for step in m.postprocess_list]
                found.append(
                    [d.key, [*d.local_shape], [*d.global_offset], s.key, [*s.local_shape], [*s.global_offset], steps]
                )
    assert sorted(found, key=str) == rows


def random(*shape):
    return np.random.RandomState(sum(shape)).randn(*shape).astype("float32")


def test_statements_on_a_checkpoint(tmp_path):
    a, b, c, e = random(4, 6), random(2, 4), random(2, 3, 4), [random(2, 3) + i for i in range(3)]
    state = {
        "a": a,
        "b": b,
        "c": c,
        **{f"e.{i}.w": v for i, v in enumerate(e)},
        "n.0.w": a[:2],
        "n.1.w": a[2:],
        "gone": b,
    }
    dist.save_state_dict({**{k: paddle.to_tensor(v) for k, v in state.items()}, "epoch": 3}, tmp_path)
    statements = [
        "a^T -> turned",
        "turned, b -> y, axis = 0",
        "y -> p, q, axis = 1",
        'q -> q, dtype = "bfloat16"',
        "e.*.w -> all, axis = 0",
        'c -> d, permute = "[2, 0, 1]"',
        "n.$LAYER_ID.w^T -> m.$LAYER_ID.w",
        "gone -> _",
        "_ -> fresh",
    ]
    y = np.concatenate([a.T, b])
    want = {
        "p": y[:, :2],
        "q": y[:, 2:],
        "all": np.concatenate(e),
        "d": c.transpose(2, 0, 1),
        "m.0.w": a[:2].T,
        "m.1.w": a[2:].T,
    }
    loaded = {k: paddle.zeros(list(v.shape), "bfloat16" if k == "q" else "float32") for k, v in want.items()}
    loaded |= {"fresh": paddle.full([2], 7.0), "epoch": 0}
    dist.load_state_dict(loaded, tmp_path, aoa_config={"aoa_statements": statements})
    for key, value in want.items():
        np.testing.assert_array_equal(
            loaded[key].astype("float32").numpy(),
            paddle.to_tensor(value).astype(loaded[key].dtype).astype("float32").numpy(),
        )
    assert loaded["fresh"].tolist() == [7.0, 7.0] and loaded["epoch"] == 3
    merged = dist.load_merged_state_dict(tmp_path, aoa_config={"aoa_statements": statements[:-1]})
    assert sorted(merged) == ["all", "d", "epoch", "m.0.w", "m.1.w", "p", "q"] and merged["q"].dtype == paddle.bfloat16
    np.testing.assert_array_equal(merged["p"].numpy(), want["p"])
    # and back again, read from right to left
    dist.save_state_dict({"w": paddle.to_tensor(a.T.copy()), "z": paddle.to_tensor(y)}, tmp_path / "back")
    found = {"a": paddle.zeros([4, 6]), "x": paddle.zeros([4, 4]), "b": paddle.zeros([4, 4])}
    reverse = {"aoa_statements": ['a -> w, permute = "[1, 0]"', "x, b -> z, axis = 0"], "aoa_config_reverse": True}
    dist.load_state_dict(found, tmp_path / "back", aoa_config=reverse)
    for key, value in (("a", a), ("x", y[:4]), ("b", y[4:])):
        np.testing.assert_array_equal(found[key].numpy(), value)


def test_errors_name_the_statement(tmp_path):
    dist.save_state_dict({"a": paddle.ones([4, 3]), "h": paddle.ones([2], "float16")}, tmp_path)

    def load(statement, **wanted):
        state = {k: paddle.zeros(shape) for k, shape in wanted.items()}
        kind, words = raised(dist.load_state_dict, state, tmp_path, aoa_config={"aoa_statements": [statement]})
        assert kind == "ValueError", (kind, words)
        return words

    assert "'a => b'" in load("a => b", b=[4, 3])
    assert "'nope -> b'" in load("nope -> b", b=[4, 3])
    assert "does not divide into 2" in load("a -> b, c, axis=1", b=[4, 1], c=[4, 1])
    assert "axis" in load("a -> b, c", b=[2, 3], c=[2, 3])
    assert "2 axes" in load('a -> b, permute="[0, 0]"', b=[4, 3])
    assert "have the type" in load("h -> b", b=[2]).replace("has the type", "have the type")
    assert "nothing gives 'c'" in load("a -> b", c=[4, 3])
    assert "[3, 4]" in load("a^T -> b", b=[4, 3])
    assert "on the left only" in load("a -> b^T", b=[4, 3])
    assert "one of axis" in load("a -> b, size=3", b=[4, 3])
    assert "aoa_statements" in raised(dist.load_state_dict, {}, tmp_path, aoa_config={"aoa_statements": "a -> b"})[1]


@pytest.fixture(scope="module")
def job():
    made = Job(2)
    yield made
    made.close()


def fused(rank, folder):
    """Two tensor parallel parts of gate and up, interleaved, from one process's file, and back."""
    whole = random(3, 16)
    gate, up = whole[:, :8], whole[:, 8:]
    part = paddle.zeros([3, 8])
    state = {"ffn": ShardedWeight("ffn", part, (3, 8), (3, 16), (0, 8 * rank))}
    dist.load_state_dict(state, folder, aoa_config={"aoa_statements": ["gate, up -> ffn, fused_ffn"]})
    half = slice(4 * rank, 4 * rank + 4)
    np.testing.assert_array_equal(part.numpy(), np.concatenate([gate[:, half], up[:, half]], 1))
    dist.save_state_dict(state, folder + "/parts")
    merge_sharded_state_dict(
        folder + "/parts", folder + "/merged", aoa_config={"aoa_statements": ["ffn -> gate, up, fused_ffn"]}
    )
    return True


def gathered(rank):
    """A divided layer as whole tensors with other names, in all processes; flat parts; a half of the keys."""
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"dp_degree": 1, "mp_degree": 2}
    fleet.init(is_collective=True, strategy=strategy)
    net = nn.LayerDict({"up": ColumnParallelLinear(4, 6, has_bias=True), "norm": nn.LayerNorm(4)})
    net["up"].weight.set_value(random(4, 6)[:, 3 * rank : 3 * rank + 3])
    config = {"aoa_statements": ["up.weight^T -> w", 'norm.weight -> n, dtype="float16"', "up.bias -> _"]}
    found = {key: t.numpy() for key, t in net.full(config)}
    half = [key for key, _ in net.full(num_splits=2, shard_idx=1)]
    flat = paddle.arange(10, dtype="float32")[5 * rank : 5 * rank + 5]
    state = {"f": ShardedWeight("f", flat, (2, 5), (2, 5), (0, 0), True, slice(5 * rank, 5 * rank + 5))}
    return found, half, dict(full_param(state))["f"].tolist()


def test_whole_tensors_without_files(job):
    for found, half, flat in job.run(gathered):
        assert sorted(found) == ["n", "norm.bias", "w"] and found["n"].dtype == np.float16
        np.testing.assert_array_equal(found["w"], random(4, 6).T)
        assert half == ["up.bias", "up.weight"]
        assert flat == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    words = raised(full_param, {}, None, group=1)[1]
    assert "process_group" in words


def test_interleaved_parts_of_two_processes(job, tmp_path):
    whole = random(3, 16)
    state = {"gate": paddle.to_tensor(whole[:, :8]), "up": paddle.to_tensor(whole[:, 8:])}
    dist.save_state_dict(state, tmp_path)
    assert job.run(fused, str(tmp_path)) == [True, True]
    index = json.loads((tmp_path / "merged" / "model.safetensors.index.json").read_text())
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    assert index == {"metadata": {"total_size": 192}, "weight_map": {"gate": names[0], "up": names[1]}}
    for key, file in index["weight_map"].items():
        found = paddle.load(str(tmp_path / "merged" / file))
        assert list(found) == [key]
        np.testing.assert_array_equal(found[key].numpy(), state[key].numpy())
    again = dist.load_merged_state_dict(str(tmp_path / "merged"), safetensors=True)
    assert sorted(again) == ["gate", "up"]
