"""Linear maps, embedding, dropout, distances, vision, sequences, attention."""

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle
import paddle.nn.functional as F

from _check import check_grad, compare

t = paddle.to_tensor
R = np.random.RandomState(0)


# ---- weights ----


def test_linear():
    x, w, b = R.randn(2, 3, 4), R.randn(4, 5), R.randn(5)
    compare(F.linear(t(x), t(w), t(b)), x @ w + b, 1e-9)
    compare(F.linear(t(x[0, 0]), t(w)), x[0, 0] @ w, 1e-9)
    assert F.linear(paddle.zeros([0, 4]), paddle.ones([4, 2])).shape == [0, 2]
    check_grad(F.linear, x[0], w, b, order=2, rtol=1e-4, atol=1e-4)
    for bad in (
        (paddle.ones([2, 3]), paddle.ones([4, 5])),
        (paddle.ones([2, 3]), paddle.ones([3, 4]), paddle.ones([5])),
    ):
        with pytest.raises(ValueError, match="linear"):
            F.linear(*bad)
    with pytest.raises(TypeError, match="linear"):
        F.linear(paddle.ones([2, 3]), paddle.ones([3, 4]).astype("float64"))


def test_bilinear():
    a, b, w, c = R.randn(3, 4), R.randn(3, 5), R.randn(2, 4, 5), R.randn(1, 2)
    compare(F.bilinear(t(a), t(b), t(w), t(c)), np.stack([[x @ k @ y for k in w] for x, y in zip(a, b)]) + c, 1e-9)
    check_grad(F.bilinear, a, b, w, c)


def test_embedding():
    w, ids = R.randn(6, 3), R.randint(0, 6, (2, 4))
    compare(F.embedding(t(ids), t(w)), w[ids])
    compare(F.embedding(t(ids.astype("int32")), t(w), padding_idx=-6), np.where((ids == 0)[..., None], 0, w[ids]))
    table = t(w, stop_gradient=False)
    F.embedding(t([1, 2, 1]), table, padding_idx=2).sum().backward()
    assert table.grad.numpy()[:, 0].tolist() == [0, 2, 0, 0, 0, 0]
    table.clear_grad()
    F.embedding(t([1, 2, 1]), table, scale_grad_by_freq=True).sum().backward()
    assert table.grad.numpy()[:, 0].tolist() == [0, 1, 1, 0, 0, 0]
    assert F.embedding(paddle.zeros([0], "int64"), t(w)).shape == [0, 3] and F.embedding(t(1), t(w)).shape == [3]


