"""MNIST files: those that ship, those in the cache, damaged ones; and LeNet."""

import gzip
import io
import os
import struct
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.utils import download
from paddle.vision.datasets import MNIST, FashionMNIST, digits_path

ROOT = os.path.dirname(os.path.dirname(paddle.__file__))


def unpacked(path):
    return gzip.decompress(Path(path).read_bytes())


def write(folder, part="train", n=5):
    os.makedirs(folder, exist_ok=True)
    with gzip.open(os.path.join(folder, f"{part}-images-idx3-ubyte.gz"), "wb") as f:
        f.write(struct.pack(">IIII", 2051, n, 28, 28) + bytes(n * 784))
    with gzip.open(os.path.join(folder, f"{part}-labels-idx1-ubyte.gz"), "wb") as f:
        f.write(struct.pack(">II", 2049, n) + bytes(range(n)))


def test_the_digits_that_ship():
    for mode, size in (("train", 1437), ("test", 360)):
        data = MNIST(*digits_path(mode), mode=mode)
        image, label = data[0]
        assert len(data) == size and image.size == (28, 28) and image.mode == "L"
        assert label.shape == (1,) and label.dtype == np.int64 and set(data.labels[:, 0]) == set(range(10))
        frame = data.images.copy()
        frame[:, 4:24, 4:24] = 0
        assert not frame.any() and data.images.max() == 255
    assert os.path.isfile(os.path.join(digits_path(), "README.md"))
    with pytest.raises(ValueError, match="mode"):
        digits_path("x")


def test_the_script_makes_the_files_again(tmp_path):
    pytest.importorskip("sklearn")
    subprocess.run(
        [sys.executable, os.path.join(ROOT, "tools", "make_digits.py"), str(tmp_path)], check=True, capture_output=True
    )
    for name in os.listdir(tmp_path):
        assert unpacked(tmp_path / name) == unpacked(os.path.join(digits_path(), name))


def test_batches():
    data = MNIST(*digits_path("test"), mode="test", transform=paddle.vision.transforms.ToTensor())
    image, label = next(iter(paddle.io.DataLoader(data, batch_size=3)))
    assert (image.shape, image.dtype, label.shape, label.dtype) == (
        [3, 1, 28, 28],
        paddle.float32,
        [3, 1],
        paddle.int64,
    )  # official
    picture, _ = MNIST(*digits_path("test"), backend="cv2")[0]
    assert picture.shape == (28, 28) and picture.dtype == np.float32  # official


def test_files_in_the_cache_are_used_with_a_warning(tmp_path, monkeypatch):
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    write(tmp_path / "dataset" / "mnist")
    write(tmp_path / "dataset" / "fashion-mnist", "t10k")
    with pytest.warns(UserWarning, match="not the published file"):
        data = MNIST()
    assert len(data) == 5 and data[3][1].tolist() == [3]
    with pytest.warns(UserWarning, match="not the published file"):
        assert len(FashionMNIST(mode="test")) == 5
    with pytest.warns(UserWarning):
        assert len(MNIST(download=False)) == 5


def test_a_missing_file_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    where = str(tmp_path / "dataset" / "mnist" / "train-images-idx3-ubyte.gz")
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    for arguments in (dict(), dict(download=False)):
        with pytest.raises(RuntimeError) as caught:
            MNIST(**arguments)
        assert where in str(caught.value) and MNIST.TRAIN_IMAGE_URL in str(caught.value)
    assert not (tmp_path / "dataset").exists() or not os.listdir(tmp_path / "dataset" / "mnist")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        MNIST("nowhere.gz", "nowhere.gz")


class Answer(io.BytesIO):
    def __init__(self, data, length=None):
        super().__init__(data)
        self.headers = {"Content-Length": str(len(data) if length is None else length)}


