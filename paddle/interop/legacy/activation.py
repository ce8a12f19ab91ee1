"""Activations."""

from __future__ import annotations

import paddle
from paddle.nn import functional as F

from .call import TRANSLATORS, number, translates

ELEMENTWISE = {
    "relu": F.relu,
    "sigmoid": F.sigmoid,
    "logsigmoid": F.log_sigmoid,
    "tanh": paddle.tanh,
    "tanh_shrink": F.tanhshrink,
    "softsign": F.softsign,
    "silu": F.silu,
    "erf": paddle.erf,
    "erfinv": paddle.erfinv,
    "exp": paddle.exp,
    "expm1": paddle.expm1,
    "log": paddle.log,
    "log2": paddle.log2,
    "log10": paddle.log10,
    "log1p": paddle.log1p,
    "sqrt": paddle.sqrt,
    "rsqrt": paddle.rsqrt,
    "square": paddle.square,
    "reciprocal": paddle.reciprocal,
    "abs": paddle.abs,
    "sign": paddle.sign,
    "ceil": paddle.ceil,
    "floor": paddle.floor,
    "trunc": paddle.trunc,
    "sin": paddle.sin,
    "cos": paddle.cos,
    "tan": paddle.tan,
    "asin": paddle.asin,
    "acos": paddle.acos,
    "atan": paddle.atan,
    "sinh": paddle.sinh,
    "cosh": paddle.cosh,
    "asinh": paddle.asinh,
    "acosh": paddle.acosh,
    "atanh": paddle.atanh,
    "lgamma": paddle.lgamma,
    "digamma": paddle.digamma,
    "real": paddle.real,
    "imag": paddle.imag,
    "conj": paddle.conj,
    "angle": paddle.angle,
    "logical_not": paddle.logical_not,
    "bitwise_not": paddle.bitwise_not,
    "isnan_v2": paddle.isnan,
    "isinf_v2": paddle.isinf,
    "isfinite_v2": paddle.isfinite,
}
for _kind, _function in ELEMENTWISE.items():
    TRANSLATORS[_kind] = lambda op, function=_function: function(op["X"])


@translates("relu6")
def relu6(op):
    return paddle.clip(op["X"], 0.0, op.attr("threshold", 6.0))


@translates("brelu")
def brelu(op):
    return paddle.clip(op["X"], op.attr("t_min", 0.0), op.attr("t_max", 24.0))


@translates("soft_relu")
def soft_relu(op):
    limit = op.attr("threshold", 40.0)
    return paddle.log1p(paddle.exp(paddle.clip(op["X"], -limit, limit)))


@translates("leaky_relu")
def leaky_relu(op):
    return F.leaky_relu(op["X"], op.attr("alpha", 0.02))


@translates("elu")
def elu(op):
    return F.elu(op["X"], op.attr("alpha", 1.0))


@translates("celu")
def celu(op):
    return F.celu(op["X"], op.attr("alpha", 1.0))


@translates("selu")
def selu(op):
    return F.selu(op["X"], op.attr("scale", 1.0507009873554805), op.attr("alpha", 1.6732632423543772))


@translates("gelu")
def gelu(op):
    return F.gelu(op["X"], bool(op.attr("approximate", False)))


@translates("hard_shrink")
def hard_shrink(op):
    return F.hardshrink(op["X"], op.attr("threshold", 0.5))


@translates("softshrink")
def softshrink(op):
    return F.softshrink(op["X"], op.attr("lambda", 0.5))


@translates("thresholded_relu")
def thresholded_relu(op):
    return F.thresholded_relu(op["X"], op.attr("threshold", 1.0), op.attr("value", 0.0))


@translates("hard_sigmoid")
def hard_sigmoid(op):
    return F.hardsigmoid(op["X"], op.attr("slope", 0.2), op.attr("offset", 0.5))


@translates("hard_swish")
def hard_swish(op):
    x, threshold, scale, offset = op["X"], op.attr("threshold", 6.0), op.attr("scale", 6.0), op.attr("offset", 3.0)
    if (threshold, scale, offset) == (6.0, 6.0, 3.0):
        return F.hardswish(x)
    return x * paddle.clip(x + offset, 0.0, threshold) / scale


@translates("swish")
def swish(op):
    x, beta = op["X"], op.attr("beta", 1.0)
    return F.swish(x) if beta == 1.0 else x * F.sigmoid(x * beta)


@translates("mish")
def mish(op):
    return F.mish(op["X"])


