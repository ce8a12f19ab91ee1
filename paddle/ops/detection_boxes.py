"""Boxes of detectors: the anchors of a feature map, offsets from anchors, decoding of the outputs of YOLO."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.executable import Frozen
from ..engine.op import api, op
from ..engine.promotion import same_type
from ..engine.tensor import Tensor
from .detection import check

# ---- anchors ----


def _numbers(name: str, argument: str, value: Any, n: int | None = None) -> tuple[float, ...]:
    """A number or a list of numbers (n of them) as floats."""
    found = value if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(v, (int, float, np.number)) and math.isfinite(v) for v in found) or n not in (
        None,
        len(found),
    ):
        raise errors.ValueError_(
            f"{name}: {argument} must be {'numbers' if n is None else f'{n} numbers'}, got {errors.describe(value)}"
        )
    return tuple(float(v) for v in found)


def _ratios(given: tuple[float, ...], flip: bool) -> list[float]:
    """Ratios of width to height without repetition: 1, then those given, with their inverses."""
    found = [1.0]
    for ratio in given:
        if all(abs(ratio - f) >= 1e-6 for f in found):
            found += [ratio, 1 / ratio] if flip else [ratio]
    return found


def _prior_sizes(smallest, largest, ratios, square_first):
    """Widths and heights of the boxes of a cell, in order."""
    sizes = []
    for k, size in enumerate(smallest):
        shaped = [(size * math.sqrt(r), size / math.sqrt(r)) for r in ratios]
        between = [(math.sqrt(size * largest[k]),) * 2] if largest else []
        sizes += shaped[:1] + between + shaped[1:] if square_first else shaped + between
    return np.array(sizes).reshape(-1, 2)


@op(method=False, export=False, name="prior_box", differentiable=False)
def _prior_box(input, image, sizes, variance, clip, steps, offset):
    (h, w), (ih, iw) = input.shape[2:], image.shape[2:]
    step_w, step_h = (iw / w, ih / h) if 0 in steps else steps
    x = (np.arange(w) + offset)[None, :, None] * step_w
    y = (np.arange(h) + offset)[:, None, None] * step_h
    dx, dy = np.array(sizes).reshape(-1, 2).T / 2
    corners = np.broadcast_arrays((x - dx) / iw, (y - dy) / ih, (x + dx) / iw, (y + dy) / ih)
    boxes = np.stack(corners, -1)
    boxes = np.clip(boxes, 0, 1) if clip else boxes
    return jnp.asarray(boxes, input.dtype), jnp.broadcast_to(jnp.asarray(variance, input.dtype), boxes.shape)


@api(method=False)
def prior_box(
    input,
    image,
    min_sizes,
    max_sizes=None,
    aspect_ratios=[1.0],  # noqa: B006
    variance=[0.1, 0.1, 0.2, 0.2],  # noqa: B006
    flip=False,
    clip=False,
    steps=[0.0, 0.0],  # noqa: B006
    offset=0.5,
    min_max_aspect_ratios_order=False,
):
    """The default boxes of every cell of a feature map (Liu et al., SSD, 2016).

    Args:
        input: the feature map, [N, C, H, W]; only its shape and type count.
        image: the pictures, [N, C, height, width]; only the shape counts.
        min_sizes: sides of squares in pixels, from which a box is made for each ratio.
        max_sizes: one for each of min_sizes, larger: the geometric mean of both is the side of one more square.
        aspect_ratios: of width to height; 1 is always among them.
        variance: four numbers, repeated for every box.
        flip: also the inverse ratios.
        clip: boxes end at the border of the picture.
        steps: width and height of a cell in pixels; 0: by the sizes of picture and map.
        offset: where in its cell a centre lies.
        min_max_aspect_ratios_order: the square of max_sizes comes second instead of last.

    Returns:
        boxes [H, W, number, 4], corners relative to the picture, and their variances.

    Raises:
        ValueError: wrong shapes, sizes that do not fit to each other.

    Example:
        >>> maps, pictures = paddle.zeros([1, 2, 2, 2]), paddle.zeros([1, 3, 8, 8])
        >>> paddle.vision.ops.prior_box(maps, pictures, [4.0])[0][0, 0].tolist()
        [[0.0, 0.0, 0.5, 0.5]]
    """
    name = "prior_box"
    check(name, "input", input, "floating", ["N", "C", "H", "W"])
    if not isinstance(image, Tensor) or len(image.shape) != 4:
        raise errors.ValueError_(f"{name}: image must be a Tensor [N, C, H, W], got {errors.describe(image)}")
    if 0 in (*input.shape[2:], *image.shape[2:]):
        raise errors.ValueError_(f"{name}: no pixels in input {list(input.shape)} or image {list(image.shape)}")
    smallest = _numbers(name, "min_sizes", min_sizes)
    largest = _numbers(name, "max_sizes", max_sizes) if max_sizes is not None else ()
    if largest and (len(largest) != len(smallest) or not all(a > b for a, b in zip(largest, smallest))):
        raise errors.ValueError_(
            f"{name}: max_sizes must have one larger number for each of min_sizes, got {list(smallest)} and "
            f"{list(largest)}"
        )
    ratios = _numbers(name, "aspect_ratios", aspect_ratios)
    if min((*smallest, *ratios), default=1) <= 0:
        raise errors.ValueError_(
            f"{name}: min_sizes and aspect_ratios must be positive, got {list(smallest)} and {list(ratios)}"
        )
    sizes = _prior_sizes(smallest, largest, _ratios(ratios, bool(flip)), bool(min_max_aspect_ratios_order))
    return _prior_box(
        input, image, tuple(sizes.reshape(-1).tolist()), _numbers(name, "variance", variance, 4), bool(clip),
        _numbers(name, "steps", steps, 2), _numbers(name, "offset", offset, 1)[0],
    )  # fmt: skip


# ---- offsets from boxes ----


def _centred(boxes: Any, more: float) -> Any:
    """Centres and sizes [..., 4] of boxes given by their corners; `more` is 1 where pixels count from edge to edge."""
    size = boxes[..., 2:] - boxes[..., :2] + more
    return jnp.concatenate([boxes[..., :2] + size / 2, size], -1)


@op(method=False, export=False, name="box_coder", differentiable=False, static="axis")
def _box_coder(prior_box, prior_box_var, target_box, encode, more, axis):
    same_type("box_coder", prior_box, target_box)
    prior = _centred(prior_box, more)
    variance = jnp.ones(4, prior.dtype) if prior_box_var is None else jnp.asarray(prior_box_var, prior.dtype)
    if encode:
        target = _centred(target_box, more)
        middle = (target_box[:, :2] + target_box[:, 2:]) / 2
        shift = (middle[:, None] - prior[:, :2]) / prior[:, 2:]
        growth = jnp.log(jnp.abs(target[:, None, 2:] / prior[:, 2:]))
        return jnp.concatenate([shift, growth], -1) / variance
    prior = jnp.expand_dims(prior, axis)
    scaled = target_box * (jnp.expand_dims(variance, axis) if variance.ndim == 2 else variance)
    middle = scaled[..., :2] * prior[..., 2:] + prior[..., :2]
    half = jnp.exp(scaled[..., 2:]) * prior[..., 2:] / 2
    return jnp.concatenate([middle - half, middle + half - more], -1)


@api(method=False)
def box_coder(prior_box, prior_box_var, target_box, code_type="encode_center_size", box_normalized=True, axis=0):
    """Boxes as offsets from prior boxes, or back (Girshick et al., R-CNN, 2014): shifts of the centre relative to the size,
    logarithms of the ratios of sizes, each divided by its variance.

    Args:
        prior_box: [M, 4], corners.
        prior_box_var: [M, 4], four numbers, or None for ones.
        target_box: to encode: [N, 4], corners; to decode: offsets [N, M, 4], or [M, N, 4] with axis=1.
        code_type: "encode_center_size" or "decode_center_size".
        box_normalized: False where pixels count from edge to edge, so that a box of one pixel has equal corners.
        axis: the axis of target_box along which prior boxes are repeated, when decoding.

    Returns:
        encoded: offsets [N, M, 4]; decoded: corners in the shape of target_box.

    Raises:
        ValueError: wrong shapes, another code_type or axis.

    Example:
        >>> prior, target = paddle.to_tensor([[0.0, 0.0, 2.0, 2.0]]), paddle.to_tensor([[1.0, 1.0, 3.0, 3.0]])
        >>> paddle.vision.ops.box_coder(prior, [1.0, 1.0, 1.0, 1.0], target).tolist()
        [[[0.5, 0.5, 0.0, 0.0]]]
    """
    name = "box_coder"
    if code_type not in ("encode_center_size", "decode_center_size"):
        raise errors.ValueError_(
            f"{name}: code_type must be 'encode_center_size' or 'decode_center_size', got {code_type!r}"
        )
    if axis not in (0, 1):
        raise errors.ValueError_(f"{name}: axis must be 0 or 1, got {axis!r}")
    encode = code_type[0] == "e"
    check(name, "prior_box", prior_box, "floating", ["M", 4])
    many = prior_box.shape[0]
    check(
        name, "target_box", target_box, "floating", ["N", 4] if encode else [many, "N", 4] if axis else ["N", many, 4]
    )
    if isinstance(prior_box_var, Tensor):
        check(name, "prior_box_var", prior_box_var, "floating", [4] if len(prior_box_var.shape) == 1 else [many, 4])
        variance: Any = prior_box_var
    else:
        variance = None if prior_box_var is None else _numbers(name, "prior_box_var", prior_box_var, 4)
    return _box_coder(prior_box, variance, target_box, encode, 0 if box_normalized else 1, axis)


# ---- YOLO ----


def anchor_pairs(name: str, anchors: Any) -> Frozen:
    """Widths and heights of anchors, given as a flat list."""
    found = list(anchors) if isinstance(anchors, (list, tuple)) else []
    if not found or len(found) % 2 or not all(isinstance(a, (int, np.integer)) and a > 0 for a in found):
        raise errors.ValueError_(
            f"{name}: anchors must be a list of positive ints, a width and a height for each, got "
            f"{errors.describe(anchors)}"
        )
    return Frozen(zip(map(int, found[::2]), map(int, found[1::2])))


def check_maps(name: str, x: Any, anchors: int, classes: Any, more: int, ratio: Any) -> None:
    """Check what all parts of YOLO share: the maps [N, anchors * (more + classes), H, W] and two numbers."""
    for argument, value in (("class_num", classes), ("downsample_ratio", ratio)):
        if not isinstance(value, (int, np.integer)) or value < 1:
            raise errors.ValueError_(f"{name}: {argument} must be an int of at least 1, got {errors.describe(value)}")
    check(name, "x", x, "floating", ["N", anchors * (more + classes), "H", "W"])


def centres(parts: Any, scale: float) -> tuple[Any, Any]:
    """Where centres lie, in cells; parts are [N, anchors, 5 + classes, H, W]."""
    h, w = parts.shape[3:]
    shift = 0.5 * (scale - 1)
    x = jax.nn.sigmoid(parts[:, :, 0]) * scale - shift + jnp.arange(w, dtype=parts.dtype)
    y = jax.nn.sigmoid(parts[:, :, 1]) * scale - shift + jnp.arange(h, dtype=parts.dtype)[:, None]
    return x, y


@op(method=False, export=False, name="yolo_box", differentiable=False, scalars="conf_thresh")
def _yolo_box(x, img_size, anchors, conf_thresh, ratio, clip, scale, iou_factor):
    n, channels, h, w = x.shape
    count = len(anchors)
    overlap = None
    if iou_factor is not None:
        overlap, x = jax.nn.sigmoid(x[:, :count]), x[:, count:]
    parts = x.reshape(n, count, channels // count - (overlap is not None), h, w)
    height, width = (img_size[:, k].astype(x.dtype)[:, None, None, None] for k in (0, 1))
    column, row = centres(parts, scale)
    sides = jnp.asarray(anchors, x.dtype)[:, :, None, None] * jnp.exp(parts[:, :, 2:4])  # in pixels of the network
    half_w, half_h = sides[:, :, 0] / (ratio * w) * width / 2, sides[:, :, 1] / (ratio * h) * height / 2
    column, row = column * width / w, row * height / h
    x1, y1, x2, y2 = column - half_w, row - half_h, column + half_w, row + half_h
    if clip:
        x1, y1 = jnp.maximum(x1, 0), jnp.maximum(y1, 0)
        x2, y2 = jnp.minimum(x2, width - 1), jnp.minimum(y2, height - 1)
    confidence = jax.nn.sigmoid(parts[:, :, 4])
    if overlap is not None:
        confidence = confidence ** (1 - iou_factor) * overlap**iou_factor
    sure = (confidence >= conf_thresh)[..., None]
    boxes = jnp.where(sure, jnp.stack([x1, y1, x2, y2], -1), 0)
    scores = jnp.where(sure, jnp.moveaxis(confidence[:, :, None] * jax.nn.sigmoid(parts[:, :, 5:]), 2, -1), 0)
    return boxes.reshape(n, count * h * w, 4), scores.reshape(n, count * h * w, scores.shape[-1])


@api(method=False)
def yolo_box(
    x,
    img_size,
    anchors,
    class_num,
    conf_thresh,
    downsample_ratio,
    clip_bbox=True,
    name=None,
    scale_x_y=1.0,
    iou_aware=False,
    iou_aware_factor=0.5,
):
    """Boxes and scores from the output of YOLOv3 (Redmon, Farhadi, 2018).

    Args:
        x: [N, anchors * (5 + class_num), H, W]; with iou_aware [N, anchors * (6 + class_num), H, W], where the first
            channels predict the overlap with the true box.
        img_size: int32 [N, 2], height and width of each picture.
        anchors: a flat list of ints, width and height of each.
        conf_thresh: boxes of less confidence are zero, and so are their scores.
        downsample_ratio: of the size of the network's input to that of x.
        clip_bbox: boxes end at the border of the picture.
        scale_x_y: stretches the range of centres beyond their cell.
        iou_aware_factor: confidence is c ** (1 - factor) * overlap ** factor.

    Returns:
        corners in pixels, [N, anchors * H * W, 4], and scores [N, anchors * H * W, class_num].

    Raises:
        ValueError: wrong shapes, values out of range.

    Example:
        >>> x, size = paddle.zeros([1, 7, 1, 1]), paddle.to_tensor([[32, 32]], dtype="int32")
        >>> boxes, scores = paddle.vision.ops.yolo_box(x, size, [8, 16], 2, 0.1, 32)
        >>> boxes.tolist(), scores.tolist()
        ([[[12.0, 8.0, 20.0, 24.0]]], [[[0.25, 0.25]]])
    """
    pairs = anchor_pairs("yolo_box", anchors)
    check_maps("yolo_box", x, len(pairs), class_num, 6 if iou_aware else 5, downsample_ratio)
    check("yolo_box", "img_size", img_size, "int", [x.shape[0], 2])
    if iou_aware and not 0 <= iou_aware_factor <= 1:
        raise errors.ValueError_(f"yolo_box: iou_aware_factor must be between 0 and 1, got {iou_aware_factor}")
    return _yolo_box(
        x, img_size, pairs, float(conf_thresh), int(downsample_ratio), bool(clip_bbox), float(scale_x_y),
        float(iou_aware_factor) if iou_aware else None,
    )  # fmt: skip
