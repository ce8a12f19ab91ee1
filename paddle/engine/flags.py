"""Switches: environment variables and ``paddle.set_flags``, read in one place.

``PADDLE_XLA_DEBUG`` shows what runs: 1 prints every compilation with its time and keeps whole tracebacks, 2 adds every
operator call, 3 adds programs, 4 adds the HLO of what is compiled.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from . import errors

_defaults: dict[str, Any] = {
    "FLAGS_check_nan_inf": False,
    "FLAGS_check_nan_inf_level": 0,
    "FLAGS_cudnn_deterministic": False,
    "FLAGS_embedding_deterministic": 0,
    "FLAGS_use_cinn": False,
    "FLAGS_allocator_strategy": "auto_growth",
    "FLAGS_fraction_of_gpu_memory_to_use": 0.92,
    "FLAGS_eager_delete_tensor_gb": 0.0,
    "FLAGS_use_mkldnn": False,
    "FLAGS_enable_pir_api": True,
    "FLAGS_set_to_1d": False,
    "FLAGS_benchmark": False,
    "FLAGS_cudnn_exhaustive_search": False,
    "FLAGS_conv_workspace_size_limit": 512,
    "FLAGS_max_inplace_grad_add": 0,
    "FLAGS_low_precision_op_list": 0,
    "FLAGS_use_stride_kernel": True,
    "FLAGS_check_collectives": False,
    "FLAGS_enable_auto_parallel_align_mode": False,
}


def switched_on(variable: str) -> bool:
    """Whether an environment variable leaves on what is on by default."""
    return os.environ.get(variable, "1").lower() not in ("0", "off", "false", "no")


def _level(text: str) -> int:
    return int(text) if text.isdecimal() else int(text.lower() in ("true", "yes", "on"))


def _parse(text: str, like: Any) -> Any:
    if isinstance(like, bool):
        return text.strip().lower() in ("1", "true", "yes", "on")
    try:
        return type(like)(text)
    except ValueError:
        return like


_values = {name: _parse(os.environ[name], value) if name in os.environ else value for name, value in _defaults.items()}
_debug = _level(os.environ.get("PADDLE_XLA_DEBUG", ""))
_listeners: list = []


def debug_level() -> int:
    """The level of PADDLE_XLA_DEBUG, 0 when off."""
    return _debug


def set_debug(level: int) -> None:
    global _debug
    _debug = int(level)
    for listener in _listeners:
        listener()


def on_change(listener) -> None:
    """Call `listener()` whenever a flag changes (dispatch keeps a copy of the few that it needs)."""
    _listeners.append(listener)


def flag(name: str) -> Any:
    return _values[name]


def set_flags(flags: dict[str, Any]) -> None:
    """Set flags by name, such as ``paddle.set_flags({"FLAGS_check_nan_inf": True})``.

    Raises:
        TypeError: `flags` is no dict.
        ValueError: a name that does not start with ``FLAGS_``.
    """
    if not isinstance(flags, dict):
        raise errors.TypeError_(f"set_flags: flags must be a dict, got {type(flags).__name__}")
    for name, value in flags.items():
        if not name.startswith("FLAGS_"):
            raise errors.ValueError_(f"set_flags: {name!r} is not a flag")
        like = _defaults.get(name)
        _values[name] = (
            _parse(value, like)
            if isinstance(value, str) and like is not None
            else (bool(value) if isinstance(like, bool) else value)
        )
    for listener in _listeners:
        listener()


def get_flags(flags: str | Iterable[str]) -> dict[str, Any]:
    """The values of one or several flags, as a dict. Raises ValueError for an unknown name."""
    names = [flags] if isinstance(flags, str) else list(flags)
    for name in names:
        if name not in _values:
            raise errors.ValueError_(f"get_flags: there is no flag {name!r}")
    return {name: _values[name] for name in names}
