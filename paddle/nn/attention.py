"""Which ways of computing attention `scaled_dot_product_attention` may choose from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..ops.attention import SDPBackend, allow_backends

__all__ = ["SDPBackend", "sdpa_kernel"]


@contextlib.contextmanager
def sdpa_kernel(backends: SDPBackend | list[SDPBackend], set_priority: bool = False) -> Iterator[dict]:
    """Restrict the ways in which attention is computed inside the block.

    Args:
        backends: one, or a list in order of preference.
        set_priority: accepted; where a fast way is allowed and possible it is taken.

    Raises:
        AssertionError: neither a backend nor a list.
        TypeError: an element of the list that is none.
        ValueError: an empty list.

    Example:
        >>> with paddle.nn.attention.sdpa_kernel(paddle.nn.attention.SDPBackend.MATH):
        ...     x = paddle.ones([1, 2, 1, 4])
        ...     shape = paddle.nn.functional.scaled_dot_product_attention(x, x, x).shape
    """
    assert isinstance(backends, (SDPBackend, list)), (
        "(InvalidArgument) sdpa_kernel: backends must be an SDPBackend or a list of them"
    )
    with allow_backends([backends] if isinstance(backends, SDPBackend) else backends):
        yield {}
