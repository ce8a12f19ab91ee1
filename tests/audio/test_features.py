"""Layers of spectral features: numbers recorded from the official package 3.3.1, gradients, compiled functions."""

import numpy as np
import pytest

import paddle

from _check import check_grad

L = paddle.audio.features
MELS = dict(sr=8000, n_fft=64, hop_length=32, n_mels=8, f_min=20.0)


def test_spectrogram_is_the_transform_of_the_frames():
    x = np.random.RandomState(0).randn(2, 256)
    got = L.Spectrogram(64, 32, power=2.0, center=False, dtype="float64")(paddle.to_tensor(x)).numpy()
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(64) / 64)
    frames = np.stack([x[:, i : i + 64] * window for i in range(0, 193, 32)], 1)
    assert np.allclose(got, np.abs(np.fft.rfft(frames)).transpose(0, 2, 1) ** 2)


def test_official_values():
    rng = np.random.RandomState(0)
    rng.rand(2, 50)
    x = paddle.to_tensor(rng.randn(2, 400).astype("float32"))
    first = lambda t: t.numpy().ravel()[:4]  # noqa: E731
    one = L.Spectrogram(n_fft=64, pad_mode="constant")(x)
    assert one.shape == [2, 33, 1] and np.allclose(first(one), [5.9547806, 5.3478293, 3.8107646, 1.8000638], rtol=1e-5)
    one = L.Spectrogram(n_fft=64, window=("gaussian", 7.0))(x)
    assert np.allclose(first(one), [6.744691, 5.028784, 1.8004956, 0.2635188], rtol=1e-4)
    one = L.MFCC(n_fft=64)(x)
    assert one.shape == [2, 40, 26] and np.allclose(
        first(one), [-352.43628, -351.12463, -355.42007, -360.08026], rtol=1e-5
    )
    assert L.Spectrogram(n_fft=64)(x[0]).shape == [33, 1]


def test_state_and_attributes():
    layer = L.MFCC(n_mfcc=5, **MELS)
    assert list(layer.state_dict()) == [
        "dct_matrix",
        "_log_melspectrogram._melspectrogram.fbank_matrix",
        "_log_melspectrogram._melspectrogram._spectrogram.fft_window",
    ]
    assert not layer.parameters() and layer._log_melspectrogram._melspectrogram.n_mels == 8


def test_gradient_and_compiled():
    layer = L.MFCC(n_mfcc=3, top_db=80.0, dtype="float64", **MELS)
    x = np.random.RandomState(1).randn(160)
    check_grad(lambda t: layer(t), x)
    compiled = paddle.jit.to_static(layer.forward)
    assert np.allclose(compiled(paddle.to_tensor(x)).numpy(), layer(paddle.to_tensor(x)).numpy())


def test_errors():
    short = paddle.ones([40])
    for call in (
        lambda: L.Spectrogram(power=0.0),
        lambda: L.MFCC(n_mfcc=9, **MELS),
        lambda: L.Spectrogram(64)(short),
        lambda: L.Spectrogram(64)(paddle.ones([2, 2, 200])),
        lambda: L.Spectrogram(64, win_length=100)(paddle.ones([200])),
    ):
        with pytest.raises(ValueError):
            call()
