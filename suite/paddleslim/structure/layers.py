"""Pruning of layers, in place: parameters become smaller, and layers learn their new sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from paddle import nn
from paddle.engine import errors
from paddle.engine.tensor import Tensor
from paddle.nn.layer import Layer
from paddle.quantization.export import traced
from paddle.static import InputSpec

from .plan import Structure


def specs_of(inputs: Any, dtype: str = "float32", function: str = "prune") -> list[InputSpec]:
    """Descriptions of inputs: a shape, or a list of shapes, tensors or InputSpecs."""
    if isinstance(inputs, (Tensor, np.ndarray, InputSpec)):
        inputs = [inputs]
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise errors.TypeError_(
            f"{function}: inputs must be a shape or a list of tensors, got {errors.describe(inputs)}"
        )
    if all(isinstance(n, (int, np.integer)) or n is None for n in inputs):
        inputs = [inputs]
    found = []
    for x in inputs:
        if isinstance(x, (list, tuple)):
            found.append(InputSpec([1 if n is None or n < 0 else int(n) for n in x], dtype))
        elif isinstance(x, InputSpec):
            found.append(InputSpec([1 if n is None or n < 0 else int(n) for n in x.shape], x.dtype))
        else:
            found.append(InputSpec(list(x.shape), str(np.asarray(x).dtype)))
    return found


def of_layer(layer: Layer, inputs: Any, dtype: str = "float32") -> Structure:
    """The dependencies of the channels of a layer.

    Args:
        layer: a Layer.
        inputs: the shape of its input, or a list of shapes, tensors or InputSpecs.
        dtype: of inputs that are given as shapes.

    Raises:
        TypeError: no layer, inputs of another kind.
    """
    if not isinstance(layer, Layer):
        raise errors.TypeError_(f"prune: the model must be a Layer, got {errors.describe(layer)}")
    return structure_of(layer, specs_of(inputs, dtype))


def structure_of(layer: Layer, specs: list[InputSpec], hold_results: bool = True) -> Structure:
    """The same for descriptions of inputs; perhaps with results whose channels may go."""
    graph, _, results = traced(layer, specs)
    own = {id(t) for t in (*layer.parameters(), *layer.buffers())}
    constants = {n for n, s in graph.states.items() if id(s.tensor) not in own}
    return Structure(graph, results if hold_results else [], constants)


class Removal:
    """Units that were removed from a layer; `restore` brings them back.

    Args:
        layer: what is changed.
        structure: its dependencies.
        removed: units.
        inputs: what it was traced with, for looking at it again.
        optimizers: whose states become smaller as well.

    Attributes:
        kept: the indices that are left, by (name of the parameter, axis).
    """

    def __init__(
        self, layer: Layer, structure: Structure, removed: Iterable[int], inputs: Any, optimizers: Sequence[Any] = ()
    ):
        self.layer, self.structure, self.removed = layer, structure, list(removed)
        self.kept = structure.keep(self.removed)
        self._arrays: list[tuple[Tensor, np.ndarray]] = []
        self._sizes: list[tuple[Layer, str, Any]] = []
        self._states: list[tuple[Any, dict]] = []
        self._optimizers = list(optimizers)
        if self.removed:
            try:
                self._apply()
                graph, _, results = traced(layer, inputs)
                structure.check(graph, results, self.removed)
            except Exception:
                self.restore()
                raise

    def _apply(self) -> None:
        states = self.structure.graph.states
        for optimizer in self._optimizers:
            self._states.append((optimizer, _copied(optimizer.state_dict())))
        for name in dict.fromkeys(n for n, _ in self.kept):
            tensor = states[name].tensor
            assert tensor is not None
            array = np.asarray(tensor.numpy())
            self._arrays.append((tensor, array))
            _write(tensor, without(array, name, self.kept))
        self._resize()
        for optimizer, state in self._states:
            optimizer.set_state_dict(_pruned_state(state, self.kept, dict(self._by_name())))

    def _by_name(self) -> Iterable[tuple[str, tuple]]:
        for tensor, array in self._arrays:
            yield tensor.name, array.shape

    def _resize(self) -> None:
        changed = {id(t) for t, _ in self._arrays}
        depthwise = self.structure.propagation.depthwise
        for layer in self.layer.sublayers(include_self=True):
            own = {n: p for n, p in [*layer._parameters.items(), *layer._buffers.items()] if p is not None}
            children = [p for child in layer.children() for p in child.parameters()]
            if any(id(p) in changed for p in [*own.values(), *children]):
                for attribute, value in _sizes(layer, depthwise):
                    self._sizes.append((layer, attribute, getattr(layer, attribute)))
                    setattr(layer, attribute, value)

    def restore(self) -> None:
        """Make the layer what it was."""
        for tensor, array in self._arrays:
            _write(tensor, array)
        for layer, attribute, value in reversed(self._sizes):
            setattr(layer, attribute, value)
        for optimizer, state in self._states:
            optimizer.set_state_dict(state)
        self._arrays, self._sizes, self._states = [], [], []


def without(array: np.ndarray, name: str, kept: dict[tuple[str, int], np.ndarray]) -> np.ndarray:
    """What is left of an array of this name."""
    for axis in range(array.ndim):
        if (name, axis) in kept:
            array = np.take(array, kept[name, axis], axis)
    return array


def _write(tensor: Tensor, array: np.ndarray) -> None:
    tensor._write_array(array)
    if tensor._grad is not None:
        tensor.clear_gradient(False)


def _copied(state: dict) -> dict:
    return {
        k: v.clone() if isinstance(v, Tensor) else _copied(v) if isinstance(v, dict) else v for k, v in state.items()
    }


def _pruned_state(state: dict, kept: dict, shapes: dict[str, tuple]) -> dict:
    """The state of an optimizer whose entries with the shape of a parameter are cut like it."""
    found = {}
    for key, value in state.items():
        name = next((n for n in shapes if key == n or key.startswith(n + "_")), None)
        if isinstance(value, dict):
            found[key] = _pruned_state(value, kept, shapes)
        elif name is not None and isinstance(value, Tensor) and tuple(value.shape) == shapes[name]:
            found[key] = Tensor(without(value.numpy(), name, kept))
        else:
            found[key] = value
    return found


def _sizes(layer: Layer, depthwise: dict[str, int]) -> Iterable[tuple[str, Any]]:
    """The sizes that a layer keeps, as its parameters say."""
    weight = layer._parameters.get("weight")
    if hasattr(layer, "_in_channels") and hasattr(layer, "_groups") and weight is not None:
        shape, groups = weight.shape, layer._groups
        if weight.name in depthwise:
            groups = shape[0] if layer._transposed else shape[0] // depthwise[weight.name]
            yield "_groups", groups
        yield "_in_channels", shape[0] if layer._transposed else shape[1] * groups
        yield "_out_channels", shape[1] * groups if layer._transposed else shape[0]
    elif isinstance(layer, nn.Linear):
        yield "in_features", layer.weight.shape[0]
        yield "out_features", layer.weight.shape[1]
    elif isinstance(layer, nn.Embedding):
        yield "_embedding_dim", layer.weight.shape[1]
    elif isinstance(layer, nn.PReLU):
        yield "_num_parameters", layer._weight.shape[0]
    elif isinstance(layer, nn.MultiHeadAttention):
        width = layer.q_proj.weight.shape[1]
        yield "num_heads", width // layer.head_dim
        yield "embed_dim", width
        yield "kdim", layer.k_proj.weight.shape[0]
        yield "vdim", layer.v_proj.weight.shape[0]
    elif hasattr(layer, "_num_features"):
        vector = next((p for p in (weight, layer._buffers.get("_mean")) if p is not None), None)
        if vector is not None:
            yield "_num_features", vector.shape[0]
