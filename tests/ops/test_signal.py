import numpy as np
import pytest
from scipy import signal as scipy_signal

import paddle

from _check import check_grad, compare

RNG = np.random.default_rng(0)


def test_frames():
    x = RNG.standard_normal((2, 9))
    want = np.stack([x[:, i : i + 4] for i in (0, 2, 4)], -1)
    compare(paddle.signal.frame(paddle.to_tensor(x), 4, 2), want)
    compare(paddle.signal.frame(paddle.to_tensor(x.T.copy()), 4, 2, axis=0), want.transpose(2, 1, 0))


def test_overlap_of_frames_counts_them():
    x = np.arange(1.0, 10)
    frames = paddle.signal.frame(paddle.to_tensor(x), 4, 1)
    compare(paddle.signal.overlap_add(frames, 1), x * np.minimum(np.minimum(np.arange(1, 10), np.arange(9, 0, -1)), 4))
    first = paddle.signal.frame(paddle.to_tensor(x), 4, 1, axis=0)
    compare(paddle.signal.overlap_add(first, 1, axis=0), paddle.signal.overlap_add(frames, 1).numpy())


def test_overlap_add_of_leading_frames_keeps_the_last_axes():
    x = RNG.standard_normal((3, 4, 2))
    want = np.zeros((8, 2))
    for i in range(3):
        want[2 * i : 2 * i + 4] += x[i]
    compare(paddle.signal.overlap_add(paddle.to_tensor(x), 2, axis=0), want)


def test_gradients():
    x = RNG.standard_normal(8)
    check_grad(lambda t: paddle.signal.frame(t, 3, 2) ** 2, x, order=2)
    check_grad(lambda t: paddle.signal.overlap_add(t.reshape([2, 4]), 1) ** 2, x)
    window = RNG.random(4)

    def f(t, w):
        spectrum = paddle.signal.stft(t, 4, 2, window=w)
        return paddle.signal.istft(spectrum * spectrum, 4, 2, window=w)

    check_grad(f, x, window, rtol=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"hop_length": 3},
        {"normalized": True},
        {"onesided": False},
        {"center": False},
        {"pad_mode": "constant"},
        {"window": True},
        {"win_length": 6},
        {"win_length": 5, "window": True},
        {"n_fft": 5},
        {"n_fft": 7, "hop_length": 3},
    ],
)
def test_stft_is_the_transform_of_windowed_frames(options):
    x = RNG.standard_normal((2, 32))
    n, win = options.get("n_fft", 8), options.get("win_length", options.get("n_fft", 8))
    window = RNG.random(win) if options.get("window") else None
    got = paddle.signal.stft(
        paddle.to_tensor(x), **{"n_fft": 8, **options, "window": None if window is None else paddle.to_tensor(window)}
    )
    full = np.zeros(n)
    full[(n - win) // 2 : (n - win) // 2 + win] = 1 if window is None else window
    if options.get("center", True):
        x = np.pad(x, [(0, 0), (n // 2, n // 2)], options.get("pad_mode", "reflect"))
    hop = options.get("hop_length", n // 4)
    frames = np.stack([x[:, i : i + n] * full for i in range(0, x.shape[1] - n + 1, hop)], -1)
    transform = np.fft.rfft if options.get("onesided", True) else np.fft.fft
    compare(got, transform(frames, axis=1, norm="ortho" if options.get("normalized") else None), 1e-9, 1e-9)


def test_stft_against_scipy():
    x, window = RNG.standard_normal(64), scipy_signal.get_window("hann", 16)
    want = scipy_signal.stft(x, window=window, nperseg=16, noverlap=12, boundary="even", padded=False)[2] * window.sum()
    compare(paddle.signal.stft(paddle.to_tensor(x), 16, window=paddle.to_tensor(window)), want, 1e-9, 1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"normalized": True},
        {"onesided": False},
        {"n_fft": 9, "hop_length": 2},
        {"win_length": 6, "window": True},
        {"window": True, "onesided": False, "return_complex": True},
    ],
)
def test_istft_brings_back(options):
    x = RNG.standard_normal((2, 32))
    options = {"n_fft": 8, "hop_length": 2, **options}
    if options.get("window"):
        options["window"] = paddle.to_tensor(RNG.random(options.get("win_length", 8)) + 0.1)
    spectrum = paddle.signal.stft(paddle.to_tensor(x), **{k: v for k, v in options.items() if k != "return_complex"})
    got = paddle.signal.istft(spectrum, **options)
    assert got.dtype.is_complex == options.get("return_complex", False)
    compare(got.astype("complex128"), x[:, : got.shape[1]], 1e-9, 1e-9)
    assert got.shape[1] >= 31
    assert paddle.signal.istft(spectrum, **options, length=20).shape == [2, 20]


def test_complex_signals_and_methods():
    x = RNG.standard_normal(16) + 1j * RNG.standard_normal(16)
    t = paddle.to_tensor(x)
    spectrum = t.stft(8, 2)
    assert spectrum.shape == [8, 9]
    compare(spectrum.istft(8, 2, onesided=False, return_complex=True), x, 1e-9, 1e-9)


def test_types():
    x = paddle.arange(32)
    assert paddle.signal.stft(x, 8).dtype is paddle.complex64
    assert paddle.signal.stft(x.astype("float16"), 8).dtype is paddle.complex64
    assert paddle.signal.stft(x.astype("float32"), 8, window=paddle.ones([8], "float64")).dtype is paddle.complex128
    assert paddle.signal.stft(paddle.zeros([0, 32]), 8).shape == [0, 5, 17]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: paddle.signal.frame(x, 33, 1),
        lambda x: paddle.signal.frame(x, 0, 1),
        lambda x: paddle.signal.frame(x, 4, 0),
        lambda x: paddle.signal.frame(x, 4, 1, axis=1),
        lambda x: paddle.signal.frame(x[0, 0], 1, 1),
        lambda x: paddle.signal.frame(x, 2.5, 1),
        lambda x: paddle.signal.overlap_add(x[0], 1),
        lambda x: paddle.signal.overlap_add(x, 3),
        lambda x: paddle.signal.overlap_add(x, 1, axis=1),
        lambda x: paddle.signal.stft(x, 33),
        lambda x: paddle.signal.stft(x, 0),
        lambda x: paddle.signal.stft(x, 8, 0),
        lambda x: paddle.signal.stft(x, 8, win_length=9),
        lambda x: paddle.signal.stft(x, 8, window=paddle.ones([6])),
        lambda x: paddle.signal.stft(x, 8, pad_mode="replicate"),
        lambda x: paddle.signal.stft(x.unsqueeze(0), 8),
        lambda x: paddle.signal.stft(x.astype("complex64"), 8, onesided=True),
    ],
)
def test_wrong_arguments(call):
    with pytest.raises(ValueError):
        call(paddle.ones([2, 32]))


@pytest.mark.parametrize(
    "options",
    [
        {"n_fft": 10},
        {"onesided": False},
        {"hop_length": 9},
        {"hop_length": 0},
        {"win_length": 9},
        {"length": 0},
        {"return_complex": True},
        {"window": paddle.ones([6])},
        {"window": paddle.zeros([8])},
        {"window": paddle.ones([8], "complex64")},
    ],
)
def test_wrong_arguments_of_the_inverse(options):
    with pytest.raises(ValueError):
        paddle.signal.istft(paddle.ones([5, 17], "complex64"), **{"n_fft": 8, "hop_length": 2, **options})
    with pytest.raises(ValueError):
        paddle.signal.istft(paddle.ones([5, 1], "complex64"), 8, 2)  # nothing is left between the paddings
