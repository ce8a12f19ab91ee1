"""The loss of YOLOv3."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import api, op
from .detection import check
from .detection_boxes import anchor_pairs, centres, check_maps


def _overlap(a: Any, b: Any) -> Any:
    """Intersection over union of boxes given by centre and size, each a tuple of four arrays."""

    def common(k):
        low = jnp.maximum(a[k] - a[k + 2] / 2, b[k] - b[k + 2] / 2)
        high = jnp.minimum(a[k] + a[k + 2] / 2, b[k] + b[k + 2] / 2)
        return high - low

    w, h = common(0), common(1)
    shared = jnp.where((w < 0) | (h < 0), 0, w * h)
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)


def _cross_entropy(logit: Any, target: Any) -> Any:
    return jnp.maximum(logit, 0) - logit * target + jnp.log1p(jnp.exp(-jnp.abs(logit)))


@op(method=False, export=False, name="yolo_loss", static="mask")
def _yolo_loss(x, box, label, score, anchors, mask, threshold, ratio, smooth, scale):
    n, channels, h, w = x.shape
    parts = x.reshape(n, len(mask), channels // len(mask), h, w)
    classes = parts.shape[2] - 5
    score = jnp.ones(box.shape[:2], x.dtype) if score is None else score.astype(x.dtype)
    box = jax.lax.stop_gradient(box.astype(x.dtype))
    bx, by, bw, bh = (box[..., k] for k in range(4))
    real = (bw > 1e-6) & (bh > 1e-6)
    sides = jnp.asarray(anchors, x.dtype) / (ratio * h)

    # the anchor whose shape is most like that of each box is responsible for it, in the cell of the centre
    zero = jnp.zeros((), x.dtype)
    alike = _overlap((zero, zero, sides[:, 0], sides[:, 1]), (zero, zero, bw[..., None], bh[..., None]))
    best = jnp.argmax(alike, -1)
    places = np.full(len(anchors), -1)
    places[list(mask)[::-1]] = np.arange(len(mask))[::-1]
    place = jnp.asarray(places)[best]
    taken = real & (place >= 0)
    place = jnp.maximum(place, 0)
    column = jnp.clip(bx * w, 0, w - 1).astype(np.int32)
    row = jnp.clip(by * h, 0, h - 1).astype(np.int32)
    image = jnp.arange(n)[:, None]
    own = parts[image, place, :, row, column]  # [N, boxes, 5 + classes]

    weight = jnp.where(taken, (2 - bw * bh) * score, 0)
    chosen = jnp.take(sides, best, 0)
    safe = [jnp.where(real, b, 1) for b in (bw, bh)]
    total = (_cross_entropy(own[..., 0], bx * w - column) + _cross_entropy(own[..., 1], by * h - row)) * weight
    total += (jnp.abs(own[..., 2] - jnp.log(safe[0] / chosen[..., 0])) * weight) + (
        jnp.abs(own[..., 3] - jnp.log(safe[1] / chosen[..., 1])) * weight
    )
    soft = min(1 / classes, 1 / 40) if smooth else 0.0
    wanted = jnp.where(label[..., None] == jnp.arange(classes), 1 - soft, soft).astype(x.dtype)
    total += _cross_entropy(own[..., 5:], wanted).sum(-1) * jnp.where(taken, score, 0)

    # objectness: the score of the last box of a cell; nothing is asked where a prediction overlaps a box well anyway
    found = jax.lax.stop_gradient(parts)
    px, py = (c / h for c in centres(found, scale))
    pw, ph = (jnp.exp(found[:, :, 2 + k]) * sides[list(mask), k][:, None, None] for k in (0, 1))
    predicted = tuple(p[:, None] for p in (px, py, pw, ph))
    near = jnp.where(
        real[:, :, None, None, None], _overlap(predicted, tuple(b[:, :, None, None, None] for b in (bx, by, bw, bh))), 0
    )
    objects = jnp.where(near.max(1, initial=0) > threshold, -1, 0).astype(x.dtype)
    cell = jnp.where(taken, (place * h + row) * w + column, len(mask) * h * w)
    last = _last_of_equal(cell)
    flat = jnp.pad(objects.reshape(n, len(mask) * h * w), [(0, 0), (0, 1)])
    flat = flat.at[image, jnp.where(last, cell, flat.shape[1])].set(score, mode="drop")
    objects = flat[:, :-1].reshape(objects.shape)
    logit = parts[:, :, 4]
    asked = jnp.where(
        objects > 1e-5, _cross_entropy(logit, 1) * objects, jnp.where(objects > -0.5, _cross_entropy(logit, 0), 0)
    )
    return total.sum(1) + asked.sum((1, 2, 3))


def _last_of_equal(numbers: Any) -> Any:
    """Which elements of each row come last among those that are equal to them."""
    later = jnp.triu(jnp.ones((numbers.shape[1],) * 2, bool), 1)
    return ~((numbers[:, :, None] == numbers[:, None, :]) & later).any(-1)


@api(method=False)
def yolo_loss(
    x,
    gt_box,
    gt_label,
    anchors,
    anchor_mask,
    class_num,
    ignore_thresh,
    downsample_ratio,
    gt_score=None,
    use_label_smooth=True,
    name=None,
    scale_x_y=1.0,
):
    """The loss of YOLOv3 (Redmon, Farhadi, 2018) for one of its feature maps.

    Cross entropy for centres, objectness and classes, absolute differences for the logarithms of sizes.

    Args:
        x: [N, masks * (5 + class_num), H, H].
        gt_box: true boxes, [N, B, 4]: centre, width and height relative to the picture; without a size: none.
        gt_label: int32 [N, B].
        anchors: a flat list of ints, width and height of each anchor of all maps.
        anchor_mask: the numbers of the anchors of this map.
        ignore_thresh: where a prediction overlaps a true box by more, no objectness is asked.
        downsample_ratio: of the size of the network's input to that of x.
        gt_score: weights of the true boxes, [N, B]; default ones.
        use_label_smooth: the targets of classes are smoothed by min(1 / class_num, 1 / 40).
        scale_x_y: stretches the range of centres beyond their cell.

    Returns:
        the loss of each picture, [N].

    Raises:
        ValueError: wrong shapes, values out of range.

    Example:
        >>> x, box = paddle.zeros([1, 7, 1, 1]), paddle.zeros([1, 1, 4])
        >>> label = paddle.zeros([1, 1], "int32")
        >>> round(paddle.vision.ops.yolo_loss(x, box, label, [8, 16], [0], 2, 0.7, 32).item(), 4)
        0.6931
    """
    name = "yolo_loss"
    pairs = anchor_pairs(name, anchors)
    mask = tuple(anchor_mask) if isinstance(anchor_mask, (list, tuple)) else ()
    if not mask or not all(isinstance(m, (int, np.integer)) and 0 <= m < len(pairs) for m in mask):
        raise errors.ValueError_(
            f"{name}: anchor_mask must be a list of numbers of the {len(pairs)} anchors, got {errors.describe(anchor_mask)}"
        )
    check_maps(name, x, len(mask), class_num, 5, downsample_ratio)
    if x.shape[2] != x.shape[3] or x.shape[2] == 0:
        raise errors.ValueError_(f"{name}: x must be as high as it is wide, and have cells, got shape {list(x.shape)}")
    check(name, "gt_box", gt_box, "floating", [x.shape[0], "B", 4])
    check(name, "gt_label", gt_label, "int", gt_box.shape[:2])
    if gt_score is not None:
        check(name, "gt_score", gt_score, "floating", gt_box.shape[:2])
    score = None if gt_score is None else gt_score.detach()
    return _yolo_loss(
        x, gt_box.detach(), gt_label, score, pairs, mask, float(ignore_thresh), int(downsample_ratio),
        bool(use_label_smooth), float(scale_x_y),
    )  # fmt: skip
