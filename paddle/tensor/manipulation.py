"""Shapes and parts of tensors, under the official module path; the functions are those of `paddle`."""

from ..ops.complex_numbers import as_complex, as_real, view_as_complex, view_as_real
from ..ops.creation import zeros
from ..ops.diagonals import diagonal_scatter
from ..ops.expansion import broadcast_tensors, broadcast_to, expand, expand_as, repeat_interleave, tile
from ..ops.joining import (
    block_diag,
    chunk,
    column_stack,
    concat,
    dsplit,
    dstack,
    hsplit,
    hstack,
    row_stack,
    split,
    stack,
    tensor_split,
    unstack,
    vsplit,
    vstack,
)
from ..ops.linalg import tensordot
from ..ops.manipulation import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    cast,
    cast_,
    flatten,
    flatten_,
    flip,
    moveaxis,
    ravel,
    reshape,
    reshape_,
    reverse,
    roll,
    rot90,
    squeeze,
    squeeze_,
    swapaxes,
    swapdims,
    transpose,
    unflatten,
    unsqueeze,
    unsqueeze_,
    view,
    view_as,
)
from ..ops.parts import as_strided, narrow, slice, strided_slice, unbind, unfold
from ..ops.scatter import (
    gather,
    gather_nd,
    index_add,
    index_add_,
    index_fill,
    index_fill_,
    index_put,
    index_put_,
    put_along_axis,
    put_along_axis_,
    scatter,
    scatter_,
    scatter_add,
    scatter_add_,
    scatter_nd,
    scatter_nd_add,
    scatter_reduce,
    take_along_axis,
    take_along_dim,
)
from ..ops.search import unique, unique_consecutive
from ..ops.selection import (
    masked_fill,
    masked_fill_,
    masked_scatter,
    masked_scatter_,
    select_scatter,
    shard_index,
    slice_scatter,
)


def repeat(input, repeats):
    """A tensor repeated along its axes, see `paddle.tile`.

    Example:
        >>> paddle.tensor.repeat(paddle.ones([1, 2]), [2, 1]).shape
        [2, 2]
    """
    return input.repeat(repeats)