def test_embedding_max_norm_changes_the_rows_in_use():
    w = t([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    F.embedding(t([0, 1]), w, max_norm=1.0)
    compare(w, [[0.6, 0.8], [0.3, 0.4], [6, 8]], 1e-6)


@pytest.mark.parametrize("index", [1, -1, 2**31])
def test_embedding_index_out_of_range(index):
    with pytest.raises(IndexError, match=f"{index} is out of range, the size is 1"):
        F.embedding(t([index]), paddle.ones([1, 1]).astype("float16"), padding_idx=0)


def test_embedding_bad_arguments():
    with pytest.raises(TypeError):
        F.embedding(t([1.0]), paddle.ones([3, 2]))
    with pytest.raises(ValueError):
        F.embedding(t([1]), paddle.ones([3, 2]), padding_idx=3)
    with pytest.raises(ValueError):
        F.embedding(t([1]), paddle.ones([3]))


# ---- dropout ----


@pytest.mark.parametrize("mode, value", [("upscale_in_train", 1 / 0.7), ("downscale_in_infer", 1.0)])
def test_dropout(mode, value):
    x = paddle.ones([200, 200])
    y = F.dropout(x, 0.3, mode=mode).numpy()
    np.testing.assert_allclose(y[y != 0], value, rtol=1e-6)
    assert abs((y == 0).mean() - 0.3) < 0.02
    paddle.seed(5)
    a = F.dropout(x, 0.3, mode=mode).numpy()
    b = F.dropout(x, 0.3, mode=mode).numpy()
    paddle.seed(5)
    assert (F.dropout(x, 0.3, mode=mode).numpy() == a).all() and (a != b).any()
    compare(F.dropout(x[0], 0.3, training=False, mode=mode), np.full(200, 1 if value > 1 else 0.7), 1e-6)
    assert F.dropout(x[0], 1.0, mode=mode).abs().sum().item() == 0
    assert F.dropout(x, 0.0, mode=mode) is x


def test_masks_of_dropout_are_independent():
    """Neighbours at several distances, bits of the position, and draws that follow each other or whose seeds do."""
    masks = []
    for seed in (0, 1):
        paddle.seed(seed)
        masks += [(F.dropout(paddle.ones([2**16]), 0.5).numpy() > 0) - 0.5 for _ in range(4)]
    masks = np.stack(masks) * 2
    assert np.abs(masks.mean(1)).max() < 5 / 256  # 5 standard deviations
    pairs = masks @ masks.T / 2**16
    assert np.abs(pairs - np.eye(8)).max() < 5 / 256
    for distance in (1, 2, 3, 16, 64, 255, 256, 4096):
        assert abs((masks[:, distance:] * masks[:, :-distance]).mean()) < 5 / 700
    for bit in range(16):
        half = np.where(np.arange(2**16) >> bit & 1, 1, -1)
        assert np.abs((masks * half).mean(1)).max() < 5 / 256


def test_dropout_gradient_uses_the_same_mask():
    x = paddle.ones([50, 50])
    x.stop_gradient = False
    y = F.dropout(x, 0.4)
    y.sum().backward()
    assert (x.grad.numpy() == y.numpy()).all()


def test_a_new_rate_does_not_compile_again():
    x = paddle.ones([3])
    F.dropout(x, 0.5)
    with paddle.utils.count_compiles() as count:
        F.dropout(x, 0.25)
    assert count.compiles == 0


def test_dropout_of_axes_and_channels():
    y = F.dropout(paddle.ones([40, 40]), 0.5, axis=1).numpy()
    assert (y == y[:1]).all() and 0 < (y == 0).mean() < 1
    for function, shape, options in (
        (F.dropout2d, [10, 20, 3, 3], {}),
        (F.dropout3d, [10, 20, 2, 2, 2], {}),
        (F.dropout1d, [10, 20, 4], {}),
    ):
        flat = function(paddle.ones(shape), 0.5, **options).numpy().reshape(200, -1)
        assert (flat == flat[:, :1]).all() and 0.3 < (flat == 0).mean() < 0.7
    y = F.dropout2d(paddle.ones([10, 3, 3, 20]), 0.5, data_format="NHWC").numpy()
    assert (y == y[:, :1, :1]).all()


def test_alpha_dropout_keeps_mean_and_variance():
    x = t(R.randn(300, 300))
    y = F.alpha_dropout(x, 0.3).numpy()
    assert abs(y.mean()) < 0.03 and abs(y.std() - 1) < 0.03
    assert F.alpha_dropout(x, 1.0).abs().sum().item() == 0
    y = F.feature_alpha_dropout(paddle.ones([20, 20, 5]), 0.5).numpy()
    assert (y == y[..., :1]).all() and len(np.unique(y)) == 2


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda: F.dropout(paddle.ones([3]), 1.5), ValueError),
        (lambda: F.dropout(paddle.ones([3]), -0.1), ValueError),
        (lambda: F.dropout(paddle.ones([3]), "a"), TypeError),
        (lambda: F.dropout(t([1, 2]), 0.5), TypeError),
        (lambda: F.dropout(paddle.ones([3]), 0.5, mode="x"), ValueError),
        (lambda: F.dropout(paddle.ones([3]), 0.5, axis=1), ValueError),
        (lambda: F.dropout2d(paddle.ones([3, 3]), 0.5), ValueError),
        (lambda: F.dropout2d(paddle.ones([1, 2, 2, 2]), data_format="X"), ValueError),
        (lambda: F.feature_alpha_dropout(paddle.ones([3])), ValueError),
        (lambda: F.dropout1d(paddle.ones([3])), ValueError),
    ],
)
def test_dropout_bad_arguments(call, kind):
    with pytest.raises(kind):
        call()


