"""Models for other runtimes: layers become ONNX files."""

from .export import export

__all__ = ["export"]
