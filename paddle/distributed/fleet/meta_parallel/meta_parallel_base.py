"""What the kinds of parallel models have in common."""

from __future__ import annotations

from typing import Any

from ....engine import errors
from ....nn.layer import Layer
from ...wrapper import Wrapper

__all__: list[str] = []


class MetaParallelBase(Wrapper):
    """A model around another one that prepares its parameters for training with other processes.

    Args:
        layers: a Layer.
        hcg: the HybridCommunicateGroup.
        strategy: the DistributedStrategy.

    A subclass defines `_prepare_for_model()`, `_pre_forward(...)` and `_post_forward(output)` as it needs them. State
    dicts are those of the model inside.
    """

    def __init__(self, layers: Layer, hcg: Any, strategy: Any = None):
        if not isinstance(layers, Layer):
            raise errors.TypeError_(f"{type(self).__name__}: layers must be a Layer, got {errors.describe(layers)}")
        super().__init__(layers.full_name() + "_meta_parallel_base")
        self._layers = layers
        self._hcg = hcg
        self._strategy = strategy
        self._prepare_for_model()

    def _prepare_for_model(self) -> None:
        pass

    def _pre_forward(self, *inputs: Any, **kwargs: Any) -> None:
        pass

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        self._pre_forward(*inputs, **kwargs)
        output = self._layers(*inputs, **kwargs)
        self._post_forward(output)
        return output

    def _post_forward(self, output: Any) -> None:
        pass

    def set_state_dict(self, state_dict: dict[str, Any], use_structured_name: bool = True) -> Any:
        """Load such a state, or an official one, whose names begin with "_layers."."""
        if state_dict and all(name.startswith("_layers.") for name in state_dict):
            state_dict = {name.removeprefix("_layers."): value for name, value in state_dict.items()}
        return super().set_state_dict(state_dict, use_structured_name)

    set_dict = load_dict = set_state_dict
