"""The processes of a job as XLA sees them: one client for each, connected, so that a computation can run over a mesh of
devices of several processes.

JAX wants to be connected before it first computes. A program may have computed already (chosen a device, built its
model): then JAX starts again, and what the program holds is put onto the new devices.
"""

from __future__ import annotations

import gc
import socket
from typing import Any

import jax
import numpy as np

from ..engine import capture, errors, meshed, place
from .store import where_to_listen


def free_port(host: str = "") -> int:
    with socket.socket() as s:
        s.bind((host, 0))
        return s.getsockname()[1]


def _internals() -> tuple[Any, Any, Any]:
    """JAX's modules in which processes are connected; `jax.distributed` refuses that once something was computed."""
    try:
        from jax._src import distributed, xla_bridge
        from jax._src.lib import _jax
    except ImportError as e:
        raise errors.NotImplemented_(f"several processes with JAX {jax.__version__}: {e}") from None
    return distributed, xla_bridge, _jax


def start_service(size: int, host: str) -> tuple[Any, int]:
    """The service through which XLA's processes find each other, at this host, and its port; it runs as long as it is
    held."""
    _jax = _internals()[2]
    own = where_to_listen(host)
    port = free_port(own)
    address = f"{own or ('[::]' if socket.has_dualstack_ipv6() else '0.0.0.0')}:{port}"
    # how long a process may be silent is decided elsewhere (see `world`)
    service = _jax.get_distributed_runtime_service(address, size, heartbeat_timeout=10**6, shutdown_timeout=1)
    return service, port


def connect(address: str, rank: int, size: int, timeout: float) -> None:
    """Make this process number `rank` of the `size` that use the service at an address."""
    distributed, xla_bridge, _jax = _internals()
    state = distributed.global_state
    state.coordinator_address = address
    state.client = _jax.get_distributed_runtime_client(
        address,
        rank,
        init_timeout=int(timeout),
        heartbeat_timeout=10**6,
        shutdown_on_destruction=False,
        use_compression=False,
    )
    state.client.connect()
    state.process_id, state.num_processes = rank, size
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    if xla_bridge.backends_are_initialized():
        _start_again()
    jax.local_devices()
    # JAX keeps compiled functions on disk in process 0 only; every process has its own here (other device numbers)
    state.process_id = 0


def _start_again() -> None:
    from jax.extend.backend import clear_backends

    chosen = place.current_place().name if jax.config.jax_default_device is not None else None
    old = jax.live_arrays()
    values = {id(a): np.array(a) for a in old}
    clear_backends()
    capture.install()  # without the programs for the old devices
    jax.config.update("jax_default_device", None)
    place.forget()
    if chosen is not None:
        place.set_device(chosen)
    new = {key: place.put(value) for key, value in values.items()}
    for holder in gc.get_referrers(*old):
        if holder is not old:
            _exchange(holder, new)


def _exchange(holder: Any, new: dict[int, Any]) -> None:
    """Put the new arrays where a container or an object with slots holds old ones."""
    if isinstance(holder, dict):
        for key, value in list(holder.items()):
            if id(value) in new:
                holder[key] = new[id(value)]
    elif isinstance(holder, list):
        for i, value in enumerate(holder):
            if id(value) in new:
                holder[i] = new[id(value)]
    elif isinstance(holder, tuple):
        for outer in gc.get_referrers(holder):
            if isinstance(outer, list):
                for i, value in enumerate(outer):
                    if value is holder:
                        outer[i] = tuple(new.get(id(v), v) for v in holder)
    else:
        for kind in type(holder).__mro__:
            slots = kind.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                value = getattr(holder, name, None)
                if id(value) in new:
                    setattr(holder, name, new[id(value)])


def free_to_move(array: Any) -> Any:
    """The array without JAX's mark that it has to stay on its device: executables distinguish the two."""
    return meshed.as_array(array.aval, array.sharding, array, False)
