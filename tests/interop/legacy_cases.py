"""The cases of the fixtures of legacy models: feeds, and a function that builds a program with the official package."""

import numpy as np


class Case:
    """A model.

    Args:
        build: (paddle, raw, *variables) -> what is fetched; `raw` appends an operator by name.
        feeds: arrays by name.
        unknown: axes that are unknown in the model, by name of the feed.
        kind: "operator" for programs made of operators by name, "program" for static programs, "layer" when `build` returns
            a Layer that is traced.
    """

    def __init__(self, name, build, feeds, unknown, kind):
        self.name, self.build, self.feeds, self.unknown, self.kind = name, build, feeds, unknown, kind


CASES = []
_rng = np.random.RandomState(3)


def f(*shape, low=-2.0, high=2.0, dtype="float32"):
    return _rng.uniform(low, high, shape).astype(dtype)


def i(*shape, low=0, high=4, dtype="int64"):
    return _rng.randint(low, high, shape).astype(dtype)


def case(name, build, feeds, unknown=None, kind="program"):
    """Add a case; feeds given as arrays in a list are called x, y, z, ...; unknown defaults to the first axis of x and of
    the feeds that have the same length there."""
    if not isinstance(feeds, dict):
        feeds = dict(zip("xyzuvw", feeds))
    if unknown is None:
        first = next(iter(feeds.values()))
        unknown = {n: (0,) for n, a in feeds.items() if a.ndim > 1 and first.ndim > 1 and len(a) == len(first)}
    assert all(c.name != name for c in CASES), name
    CASES.append(Case(name, build, feeds, unknown, kind))


def raw_case(name, kind, feeds, slots, attributes, outputs, unknown=None, hidden=(), old=False):
    """One operator by name; `slots` gives for each input slot the names of feeds; `hidden` outputs are not fetched; `old`
    ones are gone in version 3."""

    def build(paddle, raw, *variables):
        by = dict(zip("xyzuvw", variables))
        made = raw(kind, {s: [by[n] for n in names.split()] for s, names in slots.items()}, attributes, outputs)
        return [v for slot, vs in made.items() if slot not in HIDDEN and slot not in hidden for v in vs]

    case(name, build, feeds, unknown, "old operator" if old else "operator")


# outputs that only training reads
HIDDEN = set(
    "XShape MidOut Mean Variance MeanOut VarianceOut SavedMean SavedVariance ReserveSpace InnerCache ReluOut Gate "
    "ResetHiddenPrev OutState OutAccum Norm IntermediateOut".split()
)


# ---- activations ----

X = {"X": "x"}
OUT = {"Out": "float32"}
for _kind in (
    "relu sigmoid logsigmoid tanh tanh_shrink softsign silu erf exp expm1 square abs sign ceil floor sin cos tan atan "
    "sinh cosh asinh relu6 mish softplus hard_swish hard_sigmoid gelu elu celu selu leaky_relu hard_shrink softshrink "
    "thresholded_relu stanh swish round trunc isnan_v2 isinf_v2 isfinite_v2"
).split():
    _out = {"Out": "bool"} if _kind.startswith("is") else OUT
    raw_case(f"act_{_kind}", _kind, [f(2, 3, 4)], X, {}, _out)
for _kind in "log log2 log10 log1p sqrt rsqrt reciprocal lgamma digamma".split():
    raw_case(f"act_{_kind}", _kind, [f(2, 6, low=0.2, high=3)], X, {}, OUT)
for _kind in "asin acos atanh".split():
    raw_case(f"act_{_kind}", _kind, [f(2, 6, low=-0.9, high=0.9)], X, {}, OUT)
raw_case("act_acosh", "acosh", [f(2, 6, low=1.1, high=3)], X, {}, OUT)
raw_case("act_leaky_relu_alpha", "leaky_relu", [f(2, 6)], X, {"alpha": 0.3}, OUT)
raw_case("act_gelu_tanh", "gelu", [f(2, 6)], X, {"approximate": True}, OUT)
raw_case("act_hard_sigmoid_v3", "hard_sigmoid", [f(2, 6)], X, {"slope": 0.1666667, "offset": 0.5}, OUT)
raw_case("act_brelu", "brelu", [f(2, 6)], X, {"t_min": -0.5, "t_max": 1.0}, OUT)
raw_case("act_pow", "pow", [f(2, 6, low=0.1)], X, {"factor": 1.7}, OUT)
raw_case("act_pow_tensor", "pow", [f(2, 6, low=0.1), f(1)], {"X": "x", "FactorTensor": "y"}, {}, OUT)
raw_case("act_softplus_beta", "softplus", [f(2, 6)], X, {"beta": 2.0, "threshold": 1.5}, OUT)
raw_case("act_softmax", "softmax", [f(2, 3, 4)], X, {"axis": 1}, OUT)
raw_case("act_log_softmax", "log_softmax", [f(2, 3, 4)], X, {"axis": -1}, OUT)
raw_case("act_logit", "logit", [f(2, 6, low=-0.1, high=1.1)], X, {"eps": 0.01}, OUT)
raw_case("act_maxout", "maxout", [f(2, 6, 3, 3)], X, {"groups": 2, "axis": 1}, OUT)
raw_case("act_logical_not", "logical_not", [i(2, 3) > 1], X, {}, {"Out": "bool"})
for _mode, _shape in (("all", (1,)), ("channel", (3,)), ("element", (1, 3, 2, 2))):
    raw_case(f"prelu_{_mode}", "prelu", [f(2, 3, 2, 2), f(*_shape)], {"X": "x", "Alpha": "y"}, {"mode": _mode}, OUT)
raw_case(
    "prelu_channel_last", "prelu", [f(2, 2, 2, 3), f(3)], {"X": "x", "Alpha": "y"},
    {"mode": "channel", "data_format": "NHWC"}, OUT,
)  # fmt: skip
for _mode in ("upscale_in_train", "downgrade_in_infer"):
    raw_case(
        f"dropout_{_mode}", "dropout", [f(2, 5)], X,
        {"dropout_prob": 0.3, "is_test": True, "dropout_implementation": _mode}, {"Out": "float32", "Mask": "uint8"}, None, ("Mask",),
    )  # fmt: skip

# ---- two tensors ----

XY = {"X": "x", "Y": "y"}
for _kind in "add sub mul div max min pow mod floordiv fmax fmin heaviside".split():
    _low = 0.3 if _kind in ("pow", "mod", "floordiv", "div") else -2.0
    raw_case(f"ew_{_kind}", f"elementwise_{_kind}", [f(2, 3, low=_low), f(2, 3, low=_low)], XY, {"axis": -1}, OUT)
raw_case("ew_div_int", "elementwise_div", [i(2, 6, low=-9, high=9), i(2, 6, low=1)], XY, {"axis": -1}, {"Out": "int64"})
raw_case("ew_mod_int", "elementwise_mod", [i(2, 6, low=-9, high=9), i(2, 6, low=1)], XY, {"axis": -1}, {"Out": "int64"})
raw_case(
    "ew_floordiv_int", "elementwise_floordiv", [i(2, 6, low=-9, high=9), i(2, 6, low=1)], XY, {"axis": -1},
    {"Out": "int64"},
)  # fmt: skip
raw_case("ew_axis_1", "elementwise_add", [f(2, 3, 4, 2), f(3)], XY, {"axis": 1}, OUT)
raw_case("ew_axis_middle", "elementwise_mul", [f(2, 3, 4, 2), f(3, 4)], XY, {"axis": 1}, OUT)
raw_case("ew_axis_0", "elementwise_sub", [f(2, 3, 4), f(2, 3)], XY, {"axis": 0}, OUT, {})
raw_case("ew_trailing_one", "elementwise_mul", [f(2, 3, 4), f(3, 1)], XY, {"axis": 1}, OUT)
raw_case("ew_larger_y", "elementwise_add", [f(3), f(2, 3, 4)], XY, {"axis": 1}, OUT, {})
raw_case("ew_same_rank", "elementwise_max", [f(2, 1, 4), f(2, 3, 1)], XY, {"axis": -1}, OUT, {})
for _kind in "equal not_equal less_than less_equal greater_than greater_equal".split():
    raw_case(f"cmp_{_kind}", _kind, [i(2, 6), i(2, 6)], XY, {"axis": -1}, {"Out": "bool"})
for _kind in "logical_and logical_or logical_xor".split():
    raw_case(_kind, _kind, [i(2, 6) > 1, i(2, 6) > 1], XY, {}, {"Out": "bool"})
for _kind in "bitwise_and bitwise_or bitwise_xor".split():
    raw_case(_kind, _kind, [i(2, 6, high=16), i(2, 6, high=16)], XY, {}, {"Out": "int64"})
raw_case("scale", "scale", [f(2, 3)], X, {"scale": 2.0, "bias": 1.0, "bias_after_scale": True}, OUT)
raw_case("scale_before", "scale", [f(2, 3)], X, {"scale": 2.0, "bias": 1.0, "bias_after_scale": False}, OUT)
raw_case("scale_int", "scale", [i(2, 3)], X, {"scale": -1.0, "bias": 3.0}, {"Out": "int64"})
raw_case("scale_tensor", "scale", [f(2, 3), f(1)], {"X": "x", "ScaleTensor": "y"}, {"bias": 0.5}, OUT)
raw_case("sum", "sum", [f(2, 3), f(2, 3), f(2, 3)], {"X": "x y z"}, {}, OUT, {})
raw_case("increment", "increment", [f(1)], X, {"step": 2.5}, OUT)
raw_case("clip", "clip", [f(2, 6)], X, {"min": -0.5, "max": 0.7}, OUT)
raw_case("clip_tensor", "clip", [f(2, 6), f(1, low=-1, high=0)], {"X": "x", "Min": "y"}, {"min": 0.0, "max": 0.5}, OUT)
raw_case("clip_by_norm", "clip_by_norm", [f(2, 6)], X, {"max_norm": 1.5}, OUT)
raw_case("minus", "elementwise_sub", [f(2, 3), f(1, 3)], XY, {"axis": -1}, OUT)

