"""Compiled functions that communicate with other processes.

Each process runs the function on its own arrays; inside, `jax.lax.psum` and the like see the axes of a mesh of one device
a process. To XLA it is one computation over the mesh in which every argument and result is the same everywhere; that they
differ, even in shape, concerns only what the function sends.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from . import errors

try:  # the public way checks each array anew, which costs 50 us
    from jax._src.array import ArrayImpl

    def as_array(aval: Any, sharding: Any, part: Any, committed: bool) -> Any:
        """The array of this description whose only part in this process is an array of one device.

        Args:
            committed: whether it has to stay where it is; executables distinguish the two.
        """
        return ArrayImpl(aval, sharding, [part], committed=committed, _skip_checks=True)
except ImportError:

    def as_array(aval: Any, sharding: Any, part: Any, committed: bool) -> Any:
        return jax.make_array_from_single_device_arrays(aval.shape, sharding, [part])


class OverMesh:
    """A function of arrays, compiled for the processes of a mesh, all of which call it.

    Args:
        function: takes and gives trees of arrays.
        mesh: one device for each process; its axes can be named inside.
        donated: the numbers of the arguments whose memory may be overwritten.
    """

    def __init__(self, function: Callable, mesh: Mesh, donated: tuple[int, ...] = ()):
        everywhere = PartitionSpec()
        spread = jax.shard_map(function, mesh=mesh, in_specs=everywhere, out_specs=everywhere, check_vma=False)
        self._jit = jax.jit(spread, donate_argnums=donated)
        self._sharding = NamedSharding(mesh, everywhere)
        (self._home,) = [d for d in mesh.devices.flat if d.process_index == jax.process_index()] or [None]

    def __call__(self, *args: Any) -> Any:
        return jax.tree.map(_own, self._jit(*jax.tree.map(self._given, args)))

    def lower(self, *args: Any) -> Any:
        """What `jax.jit(...).lower` gives, for arrays like these."""
        return self._jit.lower(*jax.tree.map(self._given, args))

    def _given(self, array: Any) -> Any:
        if not isinstance(array, jax.Array):
            if not isinstance(array, np.ndarray):
                return array
            array = jnp.asarray(array)
        if array.devices() != {self._home}:
            array = jax.device_put(array, self._home)
        return as_array(array.aval, self._sharding, array, True)


def _own(array: Any) -> Any:
    """What this process has of a result, an ordinary array."""
    part = array.addressable_shards[0].data
    return as_array(array.aval, part.sharding, part, False)


def compiled(function: Callable, mesh: Mesh | None, donated: tuple[int, ...] = ()) -> Callable:
    """`jax.jit(function)`, over a mesh if there is one."""
    return jax.jit(function, donate_argnums=donated) if mesh is None else OverMesh(function, mesh, donated)


@contextlib.contextmanager
def axes_of(mesh: Mesh | None) -> Iterator[None]:
    """The axes of a mesh can be named by functions that are traced within, to learn shapes."""
    if mesh is None:
        yield
        return
    try:
        from jax._src.core import extend_axis_env_nd
    except ImportError:
        raise errors.NotImplemented_(f"collectives in programs with JAX {jax.__version__}") from None
    with extend_axis_env_nd(list(mesh.shape.items())):
        yield
