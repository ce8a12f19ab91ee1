"""Choosing among the boxes of detectors. How many stay depends on data, so these functions run on the host: exactly when they
are called, and between the compiled parts of a program.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.op import api
from ..engine.place import put
from ..engine.tensor import Tensor, _make
from ..engine.value import PROBES
from .detection import check
from .scatter import concrete

_PAIRS = 1 << 21  # of boxes that are compared in one step


def _tensor(array: np.ndarray) -> Tensor:
    return _make(put(array))


def _read(name: str, argument: str, x: Any, kind: str, shape: list) -> np.ndarray:
    """The elements of a tensor, checked; small floating types as float32."""
    check(name, argument, x, kind, shape)
    found = concrete(name, x)
    return found.astype(np.float32) if kind == "floating" and found.dtype.itemsize < 4 else found


def areas(boxes: np.ndarray, more: float = 0.0) -> np.ndarray:
    """Areas of boxes; those whose corners are in the wrong order have none."""
    w, h = boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]
    return np.where((w < 0) | (h < 0), 0, (w + more) * (h + more)).astype(boxes.dtype)


def overlaps(one: np.ndarray, others: np.ndarray, more: float = 0.0) -> np.ndarray:
    """Intersection over union of boxes [..., 4] that broadcast; `more` is 1 where pixels count from edge to edge."""
    more = one.dtype.type(more)
    a, b = np.moveaxis(one, -1, 0), np.moveaxis(others, -1, 0)
    w = np.minimum(a[2], b[2]) - np.maximum(a[0], b[0])
    h = np.minimum(a[3], b[3]) - np.maximum(a[1], b[1])
    apart = (w < 0) | (h < 0)
    shared = (w + more) * (h + more) if more else w * h
    union = areas(one, more) + areas(others, more) - shared
    apart |= union <= 0
    with np.errstate(divide="ignore", invalid="ignore"):
        found = shared / union
    found[apart] = 0
    return found


def suppress(boxes: np.ndarray, most: float, eta: float = 1.0, more: float = 0.0, at_most: int = -1) -> np.ndarray:
    """The numbers of the boxes that stay, of boxes in descending order: each that overlaps none before it by more than
    `most`, which is multiplied by eta after each box while it is above a half. Some at a time are compared with all others,
    so that the loop over single boxes does little."""
    left = np.arange(len(boxes))
    highest = np.zeros(len(boxes), boxes.dtype)  # overlap with those that stay
    together = min(max(_PAIRS // max(len(boxes), 1), 16), 256)
    kept: list[int] = []
    while left.size and len(kept) != at_most:
        part, left = left[:together], left[together:]
        inside, worst, chosen = overlaps(boxes[part, None], boxes[part], more), highest[part], []
        for k in range(len(part)):
            if len(kept) == at_most:
                break
            if worst[k] > most:
                continue
            chosen.append(part[k])
            kept.append(int(part[k]))
            worst = np.fmax(worst, inside[k])
            if eta < 1 and most > 0.5:
                most *= eta
        if left.size and chosen:
            over = np.fmax.reduce(overlaps(boxes[chosen, None], boxes[left], more), 0)
            highest[left] = np.fmax(highest[left], over)
            left = left[~(highest[left] > most)]
    return np.array(kept, np.int64)


def _descending(scores: np.ndarray) -> np.ndarray:
    return np.argsort(-scores, kind="stable")


# ---- one set of boxes ----


def _nms_shape(specs, trial, *attributes):
    return (PROBES[trial],), np.int64


@api(method=False, on_host=_nms_shape)
def nms(boxes, iou_threshold=0.3, scores=None, category_idxs=None, categories=None, top_k=None):
    """The boxes that no better box overlaps too much (non-maximum suppression).

    Args:
        boxes: [N, 4], corners x1, y1, x2, y2.
        iou_threshold: a box goes when its intersection over union with a better one that stays is larger.
        scores: [N]; default: better boxes come first.
        category_idxs: [N], the category of each box; only boxes of one category suppress each other.
        categories: the categories that count, needed with category_idxs.
        top_k: how many of the best remain, with category_idxs.

    Returns:
        int64, the numbers of the boxes that stay, best first.

    Raises:
        ValueError: wrong shapes, categories missing, a top_k larger than the number of boxes.
        RuntimeError: inside a compiled function, where the number of boxes is not known.

    Example:
        >>> boxes = paddle.to_tensor([[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 5.0], [5.0, 5.0, 6.0, 6.0]])
        >>> paddle.vision.ops.nms(boxes, 0.5).tolist()
        [0, 2]
    """
    b = _read("nms", "boxes", boxes, "floating", ["N", 4])
    if scores is None:
        if category_idxs is not None:
            raise errors.ValueError_("nms: category_idxs needs scores")
        return _tensor(suppress(b, iou_threshold))
    s = _read("nms", "scores", scores, "floating", [len(b)])
    if category_idxs is None:
        order = _descending(s)
        return _tensor(order[suppress(b[order], iou_threshold)])
    if categories is None:
        raise errors.ValueError_("nms: category_idxs needs categories, the list of those that count")
    if top_k is not None and not 0 <= top_k <= len(b):
        raise errors.ValueError_(f"nms: top_k must be at most the number of boxes, {len(b)}, got {top_k}")
    c = _read("nms", "category_idxs", category_idxs, "int", [len(b)])
    kept = np.zeros(len(b), bool)
    for category in categories.tolist() if isinstance(categories, Tensor) else categories:
        own = np.flatnonzero(c == category)
        own = own[_descending(s[own])]
        kept[own[suppress(b[own], iou_threshold)]] = True
    places = np.flatnonzero(kept)
    return _tensor(places[_descending(s[places])][:top_k])


# ---- many classes ----


def _decayed(boxes: np.ndarray, scores: np.ndarray, sigma: float | None, more: float) -> np.ndarray:
    """Scores of boxes in descending order, lowered by their overlaps with better ones."""
    overlap = np.triu(overlaps(boxes[:, None], boxes[None], more), 1)  # of i with later j
    worst = overlap.max(0, initial=0)[:, None]  # of i with those before it
    if sigma is None:
        with np.errstate(divide="ignore", invalid="ignore"):
            decay = (1 - overlap) / (1 - worst)
    else:
        decay = np.exp((worst**2 - overlap**2) * sigma)
    earlier = np.triu(np.ones(overlap.shape, bool), 1)
    return scores * np.fmin.reduce(np.where(earlier, decay, 1), axis=0, initial=1)


def _matrix_shapes(specs, trial, *attributes):
    n = PROBES[trial]
    return [((n, 6), specs[0].dtype), ((n, 1), np.int32), ((specs[0].shape[0],), np.int32)]


@api(method=False, export=False, on_host=_matrix_shapes)
def matrix_nms_host(bboxes, scores, least, after, top, keep, sigma, background, more):
    """The rows, their numbers among all boxes, and the number of rows of each picture, of `matrix_nms`."""
    name = "matrix_nms"
    b = _read(name, "bboxes", bboxes, "floating", ["N", "M", 4])
    s = _read(name, "scores", scores, "floating", [len(b), "classes", b.shape[1]])
    rows, numbers, counts = [np.zeros((0, 6), b.dtype)], [np.zeros(0, np.int32)], []
    for image in range(len(b)):
        found, places = [np.zeros((0, 6), b.dtype)], [np.zeros(0, np.int64)]
        for label in range(s.shape[1]):
            if label == background:
                continue
            order = np.flatnonzero(s[image, label] > least)
            order = order[_descending(s[image, label, order])]
            order = order[:top] if top > -1 else order
            new = _decayed(b[image, order], s[image, label, order], sigma, more)
            stays = new > after
            order, new = order[stays], new[stays]
            found.append(np.column_stack([np.full(len(order), label, b.dtype), new, b[image, order]]))
            places.append(order)
        row, place = np.concatenate(found), np.concatenate(places)
        best = _descending(row[:, 1])
        best = best[:keep] if keep > -1 else best
        rows.append(row[best])
        numbers.append(place[best] + image * b.shape[1])
        counts.append(len(best))
    numbers_array = np.concatenate(numbers).astype(np.int32)[:, None]
    return _tensor(np.concatenate(rows)), _tensor(numbers_array), _tensor(np.array(counts, np.int32))


@api(method=False)
def matrix_nms(
    bboxes,
    scores,
    score_threshold,
    post_threshold,
    nms_top_k,
    keep_top_k,
    use_gaussian=False,
    gaussian_sigma=2.0,
    background_label=0,
    normalized=True,
    return_index=False,
    return_rois_num=True,
):
    """Suppression that lowers the scores of boxes by their overlaps with better ones, all at once (Wang et al., SOLOv2,
    2020).

    Args:
        bboxes: [N, M, 4], corners.
        scores: [N, classes, M].
        score_threshold: boxes of a lower score do not count.
        post_threshold: boxes whose lowered score is not above go.
        nms_top_k, keep_top_k: the most boxes of a class before, and of a picture after; -1 for all.
        use_gaussian: decay by exp(-gaussian_sigma * overlap ** 2) instead of linearly.
        background_label: a class that does not count; -1 for none.
        normalized: False where pixels count from edge to edge.

    Returns:
        rows of class, score and corners, [number, 6], best first in each picture; the number of rows of each picture,
        int32 [N], or None; the number of each box among all, int32 [number, 1], or None.

    Raises:
        ValueError: wrong shapes.
        RuntimeError: inside a compiled function, where the number of boxes is not known.

    Example:
        >>> boxes = paddle.to_tensor([[[0.0, 0.0, 4.0, 4.0], [5.0, 5.0, 6.0, 6.0]]])
        >>> scores = paddle.to_tensor([[[0.5, 0.75]]])
        >>> paddle.vision.ops.matrix_nms(boxes, scores, 0.1, 0.1, 4, 4, background_label=-1)[0].tolist()
        [[0.0, 0.75, 5.0, 5.0, 6.0, 6.0], [0.0, 0.5, 0.0, 0.0, 4.0, 4.0]]
    """
    rows, numbers, counts = matrix_nms_host(
        bboxes, scores, float(score_threshold), float(post_threshold), int(nms_top_k), int(keep_top_k),
        float(gaussian_sigma) if use_gaussian else None, int(background_label), 0.0 if normalized else 1.0,
    )  # fmt: skip
    return rows, counts if return_rois_num else None, numbers if return_index else None


# ---- proposals of regions ----


def _rank(x: Any) -> int:
    return len(getattr(x, "shape", ()))


def _decoded(anchors: np.ndarray, deltas: np.ndarray, variances: np.ndarray, more: float) -> np.ndarray:
    """Corners of anchors shifted and stretched; no side grows by more than 1000 / 16 times."""
    size = anchors[:, 2:] - anchors[:, :2] + more
    deltas = deltas * variances
    middle = deltas[:, :2] * size + anchors[:, :2] + size / 2
    half = np.exp(np.minimum(deltas[:, 2:], math.log(1000.0 / 16.0))) * size / 2
    return np.concatenate([middle - half, middle + half - more], 1).astype(anchors.dtype)


def _proposals(scores, deltas, size, anchors, variances, before, after, most, least, eta, more):
    """The proposals of one picture and their scores, best first."""
    order = _descending(scores)
    order = order[:before] if before > 0 else order
    boxes = _decoded(anchors[order], deltas[order], variances[order], more)
    limits = np.array([size[1], size[0]] * 2, boxes.dtype)
    boxes = np.maximum(np.minimum(boxes, limits - more), 0).astype(boxes.dtype)
    sides = boxes[:, 2:] - boxes[:, :2] + more
    large = (sides >= max(least, 1.0)).all(1)
    if more:
        large &= (boxes[:, :2] + sides / 2 <= limits[:2]).all(1)
    boxes, found = boxes[large], scores[order][large]
    if not len(boxes):
        return np.zeros((1, 4), boxes.dtype), np.zeros(1, scores.dtype)
    if most <= 0:
        return boxes, found
    kept = suppress(boxes, most, eta, more, after if after > 0 else -1)
    return boxes[kept], found[kept]


def _proposal_shapes(specs, trial, *attributes):
    n = PROBES[trial]
    return [((n, 4), specs[0].dtype), ((n, 1), specs[0].dtype), ((specs[0].shape[0],), np.int32)]


@api(method=False, export=False, on_host=_proposal_shapes)
def generate_proposals_host(scores, deltas, img_size, anchors, variances, before, after, most, least, eta, more):
    """The boxes, scores and numbers of boxes of each picture, of `generate_proposals`."""
    name = "generate_proposals"
    s = _read(name, "scores", scores, "floating", ["N", "A", "H", "W"])
    n, k, h, w = s.shape
    d = _read(name, "bbox_deltas", deltas, "floating", [n, 4 * k, h, w])
    sizes = _read(name, "img_size", img_size, "floating", [n, 2])
    a, v = (
        _read(name, key, value, "floating", [h * w * k, 4] if _rank(value) == 2 else [h, w, k, 4]).reshape(-1, 4)
        for key, value in (("anchors", anchors), ("variances", variances))
    )
    boxes, probabilities = [np.zeros((0, 4), s.dtype)], [np.zeros(0, s.dtype)]
    for image in range(n):
        flat = s[image].transpose(1, 2, 0).reshape(-1), d[image].transpose(1, 2, 0).reshape(-1, 4)
        found, score = _proposals(*flat, sizes[image], a, v, before, after, most, least, eta, more)
        boxes.append(found)
        probabilities.append(score)
    counts = np.array([len(f) for f in boxes[1:]], np.int32)
    return _tensor(np.concatenate(boxes)), _tensor(np.concatenate(probabilities)[:, None]), _tensor(counts)


@api(method=False)
def generate_proposals(
    scores,
    bbox_deltas,
    img_size,
    anchors,
    variances,
    pre_nms_top_n=6000,
    post_nms_top_n=1000,
    nms_thresh=0.5,
    min_size=0.1,
    eta=1.0,
    pixel_offset=False,
    return_rois_num=False,
):
    """Regions that may hold an object, from the outputs of a region proposal network (Ren et al., Faster R-CNN, 2015).

    Args:
        scores: [N, A, H, W], for A anchors in each cell.
        bbox_deltas: [N, 4 * A, H, W], shifts of centres and logarithms of ratios of sizes.
        img_size: [N, 2], height and width of each picture.
        anchors, variances: [H, W, A, 4].
        pre_nms_top_n, post_nms_top_n: the most boxes of a picture before and after the suppression; 0 for all.
        nms_thresh: boxes that overlap a better one by more go; up to 0: none goes.
        min_size: smaller boxes go; at least 1.
        eta: below 1, the threshold is multiplied by it after each box while it is above a half.
        pixel_offset: pixels count from edge to edge.

    Returns:
        boxes [number, 4], scores [number, 1], and the number of boxes of each picture, int32 [N] (None without
        return_rois_num). A picture without any gets one box of zeros.

    Raises:
        ValueError: wrong shapes.
        RuntimeError: inside a compiled function, where the number of boxes is not known.

    Example:
        >>> scores, deltas, size = paddle.ones([1, 1, 1, 1]), paddle.zeros([1, 4, 1, 1]), paddle.to_tensor([[8.0, 8.0]])
        >>> anchors = paddle.to_tensor([0.0, 0.0, 4.0, 4.0]).reshape([1, 1, 1, 4])
        >>> paddle.vision.ops.generate_proposals(scores, deltas, size, anchors, paddle.ones_like(anchors))[0].tolist()
        [[0.0, 0.0, 4.0, 4.0]]
    """
    boxes, probabilities, counts = generate_proposals_host(
        scores, bbox_deltas, img_size, anchors, variances, int(pre_nms_top_n), int(post_nms_top_n), float(nms_thresh),
        float(min_size), float(eta), 1.0 if pixel_offset else 0.0,
    )  # fmt: skip
    return boxes, probabilities, counts if return_rois_num else None


def _level_shapes(specs, trial, low, high, *attributes):
    levels = high - low + 1
    counts = [((specs[1].shape[0] if len(specs) > 1 else 1,), np.int32)] * levels
    return [((PROBES[trial], 4), specs[0].dtype)] * levels + [((specs[0].shape[0], 1), np.int32)] + counts


@api(method=False, export=False, on_host=_level_shapes)
def distribute_fpn_proposals_host(rois, rois_num, low, high, refer_level, refer_scale, more):
    """The boxes of each level, the order that restores the given one, and the numbers of boxes, of
    `distribute_fpn_proposals`."""
    name = "distribute_fpn_proposals"
    b = _read(name, "fpn_rois", rois, "floating", ["number", 4])
    numbers = np.array([len(b)]) if rois_num is None else _read(name, "rois_num", rois_num, "int", ["N"])
    if numbers.sum() != len(b) or (numbers < 0).any():
        raise errors.ValueError_(f"{name}: rois_num {numbers.tolist()} does not add up to the {len(b)} boxes")
    image = np.repeat(np.arange(len(numbers)), numbers)
    with np.errstate(divide="ignore", invalid="ignore"):
        level = np.floor(np.log2(np.sqrt(areas(b, more)) / b.dtype.type(refer_scale) + 1e-6) + refer_level)
    level = np.clip(np.nan_to_num(level), low, high)
    orders = [np.flatnonzero(level == k) for k in range(low, high + 1)]
    restore = np.argsort(np.concatenate(orders), kind="stable").astype(np.int32)[:, None]
    counts = [np.bincount(image[order], minlength=len(numbers)).astype(np.int32) for order in orders]
    return tuple(_tensor(array) for array in (*(b[order] for order in orders), restore, *counts))


@api(method=False)
def distribute_fpn_proposals(
    fpn_rois, min_level, max_level, refer_level, refer_scale, pixel_offset=False, rois_num=None
):
    """Regions dealt to the levels of a feature pyramid by their size (Lin et al., FPN, 2017): level
    floor(refer_level + log2(sqrt(area) / refer_scale)), within the levels that there are.

    Args:
        fpn_rois: [number, 4], corners; those of the first picture come first.
        min_level, max_level: the lowest and the highest level.
        refer_level: the level of boxes of area refer_scale ** 2.
        pixel_offset: pixels count from edge to edge.
        rois_num: int32 [N], the number of boxes of each picture; default: one picture.

    Returns:
        a list of boxes for each level; int32 [number, 1], the place of each box in their concatenation; a list of the
        numbers of boxes of each picture for each level, or None without rois_num.

    Raises:
        ValueError: wrong shapes, levels in the wrong order, numbers that do not add up.
        RuntimeError: inside a compiled function, where the numbers of boxes are not known.

    Example:
        >>> boxes = paddle.to_tensor([[0.0, 0.0, 90.0, 90.0], [0.0, 0.0, 9.0, 9.0]])
        >>> levels, restore, _ = paddle.vision.ops.distribute_fpn_proposals(boxes, 2, 3, 3, 80)
        >>> [level.tolist() for level in levels], restore.tolist()
        ([[[0.0, 0.0, 9.0, 9.0]], [[0.0, 0.0, 90.0, 90.0]]], [[1], [0]])
    """
    name = "distribute_fpn_proposals"
    if not all(isinstance(v, (int, np.integer)) for v in (min_level, max_level, refer_level)):
        raise errors.TypeError_(f"{name}: levels must be ints, got {min_level}, {max_level}, {refer_level}")
    if not 0 < min_level < max_level < min_level + 64 or refer_scale <= 0:
        raise errors.ValueError_(
            f"{name}: levels must be positive, max_level above min_level, refer_scale positive, got {min_level=}, "
            f"{max_level=}, {refer_scale=}"
        )
    found = distribute_fpn_proposals_host(
        fpn_rois, rois_num, int(min_level), int(max_level), int(refer_level), float(refer_scale),
        1.0 if pixel_offset else 0.0,
    )  # fmt: skip
    levels = max_level - min_level + 1
    return list(found[:levels]), found[levels], None if rois_num is None else list(found[levels + 1 :])
