"""Errors: one wording, and tracebacks that end in the user's own line.

Every error is an instance of the Python class that users catch. The constructors here put the official error code in
front: ``raise errors.ValueError_("reshape: ...")`` gives ``ValueError: (InvalidArgument) reshape: ...``.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import jax
import numpy as np

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_LIBRARIES = (_HERE, *(os.path.join(m.__path__[0], "") for m in (jax, np)))  # what operators stand on
_PYTHON = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


def ValueError_(message: str) -> ValueError:
    return ValueError("(InvalidArgument) " + message)


def TypeError_(message: str) -> TypeError:
    return TypeError("(InvalidType) " + message)


def IndexError_(message: str) -> IndexError:
    return IndexError("(OutOfRange) " + message)


def RuntimeError_(message: str) -> RuntimeError:
    return RuntimeError("(PreconditionNotMet) " + message)


class NoValue(RuntimeError):
    """A tensor's elements were asked for while a function is compiled or a program is built."""

    def __init__(self, message: str):
        super().__init__("(PreconditionNotMet) " + message)


NO_VALUE = "the tensor has no value here"


def NotFound(message: str) -> FileNotFoundError:
    return FileNotFoundError("(NotFound) " + message)


def Unavailable(message: str) -> RuntimeError:
    return RuntimeError("(Unavailable) " + message)


def NotImplemented_(message: str) -> NotImplementedError:
    return NotImplementedError("(Unimplemented) " + message)


def OutOfMemory(message: str) -> MemoryError:
    return MemoryError("(ResourceExhausted) " + message)


def describe(value: Any) -> str:
    """A value in an error message: shape and dtype for arrays and tensors, the value itself for small things."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        return f"{getattr(dtype, 'name', dtype)}{list(shape)}"
    if isinstance(value, (list, tuple)) and value and all(hasattr(v, "shape") for v in value):
        return "[" + ", ".join(map(describe, value)) + "]"
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


def explain(error: Exception, name: str, params: Any, args: tuple, kwargs: dict, keep: bool = False) -> Exception:
    """The error of a call in our words, naming the operator and what it was given; the error itself where it says so
    already, or where it is not ours to explain: one of the system, or one of the user's code that the call ran. A
    TypeError or an AssertionError from inside stays one where `keep` is set; for operators they are ValueErrors, as
    officially."""
    text = _without_tracers(str(error.args[0] if isinstance(error, KeyError) and error.args else error))
    ours = re.match(r"\([A-Z][A-Za-z]+\) ", text)
    if ours:
        if error.args and error.args[0] != text:
            error.args = (text,)
        if (
            NO_VALUE in text and not keep and not _passed_through_user_code(error)
        ):  # from item(), tolist(), ... inside of the call
            return NoValue(
                f"{name}: it needs the value of a tensor, which is not known while a function is compiled; keep this "
                "call outside"
            )
        if not re.match(r"[\w.]+: ", text[ours.end() :]) and type(error) in (
            TypeError,
            ValueError,
            IndexError,
            RuntimeError,
        ):
            return type(error)(f"{ours.group()}{name}: {text[ours.end() :]}")
        return error
    if isinstance(error, _FOREIGN) or _passed_through_user_code(error):
        return error
    if _of_a_program((*args, *kwargs.values())):
        return NoValue(
            f"{name}: {NO_VALUE}, it is a variable of a program: give it to operators while that program is built, and "
            "fetch it with Executor.run"
        )
    first = text.splitlines()[0] if text else type(error).__name__
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in first:
        return OutOfMemory(f"{name}: {first.removeprefix('RESOURCE_EXHAUSTED: ')}")
    if isinstance(error, TypeError) and error.__traceback__ is not None and error.__traceback__.tb_next is None:
        return TypeError_(name + ": " + re.sub(r"^[\w.]+\(\) ", "", first))  # the call itself: too many, too few
    if "has been deleted" in first:  # an array that was donated to the step
        return RuntimeError_(f"{name}: another thread changed a tensor in place while this call read it")
    pairs = [*zip(params, args), *kwargs.items()]
    given = "; got " + ", ".join(f"{p}={describe(a)}" for p, a in pairs) if pairs else ""
    if isinstance(error, AssertionError) and keep:
        return AssertionError(f"(InvalidArgument) {name}: {first}")
    if isinstance(error, (AttributeError, KeyError, AssertionError, UnboundLocalError)):
        kind = re.match(r"'(\w+)' object has no attribute", first)
        guilty = [p for p, a in pairs if kind and type(a).__name__ == kind.group(1)]
        if kind and guilty and (guilty == [pairs[0][0]] or len(guilty) == 1 and kind.group(1) != "NoneType"):
            first = f"argument {guilty[0]!r} cannot be of type {kind.group(1)}"
        else:
            first = f"an argument is not what the function can work with ({first})"
    if isinstance(error, IndexError):
        return IndexError_(f"{name}: {first}{given}")
    if isinstance(error, TypeError) and keep:
        return TypeError_(f"{name}: {first}{given}")
    make = RuntimeError_ if isinstance(error, RuntimeError) else ValueError_
    return make(f"{name}: {first}{given}")


def _without_tracers(text: str) -> str:
    """A message in which JAX's names for arrays are replaced."""
    if "Tracer" not in text and "Array" not in text:
        return text
    return re.sub(r"\b(\w*Tracer|ArrayImpl)\b", "Tensor", re.sub(r"ShapedArray\((\w+\[[\d,]*\])\w*\)", r"\1", text))


