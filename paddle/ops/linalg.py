"""Products of vectors and matrices, traces, covariances."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from ..engine.promotion import promote, same_type
from ..engine.tensor import Tensor
from ..engine.value import ABSTRACT
from . import contraction
from .reduction import check_tensor, reduction_axes, sum_dtype, tensor_axis


def check_tensors(name, **given):
    for argument, value in given.items():
        check_tensor(name, value, argument)


def _shapes(**given):
    return ", ".join(f"{k}={list(v.shape)}" for k, v in given.items())


def _check_ndim(name, ndim, **given):
    check_tensors(name, **given)
    for argument, value in given.items():
        if value.ndim != ndim:
            raise errors.ValueError_(f"{name}: {argument} must be a {ndim}-D tensor, got shape {list(value.shape)}")


# ---- matrix products ----


@op(method="matmul __matmul__")
def matmul(x, y, transpose_x=False, transpose_y=False):
    """The product of matrices, or of stacks of matrices whose leading axes broadcast.

    A 1-D x is a row, a 1-D y a column, and the axis they add is taken out of the result. The types do not promote: y is
    cast to the type of x, except that a complex operand makes the result complex.

    Args:
        transpose_x, transpose_y: exchange the last two axes first (not of 1-D tensors).

    Raises:
        ValueError: the inner lengths differ, the leading axes do not broadcast, a 0-D tensor.

    Example:
        >>> paddle.matmul(paddle.to_tensor([[1, 2], [3, 4]]), paddle.to_tensor([1, 1])).tolist()
        [3, 7]
    """
    check_tensors("matmul", x=x, y=y)
    if not x.ndim or not y.ndim:
        raise errors.ValueError_(
            f"matmul: the operands must have at least one dimension, got shapes {_shapes(x=x, y=y)}"
        )
    a = x.swapaxes(-1, -2) if transpose_x and x.ndim > 1 else x
    b = y.swapaxes(-1, -2) if transpose_y and y.ndim > 1 else y
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise errors.ValueError_(
            f"matmul: the width of Input(X) must be equal to the height of Input(Y), got "
            f"{a.shape[-1]} and "
            f"{b.shape[-2 if b.ndim > 1 else 0]}; {_shapes(x=x, y=y)}, transpose_x={transpose_x}, "
            f"transpose_y={transpose_y}"
        )
    try:
        jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise errors.ValueError_(f"matmul: the leading axes do not broadcast, {_shapes(x=x, y=y)}") from None
    if a.dtype != b.dtype:
        dtype = jnp.promote_types(a.dtype, b.dtype) if jnp.iscomplexobj(a) or jnp.iscomplexobj(b) else a.dtype
        x, y = x.astype(dtype), y.astype(dtype)
    return contraction.matmul(x, y, transpose_x, transpose_y)


def _rmatmul(x, y):
    return matmul(y, x)


Tensor.__rmatmul__ = _rmatmul  # type: ignore[attr-defined]


@api(method="mm")
def mm(input, mat2):
    """The product of matrices; shapes as for `matmul`.

    Example:
        >>> paddle.mm(paddle.ones([2, 3]), paddle.ones([3, 1])).tolist()
        [[3.0], [3.0]]
    """
    return matmul(input, mat2)


@op(aliases={"mat2": "y"})
def bmm(x, y):
    """The products of two stacks of matrices, [b, m, k] and [b, k, n], one by one.

    Raises:
        ValueError: other shapes.
        TypeError: different types.

    Example:
        >>> paddle.bmm(paddle.ones([2, 1, 3]), paddle.ones([2, 3, 1])).tolist()
        [[[3.0]], [[3.0]]]
    """
    _check_ndim("bmm", 3, x=x, y=y)
    same_type("bmm", x, y)
    if x.shape[0] != y.shape[0] or x.shape[2] != y.shape[1]:
        raise errors.ValueError_(
            f"bmm: the batch sizes must be equal, and the width of x and the height of y, got {_shapes(x=x, y=y)}"
        )
    return contraction.matmul(x, y)


@op(aliases={"tensor": "y"})
def dot(x, y):
    """The inner product of two vectors, or of the rows of two equal matrices; complex numbers are not conjugated.

    Raises:
        ValueError: the shapes differ, or are not 1-D or 2-D.
        TypeError: different types.

    Example:
        >>> paddle.dot(paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])).item()
        11
    """
    check_tensors("dot", x=x, y=y)
    if x.shape != y.shape or x.ndim not in (1, 2):
        raise errors.ValueError_(f"dot: both operands must be 1-D or 2-D tensors of one shape, got {_shapes(x=x, y=y)}")
    same_type("dot", x, y)
    return jnp.sum(x * y, -1, dtype=x.dtype)


@op
def mv(x, vec):
    """The product of a matrix [m, n] and a vector [n].

    Raises:
        ValueError: other shapes.
        TypeError: different types.

    Example:
        >>> paddle.mv(paddle.ones([2, 3]), paddle.ones([3])).tolist()
        [3.0, 3.0]
    """
    check_tensors("mv", x=x, vec=vec)
    if x.ndim != 2 or vec.ndim != 1 or x.shape[1] != vec.shape[0]:
        raise errors.ValueError_(f"mv: x must be a matrix [m, n] and vec a vector [n], got {_shapes(x=x, vec=vec)}")
    same_type("mv", x, vec)
    return jnp.matmul(x, vec)


def _scaled(factor, value):
    """factor * value in the type of the value."""
    return value * jnp.asarray(factor).astype(value.dtype)


def _add_product(name, input, x, y, beta, alpha, ndim, allowed):
    check_tensors(name, input=input, x=x, y=y)
    _check_ndim(name, ndim, x=x, y=y)
    if x.shape[-1] != y.shape[-2] or x.shape[:-2] != y.shape[:-2]:
        raise errors.ValueError_(f"{name}: the width of x and the height of y must be equal, got {_shapes(x=x, y=y)}")
    same_type(name, x, y)
    same_type(name, input, x)
    shape = x.shape[:-1] + y.shape[-1:]
    lead = (1,) * (len(shape) - input.ndim) + input.shape
    if input.ndim not in allowed or any(a not in (1, b) for a, b in zip(lead, shape)):
        raise errors.ValueError_(
            f"{name}: input of shape {list(input.shape)} does not broadcast to the product of shape {list(shape)}"
        )
    return _scaled(beta, input) + _scaled(alpha, jnp.matmul(x, y))


@op(method="addmm", inplace=True, scalars="beta alpha", aliases={"mat1": "x", "mat2": "y"})
def addmm(input, x, y, beta=1.0, alpha=1.0):
    """beta * input + alpha * (x @ y) for matrices; `input` (1-D or 2-D) broadcasts to the product.

    Raises:
        ValueError: the shapes do not fit.
        TypeError: different types.

    Example:
        >>> paddle.addmm(paddle.ones([1, 1]), paddle.ones([1, 2]), paddle.ones([2, 1]), beta=3.0).tolist()
        [[5.0]]
    """
    return _add_product("addmm", input, x, y, beta, alpha, 2, (1, 2))


@op(method="baddbmm", inplace=True, scalars="beta alpha", aliases={"batch1": "x", "batch2": "y"})
def baddbmm(input, x, y, beta=1.0, alpha=1.0):
    """beta * input + alpha * (x @ y) for stacks of matrices; `input` (2-D or 3-D) broadcasts to the product.

    Raises:
        ValueError: the shapes do not fit.
        TypeError: different types.

    Example:
        >>> paddle.baddbmm(paddle.ones([1, 1, 1]), paddle.ones([1, 1, 2]), paddle.ones([1, 2, 1])).tolist()
        [[[3.0]]]
    """
    return _add_product("baddbmm", input, x, y, beta, alpha, 3, (2, 3))


@op(export=False)
def multi_dot(x):
    """The product of two or more matrices, in the order of multiplication that costs least; the first and the last may
    be vectors.

    Raises:
        ValueError: fewer than two, shapes that do not fit.
        TypeError: different types.

    Example:
        >>> paddle.linalg.multi_dot([paddle.ones([2, 3]), paddle.ones([3, 4]), paddle.ones([4])]).tolist()
        [12.0, 12.0]
    """
    if not isinstance(x, (list, tuple)) or len(x) < 2:
        raise errors.ValueError_(f"multi_dot: x must be a list of at least two tensors, got {errors.describe(x)}")
    for i, m in enumerate(x):
        check_tensor("multi_dot", m, f"x[{i}]")
        same_type("multi_dot", x[0], m)
        if m.ndim != 2 and not (m.ndim == 1 and i in (0, len(x) - 1)):
            raise errors.ValueError_(
                f"multi_dot: x[{i}] must be a matrix (a vector only at the ends), got shape {list(m.shape)}"
            )
    for i, (a, b) in enumerate(zip(x, x[1:])):
        if a.shape[-1] != b.shape[0]:
            raise errors.ValueError_(
                f"multi_dot: the width of x[{i}] and the height of x[{i + 1}] differ, got shapes "
                f"{list(a.shape)} and {list(b.shape)}"
            )
    return jnp.linalg.multi_dot(x) if len(x) > 2 else jnp.matmul(*x)


_ACTIVATIONS = {"identity": lambda x: x, "relu": jax.nn.relu, "gelu": lambda x: jax.nn.gelu(x, approximate=False)}


@op(
    method=False,
    export=False,
    differentiable=False,
    scalars="scale",
    static="output_dtype",
    name="fp8_fp8_half_gemm_fused",
)
def fp8_fp8_half_gemm_fused(
    x, y, transpose_x=False, transpose_y=False, bias=None, scale=1.0, output_dtype="float16", act="identity"
):
    """act(scale * (x @ y) + bias) for matrices of 8-bit floats, summed in float32.

    Args:
        output_dtype: "float16" or "bfloat16".
        act: "identity", "relu" or "gelu".

    Raises:
        ValueError: another type or activation, shapes that do not fit.

    Example:
        >>> x = paddle.ones([2, 2]).astype("float8_e4m3fn")
        >>> paddle.linalg.fp8_fp8_half_gemm_fused(x, x, scale=0.5).tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    name = "fp8_fp8_half_gemm_fused"
    check_tensors(name, x=x, y=y)
    if not (x.dtype.itemsize == y.dtype.itemsize == 1 and jnp.issubdtype(x.dtype, jnp.floating)):
        raise errors.ValueError_(f"{name}: x and y must be 8-bit floats, got {x.dtype.name} and {y.dtype.name}")
    if output_dtype not in ("float16", "bfloat16") or act not in _ACTIVATIONS:
        raise errors.ValueError_(
            f"{name}: output_dtype must be 'float16' or 'bfloat16' and act one of "
            f"{', '.join(_ACTIVATIONS)}, got {output_dtype!r} and {act!r}"
        )
    out = matmul.__wrapped__(x.astype(np.float32), y.astype(np.float32), transpose_x, transpose_y) * scale.astype(
        np.float32
    )
    if bias is not None:
        out = out + bias.astype(np.float32)
    return _ACTIVATIONS[act](out).astype(output_dtype)


