import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import fft as scipy_fft

import paddle

from _check import check_grad, compare

KINDS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
COMPLEX_IN = {"fft", "ifft", "irfft", "hfft"}


def signal(name, *shape, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if name.rstrip("n2") in COMPLEX_IN else x


def check(name, x, **options):
    compare(
        getattr(paddle.fft, name)(paddle.to_tensor(x), **options), getattr(scipy_fft, name)(x, **options), 1e-10, 1e-10
    )


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(
    "options", [{}, {"n": 3}, {"n": 8}, {"axis": 0}, {"norm": "ortho"}, {"n": 5, "norm": "forward"}]
)
def test_along_one_axis(name, options):
    check(name, signal(name, 4, 5), **options)


@pytest.mark.parametrize("name", [k + "n" for k in KINDS])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"s": (3, 6)},
        {"axes": (0, 2)},
        {"s": (2, 5), "axes": (2, 0)},
        {"axes": (-1,)},
        {"norm": "ortho"},
        {"norm": "forward", "axes": (1, 0)},
    ],
)
def test_along_several_axes(name, options):
    check(name, signal(name, 2, 3, 4), **options)


@pytest.mark.parametrize("name", [k + "2" for k in KINDS])
def test_along_two_axes(name):
    check(name, signal(name, 2, 3, 4))


def test_more_axes_than_the_kernel_takes_at_once():
    x = signal("fft", 2, 3, 2, 3, 2)
    compare(paddle.fft.fftn(paddle.to_tensor(x)), np.fft.fftn(x), 1e-10, 1e-10)
    compare(paddle.fft.irfftn(paddle.to_tensor(x)), scipy_fft.irfftn(x), 1e-10, 1e-10)


@settings(max_examples=15, deadline=None)
@given(n=st.integers(1, 9), norm=st.sampled_from(["backward", "ortho", "forward"]), seed=st.integers(0, 99))
def test_inverse_brings_back(n, norm, seed):
    x = np.random.default_rng(seed).standard_normal((2, n))
    t = paddle.to_tensor(x)
    compare(paddle.fft.irfft(paddle.fft.rfft(t, norm=norm), n=n, norm=norm), x, 1e-9, 1e-9)
    compare(paddle.fft.hfft(paddle.fft.ihfft(t, norm=norm), n=n, norm=norm), x, 1e-9, 1e-9)


@pytest.mark.parametrize(
    "given, complex_type, real_type",
    [
        ("float16", "complex64", "float32"),
        ("bfloat16", "complex64", "float32"),
        ("float32", "complex64", "float32"),
        ("float64", "complex128", "float64"),
        ("int32", "complex64", "float32"),
        ("bool", "complex64", "float32"),
    ],
)
def test_types(given, complex_type, real_type):
    x = paddle.ones([4], dtype=given)
    assert paddle.fft.rfft(x).dtype.name == paddle.fft.ifft(x).dtype.name == complex_type
    assert paddle.fft.irfft(x).dtype.name == real_type


def test_integers_follow_the_default_type():
    paddle.set_default_dtype("float64")
    assert paddle.fft.fft(paddle.to_tensor([1, 2])).dtype is paddle.complex128
    assert paddle.fft.fftfreq(3).dtype is paddle.float64


@pytest.mark.parametrize("name", KINDS)
def test_first_and_second_gradients(name):
    def f(re, im):
        x = paddle.complex(re, im) if name in COMPLEX_IN else re * im
        out = getattr(paddle.fft, name)(x, n=5, norm="ortho")
        out = paddle.as_real(out) if out.dtype.is_complex else out
        return out * out * out

    check_grad(f, signal("r", 4), signal("r", 4, seed=1), order=2, rtol=1e-4)


