"""The official place of `layers.mpu.random`."""

from ...layers.mpu.random import (
    MODEL_PARALLEL_RNG,
    RNGStatesTracker,
    dropout,
    get_rng_state_tracker,
    model_parallel_random_seed,
)

__all__ = [
    "MODEL_PARALLEL_RNG",
    "RNGStatesTracker",
    "dropout",
    "get_rng_state_tracker",
    "model_parallel_random_seed",
]
