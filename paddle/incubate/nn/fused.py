"""Layers on operators that officially are one kernel."""

from __future__ import annotations

from typing import Any

from ...engine import errors
from ...nn import Layer
from ...nn.initializer import Constant
from ...nn.layers.common import with_name
from ...ops.dropout import dropout
from . import functional as F


def _positive(name: str, **sizes: Any) -> None:
    for argument, size in sizes.items():
        if not size > 0:
            raise errors.ValueError_(f"{name}: {argument} must be positive, got {size}")


def _one_device(name: str, nranks: int, ring_id: int = -1) -> None:
    if nranks != 1 or ring_id != -1:
        raise errors.NotImplemented_(f"{name}: weights split over {nranks} devices (ring {ring_id}) are not built")


def _norm(layer: Layer, size: int, scale_attr: Any, bias_attr: Any) -> tuple:
    return (
        layer.create_parameter([size], scale_attr, default_initializer=Constant(1.0)),
        layer.create_parameter([size], bias_attr, is_bias=True),
    )


class FusedLinear(Layer):
    """x @ weight + bias.

    Args:
        in_features, out_features: lengths of the last axes of input and output.
        weight_attr: of the weight `[in_features, out_features]`, turned round with transpose_weight.
        bias_attr: of the bias `[out_features]`; False for none.
        transpose_weight: keep the weight turned round.

    Example:
        >>> paddle.incubate.nn.FusedLinear(3, 4, transpose_weight=True).weight.shape
        [4, 3]
    """

    def __init__(self, in_features, out_features, weight_attr=None, bias_attr=None, transpose_weight=False, name=None):
        super().__init__()
        shape = [out_features, in_features] if transpose_weight else [in_features, out_features]
        self.weight = self.create_parameter(shape, weight_attr)
        self.bias = self.create_parameter([out_features], bias_attr, is_bias=True)
        self.transpose_weight, self.name = transpose_weight, name

    def forward(self, input):
        return F.fused_linear(input, self.weight, self.bias, self.transpose_weight)


def _rate(name: str, p: Any, mode: str) -> None:
    if not isinstance(p, (int, float)):
        raise errors.TypeError_(f"{name}: p must be a number, got {errors.describe(p)}")
    if not 0 <= p <= 1:
        raise errors.ValueError_(f"{name}: p must be between 0 and 1, got {p}")
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise errors.ValueError_(f"{name}: mode must be 'upscale_in_train' or 'downscale_in_infer', got {mode!r}")


class FusedDropout(Layer):
    """`paddle.nn.functional.dropout` as a layer.

    Args:
        p: the probability of setting an element to 0.
        axis: an int or a list: the mask varies along these axes only.
        mode: "upscale_in_train" or "downscale_in_infer".

    Raises ValueError for p out of range or an unknown mode.

    Example:
        >>> paddle.incubate.nn.FusedDropout(0.0)(paddle.ones([2])).tolist()
        [1.0, 1.0]
    """

    def __init__(self, p=0.5, axis=None, mode="upscale_in_train", name=None):
        super().__init__()
        _rate("FusedDropout", p, mode)
        self.p, self.mode, self.name = p, mode, name
        self.axis = [axis] if isinstance(axis, int) else None if axis is None else list(axis)

    def forward(self, input):
        return dropout(input, self.p, self.axis, self.training, False, self.mode)

    def extra_repr(self):
        return with_name(f"p={self.p}, axis={self.axis}, mode={self.mode}", self.name)


class FusedDropoutAdd(Layer):
    """dropout(x) + y.

    Args:
        p: the probability of setting an element of x to 0.
        mode: "upscale_in_train" or "downscale_in_infer".

    Raises ValueError for p out of range or an unknown mode.

    Example:
        >>> paddle.incubate.nn.FusedDropoutAdd(0.0)(paddle.ones([2]), paddle.ones([2])).tolist()
        [2.0, 2.0]
    """

    def __init__(self, p=0.5, mode="upscale_in_train", name=None):
        super().__init__()
        _rate("FusedDropoutAdd", p, mode)
        self.p, self.mode, self.name = p, mode, name

    def forward(self, x, y):
        return F.fused_dropout_add(x, y, self.p, self.training, self.mode)

    def extra_repr(self):
        return with_name(f"p={self.p}, mode={self.mode}", self.name)


