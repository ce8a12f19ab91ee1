"""Small programs, one or two operators each, in terms of the public functions: the fixtures of the official package are made
from them, and the writer is checked with them. A case is (name, function of the package and the inputs, *inputs).

Inputs are written as "type shape [range]": "f 2,3" are normal float32 numbers, "f 2,3 0.1:0.9" uniform ones, "i 4 0:5"
int64 in [0, 5), "h" int32, "b" bool, "d" float64, "c" complex64. A length written "?3" is 3 when run and unknown to the
program.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def describe(text: str) -> tuple[list[int], list[int], str, list[str]]:
    """(shape, shape with -1 where unknown, letter of the type, bounds)."""
    parts = text.split()
    lengths = [n for n in (parts[1] if len(parts) > 1 else "").split(",") if n and n != "-"]
    shape = [int(n.lstrip("?")) for n in lengths]
    return (
        shape,
        [-1 if n[0] == "?" else int(n) for n in lengths],
        parts[0],
        parts[2].split(":") if len(parts) > 2 else [],
    )


DTYPES = {"f": "float32", "d": "float64", "i": "int64", "h": "int32", "b": "bool", "c": "complex64"}


def make(text: str, seed: int) -> np.ndarray:
    shape, _, letter, bounds = describe(text)
    r = np.random.default_rng(seed)
    if letter == "b":
        return r.random(shape) < 0.5
    if letter in "ih":
        low, high = map(int, bounds or (0, 10))
        return r.integers(low, high, shape).astype(DTYPES[letter])
    if letter == "c":
        return (r.normal(size=shape) + 1j * r.normal(size=shape)).astype(DTYPES[letter])
    if bounds:
        return r.uniform(*map(float, bounds), shape).astype(DTYPES[letter])
    return r.normal(size=shape).astype(DTYPES[letter])


def functional(name: str, **attributes: Any):
    return lambda P, *xs: getattr(P.nn.functional, name)(*xs, **attributes)


def top(name: str, **attributes: Any):
    return lambda P, *xs: getattr(P, name)(*xs, **attributes)


def setitem(x: Any, index: Any, value: Any) -> Any:
    x[index] = value
    return x


CASES: list[tuple] = []


def case(name: str, function: Any, *inputs: str) -> None:
    CASES.append((name, function, *inputs))


# ---- elementwise ----
for _n in """abs ceil cos cosh erf exp expm1 floor round sign sin sinh square tan tanh atan asinh digamma lgamma
        isfinite isinf isnan i0 i1 i0e i1e trunc neg angle stanh deg2rad rad2deg frac sinc signbit""".split():
    case(_n, top(_n), "f ?2,3")
for _n, _range in dict(
    acos="-0.9:0.9", asin="-0.9:0.9", atanh="-0.9:0.9", erfinv="-0.9:0.9", acosh="1.1:3", log="0.1:3", log2="0.1:3",
    log10="0.1:3", log1p="0.1:3", sqrt="0.1:3", rsqrt="0.1:3", reciprocal="0.5:3", logit="0.1:0.9", gammaln="0.5:3",
).items():  # fmt: skip
    case(_n, top(_n), f"f ?2,3 {_range}")
for (
    _n
) in """relu relu6 sigmoid silu softsign tanhshrink log_sigmoid mish swish hardswish hardsigmoid hardtanh hardshrink
        softshrink elu selu celu gelu leaky_relu softplus thresholded_relu""".split():
    case(_n, functional(_n), "f ?2,3")
case("gelu_tanh", functional("gelu", approximate=True), "f ?2,3")
case("leaky_relu_slope", functional("leaky_relu", negative_slope=0.3), "f ?2,3")
case("softplus_beta", functional("softplus", beta=2.0, threshold=1.0), "f ?2,3")
case("relu_inplace", lambda P, x: P.nn.functional.relu_(x + 1), "f ?2,3")
for _n in "add subtract multiply divide maximum minimum fmax fmin atan2 remainder floor_divide pow heaviside".split():
    case(_n, top(_n), "f ?2,3 0.5:3", "f 3 0.5:3")
for _n in "equal not_equal less_than less_equal greater_than greater_equal".split():
    case(_n, top(_n), "i ?2,3 0:3", "i 3 0:3")
for _n in "bitwise_and bitwise_or bitwise_xor floor_divide remainder bitwise_left_shift bitwise_right_shift".split():
    case(_n + "_int", top(_n), "i 2,3 1:5", "i 3 1:5")
for _n in "logical_and logical_or logical_xor".split():
    case(_n, top(_n), "b ?2,3", "b 3")
case("logical_not", top("logical_not"), "b 2,3")
case("bitwise_not", top("bitwise_not"), "i 2,3")
case("nextafter", top("nextafter"), "f 2,3", "f 2,3")
case("copysign", top("copysign"), "f 2,3", "f 2,3")
case("lerp", lambda P, x, y: P.lerp(x, y, 0.3), "f 2,3", "f 2,3")
case("scale", top("scale", scale=2.5, bias=1.0, bias_after_scale=False), "f ?2,3")
case("numbers", lambda P, x: 3.0 - (x * 2.0 + 1.0) / 4.0, "f ?2,3")
case("numbers_power", lambda P, x: 2.0 / (x**2 + 1.5) + x**0.5, "f ?2,3 0.1:2")
case("numbers_int", lambda P, x: (x * 2 + 1) // 3 + x % 4, "i ?2,3")
case("numbers_compare", lambda P, x: P.where(x > 0.5, x, -x), "f ?2,3")
case("clip", top("clip", min=-0.5, max=0.4), "f ?2,3")
case("cast", lambda P, x: (x.astype("int32"), x.astype("float64"), x.astype("bool")), "f ?2,3")
case("cast_half", lambda P, x: (x.astype("float16") * 2).astype("float32"), "f ?2,3")
case("cast_bfloat16", lambda P, x: (x.astype("bfloat16") * 2).astype("float32"), "f ?2,3")
case("where", top("where"), "b 2,3", "f 2,3", "f 2,3")
case("isclose", top("isclose"), "f 2,3", "f 2,3")
case("allclose", top("allclose"), "f 2,3", "f 2,3")
case("equal_all", top("equal_all"), "f 2,3", "f 2,3")
case("add_n", lambda P, x, y: P.add_n([x, y, x]), "f ?2,3", "f ?2,3")
case("complex", lambda P, x, y: P.complex(x, y), "f 2,3", "f 2,3")
case("complex_parts", lambda P, x: (x.real(), x.imag(), x.conj(), x.abs()), "c 2,3")
case("as_complex", lambda P, x: P.as_real(P.as_complex(x)), "f 3,2")
case("prelu", lambda P, x, w: P.nn.functional.prelu(x, w), "f 2,3,4", "f 3")
case("rrelu", functional("rrelu", training=False), "f 2,3")
case("maxout", functional("maxout", groups=2), "f 2,4,3,3")
case("glu", functional("glu"), "f ?2,4")
case("nan_to_num", top("nan_to_num"), "f 2,3")
case("polygamma", top("polygamma", n=1), "f 2,3 0.5:3")
case("gammaincc", top("gammaincc"), "f 2,3 0.5:3", "f 2,3 0.5:3")
case("hypot", top("hypot"), "f 2,3", "f 2,3")
case("logaddexp", top("logaddexp"), "f 2,3", "f 2,3")
case("gcd", top("gcd"), "i 2,3 1:20", "i 2,3 1:20")

# ---- reductions ----
for _n in "sum mean max min prod amax amin logsumexp nansum std var nanmean".split():
    case(_n, top(_n), "f ?2,3,4")
    case(_n + "_axis", top(_n, axis=1, keepdim=True), "f ?2,3,4")
for _n in "sum mean max min amax amin logsumexp std var".split():
    case(_n + "_axes", top(_n, axis=[0, -1]), "f 2,3,4")
case("std_biased", top("std", unbiased=False, axis=1), "f 2,5")
case("var_biased", top("var", unbiased=False), "f 2,5")
case("sum_int", top("sum", axis=0), "h 2,3")
case("sum_bool", top("sum"), "b 2,3")
for _n in "all any".split():
    case(_n, top(_n), "b 2,3")
    case(_n + "_axis", top(_n, axis=-1), "b ?2,3")
for _n in "argmax argmin".split():
    case(_n, top(_n), "f 2,3")
    case(_n + "_axis", top(_n, axis=-1, keepdim=True, dtype="int32"), "f ?2,3")
case("cumsum", top("cumsum", axis=1), "f ?2,3")
case("cumsum_flat", top("cumsum"), "f 2,3")
case("cumprod", top("cumprod", dim=1), "f ?2,3")
case("cummax", top("cummax", axis=1), "f 2,3")
case("cummin", top("cummin", axis=1), "f 2,3")
case("logcumsumexp", top("logcumsumexp", axis=1), "f 2,3")
case("median", top("median", axis=1), "f 2,5")
case("nanmedian", top("nanmedian", axis=1), "f 2,5")
case("mode", top("mode", axis=1), "i 2,5 0:3")
case("kthvalue", top("kthvalue", k=2, axis=1), "f 2,5")
case("norm_fro", lambda P, x: P.linalg.norm(x), "f 2,3")
case("norm_2", lambda P, x: P.linalg.norm(x, p=2, axis=1), "f ?2,3")
case("norm_1_keep", lambda P, x: P.linalg.norm(x, p=1, axis=1, keepdim=True), "f ?2,3")
case("norm_inf", lambda P, x: P.linalg.norm(x, p=float("inf")), "f 2,3")
case("norm_matrix", lambda P, x: P.linalg.norm(x, p="fro", axis=[0, 1]), "f 2,3")
case("dist", top("dist", p=2), "f 2,3", "f 2,3")
case("count_nonzero", top("count_nonzero", axis=1), "i 2,3 0:2")
case("trace", top("trace"), "f 3,4")
case("squared_difference", lambda P, x, y: P.nn.functional.square_error_cost(x, y), "f 2,3", "f 2,3")

# ---- shapes ----
case("reshape", top("reshape", shape=[-1, 6]), "f ?2,3,4")
case("reshape_zero", top("reshape", shape=[0, 12]), "f ?2,3,4")
case("reshape_by_shape", lambda P, x: P.reshape(x, [P.shape(x)[0], -1]), "f ?2,3,4")
case("reshape_by_length", lambda P, x: P.reshape(x, [x.shape[0] * 3, 4]), "f ?2,3,4")
case("reshape_by_several", lambda P, x: P.reshape(x, [P.shape(x)[1], P.shape(x)[0] * 4]), "f ?2,?3,4")
case("shape", lambda P, x: P.shape(x), "f ?2,3,4")
case("numel", top("numel"), "f ?2,3,4")
case("transpose", top("transpose", perm=[0, 2, 1]), "f ?2,3,4")
case("t", top("t"), "f 2,3")
case("moveaxis", top("moveaxis", source=0, destination=2), "f 2,3,4")
case("flatten", top("flatten"), "f ?2,3,4")
case("flatten_part", top("flatten", start_axis=1), "f ?2,3,4")
case("squeeze", top("squeeze", axis=1), "f ?2,1,4")
case("squeeze_all", top("squeeze"), "f 2,1,4,1")
case("unsqueeze", top("unsqueeze", axis=[0, 2]), "f ?2,4")
case("expand", top("expand", shape=[3, -1, 4]), "f 2,1")
case("expand_as", lambda P, x, y: P.expand_as(x, y), "f 1,3", "f ?2,3")
case("broadcast_to", top("broadcast_to", shape=[2, 3]), "f 3")
case("broadcast_tensors", lambda P, x, y: P.broadcast_tensors([x, y]), "f 1,3", "f 2,1")
case("tile", top("tile", repeat_times=[2, 1, 3]), "f ?2,3")
case("concat", lambda P, x, y: P.concat([x, y], axis=1), "f ?2,3", "f ?2,4")
case("stack", lambda P, x, y: P.stack([x, y], axis=1), "f ?2,3", "f ?2,3")
case("unstack", lambda P, x: P.unstack(x, axis=1), "f ?2,3")
case("unbind", lambda P, x: P.unbind(x, axis=1), "f ?2,3")
case("split", lambda P, x: P.split(x, 2, axis=1), "f ?2,4")
case("split_sections", lambda P, x: P.split(x, [1, -1, 2], axis=1), "f ?2,6")
case("chunk", lambda P, x: P.chunk(x, 2, axis=1), "f ?2,4")
case("flip", top("flip", axis=[1]), "f ?2,3")
case("roll", top("roll", shifts=1, axis=1), "f ?2,3")
case("roll_flat", top("roll", shifts=2), "f 2,3")
case("rot90", top("rot90"), "f 2,3")
case("tril", top("tril", diagonal=-1), "f 3,4")
case("triu", top("triu", diagonal=1), "f 3,4")
case("diag", top("diag", offset=1), "f 3")
case("diagonal", top("diagonal", axis1=1, axis2=2), "f 2,3,3")
case("diag_embed", top("diag_embed"), "f 2,3")
case("kron", top("kron"), "f 2,2", "f 2,3")
case("meshgrid", lambda P, x, y: P.meshgrid(x, y), "f 2", "f 3")
case(
    "pad_constant",
    functional("pad", pad=[1, 2], value=0.5),
    "f 2,3,4",
)
case("pad2d", functional("pad", pad=[1, 2, 0, 1], mode="constant", value=1.0), "f ?2,3,4,4")
case("pad2d_reflect", functional("pad", pad=[1, 2, 0, 1], mode="reflect"), "f ?2,3,4,4")
case("pad2d_replicate", functional("pad", pad=[1, 2, 0, 1], mode="replicate"), "f ?2,3,4,4")
case("pad_full", functional("pad", pad=[0, 1, 1, 0, 2, 0]), "f 2,3,4")
case("zeropad2d", functional("zeropad2d", padding=[1, 0, 2, 1]), "f 2,3,4,4")
case("repeat_interleave", top("repeat_interleave", repeats=2, axis=1), "f ?2,3")
case("as_strided", top("as_strided", shape=[2, 2], stride=[3, 1]), "f 6")
case("view", lambda P, x: P.view(x, [3, 2]), "f 2,3")
case("unfold_tensor", lambda P, x: x.unfold(0, 2, 1), "f 5")
case("crop", top("crop", shape=[1, 2], offsets=[1, 1]), "f 3,4")
case("slice_op", top("slice", axes=[0, 2], starts=[0, 1], ends=[1, 3]), "f 2,3,4")
case("strided_slice_op", top("strided_slice", axes=[1], starts=[3], ends=[0], strides=[-2]), "f 2,5")
case("atleast_2d", top("atleast_2d"), "f 3")
case("swapaxes", lambda P, x: x.swapaxes(0, 1), "f 2,3")
case("unflatten", top("unflatten", axis=1, shape=[2, -1]), "f ?2,6")

# ---- indexing ----
case("getitem_int", lambda P, x: x[1], "f 2,3,4")
case("getitem_slices", lambda P, x: x[:, 1:3], "f ?2,3,4")
case("getitem_mixed", lambda P, x: x[:, -1, ::2], "f ?2,3,4")
case("getitem_negative", lambda P, x: x[:, ::-1], "f ?2,3")
case("getitem_none", lambda P, x: x[:, None, :, 0], "f ?2,3,4")
case("getitem_ellipsis", lambda P, x: x[..., 0], "f ?2,3,4")
case("getitem_tensor", lambda P, x, i: x[i], "f 4,3", "i 2 0:4")
case("getitem_tensors", lambda P, x, i: x[i, 1:, i], "f 4,3,4", "i 2 0:4")
case("getitem_mask", lambda P, x: x[x > 0], "f 3,4")
case("getitem_length", lambda P, x, y: x[:, : y.shape[0]], "f ?2,5", "f ?3")
case("setitem", lambda P, x: setitem(P.assign(x), (slice(None), 1), 0.5), "f 2,3")
case(
    "setitem_tensor", lambda P, x, v: setitem(P.assign(x), (slice(1, None), slice(None, None, 2)), v), "f 4,5", "f 3,3"
)
case("gather", lambda P, x, i: P.gather(x, i, axis=1), "f ?2,5", "i 3 0:5")
case("gather_nd", top("gather_nd"), "f 3,4", "i 2,2 0:3")
case("index_select", lambda P, x, i: P.index_select(x, i, axis=1), "f ?2,5", "i 3 0:5")
case("index_sample", top("index_sample"), "f 2,5", "i 2,3 0:5")
case("take_along_axis", lambda P, x, i: P.take_along_axis(x, i, 1), "f 2,5", "i 2,3 0:5")
case("put_along_axis", lambda P, x, i, v: P.put_along_axis(x, i, v, 1), "f 2,5", "i 2,1 0:5", "f 2,1")
case("put_along_axis_add", lambda P, x, i, v: P.put_along_axis(x, i, v, 1, reduce="add"), "f 2,5", "i 2,1 0:5", "f 2,1")
case("scatter", lambda P, x, u: P.scatter(x, P.to_tensor([2, 0]), u), "f 4,3", "f 2,3")
case("scatter_add", lambda P, x, u: P.scatter(x, P.to_tensor([2, 0]), u, overwrite=False), "f 4,3", "f 2,3")
case("scatter_nd_add", top("scatter_nd_add"), "f 4,3", "i 2,1 0:4", "f 2,3")
case("index_add", lambda P, x, v: P.index_add(x, P.to_tensor([0, 2]), 0, v), "f 4,3", "f 2,3")
case("index_put", lambda P, x, v: P.index_put(x, (P.to_tensor([0, 2]),), v), "f 4,3", "f 2,3")
case("masked_fill", lambda P, x, m: P.masked_fill(x, m, 0.5), "f 2,3", "b 2,3")
case("masked_select", top("masked_select"), "f 2,3", "b 2,3")
case("nonzero", top("nonzero"), "i 3,4 0:2")
case("where_one", lambda P, m: P.where(m), "b 2,3")
case("unique", top("unique"), "i 8 0:4")
case("unique_full", top("unique", return_index=True, return_inverse=True, return_counts=True), "i 8 0:4")
case("unique_consecutive", top("unique_consecutive"), "i 8 0:2")
case("topk", lambda P, x: P.topk(x, 2, axis=1), "f ?2,5")
case("sort", top("sort", axis=1, descending=True), "f ?2,5")
case("argsort", top("argsort", axis=1), "f ?2,5")
case("searchsorted", lambda P, x: P.searchsorted(P.to_tensor([-1.0, 0.0, 1.0]), x), "f 2,3")
case("bincount", top("bincount"), "i 6 0:4")
case("histogram", top("histogram", bins=4, min=-2, max=2), "f 10")
case("one_hot", functional("one_hot", num_classes=5), "i ?4 0:5")
case("embedding", lambda P, i, w: P.nn.functional.embedding(i, w), "i ?2,3 0:5", "f 5,4")
case("embedding_padding", lambda P, i, w: P.nn.functional.embedding(i, w, padding_idx=1), "i ?2,3 0:5", "f 5,4")
case("multiplex", lambda P, x, y, i: P.multiplex([x, y], i), "f 3,4", "f 3,4", "h 3,1 0:2")
case("fill_diagonal", lambda P, x: (x * 1.0).fill_diagonal_(2.0), "f 3,3")
case("sequence_mask", functional("sequence_mask", maxlen=5), "i 3 1:5")
case("shard_index", top("shard_index", index_num=20, nshards=2, shard_id=0), "i 4,1 0:20")

# ---- creation ----
case("full_like", lambda P, x: (P.zeros_like(x), P.ones_like(x), P.full_like(x, 2.5)), "f ?2,3")
case("full", lambda P, x: x + P.full([2, 3], 1.5), "f 2,3")
case("full_by_length", lambda P, x: P.concat([x, P.zeros([x.shape[0], 2])], axis=1), "f ?2,3")
case("arange", lambda P, x: x + P.arange(3, dtype="float32"), "f 2,3")
case("arange_by_length", lambda P, x: x + P.arange(x.shape[0], dtype="float32").unsqueeze(1), "f ?2,3")
case("linspace", lambda P, x: x + P.linspace(0.0, 1.0, 3), "f 2,3")
case("logspace", lambda P, x: x + P.logspace(0.0, 1.0, 3), "f 2,3")
case("eye", lambda P, x: P.matmul(x, P.eye(3)), "f 2,3")
case("assign", lambda P, x: P.assign(x), "f ?2,3")
case("assign_value", lambda P, x: x + P.to_tensor([1.0, 2.0, 3.0]), "f 2,3")
case("assign_value_2d", lambda P, x: x + P.assign(np.arange(6, dtype="float32").reshape(2, 3)), "f 2,3")
case("tril_indices", lambda P, x: P.tril_indices(3, 3, 0) + x, "i 1")
case("empty_like", lambda P, x: P.empty_like(x) * 0 + x, "f 2,3")

# ---- linear algebra ----
case("matmul", top("matmul"), "f ?2,3", "f 3,4")
case("matmul_transposed", top("matmul", transpose_x=True, transpose_y=True), "f 3,2", "f 4,3")
case("matmul_batched", top("matmul"), "f ?2,5,3", "f ?2,3,4")
case("bmm", top("bmm"), "f 2,3,4", "f 2,4,5")
case("mm", top("mm"), "f 2,3", "f 3,4")
case("mv", top("mv"), "f 2,3", "f 3")
case("dot", top("dot"), "f 2,3", "f 2,3")
case("outer", top("outer"), "f 2", "f 3")
case("inner", top("inner"), "f 2,3", "f 4,3")
case("addmm", top("addmm", beta=0.5, alpha=2.0), "f 2,4", "f 2,3", "f 3,4")
case("baddbmm", top("baddbmm", beta=0.5, alpha=2.0), "f 2,2,4", "f 2,2,3", "f 2,3,4")
case("cross", top("cross", axis=1), "f 2,3", "f 2,3")
case("einsum", lambda P, x, y: P.einsum("bij,bjk->bik", x, y), "f 2,3,4", "f 2,4,5")
case("tensordot", lambda P, x, y: P.tensordot(x, y, 1), "f 2,3", "f 3,4")
case("linear", functional("linear"), "f ?2,3", "f 3,4", "f 4")
case("bilinear", functional("bilinear"), "f 2,3", "f 2,4", "f 5,3,4", "f 1,5")
case("cholesky", lambda P, x: P.linalg.cholesky(P.matmul(x, x, transpose_y=True) + P.eye(3)), "f 3,3")
case("inverse", lambda P, x: P.linalg.inv(x + 3 * P.eye(3)), "f 3,3")
case("det", lambda P, x: P.linalg.det(x), "f 3,3")
case("slogdet", lambda P, x: P.linalg.slogdet(x), "f 3,3")
case("matrix_power", lambda P, x: P.linalg.matrix_power(x, 3), "f 3,3")
case("solve", lambda P, x, y: P.linalg.solve(x + 3 * P.eye(3), y), "f 3,3", "f 3,2")
case("triangular_solve", lambda P, x, y: P.linalg.triangular_solve(x + 3 * P.eye(3), y, upper=False), "f 3,3", "f 3,2")
case("svd_values", lambda P, x: P.linalg.svd(x)[1], "f 3,4")
case("qr", lambda P, x: P.abs(P.linalg.qr(x)[1]), "f 4,3")
case("eigh", lambda P, x: P.linalg.eigh(x + x.t())[0], "f 3,3")
case("eigvalsh", lambda P, x: P.linalg.eigvalsh(x + x.t()), "f 3,3")
case("multi_dot", lambda P, x, y: P.linalg.multi_dot([x, y]), "f 2,3", "f 3,4")
case("cosine_similarity", functional("cosine_similarity"), "f ?2,3", "f ?2,3")
case("normalize", functional("normalize"), "f ?2,3")
case("pairwise_distance", functional("pairwise_distance"), "f 2,3", "f 2,3")
case("cdist", top("cdist"), "f 2,3", "f 4,3")

# ---- networks ----
case("softmax", functional("softmax", axis=1), "f ?2,3")
case("softmax_cast", functional("softmax", dtype="float64"), "f ?2,3")
case("log_softmax", functional("log_softmax"), "f ?2,3")
case("conv1d", functional("conv1d", padding=1), "f ?2,3,8", "f 4,3,3", "f 4")
case("conv2d", functional("conv2d", stride=2, padding=1), "f ?2,3,8,8", "f 4,3,3,3", "f 4")
case("conv2d_dilated", functional("conv2d", dilation=2, groups=2, padding="SAME"), "f ?2,4,8,8", "f 4,2,3,3")
case("conv2d_depthwise", functional("conv2d", groups=4, padding=[1, 2]), "f ?2,4,8,8", "f 4,1,3,3")
case("conv2d_asymmetric", functional("conv2d", padding=[1, 0, 2, 1]), "f ?2,3,8,8", "f 4,3,3,3")
case("conv2d_nhwc", functional("conv2d", data_format="NHWC"), "f ?2,8,8,3", "f 4,3,3,3", "f 4")
case("conv3d", functional("conv3d", padding=1), "f ?2,3,4,4,4", "f 4,3,3,3,3", "f 4")
case("conv1d_transpose", functional("conv1d_transpose", stride=2), "f ?2,3,8", "f 3,4,3", "f 4")
case("conv2d_transpose", functional("conv2d_transpose", stride=2, padding=1, output_padding=1), "f ?2,3,5,5", "f 3,4,3,3", "f 4")  # fmt: skip
case("conv2d_transpose_size", functional("conv2d_transpose", stride=2, output_size=[10, 10]), "f 2,3,4,4", "f 3,4,3,3")
case("conv2d_transpose_groups", functional("conv2d_transpose", stride=2, groups=4), "f ?2,4,5,5", "f 4,1,3,3")
case("conv3d_transpose", functional("conv3d_transpose", stride=2), "f ?2,3,3,3,3", "f 3,4,2,2,2", "f 4")
case("max_pool1d", functional("max_pool1d", kernel_size=2), "f ?2,3,8")
case("max_pool2d", functional("max_pool2d", kernel_size=3, stride=2, padding=1), "f ?2,3,8,8")
case("max_pool2d_ceil", functional("max_pool2d", kernel_size=3, stride=2, ceil_mode=True), "f ?2,3,8,8")
case("max_pool2d_mask", functional("max_pool2d", kernel_size=2, return_mask=True), "f ?2,3,8,8")
case("max_pool3d", functional("max_pool3d", kernel_size=2), "f ?2,3,4,4,4")
case("max_unpool2d", lambda P, x: P.nn.functional.max_unpool2d(*P.nn.functional.max_pool2d(x, 2, return_mask=True), 2), "f 2,3,8,8")  # fmt: skip
case("avg_pool1d", functional("avg_pool1d", kernel_size=2), "f ?2,3,8")
case("avg_pool2d", functional("avg_pool2d", kernel_size=3, stride=2, padding=1), "f ?2,3,8,8")
case("avg_pool2d_inclusive", functional("avg_pool2d", kernel_size=3, stride=2, padding=1, exclusive=False), "f ?2,3,8,8")  # fmt: skip
case("avg_pool2d_same", functional("avg_pool2d", kernel_size=3, stride=2, padding="SAME"), "f ?2,3,8,8")
case("avg_pool3d", functional("avg_pool3d", kernel_size=2), "f ?2,3,4,4,4")
case("adaptive_avg_pool1d", functional("adaptive_avg_pool1d", output_size=4), "f ?2,3,8")
case("adaptive_avg_pool2d", functional("adaptive_avg_pool2d", output_size=[1, 1]), "f ?2,3,8,8")
case("adaptive_avg_pool2d_uneven", functional("adaptive_avg_pool2d", output_size=[3, 5]), "f ?2,3,8,8")
case("adaptive_avg_pool3d", functional("adaptive_avg_pool3d", output_size=2), "f ?2,3,4,4,4")
case("adaptive_max_pool1d", functional("adaptive_max_pool1d", output_size=4), "f ?2,3,8")
case("adaptive_max_pool2d", functional("adaptive_max_pool2d", output_size=3), "f ?2,3,8,8")
case("adaptive_max_pool3d", functional("adaptive_max_pool3d", output_size=2), "f ?2,3,4,4,4")
case("lp_pool2d", functional("lp_pool2d", norm_type=2, kernel_size=2), "f ?2,3,8,8")
case("batch_norm", lambda P, x, m, v, w, b: P.nn.functional.batch_norm(x, m, v, w, b, training=False), "f ?2,3,4,4", "f 3", "f 3 0.5:2", "f 3", "f 3")  # fmt: skip
case("layer_norm", lambda P, x, w, b: P.nn.functional.layer_norm(x, [4], w, b), "f ?2,3,4", "f 4", "f 4")
case("layer_norm_plain", lambda P, x: P.nn.functional.layer_norm(x, [3, 4]), "f ?2,3,4")
case("instance_norm", lambda P, x, w, b: P.nn.functional.instance_norm(x, weight=w, bias=b), "f ?2,3,4,4", "f 3", "f 3")
case("group_norm", lambda P, x, w, b: P.nn.functional.group_norm(x, 2, weight=w, bias=b), "f ?2,4,3,3", "f 4", "f 4")
case("rms_norm", lambda P, x, w: P.incubate.nn.functional.fused_rms_norm(x, w, None, 1e-6, 1)[0], "f 2,4", "f 4")
case("local_response_norm", functional("local_response_norm", size=5), "f ?2,6,4,4")
case("dropout", functional("dropout", p=0.3, training=False), "f ?2,3")
case("dropout_downscale", functional("dropout", p=0.3, training=False, mode="downscale_in_infer"), "f ?2,3")
for _mode in "nearest bilinear bicubic area".split():
    case("interpolate_" + _mode, functional("interpolate", size=[7, 9], mode=_mode), "f ?2,3,4,5")
    if _mode != "area":
        case(f"interpolate_{_mode}_scale", functional("interpolate", scale_factor=[2.0, 2.0], mode=_mode), "f ?2,3,4,5")
case("interpolate_corners", functional("interpolate", size=[7, 9], mode="bilinear", align_corners=True), "f ?2,3,4,5")
case("interpolate_mode1", functional("interpolate", size=[7, 9], mode="bilinear", align_mode=1), "f ?2,3,4,5")
case("interpolate_linear", functional("interpolate", size=[7], mode="linear", data_format="NCW"), "f ?2,3,4")
case("interpolate_trilinear", functional("interpolate", size=[3, 5, 6], mode="trilinear", data_format="NCDHW"), "f 1,2,2,3,4")  # fmt: skip
case("interpolate_by_length", lambda P, x, y: P.nn.functional.interpolate(x, size=[P.shape(y)[2], P.shape(y)[3]], mode="bilinear"), "f 2,3,4,5", "f 2,3,?8,?9")  # fmt: skip
case("pixel_shuffle", functional("pixel_shuffle", upscale_factor=2), "f ?2,4,3,3")
case("pixel_unshuffle", functional("pixel_unshuffle", downscale_factor=2), "f ?2,1,4,4")
case("channel_shuffle", functional("channel_shuffle", groups=2), "f ?2,4,3,3")
case("temporal_shift", functional("temporal_shift", seg_num=2), "f 4,4,3,3")
case("unfold", functional("unfold", kernel_sizes=2), "f ?2,3,4,4")
case("fold", functional("fold", output_sizes=[4, 4], kernel_sizes=2, strides=2), "f 2,12,4")
case("grid_sample", functional("grid_sample"), "f 2,3,4,4", "f 2,5,5,2 -1:1")
case("affine_grid", functional("affine_grid", out_shape=[2, 3, 4, 4]), "f 2,2,3")
case("label_smooth", functional("label_smooth"), "f 2,3")
case("scaled_dot_product_attention", functional("scaled_dot_product_attention"), "f 2,5,2,4", "f 2,5,2,4", "f 2,5,2,4")
case("swiglu", lambda P, x: P.incubate.nn.functional.swiglu(x), "f 2,4")
case("fused_softmax_mask", lambda P, x, m: P.incubate.softmax_mask_fuse(x, m), "f 2,2,4,4", "f 2,1,4,4")

# ---- losses ----
case("cross_entropy", functional("cross_entropy", reduction="none"), "f ?4,5", "i ?4 0:5")
case("cross_entropy_mean", functional("cross_entropy"), "f ?4,5", "i ?4 0:5")
case("cross_entropy_soft", lambda P, x, y: P.nn.functional.cross_entropy(x, P.nn.functional.softmax(y), soft_label=True), "f 4,5", "f 4,5")  # fmt: skip
case("nll_loss", lambda P, x, y: P.nn.functional.nll_loss(P.nn.functional.log_softmax(x), y), "f 4,5", "i 4 0:5")
case("mse_loss", functional("mse_loss"), "f ?4,5", "f ?4,5")
case("l1_loss", functional("l1_loss"), "f 4,5", "f 4,5")
case("smooth_l1_loss", functional("smooth_l1_loss"), "f 4,5", "f 4,5")
case("bce_loss", functional("binary_cross_entropy"), "f 4,5 0.1:0.9", "f 4,5 0:1")
case("bce_logits", functional("binary_cross_entropy_with_logits"), "f 4,5", "f 4,5 0:1")
case("kl_div", functional("kl_div"), "f 4,5", "f 4,5 0.1:0.9")
case("log_loss", functional("log_loss"), "f 4,1 0.1:0.9", "f 4,1 0:1")
case("margin_ranking_loss", functional("margin_ranking_loss"), "f 4", "f 4", "f 4")

# ---- signals, detection ----
case("fft", lambda P, x: P.abs(P.fft.fft(P.complex(x, x))), "f 2,8")
case("rfft", lambda P, x: P.abs(P.fft.rfft(x)), "f 2,8")
case("irfft", lambda P, x: P.fft.irfft(P.complex(x, x)), "f 2,5")
case("frame", lambda P, x: P.signal.frame(x, 4, 2), "f 2,8")
case("overlap_add", lambda P, x: P.signal.overlap_add(x, 2), "f 4,3")
case("nms", lambda P, x: P.vision.ops.nms(P.concat([x, x + 1.0], axis=1), 0.3), "f 4,2 0:3")
case("roi_align", lambda P, x: P.vision.ops.roi_align(x, P.to_tensor([[0.0, 0.0, 3.0, 3.0]]), P.to_tensor([1], dtype="int32"), 2), "f 1,3,6,6")  # fmt: skip
case("roi_pool", lambda P, x: P.vision.ops.roi_pool(x, P.to_tensor([[0.0, 0.0, 3.0, 3.0]]), P.to_tensor([1], dtype="int32"), 2), "f 1,3,6,6")  # fmt: skip
case("psroi_pool", lambda P, x: P.vision.ops.psroi_pool(x, P.to_tensor([[0.0, 0.0, 3.0, 3.0]]), P.to_tensor([1], dtype="int32"), 2), "f 1,8,6,6")  # fmt: skip
case("deform_conv2d", lambda P, x, o, w, m: P.vision.ops.deform_conv2d(x, o, w, mask=m), "f 1,3,6,6", "f 1,18,4,4", "f 4,3,3,3", "f 1,9,4,4 0:1")  # fmt: skip
case("yolo_box", lambda P, x: P.vision.ops.yolo_box(x, P.to_tensor([[32, 32]], dtype="int32"), [10, 13, 16, 30], 2, 0.01, 8), "f 1,14,4,4")  # fmt: skip
case("box_coder", lambda P, x: P.vision.ops.box_coder(P.concat([x, x + 1.5], 1), [0.1, 0.1, 0.2, 0.2], P.concat([x, x + 1.0], 1)), "f 4,2 0:3")  # fmt: skip
case(
    "prior_box",
    lambda P, x, y: P.vision.ops.prior_box(x, y, [2.0, 4.0], [5.0, 9.0], [1.0, 2.0]),
    "f 1,3,3,3",
    "f 1,3,9,9",
)
case("accuracy", lambda P, x, y: P.static.accuracy(x, y), "f 4,5", "i 4,1 0:5")

# ---- recurrent: layers with parameters ----
case(
    "send_u_recv",
    lambda P, x: P.geometric.send_u_recv(x, P.to_tensor([0, 1, 2]), P.to_tensor([1, 2, 1]), "sum"),
    "f 4,3",
)
case("segment_sum", lambda P, x: P.geometric.segment_sum(x, P.to_tensor([0, 0, 1])), "f 3,4")

# ---- control flow ----
case("cond", lambda P, x: P.static.nn.cond(P.sum(x) > 0, lambda: x * 2.0, lambda: x - 1.0), "f ?2,3")
case("cond_two", lambda P, x: P.static.nn.cond(P.sum(x) > 100, lambda: (x * 2.0, x + 1.0), lambda: (x - 1.0, x)), "f ?2,3")  # fmt: skip
case("while_loop", lambda P, x: P.static.nn.while_loop(lambda i, y: i < 3, lambda i, y: [i + 1, y * 1.5], [P.full([], 0, "int64"), x]), "f ?2,3")  # fmt: skip

# ---- rarer ones ----
case("gather_tree", functional("gather_tree"), "i 3,2,2 0:5", "i 3,2,2 0:2")
case("stft", lambda P, x: P.abs(P.signal.stft(x, 8, 4, center=False)), "f 2,32")
case("lu", lambda P, x: P.linalg.lu(x + 3 * P.eye(3)), "f 3,3")
case("lstsq", lambda P, x, y: P.linalg.lstsq(x, y)[0], "f 4,3", "f 4,2")
case("matrix_rank", lambda P, x: P.linalg.matrix_rank(x), "f 3,4")
case("pinv", lambda P, x: P.linalg.pinv(x), "f 3,4")
case("cholesky_solve", lambda P, x, y: P.linalg.cholesky_solve(y, P.tril(x) + 2 * P.eye(3)), "f 3,3", "f 3,2")
case("eigvals", lambda P, x: P.sort(P.abs(P.linalg.eigvals(x))), "f 3,3")
case("svdvals", lambda P, x: P.linalg.svdvals(x), "f 3,4")
case("cov", lambda P, x: P.linalg.cov(x), "f 3,5")
case("corrcoef", lambda P, x: P.linalg.corrcoef(x), "f 3,5")
case("vecdot", lambda P, x, y: P.linalg.vecdot(x, y), "f 2,3", "f 2,3")
case("householder_product", lambda P, x, y: P.linalg.householder_product(x, y), "f 4,3", "f 3")
case("ctc_loss", lambda P, x, y: P.nn.functional.ctc_loss(x, y, P.full([2], 6, "int64"), P.full([2], 2, "int64"), reduction="none"), "f 6,2,5", "h 2,3 1:5")  # fmt: skip
case("fractional_max_pool2d", functional("fractional_max_pool2d", output_size=3, random_u=0.3), "f 2,3,8,8")
case("fill_diagonal_tensor", lambda P, x, y: x.fill_diagonal_tensor(y), "f 3,3", "f 3")
case("reduce_as", top("reduce_as"), "f 2,3,4", "f 3,1")
case("sgn", top("sgn"), "f 2,3")
case("isposinf", top("isposinf"), "f 2,3")
case("isneginf", top("isneginf"), "f 2,3")
case("isreal", top("isreal"), "f 2,3")
case("diff", top("diff"), "f 2,5")
case("trapezoid", top("trapezoid"), "f 2,5")
case("cumulative_trapezoid", top("cumulative_trapezoid"), "f 2,5")
case("vander", top("vander", n=3), "f 4")
case("quantile", top("quantile", q=0.4, axis=1), "f 2,5")
case("isin", top("isin"), "i 2,3 0:5", "i 3 0:5")
case("take", top("take"), "f 3,4", "i 5 0:12")
case("index_fill", lambda P, x, i: P.index_fill(x, i, 1, 0.5), "f 2,5", "i 2 0:5")
case("masked_scatter", top("masked_scatter"), "f 2,3", "b 2,3", "f 6")
case("select_scatter", lambda P, x, v: P.select_scatter(x, v, 1, 1), "f 2,3,4", "f 2,4")
case(
    "slice_scatter",
    lambda P, x, v: P.slice_scatter(x, v, axes=[1], starts=[0], ends=[4], strides=[2]),
    "f 2,5",
    "f 2,2",
)
case("diagonal_scatter", lambda P, x, v: P.diagonal_scatter(x, v), "f 3,3", "f 3")
case("renorm", top("renorm", p=2.0, axis=0, max_norm=1.0), "f 2,3")
case("ldexp", top("ldexp"), "f 2,3", "h 2,3 0:3")
case("lcm", top("lcm"), "i 2,3 1:9", "i 2,3 1:9")
case("gammainc", top("gammainc"), "f 2,3 0.5:3", "f 2,3 0.5:3")
case("multigammaln", top("multigammaln", p=2), "f 2,3 2:4")
case("polar", top("polar"), "f 2,3 0.1:2", "f 2,3")
case("nanquantile", top("nanquantile", q=0.5, axis=1), "f 2,5")
case("bucketize", lambda P, x: P.bucketize(x, P.to_tensor([-1.0, 0.0, 1.0])), "f 2,3")
case("block_diag", lambda P, x, y: P.block_diag([x, y]), "f 2,2", "f 1,3")
case("cartesian_prod", lambda P, x, y: P.cartesian_prod([x, y]), "f 2", "f 3")
case("combinations", lambda P, x: P.combinations(x, 2), "f 4")
case("pdist", top("pdist"), "f 4,3")
case("hsplit", lambda P, x: P.hsplit(x, 2), "f 2,4")
case("dsplit", lambda P, x: P.dsplit(x, 2), "f 2,3,4")
case("tensor_split", lambda P, x: P.tensor_split(x, 3, axis=1), "f 2,7")
case("hstack", lambda P, x, y: P.hstack([x, y]), "f 2,3", "f 2,3")
case("rot90_twice", top("rot90", k=2, axes=[1, 2]), "f 2,3,4")
case("nll_loss_2d", lambda P, x, y: P.nn.functional.nll_loss(P.nn.functional.log_softmax(x, 1), y), "f 2,5,3,3", "i 2,3,3 0:5")  # fmt: skip
case("cross_entropy_weight", lambda P, x, y, w: P.nn.functional.cross_entropy(x, y, weight=w), "f 4,5", "i 4 0:5", "f 5 0.5:2")  # fmt: skip
case("cross_entropy_smooth", functional("cross_entropy", label_smoothing=0.1), "f 4,5", "i 4 0:5")
case("cross_entropy_2d", functional("cross_entropy", axis=1), "f 2,5,3", "i 2,3 0:5")
case("sigmoid_focal_loss", functional("sigmoid_focal_loss"), "f 4,5", "f 4,5 0:1")
case("dice_loss", lambda P, x, y: P.nn.functional.dice_loss(P.nn.functional.softmax(x), y), "f 2,3,4", "i 2,3,1 0:4")
case("soft_margin_loss", functional("soft_margin_loss"), "f 4,5", "f 4,5")
case("hinge_embedding_loss", lambda P, x, y: P.nn.functional.hinge_embedding_loss(x, P.sign(y)), "f 4,5", "f 4,5")
case(
    "cosine_embedding_loss", lambda P, x, y: P.nn.functional.cosine_embedding_loss(x, y, P.ones([4])), "f 4,5", "f 4,5"
)
case("triplet_margin_loss", functional("triplet_margin_loss"), "f 4,5", "f 4,5", "f 4,5")
case("triplet_margin_with_distance_loss", functional("triplet_margin_with_distance_loss"), "f 4,5", "f 4,5", "f 4,5")
case("poisson_nll_loss", functional("poisson_nll_loss"), "f 4,5", "f 4,5 0:3")
case("gaussian_nll_loss", functional("gaussian_nll_loss"), "f 4,5", "f 4,5", "f 4,5 0.5:2")
case("multi_label_soft_margin_loss", functional("multi_label_soft_margin_loss"), "f 4,5", "f 4,5 0:1")
case("multi_margin_loss", functional("multi_margin_loss"), "f 4,5", "i 4 0:5")
case("npair_loss", functional("npair_loss"), "f 4,5", "f 4,5", "i 4 0:2")
case(
    "attention_mask", lambda P, q, m: P.nn.functional.scaled_dot_product_attention(q, q, q, m), "f 2,5,2,4", "f 2,1,5,5"
)
case(
    "attention_causal", lambda P, q: P.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True), "f 2,5,2,4"
)
case("zeropad3d", lambda P, x: P.nn.ZeroPad3D(1)(x), "f 1,2,2,3,3")
case("pad1d_reflect", functional("pad", pad=[1, 2], mode="reflect", data_format="NCL"), "f 2,3,5")
case("pad3d_circular", functional("pad", pad=[1, 0, 1, 0, 1, 0], mode="circular", data_format="NCDHW"), "f 1,2,3,3,3")
case("upsample", lambda P, x: P.nn.Upsample(scale_factor=2, mode="nearest")(x), "f ?1,2,3,3")
case("softmax_2d", lambda P, x: P.nn.Softmax2D()(x), "f 1,2,3,3")
case("alpha_dropout", lambda P, x: P.nn.functional.alpha_dropout(x, training=False), "f 2,3")
case("unfold_padded", functional("unfold", kernel_sizes=[2, 3], strides=2, paddings=1), "f ?1,2,6,6")
case("clip_by_tensor", lambda P, x: P.clip(x, P.min(x) * 0.5, P.max(x) * 0.5), "f 2,3")
case("embedding_of_argmax", lambda P, x, w: P.nn.functional.embedding(P.argmax(x, axis=-1), w), "f ?2,3,5", "f 5,4")
case("shape_arithmetic", lambda P, x: P.arange(0, P.shape(x)[0] * 2, 1) + 1, "f ?3,2")
case("tile_by_length", lambda P, x, y: P.tile(y.unsqueeze(0), [P.shape(x)[0], 1]), "f ?3,2", "f 4")
case("expand_by_length", lambda P, x, y: P.expand(y, [P.shape(x)[0], 4]), "f ?3,2", "f 1,4")
case("full_by_shape", lambda P, x: P.full([P.shape(x)[0], 2], 1.5) + x, "f ?3,2")
case("slice_by_length", lambda P, x, y: x[:, : P.shape(y)[0]], "f 2,5", "f ?3")
case("topk_sorted", lambda P, x: P.topk(x, 3, largest=False), "f ?2,5")
case("unique_axis", lambda P, x: P.unique(x, axis=0), "i 6,2 0:2")
case("switch_case", lambda P, i, x: P.static.nn.switch_case(i, {1: lambda: x * 2.0, 3: lambda: x - 1.0}, lambda: x + 5.0), "h 1 3:4", "f ?2,3")  # fmt: skip
case(
    "case",
    lambda P, x: P.static.nn.case([(P.sum(x) > 100, lambda: x * 2.0), (P.sum(x) < 100, lambda: x - 1.0)]),
    "f ?2,3",
)
case("cond_nested", lambda P, x: P.static.nn.cond(P.sum(x) > 0, lambda: P.static.nn.cond(P.max(x) > 1, lambda: x * 2.0, lambda: x * 3.0), lambda: x - 1.0), "f ?2,3")  # fmt: skip
case("while_growing", lambda P, x: P.static.nn.while_loop(lambda n, y: P.sum(y) < 50, lambda n, y: [n + 1, y * 2.0 + 1.0], [P.full([1], 0, "int64"), P.abs(x)]), "f 2,3")  # fmt: skip
