"""Files at addresses of object storage: written, read, listed, in workers, and without the package."""

import gzip
import io
import os
import subprocess
import sys
import tarfile
import textwrap
import zipfile

import numpy as np
import pytest
from PIL import Image

import paddle
from paddle.utils import storage
from paddle.vision import datasets

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def bucket():
    """An empty folder of fsspec's store in memory, with a function that puts a file there."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]

    def put(name, data):
        with fsspec.open(f"memory://bucket/{name}", "wb") as f:
            f.write(data)
        return f"memory://bucket/{name}"

    return put


def picture(colour, kind="PNG"):
    out = io.BytesIO()
    Image.new("RGB", (6, 5), colour).save(out, kind)
    return out.getvalue()


def test_what_is_an_address():
    for path, remote in (
        ("s3://b/k", True),
        ("gs://b/k", True),
        ("simplecache::s3://b/k", True),
        ("memory://x", True),
        ("file:///tmp/a", False),
        ("/tmp/a", False),
        ("C:/a", False),
        ("a/b://c", False),
        (3, False),
    ):
        assert storage.is_remote(path) == remote, path


def test_saving_and_loading(bucket, tmp_path):
    state = {"w": paddle.arange(6).reshape([2, 3]), "n": paddle.ones([70_000])}
    for path in ("memory://bucket/deep/a.pdparams", f"file://{tmp_path}/new/a.pdparams"):
        paddle.save(state, path)
        again = paddle.load(path)
        assert again["w"].tolist() == [[0, 1, 2], [3, 4, 5]] and again["n"].shape == [70_000]
    assert os.listdir(tmp_path / "new") == ["a.pdparams"]
    with pytest.raises(ValueError, match="there is no file 'memory://bucket/zzz'"):
        paddle.load("memory://bucket/zzz")
    with pytest.raises(ValueError):  # nothing half written is left, and what was there stays
        paddle.save({"f": lambda: 0}, "memory://bucket/deep/a.pdparams")
    assert set(paddle.load("memory://bucket/deep/a.pdparams")) == {"w", "n"}
    paddle.async_save(state, "memory://bucket/b.pdparams")
    paddle.clear_async_save_task_queue()
    assert storage.is_file("memory://bucket/b.pdparams") and not storage.is_file("memory://bucket/deep")


def test_model_checkpoints(bucket):
    model = paddle.Model(paddle.nn.Linear(2, 1))
    model.prepare(paddle.optimizer.Adam(parameters=model.parameters()), paddle.nn.MSELoss())
    data = [(np.ones([4, 2], "float32"), np.ones([4, 1], "float32"))] * 2
    model.fit(data, epochs=2, verbose=0, save_dir="memory://bucket/run")
    names = sorted(f.rsplit("/", 1)[-1] for f in storage.files("memory://bucket/run"))
    assert names == sorted(f"{n}.{end}" for n in (0, 1, "final") for end in ("pdopt", "pdparams"))
    weight = model.network.weight.numpy()
    model.fit(data, epochs=1, verbose=0)
    assert not np.array_equal(model.network.weight.numpy(), weight)
    model.load("memory://bucket/run/final")
    assert np.array_equal(model.network.weight.numpy(), weight)
    with pytest.raises(ValueError, match="memory://bucket/zzz.pdparams"):
        model.load("memory://bucket/zzz")


def test_folders_of_pictures(bucket):
    for name in ("cat/1.png", "cat/more/0.png", "dog/2.png", "dog/note.txt"):
        bucket(f"pictures/{name}", picture((10, 20, 30)))
    data = datasets.DatasetFolder("memory://bucket/pictures")
    assert data.classes == ["cat", "dog"] and data.targets == [0, 0, 1]
    root = "memory://bucket/pictures"
    assert [p for p, _ in data.samples] == [f"{root}/cat/1.png", f"{root}/cat/more/0.png", f"{root}/dog/2.png"]
    image, label = data[2]
    assert image.getpixel((1, 1)) == (10, 20, 30) and label == 1
    every = datasets.ImageFolder(root + "/")
    assert len(every) == 3 and every[0][0].size == (6, 5)
    to = paddle.vision.transforms.ToTensor()
    loader = paddle.io.DataLoader(datasets.DatasetFolder(root, transform=to), batch_size=2, num_workers=2)
    assert [x.shape for x, _ in loader] == [[2, 3, 5, 6], [1, 3, 5, 6]]
    with pytest.raises(FileNotFoundError, match="memory://bucket/zzz"):
        datasets.DatasetFolder("memory://bucket/zzz")
    path = bucket("a.jpg", picture((1, 2, 3), "JPEG"))
    raw = paddle.vision.ops.read_file(path)
    assert paddle.vision.ops.decode_jpeg(raw).shape == [3, 5, 6]
    assert paddle.vision.image_load(path, "cv2").shape == (5, 6, 3)


def test_the_same_order_here_and_there(bucket, tmp_path):
    for name in ("b/2", "a/z/1", "a/1", "a.b/3", "c", "a/y"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
        bucket(f"order/{name}", b"x")
    here = [f[len(str(tmp_path)) :] for f in storage.files(str(tmp_path))]
    assert here == [f[len("memory://bucket/order") :] for f in storage.files("memory://bucket/order")]
    assert storage.folders(str(tmp_path)) == storage.folders("memory://bucket/order") == ["a", "a.b", "b"]


def test_archives(bucket, tmp_path, monkeypatch):
    images, labels = map(storage.read, datasets.digits_path("test"))
    data = datasets.MNIST(bucket("i.gz", images), bucket("l", gzip.decompress(labels)))
    assert len(data) == 360
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in ("jpg/image_00001.jpg", "jpg/image_00002.jpg"):
            info = tarfile.TarInfo(name)
            content = picture((9, 9, 9), "JPEG")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    scipy_io = pytest.importorskip("scipy.io")
    tables = [io.BytesIO(), io.BytesIO()]
    scipy_io.savemat(tables[0], {"labels": [[1, 2]]})
    scipy_io.savemat(tables[1], {"valid": [[2, 1]]})
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    given = [bucket("102.tgz", packed.getvalue())] + [
        bucket(f"t{i}.mat", table.getvalue()) for i, table in enumerate(tables)
    ]
    for _ in range(2):
        flowers = datasets.Flowers(*given, mode="valid")
        assert flowers[0][0].size == (6, 5) and flowers[0][1] == 2
    assert len(list((tmp_path / "storage").rglob("*.tgz"))) == 1
    films = io.BytesIO()
    with zipfile.ZipFile(films, "w") as archive:
        archive.writestr("ml-1m/movies.dat", "1::Toy Story (1995)::Comedy\n")
        archive.writestr("ml-1m/users.dat", "1::F::1::10::48067\n")
        archive.writestr("ml-1m/ratings.dat", "1::1::5::978300760\n")
    assert len(paddle.text.Movielens(bucket("ml.zip", films.getvalue()), test_ratio=0.0)) == 1
    table = "\n".join(" ".join(str((i * j) % 7) for j in range(14)) for i in range(10))
    assert len(paddle.text.UCIHousing(bucket("housing", table.encode()))) == 8


def test_sound(bucket):
    wave = paddle.sin(paddle.arange(800, dtype="float32") / 5).unsqueeze(0)
    paddle.audio.save("memory://bucket/tone.wav", wave, 8000)
    again, rate = paddle.audio.load("memory://bucket/tone.wav")
    assert rate == 8000 and np.abs(again.numpy() - wave.numpy()).max() < 1e-4
    assert paddle.audio.info("memory://bucket/tone.wav").num_samples == 800
    with pytest.raises(FileNotFoundError, match="zzz"):
        paddle.audio.load("memory://bucket/zzz.wav")


def test_missing_packages(tmp_path):
    code = """
        import sys, paddle
        assert "fsspec" not in sys.modules
        sys.modules["fsspec"] = sys.modules["fsspec.core"] = None
        for call in (lambda: paddle.load("s3://b/k"), lambda: paddle.save({}, "s3://b/k"),
                     lambda: paddle.vision.datasets.ImageFolder("s3://b"), lambda: paddle.audio.load("s3://b/k")):
            try:
                call()
            except ImportError as e:
                assert "paddle-xla[storage]" in str(e) and "s3://b" in str(e), e
            else:
                raise AssertionError
        """
    root = os.path.dirname(os.path.dirname(paddle.__file__))

    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=100, env={**os.environ, "PYTHONPATH": root}
    )
    with pytest.raises((ImportError, ValueError), match="nosuch"):
        paddle.load("nosuch://b/k")
