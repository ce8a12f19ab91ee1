"""Mixtures of experts: tokens sorted by the experts that take them, and summed again."""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from .activation import wide
from .checks import host_value

nn_op = functools.partial(op, method=False)
nn_api = functools.partial(api, method=False)


@nn_op(export=False, name="moe_permute", static="rows")
def _moe_permute(x, scale, routes, probabilities, starts, experts, rows):
    n = x.shape[0]
    hit = routes[:, :, None] == jnp.arange(experts)  # token, choice, expert
    taken = jnp.any(hit, 1)
    row = jnp.where(taken, starts + jnp.cumsum(taken, 0) - 1, -1)
    at = jnp.where(taken, row, rows)
    token = jnp.broadcast_to(jnp.arange(n)[:, None], at.shape)
    source = jnp.full((rows,), n).at[at].set(token, mode="drop")
    filled = source < n
    source = jnp.minimum(source, n - 1)

    def spread(values):
        return jnp.where(filled.reshape(-1, *[1] * (values.ndim - 1)), values[source], 0)

    each = jnp.sum(jnp.where(hit, probabilities[:, :, None], 0), 1)
    each = jnp.zeros((rows,), probabilities.dtype).at[at].set(each, mode="drop")
    expert = (
        jnp.full((rows,), -1, np.int32)
        .at[at]
        .set(jnp.broadcast_to(jnp.arange(experts, dtype=np.int32), at.shape), mode="drop")
    )
    return spread(x), row.astype(np.int32), each, x[:0] if scale is None else spread(scale), expert


