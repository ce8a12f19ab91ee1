"""Attention of several heads with PyTorch's arguments."""

from __future__ import annotations

import math
from typing import Any

from ...engine import errors
from ...nn import functional as F
from ...nn.initializer import Constant, XavierNormal, XavierUniform
from ...nn.layer import Layer
from ...ops.creation import full_like, ones, zeros
from ...ops.joining import concat
from ...ops.linalg import matmul
from ...ops.selection import where
from .functional import attention_weights
from .layers import Linear


class MultiheadAttention(Layer):
    """Attention of several heads (Vaswani et al., "Attention Is All You Need", 2017).

    Args:
        embed_dim: width of queries and results; `num_heads` divides it.
        num_heads: number of heads.
        dropout: of the weights, in training.
        bias: the projections have biases.
        add_bias_kv: one learned key and value more.
        add_zero_attn: one key and value of zeros more.
        kdim, vdim: widths of keys and values, default embed_dim.
        batch_first: the inputs are [batch, length, width], not [length, batch, width].
        device, dtype: of the parameters.

    Raises:
        ValueError: num_heads does not divide embed_dim.

    Example:
        >>> x = paddle.ones([3, 2, 8])
        >>> out, weights = paddle.compat.nn.MultiheadAttention(8, 2)(x, x, x)
        >>> out.shape, weights.shape
        ([3, 2, 8], [2, 3, 3])
    """

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
        batch_first=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise errors.ValueError_(
                f"MultiheadAttention: num_heads must divide embed_dim, got {num_heads} and {embed_dim}"
            )
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self._same = self.kdim == self.vdim == embed_dim

        def parameter(shape: list[int], initial: Any) -> Any:
            return self.create_parameter(shape, dtype=dtype, default_initializer=initial, device=device)

        if self._same:
            self.in_proj_weight = parameter([3 * embed_dim, embed_dim], XavierUniform())
            self.in_proj_bias = parameter([3 * embed_dim], Constant(0.0)) if bias else None
        else:
            for name, width in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
                setattr(self, f"{name}_proj_weight", parameter([embed_dim, width], XavierUniform()))
            for name in "qkv":
                setattr(self, f"{name}_proj_bias", parameter([embed_dim], Constant(0.0)) if bias else None)
        self.bias_k = parameter([1, 1, embed_dim], XavierNormal()) if add_bias_kv else None
        self.bias_v = parameter([1, 1, embed_dim], XavierNormal()) if add_bias_kv else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, device, dtype)
        if bias:
            Constant(0.0)(self.out_proj.bias)

    def _projected(self, inputs: tuple) -> list:
        if self._same:
            weights = self.in_proj_weight.chunk(3)
            biases = [None] * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        else:
            weights = [getattr(self, f"{name}_proj_weight") for name in "qkv"]
            biases = [getattr(self, f"{name}_proj_bias") for name in "qkv"]
        return [F.linear(x, w.transpose([1, 0]), b) for x, w, b in zip(inputs, weights, biases)]

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights=True,
        attn_mask=None,
        average_attn_weights=True,
        is_causal=False,
    ):
        """(The result, shaped as the query; the weights [batch, length, keys], for each head [batch, heads, length,
        keys]
        with average_attn_weights=False, None with need_weights=False).

        Args:
            query, key, value: [length, batch, width], [batch, length, width] with batch_first, or [length, width].
            key_padding_mask: [batch, keys], True (or a number that is added) where a key does not count.
            attn_mask: [length, keys] or [batch * heads, length, keys], True where a query does not see a key, or
                numbers
                that are added.
            is_causal: a query sees the keys up to its own place.
        """
        single = query.ndim == 2
        if query.ndim not in (2, 3) or key.ndim != query.ndim or value.ndim != query.ndim:
            raise errors.ValueError_(
                f"MultiheadAttention: query, key and value must have two or three dimensions "
                f"alike, got {query.ndim}, {key.ndim} and {value.ndim}"
            )
        if single:
            query, key, value = (t.unsqueeze(0) for t in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            query, key, value = (t.transpose([1, 0, 2]) for t in (query, key, value))
        batch, length = query.shape[:2]
        q, k, v = self._projected((query, key, value))
        added = 0
        if self.bias_k is not None:
            extra = (b.expand([batch, 1, self.embed_dim]) for b in (self.bias_k, self.bias_v))
            k, v = (concat([t, b], 1) for t, b in zip((k, v), extra))
            added += 1
        if self.add_zero_attn:
            k, v = (concat([t, zeros([batch, 1, self.embed_dim], t.dtype)], 1) for t in (k, v))
            added += 1
        heads = [t.reshape([batch, -1, self.num_heads, self.head_dim]).transpose([0, 2, 1, 3]) for t in (q, k, v)]
        mask = self._mask(key_padding_mask, attn_mask, is_causal, length, key.shape[1], added, q.dtype)
        weights, _ = attention_weights(heads[0], heads[1], mask, False)
        dropped = F.dropout(weights, self.dropout, training=self.training) if self.dropout else weights
        out = matmul(dropped, heads[2]).transpose([0, 2, 1, 3]).reshape([batch, length, self.embed_dim])
        out = self.out_proj(out)
        if single:
            out, weights = out.squeeze(0), weights.squeeze(0)
        elif not self.batch_first:
            out = out.transpose([1, 0, 2])
        if not need_weights:
            return out, None
        return out, weights.mean(0 if single else 1) if average_attn_weights else weights

    def _mask(self, padding: Any, mask: Any, causal: bool, length: int, keys: int, added: int, dtype: Any) -> Any:
        """What is added to the scores [batch, heads, length, keys], or None."""

        def numbers(m: Any) -> Any:
            if m.dtype.name != "bool":
                return m.astype(dtype)
            zero = zeros(m.shape, dtype)
            return where(m, full_like(zero, -math.inf), zero)

        total = None
        if causal and mask is None:
            mask = ones([length, keys], "bool").triu(1)
        if mask is not None:
            total = numbers(mask)
            if mask.ndim == 3:
                total = total.reshape([-1, self.num_heads, length, keys])
        if padding is not None:
            far = numbers(padding).unsqueeze([1, 2])
            total = far if total is None else total + far
        if total is not None and added:
            total = concat([total, zeros([*total.shape[:-1], added], dtype)], -1)
        return total
