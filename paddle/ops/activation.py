"""Activations. Half-precision exponentials are taken in float32; NaN stays NaN in all of them."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import as_float, converted, same_type
from .axes import axis_of

nn_op = functools.partial(op, method=False)
nn_api = functools.partial(api, method=False)


def wide(x):
    """The operand of a computation that half precision would spoil: floats of 16 bits as float32."""
    x = as_float(x)
    return x.astype(np.float32) if x.dtype.itemsize < 4 else x


def _negative(x):
    """x where it is below 0, else 0, for a branch that must not overflow elsewhere; the gradient at 0 is x's own."""
    return jnp.where(x > 0, 0, x)


# ---- piecewise linear ----


def _relu_gradient(inputs, outputs, cotangents):
    return None if cotangents[0] is None else jnp.where(outputs[0] <= 0, 0, cotangents[0])


@nn_op(inplace=True, gradient=_relu_gradient)
def relu(x):
    """max(x, 0), elementwise (Nair and Hinton, ICML 2010). The gradient at 0 is 0; NaN stays NaN and lets it pass.

    Example:
        >>> paddle.nn.functional.relu(paddle.to_tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """
    return jnp.maximum(x, 0)


@nn_op
def relu6(x):
    """min(max(x, 0), 6), elementwise; the gradient at 0 and 6 is 0.

    Example:
        >>> paddle.nn.functional.relu6(paddle.to_tensor([-1.0, 8.0])).tolist()
        [0.0, 6.0]
    """
    return jnp.where(x <= 0, 0, jnp.where(x >= 6, 6, x))


@nn_op(inplace=True, scalars="negative_slope")
def leaky_relu(x, negative_slope=0.01):
    """x where positive, else negative_slope * x (Maas et al., 2013). The gradient at 0 is 1.

    Example:
        >>> paddle.nn.functional.leaky_relu(paddle.to_tensor([-1.0, 2.0]), 0.5).tolist()
        [-0.5, 2.0]
    """
    x = as_float(x)
    return jnp.where(x >= 0, x, x * negative_slope)


@nn_op(inplace=True, scalars="threshold value")
def thresholded_relu(x, threshold=1.0, value=0.0):
    """x where it is above `threshold`, else `value`.

    Example:
        >>> paddle.nn.functional.thresholded_relu(paddle.to_tensor([0.5, 2.0])).tolist()
        [0.0, 2.0]
    """
    return jnp.where(x <= threshold, value, x).astype(x.dtype)


@nn_op(inplace=True, scalars="min max")
def hardtanh(x, min=-1.0, max=1.0):
    """x limited to [min, max]; the gradient at the limits is 0.

    Example:
        >>> paddle.nn.functional.hardtanh(paddle.to_tensor([-3.0, 0.5])).tolist()
        [-1.0, 0.5]
    """
    return jnp.where(x <= min, min, jnp.where(x >= max, max, x)).astype(x.dtype)


@nn_op(scalars="slope offset")
def hardsigmoid(x, slope=0.1666667, offset=0.5):
    """slope * x + offset limited to [0, 1] (Courbariaux et al., BinaryConnect, 2015).

    Example:
        >>> paddle.nn.functional.hardsigmoid(paddle.to_tensor([-4.0, 0.0])).tolist()
        [0.0, 0.5]
    """
    x = as_float(x)
    y = slope * x + offset
    return jnp.where(y <= 0, 0, jnp.where(y >= 1, 1, y))


@nn_op
def hardswish(x):
    """x * min(max(x + 3, 0), 6) / 6 (Howard et al., Searching for MobileNetV3, 2019).

    Example:
        >>> paddle.nn.functional.hardswish(paddle.to_tensor([-4.0, 3.0])).tolist()
        [0.0, 3.0]
    """
    x = as_float(x)
    return jnp.where(x <= -3, 0, jnp.where(x >= 3, x, x * (x + 3) / 6))


