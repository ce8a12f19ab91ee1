"""Datasets from tiny archives that the tests make: what they give, the cache, missing and damaged files."""

import io
import os
import pickle
import tarfile

import numpy as np
import pytest
from PIL import Image

import paddle
from paddle.vision import image_load
from paddle.vision.datasets import VOC2012, Cifar10, Cifar100, DatasetFolder, Flowers, ImageFolder

scipy_io = pytest.importorskip("scipy.io")


def add(archive, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def picture(shape=(6, 5, 3), kind="PNG", seed=0):
    data = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, shape).astype("uint8")).save(data, kind)
    return data.getvalue()


def batch(n, key, seed=0, **more):
    rng = np.random.default_rng(seed)
    data = {b"data": rng.integers(0, 256, (n, 3072)).astype("uint8"), key: [int(k) for k in rng.integers(0, 10, n)]}
    return pickle.dumps(data | more, protocol=2)


def cifar(folder, hundred=False, name=None):
    path = folder / (name or ("c100.tar.gz" if hundred else "c10.tar.gz"))
    os.makedirs(folder, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        if hundred:
            add(archive, "cifar-100-python/train", batch(3, b"fine_labels", coarse=[1, 2, 3]))
            add(archive, "cifar-100-python/test", batch(2, b"fine_labels", 1))
            add(archive, "cifar-100-python/meta", b"no pictures")
        else:
            for k in range(1, 4):
                add(archive, f"cifar-10-batches-py/data_batch_{k}", batch(3, b"labels", k))
            add(archive, "cifar-10-batches-py/test_batch", batch(2, b"labels", 9))
    return str(path)


def test_cifar(tmp_path):
    path = cifar(tmp_path)
    rng = np.random.default_rng(1)
    want, labels = rng.integers(0, 256, (3, 3072)).astype("uint8"), rng.integers(0, 10, 3)
    data = Cifar10(path)
    image, label = data[1]
    assert len(data) == 9 and image.mode == "RGB" and label.shape == () and label.dtype == np.int64  # official
    np.testing.assert_array_equal(np.asarray(image), want[1].reshape(3, 32, 32).transpose(1, 2, 0))
    assert int(label) == labels[1]
    array, _ = Cifar10(path, "TEST", backend="cv2")[0]
    assert array.shape == (32, 32, 3) and array.dtype == np.float32 and len(Cifar10(path, "test")) == 2  # official
    assert Cifar10(path, transform=lambda x: np.asarray(x).mean())[0][0] == want[0].mean()
    path = cifar(tmp_path, hundred=True)
    assert len(Cifar100(path)) == 3 and len(Cifar100(path, "test")) == 2


def voc(folder, compressed=""):
    path = folder / f"voc.tar{compressed and '.' + compressed}"
    with tarfile.open(path, "w:" + compressed) as archive:
        for name, text in (("trainval", "a\nb\nc\n"), ("train", "a\nb\n"), ("val", "c\n")):
            add(archive, f"VOCdevkit/VOC2012/ImageSets/Segmentation/{name}.txt", text.encode())
        for k, name in enumerate("abc"):
            add(archive, f"VOCdevkit/VOC2012/JPEGImages/{name}.jpg", picture(kind="JPEG", seed=k))
            add(archive, f"VOCdevkit/VOC2012/SegmentationClass/{name}.png", picture((6, 5), seed=k))
    return str(path)


def test_voc(tmp_path):
    path = voc(tmp_path)
    assert [len(VOC2012(path, mode)) for mode in ("train", "test", "valid")] == [3, 2, 1]  # official
    image, classes = VOC2012(path, "valid")[0]
    assert image.mode == "RGB" and classes.mode == "L"
    np.testing.assert_array_equal(np.asarray(classes), np.asarray(Image.open(io.BytesIO(picture((6, 5), seed=2)))))
    data = VOC2012(path, backend="cv2", transform=lambda x: x[:2])
    image, classes = pickle.loads(pickle.dumps(VOC2012(path, backend="cv2")))[1]
    assert image.shape == (6, 5, 3) and classes.shape == (6, 5) and image.dtype == classes.dtype == np.float32
    assert data[0][0].shape == (2, 5, 3) and data[0][1].shape == (6, 5)
    with pytest.raises(ValueError, match="unpack"):
        VOC2012(voc(tmp_path, "gz"))


def flowers(folder):
    with tarfile.open(folder / "flowers.tgz", "w:gz") as archive:
        for k in range(1, 6):
            add(archive, f"jpg/image_{k:05d}.jpg", picture(kind="JPEG", seed=k))
    scipy_io.savemat(folder / "labels.mat", {"labels": np.array([[3, 1, 2, 77, 102]], "uint8")})
    sets = {"trnid": [[1]], "valid": [[2, 4]], "tstid": [[5, 3]]}
    scipy_io.savemat(folder / "sets.mat", {k: np.array(v, "uint16") for k, v in sets.items()})
    return [str(folder / name) for name in ("flowers.tgz", "labels.mat", "sets.mat")]


def test_flowers(tmp_path):
    files = flowers(tmp_path)
    data = Flowers(*files)
    assert len(data) == 2 and [label.tolist() for _, label in (data[0], data[1])] == [[102], [2]]  # official
    np.testing.assert_array_equal(
        np.asarray(data[0][0]), np.asarray(Image.open(io.BytesIO(picture(kind="JPEG", seed=5))))
    )
    assert len(Flowers(*files, "test")) == 1 and len(Flowers(*files, mode="valid")) == 2
    image, label = Flowers(*files, backend="cv2", transform=lambda x: x[:1])[0]
    assert image.shape == (1, 5, 3) and image.dtype == np.float32 and label.dtype == np.int64
    assert sorted(os.listdir(tmp_path)) == ["flowers", "flowers.tgz", "labels.mat", "sets.mat"]
    os.remove(tmp_path / "flowers" / "jpg" / "image_00005.jpg")
    with pytest.raises(FileNotFoundError, match="image_00005.jpg"):
        data[0]


def test_members_outside_of_the_folder_are_refused(tmp_path):
    files = flowers(tmp_path)
    with tarfile.open(files[0], "w:gz") as archive:
        add(archive, "../outside.jpg", b"x")
    with pytest.raises(ValueError, match="flowers.tgz"):
        Flowers(*files)
    assert sorted(os.listdir(tmp_path)) == ["flowers.tgz", "labels.mat", "sets.mat"]


def tree(root):
    for name, kind in (
        ("b/2.PNG", "PNG"),
        ("b/1.jpg", "JPEG"),
        ("a/x/9.png", "PNG"),
        ("a/3.bmp", "BMP"),
        ("0.png", "PNG"),
    ):
        os.makedirs((root / name).parent, exist_ok=True)
        (root / name).write_bytes(picture((3, 4) if "9" in name else (3, 4, 3), kind))
    (root / "a" / "note.txt").write_text("no picture")
    os.makedirs(root / "empty")
    return root


def test_folders(tmp_path):
    root = tree(tmp_path)

    def short(paths):
        return [os.path.relpath(p, root) for p in paths]

    data = DatasetFolder(str(root))
    assert data.classes == ["a", "b", "empty"] and data.class_to_idx == {"a": 0, "b": 1, "empty": 2}
    assert short(p for p, _ in data.samples) == ["a/3.bmp", "a/x/9.png", "b/1.jpg", "b/2.PNG"]  # official
    assert data.targets == [0, 0, 1, 1] == [data[k][1] for k in range(len(data))]
    assert data[1][0].mode == "RGB"  # grey pictures as well, official
    images = ImageFolder(str(root), transform=lambda x: x.size)
    assert short(images.samples) == ["0.png", "a/3.bmp", "a/x/9.png", "b/1.jpg", "b/2.PNG"]
    assert images[0] == [(4, 3)] and len(images) == 5
    texts = ImageFolder(str(root), loader=lambda p: p[-8:], extensions=[".txt"])
    assert texts[0] == ["note.txt"]
    chosen = DatasetFolder(str(root), is_valid_file=lambda p: p.endswith("txt"), loader=os.path.basename)
    assert chosen[0] == ("note.txt", 0) and len(chosen) == 1
    paddle.vision.set_image_backend("cv2")
    try:
        array = ImageFolder(str(root))[0][0]
    finally:
        paddle.vision.set_image_backend("pil")
    np.testing.assert_array_equal(array[:, :, ::-1], np.asarray(Image.open(root / "0.png")))
    for make in (DatasetFolder, ImageFolder):
        with pytest.raises(RuntimeError, match=r"\.xyz"):
            make(str(root), extensions=[".xyz"])
    with pytest.raises(RuntimeError, match="no files"):
        ImageFolder(str(root / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        DatasetFolder(str(root / "nowhere"))


def test_batches_of_a_folder(tmp_path):
    data = DatasetFolder(str(tree(tmp_path)), transform=paddle.vision.transforms.ToTensor())
    image, target = next(iter(paddle.io.DataLoader(data, batch_size=4)))
    assert image.shape == [4, 3, 3, 4] and target.tolist() == [0, 0, 1, 1]


# ---- the cache; missing and damaged files ----


def test_files_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    cifar(tmp_path / "dataset" / "cifar", name="cifar-10-python.tar.gz")
    with pytest.warns(UserWarning, match="not the published file"):
        assert len(Cifar10(mode="test", download=False)) == 2


@pytest.mark.parametrize(
    "make, file",
    [
        (Cifar10, "cifar/cifar-10-python.tar.gz"),
        (Cifar100, "cifar/cifar-100-python.tar.gz"),
        (VOC2012, "voc2012/VOCtrainval_11-May-2012.tar"),
        (Flowers, "flowers/102flowers.tgz"),
    ],
)
def test_a_missing_file_is_one_clear_error(tmp_path, monkeypatch, make, file):
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    for download in (False, True):
        with pytest.raises(RuntimeError) as caught:
            make(download=download)
        assert str(tmp_path / "dataset" / file) in str(caught.value) and "Get http" in str(caught.value)
    arguments = ["nowhere.tar"] * (3 if make is Flowers else 1)
    with pytest.raises(FileNotFoundError, match="nowhere.tar"):
        make(*arguments)
    for bad in (dict(mode="x"), dict(backend="tensor")):
        with pytest.raises(ValueError, match=make.__name__):
            make(*arguments, **bad)


class Harm:
    def __reduce__(self):
        return os.system, ("true",)


@pytest.mark.parametrize(
    "content, words",
    [
        (None, "no data_batch"),
        (b"no pickle", "damaged"),
        (pickle.dumps(Harm()), "damaged"),
        (pickle.dumps([1]), "does not hold"),
        (pickle.dumps({b"data": np.zeros((2, 3), "uint8"), b"labels": [1, 2]}), "does not hold"),
        (pickle.dumps({b"data": np.zeros((2, 3072), "float32"), b"labels": [1, 2]}), "does not hold"),
        (batch(2, b"names"), "does not hold"),
    ],
)
def test_damaged_cifar(tmp_path, content, words):
    path = tmp_path / "c.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        add(archive, "readme", b"x")
        if content is not None:
            add(archive, "x/data_batch_1", content)
    with pytest.raises(ValueError, match=words):
        Cifar10(str(path))


def test_damaged_archives(tmp_path):
    whole = {Cifar10: [cifar(tmp_path)], VOC2012: [voc(tmp_path)], Flowers: flowers(tmp_path)}
    for make, files in whole.items():
        with open(files[0], "rb") as f:
            data = f.read()
        for broken in (b"", b"hello" * 300, data[: len(data) // 2], data[:100] + b"junk" * 50 + data[300:]):
            with open(files[0], "wb") as f:
                f.write(broken)
            with pytest.raises(ValueError, match=os.path.basename(files[0])):
                make(*files)[2]
        with tarfile.open(files[0], "w:gz") as archive:
            add(archive, "other", b"x")
        with pytest.raises(ValueError, match="is not the archive"):
            make(*files)


def test_damaged_labels_of_flowers(tmp_path):
    data, labels, sets = flowers(tmp_path)
    for content, words in (
        ({"labels": np.array([[1, 2]])}, "beyond"),
        ({"other": 1}, "no labels"),
        ({"labels": "ab"}, "no numbers"),
    ):
        scipy_io.savemat(labels, content)
        with pytest.raises(ValueError, match=words):
            Flowers(data, labels, sets)
    with open(labels, "wb") as f:
        f.write(b"no file of numbers" * 20)
    with pytest.raises(ValueError, match="labels.mat"):
        Flowers(data, labels, sets)


def test_labels_are_those_that_scipy_wrote(tmp_path):
    data, labels, sets = flowers(tmp_path)
    for dtype in ("uint8", "int16", "uint16", "int32", "float32", "float64"):
        for compressed in (False, True):
            want = np.arange(1, 60).astype(dtype)
            scipy_io.savemat(labels, {"first": np.ones(3), "labels": want}, do_compression=compressed)
            assert Flowers(data, labels, sets).labels.tolist() == want.tolist()
    scipy_io.savemat(labels, {"labels": np.array([1.0, np.nan])})
    with pytest.raises(ValueError, match="no whole numbers"):
        Flowers(data, labels, sets)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_no_damage_is_a_crash(tmp_path, mode):
    """Any file with some bytes changed or cut is read, or is a ValueError."""
    path, (archive, labels, sets) = tmp_path / "c", flowers(tmp_path)
    with tarfile.open(path, mode) as packed:
        add(packed, "x/data_batch_1", batch(3, b"labels"))
    targets = {Cifar10: path.read_bytes()}
    if mode == "w":
        scipy_io.savemat(labels, {"labels": np.arange(1, 9)})
        with open(labels, "rb") as f:
            targets[lambda name: Flowers(archive, name, sets)] = f.read()
    random = np.random.default_rng(0)
    for make, whole in targets.items():
        for i in range(60):
            data = bytearray(whole)
            for _ in range(1 + i % 3):
                data[random.integers(len(data))] = random.integers(256)
            path.write_bytes(data[: random.integers(len(data))] if i % 4 == 0 else data)
            try:
                make(str(path))
            except ValueError as e:
                assert str(path) in str(e)


def test_contents_that_would_fill_the_memory_are_refused(tmp_path):
    zeros = b"\0" * (1 << 20)

    class Zeros:
        def read(self, n):
            return zeros[:n]

    path = str(tmp_path / "c.tar.gz")
    with tarfile.open(path, "w:gz") as archive:
        found = tarfile.TarInfo("jpg/data_batch_1")
        found.size = 80 << 20
        archive.addfile(found, Zeros())
    with pytest.raises(ValueError, match="or an attack"):
        Cifar10(path)
    with pytest.raises(ValueError, match="or an attack"):
        Flowers(path, *flowers(tmp_path)[1:])
    assert not [name for name in os.listdir(tmp_path) if name.startswith("c.tar.") and name != "c.tar.gz"]


def test_folders_that_contain_themselves(tmp_path):
    (tmp_path / "a").mkdir()
    Image.new("RGB", (2, 2)).save(tmp_path / "a" / "x.png")
    for name in ("loop", "again"):
        (tmp_path / "a" / name).symlink_to("..")
    (tmp_path / "b").symlink_to("a")
    data = DatasetFolder(str(tmp_path), extensions=[".PNG"])
    assert data.classes == ["a", "b"] and [os.path.relpath(p, tmp_path) for p, _ in data.samples] == [
        "a/x.png",
        "b/x.png",
    ]


def test_damaged_pictures_are_named(tmp_path):
    path = tmp_path / "a" / "x.png"
    path.parent.mkdir()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (50, 50, 3)).astype("uint8")).save(path)
    whole = path.read_bytes()
    for data in (b"", b"no picture", whole[: len(whole) // 2], whole[:60] + b"junk" + whole[64:]):
        path.write_bytes(data)
        for backend in ("pil", "cv2"):
            with pytest.raises(OSError, match=r"x\.png is no picture, or it is damaged"):
                DatasetFolder(str(tmp_path), loader=None if backend == "pil" else lambda p: image_load(p, "cv2"))[0]
    with pytest.raises(TypeError, match="extensions must be a list of str"):
        DatasetFolder(str(tmp_path), extensions=5)
