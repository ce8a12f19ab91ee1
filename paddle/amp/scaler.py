"""Loss scaling: gradients too small for float16 are lifted before the backward pass and put back before the step.

Scale, counters and the finding of infinities stay on the device; no step waits for them (Micikevicius et al., "Mixed
Precision Training", ICLR 2018).
"""

from __future__ import annotations

import enum
import functools
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.dispatch import dispatch
from ..engine.executable import Kernel
from ..engine.modes import modes, set_mode
from ..engine.tensor import Tensor, _make
from ..engine.value import ABSTRACT
from ..optimizer import Optimizer

__all__ = ["AmpScaler", "GradScaler", "OptimizerState"]

_SETTINGS = ("incr_ratio", "decr_ratio", "incr_every_n_steps", "decr_every_n_nan_or_inf", "use_dynamic_loss_scaling")
STUCK = 2.0**-20  # a scale below this means that the gradients are not finite whatever the scale
LOOK_EVERY = 128  # steps; then the scale of that many steps ago, long computed, is looked at


class OptimizerState(enum.Enum):
    """What happened to the gradients of an optimizer since the last `update`."""

    INIT = 0
    UNSCALED = 1
    STEPPED = 2


def _compute(function: Any, *args: Any) -> Any:
    """A function of arrays on Tensors, outside the tape; part of the program where one is recorded."""
    with set_mode(grad=False, amp=None):
        return dispatch(_kernel(function, len(args)), args)


@functools.cache
def _kernel(function: Any, n: int) -> Kernel:
    return Kernel(function, "loss_scale_" + function.__name__.strip("_"), ("scalar",) * n, differentiable=False)


def _advance(scale: Any, counts: Any, found: Any, ratios: Any, limits: Any) -> tuple:
    """(scale, its inverse, counts of good and of bad steps in a row) after a step; `found`: it was a bad one."""
    counts = jnp.where(found, jnp.stack([0, counts[1] + 1]), jnp.stack([counts[0] + 1, 0]))
    full = counts == limits
    grown = scale * ratios[0]
    scale = jnp.where(full[0] & jnp.isfinite(grown), grown, jnp.where(full[1], scale * ratios[1], scale))
    return scale, 1 / scale, jnp.where(full, 0, counts)


def _unscale(inverse: Any, *gradients: Any) -> tuple:
    """(whether one of the gradients times the inverse scale is not finite, these products)"""
    out = [g.astype(jnp.promote_types(g.dtype, jnp.float32)) * inverse for g in gradients]
    bad = ~jnp.all(jnp.stack([jnp.all(jnp.isfinite(g)) for g in out]))
    return bad, *(o.astype(g.dtype) for o, g in zip(out, gradients))


def _either(found: Any, bad: Any) -> Any:
    return found | bad


def _skipping(found: Any) -> Any:
    """The factor for gradients that are unscaled already: NaN, which makes the step change nothing, if they are bad."""
    return jnp.where(found, jnp.nan, jnp.float32(1))