@nn_op(scalars="threshold")
def hardshrink(x, threshold=0.5):
    """x where |x| reaches the threshold, else 0.

    Example:
        >>> paddle.nn.functional.hardshrink(paddle.to_tensor([0.3, -0.5])).tolist()
        [0.0, -0.5]
    """
    return jnp.where((x > -threshold) & (x < threshold), 0, x)


@nn_op(scalars="threshold", export=False, name="softshrink")
def _softshrink(x, threshold):
    x = as_float(x)
    return jnp.where(
        x > threshold, x - threshold, jnp.where(x < -threshold, x + threshold, jnp.where(jnp.isnan(x), x, 0))
    )


@nn_api
def softshrink(x, threshold=0.5):
    """x moved towards 0 by `threshold`, 0 within it. Raises ValueError for a negative threshold.

    Example:
        >>> paddle.nn.functional.softshrink(paddle.to_tensor([0.25, -2.0])).tolist()
        [0.0, -1.5]
    """
    if threshold < 0:
        raise errors.ValueError_(f"softshrink: threshold cannot be negative, got {threshold}")
    return _softshrink(x, threshold)


@nn_op
def prelu(x, weight, data_format="NCHW"):
    """x where positive, else weight * x (He et al., Delving Deep into Rectifiers, 2015).

    Args:
        x: any shape.
        weight: shape [1], or [C] with one slope for each channel of x.
        data_format: where the channels are: "NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC".

    Raises:
        ValueError: an unknown data_format, or a weight that does not fit the channels.

    Example:
        >>> paddle.nn.functional.prelu(paddle.to_tensor([-2.0, 3.0]), paddle.to_tensor([0.25])).tolist()
        [-0.5, 3.0]
    """
    if data_format not in ("NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC"):
        raise errors.ValueError_(
            f"prelu: data_format must be NC, NCL, NCHW, NCDHW, NLC, NHWC or NDHWC, got {data_format!r}"
        )
    x = as_float(x)
    if weight.ndim > 1 or weight.size == 0:
        raise errors.ValueError_(f"prelu: weight must have shape [1] or [channels], got {list(weight.shape)}")
    if weight.size > 1:
        axis = 1 if data_format[1] == "C" else x.ndim - 1
        if x.ndim < 2 or x.shape[axis] != weight.size:
            raise errors.ValueError_(
                f"prelu: weight of shape {list(weight.shape)} does not fit the channels of x of "
                f"shape {list(x.shape)} in {data_format}"
            )
        weight = weight.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    else:
        weight = weight.reshape(())
    return jnp.where(x > 0, x, x * weight.astype(x.dtype))


@nn_op(random=True, scalars="lower upper", export=False, name="rrelu")
def _rrelu(key, x, lower, upper):
    x = as_float(x)
    slope = jax.random.uniform(key, x.shape, np.float32).astype(x.dtype) * (upper - lower) + lower
    return jnp.where(x >= 0, x, x * slope)


@nn_api
def rrelu(x, lower=1 / 8, upper=1 / 3, training=True):
    """Leaky ReLU whose slope is drawn from [lower, upper) for each element (Xu et al., 2015).

    Without `training` the slope is the middle of the interval.

    Raises:
        TypeError: bounds that are no floats.
        ValueError: bounds outside [0, 1], or upper below lower.

    Example:
        >>> paddle.nn.functional.rrelu(paddle.to_tensor([-2.0]), 0.25, 0.75, training=False).tolist()
        [-1.0]
    """
    if not isinstance(lower, float) or not isinstance(upper, float):
        raise errors.TypeError_(f"rrelu: lower and upper must be floats, got {lower!r} and {upper!r}")
    if not 0 <= lower <= upper <= 1:
        raise errors.ValueError_(f"rrelu: 0 <= lower <= upper <= 1 is required, got {lower} and {upper}")
    return _rrelu(x, lower, upper) if training else leaky_relu(x, (lower + upper) / 2)


# ---- smooth ----


