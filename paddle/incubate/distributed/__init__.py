"""Distributed training: what is not yet settled."""

from . import fleet
