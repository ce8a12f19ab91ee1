"""Small helpers of sequence and classification models: masks of lengths, smoothed labels, beams."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.op import api, op
from ..engine.tensor import Tensor
from ..engine.value import ABSTRACT, Dim, Value

nn_op = functools.partial(op, method=False)
nn_api = functools.partial(api, method=False)


@nn_op
def label_smooth(label, prior_dist=None, epsilon=0.1):
    """(1 - epsilon) * label + epsilon * prior (Szegedy et al., 2015).

    Args:
        label: probabilities (one-hot), shape [..., C], floating.
        prior_dist: shape [1, C]; uniform when None.
        epsilon: in [0, 1].

    Raises:
        ValueError: epsilon out of range.
        TypeError: integer labels.

    Example:
        >>> paddle.nn.functional.label_smooth(paddle.to_tensor([[0.0, 1.0]]), epsilon=0.5).tolist()
        [[0.25, 0.75]]
    """
    if not 0 <= epsilon <= 1:
        raise errors.ValueError_(f"label_smooth: epsilon must be between 0 and 1, got {epsilon}")
    if not jnp.issubdtype(label.dtype, jnp.floating):
        raise errors.TypeError_(f"label_smooth: label must be floating (one-hot), got {label.dtype.name}")
    if prior_dist is not None:
        prior = prior_dist.astype(label.dtype).reshape((1,) * (label.ndim - 1) + (label.shape[-1],))
        return (1 - epsilon) * label + epsilon * prior
    return (1 - epsilon) * label + epsilon / max(label.shape[-1], 1)


@nn_op(export=False, name="sequence_mask", differentiable=False, static="maxlen")
def _sequence_mask(x, maxlen, dtype):
    at = jnp.arange(maxlen, dtype=x.dtype if jnp.issubdtype(x.dtype, jnp.integer) else np.int64)
    return (at < x[..., None]).astype(to_dtype(dtype).numpy)


@nn_api
def sequence_mask(x, maxlen=None, dtype="int64"):
    """1 where the position along a new last axis is below the length in x, else 0.

    Args:
        x: lengths, any shape.
        maxlen: the length of the new axis, an int or a tensor; the longest of x when None.
        dtype: of the result.

    Raises:
        ValueError: maxlen below 0.
        RuntimeError: no maxlen inside a compiled function, where the shape may not depend on data.

    Example:
        >>> paddle.nn.functional.sequence_mask(paddle.to_tensor([1, 2])).tolist()
        [[1, 0], [1, 1]]
    """
    if isinstance(x._raw, Value) and maxlen is None or isinstance(maxlen, Tensor) and isinstance(maxlen._raw, Value):
        longest = x.max() if maxlen is None else maxlen.reshape([])  # read when the program runs
        return _sequence_mask(x, longest, to_dtype(dtype))
    if isinstance(maxlen, Dim):
        return _sequence_mask(x, maxlen, to_dtype(dtype))
    if maxlen is None:
        if isinstance(x._raw, ABSTRACT):
            raise errors.RuntimeError_(
                "sequence_mask: a compiled function needs maxlen, as a shape cannot depend on data"
            )
        maxlen = int(np.max(x.numpy())) if x._raw.size else 0
    elif isinstance(maxlen, Tensor):
        maxlen = int(maxlen.item())
    if maxlen < 0:
        raise errors.ValueError_(f"sequence_mask: maxlen cannot be negative, got {maxlen}")
    return _sequence_mask(x, int(maxlen), to_dtype(dtype))


@nn_op(differentiable=False)
def gather_tree(ids, parents):
    """The full sequences of a beam search, by going back from the last step along the parents.

    Args:
        ids: the token chosen at each step, shape [time, batch, beams].
        parents: the beam that it continues, same shape.

    Raises:
        ValueError: shapes that differ or are not 3-D.

    Example:
        >>> F = paddle.nn.functional
        >>> ids, parents = paddle.to_tensor([[[2, 4]], [[6, 1]]]), paddle.to_tensor([[[0, 0]], [[1, 0]]])
        >>> F.gather_tree(ids, parents).tolist()
        [[[4, 2]], [[6, 1]]]
    """
    if ids.ndim != 3 or ids.shape != parents.shape:
        raise errors.ValueError_(
            f"gather_tree: ids and parents must have one 3-D shape, got {list(ids.shape)} and {list(parents.shape)}"
        )
    if not ids.size:
        return ids

    def step(beam, now):
        token, parent = now
        return jnp.take_along_axis(parent, beam, 1), jnp.take_along_axis(token, beam, 1)

    last = jnp.broadcast_to(jnp.arange(ids.shape[2], dtype=parents.dtype), ids.shape[1:])
    return jax.lax.scan(step, last, (ids, parents), reverse=True)[1]
