"""Numbers, and other names of data types."""

import math

from ..engine.dtype import complex64 as cfloat
from ..engine.dtype import complex128 as cdouble
from ..engine.dtype import float16 as half
from ..engine.dtype import float32 as float
from ..engine.dtype import float64 as double

e, inf, nan, pi = math.e, math.inf, math.nan, math.pi
newaxis = None

__all__ = ["cdouble", "cfloat", "double", "e", "float", "half", "inf", "nan", "newaxis", "pi"]
