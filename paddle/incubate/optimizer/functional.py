"""Minimisation of a function of one vector by quasi-Newton methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...autograd import grad
from ...engine import errors
from ...engine.modes import set_mode
from ...engine.place import put
from ...engine.tensor import Tensor, _make
from ...optimizer.lbfgs import strong_wolfe

__all__ = ["minimize_bfgs", "minimize_lbfgs"]


class _Inverse:
    """An estimate of the inverse Hessian, as a matrix."""

    def __init__(self, start: np.ndarray):
        self.matrix = start

    def times(self, g: np.ndarray) -> np.ndarray:
        return self.matrix @ g

    def update(self, s: np.ndarray, y: np.ndarray) -> None:
        """Nocedal and Wright (6.17)."""
        rho = 1 / (s @ y)
        left = np.eye(len(s), dtype=s.dtype) - rho * np.outer(s, y)
        self.matrix = left @ self.matrix @ left.T + rho * np.outer(s, s)


class _History:
    """An estimate of the inverse Hessian, as the last steps and changes of the gradient (Nocedal and Wright, 7.4)."""

    def __init__(self, start: np.ndarray, size: int):
        self.start, self.size, self.pairs = start, size, []

    def times(self, g: np.ndarray) -> np.ndarray:
        q, factors = g, []
        for s, y in reversed(self.pairs):
            factors.append((s @ q) / (s @ y))
            q = q - factors[-1] * y
        r = self.start @ q
        if self.pairs:
            s, y = self.pairs[-1]
            r = r * ((s @ y) / (y @ y))
        for (s, y), factor in zip(self.pairs, reversed(factors)):
            r = r + s * (factor - (y @ r) / (s @ y))
        return r

    def update(self, s: np.ndarray, y: np.ndarray) -> None:
        self.pairs = [*self.pairs, (s, y)][-self.size :]


def _start(name: str, x: Any, estimate: Any, search: str, dtype: str, counts: dict) -> tuple[np.ndarray, np.ndarray]:
    """The checked starting point and first inverse Hessian."""
    if dtype not in ("float32", "float64"):
        raise errors.ValueError_(f"{name}: dtype must be 'float32' or 'float64', got {dtype!r}")
    if search != "strong_wolfe":
        raise errors.NotImplemented_(f"{name}: line_search_fn must be 'strong_wolfe', got {search!r}")
    for argument, value in counts.items():
        if value <= 0:
            raise errors.ValueError_(f"{name}: {argument} must be positive, got {value}")
    if not isinstance(x, Tensor) or x.ndim != 1 or x.dtype.name != dtype:
        raise errors.ValueError_(
            f"{name}: initial_position must be a Tensor of type {dtype} with one dimension, got {errors.describe(x)}"
        )
    n = x.shape[0]
    if estimate is None:
        return x.numpy(), np.eye(n, dtype=dtype)
    matrix = np.asarray(estimate.numpy() if isinstance(estimate, Tensor) else estimate, dtype)
    if matrix.shape != (n, n) or not np.allclose(matrix, matrix.T) or np.linalg.eigvalsh(matrix).min() <= 0:
        raise errors.ValueError_(
            f"{name}: initial_inverse_hessian_estimate must be symmetric and positive definite with "
            f"shape [{n}, {n}], got {errors.describe(estimate)}"
        )
    return x.numpy(), matrix


def _minimize(
    name: str,
    function: Callable,
    x: np.ndarray,
    inverse: Any,
    max_iters: int,
    tolerance_grad: float,
    tolerance_change: float,
    tries: int,
    first_step: float,
) -> tuple:
    """(converged, evaluations, position, value, gradient)"""

    def evaluate(point: np.ndarray) -> tuple[float, np.ndarray]:
        tensor = _make(put(point))
        tensor.stop_gradient = False
        with set_mode(grad=True):
            value = function(tensor)
            if not isinstance(value, Tensor) or value.size != 1:
                raise errors.ValueError_(
                    f"{name}: objective_func must return a Tensor of one element, got {errors.describe(value)}"
                )
            (gradient,) = grad(value, tensor)
        return float(value), gradient.numpy()

    value, g = evaluate(x)
    calls, converged = 1, False
    for _ in range(max_iters):
        if np.abs(g).max(initial=0) < tolerance_grad:
            converged = True
            break
        d = -inverse.times(g)
        slope = float(g @ d)
        if not slope < 0:
            break

        def at(t: float) -> tuple[float, np.ndarray, float]:
            f, gradient = evaluate((x + t * d).astype(x.dtype))  # noqa: B023  (called in this iteration only)
            return f, gradient, float(gradient @ d)  # noqa: B023

        new, g_new, step, n = strong_wolfe(at, first_step, float(np.abs(d).max()), value, g, slope, limit=tries)
        calls += n
        s, y = (step * d).astype(x.dtype), g_new - g
        if s @ y > 0:
            inverse.update(s, y)
        x, value, g = x + s, new, g_new
        if np.abs(s).max() < tolerance_change:
            converged = True
            break
    else:
        converged = bool(np.abs(g).max(initial=0) < tolerance_grad)
    return (
        *(_make(put(np.array([v]))) for v in (converged, np.int64(calls))),
        _make(put(x)),
        _make(put(np.array(value, x.dtype))),
        _make(put(g)),
    )


@errors.clean
def minimize_bfgs(
    objective_func,
    initial_position,
    max_iters=50,
    tolerance_grad=1e-7,
    tolerance_change=1e-9,
    initial_inverse_hessian_estimate=None,
    line_search_fn="strong_wolfe",
    max_line_search_iters=50,
    initial_step_length=1.0,
    dtype="float32",
    name=None,
):
    """Minimise a function by the method of Broyden, Fletcher, Goldfarb and Shanno (Nocedal and Wright, Numerical
    optimization, 2006, algorithm 6.1).

    Args:
        objective_func: from a Tensor with one dimension to a Tensor of one element.
        initial_position: where to start, shape [n].
        max_iters: iterations.
        tolerance_grad: end when no element of the gradient is larger.
        tolerance_change: end when no element of the position changes more.
        initial_inverse_hessian_estimate: shape [n, n], symmetric and positive definite; default the identity.
        line_search_fn: only "strong_wolfe".
        max_line_search_iters: evaluations in one line search.
        initial_step_length: the first step that a line search tries.
        dtype: "float32" or "float64", the type of initial_position.

    Returns:
        (whether it converged, evaluations, position, value, gradient, estimate of the inverse Hessian).

    Raises:
        ValueError: arguments of a wrong kind.
        NotImplementedError: another line search.

    Example:
        >>> minimize = paddle.incubate.optimizer.functional.minimize_bfgs
        >>> minimize(lambda x: ((x - 3) ** 2).sum(), paddle.zeros([1]))[2].tolist()
        [3.0]
    """
    who = "minimize_bfgs"
    x, matrix = _start(
        who,
        initial_position,
        initial_inverse_hessian_estimate,
        line_search_fn,
        dtype,
        {"max_iters": max_iters, "max_line_search_iters": max_line_search_iters},
    )
    inverse = _Inverse(matrix)
    found = _minimize(
        who,
        objective_func,
        x,
        inverse,
        max_iters,
        tolerance_grad,
        tolerance_change,
        max_line_search_iters,
        initial_step_length,
    )
    return (*found, _make(put(inverse.matrix.astype(dtype))))


@errors.clean
def minimize_lbfgs(
    objective_func,
    initial_position,
    history_size=100,
    max_iters=50,
    tolerance_grad=1e-8,
    tolerance_change=1e-8,
    initial_inverse_hessian_estimate=None,
    line_search_fn="strong_wolfe",
    max_line_search_iters=50,
    initial_step_length=1.0,
    dtype="float32",
    name=None,
):
    """Minimise a function by BFGS with a limited memory (Nocedal and Wright, algorithm 7.5).

    Args:
        history_size: how many pairs of steps and changes of the gradient are remembered.
        objective_func, initial_position, ...: as for `minimize_bfgs`.

    Returns:
        (whether it converged, evaluations, position, value, gradient).

    Raises:
        ValueError: arguments of a wrong kind.
        NotImplementedError: another line search.

    Example:
        >>> minimize = paddle.incubate.optimizer.functional.minimize_lbfgs
        >>> minimize(lambda x: ((x - 3) ** 2).sum(), paddle.zeros([1]))[2].tolist()
        [3.0]
    """
    who = "minimize_lbfgs"
    x, matrix = _start(
        who,
        initial_position,
        initial_inverse_hessian_estimate,
        line_search_fn,
        dtype,
        {"max_iters": max_iters, "max_line_search_iters": max_line_search_iters, "history_size": history_size},
    )
    return _minimize(
        who,
        objective_func,
        x,
        _History(matrix, history_size),
        max_iters,
        tolerance_grad,
        tolerance_change,
        max_line_search_iters,
        initial_step_length,
    )
