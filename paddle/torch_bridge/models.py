"""Models of PyTorch as layers, and layers as models of PyTorch: not built."""

from __future__ import annotations

from typing import Any, NoReturn

from ..engine import errors

__all__ = ["convert_model", "to_torch"]


@errors.clean
def convert_model(
    model: Any, input_shape: Any = None, example_inputs: Any = None, dynamic_batch: bool = True
) -> NoReturn:
    """A model of PyTorch as a layer, or a layer as a model of PyTorch. Not built: raises NotImplementedError."""
    raise NotImplementedError(
        "convert_model: turning whole models into the other framework is not built; weights cross by "
        "paddle.torch_bridge.load_torch_state_dict into a layer of the same structure"
    )


@errors.clean
def to_torch(model: Any, example_inputs: Any = None) -> NoReturn:
    """A layer as a model of PyTorch. Not built: raises NotImplementedError."""
    raise NotImplementedError("to_torch: turning a layer into a torch.nn.Module is not built")
