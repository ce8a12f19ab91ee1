"""float8_e4m3fn in blocks: each block of 128 elements (or 128 x 128) has a scale of its own."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from ....engine import errors
from ....engine.op import api, op

nn_op = functools.partial(op, method=False, export=False)
nn_api = functools.partial(api, method=False)

LARGEST = 448.0  # of float8_e4m3fn
BLOCK = 128


def _quantize(x, high, epsilon, power):
    """(x in blocks of `high` rows and 128 columns as float8, the factor for each block that gives x back)."""
    rows, columns = x.shape
    grid = -(-rows // high), -(-columns // BLOCK)
    v = jnp.pad(x.astype(np.float32), ((0, grid[0] * high - rows), (0, grid[1] * BLOCK - columns)))
    v = v.reshape(grid[0], high, grid[1], BLOCK)
    largest = jnp.maximum(jnp.max(jnp.abs(v), (1, 3)), epsilon)
    scale = jnp.where(largest > 0, largest / LARGEST, 1)
    if power:
        scale = jnp.exp2(jnp.ceil(jnp.log2(scale)))
    v = jnp.clip(v / scale[:, None, :, None], -LARGEST, LARGEST).reshape(grid[0] * high, grid[1] * BLOCK)
    return v[:rows, :columns].astype(ml_dtypes.float8_e4m3fn), scale


@nn_op(name="fp8_quant_blockwise", differentiable=False)
def _quantized(x, high, epsilon, power):
    return _quantize(x, high, epsilon, power)


@nn_api
def fp8_quant_blockwise(
    x,
    epsilon=0.0,
    input_transpose=False,
    output_scale_transpose=True,
    return_transpose_only=False,
    using_pow2_scale=True,
    using_ue8m0_scale=False,
    quant_method="1x128",
    output_type="e4m3",
):
    """x as float8_e4m3fn in blocks, each scaled so that its largest element is the largest float8.

    Args:
        x: floating, shape [M, N].
        epsilon: the largest element of a block counts as this at least.
        input_transpose: also (or only, with return_transpose_only) quantise x transposed.
        output_scale_transpose: accepted; it changes the layout in memory only.
        using_pow2_scale: scales are powers of 2.
        quant_method: "1x128" or "128x128", the form of a block.
        output_type: "e4m3".

    Returns:
        (quantised, the scale that it is to be multiplied with), then the same of x transposed. A scale has shape
        [M, N / 128] or [M / 128, N / 128], rounded up.

    Raises:
        ValueError: x is not 2-D, an unknown method or type.
        NotImplementedError: using_ue8m0_scale.

    Example:
        >>> q, scale = paddle.incubate.nn.functional.fp8_quant_blockwise(paddle.full([1, 128], 2.0))
        >>> q.shape, scale.shape
        ([1, 128], [1, 1])
    """
    name = "fp8_quant_blockwise"
    if using_ue8m0_scale:
        raise errors.NotImplemented_(f"{name}: using_ue8m0_scale=True is not built")
    if x.ndim != 2 or quant_method not in ("1x128", "128x128") or output_type != "e4m3":
        raise errors.ValueError_(
            f"{name}: x must be 2-D, quant_method '1x128' or '128x128' and output_type 'e4m3', got "
            f"{list(x.shape)}, {quant_method!r} and {output_type!r}"
        )
    high = 1 if quant_method == "1x128" else BLOCK
    settings = high, float(epsilon), bool(using_pow2_scale)
    turned = _quantized(x.transpose([1, 0]), *settings) if input_transpose else ()
    return tuple(turned) if input_transpose and return_transpose_only else (*_quantized(x, *settings), *turned)


@nn_op(name="fused_act_dequant", differentiable=False)
def fused_act_dequant(x, x_scale):
    """float8 values times the scale of their block of 128 columns, as bfloat16.

    Args:
        x: float8_e4m3fn, shape [M, N].
        x_scale: float32, shape [M, N / 128], rounded up.

    Raises ValueError for shapes that do not fit.

    Example:
        >>> q, scale = paddle.incubate.nn.functional.fp8_quant_blockwise(paddle.full([1, 2], 2.0))
        >>> paddle.incubate.nn.functional.fused_act_dequant(q, scale).astype("float32").tolist()
        [[2.0, 2.0]]
    """
    if x.ndim != 2 or x_scale.shape != (x.shape[0], -(-x.shape[1] // BLOCK)) or x_scale.dtype != np.float32:
        raise errors.ValueError_(
            f"fused_act_dequant: x [M, N] and a float32 x_scale [M, N / 128] are required, got "
            f"{list(x.shape)} and {x_scale.dtype.name}{list(x_scale.shape)}"
        )
    return (x.astype(np.float32) * jnp.repeat(x_scale, BLOCK, 1)[:, : x.shape[1]]).astype(jnp.bfloat16)


def _gated(x):
    first, second = jnp.split(x.astype(np.float32), 2, -1)
    return jax.nn.silu(first) * second


@nn_op(name="fused_weighted_swiglu_act_quant", differentiable=False)
def fused_weighted_swiglu_act_quant(x, prob=None, using_pow2_scaling=False):
    """swiglu of x, times a weight for each row, as float8 in blocks of 128 columns.

    Args:
        x: shape [..., 2 * width].
        prob: shape [...] or [..., 1], or None.
        using_pow2_scaling: scales are powers of 2.

    Returns:
        (float8_e4m3fn of shape [..., width], the scales that it is to be multiplied with, [..., width / 128] rounded up).

    Raises ValueError for an odd width, or weights that do not fit.

    Example:
        >>> paddle.incubate.nn.functional.fused_weighted_swiglu_act_quant(paddle.ones([2, 4]))[0].shape
        [2, 2]
    """
    rows = x.shape[:-1]
    if not x.ndim or x.shape[-1] % 2 or prob is not None and prob.size != int(np.prod(rows)):
        raise errors.ValueError_(
            f"fused_weighted_swiglu_act_quant: x must have an even last axis and prob a number for "
            f"each row, got {list(x.shape)} and {None if prob is None else list(prob.shape)}"
        )
    y = _gated(x).reshape(-1, x.shape[-1] // 2)
    if prob is not None:
        y = y * prob.reshape(-1, 1).astype(np.float32)
    out, scale = _quantize(y, 1, 0.0, using_pow2_scaling)
    return out.reshape(*rows, -1), scale.reshape(*rows, -1)


@nn_op(name="fused_swiglu_weighted_bwd", differentiable=False)
def fused_swiglu_weighted_bwd(o1, do2_s, unzipped_probs):
    """The gradients of swiglu(o1) * unzipped_probs.

    Args:
        o1: shape [..., 2 * width].
        do2_s: the gradient of the result, shape [..., width].
        unzipped_probs: the weight of each row, shape [...] or [..., 1].

    Returns:
        (the gradient of o1, that of unzipped_probs, the result itself).

    Raises ValueError for shapes that do not fit.

    Example:
        >>> x, g, w = paddle.zeros([1, 2]), paddle.ones([1, 1]), paddle.ones([1])
        >>> [t.shape for t in paddle.incubate.nn.functional.fused_swiglu_weighted_bwd(x, g, w)]
        [[1, 2], [1], [1, 1]]
    """
    rows = o1.shape[:-1]
    if (
        not o1.ndim
        or do2_s.shape != (*rows, o1.shape[-1] // 2)
        or o1.shape[-1] % 2
        or unzipped_probs.size != int(np.prod(rows))
    ):
        raise errors.ValueError_(
            f"fused_swiglu_weighted_bwd: o1 [..., 2 * width], do2_s [..., width] and unzipped_probs "
            f"[...] are required, got {list(o1.shape)}, {list(do2_s.shape)} and "
            f"{list(unzipped_probs.shape)}"
        )

    def forward(x, weights):
        return _gated(x) * weights.reshape(*rows, 1).astype(np.float32)

    out, back = jax.vjp(forward, o1, unzipped_probs)
    return (*back(do2_s.astype(np.float32)), out.astype(o1.dtype))


@nn_op(name="cross_entropy_with_softmax_bwd_w_downcast", differentiable=False)
def cross_entropy_with_softmax_bwd_w_downcast(label, softmax, loss_grad):
    """The gradient of the logits of a cross entropy as bfloat16: (softmax - one_hot(label)) * loss_grad.

    Args:
        label: class numbers, shape [N] or [N, 1].
        softmax: shape [N, C].
        loss_grad: shape [N] or [N, 1].

    Raises ValueError for shapes that do not fit.

    Example:
        >>> f = paddle.incubate.nn.functional.cross_entropy_with_softmax_bwd_w_downcast
        >>> f(paddle.to_tensor([0]), paddle.full([1, 2], 0.5), paddle.ones([1])).astype("float32").tolist()
        [[-0.5, 0.5]]
    """
    if softmax.ndim != 2 or label.size != softmax.shape[0] or loss_grad.size != softmax.shape[0]:
        raise errors.ValueError_(
            f"cross_entropy_with_softmax_bwd_w_downcast: softmax [N, C], label [N] and loss_grad [N] "
            f"are required, got {list(softmax.shape)}, {list(label.shape)} and "
            f"{list(loss_grad.shape)}"
        )
    here = label.reshape(-1, 1) == jnp.arange(softmax.shape[1])
    return ((softmax - here) * loss_grad.reshape(-1, 1)).astype(jnp.bfloat16)


@nn_op(name="embedding_grad_add_to", differentiable=False)
def _embedding_grad_add(token_indices, main_grad, out_grad):
    width = main_grad.shape[-1]
    return main_grad.at[token_indices.reshape(-1)].add(out_grad.reshape(-1, width).astype(main_grad.dtype), mode="drop")


@nn_api
def embedding_grad_add_to_(token_indices, main_grad_, out_grad):
    """Add the gradient of an embedding to main_grad_ in place: out_grad to the rows that token_indices names.

    Args:
        token_indices: integers.
        main_grad_: shape [rows, width].
        out_grad: the shape of token_indices and width.

    Raises ValueError for shapes that do not fit.

    Example:
        >>> total = paddle.zeros([2, 1])
        >>> f = paddle.incubate.nn.functional.embedding_grad_add_to_
        >>> f(paddle.to_tensor([1, 1]), total, paddle.ones([2, 1])).tolist()
        [[0.0], [2.0]]
    """
    if main_grad_.ndim != 2 or list(out_grad.shape) != [*token_indices.shape, main_grad_.shape[1]]:
        raise errors.ValueError_(
            f"embedding_grad_add_to_: main_grad_ [rows, width] and out_grad of shape "
            f"{[*token_indices.shape, 'width']} are required, got {list(main_grad_.shape)} and "
            f"{list(out_grad.shape)}"
        )
    main_grad_._write_array(_embedding_grad_add(token_indices, main_grad_, out_grad)._value)
    return main_grad_
