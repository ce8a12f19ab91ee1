"""Renumbering the nodes of a sampled subgraph from 0, on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine import errors
from ..engine.op import api
from ..engine.place import put
from ..engine.tensor import Tensor, _make
from ..ops.scatter import concrete
from ..ops.segment import check_index


def _numbers(name: str, value: Any, argument: str) -> np.ndarray:
    return concrete(name, check_index(name, value, argument))


def _reindex(name: str, x: Any, neighbors: list, count: list) -> tuple[Tensor, Tensor, Tensor]:
    nodes = _numbers(name, x, "x")
    groups = [_numbers(name, n, "neighbors") for n in neighbors]
    counts = [_numbers(name, c, "count") for c in count]
    if len(groups) != len(counts):
        raise errors.ValueError_(f"{name}: {len(groups)} lists of neighbors but {len(counts)} of counts")
    for found, each in zip(groups, counts):
        if found.dtype != nodes.dtype:
            raise errors.ValueError_(f"{name}: x is {nodes.dtype}, neighbors {found.dtype}; they must have one type")
        if len(each) != len(nodes) or (each < 0).any() or each.sum() != len(found):
            raise errors.ValueError_(
                f"{name}: count must hold one number for each of {len(nodes)} nodes with the sum "
                f"{len(found)}, the number of neighbors; got {len(each)} with the sum "
                f"{each.sum()}"
            )
    numbers = {node: i for i, node in enumerate(nodes.tolist())}
    out_nodes = nodes.tolist()
    sources = []
    for node in np.concatenate([nodes[:0], *groups]).tolist():
        number = numbers.get(node)
        if number is None:
            number = numbers[node] = len(out_nodes)
            out_nodes.append(node)
        sources.append(number)
    places = np.fromiter((numbers[n] for n in nodes.tolist()), nodes.dtype, len(nodes))
    destinations = np.concatenate([nodes[:0], *(np.repeat(places, each) for each in counts)])
    arrays = np.array(sources, nodes.dtype), destinations, np.array(out_nodes, nodes.dtype)
    return tuple(_make(put(a)) for a in arrays)  # type: ignore[return-value]


@api(method=False)
def reindex_graph(x, neighbors, count, value_buffer=None, index_buffer=None):
    """Number the nodes of a sampled subgraph from 0: first the nodes `x`, then their neighbours as they appear.

    Args:
        x: shape [n], the centre nodes, int32 or int64, without repetition.
        neighbors: the neighbours of all centre nodes, one after the other, of the type of x.
        count: shape [n], how many neighbours each centre node has.
        value_buffer, index_buffer: accepted; the work is done on the host without them.

    Returns:
        (source numbers of the edges, destination numbers of the edges, the nodes in order of their numbers).

    Raises:
        ValueError: counts that do not fit the neighbours, or different types.

    Example:
        >>> t = paddle.to_tensor
        >>> parts = paddle.geometric.reindex_graph(t([5, 7]), t([7, 9, 5]), t([2, 1], dtype="int32"))
        >>> [p.tolist() for p in parts]
        [[1, 2, 0], [0, 0, 1], [5, 7, 9]]
    """
    return _reindex("reindex_graph", x, [neighbors], [count])


@api(method=False)
def reindex_heter_graph(x, neighbors, count, value_buffer=None, index_buffer=None):
    """Like `reindex_graph` for several kinds of edges: `neighbors` and `count` are lists, one entry a kind, and the
    edges of all kinds follow one another in the result.

    Example:
        >>> t = paddle.to_tensor
        >>> parts = paddle.geometric.reindex_heter_graph(t([5]), [t([9]), t([8])], [t([1]), t([1])])
        >>> [p.tolist() for p in parts]
        [[1, 2], [0, 0], [5, 9, 8]]
    """
    name = "reindex_heter_graph"
    for value, argument in ((neighbors, "neighbors"), (count, "count")):
        if not isinstance(value, (list, tuple)):
            raise errors.TypeError_(f"{name}: {argument} must be a list of Tensors, got {errors.describe(value)}")
    return _reindex(name, x, list(neighbors), list(count))