# ---- distances ----


def test_cosine_similarity():
    a, b = R.randn(2, 3, 5), R.randn(1, 3, 5)
    want = (a * b).sum(2) / np.linalg.norm(a, axis=2) / np.linalg.norm(b, axis=2)
    compare(F.cosine_similarity(t(a), t(b), axis=2), want, 1e-9)
    compare(F.cosine_similarity(paddle.zeros([2, 3]), paddle.zeros([2, 3])), np.zeros(2))
    check_grad(lambda x, y: F.cosine_similarity(x, y, axis=-1), a[0], b[0], order=2, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("p", [0.5, 1, 2, 3, float("inf"), float("-inf")])
def test_pairwise_distance(p):
    a, b = R.randn(3, 4), R.randn(3, 4)
    compare(F.pairwise_distance(t(a), t(b), p, keepdim=True), np.linalg.norm(a - b + 1e-6, p, 1, keepdims=True), 1e-9)
    check_grad(lambda x, y: F.pairwise_distance(x, y, p), a, b)


# ---- pixels ----


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 3), st.integers(1, 2), st.integers(1, 2), st.integers(1, 2), st.sampled_from(["NCHW", "NHWC"]))
def test_shuffles_round_trip(r, c, h, w, data_format):
    x = np.arange(2.0 * c * r * r * h * w).reshape(
        (2, c * r * r, h, w) if data_format == "NCHW" else (2, h, w, c * r * r)
    )
    y = F.pixel_shuffle(t(x), r, data_format)
    assert sorted(y.shape) == sorted((2, c, h * r, w * r))
    compare(F.pixel_unshuffle(y, r, data_format), x)
    compare(F.channel_shuffle(F.channel_shuffle(t(x), r, data_format), c * r, data_format), x)


def test_pixel_shuffle_order():
    x = np.arange(4.0).reshape(1, 4, 1, 1)
    assert F.pixel_shuffle(t(x), 2).flatten().tolist() == [0, 1, 2, 3]
    assert F.channel_shuffle(t(x), 2).flatten().tolist() == [0, 2, 1, 3]
    assert F.zeropad2d(t(x[:, :1]), [1, 2, 3, 4]).shape == [1, 1, 8, 4]


def test_unfold_and_fold_are_adjoint():
    x = R.randn(1, 2, 4, 5)
    cols = F.unfold(t(x), [2, 3], [1, 2], [0, 1, 2, 3], [2, 1])
    padded = np.pad(x, [(0, 0), (0, 0), (0, 2), (1, 3)])
    compare(cols[0, :, 1].reshape([2, 2, 3]), padded[0, :, 0:3:2, 2:5])
    z = R.randn(*cols.shape)
    back = F.fold(t(z), [4, 5], [2, 3], [1, 2], [0, 1, 2, 3], [2, 1])
    np.testing.assert_allclose((cols.numpy() * z).sum(), (back.numpy() * x).sum(), rtol=1e-9)
    check_grad(lambda v: F.fold(v, 3, 2), R.randn(1, 4, 4))
    check_grad(lambda v: F.unfold(v, 2), x[:, :, :3, :3])


def test_temporal_shift():
    x = np.arange(1.0, 9).reshape(2, 4, 1, 1)
    assert F.temporal_shift(t(x), 2, 0.25).flatten().tolist() == [0, 6, 3, 4, 1, 0, 7, 8]
    assert F.temporal_shift(t(x.reshape(2, 1, 1, 4)), 2, 0.25, data_format="NHWC").flatten().tolist() == [
        0,
        6,
        3,
        4,
        1,
        0,
        7,
        8,
    ]


# ---- resizing ----


