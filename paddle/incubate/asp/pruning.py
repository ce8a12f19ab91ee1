"""Automatic sparsity: weights are pruned to a pattern, and an optimizer keeps them there (Mishra et al., "Accelerating
Sparse Deep Neural Networks", 2021)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ...engine import errors
from ...engine.tensor import Tensor, _make
from ...nn.layer import Layer
from .masks import MaskAlgo, create_mask

__all__ = ["add_supported_layer", "decorate", "prune_model", "reset_excluded_layers", "set_excluded_layers"]

ALGORITHMS = {
    "mask_1d": MaskAlgo.MASK_1D,
    "mask_2d_greedy": MaskAlgo.MASK_2D_GREEDY,
    "mask_2d_best": MaskAlgo.MASK_2D_BEST,
}


def prune_by_inputs(weight: np.ndarray, m: int, n: int, mask_algo: MaskAlgo, name: str) -> tuple:
    """(the pruned weight, its mask): the pattern lies along the input features or channels."""
    inputs = weight.shape[1 if weight.ndim == 4 else 0]
    if weight.ndim not in (2, 4) or inputs < m:
        return weight, np.ones_like(weight)
    mask = create_mask(weight.T, mask_algo, n, m).T
    return weight * mask, mask


_excluded: list[str] = []
_supported: dict[str, Callable] = {"fc": prune_by_inputs, "linear": prune_by_inputs, "conv2d": prune_by_inputs}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@errors.clean
def set_excluded_layers(param_names: list[str], main_program: Any = None) -> None:
    """Leave parameters alone whose names contain one of these words.

    Example:
        >>> paddle.incubate.asp.set_excluded_layers(["linear_0"]); paddle.incubate.asp.reset_excluded_layers()
    """
    _excluded.extend(param_names)


@errors.clean
def reset_excluded_layers(main_program: Any = None) -> None:
    """Forget what `set_excluded_layers` named."""
    _excluded.clear()


@errors.clean
def add_supported_layer(layer: Any, pruning_func: Callable | None = None) -> None:
    """Let `prune_model` also prune a kind of layer.

    Args:
        layer: a class of layers, a layer, or a name as it occurs in the names of parameters.
        pruning_func: a function (weight, m, n, MaskAlgo, parameter name) -> (pruned weight, mask) of arrays; by default
            the pattern lies along the inputs.

    Raises:
        TypeError: something else.

    Example:
        >>> paddle.incubate.asp.add_supported_layer(paddle.nn.Embedding)
    """
    if isinstance(layer, str):
        name = layer
    elif isinstance(layer, Layer):
        name = _snake(type(layer).__name__)
    elif isinstance(layer, type) and issubclass(layer, Layer):
        name = _snake(layer.__name__)
    else:
        raise errors.TypeError_(f"add_supported_layer: layer must be a Layer or a name, got {errors.describe(layer)}")
    _supported[name] = pruning_func or prune_by_inputs


def _rule_for(name: str) -> Callable | None:
    """How to prune a parameter, by its name such as linear_0.w_0; None for not at all."""
    if any(word in name for word in _excluded):
        return None
    if name in _supported:
        return _supported[name]
    owner, _, kind = name.partition(".")
    if owner in _supported:
        return _supported[owner]
    return _supported.get(owner.rpartition("_")[0]) if "w_" in kind else None


@errors.clean
def prune_model(model: Any, n: int = 2, m: int = 4, mask_algo: str = "mask_1d", with_mask: bool = True) -> dict:
    """Prune the weights of a network in place: of every m neighbours at most n stay.

    Args:
        model: a Layer.
        n, m: the pattern.
        mask_algo: "mask_1d" looks along the inputs, "mask_2d_greedy" and "mask_2d_best" along the outputs as well.
        with_mask: remember the masks, for the optimizer that `decorate` made.

    Returns:
        The masks by the names of their parameters, arrays.

    Raises:
        AssertionError: an unknown mask_algo.
        TypeError: no Layer.

    Example:
        >>> net = paddle.nn.Linear(8, 8)
        >>> _ = paddle.incubate.asp.prune_model(net)
        >>> paddle.incubate.asp.calculate_density(net.weight)
        0.5
    """
    assert mask_algo in ALGORITHMS, (
        f"(InvalidArgument) prune_model: mask_algo must be one of {', '.join(ALGORITHMS)}, got {mask_algo!r}"
    )
    if not isinstance(model, Layer):
        raise errors.TypeError_(f"prune_model: model must be a Layer, got {errors.describe(model)}")
    masks = {}
    for p in model.parameters():
        rule = _rule_for(p.name)
        if rule is None:
            continue
        weight, mask = rule(p.numpy(), m, n, ALGORITHMS[mask_algo], p.name)
        p.set_value(np.asarray(weight))
        masks[p.name] = np.asarray(mask)
        if with_mask:
            p._asp_mask = jax.numpy.asarray(mask, p._raw.dtype)
    return masks


@jax.jit
def _masked(values: list, masks: list) -> list:
    return [v * m for v, m in zip(values, masks)]


class OptimizerWithSparsityGuarantee:
    """An optimizer that multiplies the pruned parameters by their masks after every step; made by `decorate`."""

    def __init__(self, optimizer: Any):
        self._optimizer = optimizer

    def __getattr__(self, name: str) -> Any:
        if name == "_optimizer":
            raise AttributeError(name)
        return getattr(self._optimizer, name)

    def _pruned(self) -> list[Tensor]:
        return [p for p in self._optimizer._parameter_list if "_asp_mask" in p.__dict__]

    def _guarantee(self) -> None:
        pruned = self._pruned()
        if pruned:
            values = _masked([p._value for p in pruned], [p._asp_mask for p in pruned])
            for p, value in zip(pruned, values):
                p._storage.value = value
            masters = self._optimizer._master_weights
            if masters:
                self._mask_masters(pruned)

    def _mask_masters(self, pruned: list[Tensor]) -> None:
        state = self._optimizer.state_dict()
        for p in pruned:
            master = state.get("master_weights", {}).get(p.name)
            if master is not None:
                master._write_array(master._value * p._asp_mask)
        self._optimizer.set_state_dict(state)

    def step(self) -> None:
        """The step of the optimizer, then the masks."""
        self._optimizer.step()
        self._guarantee()

    def minimize(
        self, loss: Any, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
    ) -> tuple:
        """`minimize` of the optimizer, then the masks."""
        out = self._optimizer.minimize(loss, startup_program, parameters, no_grad_set)
        self._guarantee()
        return out

    def state_dict(self) -> dict[str, Any]:
        """The state of the optimizer, and the masks under ``<parameter>.asp_mask``."""
        return {**self._optimizer.state_dict(), **{f"{p.name}.asp_mask": _make(p._asp_mask) for p in self._pruned()}}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Put back what `state_dict` returned."""
        rest = dict(state_dict)
        for p in self._optimizer._parameter_list:
            mask = rest.pop(f"{p.name}.asp_mask", None)
            if mask is not None:
                value = mask._value if isinstance(mask, Tensor) else np.asarray(mask)
                p._asp_mask = jax.numpy.asarray(value, p._raw.dtype)
        self._optimizer.set_state_dict(rest)


@errors.clean
def decorate(optimizer: Any) -> OptimizerWithSparsityGuarantee:
    """An optimizer that keeps the parameters pruned that `prune_model` pruned.

    Raises:
        AttributeError: no optimizer.

    Example:
        >>> net = paddle.nn.Linear(8, 8)
        >>> opt = paddle.incubate.asp.decorate(paddle.optimizer.SGD(0.1, parameters=net.parameters()))
        >>> _ = paddle.incubate.asp.prune_model(net)
        >>> net(paddle.ones([1, 8])).sum().backward(); opt.step()
        >>> paddle.incubate.asp.calculate_density(net.weight)
        0.5
    """
    if not hasattr(optimizer, "_parameter_list"):
        raise AttributeError(f"(InvalidType) decorate: an optimizer is needed, got {errors.describe(optimizer)}")
    return OptimizerWithSparsityGuarantee(optimizer)
