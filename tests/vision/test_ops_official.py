"""Operators of detectors: results recorded from the official package (5 digits)."""

import numpy as np

import paddle
from paddle.vision import ops

from _check import compare


def tensor(values):
    return paddle.to_tensor(np.asarray(values))


def wave(*shape, shift=0.0):
    return np.cos(np.arange(int(np.prod(shape))) * 1.7 + 0.4 + shift).reshape(shape).astype("float32")


def near(got, want):
    compare(got, np.asarray(want), rtol=1e-4, atol=1e-5)


BOXES = np.array([[0, 0, 4, 4], [1, 1, 5, 6], [0.5, 0, 4.5, 4], [6, 6, 7.5, 9], [6, 6, 8, 9]], "float32")
SCORES = np.array([[[0.5, 0.9, 0.7, 0.3, 0.6], [0.55, 0.35, 0.65, 0.95, 0.45]]], "float32")
MAPS = wave(1, 4, 5, 6)
REGIONS = tensor(np.array([[0.3, 0.2, 3.6, 3.1], [-1, 1.2, 1.9, 5]], "float32")), tensor(np.array([2], "int32"))


def test_matrix_nms():
    out, counts, index = ops.matrix_nms(
        tensor(BOXES[None]), tensor(SCORES), 0.1, 0.05, 4, 5, background_label=-1, return_index=True
    )
    near(
        out,
        [
            [1.0, 0.95, 6.0, 6.0, 7.5, 9.0],
            [0.0, 0.9, 1.0, 1.0, 5.0, 6.0],
            [1.0, 0.65, 0.5, 0.0, 4.5, 4.0],
            [0.0, 0.6, 6.0, 6.0, 8.0, 9.0],
            [0.0, 0.41176, 0.5, 0.0, 4.5, 4.0],
        ],
    )
    assert counts.tolist() == [5] and index.tolist() == [[3], [1], [2], [4], [2]]
    assert counts.dtype == index.dtype == paddle.int32
    out, counts, index = ops.matrix_nms(
        tensor(BOXES[None]), tensor(SCORES), 0.1, 0.05, 4, 5, use_gaussian=True, normalized=False
    )
    near(
        out,
        [
            [1.0, 0.95, 6.0, 6.0, 7.5, 9.0],
            [1.0, 0.65, 0.5, 0.0, 4.5, 4.0],
            [1.0, 0.14418, 0.0, 0.0, 4.0, 4.0],
            [1.0, 0.11221, 6.0, 6.0, 8.0, 9.0],
        ],
    )
    assert index is None
    assert ops.matrix_nms(tensor(BOXES[None]), tensor(SCORES), 0.96, 0, 4, 5, return_rois_num=False)[1] is None


def test_regions():
    near(
        ops.roi_align(tensor(MAPS), *REGIONS, (2, 1))[:, :2].flatten(),
        [-0.01195, -0.01206, -0.03893, 0.01996, -0.12011, 0.08811, -0.04658, 0.16271],
    )
    near(
        ops.roi_align(tensor(MAPS), *REGIONS, (2, 1), 0.7, 2, False)[:, :2].flatten(),
        [0.10705, 0.06092, -0.06014, 0.20261, -0.20746, 0.26351, -0.05508, 0.09975],
    )
    near(
        ops.roi_pool(tensor(MAPS), *REGIONS, 2, 0.8)[:, :1].flatten(),
        [0.96473, 0.70867, 0.96473, 0.71982, -0.37059, 0.96473, 0.91474, 0.81521],
    )
    # fmt: off
    near(ops.psroi_pool(tensor(wave(1, 8, 5, 6)), *REGIONS, 2, 0.8).flatten(), [
        0.2489, -0.12201, 0.0404, 0.04928, -0.24713, 0.16347, -0.05679, -0.03202, 0.05504, -0.03154, -0.07069, 0.03325,
        -0.08055, 0.03411, 0.09432, -0.03499,
    ])
    # fmt: on


def test_deformable_convolution():
    out = ops.deform_conv2d(
        tensor(MAPS), tensor(wave(1, 16, 3, 3, shift=1)), tensor(wave(2, 2, 2, 2)), tensor(wave(2)), stride=2, padding=1,
        dilation=2, deformable_groups=2, groups=2, mask=tensor(np.abs(wave(1, 8, 3, 3))),
    )  # fmt: skip
    # fmt: off
    near(out.flatten(), [
        0.39645, 1.44202, 0.1177, 1.19506, 1.79425, 1.55441, 2.90759, 0.20907, 1.01492, -0.96559, -1.86028, 0.0507, 0.54832,
        -0.6573, -0.32814, -0.57215, 0.16829, 0.33851,
    ])
    # fmt: on


