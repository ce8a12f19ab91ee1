"""Mathematics, under the official module path; the functions are those of `paddle`."""
from ..ops.attributes import broadcast_shape, broadcast_shapes
from ..ops.comparison import bitwise_left_shift, bitwise_left_shift_, bitwise_right_shift, bitwise_right_shift_, isin
from ..ops.complex_numbers import conj
from ..ops.creation import vander
from ..ops.cumulative import (
    cummax, cummin, cumprod, cumprod_, cumsum, cumsum_, cumulative_trapezoid, diff, logcumsumexp, trapezoid,
)
from ..ops.elementwise import (
    abs, abs_, acos, acos_, acosh, acosh_, angle, asin, asin_, asinh, asinh_, atan, atan_, atanh, atanh_, ceil,
    ceil_, cos, cos_, cosh, cosh_, deg2rad, exp, exp_, expm1, floor, floor_, frac, frac_, frexp, isfinite, isinf,
    isnan, isneginf, isposinf, isreal, log, log10, log10_, log1p, log1p_, log2, log2_, log_, logit, logit_,
    nan_to_num, nan_to_num_, neg, neg_, negative, positive, rad2deg, reciprocal, reciprocal_, round, round_, rsqrt,
    rsqrt_, sgn, sigmoid_, sign, signbit, sin, sin_, sinh, sinh_, sqrt, sqrt_, square, square_, stanh, tan, tan_,
    tanh, tanh_, trunc, trunc_,
)
from ..ops.equations import inverse
from ..ops.joining import add_n, cartesian_prod, combinations
from ..ops.linalg import addmm, addmm_, baddbmm, baddbmm_, inner, kron, mm, outer, trace
from ..ops.manipulation import cast, cast_
from ..ops.math import (
    add, add_, atan2, clamp, clamp_, clip, clip_, copysign, copysign_, div, div_, divide, divide_, floor_divide,
    floor_divide_, floor_mod, floor_mod_, fmax, fmin, gcd, gcd_, heaviside, hypot, hypot_, increment, lcm, lcm_,
    ldexp, ldexp_, lerp, lerp_, logaddexp, maximum, minimum, mod, mod_, mul, mul_, multiply, multiply_, nextafter,
    pow, pow_, remainder, remainder_, scale, scale_, sub, sub_, subtract, subtract_, true_divide,
)
from ..ops.norm import renorm, renorm_
from ..ops.reduction import (
    all, amax, amin, any, count_nonzero, logsumexp, max, min, nanmean, nansum, prod, reduce_as, sum,
)
from ..ops.scatter import take
from ..ops.selection import multiplex
from ..ops.signal import istft, stft
from ..ops.special import (
    digamma, digamma_, erf, erfinv, erfinv_, gammainc, gammainc_, gammaincc, gammaincc_, gammaln, gammaln_, i0, i0_,
    i0e, i1, i1e, lgamma, lgamma_, multigammaln, multigammaln_, polygamma, polygamma_, sinc, sinc_,
)