def test_interpolate_nearest_and_area():
    x = R.randn(1, 2, 4, 6)
    compare(F.interpolate(t(x), scale_factor=2), x.repeat(2, 2).repeat(2, 3))
    compare(F.interpolate(t(x), size=[3, 4]), x[:, :, [0, 1, 2]][:, :, :, [0, 1, 3, 4]])
    compare(F.interpolate(t(x), size=[2, 3], mode="area"), x.reshape(1, 2, 2, 2, 3, 2).mean((3, 5)), 1e-9)
    compare(
        F.interpolate(t(x), size=[2, 3], mode="area", align_corners=True),
        x.reshape(1, 2, 2, 2, 3, 2).mean((3, 5)),
        1e-9,
    )
    assert F.interpolate(t(x[0]), size=t([9])).shape == [2, 4, 9]


@pytest.mark.parametrize(
    "align_corners, align_mode, want",
    [
        (False, 0, [0, 0.25, 0.75, 1.25, 1.75, 2]),
        (False, 1, [0, 0.5, 1, 1.5, 2, 2]),
        (True, 0, [0, 0.4, 0.8, 1.2, 1.6, 2]),
    ],
)
def test_interpolate_linear(align_corners, align_mode, want):
    options = dict(align_corners=align_corners, align_mode=align_mode)
    x = np.arange(3.0)
    compare(F.interpolate(t(x.reshape(1, 1, 3)), size=[6], mode="linear", **options).flatten(), want, 1e-6)
    plane = F.interpolate(t(x.reshape(1, 1, 3, 1).repeat(2, 3)), size=[6, 5], mode="bilinear", **options)
    compare(plane[0, 0, :, 3], want, 1e-6)
    volume = F.interpolate(t(x.reshape(1, 1, 1, 3, 1)), size=[2, 6, 2], mode="trilinear", **options)
    compare(volume[0, 0, 1, :, 1], want, 1e-6)


def test_interpolate_by_scale_or_by_sizes():
    x = np.arange(5.0).reshape(1, 1, 5, 1)
    compare(
        F.interpolate(t(x), scale_factor=[1.7, 1], mode="bilinear").flatten()[:3],
        [0, 1.5 / 1.7 - 0.5, 2.5 / 1.7 - 0.5],
        1e-6,
    )
    compare(
        F.interpolate(t(x), scale_factor=[1.7, 1], mode="bilinear", recompute_scale_factor=True).flatten()[:2],
        [0, 1.5 * 5 / 8 - 0.5],
        1e-6,
    )


def test_interpolate_bicubic_and_antialias():
    x = (np.arange(6.0) ** 2).reshape(1, 1, 6, 1)
    y = F.interpolate(t(x), size=[12, 1], mode="bicubic").flatten().numpy()
    np.testing.assert_allclose(y[5:8], [5.203125, 7.234375, 10.796875])  # recorded from the official package
    check_grad(lambda v: F.interpolate(v, size=[5, 3], mode="bicubic", align_corners=True), R.randn(1, 1, 3, 2))
    from PIL import Image

    image = R.rand(9, 7).astype("float32")
    for mode, kind in (("bilinear", Image.BILINEAR), ("bicubic", Image.BICUBIC)):
        want = np.asarray(Image.fromarray(image).resize((3, 4), kind))
        compare(F.interpolate(t(image[None, None]), size=[4, 3], mode=mode, antialias=True)[0, 0], want, 1e-5)


@pytest.mark.parametrize(
    "options",
    [
        dict(),
        dict(size=[2, 2], scale_factor=2),
        dict(size=[0, 2]),
        dict(size=[2, 2, 2]),
        dict(scale_factor=0),
        dict(scale_factor=0.1),
        dict(size=[2, 2], mode="foo"),
        dict(size=[2], mode="linear"),
        dict(size=[2, 2], align_corners=True),
        dict(size=[2, 2], data_format="NCDHW"),
        dict(size=[2, 2], mode="bilinear", align_mode=2),
        dict(size=[2, 2], recompute_scale_factor=True),
        dict(size=[2, 2], antialias=True),
    ],
)
def test_interpolate_bad_arguments(options):
    with pytest.raises(ValueError, match="interpolate"):
        F.interpolate(paddle.ones([1, 1, 4, 4]), **options)


