"""`import torch` gives paddle: a finder of modules that answers for PyTorch."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from ..engine import errors

NAME = "torch"


class _Proxy(ModuleType):
    """A module of PyTorch that looks its names up in paddle: first in the compatible package, then in the other one."""

    def __init__(self, name: str, sources: list[ModuleType]):
        super().__init__(name)
        self.__path__: list[str] = []
        self._sources = sources

    def __getattr__(self, name: str) -> Any:
        if not (name.startswith("__") and name != "__version__"):
            for source in self._sources:
                if hasattr(source, name):
                    value = getattr(source, name)
                    package = isinstance(value, ModuleType) and not callable(value)  # paddle.tensor is both
                    return importlib.import_module(f"{self.__name__}.{name}") if package else value
        raise AttributeError(f"paddle has no counterpart of {self.__name__}.{name}")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers for `torch` and what lies in it, where the importing module is in scope."""

    def __init__(self, scope: set[str] | None, blocked: set[str]):
        self.scope, self.blocked = scope, blocked

    def _importer(self) -> str:
        frame = sys._getframe(2)
        while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("importlib", "paddle"):
            frame = frame.f_back  # type: ignore[assignment]
        return frame.f_globals.get("__name__", "") if frame is not None else ""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.split(".")[0] != NAME:
            return None
        importer = self._importer()
        inside = [importer[:i] for i, c in enumerate(importer + ".") if c == "."]
        if any(m in self.blocked for m in inside) or not _sources(name):
            return None
        if self.scope is not None and not any(m in self.scope for m in inside):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        return _Proxy(spec.name, _sources(spec.name))

    def exec_module(self, module: ModuleType) -> None:
        pass


def _sources(name: str) -> list[ModuleType]:
    rest = name[len(NAME) :]
    found = []
    for package in ("paddle.compat", "paddle"):
        try:
            found.append(importlib.import_module(package + rest))
        except ModuleNotFoundError as e:
            if not (package + rest).startswith(e.name or " "):
                raise
    return found


_finder: _Finder | None = None
_blocked: set[str] = set()
_hidden: dict[str, ModuleType] = {}  # of the real package, put back in the end


def _forget() -> dict[str, ModuleType]:
    names = [n for n in sys.modules if n == NAME or n.startswith(NAME + ".")]
    return {n: sys.modules.pop(n) for n in names}


def enable_torch_proxy(
    *,
    scope: Iterable[str] | None = None,
    blocked_modules: Iterable[str] | None = None,
    backend: str = "torch",
    silent: bool = False,
) -> None:
    """From now on `import torch` gives paddle, with the functions of `paddle.compat` where they exist.

    Args:
        scope: names of the modules whose imports are answered (with what lies in them), default all.
        blocked_modules: names of modules whose imports are not.
        backend: "torch".
        silent: accepted; nothing is printed.

    Raises:
        ValueError: another backend.

    Example:
        >>> paddle.enable_compat()
        >>> import torch
        >>> torch.ones([2]).tolist()
        [1.0, 1.0]
        >>> paddle.disable_compat()
    """
    global _finder
    if backend != "torch":
        raise errors.ValueError_(f"enable_compat: backend must be 'torch', got {backend!r}")
    disable_torch_proxy()
    _hidden.update(_forget())
    _finder = _Finder(None if scope is None else set(scope), _blocked | set(blocked_modules or ()))
    sys.meta_path.insert(0, _finder)


def disable_torch_proxy() -> None:
    """`import torch` gives PyTorch again, where it is installed. Modules that were imported keep what they have."""
    global _finder
    if _finder is None:
        return
    sys.meta_path.remove(_finder)
    _finder = None
    _forget()
    sys.modules.update(_hidden)
    _hidden.clear()


def extend_torch_proxy_blocked_modules(modules: Iterable[str]) -> None:
    """Modules that shall always get the real package."""
    _blocked.update(modules)
    if _finder is not None:
        _finder.blocked.update(modules)


class use_torch_proxy_guard:
    """`import torch` gives paddle inside (or, with enable=False, does not): a context manager.

    Example:
        >>> with paddle.use_compat_guard():
        ...     import torch
        >>> torch.zeros([1]).tolist()
        [0.0]
    """

    def __init__(self, *, enable: bool = True, scope: Iterable[str] | None = None, silent: bool = False):
        self._enable, self._scope = enable, scope

    def __enter__(self) -> None:
        self._before = _finder
        if self._enable:
            enable_torch_proxy(scope=self._scope)
        else:
            disable_torch_proxy()

    def __exit__(self, *exc: Any) -> None:
        disable_torch_proxy()
        if self._before is not None:
            enable_torch_proxy(scope=self._before.scope, blocked_modules=self._before.blocked)
