"""Layers and control flow of programs."""

from ...nn.parameter import create_parameter
from .common import *
from .control_flow import *
from .conv import *
from .functions import *
from .norm import *
from .sequence import *
