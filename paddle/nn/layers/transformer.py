"""Multi-head attention and the Transformer (Vaswani et al., 2017)."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from ...engine import errors
from ...engine.dtype import default_dtype
from ...engine.tensor import Tensor
from ...ops.creation import full, zeros
from ...ops.diagonals import triu
from ...ops.joining import concat
from .. import functional as F
from ..container import LayerList
from ..layer import Layer
from .common import Dropout, Linear
from .norm import LayerNorm

Cache = namedtuple("Cache", ["k", "v"])  # keys and values of all heads so far; it grows with every call
StaticCache = namedtuple("StaticCache", ["k", "v"])  # those of a memory that stays


def _positive(kind: str, **numbers: Any) -> None:
    for name, value in numbers.items():
        assert value > 0, f"(InvalidArgument) {kind}: {name} must be greater than 0, got {value}"


def _additive(mask: Any, dtype: Any) -> Any:
    """A mask as what is added to the scores: bool and integer masks are true where a position takes part."""
    if mask is None:
        return None
    if not isinstance(mask, Tensor):
        raise errors.TypeError_(f"attn_mask must be a Tensor, got {errors.describe(mask)}")
    return mask.astype(dtype) if mask.dtype.is_floating else (mask.astype(dtype) - 1) * 1e9


class MultiHeadAttention(Layer):
    """Attention of several heads, each on its own projection of query, key and value.

    Args:
        embed_dim: width of query and output.
        num_heads: number of heads, which divides embed_dim.
        dropout: probability of dropping an attention weight in training.
        kdim, vdim: widths of key and value, by default embed_dim.
        need_weights: return the attention weights, too.
        weight_attr, bias_attr: of the projections `q_proj`, `k_proj`, `v_proj`, `out_proj`.

    Called with query [batch, length, embed_dim], key and value (by default the query), `attn_mask` (broadcasts to
    [batch, heads, length, length of keys]; bool or integer: true takes part, floating: added) and `cache`, it returns
    the output, and behind it the weights with need_weights and the new cache with a cache, as a tuple.

    Raises:
        AssertionError: sizes that are not positive or do not divide.
        ValueError: inputs that do not fit.

    Example:
        >>> paddle.nn.MultiHeadAttention(8, 2)(paddle.ones([2, 4, 8])).shape
        [2, 4, 8]
    """

    Cache, StaticCache = Cache, StaticCache

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        kdim=None,
        vdim=None,
        need_weights=False,
        weight_attr=None,
        bias_attr=None,
    ):
        super().__init__()
        _positive("MultiHeadAttention", embed_dim=embed_dim, num_heads=num_heads)
        assert embed_dim % num_heads == 0, (
            f"(InvalidArgument) MultiHeadAttention: num_heads={num_heads} must divide embed_dim={embed_dim}"
        )
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.dropout, self.need_weights = dropout, need_weights
        self.q_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)
        self.k_proj = Linear(self.kdim, embed_dim, weight_attr, bias_attr)
        self.v_proj = Linear(self.vdim, embed_dim, weight_attr, bias_attr)
        self.out_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)

    def _heads(self, x: Tensor, projection: Linear, what: str) -> Tensor:
        """[batch, length, width] projected, as [batch, length, heads, head_dim]."""
        if x.ndim != 3:
            raise errors.ValueError_(f"MultiHeadAttention: {what} must be 3-D, got shape {list(x.shape)}")
        return projection(x).reshape([*x.shape[:2], self.num_heads, self.head_dim])

    def compute_kv(self, key, value):
        """Keys and values of all heads, each of shape [batch, heads, length, head_dim]."""
        return (
            self._heads(key, self.k_proj, "key").transpose([0, 2, 1, 3]),
            self._heads(value, self.v_proj, "value").transpose([0, 2, 1, 3]),
        )

    def gen_cache(self, key, value=None, type=Cache):
        """A cache for `forward`.

        Args:
            key, value: for a StaticCache what keys and values are computed from, once; for a Cache keys and values
                themselves, or in `key` alone a tensor with the batch in front, for an empty cache.
            type: `MultiHeadAttention.Cache`, which grows with every call, or `MultiHeadAttention.StaticCache`.

        Example:
            >>> layer = paddle.nn.MultiHeadAttention(8, 2)
            >>> x = paddle.ones([2, 1, 8])
            >>> y, cache = layer(x, x, x, None, layer.gen_cache(x))
            >>> cache.k.shape
            [2, 2, 1, 4]
        """
        if type is StaticCache:
            return StaticCache(*self.compute_kv(key, key if value is None else value))
        if value is not None:
            return Cache(key, value)
        empty = zeros([key.shape[0], self.num_heads, 0, self.head_dim], key.dtype if key.dtype.is_floating else None)
        return Cache(empty, empty)

    def forward(self, query, key=None, value=None, attn_mask=None, cache=None):
        key = query if key is None else key
        value = query if value is None else value
        q = self._heads(query, self.q_proj, "query")
        if isinstance(cache, StaticCache):
            k, v = (each.transpose([0, 2, 1, 3]) for each in cache)
        else:
            k, v = self._heads(key, self.k_proj, "key"), self._heads(value, self.v_proj, "value")
            if isinstance(cache, Cache):
                k, v = (concat([old.transpose([0, 2, 1, 3]), new], 1) for old, new in zip(cache, (k, v)))
                cache = Cache(k.transpose([0, 2, 1, 3]), v.transpose([0, 2, 1, 3]))
            elif cache is not None:
                raise errors.TypeError_(
                    f"MultiHeadAttention: cache must be a Cache or StaticCache, got {errors.describe(cache)}"
                )
        if not q.shape[0] == k.shape[0] == v.shape[0] or k.shape[1] != v.shape[1]:
            raise errors.ValueError_(
                "MultiHeadAttention: batch and length of query, key and value must fit, got "
                f"{list(query.shape)}, {list(k.shape)}, {list(v.shape)}"
            )
        mask = _additive(attn_mask, q.dtype)
        if self.need_weights:
            out, weights = self._weighted(q, k, v, mask)
        else:
            out = F.scaled_dot_product_attention(q, k, v, mask, self.dropout, training=self.training)
        out = self.out_proj(out.reshape([*out.shape[:2], self.embed_dim]))
        outs = (out, *([weights] if self.need_weights else []), *([] if cache is None else [cache]))
        return out if len(outs) == 1 else outs

    def _weighted(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The attention step by step, for the weights."""
        q, k, v = (each.transpose([0, 2, 1, 3]) for each in (q, k, v))
        scores = (q * self.head_dim**-0.5).matmul(k, transpose_y=True)
        weights = F.softmax(scores if mask is None else scores + mask)
        if self.dropout:
            weights = F.dropout(weights, self.dropout, training=self.training)
        return weights.matmul(v).transpose([0, 2, 1, 3]), weights


