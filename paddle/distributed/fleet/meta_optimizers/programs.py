"""Training with other processes in programs that are built by hand."""

from __future__ import annotations

import functools
from typing import Any

from jax.sharding import Mesh

from ....engine import errors
from ....engine.executable import Kernel
from ....engine.modes import modes, set_mode
from ....engine.tensor import Tensor, _make
from ....static.backward import recorder_of, training_part
from ....static.program import default_startup_program
from ...communication.group import Group, group_of
from ...communication.mesh import BODIES
from ...reducer import average_recorded

__all__: list[str] = []


def minimize_in_program(
    owner: Any, loss: Tensor, startup_program: Any, parameters: Any, no_grad_set: Any
) -> tuple[list, list]:
    """Add to the program of the loss: the gradients, their averages over the processes and the step of the optimizer
    inside of `owner`, a HybridParallelOptimizer."""
    groups, inner = owner._hcg, owner._inner_opt
    for axis in ("pipe", "sharding", "sep"):
        if getattr(groups, f"get_{axis}_parallel_world_size")() > 1:
            raise errors.NotImplemented_(f"fleet: programs that are built by hand, with the axis {axis!r}")
    pairs = [(p, g) for p, g in inner.backward(loss, startup_program, parameters, no_grad_set) if g is not None]
    copies = groups.get_data_parallel_group()
    recorder = recorder_of([loss])
    if copies.nranks > 1:
        with recorder, training_part(recorder), set_mode(grad=False, amp=None):
            means = average_recorded(copies, [g for _, g in pairs])
        pairs = [(p, g) for (p, _), g in zip(pairs, means)]
    for parameter in recorder.graph.all_parameters():
        _begin_equal(
            parameter,
            copies if parameter.is_distributed else group_of(None, "minimize"),
            startup_program or default_startup_program(),
        )
    inner.apply_gradients(pairs)
    return [], pairs


def _begin_equal(parameter: Tensor, group: Group, startup: Any) -> None:
    """Let the startup program give a parameter the value of the first process of a group."""
    state = startup.states.get(parameter.name)
    if group.nranks == 1 or state is None or state.update is None:
        return
    recorder = startup.recorder
    with recorder, set_mode(grad=False, amp=None):
        spread = modes.program.record(_from_first(group.mesh), (_make(state.update),))
        tensor = recorder.add_state(state.name, state.value.shape, state.value.dtype)
        tensor._storage.write(spread._value)


@functools.cache
def _from_first(mesh: Mesh) -> Kernel:
    def broadcast(array: Any) -> Any:
        return BODIES["broadcast"]((array,), mesh.size, 0)[0]

    return Kernel(broadcast, "broadcast", ("",), differentiable=False, mesh=mesh)
