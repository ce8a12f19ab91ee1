"""L-BFGS."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.modes import set_mode
from ..engine.tensor import Tensor, _make
from .optimizer import Optimizer, _clean

__all__ = ["LBFGS"]


@jax.jit
def _flatten(arrays: list) -> jax.Array:
    return jnp.concatenate([a.reshape(-1) for a in arrays])


@functools.partial(jax.jit, static_argnames="shapes")
def _moved(flat: Any, step: Any, direction: Any, shapes: tuple) -> list:
    """The parameters at flat + step * direction."""
    flat = flat + step.astype(flat.dtype) * direction
    out, start = [], 0
    for shape, dtype in shapes:
        size = int(np.prod(shape, dtype=np.int64))
        out.append(flat[start : start + size].reshape(shape).astype(dtype))
        start += size
    return out


@jax.jit
def _summary(g: Any, d: Any) -> tuple:
    """Of a gradient: its largest element, the sum of its absolute values, and its product with the direction."""
    return jnp.max(jnp.abs(g)), jnp.sum(jnp.abs(g)), jnp.vdot(g, d)


@jax.jit
def _curvature(g: Any, before: Any, direction: Any, step: Any) -> tuple:
    y, s = g - before, direction * step.astype(g.dtype)
    return y, s, jnp.vdot(y, s), jnp.vdot(y, y)


@functools.partial(jax.jit, donate_argnums=(0, 1, 2))
def _store(S: Any, Y: Any, rho: Any, s: Any, y: Any, ys: Any, slot: Any) -> tuple:
    return S.at[slot].set(s), Y.at[slot].set(y), rho.at[slot].set(1 / ys)


@jax.jit
def _direction(g: Any, S: Any, Y: Any, rho: Any, first: Any, count: Any, scale: Any) -> tuple:
    """The two loops over the history (Nocedal 1980), a ring of `count` pairs that begins at `first`."""
    room = S.shape[0]

    def back(k, carry):
        q, alphas = carry
        i = (first + count - 1 - k) % room
        a = rho[i] * jnp.vdot(S[i], q)
        return q - a * Y[i], alphas.at[i].set(a)

    def forth(k, r):
        i = (first + k) % room
        return r + S[i] * (alphas[i] - rho[i] * jnp.vdot(Y[i], r))

    q, alphas = jax.lax.fori_loop(0, count, back, (-g, jnp.zeros_like(rho)))
    return jax.lax.fori_loop(0, count, forth, q * scale), alphas


class LBFGS(Optimizer):
    """Limited-memory BFGS (Liu and Nocedal 1989), a quasi-Newton method for whole batches.

    `step` gets a closure that clears the gradients, computes the loss and its gradients, and returns the loss.

    Args:
        learning_rate: the step along the direction; the first step is shorter.
        max_iter: iterations in one call of `step`.
        max_eval: evaluations of the closure in one call, default max_iter * 5 // 4.
        tolerance_grad: end when no element of the gradient is larger.
        tolerance_change: end when parameters or loss change less.
        history_size: how many pairs of steps and gradients are remembered.
        line_search_fn: None or "strong_wolfe".
        parameters: see Optimizer.
        weight_decay, grad_clip: have no effect (with a warning): the gradient must be that of the loss.

    Raises:
        ValueError: another line search.

    Example:
        >>> w = paddle.to_tensor([1.0, -2.0], stop_gradient=False)
        >>> opt = paddle.optimizer.LBFGS(parameters=[w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     opt.clear_grad()
        ...     loss = ((w - 3) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> _ = opt.step(closure)
        >>> [round(v, 3) for v in w.tolist()]
        [3.0, 3.0]
    """

    type = "lbfgs"

    def __init__(
        self,
        learning_rate=1.0,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        super().__init__(learning_rate, parameters, None, None, name)
        if weight_decay is not None or grad_clip is not None:
            errors.warn("LBFGS: weight_decay and grad_clip have no effect; add a penalty to the loss instead")
        if line_search_fn not in (None, "strong_wolfe"):
            raise errors.ValueError_(f"LBFGS: line_search_fn must be None or 'strong_wolfe', got {line_search_fn!r}")
        for what, value in (("max_iter", max_iter), ("history_size", history_size)):
            if not value > 0:
                raise errors.ValueError_(f"LBFGS: {what} must be positive, got {value}")
        self.max_iter = max_iter
        self.max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        self.tolerance_grad = tolerance_grad
        self.tolerance_change = tolerance_change
        self.history_size = history_size
        self.line_search_fn = line_search_fn
        self._progress: dict[str, Any] = {}  # func_evals, n_iter, d, alpha, prev_flat_grad, prev_loss, H_diag
        self._history: Any = None  # S, Y, rho: arrays with room for some pairs
        self._first = self._count = 0

    # ---- parameters as one vector ----
    def _gradient(self) -> jax.Array:
        return _flatten([jnp.zeros_like(p._value) if p._grad is None else p._grad._value for p in self._chosen])

    def _evaluate(self, closure: Callable, x: jax.Array, step: float, direction: jax.Array) -> tuple[float, jax.Array]:
        """Loss and gradient at x + step * direction; the parameters stay there."""
        self._move(x, step, direction)
        with set_mode(grad=True):
            loss = float(closure())
        return loss, self._gradient()

    def _move(self, x: jax.Array, step: float, direction: jax.Array) -> None:
        shapes = tuple((tuple(p._raw.shape), np.dtype(p._raw.dtype)) for p in self._chosen)
        for p, value in zip(self._chosen, _moved(x, np.float64(step), direction, shapes)):
            p._write_array(value)

    # ---- the step ----
    @_clean
    def step(self, closure: Callable[[], Tensor]) -> Tensor:  # type: ignore[override]
        """Minimize for at most `max_iter` iterations; returns the loss at the start."""
        with set_mode(grad=False):
            return self._step(closure)

    def _step(self, closure: Callable[[], Tensor]) -> Tensor:
        self._chosen = [p for p in self._parameter_list if not p._stop]
        with set_mode(grad=True):
            first_loss = closure()
        if not self._chosen:
            return first_loss
        loss, g = float(first_loss), self._gradient()
        x = _flatten([p._value for p in self._chosen])
        progress, rate = self._progress, self.get_lr()
        progress["func_evals"] = progress.get("func_evals", 0) + 1
        progress.setdefault("n_iter", 0)
        evaluations, d, step = 1, progress.get("d"), progress.get("alpha")
        largest, total, _ = map(float, _summary(g, g))
        done = 0
        while done < self.max_iter and largest > self.tolerance_grad:
            done += 1
            progress["n_iter"] += 1
            if progress["n_iter"] == 1:
                d, scale = -g, jnp.ones((), g.dtype)
                step = min(1.0, 1.0 / total) * rate
            else:
                scale = self._remember(g, progress["prev_flat_grad"], d, step, progress["H_diag"])
                d = -g * scale
                if self._count:
                    S, Y, rho = self._history
                    d, self._alphas = _direction(g, S, Y, rho, np.int32(self._first), np.int32(self._count), scale)
                step = rate
            before = loss
            progress.update(prev_flat_grad=g, prev_loss=loss, H_diag=scale)
            slope = float(_summary(g, d)[2])
            if slope > -self.tolerance_change:
                break
            calls = 0
            if self.line_search_fn == "strong_wolfe":

                def at(t: float) -> tuple[float, jax.Array, float]:
                    value, gradient = self._evaluate(closure, x, t, d)  # noqa: B023  (called in this iteration only)
                    return value, gradient, float(_summary(gradient, d)[2])  # noqa: B023

                loss, g, step, calls = strong_wolfe(at, step, float(jnp.max(jnp.abs(d))), loss, g, slope)
                self._move(x, step, d)
            elif done != self.max_iter:
                loss, g = self._evaluate(closure, x, step, d)
                calls = 1
            else:
                self._move(x, step, d)
            x = _flatten([p._value for p in self._chosen])
            largest, total, _ = map(float, _summary(g, g))
            evaluations += calls
            progress["func_evals"] += calls
            progress.update(d=d, alpha=step)
            if (
                evaluations >= self.max_eval
                or abs(loss - before) < self.tolerance_change
                or float(jnp.max(jnp.abs(d))) * step <= self.tolerance_change
            ):
                break
        progress.update(d=d, alpha=step)
        return first_loss

    def _remember(self, g: Any, before: Any, d: Any, step: float, scale: Any) -> Any:
        """Add a pair to the history where the curvature is positive; returns the scale of the first Hessian."""
        y, s, ys, yy = _curvature(g, before, d, np.float64(step))
        if float(ys) <= 1e-10:
            return scale
        room = 0 if self._history is None else len(self._history[2])
        if self._count == room and room < self.history_size:  # doubles, so that it compiles few times
            room = min(max(2 * room, 1), self.history_size)
            self._history = self._with_room(room, g)
        if self._count == room:
            slot, self._first = self._first, (self._first + 1) % room
        else:
            slot = (self._first + self._count) % room
            self._count += 1
        self._history = _store(*self._history, s, y, ys, np.int32(slot))
        return ys / yy

    def _with_room(self, room: int, g: Any) -> tuple:
        S, Y, rho = (jnp.zeros((room, *shape), g.dtype) for shape in (g.shape, g.shape, ()))
        if self._count:
            order = (self._first + np.arange(self._count)) % len(self._history[2])
            S, Y, rho = (new.at[: self._count].set(old[order]) for new, old in zip((S, Y, rho), self._history))
        self._first = 0
        return S, Y, rho

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """Not possible for this optimizer: it has to evaluate the loss several times; use `step(closure)`."""
        raise errors.NotImplemented_(
            "LBFGS.minimize: this optimizer evaluates the loss several times; use step(closure)"
        )

    # ---- state ----
    def state_dict(self):
        """The state: {"state": a dict of numbers, Tensors and lists of Tensors} (copies)."""

        def tensor(array):
            return _make(jnp.array(array, copy=True))

        state = {key: tensor(value) if isinstance(value, jax.Array) else value for key, value in self._progress.items()}
        if state and self._history is not None:
            order = [(self._first + i) % len(self._history[2]) for i in range(self._count)]
            for key, array in zip(("old_sk", "old_yk", "ro"), self._history):
                state[key] = [tensor(array[i]) for i in order]
        packed = {"state": state}
        if self._learning_rate is not None and hasattr(self._learning_rate, "state_dict"):
            packed["LR_Scheduler"] = self._learning_rate.state_dict()
        return packed

    def set_state_dict(self, state_dict):
        """Put back what `state_dict` returned."""
        state = dict(state_dict.get("state", {}))
        if "LR_Scheduler" in state_dict and hasattr(self._learning_rate, "set_state_dict"):
            self._learning_rate.set_state_dict(state_dict["LR_Scheduler"])
        pairs = [
            [jnp.array(t._value if isinstance(t, Tensor) else t) for t in state.pop(key, None) or []]
            for key in ("old_sk", "old_yk", "ro")
        ]
        state.pop("al", None)
        self._progress = {
            key: jnp.array(v._value if isinstance(v, Tensor) else v) if isinstance(v, (Tensor, np.ndarray)) else v
            for key, v in state.items()
        }
        self._first, self._count = 0, len(pairs[0])
        self._history = tuple(map(jnp.stack, pairs)) if self._count else None

    load_state_dict = set_state_dict
    set_dict = set_state_dict


def _cubic(x1: float, f1: float, g1: float, x2: float, f2: float, g2: float, low: float, high: float) -> float:
    """The minimum of the cubic through two points with their slopes, within [low, high] (Nocedal and Wright, 3.59)."""
    if x1 > x2:
        x1, f1, g1, x2, f2, g2 = x2, f2, g2, x1, f1, g1
    with np.errstate(all="ignore"):
        a = g1 + g2 - 3 * np.divide(f1 - f2, x1 - x2)
        b = np.sqrt(a * a - g1 * g2)
        best = float(x2 - (x2 - x1) * ((g2 + b - a) / (g2 - g1 + 2 * b)))
    return min(max(best, low), high) if np.isfinite(best) else (low + high) / 2


def strong_wolfe(
    at: Callable,
    step: float,
    size: float,
    loss: float,
    g: Any,
    slope: float,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance: float = 1e-9,
    limit: int = 25,
) -> tuple[float, Any, float, int]:
    """A step that meets the strong Wolfe conditions (Nocedal and Wright, algorithms 3.5 and 3.6).

    Args:
        at: gives loss, gradient and slope after a step.
        step: the first one to try.
        size: the largest element of the direction.
        loss, g, slope: at step 0.

    Returns:
        (loss, gradient, step, how often `at` was called)
    """
    start = (0.0, loss, g, slope)
    before = start
    now = (step, *at(step))
    calls = 1
    bracket: list | None = None

    def too_high(point: tuple) -> bool:
        return not point[1] <= loss + c1 * point[0] * slope

    for tries in range(limit):
        if too_high(now) or (tries > 0 and now[1] >= before[1]):
            bracket = [before, now]
            break
        if abs(now[3]) <= -c2 * slope:
            return now[1], now[2], now[0], calls
        if now[3] >= 0:
            bracket = [before, now]
            break
        if tries == limit - 1:
            break
        low, high = now[0] + 0.01 * (now[0] - before[0]), now[0] * 10
        new = _cubic(before[0], before[1], before[3], now[0], now[1], now[3], low, high)
        before, now = now, (new, *at(new))
        calls += 1
    if bracket is None:
        bracket = [start, now]
    stuck = False
    while calls < limit:
        bracket.sort(key=lambda point: point[1])  # the better end first
        best, other = bracket
        low, high = sorted((best[0], other[0]))
        if (high - low) * size < tolerance:
            break
        new = _cubic(best[0], best[1], best[3], other[0], other[1], other[3], low, high)
        margin = 0.1 * (high - low)
        if min(high - new, new - low) < margin:  # too close to an end
            if stuck or new >= high or new <= low:
                new = high - margin if abs(new - high) < abs(new - low) else low + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        point = (new, *at(new))
        calls += 1
        if too_high(point) or point[1] >= best[1]:
            bracket = [best, point]
            continue
        if abs(point[3]) <= -c2 * slope:
            bracket = [point, best]
            break
        bracket = [point, best if point[3] * (other[0] - best[0]) >= 0 else other]
    best = min(bracket, key=lambda point: point[1] if point[1] == point[1] else float("inf"))
    return best[1], best[2], best[0], calls
