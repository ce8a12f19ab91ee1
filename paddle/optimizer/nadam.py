"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

import jax.numpy as jnp

from .adam import moments
from .optimizer import Optimizer

__all__ = ["NAdam"]

_DECAY = 0.96  # of the momentum schedule in the paper


class NAdam(Optimizer):
    """Adam with Nesterov momentum (Dozat 2016).

    Args:
        learning_rate, parameters, weight_decay, grad_clip: see Optimizer.
        beta1, beta2, epsilon: see Adam.
        momentum_decay: how fast the momentum rises to beta1, not negative.

    Raises:
        ValueError: a number out of its bounds.

    Example:
        >>> w = paddle.to_tensor([1.0], stop_gradient=False)
        >>> opt = paddle.optimizer.NAdam(0.5, parameters=[w])
        >>> (w * 3).sum().backward(); opt.step()
    """

    type = "nadam"
    _hyper = ("beta1", "beta2", "epsilon", "momentum_decay")
    _states = ("moment1", "moment2")
    _scalars = ("momentum_decay_pow", "beta2_pow", "mu_product")
    _scalar_shape = None

    def __init__(
        self,
        learning_rate=0.002,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        momentum_decay=0.004,
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
        self._momentum_decay = self._check_range("momentum_decay", momentum_decay)

    def _initial_scalars(self, group):
        return (1.0, 1.0, 1.0)

    @staticmethod
    def _update(p, g, s, h):
        decay_power, power2 = s["momentum_decay_pow"] * _DECAY, s["beta2_pow"] * h.beta2
        shrunk = decay_power**h.momentum_decay
        mu, next_mu = (h.beta1 * (1 - 0.5 * x) for x in (shrunk, shrunk * _DECAY**h.momentum_decay))
        product = s["mu_product"] * mu
        m, v = moments(g, s, h)
        direction = next_mu * m / (1 - product * next_mu) + (1 - mu) * g / (1 - product)
        new = {
            "moment1": m,
            "moment2": v,
            "momentum_decay_pow": decay_power,
            "beta2_pow": power2,
            "mu_product": product,
        }
        return p - h.lr * direction / (jnp.sqrt(v / (1 - power2)) + h.epsilon), new
