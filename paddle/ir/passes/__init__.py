"""Passes: functions from programs to programs."""

from .inference import for_inference

__all__ = ["for_inference"]
