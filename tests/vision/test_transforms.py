"""Transforms, against Pillow, NumPy and values recorded from the official package 3.3.1."""

import random

import numpy as np
import pytest
from PIL import Image

import paddle
import paddle.vision.transforms as T
from paddle.vision.transforms import functional as F

PICTURE = np.random.RandomState(0).randint(0, 256, (6, 8, 3)).astype("uint8")
GREY = PICTURE[:, :, 0]
PIL, PIL_GREY = Image.fromarray(PICTURE), Image.fromarray(GREY)


def tensor():
    return paddle.to_tensor(PICTURE.transpose(2, 0, 1).astype("float32") / 255)


def array(img):
    return img.numpy() if isinstance(img, paddle.Tensor) else np.asarray(img)


# ---- to_tensor and normalize ----
@pytest.mark.parametrize(
    "picture, dtype, first",
    [
        (PIL, "float32", 172 / 255),
        (PIL_GREY, "float32", 172 / 255),
        (GREY, "float32", 172 / 255),
        (PICTURE.astype("int32"), "int32", 172),
        (PICTURE.astype("float64"), "float64", 172.0),
        (PIL_GREY.convert("1"), "float32", 1.0),
        (Image.fromarray(GREY.astype("uint16") * 200), "int32", 34400),
        (Image.fromarray(GREY.astype("float32")), "float32", 172.0),
        (PIL.convert("RGBA"), "float32", 172 / 255),
    ],
    ids=lambda p: getattr(p, "mode", None),
)
def test_to_tensor_official_types_and_scales(picture, dtype, first):
    got = T.to_tensor(picture)
    assert (
        got.dtype.name == dtype
        and got.ndim == 3
        and got.shape[1:] == [6, 8]
        and got[0, 0, 0].item() == pytest.approx(first, rel=1e-6)
    )
    assert T.ToTensor("HWC")(picture).shape == [6, 8, got.shape[0]]


def test_one_number_for_mean_and_std_keeps_the_channels():
    for picture in (PIL_GREY, GREY, GREY[None], GREY.astype("float32")):
        got = T.Normalize(0.5, 0.5)(picture)
        assert got.shape == (1, 6, 8) and got.dtype == np.float32  # the official one answers with three channels
        np.testing.assert_allclose(got[0], (GREY.astype("float32") - 0.5) / 0.5, rtol=1e-6)
    assert T.Normalize(127.5, 127.5)(PIL).shape == (6, 8, 3)
    assert T.Normalize(0.5, 0.5)(tensor()).shape == [3, 6, 8]


