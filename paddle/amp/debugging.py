"""Finding where numbers go wrong: counting operators by type, checking results for NaN and infinity."""

from __future__ import annotations

import contextlib
import enum
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import debug, errors, flags
from ..engine.modes import modes
from ..engine.random import generator
from ..engine.tensor import Tensor, _make
from .amp_lists import names

__all__ = [
    "DebugMode",
    "TensorCheckerConfig",
    "check_layer_numerics",
    "check_numerics",
    "collect_operator_stats",
    "compare_accuracy",
    "disable_operator_stats_collection",
    "disable_tensor_checker",
    "enable_operator_stats_collection",
    "enable_tensor_checker",
]


class DebugMode(enum.Enum):
    """What happens to NaN and infinity: stop with an error, print, or print statistics of everything."""

    CHECK_NAN_INF_AND_ABORT = 0
    CHECK_NAN_INF = 1
    CHECK_ALL_FOR_OVERFLOW = 2
    CHECK_ALL = 3


# ---- one tensor ----


@jax.jit
def _statistics(x: Any) -> tuple:
    wide = jnp.abs(x) if jnp.iscomplexobj(x) else x.astype(jnp.promote_types(x.dtype, jnp.float32))
    counts = jnp.stack([jnp.isnan(wide).sum(), jnp.isinf(wide).sum(), (wide == 0).sum()]).astype("int64")
    values = jnp.stack([jnp.nanmax(wide), jnp.nanmin(wide), jnp.mean(wide)])
    return counts, values.astype(jnp.float32)


@errors.clean
def check_numerics(
    tensor: Tensor, op_type: str, var_name: str, debug_mode: DebugMode = DebugMode.CHECK_NAN_INF_AND_ABORT
) -> tuple[Tensor, Tensor]:
    """Look for NaN and infinity in a tensor.

    Args:
        tensor: floating or complex.
        op_type, var_name: what the message calls it.
        debug_mode: CHECK_NAN_INF_AND_ABORT raises, CHECK_NAN_INF prints what is wrong, CHECK_ALL prints always.

    Returns:
        int64[3], the numbers of NaN, infinities and zeros; float32[3], maximum, minimum and mean.

    Raises:
        RuntimeError: there is NaN or infinity, in the first mode.
        TypeError: no floating or complex tensor.

    Example:
        >>> counts, values = paddle.amp.debugging.check_numerics(paddle.to_tensor([1.0, 0.0]), "add", "y")
        >>> counts.tolist(), values.tolist()
        ([0, 0, 1], [1.0, 0.0, 0.5])
    """
    if not isinstance(tensor, Tensor) or not tensor.dtype.is_differentiable:
        raise errors.TypeError_(f"check_numerics: tensor must be floating or complex, got {errors.describe(tensor)}")
    value = tensor._value
    if not value.size:
        return _make(jnp.zeros(3, "int64")), _make(jnp.zeros(3, jnp.float32))
    counts, values = _statistics(value)
    bad = int(counts[0]) + int(counts[1])
    if bad or debug_mode is DebugMode.CHECK_ALL:
        nan, inf, zero = np.asarray(counts).tolist()
        high, low, mean = np.asarray(values).tolist()
        text = (
            f"op={op_type}, tensor={var_name}, dtype={tensor.dtype.name}, numel={value.size}, num_nan={nan}, "
            f"num_inf={inf}, num_zero={zero}, max={high:e}, min={low:e}, mean={mean:e}"
        )
        if bad and debug_mode is DebugMode.CHECK_NAN_INF_AND_ABORT:
            raise errors.RuntimeError_(f"check_numerics: there are NaN or infinities: {text}")
        print(f"[PRECISION] {'[ERROR] ' if bad else ''}in {text}", file=sys.stderr)
    return _make(counts), _make(values)


@errors.clean
def check_layer_numerics(func: Callable) -> Callable:
    """Decorate the `forward` of a Layer: its first input and every operator in it are checked for NaN and infinity.

    Raises RuntimeError, when the layer is called, where one is found or the first input is no tensor.
    """

    @functools.wraps(func)
    def forward(self, *args, **kwargs):
        if not args or not isinstance(args[0], Tensor):
            raise errors.RuntimeError_("check_layer_numerics: the first input of the layer must be a Tensor")
        check_numerics(args[0], type(self).__name__, "input")
        before = flags.flag("FLAGS_check_nan_inf")
        flags.set_flags({"FLAGS_check_nan_inf": True})
        try:
            return func(self, *args, **kwargs)
        finally:
            flags.set_flags({"FLAGS_check_nan_inf": before})

    return forward


# ---- every operator ----


