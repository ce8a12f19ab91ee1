"""Containers: layers and parameters in sequences and dicts, registered so that they train and save."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..engine import errors
from ..engine.parameter import Parameter, as_parameter
from ..engine.tensor import Tensor
from .layer import Layer, other_names


def _is_layer(container: Layer, layer: Any) -> Layer:
    if not isinstance(layer, Layer):
        raise errors.TypeError_(f"{type(container).__name__} holds Layers, got {errors.describe(layer)}")
    return layer


def _pairs(container: Layer, entries: Any) -> Iterable[tuple[str, Any]]:
    """(key, value) pairs of a mapping, another container, or an iterable of pairs."""
    if isinstance(entries, (Mapping, LayerDict)):
        return list(entries.items())
    if isinstance(entries, ParameterDict):
        return list(entries._parameters.items())
    if not isinstance(entries, Iterable):
        raise errors.TypeError_(
            f"{type(container).__name__}: a dict or (key, value) pairs are needed, got {errors.describe(entries)}"
        )
    pairs = list(entries)
    for i, pair in enumerate(pairs):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise errors.ValueError_(
                f"{type(container).__name__}: element {i} must be a (key, value) pair, got {errors.describe(pair)}"
            )
    return pairs


class Sequential(Layer):
    """Layers that are called one after the other, each on what the one before returned.

    Args:
        layers: Layers, or (name, Layer) pairs.

    Raises:
        TypeError: something else.

    Example:
        >>> paddle.nn.Sequential(paddle.nn.Linear(4, 3), paddle.nn.ReLU())(paddle.ones([2, 4])).shape
        [2, 3]
    """

    def __init__(self, *layers: Any):
        super().__init__()
        if layers and isinstance(layers[0], (list, tuple)):
            for name, layer in _pairs(self, layers):
                if not isinstance(name, str):
                    raise errors.TypeError_(
                        "Sequential takes Layers or (name, Layer) pairs; a list of layers is given as "
                        "Sequential(*layers)"
                    )
                self.add_sublayer(name, _is_layer(self, layer))
        else:
            for i, layer in enumerate(layers):
                self.add_sublayer(str(i), _is_layer(self, layer))

    def _key(self, index: int) -> str:
        keys = list(self._sub_layers)
        if not -len(keys) <= index < len(keys):
            raise errors.IndexError_(f"Sequential: index {index} is out of range, there are {len(keys)} layers")
        return keys[index]

    def _free_key(self) -> str:
        number = len(self._sub_layers)
        while str(number) in self._sub_layers:
            number += 1
        return str(number)

    def __getitem__(self, name: Any) -> Layer:
        if isinstance(name, slice):
            kind = type(self) if type(self).__init__ is Sequential.__init__ else Sequential
            return kind(*list(self._sub_layers.values())[name])
        if isinstance(name, str):
            return self._sub_layers[name]
        return self._sub_layers[self._key(name.__index__())]

    def __setitem__(self, name: Any, layer: Layer) -> None:
        _is_layer(self, layer)
        if isinstance(name, str):
            self._sub_layers[name] = layer
        elif isinstance(name, slice):
            raise errors.TypeError_("Sequential: one layer cannot be assigned to a slice")
        elif 0 <= len(self) <= name.__index__():
            self._sub_layers[str(name.__index__())] = layer
        else:
            self._sub_layers[self._key(name.__index__())] = layer

    def __delitem__(self, name: Any) -> None:
        if isinstance(name, slice):
            for key in list(self._sub_layers)[name]:
                del self._sub_layers[key]
        else:
            del self._sub_layers[name if isinstance(name, str) else self._key(name.__index__())]

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self._sub_layers.values())

    def append(self, module: Layer) -> Sequential:
        """Add a layer at the end; returns self."""
        self.add_sublayer(self._free_key(), _is_layer(self, module))
        return self

    def insert(self, index: int, module: Layer) -> Sequential:
        """Add a layer before position `index`; numbered layers behind it get the next number. Returns self.

        Raises IndexError when `index` is out of range.
        """
        _is_layer(self, module)
        n = len(self)
        if not -n <= index <= n:
            raise errors.IndexError_(f"Sequential.insert: index {index} is out of range, there are {n} layers")
        keys, layers = list(self._sub_layers), list(self._sub_layers.values())
        numbered = keys == [str(i) for i in range(n)]
        index = index + n if index < 0 else index
        keys.insert(index, self._free_key())
        layers.insert(index, module)
        self._sub_layers.clear()
        self._sub_layers.update(zip(map(str, range(n + 1)) if numbered else keys, layers))
        return self

    def extend(self, sequential: Iterable[Layer]) -> Sequential:
        """Add layers at the end; returns self."""
        for layer in list(sequential):
            self.append(layer)
        return self

    def forward(self, input: Any) -> Any:
        for layer in self._sub_layers.values():
            input = layer(input)
        return input


class LayerList(Layer):
    """A list of layers.

    Args:
        sublayers: an iterable of Layers.

    Example:
        >>> layers = paddle.nn.LayerList([paddle.nn.Linear(2, 2) for _ in range(3)])
        >>> len(layers), len(layers.parameters())
        (3, 6)
    """

    @other_names(modules="sublayers")
    def __init__(self, sublayers: Iterable[Layer] | None = None):
        super().__init__()
        for layer in sublayers or ():
            self.append(layer) if layer is not None else self.add_sublayer(str(len(self)), None)

    def _position(self, index: int, more: int = 0) -> int:
        n = len(self._sub_layers)
        if not -n <= index < n + more:
            raise errors.IndexError_(
                f"LayerList: index {index} is out of range, should be an integer in range [{-n}, {n + more})"
            )
        return index + n if index < 0 else index

    def _renumber(self, layers: Iterable[Layer]) -> None:
        layers = list(layers)
        self._sub_layers.clear()
        self._sub_layers.update((str(i), layer) for i, layer in enumerate(layers))

    def __getitem__(self, idx: Any) -> Layer:
        if isinstance(idx, slice):
            kind = type(self) if type(self).__init__ is LayerList.__init__ else LayerList
            return kind(list(self._sub_layers.values())[idx])
        return self._sub_layers[str(self._position(int(idx)))]

    def __setitem__(self, idx: Any, sublayer: Any) -> None:
        if isinstance(idx, slice):
            layers = list(self._sub_layers.values())
            layers[idx] = [_is_layer(self, layer) for layer in sublayer]
            self._renumber(layers)
        else:
            self._sub_layers[str(self._position(int(idx)))] = _is_layer(self, sublayer)

    def __delitem__(self, idx: Any) -> None:
        layers = list(self._sub_layers.values())
        del layers[idx if isinstance(idx, slice) else self._position(int(idx))]
        self._renumber(layers)

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self._sub_layers.values())

    def __iadd__(self, modules: Iterable[Layer]) -> LayerList:
        return self.extend(modules)

    def __add__(self, other: Iterable[Layer]) -> LayerList:
        return LayerList([*self, *other])

    @other_names(module="sublayer")
    def append(self, sublayer: Layer) -> LayerList:
        """Add a layer at the end; returns self."""
        self.add_sublayer(str(len(self)), _is_layer(self, sublayer))
        return self

    @other_names(module="sublayer")
    def insert(self, index: int, sublayer: Layer) -> None:
        """Add a layer before position `index`. IndexError when that is out of range."""
        layers = list(self._sub_layers.values())
        layers.insert(self._position(index, 1), _is_layer(self, sublayer))
        self._renumber(layers)

    @other_names(modules="sublayers")
    def extend(self, sublayers: Iterable[Layer]) -> LayerList:
        """Add layers at the end; returns self."""
        for layer in list(sublayers):
            self.append(layer)
        return self

    def pop(self, key: int) -> Layer:
        """Remove and return the layer at a position."""
        layer = self[key]
        del self[key]
        return layer


class LayerDict(Layer):
    """Layers by key, in the order in which they came.

    Args:
        sublayers: a dict, a LayerDict, or (key, Layer) pairs.

    Example:
        >>> layers = paddle.nn.LayerDict({"linear": paddle.nn.Linear(2, 2), "act": paddle.nn.ReLU()})
        >>> list(layers.keys())
        ['linear', 'act']
    """

    @other_names(modules="sublayers")
    def __init__(self, sublayers: Any = None):
        super().__init__()
        if sublayers is not None:
            self.update(sublayers)

    def __getitem__(self, key: str) -> Layer:
        return self._sub_layers[key]

    def __setitem__(self, key: str, sublayer: Layer) -> None:
        self.add_sublayer(key, _is_layer(self, sublayer))

    def __delitem__(self, key: str) -> None:
        del self._sub_layers[key]

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sub_layers)

    def __contains__(self, key: object) -> bool:
        return key in self._sub_layers

    def clear(self) -> None:
        """Remove all layers."""
        self._sub_layers.clear()

    def pop(self, key: str) -> Layer:
        """Remove and return the layer of a key."""
        return self._sub_layers.pop(key)

    def keys(self) -> Any:
        """The keys."""
        return self._sub_layers.keys()

    def items(self) -> Any:
        """The (key, Layer) pairs."""
        return self._sub_layers.items()

    def values(self) -> Any:
        """The layers."""
        return self._sub_layers.values()

    @other_names(modules="sublayers")
    def update(self, sublayers: Any) -> None:
        """Add or replace layers: a dict, a LayerDict, or (key, Layer) pairs.

        Raises TypeError or ValueError for something else.
        """
        for key, layer in _pairs(self, sublayers):
            self[key] = layer


class ParameterList(Layer):
    """A list of parameters.

    Args:
        parameters: an iterable of Parameters.

    Example:
        >>> params = paddle.nn.ParameterList([paddle.create_parameter([2], "float32") for _ in range(2)])
        >>> len(params.parameters())
        2
    """

    def __init__(self, parameters: Iterable[Parameter] | None = None):
        super().__init__()
        for parameter in parameters or ():
            self.append(parameter)

    def _key(self, idx: Any) -> str:
        n = len(self._parameters)
        if not -n <= int(idx) < n:
            raise errors.IndexError_(f"ParameterList: index {idx} is out of range, there are {n} parameters")
        return str(int(idx) % n)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self._parameters.values())[idx])
        return self._parameters[self._key(idx)]

    def __setitem__(self, idx: int, param: Any) -> None:
        key = self._key(idx)
        if isinstance(param, Tensor) and not isinstance(param, Parameter):
            param = as_parameter(param.detach(), trainable=not param.stop_gradient)
        if not isinstance(param, Parameter):
            raise errors.TypeError_(f"ParameterList holds Parameters, got {errors.describe(param)}")
        self._parameters[key] = param

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._parameters.values())

    def append(self, parameter: Parameter) -> ParameterList:
        """Add a parameter at the end; returns self. TypeError when it is none."""
        self.add_parameter(str(len(self)), parameter)
        return self


class ParameterDict(Layer):
    """Parameters by key, in the order in which they came.

    Args:
        parameters: a dict or (key, Parameter) pairs.

    Example:
        >>> list(paddle.nn.ParameterDict({"scale": paddle.create_parameter([2], "float32")}))
        ['scale']
    """

    def __init__(self, parameters: Any = None):
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Parameter:
        return self._parameters[key]

    def __setitem__(self, key: str, param: Parameter) -> None:
        if not isinstance(param, Parameter):
            raise errors.TypeError_(f"ParameterDict holds Parameters, got {errors.describe(param)}")
        self._parameters[key] = param

    def __delitem__(self, key: str) -> None:
        del self._parameters[key]

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __contains__(self, key: object) -> bool:
        return key in self._parameters

    def keys(self) -> Any:
        """The keys."""
        return self._parameters.keys()

    def items(self) -> Any:
        """The (key, Parameter) pairs."""
        return self._parameters.items()

    def values(self) -> Any:
        """The parameters."""
        return self._parameters.values()

    def update(self, parameters: Any) -> None:
        """Add or replace parameters: a dict, a ParameterDict, or (key, Parameter) pairs."""
        for key, parameter in _pairs(self, parameters):
            self[key] = parameter
