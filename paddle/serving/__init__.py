"""Serving of models over HTTP: `python -m paddle.serving MODEL_DIR`, or `create_app` and `serve` (docs/deploy.md).

Needs the extra `serve`: pip install 'paddle-xla[serve]'.
"""

from ..utils.lazy import names_of, on_demand

_WHERE = {
    "app": "create_app",
    "batching": "Batcher Failed Full",
    "images": "BadInput",
    "metrics": "Metrics",
    "model": "ServedModel Spec load",
    "options": "ImageOptions ModelOptions ServerOptions server_options",
    "repository": "Found find here publish",
    "supervisor": "serve",
}
__all__ = list(names_of(_WHERE))
__getattr__, __dir__ = on_demand(__name__, _WHERE, ["gate", "logs", "bodies", "schemas", "server"])
