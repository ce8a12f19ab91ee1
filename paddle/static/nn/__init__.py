"""Layers and control flow of programs."""

from .control_flow import *