class FusedBiasDropoutResidualLayerNorm(Layer):
    """layer_norm(residual + dropout(x + bias)).

    Args:
        embed_dim: length of the last axis.
        dropout_rate: the probability of setting an element to 0.
        weight_attr, bias_attr: of the scale of the normalisation, and of its bias and the bias of x.
        epsilon: added to the variance.

    Raises ValueError for embed_dim below 1.

    Example:
        >>> layer = paddle.incubate.nn.FusedBiasDropoutResidualLayerNorm(2)
        >>> layer(paddle.ones([1, 2]), paddle.ones([1, 2])).shape
        [1, 2]
    """

    def __init__(self, embed_dim, dropout_rate=0.5, weight_attr=None, bias_attr=None, epsilon=1e-05, name=None):
        super().__init__()
        _positive("FusedBiasDropoutResidualLayerNorm", embed_dim=embed_dim)
        self.embed_dim, self.dropout_rate, self._epsilon, self.name = embed_dim, dropout_rate, epsilon, name
        self.linear_bias = self.create_parameter([embed_dim], bias_attr, is_bias=True)
        self.ln_scale, self.ln_bias = _norm(self, embed_dim, weight_attr, bias_attr)

    def forward(self, x, residual):
        return F.fused_bias_dropout_residual_layer_norm(
            x, residual, self.linear_bias, self.ln_scale, self.ln_bias, self.dropout_rate, self._epsilon, self.training
        )

    def extra_repr(self):
        return with_name(
            f"embed_dim={self.embed_dim}, dropout_rate={self.dropout_rate}, epsilon={self._epsilon}, "
            f"dtype={self._dtype}",
            self.name,
        )


