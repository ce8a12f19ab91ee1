"""Models of other runtimes: layers become ONNX files, and ONNX files layers."""

from .export import export
from .load import load

__all__ = ["export", "load"]