# ---- sampling ----


def test_affine_grid_and_grid_sample_reproduce_the_image():
    for align_corners in (True, False):
        x = R.randn(2, 3, 4, 5)
        theta = np.array([[[1.0, 0, 0], [0, 1, 0]]] * 2)
        grid = F.affine_grid(t(theta), [2, 3, 4, 5], align_corners)
        compare(F.grid_sample(t(x), grid, align_corners=align_corners), x, 1e-9, 1e-9)
        x, theta = R.randn(1, 2, 2, 3, 4), np.eye(4)[None, :3]
        grid = F.affine_grid(t(theta), [1, 2, 2, 3, 4], align_corners)
        compare(F.grid_sample(t(x), grid, "nearest", align_corners=align_corners), x)


@pytest.mark.parametrize("mode, outside", [("zeros", [0, 0]), ("border", [1, 4]), ("reflection", [3, 2])])
def test_grid_sample_outside(mode, outside):
    x = t(np.arange(1.0, 5).reshape(1, 1, 1, 4))
    grid = np.zeros((1, 1, 2, 2))
    grid[0, 0, :, 0] = [-1 - 4 / 3, 1 + 4 / 3]  # two pixels beyond the corners
    compare(F.grid_sample(x, t(grid), padding_mode=mode).flatten(), outside, 1e-9, 1e-9)
    check_grad(
        lambda x, g: F.grid_sample(x, g, padding_mode=mode), R.randn(1, 2, 3, 4), R.uniform(-1.3, 1.3, (1, 2, 2, 2))
    )


@pytest.mark.parametrize("value", [1e20, -1e20, float("inf"), float("nan")])
def test_grid_sample_of_wild_points_stays_inside(value):
    x = t(np.ones((1, 1, 2, 2)))
    for mode in ("zeros", "border", "reflection"):
        y = F.grid_sample(x, t(np.array([[[[value, 0.0]]]])), "nearest", mode)
        assert y.shape == [1, 1, 1, 1]


# ---- sequences ----


def test_label_smooth_and_sequence_mask():
    one = np.eye(4)[:2]
    compare(F.label_smooth(t(one), epsilon=0.2), 0.8 * one + 0.05, 1e-9)
    compare(
        F.label_smooth(t(one), t([[0.1, 0.2, 0.3, 0.4]]), 0.2), 0.8 * one + 0.2 * np.array([0.1, 0.2, 0.3, 0.4]), 1e-6
    )
    assert F.sequence_mask(t([3, 0]), dtype="float32").tolist() == [[1, 1, 1], [0, 0, 0]]
    assert F.sequence_mask(t([[1], [2]]), maxlen=t(2), dtype="bool").tolist() == [[[True, False]], [[True, True]]]
    for bad in (lambda: F.label_smooth(t(one), epsilon=1.2), lambda: F.sequence_mask(t([1]), -1)):
        with pytest.raises(ValueError):
            bad()


def test_gather_tree():
    ids = t([[[2, 2], [6, 1]], [[3, 9], [6, 1]], [[0, 1], [9, 0]]])
    parents = t([[[0, 0], [1, 1]], [[1, 0], [1, 0]], [[0, 0], [0, 1]]])
    assert F.gather_tree(ids, parents).tolist() == [[[2, 2], [1, 6]], [[3, 3], [6, 1]], [[0, 1], [9, 0]]]


# ---- attention ----


def attention(q, k, v, mask=0, scale=None):
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * (scale or q.shape[-1] ** -0.5) + mask
    return np.einsum("bhqk,bkhd->bqhd", scipy.special.softmax(scores, -1), v)


