"""WAV files, and datasets made of them."""

import io
import os
import struct
import wave
import zipfile

import numpy as np
import pytest
import scipy.io.wavfile

import paddle
from paddle.audio.backends.backend import AudioInfo
from paddle.audio.datasets import ESC50, TESS

audio = paddle.audio


def write(path, values, width=2, rate=8000, channels=1):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with wave.open(str(path), "wb") as f:
        f.setnchannels(channels)
        f.setsampwidth(width)
        f.setframerate(rate)
        f.writeframes(values)


def test_round_trip(tmp_path):
    path = tmp_path / "a.wav"
    x = np.random.RandomState(0).uniform(-1, 1, (2, 50)).astype("float32")
    for source, first in ((paddle.to_tensor(x), True), (x.T.astype("float64"), False)):
        audio.save(path, source, 8000, channels_first=first)
        y, rate = audio.load(str(path))
        assert rate == 8000 and y.dtype is paddle.float32 and np.abs(y.numpy() - x).max() < 2**-15
        info = audio.info(path)
        assert (info.sample_rate, info.num_samples, info.num_channels, info.bits_per_sample, info.encoding) == (
            8000,
            50,
            2,
            16,
            "PCM_S",
        )
    whole = audio.load(path, normalize=False)[0].numpy()
    assert np.array_equal(whole, np.trunc(x * 32768.0))
    part = audio.load(path, 10, 5, normalize=False, channels_first=False)[0]
    assert np.array_equal(part.numpy(), whole.T[10:15])
    assert np.array_equal(audio.load(path, 45)[0].numpy() * 32768, whole[:, 45:])
    assert audio.load(path, 60)[0].shape == [2, 0] and audio.load(path, num_frames=100)[0].shape == [2, 50]
    with open(path, "rb") as f:
        assert audio.load(f)[0].shape == [2, 50]


def test_values_outside_are_clipped(tmp_path):
    path = str(tmp_path / "a.wav")
    audio.save(path, paddle.to_tensor([[1.0, -1.0, 7.0, -7.0, float("nan"), float("inf")]]), 100)
    assert audio.load(path, normalize=False)[0].tolist() == [[32767, -32768, 32767, -32768, 0, 32767]]
    audio.save(path, paddle.to_tensor(np.array([[5, -6]], "int16")), 100)
    assert audio.load(path, normalize=False)[0].tolist() == [[5, -6]]


def test_other_widths(tmp_path):
    for width, bits, values in (
        (1, "u1", [0, 128, 255]),
        (2, "<i2", [-32768, 0, 32767]),
        (4, "<i4", [-(2**31), 0, 2**30]),
    ):
        path = str(tmp_path / f"{width}.wav")
        write(path, np.array(values, bits).tobytes(), width)
        want = (np.array(values, "float64") - (128 if width == 1 else 0)) / 2 ** (8 * width - 1)
        assert np.allclose(audio.load(path)[0].numpy()[0], want) and audio.info(path).bits_per_sample == 8 * width
    path = str(tmp_path / "3.wav")
    write(path, b"\x00\x00\x80\xff\xff\xff\x00\x00\x40", 3)
    assert np.allclose(audio.load(path)[0].numpy(), [[-1, -(2**-23), 0.5]])


def extensible(tag, bits, data, length=None, rate=8000, channels=1):
    """A file as ffmpeg writes samples of more than 16 bits."""
    width = bits // 8 * channels
    form = struct.pack("<HHIIHH", 0xFFFE, channels, rate, rate * width, width, bits)
    form += struct.pack("<HHIH", 22, bits, 4, tag) + bytes.fromhex("000000001000800000aa00389b71")
    parts = (
        b"LIST\3\0\0\0abc\0fmt (\0\0\0" + form + b"data" + struct.pack("<I", len(data) if length is None else length)
    )
    return io.BytesIO(b"RIFF" + struct.pack("<I", 4 + len(parts + data)) + b"WAVE" + parts + data)


def test_extensible_headers_and_floats(tmp_path):
    with extensible(1, 24, b"\x00\x00\x40\x00\x00\xc0") as file:
        assert audio.load(file)[0].tolist() == [[0.5, -0.5]]
    with extensible(1, 24, b"\0" * 6) as file:
        assert audio.info(file) == AudioInfo(8000, 2, 1, 24, "PCM_S")
    path = str(tmp_path / "scipy.wav")
    for dtype in ("float32", "float64"):
        wave = np.linspace(-2, 2, 10).reshape(5, 2).astype(dtype)
        scipy.io.wavfile.write(path, 16000, wave)
        samples, rate = audio.load(path, channels_first=False)
        assert rate == 16000 and np.allclose(samples.numpy(), wave) and audio.info(path).encoding == "PCM_F"


def test_files_without_samples_streams_and_files_that_are_cut():
    for channels in (1, 2):
        assert audio.load(extensible(1, 16, b"", channels=channels))[0].shape == [channels, 0]
    data = np.arange(4, dtype="<i2").tobytes()
    assert audio.load(extensible(1, 16, data, 0xFFFFFFFF), normalize=False)[0].tolist() == [[0, 1, 2, 3]]
    with pytest.warns(UserWarning, match="cut off: 4 of 50 frames"):
        assert audio.load(extensible(1, 16, data, 100), normalize=False)[0].tolist() == [[0, 1, 2, 3]]
    for tag, bits in ((1, 40), (3, 16), (7, 8), (85, 16)):
        with pytest.raises(NotImplementedError, match=f"samples of {bits} bits in format"):
            audio.load(extensible(tag, bits, data))


