"""Patterns of sparsity: of every m neighbours at most n may be other than zero, along rows or along rows and columns."""

from __future__ import annotations

import enum
import functools
from typing import Any

import numpy as np

from ...engine import errors
from ...engine.tensor import Tensor

__all__ = [
    "CheckMethod",
    "MaskAlgo",
    "calculate_density",
    "check_mask_1d",
    "check_mask_2d",
    "check_sparsity",
    "create_mask",
    "get_mask_1d",
    "get_mask_2d_best",
    "get_mask_2d_greedy",
]

LARGEST_BLOCK = 6  # of the search through all patterns: there are 297200 for blocks of 6, 68 million for 8 with n = 2


class MaskAlgo(enum.Enum):
    """How a mask is found."""

    MASK_1D = "get_mask_1d"
    MASK_2D_GREEDY = "get_mask_2d_greedy"
    MASK_2D_BEST = "get_mask_2d_best"


class CheckMethod(enum.Enum):
    """How a mask is checked."""

    CHECK_1D = "check_mask_1d"
    CHECK_2D = "check_mask_2d"

    @staticmethod
    def get_checking_method(mask_algo: MaskAlgo) -> CheckMethod:
        """The check that belongs to an algorithm."""
        return CheckMethod.CHECK_1D if mask_algo is MaskAlgo.MASK_1D else CheckMethod.CHECK_2D


@errors.clean
def calculate_density(x: Any) -> float:
    """The share of elements that are not zero.

    Example:
        >>> paddle.incubate.asp.calculate_density(paddle.to_tensor([[0.0, 1.0], [3.0, 0.0]]))
        0.5
    """
    array = np.asarray(x.numpy() if isinstance(x, Tensor) else x)
    return float(np.count_nonzero(array)) / array.size if array.size else 0.0


def _check(n: int, m: int) -> None:
    if not 0 <= n <= m or m < 1:
        raise errors.ValueError_(f"asp: n of m must be 0 <= n <= m, got n = {n}, m = {m}")


def _groups(matrix: np.ndarray, m: int) -> np.ndarray:
    """[groups, m]: the rows in pieces of m, filled up with zeros."""
    rows, columns = matrix.shape
    return np.pad(matrix, ((0, 0), (0, -columns % m))).reshape(-1, m)