def _attrs(attr: Any, n: int, name: str) -> list:
    """One attr for each part of a layer."""
    if not isinstance(attr, (list, tuple)):
        return [attr] * n
    assert len(attr) == n, f"(InvalidArgument) {name} must be one for all or a list of {n}, got {len(attr)}"
    return list(attr)


class _TransformerLayer(Layer):
    """What encoder and decoder layers share: sublayers around a residual connection each."""

    _attentions: tuple[str, ...] = ()

    def _setup(self, config: dict) -> None:
        self._config = {k: v for k, v in config.items() if k not in ("self", "__class__")}
        kind, c = type(self).__name__, self._config
        d_model, nhead, width, dropout = c["d_model"], c["nhead"], c["dim_feedforward"], c["dropout"]
        _positive(kind, d_model=d_model, nhead=nhead, dim_feedforward=width)
        attn_dropout = dropout if c["attn_dropout"] is None else c["attn_dropout"]
        act_dropout = dropout if c["act_dropout"] is None else c["act_dropout"]
        activation = getattr(F, c["activation"], None) if isinstance(c["activation"], str) else None
        if activation is None:
            raise errors.ValueError_(
                f"{kind}: activation must name a function of paddle.nn.functional, got {c['activation']!r}"
            )
        self.activation, self.normalize_before = activation, c["normalize_before"]
        parts = len(self._attentions) + 1
        weights, biases = (_attrs(c[name], parts, f"{kind}: {name}") for name in ("weight_attr", "bias_attr"))
        for name, weight, bias in zip(self._attentions, weights, biases):
            setattr(self, name, MultiHeadAttention(d_model, nhead, attn_dropout, weight_attr=weight, bias_attr=bias))
        self.linear1 = Linear(d_model, width, weights[-1], biases[-1])
        self.dropout = Dropout(act_dropout)
        self.linear2 = Linear(width, d_model, weights[-1], biases[-1])
        for i in range(1, parts + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, c["layer_norm_eps"]))
        for i in range(1, parts + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))

    def _residual(self, i: int, x: Tensor, part: Any) -> tuple:
        """x + dropout(part(x)), normalized before or after; `part` returns (output, something that is passed on)."""
        norm, dropout = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
        out, more = part(norm(x) if self.normalize_before else x)
        out = x + dropout(out)
        return out if self.normalize_before else norm(out), more

    def _feed_forward(self, x: Tensor) -> tuple:
        return self.linear2(self.dropout(self.activation(self.linear1(x)))), None