# ---- other products ----


@op
def inner(x, y):
    """The sums of products over the last axes of two tensors; a 0-D operand multiplies.

    Raises:
        ValueError: the last axes differ in length.
        TypeError: different types.

    Example:
        >>> paddle.inner(paddle.ones([2, 3]), paddle.ones([4, 3])).shape
        [2, 4]
    """
    check_tensors("inner", x=x, y=y)
    if not x.ndim or not y.ndim:
        x, y = promote("inner", x, y)
        return x * y
    same_type("inner", x, y)
    if x.shape[-1] != y.shape[-1]:
        raise errors.ValueError_(f"inner: the last axes must have one length, got {_shapes(x=x, y=y)}")
    return jnp.tensordot(x, y, (-1, -1))


@op(aliases={"vec2": "y"})
def outer(x, y):
    """The products of every element of x with every element of y, a matrix; other shapes are flattened.

    Example:
        >>> paddle.outer(paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])).tolist()
        [[3, 4], [6, 8]]
    """
    check_tensors("outer", x=x, y=y)
    x, y = promote("outer", x, y)
    return x.reshape(-1, 1) * y.reshape(1, -1)


ger = outer
__all__ += ["ger"]  # type: ignore[name-defined]  # noqa: F821


@op
def cross(x, y, axis=9):
    """The cross product of vectors of length 3 along an axis, by default the first axis of length 3.

    Raises:
        ValueError: the shapes differ, or the axis has not length 3.
        IndexError: the axis is out of range.

    Example:
        >>> paddle.cross(paddle.to_tensor([1, 0, 0]), paddle.to_tensor([0, 1, 0])).tolist()
        [0, 0, 1]
    """
    check_tensors("cross", x=x, y=y)
    if x.shape != y.shape:
        raise errors.ValueError_(f"cross: both operands must have one shape, got {_shapes(x=x, y=y)}")
    x, y = promote("cross", x, y)
    if axis is None or axis == 9:
        if 3 not in x.shape:
            raise errors.ValueError_(f"cross: there is no axis of length 3, the shape is {list(x.shape)}")
        axis = x.shape.index(3)
    axis = tensor_axis("cross", x, axis, errors.IndexError_)
    if not x.ndim or x.shape[axis] != 3:
        raise errors.ValueError_(f"cross: axis {axis} must have length 3, the shape is {list(x.shape)}")
    x, y = jnp.moveaxis(x, axis, 0), jnp.moveaxis(y, axis, 0)
    parts = [x[i] * y[j] - x[j] * y[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return jnp.stack(parts, axis)


@op
def kron(x, y):
    """The Kronecker product: x with every element replaced by that element times y.

    Example:
        >>> paddle.kron(paddle.to_tensor([1, 2]), paddle.to_tensor([1, 10])).tolist()
        [1, 10, 2, 20]
    """
    check_tensors("kron", x=x, y=y)
    x, y = promote("kron", x, y)
    return jnp.kron(x, y)


@op(method=False)
def vecdot(x, y, axis=-1):
    """The sums of conj(x) * y along an axis; the shapes broadcast.

    Example:
        >>> paddle.linalg.vecdot(paddle.ones([2, 3]), paddle.ones([3])).tolist()
        [3.0, 3.0]
    """
    check_tensors("vecdot", x=x, y=y)
    x, y = promote("vecdot", x, y)
    product = jnp.conj(x) * y
    return jnp.sum(product, reduction_axes("vecdot", product, axis), dtype=sum_dtype(product, None))


@op
def tensordot(x, y, axes=2):
    """The sums of products over pairs of axes.

    Args:
        axes: a number n: the last n axes of x with the first n of y; a list of ints: those axes of both; two lists: axes
            of x and axes of y, the shorter list being completed from the longer. Lengths of 1 broadcast.

    Raises:
        ValueError: the lengths of a pair differ, an axis is out of range.
        TypeError: different types.

    Example:
        >>> paddle.tensordot(paddle.ones([2, 3]), paddle.ones([3, 4]), 1).shape
        [2, 4]
    """
    check_tensors("tensordot", x=x, y=y)
    same_type("tensordot", x, y)
    if isinstance(axes, (int, np.integer)):
        if axes < 0 or axes > min(x.ndim, y.ndim):
            raise errors.ValueError_(
                f"tensordot: axes must lie between 0 and the dimensions, got {axes} for {_shapes(x=x, y=y)}"
            )
        of_x, of_y = tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes))
    elif not axes or not isinstance(axes[0], tuple):
        of_x = of_y = tuple(axes)
    else:
        of_x, of_y = axes[0], axes[1] if len(axes) > 1 else ()
        n = min(len(of_x), len(of_y))
        of_x, of_y = of_x + of_y[n:] if len(of_x) == n else of_x, of_y + of_x[n:] if len(of_y) == n else of_y
    of_x = [tensor_axis("tensordot", x, a) for a in of_x]
    of_y = [tensor_axis("tensordot", y, a) for a in of_y]
    for i, j in zip(of_x, of_y):
        if x.shape[i] != y.shape[j]:
            if x.shape[i] == 1:
                y = jnp.sum(y, j, keepdims=True, dtype=y.dtype)
            elif y.shape[j] == 1:
                x = jnp.sum(x, i, keepdims=True, dtype=x.dtype)
            else:
                raise errors.ValueError_(
                    f"tensordot: axis {i} of x and axis {j} of y differ in length, got {_shapes(x=x, y=y)}"
                )
    return jnp.tensordot(x, y, (of_x, of_y))