raw_case("matmul_v2", "matmul_v2", [f(2, 3, 4), f(2, 5, 4)], XY, {"trans_x": False, "trans_y": True}, OUT)
raw_case("matmul_v2_wide", "matmul_v2", [f(2, 3, 4), f(4, 5)], XY, {"trans_x": False, "trans_y": False}, OUT)
raw_case("matmul", "matmul", [f(2, 4, 3), f(2, 4, 5)], XY, {"transpose_X": True, "alpha": 0.5}, OUT)
raw_case("matmul_vectors", "matmul", [f(4), f(4)], XY, {}, OUT)
raw_case("mul", "mul", [f(2, 3, 4), f(12, 5)], XY, {"x_num_col_dims": 1, "y_num_col_dims": 1}, OUT)
raw_case("mul_two", "mul", [f(2, 3, 4), f(4, 5)], XY, {"x_num_col_dims": 2, "y_num_col_dims": 1}, OUT)
raw_case("mul_wide", "mul", [f(2, 3, 4), f(3, 4, 5)], XY, {"x_num_col_dims": 1, "y_num_col_dims": 2}, OUT)
raw_case("bmm", "bmm", [f(2, 3, 4), f(2, 4, 5)], XY, {}, OUT)
raw_case("dot", "dot", [f(2, 4), f(2, 4)], XY, {}, OUT)
raw_case("mv", "mv", [f(3, 4), f(4)], {"X": "x", "Vec": "y"}, {}, OUT)
raw_case("kron", "kron", [f(2, 2), f(2, 3)], XY, {}, OUT)
raw_case("cross", "cross", [f(2, 3), f(2, 3)], XY, {"dim": 1}, OUT)
raw_case(
    "addmm",
    "addmm",
    [f(2, 3), f(2, 4), f(4, 3)],
    {"Input": "x", "X": "y", "Y": "z"},
    {"Alpha": 2.0, "Beta": 0.5},
    OUT,
    {},
)
raw_case("einsum", "einsum", [f(2, 3, 4), f(2, 4, 5)], {"Operands": "x y"}, {"equation": "bij,bjk->bik"},
         {"Out": "float32", "InnerCache": ["float32", "float32"], "XShape": ["float32", "float32"]})  # fmt: skip
for _flags in ({}, {"reverse": True}, {"exclusive": True}, {"reverse": True, "exclusive": True}):
    raw_case("_".join(["cumsum", *_flags]), "cumsum", [f(2, 3, 4)], X, {"axis": 1, **_flags}, OUT)
raw_case("cumsum_flat", "cumsum", [i(2, 3)], X, {"flatten": True}, {"Out": "int64"})
raw_case("cumprod", "cumprod", [f(2, 4)], X, {"dim": 1}, OUT)
raw_case("logcumsumexp", "logcumsumexp", [f(2, 4)], X, {"axis": 1}, OUT)
raw_case("allclose", "allclose", [f(2, 3), f(2, 3)], {"Input": "x", "Other": "y"}, {"rtol": "1e-5", "atol": "1e-8"},
         {"Out": "bool"})  # fmt: skip
raw_case("equal_all", "equal_all", [i(2, 3), i(2, 3)], XY, {}, {"Out": "bool"})

# ---- reductions ----

for _kind in "sum mean max min prod amax amin".split():
    raw_case(f"reduce_{_kind}", f"reduce_{_kind}", [f(2, 3, 4)], X, {"dim": [1], "keep_dim": False}, OUT)
raw_case("reduce_sum_keep", "reduce_sum", [f(2, 3, 4)], X, {"dim": [-1, 1], "keep_dim": True}, OUT)
raw_case("reduce_mean_all", "reduce_mean", [f(2, 3)], X, {"dim": [0], "reduce_all": True}, OUT)
raw_case("reduce_sum_int", "reduce_sum", [i(2, 3, dtype="int32")], X, {"dim": [1]}, {"Out": "int32"})
for _kind in ("reduce_all", "reduce_any"):
    raw_case(_kind, _kind, [i(2, 5) > 0], X, {"dim": [1]}, {"Out": "bool"})
raw_case("reduce_prod_int", "reduce_prod", [i(2, 3, dtype="int32")], X, {"dim": [1]}, {"Out": "int32"})
raw_case("mean", "mean", [f(2, 3)], X, {}, OUT)
raw_case("logsumexp", "logsumexp", [f(2, 3)], X, {"axis": [1], "keepdim": True}, OUT)
raw_case("frobenius_norm", "frobenius_norm", [f(2, 3, 4)], X, {"dim": [1, 2]}, OUT)
for _p in (0.0, 1.0, 2.0, 3.0, float("inf"), float("-inf")):
    raw_case(f"p_norm_{_p}".replace("-", "minus_"), "p_norm", [f(2, 3, 4)], X, {"porder": _p, "axis": 1}, OUT)
raw_case("p_norm_all", "p_norm", [f(2, 3, 4)], X, {"porder": 2.0, "axis": -1, "asvector": True}, OUT)
raw_case("norm", "norm", [f(2, 3, 4)], X, {"axis": 1, "epsilon": 1e-3}, {"Out": "float32", "Norm": "float32"})
raw_case("squared_l2_norm", "squared_l2_norm", [f(2, 3)], X, {}, OUT)
raw_case("trace", "trace", [f(3, 4)], {"Input": "x"}, {"offset": 1, "axis1": 0, "axis2": 1}, OUT, {})
raw_case("arg_max", "arg_max", [f(2, 3, 4)], X, {"axis": 1, "dtype": 3}, {"Out": "int64"})
raw_case("arg_max_32", "arg_max", [f(2, 3)], X, {"axis": -1, "dtype": 2, "keepdims": True}, {"Out": "int32"})
raw_case("arg_min_flat", "arg_min", [f(2, 3)], X, {"axis": 0, "dtype": 3, "flatten": True}, {"Out": "int64"})
raw_case("argsort", "argsort", [f(2, 6)], X, {"axis": 1, "descending": True}, {"Out": "float32", "Indices": "int64"})
raw_case("top_k", "top_k", [f(2, 6)], X, {"k": 2}, {"Out": "float32", "Indices": "int64"})
raw_case("top_k_v2", "top_k_v2", [f(2, 6, 3)], X, {"k": 2, "axis": 1, "largest": False},
         {"Out": "float32", "Indices": "int64"})  # fmt: skip
raw_case("kthvalue", "kthvalue", [f(2, 6)], X, {"k": 3, "axis": 1}, {"Out": "float32", "Indices": "int64"})
raw_case("searchsorted", "searchsorted", [np.sort(f(2, 6), 1), f(2, 3)], {"SortedSequence": "x", "Values": "y"}, {},
         {"Out": "int64"})  # fmt: skip
raw_case("where", "where", [i(2, 5) > 1, f(2, 5), f(2, 5)], {"Condition": "x", **{"X": "y", "Y": "z"}}, {}, OUT)
raw_case("where_index", "where_index", [i(2, 5) > 1], {"Condition": "x"}, {}, {"Out": "int64"})
raw_case("masked_select", "masked_select", [f(2, 5), i(2, 5) > 1], {"X": "x", "Mask": "y"}, {}, {"Y": "float32"})
raw_case(
    "unique", "unique", [i(8)], X, {"return_index": True, "return_inverse": True, "return_counts": True, "is_sorted": True,
    "dtype": 3}, {"Out": "int64", "Indices": "int64", "Index": "int64", "Counts": "int64"}, {},
)  # fmt: skip
raw_case("softmax_with_cross_entropy", "softmax_with_cross_entropy", [f(3, 5), i(3, 1)], {"Logits": "x", "Label": "y"},
         {}, {"Softmax": "float32", "Loss": "float32"}, {})  # fmt: skip

# ---- shapes ----

XS = {"Out": "float32", "XShape": "float32"}
raw_case("reshape2", "reshape2", [f(2, 3, 4)], X, {"shape": [0, -1, 2]}, XS)
raw_case("reshape2_batch", "reshape2", [f(2, 3, 4)], X, {"shape": [-1, 12]}, XS)
case(
    "reshape_by_shape",
    lambda p, raw, x: p.reshape(x, [p.shape(x)[0], p.shape(x)[1] * 4, 2]),
    [f(2, 3, 8)],
    {"x": (0, 1)},
)
raw_case("transpose2", "transpose2", [f(2, 3, 4)], X, {"axis": [2, 0, 1]}, XS)
raw_case("squeeze2", "squeeze2", [f(2, 1, 3, 1)], X, {"axes": [1, -1]}, XS)
raw_case("squeeze2_all", "squeeze2", [f(2, 1, 3, 1)], X, {"axes": []}, XS, {})
raw_case("squeeze2_skips", "squeeze2", [f(2, 3, 1)], X, {"axes": [1, 2]}, XS)
raw_case("squeeze2_unknown", "squeeze2", [f(1, 3, 4)], X, {"axes": [0]}, XS)
raw_case("unsqueeze2", "unsqueeze2", [f(2, 3)], X, {"axes": [0, 2]}, XS)
raw_case("flatten2", "flatten2", [f(2, 3, 4)], X, {"axis": 2}, XS)
raw_case(
    "flatten_contiguous_range", "flatten_contiguous_range", [f(2, 3, 4, 2)], X, {"start_axis": 1, "stop_axis": 2}, XS
)
raw_case("concat", "concat", [f(2, 3), f(2, 2)], {"X": "x y"}, {"axis": 1}, OUT, {})
raw_case("stack", "stack", [f(2, 3), f(2, 3)], {"X": "x y"}, {"axis": 1}, {"Y": "float32"}, {})
raw_case("unstack", "unstack", [f(2, 3)], X, {"axis": 1, "num": 3}, {"Y": ["float32"] * 3})
raw_case("unbind", "unbind", [f(2, 3)], X, {"axis": 1}, {"Out": ["float32"] * 3})
raw_case("split", "split", [f(2, 6)], X, {"axis": 1, "num": 3}, {"Out": ["float32"] * 3})
raw_case(
    "split_sections", "split", [f(2, 6)], X, {"axis": 1, "sections": [1, -1, 2], "num": 0}, {"Out": ["float32"] * 3}
)
raw_case("slice", "slice", [f(2, 5, 6)], {"Input": "x"}, {"axes": [1, 2], "starts": [1, -3], "ends": [4, 1000],
         "infer_flags": [1, 1], "decrease_axis": []}, OUT)  # fmt: skip
