"""Operators that inference passes put in place of several."""

from __future__ import annotations

import paddle
from paddle.nn import functional as F

from .activation import fused_activation
from .call import translates
from .math import product
from .vision import layer_normalized


def dense(x, w, bias, axes: int, activation: str, padded: bool = False):
    out = product(x, w[:-4, :-4] if padded else w, axes)
    return fused_activation(activation, out if bias is None else out + bias.reshape([-1]))


@translates("fc")
def fc(op):
    return dense(
        op["Input"], op["W"], op.get("Bias"), op.attr("in_num_col_dims", 1), op.attr("activation_type", ""),
        bool(op.attr("padding_weights", False)),
    )  # fmt: skip


@translates("fused_fc_elementwise_layernorm")
def fused_fc_elementwise_layernorm(op):
    out = dense(op["X"], op["W"], op.get("Bias0"), op.attr("x_num_col_dims", 1), op.attr("activation_type", ""))
    return layer_normalized(
        out + op["Y"], op.get("Scale"), op.get("Bias1"), op.attr("begin_norm_axis", 1), op.attr("epsilon", 1e-5)
    )


@translates("skip_layernorm")
def skip_layernorm(op):
    x = op["X"] + op["Y"]
    return layer_normalized(x, op["Scale"], op["Bias"], len(x.shape) - 1, op.attr("epsilon", 1e-5))


@translates("fused_embedding_eltwise_layernorm")
def fused_embedding_eltwise_layernorm(op):
    total = None
    for ids, table in zip(op.list("Ids"), op.list("Embs")):
        ids = paddle.squeeze(ids, -1) if len(ids.shape) == 3 else ids
        found = F.embedding(ids, table)
        total = found if total is None else total + found
    return layer_normalized(total, op["Scale"], op["Bias"], 2, op.attr("epsilon", 1e-5))


@translates("multihead_matmul")
def multihead_matmul(op):
    """Attention of x with itself: one matrix [size, 3, size] for queries, keys and values."""
    x, w, heads = op["Input"], op["W"], op.attr("head_number", 1)
    size = x.shape[2]
    w = w.reshape([size, 3 * size])
    qkv = paddle.matmul(x, w) + op["Bias"].reshape([-1])
    q, k, v = paddle.unbind(qkv.reshape([0, 0, 3, heads, size // heads]).transpose([2, 0, 3, 1, 4]))
    scores = paddle.matmul(q, k, transpose_y=True) * op.attr("alpha", 1.0)
    if op.has("BiasQK"):
        scores = scores + op["BiasQK"]
    out = paddle.matmul(F.softmax(scores, -1), v)
    return out.transpose([0, 2, 1, 3]).reshape([0, 0, size])


@translates("fused_softmax_mask")
def fused_softmax_mask(op):
    return F.softmax(op["X"] + op["Mask"], -1)


@translates("fused_softmax_mask_upper_triangle")
def fused_softmax_mask_upper_triangle(op):
    x = op["X"]
    hidden = paddle.triu(paddle.ones_like(x), 1) > 0
    return F.softmax(paddle.where(hidden, paddle.full_like(x, -1e4 if x.dtype == paddle.float16 else -1e9), x), -1)


@translates("fusion_repeated_fc_relu")
def fusion_repeated_fc_relu(op):
    x = op["X"]
    for w, bias in zip(op.list("W"), op.list("Bias")):
        x = dense(x, w, bias, 1, "relu")
    return x


@translates("fusion_squared_mat_sub")
def fusion_squared_mat_sub(op):
    """((x y)^2 - x^2 y^2) * scalar."""
    x, y = op["X"], op["Y"]
    return (paddle.square(paddle.matmul(x, y)) - paddle.matmul(x * x, y * y)) * op.attr("scalar", 1.0)


@translates("fusion_transpose_flatten_concat")
def fusion_transpose_flatten_concat(op):
    parts = []
    for x in op.list("X"):
        x = x.transpose(op.attr("trans_axis"))
        rows = 1
        for n in x.shape[: op.attr("flatten_axis")]:
            rows = rows * n
        parts.append(x.reshape([rows, -1]))
    return paddle.concat(parts, op.attr("concat_axis"))


@translates("fused_gemm_epilogue")
def fused_gemm_epilogue(op):
    x, y = op["X"], op["Y"]
    if op.attr("trans_x", False) and len(x.shape) > 2:
        raise NotImplementedError("fused_gemm_epilogue: trans_x of more than two axes")
    out = paddle.matmul(x, y, bool(op.attr("trans_x", False)), bool(op.attr("trans_y", False))) + op["Bias"]
    name = op.attr("activation", "none")
    return fused_activation("" if name == "none" else name, out)


@translates("fused_dropout_add")
def fused_dropout_add(op):
    x, p = op["x"], op.attr("p", 0.5)
    return {
        "out": F.dropout(x, p, training=not op.attr("is_test", True), mode=op.attr("mode", "upscale_in_train"))
        + op["y"]
    }