# ---- einsum ----


def _labels(equation, operands):
    """(labels of each operand, labels of the result) of an equation that fits the operands; '.' for an ellipsis."""
    text = equation.replace(" ", "").replace("...", ".")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if any(not (c.isalpha() or c in ".,") for c in left) or any(not (c.isalpha() or c == ".") for c in right):
        raise errors.ValueError_(f"einsum: labels are letters, got {equation!r}")
    if len(terms) != len(operands):
        raise errors.ValueError_(f"einsum: {equation!r} has {len(terms)} terms, but there are {len(operands)} operands")
    length: dict = {}
    for term, x in zip(terms, operands):
        named = len(term) - term.count(".")
        if term.count(".") > 1 or named > x.ndim or named < x.ndim and "." not in term:
            raise errors.ValueError_(f"einsum: {term!r} does not label the axes of an operand of shape {list(x.shape)}")
        before, _, after = term.partition(".")
        lengths = list(zip(before, x.shape)) + list(zip(after[::-1], x.shape[::-1]))
        for label, n in lengths:
            known = length.setdefault(label, n)
            if n != known and 1 not in (n, known):
                raise errors.ValueError_(f"einsum: the axes labelled {label!r} have lengths {known} and {n}")
            length[label] = max(n, known) if n and known else 0
    if not arrow:
        every = "".join(terms)
        right = ("." if "." in every else "") + "".join(sorted(c for c in set(every) - {"."} if every.count(c) == 1))
    if right.count(".") > 1 or any(c not in left for c in right):
        raise errors.ValueError_(f"einsum: the result {right!r} has labels that no operand has")
    return terms, right


