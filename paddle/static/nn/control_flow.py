"""Branches and loops: in programs operators with blocks, outside of them plain Python."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np

from ...engine import errors
from ...engine.modes import modes
from ...engine.op import api, op
from ...engine.tensor import Tensor
from ...ir.blocks import Empty, Recorded, checked_bool, finish_branches, finish_loop, record_branches, record_loop
from ...ir.record import HostKernel
from ...ops.creation import full
from ...tensor.array import TensorArray
from ...utils.structure import flatten, is_sequence, pack_sequence_as

__all__ = []


def _checked(name: str, argument: str, function: Any) -> Callable:
    if not callable(function):
        raise errors.TypeError_(f"{name}: {argument} must be callable, got {errors.describe(function)}")
    return function


class _Array:
    """Stands for an array of tensors in a structure."""

    def __init__(self, array: TensorArray):
        self.dtype = array.dtype

    def build(self, leaf: Any) -> TensorArray:
        return TensorArray(self.dtype) if isinstance(leaf, Empty) else TensorArray(self.dtype, stacked=leaf)


class _Structure:
    """A nested structure whose leaves change; an array of tensors is one leaf."""

    def __init__(self, nest: Any):
        self.leaves: list = []
        self.keys: list = []  # of the dicts in it
        self.form = self._marked(nest)
        self.marks = flatten(self.form)

    def _marked(self, nest: Any) -> Any:
        if isinstance(nest, TensorArray):
            stacked = nest.stack()
            self.leaves.append(Empty(nest.dtype) if stacked is None else stacked)
            return _Array(nest)
        if isinstance(nest, dict):
            self.keys.append(sorted(nest))
            found = {k: self._marked(nest[k]) for k in sorted(nest)}
            return type(nest)((k, found[k]) for k in nest)
        if is_sequence(nest):
            items = [self._marked(v) for v in nest]
            return type(nest)(*items) if hasattr(nest, "_fields") else type(nest)(items)
        self.leaves.append(nest)
        return nest

    def build(self, leaves: list) -> Any:
        found = [m.build(x) if isinstance(m, _Array) else x for m, x in zip(self.marks, leaves, strict=True)]
        return pack_sequence_as(self.form, found)


def _branches(
    name: str, choice: Tensor, functions: list[Callable], keys: tuple[int, ...] | None, what: list[str]
) -> Any:
    """Record an operator that runs one of several functions; the result has the structure of that of the first."""
    structures: list[_Structure] = []

    def leaves(function: Callable) -> Callable[[], list]:
        def call() -> list:
            found = _Structure(function())
            structures.append(found)
            if found.keys != structures[0].keys:
                raise errors.ValueError_(
                    f"{name}: {what[0]} returns dicts with the keys {structures[0].keys}, but "
                    f"{what[len(structures) - 1]} with {found.keys}"
                )
            return found.leaves

        return call

    found = record_branches(name, choice, [leaves(f) for f in functions], keys, what)
    return structures[0].build(found)


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
        The loop variables after the last iteration; a list in programs, like loop_vars outside of them.

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
        return type(loop_vars)(variables)
    structure = _Structure(list(loop_vars))

    def after(leaves: list) -> list:
        found = _Structure(step(structure.build(leaves)))
        if found.keys != structure.keys:
            raise errors.ValueError_(
                f"while_loop: the loop variables are dicts with the keys {structure.keys}, body returns {found.keys}"
            )
        return found.leaves

    found = record_loop(
        "while_loop",
        lambda leaves: cond(*structure.build(leaves)),
        after,
        structure.leaves,
    )
    return structure.build(found)


@op(method=False, export=False, differentiable=False)
def first_true(x):
    """The number of the first of several bools that is true, their count when none is."""
    found = jnp.stack([jnp.reshape(p, ()) for p in x])
    return jnp.where(jnp.any(found), jnp.argmax(found), len(x)).astype(jnp.int32)


@api(method=False)
def case(pred_fn_pairs: Any, default: Callable | None = None, name: str | None = None) -> Any:
    """The result of the function whose predicate is the first true one.

    Args:
        pred_fn_pairs: a list or tuple of (predicate, function); predicates are Tensors of one bool. See `cond` for what
            functions may return.
        default: called when no predicate is true; by default the last function is.

    Raises:
        TypeError, ValueError: arguments of another form, or results that do not fit, as in `cond`.

    Example:
        >>> x = paddle.to_tensor(3.0)
        >>> float(paddle.static.nn.case([(x < 1, lambda: x), (x < 5, lambda: x * 2)], default=lambda: x * 3))
        6.0
    """
    if not isinstance(pred_fn_pairs, (list, tuple)):
        raise errors.TypeError_(f"case: pred_fn_pairs must be a list or tuple, got {errors.describe(pred_fn_pairs)}")
    if not pred_fn_pairs:
        raise errors.ValueError_("case: pred_fn_pairs must not be empty")
    predicates, functions = [], []
    for pair in pred_fn_pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise errors.TypeError_(f"case: pred_fn_pairs holds tuples (pred, fn), got {errors.describe(pair)}")
        if not isinstance(pair[0], (Tensor, bool)):
            raise errors.TypeError_(f"case: a pred must be a Tensor of one bool, got {errors.describe(pair[0])}")
        predicates.append(pair[0])
        functions.append(_checked("case", "the fn of a pair", pair[1]))
    if default is not None:
        functions.append(_checked("case", "default", default))
    else:
        predicates.pop()
    if modes.program is None or not any(isinstance(p, Tensor) for p in predicates):
        chosen = next((f for p, f in zip(predicates, functions) if bool(p)), functions[-1])
        return chosen()
    choice = first_true([_as_bool("case", p) for p in predicates])
    what = [f"function {i}" for i in range(len(functions))]
    return _branches("case", choice, functions, tuple(range(len(predicates))), what)


def _as_bool(name: str, pred: Any) -> Tensor:
    return checked_bool(name, "a pred", pred) if isinstance(pred, Tensor) else full([], pred, "bool")


@api(method=False)
def switch_case(branch_index: Any, branch_fns: Any, default: Callable | None = None, name: str | None = None) -> Any:
    """The result of the function with the number `branch_index`.

    Args:
        branch_index: a Tensor of one int32, int64 or uint8.
        branch_fns: a dict {number: function}, a list of (number, function), or a list of functions with the numbers
            0, 1, ... See `cond` for what functions may return.
        default: called when no function has the number; by default the function of the largest number is.

    Raises:
        TypeError, ValueError: arguments of another form, or results that do not fit, as in `cond`.

    Example:
        >>> i, x = paddle.to_tensor(1), paddle.to_tensor(3.0)
        >>> float(paddle.static.nn.switch_case(i, [lambda: x, lambda: x * 2]))
        6.0
    """
    if not isinstance(branch_index, (Tensor, int)):
        raise errors.TypeError_(
            f"switch_case: branch_index must be a Tensor of one integer, got {errors.describe(branch_index)}"
        )
    if not isinstance(branch_fns, (list, tuple, dict)):
        raise errors.TypeError_(
            f"switch_case: branch_fns must be a list, tuple or dict, got {errors.describe(branch_fns)}"
        )
    if not branch_fns:
        raise errors.ValueError_("switch_case: branch_fns must not be empty")
    pairs = list(branch_fns.items()) if isinstance(branch_fns, dict) else list(branch_fns)
    if all(callable(p) for p in pairs):
        pairs = list(enumerate(pairs))
    found: dict[int, Callable] = {}
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise errors.TypeError_(f"switch_case: branch_fns holds pairs (number, fn), got {errors.describe(pair)}")
        key, function = pair
        if isinstance(key, bool) or not isinstance(key, (int, np.integer)):
            raise errors.TypeError_(f"switch_case: the number of a function must be an int, got {errors.describe(key)}")
        if key in found:
            raise errors.ValueError_(f"switch_case: the number {key} appears twice in branch_fns")
        found[int(key)] = _checked("switch_case", f"function {key}", function)
    found = dict(sorted(found.items()))
    if default is None:
        default = found.popitem()[1]
    _checked("switch_case", "default", default)
    if modes.program is None or not isinstance(branch_index, Tensor):
        return found.get(int(branch_index), default)()
    if branch_index.dtype.name not in ("uint8", "int32", "int64"):
        raise errors.TypeError_(
            f"switch_case: branch_index must be of type uint8, int32 or int64, got {branch_index.dtype.name}"
        )
    if any(int(d) not in (1, -1) for d in branch_index.shape):
        raise errors.ValueError_(
            f"switch_case: branch_index must have one element, got shape {list(branch_index.shape)}"
        )
    what = [*(f"function {k}" for k in found), "default"]
    return _branches("switch_case", branch_index, [*found.values(), default], tuple(found), what)


# ---- with statements: the earlier form of branches and loops ----


class While:
    """A loop whose body is a `with` block: it runs again and again while `cond` is true, which the body overwrites.

    Args:
        cond: a Tensor of one bool of the program.
        is_test: accepted.

    Raises:
        TypeError: cond is no such tensor.
        RuntimeError: no program is being built, or the body never overwrites cond.

    For example::

        i, n = paddle.zeros([1], "int64"), paddle.full([1], 5, "int64")
        going = paddle.less_than(i, n)
        with While(going).block():
            paddle.assign(i + 1, output=i)
            paddle.assign(i < n, output=going)
    """

    def __init__(self, cond: Tensor, is_test: bool = False, name: str | None = None):
        if not isinstance(cond, Tensor):
            raise errors.TypeError_(f"While: cond must be a Tensor of one bool, got {errors.describe(cond)}")
        self.cond = checked_bool("While", "cond", cond)

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """The body."""
        recorder = _program("While")
        recorder.value_of(self.cond)
        with recorder.inner([]) as block:
            yield
        step = Recorded(recorder, block, [])
        if id(self.cond._storage) not in step.writes:
            raise errors.RuntimeError_("While: the body never overwrites cond, so the loop would not end")
        test = Recorded.call(recorder, [], lambda: [self.cond])
        finish_loop("while", test, step, [], [])


class Switch:
    """Blocks of which the first runs whose condition is true: ``with switch.case(condition):``, ``with switch.default():``.

    For example::

        with Switch() as switch:
            with switch.case(step < 100):
                paddle.assign(small, output=rate)
            with switch.default():
                paddle.assign(large, output=rate)
    """

    def __init__(self, name: str | None = None):
        self.conditions: list[Tensor] = []
        self.recorded: list[Recorded] = []
        self.complete = False

    def __enter__(self) -> Switch:
        self.recorder = _program("Switch")
        return self

    @contextlib.contextmanager
    def case(self, condition: Tensor) -> Iterator[None]:
        """The block that runs when `condition` is true and none before it was."""
        if self.complete:
            raise errors.RuntimeError_("Switch: a case after the default")
        if not isinstance(condition, Tensor):
            raise errors.TypeError_(
                f"Switch: a condition must be a Tensor of one bool, got {errors.describe(condition)}"
            )
        self.conditions.append(checked_bool("Switch", "a condition", condition)._snapshot())
        with self._recording():
            yield

    @contextlib.contextmanager
    def default(self) -> Iterator[None]:
        """The block that runs when no condition is true."""
        self.complete = True
        with self._recording():
            yield

    @contextlib.contextmanager
    def _recording(self) -> Iterator[None]:
        with self.recorder.inner([]) as block:
            yield
        self.recorded.append(Recorded(self.recorder, block, []))

    def __exit__(self, kind: Any, *exc: Any) -> None:
        if kind is not None or not self.conditions:
            return
        if not self.complete:
            with self.default():
                pass
        keys = tuple(range(len(self.conditions)))
        what = [f"case {k}" for k in keys] + ["default"]
        finish_branches("switch", first_true(self.conditions), self.recorded, keys, what)


def _program(name: str) -> Any:
    if modes.program is None:
        raise errors.RuntimeError_(
            f"{name}: no program is being built; use Python's own statements outside of programs"
        )
    return modes.program


# ---- looking at tensors while a program runs ----


@api(method=False, export=False)
def Assert(cond: Any, data: Any = None, summarize: int = 20, name: str | None = None) -> None:
    """Stop with an error when a condition does not hold.

    Args:
        cond: a Tensor of one bool.
        data: a list or tuple of Tensors that the error shows.
        summarize: how many elements of each it shows; negative: all.

    Raises:
        ValueError: the condition is false; in a program, when it runs.
        TypeError: arguments of another type.
    """
    if not isinstance(cond, Tensor):
        raise errors.TypeError_(f"Assert: cond must be a Tensor of one bool, got {errors.describe(cond)}")
    checked_bool("Assert", "cond", cond)
    if data is not None and (not isinstance(data, (list, tuple)) or not all(isinstance(t, Tensor) for t in data)):
        raise errors.TypeError_(f"Assert: data must be a list of Tensors, got {errors.describe(data)}")
    shown = list(data or ())
    names = [t.name for t in shown]

    def check(holds: Tensor, *tensors: Tensor) -> tuple:
        if not bool(holds):
            text = "".join(_text(t, n, None, summarize) + "\n" for t, n in zip(tensors, names))
            raise errors.ValueError_(f"Assert: the condition does not hold\n{text}".rstrip())
        return ()

    _on_host("assert", check, [cond, *shown])


@api(method=False, export=False)
def Print(
    input: Tensor,
    first_n: int = -1,
    message: str | None = None,
    summarize: int = 20,
    print_tensor_name: bool = True,
    print_tensor_type: bool = True,
    print_tensor_shape: bool = True,
    print_tensor_layout: bool = True,
    print_tensor_lod: bool = True,
    print_phase: str = "both",
) -> Tensor:
    """Print a tensor whenever the program computes it; returns a tensor of the same value.

    Args:
        input: the tensor.
        first_n: print only so many times; negative: always.
        message: printed before it.
        summarize: how many elements are printed; negative: all.
        print_tensor_name, print_tensor_type, print_tensor_shape, print_tensor_layout, print_tensor_lod: what is printed.
        print_phase: "forward" (the tensor), "backward" (its gradient) or "both".

    Raises:
        TypeError: input is no Tensor.
        ValueError: another print_phase.

    Example:
        >>> y = paddle.static.Print(paddle.ones([2]), message="here")  # doctest: +SKIP
    """
    if not isinstance(input, Tensor):
        raise errors.TypeError_(f"Print: input must be a Tensor, got {errors.describe(input)}")
    if print_phase not in ("forward", "backward", "both"):
        raise errors.ValueError_(f"Print: print_phase must be 'forward', 'backward' or 'both', got {print_phase!r}")
    fields = (print_tensor_name, print_tensor_lod, print_tensor_shape, print_tensor_layout, print_tensor_type)
    printed = {"": 0, "@GRAD": 0}

    def show(tensor: Tensor, suffix: str) -> None:
        label = input.name + suffix

        def write(t: Tensor) -> tuple:
            if first_n < 0 or printed[suffix] < first_n:
                printed[suffix] += 1
                print(_text(t, label, message, summarize, fields), flush=True)
            return ()

        _on_host("print", write, [tensor])

    if print_phase != "backward":
        show(input, "")
    out = input.clone()
    if print_phase != "forward" and not out.stop_gradient:
        out.register_hook(lambda gradient: show(gradient, "@GRAD"))
    return out


def _on_host(name: str, function: Callable, tensors: list[Tensor]) -> None:
    """Call a function of tensors for its effect: now, or whenever the program runs."""
    if modes.program is None:
        function(*tensors)
        return
    kernel = HostKernel(function, name, ("",) * len(tensors), lambda specs, trial: [], effect=True)
    modes.program.record(kernel, tuple(t.detach() for t in tensors))


def _text(
    tensor: Tensor, name: str, message: str | None, summarize: int, fields: tuple = (True, False, True, True, True)
) -> str:
    """A tensor as the official package prints it."""
    name_, lod, shape, layout, kind = fields
    values = tensor.numpy().reshape(-1)
    values = values if summarize < 0 else values[:summarize]
    number = "{:.6f}" if values.dtype.kind == "f" else "{}"
    lines = [f"Variable: {name}" if name_ else "Variable:"]
    lines += [f"  - message: {message}"] if message else []
    lines += ["  - lod: {}"] if lod else []
    lines += [f"  - place: {tensor.place}"]
    lines += [f"  - shape: {list(tensor.shape)}"] if shape else []
    lines += ["  - layout: NCHW"] if layout else []
    lines += [f"  - dtype: {tensor.dtype.name}"] if kind else []
    return "\n".join([*lines, f"  - data: [{' '.join(number.format(v) for v in values.tolist())}]"])