raw_case("slice_decrease", "slice", [f(2, 5, 6)], {"Input": "x"}, {"axes": [1], "starts": [-1], "ends": [2147483647],
         "infer_flags": [1], "decrease_axis": [1]}, OUT)  # fmt: skip
raw_case(
    "slice_tensor", "slice", [f(5, 6), np.array([1], "int64"), np.array([4], "int64")],
    {"Input": "x", "StartsTensor": "y", "EndsTensor": "z"}, {"axes": [0], "infer_flags": [-1], "decrease_axis": []}, OUT, {},
)  # fmt: skip
case("gather_axis", lambda p, raw, x, y: p.gather(x, y, p.full([1], 1, "int32")), [f(2, 4, 3), i(5)], {"x": (0, 2)})
case("reshape_tensor", lambda p, raw, x: p.reshape(x, p.assign(np.array([-1, 4], "int32"))), [f(2, 6)], {"x": (0,)})
case("unsqueeze_tensor", lambda p, raw, x: p.unsqueeze(x, p.assign(np.array([1], "int32"))), [f(2, 6)])
case("slice_at", lambda p, raw, x, y: x[:, y[0]], [f(2, 5, 3), np.array([3], "int64")])
case("slice_unknown_end", lambda p, raw, x: x[:, 1 : p.shape(x)[1] - 1], [f(2, 5, 3)], {"x": (0, 1)})
raw_case("strided_slice", "strided_slice", [f(6, 5)], {"Input": "x"}, {"axes": [0, 1], "starts": [5, 0], "ends": [0, 5],
         "strides": [-2, 2], "infer_flags": [1, 1], "decrease_axis": []}, OUT, {})  # fmt: skip
raw_case("gather", "gather", [f(4, 3), i(5)], {"X": "x", "Index": "y"}, {"axis": 0}, OUT)
raw_case("gather_nd", "gather_nd", [f(4, 4, 3), i(5, 2)], {"X": "x", "Index": "y"}, {}, OUT)
raw_case("scatter", "scatter", [f(4, 3), np.array([2, 0], "int64"), f(2, 3)], {"X": "x", "Ids": "y", "Updates": "z"},
         {"overwrite": True}, OUT)  # fmt: skip
raw_case("scatter_add", "scatter", [f(4, 3), np.array([2, 2, 0], "int64"), f(3, 3)], {"X": "x", "Ids": "y", "Updates": "z"},
         {"overwrite": False}, OUT)  # fmt: skip
raw_case(
    "scatter_nd_add", "scatter_nd_add", [f(4, 3), i(3, 1), f(3, 3)], {"X": "x", "Index": "y", "Updates": "z"}, {}, OUT
)
raw_case("index_select", "index_select", [f(2, 4), i(3)], {"X": "x", "Index": "y"}, {"dim": 1}, OUT)
raw_case("index_sample", "index_sample", [f(2, 4), i(2, 3)], {"X": "x", "Index": "y"}, {}, OUT, {})
raw_case(
    "index_add", "index_add", [f(2, 4), i(3), f(2, 3)], {"X": "x", "Index": "y", "AddValue": "z"}, {"axis": 1}, OUT, {}
)
raw_case("take_along_axis", "take_along_axis", [f(2, 4), i(2, 3)], {"Input": "x", "Index": "y"}, {"Axis": 1},
         {"Result": "float32"}, {})  # fmt: skip
for _reduce in ("assign", "add"):
    raw_case(
        f"put_along_axis_{_reduce}", "put_along_axis", [f(2, 4), np.array([[0, 2], [3, 1]], "int64"), f(2, 2)],
        {"Input": "x", "Index": "y", "Value": "z"}, {"Axis": 1, "Reduce": _reduce, "Include_self": True},
        {"Result": "float32"}, {},
    )  # fmt: skip
raw_case(
    "multiplex", "multiplex", [f(3, 2), f(3, 2), i(3, 1, high=2, dtype="int32")], {"X": "x y", "Ids": "z"}, {}, OUT, {}
)
raw_case("expand_v2", "expand_v2", [f(2, 1, 3)], X, {"shape": [-1, 4, -1]}, OUT)
raw_case("expand_as_v2", "expand_as_v2", [f(2, 1), f(2, 4)], XY, {"target_shape": [2, 4]}, OUT, {})
raw_case("expand", "expand", [f(2, 3)], X, {"expand_times": [2, 2]}, OUT)
raw_case("tile", "tile", [f(2, 3)], X, {"repeat_times": [2, 1, 2]}, OUT)
case("tile_by_shape", lambda p, raw, x, y: p.tile(x, [p.shape(y)[0], 1]), [f(1, 3), f(4, 2)], {"y": (0,)})
case("expand_by_shape", lambda p, raw, x, y: p.expand(x, [p.shape(y)[0], 3]), [f(1, 3), f(4, 2)], {"y": (0,)})
raw_case("meshgrid", "meshgrid", [f(3), f(2)], {"X": "x y"}, {}, {"Out": ["float32"] * 2}, {})
raw_case("repeat_interleave", "repeat_interleave", [f(2, 3)], X, {"Repeats": 2, "dim": 1}, OUT)
raw_case("flip", "flip", [f(2, 3, 4)], X, {"axis": [1, 2]}, OUT)
raw_case("reverse", "reverse", [f(2, 3)], X, {"axis": [1]}, OUT)
raw_case("roll", "roll", [f(2, 3, 4)], X, {"shifts": [1, -1], "axis": [1, 2]}, OUT)
for _lower in (True, False):
    raw_case(f"tril_triu_{_lower}", "tril_triu", [f(3, 4)], X, {"diagonal": 1, "lower": _lower}, OUT, {})
raw_case("diag_v2", "diag_v2", [f(3)], X, {"offset": 1, "padding_value": 2.0}, OUT, {})
raw_case("diag_embed", "diag_embed", [f(2, 3)], {"Input": "x"}, {"offset": 0, "dim1": -2, "dim2": -1}, OUT)
raw_case("diagonal", "diagonal", [f(3, 4, 2)], {"Input": "x"}, {"offset": 1, "axis1": 0, "axis2": 1}, OUT, {})
raw_case("crop", "crop_tensor", [f(4, 5)], X, {"shape": [2, 3], "offsets": [1, 2]}, OUT, {})
raw_case("pad", "pad", [f(2, 3)], X, {"paddings": [0, 1, 2, 1], "pad_value": 0.5}, OUT)
for _mode in ("constant", "reflect", "replicate", "circular"):
    raw_case(f"pad3d_{_mode}", "pad3d", [f(1, 2, 3, 4, 3)], X, {"paddings": [1, 2, 1, 0, 1, 1], "mode": _mode, "value": 0.3,
             "data_format": "NCDHW"}, OUT)  # fmt: skip
case("pad_2d", lambda p, raw, x: p.nn.functional.pad(x, [1, 2, 0, 1], "reflect"), [f(1, 2, 4, 4)], {"x": (0, 2)})
raw_case("cast", "cast", [f(2, 3)], X, {"in_dtype": 5, "out_dtype": 3}, {"Out": "int64"})
raw_case("assign", "assign", [f(2, 3)], X, {}, OUT)
raw_case("shape", "shape", [f(2, 3)], {"Input": "x"}, {}, {"Out": "int32"})
raw_case("size", "size", [f(2, 3)], {"Input": "x"}, {}, {"Out": "int64"})
raw_case("set_value", "set_value", [f(4, 5)], {"Input": "x"}, {"axes": [0, 1], "starts": [1, 0], "ends": [3, 5],
         "steps": [1, 2], "decrease_axes": [], "none_axes": [], "shape": [1], "values": [7.0], "dtype": 5}, OUT, {})  # fmt: skip
case("set_item", lambda p, raw, x, y: p.static.setitem(x, (slice(None), 1), y), [f(3, 4), f(3)], {})
raw_case("sequence_mask", "sequence_mask", [i(4)], X, {"maxlen": 5, "out_dtype": 5}, {"Y": "float32"}, {})
raw_case("label_smooth", "label_smooth", [f(2, 5)], X, {"epsilon": 0.1}, OUT)
raw_case("share_data", "share_data", [f(2, 3)], X, {}, OUT)
raw_case("broadcast_tensors", "broadcast_tensors", [f(2, 1), f(1, 3)], {"X": "x y"}, {}, {"Out": ["float32"] * 2}, {})

# ---- constants ----