@op(method=False, export=False, name="einsum")
def _einsum(operands, equation):
    for i, x in enumerate(operands):
        check_tensor("einsum", x, f"operands[{i}]")
        same_type("einsum", operands[0], x)
    terms, right = _labels(equation, operands)
    distinct = "".join(dict.fromkeys(right))
    out = jnp.einsum(f"{','.join(terms)}->{distinct}".replace(".", "..."), *operands)
    if distinct == right:
        return out
    # A label that occurs twice in the result: the values lie on a diagonal, zeros beside it.
    if "." in right:
        raise errors.ValueError_(f"einsum: a result with an ellipsis cannot repeat a label, got {equation!r}")
    sizes = [out.shape[distinct.index(c)] for c in right]
    grid = jnp.indices(sizes, sparse=True)
    first = {c: grid[right.index(c)] for c in distinct}
    mask = jnp.ones((), bool)
    for i, c in enumerate(right):
        mask = mask & (grid[i] == first[c])
    return jnp.where(mask, out[tuple(first[c] for c in distinct)], 0)


@api(method=False)
def einsum(equation, *operands):
    """Sums of products in Einstein's notation, such as "ij,jk->ik"; "..." stands for axes that broadcast.

    Without "->" the result has the labels that occur once, in alphabetical order.

    Raises:
        ValueError: an equation that does not fit the operands.
        TypeError: operands of different types.

    Example:
        >>> paddle.einsum("ij,ij->i", paddle.ones([2, 3]), paddle.ones([2, 3])).tolist()
        [3.0, 3.0]
    """
    if not isinstance(equation, str):
        raise errors.TypeError_(f"einsum: the equation must be a str, got {errors.describe(equation)}")
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not operands:
        raise errors.ValueError_("einsum: there must be at least one operand")
    return _einsum(list(operands), equation)