def _attend(attention: MultiHeadAttention, query: Any, memory: Any, mask: Any, cache: Any) -> tuple:
    """(output, new cache) of an attention layer."""
    out = attention(query, memory, memory, mask, cache)
    return (out[0], out[-1] if cache is not None else None) if isinstance(out, tuple) else (out, None)


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and a feed-forward network, each with dropout, residual connection and layer normalization.

    Args:
        d_model: width of input and output.
        nhead: number of attention heads.
        dim_feedforward: width inside the feed-forward network.
        dropout: after attention and network.
        activation: name of a function in paddle.nn.functional.
        attn_dropout: of the attention weights, by default `dropout`.
        act_dropout: after the activation, by default `dropout`.
        normalize_before: normalize the input of each part instead of the sum behind it.
        weight_attr, bias_attr: of all linear maps, or a list of two: attention, feed-forward network.
        layer_norm_eps: epsilon of the normalizations.

    Called with src [batch, length, d_model], `src_mask` and `cache` (see MultiHeadAttention), it returns the output,
    with a cache (output, new cache).

    Raises:
        AssertionError: sizes that are not positive or do not divide.
        ValueError: an unknown activation.

    Example:
        >>> paddle.nn.TransformerEncoderLayer(8, 2, 16)(paddle.ones([2, 4, 8])).shape
        [2, 4, 8]
    """

    _attentions = ("self_attn",)

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward,
        dropout=0.1,
        activation="relu",
        attn_dropout=None,
        act_dropout=None,
        normalize_before=False,
        weight_attr=None,
        bias_attr=None,
        layer_norm_eps=1e-05,
    ):
        config = dict(locals())
        super().__init__()
        self._setup(config)

    def forward(self, src, src_mask=None, cache=None):
        src, new = self._residual(1, src, lambda x: _attend(self.self_attn, x, x, src_mask, cache))
        src, _ = self._residual(2, src, self._feed_forward)
        return src if cache is None else (src, new)

    def gen_cache(self, src):
        """An empty cache for a batch like that of `src`."""
        return self.self_attn.gen_cache(src, type=Cache)


class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention to the encoder's output, and a feed-forward network.

    Args:
        weight_attr, bias_attr: of all linear maps, or a list of three: self-attention, attention to the encoder,
            feed-forward network.
        d_model, nhead, dim_feedforward, dropout, activation, attn_dropout, act_dropout, normalize_before,
            layer_norm_eps: see TransformerEncoderLayer.

    Called with tgt [batch, length, d_model], memory [batch, length of source, d_model], `tgt_mask`, `memory_mask` and a
    `cache` of `gen_cache`, it returns the output, with a cache (output, new cache).

    Example:
        >>> paddle.nn.TransformerDecoderLayer(8, 2, 16)(paddle.ones([2, 3, 8]), paddle.ones([2, 4, 8])).shape
        [2, 3, 8]
    """

    _attentions = ("self_attn", "cross_attn")

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward,
        dropout=0.1,
        activation="relu",
        attn_dropout=None,
        act_dropout=None,
        normalize_before=False,
        weight_attr=None,
        bias_attr=None,
        layer_norm_eps=1e-05,
    ):
        config = dict(locals())
        super().__init__()
        self._setup(config)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, cache=None):
        own, static = (None, None) if cache is None else cache
        tgt, own = self._residual(1, tgt, lambda x: _attend(self.self_attn, x, x, tgt_mask, own))
        tgt, static = self._residual(2, tgt, lambda x: _attend(self.cross_attn, x, memory, memory_mask, static))
        tgt, _ = self._residual(3, tgt, self._feed_forward)
        return tgt if cache is None else (tgt, (own, static))

    def gen_cache(self, memory):
        """(an empty cache for the self-attention, keys and values of `memory` for the attention to it)."""
        return (self.self_attn.gen_cache(memory, type=Cache), self.cross_attn.gen_cache(memory, memory, StaticCache))