case("fill_constant", lambda p, raw, x: x + p.full([2, 3], 1.5), [f(2, 3)], {})
case("fill_constant_int", lambda p, raw, x: x + p.full([1], 2**40 + 1, "int64"), [i(2, 3)])
case("fill_by_shape", lambda p, raw, x: p.full([p.shape(x)[0], 2], 3.0) * x, [f(4, 2)])
raw_case("fill_constant_batch_size_like", "fill_constant_batch_size_like", [f(4, 2)], {"Input": "x"},
         {"shape": [-1, 3], "value": 2.0, "dtype": 5, "input_dim_idx": 0, "output_dim_idx": 0, "str_value": "2"}, OUT)  # fmt: skip
raw_case("fill_any_like", "fill_any_like", [f(4, 2)], X, {"value": 2.0, "dtype": 3}, {"Out": "int64"})
case("zeros_like", lambda p, raw, x: p.zeros_like(x), [f(4, 2)])
case("eye", lambda p, raw, x: p.eye(3, 4) + x, [f(3, 4)], {})
case("assign_value", lambda p, raw, x: p.gather(x, p.assign(np.array([2, 0, 1, 1], "int64"))), [f(4, 2)], {})
case("assign_value_float", lambda p, raw, x: x * p.assign(np.array([2.0, 0.5], "float32")), [f(4, 2)])
case("range", lambda p, raw, x: p.arange(1, 10, 3, "float32") + x, [f(2, 3)])
case("range_by_shape", lambda p, raw, x: p.arange(p.shape(x)[0]).astype("float32") + x[:, 0], [f(4, 2)])
case("linspace", lambda p, raw, x: p.linspace(0, 1, 5) + x, [f(2, 5)])
raw_case("lookup_table_v2", "lookup_table_v2", [i(2, 3), f(5, 4)], {"Ids": "x", "W": "y"}, {"padding_idx": -1}, OUT)
raw_case("lookup_table_padding", "lookup_table_v2", [i(2, 3), f(5, 4)], {"Ids": "x", "W": "y"}, {"padding_idx": 2}, OUT)
raw_case("lookup_table", "lookup_table", [i(2, 3, 1), f(5, 4)], {"Ids": "x", "W": "y"}, {"padding_idx": -1}, OUT)
raw_case("one_hot_v2", "one_hot_v2", [i(2, 3)], X, {"depth": 5, "dtype": 5}, OUT)

# ---- images ----

CONV = {"Input": "x", "Filter": "y"}
O = {"Output": "float32"}


def conv(name, x, w, unknown=((0, 2, 3)), kind="conv2d", **attributes):
    n = w.ndim - 2
    given = {"strides": [1] * n, "paddings": [0] * n, "dilations": [1] * n, "groups": 1, "padding_algorithm": "EXPLICIT",
             "data_format": "NCHW" if n == 2 else "NCDHW"} | attributes  # fmt: skip
    raw_case(name, kind, [x, w], CONV, given, O, {"x": unknown})


conv("conv2d", f(2, 3, 8, 9), f(4, 3, 3, 3), strides=[2, 1], paddings=[1, 2])
conv("conv2d_groups", f(2, 4, 7, 7), f(6, 2, 3, 3), groups=2, dilations=[2, 1])
conv("conv2d_four", f(1, 3, 8, 8), f(2, 3, 3, 3), paddings=[0, 1, 2, 1])
conv("conv2d_same", f(1, 3, 8, 9), f(2, 3, 3, 3), strides=[2, 2], padding_algorithm="SAME")
conv("conv2d_valid", f(1, 3, 8, 9), f(2, 3, 3, 3), padding_algorithm="VALID")
conv("conv2d_last", f(1, 8, 9, 3), f(2, 3, 3, 3), (0, 1, 2), data_format="NHWC")
conv("depthwise_conv2d", f(2, 4, 8, 8), f(4, 1, 3, 3), kind="depthwise_conv2d", groups=4, paddings=[1, 1])
conv("conv3d", f(1, 2, 5, 6, 5), f(3, 2, 3, 3, 3), (0, 2), "conv3d", strides=[1, 2, 1])
conv("conv2d_transpose", f(2, 3, 5, 6), f(3, 4, 3, 3), kind="conv2d_transpose", strides=[2, 2], paddings=[1, 0],
     output_padding=[1, 0], output_size=[])  # fmt: skip
conv("conv2d_transpose_groups", f(1, 4, 5, 5), f(4, 2, 2, 2), kind="conv2d_transpose", strides=[2, 2], groups=2)
conv(
    "conv2d_transpose_size",
    f(1, 3, 5, 5),
    f(3, 2, 3, 3),
    (0,),
    "conv2d_transpose",
    strides=[2, 2],
    output_size=[12, 12],
)
conv(
    "conv2d_transpose_same",
    f(1, 3, 5, 5),
    f(3, 2, 3, 3),
    kind="conv2d_transpose",
    strides=[2, 2],
    padding_algorithm="SAME",
)
conv(
    "depthwise_conv2d_transpose",
    f(1, 3, 5, 5),
    f(3, 1, 3, 3),
    kind="depthwise_conv2d_transpose",
    strides=[2, 2],
    groups=3,
)
conv("conv3d_transpose", f(1, 2, 3, 4, 3), f(2, 3, 2, 2, 2), (0, 2), "conv3d_transpose", strides=[2, 1, 2])


def pool(name, x, kind="pool2d", unknown=(0, 2, 3), **attributes):
    n = 3 if kind == "pool3d" else 2
    given = {"ksize": [2] * n, "strides": [2] * n, "paddings": [0] * n, "pooling_type": "max", "data_format": "NCHW" if n == 2
             else "NCDHW", "padding_algorithm": "EXPLICIT"} | attributes  # fmt: skip
    raw_case(name, kind, [x], X, given, OUT, {"x": unknown})


pool("pool_max", f(2, 3, 7, 8), ksize=[3, 3], paddings=[1, 1])
pool("pool_avg", f(2, 3, 7, 8), ksize=[3, 3], paddings=[1, 1], pooling_type="avg")
pool("pool_avg_inclusive", f(2, 3, 7, 8), ksize=[3, 3], paddings=[1, 1], pooling_type="avg", exclusive=False)
pool("pool_max_ceil", f(2, 3, 7, 8), ceil_mode=True)
pool("pool_avg_ceil", f(2, 3, 7, 8), ceil_mode=True, pooling_type="avg", ksize=[3, 3])
pool("pool_global_avg", f(2, 3, 5, 4), global_pooling=True, pooling_type="avg")
pool("pool_global_max", f(2, 3, 5, 4), global_pooling=True)
pool("pool_adaptive_avg", f(2, 3, 7, 8), unknown=(0,), adaptive=True, ksize=[3, 2], pooling_type="avg")
pool("pool_same", f(2, 3, 7, 8), padding_algorithm="SAME", ksize=[3, 3], pooling_type="avg")
pool("pool_last", f(2, 7, 8, 3), unknown=(0,), data_format="NHWC")
pool("pool_four", f(2, 3, 7, 8), paddings=[0, 1, 1, 0], ksize=[3, 3])
pool("pool3d", f(1, 2, 5, 6, 4), "pool3d", (0,), pooling_type="avg")
raw_case("max_pool2d_with_index", "max_pool2d_with_index", [f(2, 3, 6, 6)], X, {"ksize": [2, 2], "strides": [2, 2],
         "paddings": [0, 0]}, {"Out": "float32", "Mask": "int32"})  # fmt: skip

for _epsilon, _rank in ((1e-5, 4), (1e-3, 2), (1e-5, 5), (1e-5, 3)):
    raw_case(
        f"batch_norm_{_rank}", "batch_norm",
        [f(*(2, 3, 4, 2, 2)[:_rank]), f(3), f(3), f(3), f(3, low=0.5)],
        {"X": "x", "Scale": "y", "Bias": "z", "Mean": "u", "Variance": "v"},
        {"is_test": True, "epsilon": _epsilon, "data_layout": "NCHW"},
        {"Y": "float32", "MeanOut": "float32", "VarianceOut": "float32", "SavedMean": "float32", "SavedVariance": "float32",
         "ReserveSpace": "float32"},
    )  # fmt: skip
NORM = {"X": "x", "Scale": "y", "Bias": "z"}
raw_case("layer_norm", "layer_norm", [f(2, 3, 4), f(12), f(12)], NORM, {"begin_norm_axis": 1, "epsilon": 1e-5},
         {"Y": "float32", "Mean": "float32", "Variance": "float32"})  # fmt: skip
raw_case("layer_norm_last", "layer_norm", [f(2, 3, 4), f(4), f(4)], NORM, {"begin_norm_axis": 2, "epsilon": 1e-3},
         {"Y": "float32", "Mean": "float32", "Variance": "float32"})  # fmt: skip
raw_case("group_norm", "group_norm", [f(2, 6, 3, 3), f(6), f(6)], NORM, {"groups": 3, "epsilon": 1e-5},
         {"Y": "float32", "Mean": "float32", "Variance": "float32"})  # fmt: skip
raw_case("instance_norm", "instance_norm", [f(2, 3, 4, 4), f(3), f(3)], NORM, {"epsilon": 1e-5},
         {"Y": "float32", "SavedMean": "float32", "SavedVariance": "float32"})  # fmt: skip
raw_case(
    "lrn",
    "lrn",
    [f(2, 6, 3, 3)],
    X,
    {"n": 5, "k": 2.0, "alpha": 0.1, "beta": 0.75},
    {"Out": "float32", "MidOut": "float32"},
)
raw_case("affine_channel", "affine_channel", [f(2, 3, 2, 2), f(3), f(3)], NORM, {"data_layout": "NCHW"}, OUT)


