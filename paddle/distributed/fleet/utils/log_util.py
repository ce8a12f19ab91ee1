"""The log of distributed training."""

from __future__ import annotations

import logging

from .... import device
from ....engine import errors

__all__: list[str] = []

logger = logging.getLogger("paddle.distributed.fleet")
if not logger.handlers:
    _handler = logging.StreamHandler()
    _handler.setFormatter(logging.Formatter("[%(asctime)s] [%(levelname)s] %(name)s: %(message)s"))
    logger.addHandler(_handler)
    logger.propagate = False


def set_log_level(level: str | int) -> None:
    """Set the level of the log: a name or a number of `logging`.

    Example:
        >>> paddle.distributed.fleet.set_log_level("INFO")
        >>> paddle.distributed.fleet.get_log_level_name()
        'INFO'
    """
    if isinstance(level, bool) or not isinstance(level, (str, int)):
        raise errors.TypeError_(f"set_log_level: level must be a str or an int, got {errors.describe(level)}")
    logger.setLevel(level.upper() if isinstance(level, str) else level)


def get_log_level_code() -> int:
    """The level of the log, a number."""
    return logger.getEffectiveLevel()


def get_log_level_name() -> str:
    """The level of the log, a name."""
    return logging.getLevelName(get_log_level_code())


def get_sync_logger() -> logging.Logger:
    """The log, after the device has done what was asked of it."""
    device.synchronize()
    return logger


def check_memory_usage(msg: str = "") -> None:
    """Log the memory of the device that is in use, and the most that was."""
    used = {
        "memory_allocated": device.memory_allocated(),
        "max_memory_allocated": device.max_memory_allocated(),
        "memory_reserved": device.memory_reserved(),
        "max_memory_reserved": device.max_memory_reserved(),
    }
    shown = ", ".join(f"{name} {size / 2**30:.3f} GiB" for name, size in used.items())
    logger.info("memory of %s %s: %s", device.get_device(), msg, shown)
