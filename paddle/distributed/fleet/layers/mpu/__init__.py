"""Tensor parallelism: layers, collectives with gradients, and random numbers that differ or agree between processes."""

from .mp_layers import ColumnParallelLinear, ParallelCrossEntropy, RowParallelLinear, VocabParallelEmbedding
from .random import RNGStatesTracker, dropout, get_rng_state_tracker, model_parallel_random_seed

__all__: list[str] = []