class FusedMultiHeadAttention(Layer):
    """The attention block of a transformer layer: attention of x to itself, dropout, the sum with x, normalisation.

    Args:
        embed_dim: length of the last axis.
        num_heads: divides embed_dim.
        dropout_rate, attn_dropout_rate: of the output, and of the attention weights.
        kdim, vdim: accepted; keys and values come from the query.
        normalize_before: normalise before the attention instead of behind the sum.
        need_weights: only False.
        qkv_weight_attr, qkv_bias_attr, linear_weight_attr, linear_bias_attr, pre_ln_scale_attr, pre_ln_bias_attr,
            ln_scale_attr, ln_bias_attr: of the parameters; False for no bias.
        epsilon: of the normalisation.
        nranks, ring_id: only 1 and -1.
        transpose_qkv_wb: qkv_weight has shape [embed_dim, 3 * embed_dim] instead of [3, num_heads, width, embed_dim].

    Raises:
        ValueError: sizes below 1, heads that do not divide embed_dim, another query, need_weights.
        NotImplementedError: several devices.

    Example:
        >>> paddle.incubate.nn.FusedMultiHeadAttention(4, 2)(paddle.ones([1, 3, 4])).shape
        [1, 3, 4]
    """

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout_rate=0.5,
        attn_dropout_rate=0.5,
        kdim=None,
        vdim=None,
        normalize_before=False,
        need_weights=False,
        qkv_weight_attr=None,
        qkv_bias_attr=None,
        linear_weight_attr=None,
        linear_bias_attr=None,
        pre_ln_scale_attr=None,
        pre_ln_bias_attr=None,
        ln_scale_attr=None,
        ln_bias_attr=None,
        epsilon=1e-05,
        nranks=1,
        ring_id=-1,
        transpose_qkv_wb=False,
        name=None,
    ):
        super().__init__()
        _positive("FusedMultiHeadAttention", embed_dim=embed_dim, num_heads=num_heads)
        _one_device("FusedMultiHeadAttention", nranks, ring_id)
        if embed_dim % num_heads or need_weights:
            raise errors.ValueError_(
                f"FusedMultiHeadAttention: num_heads must divide embed_dim and need_weights be False, "
                f"got {num_heads}, {embed_dim} and {need_weights}"
            )
        self.normalize_before, self.embed_dim, self.num_heads = normalize_before, embed_dim, num_heads
        self.head_dim, self.kdim, self.vdim, self.need_weights = embed_dim // num_heads, kdim, vdim, need_weights
        self.transpose_qkv_wb, self._epsilon = transpose_qkv_wb, epsilon
        self.dropout_rate, self.attn_dropout_rate, self.name = dropout_rate, attn_dropout_rate, name
        shape = [3, num_heads, self.head_dim]
        self.qkv_weight = self.create_parameter(
            [embed_dim, 3 * embed_dim] if transpose_qkv_wb else [*shape, embed_dim], qkv_weight_attr
        )
        self.qkv_bias = self.create_parameter(
            [3 * embed_dim] if transpose_qkv_wb else shape, qkv_bias_attr, is_bias=True
        )
        self.linear_weight = self.create_parameter([embed_dim, embed_dim], linear_weight_attr)
        self.linear_bias = self.create_parameter([embed_dim], linear_bias_attr, is_bias=True)
        self.pre_ln_scale = self.pre_ln_bias = self.ln_scale = self.ln_bias = None
        if normalize_before:
            self.pre_ln_scale, self.pre_ln_bias = _norm(self, embed_dim, pre_ln_scale_attr, pre_ln_bias_attr)
        else:
            self.ln_scale, self.ln_bias = _norm(self, embed_dim, ln_scale_attr, ln_bias_attr)

    def forward(self, query, key=None, value=None, attn_mask=None, cache=None):
        for argument, tensor in (("key", key), ("value", value)):
            if tensor is not None and tensor is not query:
                raise errors.ValueError_(f"FusedMultiHeadAttention: {argument} must be None or the query itself")
        return F.fused_multi_head_attention(
            query,
            self.qkv_weight,
            self.linear_weight,
            self.normalize_before,
            self.pre_ln_scale,
            self.pre_ln_bias,
            self.ln_scale,
            self.ln_bias,
            self._epsilon,
            self.qkv_bias,
            self.linear_bias,
            cache,
            attn_mask,
            self.dropout_rate,
            self.attn_dropout_rate,
            self._epsilon,
            self.training,
            num_heads=self.num_heads,
            transpose_qkv_wb=self.transpose_qkv_wb,
        )

    def extra_repr(self):
        names = (
            "embed_dim",
            "num_heads",
            "dropout_rate",
            "attn_dropout_rate",
            "_epsilon",
            "kdim",
            "vdim",
            "normalize_before",
            "need_weights",
        )
        text = ", ".join(f"{n.lstrip('_')}={getattr(self, n)}" for n in names)
        return with_name(f"{text}, dtype={self._dtype}", self.name)


