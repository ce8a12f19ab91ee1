"""RAdam: Adam with a rectified rate."""

from __future__ import annotations

import jax.numpy as jnp

from .adam import moments
from .optimizer import Optimizer

__all__ = ["RAdam"]


class RAdam(Optimizer):
    """Adam whose rate is rectified while the variance of its denominator is large (Liu et al. 2020).

    Args:
        learning_rate, parameters, weight_decay, grad_clip: see Optimizer.
        beta1, beta2, epsilon: see Adam.

    Raises:
        ValueError: a number out of its bounds.

    Example:
        >>> w = paddle.to_tensor([1.0], stop_gradient=False)
        >>> opt = paddle.optimizer.RAdam(0.5, parameters=[w])
        >>> (w * 3).sum().backward(); opt.step()
    """

    type = "radam"
    _hyper = ("beta1", "beta2", "epsilon")
    _states = ("moment1", "moment2")
    _scalars = ("beta1_pow", "beta2_pow", "rho")
    _scalar_shape = None

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        if isinstance(learning_rate, (int, float)):
            self._check_range("learning_rate", learning_rate)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._beta1 = self._check_range("beta1", beta1, 0, 1)
        self._beta2 = self._check_range("beta2", beta2, 0, 1)
        self._epsilon = self._check_range("epsilon", epsilon)

    def _initial_scalars(self, group):
        return (1.0, 1.0, 0.0)

    @staticmethod
    def _update(p, g, s, h):
        power1, power2 = s["beta1_pow"] * h.beta1, s["beta2_pow"] * h.beta2
        # t * beta2**t / (1 - beta2**t), from its value one step before
        rho = (s["rho"] * (h.beta2 - power2) + power2) / (1 - power2)
        limit = 2 / (1 - h.beta2) - 1
        length = limit - 2 * rho  # of the approximated simple moving average
        m, v = moments(g, s, h)
        mean = m / (1 - power1)
        safe = jnp.where(length > 5, length, 6.0)
        rectified = jnp.sqrt((safe - 4) * (safe - 2) * limit / ((limit - 4) * (limit - 2) * safe))
        adaptive = rectified * jnp.sqrt(1 - power2) / (jnp.sqrt(v) + h.epsilon)
        new = {"moment1": m, "moment2": v, "beta1_pow": power1, "beta2_pow": power2, "rho": rho}
        return p - h.lr * mean * jnp.where(length > 5, adaptive, 1.0), new
