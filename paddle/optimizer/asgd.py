"""Averaged stochastic gradient descent."""

from __future__ import annotations

import jax.lax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from .optimizer import Optimizer

__all__ = ["ASGD"]


class ASGD(Optimizer):
    """Steps along the mean of the last `batch_num` gradients (stochastic average gradient, Schmidt et al. 2017).

    Args:
        learning_rate, parameters, weight_decay, grad_clip: see Optimizer.
        batch_num: how many gradients are kept; memory grows with it.
        multi_precision: train a float32 copy of 16-bit parameters.

    Raises:
        ValueError: `batch_num` is not positive.

    Example:
        >>> w = paddle.to_tensor([1.0], stop_gradient=False)
        >>> opt = paddle.optimizer.ASGD(0.5, batch_num=2, parameters=[w])
        >>> (w * 3).sum().backward(); opt.step(); w.tolist()
        [-0.5]
    """

    type = "asgd"
    _states = ("d", "y")
    _scalars = ("m",)
    _scalar_dtypes = {"m": np.int64}

    def __init__(
        self,
        learning_rate=0.001,
        batch_num=1,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        multi_precision=False,
        name=None,
    ):
        if batch_num is None or not batch_num > 0:
            raise errors.ValueError_(f"ASGD: batch_num must be positive, got {batch_num}")
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._n = int(batch_num)
        self._multi_precision = multi_precision

    def _initial_state(self, name, shape, dtype):
        return np.zeros((self._n, *shape) if name == "y" else shape, dtype)

    @staticmethod
    def _update(p, g, s, h):
        n = s["y"].shape[0]
        m = s["m"].astype(jnp.float32)  # exact up to 2**24 steps
        slot = jnp.mod(m, n).astype(jnp.int32)
        d = s["d"] + g - jax.lax.dynamic_index_in_dim(s["y"], slot, keepdims=False)
        y = jax.lax.dynamic_update_index_in_dim(s["y"], g, slot, 0)
        return p - h.lr * d / jnp.minimum(m + 1, n).astype(p.dtype), {"d": d, "y": y, "m": m + 1}
