"""Mixed precision as `Model.prepare` takes it."""

from __future__ import annotations

import contextlib
from typing import Any

from ..engine import errors

_SCALER = (
    "init_loss_scaling",
    "incr_ratio",
    "decr_ratio",
    "incr_every_n_steps",
    "decr_every_n_nan_or_inf",
    "use_dynamic_loss_scaling",
)
_CAST = ("custom_white_list", "custom_black_list", "dtype")
_STATIC = ("use_fp16_guard", "custom_black_varnames")
_LEVELS = ("O0", "O1", "O2")


class AmpSettings:
    """What `amp_configs` says: None, a level, or a dict."""

    def __init__(self, configs: Any, static: bool = False):
        if configs is not None and not isinstance(configs, (str, dict)):
            raise errors.TypeError_(f"Model.prepare: amp_configs must be a str or a dict, got {configs!r}")
        configs = {"level": configs} if isinstance(configs, str) else dict(configs or {"level": "O0"})
        self.level = configs.pop("level", "O1")
        if self.level not in _LEVELS:
            raise errors.ValueError_(
                f"Model.prepare: amp_configs['level'] should be 'O0', 'O1' or 'O2', got {self.level!r}"
            )
        if configs.pop("use_pure_fp16", False):
            self.level = "O2"
        for key in configs:
            if key in _STATIC and not static:
                raise errors.ValueError_(f"Model.prepare: {key!r} is supported in static graph mode only.")
            if key not in (*_SCALER, *_CAST, *_STATIC):
                raise errors.ValueError_(
                    "Model.prepare: Except for 'level', the keys of 'amp_configs' must be accepted by mixed precision "
                    f"APIs, but {key!r} could not be recognized."
                )
        self.cast = {k: v for k, v in configs.items() if k in _CAST}
        self.on = self.level != "O0"
        self.scaler: Any = None
        self._configs = configs
        if self.on and not static:
            from ..amp import GradScaler

            self.scaler = GradScaler(**{k: v for k, v in configs.items() if k in _SCALER})

    def autocast(self) -> Any:
        """The context in which the network and the loss run."""
        if not self.on:
            return contextlib.nullcontext()
        from ..amp import auto_cast

        return auto_cast(level=self.level, **self.cast)

    def decorate(self, network: Any, optimizer: Any) -> tuple[Any, Any]:
        """At level O2: the network with parameters of few bits, and the optimizer that keeps wide ones."""
        if self.level != "O2":
            return network, optimizer
        from ..amp import decorate

        dtype = self.cast.get("dtype", "float16")
        if optimizer is None:
            return decorate(models=network, level="O2", dtype=dtype), None
        return decorate(models=network, optimizers=optimizer, level="O2", dtype=dtype)

    def for_programs(self, optimizer: Any) -> Any:
        """The optimizer that makes a program compute in mixed precision."""
        if not self.on:
            return optimizer
        from ..static import amp

        dtype = self.cast.get("dtype", "float16")
        lists = {k: v for k, v in self._configs.items() if k.startswith("custom_")}
        rest = {k: v for k, v in self._configs.items() if k in _SCALER or k == "use_fp16_guard"}
        return amp.decorate(optimizer, amp.AutoMixedPrecisionLists(**lists, dtype=dtype), self.level, dtype, **rest)

    def scale(self, loss: Any) -> Any:
        """The loss to walk back from."""
        return loss if self.scaler is None else self.scaler.scale(loss)

    def step(self, optimizer: Any) -> None:
        """A step of the optimizer."""
        if self.scaler is None:
            optimizer.step()
        else:
            self.scaler.step(optimizer)
            self.scaler.update()
