"""Importing optional packages, and comparing versions."""

from __future__ import annotations

import importlib
import re
from typing import Any

from ..engine import errors


def try_import(module_name: str, err_msg: str | None = None) -> Any:
    """Import a module, or raise an ImportError that says what to install.

    Example:
        >>> paddle.utils.try_import("json").__name__
        'json'
    """
    try:
        return importlib.import_module(module_name)
    except ImportError as e:
        raise ImportError(
            err_msg or f"this needs the package {module_name.split('.')[0]!r}: pip install {module_name.split('.')[0]}"
        ) from e


def _numbers(version: str, name: str) -> tuple[int, ...]:
    if not isinstance(version, str):
        raise errors.TypeError_(f"require_version: {name} must be a str, got {type(version).__name__}")
    if not re.fullmatch(r"\d+(\.\d+){0,3}", version):
        raise errors.ValueError_(f"require_version: {name} must look like '3.0.0', got {version!r}")
    return tuple(map(int, version.split("."))) + (0,) * (4 - len(version.split(".")))


def require_version(min_version: str, max_version: str | None = None) -> None:
    """Raise an Exception unless the official API level of this package lies within the bounds.

    Example:
        >>> paddle.utils.require_version("2.0.0")
    """
    from .. import version

    here = _numbers(f"{version.major}.{version.minor}.{version.patch}", "the installed version")
    low = _numbers(min_version, "min_version")
    high = None if max_version is None else _numbers(max_version, "max_version")
    if here < low or high is not None and here > high:
        raise Exception(
            f"(PreconditionNotMet) version {min_version}{f' to {max_version}' if max_version else ' or later'} "
            f"is required, this is {version.full_version}"
        )
