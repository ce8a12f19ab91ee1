"""Distributed training."""

from . import fleet
