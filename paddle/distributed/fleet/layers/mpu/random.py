"""Random numbers of tensor parallelism: alike in all processes by default, different where a named state is used."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .....engine import errors, random
from .....engine.modes import note_effect
from .....engine.tensor import Tensor
from .....nn import functional as F
from ....communication import objects
from ....communication.group import group_of
from ...base.topology import current_groups

__all__: list[str] = []

MODEL_PARALLEL_RNG = "model_parallel_rng"


class RNGStatesTracker:
    """Named states of the random generator. Within `rng_state(name)` random operators draw from that state, which goes on
    from where it was left.

    Example:
        >>> tracker = paddle.distributed.fleet.meta_parallel.RNGStatesTracker()
        >>> tracker.add("local", 7)
        >>> with tracker.rng_state("local"):
        ...     a = paddle.rand([2])
    """

    def __init__(self) -> None:
        self.states_: dict[str, random.GeneratorState] = {}
        self.seeds_: set[int] = set()

    def reset(self) -> None:
        """Forget all states."""
        self.states_, self.seeds_ = {}, set()

    def add(self, name: str, seed: int) -> None:
        """Make a state. ValueError where the name or the seed is in use."""
        if seed in self.seeds_:
            raise errors.ValueError_(f"RNGStatesTracker.add: the seed {seed} is in use already")
        if name in self.states_:
            raise errors.ValueError_(f"RNGStatesTracker.add: the state {name!r} exists already")
        self.seeds_.add(seed)
        self.states_[name] = random.GeneratorState(random.generator().get_state().device, int(seed), 0)

    def get_states_tracker(self) -> dict[str, list[random.GeneratorState]]:
        """The states by name, to be saved."""
        return {name: [state] for name, state in self.states_.items()}

    def set_states_tracker(self, states: dict[str, list[random.GeneratorState]]) -> None:
        """Put back what `get_states_tracker` returned."""
        for name, state in states.items():
            if name not in self.states_:
                raise errors.ValueError_(f"RNGStatesTracker.set_states_tracker: there is no state {name!r}")
            self.states_[name] = state[0]

    @contextlib.contextmanager
    def rng_state(self, name: str = MODEL_PARALLEL_RNG) -> Iterator[None]:
        """Draw from a named state. ValueError where there is none."""
        if name not in self.states_:
            raise errors.ValueError_(
                f"RNGStatesTracker.rng_state: there is no state {name!r}; there are {sorted(self.states_)}"
            )
        note_effect("RNGStatesTracker.rng_state")
        source = random.generator()
        outside = source.get_state()
        source.set_state(self.states_[name])
        try:
            yield
        finally:
            self.states_[name] = source.get_state()
            source.set_state(outside)


_tracker = RNGStatesTracker()


def get_rng_state_tracker() -> RNGStatesTracker:
    """The states of this process; after `fleet.init` with mp_degree > 1 there is "model_parallel_rng", different in the
    processes that share a model.

    Example:
        >>> tracker = paddle.distributed.fleet.meta_parallel.get_rng_state_tracker()
    """
    return _tracker


def model_parallel_random_seed(seed: int | None = None) -> None:
    """Seed the generator alike in all processes and "model_parallel_rng" by the place in the model, alike only in
    processes that hold the same part of it.

    Args:
        seed: None: one that NumPy draws in the first process.
    """
    groups = current_groups()
    if groups is None:
        raise errors.RuntimeError_("model_parallel_random_seed: call fleet.init(is_collective=True) first")
    if seed is None:
        seed = int(np.random.randint(0, 10000))
        if groups.nranks > 1:
            seed = objects.spread(seed, 0, group_of(None, "model_parallel_random_seed"), "model_parallel_random_seed")
    stages = groups.get_pipe_parallel_world_size()
    _tracker.reset()
    _tracker.add(MODEL_PARALLEL_RNG, seed + 1 + groups.get_model_parallel_rank() * stages + groups.get_stage_id())
    random.seed(seed)


def dropout(
    x: Tensor,
    p: Any = 0.5,
    axis: Any = None,
    rng_name: str | None = None,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Tensor:
    """`nn.functional.dropout`, with `rng_name` from a named state of the tracker.

    Example:
        >>> from paddle.distributed.fleet.layers.mpu import dropout
        >>> dropout(paddle.ones([2]), 0.0).tolist()
        [1.0, 1.0]
    """
    if rng_name is None:
        return F.dropout(x, p, axis, training, mode=mode)
    with _tracker.rng_state(rng_name):
        return F.dropout(x, p, axis, training, mode=mode)
