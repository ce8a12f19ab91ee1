"""Distillation in programs: a teacher beside the student, losses between variables by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paddle.engine import errors
from paddle.engine.tensor import Tensor, _make
from paddle.engine.value import Value
from paddle.ir.program import Pullback
from paddle.ir.record import Recorder
from paddle.static import Program, default_main_program, global_scope, program_guard

from ..structure.programs import put_arrays, record
from . import losses


def merge(
    teacher_program: Program,
    student_program: Program,
    data_name_map: dict[str, str],
    place: Any,
    scope: Any = None,
    teacher_scope: Any = None,
    name_prefix: str = "teacher_",
    merge_feed: bool = True,
) -> None:
    """Put a teacher into the program of a student, in place; it does not learn.

    Args:
        teacher_program: a Program without gradients, as it infers.
        student_program: it gets the operators of the teacher.
        data_name_map: for inputs of the teacher the input of the student that is fed in their place.
        place: accepted.
        scope: holds the variables of the student, and from now on those of the teacher; default: the global one.
        teacher_scope: holds the variables of the teacher; default: `scope`.
        name_prefix: comes before all names of the teacher.
        merge_feed: accepted.

    Raises:
        TypeError: no programs.
        ValueError: a name that is no input.
    """
    for what, program in (("teacher_program", teacher_program), ("student_program", student_program)):
        if not isinstance(program, Program):
            raise errors.TypeError_(f"merge: {what} must be a Program, got {errors.describe(program)}")
    scope = scope or global_scope()
    inputs = {}
    for theirs, own in data_name_map.items():
        for name, program, whose in ((theirs, teacher_program, "teacher"), (own, student_program, "student")):
            if name not in program.inputs:
                raise errors.ValueError_(
                    f"merge: the {whose} has no input {name!r}; it has {', '.join(program.inputs)}"
                )
        inputs[theirs] = _make(student_program.inputs[own])
    put_arrays(teacher_program, scope, teacher_scope or scope, name_prefix, "merge")
    record(teacher_program, student_program, prefix=name_prefix, inputs=inputs, trainable=False)


def tensors_of(program: Program) -> dict[str, Tensor]:
    """The variables of a program by name, with the tape that leads to its parameters."""
    found: dict[Value, Tensor] = {v: _make(v) for v in program.inputs.values()}
    for state in program.states.values():
        found[state.value] = state.parameter if state.parameter is not None else _make(state.value)
    for operator in program.block.operators:
        node = None
        if not isinstance(operator, Pullback) and operator not in program.training and operator.kernel.differentiable:
            node = Recorder._node(operator, [found.get(x, x) if isinstance(x, Value) else x for x in operator.inputs])
        for i, value in enumerate(operator.outputs):
            flows = node is not None and value.dtype.kind in "fcV"
            found[value] = _make(value, node, i, False) if flows else _make(value)
    return {v.name: t for v, t in found.items()}


def _variables(program: Program | None, *names: str) -> tuple[Program, list[Tensor]]:
    program = program or default_main_program()
    known = tensors_of(program)
    for name in names:
        if name not in known:
            raise errors.ValueError_(f"distillation: the program has no variable {name!r}")
    return program, [known[n] for n in names]


def _loss(program: Program | None, names: tuple[str, ...], function: Callable, **options: Any) -> Tensor:
    program, variables = _variables(program, *names)
    with program_guard(program):
        return function(*variables, **options)


def fsp(
    teacher_var1_name: str,
    teacher_var2_name: str,
    student_var1_name: str,
    student_var2_name: str,
    program: Program | None = None,
) -> Tensor:
    """The difference of how two features, [N, C, H, W] of equal height and width, relate; see `losses.fsp_loss`."""
    names = (teacher_var1_name, teacher_var2_name, student_var1_name, student_var2_name)
    return _loss(program, names, losses.fsp_loss)


def l2(teacher_var_name: str, student_var_name: str, program: Program | None = None) -> Tensor:
    """The mean squared difference of two variables.

    Args:
        teacher_var_name, student_var_name: their names.
        program: default: the main program.

    Raises:
        ValueError: an unknown name.
    """
    return _loss(program, (teacher_var_name, student_var_name), losses.l2_loss)


def soft_label(
    teacher_var_name: str,
    student_var_name: str,
    program: Program | None = None,
    teacher_temperature: float = 1.0,
    student_temperature: float = 1.0,
) -> Tensor:
    """The cross entropy of softened logits; see `l2` for the names."""
    return _loss(
        program,
        (teacher_var_name, student_var_name),
        losses.soft_label_loss,
        teacher_temperature=teacher_temperature,
        student_temperature=student_temperature,
    )


def dkd(
    teacher_var_name: str,
    student_var_name: str,
    program: Program | None = None,
    temperature: float = 1.0,
    alpha: float = 1.0,
    beta: float = 1.0,
) -> Tensor:
    """Decoupled distillation of logits, see `losses.dkd_loss`."""
    names = (teacher_var_name, student_var_name)
    return _loss(program, names, losses.dkd_loss, temperature=temperature, alpha=alpha, beta=beta)


def skd(
    teacher_var_name: str, student_var_name: str, program: Program | None = None, multiplier: float | None = None
) -> Tensor:
    """Spherical distillation of logits, see `losses.skd_loss`."""
    return _loss(program, (teacher_var_name, student_var_name), losses.skd_loss, multiplier=multiplier)


def loss(loss_func: Callable, program: Program | None = None, **kwargs: Any) -> Tensor:
    """A loss of the user's own: `loss_func` gets the variables whose names are given as strings, and the rest as it is."""
    names = {k: v for k, v in kwargs.items() if isinstance(v, str)}
    program, variables = _variables(program, *names.values())
    with program_guard(program):
        return loss_func(**{**kwargs, **dict(zip(names, variables))})