def test_attention():
    q, k, v = R.randn(2, 3, 2, 4), R.randn(2, 5, 2, 4), R.randn(2, 5, 2, 3)
    mask = R.randn(2, 1, 3, 5)
    f = F.scaled_dot_product_attention
    compare(f(t(q), t(k), t(v)), attention(q, k, v), 1e-9)
    compare(f(t(q), t(k), t(v), t(mask), scale=0.3), attention(q, k, v, mask, 0.3), 1e-9)
    compare(
        f(t(q), t(k), t(v), t(mask > 0.5 - 10 * (np.arange(5) == 0))),
        attention(q, k, v, np.where(mask > 0.5 - 10 * (np.arange(5) == 0), 0, -np.inf)),
        1e-9,
    )
    compare(f(t(q), t(q), t(q), is_causal=True), attention(q, q, q, np.where(np.tri(3), 0, -np.inf)), 1e-9)
    compare(f(t(q[0]), t(k[0]), t(v[0])), attention(q, k, v)[0], 1e-9)
    compare(f(t(q.repeat(2, 2)), t(k), t(v)), attention(q.repeat(2, 2), k.repeat(2, 2), v.repeat(2, 2)), 1e-9)
    check_grad(lambda q, k, v: f(q, k, v, is_causal=True), q[:1], k[:1, :3], v[:1, :3])
    with pytest.raises(ValueError):
        f(t(q), t(k[:1]), t(v))


def test_attention_without_any_key_is_zero():
    q = t(R.randn(1, 2, 1, 4), stop_gradient=False)
    mask = t(np.array([[False, False], [True, True]]))
    y = F.scaled_dot_product_attention(q, q, q, mask)
    y.sum().backward()
    assert y[0, 0].abs().sum().item() == 0 and np.isfinite(q.grad.numpy()).all()


@pytest.mark.parametrize("size", [1e9, 4e11, 1e18])
def test_attention_of_large_scores(size):
    q, k = (R.randn(1, n, 8, 32).astype("float32") for n in (9, 49))
    compare(F.scaled_dot_product_attention(t(q * size), t(k), t(k)), attention(q.astype("float64") * size, k, k), 1e-3)


def test_attention_dropout():
    q = paddle.ones([1, 64, 1, 4])
    y = F.scaled_dot_product_attention(q, q, q, dropout_p=0.5).numpy()
    assert y.std() > 0 and abs(y.mean() - 1) < 0.1
    compare(F.scaled_dot_product_attention(q, q, q, dropout_p=0.5, training=False), np.ones((1, 64, 1, 4)))


def test_flash_attention_names():
    qkv = R.randn(2, 3, 3, 2, 4)
    want = attention(*np.moveaxis(qkv, 2, 0))
    with F.sdp_kernel(enable_math=True):
        compare(F.flash_attn_qkvpacked(t(qkv))[0], want, 1e-9)
    compare(F.flash_attention.flash_attention(*map(t, np.moveaxis(qkv, 2, 0)))[0], want, 1e-9)
    out, weights = F.flash_attn_qkvpacked(t(qkv), causal=True, return_softmax=True)
    value = np.moveaxis(qkv, 2, 0)[2]
    compare(out, np.einsum("bhqk,bkhd->bqhd", weights.numpy(), value), 1e-9)
    compare(weights.sum(-1), np.ones((2, 2, 3)), 1e-9)
    assert not np.triu(weights.numpy(), 1).any()
    paddle.seed(3)
    out, weights = F.flash_attention.flash_attention(*map(t, np.moveaxis(qkv, 2, 0)), dropout=0.5, return_softmax=True)
    compare(out, np.einsum("bhqk,bkhd->bqhd", weights.numpy(), value), 1e-9)
    assert 0 < (weights.numpy() == 0).mean() < 1


def test_dropout_of_nothing_takes_every_type():
    x = paddle.to_tensor([1, 2])
    assert F.dropout(x, 0.0).tolist() == F.alpha_dropout(x, 0.0).tolist() == [1, 2]
    with pytest.raises(TypeError, match="dropout: x must be floating"):
        F.dropout(x, 0.5)
