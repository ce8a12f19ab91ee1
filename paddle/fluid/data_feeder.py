"""From samples to what a program is fed."""

from __future__ import annotations

from typing import Any

from ..engine import errors
from ..engine.tensor import Tensor
from ..static.program import default_main_program
from .reader import GeneratorLoader

__all__ = ["DataFeeder", "check_dtype", "check_type", "check_variable_and_dtype"]


class DataFeeder:
    """Makes the dict to feed from a list of samples.

    Args:
        feed_list: the inputs, or their names.
        place: accepted.
        program: where names are looked up; default: the default program.
    """

    def __init__(self, feed_list: Any, place: Any = None, program: Any = None):
        program = program or default_main_program()
        block = program.global_block()
        self._loader = GeneratorLoader([block.var(v) if isinstance(v, str) else v for v in feed_list])

    def feed(self, iterable: Any) -> dict[str, Any]:
        """The arrays of a batch by the names of the inputs. ValueError when samples have another number of parts."""
        batches = list(self._loader.set_sample_list_generator(lambda: [list(iterable)]))
        if len(batches[0]) != len(self._loader._feed_list):
            raise errors.ValueError_(
                f"feed: the samples have {len(batches[0])} parts, there are {len(self._loader._feed_list)} inputs"
            )
        return batches[0]


def check_type(input: Any, input_name: str, expected_type: Any, op_name: str, extra_message: str = "") -> None:
    """TypeError unless an argument is of a type."""
    if not isinstance(input, expected_type):
        raise errors.TypeError_(
            f"{op_name}: {input_name} must be of type {expected_type}, got {errors.describe(input)}. {extra_message}"
        )


def check_dtype(input_dtype: Any, input_name: str, expected_dtype: Any, op_name: str, extra_message: str = "") -> None:
    """TypeError unless a data type is among those expected."""
    expected = [expected_dtype] if isinstance(expected_dtype, str) else list(expected_dtype)
    name = getattr(input_dtype, "name", str(input_dtype))
    if name not in expected:
        raise errors.TypeError_(
            f"{op_name}: {input_name} must have one of the types {', '.join(expected)}, got {name}. {extra_message}"
        )


def check_variable_and_dtype(
    input: Any, input_name: str, expected_dtype: Any, op_name: str, extra_message: str = ""
) -> None:
    """TypeError unless an argument is a tensor of one of the types."""
    check_type(input, input_name, Tensor, op_name, extra_message)
    check_dtype(input.dtype, input_name, expected_dtype, op_name, extra_message)
