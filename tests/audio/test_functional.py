"""Windows, scales, filters, against SciPy and numbers recorded from the official package 3.3.1."""

import doctest
import importlib

import numpy as np
import pytest
from scipy.signal import get_window as scipy_window

import paddle

F = paddle.audio.functional


@pytest.mark.parametrize(
    "window",
    [
        "hann",
        "hamming",
        "blackman",
        "bohman",
        "nuttall",
        "cosine",
        "tukey",
        "taylor",
        "triang",
        "bartlett",
        ("kaiser", 4.0),
        ("gaussian", 1.5),
        ("general_gaussian", 1.5, 2.0),
        ("exponential", None, 1.5),
        ("tukey", 0.3),
        ("tukey", 0.0),
        ("taylor", 6, 40.0, False),
        ("general_hamming", 0.6),
        ("general_cosine", [0.5, 0.3, 0.2]),
    ],
    ids=str,
)
@pytest.mark.parametrize("points", [1, 2, 7, 8])
def test_windows(window, points):
    for periodic in (True, False):
        want = scipy_window(window, points, fftbins=periodic)
        got = F.get_window(window, points, fftbins=periodic)
        assert got.dtype is paddle.float64 and np.allclose(got.numpy(), want, atol=1e-12)


def test_official_values_where_scipy_differs_or_says_nothing():
    assert np.allclose(
        F.get_window(("exponential", 1, 1.5), 8).numpy(),
        [0.5134171, 1.0, 0.5134171, 0.2635971, 0.1353353, 0.0694835, 0.035674, 0.0183156],
        atol=1e-6,
    )
    assert F.get_window("hann", 0).shape == [0] and F.get_window("hann", 4, dtype="float32").dtype is paddle.float32


@pytest.mark.parametrize(
    "window, length, words",
    [
        ("nope", 8, "nope"),
        (3.0, 8, "no window"),
        ((), 8, "no window"),
        ("gaussian", 8, "needs 1"),
        ("general_gaussian", 8, "needs 2"),
        ("hann", -1, "non-negative"),
        ("hann", 2.5, "non-negative"),
        (("gaussian", 0.0), 8, "positive"),
        (("exponential", None, -1.0), 8, "positive"),
        (("taylor", 0), 8, "nbar"),
    ],
)
def test_window_errors(window, length, words):
    with pytest.raises(ValueError, match=words):
        F.get_window(window, length)
    with pytest.raises(ValueError, match="middle"):
        F.get_window(("exponential", 1, 1.0), 8, fftbins=False)


@pytest.mark.parametrize(
    "htk, mels", [(False, [0.0, 6.6, 15.0, 35.1637603]), (True, [0.0, 549.6386754, 999.9855371, 2146.0645275])]
)
def test_mel_scale(htk, mels):
    hertz = [0.0, 440.0, 1000.0, 4000.0]
    assert np.allclose([F.hz_to_mel(h, htk) for h in hertz], mels)
    for dtype, rtol in (("float32", 1e-5), ("float64", 1e-9)):
        x = paddle.to_tensor(hertz, dtype=dtype)
        got = F.hz_to_mel(x, htk)
        assert got.dtype == x.dtype and np.allclose(got.numpy(), mels, rtol=1e-6 if dtype == "float32" else 1e-8)
        assert np.allclose(F.mel_to_hz(got, htk).numpy(), hertz, rtol=rtol, atol=1e-3)
    assert np.allclose(F.mel_to_hz(F.hz_to_mel(5000.0, htk), htk), 5000.0)
    assert F.hz_to_mel(paddle.to_tensor([440]), htk).dtype is paddle.float32


def test_frequencies():
    assert np.allclose(
        F.mel_frequencies(6).numpy(), [0, 665.47455, 1406.7754, 2794.3193, 5550.438, 11024.999], rtol=1e-6
    )
    want = [20.0, 347.81731, 824.8904376, 1519.1758283, 2529.5706205, 4000.0]
    assert np.allclose(F.mel_frequencies(6, 20.0, 4000.0, True, "float64").numpy(), want, rtol=1e-7)
    assert F.mel_frequencies(0).shape == [0]
    assert np.allclose(F.fft_frequencies(8000, 15).numpy(), np.linspace(0, 4000, 8))


@pytest.mark.parametrize(
    "arguments, at7, total",
    [
        (dict(), 0.0012188, 0.0639053),
        (dict(htk=True), 2.3506433e-03, 0.0635073),
        (dict(norm=None), 0.3561963, 27.154158),
        (dict(norm=1.0), 0.1550629, 8.0),
        (dict(norm=2), 0.2899272, 17.567867),
        (dict(f_min=100.0, f_max=3000.0), 0.0023685, 0.0638691),
    ],
)
def test_filter_bank(arguments, at7, total):
    bank = F.compute_fbank_matrix(8000, 64, n_mels=8, **arguments).numpy()
    assert bank.shape == (8, 33) and np.isclose(bank[3, 7], at7, rtol=1e-4) and np.isclose(bank.sum(), total, rtol=1e-5)


def test_decibels_and_cosines():
    x = paddle.to_tensor([1e-12, 1.0, 100.0, 1e4])
    for arguments, want in (
        (dict(), [-40, 0, 20, 40]),
        (dict(ref_value=10.0), [-50, -10, 10, 30]),
        (dict(amin=1e-2), [-20, 0, 20, 40]),
        (dict(top_db=10.0), [30, 30, 30, 40]),
        (dict(top_db=None), [-100, 0, 20, 40]),
    ):
        assert np.allclose(F.power_to_db(x, **arguments).numpy(), want, atol=1e-4)
    assert F.power_to_db(paddle.zeros([0])).shape == [0]
    dct = F.create_dct(8, 8, dtype="float64").numpy()
    assert np.allclose(dct.T @ dct, np.eye(8)) and np.allclose(
        F.create_dct(4, 8, None).numpy()[0], [2, 1.9615705, 1.847759, 1.6629392]
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.power_to_db(paddle.ones([2]), amin=0.0),
        lambda: F.power_to_db(paddle.ones([2]), ref_value=-1.0),
        lambda: F.power_to_db(paddle.ones([2]), top_db=-1.0),
        lambda: F.create_dct(4, 8, "foo"),
        lambda: F.create_dct(0, 8),
        lambda: F.compute_fbank_matrix(8000, 64, norm="foo"),
        lambda: F.compute_fbank_matrix(8000, 64, f_min=5000.0, f_max=1000.0),
        lambda: F.mel_frequencies(-1),
        lambda: F.fft_frequencies(8000, 0),
    ],
)
def test_errors(call):
    with pytest.raises(ValueError):
        call()


@pytest.mark.parametrize(
    "name",
    [
        "audio.functional.functional",
        "audio.functional.window",
        "audio.features.layers",
        "audio.backends.init_backend",
        "text.viterbi_decode",
    ],
)
def test_examples(name):
    module = importlib.import_module("paddle." + name)
    found = doctest.testmod(module, extraglobs={"paddle": paddle})
    assert found.attempted and not found.failed