@translates("softplus")
def softplus(op):
    return F.softplus(op["X"], op.attr("beta", 1.0), op.attr("threshold", 20.0))


@translates("stanh")
def stanh(op):
    return paddle.stanh(op["X"], op.attr("scale_a", 0.67), op.attr("scale_b", 1.7159))


@translates("logit")
def logit(op):
    return paddle.logit(op["X"], op.attr("eps", 1e-6))


@translates("round")
def round_(op):
    return paddle.round(op["X"], op.attr("decimals", 0))


@translates("rrelu")
def rrelu(op):
    return F.rrelu(op["X"], op.attr("lower", 1 / 8), op.attr("upper", 1 / 3), training=not op.attr("is_test", False))


@translates("pow")
def pow_(op):
    factor = number(op["FactorTensor"]) if op.has("FactorTensor") else op.attr("factor", 1.0)
    x = op["X"]
    if isinstance(factor, float) and factor.is_integer() and not x.is_floating_point():
        factor = int(factor)
    return paddle.pow(x, factor)


@translates("prelu")
def prelu(op):
    x, alpha, mode = op["X"], op["Alpha"], op.attr("mode", "all")
    layout = op.attr("data_format", "NCHW")
    if mode == "element":
        return paddle.where(x > 0, x, x * alpha.reshape([1, *alpha.shape[-(len(x.shape) - 1) :]]))
    alpha = alpha.reshape([-1])
    if mode == "channel" and len(x.shape) > 1:
        shape = [1] * len(x.shape)
        shape[-1 if layout[-1:] == "C" else 1] = -1
        alpha = alpha.reshape(shape)
    return paddle.where(x > 0, x, x * alpha)


@translates("maxout")
def maxout(op):
    return F.maxout(op["X"], op.attr("groups"), op.attr("axis", 1))


@translates("softmax")
def softmax(op):
    x = op["X"]
    return F.softmax(x, op.attr("axis", -1), dtype=op.dtype("dtype"))


@translates("log_softmax")
def log_softmax(op):
    return F.log_softmax(op["X"], op.attr("axis", -1))


@translates("gumbel_softmax")
def gumbel_softmax(op):
    return F.gumbel_softmax(op["X"], op.attr("temperature", 1.0), op.attr("hard", False), op.attr("axis", -1))


@translates("dropout")
def dropout(op):
    x, p = op["X"], op.attr("dropout_prob", 0.5)
    training = not op.attr("is_test", False)
    mode = op.attr("dropout_implementation", "downgrade_in_infer")
    p = number(p)
    if not training:
        return x if mode == "upscale_in_train" else x * (1.0 - p)
    return F.dropout(x, p, training=True, mode=mode)


# a fused activation of a convolution, a matrix product or a pass
FUSED = {
    "": lambda x, *_: x,
    "identity": lambda x, *_: x,
    "linear": lambda x, *_: x,
    "relu": lambda x, *_: F.relu(x),
    "sigmoid": lambda x, *_: F.sigmoid(x),
    "tanh": lambda x, *_: paddle.tanh(x),
    "gelu": lambda x, *_: F.gelu(x),
    "gelu_erf": lambda x, *_: F.gelu(x),
    "gelu_tanh": lambda x, *_: F.gelu(x, True),
    "relu6": lambda x, *_: F.relu6(x),
    "swish": lambda x, alpha=1.0, *_: x * F.sigmoid(x * alpha) if alpha else F.swish(x),
    "mish": lambda x, *_: F.mish(x),
    "silu": lambda x, *_: F.silu(x),
    "sqrt": lambda x, *_: paddle.sqrt(x),
    "exp": lambda x, *_: paddle.exp(x),
    "abs": lambda x, *_: paddle.abs(x),
    "hard_swish": lambda x, *_: F.hardswish(x),
    "hard_sigmoid": lambda x, alpha=0.2, beta=0.5: F.hardsigmoid(x, alpha, beta),
    "leaky_relu": lambda x, alpha=0.02, *_: F.leaky_relu(x, alpha),
    "clip": lambda x, alpha=0.0, beta=0.0: paddle.clip(x, alpha, beta),
}


def fused_activation(name: str, x, *numbers):
    """The activation that a fused operator names; `numbers` are its fuse_alpha and fuse_beta."""
    if name not in FUSED:
        raise NotImplementedError(f"the fused activation {name!r}")
    return FUSED[name](x, *numbers)