class TensorCheckerConfig(errors.Explains):
    """What `enable_tensor_checker` checks.

    Args:
        enable: False checks nothing.
        debug_mode: CHECK_NAN_INF_AND_ABORT or CHECK_NAN_INF.
        output_dir: must be None, messages go to the standard error.
        checked_op_list, skipped_op_list: names of operators, the only ones to check, and those not to check.
        debug_step: [first, end) of the calls of `enable_tensor_checker` for which the check is on; None: always.
        stack_height_limit: accepted for compatibility.

    Raises:
        NotImplementedError: `output_dir`, or a mode that prints everything.
        ValueError, AssertionError: `debug_step` is no list, or no interval.

    Example:
        >>> config = paddle.amp.debugging.TensorCheckerConfig(enable=True, skipped_op_list=["divide"])
        >>> paddle.amp.debugging.enable_tensor_checker(config)
        >>> y = paddle.ones([1]) / 0.0
        >>> paddle.amp.debugging.disable_tensor_checker()
    """

    current_step_id = 0

    def __init__(
        self,
        enable,
        debug_mode=DebugMode.CHECK_NAN_INF_AND_ABORT,
        output_dir=None,
        checked_op_list=None,
        skipped_op_list=None,
        debug_step=None,
        stack_height_limit=1,
    ):
        if not isinstance(debug_mode, DebugMode):
            raise errors.TypeError_(
                f"TensorCheckerConfig: debug_mode must be a DebugMode, got {errors.describe(debug_mode)}"
            )
        if debug_mode in (DebugMode.CHECK_ALL, DebugMode.CHECK_ALL_FOR_OVERFLOW):
            raise errors.NotImplemented_(f"TensorCheckerConfig: {debug_mode}")
        if output_dir is not None:
            raise errors.NotImplemented_("TensorCheckerConfig: output_dir")
        self.enable, self.debug_mode, self.output_dir = enable, debug_mode, output_dir
        self.checked_op_list, self.skipped_op_list = checked_op_list, skipped_op_list
        self.debug_step, self.stack_height_limit = debug_step, stack_height_limit
        self.start_step = self.end_step = None
        self.seed = self.initial_seed = generator().initial_seed()
        if debug_step is not None:
            if not isinstance(debug_step, (list, tuple)):
                raise errors.ValueError_("TensorCheckerConfig: debug_step must be a list or tuple")
            assert len(debug_step) == 2 and debug_step[1] > debug_step[0], (
                f"(InvalidArgument) TensorCheckerConfig: debug_step must be [first, end), got {debug_step}"
            )
            self.start_step, self.end_step = debug_step
            TensorCheckerConfig.current_step_id = 0

    def update_and_check_step_id(self) -> bool:
        """Count a step; whether it is one to be checked."""
        if not self.enable:
            return False
        if self.start_step is None:
            return True
        step = TensorCheckerConfig.current_step_id
        TensorCheckerConfig.current_step_id = step + 1
        return self.start_step <= step < self.end_step

    def start_check_nan_inf(self) -> None:
        """Switch the check on."""
        checked, skipped = set(self.checked_op_list or ()), set(self.skipped_op_list or ())
        debug.selected = lambda name: (not checked or bool(names(name) & checked)) and not names(name) & skipped
        flags.set_flags({"FLAGS_check_nan_inf": True, "FLAGS_check_nan_inf_level": self.debug_mode.value})

    def stop_check_nan_inf(self) -> None:
        """Switch the check off."""
        debug.selected = None
        flags.set_flags({"FLAGS_check_nan_inf": False, "FLAGS_check_nan_inf_level": 0})


def enable_tensor_checker(checker_config: TensorCheckerConfig) -> None:
    """Check the results of operators and gradients from now on, naming operator and layer."""
    if checker_config.update_and_check_step_id():
        checker_config.start_check_nan_inf()
    else:
        checker_config.stop_check_nan_inf()


def disable_tensor_checker() -> None:
    """End what `enable_tensor_checker` began."""
    debug.selected = None
    flags.set_flags({"FLAGS_check_nan_inf": False, "FLAGS_check_nan_inf_level": 0})


# ---- counting ----

_COLUMNS = ("float16", "bfloat16", "float32", "other")
_counted: dict[str, dict[str, int]] = {}


def _count(op: Any, args: tuple, out: Any) -> None:
    tensors = [a for a in args if isinstance(a, Tensor)] or [out[0] if isinstance(out, tuple) else out]
    name = tensors[0].dtype.name
    row = _counted.setdefault(op.name, dict.fromkeys(_COLUMNS, 0))
    row[name if name in row else "other"] += 1


def enable_operator_stats_collection() -> None:
    """Count the calls of each operator by the type of its input, until `disable_operator_stats_collection`."""
    _counted.clear()
    modes.watcher = _count
    modes.update()


def disable_operator_stats_collection() -> None:
    """Stop counting and print the table."""
    if modes.watcher is not _count:
        return
    modes.watcher = None
    modes.update()
    print("<" + " op list ".center(120, "-") + ">")
    heads = (" FP16 Calls ", " BF16 Calls ", " FP32 Calls", " Other Calls ")
    print("<" + " Op Name ".center(40, "-") + " | " + " | ".join(head.center(17, "-") for head in heads) + ">")
    for name, row in sorted(_counted.items()):
        print(f"  {name:<39} | " + " | ".join(f" {row[column]:<16}" for column in _COLUMNS))
    print("<" + f" op count: {len(_counted)} ".center(120, "-") + ">\n")


@contextlib.contextmanager
def collect_operator_stats() -> Iterator[None]:
    """A context in which the calls of each operator are counted by type; prints a table at the end.

    Example:
        >>> with paddle.amp.debugging.collect_operator_stats():  # doctest: +ELLIPSIS
        ...     _ = paddle.ones([1]) + 1.0
        <---...
    """
    enable_operator_stats_collection()
    try:
        yield
    finally:
        disable_operator_stats_collection()


def compare_accuracy(
    dump_path: str, another_dump_path: str, output_filename: str, loss_scale: float = 1, dump_all_tensors: bool = False
) -> None:
    """Compare two dumps of a training run. Not built: raises NotImplementedError."""
    raise errors.NotImplemented_("amp.debugging.compare_accuracy")