def test_normalize_by_channel():
    mean, std = [1.0, 2.0, 3.0], [2.0, 3.0, 4.0]
    want = (PICTURE - np.array(mean, "float32")) / np.array(std, "float32")
    np.testing.assert_allclose(T.normalize(PIL, mean, std, "HWC"), want, rtol=1e-6)
    np.testing.assert_allclose(T.normalize(PICTURE.transpose(2, 0, 1), mean, std), want.transpose(2, 0, 1), rtol=1e-6)
    np.testing.assert_allclose(
        T.normalize(tensor() * 255, mean, std).numpy(), want.transpose(2, 0, 1), rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(
        T.normalize(PICTURE, mean, std, "HWC", to_rgb=True)[..., 0], (PICTURE[..., 2] - 1.0) / 2, rtol=1e-6
    )
    with pytest.raises(ValueError, match="data_format='HWC'"):
        T.normalize(PIL, mean, std)
    with pytest.raises(ValueError, match="std"):
        T.normalize(PICTURE, 1.0, [1.0, 0.0, 1.0], "HWC")


# ---- geometry: all three kinds agree ----
def kinds():
    return [("pil", PIL), ("array", PICTURE), ("tensor", tensor())]


def plain(img):
    """Any kind as [H, W, C] from 0 to 255."""
    out = array(img)
    return np.rint(out.transpose(1, 2, 0) * 255) if isinstance(img, paddle.Tensor) else out


@pytest.mark.parametrize(
    "function, want",
    [
        (T.hflip, PICTURE[:, ::-1]),
        (T.vflip, PICTURE[::-1]),
        (lambda x: T.crop(x, 1, 2, 3, 4), PICTURE[1:4, 2:6]),
        (lambda x: T.center_crop(x, 4), PICTURE[1:5, 2:6]),
        (lambda x: T.center_crop(x, (3, 5)), PICTURE[2:5, 2:7]),
        (lambda x: T.crop(x, 4, 4, 6, 6), np.pad(PICTURE, ((0, 4), (0, 2), (0, 0)))[4:10, 4:10]),
        (lambda x: T.crop(x, -1, -2, 3, 3), np.pad(PICTURE, ((1, 0), (2, 0), (0, 0)))[:3, :3]),
        (lambda x: T.pad(x, (1, 2, 3, 4)), np.pad(PICTURE, ((2, 4), (1, 3), (0, 0)))),
        (lambda x: T.pad(x, (1, 2)), np.pad(PICTURE, ((2, 2), (1, 1), (0, 0)))),
        (lambda x: T.pad(x, 2, padding_mode="edge"), np.pad(PICTURE, ((2, 2), (2, 2), (0, 0)), "edge")),
        (lambda x: T.pad(x, 2, padding_mode="reflect"), np.pad(PICTURE, ((2, 2), (2, 2), (0, 0)), "reflect")),
    ],
)
def test_exact_geometry(function, want):
    for kind, picture in kinds():
        assert np.array_equal(plain(function(picture)), want), kind


def test_pad_fills_and_symmetric():
    got = T.pad(PICTURE, (1, 0, 0, 0), (1, 2, 3))
    assert got[:, 0].tolist() == [[1, 2, 3]] * 6 and T.pad(GREY, 1, 9)[0, 0] == 9
    assert array(T.pad(PIL, (1, 0, 0, 0), (1, 2, 3)))[0, 0].tolist() == [1, 2, 3]
    for picture in (PIL, PICTURE):
        assert np.array_equal(
            array(T.pad(picture, 2, padding_mode="symmetric")), np.pad(PICTURE, ((2, 2), (2, 2), (0, 0)), "symmetric")
        )
    for bad in (
        dict(padding=(1, 2, 3)),
        dict(padding=-1),
        dict(padding="x"),
        dict(padding=1, padding_mode="x"),
        dict(padding=1, fill=(1, 2)),
        dict(padding=1, fill="x"),
    ):
        for picture in (PICTURE, PIL):
            with pytest.raises(ValueError, match="pad"):
                T.pad(picture, **bad)


@pytest.mark.parametrize("size, want", [(4, (4, 5)), ((4, 5), (4, 5)), (12, (12, 16)), ([9, 2], (9, 2))])
@pytest.mark.parametrize("method", ["nearest", "bilinear", "bicubic", "lanczos", "area", "box"])
def test_resize_sizes_and_kinds(size, want, method):
    if method != "area":
        got = T.resize(PIL, size, method)
        assert np.array_equal(array(got), array(PIL.resize(want[::-1], getattr(Image.Resampling, method.upper()))))
    if method != "box":
        got = T.resize(PICTURE, size, method)
        assert got.shape == (*want, 3) and got.dtype == np.uint8 and T.resize(GREY, size, method).shape == want
        flat = T.resize(np.full((7, 9), 100, "uint8"), size, method)
        assert (flat == 100).all()


def test_resize_of_arrays_is_pointwise():
    line = np.arange(8, dtype="float64")[None].repeat(4, 0)
    np.testing.assert_allclose(T.resize(line, (4, 4), "bilinear")[0], [0.5, 2.5, 4.5, 6.5])
    np.testing.assert_allclose(T.resize(line, (4, 16), "bilinear")[0][:4], [0, 0.25, 0.75, 1.25])
    np.testing.assert_allclose(T.resize(line, (4, 2), "area")[0], [1.5, 5.5])
    np.testing.assert_allclose(
        T.resize(line, (4, 3), "area")[0], [(0 + 1 + 2 * 2 / 3) / (8 / 3), 3.5, (6 + 7 + 5 * 2 / 3) / (8 / 3)]
    )
    assert T.resize(line, (4, 4), "nearest")[0].tolist() == [0, 2, 4, 6]
    np.testing.assert_allclose(T.resize(line, (4, 16), "bicubic")[0][6:8], [2.703125, 3.296875])  # cubic with a = -0.75


@pytest.mark.parametrize("size", [0, -1, (4,), 4.5, "x", (4, 5, 6), True, (0, 3)])
def test_resize_refuses(size):
    for make in (lambda: T.resize(PIL, size), lambda: T.resize(PICTURE, size), lambda: T.Resize(size)(PIL)):
        with pytest.raises((TypeError, ValueError), match="[Rr]esize"):
            make()
    with pytest.raises(ValueError, match="interpolation"):
        T.resize(PICTURE, 3, "foo")


def test_rotate():
    for picture in (PIL, PICTURE):
        assert np.array_equal(array(T.rotate(picture, 90, expand=True)), np.rot90(PICTURE))
        assert np.array_equal(array(T.rotate(picture, 180)), PICTURE[::-1, ::-1])
        assert np.array_equal(
            array(T.rotate(picture, 30, "bilinear", fill=9)),
            array(PIL.rotate(30, Image.Resampling.BILINEAR, fillcolor=(9,) * 3)),
        )
    np.testing.assert_allclose(T.rotate(tensor(), 90, expand=True).numpy(), np.rot90(tensor().numpy(), axes=(1, 2)))
    assert T.rotate(GREY.astype("int32") * 1000, 180)[0, 0] == int(GREY[-1, -1]) * 1000
    assert array(T.rotate(PIL_GREY, 30, fill=9))[0, 0] == 9  # the official one fails on grey pictures


def test_affine_and_perspective_special_cases():
    for picture in (PIL, PICTURE):
        assert np.array_equal(array(T.affine(picture, 0, [1, 2], 1.0, [0, 0]))[2:, 1:], PICTURE[:-2, :-1])
        assert np.array_equal(array(T.affine(picture, 180, [0, 0], 1.0, 0)), PICTURE[::-1, ::-1])
        corners = [[0, 0], [7, 0], [7, 5], [0, 5]]
        assert np.array_equal(array(T.perspective(picture, corners, corners)), PICTURE)
        moved = [[x + 1, y] for x, y in corners]
        assert np.array_equal(array(T.perspective(picture, corners, moved))[:, 1:], PICTURE[:, :-1])
    with pytest.raises(ValueError, match="scale"):
        T.affine(PIL, 0, [0, 0], 0.0, [0, 0])
    with pytest.raises(ValueError, match="line"):
        T.perspective(PIL, corners, [[0, 0], [1, 1], [2, 2], [3, 3]])


# ---- colour ----
def test_grey():
    want = array(PIL.convert("L"))
    assert np.array_equal(array(T.to_grayscale(PIL)), want) and T.to_grayscale(PIL, 3).mode == "RGB"
    assert np.abs(T.to_grayscale(PICTURE)[:, :, 0].astype(int) - want).max() <= 1 and T.to_grayscale(
        PICTURE, 3
    ).shape == (6, 8, 3)
    np.testing.assert_allclose(T.to_grayscale(tensor()).numpy()[0] * 255, want, atol=1)
    assert T.Grayscale(3)(GREY).shape == (6, 8, 3)
    with pytest.raises(ValueError):
        T.to_grayscale(PIL, 2)


@pytest.mark.parametrize("name", ["adjust_brightness", "adjust_contrast", "adjust_hue"])
def test_colour_changes_agree_between_kinds(name):
    function = getattr(T, name)
    for factor in (0.3, -0.2) if name == "adjust_hue" else (0.0, 0.5, 1.0, 1.7):
        want = array(function(PIL, factor)).astype(int)
        for _, picture in kinds()[1:]:
            near = np.abs(plain(function(picture, factor)).astype(int) - want)
            assert near.max() <= (12 if name == "adjust_hue" else 2), (name, factor)  # Pillow's hue has 8 bits
    assert np.array_equal(array(T.adjust_hue(PIL_GREY, 0.3)), GREY)
    with pytest.raises(ValueError):
        function(PIL, -0.6)


def test_hue_by_a_third_permutes_the_channels():
    got = T.adjust_hue(tensor(), 1 / 3).numpy()
    np.testing.assert_allclose(got, tensor().numpy()[[2, 0, 1]], atol=1e-5)
    np.testing.assert_allclose(T.adjust_hue(PICTURE.astype("float64") / 255, 0.0), PICTURE / 255, atol=1e-9)


def test_erase():
    for _, picture in kinds():
        got = T.erase(picture, 1, 2, 3, 4, 0)
        assert (plain(got)[1:4, 2:6] == 0).all() and np.array_equal(plain(got)[4:], PICTURE[4:]) and got is not picture
    own = PICTURE.copy()
    assert T.erase(own, 0, 0, 1, 1, 7, inplace=True) is own and own[0, 0].tolist() == [7, 7, 7]


# ---- classes ----
def test_compose_transpose_and_keys():
    assert T.Compose([T.Resize(3), T.Transpose()])(PIL).shape == (3, 3, 4)
    assert T.Transpose()(GREY).shape == (1, 6, 8) and T.Transpose((1, 0, 2))(PICTURE).shape == (8, 6, 3)
    picture, other = T.Resize(3)((PIL, 5))
    assert picture.size == (4, 3) and other == 5
    flipped, mask, label = T.RandomHorizontalFlip(1.0, keys=("image", "mask", None))((PICTURE, GREY, 3))
    assert np.array_equal(flipped, PICTURE[:, ::-1]) and np.array_equal(mask, GREY[:, ::-1]) and label == 3
    for bad in ("x", ["foo"]):
        with pytest.raises((ValueError, NotImplementedError), match="keys"):
            T.BaseTransform(bad)
    with pytest.raises(NotImplementedError):
        T.BaseTransform()(PIL)
    with pytest.raises(ZeroDivisionError):
        T.Compose([lambda x: 1 / 0])(PIL)


def test_an_image_and_its_mask_get_the_same_crop():
    for _ in range(5):
        image, mask = T.RandomCrop(3, keys=("image", "mask"))((PICTURE, GREY))
        assert np.array_equal(image[:, :, 0], mask)


def test_random_crop():
    assert {T.RandomCrop(3)(p).shape[:2] for p in (PICTURE,) * 3} == {(3, 3)} and T.RandomCrop(4)(tensor()).shape == [
        3,
        4,
        4,
    ]
    assert T.RandomCrop(10, pad_if_needed=True)(PIL).size == (10, 10) and T.RandomCrop(8, padding=2)(PICTURE).shape == (
        8,
        8,
        3,
    )
    seen = {tuple(T.RandomCrop((6, 2))(PICTURE)[0, 0]) for _ in range(60)}
    assert seen == {tuple(PICTURE[0, i]) for i in range(7)}
    with pytest.raises(ValueError, match="smaller"):
        T.RandomCrop(10)(PICTURE)


@pytest.mark.parametrize(
    "make",
    [
        lambda: T.RandomHorizontalFlip(),
        lambda: T.RandomCrop(3),
        lambda: T.RandomRotation(90),
        lambda: T.RandomResizedCrop(3),
        lambda: T.ColorJitter(0.5, 0.5, 0.5, 0.2),
        lambda: T.RandomAffine(30, (0.1, 0.1), (0.5, 1.5), 10),
        lambda: T.RandomPerspective(),
        lambda: T.RandomErasing(value="random"),
        lambda: T.RandomVerticalFlip(),
    ],
)
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_random_transforms_follow_the_seed_and_vary(make, kind):
    picture = kinds()[kind][1]
    transform = make()

    def run(seed):
        random.seed(seed)
        np.random.seed(seed)
        return plain(transform(picture)).tobytes()

    assert [run(s) for s in range(8)] == [run(s) for s in range(8)] and len({run(s) for s in range(8)}) > 1


def test_resized_crop_of_the_whole_picture():
    whole = T.RandomResizedCrop((6, 8), scale=(1.0, 1.0), ratio=(8 / 6, 8 / 6))
    assert np.array_equal(whole(PICTURE), PICTURE)
    assert T.RandomResizedCrop(4, scale=(1.0, 1.0), ratio=(9.0, 9.0))(PIL).size == (4, 4)  # nothing fits: the middle


@pytest.mark.parametrize(
    "make",
    [
        lambda: T.BrightnessTransform(-1.0),
        lambda: T.HueTransform(0.6),
        lambda: T.RandomErasing(prob=2.0),
        lambda: T.RandomRotation(-5),
        lambda: T.RandomRotation((1, 2, 3)),
        lambda: T.RandomAffine(1, (2, 0)),
        lambda: T.RandomAffine(1, scale=(0, 1)),
        lambda: T.RandomHorizontalFlip(2.0),
        lambda: T.RandomResizedCrop(3, scale=(1, 0.5)),
        lambda: T.RandomPerspective(distortion_scale=2),
        lambda: T.Pad((1, 2, 3)),
        lambda: T.to_tensor(PICTURE, "NCHW"),
        lambda: T.RandomErasing(value="x"),
        lambda: T.ColorJitter(hue=(0.4, 0.1)),
        lambda: T.Transpose((0, 1, 5))(PICTURE),
        lambda: T.Transpose((0, 1, 1))(PICTURE),
        *(lambda x=x: T.resize(x, 3) for x in (np.zeros((0, 4, 3), "uint8"), paddle.zeros([3, 4, 0]))),
    ],
)
def test_refused_values(make):
    with pytest.raises(ValueError):
        make()


def test_what_would_fill_the_memory_or_cannot_be_done():
    for picture in (PICTURE, PIL, paddle.zeros([3, 4, 5])):
        for function in (lambda x: T.resize(x, (10**6, 10**6)), lambda x: T.pad(x, 10**6)):
            with pytest.raises(MemoryError, match="more memory than there is"):
                function(picture)
    for mode in ("1", "P", "I;16", "F"):
        for function in (T.adjust_brightness, T.adjust_contrast):
            with pytest.raises(ValueError, match=f"mode '{mode}' cannot be changed"):
                function(Image.new(mode, (3, 4)), 1.5)
    for transforms in (None, [5]):
        with pytest.raises(TypeError, match="list of callables"):
            T.Compose(transforms)


@pytest.mark.parametrize(
    "function",
    [
        T.hflip,
        T.to_tensor,
        lambda x: T.resize(x, 3),
        lambda x: T.pad(x, 1),
        lambda x: T.rotate(x, 3),
        lambda x: T.crop(x, 0, 0, 1, 1),
        F.to_grayscale,
        lambda x: T.adjust_hue(x, 0.1),
    ],
)
@pytest.mark.parametrize("thing", ["x", 3, None, np.zeros(3), np.zeros((1, 2, 3, 4))])
def test_what_is_no_picture(function, thing):
    with pytest.raises(TypeError, match="Pillow image"):
        function(thing)


def test_warps_of_tensors_stay_on_the_tape_and_do_not_compile_again():
    x = paddle.to_tensor(np.random.RandomState(0).rand(2, 5, 6).astype("float32"), stop_gradient=False)
    out = T.rotate(x, 17.0, "bilinear")
    out.sum().backward()
    assert out.shape == [2, 5, 6] and 0 < x.grad.numpy().min() <= x.grad.numpy().max() < 1.6
    with paddle.utils.count_compiles() as count:
        for angle in (3.0, 50.0, -20.0):
            T.rotate(x, angle, "bilinear")
    assert count.compiles == 0
    assert np.array_equal(T.rotate(tensor(), 37, expand=True).shape[1:], array(PIL.rotate(37, expand=True)).shape[:2])
    filled = T.rotate(tensor(), 37, fill=(0.1, 0.2, 0.3)).numpy()
    np.testing.assert_allclose(filled[:, 0, 0], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="interpolation"):
        T.rotate(tensor(), 5, "bicubic")