def interp(name, kind, x, unknown=(0, 2, 3), extra=(), **attributes):
    n = x.ndim - 2
    given = {"data_layout": "NCHW", "align_corners": False, "align_mode": 0, "interp_method": kind.split("_")[0], "out_d": -1,
             "out_h": -1, "out_w": -1} | attributes  # fmt: skip
    slots = {"X": "x", **({"OutSize": "y"} if extra else {})}
    raw_case(name, kind, [x, *extra], slots, given, OUT, {"x": unknown[: n + 1]})


interp("nearest_v2", "nearest_interp_v2", f(2, 3, 4, 5), scale=[2.0, 2.0])
interp("nearest_v2_size", "nearest_interp_v2", f(2, 3, 4, 5), out_h=6, out_w=3, scale=[])
interp("nearest_v2_corners", "nearest_interp_v2", f(2, 3, 4, 5), (0,), out_h=6, out_w=9, scale=[], align_corners=True)
interp("nearest_v1", "nearest_interp", f(2, 3, 4, 5), scale=2.0)
interp("nearest_v1_corners", "nearest_interp", f(2, 3, 4, 5), (0,), scale=2.0, align_corners=True)
interp("bilinear_v2", "bilinear_interp_v2", f(2, 3, 4, 5), scale=[1.5, 2.0])
interp("bilinear_v2_mode1", "bilinear_interp_v2", f(2, 3, 4, 5), scale=[2.0, 2.0], align_mode=1)
interp("bilinear_v2_corners", "bilinear_interp_v2", f(2, 3, 4, 5), out_h=7, out_w=3, scale=[], align_corners=True)
interp("bilinear_v1", "bilinear_interp", f(2, 3, 4, 5), scale=2.0)
interp("bilinear_v1_size", "bilinear_interp", f(2, 3, 4, 5), out_h=6, out_w=8, scale=0.0, align_mode=1)
interp("bilinear_out_size", "bilinear_interp_v2", f(2, 3, 4, 5), (0,), [np.array([6, 7], "int32")], scale=[])
interp("bicubic_v2", "bicubic_interp_v2", f(2, 3, 5, 5), scale=[2.0, 2.0])
interp("linear_v2", "linear_interp_v2", f(2, 3, 5), scale=[2.0])
interp("trilinear_v2", "trilinear_interp_v2", f(1, 2, 3, 3, 4), scale=[2.0, 2.0, 2.0], data_layout="NCHW")
case(
    "interpolate_like", lambda p, raw, x, y: p.nn.functional.interpolate(x, p.shape(y)[2:], mode="bilinear"),
    [f(1, 2, 3, 4), f(1, 1, 7, 6)], {"x": (0, 2, 3), "y": (2, 3)},
)  # fmt: skip
for _mode in ("bilinear", "nearest"):
    for _padding in ("zeros", "border", "reflection"):
        raw_case(f"grid_sampler_{_mode}_{_padding}", "grid_sampler", [f(2, 3, 4, 5), f(2, 3, 3, 2, low=-1.3, high=1.3)],
                 {"X": "x", "Grid": "y"}, {"mode": _mode, "padding_mode": _padding, "align_corners": True}, O, {})  # fmt: skip
raw_case(
    "affine_grid",
    "affine_grid",
    [f(2, 2, 3)],
    {"Theta": "x"},
    {"output_shape": [2, 3, 4, 5], "align_corners": False},
    O,
    {},
)
raw_case("pixel_shuffle", "pixel_shuffle", [f(2, 8, 3, 2)], X, {"upscale_factor": 2}, OUT)
raw_case("pixel_unshuffle", "pixel_unshuffle", [f(2, 2, 4, 6)], X, {"downscale_factor": 2}, OUT)
raw_case("channel_shuffle", "channel_shuffle", [f(2, 6, 2, 2)], X, {"groups": 3}, OUT)
raw_case("shuffle_channel", "shuffle_channel", [f(2, 6, 2, 2)], X, {"group": 3}, OUT)
raw_case("temporal_shift", "temporal_shift", [f(4, 4, 2, 2)], X, {"seg_num": 2, "shift_ratio": 0.25}, OUT, {})
raw_case("unfold", "unfold", [f(2, 3, 5, 5)], X, {"kernel_sizes": [2, 2], "strides": [1, 1], "paddings": [0, 0, 0, 0],
         "dilations": [1, 1]}, {"Y": "float32"})  # fmt: skip
raw_case("fold", "fold", [f(2, 12, 9)], X, {"output_sizes": [4, 4], "kernel_sizes": [2, 2], "strides": [1, 1], "paddings":
         [0, 0, 0, 0], "dilations": [1, 1]}, {"Y": "float32"})  # fmt: skip

# ---- boxes ----


def boxes(*shape):
    corners = _rng.uniform(0, 20, (*shape, 2))
    return np.concatenate([corners, corners + _rng.uniform(2, 12, (*shape, 2))], -1).astype("float32")


NMS = {"score_threshold": 0.3, "nms_top_k": 8, "keep_top_k": 5, "nms_threshold": 0.2, "normalized": True, "nms_eta": 1.0,
       "background_label": -1}  # fmt: skip
NMS_OUT = {"Out": "float32", "Index": "int32", "NmsRoisNum": "int32"}
for _name, _more in (("", {}), ("_pixels", {"normalized": False, "keep_top_k": -1}), ("_background", {"background_label": 1}),
                     ("_eta", {"nms_eta": 0.7, "nms_threshold": 0.7, "keep_top_k": 100}),
                     ("_none", {"score_threshold": 2.0})):  # fmt: skip
    raw_case(f"multiclass_nms3{_name}", "multiclass_nms3", [boxes(2, 12), f(2, 3, 12, low=0, high=1)],
             {"BBoxes": "x", "Scores": "y"}, NMS | _more, NMS_OUT)  # fmt: skip
raw_case("multiclass_nms3_rois", "multiclass_nms3", [boxes(12, 3), f(12, 3, low=0, high=1), np.array([5, 7], "int32")],
         {"BBoxes": "x", "Scores": "y", "RoisNum": "z"}, NMS, NMS_OUT, {})  # fmt: skip

raw_case("yolo_box", "yolo_box", [f(2, 21, 3, 4), np.array([[96, 128], [64, 80]], "int32")], {"X": "x", "ImgSize": "y"},
         {"anchors": [10, 13, 16, 30, 33, 23], "class_num": 2, "conf_thresh": 0.3, "downsample_ratio": 32, "clip_bbox": True,
          "scale_x_y": 1.1, "iou_aware": False, "iou_aware_factor": 0.5}, {"Boxes": "float32", "Scores": "float32"}, {})  # fmt: skip
raw_case("prior_box", "prior_box", [f(1, 2, 3, 4), f(1, 3, 24, 32)], {"Input": "x", "Image": "y"},
         {"min_sizes": [4.0, 8.0], "max_sizes": [8.0, 12.0], "aspect_ratios": [1.0, 2.0], "variances": [0.1, 0.1, 0.2, 0.2],
          "flip": True, "clip": True, "step_w": 0.0, "step_h": 0.0, "offset": 0.5, "min_max_aspect_ratios_order": False},
         {"Boxes": "float32", "Variances": "float32"}, {})  # fmt: skip
raw_case("box_coder", "box_coder", [boxes(4), f(4, 4, low=0.1, high=0.3), f(3, 4, 4, low=-0.5, high=0.5)],
         {"PriorBox": "x", "PriorBoxVar": "y", "TargetBox": "z"},
         {"code_type": "decode_center_size", "box_normalized": False, "axis": 0, "variance": []}, {"OutputBox": "float32"}, {})  # fmt: skip
raw_case("box_coder_encode", "box_coder", [boxes(4), boxes(3)], {"PriorBox": "x", "TargetBox": "y"},
         {"code_type": "encode_center_size", "box_normalized": True, "axis": 0, "variance": [0.1, 0.1, 0.2, 0.2]},
         {"OutputBox": "float32"}, {})  # fmt: skip
REGIONS = {"X": "x", "ROIs": "y", "RoisNum": "z"}
_counts = np.array([1, 2], "int32")
for _aligned in (True, False):
    raw_case(f"roi_align_{_aligned}", "roi_align", [f(2, 3, 8, 8), boxes(3), _counts], REGIONS, {"pooled_height": 2,
             "pooled_width": 3, "spatial_scale": 0.25, "sampling_ratio": 2, "aligned": _aligned}, OUT, {})  # fmt: skip
raw_case("roi_pool", "roi_pool", [f(2, 3, 8, 8), boxes(3), _counts], REGIONS, {"pooled_height": 2, "pooled_width": 2,
         "spatial_scale": 0.25}, {"Out": "float32", "Argmax": "int64"}, {}, ("Argmax",))  # fmt: skip
raw_case("psroi_pool", "psroi_pool", [f(2, 8, 8, 8), boxes(3), _counts], REGIONS, {"pooled_height": 2, "pooled_width": 2,
         "spatial_scale": 0.25, "output_channels": 2}, OUT, {})  # fmt: skip
raw_case("deformable_conv", "deformable_conv", [f(1, 2, 5, 5), f(1, 18, 5, 5, low=-1, high=1), f(3, 2, 3, 3), f(1, 9, 5, 5)],
         {"Input": "x", "Offset": "y", "Filter": "z", "Mask": "u"}, {"strides": [1, 1], "paddings": [1, 1], "dilations": [1, 1],
         "deformable_groups": 1, "groups": 1, "im2col_step": 1}, O, {})  # fmt: skip
raw_case("matrix_nms", "matrix_nms", [boxes(1, 8), f(1, 3, 8, low=0, high=1)], {"BBoxes": "x", "Scores": "y"},
         {"score_threshold": 0.3, "post_threshold": 0.1, "nms_top_k": 6, "keep_top_k": 5, "use_gaussian": False,
          "gaussian_sigma": 2.0, "background_label": 0, "normalized": True},
         {"Out": "float32", "Index": "int32", "RoisNum": "int32"}, {})  # fmt: skip
