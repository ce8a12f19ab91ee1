"""Rprop."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ..engine import errors
from .optimizer import Optimizer

__all__ = ["Rprop"]


class Rprop(Optimizer):
    """Steps of adaptive size along the sign of the gradient (Riedmiller and Braun 1993), for whole batches.

    Args:
        learning_rate, parameters, grad_clip: see Optimizer; the rate is the first step size of every element.
        learning_rate_range: the smallest and largest step size.
        etas: the factors of the step size when the sign changed and when it stayed.
        multi_precision: train a float32 copy of 16-bit parameters.

    Raises:
        ValueError: not 0 < range[0] <= learning_rate <= range[1], or not 0 < etas[0] < 1 < etas[1].

    Example:
        >>> w = paddle.to_tensor([1.0], stop_gradient=False)
        >>> opt = paddle.optimizer.Rprop(0.5, parameters=[w])
        >>> (w * 3).sum().backward(); opt.step(); w.tolist()
        [0.5]
    """

    type = "rprop"
    _hyper = ("smallest", "largest", "shrink", "grow")
    _states = ("prevs", "learning_rates")

    def __init__(
        self,
        learning_rate=0.001,
        learning_rate_range=(1e-5, 50),
        parameters=None,
        etas=(0.5, 1.2),
        grad_clip=None,
        multi_precision=False,
        name=None,
    ):
        super().__init__(learning_rate, parameters, None, grad_clip, name)
        rate = self.get_lr()
        if not 0 < learning_rate_range[0] <= rate <= learning_rate_range[1]:
            raise errors.ValueError_(
                f"Rprop: learning_rate ({rate}) must lie in learning_rate_range, got {learning_rate_range}"
            )
        if not 0 < etas[0] < 1 < etas[1]:
            raise errors.ValueError_(f"Rprop: etas must be a number below 1 and one above 1, got {etas}")
        self._initial_rate = rate
        self._smallest, self._largest = learning_rate_range
        self._shrink, self._grow = etas
        self._multi_precision = multi_precision

    def _initial_state(self, name, shape, dtype):
        return np.full(shape, self._initial_rate if name == "learning_rates" else 0, dtype)

    @staticmethod
    def _update(p, g, s, h):
        agree = g * s["prevs"]
        factor = jnp.where(agree > 0, h.grow, jnp.where(agree < 0, h.shrink, 1.0)).astype(p.dtype)
        rates = jnp.clip(s["learning_rates"] * factor, h.smallest, h.largest)
        g = jnp.where(agree < 0, 0, g)
        return p - jnp.sign(g) * rates, {"prevs": g, "learning_rates": rates}
