"""Gradients of programs."""

from ..static.backward import append_backward, gradients

__all__ = ["append_backward", "gradients"]