# ---- trace, covariance ----


@op
def trace(x, offset=0, axis1=0, axis2=1):
    """The sums along diagonals; `offset` counts diagonals upwards.

    Raises:
        ValueError: fewer than two dimensions, or equal axes.
        IndexError: an axis is out of range.

    Example:
        >>> paddle.trace(paddle.to_tensor([[1, 2], [3, 4]])).item()
        5
    """
    check_tensor("trace", x)
    if x.ndim < 2:
        raise errors.ValueError_(f"trace: the tensor must have at least two dimensions, got shape {list(x.shape)}")
    axis1, axis2 = (tensor_axis("trace", x, a, errors.IndexError_) for a in (axis1, axis2))
    if axis1 == axis2:
        raise errors.ValueError_(f"trace: axis1 and axis2 are the same axis {axis1}")
    return jnp.sum(jnp.diagonal(x, offset, axis1, axis2), -1, dtype=x.dtype)


def _covariance(name, x, rowvar, ddof, fweights, aweights):
    check_tensor(name, x)
    if x.ndim not in (1, 2):
        raise errors.ValueError_(f"{name}: x must be 1-D or 2-D, got shape {list(x.shape)}")
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        x = x.astype(np.float32)
    x = jnp.atleast_2d(x)
    if not rowvar and x.shape[0] != 1:
        x = x.T
    n = x.shape[1]
    weights = None
    for argument, w in (("fweights", fweights), ("aweights", aweights)):
        if w is None:
            continue
        if w.shape != (n,):
            raise errors.ValueError_(
                f"{name}: {argument} must have shape [{n}], one weight for each observation, got {list(w.shape)}"
            )
        w = w.astype(x.dtype)
        weights = w if weights is None else weights * w
    total = n if weights is None else jnp.sum(weights)
    if not ddof:
        norm = total
    elif aweights is None:
        norm = total - 1
    else:
        norm = total - jnp.sum(weights * aweights.astype(x.dtype)) / total
    norm = jnp.maximum(jnp.asarray(norm, x.real.dtype if jnp.iscomplexobj(x) else x.dtype), 0)
    mean = jnp.mean(x, 1, keepdims=True) if weights is None else jnp.sum(x * weights, 1, keepdims=True) / total
    x = x - mean
    return jnp.squeeze(jnp.matmul(x if weights is None else x * weights, jnp.conj(x.T)) / norm)


