"""16-bit parameters whose gradients add up in float32."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ....engine import errors
from ....engine.modes import modes, set_mode
from ....engine.tensor import Tensor
from ....nn.layer import Layer
from ...wrapper import Wrapper

__all__: list[str] = []


class MixPrecisionLayer(Wrapper):
    """A layer whose parameters collect their gradients in float32, as `main_grad`; `grad` is None after a backward.

    Args:
        layers: a Layer with parameters of a 16-bit type, such as `amp.decorate(level="O2")` makes; others are left alone
            but for this.
        dtype: that type, "float16" or "bfloat16".

    Raises:
        TypeError, ValueError: no Layer, another type.
        NotImplementedError: a backward inside of to_static.

    Example:
        >>> from paddle.distributed.fleet.utils import mix_precision_utils as mix
        >>> net = mix.MixPrecisionLayer(paddle.nn.Linear(2, 2).bfloat16(), "bfloat16")
        >>> sgd = mix.MixPrecisionOptimizer(paddle.optimizer.SGD(0.1, parameters=net.parameters(), multi_precision=True))
        >>> net(paddle.ones([1, 2], "bfloat16")).sum().backward()
        >>> net.parameters()[0].main_grad.dtype, net.parameters()[0].grad
        (paddle.float32, None)
        >>> sgd.step(); sgd.clear_grad()
    """

    def __init__(self, layers: Layer, dtype: str = "float16"):
        if not isinstance(layers, Layer):
            raise errors.TypeError_(f"MixPrecisionLayer: layers must be a Layer, got {errors.describe(layers)}")
        if dtype not in ("float16", "bfloat16"):
            raise errors.ValueError_(f"MixPrecisionLayer: dtype must be 'float16' or 'bfloat16', got {dtype!r}")
        super().__init__(layers.full_name() + "_mix_precision")
        self._layers, self._dtype = layers, dtype
        self._arrived: dict[int, Tensor] = {}
        self._finishing: Any = None  # the list of the backward that runs
        for param in layers.parameters():
            if not hasattr(param, "main_grad"):
                param.main_grad = None  # type: ignore[attr-defined]
                if not param.stop_gradient:
                    param.register_hook(self._hook(param))

    def _hook(self, param: Tensor) -> Callable:
        def arrived(gradient: Tensor) -> None:
            if modes.program is not None:
                raise errors.NotImplemented_("MixPrecisionLayer: float32 gradients inside of to_static")
            if self._finishing is not modes.finishing:
                self._finishing = modes.finishing
                self._arrived.clear()  # of a backward that failed
                # behind what else waits for the end, such as averages over processes
                modes.finishing.append(lambda: self._finishing.append(self._finish))
            self._arrived[id(param)] = param

        return arrived

    def _finish(self) -> None:
        params, self._arrived, self._finishing = list(self._arrived.values()), {}, None
        with set_mode(grad=False, amp=None):
            for param in params:
                gradient, param._grad = param._grad, None
                if gradient is None:
                    continue
                if gradient.is_selected_rows():
                    gradient = gradient.to_dense()
                if param.main_grad is None:  # type: ignore[attr-defined]
                    param.main_grad = gradient.astype("float32")  # type: ignore[attr-defined]
                    param.main_grad.name = f"main_grad@{param.name}"  # type: ignore[attr-defined]
                else:
                    param.main_grad.add_(gradient.astype("float32"))  # type: ignore[attr-defined]

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self._layers(*inputs, **kwargs)


class MixPrecisionOptimizer:
    """An optimizer that steps with the `main_grad` of its parameters. Everything else is that of the optimizer inside.

    Args:
        optimizer: an Optimizer, for 16-bit parameters with `multi_precision=True`.
    """

    def __init__(self, optimizer: Any):
        if not hasattr(optimizer, "_parameter_list"):
            raise errors.TypeError_(
                f"MixPrecisionOptimizer: optimizer must be an Optimizer, got {errors.describe(optimizer)}"
            )
        self._inner_opt = optimizer

    def _trained(self) -> list[Tensor]:
        return [p for p in self._inner_opt._parameter_list if not p.stop_gradient]

    def _with_gradients(self) -> list[tuple[Tensor, Tensor]]:
        pairs = [(p, getattr(p, "main_grad", p._grad)) for p in self._trained()]
        return [(p, g) for p, g in pairs if g is not None]

    def step(self) -> None:
        """Update the parameters that have a gradient."""
        with borrowed_gradients(self):
            self._inner_opt.step()

    def minimize(self, loss: Any, *args: Any, **kwargs: Any) -> tuple:
        """`step`; the gradients are those that `loss.backward()` left."""
        pairs = self._with_gradients()
        self.step()
        return [], pairs

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Zero the gradients in place, or drop them with ``set_to_zero=False``."""
        for p in self._trained():
            gradient = getattr(p, "main_grad", None)
            if gradient is not None and set_to_zero:
                gradient.zero_()
            elif gradient is not None:
                p.main_grad = None  # type: ignore[attr-defined]
            elif not hasattr(p, "main_grad"):
                p.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    def __getattr__(self, name: str) -> Any:
        if name == "_inner_opt":
            raise AttributeError(name)
        return getattr(self._inner_opt, name)


@contextlib.contextmanager
def borrowed_gradients(optimizer: Any) -> Iterator[None]:
    """Inside, parameters of a MixPrecisionOptimizer have their `main_grad` as `grad`, so that whatever works with gradients
    (averages over processes, clipping, steps) sees those. Nothing with another optimizer."""
    lent = []
    if isinstance(optimizer, MixPrecisionOptimizer):
        lent = [p for p, _ in optimizer._with_gradients() if p._grad is None]
    for p in lent:
        p._grad = p.main_grad  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for p in lent:
            p._grad = None


class MixPrecisionScaler:
    """A GradScaler for `MixPrecisionOptimizer`, whose gradients it finds by itself: the scaler inside.

    Args:
        scaler: a GradScaler, or what `fleet.distributed_scaler` gives.
    """

    def __init__(self, scaler: Any):
        self._inner_scaler = scaler

    def __getattr__(self, name: str) -> Any:
        if name == "_inner_scaler":
            raise AttributeError(name)
        return getattr(self._inner_scaler, name)
