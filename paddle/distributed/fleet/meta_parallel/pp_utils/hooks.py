"""Functions of the user's that are called while a batch goes through the pipeline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from enum import Enum
from typing import Any

from .....engine import errors


class PipelineParallelMicroStepLocations(Enum):
    """Where functions given to `register_global_pipeline_parallel_hook` are called: at the beginning and the end of each
    forward and backward of a micro-batch."""

    FORWARD_BEGIN = "forward_begin"
    FORWARD_END = "forward_end"
    BACKWARD_BEGIN = "backward_begin"
    BACKWARD_END = "backward_end"


class PipelineParallelMicroStepCallback:
    """The functions for each of these places."""

    def __init__(self) -> None:
        self.hooks: dict[PipelineParallelMicroStepLocations, list[Callable]] = {
            place: [] for place in PipelineParallelMicroStepLocations
        }

    def register_hook(self, location: PipelineParallelMicroStepLocations, hook: Callable) -> None:
        """Call `hook` at a place, with input_tensor, output_tensor, input_tensor_grad, output_tensor_grad and step_id by
        name, as far as they are known there. ValueError for another place."""
        if location not in self.hooks:
            raise errors.ValueError_(
                f"register_hook: location must be a member of PipelineParallelMicroStepLocations, got {location!r}"
            )
        self.hooks[location].append(hook)

    def on_location(self, location: PipelineParallelMicroStepLocations, **known: Any) -> None:
        """Call the functions of a place."""
        for hook in self.hooks[location]:
            hook(**known)


pipeline_parallel_callbacks_ = PipelineParallelMicroStepCallback()


def register_global_pipeline_parallel_hook(location: PipelineParallelMicroStepLocations, hook: Callable) -> None:
    """Call a function at a place of every micro-batch of every pipeline, see `PipelineParallelMicroStepLocations`.

    Example:
        >>> from paddle.distributed.fleet.meta_parallel import PipelineParallelMicroStepLocations as Places
        >>> from paddle.distributed.fleet.meta_parallel import register_global_pipeline_parallel_hook
        >>> register_global_pipeline_parallel_hook(Places.FORWARD_END, lambda step_id, **known: None)
    """
    pipeline_parallel_callbacks_.register_hook(location, hook)


class PipelineHook:
    """Functions for the places 0, 1, ... of a batch: the function for place number i is called with i."""

    def __init__(self) -> None:
        self.hooks: dict[int, list[Callable]] = defaultdict(list)
        self._hooks_capacity = 0
        self.reset_current_id()

    def reset_current_id(self) -> None:
        """Begin again with place 0."""
        self._current_id = 0

    def set_hooks_capacity(self, capacity: int) -> None:
        """How many places there are."""
        self._hooks_capacity = capacity

    def register_hook(self, hook_id: int, hook: Callable) -> None:
        """Call `hook` at a place. ValueError where there is none."""
        if not 0 <= hook_id < self._hooks_capacity:
            raise errors.ValueError_(f"register_hook: there are {self._hooks_capacity} places, got {hook_id}")
        self.hooks[hook_id].append(hook)

    def run_hook(self) -> None:
        """Go through the next place."""
        for hook in self.hooks.get(self._current_id, ()):
            hook(self._current_id)
        self._current_id += 1

    @property
    def current_id(self) -> int:
        """The next place."""
        return self._current_id

    @property
    def hooks_capacity(self) -> int:
        """How many places there are."""
        return self._hooks_capacity
