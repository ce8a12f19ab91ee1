"""Optimizers by their names before version 2: `parameter_list` for the parameters, `regularization` for weight decay, and
learning rates that may be variables of the program."""

from __future__ import annotations

from typing import Any

from .. import optimizer as current
from ..engine.modes import modes
from ..engine.tensor import Tensor
from ..incubate.optimizer import LookAhead
from ..incubate.optimizer import ModelAverage as _ModelAverage
from ..optimizer import Optimizer
from ..static.average import ExponentialMovingAverage
from ..static.program import default_main_program
from .layers.learning_rate import StepDecay

__all__ = [
    "SGD",
    "Adadelta",
    "AdadeltaOptimizer",
    "Adagrad",
    "AdagradOptimizer",
    "Adam",
    "AdamOptimizer",
    "Adamax",
    "AdamaxOptimizer",
    "ExponentialMovingAverage",
    "LambOptimizer",
    "LookaheadOptimizer",
    "ModelAverage",
    "Momentum",
    "MomentumOptimizer",
    "Optimizer",
    "RMSPropOptimizer",
    "SGDOptimizer",
]


class _Older:
    """The older arguments in front of a current optimizer."""

    def _begin(self, learning_rate: Any) -> Any:
        """The learning rate that the current optimizer can take."""
        if isinstance(learning_rate, Tensor) and learning_rate.size == 1 and modes.program is not None:
            self._rate_variable = learning_rate
            return 0.0
        return float(learning_rate) if isinstance(learning_rate, Tensor) else learning_rate

    def minimize(
        self,
        loss: Any,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        **kwargs: Any,
    ) -> tuple:
        """Add gradients and updates to the program; in imperative mode, a step with the gradients of `loss.backward()`."""
        parameters = kwargs.get("parameters", parameter_list)
        found = super().minimize(loss, startup_program, parameters, no_grad_set)  # type: ignore[misc]
        if modes.program is None and isinstance(self._learning_rate, StepDecay):  # type: ignore[attr-defined]
            self._learning_rate.step()  # type: ignore[attr-defined]
        return found

    def current_step_lr(self) -> float:
        """The learning rate now."""
        return self.get_lr()  # type: ignore[attr-defined]

    def clear_gradients(self) -> None:
        self.clear_grad()  # type: ignore[attr-defined]


class SGDOptimizer(_Older, current.SGD):
    """`paddle.optimizer.SGD`."""

    def __init__(self, learning_rate, parameter_list=None, regularization=None, grad_clip=None, name=None):
        super().__init__(self._begin(learning_rate), parameter_list, regularization, grad_clip, name=name)


class MomentumOptimizer(_Older, current.Momentum):
    """`paddle.optimizer.Momentum`."""

    def __init__(
        self,
        learning_rate,
        momentum,
        parameter_list=None,
        use_nesterov=False,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        super().__init__(
            self._begin(learning_rate), momentum, parameter_list, use_nesterov, regularization, grad_clip, name=name
        )


class AdagradOptimizer(_Older, current.Adagrad):
    """`paddle.optimizer.Adagrad`."""

    def __init__(
        self,
        learning_rate,
        epsilon=1.0e-6,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
        initial_accumulator_value=0.0,
    ):
        rate = self._begin(learning_rate)
        super().__init__(rate, epsilon, parameter_list, regularization, grad_clip, name, initial_accumulator_value)


class AdamOptimizer(_Older, current.Adam):
    """`paddle.optimizer.Adam`."""

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-08,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
        lazy_mode=False,
    ):
        rate = self._begin(learning_rate)
        super().__init__(
            rate, beta1, beta2, epsilon, parameter_list, regularization, grad_clip, lazy_mode=lazy_mode, name=name
        )


class AdamaxOptimizer(_Older, current.Adamax):
    """`paddle.optimizer.Adamax`."""

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-08,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        super().__init__(
            self._begin(learning_rate), beta1, beta2, epsilon, parameter_list, regularization, grad_clip, name
        )


class AdadeltaOptimizer(_Older, current.Adadelta):
    """`paddle.optimizer.Adadelta`."""

    def __init__(
        self,
        learning_rate,
        epsilon=1.0e-6,
        rho=0.95,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        super().__init__(self._begin(learning_rate), epsilon, rho, parameter_list, regularization, grad_clip, name)


class RMSPropOptimizer(_Older, current.RMSProp):
    """`paddle.optimizer.RMSProp`."""

    def __init__(
        self,
        learning_rate,
        rho=0.95,
        epsilon=1.0e-6,
        momentum=0.0,
        centered=False,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        name=None,
    ):
        rate = self._begin(learning_rate)
        super().__init__(rate, rho, epsilon, momentum, centered, parameter_list, regularization, grad_clip, name)


class LambOptimizer(_Older, current.Lamb):
    """`paddle.optimizer.Lamb`."""

    def __init__(
        self,
        learning_rate=0.001,
        lamb_weight_decay=0.01,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-06,
        parameter_list=None,
        regularization=None,
        grad_clip=None,
        exclude_from_weight_decay_fn=None,
        name=None,
    ):
        super().__init__(
            self._begin(learning_rate),
            lamb_weight_decay,
            beta1,
            beta2,
            epsilon,
            parameter_list,
            grad_clip,
            exclude_from_weight_decay_fn,
            name=name,
        )
        self.regularization = self._check_decay(regularization)


class ModelAverage(_ModelAverage):
    """`paddle.incubate.ModelAverage` of all parameters of the default program; it becomes part of the program at once."""

    def __init__(
        self, average_window_rate, min_average_window=10000, max_average_window=10000, regularization=None, name=None
    ):
        parameters = default_main_program().all_parameters()
        super().__init__(average_window_rate, parameters, min_average_window, max_average_window, name)
        self.minimize(None)


class LookaheadOptimizer(LookAhead):
    """`paddle.incubate.LookAhead`."""


SGD, Momentum, Adagrad, Adam = SGDOptimizer, MomentumOptimizer, AdagradOptimizer, AdamOptimizer
Adamax, Adadelta, RMSProp, Lamb, Lookahead = (
    AdamaxOptimizer,
    AdadeltaOptimizer,
    RMSPropOptimizer,
    LambOptimizer,
    LookaheadOptimizer,
)