class _Stack(Layer):
    """Equal layers one after the other: the given one, and new ones with its configuration."""

    def _setup(self, layer: Layer, num_layers: int, norm: Layer | None) -> None:
        if num_layers < 1:
            raise errors.ValueError_(f"{type(self).__name__}: num_layers must be positive, got {num_layers}")
        self.layers = LayerList([layer] + [type(layer)(**layer._config) for _ in range(num_layers - 1)])
        self.num_layers, self.norm = num_layers, norm

    def _through(self, x: Tensor, call: Any, cache: Any) -> Any:
        """Through all layers and the norm; with caches also the list of the new ones."""
        if cache is not None and len(cache) != self.num_layers:
            raise errors.ValueError_(
                f"{type(self).__name__}: cache must have one for each of {self.num_layers} layers, got {len(cache)}"
            )
        caches = []
        for i, layer in enumerate(self.layers):
            if cache is None:
                x = call(layer, x, None)
            else:
                x, new = call(layer, x, cache[i])
                caches.append(new)
        x = x if self.norm is None else self.norm(x)
        return x if cache is None else (x, caches)


class TransformerEncoder(_Stack):
    """A stack of encoder layers.

    Args:
        encoder_layer: the first one; the others are made like it, with parameters of their own.
        num_layers: how many.
        norm: a layer behind them.

    Called with src [batch, length, d_model], `src_mask` and a `cache` of `gen_cache`, it returns the output, with a
    cache (output, new cache).

    Example:
        >>> layer = paddle.nn.TransformerEncoderLayer(8, 2, 16)
        >>> paddle.nn.TransformerEncoder(layer, 2)(paddle.ones([2, 4, 8])).shape
        [2, 4, 8]
    """

    def __init__(self, encoder_layer, num_layers, norm=None):
        super().__init__()
        self._setup(encoder_layer, num_layers, norm)

    def forward(self, src, src_mask=None, cache=None):
        def call(layer, x, cache):
            return layer(x, src_mask=src_mask) if cache is None else layer(x, src_mask=src_mask, cache=cache)

        return self._through(src, call, cache)

    def gen_cache(self, src):
        """A list with the empty cache of each layer."""
        return [layer.gen_cache(src) for layer in self.layers]