class FusedFeedForward(Layer):
    """The feedforward block of a transformer layer: two linear maps with an activation and dropout between, the sum with
    the input, normalisation.

    Args:
        d_model, dim_feedforward: lengths of the last axis outside and inside.
        dropout_rate: of the output.
        epsilon: of the normalisation.
        activation: "relu" or "gelu".
        act_dropout_rate: behind the activation; default dropout_rate.
        normalize_before: normalise before the linear maps instead of behind the sum.
        linear1_weight_attr, linear1_bias_attr, linear2_weight_attr, linear2_bias_attr, ln1_scale_attr, ln1_bias_attr,
            ln2_scale_attr, ln2_bias_attr: of the parameters; False for no bias.
        nranks, ring_id: only 1 and -1.

    Raises:
        ValueError: sizes below 1, another activation.
        NotImplementedError: several devices, a cache.

    Example:
        >>> paddle.incubate.nn.FusedFeedForward(4, 8)(paddle.ones([1, 3, 4])).shape
        [1, 3, 4]
    """

    def __init__(
        self,
        d_model,
        dim_feedforward,
        dropout_rate=0.1,
        epsilon=1e-05,
        activation="relu",
        act_dropout_rate=None,
        normalize_before=False,
        linear1_weight_attr=None,
        linear1_bias_attr=None,
        linear2_weight_attr=None,
        linear2_bias_attr=None,
        ln1_scale_attr=None,
        ln1_bias_attr=None,
        ln2_scale_attr=None,
        ln2_bias_attr=None,
        nranks=1,
        ring_id=-1,
        name=None,
    ):
        super().__init__()
        _positive("FusedFeedForward", d_model=d_model, dim_feedforward=dim_feedforward)
        _one_device("FusedFeedForward", nranks, ring_id)
        if activation not in ("relu", "gelu"):
            raise errors.ValueError_(f"FusedFeedForward: activation must be 'relu' or 'gelu', got {activation!r}")
        self._d_model, self._dim_feedforward, self._dropout_rate = d_model, dim_feedforward, dropout_rate
        self._act_dropout_rate = dropout_rate if act_dropout_rate is None else act_dropout_rate
        self._act_method, self._normalize_before, self._epsilon, self.name = activation, normalize_before, epsilon, name
        self._linear1_weight = self.create_parameter([d_model, dim_feedforward], linear1_weight_attr)
        self._linear1_bias = self.create_parameter([dim_feedforward], linear1_bias_attr, is_bias=True)
        self._linear2_weight = self.create_parameter([dim_feedforward, d_model], linear2_weight_attr)
        self._linear2_bias = self.create_parameter([d_model], linear2_bias_attr, is_bias=True)
        self._ln1_scale = self._ln1_bias = self._ln2_scale = self._ln2_bias = None
        if normalize_before:
            self._ln1_scale, self._ln1_bias = _norm(self, d_model, ln1_scale_attr, ln1_bias_attr)
        else:
            self._ln2_scale, self._ln2_bias = _norm(self, d_model, ln2_scale_attr, ln2_bias_attr)

    def forward(self, src, cache=None):
        if cache is not None:
            raise errors.NotImplemented_("FusedFeedForward: a cache is not built")
        return F.fused_feedforward(
            src,
            self._linear1_weight,
            self._linear2_weight,
            self._linear1_bias,
            self._linear2_bias,
            self._ln1_scale,
            self._ln1_bias,
            self._ln2_scale,
            self._ln2_bias,
            self._act_dropout_rate,
            self._dropout_rate,
            self._act_method,
            self._epsilon,
            self._epsilon,
            self._normalize_before,
            self.training,
        )

    def extra_repr(self):
        return with_name(
            f"d_model={self._d_model}, dim_feedforward={self._dim_feedforward}, dropout_rate={self._dropout_rate}, "
            f"epsilon={self._epsilon}, activation={self._act_method}, act_dropout_rate={self._act_dropout_rate}, "
            f"normalize_before={self._normalize_before}, dtype={self._dtype}",
            self.name,
        )


def _pair(attr: Any) -> list:
    """The attr of the attention and that of the feedforward block."""
    return list(attr) if isinstance(attr, (list, tuple)) else [attr, attr]