@nn_api
def moe_permute(
    hidden_states,
    scale,
    expert_routemap_topk,
    expert_prob_topk,
    num_experts,
    tokens_per_expert,
    padding_alignment,
    do_gather=True,
    using_ue8m0_scale=False,
    return_expert_indices=False,
    override_buffer_size=-1,
):
    """A copy of each token for each expert that takes it, sorted by expert.

    Args:
        hidden_states: shape [tokens, width].
        scale: numbers that go with the tokens, shape [tokens, n], or None.
        expert_routemap_topk: the experts of each token, -1 for none, integers of shape [tokens, choices].
        expert_prob_topk: their weights, shape [tokens, choices].
        num_experts: how many experts there are.
        tokens_per_expert: a list, how many tokens each expert takes.
        padding_alignment: the rows of an expert are filled up with zeros to a multiple of this.
        do_gather: only True.
        using_ue8m0_scale: accepted: scale is copied as it is.
        return_expert_indices: also return the expert of each row, -1 for filled ones.
        override_buffer_size: the number of rows of the result, if not negative.

    Returns:
        (the rows, of each token and expert the row or -1, the weight of each row, its scale or None).

    Raises:
        ValueError: shapes that do not fit, experts out of range, tokens_per_expert that is not the count.
        NotImplementedError: do_gather=False.

    Example:
        >>> x, routes = paddle.to_tensor([[1.0], [2.0]]), paddle.to_tensor([[1], [0]], dtype="int32")
        >>> rows = paddle.nn.functional.moe_permute(x, None, routes, paddle.ones([2, 1]), 2, [1, 1], 2)[0]
        >>> rows.flatten().tolist()
        [2.0, 0.0, 1.0, 0.0]
    """
    name = "moe_permute"
    if not do_gather:
        raise errors.NotImplemented_(f"{name}: do_gather=False is not built")
    shape = list(hidden_states.shape)
    if (
        len(shape) != 2
        or not shape[0]
        or expert_routemap_topk.ndim != 2
        or expert_routemap_topk.shape[0] != shape[0]
        or list(expert_prob_topk.shape) != list(expert_routemap_topk.shape)
    ):
        raise errors.ValueError_(
            f"{name}: hidden_states [tokens, width], expert_routemap_topk and expert_prob_topk "
            f"[tokens, choices] are required, got {shape}, {list(expert_routemap_topk.shape)} and "
            f"{list(expert_prob_topk.shape)}"
        )
    if scale is not None and (scale.ndim != 2 or scale.shape[0] != shape[0]):
        raise errors.ValueError_(f"{name}: scale must have shape [{shape[0]}, n], got {list(scale.shape)}")
    counts = np.asarray([int(c) for c in tokens_per_expert], np.int64)
    if len(counts) != num_experts or padding_alignment < 1 or counts.min(initial=0) < 0:
        raise errors.ValueError_(
            f"{name}: tokens_per_expert must have {num_experts} counts and padding_alignment be "
            f"positive, got {counts.tolist()} and {padding_alignment}"
        )
    routes = host_value(expert_routemap_topk)
    if routes is not None:
        if routes.min() < -1 or routes.max() >= num_experts:
            raise errors.ValueError_(
                f"{name}: experts must be in [-1, {num_experts}), got {routes.min()} to {routes.max()}"
            )
        found = [int((routes == e).any(1).sum()) for e in range(num_experts)]
        if found != counts.tolist():
            raise errors.ValueError_(f"{name}: tokens_per_expert is {counts.tolist()}, but the experts take {found}")
    sizes = -(-counts // padding_alignment) * padding_alignment
    rows = int(sizes.sum()) if override_buffer_size < 0 else int(override_buffer_size)
    tokens, rowmap, weights, scales, expert = _moe_permute(
        hidden_states, scale, expert_routemap_topk, expert_prob_topk, np.cumsum(sizes) - sizes, int(num_experts), rows
    )
    out = tokens, rowmap, weights, None if scale is None else scales
    return (*out, expert) if return_expert_indices else out


@nn_op(export=False, name="moe_unpermute")
def _moe_unpermute(x, rowmap, routes, weights, weighted, precise):
    rows = x.shape[0]
    weights = weights.reshape(-1)
    taken = (rowmap >= 0) & (rowmap < rows)
    at = jnp.clip(rowmap, 0, rows - 1)
    parts = wide(x)[at] if precise else x[at]
    if weighted:
        parts = parts * weights[at].astype(parts.dtype)[..., None]
    out = jnp.sum(jnp.where(taken[..., None], parts, 0), 1).astype(x.dtype)
    chosen = jnp.clip(routes, 0, rowmap.shape[1] - 1)
    valid = (routes >= 0) & jnp.take_along_axis(taken, chosen, 1)
    return out, jnp.where(valid, weights[jnp.take_along_axis(at, chosen, 1)], 0)


@nn_api
def moe_unpermute(
    hidden_states_unzipped,
    zipped_expertwise_rowmap,
    expert_routemap_topk,
    token_prob_unzipped,
    total_zipped_tokens,
    num_experts,
    using_mix_precision=True,
    using_weighted_combine=False,
):
    """What `moe_permute` spread, summed for each token.

    Args:
        hidden_states_unzipped: shape [rows, width].
        zipped_expertwise_rowmap: of each token and expert the row or -1, shape [tokens, num_experts].
        expert_routemap_topk: the experts of each token, shape [tokens, choices].
        token_prob_unzipped: the weight of each row, shape [rows] or [rows, 1].
        total_zipped_tokens: the number of tokens.
        using_mix_precision: sum in float32.
        using_weighted_combine: multiply the rows with their weights.

    Returns:
        (the sums of shape [tokens, width], the weights of shape [tokens, choices]).

    Raises ValueError for shapes that do not fit.

    Example:
        >>> x, rows = paddle.to_tensor([[1.0], [2.0]]), paddle.to_tensor([[1, 0]], dtype="int32")
        >>> routes = paddle.to_tensor([[0, 1]], dtype="int32")
        >>> paddle.nn.functional.moe_unpermute(x, rows, routes, paddle.to_tensor([0.4, 0.6]), 1, 2)[0].tolist()
        [[3.0]]
    """
    shape, rows = (
        list(zipped_expertwise_rowmap.shape),
        hidden_states_unzipped.shape[0] if hidden_states_unzipped.ndim else 0,
    )
    if (
        hidden_states_unzipped.ndim != 2
        or not rows
        or shape != [total_zipped_tokens, num_experts]
        or expert_routemap_topk.ndim != 2
        or expert_routemap_topk.shape[0] != shape[0]
        or token_prob_unzipped.size != rows
    ):
        raise errors.ValueError_(
            f"moe_unpermute: hidden_states_unzipped [rows, width], zipped_expertwise_rowmap "
            f"{[total_zipped_tokens, num_experts]}, expert_routemap_topk [tokens, choices] and token_prob_unzipped [rows] are "
            f"required, got {list(hidden_states_unzipped.shape)}, {shape}, {list(expert_routemap_topk.shape)} and "
            f"{list(token_prob_unzipped.shape)}"
        )
    return _moe_unpermute(
        hidden_states_unzipped,
        zipped_expertwise_rowmap,
        expert_routemap_topk,
        token_prob_unzipped,
        bool(using_weighted_combine),
        bool(using_mix_precision),
    )


@nn_op(export=False, name="moe_combine")
def moe_combine(x, combine_weights, scatter_index):
    """For each token the weighted sum of rows: sum over k of combine_weights[s, k] * x[scatter_index[k, s]].

    Args:
        x: shape [rows, width].
        combine_weights: shape [tokens, k].
        scatter_index: integers of shape [k, tokens]; a row out of range counts as zeros.

    Raises ValueError for shapes that do not fit.

    Example:
        >>> x, w = paddle.to_tensor([[1.0], [2.0]]), paddle.to_tensor([[0.5, 0.5]])
        >>> paddle.incubate.nn.functional.moe_combine(x, w, paddle.to_tensor([[0], [1]])).tolist()
        [[1.5]]
    """
    if x.ndim != 2 or combine_weights.ndim != 2 or scatter_index.shape != combine_weights.shape[::-1]:
        raise errors.ValueError_(
            f"moe_combine: x [rows, width], combine_weights [tokens, k] and scatter_index [k, tokens] "
            f"are required, got {list(x.shape)}, {list(combine_weights.shape)} and "
            f"{list(scatter_index.shape)}"
        )
    inside = (scatter_index >= 0) & (scatter_index < x.shape[0])
    parts = wide(x)[jnp.clip(scatter_index, 0, max(x.shape[0] - 1, 0))]
    weights = jnp.where(inside, combine_weights.T, 0).astype(parts.dtype)
    return jnp.sum(parts * weights[..., None], 0).astype(x.dtype)
