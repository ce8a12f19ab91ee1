"""PyTorch's forms of layers."""

from . import functional
from .attention import MultiheadAttention
from .layers import AvgPool1D, AvgPool1d, AvgPool2D, AvgPool2d, AvgPool3D, AvgPool3d, Linear, Softmax, Unfold

__all__ = ["AvgPool1D", "AvgPool2D", "AvgPool3D", "Linear", "MultiheadAttention", "Softmax", "Unfold"]
