"""Where the package lies."""

from __future__ import annotations

import os

__all__ = ["get_include", "get_lib"]


def get_include() -> str:
    """The folder for C++ headers. This package is Python on XLA: there are none in it.

    Example:
        >>> paddle.sysconfig.get_include().endswith("include")
        True
    """
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")


def get_lib() -> str:
    """The folder for shared libraries. This package is Python on XLA: there are none in it.

    Example:
        >>> paddle.sysconfig.get_lib().endswith("libs")
        True
    """
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "libs")
