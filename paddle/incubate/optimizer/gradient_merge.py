"""GradientMergeOptimizer."""

from __future__ import annotations

from typing import Any

from ...engine import errors
from ...engine.modes import no_grad, note_effect
from ...engine.tensor import Tensor
from ...optimizer.optimizer import Optimizer

__all__ = ["GradientMergeOptimizer"]


class GradientMergeOptimizer(errors.Explains):
    """A step of another optimizer after every k_steps calls of `minimize`, with the sum (or average) of their gradients.

    `step` and `clear_grad` do the same in loops that use these: the gradients stay where they are until it is time. With a
    GradScaler call its `step` and `update` only then.

    Args:
        inner_optimizer: makes the steps: an Optimizer, or one of fleet.
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
        if not isinstance(inner_optimizer, Optimizer) and not isinstance(
            getattr(inner_optimizer, "_inner_opt", None), Optimizer
        ):
            raise errors.TypeError_(
                f"GradientMergeOptimizer: inner_optimizer must be an Optimizer, got {errors.describe(inner_optimizer)}"
            )
        if k_steps < 1:
            raise errors.ValueError_(f"GradientMergeOptimizer: k_steps must be positive, got {k_steps}")
        self.inner_optimizer, self.k_steps, self.avg, self.type = inner_optimizer, k_steps, avg, "gradient_merge"
        self._calls = self._steps = 0
        self._sums: dict[int, tuple[Tensor, Any]] = {}

    def step(self):
        """At every k_steps-th call a step with the sum, or average, of the gradients since the last one."""
        note_effect("GradientMergeOptimizer.step")
        self._steps += 1
        if self._steps % self.k_steps:
            return
        if self.avg and self.k_steps > 1:
            with no_grad():
                for _, g in self.inner_optimizer._with_gradients():
                    if g.is_selected_rows():
                        raise errors.NotImplemented_("GradientMergeOptimizer.step: averages of row-sparse gradients")
                    g.scale_(1 / self.k_steps)
        self.inner_optimizer.step()

    def clear_grad(self, set_to_zero=True):
        """Zero the gradients, or drop them with ``set_to_zero=False``, where the last call of `step` made one."""
        if self._steps % self.k_steps == 0:
            self.inner_optimizer.clear_grad(set_to_zero)

    clear_gradients = clear_grad

    def __getattr__(self, name):
        if name == "inner_optimizer":
            raise AttributeError(name)
        return getattr(self.inner_optimizer, name)

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