class FusedTransformerEncoderLayer(Layer):
    """A layer of a transformer encoder: `FusedMultiHeadAttention`, then `FusedFeedForward`.

    Args:
        d_model: length of the last axis.
        nhead: number of heads, which divides d_model.
        dim_feedforward: the inner length of the feedforward block.
        dropout_rate: of both outputs.
        activation: "relu" or "gelu".
        attn_dropout_rate, act_dropout_rate: of the attention weights and behind the activation; default dropout_rate.
        normalize_before: normalise before the blocks instead of behind.
        weight_attr, bias_attr: of the parameters, one for all or a pair for attention and feedforward.

    Raises ValueError for sizes that do not fit.

    Example:
        >>> paddle.incubate.nn.FusedTransformerEncoderLayer(4, 2, 8)(paddle.ones([1, 3, 4])).shape
        [1, 3, 4]
    """

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward,
        dropout_rate=0.1,
        activation="relu",
        attn_dropout_rate=None,
        act_dropout_rate=None,
        normalize_before=False,
        weight_attr=None,
        bias_attr=None,
    ):
        super().__init__()
        _positive("FusedTransformerEncoderLayer", d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward)
        weights, biases = _pair(weight_attr), _pair(bias_attr)
        self.normalize_before = normalize_before
        self.fused_attn = FusedMultiHeadAttention(
            d_model,
            nhead,
            dropout_rate,
            dropout_rate if attn_dropout_rate is None else attn_dropout_rate,
            normalize_before=normalize_before,
            qkv_weight_attr=weights[0],
            qkv_bias_attr=biases[0],
            linear_weight_attr=weights[0],
            linear_bias_attr=biases[0],
            pre_ln_scale_attr=weights[0],
            pre_ln_bias_attr=biases[0],
            ln_scale_attr=weights[0],
            ln_bias_attr=biases[0],
        )
        self.ffn = FusedFeedForward(
            d_model,
            dim_feedforward,
            dropout_rate,
            activation=activation,
            act_dropout_rate=act_dropout_rate,
            normalize_before=normalize_before,
            linear1_weight_attr=weights[1],
            linear1_bias_attr=biases[1],
            linear2_weight_attr=weights[1],
            linear2_bias_attr=biases[1],
        )

    def forward(self, src, src_mask=None, cache=None):
        out = self.fused_attn(src, attn_mask=src_mask, cache=cache)
        return self.ffn(out) if cache is None else (self.ffn(out[0]), out[1])