def test_errors(tmp_path):
    path = tmp_path / "a.wav"
    with pytest.raises(FileNotFoundError, match="none.wav"):
        audio.load("none.wav")
    for content in (b"", b"RIFFxxxx", b"no wave at all" * 9):
        path.write_bytes(content)
        for call in (audio.load, audio.info):
            with pytest.raises(NotImplementedError, match="no WAV file"):
                call(path)
    x = paddle.ones([1, 4])
    for bad in (
        lambda: audio.save(path, x[0], 8000),
        lambda: audio.save(path, x, 0),
        lambda: audio.save(path, x, 10**12),
        lambda: audio.save(path, x, "8000"),
        lambda: audio.save(path, x, 8000, bits_per_sample=32),
        lambda: audio.save(path, x.astype("int32"), 8000),
        lambda: audio.load(path, frame_offset=-1),
        lambda: audio.load(path, "1"),
    ):
        with pytest.raises(ValueError):
            bad()
    for call in (audio.load, audio.info):
        with pytest.raises(TypeError, match="a path or an open binary file"):
            call(None)
    with pytest.raises(NotImplementedError, match="nope"):
        audio.backends.set_backend("nope")
    assert audio.backends.get_current_backend() in audio.backends.list_available_backends()


def noise(seed, n=2000):
    return (np.random.RandomState(seed).randn(n) * 3000).astype("<i2").tobytes()


def esc50(folder):
    rows = ["filename,fold,target,category,esc10,src_file,take"]
    for i in range(6):
        write(f"{folder}/ESC-50-master/audio/{i}.wav", noise(i))
        rows.append(f"{i}.wav,{i % 5 + 1},{i * 3},dog,True,{100 + i},A")
    os.makedirs(f"{folder}/ESC-50-master/meta")
    with open(f"{folder}/ESC-50-master/meta/esc50.csv", "w") as f:
        f.write("\n".join(rows) + "\n")


def test_esc50(tmp_path, monkeypatch):
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    esc50(tmp_path / "dataset")
    assert ESC50().labels == [3, 6, 9, 12] and ESC50(split=2).labels == [0, 6, 9, 12, 15]  # official
    assert ESC50("dev").labels == [0, 15] and len(ESC50.label_list) == 50
    sound, label = ESC50()[0]
    assert sound.shape == [2000] and label == 3 and np.allclose(sound.numpy()[:2], [0.1487122, -0.0559998], atol=1e-6)
    feature = ESC50(feat_type="mfcc")[0][0]
    assert feature.shape == [40, 16] and np.allclose(feature.numpy().ravel()[:2], [-99.99372, -91.45596], rtol=1e-4)
    feature = ESC50(feat_type="spectrogram", n_fft=64)[0][0]
    assert np.allclose(feature.numpy().ravel()[:2], [0.4592788, 0.1788875], rtol=1e-4)
    with pytest.raises(RuntimeError, match="feat_type"):
        ESC50(feat_type="nope")
    with pytest.raises(ValueError, match="split"):
        ESC50(split=6)


def test_an_archive_is_unpacked_once(tmp_path, monkeypatch):
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    esc50(tmp_path / "source")
    (tmp_path / "dataset").mkdir()
    packed = tmp_path / "dataset" / "ESC-50-master.zip"
    packed.write_bytes(b"not a zip archive")
    archive = {"url": "https://localhost/ESC-50-master.zip", "md5": None}
    with pytest.raises(ValueError, match="no zip archive"):
        ESC50(archive=archive)
    with zipfile.ZipFile(packed, "w") as z:
        z.writestr("other/readme", "x")
    with pytest.raises(ValueError, match="not the archive"):
        ESC50(archive=archive)
    with zipfile.ZipFile(packed, "w") as z:
        for folder, _, names in os.walk(tmp_path / "source"):
            for name in names:
                z.write(f"{folder}/{name}", os.path.relpath(f"{folder}/{name}", tmp_path / "source"))
    assert len(ESC50(archive=archive)) == 4
    packed.unlink()
    assert len(ESC50(archive=archive)) == 4 and sorted(os.listdir(tmp_path / "dataset")) == ["ESC-50-master"]


def test_tess(tmp_path, monkeypatch):
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    for i, emotion in enumerate(("angry", "fear", "ps")):
        for speaker in ("OAF", "YAF"):
            write(
                f"{tmp_path}/dataset/{TESS.audio_path}/{speaker}_{emotion}/{speaker}_back_{emotion}.wav", noise(i, 900)
            )
    assert TESS(n_folds=3, mode="dev").labels == [0, 0] and TESS(n_folds=3).labels == [2, 5, 2, 5]
    assert TESS(feat_type="melspectrogram", n_fft=128)[0][0].shape[0] == 64
    for bad in (dict(split=6), dict(n_folds=0), dict(n_folds=2.5)):
        with pytest.raises(ValueError):
            TESS(**bad)


def test_without_network(tmp_path, monkeypatch):
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    monkeypatch.setattr("paddle.utils.download._fetch", lambda *_: (_ for _ in ()).throw(OSError("no route")))
    for dataset in (ESC50, TESS):
        with pytest.raises(RuntimeError, match="put it there as") as e:
            dataset()
        assert dataset.archive["url"] in str(e.value)
