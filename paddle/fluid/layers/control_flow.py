"""Branches, loops and arrays of tensors, by their names before version 2."""

from ...static.nn import case, cond, switch_case, while_loop
from ...static.nn.control_flow import Assert, Print, Switch, While
from ...tensor.array import array_length, array_read, array_write, create_array

__all__ = [
    "Assert",
    "Print",
    "Switch",
    "While",
    "array_length",
    "array_read",
    "array_write",
    "case",
    "cond",
    "create_array",
    "switch_case",
    "while_loop",
]
