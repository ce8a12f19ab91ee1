"""The choice of a backend. There is one, for WAV files, which needs no package."""

from __future__ import annotations

from ...engine import errors

__all__ = ["get_current_backend", "list_available_backends", "set_backend"]


def list_available_backends() -> list[str]:
    """The names of the backends for files of sound.

    Example:
        >>> paddle.audio.backends.list_available_backends()
        ['wave_backend']
    """
    return ["wave_backend"]


def get_current_backend() -> str:
    """The name of the backend that `load`, `save` and `info` use.

    Example:
        >>> paddle.audio.backends.get_current_backend()
        'wave_backend'
    """
    return "wave_backend"


def set_backend(backend_name: str) -> None:
    """Choose the backend. NotImplementedError for one that is not in `list_available_backends()`.

    Example:
        >>> paddle.audio.backends.set_backend("wave_backend")
    """
    if backend_name not in list_available_backends():
        raise errors.NotImplemented_(
            f"set_backend: there is no backend {backend_name!r}; available is {', '.join(list_available_backends())}"
        )
