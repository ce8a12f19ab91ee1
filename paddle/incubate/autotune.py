"""Settings of automatic tuning."""

from __future__ import annotations

import json
import warnings
from typing import Any

from ..engine import errors

__all__ = ["set_config"]

_PARTS = ("kernel", "layout", "dataloader")


def set_config(config: dict[str, Any] | str | None = None) -> None:
    """Accepted for compatibility and checked: XLA chooses kernels and layouts when it compiles.

    Args:
        config: a dict with the parts "kernel", "layout" and "dataloader", each a dict with "enable"; or the path of a JSON
            file with one; None means all.

    Raises:
        TypeError: a part that is no dict, or an "enable" that is no bool.

    Example:
        >>> paddle.incubate.autotune.set_config({"kernel": {"enable": True, "tuning_range": [1, 3]}})
    """
    if isinstance(config, str):
        try:
            with open(config) as file:
                config = json.load(file)
        except (OSError, ValueError) as e:
            warnings.warn(f"set_config: the file {config!r} cannot be read: {e}", stacklevel=2)
            return
    if config is None:
        return
    if not isinstance(config, dict):
        raise errors.TypeError_(f"set_config: config must be a dict, a path or None, got {errors.describe(config)}")
    for part in _PARTS:
        settings = config.get(part, {})
        if not isinstance(settings, dict):
            raise errors.TypeError_(f"set_config: {part} must be a dict, got {errors.describe(settings)}")
        if not isinstance(settings.get("enable", True), bool):
            warnings.warn(f"set_config: {part}.enable must be a bool", stacklevel=2)
