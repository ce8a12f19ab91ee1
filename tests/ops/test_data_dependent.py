"""Results whose shape, or whose being a Python value, depends on data: exact eagerly, and inside a function that JAX
traces an error that names the function and does not come from inside."""

import re

import jax
import numpy as np
import pytest

import paddle
import paddle.nn.functional as F
from paddle.engine.tensor import _make

from _check import compare

A = np.array([3, 0, 3, 1, 1, 0, 2])
M = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])

# name: (the call, its argument, what NumPy gives)
CALLS = {
    "nonzero": (paddle.nonzero, M, np.argwhere(M)),
    "nonzero as tuple": (lambda x: paddle.nonzero(x, as_tuple=True)[1], M, np.nonzero(M)[1]),
    "argwhere": (paddle.argwhere, M, np.argwhere(M)),
    "where": (lambda x: paddle.where(x > 1)[0], M, np.nonzero(M > 1)[0]),
    "masked_select": (lambda x: paddle.masked_select(x, x > 0), M, M[M > 0]),
    "index": (lambda x: x[x > 0], M, M[M > 0]),
    "index of rows": (lambda x: x[x[:, 0] > 0], M, M[M[:, 0] > 0]),
    "unique": (paddle.unique, A, np.unique(A)),
    "unique with inverse": (
        lambda x: paddle.unique(x, return_inverse=True)[1],
        A,
        np.unique(A, return_inverse=True)[1],
    ),
    "unique along an axis": (lambda x: paddle.unique(x, axis=0), M, np.unique(M, axis=0)),
    "unique_consecutive": (paddle.unique_consecutive, A, np.array([3, 0, 3, 1, 0, 2])),
    "bincount": (paddle.bincount, A, np.bincount(A)),
    "repeat_interleave": (lambda x: paddle.repeat_interleave(x, x), A, np.repeat(A, A)),
    "sequence_mask": (F.sequence_mask, A, np.arange(3) < A[:, None]),
    "one_hot": (lambda x: F.one_hot(x, x.max()), A % 3, None),
    "segment_sum": (lambda x: paddle.geometric.segment_sum(x, paddle.sort(x)), A, None),
    "sparse": (lambda x: x.to_sparse_coo(2).values(), M, M[M != 0]),
    "arange": (lambda x: paddle.arange(x.max()), A, np.arange(3)),
    "full": (lambda x: paddle.full(x[3:5], 2.0), A, np.full((1, 1), 2.0)),
    "reshape": (lambda x: paddle.reshape(x, x[3:5].sum() - 3), A, None),
    "split": (lambda x: paddle.split(x, x.max() - 2)[0], A, A),
    "item": (lambda x: x.max().item(), A, 3),
    "tolist": (lambda x: x.tolist(), A, A),
    "numpy": (lambda x: x.numpy(), M, M),
    "float": (lambda x: float(x.sum()), M, 6.0),
    "bool": (lambda x: 1.0 if x.sum() > 0 else 0.0, M, 1.0),
    "iteration over a range": (lambda x: len(range(x.max())), A, 3),
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_exact_eagerly(name):
    call, argument, want = CALLS[name]
    if want is not None:
        compare(call(paddle.to_tensor(argument)), want)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_clear_error_where_values_are_not_known(name):
    call, argument, _ = CALLS[name]

    def traced(array):
        out = call(_make(array))
        return getattr(out, "_value", out)

    with pytest.raises((RuntimeError, ValueError, TypeError)) as caught:
        jax.jit(traced)(argument)
    message = str(caught.value)
    assert not isinstance(caught.value, jax.errors.JAXTypeError), message
    named = name.split()[0]
    named = {"where": "nonzero", "argwhere": "nonzero", "sparse": "to_sparse_coo", "iteration": "int"}.get(named, named)
    assert re.match(rf"\(PreconditionNotMet\) {named}", message), message
