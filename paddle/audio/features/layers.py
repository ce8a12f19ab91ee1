"""Spectrograms and what is computed from them: mel bands, their logarithms, cepstral coefficients."""

from __future__ import annotations

from typing import Any

from ...engine import errors
from ...engine.tensor import Tensor
from ...nn.layer import Layer
from ...ops.linalg import matmul
from ...ops.signal import stft
from ..functional import compute_fbank_matrix, create_dct, get_window, power_to_db

__all__ = ["LogMelSpectrogram", "MFCC", "MelSpectrogram", "Spectrogram"]


class Spectrogram(Layer):
    """The magnitudes of a short-time Fourier transform, to a power.

    Args:
        n_fft: points of each transform.
        hop_length: distance of two frames; None is n_fft // 4.
        win_length: points of the window, at most n_fft (the default).
        window: its name, or a tuple with parameters (see `get_window`).
        power: 1 for magnitudes, 2 for powers.
        center, pad_mode: centred frames, and how the ends are padded for them.
        dtype: of the window.

    Shape:
        [length] or [batch, length] to [(batch,) n_fft // 2 + 1, frames].

    Raises:
        ValueError: `power` not positive; sizes as in `paddle.signal.stft`.

    Example:
        >>> paddle.audio.features.Spectrogram(n_fft=64, hop_length=32)(paddle.ones([2, 320])).shape
        [2, 33, 11]
    """

    def __init__(
        self,
        n_fft: int = 512,
        hop_length: int | None = 512,
        win_length: int | None = None,
        window: str | tuple = "hann",
        power: float = 1.0,
        center: bool = True,
        pad_mode: str = "reflect",
        dtype: str = "float32",
    ):
        super().__init__()
        if not power > 0:
            raise errors.ValueError_(f"Spectrogram: power must be positive, got {power}")
        self.power = power
        self.n_fft, self.hop_length = n_fft, hop_length
        self.win_length = n_fft if win_length is None else win_length
        self.center, self.pad_mode = center, pad_mode
        self.register_buffer("fft_window", get_window(window, self.win_length, fftbins=True, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        found = stft(
            x, self.n_fft, self.hop_length, self.win_length, self.fft_window, self.center, self.pad_mode, onesided=True
        ).abs()
        return found if self.power == 1 else found**self.power


class MelSpectrogram(Layer):
    """A spectrogram summed into bands of the mel scale.

    Args:
        sr: samples a second.
        n_mels, f_min, f_max, htk, norm: the bands, see `paddle.audio.functional.compute_fbank_matrix`.
        n_fft, hop_length, win_length, window, power, center, pad_mode, dtype: as for `Spectrogram`.

    Shape:
        [length] or [batch, length] to [(batch,) n_mels, frames].

    Example:
        >>> paddle.audio.features.MelSpectrogram(8000, 64, 32, n_mels=8)(paddle.ones([2, 320])).shape
        [2, 8, 11]
    """

    def __init__(
        self,
        sr: int = 22050,
        n_fft: int = 2048,
        hop_length: int | None = 512,
        win_length: int | None = None,
        window: str | tuple = "hann",
        power: float = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
        n_mels: int = 64,
        f_min: float = 50.0,
        f_max: float | None = None,
        htk: bool = False,
        norm: str | float = "slaney",
        dtype: str = "float32",
    ):
        super().__init__()
        self._spectrogram = Spectrogram(n_fft, hop_length, win_length, window, power, center, pad_mode, dtype)
        self.n_mels, self.f_min, self.f_max = n_mels, f_min, sr // 2 if f_max is None else f_max
        self.htk, self.norm = htk, norm
        self.register_buffer(
            "fbank_matrix", compute_fbank_matrix(sr, n_fft, n_mels, f_min, self.f_max, htk, norm, dtype)
        )

    def forward(self, x: Tensor) -> Tensor:
        return matmul(self.fbank_matrix, self._spectrogram(x))


class LogMelSpectrogram(Layer):
    """A mel spectrogram in decibels.

    Args:
        ref_value, amin, top_db: see `paddle.audio.functional.power_to_db`.
        sr, n_fft, ... dtype: as for `MelSpectrogram`.

    Shape:
        [length] or [batch, length] to [(batch,) n_mels, frames].

    Example:
        >>> paddle.audio.features.LogMelSpectrogram(8000, 64, 32, n_mels=8)(paddle.ones([320])).shape
        [8, 11]
    """

    def __init__(
        self,
        sr: int = 22050,
        n_fft: int = 512,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: str | tuple = "hann",
        power: float = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
        n_mels: int = 64,
        f_min: float = 50.0,
        f_max: float | None = None,
        htk: bool = False,
        norm: str | float = "slaney",
        ref_value: float = 1.0,
        amin: float = 1e-10,
        top_db: float | None = None,
        dtype: str = "float32",
    ):
        super().__init__()
        mel: tuple[Any, ...] = (sr, n_fft, hop_length, win_length, window, power, center, pad_mode)
        self._melspectrogram = MelSpectrogram(*mel, n_mels, f_min, f_max, htk, norm, dtype)
        self.ref_value, self.amin, self.top_db = ref_value, amin, top_db

    def forward(self, x: Tensor) -> Tensor:
        return power_to_db(self._melspectrogram(x), self.ref_value, self.amin, self.top_db)


class MFCC(Layer):
    """Mel-frequency cepstral coefficients (Davis, Mermelstein, 1980): the cosine transform of a log-mel spectrogram.

    Args:
        n_mfcc: number of coefficients, at most n_mels.
        sr, n_fft, ... dtype: as for `LogMelSpectrogram`.

    Shape:
        [length] or [batch, length] to [(batch,) n_mfcc, frames].

    Raises:
        ValueError: n_mfcc above n_mels.

    Example:
        >>> paddle.audio.features.MFCC(8000, 5, 64, 32, n_mels=8)(paddle.ones([2, 320])).shape
        [2, 5, 11]
    """

    def __init__(
        self,
        sr: int = 22050,
        n_mfcc: int = 40,
        n_fft: int = 512,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: str | tuple = "hann",
        power: float = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
        n_mels: int = 64,
        f_min: float = 50.0,
        f_max: float | None = None,
        htk: bool = False,
        norm: str | float = "slaney",
        ref_value: float = 1.0,
        amin: float = 1e-10,
        top_db: float | None = None,
        dtype: str = "float32",
    ):
        super().__init__()
        if n_mfcc > n_mels:
            raise errors.ValueError_(f"MFCC: n_mfcc={n_mfcc} is above n_mels={n_mels}")
        mel: tuple[Any, ...] = (sr, n_fft, hop_length, win_length, window, power, center, pad_mode)
        self._log_melspectrogram = LogMelSpectrogram(
            *mel, n_mels, f_min, f_max, htk, norm, ref_value, amin, top_db, dtype
        )
        self.register_buffer("dct_matrix", create_dct(n_mfcc, n_mels, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        return matmul(self.dct_matrix, self._log_melspectrogram(x), transpose_x=True)
