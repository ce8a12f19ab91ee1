"""Operators of legacy models that no current official package runs, against NumPy; and how errors are told."""

import numpy as np
import pytest

import paddle
from paddle.interop.legacy import TRANSLATORS, Call
from paddle.interop.legacy_model import Scope, Translation
from paddle.interop.programdesc import BlockDesc, OpDesc, ProgramDesc

rng = np.random.default_rng(0)


def f(*shape):
    return rng.standard_normal(shape).astype("float32")


def run(kind, inputs, attributes=None, outputs=("Out",)):
    """Run one operator; inputs are arrays, or lists of arrays, by slot."""
    scope, slots = Scope(), {}
    for slot, arrays in inputs.items():
        arrays = arrays if isinstance(arrays, list) else [arrays]
        slots[slot] = [f"{slot}{k}" for k in range(len(arrays))]
        scope.update(zip(slots[slot], (paddle.to_tensor(a) for a in arrays)))
    op = OpDesc(kind, slots, {s: [s] for s in outputs}, attributes or {})
    program = ProgramDesc([BlockDesc(0, -1, {}, [op])])
    Translation(program, {}).run_block(0, scope)
    found = [scope[s].numpy() for s in outputs]
    return found[0] if len(found) == 1 else found


def close(got, want):
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)


def normalized(x, scale, bias, epsilon=1e-5):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + epsilon) * scale + bias


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
def test_pad2d(mode):
    x = f(1, 2, 4, 5)
    more = {"constant_values": 0.5} if mode == "constant" else {}
    got = run("pad2d", {"X": x}, {"paddings": [1, 0, 2, 1], "mode": mode, "pad_value": 0.5})
    close(got, np.pad(x, [(0, 0), (0, 0), (1, 0), (2, 1)], mode, **more))


def test_one_hot_takes_the_last_axis_away():
    ids = np.array([[1], [3]])
    close(run("one_hot", {"X": ids}, {"depth": 4}), np.eye(4, dtype="float32")[[1, 3]])
    outside = run("one_hot", {"X": np.array([[1], [7]])}, {"depth": 4, "allow_out_of_range": True})
    close(outside, np.stack([np.eye(4)[1], np.zeros(4)]))


def test_expand_as_repeats():
    x = f(2, 1)
    close(run("expand_as", {"X": x, "target_tensor": f(4, 3)}), np.tile(x, (2, 3)))


def test_old_shapes():
    x = f(2, 3, 4)
    close(run("reshape", {"X": x}, {"shape": [0, 12]}), x.reshape(2, 12))
    close(run("transpose", {"X": x}, {"axis": [1, 0, 2]}), x.transpose(1, 0, 2))
    close(run("unsqueeze", {"X": x}, {"axes": [1]}), x[:, None])
    close(run("squeeze", {"X": x[:1]}, {"axes": [0, 1]}), x[0])
    close(run("flatten", {"X": x}, {"axis": 2}), x.reshape(6, 4))
    close(run("crop", {"X": x, "Y": f(2, 2, 2)}, {"offsets": [0, 1, 2]}), x[:, 1:3, 2:4])
    close(
        run("pad_constant_like", {"X": f(2, 4, 4), "Y": x}, {"pad_value": 1.0}),
        np.pad(x, [(0, 0), (0, 1), (0, 0)], constant_values=1),
    )


