"""Branches and loops: in programs operators with blocks, outside of them plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine import errors
from ...engine.modes import modes
from ...engine.op import api
from ...engine.tensor import Tensor
from ...ir.blocks import checked_bool, record_branches, record_loop
from ...utils.structure import flatten, pack_sequence_as

__all__ = []


def _checked(name: str, argument: str, function: Any) -> Callable:
    if not callable(function):
        raise errors.TypeError_(f"{name}: {argument} must be callable, got {errors.describe(function)}")
    return function


def _branches(
    name: str, choice: Tensor, functions: list[Callable], keys: tuple[int, ...] | None, what: list[str]
) -> Any:
    """Record an operator that runs one of several functions; the result has the structure of that of the first."""
    structures: list = []

    def leaves(function: Callable) -> Callable[[], list]:
        def call() -> list:
            structures.append(function())
            return flatten(structures[-1])

        return call

    found = record_branches(name, choice, [leaves(f) for f in functions], keys, what)
    return pack_sequence_as(structures[0], found)


@api(method=False)
def cond(
    pred: Any,
    true_fn: Callable | None = None,
    false_fn: Callable | None = None,
    name: str | None = None,
    return_names: Any = None,
) -> Any:
    """`true_fn()` where pred is true, otherwise `false_fn()`. In a program both are recorded and the one that pred
    chooses runs.

    Args:
        pred: a Tensor of one bool.
        true_fn, false_fn: functions without arguments (None: they return None). In a program both must return the same
            structure of tensors of the same types; lengths may differ. Numbers that differ become tensors. What they
            change in place is changed when they run.
        return_names: accepted; official names of the results for error messages.

    Returns:
        What the function returns.

    Raises:
        TypeError: pred is no bool, a function cannot be called, or the types of the results differ.
        ValueError: the numbers of results or their numbers of dimensions differ.

    Example:
        >>> x = paddle.to_tensor(3.0)
        >>> float(paddle.static.nn.cond(x > 2, lambda: x * 2, lambda: x - 1))
        6.0
    """
    for argument, function in (("true_fn", true_fn), ("false_fn", false_fn)):
        if function is not None:
            _checked("cond", argument, function)
    if not isinstance(pred, Tensor) and not isinstance(pred, bool):
        raise errors.TypeError_(f"cond: pred must be a Tensor of one bool, got {errors.describe(pred)}")
    if modes.program is None or isinstance(pred, bool):
        chosen = true_fn if bool(pred) else false_fn
        return None if chosen is None else chosen()
    checked_bool("cond", "pred", pred)
    functions = [f if f is not None else _nothing for f in (true_fn, false_fn)]
    return _branches("cond", pred, functions, None, ["true_fn", "false_fn"])


def _nothing() -> None:
    return None


@api(method=False)
def while_loop(cond: Callable, body: Callable, loop_vars: Any, is_test: bool = False, name: str | None = None) -> Any:
    """Repeat ``loop_vars = body(*loop_vars)`` while ``cond(*loop_vars)`` is true.

    Args:
        cond: takes the loop variables, returns a Tensor of one bool.
        body: takes the loop variables, returns as many (a single one needs no list).
        loop_vars: a list or tuple, not empty. Structures of tensors are allowed; in a program a Python number that the
            body changes becomes a tensor, and anything else must stay as it is. Lengths of tensors may change from
            iteration to iteration, such a loop is driven from Python.
        is_test: accepted; gradients are computed where somebody asks for them.

    Returns:
        A list of the loop variables after the last iteration.

    Raises:
        TypeError: cond or body cannot be called, loop_vars is no list or tuple, cond gives no bool.
        ValueError: loop_vars is empty, or body returns another number of variables.

    Example:
        >>> i, x = paddle.full([1], 0), paddle.ones([1])
        >>> i, x = paddle.static.nn.while_loop(lambda i, x: i < 3, lambda i, x: [i + 1, x * 2], [i, x])
        >>> x.tolist()
        [8.0]
    """
    _checked("while_loop", "cond", cond)
    _checked("while_loop", "body", body)
    if not isinstance(loop_vars, (list, tuple)):
        raise errors.TypeError_(f"while_loop: loop_vars must be a list or tuple, got {errors.describe(loop_vars)}")
    if not loop_vars:
        raise errors.ValueError_("while_loop: loop_vars must not be empty")
    count = len(loop_vars)

    def step(variables: list) -> list:
        found = body(*variables)
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        if len(found) != count:
            raise errors.ValueError_(
                f"while_loop: body takes {count} loop variables and returns {len(found)}; they must be as many"
            )
        return found

    if modes.program is None:
        variables = list(loop_vars)
        while bool(cond(*variables)):
            variables = step(variables)
        return variables
    structure = list(loop_vars)
    found = record_loop(
        "while_loop",
        lambda leaves: cond(*pack_sequence_as(structure, leaves)),
        lambda leaves: flatten(step(pack_sequence_as(structure, leaves))),
        flatten(structure),
    )
    return pack_sequence_as(structure, found)