class AmpScaler(errors.Explains):
    """Scales losses and gradients; see `GradScaler`, which has the steps one by one as well."""

    def __init__(
        self,
        enable=True,
        init_loss_scaling=2.0**15,
        incr_ratio=2.0,
        decr_ratio=0.5,
        incr_every_n_steps=1000,
        decr_every_n_nan_or_inf=1,
        use_dynamic_loss_scaling=True,
    ):
        who = type(self).__name__
        assert incr_ratio > 1.0, f"(InvalidArgument) {who}: incr_ratio must be above 1, got {incr_ratio}"
        assert 0 < decr_ratio < 1.0, f"(InvalidArgument) {who}: decr_ratio must be in (0, 1), got {decr_ratio}"
        self._enable = bool(enable)
        self._use_dynamic_loss_scaling = bool(enable and use_dynamic_loss_scaling)
        self._incr_ratio, self._decr_ratio = incr_ratio, decr_ratio
        self._incr_every_n_steps = self._count("incr_every_n_steps", incr_every_n_steps)
        self._decr_every_n_nan_or_inf = self._count("decr_every_n_nan_or_inf", decr_every_n_nan_or_inf)
        self._counts = _make(jnp.zeros(2, jnp.int32))
        self._found = _make(jnp.zeros((), bool))  # a gradient since the last update was infinite or NaN
        self._states: dict[int, tuple[OptimizerState, Any]] = {}  # by id of an optimizer; with what unscale_ found
        self._updates, self._earlier, self._warned = 0, None, False
        self._set_scale(init_loss_scaling)

    def _count(self, what: str, n: Any) -> int:
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise errors.ValueError_(f"{type(self).__name__}: {what} must be an int of at least 1, got {n!r}")
        return int(n)

    def _set_scale(self, scale: float) -> None:
        if not 0 < float(scale) < float("inf"):
            raise errors.ValueError_(f"{type(self).__name__}: the scale must be positive and finite, got {scale}")
        self._init_loss_scaling = float(scale)
        self._scale = _make(jnp.asarray(self._init_loss_scaling, jnp.float32))
        self._inverse = _make(jnp.asarray(1 / self._init_loss_scaling, jnp.float32))

    # ---- the work ----
    @errors.clean
    def scale(self, var: Tensor) -> Tensor:
        """The loss times the scale; a 16-bit loss becomes float32, in which it does not overflow.

        Raises AttributeError when `var` is no Tensor.
        """
        if not self._enable:
            return var
        self._note()
        if not isinstance(var, Tensor):
            raise AttributeError(f"(InvalidType) scale: the loss must be a Tensor, got {errors.describe(var)}")
        return (var.astype("float32") if var.dtype in (dtypes.float16, dtypes.bfloat16) else var) * self._scale

    def minimize(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale, step (unless a gradient is infinite or NaN) and update the scale, after the backward pass.

        Returns what `optimizer.minimize` returns: an empty list and the pairs of parameter and gradient.
        """
        if not self._enable:
            return optimizer.minimize(*args, **kwargs)
        pairs = optimizer._with_gradients()
        self._step(optimizer)
        self._update()
        return [], pairs

    @errors.clean
    def _unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of the parameters of an optimizer by the scale, in place, for example to clip them.

        Raises RuntimeError when it was called before, or `step` was, since the last `update`.
        """
        if not self._enable:
            return
        self._note()
        state, _ = self._state(optimizer)
        if state is not OptimizerState.INIT:
            raise errors.RuntimeError_(
                "unscale_: it was called already since the last update()"
                if state is OptimizerState.UNSCALED
                else "unscale_: it must be called before step()"
            )
        gradients = [g for _, g in optimizer._with_gradients()]
        bad = _make(jnp.zeros((), bool))
        if gradients:
            bad, *values = _compute(_unscale, self._inverse, *gradients)
            for g, value in zip(gradients, values):
                g._storage.write(value._raw)
        bad = self._agreed(bad)
        self._find(bad)
        self._states[id(optimizer)] = (OptimizerState.UNSCALED, bad)

    def _agreed(self, bad: Tensor) -> Tensor:
        """What counts of what was found; `fleet.distributed_scaler` asks the other processes."""
        return bad

    def _state(self, optimizer: Any) -> tuple[OptimizerState, Any]:
        return self._states.get(id(optimizer), (OptimizerState.INIT, None))

    def _find(self, bad: Tensor) -> None:
        self._found._storage.write(_compute(_either, self._found, bad)._raw)

    @errors.clean
    def _step(self, optimizer: Any) -> None:
        """`optimizer.step()` with gradients that are unscaled on the way; nothing changes if one is infinite or NaN.

        Raises RuntimeError when it was called before since the last `update`.
        """
        if not self._enable:
            optimizer.step()
            return
        self._note()
        state, bad = self._state(optimizer)
        if state is OptimizerState.STEPPED:
            raise errors.RuntimeError_("step: it was called already since the last update()")
        if isinstance(optimizer, Optimizer) and type(optimizer).step is Optimizer.step:
            inverse = self._inverse if state is OptimizerState.INIT else _compute(_skipping, bad)
            found = optimizer._apply(optimizer._with_gradients(), inverse)
            if state is OptimizerState.INIT and found is not None:
                self._find(found)
        else:  # a step of its own, which has to be told
            if state is OptimizerState.INIT:
                self._unscale_(optimizer)
                bad = self._state(optimizer)[1]
            if not bool(bad):
                optimizer.step()
        self._states[id(optimizer)] = (OptimizerState.STEPPED, None)

    def _update(self) -> None:
        """Adapt the scale to what was found, and be ready for the next step."""
        if not self._enable:
            return
        self._note()
        if self._use_dynamic_loss_scaling:
            scale, inverse, counts = _compute(
                _advance,
                self._scale,
                self._counts,
                self._found,
                np.array([self._incr_ratio, self._decr_ratio], np.float32),
                np.array([self._incr_every_n_steps, self._decr_every_n_nan_or_inf], np.int32),
            )
            self._scale._storage.write(scale._raw)
            self._inverse._storage.write(inverse._raw)
            self._counts._storage.write(counts._raw)
            self._look()
        self._found._storage.write(jnp.zeros((), bool))
        self._states.clear()
        if modes.capturing is not None:
            modes.capturing.boundary()

    def _note(self) -> None:
        """Where a function is recorded: the settings are conditions, and what was called before is to be as it was."""
        recorder = modes.program
        if hasattr(recorder, "outside"):
            recorder.condition((id(self), "settings"), lambda: [getattr(self, "_" + name) for name in _SETTINGS])
            recorder.condition((id(self), "states"), lambda: len(self._states))
            recorder.watch("of a GradScaler", self._states)

    def _look(self) -> None:
        """Warn once when the scale only falls."""
        self._updates += 1
        if self._updates % LOOK_EVERY or self._warned or isinstance(self._scale._value, ABSTRACT):
            return
        if self._earlier is not None and self._earlier < STUCK:
            self._warned = True
            errors.warn(
                f"{type(self).__name__}: the loss scale fell to {float(self._earlier):g}; the gradients are "
                "infinite or NaN in every step. FLAGS_check_nan_inf names the operator; were they cleared?"
            )
        self._earlier = self._scale._value

    # ---- settings ----
    def is_enable(self) -> bool:
        """Whether scaling is on."""
        return self._enable

    def is_use_dynamic_loss_scaling(self) -> bool:
        """Whether the scale adapts."""
        return self._use_dynamic_loss_scaling

    def get_init_loss_scaling(self) -> float:
        """The scale at the start."""
        return self._init_loss_scaling

    def set_init_loss_scaling(self, new_init_loss_scaling: float) -> None:
        """Start again from another scale."""
        self._set_scale(new_init_loss_scaling)

    def get_incr_ratio(self) -> float:
        """The factor by which the scale grows."""
        return self._incr_ratio

    def set_incr_ratio(self, new_incr_ratio: float) -> None:
        """Set the factor by which the scale grows, above 1."""
        assert new_incr_ratio > 1.0, f"(InvalidArgument) set_incr_ratio: must be above 1, got {new_incr_ratio}"
        self._incr_ratio = new_incr_ratio

    def get_decr_ratio(self) -> float:
        """The factor by which the scale falls."""
        return self._decr_ratio

    def set_decr_ratio(self, new_decr_ratio: float) -> None:
        """Set the factor by which the scale falls, below 1."""
        assert 0 < new_decr_ratio < 1.0, f"(InvalidArgument) set_decr_ratio: must be in (0, 1), got {new_decr_ratio}"
        self._decr_ratio = new_decr_ratio

    def get_incr_every_n_steps(self) -> int:
        """After how many good steps in a row the scale grows."""
        return self._incr_every_n_steps

    def set_incr_every_n_steps(self, new_incr_every_n_steps: int) -> None:
        """Set after how many good steps in a row the scale grows."""
        self._incr_every_n_steps = self._count("incr_every_n_steps", new_incr_every_n_steps)

    def get_decr_every_n_nan_or_inf(self) -> int:
        """After how many bad steps in a row the scale falls."""
        return self._decr_every_n_nan_or_inf

    def set_decr_every_n_nan_or_inf(self, new_decr_every_n_nan_or_inf: int) -> None:
        """Set after how many bad steps in a row the scale falls."""
        self._decr_every_n_nan_or_inf = self._count("decr_every_n_nan_or_inf", new_decr_every_n_nan_or_inf)

    # ---- state ----
    def state_dict(self) -> dict[str, Any]:
        """Scale, counters and settings; empty when scaling is off."""
        if not self._enable:
            return {}
        good, bad = np.asarray(self._counts._value).tolist()
        settings = {name: getattr(self, "_" + name) for name in _SETTINGS}
        return {"scale": np.asarray(self._scale._value).reshape(1), "incr_count": good, "decr_count": bad, **settings}

    @errors.clean
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Put back what `state_dict` returned. RuntimeError when it is empty, ValueError when an entry is missing."""
        if not self._enable:
            return
        if not state_dict:
            raise errors.RuntimeError_("load_state_dict: the state is empty; it comes from a scaler that was off")
        try:
            scale = np.asarray(state_dict["scale"], np.float32).reshape(-1)[0]
            counts = [int(state_dict["incr_count"]), int(state_dict["decr_count"])]
            settings = {name: state_dict[name] for name in _SETTINGS}
        except KeyError as e:
            raise errors.ValueError_(f"load_state_dict: the state has no entry {e}") from None
        for name, value in settings.items():
            setattr(self, "_" + name, value)
        initial = self._init_loss_scaling
        self._set_scale(scale)
        self._init_loss_scaling = initial
        self._counts._storage.write(jnp.asarray(counts, jnp.int32))


class GradScaler(AmpScaler):
    """Dynamic loss scaling for float16: `scale` the loss, run backward, `step`, `update`.

    The scale doubles after `incr_every_n_steps` steps whose gradients were all finite, and halves after
    `decr_every_n_nan_or_inf` steps in a row with an infinity or NaN, which change no parameter.

    Args:
        enable: False passes everything through.
        init_loss_scaling: the scale at the start.
        incr_ratio, decr_ratio: by what it is multiplied when it grows and falls.
        incr_every_n_steps, decr_every_n_nan_or_inf: see above.
        use_dynamic_loss_scaling: False keeps the scale.

    Raises:
        AssertionError: `incr_ratio` not above 1, `decr_ratio` not below.

    Example:
        >>> net = paddle.nn.Linear(2, 1)
        >>> sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters())
        >>> scaler = paddle.amp.GradScaler(init_loss_scaling=1024)
        >>> with paddle.amp.auto_cast(dtype="float16"):
        ...     loss = net(paddle.ones([1, 2])).mean()
        >>> scaler.scale(loss).backward()
        >>> scaler.step(sgd); scaler.update(); sgd.clear_grad()
    """

    def __init__(
        self,
        enable=True,
        init_loss_scaling=2.0**16,
        incr_ratio=2.0,
        decr_ratio=0.5,
        incr_every_n_steps=2000,
        decr_every_n_nan_or_inf=1,
        use_dynamic_loss_scaling=True,
    ):
        super().__init__(
            enable,
            init_loss_scaling,
            incr_ratio,
            decr_ratio,
            incr_every_n_steps,
            decr_every_n_nan_or_inf,
            use_dynamic_loss_scaling,
        )

    step = AmpScaler._step
    update = AmpScaler._update
    unscale_ = AmpScaler._unscale_