class FusedMultiTransformer(Layer):
    """A stack of transformer layers with a cache, see `functional.fused_multi_transformer`.

    Args:
        embed_dim, num_heads, dim_feedforward: sizes; num_heads divides embed_dim.
        dropout_rate: of both outputs of a layer.
        activation: relu, gelu, geglu or swiglu.
        normalize_before: normalise before the blocks instead of behind.
        ln_scale_attrs ... ffn2_bias_attrs: of the parameters, one for all layers or a list. Biases without one are None.
        epsilon, residual_alpha, trans_qkvw, norm_type, use_neox_rotary_style, gqa_group_size: as there.
        num_layers: default the length of qkv_weight_attrs, which must then be a list.
        nranks, ring_id: only 1 and -1.

    Raises:
        ValueError: sizes that do not fit, no num_layers.
        NotImplementedError: several devices.

    Example:
        >>> layer = paddle.incubate.nn.FusedMultiTransformer(4, 2, 8, num_layers=2)
        >>> layer(paddle.ones([1, 3, 4])).shape
        [1, 3, 4]
    """

    def __init__(
        self,
        embed_dim,
        num_heads,
        dim_feedforward,
        dropout_rate=0.0,
        activation="gelu",
        normalize_before=True,
        ln_scale_attrs=None,
        ln_bias_attrs=None,
        qkv_weight_attrs=None,
        qkv_bias_attrs=None,
        linear_weight_attrs=None,
        linear_bias_attrs=None,
        ffn_ln_scale_attrs=None,
        ffn_ln_bias_attrs=None,
        ffn1_weight_attrs=None,
        ffn1_bias_attrs=None,
        ffn2_weight_attrs=None,
        ffn2_bias_attrs=None,
        epsilon=1e-05,
        residual_alpha=1.0,
        num_layers=-1,
        nranks=1,
        trans_qkvw=True,
        ring_id=-1,
        norm_type="layernorm",
        use_neox_rotary_style=False,
        gqa_group_size=-1,
        name=None,
    ):
        super().__init__()
        _positive("FusedMultiTransformer", embed_dim=embed_dim, num_heads=num_heads, dim_feedforward=dim_feedforward)
        _one_device("FusedMultiTransformer", nranks, ring_id)
        if isinstance(qkv_weight_attrs, (list, tuple)):
            num_layers = len(qkv_weight_attrs)
        if num_layers <= 0 or embed_dim % num_heads:
            raise errors.ValueError_(
                f"FusedMultiTransformer: num_layers must be positive and num_heads divide embed_dim, "
                f"got {num_layers}, {num_heads} and {embed_dim}"
            )
        self.normalize_before, self.embed_dim, self.num_heads = normalize_before, embed_dim, num_heads
        self.head_dim, self.dropout_rate, self.activation, self.name = (
            embed_dim // num_heads,
            dropout_rate,
            activation,
            name,
        )
        self._epsilon, self._residual_alpha, self._trans_qkvw = epsilon, residual_alpha, trans_qkvw
        self._norm_type, self._use_neox_rotary_style, self._gqa_group_size = (
            norm_type,
            use_neox_rotary_style,
            gqa_group_size,
        )
        heads = [3, num_heads] if gqa_group_size <= 0 else [num_heads + 2 * gqa_group_size]
        qkv = [*heads, self.head_dim]
        inner = dim_feedforward * (2 if activation in ("geglu", "swiglu") else 1)
        one = Constant(1.0)

        def make(shape, attrs, is_bias=False, default=None):
            """The parameters of all layers, registered under their own names."""
            if is_bias and attrs is None:
                return None
            attrs = attrs if isinstance(attrs, (list, tuple)) else [attrs] * num_layers
            made = [self.create_parameter(shape, attr, is_bias=is_bias, default_initializer=default) for attr in attrs]
            for parameter in made:
                if parameter is not None:
                    self._parameters[parameter.name] = parameter
            return made

        self.ln_scales = make([embed_dim], ln_scale_attrs, default=one)
        self.ln_biases = make([embed_dim], ln_bias_attrs, True)
        self.qkv_weights = make([*qkv, embed_dim] if trans_qkvw else [embed_dim, *qkv], qkv_weight_attrs)
        self.qkv_biases = make(qkv, qkv_bias_attrs, True)
        self.linear_weights = make([embed_dim, embed_dim], linear_weight_attrs)
        self.linear_biases = make([embed_dim], linear_bias_attrs, True)
        self.ffn_ln_scales = make([embed_dim], ffn_ln_scale_attrs, default=one)
        self.ffn_ln_biases = make([embed_dim], ffn_ln_bias_attrs, True)
        self.ffn1_weights = make([embed_dim, inner], ffn1_weight_attrs)
        self.ffn1_biases = make([inner], ffn1_bias_attrs, True)
        self.ffn2_weights = make([dim_feedforward, embed_dim], ffn2_weight_attrs)
        self.ffn2_biases = make([embed_dim], ffn2_bias_attrs, True)

    def forward(
        self,
        src,
        attn_mask=None,
        caches=None,
        pre_caches=None,
        rotary_embs=None,
        rotary_emb_dims=0,
        beam_offset=None,
        seq_lens=None,
        time_step=None,
    ):
        return F.fused_multi_transformer(
            src,
            self.ln_scales,
            self.ln_biases,
            self.qkv_weights,
            self.qkv_biases,
            self.linear_weights,
            self.linear_biases,
            self.ffn_ln_scales,
            self.ffn_ln_biases,
            self.ffn1_weights,
            self.ffn1_biases,
            self.ffn2_weights,
            self.ffn2_biases,
            self.normalize_before,
            self._epsilon,
            self._residual_alpha,
            caches,
            beam_offset,
            pre_caches,
            seq_lens,
            rotary_embs,
            time_step,
            attn_mask,
            self.dropout_rate,
            rotary_emb_dims,
            self.activation,
            self.training,
            "upscale_in_train",
            self._trans_qkvw,
            -1,
            self._norm_type,
            self._use_neox_rotary_style,
            self._gqa_group_size,
        )
