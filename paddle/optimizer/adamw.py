"""AdamW: Adam with decoupled weight decay."""

from __future__ import annotations

from ..engine import errors
from ..engine.tensor import Tensor
from .adam import Adam, adam_update
from .optimizer import Optimizer

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019): p *= 1 - lr * weight_decay, then a step of Adam.

    Args:
        learning_rate, parameters, grad_clip: see Optimizer.
        beta1, beta2, epsilon, lazy_mode, multi_precision, amsgrad: see Adam.
        weight_decay: the coefficient, a number.
        use_lowprecision_moment: accepted for compatibility; the moments of 16-bit parameters are float32.
        lr_ratio: a function of a parameter that gives a factor of its learning rate.
        apply_decay_param_fun: a function of a parameter's name; where it gives False there is no decay.

    Raises:
        TypeError: `weight_decay` is no number, or `lr_ratio` or `apply_decay_param_fun` no function.
        ValueError: a number out of its bounds.

    Example:
        >>> net = paddle.nn.Linear(2, 2)
        >>> opt = paddle.optimizer.AdamW(0.1, parameters=net.parameters(), weight_decay=0.1,
        ...                              apply_decay_param_fun=lambda name: ".b_" not in name)
    """

    type = "adamw"
    _hyper = ("beta1", "beta2", "epsilon", "weight_decay")
    _per_parameter = ("lr_ratio", "decays")

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        parameters=None,
        weight_decay=0.01,
        use_lowprecision_moment=False,
        lr_ratio=None,
        apply_decay_param_fun=None,
        grad_clip=None,
        lazy_mode=False,
        multi_precision=False,
        amsgrad=False,
        name=None,
    ):
        for what, function in (("lr_ratio", lr_ratio), ("apply_decay_param_fun", apply_decay_param_fun)):
            if function is not None and not callable(function):
                raise errors.TypeError_(f"AdamW: {what} must be a function, got {errors.describe(function)}")
        self._check_coefficient(weight_decay)
        self._lr_ratio = lr_ratio
        self._apply_decay_param_fun = apply_decay_param_fun
        Optimizer.__init__(self, learning_rate, parameters, None, grad_clip, name)
        self._set_adam(beta1, beta2, epsilon, amsgrad)
        self._weight_decay = weight_decay
        self._lazy_mode = bool(lazy_mode)
        self._multi_precision = multi_precision

    @property
    def _coeff(self):
        return self._weight_decay

    @_coeff.setter
    def _coeff(self, value):
        self._weight_decay = value

    def _check_coefficient(self, decay):
        if isinstance(decay, bool) or not isinstance(decay, (int, float, Tensor)):
            raise errors.TypeError_(
                f"{type(self).__name__}: weight_decay must be a number, got {errors.describe(decay)}"
            )

    def _check_group_decay(self, group):
        self._check_coefficient(group["weight_decay"])

    def _parameter_numbers(self, p, group):
        ratio = 1.0 if self._lr_ratio is None else float(self._lr_ratio(p))
        return ratio, float(self._apply_decay_param_fun is None or bool(self._apply_decay_param_fun(p.name)))

    @staticmethod
    def _update(p, g, s, h):
        lr = h.lr * h.lr_ratio
        return adam_update(p * (1 - lr * h.weight_decay * h.decays), g, s, h, lr)
