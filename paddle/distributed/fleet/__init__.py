"""Distributed training of large models."""

from . import utils
