"""Attention at chosen places."""

from __future__ import annotations

import math

import numpy as np

from ....engine import errors
from ....engine.op import api
from ....ops.manipulation import reshape, tensor_of
from ...creation import sparse_of
from ...pattern import index_tensor
from ...products import _flat_index, _sddmm, spmm
from ...values import gather_values
from .activation import group_softmax


@api(method=False)
def attention(query, key, value, sparse_mask, key_padding_mask=None, attn_mask=None):
    """softmax(query @ key^T / sqrt(head_dim)) @ value, where the scores exist only at the places of a sparse mask.

    Args:
        query, key, value: shape [batch, heads, length, head_dim].
        sparse_mask: CSR, shape [batch * heads, length, length]; its values do not matter.
        key_padding_mask: shape [batch, length], 0 where a key does not count; or None.
        attn_mask: shape [length, length], 0 where a query does not see a key; or None.

    Returns:
        A dense tensor of the shape of `query`; zeros for a query that sees no key.

    Raises:
        ValueError: shapes that do not fit.
        TypeError: the mask is not CSR, or different data types.

    Example:
        >>> x, mask = paddle.ones([1, 1, 2, 4]), paddle.eye(2).reshape([1, 2, 2]).to_sparse_csr()
        >>> paddle.sparse.nn.functional.attention(x, x, x * 3, mask).flatten().tolist()
        [3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]
    """
    name = "attention"
    query, key, value = (tensor_of(name, t, a) for t, a in ((query, "query"), (key, "key"), (value, "value")))
    if query.ndim != 4 or list(key.shape) != list(query.shape) or list(value.shape) != list(query.shape):
        raise errors.ValueError_(
            f"{name}: query, key and value must have one shape [batch, heads, length, head_dim], "
            f"got {list(query.shape)}, {list(key.shape)}, {list(value.shape)}"
        )
    batch, heads, length, width = query.shape
    pattern = sparse_of(name, sparse_mask, "sparse_mask", "csr")._pattern
    if list(pattern.shape) != [batch * heads, length, length]:
        raise errors.ValueError_(
            f"{name}: sparse_mask must have shape [{batch * heads}, {length}, {length}], got {list(pattern.shape)}"
        )
    rows, cols = _flat_index(pattern)
    q, k, v = (reshape(t, [batch * heads * length, width]) for t in (query, key, value))
    scores = _sddmm(q, k, rows, cols) / math.sqrt(width)
    matrix, row, col = pattern.coords
    keep = None
    for mask, shape, where in (
        (key_padding_mask, [batch, length], (matrix // max(heads, 1), col)),
        (attn_mask, [length, length], (row, col)),
    ):
        if mask is None:
            continue
        if list(tensor_of(name, mask, "a mask").shape) != shape:
            raise errors.ValueError_(f"{name}: a mask must have shape {shape}, got {list(mask.shape)}")
        seen = gather_values(mask, index_tensor(np.stack(where))) != 0
        keep = seen if keep is None else keep.logical_and(seen)
    weights = group_softmax(scores, rows, batch * heads * length, keep)
    return reshape(spmm(weights, pattern, v), query.shape)