raw_case("distribute_fpn_proposals", "distribute_fpn_proposals", [boxes(6) * 10, np.array([4, 2], "int32")],
         {"FpnRois": "x", "RoisNum": "y"}, {"min_level": 2, "max_level": 4, "refer_level": 3, "refer_scale": 80,
         "pixel_offset": True}, {"MultiFpnRois": ["float32"] * 3, "RestoreIndex": "int32", "MultiLevelRoIsNum": ["int32"] * 3}, {})  # fmt: skip
raw_case("generate_proposals_v2", "generate_proposals_v2",
         [f(1, 3, 2, 2, low=0, high=1), f(1, 12, 2, 2, low=-0.3, high=0.3), np.array([[32, 40]], "float32"),
          boxes(2, 2, 3), np.ones((2, 2, 3, 4), "float32")],
         {"Scores": "x", "BboxDeltas": "y", "ImShape": "z", "Anchors": "u", "Variances": "v"},
         {"pre_nms_topN": 10, "post_nms_topN": 5, "nms_thresh": 0.5, "min_size": 1.0, "eta": 1.0, "pixel_offset": True},
         {"RpnRois": "float32", "RpnRoiProbs": "float32", "RpnRoisNum": "int32"}, {})  # fmt: skip

# ---- quantization ----

for _round in (0, 1):
    raw_case(f"quantize_linear_{_round}", "quantize_linear", [f(2, 3, 2), np.array([1.5], "float32"), np.zeros(1, "float32")],
             {"X": "x", "Scale": "y", "ZeroPoint": "z"}, {"quant_axis": -1, "bit_length": 8, "round_type": _round, "is_test": True,
             "only_observer": False}, {"Y": "float32"})  # fmt: skip
raw_case("quantize_linear_channel", "quantize_linear", [f(4, 3, 2), f(4, low=0.5), np.zeros(4, "float32")],
         {"X": "x", "Scale": "y", "ZeroPoint": "z"}, {"quant_axis": 0, "bit_length": 8, "is_test": True}, {"Y": "float32"}, {})  # fmt: skip
raw_case("dequantize_linear", "dequantize_linear", [i(2, 3, low=-127, high=127).astype("float32"), f(1, low=0.5), np.zeros(1, "float32")],
         {"X": "x", "Scale": "y", "ZeroPoint": "z"}, {"quant_axis": -1, "bit_length": 8, "is_test": True}, {"Y": "float32"})  # fmt: skip
raw_case("dequantize_linear_channel", "dequantize_linear",
         [i(2, 3, 4, low=-127, high=127, dtype="int8"), f(3, low=0.5), np.zeros(3, "float32")],
         {"X": "x", "Scale": "y", "ZeroPoint": "z"}, {"quant_axis": 1, "bit_length": 8, "is_test": True}, {"Y": "float32"}, {})  # fmt: skip
FAKE = {"Out": "float32", "OutScale": "float32"}
raw_case("fake_quantize_abs_max", "fake_quantize_abs_max", [f(2, 5)], X, {"bit_length": 8}, FAKE)
raw_case("fake_quantize_dequantize_abs_max", "fake_quantize_dequantize_abs_max", [f(2, 5)], X, {"bit_length": 8}, FAKE)
raw_case("fake_channel_wise_quantize_dequantize_abs_max", "fake_channel_wise_quantize_dequantize_abs_max", [f(3, 4, 2)], X,
         {"bit_length": 8, "quant_axis": 0}, FAKE, {})  # fmt: skip
raw_case("fake_qdq_moving", "fake_quantize_dequantize_moving_average_abs_max", [f(2, 5), f(1, low=0.5)], {"X": "x", "InScale": "y"},
         {"bit_length": 8, "is_test": True}, FAKE, None, ("OutScale",))  # fmt: skip
raw_case("fake_q_moving", "fake_quantize_moving_average_abs_max", [f(2, 5), f(1, low=0.5)], {"X": "x", "InScale": "y"},
         {"bit_length": 8, "is_test": True}, FAKE, None, ("OutScale",))  # fmt: skip
raw_case(
    "fake_dequantize_max_abs",
    "fake_dequantize_max_abs",
    [f(2, 5), f(1)],
    {"X": "x", "Scale": "y"},
    {"max_range": 127.0},
    OUT,
)
raw_case("fake_channel_wise_dequantize", "fake_channel_wise_dequantize_max_abs", [f(3, 4), f(3, low=0.5)], {"X": "x", "Scales": "y"},
         {"quant_bits": [8], "quant_axis": 0}, OUT, {})  # fmt: skip
raw_case("fake_channel_wise_dequantize_two", "fake_channel_wise_dequantize_max_abs", [f(2, 4), f(4, low=0.5), f(1, low=0.5)],
         {"X": "x", "Scales": "y z"}, {"quant_bits": [8, 8], "x_num_col_dims": 1}, OUT, {})  # fmt: skip

# ---- fused ----

raw_case("fc", "fc", [f(2, 3, 4), f(4, 5), f(5)], {"Input": "x", "W": "y", "Bias": "z"},
         {"in_num_col_dims": 2, "activation_type": "relu"}, OUT)  # fmt: skip
raw_case("fused_elemwise_activation", "fused_elemwise_add_activation", [f(2, 3), f(3)], XY,
         {"functor_list": ["relu", "elementwise_add"], "axis": -1, "scale": 0.0}, {"Out": "float32", "IntermediateOut": "float32"})  # fmt: skip
raw_case("fusion_repeated_fc_relu", "fusion_repeated_fc_relu", [f(2, 3), f(3, 4), f(4, 2), f(4), f(2)],
         {"X": "x", "W": "y z", "Bias": "u v"}, {}, {"ReluOut": ["float32"], "Out": "float32"})  # fmt: skip
raw_case("fused_conv2d", "fused_conv2d", [f(1, 3, 5, 5), f(2, 3, 3, 3), f(2)], {"Input": "x", "Filter": "y", "Bias": "z"},
         {"strides": [1, 1], "paddings": [1, 1], "dilations": [1, 1], "groups": 1, "fuse_activation": "relu", "data_format": "NCHW",
          "padding_algorithm": "EXPLICIT", "use_mkldnn": True}, O)  # fmt: skip

# ---- others ----

C = {"Out": "complex64"}
raw_case("complex", "complex", [f(2, 3), f(2, 3)], XY, {}, C)
raw_case("as_real", "as_real", [(f(2, 3) + 1j * f(2, 3)).astype("complex64")], X, {}, OUT)
raw_case("fft_c2c", "fft_c2c", [(f(2, 6) + 1j * f(2, 6)).astype("complex64")], X, {"axes": [1], "normalization": "backward",
         "forward": True}, C)  # fmt: skip
raw_case(
    "fft_r2c", "fft_r2c", [f(2, 6)], X, {"axes": [1], "normalization": "ortho", "forward": True, "onesided": True}, C
)
raw_case("fft_c2r", "fft_c2r", [(f(2, 4) + 1j * f(2, 4)).astype("complex64")], X, {"axes": [1], "normalization": "backward",
         "forward": False, "last_dim_size": 6}, OUT)  # fmt: skip
raw_case("cummax", "cummax", [f(2, 5)], {"x": "x"}, {"axis": 1, "dtype": 3}, {"out": "float32", "indices": "int64"})
raw_case(
    "masked_fill",
    "masked_fill",
    [f(2, 5), i(2, 5) > 1, f(1)],
    {"x": "x", "mask": "y", "value": "z"},
    {},
    {"out": "float32"},
)
raw_case("renorm", "renorm", [f(2, 5)], X, {"p": 2.0, "axis": 1, "max_norm": 1.0}, OUT, {})
raw_case("solve", "solve", [f(3, 3) + 4 * np.eye(3, dtype="float32"), f(3, 2)], XY, {}, OUT, {})
raw_case(
    "triangular_solve",
    "triangular_solve",
    [f(3, 3) + 4 * np.eye(3, dtype="float32"), f(3, 2)],
    XY,
    {"upper": False},
    OUT,
    {},
)
raw_case("spectral_norm", "spectral_norm", [f(4, 3, 2), f(4), f(6)], {"Weight": "x", "U": "y", "V": "z"},
         {"dim": 0, "power_iters": 2, "eps": 1e-12}, OUT, {})  # fmt: skip
raw_case("swiglu", "swiglu", [f(2, 6)], {"x": "x"}, {}, {"out": "float32"})
raw_case("huber_loss", "huber_loss", [f(4, 1), f(4, 1)], XY, {"delta": 0.7}, {"Out": "float32", "Residual": "float32"})
raw_case("kldiv_loss", "kldiv_loss", [f(4, 3), f(4, 3, low=0.1, high=1)], {"X": "x", "Target": "y"}, {"reduction": "mean"},
         {"Loss": "float32"})  # fmt: skip
raw_case("unique_consecutive", "unique_consecutive", [np.sort(i(8))], X, {"return_inverse": True, "return_counts": True,
         "dtype": 3}, {"Out": "int64", "Index": "int64", "Counts": "int64"}, {})  # fmt: skip
