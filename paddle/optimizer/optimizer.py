"""The base class of the optimizers: parameters, groups, learning rate, state. The step itself is in `multi_tensor`."""

from __future__ import annotations

import functools
import re
import weakref
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import jax
import numpy as np

from ..engine import errors
from ..engine.modes import modes, note_effect
from ..engine.parameter import Parameter
from ..engine.parameter import parameters as alive_parameters
from ..engine.row_sparse import SelectedRows
from ..engine.tensor import Tensor, _make
from ..engine.value import Value
from ..nn.clip import ClipGradBase
from ..regularizer import L2Decay, WeightDecayRegularizer
from .lr import LRScheduler
from .multi_tensor import Pack, Plan
from .packs import Packs, is_custom

__all__ = ["Optimizer"]


def _clean(method: Callable) -> Callable:
    """Cut our own frames from tracebacks."""

    @functools.wraps(method)
    def call(*args, **kwargs):
        try:
            return method(*args, **kwargs)
        except Exception as e:
            errors.trim(e)
            raise

    return call


def _parameters_first(init: Callable) -> Callable:
    """Let a constructor also take the parameters in the first place: ``SGD(net.parameters(), learning_rate=0.1)``."""

    @functools.wraps(init)
    def call(self, *args, **kwargs):
        if args and isinstance(args[0], (list, tuple, Iterator)):
            if "parameters" in kwargs:
                raise errors.TypeError_(f"{type(self).__name__}: the parameters are given twice")
            kwargs["parameters"], args = args[0], args[1:]
        try:
            init(self, *args, **kwargs)
        except Exception as e:
            errors.trim(e)
            raise

    return call


