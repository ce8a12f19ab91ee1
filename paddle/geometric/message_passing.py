"""Message passing: each edge carries a message from its source to its destination, which reduces what arrives."""

from __future__ import annotations

from typing import Any

from ..engine import errors
from ..engine.op import api
from ..engine.tensor import Tensor
from ..ops.manipulation import ints_of, tensor_of
from ..ops.math import add, divide, multiply, subtract
from ..ops.scatter import gather
from ..ops.segment import KINDS, check_index, check_rows, segment_reduce

MESSAGES = {"add": add, "sub": subtract, "mul": multiply, "div": divide}


def _choice(name: str, argument: str, value: Any, allowed: Any) -> Any:
    if value not in tuple(allowed):
        raise errors.ValueError_(f"{name}: {argument} must be one of {', '.join(allowed)}, got {value!r}")
    return value


def _rows(name: str, x: Any, index: Any, argument: str, index_name: str) -> tuple[Tensor, Tensor]:
    x = tensor_of(name, x, argument)
    index = check_index(name, index, index_name)
    if x.ndim == 0:
        raise errors.ValueError_(f"{name}: {argument} must have one row for each node, it has no dimensions")
    check_rows(name, index, x.shape[0], index_name)
    return x, index


def _edges(name: str, source: Tensor, destination: Tensor) -> None:
    if source.shape[0] != destination.shape[0]:
        raise errors.ValueError_(f"{name}: {source.shape[0]} source and {destination.shape[0]} destination indices")


def _receive(name: str, message: Tensor, destination: Tensor, reduce_op: str, out_size: Any, default: int) -> Tensor:
    n = default
    if out_size is not None:
        size = ints_of(name, out_size, "out_size")
        if len(size) != 1:
            raise errors.ValueError_(f"{name}: out_size must be one number, got {out_size!r}")
        n = size[0] if size[0] > 0 else default
    check_rows(name, destination, n, "dst_index")
    return segment_reduce(message, destination, n, reduce_op)


def _edge_features(y: Tensor, x: Tensor) -> Tensor:
    """Features of one number beside features of x."""
    return y.unsqueeze(-1) if y.ndim == 1 and x.ndim > 1 else y


@api(method=False)
def send_u_recv(x, src_index, dst_index, reduce_op="sum", out_size=None):
    """Each destination reduces the features of the sources of its edges; 0 where no edge arrives.

    Args:
        x: shape [nodes, ...], the features of the nodes.
        src_index, dst_index: shape [edges], int32 or int64.
        reduce_op: "sum", "mean", "max" or "min".
        out_size: rows of the result, default (and for 0 or less) those of x.

    Raises:
        ValueError: an unknown reduction, or index lengths that differ.
        IndexError: an index out of range.

    Example:
        >>> x = paddle.to_tensor([[1.0], [2.0], [3.0]])
        >>> paddle.geometric.send_u_recv(x, paddle.to_tensor([0, 2]), paddle.to_tensor([1, 1])).tolist()
        [[0.0], [4.0], [0.0]]
    """
    name = "send_u_recv"
    _choice(name, "reduce_op", reduce_op, KINDS)
    x, source = _rows(name, x, src_index, "x", "src_index")
    destination = check_index(name, dst_index, "dst_index")
    _edges(name, source, destination)
    return _receive(name, gather(x, source), destination, reduce_op, out_size, x.shape[0])


@api(method=False)
def send_ue_recv(x, y, src_index, dst_index, message_op="add", reduce_op="sum", out_size=None):
    """Each destination reduces what its edges carry: the source's features combined with the edge's own.

    Args:
        x: shape [nodes, ...], the features of the nodes.
        y: shape [edges, ...], the features of the edges; they broadcast against those of the nodes.
        src_index, dst_index: shape [edges], int32 or int64.
        message_op: "add", "sub", "mul" or "div".
        reduce_op: "sum", "mean", "max" or "min".
        out_size: rows of the result, default (and for 0 or less) those of x.

    Raises:
        ValueError: an unknown operation, or lengths that do not fit.
        IndexError: an index out of range.

    Example:
        >>> x, y = paddle.to_tensor([[1.0], [2.0]]), paddle.to_tensor([[10.0], [20.0]])
        >>> paddle.geometric.send_ue_recv(x, y, paddle.to_tensor([0, 1]), paddle.to_tensor([1, 1])).tolist()
        [[0.0], [33.0]]
    """
    name = "send_ue_recv"
    message = MESSAGES[_choice(name, "message_op", message_op, MESSAGES)]
    _choice(name, "reduce_op", reduce_op, KINDS)
    x, source = _rows(name, x, src_index, "x", "src_index")
    y = tensor_of(name, y, "y")
    destination = check_index(name, dst_index, "dst_index")
    _edges(name, source, destination)
    if y.ndim == 0 or y.shape[0] != source.shape[0]:
        raise errors.ValueError_(
            f"{name}: y of shape {list(y.shape)} must have one row for each of {source.shape[0]} edges"
        )
    sent = message(gather(x, source), _edge_features(y, x))
    return _receive(name, sent, destination, reduce_op, out_size, x.shape[0])


@api(method=False)
def send_uv(x, y, src_index, dst_index, message_op="add"):
    """For each edge, the features of its source combined with those of its destination; shape [edges, ...].

    Args:
        x, y: shape [nodes, ...], features of the nodes as sources and as destinations; they broadcast.
        src_index, dst_index: shape [edges], int32 or int64.
        message_op: "add", "sub", "mul" or "div".

    Raises:
        ValueError: an unknown operation, or index lengths that differ.
        IndexError: an index out of range.

    Example:
        >>> x = paddle.to_tensor([[1.0], [2.0]])
        >>> paddle.geometric.send_uv(x, x, paddle.to_tensor([0, 1]), paddle.to_tensor([1, 1])).tolist()
        [[3.0], [4.0]]
    """
    message = MESSAGES[_choice("send_uv", "message_op", message_op, MESSAGES)]
    x, source = _rows("send_uv", x, src_index, "x", "src_index")
    y, destination = _rows("send_uv", y, dst_index, "y", "dst_index")
    _edges("send_uv", source, destination)
    return message(gather(x, source), gather(_edge_features(y, x), destination))
