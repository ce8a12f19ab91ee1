"""The context in which operators choose the type that they compute in."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.dtype import DType, to_dtype
from ..engine.executable import Kernel
from ..engine.modes import modes, set_mode
from ..engine.tensor import Tensor
from . import fp8
from .amp_lists import ONLY_X, black_list, names, white_list

__all__ = [
    "amp_guard",
    "auto_cast",
    "autocast",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_enabled",
]

_CASTABLE = frozenset((dtypes.float32, dtypes.float16, dtypes.bfloat16))
LOW_TYPES = ("float16", "bfloat16", "float8_e4m3fn")


class Policy:
    """How operators are treated: one for each level, dtype and pair of custom lists. `low` is the 16-bit type; with
    `fp8` matrix products compute in 8 bits."""

    def __init__(self, level: str, dtype: str, white: frozenset, black: frozenset, use_promote: bool):
        self.level, self.name = level, dtype
        self.fp8 = dtype == "float8_e4m3fn"
        self.low = dtypes.bfloat16 if self.fp8 else to_dtype(dtype)
        self.promotes = level != "O2" or use_promote
        self.white = (white_list()[self.low.name][level] | white) - black
        self.black = (black_list()[self.low.name][level] | black) - white
        self.kinds: dict[Kernel, str] = {}

    def kind(self, op: Kernel) -> str:
        """ "white", "black", "gray", or "keep" for what is no computation."""
        found = self.kinds.get(op)
        if found is None:
            own = names(op.name)
            found = self.kinds[op] = (
                "keep"
                if op.name == "cast"
                else "black"
                if own & self.black
                else "white"
                if own & self.white
                else "gray"
            )
        return found

    def cast(self, op: Kernel, args: tuple) -> tuple:
        """The arguments of a call in the type in which the operator shall compute."""
        kind = self.kind(op)
        if kind == "keep":
            return args
        seen = args[:1] if op.name in ONLY_X else args
        if kind == "black" or kind == "gray" and self.level == "OD":
            target = dtypes.float32
        elif kind == "white" or not self.promotes or not _any_float32(seen):
            target = self.low
        else:
            target = dtypes.float32
        if not any(map(functools.partial(_differs, target), seen)):
            return args
        modes.amp = None
        try:
            return tuple(_convert(a, target) for a in seen) + args[len(seen) :]
        finally:
            modes.amp = self

    def substitute(self, op: Kernel, args: tuple) -> Callable | None:
        """What to call instead of the operator, for matrix products in 8 bits."""
        return fp8.substitute(op, args, self.low) if self.fp8 and self.kind(op) == "white" else None


def _any_float32(args: Any) -> bool:
    return any(
        a.dtype is dtypes.float32 if isinstance(a, Tensor) else isinstance(a, (list, tuple)) and _any_float32(a)
        for a in args
    )


def _differs(target: DType, arg: Any) -> bool:
    if isinstance(arg, Tensor):
        return arg.dtype is not target and arg.dtype in _CASTABLE
    return isinstance(arg, (list, tuple)) and any(_differs(target, a) for a in arg)


def _convert(arg: Any, target: DType) -> Any:
    if not _differs(target, arg):
        return arg
    return arg.astype(target) if isinstance(arg, Tensor) else [_convert(a, target) for a in arg]


@functools.lru_cache(maxsize=256)
def _policy(level: str, dtype: str, white: frozenset, black: frozenset, use_promote: bool) -> Policy:
    return Policy(level, dtype, white, black, use_promote)


def low_dtype(what: str, dtype: Any) -> str:
    """The name of a dtype of mixed precision; ValueError when it is none."""
    try:
        name = to_dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in LOW_TYPES:
        raise errors.ValueError_(f"{what}: dtype must be one of {', '.join(LOW_TYPES)}, got {name}")
    return name


def _list(what: str, value: Any) -> frozenset:
    if value is None:
        return frozenset()
    if isinstance(value, str) or not isinstance(value, (set, frozenset, list, tuple)):
        raise errors.TypeError_(
            f"auto_cast: {what} must be a set, list or tuple of operator names, got {errors.describe(value)}"
        )
    return frozenset(value)


@contextlib.contextmanager
def auto_cast(
    enable: bool = True,
    custom_white_list: Any = None,
    custom_black_list: Any = None,
    level: str = "O1",
    dtype: Any = "float16",
    use_promote: bool = True,
) -> Iterator[None]:
    """Automatic mixed precision: inside, every operator chooses the type that it computes in. Works on every device.

    Operators of the white list compute in `dtype`, those of the black list in float32 (see `amp_lists`). The others, at
    level O1 and O2, in float32 where an input is float32; at level OD always in float32. At level O2, meant for
    models that went through `decorate`, the black list is short.

    With ``dtype="float8_e4m3fn"`` matrix products of `linear` and `matmul` round their operands to float8_e4m3fn and
    the gradients to float8_e5m2, with a power of two as scale for each tensor (Micikevicius et al., "FP8 Formats for
    Deep Learning", 2022); products with a parameter take it from the largest values of the last 16 calls, those of
    two computed tensors from their own. Everything else follows bfloat16. On devices without 8-bit units the same
    numbers are computed in a wider type.

    Args:
        enable: False switches mixed precision off inside.
        custom_white_list, custom_black_list: names of operators, official or ours, that move to that list.
        level: "O1", "O2", "OD"; "O0" is off.
        dtype: "float16", "bfloat16" or "float8_e4m3fn".
        use_promote: at level O2, False computes everything outside the black list in `dtype`.

    Raises:
        ValueError: an unknown level or dtype, a name in both lists.
        TypeError: a list that is none.

    Example:
        >>> x = paddle.ones([2, 2])
        >>> with paddle.amp.auto_cast(dtype="bfloat16"):
        ...     y = paddle.matmul(x, x)
        >>> y.dtype, (y + x).dtype
        (paddle.bfloat16, paddle.float32)
    """
    if level not in ("O0", "OD", "O1", "O2"):
        raise errors.ValueError_(f"auto_cast: level must be O0, OD, O1 or O2, got {level!r}")
    name = low_dtype("auto_cast", dtype)
    white, black = _list("custom_white_list", custom_white_list), _list("custom_black_list", custom_black_list)
    if white & black:
        raise errors.ValueError_(f"auto_cast: {', '.join(sorted(white & black))} stand in both custom lists")
    on = enable and level != "O0"
    with set_mode(amp=_policy(level, name, white, black, bool(use_promote)) if on else None):
        yield


amp_guard = auto_cast


def autocast(device_type: str, dtype: Any = "float16", enabled: bool = True, cache_enabled: bool = True) -> Any:
    """PyTorch's spelling of `auto_cast` at level O1; `device_type` and `cache_enabled` change nothing.

    Example:
        >>> with paddle.amp.autocast("cpu", dtype="bfloat16"):
        ...     paddle.amp.is_autocast_enabled()
        True
    """
    return auto_cast(enabled, dtype=dtype)


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether mixed precision is on now."""
    return modes.amp is not None


def get_autocast_dtype(device_type: str | None = None) -> str:
    """The dtype of the surrounding `auto_cast`, "float16" outside.

    Example:
        >>> with paddle.amp.auto_cast(dtype="bfloat16"):
        ...     paddle.amp.get_autocast_dtype()
        'bfloat16'
    """
    return "float16" if modes.amp is None else modes.amp.name


def get_autocast_cpu_dtype(device_type: str | None = None) -> str:
    """See `get_autocast_dtype`."""
    return get_autocast_dtype()


def get_autocast_gpu_dtype(device_type: str | None = None) -> str:
    """See `get_autocast_dtype`."""
    return get_autocast_dtype()
