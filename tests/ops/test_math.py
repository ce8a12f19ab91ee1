import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle

from _check import check_grad, compare

nan, inf = math.nan, math.inf
A, B = np.array([[0.7, -1.3, 2.1]]), np.array([[1.4], [-0.6]])

# name: (the same function of NumPy, two operands whose shapes broadcast)
SMOOTH = {
    "add": (np.add, A, B),
    "subtract": (np.subtract, A, B),
    "multiply": (np.multiply, A, B),
    "divide": (np.divide, A, B),
    "remainder": (np.remainder, A, B),
    "pow": (np.power, np.abs(A), B),
    "maximum": (np.maximum, A, B),
    "minimum": (np.minimum, A, B),
    "fmax": (np.fmax, A, B),
    "fmin": (np.fmin, A, B),
    "hypot": (np.hypot, A, B),
    "atan2": (np.arctan2, A, B),
    "logaddexp": (np.logaddexp, A, B),
    "copysign": (np.copysign, A, B),
    "heaviside": (np.heaviside, A, B),
    "ldexp": (lambda x, y: x * 2.0**y, A, B),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_values_and_gradients(name):
    reference, a, b = SMOOTH[name]
    function = getattr(paddle, name)
    compare(function(paddle.to_tensor(a), paddle.to_tensor(b)), reference(a, b), rtol=1e-12, atol=1e-14)
    check_grad(function, a, b, order=1 if name == "heaviside" else 2, rtol=1e-4)


@pytest.mark.parametrize("name", SMOOTH)
def test_empty_and_scalar_shapes(name):
    function = getattr(paddle, name)
    assert function(paddle.zeros([2, 0, 3]), paddle.ones([1, 3])).shape == [2, 0, 3]
    out = function(paddle.to_tensor(1.5, dtype="bfloat16"), paddle.to_tensor(2.0, dtype="bfloat16"))
    assert out.shape == [] and out.dtype == (paddle.float32 if name == "ldexp" else paddle.bfloat16)
    with pytest.raises(ValueError, match=name):
        function(paddle.ones([2, 3]), paddle.ones([2, 4]))


def test_operators_of_python():
    x, a = paddle.to_tensor([1.5, -2.5]), np.array([1.5, -2.5], "float32")
    with np.errstate(invalid="ignore"):
        power = a**a
    for got, want in (
        (x + 2, a + 2),
        (2 + x, 2 + a),
        (x - 2, a - 2),
        (2 - x, 2 - a),
        (x * 3, a * 3),
        (3 * x, 3 * a),
        (x / 2, a / 2),
        (3 / x, 3 / a),
        (x // 2, a // 2),
        (3 // x, 3 // a),
        (x % 2, a % 2),
        (3 % x, 3 % a),
        (x**2, a**2),
        (2**x, 2**a),
        (x**x, power),
    ):
        compare(got, want)


def test_augmented_operators_make_new_tensors():
    x = alias = paddle.to_tensor([5, 7])
    x += 1
    x //= 2
    x **= 2
    x %= 4
    assert x.tolist() == [1, 0] and alias.tolist() == [5, 7] and x is not alias


def test_in_place_forms():
    x = paddle.to_tensor([1.0, 3.0])
    steps = [
        (lambda: x.add_(paddle.ones([2])), [2.0, 4.0]),
        (lambda: x.subtract_(3), [-1.0, 1.0]),
        (lambda: x.multiply_(x + 4), [-3.0, 5.0]),
        (lambda: x.divide_(2), [-1.5, 2.5]),
        (lambda: x.remainder_(2), [0.5, 0.5]),
        (lambda: x.pow_(2), [0.25, 0.25]),
        (lambda: x.clip_(0.5, 5.0), [0.5, 0.5]),
        (lambda: x.scale_(2.0, 1.0), [2.0, 2.0]),
        (lambda: x.floor_divide_(1.5), [1.0, 1.0]),
    ]
    for step, want in steps:
        assert step() is x and x.tolist() == want
    with pytest.raises(ValueError, match="does not fit in place"):
        paddle.ones([3]).add_(paddle.ones([2, 3]))


def test_in_place_forms_take_the_type_of_the_result():
    i = paddle.to_tensor([1, 2])
    assert i.divide_(paddle.to_tensor([2, 2])).dtype == paddle.float32 and i.tolist() == [0.5, 1.0]
    base = paddle.to_tensor([1.0, 2.0])
    part = base[:1]
    part.multiply_(paddle.to_tensor([1j]))
    assert part.dtype == paddle.complex64 and base.dtype == paddle.float32 and base.tolist() == [1.0, 2.0]
    x = paddle.to_tensor([1.0, 4.0], stop_gradient=False)
    y = (x * 1).multiply_(paddle.to_tensor([2.0, 2.0], dtype="float64"))
    y.sum().backward()
    assert y.dtype == paddle.float64 and x.grad.dtype == paddle.float32 and x.grad.tolist() == [2.0, 2.0]


def test_alpha_and_rounding_mode():
    x, y = paddle.to_tensor([5.0, -7.0]), paddle.to_tensor([2.0, 2.0])
    assert paddle.add(x, y, alpha=3).tolist() == [11.0, -1.0]
    assert paddle.subtract(x, y, alpha=0.5).tolist() == [4.0, -8.0]
    assert paddle.divide(x, y, rounding_mode="floor").tolist() == [2.0, -4.0]
    assert paddle.divide(x, y, rounding_mode="trunc").tolist() == [2.0, -3.0]
    i = paddle.divide(paddle.to_tensor([5, -7]), paddle.to_tensor([2, 2]), rounding_mode="trunc")
    assert i.dtype == paddle.int64 and i.tolist() == [2, -3]
    with pytest.raises(ValueError, match="rounding_mode"):
        paddle.divide(x, y, rounding_mode="ceil")


def test_keyword_names_and_out():
    x, out = paddle.to_tensor([1.0]), paddle.zeros([1])
    assert paddle.add(input=x, other=x, out=out) is out and out.tolist() == [2.0]
    assert paddle.pow(x + 1, exponent=3).tolist() == [8.0] and paddle.clamp(input=x, max=0.5).tolist() == [0.5]


@settings(max_examples=40, deadline=None)
@given(st.integers(-9, 9), st.integers(-9, 9).filter(bool))
def test_integer_division_rounds_down(a, b):
    x, y = paddle.to_tensor([a]), paddle.to_tensor([b])
    assert (x // y).tolist() == [a // b] and (x % y).tolist() == [a % b]
    assert ((x // y) * y + x % y).tolist() == [a]


def test_division_of_special_floats():
    x, y = np.array([0.3, -1, 1, nan, 5, -5, inf], "float32"), np.array([0.1, inf, 0, 1, -2, 2, 2], "float32")
    compare(paddle.to_tensor(x) // paddle.to_tensor(y), [3.0, -1.0, inf, nan, -3.0, -3.0, nan])
    compare(paddle.to_tensor(x) % paddle.to_tensor(y), [0.0, inf, nan, nan, -1.0, 1.0, nan])
    compare(paddle.to_tensor([1, -1]) / paddle.to_tensor([0, 0]), [inf, -inf])


def test_integer_division_by_zero_is_an_error():
    x = paddle.to_tensor([1, 2])
    for divide in (
        lambda: x // 0,
        lambda: x % paddle.to_tensor([1, 0]),
        lambda: 5 // paddle.to_tensor([0]),
        lambda: paddle.divide(x, paddle.to_tensor([0]), rounding_mode="trunc"),
    ):
        with pytest.raises(ValueError, match="integer division by zero"):
            divide()


def test_division_by_false_is_an_error():
    x = paddle.to_tensor([True, False])
    for call in (lambda: 3 // x, lambda: 3 % x, lambda: x // x):
        with pytest.raises(ValueError, match="integer division by zero"):
            call()


def test_no_gradient_through_floor_divide():
    x = paddle.to_tensor([5.0], stop_gradient=False)
    assert (x // 2).stop_gradient


def test_pow_at_its_edges():
    x = paddle.to_tensor([-2.0, 0.0, 2.0], stop_gradient=False)
    cases = [
        (2, [4, 0, 4], [-4, 0, 4]),
        (0, [1, 1, 1], [0, 0, 0]),
        (1.0, [-2, 0, 2], [1, 1, 1]),
        (-1, [-0.5, inf, 0.5], [-0.25, -inf, -0.25]),
        (0.5, [nan, 0, 2**0.5], [nan, inf, 2**-1.5]),
    ]
    for exponent, value, gradient in cases:
        y = x**exponent
        compare(y, value)
        compare(paddle.grad(y.sum(), x)[0], gradient)
    a, b = (paddle.to_tensor(v, stop_gradient=False) for v in ([0.0, 0.0, -2.0, 2.0], [0.0, 2.0, 2.0, -1.0]))
    gradients = paddle.grad((a**b).sum(), [a, b])
    compare(gradients[0], [0.0, 0.0, -4.0, -0.25])
    compare(gradients[1], [0.0, 0.0, nan, 0.5 * math.log(2)])


def test_pow_of_integers():
    i = paddle.to_tensor([2, -3])
    assert (i**2).dtype == paddle.int64 and (i**2).tolist() == [4, 9] and (i**31).tolist() == [2**31, -(3**31)]
    assert (i**2.0).dtype == paddle.float32
    assert (i ** paddle.to_tensor([3, 0])).tolist() == [8, 1]
    assert (2 ** i.abs()).tolist() == [4, 8]
    for power in (lambda: i**-1, lambda: 2**i, lambda: i ** paddle.to_tensor([1, -1])):
        with pytest.raises(ValueError, match="negative integers"):
            power()


def test_changing_exponents_do_not_compile_again():
    x = paddle.ones([3])
    x**2.25, x + 0.5, x * 0.5
    with paddle.utils.count_compiles() as counter:
        for number in (2.5, 3.75, 1e3):
            x**number, x + number, x * number
    assert counter.compiles == 0


def test_complex_arithmetic():
    a, b = np.array([1 + 2j, 3 - 1j], "complex64"), np.array([2 - 1j, 1j], "complex64")
    x, y = paddle.to_tensor(a, stop_gradient=False), paddle.to_tensor(b, stop_gradient=False)
    for got, want in ((x * y, a * b), (x / y, a / b), (x**2, a**2), (x**y, a**b)):
        compare(got, want)
    # dL/dx = g conj(y) for the loss whose gradient at x * y is g, here 1
    gradients = paddle.grad((x * y).real().sum(), [x, y])
    compare(gradients[0], b.conj())
    compare(gradients[1], a.conj())


def test_complex_remainder_rounds_the_quotient():
    x, y = paddle.to_tensor([1 + 2j, 3 - 1j, -2.5 + 4j, 1j]), paddle.to_tensor([2 + 0j, 1 + 1j, -1 + 2j, 2 - 3j])
    np.testing.assert_allclose((x % y).numpy(), [-1, 0, -0.5, 1j], atol=1e-6)  # official
    np.testing.assert_allclose((x % 2).numpy(), [-1, -1 + 1j, -0.5, -1j], atol=1e-6)
    assert (x % paddle.to_tensor(2.5, "float64")).dtype == paddle.complex128


def test_powers_of_complex_zeros():
    zero = paddle.to_tensor([0j])
    assert (zero ** (1 + 2j)).tolist() == (zero**0.5).tolist() == [0j]
    assert (paddle.to_tensor([0.0, 1.0]) ** (1 + 2j)).tolist() == [0j, 1 + 0j]


def test_ldexp_of_complex_numbers_is_an_error():
    with pytest.raises(TypeError, match="ldexp: x and y must be real"):
        paddle.ldexp(paddle.to_tensor([1j]), paddle.to_tensor([1]))


def test_ties_and_nan_of_maximum_and_minimum():
    a, b = ([1.0, 2.0, nan, 1.0], [1.0, 5.0, 1.0, nan])
    want = {
        "maximum": ([1, 5, nan, nan], [0.5, 0, 0, 0], [0.5, 1, 0, 0]),
        "minimum": ([1, 2, nan, nan], [0.5, 1, 0, 0], [0.5, 0, 0, 0]),
        "fmax": ([1, 5, 1, 1], [1, 0, 0, 1], [0, 1, 1, 0]),
        "fmin": ([1, 2, 1, 1], [1, 1, 0, 1], [0, 0, 1, 0]),
    }
    for name, (value, dx, dy) in want.items():
        x, y = paddle.to_tensor(a, stop_gradient=False), paddle.to_tensor(b, stop_gradient=False)
        z = getattr(paddle, name)(x, y)
        compare(z, value)
        gradients = paddle.grad(z.sum(), [x, y])
        compare(gradients[0], dx)
        compare(gradients[1], dy)


def test_clip():
    x = paddle.to_tensor([-1.5, -1.0, 0.5, 1.0, 3.0, nan], stop_gradient=False)
    y = paddle.clip(x, -1.0, 1.0)
    compare(y, [-1.0, -1.0, 0.5, 1.0, 1.0, nan])
    assert paddle.grad(y.sum(), x)[0].tolist()[:5] == [0.0, 1.0, 1.0, 1.0, 0.0]
    compare(x.clip(max=0.0), [-1.5, -1.0, 0.0, 0.0, 0.0, nan])
    i = paddle.to_tensor([1, 5, 9])
    assert paddle.clip(i, 2, 6).tolist() == [2, 5, 6] and paddle.clip(i).tolist() == [1, 5, 9]
    compare(paddle.clip(i, 2.7, 6.2), np.array([2.7, 5.0, 6.2], "float32"))
    compare(paddle.clip(i, paddle.to_tensor(2.5)), np.array([2.5, 5.0, 9.0], "float32"))
    assert paddle.clip(paddle.to_tensor([5.0], dtype="float64"), paddle.to_tensor([6.0])).dtype == paddle.float64
    for low, high in ((2, 1), (nan, 1), (paddle.to_tensor(3.0), 2.0)):
        with pytest.raises(ValueError, match="min must not exceed max"):
            paddle.clip(x, low, high)
    with pytest.raises(ValueError, match="one element"):
        paddle.clip(x, paddle.zeros([2]))
    with pytest.raises(TypeError, match="min must be a number"):
        paddle.clip(x, "a")


def test_scale():
    x = paddle.to_tensor([1.0, -2.0])
    assert paddle.scale(x, 2.0, 1.0).tolist() == [3.0, -3.0]
    assert paddle.scale(x, 2.0, 1.0, False).tolist() == [4.0, -2.0]
    assert paddle.scale(x, paddle.to_tensor([3.0])).tolist() == [3.0, -6.0]
    assert paddle.scale(x, act="relu").tolist() == [1.0, 0.0]
    assert paddle.scale(paddle.to_tensor([1, 2]), 2.5, 1.5).tolist() == [3, 5]  # integer factors, as officially
    with pytest.raises(ValueError, match="one element"):
        paddle.scale(x, x)
    with pytest.raises(ValueError, match="act must name"):
        paddle.scale(x, act="no_such_function")


def test_increment():
    x = paddle.to_tensor([3.0])
    assert paddle.increment(x, 2.5) is x and x.tolist() == [5.5]
    assert paddle.increment(paddle.to_tensor(3), 2.5).tolist() == 5
    with pytest.raises(ValueError, match="one element"):
        paddle.increment(paddle.zeros([2]))


def test_lerp():
    x, y = paddle.zeros([2]), paddle.to_tensor([1.0, 3.0])
    assert paddle.lerp(x, y, 0.25).tolist() == [0.25, 0.75]
    check_grad(paddle.lerp, A, A * A, B, order=2, rtol=1e-4)


def test_hypot_neither_overflows_nor_has_nan_gradients():
    compare(paddle.hypot(paddle.to_tensor([3e30]), paddle.to_tensor([4e30])), [5e30])
    x = paddle.to_tensor([0.0], stop_gradient=False)
    assert paddle.grad(paddle.hypot(x, paddle.zeros([1])), x)[0].tolist() == [0.0]


def test_atan2_logaddexp_and_hypot_of_integers():
    i = paddle.to_tensor([1])
    assert paddle.atan2(i, i).dtype == paddle.float64
    assert paddle.logaddexp(i, i).dtype == paddle.hypot(i, i).dtype == paddle.float32
    x, y = paddle.to_tensor([-inf, inf, -1000.0]), paddle.to_tensor([-inf, inf, 3.0])
    compare(paddle.logaddexp(x, y), [-inf, inf, 3.0])


def test_copysign_nextafter_heaviside():
    x = paddle.to_tensor([1.0, 0.0, -2.0], stop_gradient=False)
    y = paddle.copysign(x, paddle.to_tensor([-0.0, 1.0, -3.0]))
    assert y.tolist() == [-1.0, 0.0, -2.0] and paddle.grad(y.sum(), x)[0].tolist() == [-1.0, 0.0, 1.0]
    assert paddle.copysign(x, -2.0).tolist()[0] == -1.0
    assert paddle.copysign(paddle.to_tensor([1, 2]), paddle.to_tensor([-1, 1])).tolist() == [-1, 2]
    a, b = np.array([1, 0, -1, 2], "float32"), np.array([2, 1, -2, 2], "float32")
    assert paddle.nextafter(paddle.to_tensor(a), paddle.to_tensor(b)).numpy().tobytes() == np.nextafter(a, b).tobytes()
    assert paddle.heaviside(paddle.to_tensor([-1, 0, 1]), paddle.to_tensor([5, 5, 5])).tolist() == [0, 5, 1]


def test_ldexp():
    out = paddle.ldexp(paddle.to_tensor([1, 2, 1]), paddle.to_tensor([3, -1, 120]))
    assert out.dtype == paddle.float32 and out.tolist() == [8.0, 1.0, 2.0**120]
    assert paddle.ldexp(paddle.to_tensor([1.0], dtype="float64"), paddle.to_tensor([3])).dtype == paddle.float64


@settings(max_examples=30, deadline=None)
@given(st.integers(-60, 60), st.integers(-60, 60))
def test_gcd_and_lcm(a, b):
    x, y = paddle.to_tensor([a]), paddle.to_tensor([b])
    assert paddle.gcd(x, y).tolist() == [math.gcd(a, b)] and paddle.lcm(x, y).tolist() == [math.lcm(a, b)]


def test_gcd_broadcasts_and_wants_integers():
    assert paddle.gcd(paddle.to_tensor([12, 18]), paddle.to_tensor([[4], [9]])).tolist() == [[4, 2], [3, 9]]
    assert paddle.gcd(paddle.zeros([0], "int64"), paddle.to_tensor([3])).shape == [0]
    with pytest.raises(TypeError, match="gcd: the operands must be integers"):
        paddle.gcd(paddle.ones([1]), paddle.ones([1]))


def test_gradients_of_broadcast_operands_are_summed():
    x, y = paddle.ones([2, 1, 3]), paddle.ones([4, 1])
    x.stop_gradient = y.stop_gradient = False
    gradients = paddle.grad((x * y * 2).sum(), [x, y])
    assert gradients[0].shape == [2, 1, 3]
    assert gradients[0].tolist() == [[[8.0] * 3]] * 2
    assert gradients[1].tolist() == [[12.0]] * 4


def test_gradient_of_remainder_for_equal_operands():
    x, y = (
        (np.cos(np.arange(24.0)) * 0.4 + 0.5).reshape(2, 12),
        paddle.to_tensor(np.cos(np.arange(12, 24.0)) * 0.4 + 0.5),
    )
    y.stop_gradient = False
    (paddle.to_tensor(x)[1:] % y).sum().backward()
    compare(y.grad, np.full(12, -1.0))
