"""The best sequence of tags (Viterbi, "Error bounds for convolutional codes", 1967)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.tensor import Tensor
from ..engine.value import PROBES
from ..nn.layer import Layer
from ..ops.creation import to_tensor

__all__ = ["ViterbiDecoder", "viterbi_decode"]


@op(method=False, export=False, differentiable=False)
def viterbi_path(potentials, transitions, lengths, include_bos_eos_tag):
    """The best score of each sequence, and its tags [batch, steps], 0 behind the end."""
    steps = jnp.moveaxis(potentials, 1, 0)
    ends = jnp.where((lengths > 0)[:, None] & include_bos_eos_tag, transitions[-2], 0).astype(steps.dtype)
    first = steps[0] + transitions[-1] if include_bos_eos_tag else steps[0]
    lengths = jnp.maximum(lengths, 1)

    def forward(score, now):
        emitted, t = now
        paths = score[:, :, None] + transitions
        going = (t < lengths)[:, None]
        came = jnp.where(going, paths.argmax(1), jnp.arange(score.shape[1]))
        return jnp.where(going, paths.max(1) + emitted, score), came

    score, came = jax.lax.scan(forward, first, (steps[1:], jnp.arange(1, len(steps))))
    score = score + ends
    last = score.argmax(1)

    def back(tag, pointers):
        before = jnp.take_along_axis(pointers, tag[:, None], 1)[:, 0]
        return before, before

    tags = jnp.concatenate([jax.lax.scan(back, last, came, reverse=True)[1], last[None]]).T
    inside = jnp.arange(len(steps)) < lengths[:, None]
    return score.max(1), jnp.where(inside, tags, 0).astype(jnp.int64)


def _shapes(specs, trial, *attributes):
    batch = specs[0].shape[0]
    return [((batch,), specs[0].dtype), ((batch, PROBES[trial]), np.int64)]


@api(method=False, export=False, on_host=_shapes)
def viterbi_decode(potentials, transition_params, lengths, include_bos_eos_tag=True, name=None):
    """The sequences of tags with the best scores, as a linear-chain conditional random field gives them.

    Args:
        potentials: the scores of the tags at each step, float32 or float64 [batch, steps, tags].
        transition_params: the score of going from one tag (row) to another (column), [tags, tags], same type.
        lengths: the steps of each sequence, int64 [batch].
        include_bos_eos_tag: the last row is that of a tag that stands before the start, the row before the last that of
            one that stands behind the end; they count for the first and the last tag.

    Returns:
        The best scores [batch], and the tags, int64 [batch, longest], 0 behind the end of a sequence.

    Raises:
        ValueError: shapes or types that do not fit, lengths outside of [0, steps].

    Example:
        >>> scores = paddle.to_tensor([[[1.0, 0.0], [0.0, 3.0]]])
        >>> paddle.text.viterbi_decode(scores, paddle.zeros([2, 2]), paddle.to_tensor([2]), False)[1].tolist()
        [[0, 1]]
    """
    potentials, transitions = to_tensor(potentials), to_tensor(transition_params)
    if potentials.ndim != 3:
        raise errors.ValueError_(
            f"viterbi_decode: potentials must have the shape [batch, steps, tags], got {errors.describe(potentials)}"
        )
    batch, steps, tags = potentials.shape
    if not potentials.is_floating_point() or transitions.dtype != potentials.dtype:
        raise errors.ValueError_(
            "viterbi_decode: potentials and transition_params must have one floating type, got "
            f"{errors.describe(potentials)} and {errors.describe(transitions)}"
        )
    if list(transitions.shape) != [tags, tags]:
        raise errors.ValueError_(
            f"viterbi_decode: transition_params must have the shape [{tags}, {tags}], got {transitions.shape}"
        )
    if tags < (2 if include_bos_eos_tag else 1):
        raise errors.ValueError_("viterbi_decode: with the tags for start and end there are at least 2 tags")
    sizes = np.asarray(lengths.numpy() if isinstance(lengths, Tensor) else lengths)
    if sizes.shape != (batch,) or sizes.dtype.kind not in "iu":
        raise errors.ValueError_(
            f"viterbi_decode: lengths must be integers of shape [{batch}], got {errors.describe(lengths)}"
        )
    if sizes.size and (sizes.min() < 0 or sizes.max() > steps):
        raise errors.ValueError_(f"viterbi_decode: lengths must be from 0 to {steps}, got {sizes[:8].tolist()}")
    if not batch or not steps:
        return to_tensor(np.zeros(batch), dtype=potentials.dtype), to_tensor(np.zeros((batch, 0), "int64"))
    longest = int(sizes.max())
    # all steps are decoded, so that batches with other lengths run the same executable
    scores, path = viterbi_path(potentials, transitions, to_tensor(sizes.astype("int64")), bool(include_bos_eos_tag))
    return scores, path[:, :longest]


class ViterbiDecoder(Layer):
    """`viterbi_decode` with fixed transitions.

    Args:
        transitions: scores of going from one tag (row) to another (column), [tags, tags].
        include_bos_eos_tag: the last two tags are those of start and end.

    Shape:
        potentials [batch, steps, tags] and lengths [batch] to scores [batch] and tags [batch, longest].

    Example:
        >>> decoder = paddle.text.ViterbiDecoder(paddle.zeros([2, 2]), include_bos_eos_tag=False)
        >>> decoder(paddle.to_tensor([[[1.0, 0.0], [0.0, 3.0]]]), paddle.to_tensor([2]))[1].tolist()
        [[0, 1]]
    """

    def __init__(self, transitions: Tensor, include_bos_eos_tag: bool = True, name: str | None = None):
        super().__init__()
        self.transitions = transitions
        self.include_bos_eos_tag = include_bos_eos_tag
        self.name = name

    def forward(self, potentials: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        return viterbi_decode(potentials, self.transitions, lengths, self.include_bos_eos_tag)
