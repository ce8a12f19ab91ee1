"""Graph operators under their first names; `paddle.geometric` has their successors."""

from __future__ import annotations

import numpy as np

from ..engine import errors
from ..engine.op import api
from ..engine.place import put
from ..engine.tensor import _make
from ..geometric.message_passing import send_u_recv
from ..geometric.reindex import reindex_graph
from ..geometric.sampling import sample_neighbors
from ..ops.manipulation import ints_of
from ..ops.scatter import concrete
from ..ops.segment import check_index

__all__ = ["graph_khop_sampler", "graph_reindex", "graph_sample_neighbors", "graph_send_recv"]


@api(method=False, export=False)
def graph_send_recv(x, src_index, dst_index, pool_type="sum", out_size=None):
    """The first name of `paddle.geometric.send_u_recv`.

    Example:
        >>> t = paddle.to_tensor
        >>> paddle.incubate.graph_send_recv(t([[1.0], [2.0]]), t([0]), t([1])).tolist()
        [[0.0], [1.0]]
    """
    return send_u_recv(x, src_index, dst_index, pool_type, out_size)


@api(method=False, export=False)
def graph_reindex(x, neighbors, count, value_buffer=None, index_buffer=None, flag_buffer_hashtable=False):
    """The first name of `paddle.geometric.reindex_graph`; the buffers are not needed.

    Example:
        >>> t = paddle.to_tensor
        >>> [p.tolist() for p in paddle.incubate.graph_reindex(t([5]), t([9, 5]), t([2]))]
        [[1, 0], [0, 0], [5, 9]]
    """
    return reindex_graph(x, neighbors, count)


@api(method=False, export=False)
def graph_sample_neighbors(
    row, colptr, input_nodes, eids=None, perm_buffer=None, sample_size=-1, return_eids=False, flag_perm_buffer=False
):
    """The first name of `paddle.geometric.sample_neighbors`; the buffer is not needed.

    Example:
        >>> t = paddle.to_tensor
        >>> [p.tolist() for p in paddle.incubate.graph_sample_neighbors(t([1, 0]), t([0, 1, 2]), t([1]))]
        [[0], [1]]
    """
    return sample_neighbors(row, colptr, input_nodes, sample_size, eids, return_eids)


@api(method=False, export=False)
def graph_khop_sampler(row, colptr, input_nodes, sample_sizes, sorted_eids=None, return_eids=False):
    """Sample neighbours hop by hop: the neighbours of the input nodes, then those of the nodes found first, and so on,
    and number all nodes from 0.

    Args:
        row: shape [edges], the neighbours of all nodes, one node after the other; int32 or int64.
        colptr: shape [nodes + 1]; the neighbours of node i are row[colptr[i]:colptr[i + 1]].
        input_nodes: shape [n], without repetition.
        sample_sizes: how many neighbours of a node in each hop, -1 for all.
        sorted_eids: shape [edges], names of the edges.
        return_eids: return the names of the chosen edges as well.

    Returns:
        (source numbers of the edges, destination numbers, the nodes in order of their numbers, the numbers of the input
        nodes[, names of the edges]).

    Raises:
        ValueError: a colptr that is none, or return_eids without sorted_eids.
        IndexError: a node that does not exist.

    Example:
        >>> t = paddle.to_tensor
        >>> [p.tolist() for p in paddle.incubate.graph_khop_sampler(t([1, 2, 0]), t([0, 1, 2, 3]), t([0]), [1, 1])]
        [[1, 2], [0, 1], [0, 1, 2], [0]]
    """
    if return_eids and sorted_eids is None:
        raise errors.ValueError_("graph_khop_sampler: return_eids=True needs sorted_eids")
    frontier = concrete("graph_khop_sampler", check_index("graph_khop_sampler", input_nodes, "input_nodes"))
    dtype, numbers = frontier.dtype, {}
    for node in frontier.tolist():
        numbers.setdefault(node, len(numbers))
    inputs = [numbers[node] for node in frontier.tolist()]
    sources, destinations, names = [], [], []
    frontier = np.array(list(numbers), dtype)
    for size in ints_of("graph_khop_sampler", sample_sizes, "sample_sizes"):
        found = sample_neighbors(row, colptr, _make(put(frontier)), size, sorted_eids, return_eids)
        neighbors, count = found[0].numpy(), found[1].numpy()
        known = len(numbers)
        sources += [numbers.setdefault(node, len(numbers)) for node in neighbors.tolist()]
        destinations += np.repeat([numbers[node] for node in frontier.tolist()], count).tolist()
        if return_eids:
            names.append(found[2].numpy())
        frontier = np.array(list(numbers)[known:], dtype)
    results = [np.array(values, dtype) for values in (sources, destinations, list(numbers), inputs)]
    if return_eids:
        results.append(np.concatenate(names) if names else np.zeros(0, dtype))
    return tuple(_make(put(r)) for r in results)