def test_darknet_reorganisation():
    n, c, h, w, b = 1, 8, 4, 6, 2
    x = f(n, c, h, w)
    flat, want = x.reshape(-1), np.zeros(x.size, "float32")
    for at in range(x.size):
        k, j, i = at // (h * w) % c, at // w % h, at % w
        offset, channel = divmod(k, c // (b * b))
        source = i * b + offset % b + w * b * (j * b + offset // b + h * b * channel)
        want[at] = flat[source]
    close(run("space_to_depth", {"X": x}, {"blocksize": b}), want.reshape(n, c * b * b, h // b, w // b))


def test_fused_attention():
    heads, size = 2, 6
    x, w, bias, mask = f(2, 3, size), f(size, 3, size), f(3, size), f(2, heads, 3, 3)
    q, k, v = (
        (x @ w[:, part] + bias[part]).reshape(2, 3, heads, size // heads).transpose(0, 2, 1, 3) for part in range(3)
    )
    want = (softmax(q @ k.transpose(0, 1, 3, 2) * 0.5 + mask) @ v).transpose(0, 2, 1, 3).reshape(2, 3, size)
    close(
        run(
            "multihead_matmul", {"Input": x, "W": w, "Bias": bias, "BiasQK": mask}, {"head_number": heads, "alpha": 0.5}
        ),
        want,
    )


def test_fused_normalization():
    x, y, scale, bias = f(2, 3, 4), f(2, 3, 4), f(4), f(4)
    close(
        run("skip_layernorm", {"X": x, "Y": y, "Scale": scale, "Bias": bias}, {"epsilon": 1e-5}),
        normalized(x + y, scale, bias),
    )
    ids, tables = [np.array([[1, 2, 0]]), np.array([[3, 0, 1]])], [f(5, 4), f(5, 4)]
    got = run(
        "fused_embedding_eltwise_layernorm",
        {"Ids": ids, "Embs": tables, "Scale": scale, "Bias": bias},
        {"epsilon": 1e-5},
    )
    close(got, normalized(tables[0][ids[0]] + tables[1][ids[1]], scale, bias))
    x, w, z, b0, s, b1 = f(3, 4), f(4, 5), f(3, 5), f(5), f(5), f(5)
    got = run(
        "fused_fc_elementwise_layernorm",
        {"X": x, "W": w, "Y": z, "Bias0": b0, "Scale": s, "Bias1": b1},
        {"activation_type": "relu"},
    )
    close(got, normalized(np.maximum(x @ w + b0, 0) + z, s, b1))


def test_fused_products():
    x, y, bias = f(2, 3, 4), f(4, 5), f(5)
    got = run("fused_gemm_epilogue", {"X": x, "Y": y, "Bias": bias}, {"activation": "relu"})
    close(got, np.maximum(x @ y + bias, 0))
    got = run(
        "fused_matmul",
        {"X": x, "Y": y},
        {"matmul_alpha": 0.5, "fused_transpose_Out": [1, 0, 2], "fuse_activation": "tanh"},
    )
    close(got, np.tanh(x @ y * 0.5).transpose(1, 0, 2))
    mask = f(2, 1, 3, 3)
    scores = f(2, 2, 3, 3)
    close(run("fused_softmax_mask", {"X": scores, "Mask": mask}), softmax(scores + mask))
    hidden = np.where(np.triu(np.ones((3, 3)), 1) > 0, -1e9, scores)
    close(run("fused_softmax_mask_upper_triangle", {"X": scores}), softmax(hidden))


def test_fused_convolution_with_what_is_added():
    x, w, bias, rest = f(1, 2, 4, 4), f(3, 2, 1, 1), f(3), f(1, 3, 4, 4)
    plain = np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0]) + bias.reshape(1, 3, 1, 1)
    inputs = {"Input": x, "Filter": w, "Bias": bias, "ResidualData": rest}
    close(run("conv2d_fusion", inputs, {"activation": "relu"}, ("Output",)), np.maximum(plain + rest, 0))
    close(run("conv2d_fusion", inputs, {"activation": "identity"}, ("Output",)), plain + rest)


def test_units_of_recurrent_networks():
    x, c = f(2, 12), f(2, 3)
    i, forget, o, j = np.split(x, 4, 1)
    s = lambda v: 1 / (1 + np.exp(-v))
    state = s(forget + 0.5) * c + s(i) * np.tanh(j)
    got = run("lstm_unit", {"X": x, "C_prev": c}, {"forget_bias": 0.5}, ("C", "H"))
    close(got[0], state)
    close(got[1], s(o) * np.tanh(state))


def test_similarity():
    x, y = f(3, 4), f(3, 4)
    want = (
        (x * y).sum(1, keepdims=True)
        / np.linalg.norm(x, axis=1, keepdims=True)
        / np.linalg.norm(y, axis=1, keepdims=True)
    )
    close(run("cos_sim", {"X": x, "Y": y}), want)


def test_random_numbers_have_their_distribution():
    paddle.seed(4)
    normal = run("gaussian_random", {}, {"shape": [20000], "mean": 2.0, "std": 0.5})
    assert abs(normal.mean() - 2) < 0.02 and abs(normal.std() - 0.5) < 0.02
    cut = run("truncated_gaussian_random", {}, {"shape": [20000], "mean": 1.0, "std": 2.0})
    assert (
        -3 <= cut.min() < -2.9 and 4.9 < cut.max() <= 5 and abs(cut.mean() - 1) < 0.05 and abs(cut.std() - 1.76) < 0.05
    )
    even = run("uniform_random_batch_size_like", {"Input": f(50, 2)}, {"shape": [-1, 200], "min": -1.0, "max": 3.0})
    assert even.shape == (50, 200) and even.min() >= -1 and even.max() < 3 and abs(even.mean() - 1) < 0.05
    assert sorted(run("randperm", {}, {"n": 9})) == list(range(9))


def test_numbers_that_operators_carry():
    close(run("fill", {}, {"value": [1.0, 2.5], "shape": [2], "dtype": 5}), np.float32([1, 2.5]))
    close(run("full_int_array", {}, {"value": [3, 4], "dtype": 3}, ("out",)), np.array([3, 4]))
    for text, value in (("inf", np.inf), ("-inf", -np.inf), ("1e-3", 1e-3), ("7", 7)):
        close(run("fill_constant", {}, {"shape": [1], "dtype": 5, "str_value": text}), np.float32([value]))
    assert run("fill_constant", {}, {"shape": [], "dtype": 3, "str_value": "9007199254740993"}) == 9007199254740993


def test_infinite_and_missing_numbers_in_a_whole_tensor():
    x = f(2, 3)
    broken = np.where(x > 0, np.nan, x)
    assert run("isnan", {"X": broken}).tolist() == [True] and run("isnan", {"X": x}).tolist() == [False]
    assert run("isfinite", {"X": broken}).tolist() == [False] and run("isinf", {"X": x}).tolist() == [False]


def test_what_is_not_there_is_named():
    x = f(1, 3, 4, 4)
    with pytest.raises(NotImplementedError, match="the fused activation 'sparkle'"):
        run("fc", {"Input": f(2, 3), "W": f(3, 4)}, {"activation_type": "sparkle"})
    with pytest.raises(NotImplementedError, match="divided among 2 devices"):
        run("c_allreduce_sum", {"X": x}, {"nranks": 2})
    with pytest.raises(ValueError, match="element type 99"):
        run("cast", {"X": x}, {"out_dtype": 99})
    with pytest.raises(ValueError, match="a constant of"):
        run("eye", {}, {"num_rows": 2**20, "num_columns": 2**20})
    with pytest.raises(ValueError, match="do not fit together"):
        run("transpose2", {"X": x}, {})


def test_every_translator_takes_a_call():
    assert len(TRANSLATORS) > 420 and all(callable(t) for t in TRANSLATORS.values())
    op = OpDesc("relu", {}, {}, {})
    with pytest.raises(ValueError, match="relu: the input 'X' is missing"):
        TRANSLATORS["relu"](Call(op, Scope(), None))
