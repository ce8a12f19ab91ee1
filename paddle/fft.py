"""Discrete Fourier transforms."""

from __future__ import annotations

from .ops.fourier import *  # noqa: F403