def _blocks(matrix: np.ndarray, m: int) -> np.ndarray:
    """[block rows, block columns, m, m], filled up with zeros."""
    rows, columns = matrix.shape
    padded = np.pad(matrix, ((0, -rows % m), (0, -columns % m)))
    return padded.reshape(padded.shape[0] // m, m, padded.shape[1] // m, m).swapaxes(1, 2)


def _from_blocks(blocks: np.ndarray, shape: tuple) -> np.ndarray:
    a, b, m, _ = blocks.shape
    return blocks.swapaxes(1, 2).reshape(a * m, b * m)[: shape[0], : shape[1]]


@errors.clean
def get_mask_1d(mat: np.ndarray, n: int, m: int) -> np.ndarray:
    """A mask that keeps the n largest of every m neighbours in a row.

    Example:
        >>> import numpy as np
        >>> paddle.incubate.asp.get_mask_1d(np.array([[1.0, 4.0, 3.0, 2.0]]), 2, 4).tolist()
        [[0.0, 1.0, 1.0, 0.0]]
    """
    _check(n, m)
    mat = np.asarray(mat)
    groups = _groups(np.abs(mat), m)
    mask = np.ones_like(groups, mat.dtype if mat.dtype.kind == "f" else np.float64)
    np.put_along_axis(mask, np.argsort(groups, 1)[:, : m - n], 0, 1)
    return mask.reshape(mat.shape[0], -1)[:, : mat.shape[1]]


@errors.clean
def check_mask_1d(mat: np.ndarray, n: int, m: int) -> bool:
    """Whether of every m neighbours in a row at most n are other than zero."""
    return bool((np.count_nonzero(_groups(np.atleast_2d(mat), m), 1) <= n).all())


@errors.clean
def get_mask_2d_greedy(mat: np.ndarray, n: int, m: int) -> np.ndarray:
    """A mask of m x m blocks with at most n elements in every row and column: the largest that still fit are taken."""
    _check(n, m)
    mat = np.asarray(mat)
    blocks = _blocks(np.abs(mat), m)
    masks = np.zeros(blocks.shape, mat.dtype if mat.dtype.kind == "f" else np.float64)
    for block, mask in zip(blocks.reshape(-1, m, m), masks.reshape(-1, m, m)):
        rows, columns = np.zeros(m, int), np.zeros(m, int)
        for at in np.argsort(block.ravel())[::-1]:
            i, j = divmod(at, m)
            if rows[i] < n and columns[j] < n:
                mask[i, j] = 1
                rows[i] += 1
                columns[j] += 1
    return _from_blocks(masks, mat.shape)


@functools.cache
def _patterns(n: int, m: int) -> np.ndarray:
    """All m x m arrays of zeros and ones with n ones in every row and column."""
    if m > LARGEST_BLOCK:
        raise errors.ValueError_(
            f"get_mask_2d_best: there are too many patterns for m = {m}, at most {LARGEST_BLOCK}; use get_mask_2d_greedy"
        )
    choices = [row for row in np.ndindex(*(2,) * m) if sum(row) == n]
    found: list = [((), np.zeros(m, int))]
    for _ in range(m):
        found = [
            ((*rows, row), total)
            for rows, before in found
            for row in choices
            if (total := before + row).max(initial=0) <= n
        ]
    return np.array([rows for rows, _ in found], float)


@errors.clean
def get_mask_2d_best(mat: np.ndarray, n: int, m: int) -> np.ndarray:
    """The mask of m x m blocks with n elements in every row and column that keeps most of the magnitude."""
    _check(n, m)
    mat = np.asarray(mat)
    patterns = _patterns(n, m)
    blocks = _blocks(np.abs(mat), m)
    best = (blocks.reshape(-1, m * m) @ patterns.reshape(-1, m * m).T).argmax(1)
    masks = patterns[best].astype(mat.dtype if mat.dtype.kind == "f" else np.float64)
    return _from_blocks(masks.reshape(blocks.shape), mat.shape)


@errors.clean
def check_mask_2d(mat: np.ndarray, n: int, m: int) -> bool:
    """Whether in every m x m block each row and each column has at most n elements other than zero."""
    there = _blocks(np.atleast_2d(mat), m) != 0
    return bool((there.sum(-1) <= n).all() and (there.sum(-2) <= n).all())


def _matrix(array: np.ndarray, name: str) -> tuple[np.ndarray, Any]:
    """(the array as a matrix, how to get back): of four axes the third is the one that is divided into groups."""
    if not 1 <= array.ndim <= 4:
        raise errors.ValueError_(f"{name}: tensor must have 1 to 4 axes, got {array.ndim}")
    if array.ndim < 4:
        return array.reshape(-1, array.shape[-1]), lambda mask: mask.reshape(array.shape)
    turned = array.transpose(0, 1, 3, 2)
    return turned.reshape(-1, turned.shape[-1]), lambda mask: mask.reshape(turned.shape).transpose(0, 1, 3, 2)


@errors.clean
def create_mask(tensor: Any, func_name: MaskAlgo = MaskAlgo.MASK_1D, n: int = 2, m: int = 4) -> np.ndarray:
    """A mask for an array of 1 to 4 axes.

    Args:
        tensor: an array.
        func_name: the algorithm.
        n, m: of every m neighbours n stay.

    Raises:
        AssertionError: func_name is no MaskAlgo.
        ValueError: more axes.

    Example:
        >>> import numpy as np
        >>> paddle.incubate.asp.create_mask(np.array([1.0, 4.0, 3.0, 2.0])).tolist()
        [0.0, 1.0, 1.0, 0.0]
    """
    assert isinstance(func_name, MaskAlgo), (
        f"(InvalidArgument) create_mask: func_name must be a MaskAlgo, got {errors.describe(func_name)}"
    )
    array = np.asarray(tensor.numpy() if isinstance(tensor, Tensor) else tensor)
    matrix, back = _matrix(array, "create_mask")
    return back(globals()[func_name.value](matrix, n, m)).astype(array.dtype)


@errors.clean
def check_sparsity(tensor: Any, func_name: CheckMethod = CheckMethod.CHECK_1D, n: int = 2, m: int = 4) -> bool:
    """Whether an array of 1 to 4 axes has the pattern; the arguments are those of `create_mask`.

    Example:
        >>> import numpy as np
        >>> paddle.incubate.asp.check_sparsity(np.ones([4, 4]))
        False
    """
    assert isinstance(func_name, CheckMethod), (
        f"(InvalidArgument) check_sparsity: func_name must be a CheckMethod, got {errors.describe(func_name)}"
    )
    array = np.asarray(tensor.numpy() if isinstance(tensor, Tensor) else tensor)
    return globals()[func_name.value](_matrix(array, "check_sparsity")[0], n, m)