def test_yolo():
    boxes, scores = ops.yolo_box(
        tensor(wave(1, 16, 1, 2)), tensor(np.array([[30, 40]], "int32")), [10, 13, 16, 30], 2, 0.5, 16, scale_x_y=1.2,
        iou_aware=True,
    )  # fmt: skip
    near(boxes, [[[6.37576, 0.0, 20.70734, 25.32858], *[[0.0] * 4] * 3]])
    near(scores, [[[0.34842, 0.16975], *[[0.0] * 2] * 3]])
    truth = np.array([[[0.3, 0.4, 0.2, 0.3], [0.7, 0.2, 0.5, 0.3], [0.3, 0.4, 0.2, 0.2], [0, 0, 0, 0]]], "float32")
    given = tensor(truth), tensor(np.array([[0, 1, 1, 0]], "int32")), [8, 10, 20, 15, 30, 30], [0, 1], 2, 0.5, 16
    weights = tensor(np.array([[0.5, 1, 0.8, 1]], "float32"))
    near(ops.yolo_loss(tensor(wave(1, 14, 2, 2)), *given, gt_score=weights, scale_x_y=1.1), [22.06361])
    near(ops.yolo_loss(tensor(wave(1, 14, 2, 2)), *given, use_label_smooth=False), [25.9943])


def test_box_coder():
    near(
        ops.box_coder(tensor(BOXES[:2]), [0.1, 0.1, 0.2, 0.2], tensor(BOXES[2:4]), box_normalized=False),
        [
            [[0.0, -1.0, 0.0, 0.0], [-2.0, -3.33333, 0.0, -0.91161]],
            [[8.5, 10.0, -3.46574, -1.11572], [6.5, 5.83333, -3.46574, -2.02733]],
        ],
    )
    near(
        ops.box_coder(
            tensor(BOXES[:2]), tensor(np.abs(wave(2, 4))), tensor(wave(2, 2, 4)), "decode_center_size", axis=1
        ),
        [
            [[4.32356, -2.32423, 6.46326, 4.28527], [2.76676, -3.70994, 5.71587, 4.21465]],
            [[1.23732, -7.19275, 5.42815, 5.53867], [-0.4178, -5.28536, 4.61419, 4.72748]],
        ],
    )


def test_prior_box():
    maps, pictures = paddle.zeros([1, 1, 1, 2]), paddle.zeros([1, 3, 8, 20])
    boxes, variances = ops.prior_box(
        maps, pictures, [3.0], [6.0], [2.0], flip=True, clip=True, offset=0.3, min_max_aspect_ratios_order=True
    )
    near(
        boxes[0, 0],
        [
            [0.075, 0.1125, 0.225, 0.4875],
            [0.04393, 0.03483, 0.25607, 0.56517],
            [0.04393, 0.16742, 0.25607, 0.43258],
            [0.09697, 0.03483, 0.20303, 0.56517],
        ],
    )
    assert variances.shape == [1, 2, 4, 4]
    near(variances[0, 1, 2], [0.1, 0.1, 0.2, 0.2])
    near(
        ops.prior_box(maps, pictures, 3.0, 6.0, [2.0], steps=[4.0, 5.0])[0][0, 0],
        [[0.025, 0.125, 0.175, 0.5], [-0.00607, 0.17992, 0.20607, 0.44508], [-0.00607, 0.04733, 0.20607, 0.57767]],
    )


ANCHORS = np.array([[0, 0, 6, 8], [2, 1, 9, 5], [0, 0, 3, 3], [4, 4, 16, 12]], "float32").reshape(1, 2, 2, 4)


def proposals(**more):
    return ops.generate_proposals(
        tensor(np.abs(wave(1, 2, 1, 2))), tensor(wave(1, 8, 1, 2)), tensor(np.array([[12, 14]], "float32")),
        tensor(ANCHORS), tensor(np.abs(wave(1, 2, 2, 4))), return_rois_num=True, **more,
    )  # fmt: skip


def test_generate_proposals():
    boxes, scores, counts = proposals(nms_thresh=0.3)
    near(boxes, [[3.23614, 0.0, 12.9441, 3.8496], [1.98651, 8.0529, 9.11954, 12.0], [0.0, 0.0, 2.64384, 7.44537]])
    near(scores, [[0.92106], [0.70867], [0.50485]])
    assert counts.tolist() == [3]
    boxes, scores, counts = proposals(pixel_offset=True, min_size=3.0, post_nms_top_n=2)
    near(boxes, [[3.7755, 0.0, 13.0, 3.3308], [3.19778, 0.0, 9.13317, 7.46452]])
    boxes, scores, counts = proposals(min_size=100.0)
    assert boxes.tolist() == [[0.0] * 4] and scores.tolist() == [[0.0]] and counts.tolist() == [1]


def test_distribute_fpn_proposals():
    boxes = np.array([[0, 0, 10, 10], [0, 0, 100, 100], [5, 5, 60, 60], [0, 0, 250, 250]], "float32")
    levels, restore, counts = ops.distribute_fpn_proposals(
        tensor(boxes), 2, 5, 4, 224, pixel_offset=True, rois_num=tensor(np.array([2, 2], "int32"))
    )
    assert [level.shape for level in levels] == [[3, 4], [0, 4], [1, 4], [0, 4]]
    assert restore.tolist() == [[0], [1], [2], [3]] and restore.dtype == paddle.int32
    assert [c.tolist() for c in counts] == [[2, 1], [0, 0], [0, 1], [0, 0]]