def test_gradient_of_a_complex_input_points_uphill():
    x = paddle.to_tensor(signal("fft", 4), stop_gradient=False)
    (paddle.fft.fft(x, norm="ortho").abs() ** 2).sum().backward()  # the sum of |x|^2, whose gradient is 2 x
    compare(x.grad, 2 * x.numpy(), 1e-10, 1e-10)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: paddle.fft.fft(x, n=0), ValueError),
        (lambda x: paddle.fft.fft(x, n=-3), ValueError),
        (lambda x: paddle.fft.fft(x, n=2.5), ValueError),
        (lambda x: paddle.fft.fft(x, axis=2), ValueError),
        (lambda x: paddle.fft.fft(x, axis=(0,)), ValueError),
        (lambda x: paddle.fft.fft(x, norm="none"), ValueError),
        (lambda x: paddle.fft.fft(x, norm=None), ValueError),
        (lambda x: paddle.fft.fft(x[0, 0]), ValueError),
        (lambda x: paddle.fft.fftn(x[0, 0]), ValueError),
        (lambda x: paddle.fft.fft([1.0]), TypeError),
        (lambda x: paddle.fft.rfft(x.astype("complex64")), TypeError),
        (lambda x: paddle.fft.fft2(x[0]), ValueError),
        (lambda x: paddle.fft.fft2(x, s=(2,)), ValueError),
        (lambda x: paddle.fft.fft2(x, axes=(1,)), ValueError),
        (lambda x: paddle.fft.fftn(x, axes=(0, 0)), ValueError),
        (lambda x: paddle.fft.fftn(x, axes=(0, -2)), ValueError),
        (lambda x: paddle.fft.fftn(x, s=(2, 2, 2)), ValueError),
        (lambda x: paddle.fft.fftn(x, s=(2,), axes=(0, 1)), ValueError),
        (lambda x: paddle.fft.fftn(x, s=(0, 2)), ValueError),
        (lambda x: paddle.fft.fftn(x, s=2), ValueError),
        (lambda x: paddle.fft.fftn(x, axes=1), ValueError),
        (lambda x: paddle.fft.irfft(paddle.zeros([0])), ValueError),
        (lambda x: paddle.fft.rfftn(x, axes=[]), ValueError),
        (lambda x: paddle.fft.fftfreq(0), ValueError),
        (lambda x: paddle.fft.fftfreq(3, 0.0), ValueError),
        (lambda x: paddle.fft.rfftfreq(3, dtype="int32"), TypeError),
        (lambda x: paddle.fft.fftshift(x, axes=2), ValueError),
    ],
)
def test_wrong_arguments(call, error):
    with pytest.raises(error):
        call(paddle.ones([2, 3]))


def test_empty():
    empty = paddle.zeros([0, 3])
    assert paddle.fft.fft(empty).shape == [0, 3] and paddle.fft.rfft(empty).shape == [0, 2]
    assert paddle.fft.irfft(empty).shape == [0, 4]
    compare(paddle.fft.fft(paddle.zeros([2, 0]), n=3), np.zeros((2, 3)))
    assert paddle.fft.irfft(paddle.ones([1])).shape == [0]


@pytest.mark.parametrize("n", [1, 4, 5])
def test_frequencies(n):
    compare(paddle.fft.fftfreq(n, 0.3), np.fft.fftfreq(n, 0.3).astype("float32"))
    compare(paddle.fft.rfftfreq(n, 0.3, dtype="float64"), np.fft.rfftfreq(n, 0.3), 1e-14)
    assert not paddle.fft.fftfreq(n, requires_grad=True).stop_gradient


@pytest.mark.parametrize("axes", [None, 0, -1, [1], (0, 1), [-2], []])
def test_shifts(axes):
    x = np.arange(15).reshape(3, 5)
    compare(paddle.fft.fftshift(paddle.to_tensor(x), axes), np.fft.fftshift(x, axes))
    compare(paddle.fft.ifftshift(paddle.to_tensor(x), axes=axes), np.fft.ifftshift(x, axes))


def test_shift_has_a_gradient_and_takes_a_scalar():
    check_grad(lambda x: paddle.fft.fftshift(x) ** 2, np.arange(6.0).reshape(2, 3))
    assert paddle.fft.fftshift(paddle.to_tensor(2.0)).item() == 2.0


def test_other_keyword_names_and_out():
    x, out = paddle.ones([2, 3]), paddle.zeros([2, 3], "complex64")
    compare(paddle.fft.fft(input=x, dim=0), np.fft.fft(np.ones((2, 3)), axis=0))
    compare(paddle.fft.fftn(x, dim=[0]), np.fft.fftn(np.ones((2, 3)), axes=[0]))
    assert paddle.fft.fft(x, out=out) is out
    compare(out, np.fft.fft(np.ones((2, 3))))