@nn_op(words="approximate")
def gelu(x, approximate=False):
    """x times the normal distribution function at x (Hendrycks and Gimpel, 2016).

    Args:
        x: floating.
        approximate: False or "none" for the error function, True or "tanh" for the tanh approximation.

    Raises:
        ValueError: another value of approximate.

    Example:
        >>> round(paddle.nn.functional.gelu(paddle.to_tensor(1.0)).item(), 4)
        0.8413
    """
    if approximate not in (True, False, "tanh", "none"):
        raise errors.ValueError_(f"gelu: approximate must be a bool, 'tanh' or 'none', got {approximate!r}")
    v = wide(x)
    if approximate in (True, "tanh"):
        y = 0.5 * v * (1 + jnp.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v * v * v)))
    else:
        y = 0.5 * v * (1 + jax.scipy.special.erf(v * math.sqrt(0.5)))
    return y.astype(as_float(x).dtype)


@nn_op(export=False, name="silu")
def _silu(x):
    x = as_float(x)
    return x * jax.lax.logistic(x)


@nn_api
def silu(x, inplace=False):
    """x * sigmoid(x) (Elfwing et al., 2017). `inplace=True` writes the result into x.

    Example:
        >>> paddle.nn.functional.silu(paddle.zeros([2])).tolist()
        [0.0, 0.0]
    """
    return x._inplace(_silu) if inplace else _silu(x)


@nn_op
def swish(x):
    """x * sigmoid(x), like `silu` (Ramachandran et al., 2017).

    Example:
        >>> paddle.nn.functional.swish(paddle.zeros([2])).tolist()
        [0.0, 0.0]
    """
    return _silu.__wrapped__(x)


@nn_op
def mish(x):
    """x * tanh(log(1 + exp(x))) (Misra, 2019).

    Example:
        >>> paddle.nn.functional.mish(paddle.zeros([2])).tolist()
        [0.0, 0.0]
    """
    x = as_float(x)
    return x * jnp.tanh(jax.nn.softplus(x))


@nn_op(scalars="beta threshold")
def softplus(x, beta=1, threshold=20):
    """log(1 + exp(beta * x)) / beta, and x where beta * x is above the threshold.

    Example:
        >>> round(paddle.nn.functional.softplus(paddle.to_tensor(0.0)).item(), 4)
        0.6931
    """
    x = as_float(x)
    linear = beta * x > threshold
    return jnp.where(linear, x, jnp.log1p(jnp.exp(jnp.where(linear, 0, beta * x).astype(x.dtype))) / beta).astype(
        x.dtype
    )


@jax.custom_jvp
def _softsign(x):
    return x / (1 + jnp.abs(x))


_softsign.defjvps(
    lambda g, out, x: g / jnp.square(1 + jnp.where(x < 0, -x, x))
)  # the quotient rule cancels for large x


@nn_op
def softsign(x):
    """x / (1 + |x|), elementwise.

    Example:
        >>> paddle.nn.functional.softsign(paddle.to_tensor([1.0, -3.0])).tolist()
        [0.5, -0.75]
    """
    x = as_float(x)
    return x / (1 + jnp.abs(x)) if jnp.iscomplexobj(x) else _softsign(x)


@nn_op
def tanhshrink(x):
    """x - tanh(x), elementwise.

    Example:
        >>> paddle.nn.functional.tanhshrink(paddle.zeros([1])).tolist()
        [0.0]
    """
    x = as_float(x)
    return x - jnp.tanh(x)


@nn_op
def log_sigmoid(x):
    """log(1 / (1 + exp(-x))), elementwise, without overflow.

    Example:
        >>> round(paddle.nn.functional.log_sigmoid(paddle.to_tensor(0.0)).item(), 4)
        -0.6931
    """
    return jax.nn.log_sigmoid(as_float(x))


@nn_op
def logsigmoid(x):
    """The same as `log_sigmoid`."""
    return log_sigmoid.__wrapped__(x)


@nn_op(inplace=True, scalars="alpha")
def elu(x, alpha=1.0):
    """x where positive, else alpha * (exp(x) - 1) (Clevert et al., 2015).

    Example:
        >>> paddle.nn.functional.elu(paddle.to_tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]
    """
    x = as_float(x)
    return jnp.where(x > 0, x, alpha * jnp.expm1(_negative(x)))