class Optimizer(Packs, errors.Explains):
    """Base class of the optimizers.

    A subclass names its numbers and states and defines the update of one parameter, a function on arrays:

    - `_hyper`: names of numbers that the update reads; the attribute with a leading underscore holds the value, an entry
      of a parameter group replaces it. They are inputs of the compiled step.
    - `_options`: names of attributes (with leading underscore) that are fixed, such as `use_nesterov`.
    - `_states`: names of the arrays that are kept for each parameter; `_initial_state` makes them, by default zeros.
    - `_scalars`: names of numbers that are kept for each parameter; `_initial_scalars` gives them.
    - `_update(p, g, s, h) -> (p, s)`: the new parameter and the new state, a dict of `_states` and `_scalars`. `h` has
      `lr`, the numbers and the options; `h.each(fn, *arrays)` applies `fn` to the part of each parameter where it needs
      to see a whole parameter, since an array may hold several of them.
    - `_rests(h)`: whether a zero gradient changes nothing, or is to change nothing: then with a row-sparse gradient the
      update sees only the rows of it.

    Args:
        learning_rate: a float or an LRScheduler.
        parameters: a list of parameters, or of dicts with "params" and settings of their own ("learning_rate", a
            factor, "weight_decay", "grad_clip" and the optimizer's numbers). None: all trainable parameters that have a
            gradient when `step` is called.
        weight_decay: a float (an L2 penalty), L1Decay or L2Decay. The `regularizer` of a parameter replaces it.
        grad_clip: a clipping rule, applied before weight decay.
        name: accepted for compatibility.

    Raises:
        TypeError: arguments of a wrong kind.
        ValueError: `learning_rate` is None, or a parameter is in two groups.

    Example:
        >>> w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> sgd = paddle.optimizer.SGD(learning_rate=0.5, parameters=[w])
        >>> (w * w).sum().backward()
        >>> sgd.step(); w.tolist()
        [0.0, 0.0]
    """

    _hyper: ClassVar[tuple[str, ...]] = ()
    _options: ClassVar[tuple[str, ...]] = ()
    _states: ClassVar[tuple[str, ...]] = ()
    _scalars: ClassVar[tuple[str, ...]] = ()
    _per_parameter: ClassVar[tuple[str, ...]] = ()  # further numbers, see _parameter_numbers
    _update: Callable
    type = ""

    @staticmethod
    def _rests(h: Any) -> bool:
        return False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in cls.__dict__:
            cls.__init__ = _parameters_first(cls.__init__)  # type: ignore[method-assign]

    @_parameters_first
    def __init__(self, learning_rate, parameters=None, weight_decay=None, grad_clip=None, name=None):
        who = type(self).__name__
        if learning_rate is None:
            raise errors.ValueError_(f"{who}: learning_rate must be given")
        self._learning_rate = self._check_rate(learning_rate)
        self._name = name
        self._grad_clip = self._check_clip(grad_clip)
        self.regularization = self._check_decay(weight_decay)
        self._multi_precision = False
        self._packs: list[Pack] = []
        self._homes: dict[int, tuple[Pack, int, Any]] = {}  # of a parameter's id: pack, position, weak reference
        self._plans: dict[tuple, Plan] = {}
        self._rows: Any = None  # the scalars of all packs
        self._loose: dict[
            int, tuple[Any, dict]
        ] = {}  # states of parameters without a pack, by id: weak reference, states
        self._param_groups: list = []
        self._groups: list[dict] = [{}]
        self._group_of: dict[int, int] = {}
        self._given: list[Tensor] | None = None
        if parameters is not None:
            self._take_parameters(parameters)

    # ---- copies ----
    def __getstate__(self) -> dict:
        """For pickle and deepcopy: the states go with their parameters, the packs are made again."""
        held = [(ref(), entry) for ref, entry in self._loose.values()]
        for pack in self._packs:
            held += [
                (ref(), {**{name: pack.state(name, index) for name in pack.states}, **self._scalars_of(pack)})
                for index, ref in enumerate(pack.members)
            ]
        groups = [(p, self._group_of[id(p)]) for group in self._param_groups for p in group["params"]]
        return {
            **self.__dict__,
            "_packs": [],
            "_homes": {},
            "_plans": {},
            "_rows": None,
            "_group_of": groups,
            "_loose": [(p, entry) for p, entry in held if p is not None],
        }

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._group_of = {id(p): number for p, number in state["_group_of"]}
        self._loose = {id(p): (weakref.ref(p), dict(entry)) for p, entry in state["_loose"]}

    # ---- checks of arguments ----
    def _check_rate(self, rate: Any) -> Any:
        if isinstance(rate, LRScheduler):
            return rate
        if isinstance(rate, (float, int, np.floating)) and not isinstance(rate, bool):
            return float(rate)
        raise errors.TypeError_(
            f"{type(self).__name__}: learning_rate must be a float or an LRScheduler, got {errors.describe(rate)}"
        )

    def _check_clip(self, clip: Any) -> Any:
        if clip is not None and not isinstance(clip, ClipGradBase):
            raise errors.TypeError_(
                f"{type(self).__name__}: grad_clip must be ClipGradByGlobalNorm, ClipGradByNorm, "
                f"ClipGradByValue or a class derived from ClipGradBase, got {errors.describe(clip)}"
            )
        return clip

    def _check_decay(self, decay: Any) -> Any:
        if decay is None or isinstance(decay, WeightDecayRegularizer):
            return decay
        if isinstance(decay, Tensor) or isinstance(decay, (int, float, np.number)) and not isinstance(decay, bool):
            return L2Decay(float(decay))
        raise errors.TypeError_(
            f"{type(self).__name__}: weight_decay must be a float, L1Decay or L2Decay, got {errors.describe(decay)}"
        )

    def _check_range(self, name: str, value: Any, low: float = 0.0, high: float = float("inf")) -> Any:
        """A number in [low, high), or a Tensor with one."""
        if value is None:
            raise errors.ValueError_(f"{type(self).__name__}: {name} must be given")
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number, Tensor)):
            raise errors.TypeError_(f"{type(self).__name__}: {name} must be a number, got {errors.describe(value)}")
        if not low <= float(value) < high:
            allowed = f"in [{low:g}, {high:g})" if high != float("inf") else f"at least {low:g}"
            raise errors.ValueError_(f"{type(self).__name__}: {name} must be {allowed}, got {float(value):g}")
        return value

    def _take_parameters(self, parameters: Any) -> None:
        who = type(self).__name__
        if isinstance(parameters, (Tensor, dict, str)):
            raise errors.TypeError_(
                f"{who}: parameters must be a list of Tensors or of dicts, got {errors.describe(parameters)}"
            )
        try:
            parameters = list(parameters)
        except TypeError:
            raise errors.TypeError_(
                f"{who}: parameters must be a list of Tensors, got {errors.describe(parameters)}"
            ) from None
        if parameters and isinstance(parameters[0], dict):
            self._given, self._groups = [], []
            for group in parameters:
                self._add_param_group(group)
            return
        _check_tensors(who, parameters)
        unique = list({id(p): p for p in parameters}.values())
        if len(unique) < len(parameters):
            errors.warn(
                f"{who}: {len(parameters) - len(unique)} parameters are given more than once; each is updated once"
            )
        self._given = unique

    def _add_param_group(self, group: dict) -> None:
        """Add a group of parameters with settings of their own: a dict with "params"."""
        who = type(self).__name__
        if not isinstance(group, dict) or "params" not in group:
            raise errors.ValueError_(
                f"{who}: a parameter group must be a dict with the key 'params', got {errors.describe(group)}"
            )
        group = dict(group)
        params = group["params"]
        params = group["params"] = [params] if isinstance(params, Tensor) else list(params)
        _check_tensors(who, params)
        if len({id(p) for p in params}) < len(params) or any(id(p) in self._group_of for p in params):
            raise errors.ValueError_(f"{who}: some parameters appear in more than one parameter group")
        if "grad_clip" in group:
            self._check_clip(group["grad_clip"])
        if "weight_decay" in group:
            self._check_group_decay(group)
        for p in params:
            self._group_of[id(p)] = len(self._groups)
            if isinstance(p, Parameter):
                p.optimize_attr["learning_rate"] = group.get("learning_rate", 1.0)
        self._groups.append(group)
        self._param_groups.append(group)
        self._given = (self._given or []) + params
        self._plans.clear()

    def _check_group_decay(self, group: dict) -> None:
        group["regularization"] = self._check_decay(group["weight_decay"])

    # ---- parameters ----
    @property
    def _parameter_list(self) -> list[Tensor]:
        """The parameters; without a list of its own an optimizer serves all trainable ones."""
        if self._given is not None:
            return self._given
        return [p for p in list(alive_parameters.values()) if not p._stop]

    @_parameter_list.setter
    def _parameter_list(self, parameters: Any) -> None:
        self._given = None if parameters is None else list(parameters)

    def _with_gradients(self) -> list[tuple[Tensor, Tensor]]:
        recorder = _recorder()
        if recorder is not None:
            for p in self._parameter_list:
                recorder.reads_gradient(p)
        return [(p, p._grad) for p in self._parameter_list if p._grad is not None and not p._stop]

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Zero the gradients of the parameters in place, or drop them with ``set_to_zero=False``."""
        for p in self._parameter_list:
            if not p._stop:
                p.clear_gradient(set_to_zero)
        if modes.capturing is not None:
            modes.capturing.settle()

    clear_gradients = clear_grad

    def zero_grad(self, set_to_none: bool = True) -> None:
        """PyTorch's spelling of `clear_grad`: drop the gradients, or zero them with ``set_to_none=False``."""
        self.clear_grad(not set_to_none)

    # ---- learning rate ----
    def get_lr(self) -> float:
        """The learning rate now."""
        rate = self._learning_rate
        return float(rate()) if isinstance(rate, LRScheduler) else rate

    def set_lr(self, value: float) -> None:
        """Change the learning rate.

        Raises RuntimeError when a scheduler gives it, TypeError when `value` is no number.

        Example:
            >>> sgd = paddle.optimizer.SGD(0.1, parameters=[paddle.zeros([1])])
            >>> sgd.set_lr(0.2); sgd.get_lr()
            0.2
        """
        if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)):
            raise errors.TypeError_(f"set_lr: value must be a float, got {errors.describe(value)}")
        if isinstance(self._learning_rate, LRScheduler):
            raise errors.RuntimeError_(
                "set_lr: the learning rate comes from an LRScheduler; use set_lr_scheduler, or change the scheduler"
            )
        note_effect("Optimizer.set_lr")
        self._learning_rate = float(value)

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        """Let a scheduler give the learning rate. TypeError when it is none."""
        if not isinstance(scheduler, LRScheduler):
            raise errors.TypeError_(
                f"set_lr_scheduler: scheduler must be an LRScheduler, got {errors.describe(scheduler)}"
            )
        note_effect("Optimizer.set_lr_scheduler")
        self._learning_rate = scheduler

    # ---- the step ----
    @_clean
    def step(self) -> None:
        """Update all trainable parameters that have a gradient.

        Example:
            >>> w = paddle.to_tensor([1.0], stop_gradient=False)
            >>> adam = paddle.optimizer.Adam(0.1, parameters=[w])
            >>> (w * 3).sum().backward()
            >>> adam.step(); adam.clear_grad()
        """
        self._apply(self._with_gradients())
        if modes.capturing is not None:
            modes.capturing.boundary()

    def minimize(
        self, loss: Any, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
    ) -> tuple:
        """`step` with the gradients that `loss.backward()` left before; in a program, also build the backward pass.

        Returns:
            ([], the list of (parameter, gradient)).

        Example:
            >>> w = paddle.to_tensor([1.0], stop_gradient=False)
            >>> loss = (w * 3).sum()
            >>> loss.backward()
            >>> _ = paddle.optimizer.SGD(0.1, parameters=[w]).minimize(loss)
        """
        if isinstance(loss, Tensor) and isinstance(loss._raw, Value) and _recorder() is None:
            from ..static.backward import minimize, recorder_of

            return minimize(recorder_of([loss]), self, loss, startup_program, parameters, no_grad_set)
        pairs = self.backward(loss, startup_program, parameters, no_grad_set)
        self.apply_gradients(pairs)
        return [], pairs

    def backward(
        self,
        loss: Any,
        startup_program: Any = None,
        parameters: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> list[tuple[Tensor, Tensor]]:
        """The parameters that have a gradient, with their gradients; `loss.backward()` has computed them."""
        if isinstance(loss, Tensor) and isinstance(loss._raw, Value) and _recorder() is None:
            from ..static.backward import backward

            return backward(self, loss, parameters, no_grad_set)
        chosen = None if parameters is None else {id(p) for p in parameters}
        excluded = {p if isinstance(p, str) else p.name for p in no_grad_set or ()}
        return [
            (p, g)
            for p, g in self._with_gradients()
            if (chosen is None or id(p) in chosen) and not (excluded and p.name in excluded)
        ]

    @_clean
    def apply_gradients(self, params_grads: list[tuple[Tensor, Tensor]]) -> list:
        """Make a step with the given gradients; returns an empty list."""
        pairs = [(p, g) for p, g in params_grads if g is not None]
        if pairs and isinstance(pairs[0][1]._value, Value) and _recorder() is None:
            from ..static.backward import recorder_of
            from .program import add_step

            add_step(recorder_of([g for _, g in pairs]), self, pairs)
        else:
            self._apply(pairs)
        return []

    def _apply(self, pairs: list[tuple[Tensor, Tensor]], inverse_scale: Any = None) -> Any:
        """A step on pairs of parameter and gradient.

        With `inverse_scale`, a Tensor, the gradients are multiplied by it first, and nothing changes if one of them is
        infinite or NaN; whether that happened is returned, as a Tensor.
        """
        recorder = _recorder()
        if not pairs and recorder is None:
            return None
        if modes.program is not None and recorder is None:
            raise errors.NoValue(
                "step: programs that are built by hand have a step through minimize and apply_gradients"
            )
        if any(map(is_custom, self._clips())):
            pairs = self._clip_by_hand(pairs)
        if recorder is not None:
            from .recorded import record_step

            return record_step(self, recorder, pairs, inverse_scale)
        plan = self._planned(pairs)
        inverse = None if inverse_scale is None else inverse_scale._raw
        params, grads = [p for p, _ in pairs], [g for _, g in pairs]
        keep = functools.partial(setattr, self, "_rows")
        bad = plan.run(params, grads, self._numbers_of(plan), self._rows, keep, inverse)
        if modes.capturing is not None:
            modes.capturing.stepped = True
        return None if bad is None else _make(bad)

    def _planned(self, pairs: list[tuple[Tensor, Tensor]]) -> Plan:
        """The plan for a step of these parameters, made when it is new."""
        key = self._plan_key(pairs)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._plan(pairs)
        return plan

    def _plan_key(self, pairs: list[tuple[Tensor, Tensor]]) -> tuple:
        signatures = [self._signature(p, g) for p, g in pairs]
        return self._multi_precision, self.regularization, *self._clips(), *signatures

    def _numbers_of(self, plan: Plan) -> list[float]:
        """What may change from step to step: the learning rate and the settings, pack by pack, and those of clipping."""
        rate = self.get_lr()
        hyper = [self._hyper_of(group) for group in self._groups]
        numbers: list[float] = []
        for pack in plan.packs:
            kind = pack.kind
            numbers.append(rate * kind.rate)
            numbers.extend(hyper[kind.group])
            numbers.extend(kind.numbers)
            numbers.append(kind.decay[1] if kind.decay else 0.0)
        for clip in plan.clips:
            numbers.extend(clip._numbers())
        return numbers

    def _signature(self, p: Tensor, gradient: Tensor | None) -> tuple:
        """What decides in which pack a parameter belongs and can change between steps."""
        d = p.__dict__
        attributes = d.get("optimize_attr")
        return (
            id(p),
            attributes["learning_rate"] if attributes else 1.0,
            d.get("regularizer"),
            d.get("need_clip", True),
            p._raw.dtype,
            gradient.__class__ is SelectedRows,
        )

    def _hyper_of(self, group: dict) -> list[float]:
        values = []
        for name in self._hyper:
            value = group.get(name)
            values.append(float(getattr(self, "_" + name) if value is None else value))
        return values

    def _clips(self) -> list:
        return [group.get("grad_clip", self._grad_clip) for group in self._groups]

    def _clip_by_hand(self, pairs: list) -> list:
        """Apply clipping rules of the user's own, which are no functions on arrays."""
        out = []
        for number, clip in enumerate(self._clips()):
            mine = [(p, g) for p, g in pairs if self._group_of.get(id(p), 0) == number]
            # one that asks other processes takes part also where this one has no gradients
            out.extend(clip(mine) if is_custom(clip) and (mine or getattr(clip, "_joint", False)) else mine)
        return [(p, g) for p, g in out if g is not None]

    # ---- state ----
    _counter = re.compile(r"(.+)_(\d+)$")
    _scalar_shape: ClassVar[tuple[int, ...] | None] = (1,)  # of a scalar in the state dict; None: that of the parameter
    _scalar_dtypes: ClassVar[dict[str, Any]] = {}

    def state_dict(self) -> dict[str, Any]:
        """The state: a Tensor for each parameter and kind of state, named as officially (``linear_0.w_0_moment1_0``),
        "master_weights", a dict by parameter name, if there are any, and "LR_Scheduler", the scheduler's state.

        Example:
            >>> w = paddle.to_tensor([1.0], stop_gradient=False); w.name = "w"
            >>> adam = paddle.optimizer.Adam(0.1, parameters=[w])
            >>> (w * 3).sum().backward(); adam.step()
            >>> sorted(adam.state_dict())
            ['w_beta1_pow_acc_0', 'w_beta2_pow_acc_0', 'w_moment1_0', 'w_moment2_0']
        """
        state: dict[str, Any] = {}
        masters: dict[str, Tensor] = {}
        if "_recorded" in self.__dict__:
            from .program import recorded_states

            state.update(recorded_states(self._recorded))
        for p in () if "_recorded" in self.__dict__ else self._parameter_list:
            for name, value in self._states_of(p).items():
                if name == "master":
                    masters[p.name] = value
                else:
                    state[self._key(p, name)] = value
        for key, value in (*state.items(), *((("master_weights", name), m) for name, m in masters.items())):
            value.__dict__["_state_of"] = weakref.ref(self), key  # for who loads something into it
        if masters:
            state["master_weights"] = masters
        if isinstance(self._learning_rate, LRScheduler):
            state["LR_Scheduler"] = self._learning_rate.state_dict()
        return state

    def _key(self, p: Tensor, name: str) -> str:
        home = self._homes.get(id(p))
        return f"{p.name}_fp32_master_0_{name}_0" if home is not None and home[0].kind.master else f"{p.name}_{name}_0"

    def _states_of(self, p: Tensor) -> dict[str, Tensor]:
        """The states of one parameter by name, copies."""
        note_effect("the state of an optimizer")
        home = self._homes.get(id(p))
        if home is None:
            return {}
        pack, index, _ = home
        found = {name: _make(pack.state(name, index)) for name in pack.states}
        shape = pack.shapes[index] if self._scalar_shape is None else self._scalar_shape
        for name, value in self._scalars_of(pack).items():
            found[name] = _make(
                jax.device_put(np.full(shape, value, self._scalar_dtypes.get(name, pack.kind.compute_dtype)))
            )
        for name, value in found.items():
            value._name = self._key(p, name)
        return found

    @property
    def _accumulators(self) -> dict[str, dict[str, Tensor]]:
        """The states, by kind and parameter name (copies)."""
        found: dict[str, dict[str, Tensor]] = {}
        for p in self._parameter_list:
            for name, value in self._states_of(p).items():
                if name != "master":
                    found.setdefault(name, {})[p.name] = value
        return found

    @property
    def _master_weights(self) -> dict[str, Tensor]:
        return {p.name: value["master"] for p in self._parameter_list if "master" in (value := self._states_of(p))}

    @_clean
    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Put back what `state_dict` returned, also one that the official package has saved.

        Args:
            state_dict: a dict of Tensors or arrays. The counter at the end of a name does not matter.

        Raises:
            ValueError: a state has another shape than its parameter.
            RuntimeError: there are states, but none for a parameter that has been trained.
        """
        who = type(self).__name__
        if not isinstance(state_dict, dict):
            raise errors.TypeError_(
                f"{who}.set_state_dict: state_dict must be a dict, got {errors.describe(state_dict)}"
            )
        rest = dict(state_dict)
        schedule = rest.pop("LR_Scheduler", None)
        if schedule is not None and isinstance(self._learning_rate, LRScheduler):
            self._learning_rate.set_state_dict(schedule)
        if "_recorded" in self.__dict__:
            from .program import set_recorded_states

            set_recorded_states(self._recorded, rest)
            return
        masters = rest.pop("master_weights", None) or {}
        by_name: dict[str, Any] = {}
        for key in sorted(rest, key=str, reverse=True):  # the lowest counter wins
            match = self._counter.match(str(key))
            if match:
                by_name[match[1]] = rest[key]
        for key in [k for k in by_name if "_fp32_master_" in k]:
            by_name[re.sub(r"_fp32_master_\d+_", "_", key)] = by_name[key]
        found: dict[int, dict] = {}
        params = self._parameter_list
        for p in params:
            entry = {
                name: _array(by_name[f"{p.name}_{name}"])
                for name in self._states + self._scalars
                if f"{p.name}_{name}" in by_name
            }
            if p.name in masters:
                entry["master"] = _array(masters[p.name])
            self._check_entry(p, entry)
            found[id(p)] = entry
        for p in params:
            if rest and not found[id(p)] and id(p) in self._homes and (self._states or self._scalars):
                raise errors.RuntimeError_(f"{who}.set_state_dict: there is no state for parameter {p.name}")
        if not rest and not masters:
            return
        self._loose.clear()
        for pack in list(self._packs):
            self._dissolve(pack)
        for p in params:
            if found[id(p)]:
                self._loose_of(p).update(found[id(p)])
        known = [p for p in params if found[id(p)] and p.dtype.is_differentiable]
        if not known and (self._states or self._scalars):
            errors.warn(f"{who}.set_state_dict: none of the states belongs to a parameter; the names differ")
        self._settle(known, {id(p): self._kind(p) for p in known})

    load_state_dict = set_state_dict
    set_dict = set_state_dict

    def _check_entry(self, p: Tensor, entry: dict) -> None:
        shape = tuple(p._raw.shape)
        for name, value in entry.items():
            if name in self._scalars:
                if value.size == 0:
                    raise errors.ValueError_(f"set_state_dict: {p.name}_{name} is empty")
                entry[name] = float(np.asarray(value).reshape(-1)[0])
            else:
                want = shape if name == "master" else self._initial_state(name, shape, np.float32).shape
                if tuple(value.shape) != want:
                    raise errors.ValueError_(
                        f"set_state_dict: {p.name}_{name} must have shape {list(want)}, got {list(value.shape)}"
                    )

    def sharded_state_dict(self, model_sharded_state_dict: dict[str, Any]) -> dict[str, Any]:
        """The state as parts of whole tensors, divided like the parameters in the `sharded_state_dict()` of the model, for
        `paddle.distributed.save_state_dict` and `load_state_dict`. An optimizer that made no step yet gets its first states."""
        from ..distributed.flex_checkpoint.dcp.sharded_weight import sharded_optimizer_state

        if not self._homes and "_recorded" not in self.__dict__:
            params = [p for p in self._parameter_list if not p.stop_gradient and p.dtype.is_differentiable]
            self._settle(params, {id(p): self._kind(p) for p in params})
        return sharded_optimizer_state(self, model_sharded_state_dict)

    def get_opti_var_name_list(self) -> list[str]:
        """The names of the states."""
        return [name for name in self.state_dict() if name not in ("master_weights", "LR_Scheduler")]

    def append_regularization_ops(self, parameters_and_grads, regularization=None):
        """The pairs with the gradient of the penalty added to the gradients (`step` does this itself)."""
        out = []
        for p, g in parameters_and_grads:
            rule = getattr(p, "regularizer", None) or regularization
            out.append((p, g if g is None or rule is None else g + rule(p, g, None)))
        return out

    def set_merged_model_params(self, merged_model_params):
        """Not available: parameters are not merged into one buffer."""
        raise errors.NotImplemented_("Optimizer.set_merged_model_params: merged buffers of parameters")

    # Officially the states can be moved into one buffer; here those of small parameters always share arrays.
    fused_buffer_version = property(lambda self: 0, doc="How often the buffers of the states were made anew: never.")
    fused_states_buffer = property(lambda self: None, doc="The buffer of the states: there is none.")
    fused_states_buffer_ipc_meta = property(lambda self: None, doc="How to share the buffer: there is none.")
    fused_states_accumulators_meta = property(lambda self: None, doc="Where the states lie in the buffer: none.")
    fused_states_master_weights_meta = property(lambda self: None, doc="Where the master weights lie: none.")

    def use_fusion_storage(self) -> None:
        """Nothing to do: the states of small parameters share arrays anyway."""

    def need_refuse(self) -> None:
        """Nothing to do, see `use_fusion_storage`."""

    def reset_need_refuse(self) -> None:
        """Nothing to do, see `use_fusion_storage`."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(learning_rate={self.get_lr()}, {len(self._parameter_list)} parameters)"


def _recorder() -> Any:
    """What records a function of `to_static` now, None when nothing does."""
    return modes.program if hasattr(modes.program, "outside") else None


def _check_tensors(who: str, params: list) -> None:
    for p in params:
        if not isinstance(p, Tensor):
            raise errors.TypeError_(f"{who}: parameters must be Tensors, got {errors.describe(p)}")


def _array(value: Any) -> Any:
    return np.asarray(value._value if isinstance(value, Tensor) else value)
