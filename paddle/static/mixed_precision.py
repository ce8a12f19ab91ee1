"""Mixed precision of programs: a pass that puts casts in front of operators, and optimizers that scale the loss."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..amp.amp_lists import ONLY_X
from ..amp.autocast import Policy, _policy, low_dtype
from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.modes import set_mode
from ..engine.tensor import Tensor, _make
from ..engine.value import Value
from ..ir.program import Block, Operator, Pullback
from ..ir.record import GradientNode, infer
from ..ops.creation import full
from ..ops.selection import where
from ..utils import unique_name
from .backward import append_backward, recorder_of, training_part
from .executor import global_scope
from .program import Program, default_main_program
from .variables import create_global_var

__all__ = [
    "AutoMixedPrecisionLists",
    "CustomOpLists",
    "OptimizerWithMixedPrecision",
    "cast_model_to_fp16",
    "cast_parameters_to_fp16",
    "fp16_guard",
]

_FLOATS = {d.numpy for d in (dtypes.float32, dtypes.float16, dtypes.bfloat16)}


class AutoMixedPrecisionLists:
    """Operators that compute in 16 bits (white) and in 32 (black), beside the built-in lists.

    Args:
        custom_white_list, custom_black_list: names of operators.
        custom_black_varnames: names of variables; what reads or makes them computes in 32 bits.
        dtype: "float16" or "bfloat16".

    Raises ValueError for an operator in both lists.

    Example:
        >>> lists = paddle.static.amp.CustomOpLists(custom_black_list={"softmax"})
    """

    def __init__(
        self,
        custom_white_list: Any = None,
        custom_black_list: Any = None,
        custom_black_varnames: Any = None,
        dtype: str = "float16",
    ):
        self.white, self.black = frozenset(custom_white_list or ()), frozenset(custom_black_list or ())
        if self.white & self.black:
            raise errors.ValueError_(f"custom lists: {sorted(self.white & self.black)} are in both lists")
        self.black_varnames = frozenset(custom_black_varnames or ())
        self.amp_dtype = low_dtype("custom lists", dtype)


CustomOpLists = AutoMixedPrecisionLists


@contextlib.contextmanager
def fp16_guard() -> Iterator[None]:
    """With ``use_fp16_guard`` only the operators that are added inside compute in 16 bits.

    Example:
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     with paddle.static.amp.fp16_guard():
        ...         y = paddle.static.data("x", [2]) * 2.0
    """
    program = default_main_program()
    start = len(program.block.operators)
    try:
        yield
    finally:
        program.guarded.update(program.block.operators[start:])


def rewrite(
    program: Program, loss: Tensor | None, lists: AutoMixedPrecisionLists, policy: Policy, guard: bool
) -> set[str]:
    """Put casts in front of the operators of a program, also on the tape that leads to `loss`. The variables stay the
    same and change their types. Returns the names of those with 16 bits."""
    nodes = _nodes(loss)
    caster = _Caster(program, nodes)
    operators: list[Operator] = []
    with set_mode(amp=None):
        for operator in program.block.operators:
            skipped = operator in program.training or isinstance(operator, Pullback) or operator.known
            if not skipped and any(isinstance(v, Value) and v.dtype in _FLOATS for v in operator.inputs):
                target = _target(operator, lists, policy, guard and operator not in program.guarded)
                casts, operator = caster.cast(operator, target)
                operators += casts
            operators.append(operator)
    program.block.operators[:] = operators
    program.changed()
    return {v.name for o in operators for v in o.outputs if v.dtype == policy.low.numpy}


def _nodes(loss: Tensor | None) -> dict[Operator, GradientNode]:
    """The nodes of the tape behind a tensor, by their operators."""
    found: dict[Operator, GradientNode] = {}
    rest = [] if loss is None or loss._node is None else [loss._node]
    seen = set(map(id, rest))
    while rest:
        node = rest.pop()
        if isinstance(node, GradientNode):
            found[node.operator] = node
        for edge in node.edges or ():
            if edge is not None and edge[0] is not None and id(edge[0]) not in seen:
                seen.add(id(edge[0]))
                rest.append(edge[0])
    return found


def _target(operator: Operator, lists: AutoMixedPrecisionLists, policy: Policy, outside: bool) -> Any:
    """The type in which an operator shall compute, None for that of its inputs."""
    kind = policy.kind(operator.kernel)
    special = hasattr(operator.kernel, "infer") or hasattr(operator.kernel, "blocks")
    names = {v.name for v in (*operator.inputs, *operator.outputs) if isinstance(v, Value)}
    if kind == "keep":
        return None
    if special or outside or kind == "black" or names & lists.black_varnames or kind == "gray" and policy.level == "OD":
        return np.dtype(np.float32)
    wide = any(isinstance(v, Value) and v.dtype == np.float32 for v in operator.inputs)
    low = kind == "white" or not policy.promotes or not wide
    return policy.low.numpy if low else np.dtype(np.float32)


class _Caster:
    """Casts values, each at most once to each type."""

    def __init__(self, program: Program, nodes: dict[Operator, GradientNode]):
        self.recorder, self.nodes = program.recorder, nodes
        self.known: dict[tuple[Value, Any], Tensor] = {}

    def cast(self, operator: Operator, target: Any) -> tuple[list[Operator], Operator]:
        """(the casts that are new, the operator on the cast inputs)."""
        node = self.nodes.get(operator)
        edges = list(node.edges) if node is not None else []
        inputs, new = list(operator.inputs), []
        place = 0
        for i, value in enumerate(operator.inputs):
            live = node is not None and node.mask >> i & 1
            seen = not i or operator.name not in ONLY_X
            if target is not None and seen and isinstance(value, Value) and value.dtype in _FLOATS:
                if value.dtype != target:
                    made, operators = self._cast(value, target, edges[place] if live else None)
                    new += operators
                    inputs[i] = made._value
                    if live:
                        edges[place] = (made._node, made._index, True)
            place += bool(live)
        changed = operator.replaced(inputs=tuple(inputs))
        trials, _, _ = infer(changed)
        for value, spec in zip(operator.outputs, trials[0]):
            value.dtype = np.dtype(spec.dtype)
        if node is not None:
            node.operator, node.edges = changed, tuple(edges)
        return new, changed

    def _cast(self, value: Value, target: Any, edge: Any) -> tuple[Tensor, list[Operator]]:
        key = (value, target)
        found = self.known.get(key)
        if found is not None and (edge is None or found._node is not None):
            return found, []
        tensor = _make(value) if edge is None else _make(value, edge[0], edge[1], False)
        block = self.recorder.block
        self.recorder.block = Block()
        try:
            with self.recorder:
                made = self.known[key] = tensor.astype(dtypes.from_numpy(target))
            if made._node is not None:  # the walk of the tape is in order: after all that reads the cast
                made._node.seq = edge[0].seq + 1 - 1 / (1 + len(self.known))
            return made, self.recorder.block.operators
        finally:
            self.recorder.block = block


class OptimizerWithMixedPrecision:
    """An optimizer whose `minimize` makes the program compute in mixed precision, see `paddle.static.amp.decorate`."""

    def __init__(self, optimizer: Any, lists: AutoMixedPrecisionLists, policy: Policy, guard: bool, scaling: dict):
        self._optimizer, self._lists, self._policy, self._guard = optimizer, lists, policy, guard
        self._scaling = scaling
        self._loss_scaling: Any = None
        self._scaled_loss: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._optimizer, name)

    def get_loss_scaling(self) -> Any:
        """The variable with the scale."""
        return self._loss_scaling

    def get_scaled_loss(self) -> Any:
        """The loss times the scale."""
        return self._scaled_loss

    def amp_init(
        self,
        place: Any,
        scope: Any = None,
        test_program: Any = None,
        use_fp16_test: bool = False,
        rewrite_master_weight: bool = False,
    ) -> None:
        """Officially casts the parameters to 16 bits; here they stay in 32 bits, as master weights, and the program casts
        them. With `use_fp16_test` the test program computes in mixed precision as well."""
        if test_program is not None and use_fp16_test:
            rewrite(test_program, None, self._lists, self._policy, self._guard)

    @errors.clean
    def backward(
        self,
        loss: Tensor,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> list[tuple[Tensor, Tensor]]:
        """The (parameter, gradient of the scaled loss) pairs."""
        recorder = recorder_of([loss])
        rewrite(recorder.graph, loss, self._lists, self._policy, self._guard)
        with recorder, set_mode(amp=None), training_part(recorder):
            wide = loss.astype("float32")
            if self._scaling:
                name = unique_name.generate("loss_scaling")
                self._loss_scaling = create_global_var([1], self._scaling["init"], "float32", True, name=name)
                wide = wide * self._loss_scaling.reshape([]) if not wide.ndim else wide * self._loss_scaling
            self._scaled_loss = wide
        parameters = self._optimizer._given if parameter_list is None else parameter_list
        return append_backward(wide, parameters, no_grad_set)

    @errors.clean
    def apply_gradients(self, params_grads: list[tuple[Tensor, Tensor]], when: Tensor | None = None) -> list:
        """Divide the gradients by the scale and make a step, unless one of them is infinite or NaN; adapt the scale. Where
        `when` is false nothing of this happens."""
        from ..optimizer.program import add_step

        pairs = [(p, g) for p, g in params_grads if g is not None]
        recorder = recorder_of([g for _, g in pairs])
        skip = bad = None
        if self._scaling:
            with recorder, set_mode(grad=False, amp=None), training_part(recorder):
                scale = self._loss_scaling
                bad = full([], False, "bool")
                for _, g in pairs:
                    bad = bad.logical_or(g.isfinite().all().logical_not())
                pairs = [(p, (g.astype("float32") / scale.reshape([])).astype(g.dtype)) for p, g in pairs]
        if when is None:
            skip = bad
        else:
            with recorder, set_mode(grad=False, amp=None), training_part(recorder):
                skip = when.logical_not() if bad is None else bad.logical_or(when.logical_not())
        add_step(recorder, self._optimizer, pairs, skip)
        if self._scaling and self._scaling["dynamic"]:
            with recorder, set_mode(grad=False, amp=None), training_part(recorder):
                self._adapt(bad, when)
        return []

    def _adapt(self, bad: Any, when: Any) -> None:
        rules, scale = self._scaling, self._loss_scaling
        good, wrong = (
            create_global_var([1], 0, "int32", True, name=unique_name.generate(n))
            for n in ("num_good_steps", "num_bad_steps")
        )
        zero = good * 0
        good_now, wrong_now = where(bad, zero, good + 1), where(bad, wrong + 1, zero)
        grow, shrink = good_now >= rules["incr_every"], wrong_now >= rules["decr_every"]
        bigger, smaller = scale * rules["incr"], (scale * rules["decr"]).clip(min=1.0)
        bigger = where(bigger.isfinite(), bigger, scale)
        new = (
            where(grow, bigger, where(shrink, smaller, scale)),
            where(grow, zero, good_now),
            where(shrink, zero, wrong_now),
        )
        for variable, value in zip((scale, good, wrong), new):
            variable._rebind(value if when is None else where(when, value, variable))

    def apply_optimize(self, loss: Tensor, startup_program: Any, params_grads: list) -> list:
        """See `apply_gradients`."""
        return self.apply_gradients(params_grads)

    def minimize(
        self, loss: Tensor, startup_program: Any = None, parameter_list: Any = None, no_grad_set: Any = None
    ) -> tuple[list, list]:
        """Casts, gradients and updates become part of the program. Returns ([], list of (parameter, gradient))."""
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        return self.apply_gradients(pairs), pairs


def decorated(
    optimizer: Any,
    amp_lists: AutoMixedPrecisionLists | None = None,
    level: str = "O1",
    dtype: Any = "float16",
    init_loss_scaling: float = 2.0**15,
    incr_every_n_steps: int = 1000,
    decr_every_n_nan_or_inf: int = 2,
    incr_ratio: float = 2.0,
    decr_ratio: float = 0.8,
    use_dynamic_loss_scaling: bool | None = None,
    use_pure_fp16: bool = False,
    use_fp16_guard: bool | None = None,
    use_amp_guard: bool | None = None,
    use_bf16: bool = False,
    use_promote: bool = False,
    master_weight: Any = None,
    master_grad: bool = False,
) -> OptimizerWithMixedPrecision:
    """The optimizer for programs in mixed precision; the arguments of both official forms."""
    name = "bfloat16" if use_bf16 else low_dtype("decorate", dtype)
    level = "O2" if use_pure_fp16 else level
    if level not in ("O1", "O2", "OD"):
        raise errors.ValueError_(f"decorate: level must be 'O1', 'O2' or 'OD', got {level!r}")
    if name == "float8_e4m3fn":
        raise errors.NotImplemented_("decorate: float8 in programs")
    lists = amp_lists or AutoMixedPrecisionLists(dtype=name)
    policy = _policy(level, name, lists.white, lists.black, use_promote or level != "O2")
    scaling = {}
    if name == "float16":
        scaling = dict(
            init=float(init_loss_scaling),
            incr_every=int(incr_every_n_steps),
            decr_every=int(decr_every_n_nan_or_inf),
            incr=float(incr_ratio),
            decr=float(decr_ratio),
            dynamic=True if use_dynamic_loss_scaling is None else bool(use_dynamic_loss_scaling),
        )
    guard = bool(use_fp16_guard or use_amp_guard)
    return OptimizerWithMixedPrecision(optimizer, lists, policy, guard, scaling)


@errors.clean
def cast_model_to_fp16(
    program: Program,
    amp_lists: AutoMixedPrecisionLists | None = None,
    use_fp16_guard: bool = True,
    dest_type: Any = "float16",
    level: str = "O2",
    use_promote: bool = False,
) -> set[str]:
    """Let a program without gradients compute in 16 bits. Its parameters stay in 32 bits and are cast where they are used.

    Args:
        program: a Program.
        amp_lists: further lists of operators.
        use_fp16_guard: only what was added under `fp16_guard`.
        dest_type: "float16" or "bfloat16".

    Returns:
        The names of the variables that have 16 bits now.
    """
    name = low_dtype("cast_model_to_fp16", dest_type)
    lists = amp_lists or AutoMixedPrecisionLists(dtype=name)
    policy = _policy(level, name, lists.white, lists.black, use_promote)
    return rewrite(program, None, lists, policy, use_fp16_guard)


@errors.clean
def cast_parameters_to_fp16(
    place: Any,
    program: Program,
    scope: Any = None,
    to_fp16_var_names: Any = None,
    dest_type: Any = "float16",
    rewrite_master_weight: bool = False,
    master_weights: Any = None,
) -> None:
    """Round the parameters of a program, or those named, in the scope to 16 bits.

    Args:
        place: accepted.
        scope: default: `global_scope()`.
        to_fp16_var_names: names of parameters; default: all floating ones.
    """
    scope, low = scope or global_scope(), to_dtype(dest_type).numpy
    for p in program.all_parameters():
        state = program.states[p.name]
        array = scope.array_of(state)
        if array is not None and array.dtype == np.float32 and (not to_fp16_var_names or p.name in to_fp16_var_names):
            scope.put(state, array.astype(low))
