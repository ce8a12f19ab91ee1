"""Observers: layers that let their input pass and learn the scales from it."""

from .abs_max import AbsmaxObserver
from .groupwise import GroupWiseWeightObserver
from .statistics import (
    AbsMaxChannelWiseWeightObserver,
    AVGObserver,
    EMDObserver,
    HistObserver,
    KLObserver,
    MovingAverageAbsmaxObserver,
    MSEChannelWiseWeightObserver,
    MSEObserver,
)

__all__ = [
    "AVGObserver",
    "AbsMaxChannelWiseWeightObserver",
    "AbsmaxObserver",
    "EMDObserver",
    "GroupWiseWeightObserver",
    "HistObserver",
    "KLObserver",
    "MSEChannelWiseWeightObserver",
    "MSEObserver",
    "MovingAverageAbsmaxObserver",
]