@op(method=False, export=False, static="rowvar ddof", name="cov")
def _cov(x, fweights, aweights, rowvar, ddof):
    return _covariance("cov", x, rowvar, ddof, fweights, aweights)


@api(export=False)
def cov(x, rowvar=True, ddof=True, fweights=None, aweights=None):
    """The covariance matrix of variables (rows of x, or columns with `rowvar=False`) over observations.

    Args:
        x: 1-D (one variable) or 2-D.
        ddof: divide by the number of observations less one.
        fweights: int [observations], how often each was seen.
        aweights: [observations], how much each counts.

    Raises:
        ValueError: shapes that do not fit, negative weights.

    Example:
        >>> paddle.linalg.cov(paddle.to_tensor([1.0, 2.0, 3.0])).item()
        1.0
    """
    for argument, w in (("fweights", fweights), ("aweights", aweights)):
        value = w._value if isinstance(w, Tensor) else None
        if value is not None and value.size and not isinstance(value, ABSTRACT) and np.asarray(value).min() < 0:
            raise errors.ValueError_(f"cov: {argument} cannot be negative")
    return _cov(x, fweights, aweights, bool(rowvar), bool(ddof))


@op(static="rowvar", export=False)
def corrcoef(x, rowvar=True):
    """The matrix of Pearson's correlation coefficients of variables; arguments as for `cov`.

    Example:
        >>> paddle.linalg.corrcoef(paddle.to_tensor([[1.0, 2.0], [2.0, 4.0]])).round().tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    c = _covariance("corrcoef", x, rowvar, True, None, None)
    if c.ndim == 0:
        return c / c
    d = jnp.sqrt(jnp.diagonal(c).real)
    c = c / d[:, None] / d[None, :]
    return jnp.clip(c, -1, 1) if not jnp.iscomplexobj(c) else c