raw_case("slogdeterminant", "slogdeterminant", [f(3, 3)], {"Input": "x"}, {}, OUT, {})
raw_case("copysign", "copysign", [f(2, 3), f(2, 3)], {"x": "x", "y": "y"}, {}, {"out": "float32"})
raw_case("iou_similarity", "iou_similarity", [boxes(4), boxes(3)], XY, {"box_normalized": True}, OUT, {}, old=True)
raw_case("polygon_box_transform", "polygon_box_transform", [f(2, 8, 3, 4)], {"Input": "x"}, {}, O, old=True)
raw_case("old_minus", "minus", [f(2, 3), f(2, 3)], XY, {}, OUT, old=True)
raw_case("soft_relu", "soft_relu", [f(2, 3)], X, {"threshold": 1.0}, OUT, old=True)
raw_case("old_isnan", "isnan", [f(2, 3)], X, {}, {"Out": "bool"}, old=True)
raw_case("fill_zeros_like", "fill_zeros_like", [f(2, 3)], X, {}, OUT, old=True)
for _kind, _x in (
    ("linear_interp", f(2, 3, 5)),
    ("bicubic_interp", f(2, 3, 5, 5)),
    ("trilinear_interp", f(1, 2, 3, 3, 4)),
):
    raw_case(_kind, _kind, [_x], X, {"scale": 2.0, "align_corners": False, "align_mode": 0, "data_layout": "NCHW", "out_d": -1,
             "out_h": -1, "out_w": -1, "interp_method": _kind.split("_")[0]}, OUT, old=True)  # fmt: skip
raw_case("fc_old", "fc", [f(2, 3, 4), f(12, 5), f(5)], {"Input": "x", "W": "y", "Bias": "z"},
         {"in_num_col_dims": 1, "activation_type": ""}, OUT, old=True)  # fmt: skip
for _kind in "add sub mul div".split():
    raw_case(
        f"fused_elementwise_{_kind}", f"fused_elementwise_{_kind}", [f(2, 3), f(2, 3, low=0.5)], XY, {"axis": -1}, OUT
    )
raw_case("fusion_squared_mat_sub", "fusion_squared_mat_sub", [f(2, 3), f(3, 4)], XY, {"scalar": 0.5},
         {"SquaredX": "float32", "SquaredY": "float32", "SquaredXY": "float32", "Out": "float32"},
         hidden=("SquaredX", "SquaredY", "SquaredXY"))  # fmt: skip
raw_case("atan2", "atan2", [f(2, 3), f(2, 3)], {"X1": "x", "X2": "y"}, {}, OUT)
raw_case("bilinear_tensor_product", "bilinear_tensor_product", [f(2, 3), f(2, 4), f(5, 3, 4), f(1, 5)],
         {"X": "x", "Y": "y", "Weight": "z", "Bias": "u"}, {}, OUT)  # fmt: skip
raw_case("mode", "mode", [i(3, 6).astype("float32")], X, {"axis": 1}, {"Out": "float32", "Indices": "int64"})
raw_case("row_conv", "row_conv", [f(2, 5, 3), f(2, 3)], {"X": "x", "Filter": "y"}, {}, OUT, {"x": (0, 1)})
for _kind in ("var", "std"):
    raw_case(_kind, _kind, [f(2, 5)], {"x": "x"}, {"axis": [1], "unbiased": True, "keepdim": False, "correction": 1.0},
             {"out": "float32"})  # fmt: skip
_square = f(3, 3)
raw_case("cholesky", "cholesky", [_square @ _square.T + np.eye(3, dtype="float32")], X, {"upper": False}, OUT, {})
raw_case("determinant", "determinant", [f(3, 3)], {"Input": "x"}, {}, OUT, {})
raw_case("matrix_power", "matrix_power", [f(3, 3)], X, {"n": 3}, OUT, {})
raw_case("inverse", "inverse", [f(3, 3) + 3 * np.eye(3, dtype="float32")], {"Input": "x"}, {}, O, {})
raw_case(
    "isclose",
    "isclose",
    [f(2, 3), f(2, 3)],
    {"Input": "x", "Other": "y"},
    {"rtol": "0.5", "atol": "1e-8"},
    {"Out": "bool"},
)
raw_case("dist", "dist", [f(2, 3), f(2, 3)], XY, {"p": 2.0}, OUT)
raw_case("lerp", "lerp", [f(2, 3), f(2, 3), f(1)], {"X": "x", "Y": "y", "Weight": "z"}, {}, OUT)
raw_case(
    "gather_tree",
    "gather_tree",
    [i(3, 2, 2), i(3, 2, 2, high=2)],
    {"Ids": "x", "Parents": "y"},
    {},
    {"Out": "int64"},
    {},
)
raw_case("index_put", "index_put", [f(4, 3), i(2), i(2, high=3), f(2)], {"x": "x", "indices": "y z", "value": "u"},
         {"accumulate": True}, {"out": "float32"}, {})  # fmt: skip
raw_case("l1_norm", "l1_norm", [f(2, 3)], X, {}, OUT)
raw_case("sigmoid_cross_entropy", "sigmoid_cross_entropy_with_logits", [f(2, 3), f(2, 3, low=0, high=1)], {"X": "x", "Label": "y"},
         {"normalize": False, "ignore_index": -100}, OUT)  # fmt: skip
raw_case("log_loss", "log_loss", [f(4, 1, low=0.1, high=0.9), f(4, 1, low=0, high=1)], {"Predicted": "x", "Labels": "y"},
         {"epsilon": 1e-4}, {"Loss": "float32"})  # fmt: skip
raw_case(
    "bce_loss", "bce_loss", [f(4, 1, low=0.1, high=0.9), f(4, 1, low=0, high=1)], {"X": "x", "Label": "y"}, {}, OUT
)
raw_case("max_pool3d_with_index", "max_pool3d_with_index", [f(1, 2, 4, 4, 4)], X, {"ksize": [2, 2, 2], "strides": [2, 2, 2]},
         {"Out": "float32", "Mask": "int32"})  # fmt: skip
raw_case("histogram", "histogram", [f(20)], X, {"bins": 5, "min": -2, "max": 2}, {"Out": "int64"}, {})
raw_case("reduce_as", "reduce_as", [f(2, 3), f(1, 3)], {"x": "x", "target": "y"}, {}, {"out": "float32"})
raw_case("fake_quantize_range_abs_max", "fake_quantize_range_abs_max", [f(2, 5), f(1, low=0.5), np.zeros(1, "int64")],
         {"X": "x", "InScale": "y", "Iter": "z"}, {"bit_length": 8, "is_test": True}, FAKE, {}, ("OutScale",))  # fmt: skip
raw_case("fill_any", "fill_any", [f(2, 5)], X, {"value": 1.5}, OUT)
raw_case(
    "bitwise_left_shift",
    "bitwise_left_shift",
    [i(2, 3), i(2, 3)],
    {"x": "x", "y": "y"},
    {"is_arithmetic": True},
    {"out": "int64"},
)
raw_case("bitwise_not", "bitwise_not", [i(2, 3)], X, {}, {"Out": "int64"})
for _kind in "i0 i0e i1 i1e".split():
    raw_case(_kind, _kind, [f(2, 3)], {"x": "x"}, {}, {"out": "float32"})
raw_case("gammaln", "gammaln", [f(2, 3, low=0.3)], {"x": "x"}, {}, {"out": "float32"})
raw_case("polygamma", "polygamma", [f(2, 3, low=0.3)], {"x": "x"}, {"n": 1}, {"out": "float32"})
raw_case("gammaincc", "gammaincc", [f(2, 3, low=0.3), f(2, 3, low=0.3)], {"x": "x", "y": "y"}, {}, {"out": "float32"})
raw_case("nextafter", "nextafter", [f(2, 3), f(2, 3)], {"x": "x", "y": "y"}, {}, {"out": "float32"})
raw_case("erfinv", "erfinv", [f(2, 3, low=-0.9, high=0.9)], X, {}, OUT)
for _kind in ("real", "imag", "conj", "angle"):
    raw_case(_kind, _kind, [(f(2, 3) + 1j * f(2, 3)).astype("complex64")], X, {}, C if _kind == "conj" else OUT)
raw_case("as_complex", "as_complex", [f(2, 3, 2)], X, {}, C)
raw_case("cummin", "cummin", [f(2, 5)], {"x": "x"}, {"axis": 1, "dtype": 2}, {"out": "float32", "indices": "int32"})
raw_case("shard_index", "shard_index", [i(4, 1, high=20)], X, {"index_num": 20, "nshards": 2, "shard_id": 1, "ignore_value": -1},
         {"Out": "int64"})  # fmt: skip
raw_case("is_empty", "is_empty", [f(2, 3)], X, {}, {"Out": "bool"})
raw_case("unpool", "unpool", [f(1, 1, 2, 2), np.array([[[[0, 3], [10, 15]]]], "int32")], {"X": "x", "Indices": "y"},
         {"ksize": [2, 2], "strides": [2, 2], "unpooling_type": "max", "output_size": [4, 4]}, OUT, {})  # fmt: skip
case("one_hot_by_tensor", lambda p, raw, x: p.nn.functional.one_hot(x, p.full([1], 6, "int32")), [i(2, 3)])

# ---- recurrent ----


def recurrent(kind, both, layers):
    def build(p, raw, x):
        cell = getattr(p.nn, kind)(4, 3, layers, direction="bidirect" if both else "forward")
        cell.eval()
        out, last = cell(x)
        return [out, *(last if isinstance(last, tuple) else [last])]

    return build


for _kind in ("LSTM", "GRU", "SimpleRNN"):
    for _both in (False, True):
        case(f"rnn_{_kind}_{_both}", recurrent(_kind, _both, 2), [f(2, 5, 4)], {"x": (0, 1)})
raw_case("gru_unit", "gru_unit", [f(2, 9), f(2, 3), f(3, 9), f(1, 9)], {"Input": "x", "HiddenPrev": "y", "Weight": "z", "Bias": "u"},
         {"activation": 2, "gate_activation": 1}, {"Gate": "float32", "ResetHiddenPrev": "float32", "Hidden": "float32"}, {})  # fmt: skip


# ---- control flow ----


