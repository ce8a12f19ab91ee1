"""Audio: windows and scales, spectral features, files of sound, datasets."""

from . import backends, datasets, features, functional
from .backends.wave_backend import info, load, save

__all__ = ["functional", "features", "datasets", "backends", "load", "info", "save"]