@nn_op(scalars="alpha", export=False, name="celu")
def _celu(x, alpha):
    x = as_float(x)
    return jnp.where(x > 0, x, alpha * jnp.expm1(_negative(x) / alpha))


@nn_api
def celu(x, alpha=1.0):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) (Barron, 2017). ZeroDivisionError for alpha 0.

    Example:
        >>> paddle.nn.functional.celu(paddle.to_tensor([0.0, 2.0])).tolist()
        [0.0, 2.0]
    """
    if alpha == 0:
        raise ZeroDivisionError("(InvalidArgument) celu: alpha cannot be 0")
    return _celu(x, alpha)


@nn_op(scalars="scale alpha", export=False, name="selu")
def _selu(x, scale, alpha):
    x = as_float(x)
    return scale * jnp.where(x > 0, x, alpha * jnp.expm1(_negative(x)))


@nn_api
def selu(x, scale=1.0507009873554804934193349852946, alpha=1.6732632423543772848170429916717):
    """scale * (x where positive, else alpha * (exp(x) - 1)) (Klambauer et al., 2017).

    Raises ValueError unless scale > 1 and alpha >= 0.

    Example:
        >>> paddle.nn.functional.selu(paddle.to_tensor([0.0, 1.0]), 2.0).tolist()
        [0.0, 2.0]
    """
    if scale <= 1 or alpha < 0:
        raise errors.ValueError_(f"selu: scale > 1 and alpha >= 0 are required, got {scale} and {alpha}")
    return _selu(x, scale, alpha)


# ---- over an axis ----


def _softmax_gradient(inputs, outputs, cotangents, axis, dtype):
    y, g = outputs[0], cotangents[0]
    if y.ndim == 0:
        return g * 0
    v, w = wide(y), wide(g)
    return (v * (w - jnp.sum(v * w, axis, keepdims=True))).astype(y.dtype)


@nn_op(inplace=True, gradient=_softmax_gradient)
def softmax(x, axis=-1, dtype=None):
    """exp(x) divided by its sum along an axis.

    Args:
        x: floating.
        axis: an int.
        dtype: the type to cast x to first.

    Raises:
        ValueError: an axis out of range.

    Example:
        >>> paddle.nn.functional.softmax(paddle.zeros([4])).tolist()
        [0.25, 0.25, 0.25, 0.25]
    """
    x = as_float(converted(x, dtype))
    axis = axis_of("softmax", axis, x.ndim)
    if x.ndim == 0 or x.size == 0:
        return jnp.exp(x - x)
    v = wide(x)
    parts = jnp.exp(v - jax.lax.stop_gradient(jnp.max(v, axis, keepdims=True)))
    return (parts * (1 / jnp.sum(parts, axis, keepdims=True))).astype(
        x.dtype
    )  # a division for each would take twice as long


def _log_softmax_gradient(inputs, outputs, cotangents, axis, dtype):
    y, g = outputs[0], cotangents[0]
    if y.ndim == 0:
        return g * 0
    w = wide(g)
    return (w - jnp.exp(wide(y)) * jnp.sum(w, axis, keepdims=True)).astype(y.dtype)


@nn_op(gradient=_log_softmax_gradient)
def log_softmax(x, axis=-1, dtype=None):
    """The logarithm of `softmax`, computed without overflow; arguments as there.

    Example:
        >>> round(paddle.nn.functional.log_softmax(paddle.zeros([2]))[0].item(), 4)
        -0.6931
    """
    x = as_float(converted(x, dtype))
    axis = axis_of("log_softmax", axis, x.ndim)
    return jax.nn.log_softmax(wide(x), axis).astype(x.dtype) if x.ndim else x - x


@nn_op(random=True, scalars="temperature", export=False, name="gumbel_softmax")
def _gumbel_softmax(key, x, temperature, hard, axis):
    x = as_float(x)
    if x.ndim == 0:
        raise errors.ValueError_("gumbel_softmax: x must have at least one dimension")
    axis = axis_of("gumbel_softmax", axis, x.ndim)
    v = wide(x)
    y = jax.nn.softmax((v + jax.random.gumbel(key, x.shape, v.dtype)) / temperature, axis)
    if hard:
        chosen = jax.nn.one_hot(jnp.argmax(y, axis), x.shape[axis], dtype=y.dtype, axis=axis)
        y = chosen + (y - jax.lax.stop_gradient(y))  # exactly one-hot, with the gradient of y
    return y.astype(x.dtype)


@nn_api
def gumbel_softmax(x, temperature=1.0, hard=False, axis=-1):
    """A differentiable sample of a categorical distribution with logits x (Jang et al., 2016).

    Args:
        x: logits.
        temperature: above 0; near 0 the samples are nearly one-hot.
        hard: True gives exactly one-hot results, with the gradient of the soft ones.
        axis: the axis of the categories.

    Raises:
        ValueError: a temperature that is not positive, an axis out of range.

    Example:
        >>> paddle.nn.functional.gumbel_softmax(paddle.zeros([3]), hard=True).sum().item()
        1.0
    """
    if not temperature > 0:
        raise errors.ValueError_(f"gumbel_softmax: temperature must be positive, got {temperature}")
    return _gumbel_softmax(x, temperature, bool(hard), axis)


def _halves(name, x, axis):
    if x.ndim == 0:
        raise errors.ValueError_(f"{name}: x must have at least one dimension")
    axis = axis_of(name, axis, x.ndim)
    if x.shape[axis] % 2:
        raise errors.ValueError_(f"{name}: axis {axis} of x, of shape {list(x.shape)}, must have an even length")
    return jnp.split(x, 2, axis)


@nn_op
def glu(x, axis=-1):
    """The first half of x along an axis times the sigmoid of the second (Dauphin et al., 2016).

    Raises ValueError for an odd length or an axis out of range.

    Example:
        >>> paddle.nn.functional.glu(paddle.to_tensor([4.0, 0.0])).tolist()
        [2.0]
    """
    a, b = _halves("glu", as_float(x), axis)
    return a * jax.lax.logistic(b)


@nn_op
def swiglu(x, y=None):
    """silu(x) * y; without y the two halves of x along the last axis (Shazeer, GLU Variants, 2020).

    Raises ValueError for an odd length, or shapes that differ.

    Example:
        >>> paddle.nn.functional.swiglu(paddle.to_tensor([0.0, 3.0])).tolist()
        [0.0]
    """
    if y is None:
        x, y = _halves("swiglu", as_float(x), -1)
    elif x.shape != y.shape:
        raise errors.ValueError_(f"swiglu: x and y must have one shape, got {list(x.shape)} and {list(y.shape)}")
    same_type("swiglu", x, y)
    x, y = as_float(x), as_float(y)
    return x * jax.lax.logistic(x) * y


@nn_op
def maxout(x, groups, axis=1):
    """The maximum over groups of consecutive channels (Goodfellow et al., 2013).

    Args:
        x: shape [N, C, H, W] or [N, H, W, C].
        groups: channels to a group; it divides C.
        axis: the axis of the channels, 1, 3 or -1.

    Raises:
        ValueError: x is not 4-D, another axis, or groups that do not divide C.

    Example:
        >>> paddle.nn.functional.maxout(paddle.ones([1, 6, 2, 2]), 3).shape
        [1, 2, 2, 2]
    """
    if x.ndim != 4 or axis not in (1, 3, -1):
        raise errors.ValueError_(
            f"maxout: x must be 4-D and axis 1, 3 or -1, got x of shape {list(x.shape)} and axis {axis}"
        )
    axis %= 4
    if groups < 1 or x.shape[axis] % groups:
        raise errors.ValueError_(f"maxout: groups must divide the {x.shape[axis]} channels, got {groups}")
    return jnp.max(x.reshape(x.shape[:axis] + (x.shape[axis] // groups, groups) + x.shape[axis + 1 :]), axis + 1)