_FOREIGN = (NotImplementedError, OSError, ImportError, StopIteration, SyntaxError, Warning, EOFError)


def _of_a_program(args: Any) -> bool:
    """Whether variables of a program were given while none is being built."""
    from .modes import modes
    from .value import Value

    flat = [x for a in args for x in (a if isinstance(a, (list, tuple)) else [a])]
    return modes.program is None and any(
        isinstance(getattr(getattr(x, "_storage", 0), "value", 0), Value) for x in flat
    )


def _passed_through_user_code(error: BaseException) -> bool:
    tb = error.__traceback__
    while tb is not None:
        if not _library(tb.tb_frame.f_code.co_filename):
            return True
        tb = tb.tb_next
    return False


def _library(filename: str) -> bool:
    return _internal(filename) or filename.startswith((_PYTHON, "<")) and "-packages" not in filename


def _internal(filename: str) -> bool:
    return filename.startswith(_LIBRARIES)


def warn(message: str) -> None:
    """A warning at the user's line that called us."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _internal(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


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


class Explains:
    """Base of public classes: errors of their constructors and public methods are explained as those of operators are.

    Only what is defined in this package is; `_explains` names the methods where it is not all of them.
    """

    _explains: tuple[str, ...] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.__module__.startswith("paddle."):
            return
        for name, method in list(vars(cls).items()):
            if isinstance(method, FunctionType) and (
                name == "__init__" or (name[0] != "_" if cls._explains is None else name in cls._explains)
            ):
                setattr(cls, name, clean(method))


def clean(function: Callable) -> Callable:
    """The same function or method, whose errors name it (see `explain`) and end in the caller's line (see `trim`);
    operators have this from their decorator."""
    whole: Any = inspect.unwrap(function)
    params, name = whole.__code__.co_varnames[: whole.__code__.co_argcount], function.__name__
    method = params[:1] == ("self",)
    special = name.startswith("__") and name != "__init__"  # of Python, called by another name: their errors stay

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as e:
            who = name
            if method and args:
                who = type(args[0]).__name__ + ("" if name == "__init__" else "." + name)
            try:
                raise e if special else explain(e, who, params[method:], args[method:], kwargs, keep=True)
            except Exception as explained:
                trim(explained)
                raise

    return wrapper
