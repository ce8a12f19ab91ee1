"""Forked processes. The compiler's threads do not come along into a child process, where an operator would wait for them
forever: it raises instead. Tensors can be read there (`numpy()`), and where nothing ran before the fork, everything works.
"""

from __future__ import annotations

import os
import warnings

import jax

from .modes import Watch

try:  # no public name tells whether the engine has started
    from jax._src.xla_bridge import backends_are_initialized
except ImportError:

    def backends_are_initialized() -> bool:
        return True


def _finish_running() -> None:
    """What still runs when the process forks would never end in the child."""
    if backends_are_initialized():
        for array in jax.live_arrays():
            array.block_until_ready()


def _in_the_child() -> None:
    if backends_are_initialized():
        Watch.forked = True
        Watch.refresh()


os.register_at_fork(before=_finish_running, after_in_child=_in_the_child)
warnings.filterwarnings("ignore", message=r"os\.fork\(\) was called")  # JAX's warning of just this