class TransformerDecoder(_Stack):
    """A stack of decoder layers; the arguments are those of TransformerEncoder.

    Called with tgt, memory, `tgt_mask`, `memory_mask` and a `cache` of `gen_cache`, it returns the output, with a cache
    (output, new cache).

    Example:
        >>> layer = paddle.nn.TransformerDecoderLayer(8, 2, 16)
        >>> paddle.nn.TransformerDecoder(layer, 2)(paddle.ones([2, 3, 8]), paddle.ones([2, 4, 8])).shape
        [2, 3, 8]
    """

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self._setup(decoder_layer, num_layers, norm)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, cache=None):
        def call(layer, x, cache):
            masks = {"tgt_mask": tgt_mask, "memory_mask": memory_mask}
            return layer(x, memory, **masks) if cache is None else layer(x, memory, **masks, cache=cache)

        return self._through(tgt, call, cache)

    def gen_cache(self, memory, do_zip=False):
        """A list with the caches of each layer, (for itself, for the memory); with `do_zip` a list of all first and one
        of all second ones."""
        caches = [layer.gen_cache(memory) for layer in self.layers]
        return list(zip(*caches)) if do_zip else caches


class Transformer(Layer):
    """Encoder and decoder.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, attn_dropout, act_dropout, normalize_before: see
            TransformerEncoderLayer.
        num_encoder_layers, num_decoder_layers: how many.
        weight_attr, bias_attr: one for all; a list of two: attention, feed-forward network; a list of three:
            self-attention, attention to the encoder, feed-forward network.
        custom_encoder, custom_decoder: layers to use instead.

    Called with src [batch, length, d_model], tgt [batch, length of target, d_model], `src_mask`, `tgt_mask` and
    `memory_mask` (see MultiHeadAttention), it returns [batch, length of target, d_model].

    Example:
        >>> model = paddle.nn.Transformer(8, 2, 1, 1, 16)
        >>> later = model.generate_square_subsequent_mask(3)
        >>> model(paddle.ones([2, 4, 8]), paddle.ones([2, 3, 8]), tgt_mask=later).shape
        [2, 3, 8]
    """

    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation="relu",
        attn_dropout=None,
        act_dropout=None,
        normalize_before=False,
        weight_attr=None,
        bias_attr=None,
        custom_encoder=None,
        custom_decoder=None,
    ):
        super().__init__()
        _positive("Transformer", d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward)
        weights, biases = _three(weight_attr, "weight_attr"), _three(bias_attr, "bias_attr")
        shared = d_model, nhead, dim_feedforward, dropout, activation, attn_dropout, act_dropout, normalize_before
        self.encoder = (
            custom_encoder
            if custom_encoder is not None
            else TransformerEncoder(
                TransformerEncoderLayer(*shared, weights[::2], biases[::2]), num_encoder_layers, LayerNorm(d_model)
            )
        )
        self.decoder = (
            custom_decoder
            if custom_decoder is not None
            else TransformerDecoder(
                TransformerDecoderLayer(*shared, weights, biases), num_decoder_layers, LayerNorm(d_model)
            )
        )
        self.d_model, self.nhead = d_model, nhead

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None):
        memory = self.encoder(src, src_mask=src_mask)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask)

    def generate_square_subsequent_mask(self, length):
        """The mask [length, length] that hides what comes later: -inf above the diagonal, else 0.

        Example:
            >>> paddle.nn.Transformer(8, 2, 1, 1, 16).generate_square_subsequent_mask(2).tolist()
            [[0.0, -inf], [0.0, 0.0]]
        """
        return triu(full([length, length], float("-inf"), default_dtype()), 1)


def _three(attr: Any, name: str) -> list:
    """The attrs of self-attention, attention to the encoder and feed-forward network."""
    if not isinstance(attr, (list, tuple)):
        return [attr] * 3
    if len(attr) not in (1, 2, 3):
        raise errors.ValueError_(f"Transformer: {name} must be one for all or a list of 1, 2 or 3, got {len(attr)}")
    return [attr[0], attr[-2] if len(attr) == 3 else attr[0], attr[-1]]
