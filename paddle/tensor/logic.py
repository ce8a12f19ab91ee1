"""Comparisons and logic, under the official module path; the functions are those of `paddle`."""
from ..ops.attributes import broadcast_shape, is_empty, is_tensor
from ..ops.comparison import (
    allclose, bitwise_and, bitwise_and_, bitwise_invert, bitwise_invert_, bitwise_not, bitwise_not_, bitwise_or,
    bitwise_or_, bitwise_xor, bitwise_xor_, eq, equal, equal_, equal_all, ge, greater, greater_equal,
    greater_equal_, greater_than, greater_than_, gt, isclose, le, less, less_, less_equal, less_equal_, less_than,
    less_than_, logical_and, logical_and_, logical_not, logical_not_, logical_or, logical_or_, logical_xor,
    logical_xor_, lt, ne, not_equal, not_equal_,
)
from ..ops.creation import full
