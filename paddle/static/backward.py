"""Gradients of programs: they become operators of the program."""

from __future__ import annotations

import contextlib
from typing import Any

from ..engine import autograd, errors
from ..engine.modes import modes
from ..engine.parameter import Parameter
from ..engine.tensor import Tensor
from ..engine.value import Value
from .program import default_main_program, programs

__all__ = ["append_backward", "gradients"]


def _list(value: Any) -> list:
    return [] if value is None else list(value) if isinstance(value, (list, tuple, set)) else [value]


def recorder_of(tensors: list) -> Any:
    """The recorder of the program that is being built, or else of the one that the variables belong to."""
    if modes.program is not None:
        return modes.program
    values = {t._value for t in tensors if isinstance(t, Tensor)}
    for program in list(programs):
        if any(v in values for o in program.block.operators for v in o.outputs):
            return program.recorder
    return default_main_program().recorder


def _check_owner(recorder: Any, variables: list, what: str) -> None:
    """ValueError for a variable of another program than the one that is being built."""
    if not recorder.static:
        return
    graph, missing = recorder.graph, {t._value for t in variables if isinstance(t._raw, Value)}
    missing.difference_update(graph.inputs.values(), (s.value for s in graph.states.values()))
    block = recorder.block
    while block is not None and missing:
        missing.difference_update(block.inputs)
        for operator in reversed(block.operators):
            missing.difference_update(operator.outputs)
            if not missing:
                break
        block = block.parent
    if missing:
        raise errors.ValueError_(
            f"{what}: {missing.pop()!r} belongs to another program than the one that is being built; call it inside of "
            "program_guard"
        )


def _blocked(recorder: Any, no_grad_set: Any) -> list[Tensor]:
    names = {v for v in _list(no_grad_set) if isinstance(v, str)}
    found = [v for v in _list(no_grad_set) if isinstance(v, Tensor)]
    return found + [p for p in recorder.graph.all_parameters() if p.name in names]


def training_part(recorder: Any) -> Any:
    """A context: a clone of the program for testing leaves out what is added inside."""
    part = getattr(recorder.graph, "training_part", contextlib.nullcontext)
    return part()


@errors.clean
def gradients(targets: Any, inputs: Any, target_gradients: Any = None, no_grad_set: Any = None) -> list[Any]:
    """The gradients of the sum of `targets` with respect to `inputs`, as variables of the program.

    Args:
        targets, inputs: a variable or a list of variables.
        target_gradients: gradients of the targets, same shapes; default: ones.
        no_grad_set: variables through which no gradient flows.

    Returns:
        A list, one variable for each input; None where the targets do not depend on it.

    Raises:
        TypeError: what is no variable.
        ValueError: lists of different length.
    """
    targets, inputs = _list(targets), _list(inputs)
    recorder = recorder_of(targets)
    for argument, group in (("targets", targets), ("inputs", inputs)):
        if not group or not all(isinstance(t, Tensor) for t in group):
            raise errors.TypeError_(f"gradients: {argument} must be a variable or a list of variables")
    _check_owner(recorder, targets, "gradients")
    given = None if target_gradients is None else _list(target_gradients)
    with recorder, training_part(recorder):
        found = autograd.grad(
            targets,
            inputs,
            given,
            create_graph=True,
            allow_unused=True,
            no_grad_vars=_blocked(recorder, no_grad_set),
        )
    return found


@errors.clean
def append_backward(
    loss: Tensor,
    parameter_list: Any = None,
    no_grad_set: Any = None,
    callbacks: Any = None,
    checkpoints: Any = None,
    distop_context: Any = None,
) -> list[tuple[Tensor, Tensor]]:
    """Add the gradients of `loss` with respect to the parameters to the program.

    Args:
        loss: a variable with one element.
        parameter_list: parameters or their names; default: all trainable ones that the loss depends on.
        no_grad_set: variables or names through which no gradient flows.
        callbacks, checkpoints: accepted.

    Returns:
        A list of (parameter, gradient).

    Raises:
        TypeError: `loss` is no variable of a program.
        ValueError: `loss` has several elements.
    """
    recorder = recorder_of([loss])
    if not isinstance(loss, Tensor) or not isinstance(loss._raw, Value):
        raise errors.TypeError_(f"append_backward: loss must be a variable, got {errors.describe(loss)}")
    if loss._raw.size != 1:
        raise errors.ValueError_(f"append_backward: loss must have one element, got shape {list(loss.shape)}")
    _check_owner(recorder, [loss], "append_backward")
    blocked = {v if isinstance(v, str) else v.name for v in _list(no_grad_set)}
    graph = recorder.graph
    everything = [p for p in graph.all_parameters() if not p.stop_gradient]
    if parameter_list is None:
        chosen = everything
    else:
        wanted = [p if isinstance(p, str) else p.name for p in _list(parameter_list)]
        chosen = [p for name in wanted for p in _named(graph, name, parameter_list)]
    chosen = [p for p in chosen if p.name not in blocked]
    if not chosen:
        return []
    found = gradients([loss], chosen, no_grad_set=no_grad_set)
    return [(p, g) for p, g in zip(chosen, found) if g is not None]


def _named(graph: Any, name: str, given: Any) -> list[Parameter]:
    for p in graph.all_parameters():
        if p.name == name:
            return [p]
    found = [p for p in _list(given) if isinstance(p, Tensor) and p.name == name]
    if not found:
        raise errors.ValueError_(f"append_backward: the program has no parameter {name!r}")
    return found


def backward(optimizer: Any, loss: Any, parameters: Any, no_grad_set: Any) -> list[tuple[Tensor, Tensor]]:
    """The (parameter, gradient) pairs of an optimizer's parameters, added to the program of the loss."""
    return append_backward(loss, optimizer._given if parameters is None else parameters, no_grad_set)


def minimize(
    recorder: Any, optimizer: Any, loss: Any, startup_program: Any, parameters: Any, no_grad_set: Any
) -> tuple[list, list]:
    """Add gradients and the optimizer's updates to the program. Returns ([], list of (parameter, gradient))."""
    from ..optimizer.program import add_step

    pairs = backward(optimizer, loss, parameters, no_grad_set)
    add_step(recorder, optimizer, pairs)
    return [], pairs
