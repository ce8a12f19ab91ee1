"""Sampling neighbours from a graph in CSC form, on the host, with the generator of the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine import errors
from ..engine.op import api
from ..engine.place import put
from ..engine.random import generator
from ..engine.tensor import Tensor, _make
from ..ops.manipulation import ints_of, tensor_of
from ..ops.scatter import concrete
from ..ops.segment import check_index


def _sample(
    name: str, row: Any, colptr: Any, weight: Any, input_nodes: Any, sample_size: Any, eids: Any, return_eids: bool
) -> tuple[Tensor, ...]:
    if return_eids and eids is None:
        raise errors.ValueError_(f"{name}: return_eids=True needs eids")
    rows, pointers, nodes = (
        concrete(name, check_index(name, value, argument))
        for value, argument in ((row, "row"), (colptr, "colptr"), (input_nodes, "input_nodes"))
    )
    (size,) = ints_of(name, sample_size, "sample_size")
    _check_graph(name, rows, pointers, nodes)
    starts, counts = pointers[nodes], pointers[nodes + 1] - pointers[nodes]
    taken = counts if size < 0 else np.minimum(counts, size)
    # Every edge of every node gets a random key; those with the smallest keys of a node are taken, in their order.
    owner = np.repeat(np.arange(len(nodes)), counts)
    edges = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(starts, counts)
    if (taken < counts).any():
        random = np.random.Generator(np.random.Philox(key=int(generator().random())))
        keys = random.exponential(size=len(edges))
        if weight is not None:  # exponential times of rate w: Efraimidis and Spirakis, 2006
            with np.errstate(divide="ignore"):
                keys = keys / weight[edges]
        order = np.lexsort((keys, owner))
        position = np.arange(len(edges)) - np.repeat(np.cumsum(counts) - counts, counts)
        chosen = np.sort(order[position < np.repeat(taken, counts)])
        edges = edges[chosen]
    results = [rows[edges], taken.astype(np.int32)]
    if return_eids:
        ids = concrete(name, check_index(name, eids, "eids"))
        if len(ids) != len(rows):
            raise errors.ValueError_(f"{name}: {len(ids)} eids for {len(rows)} edges")
        results.append(ids[edges])
    return tuple(_make(put(r)) for r in results)


def _check_graph(name: str, rows: np.ndarray, pointers: np.ndarray, nodes: np.ndarray) -> None:
    if not len(pointers) or pointers[0] < 0 or (np.diff(pointers) < 0).any() or pointers[-1] > len(rows):
        raise errors.ValueError_(f"{name}: colptr must rise from 0 to at most {len(rows)}, the length of row")
    if len(nodes) and not (0 <= nodes.min() and nodes.max() < len(pointers) - 1):
        raise errors.IndexError_(
            f"{name}: input_nodes must lie in [0, {len(pointers) - 1}), got {nodes.min()} to {nodes.max()}"
        )


@api(method=False)
def sample_neighbors(row, colptr, input_nodes, sample_size=-1, eids=None, return_eids=False, perm_buffer=None):
    """For each node, up to `sample_size` of its neighbours, chosen uniformly without repetition.

    Args:
        row: shape [edges], the neighbours of all nodes, one node after the other; int32 or int64.
        colptr: shape [nodes + 1]; the neighbours of node i are row[colptr[i]:colptr[i + 1]].
        input_nodes: shape [n], the nodes to sample for.
        sample_size: how many for each node, -1 for all.
        eids: shape [edges], names of the edges.
        return_eids: return the names of the chosen edges as well.
        perm_buffer: accepted; not needed here.

    Returns:
        (neighbours of all nodes one after the other, how many each node has as int32[, names of the edges]).

    Raises:
        ValueError: a colptr that is none, or return_eids without eids.
        IndexError: a node that does not exist.

    Example:
        >>> t = paddle.to_tensor
        >>> found, count = paddle.geometric.sample_neighbors(t([1, 2, 0]), t([0, 2, 3, 3]), t([0, 1]))
        >>> found.tolist(), count.tolist()
        ([1, 2, 0], [2, 1])
    """
    return _sample("sample_neighbors", row, colptr, None, input_nodes, sample_size, eids, return_eids)


@api(method=False)
def weighted_sample_neighbors(row, colptr, edge_weight, input_nodes, sample_size=-1, eids=None, return_eids=False):
    """Like `sample_neighbors`, where an edge is chosen with a probability that grows with its weight (weighted sampling
    without replacement, Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006).

    Args:
        edge_weight: shape [edges], not negative.

    Example:
        >>> t = paddle.to_tensor
        >>> out = paddle.geometric.weighted_sample_neighbors(t([1, 2]), t([0, 2, 2, 2]), t([1.0, 0.0]), t([0]), 1)
        >>> [o.tolist() for o in out]
        [[1], [1]]
    """
    name = "weighted_sample_neighbors"
    weight = concrete(name, tensor_of(name, edge_weight, "edge_weight")).reshape(-1).astype(np.float64)
    edges = tensor_of(name, row, "row").shape
    if len(edges) < 1 or len(weight) != edges[0]:
        raise errors.ValueError_(f"{name}: {len(weight)} weights for {list(edges)} edges")
    if not (weight >= 0).all():
        raise errors.ValueError_(f"{name}: edge_weight must not be negative or NaN")
    return _sample(name, row, colptr, weight, input_nodes, sample_size, eids, return_eids)
