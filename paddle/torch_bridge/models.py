"""Models of PyTorch as layers, and layers as models of PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..engine import errors
from ..nn.layer import Layer
from ..utils.imports import try_import

__all__ = ["convert_model", "to_torch"]


@errors.clean
def convert_model(model: Any, input_shape: Any = None, example_inputs: Any = None, dynamic_batch: bool = True) -> Any:
    """A module of PyTorch as a layer that trains and saves like any other, or a layer as a module of PyTorch.

    A module is captured by `torch.export`, once for each of its modes; the layer runs the graph on our operators.
    Names of sublayers, parameters and buffers stay; weights that only linear layers use become [in, out]. The module is
    not changed, and the layer keeps nothing of it.

    Args:
        model: a `torch.nn.Module`, or a `paddle.nn.Layer` (then see `to_torch`).
        input_shape: the shape of the only input, float32; or a list of shapes. An alternative to example_inputs.
        example_inputs: a tensor, a list or tuple of the positional arguments, or a dict of keyword arguments; tensors of
            PyTorch, of paddle, or ndarrays.
        dynamic_batch: leave the first axis open, in the inputs whose first axis is as long as that of the first one. Where the
            model refuses, a warning says so and the batch size stays that of the example.

    Raises:
        NotImplementedError: operators have no translation (all are named), or `torch.export` cannot capture the model, as
            with branches that depend on the elements of tensors.
        TypeError: model is of another type.
        ValueError: neither or both of input_shape and example_inputs, or a wrong shape.
        ImportError: PyTorch is missing.

    Source: the programs of `torch.export`, https://docs.pytorch.org/docs/stable/export.html.

    Example:
        >>> from paddle.torch_bridge import convert_model
        >>> import torch  # doctest: +SKIP
        >>> layer = convert_model(torch.nn.Linear(3, 2), input_shape=[1, 3])  # doctest: +SKIP
        >>> layer(paddle.ones([5, 3])).shape, layer.weight.shape  # doctest: +SKIP
        ([5, 2], [3, 2])
    """
    if isinstance(model, Layer):
        args, kwargs = _example("convert_model", input_shape, example_inputs)
        return to_torch(model, kwargs or args, dynamic_batch)
    torch = try_import("torch", "convert_model: models of PyTorch need the package torch")
    if not isinstance(model, torch.nn.Module):
        raise errors.TypeError_(
            f"convert_model: model must be a torch.nn.Module or a paddle.nn.Layer, got {type(model).__name__}"
        )
    from .conversion import convert_module

    args, kwargs = _example("convert_model", input_shape, example_inputs)
    return convert_module(model, args, kwargs, dynamic_batch)


def _example(name: str, shape: Any, given: Any) -> tuple[tuple, dict]:
    """The example as positional and keyword arguments."""
    if (shape is None) == (given is None):
        raise errors.ValueError_(f"{name}: give one of input_shape and example_inputs")
    if given is not None:
        if isinstance(given, Mapping):
            return (), dict(given)
        return tuple(given) if isinstance(given, (list, tuple)) else (given,), {}
    import numpy as np

    if not isinstance(shape, (list, tuple)) or not shape:
        raise errors.ValueError_(f"{name}: input_shape must be a list of ints, or a list of such lists, got {shape!r}")
    shapes = list(shape) if isinstance(shape[0], (list, tuple)) else [shape]
    random = np.random.RandomState(0)
    found = []
    for each in shapes:
        each = [1 if n in (None, -1) else n for n in each]
        if not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in each):
            raise errors.ValueError_(f"{name}: input_shape must hold positive ints, got {shape!r}")
        found.append(random.standard_normal(each).astype("float32"))
    return tuple(found), {}


@errors.clean
def to_torch(model: Any, example_inputs: Any = None, dynamic_batch: bool = True) -> Any:
    """A layer as a module of PyTorch that trains, saves and loads there.

    The layer is recorded in both modes; the module runs its operators on PyTorch's functions. Parameters keep the names of
    the state_dict, weights that only `Linear` uses become [out, in], `_mean` and `_variance` are called `running_mean` and
    `running_var` (and follow PyTorch's unbiased variance). Values are copied. Several results come as a tuple, in the order
    of `paddle.jit.save`.

    Args:
        model: a `paddle.nn.Layer`.
        example_inputs: a tensor, or a list or tuple of the positional arguments (tensors, ndarrays or InputSpecs).
        dynamic_batch: leave the first axis open, in the inputs whose first axis is as long as that of the first one.

    Raises:
        NotImplementedError: operators have no translation; all are named.
        TypeError: model is no Layer, or an example is no tensor.
        ValueError: there are no example_inputs.
        ImportError: PyTorch is missing.

    Source: the operators of https://docs.pytorch.org/docs/stable/nn.functional.html.

    Example:
        >>> from paddle.torch_bridge import to_torch
        >>> module = to_torch(paddle.nn.Linear(3, 2), paddle.ones([1, 3]))  # doctest: +SKIP
        >>> module.weight.shape  # doctest: +SKIP
        torch.Size([2, 3])
    """
    if not isinstance(model, Layer):
        raise errors.TypeError_(f"to_torch: model must be a paddle.nn.Layer, got {type(model).__name__}")
    try_import("torch", "to_torch: models of PyTorch need the package torch")
    if example_inputs is None:
        raise errors.ValueError_("to_torch: example_inputs is needed, a tensor or a list of tensors")
    if isinstance(example_inputs, Mapping):
        raise errors.NotImplemented_("to_torch: example_inputs as keyword arguments")
    from .torch_module import convert_layer, specs_of

    args = tuple(example_inputs) if isinstance(example_inputs, (list, tuple)) else (example_inputs,)
    return convert_layer(model, specs_of(args, dynamic_batch))
