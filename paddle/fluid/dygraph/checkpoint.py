"""Recomputation as a context."""

from __future__ import annotations

from ...engine.recomputation import Segment

__all__ = ["checkpoint_guard"]


def checkpoint_guard() -> Segment:
    """A context: what is computed inside is not kept for the backward pass but computed there again, with the same random
    numbers (see `paddle.distributed.fleet.utils.recompute`).

    Example:
        >>> layer = paddle.nn.Linear(2, 2)
        >>> with paddle.fluid.dygraph.checkpoint_guard():
        ...     y = layer(paddle.ones([1, 2]))
        >>> y.sum().backward()
    """
    return Segment()
