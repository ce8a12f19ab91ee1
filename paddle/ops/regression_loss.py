"""Losses on numbers and distances: regression, distributions, margins and triplets."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import as_float, promote, promote_float
from ..engine.tensor import Tensor
from .checks import host_value
from .distance import absolute, pairwise_distance
from .loss import check_reduction, reduce, same_shape

nn_op = functools.partial(op, method=False)
nn_api = functools.partial(api, method=False)


# ---- differences ----


@nn_op
def square_error_cost(input, label):
    """(input - label) ** 2, elementwise with broadcasting.

    Example:
        >>> paddle.nn.functional.square_error_cost(paddle.zeros([1]), paddle.to_tensor([3.0])).tolist()
        [9.0]
    """
    x, y = promote("square_error_cost", input, label)
    return (x - y) * (x - y)


@nn_op
def mse_loss(input, label, reduction="mean"):
    """The squares of input - label.

    Args:
        input, label: shapes that broadcast.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: an unknown reduction, shapes that do not broadcast.

    Example:
        >>> paddle.nn.functional.mse_loss(paddle.zeros([2]), paddle.to_tensor([1.0, 3.0])).item()
        5.0
    """
    x, y = promote("mse_loss", input, label)
    return reduce("mse_loss", (x - y) * (x - y), reduction, x.dtype)


@nn_op
def l1_loss(input, label, reduction="mean"):
    """The absolute values of input - label; the gradient at 0 is 0. Arguments as for `mse_loss`.

    Example:
        >>> paddle.nn.functional.l1_loss(paddle.zeros([2]), paddle.to_tensor([1.0, 3.0])).item()
        2.0
    """
    x, y = promote_float("l1_loss", input, label)
    return reduce("l1_loss", absolute(x - y), reduction)


@nn_op
def smooth_l1_loss(input, label, reduction="mean", delta=1.0, is_huber=True):
    """Half the square of d = input - label where |d| < delta, else delta * (|d| - delta / 2): the loss of Huber (1964).

    Args:
        input, label: one shape.
        reduction: "mean", "sum" or "none".
        delta: where the square ends.
        is_huber: False divides by delta.

    Raises:
        ValueError: shapes that differ, an unknown reduction.

    Example:
        >>> paddle.nn.functional.smooth_l1_loss(paddle.zeros([2]), paddle.to_tensor([1.0, 3.0])).item()
        1.5
    """
    same_shape("smooth_l1_loss", input, label)
    x, y = promote_float("smooth_l1_loss", input, label)
    size = absolute(x - y)
    loss = jnp.where(size < delta, 0.5 * size * size, delta * (size - 0.5 * delta))
    return reduce("smooth_l1_loss", loss if is_huber else loss / delta, reduction)


# ---- distributions ----


@nn_op
def kl_div(input, label, reduction="mean", log_target=False):
    """The Kullback-Leibler divergence label * (log(label) - input), 0 where label is not positive.

    Args:
        input: log probabilities.
        label: probabilities of the shape of input, or their logarithms with log_target.
        reduction: "mean" (over elements), "batchmean" (the sum over the length of the first axis), "sum" or "none".

    Raises:
        ValueError: shapes that differ, an unknown reduction.

    Example:
        >>> round(paddle.nn.functional.kl_div(paddle.zeros([1]), paddle.to_tensor([0.5])).item(), 4)
        -0.3466
    """
    check_reduction("kl_div", reduction, ("mean", "batchmean", "sum", "none"))
    same_shape("kl_div", input, label)
    x, y = promote_float("kl_div", input, label)
    if log_target:
        loss = jnp.exp(y) * (y - x)
    else:
        loss = jnp.where(y > 0, y * (jnp.log(jnp.where(y > 0, y, 1)) - x), 0)
    if reduction == "batchmean":
        return jnp.sum(loss) / (x.shape[0] if x.ndim else 1)
    return reduce("kl_div", loss, reduction)


@nn_op
def poisson_nll_loss(input, label, log_input=True, full=False, epsilon=1e-8, reduction="mean"):
    """The negative log likelihood of counts under a Poisson distribution.

    Args:
        input: the rate, or its logarithm with log_input.
        label: counts, the shape of input.
        full: add Stirling's approximation of log(label!) where label > 1.
        epsilon: added to the rate inside the logarithm, above 0.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: epsilon not positive, an unknown reduction.

    Example:
        >>> paddle.nn.functional.poisson_nll_loss(paddle.zeros([1]), paddle.ones([1])).item()
        1.0
    """
    if not epsilon > 0:
        raise errors.ValueError_(f"poisson_nll_loss: epsilon must be positive, got {epsilon}")
    x, y = promote_float("poisson_nll_loss", input, label)
    loss = jnp.exp(x) - y * x if log_input else x - y * jnp.log(x + epsilon)
    if full:
        safe = jnp.where(y > 1, y, 1)
        loss = loss + jnp.where(y > 1, safe * jnp.log(safe) - safe + 0.5 * jnp.log(2 * math.pi * safe), 0)
    return reduce("poisson_nll_loss", loss, reduction)


@nn_op(export=False, name="gaussian_nll_loss")
def _gaussian_nll_loss(x, label, variance, full, epsilon, reduction):
    if variance.shape != x.shape:
        if variance.shape == x.shape[:-1]:
            variance = variance[..., None]
        elif variance.shape != x.shape[:-1] + (1,):
            raise errors.ValueError_(
                f"gaussian_nll_loss: variance must have the shape of input {list(x.shape)}, "
                f"without its last axis or with length 1 there, got {list(variance.shape)}"
            )
    variance = jnp.where(variance < epsilon, epsilon, variance)
    loss = 0.5 * (jnp.log(variance) + (x - label) ** 2 / variance)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduce("gaussian_nll_loss", loss, reduction)


@nn_api
def gaussian_nll_loss(input, label, variance, full=False, epsilon=1e-6, reduction="mean"):
    """The negative log likelihood of numbers under normal distributions.

    Args:
        input: the means.
        label: the numbers.
        variance: not negative; the shape of input, without its last axis or with length 1 there. As officially, no
            gradient flows to it.
        full: add log(2 pi) / 2.
        epsilon: a lower bound of the variance.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: a negative variance (seen eagerly on the CPU), shapes that do not fit, an unknown reduction.

    Example:
        >>> paddle.nn.functional.gaussian_nll_loss(paddle.zeros([1]), paddle.ones([1]), paddle.ones([1])).item()
        0.5
    """
    check_reduction("gaussian_nll_loss", reduction)
    array = host_value(variance)
    if array is not None and array.min() < 0:
        raise errors.ValueError_("gaussian_nll_loss: variance cannot be negative")
    return _gaussian_nll_loss(input, label, variance.detach(), bool(full), epsilon, reduction)


# ---- margins ----


@nn_op
def margin_ranking_loss(input, other, label, margin=0.0, reduction="mean"):
    """max(0, margin - label * (input - other)): input shall exceed other where label is 1, and the reverse for -1.

    Args:
        input, other, label: shapes that broadcast.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: an unknown reduction.

    Example:
        >>> F = paddle.nn.functional
        >>> F.margin_ranking_loss(paddle.zeros([1]), paddle.ones([1]), paddle.ones([1])).item()
        1.0
    """
    loss = margin - label * (input - other)
    return reduce("margin_ranking_loss", jnp.where(loss > 0, loss, jnp.where(jnp.isnan(loss), loss, 0)), reduction)


@nn_op
def hinge_embedding_loss(input, label, margin=1.0, reduction="mean"):
    """input where label is 1, max(0, margin - input) where it is -1, 0 for other labels.

    Args:
        input: distances.
        label: 1 or -1, the shape of input.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: an unknown reduction.

    Example:
        >>> paddle.nn.functional.hinge_embedding_loss(paddle.to_tensor([0.25]), paddle.to_tensor([-1.0])).item()
        0.75
    """
    rest = margin - input
    loss = jnp.where(label == 1, input, 0) + jnp.where((label == -1) & ~(rest < 0), rest, 0)
    return reduce("hinge_embedding_loss", loss.astype(as_float(input).dtype), reduction)


@nn_op
def soft_margin_loss(input, label, reduction="mean"):
    """log(1 + exp(-label * input)), computed without overflow.

    Args:
        input: any floating values.
        label: 1 or -1, the shape of input.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: shapes that differ, an unknown reduction.

    Example:
        >>> round(paddle.nn.functional.soft_margin_loss(paddle.zeros([1]), paddle.ones([1])).item(), 4)
        0.6931
    """
    same_shape("soft_margin_loss", input, label)
    x = as_float(input)
    return reduce("soft_margin_loss", jax.nn.softplus(-label.astype(x.dtype) * x), reduction)


@nn_op
def cosine_embedding_loss(input1, input2, label, margin=0, reduction="mean"):
    """1 - cosine of the angle where label is 1, max(0, cosine - margin) where it is -1, 0 for other labels.

    Args:
        input1, input2: shape [N, M], or [M].
        label: 1 or -1, shape [N], or [1].
        margin: between -1 and 1.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: shapes that do not fit, an unknown reduction.

    Example:
        >>> x = paddle.ones([1, 2])
        >>> round(paddle.nn.functional.cosine_embedding_loss(x, -x, paddle.to_tensor([1])).item(), 4)
        2.0
    """
    samples = input1.shape[0] if input1.ndim == 2 else 1
    if label.ndim != 1 or input1.ndim not in (1, 2) or label.shape[0] not in (1, samples):
        raise errors.ValueError_(
            f"cosine_embedding_loss: inputs [N, M] and label [N] are required, got "
            f"{list(input1.shape)}, {list(input2.shape)} and {list(label.shape)}"
        )
    same_shape("cosine_embedding_loss", input1, input2, "input2")
    x, y = promote_float("cosine_embedding_loss", input1, input2)
    tiny = 1e-12  # as officially, so that vectors of zeros have cosine 0
    cosine = jnp.sum(x * y, -1) * jax.lax.rsqrt((jnp.sum(x * x, -1) + tiny) * (jnp.sum(y * y, -1) + tiny))
    apart = cosine - margin
    loss = jnp.where(label == 1, 1 - cosine, jnp.where((label == -1) & ~(apart < 0), apart, 0))
    return reduce("cosine_embedding_loss", loss.astype(x.dtype), reduction)


# ---- triplets ----


@nn_op(export=False, name="triplet_margin")
def _hinge(positive, negative, margin, reduction):
    loss = positive - negative + margin
    return reduce("triplet_margin", jnp.where(loss < 0, 0, loss), reduction)


@nn_api
def triplet_margin_loss(input, positive, negative, margin=1.0, p=2, epsilon=1e-6, swap=False, reduction="mean"):
    """max(0, distance to positive - distance to negative + margin) (Balntas et al., 2016).

    Args:
        input, positive, negative: one shape, with the vectors along the last axis.
        margin: above 0.
        p, epsilon: of `pairwise_distance`.
        swap: also use the distance between positive and negative where it is smaller.
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: shapes that differ, a negative margin, an unknown reduction.

    Example:
        >>> x = paddle.zeros([1, 2])
        >>> paddle.nn.functional.triplet_margin_loss(x, x, x).item()
        1.0
    """
    check_reduction("triplet_margin_loss", reduction)
    if margin < 0:
        raise errors.ValueError_(f"triplet_margin_loss: margin cannot be negative, got {margin}")
    same_shape("triplet_margin_loss", input, positive, "positive")
    same_shape("triplet_margin_loss", input, negative, "negative")
    far = pairwise_distance(input, negative, p, epsilon)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, epsilon))
    return _hinge(pairwise_distance(input, positive, p, epsilon), far, margin, reduction)


@nn_api
def triplet_margin_with_distance_loss(
    input, positive, negative, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """`triplet_margin_loss` with any distance.

    Args:
        distance_function: a function of two tensors; default `pairwise_distance`.
        input, positive, negative, margin, swap, reduction: as for `triplet_margin_loss`.

    Raises:
        ValueError: shapes that differ, a negative margin or distance, an unknown reduction.

    Example:
        >>> x = paddle.zeros([1, 2])
        >>> paddle.nn.functional.triplet_margin_with_distance_loss(x, x, x).item()
        1.0
    """
    check_reduction("triplet_margin_with_distance_loss", reduction)
    if margin < 0:
        raise errors.ValueError_(f"triplet_margin_with_distance_loss: margin cannot be negative, got {margin}")
    same_shape("triplet_margin_with_distance_loss", input, positive, "positive")
    same_shape("triplet_margin_with_distance_loss", input, negative, "negative")
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(input, positive), distance(input, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    for each in (near, far):
        array = host_value(each) if isinstance(each, Tensor) else None
        if array is not None and array.min() < 0:
            raise errors.ValueError_("triplet_margin_with_distance_loss: distances cannot be negative")
    return _hinge(near, far, margin, reduction)