def test_downloads(tmp_path, monkeypatch):
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    import urllib.request

    answers = []
    monkeypatch.setattr(urllib.request, "urlopen", lambda url, timeout: answers.pop(0))
    url, md5 = "https://example.com/w.pdparams", "900150983cd24fb0d6963f7d28e17f72"  # of b"abc"
    for bad in (Answer(b"abd"), Answer(b"abc", 4)):
        answers[:] = [bad]
        with pytest.raises(RuntimeError, match="w.pdparams"):
            download.get_weights_path_from_url(url, md5)
        assert not os.listdir(tmp_path / "hapi" / "weights")
    answers[:] = [Answer(b"abc")]
    path = download.get_weights_path_from_url(url, md5)
    assert Path(path).read_bytes() == b"abc" and path == str(tmp_path / "hapi" / "weights" / "w.pdparams")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert download.get_weights_path_from_url(url, md5) == path  # from the cache: no answer is left
    with pytest.raises(RuntimeError, match="web address"):
        download.get_weights_path_from_url("file:///etc/hostname")


def test_home(monkeypatch):
    monkeypatch.delenv("PADDLE_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert download.cache_home() == os.path.join(os.path.expanduser("~"), ".cache", "paddle")


HEADER = struct.pack(">IIII", 2051, 2, 28, 28)


@pytest.mark.parametrize(
    "data, words",
    [
        (gzip.compress(HEADER + bytes(1567)), "only 1567"),
        (gzip.compress(HEADER + bytes(1569)), "more"),
        (gzip.compress(HEADER + bytes(1568))[:-12], "truncated|only"),
        (gzip.compress(HEADER)[:9], "truncated"),
        (b"", "no idx file"),
        (gzip.compress(b"\0\0\x0d\x03" + HEADER[4:]), "no idx file"),
        (b"hello, this is text", "no idx file"),
        (gzip.compress(struct.pack(">II", 2049, 5) + bytes(5)), "no idx file"),
        (gzip.compress(struct.pack(">IIII", 2051, 2**32 - 1, 2**32 - 1, 28)), "promises"),
        (b"\x1f\x8b" + b"junk" * 20, "damaged"),
    ],
    ids=[
        "short",
        "long",
        "cut",
        "cut header",
        "empty",
        "other type",
        "text",
        "labels",
        "huge",
        "no gzip",
    ],  # gzip has the time
)
def test_damaged_files(tmp_path, data, words):
    path = tmp_path / "images.gz"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=words):
        MNIST(str(path), digits_path("test")[1])


def test_files_that_do_not_belong_together(tmp_path):
    with pytest.raises(ValueError, match="1437 labels"):
        MNIST(digits_path("test")[0], digits_path("train")[1])
    raw = tmp_path / "labels"
    raw.write_bytes(unpacked(digits_path("test")[1]))
    assert len(MNIST(digits_path("test")[0], str(raw))) == 360  # files that are not compressed
    for bad in (dict(mode="x"), dict(backend="tensor")):
        with pytest.raises(ValueError):
            MNIST(*digits_path("test"), **bad)


def test_image_backend(tmp_path):
    from PIL import Image

    path = str(tmp_path / "x.png")
    Image.fromarray(np.arange(12, dtype="uint8").reshape(2, 2, 3)).save(path)
    with paddle.vision.image_load(path) as image:
        assert paddle.vision.get_image_backend() == "pil" and image.size == (2, 2)
    try:
        paddle.vision.set_image_backend("cv2")
        assert paddle.vision.image_load(path)[0, 0].tolist() == [2, 1, 0]
        assert MNIST(*digits_path("test"))[0][0].shape == (28, 28)
    finally:
        paddle.vision.set_image_backend("pil")
    assert paddle.vision.image_load(path, "tensor").shape == [3, 2, 2]
    with pytest.raises(ValueError, match="backend"):
        paddle.vision.set_image_backend("x")
    with pytest.raises(FileNotFoundError):
        paddle.vision.image_load(path + "x")


def test_lenet():
    net = paddle.vision.models.LeNet()
    shapes = {k: v.shape for k, v in net.state_dict().items()}  # official
    assert shapes == {
        "features.0.weight": [6, 1, 3, 3],
        "features.0.bias": [6],
        "features.3.weight": [16, 6, 5, 5],
        "features.3.bias": [16],
        "fc.0.weight": [400, 120],
        "fc.0.bias": [120],
        "fc.1.weight": [120, 84],
        "fc.1.bias": [84],
        "fc.2.weight": [84, 10],
        "fc.2.bias": [10],
    }
    x = paddle.ones([2, 1, 28, 28])
    assert net(x).shape == [2, 10] and paddle.vision.models.LeNet(num_classes=0)(x).shape == [2, 16, 5, 5]
