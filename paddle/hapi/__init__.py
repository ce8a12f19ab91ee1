"""The high-level API: `Model`, `summary`, `flops`, callbacks."""

from . import callbacks, model, progressbar
from .dynamic_flops import flops
from .model import Model
from .model_summary import summary

__all__: list[str] = []
