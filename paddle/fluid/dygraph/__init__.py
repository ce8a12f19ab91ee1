"""Imperative mode before version 2: layers, the mode, files, learning rates."""

from ...nn import LayerList, ParameterList, Sequential
from ...nn.layer import Layer
from . import base, grad_clip, nn
from .base import *
from .checkpoint import checkpoint_guard, load_dygraph, save_dygraph
from .learning_rate import *
from .nn import *
