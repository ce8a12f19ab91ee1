"""Suppression of boxes class by class, the last step of detectors. How many boxes stay depends on data."""

from __future__ import annotations

import numpy as np

import paddle

from ...engine import errors
from ...engine.op import api
from ...engine.value import PROBES
from .call import translates, wants

Kept = tuple[int, float, int]  # class, score, number of the box


def overlap(box: np.ndarray, others: np.ndarray, normalized: bool) -> np.ndarray:
    """Intersection over union of a box with others; pixels count from edge to edge unless normalized."""
    more = 0.0 if normalized else 1.0

    def area(b):
        found = (b[..., 2] - b[..., 0] + more) * (b[..., 3] - b[..., 1] + more)
        return np.where((b[..., 2] < b[..., 0]) | (b[..., 3] < b[..., 1]), 0.0, found)

    apart = (others[:, 0] > box[2]) | (others[:, 2] < box[0]) | (others[:, 1] > box[3]) | (others[:, 3] < box[1])
    width = np.minimum(box[2], others[:, 2]) - np.maximum(box[0], others[:, 0]) + more
    height = np.minimum(box[3], others[:, 3]) - np.maximum(box[1], others[:, 1]) + more
    common = width * height
    union = area(box) + area(others) - common
    return np.where(apart | (union <= 0), 0.0, common / np.where(union > 0, union, 1.0))


def suppress(boxes: np.ndarray, scores: np.ndarray, least: float, most: float, eta: float, top: int, normalized: bool):
    """The numbers of the boxes of one class that stay, best first."""
    order = np.flatnonzero(scores > least)
    order = order[np.argsort(-scores[order], kind="stable")]
    order = order[:top] if top > -1 else order
    kept: list[int] = []
    for k in order:
        if not kept or not (overlap(boxes[k], boxes[kept], normalized) > most).any():
            kept.append(int(k))
            if eta < 1 and most > 0.5:
                most *= eta
    return kept


def of_image(boxes: np.ndarray, scores: np.ndarray, background: int, keep: int, several: bool, *rest) -> list[Kept]:
    """What stays of an image: scores [classes, boxes]; boxes [boxes, 4], or with a box for each class between."""
    found: list[Kept] = []
    for c in range(len(scores)):
        if c != background:
            own = boxes[:, c] if boxes.ndim == 3 else boxes
            found += [(c, float(scores[c, k]), k) for k in suppress(own, scores[c], *rest)]
    if -1 < keep < len(found):
        found = sorted(found, key=lambda f: -f[1])[:keep]
        found.sort(key=lambda f: (f[0], f[2]) if several else f[0])
    return found


def _infer(specs, trial, *attributes):
    n = PROBES[trial]
    images = specs[2].shape[0] if len(specs) == 3 else specs[0].shape[0]
    return [((n, 6), specs[0].dtype), ((n, 1), np.int32), ((images,), np.int32)]


@api(method=False, export=False, on_host=_infer)
def multiclass_nms(boxes, scores, counts, score_threshold, top, keep, threshold, eta, normalized, background):
    """(rows of class, score, corners; number of each box among all; rows for each image).

    Args:
        boxes: [images, boxes, 4] with scores [images, classes, boxes], or boxes of all images one after the other,
            [boxes, classes, 4] with scores [boxes, classes], and `counts` of them for each image.
        top, keep: the most boxes of a class before, and of an image after; -1 for all.
        threshold: what overlaps a better box by more goes; `eta` < 1 makes it smaller with each box that stays.
    """
    b, s = boxes.numpy(), scores.numpy()
    several = s.ndim == 2
    if b.ndim != 3 or s.ndim not in (2, 3) or b.shape[-1] != 4 or several and counts is None:
        raise errors.ValueError_(
            f"multiclass_nms: boxes of shape {list(b.shape)} and scores of shape {list(s.shape)}; boxes of 4 corners "
            "and scores of 3 axes, or of 2 with the number of boxes of each image, are possible"
        )
    ends = np.cumsum(counts.numpy().reshape(-1)) if several else np.arange(1, len(s) + 1)
    rows, places, numbers = [], [], []
    start = 0
    for image, end in enumerate(ends):
        own = b[start:end] if several else b[image]
        own_scores = s[start:end].T if several else s[image]
        rest = (score_threshold, threshold, eta, top, normalized)
        found = of_image(own, own_scores, background, keep, several, *rest)
        for c, score, k in found:
            rows.append([c, score, *(own[k, c] if several else own[k])])
            places.append((start + k) * s.shape[1] + c if several else image * b.shape[1] + k)
        numbers.append(len(found))
        start = int(end)
    return (
        paddle.to_tensor(np.array(rows, b.dtype).reshape(-1, 6)),
        paddle.to_tensor(np.array(places, np.int32).reshape(-1, 1)),
        paddle.to_tensor(np.array(numbers, np.int32)),
    )


@translates("multiclass_nms", "multiclass_nms2", "multiclass_nms3")
def translate(op):
    out, index, counts = multiclass_nms(
        op["BBoxes"], op["Scores"], op.get("RoisNum"), op.attr("score_threshold"), op.attr("nms_top_k"),
        op.attr("keep_top_k"), op.attr("nms_threshold", 0.3), op.attr("nms_eta", 1.0), bool(op.attr("normalized", True)),
        op.attr("background_label", 0),
    )  # fmt: skip
    found = {"Out": out, "Index": index, "NmsRoisNum": counts}
    return {slot: tensor for slot, tensor in found.items() if wants(op, slot)}
