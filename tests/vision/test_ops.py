"""Operators of detectors: against plain loops, in programs, and bad arguments."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle
from paddle.static import InputSpec
from paddle.vision import ops

from _check import check_grad, compare


def tensor(values, dtype=None):
    return paddle.to_tensor(np.asarray(values, dtype))


def boxes_of(rng, n, size=20.0):
    return np.sort(rng.random((n, 2, 2)) * size, 1).reshape(n, 4).astype("float32")


ONE = tensor([1], "int32")


# ---- suppression ----


def iou(a, b):
    w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    common = max(w, 0) * max(h, 0)
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


def greedy(boxes, threshold, order):
    kept = []
    for k in order:
        if all(not iou(boxes[k], boxes[j]) > threshold for j in kept):
            kept.append(k)
    return kept


@given(st.integers(0, 40), st.integers(0, 1000), st.sampled_from([0.0, 0.2, 0.5, 0.9]))
@settings(max_examples=25, deadline=None)
def test_nms_is_the_greedy_choice(n, seed, threshold):
    rng = np.random.default_rng(seed)
    boxes, scores = boxes_of(rng, n).astype("float64"), rng.permutation(n) / 10.0
    order = np.argsort(-scores)
    assert ops.nms(tensor(boxes), threshold).tolist() == greedy(boxes, threshold, range(n))
    assert ops.nms(tensor(boxes), threshold, tensor(scores)).tolist() == greedy(boxes, threshold, order)
    labels = rng.integers(0, 3, n)
    kept = ops.nms(tensor(boxes), threshold, tensor(scores), tensor(labels), [0, 2])
    want = [k for c in (0, 2) for k in greedy(boxes, threshold, [k for k in order if labels[k] == c])]
    assert kept.tolist() == sorted(want, key=lambda k: -scores[k]) and kept.dtype == paddle.int64
    top = ops.nms(tensor(boxes), threshold, tensor(scores), tensor(labels), [0, 2], top_k=n // 4)
    assert top.tolist() == kept.tolist()[: n // 4]


def test_nms_of_many_boxes_goes_by_parts():
    rng = np.random.default_rng(0)
    boxes = boxes_of(rng, 700)
    assert ops.nms(tensor(boxes), 0.6).tolist() == greedy(boxes, 0.6, range(700))


def test_the_threshold_shrinks_with_eta():
    from paddle.ops.detection_suppression import suppress

    rng = np.random.default_rng(1)
    boxes = boxes_of(rng, 400, 8.0).astype("float64")
    kept, most = [], 0.9
    for k in range(400):
        if all(not iou(boxes[k], boxes[j]) > most for j in kept):
            kept.append(k)
            most = most * 0.95 if most > 0.5 else most
    assert suppress(boxes, 0.9, 0.95).tolist() == kept
    assert suppress(boxes, 0.9, 0.95, at_most=5).tolist() == kept[:5]


def test_boxes_without_area_and_nan_stay():
    boxes = tensor([[0, 0, 0, 0], [0, 0, 0, 0], [5, 5, 1, 1]], "float32")
    assert ops.nms(boxes, 0.5).tolist() == [0, 1, 2]  # official
    assert ops.nms(tensor(np.full((3, 4), np.nan)), 0.5).tolist() == [0, 1, 2]


def test_levels_without_numbers_of_boxes():
    boxes = boxes_of(np.random.default_rng(2), 9, 100.0)
    levels, restore, counts = ops.distribute_fpn_proposals(tensor(boxes), 2, 4, 3, 40)
    assert counts is None
    compare(paddle.gather(paddle.concat(levels), restore.flatten()), boxes)


# ---- regions ----


def sample(image, y, x):
    h, w = image.shape
    if not (-1 <= y <= h and -1 <= x <= w):
        return 0.0
    y, x = min(max(y, 0), h - 1), min(max(x, 0), w - 1)
    i, j = int(y), int(x)
    k, m = min(i + 1, h - 1), min(j + 1, w - 1)
    b, a = y - i, x - j
    return (1 - b) * ((1 - a) * image[i, j] + a * image[i, m]) + b * ((1 - a) * image[k, j] + a * image[k, m])


def align(image, box, bins, scale, samples, aligned):
    x1, y1, x2, y2 = np.asarray(box) * scale - (0.5 if aligned else 0)
    w, h = x2 - x1, y2 - y1
    if not aligned:
        w, h = max(w, 1), max(h, 1)
    out = np.zeros(bins)
    n = samples if samples > 0 else int(np.ceil(h / bins[0]))
    m = samples if samples > 0 else int(np.ceil(w / bins[1]))
    for p, q in np.ndindex(*bins):
        points = [
            sample(
                image,
                y1 + p * h / bins[0] + (i + 0.5) * (h / bins[0]) / n,
                x1 + q * w / bins[1] + (j + 0.5) * (w / bins[1]) / m,
            )
            for i in range(n)
            for j in range(m)
        ]
        out[p, q] = sum(points) / max(n * m, 1)
    return out


@pytest.mark.parametrize(
    "scale, samples, aligned", [(1.0, 0, True), (0.61, 3, True), (1.7, -1, False), (0.3, 2, False)]
)
def test_roi_align_is_the_mean_of_samples(scale, samples, aligned):
    rng = np.random.default_rng(3)
    x = rng.random((2, 2, 6, 8))
    boxes = np.concatenate([boxes_of(rng, 4, 10.0) - 2, [[-30, -20, 40, 60], [2, 2, 2, 2]]])
    got = ops.roi_align(tensor(x), tensor(boxes), tensor([2, 4], "int32"), (3, 2), scale, samples, aligned)
    for k, box in enumerate(boxes):
        for c in range(2):
            want = align(x[int(k >= 2), c], box, (3, 2), scale, samples, aligned)
            np.testing.assert_allclose(got[k, c].numpy(), want, rtol=1e-9, atol=1e-12)


def test_the_gradient_of_roi_align_holds_for_boxes_below_a_pixel():
    box = tensor([[1.2, 2.3, 1.6, 2.9]], "float64")
    x = np.cos(np.arange(25.0)).reshape(1, 1, 5, 5)
    check_grad(lambda t: ops.roi_align(t, box, ONE, 2, sampling_ratio=1), x)


@pytest.mark.parametrize("function", [ops.roi_align, ops.roi_pool])
def test_small_boxes_on_large_maps_read_windows(function, monkeypatch):
    from paddle.ops import detection_regions

    rng = np.random.default_rng(8)
    x, boxes = rng.random((2, 3, 40, 50)), boxes_of(rng, 8, 9.0).astype("float64") * 2 - 4
    given = tensor(boxes), tensor([5, 3], "int32"), (3, 2), 0.9
    assert detection_regions._spans(tensor(x), given[0], (3, 2), 0.9) is not None
    got = function(tensor(x), *given)
    monkeypatch.setattr(detection_regions, "_AT_ONCE", 2000)
    small = function(tensor(x), *given[:2], (3, 2), 0.95)
    monkeypatch.setattr(detection_regions, "_spans", lambda *a: None)
    compare(got, function(tensor(x), *given).numpy())
    monkeypatch.undo()
    compare(small, function(tensor(x), *given[:2], (3, 2), 0.95).numpy())


def test_boxes_have_no_gradient():
    x, boxes = paddle.ones([1, 4, 4, 4]), tensor([[0, 0, 3, 3]], "float32")
    x.stop_gradient = boxes.stop_gradient = False
    for function in (ops.roi_align, ops.roi_pool, ops.psroi_pool):
        function(x, boxes, ONE, 2).sum().backward()
        assert boxes.grad is None and x.grad is not None  # official


def test_the_first_of_equal_pixels_gets_the_gradient():
    x = paddle.ones([1, 1, 4, 4])
    x.stop_gradient = False
    ops.roi_pool(x, tensor([[0, 0, 3, 3]], "float32"), ONE, 1).sum().backward()
    assert x.grad.flatten().tolist() == [1.0] + [0.0] * 15


def test_maps_too_large_for_one_step(monkeypatch):
    from paddle.ops import detection_regions

    rng = np.random.default_rng(4)
    x, boxes = rng.random((2, 4, 6, 7)), boxes_of(rng, 5, 8.0).astype("float64")
    given = tensor(boxes), tensor([3, 2], "int32"), 2
    functions = [ops.roi_align, ops.roi_pool, ops.psroi_pool]
    want = [f(tensor(x), *given).numpy() for f in functions]
    monkeypatch.setattr(detection_regions, "_AT_ONCE", 2 * x[0].size)
    for f, w in zip(functions, want):
        compare(f(tensor(x).reshape([2, 4, 6, 7]) * 1.0, *given[:2], (2, 2), 1.0), w)
        op = paddle.engine.op.registry[f.__name__]
        op.entries.clear()
        compare(f(tensor(x), *given), w)
        op.entries.clear()


def test_no_images_no_boxes():
    none = paddle.zeros([0, 4])
    for function in (ops.roi_align, ops.roi_pool, ops.psroi_pool):
        assert function(paddle.zeros([0, 4, 3, 3]), none, paddle.zeros([0], "int32"), 2).shape[0] == 0
        assert function(paddle.zeros([1, 4, 3, 3]), none, paddle.zeros([1], "int32"), 2).shape[0] == 0


# ---- deformable convolution, YOLO ----


def test_without_shifts_it_is_a_convolution():
    rng = np.random.default_rng(5)
    x, w, b = rng.random((2, 4, 6, 7)), rng.random((6, 2, 3, 2)), rng.random(6)
    want = paddle.nn.functional.conv2d(tensor(x), tensor(w), tensor(b), (2, 1), (1, 2), (1, 2), 2)
    offset, mask = paddle.zeros([2, 24, *want.shape[2:]], "float64"), paddle.ones([2, 12, *want.shape[2:]], "float64")
    got = ops.deform_conv2d(tensor(x), offset, tensor(w), tensor(b), (2, 1), (1, 2), (1, 2), 2, 2, mask)
    compare(got, want.numpy())


def test_shifts_of_whole_pixels_read_other_pixels():
    x = tensor(np.arange(16.0).reshape(1, 1, 4, 4))
    offset = paddle.zeros([1, 2, 4, 4], "float64")
    offset[:, 0], offset[:, 1] = 1.0, -1.0
    want = np.zeros((4, 4))
    want[:3, 1:] = np.arange(16.0).reshape(4, 4)[1:, :3]
    compare(ops.deform_conv2d(x, offset, paddle.ones([1, 1, 1, 1], "float64"))[0, 0], want)


def test_far_shifts_read_zeros():
    for far in (np.inf, np.nan, 1e30, -1e30):
        offset = paddle.full([1, 2, 2, 2], far)
        out = ops.deform_conv2d(paddle.ones([1, 1, 2, 2]), offset, paddle.ones([1, 1, 1, 1]))
        assert out.flatten().tolist() == [0.0] * 4


def test_true_boxes_of_one_cell_share_its_gradient():
    truth = tensor([[[0.3, 0.4, 0.2, 0.3], [0.3, 0.4, 0.2, 0.2]]], "float64")
    labels = tensor([[0, 1]], "int32")
    x = np.cos(np.arange(28.0) * 1.7).reshape(1, 7, 2, 2)
    check_grad(lambda t: ops.yolo_loss(t, truth, labels, [8, 10], [0], 2, 0.5, 16), x)


def test_centres_at_the_border_belong_to_the_last_cell():
    truth, labels = tensor([[[1.0, 1.0, 0.2, 0.3]]], "float32"), tensor([[0]], "int32")
    x = paddle.zeros([1, 7, 2, 2])
    x.stop_gradient = False
    ops.yolo_loss(x, truth, labels, [8, 10], [0], 2, 0.5, 16).backward()
    assert paddle.nonzero(x.grad[0, 0]).tolist() == [[1, 1]]


# ---- programs ----


def test_in_programs():
    rng = np.random.default_rng(6)
    maps, boxes, scores = (
        rng.random((1, 4, 7, 8)).astype("float32"),
        boxes_of(rng, 20, 9.0),
        rng.random(20).astype("float32"),
    )

    def detect(b, s, x):
        kept = ops.nms(b, 0.3, s)
        chosen = paddle.gather(b, kept)
        count = paddle.shape(chosen)[:1].astype("int32")
        levels, order, _ = ops.distribute_fpn_proposals(chosen, 2, 3, 3, 4, rois_num=count)
        pooled = [f(x, chosen, count, 2) for f in (ops.roi_align, ops.roi_pool, ops.psroi_pool)]
        rows, _, index = ops.matrix_nms(
            b.unsqueeze(0), s.reshape([1, 1, -1]), 0.1, 0.0, 5, 5, background_label=-1, return_index=True
        )
        return kept, *levels, order, *pooled, rows, index, ops.box_coder(chosen, [0.1] * 4, b)

    specs = [InputSpec([None, 4], "float32"), InputSpec([None], "float32"), InputSpec([1, 4, None, None], "float32")]
    program = paddle.jit.to_static(detect, input_spec=specs)
    for n in (20, 9):
        given = tensor(boxes[:n]), tensor(scores[:n]), tensor(maps)
        for got, want in zip(program(*given), detect(*given), strict=True):
            assert got.dtype == want.dtype
            compare(got, want.numpy())


def test_in_static_programs():
    rng = np.random.default_rng(7)
    feed = {
        "x": rng.standard_normal((2, 14, 3, 3)).astype("float32"),
        "size": np.array([[20, 30], [22, 33]], "int32"),
        "truth": rng.random((2, 4, 4)).astype("float32"),
        "label": rng.integers(0, 2, (2, 4)).astype("int32"),
        "scores": rng.random((2, 2, 3, 3)).astype("float32"),
        "deltas": rng.standard_normal((2, 8, 3, 3)).astype("float32"),
        "shape": np.full((2, 2), 20, "float32"),
        "anchors": boxes_of(rng, 18).reshape(3, 3, 2, 4),
        "offset": rng.standard_normal((2, 8, 2, 2)).astype("float32"),
        "weight": rng.standard_normal((2, 14, 2, 2)).astype("float32"),
    }

    def network(x, size, truth, label, scores, deltas, shape, anchors, offset, weight):
        boxes, sure = ops.yolo_box(x, size, [8, 9, 10, 12], 2, 0.1, 8)
        loss = ops.yolo_loss(x, truth, label, [8, 9, 10, 12], [0, 1], 2, 0.5, 8)
        found = ops.generate_proposals(scores, deltas, shape, anchors, anchors, return_rois_num=True)
        return [boxes, sure, loss, *found, *ops.prior_box(x, x, [2.0]), ops.deform_conv2d(x, offset, weight)]

    want = network(*map(tensor, feed.values()))
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            inputs = [paddle.static.data(k, [-1, *a.shape[1:]], str(a.dtype)) for k, a in feed.items()]
            outs = network(*inputs)
        got = paddle.static.Executor().run(main, feed=feed, fetch_list=outs)
    finally:
        paddle.disable_static()
    for g, w in zip(got, want, strict=True):
        compare(g, w.numpy(), rtol=1e-4)


# ---- layers, files ----


def test_layers():
    x, boxes = paddle.rand([1, 8, 6, 6]), tensor([[0, 0, 4, 5]], "float32")
    compare(
        ops.RoIAlign(2, 0.5)(x, boxes, ONE, aligned=False), ops.roi_align(x, boxes, ONE, 2, 0.5, aligned=False).numpy()
    )
    compare(ops.RoIPool(2, 0.5)(x, boxes, ONE), ops.roi_pool(x, boxes, ONE, 2, 0.5).numpy())
    compare(ops.PSRoIPool(2)(x, boxes, ONE), ops.psroi_pool(x, boxes, ONE, 2).numpy())
    assert repr(ops.RoIPool(2, 0.5)) == "RoIPool(output_size=2, spatial_scale=0.5)"  # official
    layer = ops.DeformConv2D(8, 4, 3, padding=1, groups=2, deformable_groups=2)
    assert layer.weight.shape == [4, 4, 3, 3] and layer.bias.numpy().tolist() == [0.0] * 4
    offset, mask = paddle.rand([1, 36, 6, 6]), paddle.rand([1, 18, 6, 6])
    want = ops.deform_conv2d(x, offset, layer.weight, layer.bias, 1, 1, 1, 2, 2, mask)
    compare(layer(x, offset, mask), want.numpy())
    assert ops.DeformConv2D(8, 4, 3, bias_attr=False).bias is None
    assert abs(float(ops.DeformConv2D(64, 64, 3).weight.std()) - (2 / (64 * 9)) ** 0.5) < 0.003  # official
    for bad in (dict(weight_attr=False), dict(groups=3)):
        with pytest.raises(ValueError, match="DeformConv2D"):
            ops.DeformConv2D(8, 4, 3, **bad)


def test_conv_norm_activation():
    block = ops.ConvNormActivation(3, 4, 5, dilation=2)
    assert list(block.state_dict()) == ["0.weight", "1.weight", "1.bias", "1._mean", "1._variance"]
    assert block(paddle.ones([1, 3, 9, 9])).shape == [1, 4, 9, 9]
    bare = ops.ConvNormActivation(3, 4, norm_layer=None, activation_layer=None)
    assert list(bare.state_dict()) == ["0.weight", "0.bias"] and len(bare) == 1


def test_files(tmp_path):
    from PIL import Image

    path = tmp_path / "x.jpg"
    Image.fromarray(np.full((8, 6, 3), (200, 100, 50), "uint8")).save(path, quality=100)
    data = ops.read_file(str(path))
    assert data.dtype == paddle.uint8 and data.shape == [path.stat().st_size]
    picture = ops.decode_jpeg(data)
    assert picture.shape == [3, 8, 6] and abs(picture.numpy()[:, 4, 3].astype(int) - [200, 100, 50]).max() <= 2
    assert ops.decode_jpeg(data, "gray").shape == [1, 8, 6]
    Image.fromarray(np.full((8, 6), 9, "uint8")).save(path)
    assert ops.decode_jpeg(ops.read_file(path)).shape == [1, 8, 6]
    assert ops.decode_jpeg(ops.read_file(path), "rgb").shape == [3, 8, 6]
    program = paddle.jit.to_static(lambda x: ops.decode_jpeg(x, "rgb"), input_spec=[InputSpec([None], "uint8")])
    assert program(ops.read_file(path)).shape == [3, 8, 6]
    with pytest.raises(FileNotFoundError, match="nowhere"):
        ops.read_file("nowhere.jpg")
    with pytest.raises(ValueError, match="no JPEG"):
        ops.decode_jpeg(data[:40])
    with pytest.raises(ValueError, match="mode"):
        ops.decode_jpeg(data, "x")
    with pytest.raises(ValueError, match="uint8"):
        ops.decode_jpeg(paddle.ones([4]))
    with pytest.raises(TypeError, match="path"):
        ops.read_file(3)


# ---- bad arguments ----

X, B = paddle.ones([1, 4, 8, 8]), paddle.ones([2, 4])
TWO, SIZE = tensor([2], "int32"), tensor([[64, 64]], "int32")
S, LABELS = paddle.ones([2]), tensor([0, 0])
YX, TRUTH, LABEL = paddle.ones([1, 14, 2, 2]), paddle.ones([1, 3, 4]), paddle.zeros([1, 3], "int32")
ANCHORS = [10, 13, 16, 30]
WRONG = {
    "a rank": lambda: ops.roi_align(B, B, TWO, 2),
    "numbers that do not add up": lambda: ops.roi_pool(X, B, ONE, 2),
    "a number too many": lambda: ops.roi_pool(X, B, tensor([1, 1], "int32"), 2),
    "channels": lambda: ops.psroi_pool(X, B, TWO, 3),
    "no bins": lambda: ops.roi_align(X, B, TWO, 0),
    "a scale": lambda: ops.roi_align(X, B, TWO, 2, -1.0),
    "many samples": lambda: ops.roi_align(X, B, TWO, 2, sampling_ratio=1 << 40),
    "no pixels": lambda: ops.roi_align(X[:, :, :0], B, TWO, 2),
    "boxes of three": lambda: ops.nms(paddle.ones([2, 3])),
    "scores": lambda: ops.nms(B, 0.3, paddle.ones([3])),
    "no categories": lambda: ops.nms(B, 0.3, S, LABELS),
    "no scores": lambda: ops.nms(B, 0.3, None, LABELS, [0]),
    "a top_k": lambda: ops.nms(B, 0.3, S, LABELS, [0], top_k=3),
    "scores of matrix_nms": lambda: ops.matrix_nms(B.unsqueeze(0), paddle.ones([1, 1, 3]), 0.1, 0.1, 2, 2),
    "levels": lambda: ops.distribute_fpn_proposals(B, 5, 2, 4, 224),
    "boxes of levels": lambda: ops.distribute_fpn_proposals(B, 2, 5, 4, 224, rois_num=ONE),
    "anchors of proposals": lambda: ops.generate_proposals(X[:, :1], X, paddle.ones([1, 2]), B, B),
    "channels of YOLO": lambda: ops.yolo_box(paddle.ones([1, 13, 2, 2]), SIZE, ANCHORS, 2, 0.01, 32),
    "channels of YOLO with overlap": lambda: ops.yolo_box(YX, SIZE, ANCHORS, 2, 0.01, 32, iou_aware=True),
    "a factor": lambda: ops.yolo_box(
        paddle.ones([1, 16, 2, 2]), SIZE, ANCHORS, 2, 0.01, 32, iou_aware=True, iou_aware_factor=2.0
    ),
    "odd anchors": lambda: ops.yolo_box(YX, SIZE, [10, 13, 16], 2, 0.01, 32),
    "sizes": lambda: ops.yolo_box(YX, SIZE[:, :1], ANCHORS, 2, 0.01, 32),
    "a ratio": lambda: ops.yolo_box(YX, SIZE, ANCHORS, 2, 0.01, 0),
    "a mask": lambda: ops.yolo_loss(YX, TRUTH, LABEL, ANCHORS, [0, 2], 2, 0.7, 32),
    "no mask": lambda: ops.yolo_loss(YX, TRUTH, LABEL, ANCHORS, [], 2, 0.7, 32),
    "maps that are not square": lambda: ops.yolo_loss(YX[:, :, :1], TRUTH, LABEL, ANCHORS, [0, 1], 2, 0.7, 32),
    "labels": lambda: ops.yolo_loss(YX, TRUTH, LABEL[:, :2], ANCHORS, [0, 1], 2, 0.7, 32),
    "weights": lambda: ops.yolo_loss(YX, TRUTH, LABEL, ANCHORS, [0, 1], 2, 0.7, 32, gt_score=paddle.ones([1, 2])),
    "offsets": lambda: ops.deform_conv2d(X, paddle.ones([1, 17, 8, 8]), paddle.ones([3, 4, 3, 3]), padding=1),
    "offsets of another size": lambda: ops.deform_conv2d(X, paddle.ones([1, 18, 8, 8]), paddle.ones([3, 4, 3, 3])),
    "groups": lambda: ops.deform_conv2d(X, paddle.ones([1, 18, 6, 6]), paddle.ones([3, 4, 3, 3]), groups=2),
    "a large kernel": lambda: ops.deform_conv2d(X, paddle.ones([1, 18, 6, 6]), paddle.ones([3, 4, 9, 9])),
    "a bias": lambda: ops.deform_conv2d(X, paddle.ones([1, 18, 6, 6]), paddle.ones([3, 4, 3, 3]), paddle.ones([2])),
    "a code": lambda: ops.box_coder(B, [0.1] * 4, B, code_type="zip"),
    "an axis": lambda: ops.box_coder(B, [0.1] * 4, B.unsqueeze(0), "decode_center_size", axis=2),
    "variances": lambda: ops.box_coder(B, [0.1] * 3, B),
    "variances of others": lambda: ops.box_coder(B, paddle.ones([3, 4]), B),
    "targets": lambda: ops.box_coder(B, [0.1] * 4, paddle.ones([3, 3, 4]), "decode_center_size"),
    "maps of prior boxes": lambda: ops.prior_box(B, X, [1.0]),
    "pictures of prior boxes": lambda: ops.prior_box(X, B, [1.0]),
    "empty maps of prior boxes": lambda: ops.prior_box(X[:, :, :0], X, [1.0]),
    "largest sizes": lambda: ops.prior_box(X, X, [4.0], [3.0]),
    "negative sizes": lambda: ops.prior_box(X, X, [-4.0]),
    "steps": lambda: ops.prior_box(X, X, [4.0], steps=[1.0]),
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_wrong_values_raise(name):
    with pytest.raises(ValueError, match=r"\(InvalidArgument\) \w+: "):
        WRONG[name]()


@pytest.mark.parametrize(
    "call",
    [
        lambda: ops.roi_align(X.astype("int32"), B, TWO, 2),
        lambda: ops.roi_pool(X, None, TWO, 2),
        lambda: ops.psroi_pool(X, B, TWO.astype("float32"), 2),
        lambda: ops.nms(B.astype("int32")),
        lambda: ops.deform_conv2d(X, paddle.ones([1, 18, 6, 6], "float64"), paddle.ones([3, 4, 3, 3])),
        lambda: ops.box_coder(B, [0.1] * 4, B.astype("float64")),
        lambda: ops.distribute_fpn_proposals(B, 2.5, 5, 4, 224),
        lambda: ops.generate_proposals(X[:, :1], X, paddle.ones([1, 2]), None, None),
    ],
)
def test_wrong_types_raise(call):
    with pytest.raises(TypeError, match=r"\(InvalidType\) \w+: "):
        call()


def test_compiled_functions_say_that_the_number_is_not_known():
    import jax

    from paddle.engine.tensor import _make

    with pytest.raises(RuntimeError, match="nms: the shape of the result depends on values"):
        jax.jit(lambda a: ops.nms(_make(a))._value)(np.ones((2, 4), "float32"))


def test_bins_of_roi_pool_end_at_whole_numbers():
    """Boxes of 3 and 21 pixels in 7 bins: the ends 3 / 7 * 7 and 21 / 7 * k are no pixel further."""
    x = np.arange(24.0 * 24, dtype="float32").reshape(1, 1, 24, 24)
    out = ops.roi_pool(tensor(x), tensor([[1.0, 2.0, 21.0, 4.0]], "float32"), ONE, 7).numpy()[0, 0]
    last_rows = [2 + -(-(k + 1) * 3 // 7) - 1 for k in range(7)]
    last_columns = [1 + 3 * (k + 1) - 1 for k in range(7)]
    np.testing.assert_array_equal(out, [[24 * r + c for c in last_columns] for r in last_rows])
