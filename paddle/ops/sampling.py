"""Sampling the next token of a text."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..engine import errors
from ..engine.op import api, op
from .manipulation import tensor_of
from .search import topk


@op(method=False, export=False, name="top_p_sampling", random=True, differentiable=False, static="truncate")
def _top_p(key, x, ps, threshold, seeds, truncate):
    order = jnp.argsort(-x, axis=-1, stable=True)
    p = jnp.take_along_axis(x, order, -1).astype(jnp.float32)
    keep = jnp.ones(p.shape, bool)
    if truncate:  # as few of the likeliest as reach the mass ps
        keep &= jnp.cumsum(p, -1) - p < ps.reshape(-1, 1)
    if threshold is not None:
        keep &= p >= threshold.reshape(-1, 1)
    keep = keep.at[:, 0].set(True)
    logits = jnp.where(keep, jnp.log(p), -jnp.inf)
    if seeds is None:
        noise = jax.random.gumbel(key, p.shape, jnp.float32)
    else:
        noise = jax.vmap(lambda s: jax.random.gumbel(jax.random.key(s), p.shape[1:], jnp.float32))(seeds.reshape(-1))
    chosen = jnp.argmax(logits + noise, -1, keepdims=True)
    ids = jnp.take_along_axis(order, chosen, -1)
    return jnp.take_along_axis(x, ids, -1), ids


@api(export=False)
def top_p_sampling(x, ps, threshold=None, topp_seed=None, seed=-1, k=0, mode="truncated", return_top=False):
    """One token of each row of probabilities, drawn from the likeliest that together have the mass `ps` (nucleus
    sampling;
    Holtzman et al., "The Curious Case of Neural Text Degeneration", ICLR 2020).

    Args:
        x: shape [batch, tokens], probabilities.
        ps: shape [batch] or [batch, 1], the mass of each row.
        threshold: of the same shape, the smallest probability that counts (the largest one always does); or None.
        topp_seed: of the same shape, integers: a seed for each row; or None.
        seed: a seed for all rows; -1 takes the generator of the device.
        k: how many tokens `return_top` gives, 0 for one.
        mode: "truncated", or "non-truncated" to draw from all tokens.
        return_top: return the k likeliest tokens as well.

    Returns:
        (probabilities [batch, 1], token numbers [batch, 1][, the largest probabilities and their tokens, [batch, k]]).

    Raises:
        ValueError: shapes that do not fit, or an unknown mode.

    Example:
        >>> probability, token = paddle.tensor.top_p_sampling(paddle.to_tensor([[0.1, 0.9]]), paddle.to_tensor([0.5]))
        >>> token.tolist()
        [[1]]
    """
    name = "top_p_sampling"
    x = tensor_of(name, x)
    if x.ndim != 2 or not x.dtype.is_floating or x.shape[1] == 0:
        raise errors.ValueError_(f"{name}: x must be floats of shape [batch, tokens], got {errors.describe(x)}")
    if mode not in ("truncated", "non-truncated"):
        raise errors.ValueError_(f"{name}: mode must be 'truncated' or 'non-truncated', got {mode!r}")
    for argument, value in (("ps", ps), ("threshold", threshold), ("topp_seed", topp_seed)):
        if value is not None and int(tensor_of(name, value, argument).size) != x.shape[0]:
            raise errors.ValueError_(
                f"{name}: {argument} must have one number for each of {x.shape[0]} rows, got shape {list(value.shape)}"
            )
    if topp_seed is None and seed != -1:
        from .creation import arange

        topp_seed = arange(x.shape[0], dtype="int64") * 1000003 + int(seed)
    value, token = _top_p(x, tensor_of(name, ps, "ps"), threshold, topp_seed, mode == "truncated")
    return (value, token, *topk(x, max(int(k), 1), -1)) if return_top else (value, token)
