"""A library of networks by name: `list_models()`, `create_model(name)`.

`paddle.hub` serves it too: `paddle.hub.load(paddle.vision.zoo.__path__[0], "resnet18_vd", source="local")`.
"""

from .registry import create_model, list_models

__all__ = ["list_models", "create_model"]
