"""Low rank: a product with a matrix becomes two with thin ones."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from paddle import nn
from paddle.engine import errors
from paddle.nn.layer import Layer


def rank_for(singular: np.ndarray, energy: float) -> int:
    """The smallest rank that keeps a share of the sum of squares."""
    share = np.cumsum(singular**2) / max(float((singular**2).sum()), 1e-30)
    return int(np.searchsorted(share, energy - 1e-12) + 1)


def decompose(
    model: Layer,
    rank: int | None = None,
    energy: float | None = None,
    skip: Collection[str] = (),
    only_smaller: bool = True,
) -> dict[str, int]:
    """Replace linear layers and convolutions of a network by two layers each, by singular values, in place.

    A Linear becomes two Linears; a Conv2D with k x k windows one with `rank` outputs, followed by one with 1 x 1 windows.
    Convolutions in groups and layers that are used in several places stay.

    Args:
        model: a Layer.
        rank: how many singular values stay.
        energy: in place of a rank: the share of the sum of their squares that stays, in (0, 1].
        skip: names of layers, as `named_sublayers` gives them, that stay.
        only_smaller: leave layers alone that would not become smaller.

    Returns:
        The ranks by the names of the layers that were replaced.

    Raises:
        TypeError: no Layer.
        ValueError: neither or both of rank and energy, or one out of range.

    Example:
        >>> from paddleslim.low_rank import decompose
        >>> net = paddle.nn.Sequential(paddle.nn.Linear(64, 64))
        >>> decompose(net, rank=8)
        {'0': 8}
        >>> sum(p.size for p in net.parameters()) < 64 * 64
        True
    """
    if not isinstance(model, Layer):
        raise errors.TypeError_(f"decompose: model must be a Layer, got {errors.describe(model)}")
    if (rank is None) == (energy is None):
        raise errors.ValueError_("decompose: give either rank or energy")
    if rank is not None and (isinstance(rank, bool) or not isinstance(rank, int) or rank < 1):
        raise errors.ValueError_(f"decompose: rank must be a positive int, got {rank!r}")
    if energy is not None and not 0 < energy <= 1:
        raise errors.ValueError_(f"decompose: energy must lie in (0, 1], got {energy!r}")
    uses: dict[int, int] = {}
    places = [(n, k, parent, c) for n, parent in model.named_sublayers(include_self=True)
              for k, c in parent._sub_layers.items() if c is not None]  # fmt: skip
    for *_, layer in places:
        for p in layer._parameters.values():
            uses[id(p)] = uses.get(id(p), 0) + 1
    found = {}
    for name, key, parent, layer in places:
        path = f"{name}.{key}" if name else key
        weight = layer._parameters.get("weight")
        if path in skip or weight is None or uses[id(weight)] > 1 or not _fits(layer):
            continue
        made, kept = _thin(layer, rank, energy)
        smaller = sum(p.size for p in made.parameters()) < sum(p.size for p in layer.parameters())
        if smaller or not only_smaller:
            setattr(parent, key, made)
            found[path] = kept
    return found


def _fits(layer: Layer) -> bool:
    if type(layer) is nn.Linear:
        return True
    return type(layer) is nn.Conv2D and layer._groups == 1 and layer._padding_mode == "zeros"


def _thin(layer: Any, rank: int | None, energy: float | None) -> tuple[Layer, int]:
    weight = np.asarray(layer.weight.numpy(), np.float64)
    matrix = weight if type(layer) is nn.Linear else weight.reshape(weight.shape[0], -1).T  # [inputs, outputs]
    left, singular, right = np.linalg.svd(matrix, full_matrices=False)
    r = min(rank if rank is not None else rank_for(singular, energy or 1.0), len(singular))
    root = np.sqrt(singular[:r])
    first, second = left[:, :r] * root, root[:, None] * right[:r]
    bias = None if layer.bias is not None else False
    a: Any
    b: Any
    if type(layer) is nn.Linear:
        a = nn.Linear(matrix.shape[0], r, bias_attr=False)
        b = nn.Linear(r, matrix.shape[1], bias_attr=bias)
    else:
        options = {"stride": layer._stride, "padding": layer._padding, "dilation": layer._dilation}
        a = nn.Conv2D(weight.shape[1], r, weight.shape[2:], bias_attr=False, data_format=layer._data_format, **options)
        b = nn.Conv2D(r, weight.shape[0], 1, bias_attr=bias, data_format=layer._data_format)
        first = first.T.reshape(r, *weight.shape[1:])
        second = second.T.reshape(weight.shape[0], r, 1, 1)
    dtype = str(layer.weight._raw.dtype)
    a.weight.set_value(first.astype(dtype))
    b.weight.set_value(second.astype(dtype))
    if layer.bias is not None:
        b.bias.set_value(layer.bias)
    made = nn.Sequential(a, b)
    made.train() if layer.training else made.eval()
    return made, r
