"""Elementwise functions, under the official module path; the functions are those of `paddle`."""
from ..ops.elementwise import (
    abs_, acos_, acosh_, asin_, asinh, asinh_, atan, atan_, atanh_, ceil_, cos_, cosh_, exp_, floor_, reciprocal,
    reciprocal_, round_, rsqrt_, sigmoid_, sin_, sinh_, sqrt_, square, square_, tan, tan_,
)
from ..ops.special import erf
