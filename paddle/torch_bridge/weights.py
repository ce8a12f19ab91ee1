"""State dicts of PyTorch in layers: names of statistics and the layout of Linear weights differ."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.tensor import Tensor
from ..framework.io import load
from ..nn import Layer, Linear
from .tensors import array_of

STATISTICS = {"_mean": "running_mean", "_variance": "running_var"}  # our name: PyTorch's


@dataclass(frozen=True)
class LoadReport:
    """What `load_torch_state_dict` did.

    Attributes:
        matched: for each filled entry of the layer the entry of the PyTorch state dict.
        transposed: entries of the layer whose value was transposed.
        missing: entries of the layer that the state dict does not have; they keep their values.
        unexpected: entries of the state dict that the layer has no place for.
    """

    matched: dict[str, str] = field(default_factory=dict)
    transposed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)


def _read(source: Any) -> Mapping[str, Any]:
    if isinstance(source, Mapping):
        return source
    if not isinstance(source, str | os.PathLike):
        raise errors.TypeError_(
            "load_torch_state_dict: state_dict must be a dict or the name of a .pt, .pth, .bin or .safetensors file, "
            f"got {type(source).__name__}"
        )
    path = os.fspath(source)
    if not os.path.isfile(path):
        raise errors.NotFound(f"load_torch_state_dict: there is no file {path!r}")
    if path.endswith(".safetensors"):
        return load(path)
    if not path.endswith((".pt", ".pth", ".bin")):
        raise errors.ValueError_(
            f"load_torch_state_dict: {path!r} must end in .pt, .pth, .bin or .safetensors to be recognized"
        )
    try:
        import torch
    except ImportError:
        raise ImportError(
            "load_torch_state_dict: PyTorch's own files need the package torch; .safetensors files do not"
        ) from None
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)  # builds tensors only, runs nothing
    except Exception as e:
        raise errors.ValueError_(f"load_torch_state_dict: {path!r} cannot be read as a file of tensors: {e}") from None
    if not isinstance(found, Mapping):
        raise errors.ValueError_(f"load_torch_state_dict: {path!r} holds a {type(found).__name__}, not a state dict")
    return found


def _array(name: str, value: Any) -> np.ndarray:
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcV" and value.dtype.names is None:
        return value
    if type(value).__module__.split(".")[0] == "torch" and hasattr(value, "detach"):
        return array_of(value)
    raise errors.TypeError_(f"load_torch_state_dict: entry {name!r} must be a tensor, got {type(value).__name__}")


@errors.clean
def load_torch_state_dict(layer: Layer, state_dict: Any, strict: bool = True) -> LoadReport:
    """Fill a layer with the state dict of a PyTorch model that has the same structure and names.

    Weights of `Linear` ([out, in] in PyTorch) are transposed to [in, out]; `running_mean` and `running_var` fill the
    `_mean` and `_variance` of normalizations; `num_batches_tracked` has no counterpart and is passed over. Values are
    copied and take the dtype of the layer's entry. Either all matching entries are filled or, after an error, none.

    Args:
        layer: the layer to fill.
        state_dict: a dict from names to tensors (of PyTorch, of paddle, or ndarrays), or the name of a file:
            `.safetensors`, or `.pt`, `.pth`, `.bin` (needs PyTorch; read with `weights_only=True`, nothing is run).
        strict: missing or unexpected entries are an error. With False they stand in the report.

    Returns:
        A `LoadReport`: what matched, what was transposed, missing, unexpected.

    Raises:
        TypeError: layer is no Layer, or state_dict or an entry of it is of another type.
        ValueError: shapes differ, a complex value is given for a real entry or a fraction for a whole number, entries are missing or unexpected (strict), or the file is damaged.
        FileNotFoundError: there is no such file.

    Source: torch.nn.Module.load_state_dict; the layouts of paddle.nn.Linear and torch.nn.Linear.

    Example:
        >>> import numpy as np
        >>> from paddle.torch_bridge import load_torch_state_dict
        >>> layer = paddle.nn.Linear(3, 2)
        >>> weights = {"weight": np.ones((2, 3), "float32"), "bias": np.zeros(2, "float32")}
        >>> load_torch_state_dict(layer, weights).transposed
        ['weight']
    """
    if not isinstance(layer, Layer):
        raise errors.TypeError_(f"load_torch_state_dict: layer must be a paddle.nn.Layer, got {type(layer).__name__}")
    given = _read(state_dict)
    for name in given:
        if not isinstance(name, str):
            raise errors.TypeError_(f"load_torch_state_dict: names must be strings, got {name!r}")
    linear = {
        f"{prefix}.weight" if prefix else "weight"
        for prefix, sub in layer.named_sublayers(include_self=True, remove_duplicate=False)
        if isinstance(sub, Linear)
    }
    report = LoadReport()
    values: dict[str, tuple[Tensor, np.ndarray]] = {}
    wrong = []
    for name, target in layer.state_dict().items():
        head, dot, last = name.rpartition(".")
        theirs = head + dot + STATISTICS.get(last, last)
        source = theirs if theirs in given else name
        if source not in given:
            report.missing.append(name)
            continue
        array = _array(source, given[source])
        if name in linear and array.ndim == 2:
            array = array.T
            report.transposed.append(name)
        if array.shape != tuple(target.shape):
            wrong.append(f"{name} is {list(target.shape)}, {source} gives {list(array.shape)}")
            continue
        dtype = target._raw.dtype
        if (array.dtype.kind == "c" and dtype.kind != "c") or (dtype.kind in "biu" and array.dtype.kind not in "biu"):
            wrong.append(f"{name} is {dtype.name}, {source} gives {array.dtype.name}")
            continue
        report.matched[name] = source
        values[name] = (target, np.array(array, dtype=dtype, order="C"))
    if wrong:
        raise errors.ValueError_(
            "load_torch_state_dict: values do not fit (shapes of Linear already transposed): " + "; ".join(wrong)
        )
    used = set(report.matched.values())
    report.unexpected.extend(n for n in given if n not in used and n.rpartition(".")[2] != "num_batches_tracked")
    if strict and (report.missing or report.unexpected):
        raise errors.ValueError_(
            f"load_torch_state_dict: the state dict lacks {report.missing} and has {report.unexpected}, for which "
            "the layer has no place; strict=False allows both"
        )
    for target, array in values.values():
        target.set_value(array)
    return report
