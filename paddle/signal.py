"""Frames of signals and short-time Fourier transforms."""

from __future__ import annotations

from .ops.signal import frame, istft, overlap_add, stft  # noqa: F401
