"""GradientMergeOptimizer."""

from __future__ import annotations

from typing import Any

from ...engine import errors
from ...engine.modes import note_effect
from ...engine.tensor import Tensor
from ...optimizer.optimizer import Optimizer

__all__ = ["GradientMergeOptimizer"]


class GradientMergeOptimizer(errors.Explains):
    """A step of another optimizer after every k_steps calls of `minimize`, with the sum (or average) of their gradients.

    Args:
        inner_optimizer: makes the steps.
        k_steps: at least 1.
        avg: divide the sum by k_steps.

    Raises:
        TypeError: inner_optimizer is no Optimizer.
        ValueError: k_steps below 1.

    Example:
        >>> w = paddle.to_tensor([1.0], stop_gradient=False)
        >>> sgd = paddle.optimizer.SGD(0.5, parameters=[w])
        >>> opt = paddle.incubate.optimizer.GradientMergeOptimizer(sgd, k_steps=2)
        >>> for factor in (1.0, 3.0):
        ...     loss = (w * factor).sum(); loss.backward(); _ = opt.minimize(loss); sgd.clear_grad()
        >>> w.tolist()
        [0.0]
    """

    def __init__(self, inner_optimizer, k_steps=1, avg=True):
        if not isinstance(inner_optimizer, Optimizer):
            raise errors.TypeError_(
                f"GradientMergeOptimizer: inner_optimizer must be an Optimizer, got {errors.describe(inner_optimizer)}"
            )
        if k_steps < 1:
            raise errors.ValueError_(f"GradientMergeOptimizer: k_steps must be positive, got {k_steps}")
        self.inner_optimizer, self.k_steps, self.avg, self.type = inner_optimizer, k_steps, avg, "gradient_merge"
        self._calls = 0
        self._sums: dict[int, tuple[Tensor, Any]] = {}

    def backward(self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None):
        """The pairs of parameter and gradient that `loss.backward()` left."""
        return self.inner_optimizer.backward(loss, startup_program, parameter_list, no_grad_set, callbacks)

    def apply_gradients(self, params_grads):
        """Add gradients to the sums; make a step when it is time. Returns an empty list."""
        note_effect("GradientMergeOptimizer.apply_gradients")
        for p, g in params_grads:
            if g is not None:
                _, before = self._sums.get(id(p), (p, None))
                self._sums[id(p)] = (p, g.detach().clone() if before is None else before + g.detach())
        self._calls += 1
        if self._calls % self.k_steps == 0:
            factor = 1 / self.k_steps if self.avg else 1
            self.inner_optimizer.apply_gradients([(p, g * factor) for p, g in self._sums.values()])
            self._sums = {}
        return []

    def apply_optimize(self, loss, startup_program, params_grads):
        """`apply_gradients` of params_grads."""
        return self.apply_gradients(params_grads)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """`apply_gradients` of the gradients that `loss.backward()` left; returns ([], these pairs)."""
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        self.apply_gradients(pairs)
        return [], pairs
