"""Recomputation as a context; files of layers and optimizers."""

from __future__ import annotations

import os
from typing import Any

from ...engine.recomputation import Segment

__all__ = ["checkpoint_guard", "load_dygraph", "save_dygraph"]


def checkpoint_guard() -> Segment:
    """A context: what is computed inside is not kept for the backward pass but computed there again, with the same random
    numbers (see `paddle.distributed.fleet.utils.recompute`).

    Example:
        >>> layer = paddle.nn.Linear(2, 2)
        >>> with paddle.fluid.dygraph.checkpoint_guard():
        ...     y = layer(paddle.ones([1, 2]))
        >>> y.sum().backward()
    """
    return Segment()


def save_dygraph(state_dict: dict, model_path: str) -> None:
    """Write the state of a layer (``model_path.pdparams``) or of an optimizer (``model_path.pdopt``)."""
    from ...engine.parameter import Parameter
    from ...framework.io import save

    layer = any(isinstance(v, Parameter) for v in state_dict.values())
    save(state_dict, model_path + (".pdparams" if layer or not state_dict else ".pdopt"))


def load_dygraph(model_path: str, **configs: Any) -> tuple[Any, Any]:
    """(state of a layer, state of an optimizer) from what `save_dygraph` wrote; None for what is not there.

    Raises ValueError when there is neither.
    """
    from ...engine import errors
    from ...framework.io import load

    prefix = model_path.removesuffix(".pdparams").removesuffix(".pdopt")
    found = [load(prefix + s) if os.path.isfile(prefix + s) else None for s in (".pdparams", ".pdopt")]
    if found == [None, None]:
        raise errors.ValueError_(f"load_dygraph: there is neither {prefix}.pdparams nor {prefix}.pdopt")
    return found[0], found[1]
