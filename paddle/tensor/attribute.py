"""What tensors are, under the official module path; the functions are those of `paddle`."""

from ..ops.attributes import is_complex, is_floating_point, is_integer, rank, shape
from ..ops.complex_numbers import imag, real
