"""Gradient clipping: rules that an optimizer applies inside its compiled step, and that can be called by hand.

A rule is a function on arrays, `_clip`, and a few numbers, which are inputs of the compiled step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..engine import errors
from ..engine.tensor import _make

__all__ = ["ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue"]


def _each(fn: Callable, array: Any) -> Any:
    return fn(array)


class ClipGradBase(errors.Explains):
    """Base class of the clipping rules.

    Called with a list of (parameter, gradient), a rule returns the list with clipped gradients. Pairs without a gradient
    are left out; parameters with `need_clip=False` stay as they are and do not count.
    """

    _writes_back = False  # whether the clipped gradient replaces the contents of `.grad`

    def _numbers(self) -> tuple[float, float]:
        raise NotImplementedError(f"{type(self).__name__} must define __call__(params_grads)")

    @staticmethod
    def _clip(arrays: list, first: Any, second: Any, each: list) -> list:
        """The clipped arrays; `first` and `second` are the numbers. An array may hold several gradients one after the
        other: `each[i](fn, arrays[i])` applies `fn` to every one of them."""
        raise NotImplementedError

    def __call__(self, params_grads: list) -> list:
        pairs = [(p, g.merged() if g.is_selected_rows() else g) for p, g in params_grads if g is not None]
        chosen = [i for i, (p, _) in enumerate(pairs) if getattr(p, "need_clip", True)]
        if not chosen:
            return pairs
        arrays = _compiled(type(self))([pairs[i][1]._value for i in chosen], *self._numbers())
        for i, array in zip(chosen, arrays):
            p, g = pairs[i]
            if self._writes_back or g.is_selected_rows():
                g._write_array(array)
            else:
                pairs[i] = (p, _make(array))
        return pairs


@functools.cache
def _compiled(kind: type) -> Callable:
    def clip(arrays, first, second):
        return kind._clip(arrays, first, second, [_each] * len(arrays))  # type: ignore[attr-defined]

    return jax.jit(clip)


def _squares(array: Any) -> Any:
    """The sum of the squares, in at least float32."""
    array = array.astype(jnp.promote_types(array.dtype, jnp.float32))
    return jnp.sum(jnp.real(array * jnp.conj(array)))


def _positive(owner: Any, name: str, value: Any) -> float:
    if isinstance(value, (bool, str)) or value is None:
        raise errors.TypeError_(f"{type(owner).__name__}: {name} must be a number, got {errors.describe(value)}")
    value = float(value)
    if not value >= 0:
        raise errors.ValueError_(f"{type(owner).__name__}: {name} must not be negative, got {value}")
    return value


class ClipGradByGlobalNorm(ClipGradBase):
    """Scales all gradients together so that the norm of all of them is at most `clip_norm` (Pascanu et al. 2013).

    Args:
        clip_norm: the largest norm.
        group_name, auto_skip_clip: accepted for compatibility.

    Example:
        >>> clip = paddle.nn.ClipGradByGlobalNorm(1.0)
        >>> net = paddle.nn.Linear(2, 2)
        >>> sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters(), grad_clip=clip)
    """

    _writes_back = True

    def __init__(self, clip_norm, group_name="default_group", auto_skip_clip=False):
        self.clip_norm = _positive(self, "clip_norm", clip_norm)
        self.group_name = group_name
        self.auto_skip_clip = auto_skip_clip

    def __str__(self) -> str:
        return f"Gradient Clip By GlobalNorm, global_norm={self.clip_norm:f}"

    def _numbers(self):
        return float(self.clip_norm), 0.0

    @staticmethod
    def _clip(arrays, first, second, each):
        norm = jnp.sqrt(sum(_squares(a) for a in arrays))
        limit = first.astype(norm.dtype) if hasattr(first, "astype") else first
        scale = limit / jnp.maximum(norm, limit)
        scale = jnp.where(
            norm > limit, scale, jnp.where(norm <= limit, 1.0, scale)
        )  # a limit of 0 with a norm of 0 too
        return [(a * scale.astype(a.dtype)) for a in arrays]


class ClipGradByNorm(ClipGradBase):
    """Scales each gradient by itself so that its norm is at most `clip_norm`.

    Args:
        clip_norm: the largest norm.

    Example:
        >>> clip = paddle.nn.ClipGradByNorm(1.0)
    """

    def __init__(self, clip_norm):
        self.clip_norm = _positive(self, "clip_norm", clip_norm)

    def __str__(self) -> str:
        return f"Gradient Clip By Norm, clip_norm={self.clip_norm:f}"

    def _numbers(self):
        return float(self.clip_norm), 0.0

    @staticmethod
    def _clip(arrays, first, second, each):
        def one(array):
            return ClipGradByGlobalNorm._clip([array], first, second, each)[0]

        return [apply(one, a) for a, apply in zip(arrays, each)]


class ClipGradByValue(ClipGradBase):
    """Limits every element of the gradients to [min, max].

    Args:
        max: the largest value.
        min: the smallest value, by default -max, which must then be positive.

    Example:
        >>> clip = paddle.nn.ClipGradByValue(max=1.0, min=-0.5)
    """

    def __init__(self, max, min=None):
        if min is None:
            if not max > 0:
                raise errors.ValueError_(f"ClipGradByValue: max must be positive when min is not given, got {max}")
            min = -max
        self.max = float(max)
        self.min = float(min)
        if self.min > self.max:
            raise errors.ValueError_(f"ClipGradByValue: min ({self.min}) must not be above max ({self.max})")

    def __str__(self) -> str:
        return f"Clip Gradient By Value, min = {self.min:f}, max={self.max:f}"

    def _numbers(self):
        return self.max, self.min

    @staticmethod
    def _clip(arrays, first, second, each):
        return [jnp.clip(a, jnp.asarray(second, a.dtype), jnp.asarray(first, a.dtype)) for a in arrays]