def branch(p, raw, x):
    return p.static.nn.cond(p.mean(x) > 0, lambda: (x + 1, x * 2), lambda: (x - 1, x * 3))


case("cond_true", branch, [f(2, 3, low=0)])
case("cond_false", branch, [f(2, 3, high=0)])


def loop(p, raw, x):
    i = p.full([1], 0, "int64")
    return p.static.nn.while_loop(lambda i, v: i < 5, lambda i, v: [i + 1, v * 0.5 + p.cast(i, "float32")], [i, x])


case("while", loop, [f(2, 3)])


def loop_by_data(p, raw, x):
    return p.static.nn.while_loop(lambda v: p.sum(v) < 100, lambda v: [v * 2], [x])


case("while_by_data", loop_by_data, [f(2, 3, low=0.5)])


def array(p, raw, x):
    zero, one = p.full([1], 0, "int64"), p.full([1], 1, "int64")
    a = p.tensor.array_write(x, zero)
    p.tensor.array_write(x * 2, one, a)
    return p.tensor.array_read(a, one) + p.cast(p.tensor.array_length(a), "float32")


case("array", array, [f(2, 3)])


def array_in_loop(p, raw, x):
    i, n = p.full([1], 0, "int64"), p.full([1], 3, "int64")
    a = p.tensor.array_write(x, i)
    going = p.less_than(i, n)
    loop = p.static.nn.control_flow.While(going)
    with loop.block():
        v = p.tensor.array_read(a, i)
        p.increment(i, 1)
        p.tensor.array_write(p.tanh(v) + 1.0, i, a)
        p.assign(p.less_than(i, n), going)
    return raw(
        "tensor_array_to_tensor", {"X": [a]}, {"axis": 0, "use_stack": True}, {"Out": "float32", "OutIndex": "int32"}
    )["Out"]


case("array_in_loop", array_in_loop, [f(2, 3)], {})


def traced(forward, make=None):
    """A function that makes a Layer with that forward."""

    def build(p):
        class Traced(p.nn.Layer):
            def __init__(self):
                super().__init__()
                if make is not None:
                    make(self, p)

        Traced.forward = forward
        return Traced()

    return build


def layer(name, forward, feeds, unknown=None, make=None):
    case(name, traced(forward, make), feeds, unknown, "layer")


def _if(self, x):
    if x.mean() > 0:
        y = self.one(x)
        z = y + 1
    else:
        y = self.two(x) * 2
        z = x
    return y, z


def _two(self, p):
    self.one, self.two = p.nn.Linear(4, 4), p.nn.Linear(4, 4)


layer("layer_if_true", _if, [f(2, 4, low=0)], make=_two)
layer("layer_if_false", _if, [f(2, 4, high=0)], make=_two)


def _while(self, x):
    n = x.sum()
    steps = x.sum() * 0
    while n < 50:
        n = n * 2 + 1
        steps += 1
        if n > 30:
            n = n + 5
    return n, steps


layer("layer_while", _while, [f(2, 4, low=0.5, high=1)])


def _greedy(self, x):
    """A decoder that feeds its output back, with a list that grows."""
    h = x
    outs = []
    for k in range(3):
        h = self.one(h).tanh()
        outs.append(h)
    total = h * 0
    for o in outs:
        total = total + o
    return total, self.stack(outs, 1)


def _stack(self, p):
    _two(self, p)
    self.stack = p.stack


layer("layer_list", _greedy, [f(2, 4)], make=_stack)


def _buffer(self, x):
    x = x * self.scale
    x[:, 0] = 1.0
    x[0, 1:3] = x[0, 2:4]
    return x, self.table[x.astype("int64").abs() % 3]


def _with_buffer(self, p):
    self.register_buffer("scale", p.to_tensor(np.array([1.0, 2.0, 0.5, 1.5], "float32")))
    self.table = self.create_parameter([3, 2])


layer("layer_buffer_and_items", _buffer, [f(2, 4)], {}, make=_with_buffer)


def _attention(self, x):
    b, t = x.shape[0], x.shape[1]
    qkv = self.qkv(x).reshape([b, t, 3, 2, 4]).transpose([2, 0, 3, 1, 4])
    q, k, v = qkv[0], qkv[1], qkv[2]
    w = self.softmax((q @ k.transpose([0, 1, 3, 2])) * 4**-0.5)
    return self.norm((w @ v).transpose([0, 2, 1, 3]).reshape([b, t, 8]) + x)


def _attention_parts(self, p):
    self.qkv, self.norm = p.nn.Linear(8, 24), p.nn.LayerNorm(8)
    self.softmax = p.nn.Softmax(-1)


layer("layer_attention", _attention, [f(2, 5, 8)], {"x": (0, 1)}, make=_attention_parts)


def _shift(self, x):
    """Windows of a picture, rolled, as in shifted-window networks."""
    b, h, w, c = x.shape
    y = self.roll(x, [-1, -1], [1, 2]).reshape([b, h // 2, 2, w // 2, 2, c]).transpose([0, 1, 3, 2, 4, 5])
    y = y.reshape([-1, 4, c])
    y = y + y.mean(1, keepdim=True)
    y = y.reshape([-1, h // 2, w // 2, 2, 2, c]).transpose([0, 1, 3, 2, 4, 5]).reshape([b, h, w, c])
    return self.roll(y, [1, 1], [1, 2])


def _roll(self, p):
    self.roll = p.roll


layer("layer_windows", _shift, [f(2, 4, 6, 3)], {"x": (0,)}, make=_roll)


def _unpool(self, x):
    y, where = self.pool(x, 2, return_mask=True)
    return self.unpool(y, where, 2, output_size=[x.shape[2], x.shape[3]])


def _pools(self, p):
    self.pool, self.unpool = p.nn.functional.max_pool2d, p.nn.functional.max_unpool2d


layer("layer_unpool", _unpool, [f(1, 2, 5, 7)], {"x": (0, 2, 3)}, make=_pools)


# ---- networks ----


def mobile(p, raw, x):
    n = p.nn
    y = n.Conv2D(3, 8, 3, 2, 1, bias_attr=False)(x)
    y = n.functional.hardswish(n.BatchNorm2D(8)(y))
    z = n.Conv2D(8, 8, 3, 1, 1, groups=8)(y)
    s = n.functional.hardsigmoid(n.Conv2D(8, 8, 1)(n.AdaptiveAvgPool2D(1)(z)), slope=0.2)
    y = n.functional.relu6(y + z * s)
    y = n.functional.max_pool2d(y, 3, 2, 1)
    y = p.flatten(n.functional.adaptive_avg_pool2d(y, 1), 1)
    return n.functional.softmax(n.Linear(8, 5)(y))


case("net_mobile", mobile, [f(2, 3, 32, 32)], {"x": (0, 2, 3)})


def segmentation(p, raw, x):
    n, fn = p.nn, p.nn.functional
    a = fn.relu(n.BatchNorm2D(6)(n.Conv2D(3, 6, 3, 2, 1)(x)))
    b = fn.leaky_relu(n.Conv2D(6, 6, 3, 1, 2, dilation=2)(a))
    c = fn.interpolate(fn.adaptive_avg_pool2d(b, 1), p.shape(b)[2:], mode="bilinear", align_corners=True)
    y = p.concat([a, b, c], 1)
    y = n.Conv2DTranspose(18, 4, 2, 2)(y)
    y = fn.interpolate(y, p.shape(x)[2:], mode="bilinear")
    return [p.argmax(y, 1, dtype="int32"), fn.softmax(y, 1)]


case("net_segmentation", segmentation, [f(1, 3, 24, 20)], {"x": (0, 2, 3)})


def encoder(p, raw, ids, types):
    n = p.nn
    mask = p.unsqueeze((ids == 0).astype("float32") * -1e4, [1, 2])
    position = p.cumsum(p.ones_like(ids), axis=1) - p.ones_like(ids)
    y = n.Embedding(20, 8)(ids) + n.Embedding(16, 8)(position) + n.Embedding(2, 8)(types)
    y = n.LayerNorm(8)(y)
    layer = n.TransformerEncoderLayer(8, 2, 16, 0.0, activation="gelu")
    layer.eval()
    y = n.TransformerEncoder(layer, 1)(y, mask)
    pooled = p.tanh(n.Linear(8, 8)(y[:, 0]))
    return [y, n.Linear(8, 3)(pooled)]


case(
    "net_encoder", encoder, {"ids": i(2, 6, low=0, high=20), "types": i(2, 6, high=2)}, {"ids": (0, 1), "types": (0, 1)}
)


def head(p, raw, x):
    n = p.nn
    y = n.Conv2D(4, 6, 3, padding=1)(x)
    y = p.transpose(y, [0, 2, 3, 1])
    y = p.reshape(y, [p.shape(x)[0], -1, 3])
    scores = n.functional.sigmoid(y)
    top, where = p.topk(p.max(scores, -1), 5)
    boxes = p.gather_nd(scores, p.stack([p.zeros_like(where), where], -1))
    return [top, boxes, p.nonzero(top[0] > 0.6)]


case("net_head", head, [f(1, 4, 6, 6)], {"x": (0, 2, 3)})


def text(p, raw, x):
    n = p.nn
    y = n.functional.relu(n.Conv2D(3, 6, 3, padding=1)(x))
    y = n.functional.avg_pool2d(y, [8, 1])
    y = p.transpose(p.squeeze(y, 2), [0, 2, 1])
    cell = n.LSTM(6, 4, 1, direction="bidirect")
    cell.eval()
    y, _ = cell(y)
    return n.functional.softmax(n.Linear(8, 7)(y), -1)


case("net_text", text, [f(2, 3, 8, 12)], {"x": (0, 3)})
