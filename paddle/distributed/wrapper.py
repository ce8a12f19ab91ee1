"""A layer around another one."""

from __future__ import annotations

from typing import Any

from ..nn.layer import Layer


class Wrapper(Layer):
    """A Layer that adds something to the call of another one. Its state is that of the layer inside, under its own names, so
    that checkpoints do not depend on what is around a model.

    A subclass keeps the layer inside as `_layers`, or under the name in `_inside`.
    """

    _inside = "_layers"

    def state_dict(
        self, destination: Any = None, include_sublayers: bool = True, structured_name_prefix: str = ""
    ) -> dict[str, Any]:
        """The state of the layer inside, under its own names."""
        return getattr(self, self._inside).state_dict(destination, include_sublayers, structured_name_prefix)

    def set_state_dict(self, state_dict: dict[str, Any], use_structured_name: bool = True) -> Any:
        """Load such a state."""
        return getattr(self, self._inside).set_state_dict(state_dict, use_structured_name)

    def sharded_state_dict(self, structured_name_prefix: str = "") -> dict[str, Any]:
        """The state of the layer inside as parts of whole tensors."""
        return getattr(self, self._inside).sharded_state_dict(structured_name_prefix)

    set_dict = load_dict = set_state_dict
