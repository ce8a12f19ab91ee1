"""LookAhead."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ...engine import errors
from ...engine.modes import note_effect
from ...engine.tensor import Tensor, _make
from ...engine.value import Value
from ...optimizer.optimizer import Optimizer, _array, _clean

__all__ = ["LookAhead"]


@jax.jit
def _toward(slow: list, fast: list, alpha: float) -> list:
    return [s + (alpha * (f - s)).astype(s.dtype) for s, f in zip(slow, fast)]


class LookAhead(Optimizer):
    """Another optimizer's steps, and after every k of them a step of slow weights towards the result, where it goes on
    (Zhang et al., Lookahead optimizer, 2019). The slow weights start after the first step.

    Args:
        inner_optimizer: makes the steps.
        alpha: how far the slow weights go, in [0, 1].
        k: how many steps lie between, at least 1.

    Raises:
        TypeError: inner_optimizer is no Optimizer.
        ValueError: alpha or k out of range.

    Example:
        >>> w = paddle.to_tensor([1.0], stop_gradient=False)
        >>> opt = paddle.incubate.LookAhead(paddle.optimizer.SGD(0.5, parameters=[w]), alpha=0.5, k=2)
        >>> for _ in range(2):
        ...     (w * 1).sum().backward(); opt.step(); opt.clear_grad()
        >>> w.tolist()
        [0.25]
    """

    type = "lookahead"

    def __init__(self, inner_optimizer, alpha=0.5, k=5, name=None):
        if not isinstance(inner_optimizer, Optimizer):
            raise errors.TypeError_(
                f"LookAhead: inner_optimizer must be an Optimizer, got {errors.describe(inner_optimizer)}"
            )
        if not 0 <= alpha <= 1:
            raise errors.ValueError_(f"LookAhead: alpha must be between 0 and 1, got {alpha}")
        if not isinstance(k, int) or k < 1:
            raise errors.ValueError_(f"LookAhead: k must be a positive integer, got {k}")
        super().__init__(inner_optimizer.get_lr(), None, None, None, name)
        self.inner_optimizer, self.alpha, self.k = inner_optimizer, alpha, k
        self._steps = 0
        self._slow: dict[str, jax.Array] = {}  # by the name of the parameter

    @property
    def _parameter_list(self) -> list[Tensor]:
        return self.inner_optimizer._parameter_list

    @_clean
    def step(self) -> None:
        """A step of the inner optimizer, and of the slow weights after every k of them."""
        note_effect("LookAhead.step")
        self.inner_optimizer.step()
        self._follow()

    def _follow(self) -> None:
        self._steps += 1
        chosen = [p for p in self._parameter_list if not p._stop]
        for p in chosen:
            if p.name not in self._slow:
                self._slow[p.name] = jnp.copy(p._value)
        if self._steps % self.k == 0:
            new = _toward([self._slow[p.name] for p in chosen], [p._value for p in chosen], self.alpha)
            for p, value in zip(chosen, new):
                self._slow[p.name] = value
                p._write_array(jnp.copy(value))

    @_clean
    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """`step` with the gradients that `loss.backward()` left; returns ([], the pairs of parameter and gradient)."""
        found = self.inner_optimizer.minimize(loss, startup_program, parameters, no_grad_set)
        if isinstance(loss, Tensor) and isinstance(loss._raw, Value):
            from ...static.average import record_lookahead

            record_lookahead(loss, self.alpha, self.k, [p for p, _ in found[1]])
            return found
        self._follow()
        return found

    def get_lr(self) -> float:
        """The learning rate of the inner optimizer."""
        inner = self.__dict__.get("inner_optimizer")
        return self._learning_rate if inner is None else inner.get_lr()

    def set_lr(self, value: float) -> None:
        """Change the learning rate of the inner optimizer."""
        self.inner_optimizer.set_lr(value)

    def state_dict(self):
        """The slow weights, as ``name_slow_0``. The inner optimizer has a state of its own."""
        return {f"{name}_slow_0": _make(jnp.copy(value)) for name, value in self._slow.items()}

    @_clean
    def set_state_dict(self, state_dict):
        """Put back what `state_dict` returned. ValueError for a shape that is not that of the parameter."""
        for p in self._parameter_list:
            value = state_dict.get(f"{p.name}_slow_0")
            if value is not None:
                array = jnp.array(_array(value))
                if array.shape != p._raw.shape:
                    raise errors.ValueError_(
                        f"LookAhead.set_state_dict: {p.name}_slow_0 must have shape {list(p.shape)}, "
                        f"got {list(array.shape)}"
                    )
                self._slow[p.name] = array.astype(p._raw.dtype)

    load_state_dict = set_state_dict
    set_dict = set_state_dict
