"""Errors: one wording, and tracebacks that end in the user's own line.

Every error is an instance of the Python class that users catch. The constructors here put the official error code in
front: ``raise errors.ValueError_("reshape: ...")`` gives ``ValueError: (InvalidArgument) reshape: ...``.
"""
from __future__ import annotations

import functools
import os
from typing import Any, Callable

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def ValueError_(message: str) -> ValueError:
    return ValueError("(InvalidArgument) " + message)


def TypeError_(message: str) -> TypeError:
    return TypeError("(InvalidType) " + message)


def IndexError_(message: str) -> IndexError:
    return IndexError("(OutOfRange) " + message)


def RuntimeError_(message: str) -> RuntimeError:
    return RuntimeError("(PreconditionNotMet) " + message)


def NotFound(message: str) -> FileNotFoundError:
    return FileNotFoundError("(NotFound) " + message)


def Unavailable(message: str) -> RuntimeError:
    return RuntimeError("(Unavailable) " + message)


def NotImplemented_(message: str) -> NotImplementedError:
    return NotImplementedError("(Unimplemented) " + message)


def describe(value: Any) -> str:
    """A value in an error message: shape and dtype for arrays and tensors, the value itself for small things."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        return f"{getattr(dtype, 'name', dtype)}{list(shape)}"
    if isinstance(value, (list, tuple)) and value and all(hasattr(v, "shape") for v in value):
        return "[" + ", ".join(map(describe, value)) + "]"
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _internal(filename: str) -> bool:
    return filename.startswith(_HERE) or f"{os.sep}jax{os.sep}_src{os.sep}" in filename


def trim(error: BaseException) -> None:
    """Cut the frames of this package (and of JAX) from the end of a traceback, in place.

    To be called in an ``except`` block that goes on with a bare ``raise``: the interpreter does not add the frame of
    that block again, so the traceback then ends in the line of the user that called us. PADDLE_XLA_DEBUG=1 and more
    keep everything.
    """
    from . import flags
    if flags.debug_level() > 0:
        return
    last = None
    tb = error.__traceback__
    while tb is not None:
        if not _internal(tb.tb_frame.f_code.co_filename):
            last = tb
        tb = tb.tb_next
    if last is None:
        error.__traceback__ = None
    else:
        last.tb_next = None
    if hasattr(error, "__notes__"):
        error.__notes__ = [note for note in error.__notes__ if "JAX has removed its internal frames" not in note]
    error.__cause__ = None
    error.__suppress_context__ = True


def clean(function: Callable) -> Callable:
    """The same function, whose errors end in the caller's line (see `trim`); operators have this from their decorator."""
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as e:
            trim(e)
            raise
    return wrapper
