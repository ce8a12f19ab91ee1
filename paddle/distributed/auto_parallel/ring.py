"""Convolution and attention of tensors that are cut along an axis that these look across."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...autograd import PyLayer, grad, no_grad
from ...engine import errors
from ...engine.modes import modes, set_mode
from ...engine.tensor import Tensor
from ...nn.functional import conv2d, scaled_dot_product_attention
from ...ops.creation import to_tensor
from ...ops.scatter import index_select
from ..context_parallel import ring_attention
from .api import is_dist, reshard
from .local import dtensor_from_local, dtensor_to_local, several_processes
from .placement_type import Partial, Replicate, Shard
from .process_mesh import ProcessMesh


class _Composed(PyLayer):
    """A PyLayer whose `forward` is made of operators, so that `apply` is simply this function, with derivatives of any order
    and a place in programs."""

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.forward(None, *args, **kwargs)

    @classmethod
    def _gradients(cls, ctx: Any, given: Tensor) -> tuple:
        args, kwargs = ctx.arguments
        leaves = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor) and a.is_floating_point()]
        copies = {id(a): a.detach() for a in leaves}
        for copy in copies.values():
            copy.stop_gradient = False
        args, kwargs = [copies.get(id(a), a) for a in args], {k: copies.get(id(a), a) for k, a in kwargs.items()}
        with set_mode(grad=True):
            found = grad([cls.forward(None, *args, **kwargs)], list(copies.values()), [given], allow_unused=True)
        return tuple(found)


def _by_hand(forward: Callable) -> Callable:
    """With a context, a call of `forward` leaves no place on the tape, and the context what `backward` needs."""

    @functools.wraps(forward)
    def called(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        if ctx is None:
            return forward(ctx, *args, **kwargs)
        ctx.arguments = args, kwargs
        with no_grad():
            return forward(ctx, *args, **kwargs)

    return called


class RingConv2d(_Composed):
    """A convolution of an image that is cut along its width over a mesh: XLA exchanges the columns at the borders.

    `RingConv2d.apply(x, weight, bias, ...)` with x [N, C, H, W] (or "NHWC"), a distributed tensor; the result is cut as x is.
    All strides, paddings and dilations work (officially the dilation is 1, and the stride is 1 or the width of the kernel).

    Raises:
        ValueError: x is not distributed, or not of four axes.

    Example:
        >>> import paddle.distributed as dist
        >>> mesh = dist.ProcessMesh([0], dim_names=["mp"])
        >>> x = dist.shard_tensor(paddle.ones([1, 1, 4, 4]), mesh, [dist.Shard(3)])
        >>> dist.auto_parallel.RingConv2d.apply(x, paddle.ones([1, 1, 3, 3]), None, [1, 1], [1, 1]).shape
        [1, 1, 4, 4]
    """

    @staticmethod
    @_by_hand
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        padding_algorithm: str | None = None,
        dilation: Any = 1,
        groups: int = 1,
        data_format: str = "NCHW",
        channel_dim: int = 1,
    ) -> Tensor:
        """The convolution."""
        if not isinstance(x, Tensor) or not is_dist(x) or x.ndim != 4:
            raise errors.ValueError_(
                f"RingConv2d: x must be a distributed tensor of four axes, got {errors.describe(x)}"
            )
        if padding_algorithm in ("SAME", "VALID"):
            padding = padding_algorithm
        found = conv2d(x, weight, bias, stride, padding, dilation, groups, data_format)
        mesh, placements = x.process_mesh, x.placements
        if any(isinstance(p, Partial) for p in placements):
            return found
        fits = all(
            not isinstance(p, Shard) or found.shape[p.dim] % mesh.shape[i] == 0 for i, p in enumerate(placements)
        )
        return reshard(found, mesh, placements) if fits else found

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        """The gradients of x, weight and, where there is one, bias."""
        return RingConv2d._gradients(ctx, grad_out)


# ---- attention ----
def _sep(x: Tensor, function: str) -> tuple[ProcessMesh, int]:
    if not isinstance(x, Tensor) or not is_dist(x):
        raise errors.ValueError_(f"{function}: a distributed tensor is needed, got {errors.describe(x)}")
    mesh = x.process_mesh
    if "sep" not in mesh.dim_names:
        raise errors.ValueError_(f"{function}: the mesh must have an axis 'sep', got {mesh}")
    return mesh, mesh.dim_names.index("sep")


def _order(length: int, parts: int, back: bool) -> Tensor:
    """The order of tokens in which each of `parts` places has a piece from the front and one from the end, or its inverse."""
    if length % (2 * parts):
        raise errors.ValueError_(f"RingFlashAttention: {2 * parts} pieces do not divide a length of {length}")
    size = length // (2 * parts)
    pieces = [piece for i in range(parts) for piece in (i, 2 * parts - 1 - i)]
    order = [piece * size + j for piece in pieces for j in range(size)]
    if back:
        inverse = [0] * length
        for at, token in enumerate(order):
            inverse[token] = at
        order = inverse
    return to_tensor(order, "int64")


def shard_seq_load_balance(tensor: Tensor, seq_dim: int) -> Tensor:
    """A sequence, whole on the axis "sep" of its mesh, in the order that `RingFlashAttention` takes, and cut over that axis."""
    mesh, axis = _sep(tensor, "shard_seq_load_balance")
    parts, placements = mesh.shape[axis], tensor.placements
    if parts == 1:
        return tensor
    placements[axis] = Shard(seq_dim)
    return reshard(index_select(tensor, _order(tensor.shape[seq_dim], parts, False), seq_dim), mesh, placements)


def unshard_seq_load_balance(tensor: Tensor, seq_dim: int) -> Tensor:
    """The inverse of `shard_seq_load_balance`."""
    mesh, axis = _sep(tensor, "unshard_seq_load_balance")
    parts, placements = mesh.shape[axis], tensor.placements
    if parts == 1:
        return tensor
    placements[axis] = Replicate()
    return index_select(reshard(tensor, mesh, placements), _order(tensor.shape[seq_dim], parts, True), seq_dim)


class RingFlashAttention(_Composed):
    """Attention over sequences that are cut over the axis "sep" of their mesh, in the order of `shard_seq_load_balance`:
    keys and values travel around (Liu et al., "Ring Attention with Blockwise Transformers", 2023).

    `RingFlashAttention.apply(query, key, value, attn_mask, dropout, is_causal)` with [batch, sequence, heads, width]; the
    result lies as the query does. `attn_mask` [batch, heads or 1, own queries, sequence] is added to the scores, the keys in
    their natural order.

    Raises:
        ValueError: tensors that are not distributed over a mesh with an axis "sep".
        NotImplementedError: `dropout` above 0, as officially.
    """

    @staticmethod
    @_by_hand
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout: float = 0.0,
        is_causal: bool = False,
        fixed_seed_offset: Any = None,
        training: bool = True,
    ) -> Tensor:
        """The attention."""
        name = "RingFlashAttention"
        if dropout > 0:
            raise errors.NotImplemented_(f"{name}: dropout")
        mesh, axis = _sep(query, name)
        placements = query.placements
        if several_processes() and modes.program is None:
            if attn_mask is not None:
                key, value = (unshard_seq_load_balance(x, 1) for x in (key, value))
            local = [dtensor_to_local(x, mesh, _summed(x.placements)) for x in (query, key, value)]
            if attn_mask is None:
                out = ring_attention(*local, mesh.get_group("sep"), is_causal, balanced=is_causal)
            else:
                out = scaled_dot_product_attention(*local, attn_mask)
            return dtensor_from_local(out, mesh, placements)
        parts = mesh.shape[axis]
        whole = [unshard_seq_load_balance(x, 1) for x in (query, key, value)]
        if attn_mask is not None and parts > 1:  # its rows are in the order of the places
            attn_mask = index_select(attn_mask, _order(query.shape[1], parts, True), 2)
        out = scaled_dot_product_attention(*whole, attn_mask, is_causal=is_causal and attn_mask is None)
        if parts == 1:
            return reshard(out, mesh, placements)
        return reshard(index_select(out, _order(query.shape[1], parts, False), 1), mesh, placements)

    @staticmethod
    def backward(ctx: Any, out_grad: Tensor) -> Any:
        """The gradients of query, key and value."""
        return RingFlashAttention._gradients(ctx, out_grad)[:3]


def _summed(placements: list) -> list:
    """How gradients of what each process has make up the gradient of the whole."""
    return [Partial() if isinstance(p, Replicate) else p for p in placements]
