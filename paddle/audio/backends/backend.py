"""What is known of a file of sound."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class AudioInfo:
    """Samples a second, samples of each channel, channels, bits of a sample, and encoding ("PCM_S", 8 bits: "PCM_U", floats: "PCM_F")."""

    sample_rate: int
    num_samples: int
    num_channels: int
    bits_per_sample: int
    encoding: str
